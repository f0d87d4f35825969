//! Roots, full passes and epochs: what a lake has of earlier histories does not count.

use datafusion::object_store::path::Path;
use serde_json::json;
use stationdb::ErrorKind;
use stationdb::prelude::*;
use stationdb::tables::{TableId, TableMetadata};
use stationdb_lake::LakeTable;

use super::common::request;
use super::*;

/// The workspace `away` has a root of its own, and `secret` has none.
struct TwoRoots;

impl Layout for TwoRoots {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from(ROOT), Path::from("far/away")]
    }

    fn root(&self, workspace: &str) -> Option<Path> {
        match workspace {
            "secret" => None,
            "away" => Some(Path::from("far/away")),
            _ => Some(Path::from(ROOT)),
        }
    }
}

/// All rows in one lake table.
struct Curves;

impl Layout for Curves {
    fn roots(&self) -> Vec<Path> {
        vec![Path::from(ROOT)]
    }

    fn root(&self, _workspace: &str) -> Option<Path> {
        Some(Path::from(ROOT))
    }

    fn rows(&self, _table: &TableMetadata) -> Option<LakeTable> {
        Some(LakeTable::named("curves"))
    }
}

fn small(session: &Session, name: &str, workspace: &str) -> TableId {
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "value", "dataType": "FLOAT64", "columnType": "NULLABLE" },
    ]);
    let table = json!({ "name": name, "workspace": workspace, "columns": columns });
    session.create_table(request(table)).unwrap()
}

fn append(session: &Session, id: &TableId, rows: std::ops::Range<i64>) {
    let rows: Vec<_> = rows.map(|at| json!([at.to_string(), (at * 2).to_string()])).collect();
    session.append_table_data(id, request(json!({ "frame": { "data": rows } }))).unwrap();
}

/// Creates a product, and returns its id.
fn product(session: &Session, part: &str, workspace: &str) -> String {
    let product = json!({ "partNumber": part, "family": "1", "workspace": workspace });
    let made = session.create_products(vec![request(product)]).unwrap();
    made.products[0].id.as_ref().unwrap().to_string()
}

