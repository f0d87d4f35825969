//! Rows of measurements.
#![allow(dead_code, reason = "each suite uses a part")]

use std::sync::Arc;

use serde_json::json;
use stationdb::Session;
use stationdb::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, TimestampMillisecondArray,
};
use stationdb::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use stationdb::arrow::ipc::writer::StreamWriter;
use stationdb::prelude::*;
use stationdb::tables::TableId;

use super::from;

/// Rows of an append.
const APPEND_ROWS: usize = 250_000;

/// A table with a time, two curves and a channel.
pub fn curve_table(session: &Session, name: &str) -> TableId {
    curve_table_of(session, name, "TIMESTAMP")
}

/// The same table with times of this type.
pub fn curve_table_of(session: &Session, name: &str, time: &str) -> TableId {
    let columns = json!([
        { "name": "time", "dataType": time, "columnType": "INDEX" },
        { "name": "voltage", "dataType": "FLOAT64" },
        { "name": "current", "dataType": "FLOAT32" },
        { "name": "channel", "dataType": "INT32" },
    ]);
    session.create_table(from(json!({ "name": name, "columns": columns }))).unwrap()
}

/// Rows of a measurement: times about 3 ms apart, two curves with noise, and one of 16 channels.
pub fn curve(first: usize, row_count: usize) -> Vec<u8> {
    let rows = first..first + row_count;
    let noise = |row: usize| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let time = |row: usize| 1_700_000_000_000 + row as i64 * 3 + (noise(row) & 1) as i64;
    let times = TimestampMillisecondArray::from_iter_values(rows.clone().map(time));
    let wave = |row: usize| (row as f64 * 0.001).sin() * 5.0 + noise(row) as f64 * 1e-9;
    let voltages = Float64Array::from_iter_values(rows.clone().map(wave));
    let currents = Float32Array::from_iter_values(rows.clone().map(|row| wave(row) as f32 / 3.0));
    let channels = Int32Array::from_iter_values(rows.map(|row| (noise(row) & 15) as i32));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(times.with_timezone("UTC")),
        Arc::new(voltages),
        Arc::new(currents),
        Arc::new(channels),
    ];
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", time, false),
        Field::new("voltage", DataType::Float64, false),
        Field::new("current", DataType::Float32, false),
        Field::new("channel", DataType::Int32, false),
    ]));
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Appends rows with these numbers.
pub fn append_curve(session: &Session, id: &TableId, rows: std::ops::Range<usize>) {
    for first in rows.clone().step_by(APPEND_ROWS) {
        let stream = curve(first, APPEND_ROWS.min(rows.end - first));
        session.append_arrow(id, &mut stream.as_slice(), None).unwrap();
    }
}
