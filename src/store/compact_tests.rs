//! Compaction copies the rows of a record file whose pages are badly filled, and moves its pages
//! where it cannot.

use crate::store::tests::prelude::*;

use super::open::{Store, StoreOptions};
use super::verify::VerifyLevel;
use crate::Control;
use crate::products::*;
#[cfg(feature = "search")]
use crate::search::SearchRequest;

const ITEMS: usize = 4_000;
const PRODUCTS: usize = 50;

fn open(disk: &SimDisk) -> Store {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    let options = options.memory_table_bytes(200_000).reserve_bytes(0);
    options.clock(ManualClock::new(Default::default())).open_on(Arc::new(disk.clone())).unwrap()
}

/// Work items that come before a product of each batch, so that none is at the end of its tree.
fn filled(disk: &SimDisk) -> Store {
    let store = open(disk);
    let session = store.session(Identity::user("ada"));
    for batch in 0..PRODUCTS {
        let product =
            CreateProductRequest { part_number: format!("part {batch}"), ..Default::default() };
        assert!(session.create_products(vec![product]).unwrap().error.is_none());
        let item = |number| CreateWorkItemRequest {
            name: Some(format!("item {number}")),
            r#type: Some("test".to_owned()),
            description: Some("x".repeat(300)),
            ..Default::default()
        };
        let items = (0..ITEMS / PRODUCTS).map(|number| item(batch * ITEMS + number)).collect();
        assert!(session.create_work_items(items).unwrap().error.is_none());
    }
    drop(session);
    store
}

fn len(disk: &SimDisk, name: &str) -> u64 {
    disk.open(name, Mode::Read).unwrap().len().unwrap()
}

/// How often a file got the name of the record file.
fn renames(disk: &SimDisk) -> usize {
    let trace = disk.trace();
    let is_rename = |kind, path: &str| kind == OpKind::Rename && path == "records.redb.new";
    trace.iter().filter(|entry| is_rename(entry.kind, &entry.path)).count()
}

fn assert_there(store: &Store) {
    let session = store.session(Identity::user("ada"));
    let request = QueryWorkItemsRequest {
        take: Some(0),
        return_count: Some(true),
        ..QueryWorkItemsRequest::default()
    };
    assert_eq!(session.query_work_items(request).unwrap().total_count, Some(ITEMS as u64));
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert_eq!(report.findings, []);
}

#[test]
fn pages_that_are_badly_filled_are_copied_once() {
    let disk = SimDisk::new(1);
    let mut store = filled(&disk);
    let made = renames(&disk);
    let report = store.compact().unwrap();
    println!("{report:?}");
    assert_eq!(renames(&disk), made + 1);
    assert_eq!(len(&disk, "records.redb"), report.bytes_after);
    assert!(!disk.exists("records.redb.new").unwrap());
    assert_there(&store);
    // The pages are full now, so there is nothing to copy.
    let again = store.compact().unwrap();
    assert_eq!(renames(&disk), made + 1, "{again:?}");
    assert!(again.bytes_after <= report.bytes_after, "{again:?}");
    store.close().unwrap();
    assert_there(&open(&disk));
}

#[test]
fn without_room_for_a_copy_the_pages_are_moved() {
    let (full, roomy) = (SimDisk::new(1), SimDisk::new(1));
    let [mut moved, mut copied] = [&full, &roomy].map(filled);
    let made = renames(&full);
    let free = len(&full, "records.redb") / 3;
    let used = full.list("").unwrap().iter().map(|entry| entry.len).sum::<u64>();
    full.set_capacity(Some(used + free));
    let [moved_bytes, copied_bytes] =
        [&mut moved, &mut copied].map(|store| store.compact().unwrap().bytes_after);
    assert_eq!([&full, &roomy].map(renames), [made, made + 1]);
    assert!(copied_bytes * 5 < moved_bytes * 4, "{copied_bytes} and {moved_bytes}");
    assert_there(&moved);
    assert_there(&copied);
}

