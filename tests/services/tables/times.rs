//! Times in microseconds and nanoseconds: appended, sealed, merged, filtered, sorted, decimated,
//! exported and imported with all their digits.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use stationdb::faults::{MemoryDisk, SharedDisk};
use stationdb::prelude::*;
use stationdb::tables::{
    Column, ColumnFilter, ColumnOrderBy, ColumnType, CreateTableRequest, DataType,
    DecimationMethod, DecimationOptions, ExportFormat, ExportTableDataRequest, FilterOperation,
    ImportTableRequest, QueryDecimatedDataRequest, QueryTableDataRequest, ScanRequest, TableId,
};
use stationdb::{Control, Identity, Place, Session, Store};

use super::column;

/// 2024-01-01 in nanoseconds.
const START: i64 = 1_704_067_200_000_000_000;
const ROWS: i64 = 30_000;

fn open(disk: &SharedDisk) -> (Store, Session) {
    let options = Store::options().maintenance_thread(false).seal_rows(7_000);
    let store = options.open_disk(disk.clone()).unwrap();
    let session = store.session(Identity::user("ada"));
    (store, session)
}

fn columns() -> Vec<Column> {
    vec![
        column("t", DataType::TimestampNanos, ColumnType::Index),
        column("us", DataType::TimestampMicros, ColumnType::Nullable),
        column("v", DataType::Float64, ColumnType::Normal),
    ]
}

/// Instants of a waveform at 1 GHz, backwards, so that only an order by nanoseconds is right.
fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let t: ArrayRef = Arc::new(TimestampNanosecondArray::from_iter_values(
        rows.clone().rev().map(|at| START + at),
    ));
    let us: ArrayRef = Arc::new(
        rows.clone()
            .rev()
            .map(|at| (at % 5 != 0).then_some(at - 7))
            .collect::<TimestampMicrosecondArray>(),
    );
    let v: ArrayRef =
        Arc::new(Float64Array::from_iter_values(rows.rev().map(|at| (at % 1000) as f64)));
    RecordBatch::try_from_iter_with_nullable([("t", t, false), ("us", us, true), ("v", v, false)])
        .unwrap()
}

fn filled(session: &Session) -> TableId {
    let id = session
        .create_table(CreateTableRequest { columns: columns(), ..Default::default() })
        .unwrap();
    for from in (0..ROWS).step_by(1_000) {
        session
            .append_batches(&id, &mut std::iter::once(Ok(batch(from..from + 1_000))), None)
            .unwrap();
    }
    id
}

/// The nanoseconds of the first column after [`START`].
fn times(batch: &RecordBatch) -> Vec<i64> {
    let times: &TimestampNanosecondArray = batch.column(0).as_any().downcast_ref().unwrap();
    times.values().iter().map(|time| time - START).collect()
}

fn scanned(session: &Session, id: &TableId, request: ScanRequest) -> Vec<i64> {
    let rows = session.scan(id, request, &Control::default()).unwrap();
    rows.flat_map(|batch| times(&batch.unwrap())).collect()
}

fn filter(column: &str, operation: FilterOperation, value: &str) -> ColumnFilter {
    ColumnFilter::new(column.to_owned(), operation).value(value)
}

