//! Data files that are so large that they are uploaded in parts.

mod common;
#[path = "common/large.rs"]
mod large;

use std::sync::Arc;

use common::*;
use large::{ROWS, large};
use object_store::local::LocalFileSystem;
use stationdb::{Control, ErrorKind};
use stationdb_lake::faults::{Check, Fault};

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
