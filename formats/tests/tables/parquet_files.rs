//! Parquet files with the types that writers use, each with the table that it becomes.

use crate::prelude::*;
use std::io::Cursor;

use parquet::arrow::ArrowWriter;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use stationdb::arrow::array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
    Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
    Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use stationdb::arrow::datatypes::{DataType as Arrow, Field, Int32Type, Int64Type};

use super::dialects::{rows, session};

pub(super) fn written(
    columns: Vec<(&str, ArrayRef)>,
    properties: Option<WriterProperties>,
) -> Vec<u8> {
    // Every column is declared nullable, as by most writers.
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub(super) fn import(
    session: &Session,
    request: ImportTableRequest,
    bytes: &[u8],
) -> Result<ImportTableResponse> {
    session.import_parquet(request, Box::new(Cursor::new(bytes.to_vec())), &Control::default())
}

/// Type, role and cells of the column `v` of a file with nothing else.
pub(super) fn one(
    session: &Session,
    request: ImportTableRequest,
    array: ArrayRef,
) -> Result<(DataType, ColumnType, Vec<Option<String>>)> {
    let answer = import(session, request, &written(vec![("v", array)], None))?;
    let column = &answer.columns[1];
    let nulls = rows(session, &answer).iter().filter(|row| row[1].is_none()).count();
    assert_eq!((column.name.as_str(), column.null_count), ("v", nulls as i64));
    let cells = rows(session, &answer).into_iter().map(|mut row| row.swap_remove(1)).collect();
    Ok((column.data_type, column.column_type, cells))
}

fn new() -> ImportTableRequest {
    ImportTableRequest::new()
}

fn typed(data_type: DataType) -> ImportTableRequest {
    new().column_types([("v", data_type)])
}

fn decimal(values: Vec<Option<i128>>, precision: u8, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap())
}

#[test]
fn each_type_becomes_a_column_or_a_stated_conversion() {
    use ColumnType::{Normal, Nullable};
    use DataType as D;
    let (_store, session) = session();
    let dictionary: DictionaryArray<Int32Type> =
        [Some("on"), None, Some("off")].into_iter().collect();
    let bytes = || Arc::new(BinaryArray::from_vec(vec![b"ab", b"\xff\x00"])) as ArrayRef;
    let fixed = FixedSizeBinaryArray::try_from_iter([[1u8, 2], [3, 255]].into_iter()).unwrap();
    let big = || Arc::new(UInt64Array::from(vec![1, u64::MAX])) as ArrayRef;
    let cases: Vec<(ImportTableRequest, ArrayRef, D, ColumnType, Vec<Option<&str>>)> = vec![
        (new(), Arc::new(dictionary), D::String, Nullable, vec![Some("on"), None, Some("off")]),
        (
            new(),
            decimal(vec![Some(-150), None], 9, 2),
            D::Float64,
            Nullable,
            vec![Some("-1.5"), None],
        ),
        (new(), decimal(vec![Some(12)], 18, 0), D::Int64, Normal, vec![Some("12")]),
        (
            typed(D::String),
            decimal(vec![Some(123_456_789_012_345_678_901)], 30, 10),
            D::String,
            Normal,
            vec![Some("12345678901.2345678901")],
        ),
        (
            typed(D::Float64),
            decimal(vec![Some(123_456_789_012_345_678_901)], 30, 10),
            D::Float64,
            Normal,
            vec![Some("12345678901.234568")],
        ),
        (
            new(),
            Arc::new(Date32Array::from(vec![Some(0), None, Some(19_753)])),
            D::Timestamp,
            Nullable,
            vec![Some("1970-01-01T00:00:00.000Z"), None, Some("2024-01-31T00:00:00.000Z")],
        ),
        (
            new(),
            Arc::new(Time32MillisecondArray::from(vec![Some(1), None])),
            D::Int64,
            Nullable,
            vec![Some("1"), None],
        ),
        (
            new(),
            Arc::new(Time64MicrosecondArray::from(vec![86_399_999_999])),
            D::Int64,
            Normal,
            vec![Some("86399999999")],
        ),
        (
            new(),
            Arc::new(TimestampMicrosecondArray::from(vec![1, -1])),
            D::TimestampMicros,
            Normal,
            vec![Some("1970-01-01T00:00:00.000001Z"), Some("1969-12-31T23:59:59.999999Z")],
        ),
        (
            new(),
            Arc::new(TimestampNanosecondArray::from(vec![Some(i64::MAX), None])),
            D::TimestampNanos,
            Nullable,
            vec![Some("2262-04-11T23:47:16.854775807Z"), None],
        ),
        (
            new().binary(BinaryForm::Hex),
            bytes(),
            D::String,
            Normal,
            vec![Some("6162"), Some("ff00")],
        ),
        (
            new().binary(BinaryForm::Base64),
            Arc::new(fixed),
            D::String,
            Normal,
            vec![Some("AQI="), Some("A/8=")],
        ),
        (
            new().binary(BinaryForm::Utf8),
            Arc::new(BinaryArray::from_vec(vec!["ä".as_bytes()])),
            D::String,
            Normal,
            vec![Some("ä")],
        ),
        (typed(D::String), big(), D::String, Normal, vec![Some("1"), Some("18446744073709551615")]),
        (
            typed(D::Float64),
            big(),
            D::Float64,
            Normal,
            vec![Some("1"), Some("1.8446744073709552e19")],
        ),
        (
            new(),
            Arc::new(UInt64Array::from(vec![7, i64::MAX as u64])),
            D::Int64,
            Normal,
            vec![Some("7"), Some("9223372036854775807")],
        ),
    ];
    for (request, array, data_type, column_type, cells) in cases {
        let what = array.data_type().clone();
        let found = one(&session, request, array).unwrap_or_else(|error| panic!("{what}: {error}"));
        let cells = cells.into_iter().map(|cell| cell.map(str::to_owned)).collect();
        assert_eq!(found, (data_type, column_type, cells), "{what}");
    }
}

