//! Wrong bits and losses, in the set and in the store.

use super::*;

/// A wrong bit, a cut and a loss of every file: each backup is restored as it was, or the damage is
/// told. What verification says is what a restore finds.
#[test]
fn damage_of_any_file_is_told_and_leaves_what_does_not_need_it() {
    let (store, set, points) = example();
    let (mut hurt, mut unhurt, mut mended) = (0, 0, 0);
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
            let whole: Vec<u64> = whole_of(&told);
            // What the report says to do. A pack is never removed: others need the rest of it.
            for finding in &told.findings {
                let is_removed = finding.action.contains("remove this file");
                assert_eq!(is_removed, finding.file.starts_with(BACKUPS), "{place}: {finding:?}");
                assert_eq!(finding.file, path, "{place}: {finding:?}");
                if is_removed {
                    damaged.remove_file(&finding.file).unwrap();
                }
            }
            let next = back_up(&store, &damaged).unwrap_or_else(|e| panic!("{place}: {e}"));
            assert_eq!(next.findings, [], "{place}");
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            let now = whole_of(&told);
            assert_eq!(now.last(), Some(&next.backup), "{place}");
            assert!(whole.iter().all(|backup| now.contains(backup)), "{place}: {whole:?} {now:?}");
            // A file that the store still has is sent again, which mends all backups.
            let is_sent = path.starts_with(OBJECTS) && next.files_sent > 0;
            assert!(!is_sent || told.is_sound(), "{place}: {told:?}");
            mended += u32::from(is_sent);
        }
    }
    println!("{hurt} backups hurt, {unhurt} not; {mended} mended");
    assert!(hurt > 20 && unhurt > 50 && mended > 5);
}

/// The backups in which a verification found nothing.
fn whole_of(told: &SetReport) -> Vec<u64> {
    let whole = told.backups.iter().filter(|backup| backup.problem.is_none());
    whole.map(|backup| backup.backup).collect()
}

/// Two backups, of which the second has a chunk as the difference to one of the first.
fn with_a_difference() -> (Store, SharedDisk, Place) {
    let (store, set) = (options(&clock()).open_on(new_disk()).unwrap(), new_disk());
    let ada = session(&store);
    let product = |number| CreateProductRequest {
        part_number: format!("part {number}"),
        name: Some(format!("{number} ").repeat(20)),
        ..Default::default()
    };
    let made = ada.create_products((0..300).map(product).collect()).unwrap().products;
    back_up(&store, &set).unwrap();
    let update = crate::products::UpdateProductRequest {
        id: made[150].id.clone().unwrap().to_string(),
        name: Some("renamed".to_owned()),
        ..Default::default()
    };
    let _ = ada.update_products(vec![update], false).unwrap();
    back_up(&store, &set).unwrap();
    let opened = Set::seen(set.clone()).unwrap();
    let manifest = Manifest::read(&opened, 2).unwrap();
    let mut packs = Packs::new(&set);
    let lists = manifest.row_lists.iter();
    let chunks: Vec<Chunk> = lists.flat_map(|list| packs.read_list(list).unwrap()).collect();
    let differs = |chunk: &&Chunk| chunk.at.pack == 2 && chunk.base.is_some();
    let base = chunks.iter().find(differs).unwrap().base.unwrap();
    assert_eq!(base.pack, 1);
    (store, set, base)
}

/// A chunk that cannot be read because its base is damaged is damage of the pack of the base. What
/// the damaged pack has is written anew by the next backup, so that this one is whole.
#[test]
fn a_damaged_base_is_told_of_its_own_pack_and_written_anew() {
    let (store, set, base) = with_a_difference();
    flip(&*set, &pack_path(1), base.offset + u64::from(base.stored) / 2);
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    let files: Vec<&str> = told.findings.iter().map(|found| found.file.as_str()).collect();
    assert_eq!(files, [pack_path(1)], "{told:?}");
    assert!(told.findings[0].place.contains("1, 2"), "{told:?}");
    // Without the store's help the damage stays, and a backup without changes writes it anew.
    let next = back_up(&store, &set).unwrap();
    assert!(next.findings.is_empty() && next.written_bytes > 0, "{next:?}");
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    assert_eq!(whole_of(&told), [3], "{told:?}");
    assert_restores(&set, RestorePoint::Latest, &Model::of(&store), "after the damage");
    // The mark goes with the pack.
    let marks = || set.list("damaged").unwrap().len();
    assert_eq!(marks(), 1);
    Store::prune_set_disk(&set, SetRetention::default(), &control()).unwrap();
    assert_eq!(marks(), 0);
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
}

