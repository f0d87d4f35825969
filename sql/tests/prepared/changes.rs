//! What changes between two calls of one statement.

use serde_json::{Value, json};
use stationdb::Session;
use stationdb::prelude::*;
use stationdb::tables::TableId;
use stationdb_sql::context;

use super::common::{ada, ask, open, request, settle};
use super::{Prepared, call, prepare};

struct Table {
    session: Session,
    id: TableId,
}

impl Table {
    fn new(session: &Session, name: &str) -> Self {
        let columns = json!([
            { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
            { "name": "v", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        ]);
        let table = json!({ "name": name, "columns": columns });
        let id = session.create_table(request(table)).unwrap();
        Self { session: session.clone(), id }
    }

    fn append(&self, rows: &[[&str; 2]]) {
        let frame = json!({ "frame": { "data": rows } });
        self.session.append_table_data(&self.id, request(frame)).unwrap();
    }
}

/// Asks twice, and expects so many plans since the statement was made.
async fn same(prepared: &Prepared, session: &Session, plans: u64) -> Vec<String> {
    let expected = ask(&context(session).unwrap(), prepared.text()).await;
    for _ in 0..2 {
        assert_eq!(call(prepared, session, None).await, expected, "{}", prepared.text());
    }
    assert_eq!(prepared.plans_made(), plans, "{}", prepared.text());
    expected.unwrap_or_else(|error| vec![error])
}

fn store() -> (tempfile::TempDir, stationdb::Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    (directory, store, session)
}

#[tokio::test]
async fn new_rows_are_seen() {
    let (_directory, store, session) = store();
    let table = Table::new(&session, "run");
    table.append(&[["1", "0.5"], ["2", "2.5"]]);
    let all = ["count(*)", "min(n), max(n), max(v)", "sum(v)"];
    let all = all.map(|what| prepare(&format!("select {what} from run")));
    let part = prepare("select n, v from run where v > 1 order by n");
    let products = prepare("select count(*) from products");
    for at in 3..9 {
        for prepared in &all {
            same(prepared, &session, 1).await;
        }
        assert_eq!(same(&part, &session, 1).await.len(), at - 2);
        assert_eq!(same(&products, &session, 1).await, [(at - 3).to_string()]);
        table.append(&[[&at.to_string(), "7.25"]]);
        let product: Value = json!({ "partNumber": format!("P-{at}") });
        let _ = session.create_products(vec![request(product)]).unwrap();
        if at == 6 {
            settle(&store);
        }
    }
    assert_eq!(same(&all[0], &session, 1).await, ["8"]);
    let rest = json!({ "indexFrom": "3" });
    assert!(session.delete_rows(&table.id, request(rest)).unwrap().row_count > 0);
    assert_eq!(same(&all[0], &session, 1).await, ["2"]);
    assert_eq!(same(&part, &session, 1).await, ["2 | 2.50000000e0"]);
}

/// NaN is greater than every number in SQL, and the store leaves it out: the plan says who tests.
#[tokio::test]
async fn the_first_nan_makes_a_new_plan() {
    let (_directory, store, session) = store();
    let table = Table::new(&session, "run");
    table.append(&[["1", "0.5"], ["2", "2.5"]]);
    let above = prepare("select n from run where v > 1 order by n");
    let count = prepare("select count(*) from run where v >= 0.5");
    let below = prepare("select n from run where v < 1");
    settle(&store);
    assert_eq!(same(&above, &session, 1).await, ["2"]);
    assert_eq!(same(&count, &session, 1).await, ["2"]);
    same(&below, &session, 1).await;
    for _ in 0..2 {
        table.append(&[["3", "NaN"]]);
        settle(&store);
        assert!(same(&above, &session, 2).await.len() > 1);
        same(&count, &session, 2).await;
        same(&below, &session, 1).await;
    }
}

#[tokio::test]
async fn a_changed_schema_makes_a_new_plan() {
    let (_directory, _store, session) = store();
    let table = Table::new(&session, "run");
    table.append(&[["1", "0.5"], ["2", "2.5"]]);
    let (all, one) = (prepare("select * from run"), prepare("select v from run where n = 2"));
    assert_eq!(same(&all, &session, 1).await.len(), 2);
    same(&one, &session, 1).await;

    let extra = json!({ "name": "extra", "dataType": "INT32", "columnType": "NULLABLE" });
    session.add_columns(&table.id, request(json!({ "columns": [extra] }))).unwrap();
    assert_eq!(same(&all, &session, 2).await[0], "1 | 5.00000000e-1 | null");
    same(&one, &session, 2).await;

    let rename = json!({ "columns": [{ "name": "v", "newName": "w" }] });
    session.rename_columns(&table.id, request(rename)).unwrap();
    same(&all, &session, 3).await;
    let error = same(&one, &session, 4).await;
    assert!(error[0].contains("No field named v"), "{error:?}");

    let back = json!({ "columns": [{ "name": "w", "newName": "v" }] });
    session.rename_columns(&table.id, request(back)).unwrap();
    // The plan of this schema is there still.
    same(&all, &session, 3).await;
    same(&one, &session, 4).await;

    session.drop_columns(&table.id, request(json!({ "columns": ["extra"] }))).unwrap();
    assert_eq!(same(&all, &session, 3).await[0], "1 | 5.00000000e-1");
}

#[tokio::test]
async fn an_index_of_values_changes_no_answer() {
    let (_directory, store, session) = store();
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "s", "dataType": "STRING" },
    ]);
    let made = json!({ "name": "texts", "columns": columns });
    let id = session.create_table(request(made)).unwrap();
    let rows: Vec<_> =
        (0..2_000).map(|at| json!([at.to_string(), format!("S{}", at % 7)])).collect();
    session.append_table_data(&id, request(json!({ "frame": { "data": rows } }))).unwrap();
    settle(&store);
    let prepared = prepare("select count(*), min(n) from texts where s = 'S3'");
    assert_eq!(same(&prepared, &session, 1).await, ["286 | 3"]);
    let indexed = json!({ "columns": [{ "name": "s", "properties": {}, "indexed": true }] });
    session.modify_table(&id, request(indexed)).unwrap();
    settle(&store);
    assert_eq!(same(&prepared, &session, 1).await, ["286 | 3"]);
}

#[tokio::test]
async fn a_name_means_what_it_means_now() {
    let (_directory, _store, session) = store();
    let first = Table::new(&session, "run");
    first.append(&[["1", "0.5"]]);
    let prepared = prepare("select max(n) from rows.run");
    let decimated = prepare("select max(n) from decimate('run', 'v', 10)");
    assert_eq!(same(&prepared, &session, 1).await, ["1"]);
    assert_eq!(same(&decimated, &session, 1).await, ["1"]);

    // Two tables of one name have none.
    let second = Table::new(&session, "run");
    second.append(&[["22", "0.5"]]);
    let error = same(&prepared, &session, 3).await;
    assert!(error[0].contains("'stationdb.rows.run' not found"), "{error:?}");
    let error = same(&decimated, &session, 3).await;
    assert!(error[0].contains("there is no table \"run\""), "{error:?}");

    session.delete_tables(vec![first.id.clone()]).unwrap();
    assert_eq!(same(&prepared, &session, 4).await, ["22"]);
    assert_eq!(same(&decimated, &session, 4).await, ["22"]);
    session.delete_tables(vec![second.id]).unwrap();
    let error = same(&prepared, &session, 6).await;
    assert!(error[0].contains("not found"), "{error:?}");
    let third = Table::new(&session, "run");
    third.append(&[["333", "0.5"]]);
    assert_eq!(same(&prepared, &session, 7).await, ["333"]);
}
