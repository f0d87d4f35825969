//! Every type, and every change of a table, is the same over the lake.

use serde_json::{Value, json};
use stationdb::prelude::*;
use stationdb::tables::{DeleteRowsRequest, TableId};

use super::common::request;
use super::*;

const FLOATS: [&str; 7] = ["NaN", "-0", "Infinity", "-Infinity", "1.5", "-1e300", "0"];

fn every_type(session: &Session) -> TableId {
    let nullable = |name: &str, data_type: &str| json!({ "name": name, "dataType": data_type, "columnType": "NULLABLE" });
    let columns = json!([
        { "name": "at, ms;", "dataType": "TIMESTAMP", "columnType": "INDEX" },
        nullable("volts", "FLOAT64"),
        nullable("Volts", "FLOAT32"),
        nullable("a b,c;{d}(e)=\"f\".g%", "INT32"),
        nullable("big", "INT64"),
        nullable("is", "BOOL"),
        nullable("text", "STRING"),
        nullable("micros", "TIMESTAMP_US"),
        nullable("nanos", "TIMESTAMP_NS"),
        nullable("_row", "INT32"),
        nullable("_station", "STRING"),
        nullable("_Table", "STRING"),
    ]);
    session.create_table(request(json!({ "name": "types", "columns": columns }))).unwrap()
}

fn append(session: &Session, id: &TableId, from: i64, to: i64) {
    let row = |n: i64| {
        let text = |text: String| (n % 11 != 0).then_some(text);
        json!([
            format!("2024-01-01T00:{:02}:{:02}.{:03}Z", n / 60 % 60, n % 60, n % 1000),
            text(FLOATS[n as usize % 7].to_owned()),
            text(["NaN", "-0", "2.25", "Infinity"][n as usize % 4].to_owned()),
            text((n - 100).to_string()),
            text((n * 1_000_000_007).to_string()),
            text((n % 2 == 0).to_string()),
            text(["", "ü,\"x\"", "line\nbreak", "null"][n as usize % 4].to_owned()),
            text(format!("2024-01-01T00:00:00.{n:06}Z")),
            text(format!("2024-01-01T00:00:00.{:09}Z", n * 7 + 1)),
            text(n.to_string()),
            text("s2".to_owned()),
            text("x".to_owned()),
        ])
    };
    let data: Vec<Value> = (from..to).map(row).collect();
    session.append_table_data(id, request(json!({ "frame": { "data": data } }))).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lake_equals_the_store_after_every_change() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    let objects: Objects = Arc::new(InMemory::new());
    let check = async |what: &str, least: usize| {
        publish(&store, &objects, "s1");
        let lines = assert_same(&session, &lake(&objects).await).await;
        assert!(lines >= least, "{what}: {lines} lines");
    };
    check("empty", 0).await;
    let typed = every_type(&session);
    check("a table without rows", 1).await;
    append(&session, &typed, 0, 300);
    check("rows", 300).await;
    append(&session, &typed, 300, 1_500);
    settle(&store);
    check("sealed rows", 1_500).await;
    let deleted = DeleteRowsRequest::new().index_before("2024-01-01T00:02:00Z");
    session.delete_rows(&typed, deleted).unwrap();
    check("deleted rows", 1_300).await;
    let added = json!({ "columns": [
        { "name": "new one", "dataType": "INT32", "columnType": "NULLABLE" }] });
    session.add_columns(&typed, request(added)).unwrap();
    check("added column", 1_300).await;
    let renamed = json!({ "columns": [{ "name": "text", "newName": "words" }] });
    session.rename_columns(&typed, request(renamed)).unwrap();
    check("renamed column", 1_300).await;
    session.drop_columns(&typed, request(json!({ "columns": ["big"] }))).unwrap();
    let other = json!({ "columns": [
        { "name": "big", "dataType": "STRING", "columnType": "NULLABLE" }] });
    session.add_columns(&typed, request(other)).unwrap();
    check("column of another type", 1_300).await;
    // One zero and one NaN, as over a store: texts of cells do not tell them apart.
    let distinct = "select count(distinct volts), count(distinct \"Volts\") from rows.types";
    assert_eq!(answers(&lake(&objects).await, distinct).await, ["6 | 4"]);
    let own = stationdb_sql::context(&session).unwrap();
    assert_eq!(answers(&own, distinct).await, ["6 | 4"]);
    session.modify_table(&typed, request(json!({ "workspace": "elsewhere" }))).unwrap();
    check("moved workspace", 1_300).await;
    fill(&session);
    check("everything", 6_000).await;
    let again = publisher(&store, &objects, OneRoot::new(ROOT), "s1");
    again.rebase(&Control::default()).unwrap();
    // Until the first batch of the new epoch is complete the earlier ones count.
    assert!(assert_same(&session, &lake(&objects).await).await > 6_000);
    check("an epoch", 6_000).await;
    session.delete_tables(vec![typed]).unwrap();
    check("deleted table", 5_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stations_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let objects: Objects = Arc::new(InMemory::new());
    let mut ids = Vec::new();
    for (name, rows) in [("s1", 20), ("s2", 30)] {
        let store = open(&directory.path().join(name));
        let session = ada(&store);
        let id = every_type(&session);
        append(&session, &id, 0, rows);
        let product = json!({ "partNumber": "P", "family": name });
        let _ = session.create_products(vec![request(product)]).unwrap();
        publish(&store, &objects, name);
        ids.push(id.to_string());
    }
    let sql = lake(&objects).await;
    let count = async |table: &str| answers(&sql, &format!("select count(*) from {table}")).await;
    assert_eq!(count("rows.\"s1/types\"").await, ["20"]);
    assert_eq!(count("rows.\"s2/types\"").await, ["30"]);
    assert_eq!(count(&format!("rows.\"s2/{}\"", ids[1])).await, ["30"]);
    assert!(ask(&sql, "select count(*) from rows.types").await.is_err(), "which one?");
    let families = "select _station, family from lake.product_changes order by 1";
    assert_eq!(answers(&sql, families).await, ["s1 | s1", "s2 | s2"]);
    assert_eq!(count("products").await, ["2"]);
    let names = "select table_name from information_schema.tables where table_schema = 'lake' \
        and table_name like 'rows%'";
    let shared = answers(&sql, names).await;
    let [shared] = &shared[..] else { panic!("{shared:?}") };
    let each = format!(
        "select _station, count(*), max(_row) from lake.\"{shared}\" group by 1 order by 1"
    );
    assert_eq!(answers(&sql, &each).await, ["s1 | 20 | 19", "s2 | 30 | 29"]);
    let stations = "select _station from lake.batches order by 1";
    assert_eq!(answers(&sql, stations).await, ["s1", "s2"]);
}
