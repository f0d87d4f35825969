//! The measurement table of W1 to W4: its rows, its table in a store, and the answers of a naive
//! pass over the rows.

use std::f64::consts::PI;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use stationdb::arrow::array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use stationdb::arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use stationdb::arrow::error::ArrowError;
use stationdb::prelude::*;
use stationdb::tables::{Column, ColumnType, CreateTableRequest, DataType};
use stationdb::{Identity, Session, Store};

use crate::common::{Res, hash, uniform};

/// The time of row 0, in ms.
pub const TS0: i64 = 1_700_000_000_000;
/// Rows of one batch.
pub const BATCH_ROWS: usize = 65_536;

pub fn ts(row: u64) -> i64 {
    TS0 + 10 * row as i64 + (hash(0, row) % 10) as i64
}

pub fn v1(row: u64) -> f64 {
    10.0 * (2.0 * PI * row as f64 / 1e6).sin() + (uniform(1, row) + uniform(6, row) - 1.0)
}

pub fn v2(row: u64) -> f64 {
    (1000.0 * (25.0 + 5.0 * (2.0 * PI * row as f64 / 2.5e6).sin() + 0.2 * (uniform(2, row) - 0.5)))
        .round()
        / 1000.0
}

pub fn v3(row: u64) -> f64 {
    1000.0 * uniform(3, row)
}

pub fn k(row: u64) -> i32 {
    (hash(4, row) % 64) as i32
}

/// Returns the number in the serial number.
pub fn s(row: u64) -> u64 {
    hash(5, row) % 1000
}

/// Returns the Arrow schema; without `k` and `s` for the large series.
pub fn schema(whole: bool) -> SchemaRef {
    let mut fields = vec![
        Field::new("ts", ArrowType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), false),
        Field::new("v1", ArrowType::Float64, false),
        Field::new("v2", ArrowType::Float64, false),
        Field::new("v3", ArrowType::Float64, false),
    ];
    if whole {
        fields.push(Field::new("k", ArrowType::Int32, false));
        fields.push(Field::new("s", ArrowType::Utf8, false));
    }
    Arc::new(Schema::new(fields))
}

/// Returns rows of the table.
pub fn batch(schema: &SchemaRef, from: usize, rows: usize) -> Res<RecordBatch> {
    let all = from as u64..(from + rows) as u64;
    let times =
        TimestampMillisecondArray::from_iter_values(all.clone().map(ts)).with_timezone("UTC");
    let mut arrays: Vec<ArrayRef> = vec![
        Arc::new(times),
        Arc::new(Float64Array::from_iter_values(all.clone().map(v1))),
        Arc::new(Float64Array::from_iter_values(all.clone().map(v2))),
        Arc::new(Float64Array::from_iter_values(all.clone().map(v3))),
    ];
    if schema.fields().len() > 4 {
        arrays.push(Arc::new(Int32Array::from_iter_values(all.clone().map(k))));
        arrays.push(Arc::new(StringArray::from_iter_values(
            all.map(|row| format!("SN-{:04}", s(row))),
        )));
    }
    Ok(RecordBatch::try_new(schema.clone(), arrays)?)
}

/// Returns all rows as batches, which two threads make ahead of the consumer.
pub fn batches(schema: &SchemaRef, rows: usize) -> Batches {
    let makers = (0..2)
        .map(|maker| {
            let (give, take) = sync_channel(4);
            let schema = schema.clone();
            std::thread::spawn(move || {
                for from in (0..rows).step_by(BATCH_ROWS).skip(maker).step_by(2) {
                    let made = batch(&schema, from, BATCH_ROWS.min(rows - from))
                        .map_err(|error| error.to_string());
                    if give.send(made.map_err(ArrowError::ComputeError)).is_err() {
                        return;
                    }
                }
            });
            take
        })
        .collect();
    Batches { makers, next: 0 }
}

/// The iterator of [`batches`].
pub struct Batches {
    makers: Vec<Receiver<Result<RecordBatch, ArrowError>>>,
    next: usize,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let made = self.makers.get(self.next)?.recv().ok();
        self.next = (self.next + 1) % self.makers.len();
        made
    }
}

/// Opens a session on a new store in `dir`.
pub fn open(dir: &Path) -> Res<Session> {
    Ok(Store::open(dir)?.session(Identity::user("bench")))
}

/// Creates the table; without `k` and `s` for the large series.
pub fn create_table(session: &Session, whole: bool) -> Res<String> {
    let column = |name: &str, data_type| {
        Column::new(name.to_owned(), data_type).column_type(if name == "ts" {
            ColumnType::Index
        } else {
            ColumnType::Normal
        })
    };
    let mut columns = vec![
        column("ts", DataType::Timestamp),
        column("v1", DataType::Float64),
        column("v2", DataType::Float64),
        column("v3", DataType::Float64),
    ];
    if whole {
        columns.push(column("k", DataType::Int32));
        columns.push(column("s", DataType::String));
    }
    let name = Some("measurements".to_owned());
    Ok(session.create_table(CreateTableRequest::new(columns).maybe_name(name))?.into())
}

/// Runs `f` once without measuring, then until `times` runs or the time budget are used up. Returns
/// the times in ms.
pub fn repeat(times: usize, mut f: impl FnMut() -> Res<()>) -> Res<Vec<f64>> {
    const BUDGET_MS: f64 = 5_000.0;
    f()?;
    let mut taken: Vec<f64> = Vec::new();
    while taken.is_empty() || (taken.len() < times && taken.iter().sum::<f64>() < BUDGET_MS) {
        taken.push(crate::common::timed(&mut f)?.0 * 1e3);
    }
    Ok(taken)
}

/// Runs `f` and returns the additional memory that it took.
pub fn with_peak_memory<T>(f: impl FnOnce() -> Res<T>) -> Res<(Option<f64>, T)> {
    let before = crate::common::anonymous_memory_mib();
    crate::common::reset_peak_memory();
    let value = f()?;
    let peak = crate::common::peak_memory_mib().zip(before).map(|(peak, before)| peak - before);
    Ok((peak, value))
}