/// A set that takes no writes cannot be marked: then nothing is advised that would lose more.
#[test]
fn damage_in_a_set_that_takes_no_writes_is_told() {
    let (_store, disk, ..) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    flip(&*set, &pack_path(1), 60);
    disk.inject(Pick::any().on_path("damaged"), Fault::NoSpace);
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    let action = &told.findings[0].action;
    assert!(action.contains("make it writable") && action.contains("keep the file"), "{told:?}");
}

/// A medium that was pulled is an error of the verification, and not damage. A bad place is damage,
/// and is written anew.
#[test]
fn a_medium_that_is_gone_is_no_damage() {
    let (store, disk, ..) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    back_up(&store, &set).unwrap();
    let of_the_mark = || disk.trace().iter().filter(|entry| &*entry.path == "SET").count() as u64;
    let before = of_the_mark();
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    let begins = of_the_mark() - before;
    for path in [RECORDS, OBJECTS, "backups/0000000000000002"] {
        disk.inject(Pick::kind(OpKind::Read).on_path(path), Fault::Io);
        disk.inject(Pick::any().on_path("SET").nth(begins + 1), Fault::Io);
        let error = Store::verify_set_disk(&set, &control()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{path}: {error}");
        assert!(error.message().contains("connect its medium again"), "{path}: {error}");
        disk.heal();
    }
    assert!(!set.exists("damaged").unwrap());
    let objects = walk(&*set, OBJECTS).unwrap();
    let (object, _) = objects.into_iter().max_by_key(|(_, len)| *len).unwrap();
    disk.inject(Pick::kind(OpKind::Read).on_path(&object), Fault::Io);
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    disk.heal();
    assert_eq!((told.findings.len(), told.findings[0].file == object), (1, true), "{told:?}");
    assert!(!told.findings[0].action.contains("remove"), "{told:?}");
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 1);
    assert!(set.list("damaged").unwrap().is_empty());
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 0);
}

