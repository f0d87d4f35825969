//! Statements over every type at its extremes, against arithmetic of whole numbers of 128 bits.
//!
//! An answer is the exact one or an error; where the exact one is in the type, it is no error.
//! `STATIONDB_PYTHON` names an interpreter; where it has DuckDB, the statements that both take
//! alike are compared with its answers too.

mod common;
#[path = "edges/duckdb.rs"]
mod duckdb;
#[path = "edges/model.rs"]
mod model;

use std::cmp::Ordering;
use std::sync::Arc;

use common::{ada, open, request, settle};
use datafusion::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
};
use datafusion::physical_plan::common::collect;
use datafusion::prelude::SessionContext;
use model::{PARTS, Value, begin_of, cells, field_of, order, text_of_instant};
use serde_json::json;
use stationdb::prelude::*;
use stationdb::{Session, Store};
use stationdb_sql::{Limits, context, datafusion};

const ROWS: usize = 9;
/// Milliseconds of the first instant of year 1 and of the last one of year 9999.
const YEARS: [i64; 2] = [-62_135_596_800_000, 253_402_300_799_999];

fn ints() -> [Option<i32>; ROWS] {
    [Some(i32::MIN), Some(-7), Some(-1), Some(0), None, Some(1), Some(3), Some(7), Some(i32::MAX)]
}

fn longs() -> [Option<i64>; ROWS] {
    [
        Some(i64::MIN),
        Some(i64::MIN + 1),
        Some(-1),
        Some(0),
        None,
        Some(1),
        Some(9_007_199_254_740_993),
        Some(i64::MAX - 1),
        Some(i64::MAX),
    ]
}

fn singles() -> [Option<f32>; ROWS] {
    [
        Some(f32::NEG_INFINITY),
        Some(f32::MIN),
        Some(-f32::NAN),
        Some(-0.0),
        None,
        Some(0.0),
        Some(f32::MAX),
        Some(f32::INFINITY),
        Some(f32::NAN),
    ]
}

fn doubles() -> [Option<f64>; ROWS] {
    [
        Some(f64::NEG_INFINITY),
        Some(f64::MIN),
        Some(-f64::NAN),
        Some(-0.0),
        None,
        Some(0.0),
        Some(9_007_199_254_740_992.0),
        Some(f64::INFINITY),
        Some(f64::NAN),
    ]
}

fn millis() -> [Option<i64>; ROWS] {
    let day = 1_704_067_200_000;
    [
        Some(YEARS[0]),
        Some(YEARS[0] + 1),
        Some(-1),
        Some(0),
        None,
        Some(1),
        Some(day),
        Some(YEARS[1] - 1),
        Some(YEARS[1]),
    ]
}

fn micros() -> [Option<i64>; ROWS] {
    millis().map(|count| count.map(|count| count * 1000 + i64::from(count == YEARS[1]) * 999))
}

fn nanos() -> [Option<i64>; ROWS] {
    let day = 1_704_067_200_000_000_000;
    [
        Some(i64::MIN),
        Some(i64::MIN + 1),
        Some(-1),
        Some(0),
        None,
        Some(1),
        Some(day),
        Some(i64::MAX - 1),
        Some(i64::MAX),
    ]
}

/// The values of a column, as they are.
fn column(name: &str) -> Vec<Value> {
    let time = |counts: [Option<i64>; ROWS], scale: i128| {
        counts
            .map(|count| count.map_or(Value::Null, |count| Value::Time(i128::from(count) * scale)))
    };
    let all = match name {
        "i" => ints().map(|value| value.map_or(Value::Null, |value| Value::Int(value.into()))),
        "l" => longs().map(|value| value.map_or(Value::Null, |value| Value::Int(value.into()))),
        "f" => singles().map(|value| value.map_or(Value::Null, |value| Value::float(value.into()))),
        "d" => doubles().map(|value| value.map_or(Value::Null, Value::float)),
        "ms" => time(millis(), 1_000_000),
        "us" => time(micros(), 1000),
        _ => time(nanos(), 1),
    };
    all.to_vec()
}

