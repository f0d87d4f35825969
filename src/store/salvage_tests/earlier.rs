//! Stores whose record file has pages of earlier commits: tests which commit is read, and that no
//! data of another commit is copied.

use crate::store::tests::prelude::*;

use super::*;
use crate::records::salvage::leaf_of_records;
use crate::sizes;

/// A store that was not closed, as a killed process leaves it: before its last commit, and after
/// it.
pub(super) fn killed(commits: usize) -> [Arc<MemoryDisk>; 2] {
    let disk = Arc::new(MemoryDisk::new());
    let (_store, session) = opened(options(), disk.clone());
    station::fill(&session);
    let mut ids = Vec::new();
    let mut before = copy(&*disk);
    for number in 0..commits {
        before = copy(&*disk);
        let product =
            serde_json::json!({ "partNumber": format!("K-{number}"), "name": "y".repeat(300) });
        let made = session.create_products(vec![request(product)]).unwrap();
        ids.extend(made.products.into_iter().filter_map(|product| product.id));
        if number % 5 == 4 && number + 1 < commits {
            let update =
                serde_json::json!({ "id": ids[number / 2], "name": format!("changed {number}") });
            let _ = session.update_products(vec![request(update)], false).unwrap();
            session.delete_product(&ids[number / 2 + 1]).unwrap();
        }
    }
    [before, copy(&*disk)]
}

#[test]
fn a_store_that_was_not_closed_gives_its_last_commit_or_the_one_before_and_tells_which() {
    let [_, from] = killed(60);
    let truth = Truth::of(&from);
    let (report, into) = salvage(&from);
    assert!(report.is_complete(), "{report:#?}");
    assert_eq!(truth.missing(&into), BTreeMap::new());
    // A page that only the last commit has.
    let file = from.open("records.redb", Mode::ReadWrite).unwrap();
    let leaf = truth.leaf_of(Space::Meta, b"state");
    file.write_all_at(&[0; 512], leaf.start).unwrap();
    let (report, into) = salvage(&from);
    assert!(
        report.lost.iter().any(|lost| lost.kind == "commits" && lost.reason.contains("power cut")),
        "{report:#?}"
    );
    assert_eq!(report.sequence, truth.sequence - 1);
    let missing = truth.missing_of_older(&into);
    assert!(
        missing.len() == 2 && missing.keys().any(|name| name.starts_with("Product|")),
        "{missing:?}"
    );
}

/// The last commit is damaged, and the root of the one before it is lost: only the undamaged parts
/// of the last one can be read.
#[test]
fn the_last_commit_is_read_if_the_one_before_it_is_lost() {
    let [before, from] = killed(60);
    let (earlier, truth) = (Truth::of(&before), Truth::of(&from));
    let root = earlier.tree_of_tables();
    assert!(!truth.is_page(root.start), "the last commit has its own");
    let added = truth.added_since(&earlier);
    assert_eq!(added.len(), 1);
    let leaf = truth.leaf_of(Space::Records, &added[0]);
    let file = from.open("records.redb", Mode::ReadWrite).unwrap();
    file.write_all_at(&[0; 512], leaf.start + 512).unwrap();
    let (report, _) = salvage(&from);
    assert_eq!(
        report.sequence, earlier.sequence,
        "a power cut may have torn the last commit: {report:#?}"
    );
    file.write_all_at(&[0; 4096], root.start).unwrap();
    let (report, into) = salvage(&from);
    assert_eq!(report.sequence, truth.sequence, "{report:#?}");
    let is_told =
        |lost: &Lost| lost.kind == "commits" && lost.reason.contains("the one before it is lost");
    assert!(report.lost.iter().any(is_told), "{report:#?}");
    // The missing entries were in the damaged leaf.
    let missing = truth.missing(&into);
    let in_leaf = truth.items_in(&leaf);
    assert!(missing.keys().all(|name| in_leaf.contains(name)), "{missing:?}: {report:#?}");
    assert!(missing.len() < in_leaf.len(), "{missing:?} of {in_leaf:?}");
}

/// A store whose products were changed to values of the same length, each in its own commit, so
/// that pages of earlier commits differ from those of the last one in single entries.
fn changed() -> Arc<MemoryDisk> {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options(), disk.clone());
    let product = |number: usize| {
        serde_json::json!({
            "partNumber": format!("N-{number:03}"), "name": "state 0000",
            "properties": { "text": "x".repeat(90 + number % 5 * 10) },
        })
    };
    let made = session
        .create_products((0..CHANGED).map(|number| request(product(number))).collect())
        .unwrap();
    let ids: Vec<_> = made.products.into_iter().filter_map(|product| product.id).collect();
    // All products are changed once, so that all of them have the same members.
    let all = ids
        .iter()
        .map(|id| request(serde_json::json!({ "id": id, "name": "state 0001" })))
        .collect();
    let _ = session.update_products(all, false).unwrap();
    // This reader keeps the pages of all later commits from being reused.
    let reader = store.engine().snapshot();
    for turn in 0..CHANGES {
        let update = serde_json::json!({ "id": ids[turn * 37 % CHANGED], "name": format!("state {turn:04}") });
        let _ = session.update_products(vec![request(update)], false).unwrap();
    }
    // In a leaf with deleted entries, all other entries are at other offsets.
    for id in [5, CHANGED - 5] {
        session.delete_product(&ids[id]).unwrap();
    }
    // Pages in use after them, so that closing the file does not truncate them.
    let _ = session
        .create_products((0..20).map(|number| request(product(CHANGED + number))).collect())
        .unwrap();
    drop((reader, session));
    store.close().unwrap();
    disk
}

