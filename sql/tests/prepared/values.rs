//! Values of placeholders: each type, and values that no column has.

use datafusion::common::{ParamValues, ScalarValue};
use stationdb_sql::context;

use super::common::{ask_with, filled};
use super::{call, prepare};

fn utc(micros: i64) -> ScalarValue {
    ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()))
}

/// 2024-03-01 in microseconds.
const DAY: i64 = 1_709_251_200_000_000;

/// Asks with each of the values in turn, twice, and counts the plans.
async fn check(text: &str, all: Vec<Vec<ScalarValue>>, plans: u64) {
    let (_directory, _store, session) = filled();
    let prepared = prepare(text);
    let numbered = ["$1", "$2"];
    let alone_text = numbered.iter().fold(text.to_owned(), |text, name| {
        if text.contains('?') { text.replacen('?', name, 1) } else { text }
    });
    let alone = context(&session).unwrap();
    let mut rows = 0;
    for values in all.iter().chain(&all) {
        let values = Some(ParamValues::from(values.clone()));
        let expected = ask_with(&alone, &alone_text, values.clone()).await;
        let answer = call(&prepared, &session, values.clone()).await;
        rows += answer.as_ref().map_or(0, Vec::len);
        assert_eq!(answer, expected, "{text} with {values:?}");
    }
    assert!(rows > 0, "{text}: nothing is found");
    assert_eq!(prepared.plans_made(), plans, "{text}");
}

fn ints(values: &[i64]) -> Vec<Vec<ScalarValue>> {
    values.iter().map(|value| vec![ScalarValue::from(*value)]).collect()
}

fn floats(values: &[f64]) -> Vec<Vec<ScalarValue>> {
    values.iter().map(|value| vec![ScalarValue::from(*value)]).collect()
}

fn texts(values: &[&str]) -> Vec<Vec<ScalarValue>> {
    values.iter().map(|value| vec![ScalarValue::from(*value)]).collect()
}

#[tokio::test]
async fn integers() {
    let text = "select count(*), min(t) from rows.\"Loop 1\" where channel = $1";
    check(text, ints(&[3, 0, -1, 7, i32::MAX.into()]), 1).await;
    check(text, floats(&[3.0, 0.0, 7.0]), 1).await;
    // No value of the column is equal to these.
    check(text, ints(&[3, i64::MAX, 1 << 31]), 3).await;
    check(text, floats(&[3.0, 2.5, f64::NAN]), 3).await;
    check("select count(*) from rows.\"Loop 2\" where n <= ?", ints(&[0, 5, i64::MAX]), 1).await;
    check("select count(*) from rows.\"Loop 2\" where ? > n", ints(&[0, 5, i64::MIN]), 1).await;
    let pair = |a: i64, b: i64| vec![ScalarValue::from(a), ScalarValue::from(b)];
    let pairs = vec![pair(1, 5), pair(5, 1), pair(2, 2)];
    for text in [
        "select count(*) from rows.\"Loop 2\" where n between ? and ?",
        "select count(*) from rows.\"Loop 2\" where n not between ? and ?",
        "select count(*) from rows.\"Loop 2\" where n in (?, ?)",
        "select count(*) from rows.\"Loop 2\" where n not in (?, ?)",
        "select count(*) from rows.\"Loop 2\" where n <> ? and channel <> ?",
        "select n = ? as is_same, channel from rows.\"Loop 2\" where channel > ? order by 1, 2",
        "select a.n from rows.\"Loop 2\" a join rows.\"Loop 2\" b on a.n = b.n and b.channel < ? \
         where a.channel = ? order by 1",
        "select n, (select max(channel) from rows.\"Loop 2\" where channel < ?) as m \
         from rows.\"Loop 2\" where n = ?",
        "select channel from rows.\"Loop 2\" where channel = ? union all \
         select channel from rows.\"Loop 1\" where channel = ? order by 1",
    ] {
        check(text, pairs.clone(), 1).await;
    }
}

#[tokio::test]
async fn floats_and_the_edges_of_them() {
    // Loop 1 has NaN, which is greater than all numbers; amps are floats of 32 bits.
    for (operator, column) in [(">", "volts"), ("<=", "volts"), ("=", "volts"), ("<>", "volts")] {
        let text = format!("select count(*) from rows.\"Loop 1\" where {column} {operator} $1");
        check(&text, floats(&[0.25, -6.0, 17.75, 1e300]), 1).await;
        check(&text, ints(&[1, -6, 17]), 1).await;
        let edges = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        check(&text, floats(&edges), edges.len() as u64).await;
    }
    let text = "select count(*) from rows.\"Loop 1\" where amps >= $1";
    check(text, floats(&[0.5, 2.5, 5.0]), 1).await;
    // Not a float of 32 bits: the column is compared as one of 64.
    check(text, floats(&[0.5, 0.1, 2.7, 0.5, 1.3]), 2).await;
    check(text, vec![vec![ScalarValue::Float32(Some(0.1))], vec![ScalarValue::Null]], 2).await;
}

