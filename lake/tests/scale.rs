//! What a log costs as it grows: the inputs of `docs/scale.md`.
//!
//! `STATIONDB_LAKE_BATCHES` is the number of batches, and `STATIONDB_LAKE_DIRECTORY` a new
//! directory for the lake, which is kept for other readers.

mod common;

use std::path::Path as Directory;
use std::sync::Arc;
use std::time::Instant;

use common::*;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use stationdb::Control;
use stationdb::prelude::*;

fn sizes(objects: &Objects, table: &str) -> Vec<(String, u64)> {
    let log = Path::from(format!("lake/{table}/_delta_log"));
    let listed = wait(async { objects.list_with_delimiter(Some(&log)).await.unwrap() });
    let size = |it: &object_store::ObjectMeta| (it.location.to_string(), it.size);
    listed.objects.iter().map(size).collect()
}

/// Sizes of a log: bytes of a version, and of the last checkpoint for each of its actions.
fn measure(objects: &Objects, table: &str, batches: usize) {
    let sizes = sizes(objects, table);
    let versions: Vec<u64> =
        sizes.iter().filter(|(name, _)| name.ends_with(".json")).map(|(_, size)| *size).collect();
    let bytes = versions.iter().sum::<u64>();
    let of_version = bytes / versions.len() as u64;
    let checkpoints = sizes.iter().filter(|(name, _)| name.ends_with(".parquet"));
    let (_, checkpoint) = checkpoints.max().expect("a checkpoint");
    let hint = Path::from(format!("lake/{table}/_delta_log/_last_checkpoint"));
    let hint = wait(async { objects.get(&hint).await.unwrap().bytes().await.unwrap() });
    let hint: Value = serde_json::from_slice(&hint).unwrap();
    let (actions, files) =
        (hint["size"].as_u64().unwrap(), hint["numOfAddFiles"].as_u64().unwrap());
    println!(
        "{table}: {} versions of {of_version} bytes; the last checkpoint: {checkpoint} bytes for \
         {actions} actions, {files} of them files",
        versions.len()
    );
    assert!(versions.len() >= batches, "{table}");
    assert!(of_version < 2_500, "{table}: a version has {of_version} bytes");
    assert!(*checkpoint < 20_000 + 250 * actions, "{table}: {checkpoint} bytes");
}

#[test]
fn the_inputs_of_the_page_on_scale_hold() {
    let setting = |name| std::env::var(name).ok();
    let batches: usize = setting("STATIONDB_LAKE_BATCHES").map_or(60, |text| text.parse().unwrap());
    let kept = setting("STATIONDB_LAKE_DIRECTORY");
    let inner: Objects = match &kept {
        Some(kept) => {
            std::fs::create_dir(kept).unwrap();
            Arc::new(LocalFileSystem::new_with_prefix(Directory::new(kept)).unwrap())
        }
        None => objects(),
    };
    let store = store();
    let session = ada(&store);
    let id = small_table(&session, "a", "");
    let first = publisher(&store, &inner, lake(), "station-1");
    let began = Instant::now();
    let mut commits = 0;
    for batch in 0..batches as i64 {
        append(&session, &id, batch * 10..batch * 10 + 10);
        let product = from(json!({ "partNumber": format!("P-{batch}") }));
        assert!(session.create_products(vec![product]).unwrap().error.is_none());
        commits += publish(&first).commits;
    }
    println!(
        "{batches} batches, {commits} commits, {:?} a batch",
        began.elapsed() / batches as u32
    );
    let tables = names(&inner, "lake");
    let rows = tables.iter().find(|name| is_rows(name)).unwrap().clone();
    for table in [rows.as_str(), "product_changes", "table_changes", "batches"] {
        measure(&inner, table, batches);
    }
    // A new publisher, with the checkpoints and without.
    let mut reads = Vec::new();
    for hints in [true, false] {
        if !hints {
            for table in &tables {
                let hint = Path::from(format!("lake/{table}/_delta_log/_last_checkpoint"));
                let _ = wait(async { inner.delete(&hint).await });
            }
        }
        let (faulty, objects) = faulty(&inner, 1);
        let new = publisher(&store, &objects, lake(), "station-1");
        let began = Instant::now();
        let status = new.status(&Control::default()).unwrap();
        assert_eq!(status.roots[0].rows, 0);
        reads.push(faulty.take_read().len());
        println!("a start with checkpoints {hints}: {:?} requests, {:?}", reads, began.elapsed());
    }
    assert!(reads[0] < 60, "{reads:?}");
    assert!(reads[1] >= batches * 2, "{reads:?}");
}