#[test]
fn nanoseconds_order_filter_sort_and_decimate() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (store, session) = open(&disk);
    let id = filled(&session);
    let check = |session: &Session| {
        assert_eq!(scanned(session, &id, ScanRequest::new()), (0..ROWS).collect::<Vec<_>>());
        let at = |nanos: i64| format!("2024-01-01T00:00:00.{nanos:09}Z");
        let request = ScanRequest::new().filters(vec![
            filter("t", FilterOperation::GreaterThan, &at(12_344)),
            filter("t", FilterOperation::LessThanEquals, &at(12_347)),
        ]);
        assert_eq!(scanned(session, &id, request), [12_345, 12_346, 12_347]);
        let request = ScanRequest::new()
            .filters(vec![filter("us", FilterOperation::LessThan, "1970-01-01T00:00:00Z")])
            .order_by(vec![ColumnOrderBy::new("us".to_owned()).descending(true)]);
        assert_eq!(scanned(session, &id, request), [6, 4, 3, 2, 1]);
        let decimated = QueryDecimatedDataRequest::new().decimation(
            DecimationOptions::new(DecimationMethod::MaxMin)
                .y_columns(["v".to_owned()])
                .intervals(30),
        );
        let rows = session.query_decimated_data(&id, decimated).unwrap().frame.to_data_frame().data;
        let expected: Vec<String> =
            (0..30).flat_map(|part| [at(part * 1_000), at(part * 1_000 + 999)]).collect();
        let found: Vec<String> = rows.into_iter().map(|row| row[0].clone().unwrap()).collect();
        assert_eq!(found, expected);
    };
    check(&session);
    store.maintain(&Control::default()).unwrap();
    check(&session);
    drop((session, store));
    let (_store, session) = open(&disk);
    check(&session);
    // A value that the column cannot hold cannot be compared with it.
    let finer = filter("us", FilterOperation::Equals, "1970-01-01T00:00:00.0000001Z");
    let error = session
        .query_table_data(&id, QueryTableDataRequest::new().filters(vec![finer]))
        .unwrap_err();
    assert!(error.to_string().contains("TIMESTAMP_US"), "{error}");
}

#[test]
fn every_export_is_read_back_with_its_digits() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (_store, session) = open(&disk);
    let id = filled(&session);
    let export = |id: &TableId, format: ExportFormat| {
        let mut out = Vec::new();
        let request = ExportTableDataRequest::new(format);
        session.export_table_data(id, request, &mut out, &Control::default()).unwrap();
        out
    };
    let csv = export(&id, ExportFormat::Csv);
    assert!(csv.starts_with(b"t,us,v\n2024-01-01T00:00:00.000000000Z,,0\n"));
    let table = || CreateTableRequest::new(columns());
    let request = || ImportTableRequest::new().table(table());
    let control = Control::default();
    let made = session.import_csv(request(), &mut &csv[..], &control).unwrap().id.unwrap();
    assert_eq!(export(&made, ExportFormat::Csv), csv);
    let parquet = Box::new(Cursor::new(export(&id, ExportFormat::Parquet)));
    let made = session.import_parquet(request(), parquet, &control).unwrap().id.unwrap();
    assert_eq!(export(&made, ExportFormat::Csv), csv);
    let made = session.create_table(table()).unwrap();
    let stream = export(&id, ExportFormat::ArrowStream);
    session.append_arrow(&made, &mut &stream[..], None).unwrap();
    assert_eq!(export(&made, ExportFormat::Csv), csv);
}

/// Digits finer than a column were cut off without a word.
#[test]
fn a_column_of_milliseconds_refuses_finer_times_unless_it_says_cut() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (_store, session) = open(&disk);
    let made = |properties: &[(&str, &str)]| {
        let mut index = column("t", DataType::Timestamp, ColumnType::Index);
        index.properties =
            properties.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        session.create_table(CreateTableRequest::new(vec![index])).unwrap()
    };
    let times: ArrayRef = Arc::new(
        TimestampMicrosecondArray::from(vec![1_000, 2_500]).with_timezone("Europe/Berlin"),
    );
    let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
    let id = made(&[]);
    let append =
        |id: &TableId| session.append_batches(id, &mut std::iter::once(Ok(batch.clone())), None);
    let error = append(&id).unwrap_err();
    assert_eq!(error.place(), Some(&Place::Cell { row: 1, column: "t".to_owned() }));
    for part in ["1970-01-01T00:00:00.002500Z", "TIMESTAMP_US", "finerTimes", "CUT"] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(0));
    let id = made(&[("finerTimes", "CUT")]);
    append(&id).unwrap();
    let rows = session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
    let rows: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
    let times: &TimestampMillisecondArray = rows[0].column(0).as_any().downcast_ref().unwrap();
    assert_eq!((times.len(), times.value(0), times.value(1)), (2, 1, 2));
}
