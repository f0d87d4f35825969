//! A name of a column that means another column than before: the values in the lake are those of
//! the column, and not of the name.

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb::{Session, Store};
use stationdb_lake::LakeTable;
use stationdb_lake::object_store::path::Path;

use crate::common::*;

/// The columns `a` and `b` beside the index.
fn table(session: &Session) -> TableId {
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "a", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "b", "dataType": "FLOAT64", "columnType": "NULLABLE" },
    ]);
    session.create_table(from(json!({ "name": "T", "columns": columns }))).unwrap()
}

/// Appends ten rows from `first` on, with values in two columns.
fn append_to(session: &Session, id: &TableId, columns: [&str; 2], first: i64) {
    let row = |n: i64| json!([n.to_string(), format!("{n}"), format!("{}", 1_000 + n)]);
    let data: Vec<Value> = (first..first + 10).map(row).collect();
    let frame = json!({ "columns": ["n", columns[0], columns[1]], "data": data });
    session.append_table_data(id, from(json!({ "frame": frame }))).unwrap();
}

fn renamed(session: &Session, id: &TableId, pairs: &[(&str, &str)]) {
    let pairs = pairs.iter().map(|(name, new)| json!({ "name": name, "newName": new }));
    session.rename_columns(id, from(json!({ "columns": pairs.collect::<Vec<_>>() }))).unwrap();
}

fn dropped(session: &Session, id: &TableId, name: &str) {
    session.drop_columns(id, from(json!({ "columns": [name] }))).unwrap();
}

fn added(session: &Session, id: &TableId, name: &str) {
    let column = json!({ "name": name, "dataType": "FLOAT64", "columnType": "NULLABLE" });
    session.add_columns(id, from(json!({ "columns": [column] }))).unwrap();
}

type Change = fn(&Session, &TableId);

/// After each of these the table has columns with the names and types that it had.
const CHANGES: [(&str, Change); 4] = [
    ("exchanged", |session, id| renamed(session, id, &[("a", "b"), ("b", "a")])),
    ("dropped and added", |session, id| {
        dropped(session, id, "a");
        added(session, id, "a");
    }),
    ("renamed and added", |session, id| {
        renamed(session, id, &[("a", "c")]);
        added(session, id, "a");
    }),
    ("exchanged by three names", |session, id| {
        renamed(session, id, &[("a", "x")]);
        renamed(session, id, &[("b", "a")]);
        renamed(session, id, &[("x", "b")]);
    }),
];

/// One lake table for all columns.
#[derive(Clone)]
struct OneTable;

impl stationdb_lake::Layout for OneTable {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("lake")]
    }

    fn root(&self, _workspace: &str) -> Option<Path> {
        Some(Path::from("lake"))
    }

    fn rows(&self, _table: &stationdb::tables::TableMetadata) -> Option<LakeTable> {
        Some(LakeTable::named("measured"))
    }
}

fn check(layout: impl stationdb_lake::Layout + Clone, change: Change, what: &str) {
    for is_new in [false, true] {
        let (store, objects): (Store, Objects) = (store(), objects());
        let session = ada(&store);
        let id = table(&session);
        append_to(&session, &id, ["a", "b"], 0);
        let mut publisher = crate::common::publisher(&store, &objects, layout.clone(), "s1");
        publish(&publisher);
        for round in 1..4 {
            change(&session, &id);
            if is_new {
                // What it knows is what the lake says.
                publisher = crate::common::publisher(&store, &objects, layout.clone(), "s1");
            }
            publish(&publisher);
            equal(&store, &objects, "s1");
            append_to(&session, &id, ["a", "b"], 10 * round);
            assert_eq!(publish(&publisher).rows, 10, "{what}: only the new rows");
            equal(&store, &objects, "s1");
            if what == "renamed and added" {
                dropped(&session, &id, "c");
            }
        }
    }
}

#[test]
fn a_name_of_another_column_brings_no_earlier_values() {
    for (what, change) in CHANGES {
        check(lake(), change, what);
        check(OneTable, change, what);
    }
}

#[test]
fn a_column_that_has_its_name_again_is_not_sent_again() {
    let (store, objects) = (store(), objects());
    let session = ada(&store);
    let id = table(&session);
    append_to(&session, &id, ["a", "b"], 0);
    let publisher = publisher(&store, &objects, lake(), "s1");
    publish(&publisher);
    renamed(&session, &id, &[("a", "x")]);
    renamed(&session, &id, &[("x", "a")]);
    added(&session, &id, "c");
    append_to(&session, &id, ["a", "c"], 10);
    assert_eq!(publish(&publisher).rows, 10);
    equal(&store, &objects, "s1");
}
