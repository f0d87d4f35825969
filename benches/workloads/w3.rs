//! W3: filtered scans, with the result as Arrow columns, which is checked.

use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::TimestampMillisecondType;
use stationdb::prelude::*;
use stationdb::tables::{
    ColumnFilter, ColumnMetadataPatch, ColumnOrderBy, FilterOperation, ModifyTableRequest,
    QueryTableDataRequest, ScanRequest,
};
use stationdb::{Control, Session};

use crate::common::{Res, Scale, bytes_below, timed};
use crate::measurements::{
    TS0, batches, create_table, k, open, repeat, s, schema, ts, v1, v3, with_peak_memory,
};

/// Rows and the sum of their times since [`TS0`].
type Answer = (u64, i64);

fn filter(column: &str, operation: FilterOperation, value: impl ToString) -> ColumnFilter {
    ColumnFilter::new(column.to_owned(), operation).value(value.to_string())
}

fn names(columns: &[&str]) -> Option<Vec<String>> {
    Some(columns.iter().map(|name| (*name).to_owned()).collect())
}

fn answer(batches: &[RecordBatch]) -> Answer {
    let mut answer = (0, 0);
    for batch in batches {
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>().values();
        answer.0 += times.len() as u64;
        answer.1 += times.iter().map(|time| time - TS0).sum::<i64>();
    }
    answer
}

/// Returns the answers of a pass over the generator: the scans i to iv, and the count v.
fn expected(rows: u64, low: i64, high: i64) -> ([Answer; 4], u64) {
    let mut answers = [(0, 0); 4];
    let (mut count, mut ordered) = (0, Vec::new());
    for row in 0..rows {
        let (time, value) = (ts(row), v3(row));
        for (answer, passes) in answers.iter_mut().zip([
            (500.0..510.0).contains(&value),
            (low..high).contains(&time),
            s(row) == 437,
        ]) {
            if passes {
                answer.0 += 1;
                answer.1 += time - TS0;
            }
        }
        count += u64::from((250.0..750.0).contains(&value));
        if k(row) == 7 {
            ordered.push((v1(row), time));
        }
    }
    ordered.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ordered.truncate(500);
    answers[3] = (ordered.len() as u64, ordered.iter().map(|(_, time)| time - TS0).sum());
    (answers, count)
}

fn scan(session: &Session, id: &str, request: &ScanRequest) -> Res<Vec<RecordBatch>> {
    Ok(session.scan(&id.into(), request.clone(), &Control::default())?.collect::<Result<_, _>>()?)
}

pub fn run(scale: &Scale) -> Res<()> {
    use FilterOperation as Op;
    let dir = scale.scratch("w3")?;
    let session = open(&dir)?;
    let id = create_table(&session, true)?;
    session.append_batches(
        &id.as_str().into(),
        &mut batches(&schema(true), scale.rows),
        Some(true),
    )?;
    let low = TS0 + 10 * (scale.rows as i64 * 6 / 10);
    let high = low + 10 * (scale.rows as i64 / 1000);
    // The same rows with indexes of two columns.
    let indexed = create_table(&session, true)?;
    let patches = ["k", "s"].map(|name| ColumnMetadataPatch::new(name).indexed(true));
    session.modify_table(&indexed.as_str().into(), ModifyTableRequest::new().columns(patches))?;
    let mut rows = batches(&schema(true), scale.rows);
    let mut append = || session.append_batches(&indexed.as_str().into(), &mut rows, Some(true));
    let (seconds, _) = timed(|| Ok(append()?))?;
    scale.emit("W3", "append_indexed", &[seconds], "s", "two of six columns have an index");
    let bytes = |id: &str| bytes_below(&dir.join("tables").join(id)) as f64;
    let more = (bytes(&indexed) - bytes(&id)) / scale.rows as f64;
    scale.emit("W3", "index_bytes", &[more], "bytes/row", "of both indexes together");
    let (answers, count) = expected(scale.rows as u64, low, high);

    let time = |millis: i64| -> Res<String> {
        let time = chrono::DateTime::from_timestamp_millis(millis).ok_or("no such time")?;
        Ok(time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
    };
    let scans = [
        (
            "i_range_1pct",
            &["ts", "v1", "v3"][..],
            vec![filter("v3", Op::GreaterThanEquals, 500), filter("v3", Op::LessThan, 510)],
        ),
        (
            "ii_ts_range_0.1pct",
            &["ts", "v1", "v2", "v3"],
            vec![
                filter("ts", Op::GreaterThanEquals, time(low)?),
                filter("ts", Op::LessThan, time(high)?),
            ],
        ),
        ("iii_string_eq", &["ts", "v1", "k"], vec![filter("s", Op::Equals, "SN-0437")]),
        ("iv_filter_top500", &["ts", "v1", "v3"], vec![filter("k", Op::Equals, 7)]),
    ];
    let mut memory: f64 = 0.0;
    let mut emit = |metric: &str, work: &mut dyn FnMut() -> Res<()>| -> Res<()> {
        let (peak, taken) = with_peak_memory(|| repeat(scale.repetitions.max(7), work))?;
        memory = memory.max(peak.unwrap_or_default());
        scale.emit("W3", metric, &taken, "ms", "warm page cache; the result as Arrow columns");
        Ok(())
    };
    for ((metric, columns, filters), expected) in scans.into_iter().zip(answers) {
        let is_top = metric.starts_with("iv");
        let order =
            |column: &str, descending| ColumnOrderBy::new(column.to_owned()).descending(descending);
        let request = {
            ScanRequest::new()
                .filters(filters)
                .maybe_columns(names(columns))
                .maybe_order_by(is_top.then(|| vec![order("v1", true), order("ts", false)]))
                .maybe_take(is_top.then_some(500))
        };
        emit(metric, &mut || {
            assert_eq!(answer(&scan(&session, &id, &request)?), expected, "{metric}");
            Ok(())
        })?;
        if metric.starts_with("iii") || is_top {
            emit(&format!("{metric}_indexed"), &mut || {
                assert_eq!(answer(&scan(&session, &indexed, &request)?), expected, "{metric}");
                Ok(())
            })?;
        }
    }
    let request = QueryTableDataRequest::new()
        .filters([filter("v3", Op::GreaterThanEquals, 250), filter("v3", Op::LessThan, 750)])
        .take(0);
    emit("v_count_50pct", &mut || {
        assert_eq!(
            session.query_table_data(&id.as_str().into(), request.clone())?.total_row_count,
            count
        );
        Ok(())
    })?;
    scale.emit(
        "W3",
        "peak_memory",
        &[memory],
        "MiB",
        "the greatest of all queries, above what the program held before",
    );
    Ok(())
}