#[test]
fn what_no_column_holds_is_refused_with_name_value_and_option() {
    let (_store, session) = session();
    let told = |request: ImportTableRequest, array: ArrayRef| -> Error {
        one(&session, request, array).unwrap_err()
    };
    let bytes = || Arc::new(BinaryArray::from_vec(vec![b"a", b"\xff"])) as ArrayRef;
    for (error, row, parts) in [
        (
            told(new(), Arc::new(UInt64Array::from(vec![1, u64::MAX]))),
            Some(1),
            &["18446744073709551615", "INT64"][..],
        ),
        (told(new(), bytes()), None, &["\"v\"", "HEX"]),
        (told(new().binary(BinaryForm::Utf8), bytes()), Some(1), &["ff", "BASE64"]),
        (told(new(), decimal(vec![Some(1)], 30, 10)), None, &["\"v\"", "FLOAT64", "STRING"]),
        (
            told(typed(DataType::Timestamp), Arc::new(TimestampMicrosecondArray::from(vec![1]))),
            Some(0),
            &["1970-01-01T00:00:00.000001", "TIMESTAMP_US"],
        ),
        (
            told(new().time_zone("REFUSE"), Arc::new(TimestampMicrosecondArray::from(vec![1]))),
            None,
            &["\"v\"", "no zone"],
        ),
        (
            told(
                new().time_zone("Europe/Berlin"),
                Arc::new(TimestampMicrosecondArray::from(vec![1_711_852_200_000_000])),
            ),
            Some(0),
            &["2024-03-31T02:30:00", "does not occur"],
        ),
    ] {
        for part in parts {
            assert!(error.message().contains(part), "{part}: {error}");
        }
        if let Some(row) = row {
            let place =
                Place::RowGroup { row_group: 0, row: Some(row), column: Some("v".to_owned()) };
            assert_eq!(error.place(), Some(&place), "{error}");
        }
    }
}