fn change(session: &Session, id: &str, members: serde_json::Value) {
    let mut product = members;
    product["id"] = id.into();
    let done = session.update_products(vec![request(product)], false).unwrap();
    assert!(done.error.is_none(), "{:?}", done.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_moves_to_another_root_is_there_and_not_here() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let table = small(&session, "curve", "");
    append(&session, &table, 0..50);
    let moved = product(&session, "P", "");
    let _ = product(&session, "HIDDEN", "secret");
    // Rows, products, tables at both roots.
    let seen = async || {
        let publisher = publisher(&store, &objects, TwoRoots, "s1");
        let _ = publisher.publish(&Control::default()).unwrap();
        let mut seen = Vec::new();
        for root in [ROOT, "far/away"] {
            let sql = stationdb_sql::lake(objects.clone(), &root.into()).await.unwrap();
            let rows = ask(&sql, "select count(*), sum(value) from rows.curve").await;
            seen.push(rows.map_or_else(|_| "no such table".to_owned(), |rows| rows[0].clone()));
            let all = "select coalesce(string_agg(part_number, ' '), '') from products";
            seen.push(answers(&sql, all).await.remove(0));
        }
        seen
    };
    assert_eq!(seen().await, ["50 | 2.45000000e3", "P", "no such table", ""]);
    session.modify_table(&table, request(json!({ "workspace": "away" }))).unwrap();
    append(&session, &table, 50..60);
    change(&session, &moved, json!({ "workspace": "away" }));
    assert_eq!(seen().await, ["no such table", "", "60 | 3.54000000e3", "P"]);
    session.modify_table(&table, request(json!({ "workspace": "secret" }))).unwrap();
    assert_eq!(seen().await, ["no such table", "", "no such table", "P"]);
    session.modify_table(&table, request(json!({ "workspace": "" }))).unwrap();
    assert_eq!(seen().await, ["60 | 3.54000000e3", "", "no such table", "P"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_trimmed_change_log_a_full_pass_counts_alone() {
    let directory = tempfile::tempdir().unwrap();
    let options = Store::options().maintenance_thread(false).log_entries_max(10);
    let store = options.subscriber_hold_bytes(0).open(directory.path().join("store")).unwrap();
    let session = ada(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let table = small(&session, "curve", "");
    append(&session, &table, 0..50);
    let [gone, kept] = ["GONE", "KEPT"].map(|part| product(&session, part, ""));
    publish(&store, &objects, "s1");
    session.delete_products(vec![gone.as_str().into()]).unwrap();
    change(&session, &kept, json!({ "family": "2" }));
    let early = stationdb::tables::DeleteRowsRequest::new().index_before("5");
    session.delete_rows(&table, early).unwrap();
    for at in 0..30 {
        append(&session, &table, 50 + at..51 + at);
        store.maintain(&Control::default()).unwrap();
    }
    let publisher = publisher(&store, &objects, OneRoot::new(ROOT), "s1");
    let published = publisher.publish(&Control::default()).unwrap();
    assert_eq!(published.full_passes, [ROOT], "the log reaches back");
    let sql = lake(&objects).await;
    assert_same(&session, &sql).await;
    assert_eq!(answers(&sql, "select part_number, family from products").await, ["KEPT | 2"]);
    assert_eq!(answers(&sql, "select count(*), min(n) from rows.curve").await, ["75 | 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rows_and_records_of_a_history_that_was_given_up_do_not_count() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(InMemory::new());
    let other = open(&directory.path().join("other"));
    append(&ada(&other), &small(&ada(&other), "theirs", ""), 0..7);
    publish(&other, &objects, "s2");
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let table = small(&session, "curve", "");
    append(&session, &table, 0..50);
    let changed = product(&session, "P", "");
    publish(&store, &objects, "s1");
    store.backup(directory.path().join("backup"), &Control::default()).unwrap();
    append(&session, &table, 1_000..1_050);
    for family in 2..9 {
        change(&session, &changed, json!({ "family": family.to_string() }));
    }
    let _ = product(&session, "LOST", "");
    publish(&store, &objects, "s1");
    let latest = "select family from products where part_number = 'P'";
    assert_eq!(answers(&lake(&objects).await, latest).await, ["8"]);

    let store = open(&directory.path().join("backup"));
    let session = ada(&store);
    append(&session, &table, 50..60);
    change(&session, &changed, json!({ "family": "restored" }));
    let restored = publisher(&store, &objects, OneRoot::new(ROOT), "s1");
    let refused = restored.publish(&Control::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    restored.rebase(&Control::default()).unwrap();
    let _ = restored.publish(&Control::default()).unwrap();
    let sql = lake(&objects).await;
    assert_eq!(answers(&sql, "select count(*), max(n) from rows.curve").await, ["60 | 59"]);
    assert_eq!(answers(&sql, "select count(*) from rows.theirs").await, ["7"]);
    assert_eq!(answers(&sql, latest).await, ["restored"]);
    assert_eq!(answers(&sql, "select count(*) from products").await, ["1"]);
    let first = "select _station, _rows_from > 0 from lake.batches order by 1";
    assert_eq!(answers(&sql, first).await, ["s1 | true", "s2 | false"]);
    // A later change of the new epoch has a smaller sequence than one of the earlier epoch.
    change(&session, &changed, json!({ "family": "last" }));
    publish(&store, &objects, "s1");
    assert_eq!(answers(&lake(&objects).await, latest).await, ["last"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_sent_again_to_the_same_lake_table_count() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let table = small(&session, "curve", "");
    append(&session, &table, 0..50);
    let send = || {
        let publisher = publisher(&store, &objects, Curves, "s1");
        publisher.publish(&Control::default()).unwrap()
    };
    let _ = send();
    let renamed = json!({ "columns": [{ "name": "value", "newName": "volts" }] });
    session.rename_columns(&table, request(renamed)).unwrap();
    assert_eq!(send().rows, 50, "the rows are sent again");
    let sql = lake(&objects).await;
    assert_same(&session, &sql).await;
    assert_eq!(answers(&sql, "select count(*) from lake.curves").await, ["50"]);
}

/// Retired rows stay with the columns that they had: a column is found by the name that it has now.
#[tokio::test(flavor = "multi_thread")]
async fn retired_rows_are_null_in_columns_that_were_renamed_since() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let table = small(&session, "curve", "");
    append(&session, &table, 0..50);
    let retire = |rows: u64| {
        let retention = stationdb::tables::SetRetentionRequest::new().rows_max(rows);
        session.set_retention(&table, retention).unwrap();
        store.maintain(&Control::default()).unwrap();
        session.delete_retention(&table).unwrap();
    };
    let rename = |from: &str, to: &str| {
        let renamed = json!({ "columns": [{ "name": from, "newName": to }] });
        session.rename_columns(&table, request(renamed)).unwrap();
    };
    publish(&store, &objects, "s1");
    retire(40);
    rename("value", "volts");
    publish(&store, &objects, "s1");
    retire(25);
    let added = json!({ "columns": [{ "name": "more", "dataType": "INT64",
        "columnType": "NULLABLE" }] });
    append(&session, &table, 50..60);
    session.add_columns(&table, request(added)).unwrap();
    publish(&store, &objects, "s1");
    let sql = lake(&objects).await;
    let all = "select count(*), count(n), sum(n), count(volts), min(volts), count(more) \
               from rows.curve";
    assert_eq!(answers(&sql, all).await, ["60 | 60 | 1770 | 50 | 2.00000000e1 | 0"]);
    let null = "select min(n), max(n) from rows.curve where volts is null";
    assert_eq!(answers(&sql, null).await, ["0 | 9"]);
    assert!(ask(&sql, "select value from rows.curve").await.is_err(), "it has another name");
    // The lake table has the values of retired rows, under the earlier name.
    let lake_tables = "select table_name from information_schema.columns \
                       where table_schema = 'lake' and table_name like 'rows_%' \
                       and column_name = 'value'";
    let earlier = answers(&sql, lake_tables).await.remove(0);
    let values = format!("select count(*), max(value) from lake.\"{earlier}\"");
    assert_eq!(answers(&sql, &values).await, ["10 | 1.80000000e1"]);
    // Under the earlier name again, rows of both eras have values, and those between have none.
    rename("volts", "value");
    publish(&store, &objects, "s1");
    let sql = lake(&objects).await;
    let back = "select count(*), count(value), min(n) filter (where value is null), \
                max(n) filter (where value is null) from rows.curve";
    assert_eq!(answers(&sql, back).await, ["60 | 45 | 10 | 24"]);
}
