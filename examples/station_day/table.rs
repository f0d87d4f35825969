//! The rows: the table of the samples, and its queries.

use std::error::Error;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use stationdb::arrow::array::{Array, AsArray, Float64Array, RecordBatch};
use stationdb::arrow::datatypes::Int64Type;
use stationdb::prelude::*;
use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnFilter, ColumnOrderBy, ColumnType, CreateTableRequest,
    DataFrame, DataType, DecimationMethod, DecimationOptions, FilterOperation,
    QueryDecimatedDataRequest, QueryTableDataRequest, ScanRequest,
};
use stationdb::{Control, Session};

use crate::measure::{COPY, DiskProbe, ELAPSED, LOOP, PHASE, SYNC, Sampler, Samples, TICK};
use crate::paperwork::properties;
use crate::steps::bar;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Rows of one small durable append.
const SMALL_ROWS: usize = 100;
/// Small durable appends.
const SMALL_APPENDS: usize = 200;
/// Rows of one large Arrow batch.
const LARGE_ROWS: usize = 65_536;

/// Results of the measurement besides the rows in the table.
pub struct Run {
    /// The last samples, not appended yet.
    pub last: RecordBatch,
    /// How long each small durable append took.
    pub small_appends: Vec<Duration>,
    /// Rows of the large batches, and how long their appends took together.
    pub large: (usize, Duration),
    /// Loop times of all samples.
    pub loop_ns: Vec<f64>,
    /// Steps of the timer.
    pub tick_ns: Vec<f64>,
    /// Bandwidths of the memory.
    pub copy_gb_s: Vec<f64>,
    /// Latencies of the disk.
    pub sync_us: Vec<f64>,
}

/// Creates the table of the samples, which belongs to the test. Returns its id.
pub fn create(test: &stationdb::results::Run, name: String, work_item_id: &str) -> Answer<String> {
    let column = |name: &str, data_type, column_type, unit: &str| {
        Column::new(name.to_owned(), data_type)
            .column_type(column_type)
            .properties(properties([("unit", unit)]))
    };
    let id = test.create_table(
        CreateTableRequest::new([
            column(ELAPSED, DataType::Int64, ColumnType::Index, "ns"),
            column(LOOP, DataType::Float64, ColumnType::Normal, "ns"),
            column(TICK, DataType::Float64, ColumnType::Normal, "ns"),
            column(COPY, DataType::Float64, ColumnType::Nullable, "GB/s"),
            column(SYNC, DataType::Float64, ColumnType::Nullable, "us"),
            column(PHASE, DataType::String, ColumnType::Normal, ""),
        ])
        .name(name)
        .properties(properties([("workItemId", work_item_id)])),
    )?;
    Ok(id.into())
}

/// Appends a batch, closes the table, or both, by a session or a transaction.
pub fn append<T: TableService>(
    tables: &T,
    id: &str,
    batch: Option<RecordBatch>,
    end_of_data: Option<bool>,
) -> stationdb::Result<()> {
    tables.append_batches(&id.into(), &mut batch.into_iter().map(Ok), end_of_data)
}

/// Takes `row_count` samples and appends them meanwhile: small durable batches first, large ones
/// after. The last batch is returned, to be appended in the transaction that closes the work item.
pub fn measure(session: &Session, id: &str, row_count: usize, mut probe: DiskProbe) -> Answer<Run> {
    let mut sampler = Sampler::new();
    let mut run = Run {
        last: Samples::default().to_batch()?,
        small_appends: Vec::new(),
        large: (0, Duration::ZERO),
        loop_ns: Vec::with_capacity(row_count),
        tick_ns: Vec::with_capacity(row_count),
        copy_gb_s: Vec::new(),
        sync_us: Vec::new(),
    };
    let progress = bar(row_count as u64, "samples");
    let mut left = row_count;
    while left > 2 * SMALL_ROWS && run.small_appends.len() < SMALL_APPENDS {
        let mut samples = sampler.take(SMALL_ROWS, "alone");
        let latency = probe.sync_us()?;
        if let Some(first) = samples.sync_us.first_mut() {
            *first = Some(latency);
        }
        run.keep(&samples);
        let frame = DataFrame::new().data(samples.to_rows());
        let start = Instant::now();
        session.append_table_data(&id.into(), AppendTableDataRequest::new().frame(frame))?;
        run.small_appends.push(start.elapsed());
        left -= SMALL_ROWS;
        progress.inc(SMALL_ROWS as u64);
    }

    // From here on the store works on another thread while this one measures, so the samples
    // include its load.
    let (sender, receiver) = sync_channel::<RecordBatch>(4);
    let writer = session.clone();
    let table_id = id.to_owned();
    let appending = std::thread::spawn(move || -> stationdb::Result<(usize, Duration)> {
        let (mut rows, mut time) = (0, Duration::ZERO);
        for batch in receiver {
            rows += batch.num_rows();
            let start = Instant::now();
            append(&writer, &table_id, Some(batch), None)?;
            time += start.elapsed();
        }
        Ok((rows, time))
    });
    while left > 0 {
        let count = left.min(LARGE_ROWS);
        let samples = sampler.take(count, "beside the store");
        run.keep(&samples);
        left -= count;
        progress.inc(count as u64);
        let batch = samples.to_batch()?;
        if left == 0 {
            run.last = batch;
        } else if sender.send(batch).is_err() {
            break;
        }
    }
    drop(sender);
    progress.finish_and_clear();
    run.large = appending.join().map_err(|_| "the appending thread panicked")??;
    Ok(run)
}

