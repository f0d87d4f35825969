//! Counts of results and steps are asked of the store, and conditions that it tests as SQL does are
//! tested by it alone.

use datafusion::common::{ParamValues, ScalarValue};
use datafusion::physical_plan::common::collect;
use stationdb::{Control, Identity};
use stationdb_sql::{Limits, Options, Sql, context, datafusion};

use crate::common::{ada, ask, lines, plan, read_by, settle};
use crate::{fill, open};

/// The condition for DataFusion alone: `is true` keeps it from going down.
fn alone(condition: &str) -> String {
    format!("({condition}) is true")
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_of_results_and_steps_read_no_rows() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(11, &store);
    for who in ["ada", "guest", "stranger"] {
        let session = store.session(Identity::user(who));
        let sql = context(&session).unwrap();
        let one = ask(&sql, "select min(result_id) from steps").await.unwrap().remove(0);
        let start = "timestamp '2024-03-01T00:01:00Z'";
        let mut total = 0;
        for (table, condition) in [
            ("steps", "true"),
            ("steps", "name = 'a'"),
            ("steps", "name = 'a' and status = 'FAILED'"),
            ("steps", "status = 'FAILED' or status = 'SKIPPED' or name = 'b'"),
            ("steps", "status in ('FAILED', 'PASSED') and path in ('a', 'c')"),
            ("steps", &format!("result_id = '{one}'")),
            ("steps", "workspace = 'open'"),
            ("steps", "step_type = 'NumericLimitTest' and name = 'nothing'"),
            ("steps", &format!("started_at >= {start}")),
            ("steps", "name = 'a' and started_at > timestamp '2024-03-01T00:01:00.0005Z'"),
            ("results", "true"),
            ("results", "part_number = 'A'"),
            ("results", "part_number = 'A' and status = 'FAILED' and workspace = 'open'"),
            ("results", "serial_number in ('1', '2') or program_name = 'P'"),
            ("results", &format!("started_at < {start}")),
            ("results", &format!("started_at between {start} and {start} + interval '1 minute'")),
        ] {
            let statement = format!("select count(*) from {table} where {condition}");
            let (found, reads) = read_by(&sql, &statement).await;
            let [(label, rows)] = reads.as_slice() else { panic!("{statement}: {reads:?}") };
            let source = if table == "steps" { "steps" } else { "TEST_RESULT" };
            assert!(label.contains(&format!("number of {source}")), "{statement}: {label}");
            assert_eq!(*rows, 0, "{statement}");
            let plan = plan(&sql, &statement).await;
            assert!(!plan.contains("FilterExec"), "{statement}: {plan}");
            let by_rows = format!("select count(*) from {table} where {}", alone(condition));
            let (expected, _) = read_by(&sql, &by_rows).await;
            assert_eq!(found, expected, "{statement} as {who}");
            total += found[0].parse::<usize>().unwrap();
        }
        assert_eq!(total > 500, who != "stranger", "{who}: {total}");
        // As many as are counted are read.
        let all = ask(&sql, "select count(*) from steps").await.unwrap();
        let (ids, reads) = read_by(&sql, "select step_id from steps").await;
        assert_eq!(all, [ids.len().to_string()]);
        assert_eq!(reads[0].1, ids.len());
    }
}

/// What the store tests otherwise than SQL is tested once more.
#[tokio::test(flavor = "multi_thread")]
async fn conditions_that_the_store_reads_otherwise_are_tested_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(12, &store);
    let sql = context(&ada(&store)).unwrap();
    for (condition, is_none) in [
        // The letter case of a status counts in SQL.
        ("status = 'failed'", true),
        ("status = 'Failed'", true),
        ("status = 'no such status'", true),
        ("status in ('failed', 'PASSED')", false),
        ("name = 'a' and status = 'failed'", true),
        ("name = 'a' and not status = 'FAILED'", false),
        ("name = 'a' and total_time_in_seconds < 5", false),
        ("name = 'a' and has_children", true),
    ] {
        let statement = format!("select count(*) from steps where {condition}");
        let found = ask(&sql, &statement).await.unwrap();
        let by_rows = format!("select count(*) from steps where {}", alone(condition));
        assert_eq!(found, ask(&sql, &by_rows).await.unwrap(), "{statement}");
        assert_eq!(found == ["0"], is_none, "{statement}: {found:?}");
        let plan = plan(&sql, &statement).await;
        assert!(!plan.contains("number of steps"), "{statement}: {plan}");
    }
    // A measurement has one name.
    for (condition, is_none) in [
        ("name = 'X' and part_number = 'A' and path = 'a' and step_status = 'FAILED'", false),
        ("name = 'X' and result_status = 'FAILED'", false),
        ("name = 'X' and name = 'Y'", true),
        ("name = 'Y' and name = 'Y'", false),
        ("name in ('X', 'Y') and part_number in ('A', 'B') and program_name = 'P'", false),
        ("(name = 'X' or part_number = 'A') and serial_number = '1'", false),
        ("name = 'X' and result_status = 'failed'", true),
        ("name = 'X' and workspace = 'closed' and value > 1", false),
    ] {
        let statement = format!("select count(*) from measurements where {condition}");
        let found = ask(&sql, &statement).await.unwrap();
        let by_rows = format!("select count(*) from measurements where {}", alone(condition));
        assert_eq!(found, ask(&sql, &by_rows).await.unwrap(), "{statement}");
        assert_eq!(found == ["0"], is_none, "{statement}: {found:?}");
    }
    // Tested by the store alone, so a limit is one on what is read, and no column is.
    let few = "select count(*) from (select 1 from measurements where name = 'X' limit 7)";
    let (found, reads) = read_by(&sql, few).await;
    assert_eq!((found, reads[0].1), (vec!["7".to_owned()], 7));
    let whole = plan(&sql, "select count(*) from measurements where name = 'X'").await;
    assert!(!whole.contains("FilterExec") && whole.contains("projection=[]"), "{whole}");
}

/// A plan that is kept answers with values that the store tests, and with those that it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_kept_plan_counts_with_each_value() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(14, &store);
    let session = ada(&store);
    let kept = Sql::new(Options::default(), Limits::default()).unwrap();
    let text = "select count(*) from steps where name = $1 and status = $2";
    let kept = kept.prepare(text).unwrap();
    for round in 0..2 {
        let sql = context(&session).unwrap();
        let mut counts = Vec::new();
        for (name, status) in
            [("a", "FAILED"), ("a", "failed"), ("b", "DONE"), ("a", "none"), ("a", "PASSED")]
        {
            let values =
                ParamValues::from(vec![ScalarValue::from(name), ScalarValue::from(status)]);
            let rows = kept.query(&session, Some(values), &Control::default()).await.unwrap();
            let found = lines(&collect(rows).await.unwrap());
            let condition = alone(&format!("name = '{name}' and status = '{status}'"));
            let by_rows = format!("select count(*) from steps where {condition}");
            assert_eq!(found, ask(&sql, &by_rows).await.unwrap(), "{name} {status}");
            counts.extend(found);
        }
        assert_eq!((counts[1].as_str(), counts[3].as_str()), ("0", "0"));
        assert!(counts[0] != "0" && counts[2] != "0" && counts[4] != "0", "{counts:?}");
        assert_eq!(kept.plans_made(), 1);
        if round == 0 {
            fill(15, &store);
            settle(&store);
        }
    }
}
