//! What is pushed down, what is hidden, what stops, what is refused.

mod common;
#[path = "engine/conditions.rs"]
mod conditions;
#[path = "engine/same.rs"]
mod same;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{ROWS, ada, ask, filled, open, plan, request, settle};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use datafusion::error::DataFusionError;
use futures::StreamExt;
use serde_json::json;
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind};
use stationdb_sql::{Options, context, context_with, datafusion, reads};

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_extremes_read_no_rows() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    for statement in [
        r#"select count(*) from rows."Loop 1""#,
        r#"select min(t), max(t), min(channel), max(channel) from rows."Loop 1""#,
        r#"select count(note) from rows."Loop 1""#,
    ] {
        let plan = plan(&sql, statement).await;
        let reads = plan.contains("StoreScan");
        assert_eq!(reads, statement.contains("note"), "{statement}: {plan}");
    }
    // Where NaN is, the maximum is not that of the summaries.
    let largest = r#"select max(volts) from rows."Loop 1""#;
    assert!(plan(&sql, largest).await.contains("StoreScan"));
    assert_eq!(ask(&sql, largest).await.unwrap(), ["nan"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quotas_say_what_is_used() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let used = "select q.workspace, q.records_max, q.rows_max, q.content_bytes_max, q.row_count, \
                q.content_bytes, q.updated_by from quotas q order by 1";
    let rows = |table: &'static str| {
        let sql = sql.clone();
        async move {
            let counted = ask(&sql, &format!("select count(*) from rows.\"{table}\"")).await;
            counted.unwrap()[0].parse::<i64>().unwrap()
        }
    };
    let open = rows("Loop 1").await + rows("Loop 3").await;
    let closed = rows("Loop 2").await;
    // Two files of a byte, and two packages.
    let bytes = 2 + 2 * common::package::package("probe-0").len();
    let expected = [("closed", closed), ("open", open)]
        .map(|(place, rows)| format!("{place} | 1000 | 100000 | null | {rows} | {bytes} | ada"));
    assert_eq!(ask(&sql, used).await.unwrap(), expected);
    let listed = session.get_quota("open").unwrap();
    let counted = "select record_count from quotas where workspace = 'open'";
    assert_eq!(ask(&sql, counted).await.unwrap(), [listed.record_count.to_string()]);
    let text = ask(&sql, "select record from quotas where workspace = 'open'").await.unwrap();
    let text: serde_json::Value = serde_json::from_str(&text[0]).unwrap();
    assert_eq!(text, serde_json::to_value(&listed).unwrap());
    assert_eq!(
        ask(&sql, "select count(*) from (select * from quotas limit 1)").await.unwrap(),
        ["1"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn zero_and_nan_have_no_sign() {
    let (_directory, store, session) = filled();
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "v", "dataType": "FLOAT64", "columnType": "NULLABLE" },
    ]);
    let id = session.create_table(request(json!({ "name": "signs", "columns": columns }))).unwrap();
    let index: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2, 3, 4, 5]));
    let values = [Some(-0.0), Some(0.0), Some(-f64::NAN), Some(f64::NAN), Some(-1.5), None];
    let values: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("n", index), ("v", values)]).unwrap();
    session.append_batches(&id, &mut std::iter::once(Ok(batch)), Some(true)).unwrap();
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        for (condition, count) in [
            ("v > 100", 2),
            ("v = 0", 2),
            ("v = -0.0", 2),
            ("v < 0", 1),
            ("v <= 0", 3),
            ("v < -0.0", 1),
            ("v >= 0", 4),
            ("v <> 0", 3),
        ] {
            let statement = format!("select count(*) from rows.signs where {condition}");
            assert_eq!(ask(&sql, &statement).await.unwrap(), [count.to_string()], "{condition}");
        }
        let distinct = "select count(distinct v), min(v), max(v) from rows.signs";
        assert_eq!(ask(&sql, distinct).await.unwrap(), ["3 | -1.50000000e0 | nan"]);
        // Neither has a sign in an order: the second column decides.
        let first = "select n from rows.signs order by v desc nulls last, n desc limit 4";
        assert!(plan(&sql, first).await.contains("StoreScan: first 4 by v desc, n desc"));
        assert_eq!(ask(&sql, first).await.unwrap(), ["3", "2", "1", "0"]);
        settle(&store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_sees_one_state() {
    let (_directory, store, session) = filled();
    let before = context(&session).unwrap();
    let _ = session.create_products(vec![request(json!({ "partNumber": "late" }))]).unwrap();
    settle(&store);
    let count = "select count(*) from products";
    assert_eq!(ask(&before, count).await.unwrap(), ["12"]);
    assert_eq!(ask(&context(&session).unwrap(), count).await.unwrap(), ["13"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_answer() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let thin = r#"select count(*) from decimate('Loop 1', 'amps', 10)"#;
    let count: i64 = ask(&sql, thin).await.unwrap()[0].parse().unwrap();
    assert!((1..=20).contains(&count), "{count}");
    let same = r#"select max(amps), min(amps) from decimate('Loop 1', 'amps', 10)"#;
    let all = r#"select max(amps), min(amps) from rows."Loop 1""#;
    assert_eq!(ask(&sql, same).await.unwrap(), ask(&sql, all).await.unwrap());
    let found = "select p.part_number from search('Amplifier') s join products p on p.id = s.id";
    assert_eq!(ask(&sql, found).await.unwrap().len(), 9);
    let verdicts = "select check_spec(s.record, r.value), count(*) from specifications s, \
                    rows.\"Loop 2\" r where s.spec_id = 'S1' group by 1 order by 1";
    let inside = (0..300).filter(|at| (at % 17) as f64 > -2.0 && ((at % 17) as f64) < 3.5).count();
    let expected = [format!("INSIDE | {inside}"), format!("OUTSIDE | {}", 300 - inside)];
    assert_eq!(ask(&sql, verdicts).await.unwrap(), expected);
    let refused = ask(&sql, "select check_spec('x', 1.0)").await.unwrap_err();
    assert!(refused.contains("no specification"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_read_or_written() {
    let (directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let outside = directory.path().join("outside.csv");
    std::fs::write(&outside, "a\n1\n").unwrap();
    for statement in [
        format!("create external table e stored as csv location '{}'", outside.display()),
        format!("copy products to '{}' stored as csv", directory.path().join("o").display()),
        "insert into products values ('x')".to_owned(),
        "delete from products".to_owned(),
        "update products set name = 'x'".to_owned(),
        "drop table products".to_owned(),
        "create table c as select 1".to_owned(),
    ] {
        assert!(ask(&sql, &statement).await.is_err(), "{statement}");
    }
    assert!(!directory.path().join("o").exists());
    assert_eq!(ask(&sql, "select count(*) from products").await.unwrap(), ["12"]);
}

/// A statement that lifted the bounds would do so for all later ones of the context.
#[tokio::test(flavor = "multi_thread")]
async fn reads_are_all_that_statements_of_others_may_do() {
    let (directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let runtime = sql.runtime_env();
    for refused in [
        "set datafusion.runtime.memory_limit = '64G'",
        "set datafusion.runtime.temp_directory = '.'",
        "reset datafusion.runtime.memory_limit",
        "set datafusion.execution.batch_size = 1",
        "create database d",
        "create schema s",
        "create view v as select 1",
        "prepare p as select 1",
        "insert into products values ('x')",
        "drop table products",
        "explain analyze insert into products select * from products",
    ] {
        let answer = sql.sql_with_options(refused, reads()).await;
        assert!(matches!(answer, Err(DataFusionError::Plan(_))), "{refused}: {answer:?}");
    }
    let copy = format!("copy products to '{}' stored as csv", directory.path().join("o").display());
    assert!(sql.sql_with_options(&copy, reads()).await.is_err());
    assert!(Arc::ptr_eq(&runtime, &sql.runtime_env()));
    for allowed in [
        "select count(*) from products",
        "with p as (select 1) select * from p",
        "explain select * from products",
        "describe products",
        "show tables",
        "show columns from products",
    ] {
        let frame = sql.sql_with_options(allowed, reads()).await.unwrap();
        assert!(!frame.collect().await.unwrap().is_empty(), "{allowed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_dropped_or_cancelled_stops() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let frame = sql.sql(r#"select a.t from rows."Loop 1" a, rows."Loop 1" b"#).await.unwrap();
    let mut stream = frame.execute_stream().await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    let control = Control::default();
    let stopped = context(&session.with_control(&control)).unwrap();
    control.cancel();
    let frame = stopped.sql("select * from products").await.unwrap();
    let error = frame.collect().await.unwrap_err();
    let own = error.find_root().to_string();
    assert!(own.contains("cancel"), "{own}");
}

/// A join that makes a million million rows of few batches, and lists that make many.
#[test]
fn a_query_that_computes_yields() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let four = "rows.\"Loop 1\" a, rows.\"Loop 1\" b, rows.\"Loop 1\" c, rows.\"Loop 1\" d";
    for (statement, joins) in [
        (format!("select sum(a.channel * b.channel + c.channel) from {four}"), 3),
        (format!("select sum(u) from (select unnest(range(0, 300)) u, a.t from {four})"), 3),
    ] {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
        let told = runtime.block_on(plan(&sql, &statement));
        assert_eq!(told.matches("CrossJoinExec").count(), joins, "{told}");
        let asked = sql.clone();
        let query = async move { asked.sql(&statement).await.unwrap().collect().await };
        let ended = runtime.block_on(async {
            let query = tokio::spawn(query);
            let ended = tokio::time::timeout(Duration::from_millis(500), query).await;
            ended.is_ok()
        });
        assert!(!ended, "the query has ended");
        // Its tasks are dropped; one that does not yield keeps its thread.
        let begun = Instant::now();
        runtime.shutdown_timeout(Duration::from_secs(20));
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_and_spills_go_where_they_may() {
    let (directory, _store, session) = filled();
    let statement = r#"select a.note, b.n, a.t from rows."Loop 1" a, rows."Loop 2" b order by a.amps, b.n, a.t"#;
    let small = Options::default().memory_bytes(4 << 20).partitions(1);
    let refused = ask(&context_with(&session, &small).unwrap(), statement).await.unwrap_err();
    assert!(refused.contains("memory") || refused.contains("Resources"), "{refused}");
    let spill = directory.path().join("spill");
    std::fs::create_dir(&spill).unwrap();
    let spilling = small.spill_directory(spill);
    let sql = context_with(&session, &spilling).unwrap();
    let counted = format!(
        "select count(*) from (select row_number() over (order by note, n, t) from ({statement}))"
    );
    assert_eq!(ask(&sql, &counted).await.unwrap(), [(ROWS * 300).to_string()]);
}

#[test]
fn a_single_thread_is_not_blocked() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let lines = runtime.block_on(ask(&sql, "select count(*) from work_items where state = 'NEW'"));
    assert_eq!(lines.unwrap(), ["14"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_store_keep_their_kind() {
    let (directory, store, session) = filled();
    settle(&store);
    let table = session.list_tables(Default::default()).unwrap().tables;
    let table = table.into_iter().find(|table| table.name.as_deref() == Some("Loop 1")).unwrap();
    let files = directory.path().join("store/tables").join(table.id.unwrap().as_str());
    drop(session);
    store.close().unwrap();
    for entry in std::fs::read_dir(files).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[100] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        }
    }
    let store = open(&directory.path().join("store"));
    let sql = context(&ada(&store)).unwrap();
    // The damage is found when the columns are read, before the query runs.
    let error = sql.sql(r#"select * from rows."Loop 1""#).await.unwrap_err();
    let kind = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source())
        .find_map(|error| error.downcast_ref::<stationdb::Error>())
        .map(stationdb::Error::kind);
    assert_eq!(kind, Some(ErrorKind::Corrupt), "{error}");
}