fn edges() -> (tempfile::TempDir, Store, Session) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"));
    let session = ada(&store);
    session.create_workspace(request(json!({ "id": "w", "name": "w" }))).unwrap();
    let column = |name: &str, kind: &str| {
        let columns = json!({ "name": name, "dataType": kind, "columnType": "NULLABLE" });
        columns
    };
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        column("i", "INT32"), column("l", "INT64"), column("f", "FLOAT32"), column("d", "FLOAT64"),
        column("ms", "TIMESTAMP"), column("us", "TIMESTAMP_US"), column("ns", "TIMESTAMP_NS"),
        column("s", "STRING"),
    ]);
    let table = json!({ "name": "e", "workspace": "w", "columns": columns });
    let id = session.create_table(request(table)).unwrap();
    let texts = (0..ROWS).map(|at| (at != 4).then(|| format!("t{at}")));
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("i", Arc::new(Int32Array::from(ints().to_vec()))),
        ("l", Arc::new(Int64Array::from(longs().to_vec()))),
        ("f", Arc::new(Float32Array::from(singles().to_vec()))),
        ("d", Arc::new(Float64Array::from(doubles().to_vec()))),
        ("ms", Arc::new(TimestampMillisecondArray::from(millis().to_vec()).with_timezone("UTC"))),
        ("us", Arc::new(TimestampMicrosecondArray::from(micros().to_vec()).with_timezone("UTC"))),
        ("ns", Arc::new(TimestampNanosecondArray::from(nanos().to_vec()).with_timezone("UTC"))),
        ("s", Arc::new(StringArray::from_iter(texts))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        arrays.into_iter().map(|(name, array)| (name, array, name != "n")),
    );
    session.append_batches(&id, &mut std::iter::once(Ok(batch.unwrap())), Some(true)).unwrap();
    settle(&store);
    (directory, store, session)
}

async fn ask(sql: &SessionContext, statement: &str) -> Result<Vec<Vec<Value>>, String> {
    let frame = sql.sql(statement).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    Ok(cells(&batches))
}

async fn answered(sql: &SessionContext, statement: &str) -> Vec<Vec<Value>> {
    ask(sql, statement).await.unwrap_or_else(|error| panic!("{error}: {statement}"))
}

/// As [`ask`], through the door for statements of others.
async fn query(sql: &SessionContext, statement: &str) -> Result<Vec<Vec<Value>>, String> {
    let rows = stationdb_sql::query(sql, statement, &Limits::default()).await;
    let rows = rows.map_err(|error| error.to_string())?;
    let batches = collect(rows).await.map_err(|error| error.to_string())?;
    Ok(cells(&batches))
}

/// A literal and the value that it names.
fn literals(column: &str) -> Vec<(String, Value)> {
    let int = |value: i128| (value.to_string(), Value::Int(value));
    match column {
        "i" | "l" => {
            let mut all: Vec<_> =
                [-1, 0, 1, 7, i128::from(i32::MAX), i128::from(i64::MAX)].map(int).to_vec();
            all.push(("0.5".to_owned(), Value::float(0.5)));
            all.push(("-0.5".to_owned(), Value::float(-0.5)));
            all.push(("9007199254740992.0".to_owned(), Value::float(9_007_199_254_740_992.0)));
            all.push(("1e300".to_owned(), Value::float(1e300)));
            all.push(("'NaN'::double".to_owned(), Value::float(f64::NAN)));
            all
        }
        "f" | "d" => [0.0, -0.0, 1.0, f64::MAX, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]
            .map(|value| {
                let text = match value {
                    value if value.is_nan() => "'NaN'::double".to_owned(),
                    value if value == f64::INFINITY => "'Infinity'::double".to_owned(),
                    value if value == f64::NEG_INFINITY => "'-Infinity'::double".to_owned(),
                    value => format!("{value:e}"),
                };
                (text, Value::float(value))
            })
            .to_vec(),
        _ => {
            let instants = [
                "1970-01-01T00:00:00Z",
                "1970-01-01T00:00:00.0005Z",
                "1970-01-01T00:00:00.000000500Z",
                "1969-12-31T23:59:59.999000001Z",
                "2024-01-01T00:00:00.000500Z",
                "2024-01-01T01:00:00+01:00",
                "0001-01-01T00:00:00.000000001Z",
                "9999-12-31T23:59:59.999Z",
                "9999-12-31T23:59:59.9995Z",
                "9999-12-31",
                "2262-04-11T23:47:16.854775807Z",
                "1677-09-21T00:12:43.145224192Z",
            ];
            let mut all = Vec::new();
            for text in instants {
                let value = Value::Time(model::instant(text));
                all.push((format!("'{text}'"), value.clone()));
                if !text.contains('T') {
                    all.push((format!("date '{text}'"), value.clone()));
                }
                if !text.contains('+') {
                    all.push((format!("timestamp '{}'", text.trim_end_matches('Z')), value));
                }
            }
            all
        }
    }
}

const OPERATORS: [&str; 6] = ["=", "<>", "<", "<=", ">", ">="];

fn holds(operator: &str, order: Ordering) -> bool {
    match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// What a comparison answers: null where a side is null.
fn compared(operator: &str, left: &Value, right: &Value) -> Value {
    match order(left, right) {
        Some(order) => Value::Bool(holds(operator, order)),
        None => Value::Null,
    }
}

/// Compares the rows of an answer with what each should have.
fn same(statement: &str, found: &[Vec<Value>], expected: &[Vec<Value>]) {
    assert_eq!(found.len(), expected.len(), "{statement}: {found:?}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(found, expected, "row {row}, column {at} of {statement}");
        }
    }
}

