//! What a close says about the handles that are alive, and what maintenance says about itself.

use crate::store::tests::prelude::*;
use std::time::Instant;

use crate::disk::{DirEntry, Disk as _};
use crate::{Control, ErrorKind, Store, StoreOptions};

fn open() -> Store {
    StoreOptions::default().seed(Some(1)).open_on(Arc::new(MemoryDisk::new())).unwrap()
}

#[track_caller]
fn assert_held(store: Store, by: &str) {
    let error = store.close().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.args(), [by]);
    assert_eq!(error.message(), format!("the store is still held by {by}; drop them first"));
}

#[test]
fn a_close_lists_the_handles_that_are_alive() {
    let ada = Identity::user("ada");
    let store = open();
    let (clone, session) = (store.clone(), store.session(ada.clone()));
    let others = [session.clone(), session.with_control(&Control::default())];
    assert_held(store, "1 clone of the store and 3 sessions");
    drop((session, others));
    let stream = clone.changes(Position::START);
    let session = clone.session(ada.clone());
    let writer = session.write_file(&Control::default()).unwrap();
    drop(session);
    assert_held(clone, "1 change stream and 1 writer of file or package content");
    drop((stream, writer));

    // Handles that are gone are not counted, and a session that is busy holds nothing by itself.
    let store = open();
    let session = store.session(ada);
    session.query_products(crate::products::QueryProductsRequest::new()).unwrap();
    drop(session.changes(Position::START));
    drop(session);
    store.close().unwrap();
}

/// On a real directory, with its lock: what a refused close left open is closed with the last
/// handle, and the next open is not locked by oneself.
#[test]
fn a_store_whose_close_was_refused_opens_again_when_its_last_handle_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Store::open(directory.path()).map_err(|error| error.kind());
    let store = open().unwrap();
    let (session, stream) = (store.session(Identity::user("ada")), store.changes(Position::START));
    assert_held(store, "1 session and 1 change stream");
    assert_eq!(open().map(drop), Err(ErrorKind::Locked));
    drop(session);
    assert_eq!(open().map(drop), Err(ErrorKind::Locked), "the stream holds it");
    drop(stream);
    open().unwrap().close().unwrap();
}

#[test]
fn a_compaction_lists_the_handles_that_are_alive() {
    let mut store = open();
    let session = store.session(Identity::user("ada"));
    let error = store.compact().unwrap_err();
    assert_eq!((error.kind(), error.args()), (ErrorKind::Conflict, &["1 session".to_owned()][..]));
    drop(session);
    store.compact().unwrap();
}

#[test]
fn the_status_of_maintenance_counts_its_passes() {
    let store = open();
    let until = Instant::now() + Duration::from_secs(30);
    while store.status().unwrap().maintenance.passes == 0 {
        assert!(Instant::now() < until, "{:?}", store.status().unwrap().maintenance);
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = store.status().unwrap().maintenance;
    assert!(status.is_enabled && status.last_pass.is_some(), "{status:?}");
    assert_eq!((status.failed_passes, status.last_errors.len()), (0, 0));
    let without = StoreOptions::default().maintenance_thread(false);
    let store = without.open_on(Arc::new(MemoryDisk::new())).unwrap();
    assert!(!store.status().unwrap().maintenance.is_enabled);
}

/// A session goes on when the store that made it is gone, and makes files for its next contents.
#[test]
fn the_last_handle_leaves_no_file_that_waits_for_content() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(StoreOptions::default().seed(Some(1)), disk.clone());
    drop(store);
    let content = vec![7; 100_000];
    for _ in 0..12 {
        session.upload_file(&mut &*content, Default::default(), &Control::default()).unwrap();
    }
    let files = || {
        let directories = disk.list("files").unwrap();
        let of = |entry: DirEntry| disk.list(&format!("files/{}", entry.name)).unwrap();
        directories.into_iter().flat_map(of).map(|entry| entry.len).collect::<Vec<_>>()
    };
    assert!(files().contains(&0), "files wait for the next contents");
    drop(session);
    assert_eq!((files().len(), files().contains(&0)), (12, false));
}
