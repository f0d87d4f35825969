//! Wrong bits and losses, in the set and in the store.

use super::*;

/// A wrong bit, a cut and a loss of every file: each backup is restored as it was, or the damage is
/// told. What verification says is what a restore finds.
#[test]
fn damage_of_any_file_is_told_and_leaves_what_does_not_need_it() {
    let (store, set, points) = example();
    let (mut hurt, mut unhurt) = (0, 0);
    let files = walk(&*set, "").unwrap();
    for (number, (path, len)) in files.into_iter().filter(|(_, len)| *len > 0).enumerate() {
        let cases = [Some(0), Some(len / 2), Some(len - 1), None];
        for (case, at) in cases.into_iter().enumerate() {
            let place = format!("{path}, byte {at:?}");
            let damaged = copy(&*set);
            match at {
                Some(at) => flip(&*damaged, &path, at),
                None if number.is_multiple_of(2) => damaged.remove_file(&path).unwrap(),
                None => {
                    damaged.open(&path, Mode::ReadWrite).unwrap().set_len(len / 2).unwrap();
                }
            }
            if path == "SET" {
                let refused = Store::verify_set_disk(&damaged, &control()).unwrap_err().kind();
                assert!(matches!(refused, ErrorKind::Corrupt | ErrorKind::NotAStore), "{place}");
                continue;
            }
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            let is_manifest_lost =
                path.starts_with(BACKUPS) && at.is_none() && number.is_multiple_of(2);
            // The magic of a pack and its number are not needed to read its chunks.
            let is_beside = path.starts_with(RECORDS) && at == Some(0);
            assert_eq!(told.is_sound(), is_manifest_lost || is_beside, "{place}: {told:?}");
            for point in &points {
                // Restoring all would take long, and the first byte is like the last one.
                if case == 0 {
                    break;
                }
                let is_told = told.backups.iter().find(|told| told.backup == point.backup);
                let is_told = is_told.is_none_or(|told| told.problem.is_some());
                let at = RestorePoint::Backup(point.backup);
                match restored(&damaged, at) {
                    Ok((model, false)) => {
                        assert_eq!(model, point.model, "{place}, {at:?}");
                        assert!(!is_told, "{place}, {at:?}: verification tells more");
                        unhurt += 1;
                    }
                    Ok((_, true)) | Err(_) => {
                        assert!(is_told, "{place}, {at:?}: verification tells less");
                        hurt += 1;
                    }
                }
            }
            // What the report says to do: the file is removed, and the next backup is whole.
            if damaged.exists(&path).unwrap() {
                damaged.remove_file(&path).unwrap();
            }
            let next = back_up(&store, &damaged).unwrap_or_else(|e| panic!("{place}: {e}"));
            assert_eq!(next.findings, [], "{place}");
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            let told = told.backups.last().unwrap();
            assert_eq!((told.backup, &told.problem), (next.backup, &None), "{place}");
        }
    }
    println!("{hurt} backups hurt, {unhurt} not");
    assert!(hurt > 20 && unhurt > 50);
}

/// A store that lost a file: the backup has it from the set, or tells it, and keeps all else.
#[test]
fn damage_of_the_store_is_a_finding_and_not_the_end() {
    let (store, set, mut points) = example();
    let disk = store.engine().disk.clone();
    let (path, _) = walk(&*disk, "files").unwrap().pop().unwrap();
    disk.remove_file(&path).unwrap();
    let report = back_up(&store, &set).unwrap();
    assert_eq!(report.findings, [], "an earlier backup has the file");
    let model = points.pop().unwrap().model;
    assert_restores(&set, RestorePoint::Latest, &model, "after a loss");
    let fresh = new_disk();
    let report = back_up(&store, &fresh).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].file, path);
    assert_eq!(Store::list_backups_disk(&fresh).unwrap().backups[0].findings, 1);
    let target = new_disk();
    let found =
        Store::restore_from_set_disk(&fresh, RestorePoint::Latest, &target, &control()).unwrap();
    assert!(found.findings.iter().any(|finding| finding.file == path), "{found:?}");
    // A wrong byte of a file never gets the name of the right one.
    let (path, _) = walk(&*disk, "files").unwrap().pop().unwrap();
    flip(&*disk, &path, 40);
    let report = back_up(&store, &new_disk()).unwrap();
    assert_eq!(report.findings.len(), 2, "{report:?}");
    assert_eq!(back_up(&store, &set).unwrap().findings, []);
}

/// A manifest under the name of another one is not its backup, and keeps its number: no later
/// backup takes the name away, also when no pack tells of it any more.
#[test]
fn a_manifest_under_another_name_is_no_backup() {
    let (store, set, points) = example();
    let first = read_file(&*set, &manifest_path(1), 1 << 20).unwrap();
    set.remove_file(&manifest_path(3)).unwrap();
    write_new_file(&*set, &manifest_path(3), &first).unwrap();
    let listed = Store::list_backups_disk(&set).unwrap().backups;
    let readable: Vec<u64> =
        listed.iter().filter(|one| one.problem.is_none()).map(|one| one.backup).collect();
    assert_eq!((readable, listed.len()), (vec![1, 2], 3));
    let error = restored(&set, RestorePoint::Backup(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    set.remove_file(&pack_path(3)).unwrap();
    let report = back_up(&store, &set).unwrap();
    assert_eq!((report.backup, report.unreadable.len()), (4, 1));
    assert_eq!(read_file(&*set, &manifest_path(3), 1 << 20).unwrap(), first);
    assert_restores(&set, RestorePoint::Latest, &points[2].model, "the next one");
}
