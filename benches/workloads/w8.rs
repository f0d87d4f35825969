//! W8: aggregates of the measurement table. Its imports as CSV and Parquet are
//! `formats/benches/imports.rs`, and the peer's program for both is `benches/peers/w8.py`.

use std::collections::BTreeMap;

use stationdb::prelude::*;
use stationdb::tables::{AggregateFunction as Of, AggregateKey, AggregateTableDataRequest};

use crate::aggregates::{Naive, all, check, of};
use crate::common::{Res, Scale};
use crate::measurements::{TS0, batches, create_table, k, open, repeat, schema, ts, v3};

/// Width of the buckets of time, in ms.
const BUCKET: i64 = 60_000;

pub fn run(scale: &Scale) -> Res<()> {
    let rows = scale.rows as u64;
    let (low, high) = (TS0 + rows as i64, TS0 + 10 * (rows as i64 * 6 / 10));
    let (mut whole, mut ranged, mut few) = (Naive::default(), Naive::default(), Naive::default());
    let mut buckets: BTreeMap<i64, Naive> = BTreeMap::new();
    let mut numbers: BTreeMap<i32, Naive> = BTreeMap::new();
    for row in 0..rows {
        let time = ts(row);
        whole.add(row);
        buckets.entry(time.div_euclid(BUCKET)).or_default().add(row);
        numbers.entry(k(row)).or_default().add(row);
        if (low..high).contains(&time) {
            ranged.add(row);
        }
        if (500.0..510.0).contains(&v3(row)) {
            few.add(row);
        }
    }
    let dir = scale.scratch("w8")?;
    let session = open(&dir)?;
    let id = create_table(&session, true)?;
    session.append_batches(
        &id.as_str().into(),
        &mut batches(&schema(true), scale.rows),
        Some(true),
    )?;
    let buckets: Vec<Naive> = buckets.into_values().collect();
    let numbers: Vec<Naive> = numbers.into_values().collect();
    let asked = AggregateTableDataRequest::new;
    let by = |column: &str| asked().group_by([AggregateKey::new(column)]);
    let by_time = asked().group_by([AggregateKey::new("ts").width(BUCKET as f64)]);
    let range = "ts >= @0 and ts < @1";
    let time = |millis: i64| -> Res<serde_json::Value> {
        let time = chrono::DateTime::from_timestamp_millis(millis).ok_or("no such time")?;
        Ok(time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true).into())
    };
    let in_range = asked().filter(range).substitutions([time(low)?, time(high)?]);
    let one = std::slice::from_ref::<Naive>;
    for (metric, request, expected) in [
        ("i_whole", asked(), one(&whole)),
        ("ii_time_range", in_range, one(&ranged)),
        ("iii_by_minute", by_time, &buckets),
        ("iv_by_64", by("k"), &numbers),
        ("v_filter_1pct", asked().filter("v3 >= 500 and v3 < 510"), one(&few)),
    ] {
        let request = request.aggregates(all());
        let taken = repeat(scale.repetitions.max(7), || {
            let answer = session.aggregate_table_data(&id.as_str().into(), request.clone())?;
            check(&answer.groups, expected)
        })?;
        scale.emit("W8", metric, &taken, "ms", "warm page cache");
    }
    let median = asked().aggregates([of(Of::PercentileNearest, "v1").percentile(50.0)]);
    let taken = repeat(scale.repetitions.max(3), || {
        let answer = session.aggregate_table_data(&id.as_str().into(), median.clone())?;
        assert_eq!(answer.groups.len(), 1);
        Ok(())
    })?;
    scale.emit("W8", "vi_median", &taken, "ms", "warm page cache");
    drop(session);
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
