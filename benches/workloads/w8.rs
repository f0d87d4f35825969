//! W8: aggregates of the measurement table, and imports of it as CSV and Parquet. The peer's program
//! is `benches/peers/w8.py`, which reads the files that this one leaves in `BENCH_DATA`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use stationdb::prelude::*;
use stationdb::tables::{
    Aggregate, AggregateFunction as Of, AggregateGroup, AggregateKey, AggregateTableDataRequest,
    ExportFormat, ExportTableDataRequest, ImportTableRequest,
};
use stationdb::{Control, Session};
use stationdb_formats::ImportFiles;

use crate::common::{Res, Scale, timed};
use crate::measurements::{TS0, batches, create_table, k, open, repeat, schema, ts, v1, v2, v3};

/// Width of the buckets of time, in ms.
const BUCKET: i64 = 60_000;
/// One of this many rows is in the CSV file.
const CSV_SHARE: usize = 10;

/// What is compared of a group: rows, the sum of v1, and the squares of v2 around 25.
#[derive(Clone, Copy, Default)]
struct Naive {
    rows: u64,
    sum: f64,
    least: f64,
    greatest: f64,
    shifted: (f64, f64),
}

impl Naive {
    fn add(&mut self, row: u64) {
        let (value, other) = (v1(row), v2(row) - 25.0);
        if self.rows == 0 {
            (self.least, self.greatest) = (value, value);
        }
        (self.least, self.greatest) = (self.least.min(value), self.greatest.max(value));
        self.rows += 1;
        self.sum += value;
        self.shifted.0 += other;
        self.shifted.1 += other * other;
    }

    fn deviation(&self) -> f64 {
        let count = self.rows as f64;
        ((self.shifted.1 - self.shifted.0 * self.shifted.0 / count) / (count - 1.0)).sqrt()
    }
}

fn of(function: Of, column: &str) -> Aggregate {
    Aggregate::new(function).column(column)
}

/// Count, sum, mean, least, greatest of v1 and the deviation of v2.
fn all() -> Vec<Aggregate> {
    let of_v1 = [Of::Count, Of::Sum, Of::Mean, Of::Min, Of::Max].map(|one| of(one, "v1"));
    of_v1.into_iter().chain([of(Of::Deviation, "v2")]).collect()
}

fn check(groups: &[AggregateGroup], expected: &[Naive]) -> Res<()> {
    assert_eq!(groups.len(), expected.len());
    for (group, naive) in groups.iter().zip(expected) {
        let value = |at: usize| -> Res<f64> {
            let text = group.values.get(at).and_then(|value| value.value.as_deref());
            Ok(text.ok_or("no value")?.parse()?)
        };
        assert_eq!(group.rows as u64, naive.rows);
        assert_eq!(value(0)?, naive.rows as f64);
        let scale = naive.rows as f64 * 10.0;
        assert!((value(1)? - naive.sum).abs() < 1e-10 * scale, "{} {}", value(1)?, naive.sum);
        assert!((value(2)? - naive.sum / naive.rows as f64).abs() < 1e-9);
        assert_eq!((value(3)?, value(4)?), (naive.least, naive.greatest));
        assert!((value(5)? / naive.deviation() - 1.0).abs() < 1e-6);
    }
    Ok(())
}

/// Makes a file once: under another name, and renamed when it is whole.
fn made(path: PathBuf, make: impl FnOnce(&mut BufWriter<File>) -> Res<()>) -> Res<PathBuf> {
    if !path.exists() {
        let begun = path.with_extension("new");
        let mut file = BufWriter::new(File::create(&begun)?);
        make(&mut file)?;
        file.flush()?;
        std::fs::rename(&begun, &path)?;
    }
    Ok(path)
}

fn export(
    session: &Session,
    id: &str,
    format: ExportFormat,
    rows: usize,
    path: PathBuf,
) -> Res<PathBuf> {
    made(path, |file| {
        let request = ExportTableDataRequest::new(format).take(rows as i64);
        session.export_table_data(&id.into(), request, file, &Control::default())?;
        Ok(())
    })
}

/// Imports a file into a new store, and compares the number of rows and the sum of v1.
fn import(dir: &Path, file: &Path, expected: &Naive) -> Res<f64> {
    let session = open(dir)?;
    let request = ImportTableRequest::new().index_column("ts");
    let control = Control::default();
    let input = File::open(file)?;
    let is_csv = file.extension().is_some_and(|found| found == "csv");
    let (taken, imported) = timed(|| {
        Ok(if is_csv {
            session.import_csv(request, &mut BufReader::new(input), &control)?
        } else {
            session.import_parquet(request, Box::new(input), &control)?
        })
    })?;
    let request = AggregateTableDataRequest::new().aggregates(all());
    let answer = session.aggregate_table_data(&imported.id.ok_or("no table")?, request)?;
    check(&answer.groups, std::slice::from_ref(expected))?;
    Ok(taken)
}

pub fn run(scale: &Scale) -> Res<()> {
    let rows = scale.rows as u64;
    let (low, high) = (TS0 + rows as i64, TS0 + 10 * (rows as i64 * 6 / 10));
    let (mut whole, mut csv, mut ranged, mut few) =
        (Naive::default(), Naive::default(), Naive::default(), Naive::default());
    let mut buckets: BTreeMap<i64, Naive> = BTreeMap::new();
    let mut numbers: BTreeMap<i32, Naive> = BTreeMap::new();
    for row in 0..rows {
        let time = ts(row);
        whole.add(row);
        buckets.entry(time.div_euclid(BUCKET)).or_default().add(row);
        numbers.entry(k(row)).or_default().add(row);
        if row < rows / CSV_SHARE as u64 {
            csv.add(row);
        }
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

    let file = |ending: &str| scale.data().join(format!("w8-{rows}.{ending}"));
    let parts = scale.rows / CSV_SHARE;
    let text = export(&session, &id, ExportFormat::Csv, parts, file("csv"))?;
    let parquet = export(&session, &id, ExportFormat::Parquet, scale.rows, file("parquet"))?;
    drop(session);
    std::fs::remove_dir_all(&dir)?;
    for (metric, file, expected) in
        [("import_csv", &text, &csv), ("import_parquet", &parquet, &whole)]
    {
        let mut rates = Vec::new();
        for _ in 0..scale.repetitions {
            let dir = scale.scratch("w8-import")?;
            rates.push(expected.rows as f64 / import(&dir, file, expected)? / 1e6);
            std::fs::remove_dir_all(&dir)?;
        }
        scale.emit("W8", metric, &rates, "Mrows/s", "durable, into a new store");
    }
    Ok(())
}
