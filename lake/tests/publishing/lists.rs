//! A publisher knows the lake tables of its station from the log of `batches`, and not from a list,
//! which an object store may answer as it was before; nor from the layout, which may name others.

use std::sync::{Arc, Mutex};

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use serde_json::json;
use stationdb::prelude::*;
use stationdb::tables::{TableId, TableMetadata};
use stationdb::{Control, Session};
use stationdb_lake::faults::{Check, Fault, FaultyStore};
use stationdb_lake::{LakeTable, Layout, Note};

use crate::common::*;

/// Shows the root once, so that a stale list is this one.
fn list(objects: &Objects) {
    let root = Path::from("lake");
    wait(async { objects.list_with_delimiter(Some(&root)).await.unwrap() });
}

/// From here on a list is the one from before the last.
fn lists_are_stale(faulty: &Arc<FaultyStore>) {
    faulty.rate(Fault::StaleList, 1_000);
}

fn rename(session: &Session, id: &TableId) {
    let columns = json!({ "columns": [{ "name": "value", "newName": "volts" }] });
    session.rename_columns(id, from(columns)).unwrap();
}

fn add(session: &Session, id: &TableId) {
    let columns = json!({ "columns": [
        { "name": "more", "dataType": "INT32", "columnType": "NULLABLE" }] });
    session.add_columns(id, from(columns)).unwrap();
}

#[test]
fn a_lake_table_of_other_columns_that_no_list_shows_doubles_nothing() {
    needs(Check::NamedTables, || {
        for change in [rename, add] {
            let (store, inner) = (store(), objects());
            let id = small_table(&ada(&store), "a", "");
            append(&ada(&store), &id, 0..10);
            let (faulty, objects) = faulty(&inner, 1);
            // What a list shows now is what a later one will show.
            list(&objects);
            publish(&publisher(&store, &objects, lake(), "s1"));
            append(&ada(&store), &id, 10..20);
            change(&ada(&store), &id);
            lists_are_stale(&faulty);
            publish(&publisher(&store, &objects, lake(), "s1"));
            equal(&store, &inner, "s1");
        }
    });
}

/// A crash after each number of commits, then other columns, and a publisher whose list is stale.
#[test]
fn a_lake_table_of_a_crashed_publisher_is_known_without_a_list() {
    needs(Check::NamedFirst, || {
        for crash_after in 1..6 {
            let (store, inner) = (store(), objects());
            let id = small_table(&ada(&store), "a", "");
            append(&ada(&store), &id, 0..10);
            let (faulty, objects) = faulty(&inner, 1);
            list(&objects);
            let control = Control::default();
            let (cancelled, count) = (control.clone(), Mutex::new(0));
            let crashing = publisher(&store, &objects, lake(), "s1").with_notes(move |note| {
                if matches!(note, Note::Committed { .. }) {
                    *count.lock().unwrap() += 1;
                    if *count.lock().unwrap() == crash_after {
                        cancelled.cancel();
                    }
                }
            });
            drop(crashing.publish(&control));
            rename(&ada(&store), &id);
            lists_are_stale(&faulty);
            publish(&publisher(&store, &objects, lake(), "s1"));
            equal(&store, &inner, "s1");
        }
    });
}

#[test]
fn lake_tables_of_an_earlier_version_are_listed_once_and_named() {
    let (store, inner) = (store(), objects());
    let id = small_table(&ada(&store), "a", "");
    append(&ada(&store), &id, 0..10);
    publish(&publisher(&store, &inner, lake(), "s1"));
    // An earlier version named none.
    for version in 0..table(&inner, "lake", "batches").versions {
        let path = Path::from(format!("lake/batches/_delta_log/{version:020}.json"));
        wait(async {
            let log = inner.get(&path).await.unwrap().bytes().await.unwrap();
            let log = std::str::from_utf8(&log).unwrap();
            let kept: Vec<&str> = log.lines().filter(|line| !line.contains("/tables/")).collect();
            inner.put(&path, PutPayload::from(kept.join("\n"))).await.unwrap();
        });
    }
    rename(&ada(&store), &id);
    publish(&publisher(&store, &inner, lake(), "s1"));
    equal(&store, &inner, "s1");
    let (faulty, objects) = faulty(&inner, 1);
    append(&ada(&store), &id, 10..20);
    add(&ada(&store), &id);
    publish(&publisher(&store, &objects, lake(), "s1"));
    assert!(!faulty.was_listed("lake"), "the lake was listed again");
    equal(&store, &inner, "s1");
}

/// All tables go to one lake table of this name.
struct OneLakeTable(&'static str);

impl Layout for OneLakeTable {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("lake")]
    }

    fn root(&self, _workspace: &str) -> Option<Path> {
        Some(Path::from("lake"))
    }

    fn rows(&self, _table: &TableMetadata) -> Option<LakeTable> {
        Some(LakeTable::named(self.0))
    }
}

/// A crash after each number of commits, or none, and then a layout that names another lake table.
#[test]
fn a_layout_with_another_lake_table_doubles_nothing_in_its_batch() {
    needs(Check::HeldBatch, || {
        for sent_before in [false, true] {
            for crash_after in 1..8 {
                let (store, objects) = (store(), objects());
                let id = small_table(&ada(&store), "a", "");
                append(&ada(&store), &id, 0..10);
                if sent_before {
                    publish(&publisher(&store, &objects, OneLakeTable("first"), "s1"));
                    append(&ada(&store), &id, 10..20);
                }
                interrupted(publisher(&store, &objects, OneLakeTable("first"), "s1"), crash_after);
                let publisher = publisher(&store, &objects, OneLakeTable("second"), "s1");
                for _ in 0..2 {
                    publish(&publisher);
                    equal(&store, &objects, "s1");
                }
                // The next batch moves the table, although the table itself does not change.
                small_table(&ada(&store), "b", "");
                publish(&publisher);
                equal(&store, &objects, "s1");
                assert!(names(&objects, "lake").contains(&"second".to_owned()));
                append(&ada(&store), &id, 20..30);
                assert_eq!(publish(&publisher).rows, 10, "only the new rows");
                equal(&store, &objects, "s1");
            }
        }
    });
}
