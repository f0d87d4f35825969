//! Data files that are so large that they are uploaded in parts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use object_store::local::LocalFileSystem;
use stationdb::faults::MemoryDisk;
use stationdb::{Control, ErrorKind, Store};
use stationdb_lake::faults::{Check, Fault, FaultyStore, set_small_files};

use crate::common::curves::{append_curve, curve_table};
use crate::common::*;
use crate::large::{ROWS, large};

#[test]
fn a_large_file_is_uploaded_in_parts_and_a_cut_part_is_noticed() {
    let store = large();
    needs(Check::UploadSize, || {
        let inner = objects();
        let (faulty, objects) = faulty(&inner, 5);
        faulty.rate(Fault::CutUpload, 300);
        let published = publish(&publisher(&store, &objects, lake(), "s1"));
        assert!(published.bytes > 17 << 20, "{published:?}");
        assert!(faulty.parts() >= 3 && faulty.counts()[&Fault::CutUpload] > 0);
        equal(&store, &inner, "s1");
    });
}

#[test]
fn a_part_that_fails_is_sent_again() {
    let (store, inner) = (large(), objects());
    let (faulty, objects) = faulty(&inner, 6);
    faulty.rate(Fault::Failed, 150);
    faulty.rate(Fault::AppliedButFailed, 300);
    publish(&publisher(&store, &objects, lake(), "s1"));
    assert!(faulty.parts() > 3, "no part was sent again");
    equal(&store, &inner, "s1");
}

/// A crash with each part: nothing of the upload is in the lake, and the next one begins anew.
#[test]
fn a_crash_in_the_middle_of_an_upload_leaves_nothing_that_counts() {
    let store = large();
    for part in 1..=3 {
        let directory = tempfile::tempdir().unwrap();
        let inner: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
        let (faulty, objects) = faulty(&inner, 7);
        faulty.crash_with_part(part);
        let refused = publisher(&store, &objects, lake(), "s1").publish(&Control::default());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Io);
        assert!(faulty.is_down() && live_rows(&inner, "lake", "s1").is_empty());
        faulty.restart();
        assert_eq!(publish(&publisher(&store, &objects, lake(), "s1")).rows, ROWS);
        equal(&store, &inner, "s1");
    }
}

/// S3 takes no part of less than 5 MiB but the last one.
#[test]
fn parts_are_as_large_as_every_object_store_takes_them() {
    const LEAST: u64 = 5 << 20;
    let (store, inner) = (large(), objects());
    let (faulty, objects) = faulty(&inner, 8);
    faulty.refuse_parts_below(LEAST);
    let published = publish(&publisher(&store, &objects, lake(), "s1"));
    assert!(published.bytes > 3 * LEAST && faulty.parts() >= 3, "{published:?}");
    equal(&store, &inner, "s1");
    let small = publisher(&store, &objects, lake(), "s1").with_part_bytes(1 << 20);
    small.rebase(&Control::default()).unwrap();
    assert_eq!(small.publish(&Control::default()).unwrap_err().kind(), ErrorKind::Io);
}

/// Waits until the object store keeps no parts of unfinished uploads.
fn assert_all_ended(faulty: &FaultyStore) {
    let began = Instant::now();
    while faulty.open_uploads() > 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "{} are left", faulty.open_uploads());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// S3 keeps, and charges for, the parts of an upload that is neither put together nor given up.
#[test]
fn no_parts_are_left_of_an_upload_that_failed_or_was_cancelled() {
    let (store, inner) = (large(), objects());
    let (faulty, objects) = faulty(&inner, 10);
    faulty.refuse_completions(2);
    publish(&publisher(&store, &objects, lake(), "s1"));
    assert!(faulty.parts() >= 9, "{} parts: nothing was sent again", faulty.parts());
    assert_all_ended(&faulty);
    equal(&store, &inner, "s1");

    let again = publisher(&store, &objects, lake(), "s1");
    again.rebase(&Control::default()).unwrap();
    faulty.hold_uploads(Duration::from_secs(30));
    let control = Control::default();
    std::thread::scope(|scope| {
        let published = scope.spawn(|| again.publish(&control));
        while faulty.held_uploads().0 == 0 {
            assert!(!published.is_finished(), "no upload was held");
            std::thread::sleep(Duration::from_millis(1));
        }
        control.cancel();
        assert_eq!(published.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    });
    assert_all_ended(&faulty);
    faulty.let_uploads_go();
    publish(&again);
    equal(&store, &inner, "s1");
}

/// Publishes with small files, of which the first is held until rows of the second were prepared, or
/// for this time. Returns how many reports of rows came while a file was held.
fn reports_while_held(store: &Store, divisor: usize, longest: Duration) -> (u64, Arc<FaultyStore>) {
    let inner = objects();
    let (faulty, objects) = faulty(&inner, 9);
    faulty.hold_uploads(longest);
    let found = Arc::new(AtomicU64::new(0));
    let (counted, told) = (found.clone(), faulty.clone());
    // The publisher calls this between what it prepares. An upload that was begun is held soon.
    let control = Control::default().with_progress(move |_| {
        let began = Instant::now();
        while told.held_uploads().0 == 0 && began.elapsed() < Duration::from_millis(200) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if told.held_uploads().0 > 0 {
            counted.fetch_add(1, Ordering::SeqCst);
            told.let_uploads_go();
        }
    });
    set_small_files(divisor);
    let published = publisher(store, &objects, lake(), "s1").publish(&control);
    set_small_files(1);
    assert!(published.unwrap().files > 2);
    equal(store, &inner, "s1");
    (found.load(Ordering::SeqCst), faulty)
}

/// A store with tables of this many rows, which are stored files if they are as many as `seal_rows`.
fn curves(tables: usize, rows: usize, seal_rows: u64) -> Store {
    let options = Store::options().maintenance_thread(false).seal_rows(seal_rows);
    let store = options.open_disk(Arc::new(MemoryDisk::new())).unwrap();
    let session = ada(&store);
    for table in 0..tables {
        let id = curve_table(&session, &format!("curve {table}"));
        append_curve(&session, &id, table * rows..(table + 1) * rows);
    }
    store.maintain(&Control::default()).unwrap();
    store
}

#[test]
fn the_next_file_is_prepared_while_one_is_on_its_way() {
    // Chunks that are read when they are sent, so that two files hold little.
    let (reports, faulty) = reports_while_held(&curves(3, 100_000, 1), 64, Duration::from_secs(10));
    assert!(reports > 0 && faulty.held_uploads() == (0, 0), "{:?}", faulty.held_uploads());
}

#[test]
fn no_more_than_one_file_is_in_memory_while_it_is_on_its_way() {
    let longest = Duration::from_millis(300);
    // Rows that are encoded here, and chunks that are so small that they are read at once.
    for seal_rows in [100_000, 1] {
        let (reports, faulty) = reports_while_held(&curves(3, 12_000, seal_rows), 1_000, longest);
        let held = faulty.held_uploads();
        assert!(reports == 0 && held.1 > 2, "{reports} reports, {held:?}, {seal_rows}");
    }
}
