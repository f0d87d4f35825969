//! Data files that are so large that they are uploaded in parts.

mod common;

use std::sync::Arc;

use common::*;
use object_store::local::LocalFileSystem;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind, Store};
use stationdb_lake::faults::{Check, Fault};

/// Rows of a lake file of three parts.
const ROWS: u64 = 3_600;
/// Letters of a row, which do not compress to less than three quarters.
const LETTERS: usize = 8_000;

/// A store with one table, whose rows in the lake are a file of more than 16 MiB.
fn large() -> Store {
    let store = store();
    let session = ada(&store);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "text", "dataType": "STRING" },
    ]);
    let id = session.create_table(from(json!({ "name": "a", "columns": columns }))).unwrap();
    let mut state = 1_u64;
    let mut text = || -> String {
        let letters = (0..LETTERS).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 58) as u8;
            char::from(b'0' + at)
        });
        letters.collect()
    };
    for first in (0..ROWS).step_by(400) {
        let data: Vec<Value> =
            (first..first + 400).map(|n| json!([n.to_string(), text()])).collect();
        session.append_table_data(&id, from(json!({ "frame": { "data": data } }))).unwrap();
    }
    store
}

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