impl Run {
    fn keep(&mut self, samples: &Samples) {
        self.loop_ns.extend(&samples.loop_ns);
        self.tick_ns.extend(&samples.tick_ns);
        self.copy_gb_s.extend(samples.copy_gb_s.iter().flatten());
        self.sync_us.extend(samples.sync_us.iter().flatten());
    }

    /// Returns the measured values for the specification of a column.
    pub fn values(&self, column: &str) -> Vec<f64> {
        match column {
            LOOP => self.loop_ns.clone(),
            TICK => self.tick_ns.clone(),
            COPY => self.copy_gb_s.clone(),
            _ => self.sync_us.clone(),
        }
    }
}

/// Returns two columns of a table as points; rows without a value are left out.
pub fn points(session: &Session, id: &str, x: &str, y: &str) -> Answer<Vec<(f64, f64)>> {
    let request = ScanRequest::new().columns([x.to_owned(), y.to_owned()]);
    let mut points = Vec::new();
    for batch in session.scan(&id.into(), request, &Control::default())? {
        push_points(&batch?, &mut points)?;
    }
    Ok(points)
}

fn push_points(batch: &RecordBatch, points: &mut Vec<(f64, f64)>) -> Answer<()> {
    let xs = batch.column(0).as_primitive_opt::<Int64Type>().ok_or("x is no integer")?;
    let ys: Float64Array = match batch.column(1).as_primitive_opt::<Int64Type>() {
        Some(ints) => ints.unary(|value| value as f64),
        None => batch.column(1).as_primitive_opt().ok_or("y is no number")?.clone(),
    };
    let values = xs.values().iter().zip(ys.values()).enumerate();
    points.extend(values.filter(|(row, _)| ys.is_valid(*row)).map(|(_, (&x, &y))| (x as f64, y)));
    Ok(())
}

/// Returns the extremes of each of `intervals` intervals, for a plot.
pub fn decimated(
    session: &Session,
    id: &str,
    x: &str,
    y: &str,
    intervals: i64,
) -> Answer<Vec<(f64, f64)>> {
    let rows = session.query_decimated_data(
        &id.into(),
        QueryDecimatedDataRequest::new().columns([x.to_owned(), y.to_owned()]).decimation(
            DecimationOptions::new(DecimationMethod::MaxMin)
                .y_columns([y.to_owned()])
                .intervals(intervals),
        ),
    )?;
    let mut points = Vec::new();
    for batch in &rows.frame.batches {
        push_points(batch, &mut points)?;
    }
    Ok(points)
}

/// Returns the number of samples beyond a loop time, and the ten slowest as text cells.
pub fn worst(session: &Session, id: &str, beyond_ns: f64) -> Answer<(u64, DataFrame)> {
    let page = session.query_table_data(
        &id.into(),
        QueryTableDataRequest::new()
            .columns([ELAPSED, LOOP, TICK, PHASE].map(str::to_owned).to_vec())
            .filters([ColumnFilter::new(LOOP.to_owned(), FilterOperation::GreaterThan)
                .value(beyond_ns.to_string())])
            .order_by([ColumnOrderBy::new(LOOP.to_owned()).descending(true)])
            .take(10),
    )?;
    Ok((page.total_row_count, page.frame.to_data_frame()))
}
