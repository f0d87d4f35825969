//! W4 and W4L: decimation over the index, unfiltered from summaries, and filtered.

use stationdb::Session;
use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Float64Type, TimestampMillisecondType};
use stationdb::prelude::*;
use stationdb::tables::{
    ColumnFilter, DecimationMethod, DecimationOptions, FilterOperation, QueryDecimatedDataRequest,
    kernels,
};

use crate::common::{Res, Scale, bytes_below, hash};
use crate::measurements::{
    batches, create_table, open, repeat, schema, ts, v1, v2, v3, with_peak_memory,
};

pub const INTERVALS: u64 = 1000;
const LOSSY: u64 = 10_000;
const YS: [(&str, fn(u64) -> f64); 3] = [("v1", v1), ("v2", v2), ("v3", v3)];

/// The rows with the extremes of one interval: first smallest and first largest of each y.
#[derive(Clone)]
pub struct Truth {
    first: u64,
    last: u64,
    least: [(f64, u64); 3],
    greatest: [(f64, u64); 3],
}

impl Truth {
    fn starting(row: u64) -> Self {
        Self {
            first: row,
            last: row,
            least: [(f64::INFINITY, row); 3],
            greatest: [(f64::NEG_INFINITY, row); 3],
        }
    }

    fn see(&mut self, row: u64, values: [f64; 3]) {
        self.last = row;
        for ((least, greatest), value) in self.least.iter_mut().zip(&mut self.greatest).zip(values)
        {
            if value < least.0 {
                *least = (value, row);
            }
            if value > greatest.0 {
                *greatest = (value, row);
            }
        }
    }

    /// Returns the rows that a method keeps, in order.
    pub fn kept(&self, ys: usize, ends: bool) -> Vec<u64> {
        let mut rows: Vec<u64> = Vec::new();
        if ends {
            rows.extend([self.first, self.last]);
        }
        rows.extend(self.least.iter().take(ys).map(|(_, row)| *row));
        rows.extend(self.greatest.iter().take(ys).map(|(_, row)| *row));
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

/// A checksum of times and values of rows in order, so that 200 M rows are compared without holding
/// them.
fn mark(sum: u64, time: i64, values: impl Iterator<Item = f64>) -> u64 {
    values.fold(hash(9, sum ^ time.cast_unsigned()), |sum, value| hash(9, sum ^ value.to_bits()))
}

pub fn mark_of(batch: &RecordBatch) -> (usize, u64) {
    let times = batch.column(0).as_primitive::<TimestampMillisecondType>().values();
    let values: Vec<&[f64]> = batch
        .columns()
        .iter()
        .skip(1)
        .map(|array| &array.as_primitive::<Float64Type>().values()[..])
        .collect();
    let sum = times
        .iter()
        .enumerate()
        .fold(0, |sum, (at, time)| mark(sum, *time, values.iter().map(|of| of[at])));
    (times.len(), sum)
}

pub fn mark_rows(rows: &[u64], ys: usize) -> (usize, u64) {
    let sum = rows
        .iter()
        .fold(0, |sum, &row| mark(sum, ts(row), YS.iter().take(ys).map(|(_, value)| value(row))));
    (rows.len(), sum)
}

/// A naive pass over the rows that `passes` accepts. Returns the extremes of each interval; the
/// sizes of the intervals differ by at most one row.
fn truths(rows: u64, passes: impl Fn(u64, [f64; 3]) -> bool + Sync) -> Vec<Truth> {
    let passing = |row: u64| {
        let values = [v1(row), v2(row), v3(row)];
        passes(row, values).then_some(values)
    };
    let count = (0..rows).filter(|row| passing(*row).is_some()).count() as u64;
    let cut = INTERVALS.min(count);
    let mut truths: Vec<Truth> = Vec::new();
    let (mut rank, mut end) = (0, 0);
    for row in 0..rows {
        let Some(values) = passing(row) else { continue };
        if rank == end {
            end = kernels::interval(count, cut, truths.len() as u64).end;
            truths.push(Truth::starting(row));
        }
        if let Some(truth) = truths.last_mut() {
            truth.see(row, values);
        }
        rank += 1;
    }
    truths
}

/// Returns the extremes of the unfiltered table, computed by two threads.
pub fn all_truths(rows: u64) -> Vec<Truth> {
    let cut = INTERVALS.min(rows);
    let part = |numbers: std::ops::Range<u64>| -> Vec<Truth> {
        numbers
            .map(|number| {
                let range = kernels::interval(rows, cut, number);
                let mut truth = Truth::starting(range.start);
                range.for_each(|row| truth.see(row, [v1(row), v2(row), v3(row)]));
                truth
            })
            .collect()
    };
    std::thread::scope(|scope| {
        let second = scope.spawn(|| part(cut / 2..cut));
        let mut all = part(0..cut / 2);
        all.extend(second.join().unwrap_or_default());
        all
    })
}

pub fn request(
    method: DecimationMethod,
    ys: usize,
    intervals: u64,
    filters: Vec<ColumnFilter>,
) -> QueryDecimatedDataRequest {
    let y: Vec<String> = YS.iter().take(ys).map(|(name, _)| (*name).to_owned()).collect();
    QueryDecimatedDataRequest::new()
        .columns(std::iter::once("ts".to_owned()).chain(y.iter().cloned()))
        .filters(filters)
        .decimation(DecimationOptions::new(method).y_columns(y).intervals(intervals as i64))
}

struct Series<'a> {
    scale: &'a Scale,
    workload: &'a str,
    session: Session,
    id: String,
    memory: f64,
}

impl Series<'_> {
    fn measure(
        &mut self,
        metric: &str,
        request: &QueryDecimatedDataRequest,
        expected: (usize, u64),
    ) -> Res<()> {
        // Only one figure, for a profiler.
        if std::env::var("BENCH_METRIC").is_ok_and(|only| !metric.contains(&only)) {
            return Ok(());
        }
        let (peak, taken) = with_peak_memory(|| {
            repeat(self.scale.repetitions.max(7), || {
                let found = self
                    .session
                    .query_decimated_data(&self.id.as_str().into(), request.clone())?
                    .frame
                    .batches;
                assert_eq!(found.iter().map(mark_of).collect::<Vec<_>>(), [expected], "{metric}");
                Ok(())
            })
        })?;
        self.memory = self.memory.max(peak.unwrap_or_default());
        self.scale.emit(
            self.workload,
            metric,
            &taken,
            "ms",
            "warm page cache; x and y of the kept rows as Arrow columns",
        );
        Ok(())
    }
}