const CHANGED: usize = 160;
const CHANGES: usize = 100;
const PAGE: usize = 4096;

/// Leaves of the records of the last commit. Each comes with pages of earlier commits that have an
/// earlier version of one of its entries, or an entry that was deleted.
fn with_older(whole: &MemoryDisk, truth: &Truth) -> Vec<(usize, Vec<usize>)> {
    let file = whole.open("records.redb", Mode::Read).unwrap();
    let pages = (PAGE..usize::try_from(file.len().unwrap()).unwrap() - PAGE).step_by(PAGE);
    let stale: Vec<_> = pages
        .filter(|at| !truth.is_page(*at as u64))
        .filter_map(|at| Some((at, leaf_of_records(&*file, at as u64)?)))
        .collect();
    let leaves = truth
        .leaves_of(Space::Records)
        .into_iter()
        .filter(|place| place.end - place.start <= PAGE as u64);
    let older = |leaf: u64| -> Vec<usize> {
        let entries = leaf_of_records(&*file, leaf).unwrap();
        let is_older = |old: &BTreeMap<Vec<u8>, Vec<u8>>| {
            let shared = old.keys().filter(|key| entries.contains_key(*key)).count();
            shared * 2 > entries.len()
                && old.iter().any(|(key, value)| entries.get(key) != Some(value))
        };
        stale.iter().filter(|(_, old)| is_older(old)).map(|(at, _)| *at).collect()
    };
    leaves
        .map(|place| (place.start as usize, older(place.start)))
        .filter(|(_, older)| !older.is_empty())
        .collect()
}

/// Every n-th element of a list, so that there are at most `most`.
fn some<T: Copy>(list: &[T], most: usize) -> impl Iterator<Item = T> {
    list.iter().copied().step_by(list.len().div_ceil(most).max(1))
}

/// A page of the last commit is replaced by an older version of it, as after a write that the disk
/// lost. redb's bookkeeping says that the page is in use, and all entries match their checksums.
/// But nothing proves that they are of the last commit.
#[test]
fn an_older_version_in_the_place_of_a_page_is_not_taken() {
    let whole = changed();
    let truth = Truth::of(&whole);
    let bytes = damage::read(&*whole, "records.redb");
    let with_older = with_older(&whole, &truth);
    let per_leaf = sizes::count("salvage_versions");
    let mut salvaged = 0;
    for (leaf, older) in &with_older {
        for old in some(older, per_leaf) {
            let image = copy(&*whole);
            let file = image.open("records.redb", Mode::ReadWrite).unwrap();
            file.write_all_at(&bytes[old..old + PAGE], *leaf as u64).unwrap();
            drop(file);
            let (report, into) = salvage(&image);
            // Fails on any item that the last commit does not have.
            truth.missing(&into);
            assert!(!report.is_complete(), "{leaf}, {old}");
            salvaged += 1;
        }
    }
    println!(
        "counted: {salvaged} pages replaced by an older version, of {} leaves",
        with_older.len()
    );
    assert!(salvaged >= 12, "{salvaged}, {} leaves", with_older.len());
}

/// Sectors of a page are swapped with those of an older version of it. No earlier version and no
/// deleted record comes back, because the page that now has the sector contains another version.
#[test]
fn what_an_earlier_commit_left_does_not_come_back() {
    let whole = changed();
    let truth = Truth::of(&whole);
    let bytes = damage::read(&*whole, "records.redb");
    let sector = |page: usize, n: usize| &bytes[page + n * 512..][..512];
    let with_older = with_older(&whole, &truth);
    let per_leaf = sizes::count("salvage_versions");
    let (mut salvaged, mut leaves) = (0, BTreeSet::new());
    for (leaf, older) in &with_older {
        for old in some(older, per_leaf) {
            let differing: Vec<usize> =
                (0..8).filter(|n| sector(*leaf, *n) != sector(old, *n)).collect();
            for n in some(&differing, per_leaf) {
                let image = copy(&*whole);
                let file = image.open("records.redb", Mode::ReadWrite).unwrap();
                file.write_all_at(sector(old, n), (leaf + n * 512) as u64).unwrap();
                file.write_all_at(sector(*leaf, n), (old + n * 512) as u64).unwrap();
                drop(file);
                let (report, into) = salvage(&image);
                truth.missing(&into);
                assert!(!report.is_complete(), "{leaf}, {old}, sector {n}");
                salvaged += 1;
                leaves.insert(*leaf);
            }
        }
    }
    println!(
        "counted: {salvaged} sectors swapped with an older version, in {} leaves",
        leaves.len()
    );
    assert!(salvaged >= 24, "{salvaged}, {} leaves", leaves.len());
}
