//! What the store does for a statement changes no answer: every condition and every order is asked
//! a second time in a form that stays with DataFusion.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::prelude::SessionContext;
use serde_json::json;
use stationdb::prelude::*;
use stationdb_sql::{context, datafusion};

use crate::common::{ask, filled, plan, request, settle};

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];
const FLOATS: [&str; 12] = [
    "0",
    "-0.0",
    "0.25",
    "4.2",
    "cast(4.2 as real)",
    "3",
    "-6",
    "17.5",
    "1e39",
    "cast('NaN' as double)",
    "cast('inf' as double)",
    "-cast('inf' as double)",
];
const INTEGERS: [&str; 8] = [
    "3",
    "3.0",
    "3.5",
    "-1",
    "3000000000",
    "9223372036854775807",
    "9007199254740993",
    "cast(2.5 as real)",
];
/// Also times that have no text in the store: their years have more than four digits, or a sign.
const TIMES: [&str; 11] = [
    "timestamp '2024-03-01 00:10:00'",
    "timestamp '2024-03-01 00:00:00.0005'",
    "timestamp '2024-03-01 00:00:00.060500'",
    "timestamp '2024-03-01 00:00:00.090000001'",
    "timestamp '1969-12-31 23:59:59.999'",
    "date '2024-03-01'",
    "arrow_cast(253402300800000, 'Timestamp(ms, \"UTC\")')",
    "arrow_cast(-62167219200001, 'Timestamp(ms, \"UTC\")')",
    "arrow_cast(8000000000000000, 'Timestamp(ms, \"UTC\")')",
    "arrow_cast(9223372036854775807, 'Timestamp(ms, \"UTC\")')",
    "arrow_cast(-9223372036854775808, 'Timestamp(us, \"UTC\")')",
];
const TEXTS: [&str; 7] = ["'ok'", "''", "'Ä'", "'OK'", "'o''k\"'", "'NEW'", "'@0'"];

fn literals(data_type: &DataType) -> &'static [&'static str] {
    match data_type {
        DataType::Float32 | DataType::Float64 => &FLOATS,
        DataType::Int32 | DataType::Int64 => &INTEGERS,
        DataType::Timestamp(..) => &TIMES,
        DataType::Utf8 => &TEXTS,
        DataType::Boolean => &["true", "false"],
        _ => &[],
    }
}

/// The columns and members of objects that may be compared, as a statement names them.
fn operands(schema: &Schema) -> Vec<(String, DataType)> {
    let mut all = Vec::new();
    for field in schema.fields() {
        let name = format!("\"{}\"", field.name());
        if let DataType::Struct(members) = field.data_type() {
            let member = |inner: &str| format!("{name}['{inner}']");
            all.extend(members.iter().map(|m| (member(m.name()), m.data_type().clone())));
        }
        all.push((name, field.data_type().clone()));
    }
    all.retain(|(_, data_type)| !literals(data_type).is_empty());
    all
}

/// The conditions on an operand.
fn conditions(operand: &str, literals: &[String], other: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, literal) in literals.iter().enumerate() {
        for operator in OPERATORS {
            all.push(format!("{operand} {operator} {literal}"));
        }
        let next = &literals[(at + 1) % literals.len()];
        all.push(format!("{literal} > {operand}"));
        all.push(format!("{operand} < {literal} or {other}"));
        all.push(format!("{operand} = {literal} or ({operand} <= {next} and {other})"));
        all.push(format!("not ({operand} <= {literal})"));
        all.push(format!("{operand} in ({literal}, {next})"));
        all.push(format!("{operand} between {literal} and {next}"));
        all.push(format!("{operand} is distinct from {literal}"));
    }
    all
}

/// Each so many conditions are asked for: all if the variable `STATIONDB_SQL_ALL` is set.
fn every(step: usize) -> usize {
    if std::env::var_os("STATIONDB_SQL_ALL").is_some() { 1 } else { step }
}

/// The numbers of rows that keep these conditions, which the store does not test.
async fn counted(
    sql: &SessionContext,
    table: &str,
    key: &str,
    conditions: &[String],
) -> Result<Vec<String>, String> {
    // The condition alone would be passed on.
    let count = |condition: &String| {
        format!("count({key}) filter (where case when {condition} then true end)")
    };
    let counts: Vec<String> = conditions.iter().map(count).collect();
    let answer = ask(sql, &format!("select {} from {table}", counts.join(", "))).await?;
    Ok(answer[0].split(" | ").map(str::to_owned).collect())
}

