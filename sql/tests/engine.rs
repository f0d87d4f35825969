//! What is pushed down, what is hidden, what stops, what is refused.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{ROWS, ada, ask, filled, open, plan, request, settle};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use futures::StreamExt;
use serde_json::json;
use stationdb::prelude::*;
use stationdb::{Control, ErrorKind};
use stationdb_sql::{Options, context, context_with, datafusion};

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
async fn columns_filters_limits_and_order_go_down() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let ordered = plan(&sql, r#"select t, channel from rows."Loop 1" order by t limit 3"#).await;
    assert!(!ordered.contains("SortExec"), "{ordered}");
    let filtered =
        plan(&sql, r#"select volts from rows."Loop 1" where channel = 3 and volts < 2"#).await;
    assert!(filtered.contains("channel EQUALS 3"), "{filtered}");
    assert!(filtered.contains("volts LESS_THAN 2"), "{filtered}");
    assert!(!filtered.contains("FilterExec"), "the store tests both: {filtered}");
    let zero = plan(&sql, r#"select volts from rows."Loop 1" where volts < 0"#).await;
    assert!(zero.contains("volts LESS_THAN_EQUALS 0") && zero.contains("FilterExec"), "{zero}");
    // A column without NaN.
    let statement = r#"select count(*) from rows."Loop 2" where value >= 3 and value < 9"#;
    let counted = plan(&sql, statement).await;
    assert!(counted.contains("number of rows of"), "{counted}");
    assert!(counted.contains("value GREATER_THAN_EQUALS 3 and value LESS_THAN 9"), "{counted}");
    let count = (0..300).filter(|at| (3..9).contains(&(at % 17))).count();
    assert_eq!(ask(&sql, statement).await.unwrap(), [count.to_string()]);
    let kept = plan(&sql, r#"select t from rows."Loop 1" where volts > 2"#).await;
    assert!(!kept.contains("volts GREATER"), "NaN is greater in SQL alone: {kept}");
    let records = plan(&sql, "select name from products where family = 'F1'").await;
    assert!(records.contains("family == @0"), "{records}");
    let time = plan(
        &sql,
        r#"select count(*) from rows."Loop 1" where t >= timestamp '2024-03-01 00:10:00'"#,
    )
    .await;
    assert!(time.contains("t GREATER_THAN_EQUALS 2024-03-01T00:10:00.000Z"), "{time}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_records_go_down() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    for (condition, filter, count) in [
        ("family in ('F1', 'F2')", "(family == @0 or family == @1)", 8),
        (
            "family in ('F0', 'F1', 'F2', 'F3', 'F4')",
            "(family == @0 or family == @1 or family == @2 or family == @3 or family == @4)",
            12,
        ),
        (
            "workspace = 'open' and (family = 'F1' or part_number = 'P-00')",
            "workspace == @0 and (family == @1 or partNumber == @2)",
            3,
        ),
        // One side of `and` may be left out, and none of `or`.
        ("(family = 'F1' and name is null) or family = 'F2'", "(family == @0 or family == @1)", 5),
        ("family = 'F1' or name is null", "", 6),
        ("not family = 'F1'", "", 8),
        ("updated_at > timestamp '2024-03-01 12:00:00'", "updatedAt > @0", 12),
        ("properties['line'] = '1'", "", 3),
    ] {
        let statement = format!("select count(*) from products where {condition}");
        let plan = plan(&sql, &statement).await;
        let told = plan.split("StoreScan: PRODUCT").nth(1).and_then(|told| told.lines().next());
        let told =
            told.and_then(|told| told.split(" [").next()).unwrap_or_else(|| panic!("{plan}"));
        let told = told.trim_start_matches(" where ");
        assert_eq!(told, filter, "{condition}");
        assert_eq!(ask(&sql, &statement).await.unwrap(), [count.to_string()], "{condition}");
    }
    // A member of an object.
    let due = "timeline['due_date_time'] < timestamp '2024-05-03 00:00:00'";
    let statement = format!("select count(*) from work_items where {due}");
    let plan = plan(&sql, &statement).await;
    assert!(plan.contains("timeline.dueDateTime < @0"), "{plan}");
    let early = (0..40).filter(|at| at % 4 != 0 && at % 28 < 2).count();
    assert_eq!(ask(&sql, &statement).await.unwrap(), [early.to_string()]);
    // A limit is one on records, unless a condition is left.
    let limited = self::plan(&sql, "select name from products limit 3").await;
    assert!(limited.contains("TableScan: products projection=[name], fetch=3"), "{limited}");
    assert_eq!(ask(&sql, "select name from products limit 3").await.unwrap().len(), 3);
    let odd = "select name from products where part_number like '%1' limit 1";
    assert_eq!(ask(&sql, odd).await.unwrap(), ["null"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_of_an_order_are_selected_by_the_store() {
    let (_directory, store, session) = filled();
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        for (rest, is_selected) in [
            ("order by amps desc, t limit 7", true),
            ("where channel = 3 order by amps, t desc limit 7", true),
            ("order by volts desc nulls last, t limit 7", true),
            ("order by t desc limit 7", true),
            ("order by amps desc, t limit 7 offset 3", true),
            // The store has nulls last.
            ("order by volts desc, t limit 7", false),
            ("order by amps + channel, t limit 7", false),
            ("where note like 'w%' order by amps, t limit 7", false),
            ("order by amps, t limit 20000", false),
            ("order by amps, t", false),
        ] {
            let statement = format!(r#"select t, volts, amps from rows."Loop 1" {rest}"#);
            let plan = plan(&sql, &statement).await;
            assert_eq!(plan.contains("StoreScan: first "), is_selected, "{rest}: {plan}");
            assert_eq!(plan.contains("SortExec"), !is_selected, "{rest}: {plan}");
            // Nothing that the store sorts by.
            let sorted = rest.replace("amps", "amps + 0").replace("volts", "volts + 0");
            let sorted = sorted.replace("t desc", "t + interval '0 ms' desc");
            let other = format!(r#"select t, volts, amps from rows."Loop 1" {sorted}"#);
            let expected = ask(&sql, &other).await.unwrap();
            assert_eq!(ask(&sql, &statement).await.unwrap(), expected, "{rest}");
        }
        settle(&store);
    }
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
    let expected = [("closed", closed), ("open", open)]
        .map(|(place, rows)| format!("{place} | 1000 | 100000 | null | {rows} | 2 | ada"));
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

/// A join that makes a thousand million rows of few batches.
#[test]
fn a_query_that_computes_yields() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let begun = Instant::now();
    let statement = "select sum(a.channel * b.channel + c.channel) from rows.\"Loop 1\" a, \
                     rows.\"Loop 1\" b, rows.\"Loop 1\" c";
    let told = runtime.block_on(plan(&sql, statement));
    assert_eq!(told.matches("CrossJoinExec").count(), 2, "{told}");
    let ended = runtime.block_on(async {
        let frame = sql.sql(statement).await.unwrap();
        tokio::time::timeout(Duration::from_millis(300), frame.collect()).await
    });
    assert!(ended.is_err(), "the query has ended");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded_and_spills_go_where_they_may() {
    let (directory, _store, session) = filled();
    let statement = r#"select a.note, b.n, a.t from rows."Loop 1" a, rows."Loop 2" b order by a.amps, b.n, a.t"#;
    let small = Options { memory_bytes: Some(4 << 20), partitions: Some(1), ..Options::default() };
    let refused = ask(&context_with(&session, &small).unwrap(), statement).await.unwrap_err();
    assert!(refused.contains("memory") || refused.contains("Resources"), "{refused}");
    let spill = directory.path().join("spill");
    std::fs::create_dir(&spill).unwrap();
    let spilling = Options { spill_directory: Some(spill), ..small };
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
