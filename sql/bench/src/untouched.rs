//! What statements read of the files of a store that was just opened.

use std::path::Path;

use datafusion::prelude::SessionContext;
use stationdb::{Identity, Store};
use tokio::runtime::Runtime;

use crate::common::{Res, Scale, bytes_below};
use crate::measurements::{TS0, repeat, ts, v3};
use crate::{answer_of, runtime};

/// Bytes that this process has read by system calls, if the system tells them.
fn bytes_read() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/io").ok()?;
    told.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

fn ask(runtime: &Runtime, sql: &SessionContext, statement: &str) -> Res<(u64, i64)> {
    let answer = runtime.block_on(async { sql.sql(statement).await?.collect().await })?;
    Ok(answer_of(&answer))
}

/// Runs `f` and returns the bytes that it read. Where nothing tells them, 0.
fn reading(f: impl FnOnce() -> Res<()>) -> Res<u64> {
    let before = bytes_read();
    f()?;
    // The answer of the system counts as read itself.
    let own = std::fs::metadata("/proc/self/io").map_or(0, |_| 4096);
    let taken = before.zip(bytes_read()).map_or(0, |(before, after)| after - before);
    Ok(taken.saturating_sub(own))
}

/// `count`, `min` and `max` of whole columns, and a ten-thousandth of the rows by the index.
pub fn run(scale: &Scale, times: usize, directory: &Path) -> Res<()> {
    let runtime = runtime()?;
    let store = Store::options().maintenance_thread(false).open(directory)?;
    let session = store.session(Identity::user("bench"));
    let stored = bytes_below(&directory.join("tables"));
    let rows = scale.rows as u64;
    let known = "select count(*), min(v1), max(v1), min(ts), max(ts), min(k), max(k), count(v3) \
                 from measurements";
    let is_right = |answer: (u64, i64)| assert_eq!(answer, (1, rows as i64));
    // A context reads the footers when the store was just opened, and nothing later.
    for (metric, bytes_max) in [("first", stored / 20), ("next", 64 << 10)] {
        let read = reading(|| {
            let sql = stationdb_sql::context(&session)?;
            is_right(ask(&runtime, &sql, known)?);
            Ok(())
        })?;
        assert!(read <= bytes_max, "{read} of {stored} bytes for {known}");
        let part = read as f64 / stored as f64;
        scale.emit("W3SQL", &format!("count_min_max, part read, {metric}"), &[part], "", known);
    }
    let sql = stationdb_sql::context(&session)?;
    let taken = repeat(times, || {
        is_right(ask(&runtime, &sql, known)?);
        Ok(())
    })?;
    scale.emit("W3SQL", "count_min_max", &taken, "ms", "stationdb SQL, planning included");

    let from = rows * 6 / 10;
    let few = from..from + rows / 10_000;
    let (low, high) = (TS0 + 10 * few.start as i64, TS0 + 10 * few.end as i64);
    let statement = format!(
        "select ts, v1, v2, v3, k, s from measurements where ts >= \
         arrow_cast({low}, 'Timestamp(ms, \"UTC\")') and \
         ts < arrow_cast({high}, 'Timestamp(ms, \"UTC\")')"
    );
    let expected = (few.end - few.start, few.clone().map(|row| ts(row) - TS0).sum());
    let read = reading(|| {
        assert_eq!(ask(&runtime, &sql, &statement)?, expected);
        Ok(())
    })?;
    assert!(scale.rows < 1_000_000 || read * 20 <= stored, "{read} of {stored} bytes");
    let part = read as f64 / stored as f64;
    scale.emit("W3SQL", "range_0.01pct, part read", &[part], "", "all columns, by the index");

    // A column without order: pages cannot be left out, columns can.
    let count = (0..rows).filter(|row| v3(*row) < 0.1).count() as i64;
    let read = reading(|| {
        let statement = "select count(*) from measurements where v3 < 0.1";
        assert_eq!(ask(&runtime, &sql, statement)?, (1, count));
        Ok(())
    })?;
    let part = read as f64 / stored as f64;
    scale.emit("W3SQL", "count_0.01pct_unordered, part read", &[part], "", "by v3");
    drop((sql, session, runtime));
    store.close()?;
    Ok(())
}