const COLUMNS: [&str; 7] = ["i", "l", "f", "d", "ms", "us", "ns"];

#[tokio::test(flavor = "multi_thread")]
async fn comparisons_are_those_of_the_values() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for name in COLUMNS {
        let values = column(name);
        let literals = literals(name);
        for operator in OPERATORS {
            let terms = literals.iter().map(|(text, _)| format!("{name} {operator} {text}"));
            let terms: Vec<String> = terms.collect();
            let columns = terms.iter().zip(0..).map(|(term, at)| format!("{term} as c{at}"));
            let columns: Vec<String> = columns.collect();
            let statement = format!("select {} from e order by n", columns.join(", "));
            let row = |value: &Value| {
                literals.iter().map(|(_, literal)| compared(operator, value, literal)).collect()
            };
            let expected: Vec<Vec<Value>> = values.iter().map(row).collect();
            same(&statement, &answered(&sql, &statement).await, &expected);
            // The same as conditions, which the store tests where it can.
            if !matches!(operator, "=" | "<" | ">=") {
                continue;
            }
            for (term, (_, literal)) in terms.iter().zip(&literals) {
                let swapped = term.splitn(3, ' ').collect::<Vec<_>>();
                let kept = |turned: bool| {
                    let holds = |value: &Value| {
                        if turned {
                            compared(operator, literal, value)
                        } else {
                            compared(operator, value, literal)
                        }
                    };
                    let rows = values.iter().enumerate();
                    let kept = rows.filter(|(_, value)| holds(value) == Value::Bool(true));
                    kept.map(|(at, _)| vec![Value::Int(at as i128)]).collect::<Vec<_>>()
                };
                let statement = format!("select n from e where {term} order by n");
                same(&statement, &answered(&sql, &statement).await, &kept(false));
                // One operator of each direction is enough for the other way round.
                if !matches!(operator, "=" | "<") {
                    continue;
                }
                let turned = format!("{} {operator} {}", swapped[2], swapped[0]);
                let statement = format!("select n from e where {turned} order by n");
                same(&statement, &answered(&sql, &statement).await, &kept(true));
            }
        }
        // Columns with each other.
        let others: Vec<&str> = match name {
            "ms" | "us" | "ns" => vec!["ms", "us", "ns"],
            _ => vec!["i", "l", "d"],
        };
        for operator in OPERATORS {
            for other in &others {
                let statement = format!(
                    "select a.n, b.n, a.{name} {operator} b.{other} from e a, e b order by a.n, b.n"
                );
                let (left, right) = (column(name), column(other));
                let mut expected = Vec::new();
                for (a, left) in left.iter().enumerate() {
                    for (b, right) in right.iter().enumerate() {
                        let answer = compared(operator, left, right);
                        expected.push(vec![Value::Int(a as i128), Value::Int(b as i128), answer]);
                    }
                }
                same(&statement, &answered(&sql, &statement).await, &expected);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_and_lists_are_chains_of_comparisons() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    let not = |value: Value| match value {
        Value::Bool(value) => Value::Bool(!value),
        other => other,
    };
    let and = |left: Value, right: Value| match (left, right) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), Value::Bool(true)) => Value::Bool(true),
        _ => Value::Null,
    };
    for name in COLUMNS {
        let values = column(name);
        let literals = literals(name);
        for pair in literals.windows(2) {
            let [(low, low_value), (high, high_value)] = pair else { continue };
            let within = |value: &Value| {
                and(compared(">=", value, low_value), compared("<=", value, high_value))
            };
            let either = |value: &Value, has_null: bool| {
                let found = [low_value, high_value].map(|item| compared("=", value, item));
                match found.contains(&Value::Bool(true)) {
                    true => Value::Bool(true),
                    false if has_null => Value::Null,
                    false => found[0].clone(),
                }
            };
            let terms = [
                format!("{name} between {low} and {high}"),
                format!("{name} not between {low} and {high}"),
                format!("{name} in ({low}, {high})"),
                format!("{name} not in ({low}, {high})"),
                format!("{name} in ({low}, null, {high})"),
                format!("{name} not in ({low}, {high}, null)"),
                format!("{name} in ({low}, {high}) and {name} in ({high}, {low}, null)"),
            ];
            let statement = format!("select {} from e order by n", terms.join(", "));
            let row = |value: &Value| {
                let (plain, with_null) = (either(value, false), either(value, true));
                vec![
                    within(value),
                    not(within(value)),
                    plain.clone(),
                    not(plain.clone()),
                    with_null.clone(),
                    not(with_null.clone()),
                    and(plain, with_null),
                ]
            };
            let expected: Vec<Vec<Value>> = values.iter().map(row).collect();
            same(&statement, &answered(&sql, &statement).await, &expected);
            let statement = format!("select n from e where {} order by n", terms[2]);
            let rows = values.iter().enumerate();
            let kept = rows.filter(|(_, value)| either(value, false) == Value::Bool(true));
            let kept: Vec<_> = kept.map(|(at, _)| vec![Value::Int(at as i128)]).collect();
            same(&statement, &answered(&sql, &statement).await, &kept);
        }
    }
    // Of the finding: neither list has the value, and one has null.
    let statement = "select n, i in (1, 2) and i in (3, null), \
                     i in (1, nullif(2, 2)) and i in (3, 4), \
                     i not in (null), i in (null) from e where i = 1";
    let expected = vec![Value::Int(5), Value::Null, Value::Bool(false), Value::Null, Value::Null];
    same(statement, &answered(&sql, statement).await, &[expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn integers_do_not_wrap() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for (name, least, most) in [
        ("i", i128::from(i32::MIN), i128::from(i32::MAX)),
        ("l", i128::from(i64::MIN), i128::from(i64::MAX)),
    ] {
        let values = column(name);
        for (a, left) in values.iter().enumerate() {
            let (Value::Int(x), mut wanted) = (left, Vec::new()) else { continue };
            for (b, right) in values.iter().enumerate() {
                let Value::Int(y) = right else { continue };
                for (operator, exact) in [
                    ("+", Some(x + y)),
                    ("-", Some(x - y)),
                    ("*", Some(x * y)),
                    ("/", (*y != 0).then(|| x / y)),
                    ("%", (*y != 0).then(|| x % y)),
                ] {
                    let exact = exact.filter(|exact| (least..=most).contains(exact));
                    wanted.push((operator, b, exact));
                }
            }
            // Those that the type holds, all at once; the others one by one.
            for operator in ["+", "-", "*", "/", "%"] {
                let of = |is_in: bool| {
                    wanted
                        .iter()
                        .filter(move |(own, _, exact)| *own == operator && exact.is_some() == is_in)
                };
                let rows: Vec<String> = of(true).map(|(_, b, _)| b.to_string()).collect();
                let statement = format!(
                    "select b.n, a.{name} {operator} b.{name} from e a, e b where a.n = {a} and \
                     b.n in ({}) order by b.n",
                    rows.join(", ")
                );
                let expected = of(true)
                    .map(|(_, b, exact)| vec![Value::Int(*b as i128), Value::Int(exact.unwrap())]);
                let expected: Vec<_> = expected.collect();
                if !expected.is_empty() {
                    same(&statement, &answered(&sql, &statement).await, &expected);
                }
                for (_, b, _) in of(false) {
                    let statement = format!(
                        "select a.{name} {operator} b.{name} from e a, e b where a.n = {a} and \
                         b.n = {b}"
                    );
                    let answer = ask(&sql, &statement).await;
                    assert!(answer.is_err(), "{statement}: {answer:?}");
                }
            }
            let statement = format!("select -{name} from e where n = {a}");
            match ask(&sql, &statement).await {
                Ok(found) => same(&statement, &found, &[vec![Value::Int(-x)]]),
                Err(error) => assert!(-x > most, "{error}: {statement}"),
            }
            let statement = format!("select abs({name}) from e where n = {a}");
            match ask(&sql, &statement).await {
                Ok(found) => same(&statement, &found, &[vec![Value::Int(x.abs())]]),
                Err(error) => assert!(x.abs() > most, "{error}: {statement}"),
            }
        }
    }
    for statement in [
        "select 9223372036854775807 + 1",
        "select 10000000000 * 10000000000",
        "select -(-9223372036854775807 - 1)",
        "select 1 << 64",
        "select 1 >> 64",
        "select arrow_cast(1, 'UInt64') << 64",
        "select arrow_cast(18446744073709551615, 'UInt64') << 1",
        "select 4611686018427387904 << 1",
        "select n from e where l + 1 > 0",
        "select n from e where l - 9223372036854775807 < -1",
        "select sum(l) over (order by n) from e where n > 6",
    ] {
        let answer = ask(&sql, statement).await;
        assert!(answer.is_err(), "{statement}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_and_averages_are_exact() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    let values = column("l");
    for from in 0..ROWS {
        for to in from..ROWS {
            let of = values[from..=to].iter().filter_map(|value| match value {
                Value::Int(value) => Some(*value),
                _ => None,
            });
            let (sum, count) = (of.clone().sum::<i128>(), of.clone().count());
            let filter = format!("from e where n between {from} and {to}");
            let fits = i64::try_from(sum).is_ok();
            for statement in [
                format!("select sum(l) {filter}"),
                format!("select sum(l) {filter} group by n >= 0"),
                format!("select sum(distinct l) {filter}"),
                format!("select distinct sum(l) over () {filter}"),
            ] {
                match (ask(&sql, &statement).await, count) {
                    (Ok(found), 0) => same(&statement, &found, &[vec![Value::Null]]),
                    (Ok(found), _) => same(&statement, &found, &[vec![Value::Int(sum)]]),
                    (Err(error), _) => assert!(!fits, "{error}: {statement}"),
                }
            }
            let statement = format!("select avg(l) {filter}");
            let average = match count {
                0 => Value::Null,
                count => Value::float(sum as f64 / count as f64),
            };
            same(&statement, &answered(&sql, &statement).await, &[vec![average]]);
            let statement = format!("select min(l), max(l), count(l), count(*) {filter}");
            let int = |value: Option<i128>| value.map_or(Value::Null, Value::Int);
            let expected = vec![
                int(of.clone().min()),
                int(of.max()),
                Value::Int(count as i128),
                Value::Int((to - from + 1) as i128),
            ];
            same(&statement, &answered(&sql, &statement).await, &[expected]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn floats_that_are_computed_have_no_sign_of_nan_and_zero() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    let doubles: Vec<Option<f64>> = column("d")
        .into_iter()
        .map(|value| match value {
            Value::Float(bits) => Some(f64::from_bits(bits)),
            _ => None,
        })
        .collect();
    type FloatExpression = (&'static str, fn(f64) -> f64);
    let made: [FloatExpression; 10] = [
        ("-d", |x| -x),
        ("d - d", |x| x - x),
        ("d * 0", |x| x * 0.0),
        ("d * -1", |x| -x),
        ("d / d", |x| x / x),
        ("0.0 / d", |x| 0.0 / x),
        ("-(-d)", |x| x),
        ("abs(-d)", |x| x.abs()),
        ("coalesce(-d, 0.0)", |x| -x),
        ("case when n >= 0 then -d end", |x| -x),
    ];
    for (text, of) in made {
        let of_row = |value: &Option<f64>| match value {
            Some(value) => Value::float(of(*value)),
            None if text.starts_with("coalesce") => Value::float(0.0),
            None => Value::Null,
        };
        let values: Vec<Value> = doubles.iter().map(of_row).collect();
        for operator in OPERATORS {
            let statement = format!("select n from e where {text} {operator} 0 order by n");
            let zero = Value::float(0.0);
            let rows = values.iter().enumerate();
            let kept =
                rows.filter(|(_, value)| compared(operator, value, &zero) == Value::Bool(true));
            let kept: Vec<_> = kept.map(|(at, _)| vec![Value::Int(at as i128)]).collect();
            same(&statement, &answered(&sql, &statement).await, &kept);
        }
        // Order, groups and extremes compare too.
        let mut sorted: Vec<(Value, usize)> =
            values.iter().cloned().zip(0..).filter(|(value, _)| *value != Value::Null).collect();
        sorted.sort_by(|left, right| {
            order(&left.0, &right.0).unwrap_or(Ordering::Equal).then(left.1.cmp(&right.1))
        });
        let statement = format!("select n from e where {text} is not null order by {text}, n");
        let rows: Vec<_> = sorted.iter().map(|(_, at)| vec![Value::Int(*at as i128)]).collect();
        same(&statement, &answered(&sql, &statement).await, &rows);
        let mut distinct: Vec<&Value> = sorted.iter().map(|(value, _)| value).collect();
        distinct.dedup();
        let statement = format!(
            "select count(distinct x), max(x), min(x), count(*) from (select {text} as x from e) \
             where x is not null"
        );
        let ends = [sorted.last(), sorted.first()];
        let [most, least] = ends.map(|end| end.map_or(Value::Null, |(value, _)| value.clone()));
        let counts = [distinct.len(), sorted.len()].map(|count| Value::Int(count as i128));
        let [distinct, count] = counts;
        same(&statement, &answered(&sql, &statement).await, &[vec![distinct, most, least, count]]);
    }
    let statement =
        "select n from e group by n having -sum(d) > 0 or sum(d) - sum(d) > 0 order by n";
    let kept = doubles
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_some_and(|x| x < 0.0 || x.is_nan() || (x - x).is_nan()));
    let kept: Vec<_> = kept.map(|(at, _)| vec![Value::Int(at as i128)]).collect();
    same(statement, &answered(&sql, statement).await, &kept);
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_those_of_the_values() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for name in COLUMNS {
        let mut sorted: Vec<(Value, usize)> =
            column(name).into_iter().zip(0..).filter(|(value, _)| *value != Value::Null).collect();
        for is_down in [false, true] {
            sorted.sort_by(|left, right| {
                let by = order(&left.0, &right.0).unwrap_or(Ordering::Equal);
                let by = if is_down { by.reverse() } else { by };
                by.then(left.1.cmp(&right.1))
            });
            let mut rows: Vec<_> =
                sorted.iter().map(|(_, at)| vec![Value::Int(*at as i128)]).collect();
            rows.push(vec![Value::Int(4)]);
            let word = if is_down { "desc" } else { "asc" };
            let statement = format!("select n from e order by {name} {word} nulls last, n");
            same(&statement, &answered(&sql, &statement).await, &rows);
            rows.rotate_right(1);
            let statement = format!("select n from e order by {name} {word} nulls first, n");
            same(&statement, &answered(&sql, &statement).await, &rows);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_cut_to_the_part_that_they_are_in() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for (name, scale) in [("ms", 1_000_000), ("us", 1000), ("ns", 1)] {
        for part in PARTS {
            for (row, value) in column(name).into_iter().enumerate() {
                let statement =
                    format!("select date_trunc('{part}', {name}) from e where n = {row}");
                let Value::Time(nanos) = value else { continue };
                let begin = begin_of(part, nanos);
                let is_held = i64::try_from(begin / scale).is_ok();
                match ask(&sql, &statement).await {
                    Ok(found) => same(&statement, &found, &[vec![Value::Time(begin)]]),
                    Err(error) => assert!(!is_held, "{error}: {statement}"),
                }
            }
        }
        for part in
            ["year", "quarter", "month", "week", "day", "doy", "dow", "hour", "minute", "second"]
        {
            let statement = format!("select extract({part} from {name}) from e order by n");
            let of = |value: Value| match value {
                Value::Time(nanos) => Value::Int(field_of(part, nanos)),
                other => other,
            };
            let expected: Vec<_> = column(name).into_iter().map(|value| vec![of(value)]).collect();
            same(&statement, &answered(&sql, &statement).await, &expected);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn casts_are_exact_or_errors() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for (from, to) in [
        ("l", "int"),
        ("l", "smallint"),
        ("i", "bigint"),
        ("d", "bigint"),
        ("f", "bigint"),
        ("d", "int"),
        ("l", "double"),
        ("i", "double"),
    ] {
        for (row, value) in column(from).into_iter().enumerate() {
            let statement = format!("select cast({from} as {to}) from e where n = {row}");
            let exact = match (&value, to) {
                (Value::Int(value), "double") => Some(Value::float(*value as f64)),
                (Value::Int(value), _) => Some(Value::Int(*value)),
                (Value::Float(bits), _) => {
                    let value = f64::from_bits(*bits).trunc();
                    value.is_finite().then_some(Value::Int(value as i128))
                }
                _ => Some(Value::Null),
            };
            let bits = match to {
                "smallint" => 15,
                "int" => 31,
                _ => 63,
            };
            let is_held = match &exact {
                Some(Value::Int(value)) => (-(1_i128 << bits)..1_i128 << bits).contains(value),
                Some(_) => true,
                None => false,
            };
            match ask(&sql, &statement).await {
                Ok(found) if is_held => same(&statement, &found, &[vec![exact.unwrap()]]),
                Ok(found) => panic!("{found:?}: {statement}"),
                Err(error) => assert!(!is_held, "{error}: {statement}"),
            }
        }
    }
    // Times become finer, where the finer type has them; and texts.
    for (row, value) in column("ms").into_iter().enumerate() {
        let Value::Time(nanos) = value else { continue };
        let statement =
            format!("select arrow_cast(ms, 'Timestamp(Nanosecond, None)') from e where n = {row}");
        match ask(&sql, &statement).await {
            Ok(found) => same(&statement, &found, &[vec![Value::Time(nanos)]]),
            Err(error) => assert!(i64::try_from(nanos).is_err(), "{error}: {statement}"),
        }
    }
}

/// Each of these was another answer.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_answers_otherwise_is_right() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    let (yes, no) = (Value::Bool(true), Value::Bool(false));
    let float = Value::float;
    let moved = |rows: &str, of: &str| {
        format!(
            "select {of} over (order by v rows between 1 preceding and current row) \
             from (values {rows}) t(v, x) order by v"
        )
    };
    let large = "(1, 1e17), (2, 1.0), (3, 1.0), (4, 1.0)";
    let odd = "(1, 'NaN'::double), (2, 1.0), (3, 1.0), (4, 2.0)";
    for (statement, expected) in [
        // Percentiles.
        (
            "select percentile_cont(0.95) within group (order by value), \
             percentile_cont(0.05) within group (order by value desc) from generate_series(1, 12)"
                .to_owned(),
            vec![vec![float(11.45), float(11.45)]],
        ),
        (
            "select percentile_cont(0.5) within group (order by x), median(x) \
             from (values (-1.7e308), (1.7e308)) t(x)"
                .to_owned(),
            vec![vec![float(0.0), float(0.0)]],
        ),
        (
            "select value % 2 = 0, percentile_cont(0.3) within group (order by value) \
             from generate_series(1, 8) group by value % 2 = 0 order by 1"
                .to_owned(),
            vec![vec![no.clone(), float(2.8)], vec![yes.clone(), float(3.8)]],
        ),
        // Intervals.
        (
            "select timestamp '2024-01-03' - timestamp '2024-01-01' > interval '1 day', \
             interval '25 hours' > interval '1 day', interval '24 hours' = interval '1 day', \
             interval '13 months' > interval '1 year', interval '1 day' in (interval '24 hours'), \
             interval '25 hours' between interval '1 day' and interval '2 days'"
                .to_owned(),
            vec![vec![yes.clone(); 6]],
        ),
        ("select max(ms) - min(ms) > interval '1 day' from e".to_owned(), vec![vec![yes.clone()]]),
        // A literal in a zone: an hour of winter before that of UTC.
        (
            "select (select count(*) from e \
             where ms < '1970-01-01T00:30:00' at time zone 'Europe/Berlin') \
             = (select count(*) from e where ms < '1969-12-31T23:30:00Z'), \
             (select count(*) from e where ms < '1969-12-31T23:30:00Z') \
             < (select count(*) from e where ms < '1970-01-01T00:30:00Z')"
                .to_owned(),
            vec![vec![yes.clone(); 2]],
        ),
        // Comparisons that are no operators.
        (
            "select l is not distinct from 9007199254740992.0, \
             l is distinct from 9007199254740992.0, l is not distinct from l, \
             case l when 9007199254740992.0 then true else false end from e where n = 6"
                .to_owned(),
            vec![vec![no.clone(), yes.clone(), yes.clone(), no.clone()]],
        ),
        (
            "select ms is not distinct from '1970-01-01T00:00:00.0005Z', \
             ms is distinct from '1970-01-01T00:00:00.0005Z', ms is not distinct from us, \
             case ms when '1970-01-01T00:00:00.0005Z' then true else false end \
             from e where n in (3, 4) order by n"
                .to_owned(),
            vec![vec![no.clone(), yes.clone(), yes.clone(), no.clone()]; 2],
        ),
        // Frames that move.
        (moved(large, "sum(x)"), [1e17, 1e17, 2.0, 2.0].map(|x| vec![float(x)]).to_vec()),
        (moved(odd, "avg(x)"), [f64::NAN, f64::NAN, 1.0, 1.5].map(|x| vec![float(x)]).to_vec()),
        (
            moved(&format!("(0, 2.0), {odd}"), "var_pop(x)"),
            [0.0, f64::NAN, f64::NAN, 0.0, 0.25].map(|x| vec![float(x)]).to_vec(),
        ),
        // Shifts, casts and decimals that the types hold.
        (
            "select -8 >> 1, 1 << 62, try_cast(1e300 as float), cast(1e30 as float) > 9e29"
                .to_owned(),
            vec![vec![Value::Int(-4), Value::Int(1 << 62), Value::Null, yes]],
        ),
    ] {
        same(&statement, &answered(&sql, &statement).await, &expected);
    }
    let nines = "cast('99999999999999999999999999999999999999' as decimal(38, 0))";
    for statement in [
        "select interval '1 month' > interval '30 days'".to_owned(),
        "select n from e where l in (select 9007199254740992.0)".to_owned(),
        "select n from e where l = any(select 9007199254740992.0)".to_owned(),
        "select n from e where ms in (select us from e)".to_owned(),
        "select a.n from e a join (select cast(l as double) l from e) b using (l)".to_owned(),
        "select l from e intersect select d from e".to_owned(),
        "select nullif(l, 9007199254740992.0) from e".to_owned(),
        "select array_has([9007199254740992.0], l) from e".to_owned(),
        "select ms + interval '500 microseconds' from e".to_owned(),
        "select us - interval '1 nanosecond' from e where n = 3".to_owned(),
        "select date '2024-01-01' + interval '12 hours'".to_owned(),
        "select cast(1e300 as float)".to_owned(),
        "select cast(d as float) from e where n = 1".to_owned(),
        format!("select sum({nines}) from generate_series(1, 4)"),
        format!("select sum({nines}) from generate_series(1, 4) group by value > 0"),
        format!("select sum({nines}) over (order by value) from generate_series(1, 4)"),
        format!("select avg({nines}) from generate_series(1, 4) group by value > 0"),
    ] {
        let answer = ask(&sql, &statement).await;
        assert!(answer.is_err(), "{statement}: {answer:?}");
    }
}

/// The sum of 215 equal values, and a few others, as an approximation returns them.
#[tokio::test(flavor = "multi_thread")]
async fn percentiles_are_among_the_values() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for value in
        ["15.699999988079073", "0.1", "-2.7000000000000003", "1e308", "123456789.987654321"]
    {
        for count in [3, 215, 1000] {
            for of in [
                "approx_percentile_cont(x, 0.99)",
                "approx_percentile_cont(0.5) within group (order by x)",
                "approx_median(x)",
                "percentile_cont(x, 0.3)",
                "median(x)",
            ] {
                let statement = format!(
                    "select {of} from (select {value} as x from generate_series(1, {count}))"
                );
                let expected = Value::float(value.parse().unwrap());
                same(&statement, &answered(&sql, &statement).await, &[vec![expected]]);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn duckdb_answers_alike() {
    let (directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    duckdb::compare(&sql, &session, directory.path()).await;
}

#[test]
fn the_model_knows_the_calendar() {
    assert_eq!(text_of_instant(0), "1970-01-01T00:00:00.000000000");
    assert_eq!(model::instant("9999-12-31T23:59:59.999Z"), i128::from(YEARS[1]) * 1_000_000);
    assert_eq!(model::instant("0001-01-01"), i128::from(YEARS[0]) * 1_000_000);
    assert_eq!(begin_of("week", 0), -3 * 86_400_000_000_000);
    assert_eq!(field_of("dow", 0), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn clauses_that_have_no_effect_are_refused() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for (statement, named) in [
        ("select n from e tablesample (10)", "tablesample"),
        ("select n from e tablesample bernoulli (10 percent)", "tablesample"),
        ("select n from (select n from e) tablesample system (10)", "tablesample"),
        ("select n from e where n in (select n from e tablesample (1))", "tablesample"),
        ("select n from e for update", "for update"),
        ("select n from e with (nolock)", "hint"),
        ("select n from e except all select n from e", "EXCEPT ALL"),
        ("select n from e intersect all select n from e", "INTERSECT ALL"),
        ("select n from e union select n from e except all select n from e", "EXCEPT ALL"),
    ] {
        let error = query(&sql, statement).await.unwrap_err();
        assert!(error.contains(named), "{statement}: {error}");
    }
    // Of sets, union is one with all its rows.
    let twice = query(&sql, "select n from e union all select n from e").await.unwrap();
    assert_eq!(twice.len(), 2 * answered(&sql, "select n from e").await.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_distinct_from_stands_beside_it() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    let rows =
        "(values (0, true), (1, false), (2, null), (3, true), (4, false), (5, null)) as v(t, b)";
    for (condition, expected) in [
        ("b is not distinct from true and t > 2", vec![3]),
        ("b is distinct from true and t > 3", vec![4, 5]),
        ("b is not distinct from true or t > 4", vec![0, 3, 5]),
        ("t > 4 or b is not distinct from true and t > 2", vec![3, 5]),
        ("t > 2 and b is not distinct from true or t = 1", vec![1, 3]),
        ("not b is not distinct from true and t > 3", vec![4, 5]),
        ("not b is distinct from true or t = 5", vec![0, 3, 5]),
        ("b is not distinct from null and b is not distinct from null and t < 4", vec![2]),
        ("b is not distinct from (true and t > 2)", vec![1, 3]),
        ("t < 4 and (b is distinct from true and t > 0 or t = 0)", vec![0, 1, 2]),
        ("case when b is distinct from true and t > 3 then true else false end", vec![4, 5]),
    ] {
        let statement = format!("select t from {rows} where {condition} order by t");
        let expected: Vec<Vec<Value>> =
            expected.into_iter().map(|t: i128| vec![Value::Int(t)]).collect();
        same(&statement, &query(&sql, &statement).await.unwrap(), &expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_and_all_compare_with_rows_of_the_same_table() {
    let (_directory, _store, session) = edges();
    let sql = context(&session).unwrap();
    for (condition, same_as) in [
        ("n >= all(select n from e)", "n = (select max(n) from e)"),
        ("n > any(select n from e)", "n > (select min(n) from e)"),
        ("n = any(select n from e where n > 2)", "n in (select n from e where n > 2)"),
        ("n <> all(select n from e where n > 2)", "n not in (select n from e where n > 2)"),
        ("n > all(select n from e as x where x.n < 3)", "n >= 3"),
        ("n > all(select n from e as x where x.n < e.n)", "true"),
        (
            "n >= all(select n from e) or n <= all(select n from e)",
            "n = (select max(n) from e) or n = (select min(n) from e)",
        ),
    ] {
        let statement = format!("select n from e where {condition} order by n");
        let expected = answered(&sql, &format!("select n from e where {same_as} order by n")).await;
        assert!(!expected.is_empty(), "{same_as}");
        same(&statement, &answered(&sql, &statement).await, &expected);
    }
}
