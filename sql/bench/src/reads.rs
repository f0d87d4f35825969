//! The five reads: the request of the store, the statement, and the answer of a naive pass over the
//! generator.

use chrono::{DateTime, SecondsFormat};
use stationdb::tables::{
    ColumnFilter, ColumnOrderBy, FilterOperation as Op, QueryTableDataRequest, ScanRequest,
};

use crate::common::Res;
use crate::measurements::{TS0, k, s, ts, v1, v3};

/// Rows and the sum of their times since [`TS0`]; of a count, 1 and the number.
pub type Answer = (u64, i64);

/// How the store is asked by its own calls.
pub enum Rows {
    Scan(ScanRequest),
    Count(QueryTableDataRequest),
}

pub struct MeasuredRead {
    pub metric: &'static str,
    pub rows: Rows,
    pub statement: String,
    pub expected: Answer,
}

fn filter(column: &str, operation: Op, value: impl ToString) -> ColumnFilter {
    ColumnFilter::new(column, operation).value(value.to_string())
}

fn time(millis: i64) -> Res<String> {
    let time = DateTime::from_timestamp_millis(millis).ok_or("no such time")?;
    Ok(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// The answers of the four scans, and the count.
fn expected(rows: u64, low: i64, high: i64) -> [Answer; 5] {
    let mut answers = [(0, 0); 5];
    let (mut count, mut ordered) = (0, Vec::new());
    for row in 0..rows {
        let (time, value) = (ts(row), v3(row));
        let passes = [(500.0..510.0).contains(&value), (low..high).contains(&time), s(row) == 437];
        for (answer, _) in answers.iter_mut().zip(passes).filter(|(_, passes)| *passes) {
            *answer = (answer.0 + 1, answer.1 + time - TS0);
        }
        count += i64::from((250.0..750.0).contains(&value));
        if k(row) == 7 {
            ordered.push((v1(row), time));
        }
    }
    ordered.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ordered.truncate(500);
    answers[3] = (ordered.len() as u64, ordered.iter().map(|(_, time)| time - TS0).sum());
    answers[4] = (1, count);
    answers
}

pub fn all(rows: usize) -> Res<[MeasuredRead; 5]> {
    let low = TS0 + 10 * (rows as i64 * 6 / 10);
    let high = low + 10 * (rows as i64 / 1000);
    let [range, times, texts, first, count] = expected(rows as u64, low, high);
    let scan = |columns: &[&str], filters: Vec<ColumnFilter>| {
        let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
        ScanRequest::new().columns(columns).filters(filters)
    };
    let order = [
        ColumnOrderBy::new("v1").descending(true),
        ColumnOrderBy::new("ts").descending(false),
    ];
    let between = |column, low: f64, high: f64| {
        vec![filter(column, Op::GreaterThanEquals, low), filter(column, Op::LessThan, high)]
    };
    let (from, to) = (time(low)?, time(high)?);
    let in_time = vec![filter("ts", Op::GreaterThanEquals, &from), filter("ts", Op::LessThan, &to)];
    Ok([
        MeasuredRead {
            metric: "i_range_1pct",
            rows: Rows::Scan(scan(&["ts", "v1", "v3"], between("v3", 500.0, 510.0))),
            statement: "select ts, v1, v3 from measurements where v3 >= 500 and v3 < 510".into(),
            expected: range,
        },
        MeasuredRead {
            metric: "ii_ts_range_0.1pct",
            rows: Rows::Scan(scan(&["ts", "v1", "v2", "v3"], in_time)),
            statement: format!(
                "select ts, v1, v2, v3 from measurements where ts >= timestamp '{from}' and \
                 ts < timestamp '{to}'"
            ),
            expected: times,
        },
        MeasuredRead {
            metric: "iii_string_eq",
            rows: Rows::Scan(scan(&["ts", "v1", "k"], vec![filter("s", Op::Equals, "SN-0437")])),
            statement: "select ts, v1, k from measurements where s = 'SN-0437'".into(),
            expected: texts,
        },
        MeasuredRead {
            metric: "iv_filter_top500",
            rows: Rows::Scan(
                scan(&["ts", "v1", "v3"], vec![filter("k", Op::Equals, 7)])
                    .order_by(order)
                    .take(500),
            ),
            statement: "select ts, v1, v3 from measurements where k = 7 \
                        order by v1 desc, ts limit 500"
                .into(),
            expected: first,
        },
        MeasuredRead {
            metric: "v_count_50pct",
            rows: Rows::Count(
                QueryTableDataRequest::new().filters(between("v3", 250.0, 750.0)).take(0),
            ),
            statement: "select count(*) from measurements where v3 >= 250 and v3 < 750".into(),
            expected: count,
        },
    ])
}