/// A read that failed once leaves no mark behind the next verification.
#[test]
fn a_mark_goes_when_its_file_is_sound() {
    let (_store, disk, ..) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    let marks = || set.list("damaged").unwrap().len();
    disk.inject(Pick::kind(OpKind::Read).on_path(&pack_path(1)), Fault::Io);
    let told = Store::verify_set_disk(&set, &control());
    disk.heal();
    // One bad place, or a medium that seems to be gone.
    assert!(told.is_err() || marks() == 1, "{told:?}");
    flip(&*set, &pack_path(1), 60);
    assert!(!Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    assert_eq!(marks(), 1);
    flip(&*set, &pack_path(1), 60);
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    assert_eq!(marks(), 0);
}

/// Without any manifest a set takes no backup, so the last one goes after the next backup.
#[test]
fn the_only_manifest_is_removed_after_the_next_backup() {
    let (store, disk, ..) = before_the_second();
    let set: SharedDisk = Arc::new(disk);
    flip(&*set, &manifest_path(1), 40);
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    assert_eq!(told.findings[0].file, manifest_path(1), "{told:?}");
    assert!(told.findings[0].action.starts_with("back up again, and then remove"), "{told:?}");
    back_up(&store, &set).unwrap();
    set.remove_file(&manifest_path(1)).unwrap();
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    back_up(&store, &set).unwrap();
}

/// A backup of another build is not advised to be removed.
#[test]
fn a_backup_of_another_build_is_kept() {
    let (_store, set, _) = example();
    let path = manifest_path(3);
    let text = String::from_utf8(read_file(&*set, &path, 1 << 20).unwrap()).unwrap();
    let lines = text.split("\nsum ").next().unwrap();
    let fingerprint = lines.lines().find(|line| line.starts_with("fingerprint ")).unwrap();
    let lines = lines.replace(fingerprint, "fingerprint 0000000000000001");
    set.remove_file(&path).unwrap();
    write_new_file(&*set, &path, crate::store::format::with_sum(&lines).as_bytes()).unwrap();
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    assert_eq!((told.findings.len(), &told.findings[0].file), (1, &path), "{told:?}");
    let action = &told.findings[0].action;
    assert!(action.contains("build") && !action.contains("remove"), "{told:?}");
}

/// A set that lost its manifests is not emptied by what takes its packs for remains.
#[test]
fn a_set_without_its_manifests_is_left_as_it_is() {
    let (store, set, points) = example();
    let all = walk(&*set, "").unwrap();
    let manifests: Vec<(String, Vec<u8>)> = (1..=3)
        .map(|backup| (manifest_path(backup), read_file(&*set, &manifest_path(backup), 1 << 20)))
        .map(|(path, bytes)| (path, bytes.unwrap()))
        .collect();
    for is_directory_lost in [true, false] {
        set.remove_dir_all(BACKUPS).unwrap();
        if !is_directory_lost {
            set.create_dir_all(BACKUPS).unwrap();
        }
        // The second try finds what the first one left.
        for _ in 0..2 {
            let error = back_up(&store, &set).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.message().contains("put the manifests back"), "{error}");
            let pruned = Store::prune_set_disk(&set, SetRetention::default(), &control());
            assert_eq!(pruned.unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let told = Store::verify_set_disk(&set, &control()).unwrap();
        assert_eq!(told.findings[0].file, BACKUPS, "{told:?}");
        let listed = |path: &&(String, u64)| !path.0.starts_with(BACKUPS);
        let left = walk(&*set, "").unwrap();
        assert!(all.iter().filter(listed).eq(left.iter()), "{left:?}");
        set.create_dir_all(BACKUPS).unwrap();
        for (path, bytes) in &manifests {
            write_new_file(&*set, path, bytes).unwrap();
        }
        for point in &points {
            assert_restores(&set, RestorePoint::Backup(point.backup), &point.model, "put back");
        }
    }
}

/// What the disk of the store cannot read is a finding of the backup, and all else is in it.
#[test]
fn a_file_that_cannot_be_read_does_not_end_the_backup() {
    let disk = SimDisk::new(1);
    let store = options(&clock()).open_on(Arc::new(disk.clone())).unwrap();
    let ada = session(&store);
    (0..4_u8).for_each(|number| drop(upload(&ada, b'a' + number, 3_000)));
    maintain(&store);
    let (path, _) = walk(&disk, "files").unwrap().into_iter().rfind(|(_, len)| *len > 0).unwrap();
    let reads = || {
        let trace = disk.trace();
        trace.iter().filter(|of| of.kind == OpKind::Read && *of.path == *path).count() as u64
    };
    let before = reads();
    back_up(&store, &new_disk()).unwrap();
    // The first ones check the file, and the last ones copy it.
    let most = reads() - before;
    assert!(most > 1);
    for nth in 1..=most {
        disk.inject(Pick::kind(OpKind::Read).on_path(&path).nth(nth), Fault::Io);
        let set = new_disk();
        let report = back_up(&store, &set).unwrap();
        disk.heal();
        let lacks: Vec<&str> = report.findings.iter().map(|found| found.file.as_str()).collect();
        assert_eq!((lacks, report.files, report.files_sent), (vec![path.as_str()], 4, 3), "{nth}");
        // The remains of the copy go with the next backup, which has the file.
        let next = back_up(&store, &set).unwrap();
        assert_eq!((next.findings.len(), next.files_sent), (0, 1), "{nth}: {next:?}");
        assert_restores(&set, RestorePoint::Latest, &Model::of(&store), "the next backup");
    }
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
