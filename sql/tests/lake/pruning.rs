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

#[tokio::test(flavor = "multi_thread")]
async fn conditions_and_columns_save_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let inner: Objects = Arc::new(InMemory::new());
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "FLOAT64" },
        { "name": "note", "dataType": "STRING", "columnType": "NULLABLE" },
    ]);
    let table = json!({ "name": "curve", "columns": columns });
    let id = session.create_table(request(table)).unwrap();
    for batch in 0..10 {
        let rows: Vec<_> = (batch * 20_000..(batch + 1) * 20_000)
            .map(|at: i64| {
                json!([at.to_string(), (at * 7919 % 99_991).to_string(), format!("note {at}")])
            })
            .collect();
        session.append_table_data(&id, request(json!({ "frame": { "data": rows } }))).unwrap();
        publish(&store, &inner, "s1");
    }
    let watched = Arc::new(FaultyStore::new(inner, 1));
    let objects: Objects = watched.clone();
    let bytes = async |statement: &str, expected: &str| {
        let sql = lake(&objects).await;
        let _ = watched.take_read_bytes();
        assert_eq!(answers(&sql, statement).await, [expected], "{statement}");
        watched.take_read_bytes()
    };
    let all = "select count(note), sum(value), max(n) from rows.curve";
    let all = bytes(all, "200000 | 9.99881174e9 | 199999").await;
    let one = bytes("select count(note), max(n) from rows.curve where n < 20000", "20000 | 19999");
    let one = one.await;
    assert!(one * 3 < all, "{one} of {all} bytes for a tenth of the rows");
    let column = bytes("select max(n), count(distinct n) from rows.curve", "199999 | 200000").await;
    assert!(column * 2 < all, "{column} of {all} bytes for a column of three");
    println!("{all} bytes for all, {one} for a tenth of the rows, {column} for a column");
    let gone = stationdb::tables::DeleteRowsRequest::new().index_before("10");
    session.delete_rows(&id, gone).unwrap();
    publish(&store, &objects, "s1");
    let one = bytes("select count(note), max(n) from rows.curve where n < 20000", "19990 | 19999");
    let one = one.await;
    assert!(one * 3 < all, "{one} of {all} bytes for a tenth of the rows beside deleted ones");
}
