//! Times that are counted: numbers since 1970 in CSV and Parquet files, and the old Parquet type
//! INT96.

use crate::prelude::*;

use parquet::data_type::{Int96, Int96Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use stationdb::arrow::array::{
    ArrayRef, Int32Array, Int64Array, TimestampMicrosecondArray, UInt64Array,
};

use super::dialects::{rows, session};
use super::parquet_files::{import, one};

fn typed(data_type: DataType) -> ImportTableRequest {
    ImportTableRequest::new().column_types([("v", data_type)])
}

#[test]
fn numbers_of_csv_count_the_unit_that_is_named() {
    use EpochUnit::{Micros, Millis, Nanos, Seconds};
    let (_store, session) = session();
    for (text, data_type, unit, expected) in [
        (
            "v\n1706709910.123456\n-1\n",
            DataType::TimestampMicros,
            Seconds,
            ["2024-01-31T14:05:10.123456Z", "1969-12-31T23:59:59.000000Z"],
        ),
        (
            "a;v\n0;1706709910,5\n1;0\n",
            DataType::Timestamp,
            Seconds,
            ["2024-01-31T14:05:10.500Z", "1970-01-01T00:00:00.000Z"],
        ),
        (
            "v\n1706709910123\n2024-01-31 12:00\n",
            DataType::Timestamp,
            Millis,
            ["2024-01-31T14:05:10.123Z", "2024-01-31T12:00:00.000Z"],
        ),
        (
            "v\n1706709910123456\n1\n",
            DataType::TimestampMicros,
            Micros,
            ["2024-01-31T14:05:10.123456Z", "1970-01-01T00:00:00.000001Z"],
        ),
        (
            "v\n1706709910123456789\n1\n",
            DataType::TimestampNanos,
            Nanos,
            ["2024-01-31T14:05:10.123456789Z", "1970-01-01T00:00:00.000000001Z"],
        ),
    ] {
        let request = typed(data_type).epoch_unit(unit);
        let answer = session.import_csv(request, &mut text.as_bytes(), &Control::default());
        let answer = answer.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let found: Vec<String> = rows(&session, &answer)
            .into_iter()
            .map(|row| row.last().cloned().unwrap().unwrap())
            .collect();
        assert_eq!(found, expected, "{text:?}");
        let column = answer.columns.last().unwrap();
        assert!(column.why.contains("since 1970 UTC"), "{}", column.why);
        assert_eq!(column.time_zone.as_deref(), Some("UTC"));
    }
}

#[test]
fn numbers_of_parquet_count_the_unit_that_is_named() {
    let (_store, session) = session();
    let some = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect();
    let cases: Vec<(ArrayRef, DataType, EpochUnit, ColumnType, Vec<Option<String>>)> = vec![
        (
            Arc::new(Int64Array::from(vec![Some(1_706_709_910_123), None])),
            DataType::Timestamp,
            EpochUnit::Millis,
            ColumnType::Nullable,
            vec![Some("2024-01-31T14:05:10.123Z".to_owned()), None],
        ),
        (
            Arc::new(Int32Array::from(vec![-1])),
            DataType::TimestampMicros,
            EpochUnit::Seconds,
            ColumnType::Normal,
            some(&["1969-12-31T23:59:59.000000Z"]),
        ),
        (
            Arc::new(UInt64Array::from(vec![1])),
            DataType::TimestampNanos,
            EpochUnit::Nanos,
            ColumnType::Normal,
            some(&["1970-01-01T00:00:00.000000001Z"]),
        ),
    ];
    for (array, data_type, unit, role, cells) in cases {
        let found = one(&session, typed(data_type).epoch_unit(unit), array).unwrap();
        assert_eq!(found, (data_type, role, cells));
    }
    // Without its unit a number is no time; with it, it must fit.
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1_500]));
    let error = one(&session, typed(DataType::Timestamp), number.clone()).unwrap_err();
    assert!(error.message().contains("epochUnit"), "{error}");
    let request = || typed(DataType::Timestamp).epoch_unit(EpochUnit::Micros);
    let error = one(&session, request(), number.clone()).unwrap_err();
    for part in ["00:00:00.0015", "TIMESTAMP_US"] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    let (_, _, cells) = one(&session, request().cut_times(true), number).unwrap();
    assert_eq!(cells, some(&["1970-01-01T00:00:00.001Z"]));
    let huge: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let error = one(&session, request(), huge).unwrap_err();
    assert!(error.message().contains("18446744073709551615"), "{error}");
}

#[test]
fn finer_times_of_parquet_are_cut_only_when_the_request_says_so() {
    let (_store, session) = session();
    let fine = || Arc::new(TimestampMicrosecondArray::from(vec![-1])) as ArrayRef;
    let error = one(&session, typed(DataType::Timestamp), fine()).unwrap_err();
    assert!(error.message().contains("1969-12-31T23:59:59.999999"), "{error}");
    let request = typed(DataType::Timestamp).cut_times(true);
    let (_, _, cells) = one(&session, request, fine()).unwrap();
    // Towards the past, as everywhere.
    assert_eq!(cells, [Some("1969-12-31T23:59:59.999Z".to_owned())]);
}

/// A file of Spark or Impala: times as INT96, `None` is null.
fn int96(values: &[Option<(u32, u64)>]) -> Vec<u8> {
    let schema = parse_message_type("message spark { optional int96 v; }").unwrap();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<Int96> = values
        .iter()
        .flatten()
        .map(|(day, nanos)| {
            let mut value = Int96::new();
            value.set_data((nanos & 0xffff_ffff) as u32, (nanos >> 32) as u32, *day);
            value
        })
        .collect();
    column.typed::<Int96Type>().write_batch(&values, Some(&levels), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

/// The reader of Parquet files counts INT96 in nanoseconds, and wraps around without a word.
#[test]
fn times_of_int96_are_nanoseconds_or_refused() {
    let (_store, session) = session();
    let new = ImportTableRequest::new;
    let day = 2_440_588;
    let file = int96(&[Some((day, 1)), None, Some((day - 1, 86_399_999_999_999))]);
    let answer = import(&session, new(), &file).unwrap();
    assert_eq!(answer.columns[1].data_type, DataType::TimestampNanos);
    let cells: Vec<Option<String>> =
        rows(&session, &answer).into_iter().map(|mut row| row.swap_remove(1)).collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        cells,
        [some("1970-01-01T00:00:00.000000001Z"), None, some("1969-12-31T23:59:59.999999999Z")]
    );
    // Year 9999, the "end of time" of many programs; and a time of day of 25 hours.
    for (value, text) in [
        ((day + 2_932_896, 0), "9999-12-31T00:00:00"),
        ((day, 90_000_000_000_000), "90000000000000 nanoseconds"),
    ] {
        let error = import(&session, new(), &int96(&[Some((day, 0)), None, Some(value)]));
        let error = error.unwrap_err();
        let place = Place::RowGroup { row_group: 0, row: Some(2), column: Some("v".to_owned()) };
        assert_eq!(error.place(), Some(&place), "{error}");
        for part in [text, "microseconds"] {
            assert!(error.message().contains(part), "{part}: {error}");
        }
    }
}
