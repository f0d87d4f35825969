//! Checkpoints of the logs: what they spare, and what holds when they are missing, old, or lack
//! what a station said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use stationdb::tables::TableId;
use stationdb::{Control, ErrorKind, Store};
use stationdb_lake::Note;
use stationdb_lake::faults::{Check, set_clock_back};

use crate::common::*;

type RemovedObjects = BTreeMap<Path, Bytes>;

/// A lake in which the table `once` was sent first, and then 25 batches of the table `often`.
fn lake_of_25() -> (Store, Objects, TableId) {
    let (store, objects) = (store(), objects());
    let session = ada(&store);
    let once = small_table(&session, "once", "");
    append(&session, &once, 0..10);
    publish(&publisher(&store, &objects, lake(), "s1"));
    let often = small_table(&session, "often", "");
    let kept = publisher(&store, &objects, lake(), "s1");
    for at in 0..25 {
        append(&session, &often, at * 10..at * 10 + 10);
        publish(&kept);
    }
    (store, objects, often)
}

fn rows_name(objects: &Objects) -> String {
    names(objects, "lake").into_iter().find(|name| is_rows(name)).unwrap()
}

fn log(name: &str) -> Path {
    Path::from(format!("lake/{name}/_delta_log"))
}

fn list(objects: &Objects, directory: &Path) -> Vec<String> {
    let listed = wait(async { objects.list_with_delimiter(Some(directory)).await.unwrap() });
    listed.objects.iter().map(|it| it.location.filename().unwrap().to_owned()).collect()
}

fn get(objects: &Objects, path: &Path) -> Bytes {
    wait(async { objects.get(path).await.unwrap().bytes().await.unwrap() })
}

fn put(objects: &Objects, path: &Path, bytes: impl Into<PutPayload>) {
    wait(async { objects.put(path, bytes.into()).await.unwrap() });
}

/// The version in a name of a log.
fn version(name: &str) -> Option<u64> {
    name.split('.').next()?.parse().ok()
}

fn checkpoints(objects: &Objects, name: &str) -> Vec<u64> {
    let names = list(objects, &log(name));
    let own = names.iter().filter(|name| name.ends_with(".checkpoint.parquet"));
    own.filter_map(|name| version(name)).collect()
}

/// Removes versions below this one of all logs, as engines do after a time.
fn clean(objects: &Objects, below: u64) -> RemovedObjects {
    let mut removed = RemovedObjects::new();
    for table in names(objects, "lake") {
        for name in list(objects, &log(&table)) {
            if name.ends_with(".json") && version(&name).is_some_and(|at| at < below) {
                let has_later = checkpoints(objects, &table).iter().any(|at| *at + 1 >= below);
                if has_later {
                    let path = log(&table).join(name);
                    removed.insert(path.clone(), get(objects, &path));
                    wait(async { objects.delete(&path).await.unwrap() });
                }
            }
        }
    }
    assert!(!removed.is_empty());
    removed
}

fn restore(objects: &Objects, removed: RemovedObjects) {
    removed.into_iter().for_each(|(path, bytes)| put(objects, &path, bytes));
}

#[test]
fn a_log_is_read_from_its_last_checkpoint() {
    let (store, inner, often) = lake_of_25();
    let rows = rows_name(&inner);
    assert_eq!(checkpoints(&inner, &rows), [10, 20]);
    assert_eq!(checkpoints(&inner, "batches"), [10, 20]);
    append(&ada(&store), &often, 250..260);
    let (faulty, objects) = faulty(&inner, 1);
    assert_eq!(publish(&publisher(&store, &objects, lake(), "s1")).rows, 10);
    let read = faulty.take_read();
    for name in [rows.as_str(), "batches"] {
        let of_log = read.iter().filter(|path| path.prefix_matches(&log(name)));
        let versions = of_log.filter(|path| path.extension() == Some("json"));
        let oldest = versions.filter_map(|path| version(path.filename().unwrap())).min();
        assert_eq!(oldest, Some(21), "{name}");
    }
    equal(&store, &inner, "s1");
}

#[test]
fn a_log_without_its_first_versions_is_read_from_a_checkpoint() {
    let (store, inner, often) = lake_of_25();
    let removed = clean(&inner, 20);
    append(&ada(&store), &often, 250..260);
    assert_eq!(publish(&publisher(&store, &inner, lake(), "s1")).rows, 10);
    // Also by a list, when the name of the last checkpoint is lost.
    for name in names(&inner, "lake") {
        let hint = log(&name).join("_last_checkpoint");
        let _ = wait(async { inner.delete(&hint).await });
    }
    append(&ada(&store), &often, 260..270);
    assert_eq!(publish(&publisher(&store, &inner, lake(), "s1")).rows, 10);
    restore(&inner, removed);
    equal(&store, &inner, "s1");
}

