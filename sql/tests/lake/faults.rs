//! What is not complete does not count, and a snapshot holds beside publishers.

use std::collections::BTreeSet;

use datafusion::object_store::ObjectStoreExt;
use futures::StreamExt;
use serde_json::json;
use stationdb::prelude::*;
use stationdb_lake::Backoff;
use stationdb_lake::faults::{FaultyStore, nested_parquet};

use super::common::request;
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_not_complete_does_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    fill(&session);
    let objects: Objects = Arc::new(InMemory::new());
    publish(&store, &objects, "s1");
    let before = lake(&objects).await;
    let statements = [
        "select count(*), sum(value) from rows.\"Loop 2\"",
        "select count(*), max(part_number) from products",
        "select count(*) from lake.table_changes",
    ];
    let mut expected = Vec::new();
    for statement in statements {
        expected.push(answers(&before, statement).await);
    }
    let rows = json!({ "frame": { "data": [["900", "1", "1000"]] } });
    let table = session.list_tables(Default::default()).unwrap().tables;
    let table = table.into_iter().find(|table| table.name.as_deref() == Some("Loop 2")).unwrap();
    session.append_table_data(&table.id.unwrap(), request(rows)).unwrap();
    let product = json!({ "partNumber": "Z" });
    let _ = session.create_products(vec![request(product)]).unwrap();
    // All is sent, but for the last commit.
    let faulty = Arc::new(FaultyStore::new(objects.clone(), 1));
    let version = objects_in(&objects, "plant/batches/_delta_log").await;
    faulty.refuse_puts_of(&format!("batches/_delta_log/{version:020}.json"));
    let through: Objects = faulty;
    let wait = std::time::Duration::from_micros(10);
    let backoff = Backoff::default().first(wait).most(wait).attempts(2);
    let killed = publisher(&store, &through, OneRoot::new(ROOT), "s1").with_backoff(backoff);
    assert!(killed.publish(&Control::default()).is_err());
    let during = lake(&objects).await;
    for (statement, expected) in statements.iter().zip(&expected) {
        assert_eq!(*expected, answers(&during, statement).await, "{statement}");
    }
    publish(&store, &objects, "s1");
    assert_same(&session, &lake(&objects).await).await;
    // Each context has the state of when it was made.
    for (statement, expected) in statements.iter().zip(&expected) {
        assert_eq!(*expected, answers(&before, statement).await, "{statement}");
    }
}

/// The number of versions of a log.
async fn objects_in(objects: &Objects, directory: &str) -> usize {
    let listed = objects.list_with_delimiter(Some(&directory.into())).await.unwrap();
    let names = listed.objects.iter().filter_map(|object| object.location.filename());
    names.filter(|name| name.ends_with(".json")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_without_a_lake_has_empty_tables() {
    let objects: Objects = Arc::new(InMemory::new());
    let sql = lake(&objects).await;
    for kind in KINDS {
        assert_eq!(answers(&sql, &format!("select count(*) from {kind}")).await, ["0"]);
    }
    assert!(answers(&sql, "select * from lake.batches").await.is_empty());
    assert!(ask(&sql, "select * from 'lake://objects/plant/x.parquet'").await.is_err());
}

/// The engine's reader makes a tree of a footer by recursion.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_nests_too_deeply_is_an_error_and_not_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    fill(&ada(&store));
    let objects: Objects = Arc::new(InMemory::new());
    publish(&store, &objects, "s1");
    let listed: Vec<_> = objects.list(Some(&"plant".into())).collect().await;
    let paths = listed.into_iter().map(|listed| listed.unwrap().location);
    let files: Vec<_> = paths.filter(|path| !path.as_ref().contains("_delta_log")).collect();
    let before = lake(&objects).await;
    let tables = ["products", "files", "rows.\"Loop 2\"", "lake.table_changes"];
    for groups in [33, 20_000] {
        let mut refused = BTreeSet::new();
        for path in &files {
            let whole = objects.get(path).await.unwrap().bytes().await.unwrap();
            objects.put(path, nested_parquet(groups).into()).await.unwrap();
            // A new context plans with the files of tables, and may read these at once.
            let opened = stationdb_sql::lake(objects.clone(), &ROOT.into()).await;
            for sql in opened.as_ref().into_iter().chain([&before]) {
                for table in tables {
                    if let Err(error) = ask(sql, &format!("select * from {table}")).await {
                        assert!(error.contains("nest"), "{groups}, {path}: {error}");
                        refused.insert(table);
                    }
                }
            }
            let error = opened.map(|_| ()).err().map(|error| error.to_string());
            assert!(error.as_ref().is_none_or(|error| error.contains("nest")), "{error:?}");
            objects.put(path, whole.into()).await.unwrap();
        }
        println!("{groups}: {refused:?} of {} files", files.len());
        assert!(refused.len() >= 3, "{groups}: {refused:?}");
    }
}
