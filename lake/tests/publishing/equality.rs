//! The lake has what the store has, in every type and through every change.

use std::sync::Arc;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::{DeleteRowsRequest, TableId};
use stationdb::{Control, Session};
use stationdb_lake::{LakeTable, Layout, OneRoot};

use crate::common::*;

/// Workspace `away` goes to another root, `secret` nowhere.
#[derive(Clone)]
struct TwoRoots;

impl Layout for TwoRoots {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("plant"), Path::from("far/away")]
    }

    fn root(&self, workspace: &str) -> Option<Path> {
        match workspace {
            "secret" => None,
            "away" => Some(Path::from("far/away")),
            _ => Some(Path::from("plant")),
        }
    }
}

fn every_type(session: &Session) -> TableId {
    let columns = json!([
        { "name": "t", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        { "name": "a b,c;{d}(e)=f", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "Volts", "dataType": "FLOAT32", "columnType": "NULLABLE" },
        { "name": "volts", "dataType": "INT32", "columnType": "NULLABLE" },
        { "name": "_row", "dataType": "INT64", "columnType": "NULLABLE" },
        { "name": "100%", "dataType": "BOOL", "columnType": "NULLABLE" },
        { "name": "Ünicode\ttext", "dataType": "STRING", "columnType": "NULLABLE" },
        { "name": "us", "dataType": "TIMESTAMP_US", "columnType": "NULLABLE" },
        { "name": "ns", "dataType": "TIMESTAMP_NS", "columnType": "NULLABLE" },
    ]);
    session.create_table(from(json!({ "name": "every type", "columns": columns }))).unwrap()
}

/// Rows with NaN, infinities, both zeros and nulls; every third one goes back in time.
fn append_every_type(session: &Session, id: &TableId, from_row: i64, to_row: i64) {
    let row = |n: i64| -> Value {
        let at = if n % 3 == 0 { n } else { 10_000 - n };
        let float = ["NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1.5", "1e308"];
        let text = |value: String| (n % 11 != 0).then_some(value);
        json!([
            format!(
                "2024-01-01T{:02}:{:02}:{:02}.{:03}Z",
                at / 3600,
                at / 60 % 60,
                at % 60,
                n % 1000
            ),
            text(float[n as usize % 7].to_owned()),
            text(float[n as usize % 6].to_owned()),
            text((n - 100).to_string()),
            text((n * 1_000_000_007).to_string()),
            text((n % 2 == 0).to_string()),
            text(["", "ü,\"x\"", "line\nbreak", "null"][n as usize % 4].to_owned()),
            text(format!("2024-01-01T00:00:00.{n:06}Z")),
            text(format!("2024-01-01T00:00:00.{:09}Z", n * 7 + 1)),
        ])
    };
    let data: Vec<Value> = (from_row..to_row).map(row).collect();
    session.append_table_data(id, from(json!({ "frame": { "data": data } }))).unwrap();
}

fn products(session: &Session, names: impl Iterator<Item = i64>, workspace: &str) {
    let product = |at: i64| {
        from(json!({ "partNumber": format!("P-{workspace}-{at}"), "workspace": workspace,
            "keywords": ["a", "b"], "properties": { "line": at.to_string() } }))
    };
    let made = session.create_products(names.map(product).collect()).unwrap();
    assert!(made.error.is_none(), "{:?}", made.error);
}

/// Publishes after each change and compares both roots; some publishers are new, as after a
/// restart.
fn goes_through_every_change(objects: &Objects) {
    let store = store();
    let session = ada(&store);
    let mut kept = publisher(&store, objects, TwoRoots, "s1");
    let mut step = 0;
    let mut check = |what: &str| {
        step += 1;
        if step % 3 == 0 {
            kept = publisher(&store, objects, TwoRoots, "s1");
        }
        let published = publish(&kept);
        let is_plant = |workspace: &str| !matches!(workspace, "away" | "secret");
        println!("{what}: {published:?}");
        assert_equal(&session, objects, "plant", "s1", is_plant);
        assert_equal(&session, objects, "far/away", "s1", |workspace| workspace == "away");
        published
    };
    check("empty");
    let typed = every_type(&session);
    append_every_type(&session, &typed, 0, 300);
    products(&session, 0..5, "");
    check("buffered rows");
    // The first segment has rows that were sent, and the second has none.
    append_every_type(&session, &typed, 300, 600);
    append_every_type(&session, &typed, 600, 1_200);
    let published = check("segments");
    assert_eq!(published.rows, 900);
    assert!(published.taken_bytes > 0, "no chunk was taken over");
    let again = check("nothing");
    assert_eq!((again.rows, again.commits), (0, 0));
    store.maintain(&Control::default()).unwrap();
    check("maintained");
    session
        .delete_rows(&typed, DeleteRowsRequest::new().index_before("2024-01-01T00:10:00Z"))
        .unwrap();
    check("deleted rows");
    append_every_type(&session, &typed, 1_200, 1_300);
    session
        .delete_rows(&typed, DeleteRowsRequest::new().index_from("2024-01-01T02:40:00Z"))
        .unwrap();
    check("deleted rows that were sent and that were not");
    let added = json!({ "columns": [
        { "name": "new one", "dataType": "INT32", "columnType": "NULLABLE" }] });
    session.add_columns(&typed, from(added)).unwrap();
    check("added column");
    let small = small_table(&session, "small", "");
    append(&session, &small, 0..50);
    let away = small_table(&session, "far", "away");
    append(&session, &away, 0..700);
    let hidden = small_table(&session, "hidden", "secret");
    append(&session, &hidden, 0..20);
    products(&session, 5..8, "away");
    products(&session, 8..10, "secret");
    check("three workspaces");
    session
        .rename_columns(
            &small,
            from(json!({ "columns": [{ "name": "value", "newName": "volts" }] })),
        )
        .unwrap();
    append(&session, &small, 50..60);
    check("renamed column");
    session.drop_columns(&typed, from(json!({ "columns": ["volts"] }))).unwrap();
    let other = json!({ "columns": [
        { "name": "volts", "dataType": "STRING", "columnType": "NULLABLE" }] });
    session.add_columns(&typed, from(other)).unwrap();
    check("column with another type");
    let move_to = |id: &TableId, workspace: &str| {
        session.modify_table(id, from(json!({ "workspace": workspace }))).unwrap();
    };
    move_to(&away, "");
    check("moved to the other root");
    move_to(&away, "away");
    append(&session, &away, 700..710);
    check("moved back");
    move_to(&small, "secret");
    check("moved to where nothing leaves");
    move_to(&hidden, "away");
    check("moved from where nothing leaves");
    session.delete_tables(vec![away, typed]).unwrap();
    check("deleted tables");
    let file = from(json!({ "name": "a.txt", "workspace": "" }));
    session.upload_file(&mut &b"x"[..], file, &Control::default()).unwrap();
    let items = (0..3).map(|at| {
        from(
            json!({ "name": format!("Item {at}"), "type": "test", "partNumber": "P", "state": "NEW",
            "timeline": { "dueDateTime": "2024-05-01T00:00:00.123Z" } }),
        )
    });
    let _ = session.create_work_items(items.collect()).unwrap();
    check("files and work items");
}

#[test]
fn a_lake_in_memory_equals_the_store() {
    goes_through_every_change(&(Arc::new(InMemory::new()) as Objects));
}

#[test]
fn a_lake_in_a_directory_equals_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(LocalFileSystem::new_with_prefix(directory.path()).unwrap());
    goes_through_every_change(&objects);
}