/// The name of the last checkpoint is an old one, and the versions after that were removed.
#[test]
fn a_version_that_was_removed_is_not_created_again() {
    needs(Check::RemovedVersions, || {
        let (store, inner, often) = lake_of_25();
        let removed = clean(&inner, 20);
        for name in [rows_name(&inner).as_str(), "batches"] {
            put(&inner, &log(name).join("_last_checkpoint"), "{\"version\":10,\"size\":1}");
        }
        append(&ada(&store), &often, 250..260);
        assert_eq!(publish(&publisher(&store, &inner, lake(), "s1")).rows, 10);
        restore(&inner, removed);
        equal(&store, &inner, "s1");
    });
}

/// The versions after the last one that it read were removed meanwhile, and its clock does not tell
/// how long ago it read.
#[test]
fn an_open_publisher_whose_clock_was_set_back_begins_at_a_checkpoint() {
    let (store, objects) = (store(), objects());
    let id = small_table(&ada(&store), "a", "");
    append(&ada(&store), &id, 0..10);
    let open = publisher(&store, &objects, lake(), "s1");
    publish(&open);
    let other = crate::common::store();
    let often_id = small_table(&ada(&other), "a", "");
    let often = publisher(&other, &objects, lake(), "s2");
    for at in 0..25 {
        append(&ada(&other), &often_id, at * 10..at * 10 + 10);
        publish(&often);
    }
    let removed = clean(&objects, 20);
    append(&ada(&store), &id, 10..20);
    set_clock_back(Duration::from_secs(60));
    assert_eq!(publish(&open).rows, 10);
    restore(&objects, removed);
    equal(&store, &objects, "s1");
    equal(&other, &objects, "s2");
}

/// A crash after the checkpoint and before its name, and names that are damaged or of nothing.
#[test]
fn a_last_checkpoint_that_is_old_or_damaged_costs_only_time() {
    let hints: [&[u8]; 6] = [
        b"{\"version\":10,\"size\":1}",
        b"{\"version\":15,\"size\":1}",
        b"{\"version\":20,\"size\":1,\"parts\":2}",
        b"{\"version\":",
        b"",
        b"{\"version\":18446744073709551615}",
    ];
    for hint in hints {
        let (store, inner, often) = lake_of_25();
        let rows = rows_name(&inner);
        for name in [rows.as_str(), "batches"] {
            put(&inner, &log(name).join("_last_checkpoint"), hint.to_vec());
        }
        let kept = publisher(&store, &inner, lake(), "s1");
        for at in 25..37 {
            append(&ada(&store), &often, at * 10..at * 10 + 10);
            assert_eq!(publish(&kept).rows, 10);
        }
        equal(&store, &inner, "s1");
        let last = get(&inner, &log(&rows).join("_last_checkpoint"));
        let last: serde_json::Value = serde_json::from_slice(&last).unwrap_or_default();
        let is_known = last["version"].as_u64() == checkpoints(&inner, &rows).last().copied();
        assert!(is_known || hint.ends_with(b"615}"), "{last}");
    }
    // A checkpoint that is half there is not used.
    let (store, inner, often) = lake_of_25();
    for name in [rows_name(&inner).as_str(), "batches"] {
        let path = log(name).join(format!("{:020}.checkpoint.parquet", 20));
        let bytes = get(&inner, &path);
        put(&inner, &path, bytes.slice(..bytes.len() / 2));
    }
    append(&ada(&store), &often, 250..260);
    assert_eq!(publish(&publisher(&store, &inner, lake(), "s1")).rows, 10);
    equal(&store, &inner, "s1");
}

