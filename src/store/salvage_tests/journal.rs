//! Stores that were killed with commits in their journal: the commits are salvaged, and those whose
//! records are damaged are told.

use super::*;
use crate::records::JOURNAL_NAMES;
use crate::store::tests::prelude::*;

/// A store that was killed after `commits` small commits, of which the record file has none. Returns
/// it with the file of the journal that has them, and with where each of their records ends.
fn killed_with_journal(commits: usize) -> (Arc<MemoryDisk>, &'static str, Vec<usize>) {
    let disk = Arc::new(MemoryDisk::new());
    let options = || options().memory_table_bytes(1 << 20);
    let store = options().open_on(disk.clone()).unwrap();
    station::fill(&store.session(Identity::user("ada")));
    store.close().unwrap();
    let (_store, session) = opened(options(), disk.clone());
    let quiet = JOURNAL_NAMES.map(|name| read_file(&*disk, name, 1 << 30).unwrap());
    let (mut ids, mut ends, mut live) = (Vec::new(), Vec::new(), "");
    for number in 0..commits {
        match number % 5 {
            3 => {
                let update = serde_json::json!({ "id": ids[number / 2], "name": format!("n{number}"),
                    "partNumber": format!("U-{number}") });
                let updated = session.update_products(vec![request(update)], false).unwrap();
                assert!(updated.error.is_none());
            }
            4 => session.delete_product(&ids[number / 5]).unwrap(),
            _ => {
                let product = serde_json::json!({ "partNumber": format!("J-{number}"),
                    "name": "y".repeat(100) });
                let made = session.create_products(vec![request(product)]).unwrap();
                ids.extend(made.products.into_iter().filter_map(|product| product.id));
            }
        }
        for (name, quiet) in JOURNAL_NAMES.into_iter().zip(&quiet) {
            let bytes = read_file(&*disk, name, 1 << 30).unwrap();
            if bytes != *quiet {
                live = name;
                ends.push(bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1);
            }
        }
    }
    assert_eq!(ends.len(), commits);
    (copy(&*disk), live, ends)
}

#[test]
fn the_commits_of_a_journal_are_salvaged() {
    let (from, ..) = killed_with_journal(30);
    let truth = Truth::of(&from);
    let before = image(&*from);
    let (report, into) = salvage(&from);
    assert!(report.is_complete(), "{report:#?}");
    assert_eq!(truth.missing(&into), BTreeMap::new());
    // The record file has none of these commits.
    assert_eq!(report.sequence, truth.sequence + 30);
    assert!(image(&*from) == before, "the source was changed");
}

/// The record of one commit is damaged. The ones after it are salvaged all the same, and nothing
/// that they did is undone.
#[test]
fn a_damaged_record_of_the_journal_is_told_with_its_commit() {
    const COMMITS: usize = 30;
    let (from, name, ends) = killed_with_journal(COMMITS);
    let truth = Truth::of(&from);
    for at in [0, 1, 2, 10, 20, COMMITS - 2] {
        let image = copy(&*from);
        let file = image.open(name, Mode::ReadWrite).unwrap();
        file.write_all_at(&[0x55; 8], ends[at] as u64 - 20).unwrap();
        let (report, into) = salvage(&image);
        let commit = (truth.sequence + 1 + at as u64).to_string();
        let told: Vec<_> = report.lost.iter().filter(|lost| lost.kind == "commits").collect();
        assert!(
            matches!(told.as_slice(), [one] if one.file == name
                && one.place == format!("{commit} to {commit}")),
            "{at}: {report:#?}"
        );
        assert_eq!(report.sequence, truth.sequence + COMMITS as u64, "{at}");
        // The log before the gap is cut, so that no subscriber misses a commit without an error.
        let missing = truth.missing_of_older(&into);
        let others: Vec<_> =
            missing.keys().filter(|name| !name.starts_with("change log")).collect();
        assert!(others.len() <= 1, "{at}: {others:?}");
        assert!(report.lost.iter().any(|lost| lost.kind == "change log"), "{at}: {report:#?}");
    }
    // The last record looks as one that a power cut has torn.
    let image = copy(&*from);
    let file = image.open(name, Mode::ReadWrite).unwrap();
    file.write_all_at(&[0x55; 8], ends[COMMITS - 1] as u64 - 20).unwrap();
    let (report, _) = salvage(&image);
    assert!(report.is_complete(), "{report:#?}");
    assert_eq!(report.sequence, truth.sequence + COMMITS as u64 - 1);
}

/// The journal ends with an intact record, as one whose next record was torn. The marks say that
/// more was acknowledged.
#[test]
fn a_journal_that_was_cut_is_refused_and_its_commits_are_told() {
    const COMMITS: usize = 30;
    let (from, name, ends) = killed_with_journal(COMMITS);
    let truth = Truth::of(&from);
    for kept in [0, 5, COMMITS - 2] {
        let cut = || {
            let image = copy(&*from);
            let end = if kept == 0 { 8_192 } else { (ends[kept - 1] as u64).next_multiple_of(8) };
            image.open(name, Mode::ReadWrite).unwrap().set_len(end).unwrap();
            image
        };
        let error = options().open_on(cut()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{kept}: {error}");
        let says = format!("keeps the record file and {kept} commits of the journal");
        assert!(error.to_string().contains(&says), "{kept}: {error}");
        let (report, _) = salvage(&cut());
        let first = truth.sequence + 1 + kept as u64;
        let place = format!("{first} to {}", truth.sequence + COMMITS as u64 - 1);
        let is_gap = |lost: &Lost| lost.kind == "commits" && lost.place == place;
        assert!(report.lost.iter().any(is_gap), "{kept}: {report:#?}");
    }
}

#[test]
fn a_journal_that_is_lost_is_told() {
    let (from, name, _) = killed_with_journal(10);
    let truth = Truth::of(&from);
    let told = |image: &Arc<MemoryDisk>| {
        let (report, _) = salvage(image);
        assert_eq!(report.sequence, truth.sequence, "{report:#?}");
        let is_told = |lost: &Lost| lost.kind == "commits" && lost.file == name;
        assert!(report.lost.iter().any(is_told), "{report:#?}");
    };
    let image = copy(&*from);
    image.remove_file(name).unwrap();
    told(&image);
    let image = copy(&*from);
    image.open(name, Mode::ReadWrite).unwrap().write_all_at(&[0; 8_192], 0).unwrap();
    told(&image);
    // The journal of another store.
    let (other, other_name, _) = killed_with_journal(9);
    assert_eq!(name, other_name);
    let image = copy(&*from);
    let foreign = read_file(&*other, name, 1 << 30).unwrap();
    image.open(name, Mode::ReadWrite).unwrap().write_all_at(&foreign, 0).unwrap();
    told(&image);
}

/// The page with the sequence and with the name of the journal is lost. The newest pass is newer
/// than everything in the record file.
#[test]
fn the_journal_gives_back_what_the_record_file_has_lost() {
    let (from, ..) = killed_with_journal(10);
    let truth = Truth::of(&from);
    let image = copy(&*from);
    let leaf = truth.leaf_of(Space::Meta, b"state");
    let len = usize::try_from(leaf.end - leaf.start).unwrap();
    let file = image.open("records.redb", Mode::ReadWrite).unwrap();
    file.write_all_at(&vec![0; len], leaf.start).unwrap();
    let (report, into) = salvage(&image);
    assert_eq!(report.sequence, truth.sequence + 10, "{report:#?}");
    let missing = truth.missing(&into);
    assert!(missing.keys().all(|name| !name.starts_with("Product|")), "{missing:?}");
}
