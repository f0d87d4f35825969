//! Which conditions, limits and orders of statements are passed on to the store.

use serde_json::json;
use stationdb::prelude::*;
use stationdb_sql::context;

use crate::common::{ask, filled, plan, request, settle};

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

/// Over rows, `in`, `or` and what has `and` below `or` go down as a whole, with the same answer as
/// where DataFusion tests them.
#[tokio::test(flavor = "multi_thread")]
async fn choices_of_rows_go_down() {
    let (_directory, store, session) = filled();
    let odd = json!({ "name": "odd", "columns": [
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "a \"b\" \\ c", "dataType": "INT32" },
    ] });
    let odd = session.create_table(request(odd)).unwrap();
    let rows: Vec<_> = (0..20).map(|at| [at.to_string(), (at % 5).to_string()]).collect();
    session.append_table_data(&odd, request(json!({ "frame": { "data": rows } }))).unwrap();
    let many: Vec<String> = (0..101).map(|at| format!("{}", 2 * at)).collect();
    let many = format!("channel in ({})", many.join(", "));
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        for (table, condition, filter) in [
            ("Loop 1", "channel in (1, 3)", Some("(it[@0] == @1 or it[@2] == @3)")),
            ("Loop 1", "channel in (1, 3, 5, 7)", Some("(it[@0] == @1 or it[@2] == @3 or ")),
            ("Loop 1", "channel = 1 or amps > 4.5", Some("it[@2] > @3")),
            ("Loop 1", "channel = 1 or (amps < 1 and note = 'ok')", Some("it[@4] == @5")),
            ("Loop 1", "volts < 2 and (channel = 1 or note in ('ok', 'Ä'))", Some("volts LESS")),
            ("Loop 1", "(channel = 1 and volts < -2) or volts = 3.25", Some("it[@2] < @3")),
            ("Loop 1", "note in ('', 'O''K\"')", Some("it[@0] == @1")),
            (
                "Loop 1",
                "t < timestamp '2024-03-01 00:01:00' or t >= timestamp '2024-03-01 01:20:00.5'",
                Some("2024-03-01T01:20:00.500Z"),
            ),
            (
                "Loop 1",
                "t between timestamp '2024-03-01 00:01:00' and timestamp \
                '2024-03-01 00:02:00' or channel = 5",
                Some("it[@0] >= @1 and it[@2] <= @3"),
            ),
            ("Loop 1", "amps > 4.2", Some("it[@0] > @1")),
            ("Loop 1", "amps = 4.2 or amps = 4.5", Some("it[@0] == @1")),
            ("Loop 3", "rate in (0.5, 1.5)", Some("it[@0] == @1")),
            (
                "Loop 3",
                "moment < timestamp '2024-03-01 00:00:00.0605' or v = 1",
                Some("it[@0] < @1 or it[@2] == @3) [String(\"moment\"), Number(17092512000605"),
            ),
            (
                "Loop 3",
                "fine < timestamp '2024-03-01 00:00:00.060000061' or v = 1",
                Some("Number(1709251200060000061)"),
            ),
            ("odd", "\"a \"\"b\"\" \\ c\" in (1, 2)", Some("it[@0] == @1")),
            // NaN is greater than every number in SQL alone, and null is no value of a list.
            ("Loop 1", "volts > 17 or channel = 1", None),
            ("Loop 1", "volts in (0, 1)", None),
            ("Loop 1", "volts in (1, 2, null)", None),
            ("Loop 1", "channel not in (1, 3)", None),
            ("Loop 1", "volts < 2 or note is null", None),
            ("Loop 1", "channel = 1 or good", None),
            ("Loop 1", "cast(volts as real) < cast(2.1 as real) or channel = 1", None),
            ("Loop 1", "channel = 1 or (channel = 2 and note like 'w%')", None),
            ("Loop 1", many.as_str(), None),
        ] {
            let statement = format!("select count(*) from rows.\"{table}\" where {condition}");
            let plan = plan(&sql, &statement).await;
            match filter {
                Some(filter) => {
                    assert!(plan.contains("number of rows of"), "{condition}: {plan}");
                    assert!(plan.contains(filter) && !plan.contains("FilterExec"), "{plan}");
                }
                None => assert!(plan.contains("FilterExec"), "{condition}: {plan}"),
            }
            // Nothing that the store tests.
            let other = format!(
                "select count(*) from rows.\"{table}\" where case when {condition} then true end"
            );
            assert!(self::plan(&sql, &other).await.contains("FilterExec"), "{condition}");
            let expected = ask(&sql, &other).await.unwrap();
            assert_eq!(ask(&sql, &statement).await.unwrap(), expected, "{condition}");
            let found = format!("select * from rows.\"{table}\" where {condition}");
            let found = format!("select count(*) from ({found} order by 1, 2 limit 9000)");
            assert_eq!(ask(&sql, &found).await.unwrap(), expected, "{condition}");
        }
        // Each of many lists is tested by the store, too.
        let list = "channel in (0, 1, 2, 3, 4, 5, 6) and ".repeat(20);
        let lists = format!("select count(*) from rows.\"Loop 1\" where {list}amps in (1, 2)");
        assert!(!ask(&sql, &lists).await.unwrap().is_empty());
        settle(&store);
    }
}