fn run_on(scale: &Scale, workload: &str, rows: usize, filtered: bool) -> Res<()> {
    // A large series may be kept between runs, because its content depends only on the format.
    let keeps = std::env::var_os("BENCH_KEEP").is_some();
    let dir = scale.data().join(format!("stationdb-{workload}-{rows}"));
    let mark = dir.join("table id");
    let (session, id) = match std::fs::read_to_string(&mark) {
        Ok(id) if keeps => (open(&dir)?, id),
        _ => {
            if dir.exists() {
                std::fs::remove_dir_all(&dir)?;
            }
            let session = open(&dir)?;
            let id = create_table(&session, false)?;
            let append = || {
                Ok(session.append_batches(
                    &id.as_str().into(),
                    &mut batches(&schema(false), rows),
                    Some(true),
                )?)
            };
            let (peak, ()) = with_peak_memory(append)?;
            scale.emit(
                workload,
                "append peak_memory",
                &[peak.unwrap_or_default()],
                "MiB",
                "while the series came in",
            );
            std::fs::write(&mark, &id)?;
            (session, id)
        }
    };
    let mut series = Series { scale, workload, session, id, memory: 0.0 };
    let rows = rows as u64;
    let truth = all_truths(rows);
    for (method, ends) in [(DecimationMethod::MaxMin, false), (DecimationMethod::EntryExit, true)] {
        for ys in [1, 3] {
            let kept: Vec<u64> = truth.iter().flat_map(|truth| truth.kept(ys, ends)).collect();
            let metric = format!("{method} {ys}y");
            series.measure(
                &metric,
                &request(method, ys, INTERVALS, Vec::new()),
                mark_rows(&kept, ys),
            )?;
        }
    }
    let kept = (0..LOSSY).map(|at| at * (rows - 1) / (LOSSY - 1)).collect::<Vec<u64>>();
    series.measure(
        "LOSSY",
        &request(DecimationMethod::Lossy, 3, LOSSY, Vec::new()),
        mark_rows(&kept, 3),
    )?;
    if filtered {
        for (share, low, high) in [("1 %", 500.0, 510.0), ("50 %", 250.0, 750.0)] {
            let truth = truths(rows, |_, [_, _, value]| (low..high).contains(&value));
            let filter =
                |operation, value: f64| ColumnFilter::new("v3", operation).value(value.to_string());
            let filters = vec![
                filter(FilterOperation::GreaterThanEquals, low),
                filter(FilterOperation::LessThan, high),
            ];
            let kept: Vec<u64> = truth.iter().flat_map(|truth| truth.kept(1, false)).collect();
            let request = request(DecimationMethod::MaxMin, 1, INTERVALS, filters);
            series.measure(&format!("MAX_MIN 1y of {share}"), &request, mark_rows(&kept, 1))?;
        }
    }
    let bytes = bytes_below(&dir.join("tables")) as f64 / rows as f64;
    scale.emit(workload, "bytes_per_row", &[bytes], "B/row", "segments and summaries");
    scale.emit(
        workload,
        "peak_memory",
        &[series.memory],
        "MiB",
        "the greatest of all queries, above what the program held before",
    );
    drop(series);
    if !keeps {
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

pub fn run(scale: &Scale) -> Res<()> {
    run_on(scale, "W4", scale.rows, true)
}

pub fn run_large(scale: &Scale) -> Res<()> {
    run_on(scale, "W4L", scale.rows_large, false)
}