/// Asks for the number of rows of each condition, and for the rows. What fails in one form, as a
/// time that is beyond its type, fails in the others.
async fn assert_same(sql: &SessionContext, table: &str, key: &str, conditions: &[String]) {
    for part in conditions.chunks(60) {
        let together = counted(sql, table, key, part).await;
        for (at, condition) in part.iter().enumerate() {
            let expected = match &together {
                Ok(all) => Ok(all[at].clone()),
                Err(_) => {
                    counted(sql, table, key, &part[at..=at]).await.map(|mut all| all.remove(0))
                }
            };
            let count = ask(sql, &format!("select count(*) from {table} where {condition}")).await;
            let rows = ask(sql, &format!("select {key} from {table} where {condition}")).await;
            match expected {
                Ok(expected) => {
                    assert_eq!(count, Ok(vec![expected.clone()]), "{table}: {condition}");
                    let rows = rows.map(|rows| rows.len().to_string());
                    assert_eq!(rows, Ok(expected), "{table}: {condition}");
                }
                Err(error) => {
                    let is_range = error.contains("Cannot cast") || error.contains("Overflow");
                    assert!(is_range, "{table}: {condition}: {error}");
                    assert!(count.is_err() && rows.is_err(), "{table}: {condition}: {count:?}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_rows_keep_the_same_rows() {
    let (_directory, store, session) = filled();
    let columns = json!([
        { "name": "t", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "single", "dataType": "FLOAT32", "columnType": "NULLABLE" },
        { "name": "double", "dataType": "FLOAT64", "columnType": "NULLABLE" },
        { "name": "other", "dataType": "INT64", "columnType": "NULLABLE" },
    ]);
    let id = session.create_table(request(json!({ "name": "odd", "columns": columns }))).unwrap();
    let values = ["-Infinity", "-1", "-0", "0", "0.25", "4.2", "Infinity", "NaN"].map(Some);
    let whole = [i64::MIN, -1, 0, 3, 9_007_199_254_740_992, 9_007_199_254_740_993, i64::MAX];
    let whole: Vec<String> = whole.iter().map(i64::to_string).collect();
    let values = values.into_iter().chain([None]).enumerate();
    let rows = values.map(|(at, v)| json!([at.to_string(), v, v, whole.get(at)]));
    let rows: Vec<_> = rows.collect();
    session.append_table_data(&id, request(json!({ "frame": { "data": rows } }))).unwrap();
    // Buffered and in segments, then merged.
    for step in [7, 11] {
        let sql = context(&session).unwrap();
        for (table, key, other) in [
            ("Loop 1", "t", "channel = 1"),
            ("Loop 2", "n", "channel = 1"),
            ("Loop 3", "moment", "rate = 0.5"),
            ("odd", "t", "t = 2"),
        ] {
            let table = format!("rows.\"{table}\"");
            let schema = sql.table(&*table).await.unwrap().schema().as_arrow().clone();
            for (operand, data_type) in operands(&schema) {
                let literals: Vec<String> =
                    literals(&data_type).iter().map(|&l| l.to_owned()).collect();
                let conditions = conditions(&operand, &literals, other);
                let conditions: Vec<String> = conditions.into_iter().step_by(every(step)).collect();
                assert_same(&sql, &table, key, &conditions).await;
            }
        }
        settle(&store);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_records_keep_the_same_records() {
    let (_directory, _store, session) = filled();
    let sql = context(&session).unwrap();
    let kinds = "select table_name from information_schema.tables where table_schema = 'public'";
    for kind in ask(&sql, kinds).await.unwrap() {
        let schema = sql.table(&*kind).await.unwrap().schema().as_arrow().clone();
        let key = if schema.column_with_name("id").is_some() { "id" } else { "workspace" };
        for (operand, data_type) in operands(&schema) {
            let mut literals: Vec<String> = match data_type {
                DataType::Timestamp(..) => TIMES[4..].iter().map(|&l| l.to_owned()).collect(),
                _ => literals(&data_type).iter().take(3).map(|&l| l.to_owned()).collect(),
            };
            let held = format!(
                "select distinct cast({operand} as text) from {kind} where {operand} is not null \
                 order by 1 limit 2"
            );
            for text in ask(&sql, &held).await.unwrap() {
                literals.push(match data_type {
                    DataType::Utf8 => format!("'{}'", text.replace('\'', "''")),
                    DataType::Timestamp(..) => format!("timestamp '{text}'"),
                    _ => text,
                });
            }
            let other = "workspace = 'open'";
            let conditions = conditions(&operand, &literals, other);
            let conditions: Vec<String> = conditions.into_iter().step_by(every(17)).collect();
            assert_same(&sql, &kind, key, &conditions).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_rows_of_an_order_are_the_same() {
    let (_directory, store, session) = filled();
    let mut selected = 0;
    for _ in 0..2 {
        let sql = context(&session).unwrap();
        for table in ["Loop 1", "Loop 2", "Loop 3", "empty"] {
            let table = format!("rows.\"{table}\"");
            let schema = sql.table(&*table).await.unwrap().schema().as_arrow().clone();
            for (column, _) in operands(&schema) {
                for order in ["", " desc", " desc nulls last"] {
                    let all = format!("select {column} from {table} order by {column}{order}");
                    let first = format!("{all} limit 190 offset 3");
                    let told = plan(&sql, &first).await;
                    selected += usize::from(told.contains("StoreScan: first "));
                    let all = ask(&sql, &all).await.unwrap();
                    let expected: Vec<&String> = all.iter().skip(3).take(190).collect();
                    let first_rows = ask(&sql, &first).await.unwrap();
                    assert_eq!(first_rows.iter().collect::<Vec<_>>(), expected, "{first}");
                }
            }
        }
        settle(&store);
    }
    assert!(selected > 40, "{selected} orders are selected by the store");
}