/// The close after a compaction has nothing to write that would make redb double the file.
#[cfg(feature = "search")]
#[test]
fn a_close_after_a_compaction_leaves_the_file_as_it_is() {
    let disk = SimDisk::new(1);
    let mut store = filled(&disk);
    let session = store.session(Identity::user("ada"));
    let any = SearchRequest { text: Some("item".to_owned()), ..SearchRequest::default() };
    assert_eq!(session.search(any).unwrap().total, Some(ITEMS as u64));
    drop(session);
    let report = store.compact().unwrap();
    store.close().unwrap();
    // redb itself writes a few pages when it is closed.
    let closed = len(&disk, "records.redb");
    assert!(closed < report.bytes_after / 16 * 17, "{closed} after {}", report.bytes_after);
    assert_there(&open(&disk));
}

/// Maintenance and checkpoints go on after calls that need the store alone, and after their errors.
#[test]
fn the_threads_go_on_after_calls_that_stop_them() {
    let options = StoreOptions::default().seed(Some(1)).memory_table_bytes(20_000);
    let mut store = options.open_on(Arc::new(SimDisk::new(1))).unwrap();
    let control = Control::default();
    let check = |store: &Store, place: &str| {
        let passes = || store.status().unwrap().maintenance.passes;
        let (before, until) = (passes(), std::time::Instant::now() + Duration::from_secs(30));
        assert!(store.status().unwrap().maintenance.is_enabled, "{place}");
        // The checkpoint thread moves what has reached its bound.
        let session = store.session(Identity::user("ada"));
        let product = |number| CreateProductRequest {
            part_number: format!("{place} {number}"),
            name: Some("n".repeat(500)),
            ..Default::default()
        };
        let products = (0..200).map(product).collect();
        assert!(session.create_products(products).unwrap().error.is_none());
        while passes() == before || store.engine().snapshot().pending_bytes() > 20_000 {
            assert!(std::time::Instant::now() < until, "{place}: {:?}", store.status());
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(passes() > before, "{place}");
    };
    check(&store, "opened");
    store.compact().unwrap();
    check(&store, "compacted");
    assert!(store.verify_pages(&control).unwrap().is_sound());
    check(&store, "verified");
    let session = store.session(Identity::user("ada"));
    store.compact().unwrap_err();
    store.verify_pages(&control).unwrap_err();
    drop(session);
    check(&store, "refused");
}

/// After a close and a compaction the journal has the space of a new store, and commits go on.
#[test]
fn the_files_of_the_journal_do_not_stay_large() {
    const MOST: u64 = 2 << 20;
    let journal = |disk: &SimDisk| len(disk, "journal.0") + len(disk, "journal.1");
    let large = |disk: &SimDisk| {
        let options = StoreOptions::default().maintenance_thread(false).reserve_bytes(0);
        let (store, session) = opened(options, Arc::new(disk.clone()));
        for number in 0..8 {
            let item = CreateWorkItemRequest {
                name: Some(format!("item {number}")),
                r#type: Some("test".to_owned()),
                description: Some("x".repeat(500_000)),
                ..Default::default()
            };
            assert!(session.create_work_items(vec![item]).unwrap().error.is_none());
        }
        drop(session);
        assert!(journal(disk) > MOST, "{}", journal(disk));
        store
    };
    let (closed, dropped, compacted) = (SimDisk::new(1), SimDisk::new(2), SimDisk::new(3));
    large(&closed).close().unwrap();
    drop(large(&dropped));
    let mut store = large(&compacted);
    store.compact().unwrap();
    for disk in [&closed, &dropped, &compacted] {
        assert!(journal(disk) <= MOST, "{}", journal(disk));
    }
    // The shorter files take commits, and a kill loses none of them.
    let session = store.session(Identity::user("ada"));
    let product = CreateProductRequest { part_number: "after".to_owned(), ..Default::default() };
    assert!(session.create_products(vec![product]).unwrap().error.is_none());
    let killed = compacted.survivors(0, crate::disk::sim::Survival::None);
    let found = open(&killed).session(Identity::user("ada")).query_products(Default::default());
    assert_eq!(found.unwrap().products.len(), 1);
}