/// The flag of most writers says that every column is nullable; the counts of nulls are true.
#[test]
fn nulls_are_counted_where_the_file_counts_them() {
    let (_store, session) = session();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("full", Arc::new(Int64Array::from(vec![2, 1]))),
            ("gaps", Arc::new(Float64Array::from(vec![None, Some(1.0)]))),
        ]
    };
    let roles = |answer: &ImportTableResponse| -> Vec<ColumnType> {
        answer.columns.iter().map(|column| column.column_type).collect()
    };
    use ColumnType::{Index, Normal, Nullable};
    let answer = import(&session, new(), &written(columns(), None)).unwrap();
    assert_eq!(roles(&answer), [Index, Normal, Nullable]);
    let none = WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None).build();
    let answer = import(&session, new(), &written(columns(), Some(none))).unwrap();
    assert_eq!(roles(&answer), [Index, Nullable, Nullable]);
    assert!(answer.columns[1].why.contains("does not tell its nulls"));
    // A file that declares its order has an index.
    let sorted = |descending| {
        let by = SortingColumn { column_idx: 0, descending, nulls_first: false };
        WriterProperties::builder().set_sorting_columns(Some(vec![by])).build()
    };
    let file = written(columns(), Some(sorted(false)));
    assert_eq!(roles(&import(&session, new(), &file).unwrap()), [Index, Nullable]);
    let file = written(columns(), Some(sorted(true)));
    assert_eq!(roles(&import(&session, new(), &file).unwrap()), [Index, Normal, Nullable]);
}

#[test]
fn times_keep_their_zone_as_a_property_and_local_times_have_one() {
    let (_store, session) = session();
    let at = 1_706_706_000_000_000;
    let zoned = TimestampMicrosecondArray::from(vec![at]).with_timezone("Europe/Berlin");
    let local = TimestampMicrosecondArray::from(vec![at]);
    let file = written(
        vec![
            ("zoned", Arc::new(zoned)),
            ("local", Arc::new(local)),
            ("day", Arc::new(Date32Array::from(vec![19_753]))),
        ],
        None,
    );
    for (request, zone, local, day) in [
        (new(), "UTC", "2024-01-31T13:00:00.000000Z", "2024-01-31T00:00:00.000Z"),
        (
            new().time_zone("Europe/Berlin"),
            "Europe/Berlin",
            "2024-01-31T12:00:00.000000Z",
            "2024-01-30T23:00:00.000Z",
        ),
        (
            new().time_zone("-02:30"),
            "-02:30",
            "2024-01-31T15:30:00.000000Z",
            "2024-01-31T02:30:00.000Z",
        ),
    ] {
        let answer = import(&session, request, &file).unwrap();
        let cells = rows(&session, &answer).swap_remove(0);
        let found: Vec<&str> = cells.iter().flatten().map(String::as_str).collect();
        assert_eq!(found, ["0", "2024-01-31T13:00:00.000000Z", local, day], "{zone}");
        let zones: Vec<_> =
            answer.columns.iter().map(|column| column.time_zone.as_deref()).collect();
        assert_eq!(zones, [None, Some("Europe/Berlin"), Some(zone), Some(zone)]);
        let table = session.get_table_metadata(&answer.id.unwrap()).unwrap();
        let column = &table.columns.unwrap()[1];
        assert_eq!(column.properties.get("timeZone").map(String::as_str), Some("Europe/Berlin"));
    }
}

#[test]
fn nested_columns_are_refused_by_name_or_flattened() {
    let (_store, session) = session();
    let member = |name: &str, array: ArrayRef| {
        (Arc::new(Field::new(name, array.data_type().clone(), true)), array)
    };
    let inner: ArrayRef = Arc::new(StructArray::from(vec![member(
        "unit",
        Arc::new(StringArray::from(vec![Some("V"), None])) as ArrayRef,
    )]));
    let outer = StructArray::new(
        vec![
            Field::new("value", Arrow::Int32, true),
            Field::new("meta", inner.data_type().clone(), true),
        ]
        .into(),
        vec![Arc::new(Int32Array::from(vec![5, 6])), inner],
        Some(vec![true, false].into()),
    );
    let file =
        written(vec![("m", Arc::new(outer)), ("n", Arc::new(Int32Array::from(vec![1, 2])))], None);
    let error = import(&session, new(), &file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("\"m\"") && error.message().contains("flatten"), "{error}");
    let answer = import(&session, new().flatten(true), &file).unwrap();
    let names: Vec<&str> = answer.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["row", "m.value", "m.meta.unit", "n"]);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        rows(&session, &answer),
        [vec![some("0"), some("5"), some("V"), some("1")], vec![some("1"), None, None, some("2")]]
    );
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some([Some(1)])]);
    let error = import(&session, new().flatten(true), &written(vec![("l", Arc::new(list))], None));
    let error = error.unwrap_err();
    assert!(error.message().contains("\"l\"") && error.message().contains("list"), "{error}");
}