/// Another engine writes the file of the first statement again.
fn compact(objects: &Objects, name: &str) {
    let versions = table(objects, "lake", name).versions;
    let actions: Vec<serde_json::Value> = (0..versions)
        .flat_map(|version| {
            let bytes = get(objects, &log(name).join(format!("{version:020}.json")));
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<_>>()
        })
        .collect();
    let add = actions.iter().find_map(|action| action.get("add")).unwrap();
    let old = add["path"].as_str().unwrap();
    let bytes = get(objects, &Path::from(format!("lake/{name}/{old}")));
    put(objects, &Path::from(format!("lake/{name}/data/compacted.parquet")), bytes);
    let remove = serde_json::json!({ "remove": {
        "path": old, "dataChange": false, "deletionTimestamp": 1_800_000_000_000_i64 } });
    let add = serde_json::json!({ "add": {
        "path": "data/compacted.parquet", "partitionValues": {}, "size": add["size"],
        "modificationTime": 1_800_000_000_000_i64, "dataChange": false } });
    let path = log(name).join(format!("{versions:020}.json"));
    put(objects, &path, format!("{remove}\n{add}\n"));
}

#[test]
fn what_a_compacted_file_said_is_not_forgotten() {
    needs(Check::WholeCheckpoint, || {
        let (store, inner, often) = lake_of_25();
        let rows = rows_name(&inner);
        compact(&inner, &rows);
        let kept = publisher(&store, &inner, lake(), "s1");
        for at in 25..40 {
            append(&ada(&store), &often, at * 10..at * 10 + 10);
            publish(&kept);
        }
        assert!(checkpoints(&inner, &rows).len() > 2);
        append(&ada(&store), &often, 400..410);
        assert_eq!(publish(&publisher(&store, &inner, lake(), "s1")).rows, 10);
        equal(&store, &inner, "s1");
        // Without the versions nothing says it, and nothing is sent twice.
        let last = *checkpoints(&inner, &rows).last().unwrap();
        let path = log(&rows).join(format!("{:020}.json", 0));
        wait(async { inner.delete(&path).await.unwrap() });
        let refused = publisher(&store, &inner, lake(), "s1").publish(&Control::default());
        let refused = refused.expect_err("it was not refused");
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused} {last}");
    });
}

#[test]
fn a_table_property_says_how_far_apart_checkpoints_are() {
    let (store, inner, often) = lake_of_25();
    let rows = rows_name(&inner);
    let path = log(&rows).join(format!("{:020}.json", 0));
    let text = String::from_utf8(get(&inner, &path).to_vec()).unwrap();
    let metadata = text.lines().find(|line| line.contains("metaData")).unwrap();
    let appends = "\"delta.appendOnly\":\"true\"";
    let metadata =
        metadata.replace(appends, &format!("{appends},\"delta.checkpointInterval\":\"3\""));
    let versions = table(&inner, "lake", &rows).versions;
    put(&inner, &log(&rows).join(format!("{versions:020}.json")), metadata);
    let kept = publisher(&store, &inner, lake(), "s1");
    for at in 25..31 {
        append(&ada(&store), &often, at * 10..at * 10 + 10);
        publish(&kept);
    }
    assert_eq!((versions, checkpoints(&inner, &rows)), (27, vec![10, 20, 28, 31]));
    equal(&store, &inner, "s1");
}

/// The commit stands when the checkpoint cannot be written, or when its name cannot.
#[test]
fn a_checkpoint_that_fails_is_told_and_costs_nothing() {
    for object in [".checkpoint.parquet", "_last_checkpoint"] {
        let (store, inner, often) = lake_of_25();
        let rows = rows_name(&inner);
        let (faulty, objects) = faulty(&inner, 3);
        faulty.refuse_puts_of(object);
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = told.clone();
        let kept = publisher(&store, &objects, lake(), "s1").with_notes(move |note| {
            if let Note::Checkpoint { table, version, error } = note {
                heard.lock().unwrap().push((table, version, error.is_some()));
            }
        });
        let last = || -> serde_json::Value {
            let bytes = get(&inner, &log(&rows).join("_last_checkpoint"));
            serde_json::from_slice(&bytes).unwrap()
        };
        for at in 25..32 {
            append(&ada(&store), &often, at * 10..at * 10 + 10);
            publish(&kept);
        }
        let failed = (format!("lake/{rows}"), 30, true);
        assert!(told.lock().unwrap().contains(&failed), "{:?}", told.lock().unwrap());
        // The name is that of a checkpoint that is there.
        assert_eq!(last()["version"], 20);
        assert_eq!(checkpoints(&inner, &rows).contains(&30), object == "_last_checkpoint");
        faulty.refuse_puts_of("nothing");
        append(&ada(&store), &often, 320..330);
        assert_eq!(publish(&publisher(&store, &objects, lake(), "s1")).rows, 10);
        assert_eq!(last()["version"], 34);
        equal(&store, &inner, "s1");
    }
}
