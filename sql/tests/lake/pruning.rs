//! A statement reads the files that it needs.

use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::object_store::path::Path;
use serde_json::json;
use stationdb::prelude::*;
use stationdb_lake::faults::FaultyStore;

use super::common::request;
use super::*;

/// Data files of rows that were read since the last call.
fn files(objects: &FaultyStore) -> Vec<Path> {
    let mut read = objects.take_read();
    read.retain(|path| path.as_ref().contains("/rows_") && path.extension() == Some("parquet"));
    read.sort();
    read.dedup();
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_files_of_a_table_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let inner: Objects = Arc::new(InMemory::new());
    let counter = AtomicU64::new(0);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "FLOAT64" },
    ]);
    for station in ["s1", "s2", "s3"] {
        let store = open(&directory.path().join(station));
        let session = ada(&store);
        for name in ["one", "two"] {
            let table = json!({ "name": format!("{station} {name}"), "columns": columns });
            let id = session.create_table(request(table)).unwrap();
            let rows: Vec<_> = (0..200)
                .map(|at: i64| {
                    json!([at.to_string(), counter.fetch_add(1, Ordering::SeqCst).to_string()])
                })
                .collect();
            session.append_table_data(&id, request(json!({ "frame": { "data": rows } }))).unwrap();
            publish(&store, &inner, station);
        }
    }
    let watched = Arc::new(FaultyStore::new(inner, 1));
    let objects: Objects = watched.clone();
    let sql = lake(&objects).await;
    assert_eq!(files(&watched), [], "a context reads logs, and no rows");
    let one = "select count(*), min(value) from rows.\"s2 two\"";
    assert_eq!(answers(&sql, one).await, ["200 | 6.00000000e2"]);
    let read = files(&watched);
    assert_eq!(read.len(), 1, "{read:?}");
    assert!(read[0].as_ref().contains("/data/s2/"), "{read:?}");
    let sql = lake(&objects).await;
    let _ = files(&watched);
    let names = "select table_name from information_schema.tables where table_schema = 'lake' \
        and table_name like 'rows%'";
    let shared = answers(&sql, names).await.remove(0);
    let all = format!("select count(*), sum(value) from lake.\"{shared}\"");
    assert_eq!(answers(&sql, &all).await, ["1200 | 7.19400000e5"]);
    assert_eq!(files(&watched).len(), 6);
}