#[tokio::test]
async fn times() {
    let text = "select count(*), max(t) from rows.\"Loop 1\" where t >= $1";
    check(text, vec![vec![utc(DAY)], vec![utc(DAY + 1_000_000)], vec![utc(0)]], 1).await;
    check(text, texts(&["2024-03-01T00:10:00Z", "2024-03-01 00:20:00", "2024-03-01"]), 1).await;
    // Between two milliseconds, in a year that texts do not have, and no time.
    check(text, vec![vec![utc(DAY)], vec![utc(DAY + 500)]], 2).await;
    let far = ScalarValue::TimestampMillisecond(Some(i64::MAX / 2), Some("UTC".into()));
    check(text, vec![vec![utc(DAY)], vec![far], vec![ScalarValue::Null]], 3).await;
    check(text, texts(&["2024-03-01T00:10:00Z", "2024-03-01T00:10:00.0005Z"]), 2).await;
    let other = ScalarValue::TimestampMillisecond(Some(DAY / 1000), Some("+02:00".into()));
    check(text, vec![vec![utc(DAY)], vec![other]], 2).await;
    let text = "select count(*) from rows.\"Loop 3\" where moment < $1";
    let moments = vec![vec![utc(DAY + 250)], vec![utc(DAY + 251)], vec![utc(DAY)]];
    check(text, moments, 1).await;
}

#[tokio::test]
async fn texts_and_nulls() {
    let text = "select count(*) from rows.\"Loop 1\" where note = $1";
    check(text, texts(&["ok", "", "Ä", "it's; --"]), 1).await;
    check(text, vec![vec![ScalarValue::from("ok")], vec![ScalarValue::Null]], 2).await;
    check(text, vec![vec![ScalarValue::Utf8(None)], vec![ScalarValue::from("ok")]], 2).await;
    for text in [
        "select count(*) from products where family = $1",
        "select part_number from products where part_number >= $1 order by 1",
        "select state, count(*) from work_items where state = $1 group by state",
        "select p.id is null from work_items w left join products p \
         on p.part_number = w.part_number and p.family = $1 order by w.name",
    ] {
        check(text, texts(&["F1", "F2", "P-05", "NEW", "NO_SUCH"]), 1).await;
    }
}

/// What is no comparison with a column is planned for each value, and the last plans are kept.
#[tokio::test]
async fn other_values_are_a_part_of_the_plan() {
    let text = "select $1 as it, channel from rows.\"Loop 1\" order by t limit 2";
    check(text, ints(&[1, 2]), 2).await;
    check(text, vec![vec![ScalarValue::from(1_i64)], vec![ScalarValue::from("1")]], 2).await;
    check(text, vec![vec![ScalarValue::from(true)], vec![ScalarValue::Null]], 2).await;
    check("select n from rows.\"Loop 2\" order by n, value limit $1", ints(&[3, 5, 1]), 3).await;
    check("select channel + $1 from rows.\"Loop 2\" where n = $1", ints(&[1, 4]), 2).await;
    check("select count(*) from rows.\"Loop 1\" where channel + 1 = $1", ints(&[3, 4]), 2).await;
    let good = "select count(*) from rows.\"Loop 1\" where good = $1";
    check(good, vec![vec![ScalarValue::from(true)], vec![ScalarValue::from(false)]], 2).await;
    check("select count(*) from rows.\"Loop 1\" where note like $1", texts(&["w%", "%"]), 2).await;
    check("select count(*) from decimate('Loop 1', 'volts', $1)", ints(&[10, 20]), 2).await;
    check("select name from search($1) order by 1", texts(&["Amplifier", "Item"]), 2).await;
    let having = "select channel from rows.\"Loop 1\" group by channel having count(*) > $1";
    check(&format!("{having} order by 1"), ints(&[10, 624]), 1).await;
    // Nine in turn, of which eight are kept: each is planned each time.
    let all: Vec<i64> = (0..9).collect();
    check("select $1 as it", ints(&all), 18).await;
}

#[tokio::test]
async fn missing_values_are_told_as_by_itself() {
    let (_directory, _store, session) = filled();
    let text = "select count(*) from rows.\"Loop 1\" where channel = $1 and note = $2";
    let prepared = prepare(text);
    let alone = context(&session).unwrap();
    let (one, two) = (ScalarValue::from(3_i64), ScalarValue::from("ok"));
    for values in [
        Some(ParamValues::from(vec![one.clone(), two.clone()])),
        Some(ParamValues::from(vec![one.clone()])),
        Some(ParamValues::from(Vec::<ScalarValue>::new())),
        None,
        Some(ParamValues::from(vec![("1", one), ("2", two.clone())])),
        Some(ParamValues::from(vec![ScalarValue::from("no number"), two])),
    ] {
        let expected = ask_with(&alone, text, values.clone()).await;
        for _ in 0..2 {
            let answer = call(&prepared, &session, values.clone()).await;
            assert_eq!(answer, expected, "{values:?}");
        }
    }
}
