//! What a store exports is read back with all its digits.

use crate::prelude::*;
use std::io::Cursor;

use stationdb::arrow::array::{
    ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray, TimestampNanosecondArray,
};

use super::column;
use super::dialects::session;

/// 2024-01-01 in nanoseconds.
const START: i64 = 1_704_067_200_000_000_000;
const ROWS: i64 = 30_000;

fn columns() -> Vec<Column> {
    vec![
        column("t", DataType::TimestampNanos, ColumnType::Index),
        column("us", DataType::TimestampMicros, ColumnType::Nullable),
        column("v", DataType::Float64, ColumnType::Normal),
    ]
}

/// Instants of a waveform at 1 GHz, microseconds on both sides of 1970, and nulls.
fn rows() -> RecordBatch {
    let t = TimestampNanosecondArray::from_iter_values((0..ROWS).map(|at| START + at));
    let us: TimestampMicrosecondArray =
        (0..ROWS).map(|at| (at % 5 != 0).then_some(at - 7)).collect();
    let v = Float64Array::from_iter_values((0..ROWS).map(|at| (at % 1000) as f64 / 7.0));
    let columns: [(_, ArrayRef, _); 3] =
        [("t", Arc::new(t), false), ("us", Arc::new(us), true), ("v", Arc::new(v), false)];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn export(session: &Session, id: &TableId, format: ExportFormat) -> Vec<u8> {
    let mut out = Vec::new();
    let request = ExportTableDataRequest::new(format);
    session.export_table_data(id, request, &mut out, &Control::default()).unwrap();
    out
}

#[test]
fn exports_of_fine_times_are_read_back_with_their_digits() {
    let (_store, session) = session();
    let table = || CreateTableRequest::new(columns());
    let id = session.create_table(table()).unwrap();
    session.append_batches(&id, &mut std::iter::once(Ok(rows())), None).unwrap();
    let csv = export(&session, &id, ExportFormat::Csv);
    assert!(csv.starts_with(b"t,us,v\n2024-01-01T00:00:00.000000000Z,,0\n"));
    let request = || ImportTableRequest::new().table(table());
    let control = Control::default();
    let made = session.import_csv(request(), &mut &csv[..], &control).unwrap().id.unwrap();
    assert_eq!(export(&session, &made, ExportFormat::Csv), csv);
    let parquet = Box::new(Cursor::new(export(&session, &id, ExportFormat::Parquet)));
    let made = session.import_parquet(request(), parquet, &control).unwrap().id.unwrap();
    assert_eq!(export(&session, &made, ExportFormat::Csv), csv);
}