/// All tables to one lake table.
struct OneLakeTable;

impl Layout for OneLakeTable {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from("lake")]
    }

    fn root(&self, _workspace: &str) -> Option<Path> {
        Some(Path::from("lake"))
    }

    fn rows(&self, table: &stationdb::tables::TableMetadata) -> Option<LakeTable> {
        let is_kept = table.name.as_deref() == Some("kept here");
        (!is_kept).then(|| LakeTable::named("measurements"))
    }
}

#[test]
fn a_layout_names_lake_tables_and_a_column_of_another_type_goes_beside() {
    let (store, objects) = (store(), Arc::new(InMemory::new()) as Objects);
    let session = ada(&store);
    let first = small_table(&session, "one", "");
    append(&session, &first, 0..10);
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "STRING" },
    ]);
    let second = session.create_table(from(json!({ "name": "two", "columns": columns }))).unwrap();
    append(&session, &second, 0..10);
    let kept = small_table(&session, "kept here", "");
    append(&session, &kept, 0..10);
    publish(&publisher(&store, &objects, OneLakeTable, "s1"));
    let rows = live_rows(&objects, "lake", "s1");
    let mut expected = store_rows(&session, |_| true);
    expected.retain(|(id, _), _| *id != kept.to_string());
    assert_eq!(rows, expected);
    let mut names = names(&objects, "lake");
    names.retain(|name| is_rows(name));
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&"measurements".to_owned()), "{names:?}");
}

#[test]
fn small_tables_share_a_file() {
    let (store, objects) = (store(), Arc::new(InMemory::new()) as Objects);
    let session = ada(&store);
    for at in 0..20 {
        let id = small_table(&session, &format!("table {at}"), "");
        append(&session, &id, 0..10);
    }
    let publisher = publisher(&store, &objects, OneRoot::new("lake"), "s1");
    assert_eq!(publish(&publisher).rows, 200);
    let names = names(&objects, "lake");
    let rows: Vec<_> = names.iter().filter(|name| is_rows(name)).collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(table(&objects, "lake", rows[0]).files.len(), 1);
    assert_equal(&session, &objects, "lake", "s1", |_| true);
}
