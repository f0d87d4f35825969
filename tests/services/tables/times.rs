//! Times in microseconds and nanoseconds: appended, sealed, merged, filtered, sorted, decimated,
//! exported and imported with all their digits. `formats` reads the exports of texts and files.

use crate::prelude::*;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stationdb::arrow::array::{
    Array, ArrayRef, Float64Array, RecordBatch, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};

use super::column;
use crate::rows::Rows;

/// 2024-01-01 in nanoseconds.
const START: i64 = 1_704_067_200_000_000_000;
const ROWS: i64 = 30_000;

fn open(disk: &SharedDisk) -> (Store, Session) {
    let options = Store::options().maintenance_thread(false).seal_rows(7_000);
    let (store, session) = opened(options, disk.clone());
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
fn batch(rows: impl DoubleEndedIterator<Item = i64> + Clone) -> RecordBatch {
    let rows = rows.rev();
    let t: ArrayRef =
        Arc::new(TimestampNanosecondArray::from_iter_values(rows.clone().map(|at| START + at)));
    let us: ArrayRef = Arc::new(
        rows.clone()
            .map(|at| (at % 5 != 0).then_some(at - 7))
            .collect::<TimestampMicrosecondArray>(),
    );
    let v: ArrayRef = Arc::new(Float64Array::from_iter_values(rows.map(|at| (at % 1000) as f64)));
    RecordBatch::try_from_iter_with_nullable([("t", t, false), ("us", us, true), ("v", v, false)])
        .unwrap()
}

fn filled(session: &Session) -> TableId {
    filled_with(session, (0..ROWS).step_by(1_000).map(|from| batch(from..from + 1_000)))
}

/// Every other row, and then the rows between them, so that runs overlap.
fn interleaved(session: &Session) -> TableId {
    let halves = [0, 1].into_iter().flat_map(|first| {
        (first..ROWS).step_by(2_000).map(|from| batch((0..1_000).map(move |at| from + 2 * at)))
    });
    filled_with(session, halves)
}

fn filled_with(session: &Session, batches: impl Iterator<Item = RecordBatch>) -> TableId {
    let id = session.create_table(CreateTableRequest::new(columns())).unwrap();
    for batch in batches {
        session.append_batches(&id, &mut std::iter::once(Ok(batch)), None).unwrap();
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

/// What MAX_MIN keeps of equal widths: in each interval the first row of the least and of the
/// greatest value.
#[test]
fn filters_of_the_language_and_aggregates_have_the_unit_of_the_column() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (store, session) = open(&disk);
    let id = filled(&session);
    for _ in 0..2 {
        let filter = format!("t >= {} and t < {}", START + 17, START + 20);
        let found = scanned(&session, &id, ScanRequest::new().filter(filter));
        assert_eq!(found, [17, 18, 19]);
        let found = scanned(&session, &id, ScanRequest::new().filter("us == 4"));
        assert_eq!(found, [11]);
        let request = AggregateTableDataRequest::new()
            .group_by([AggregateKey::new("t").width(10_000.0)])
            .aggregates([Aggregate::new(AggregateFunction::Max).column("t")]);
        let groups = session.aggregate_table_data(&id, request).unwrap().groups;
        assert_eq!(groups.len(), 3);
        assert_eq!(groups[1].keys[0].as_deref(), Some("2024-01-01T00:00:00.000010000Z"));
        let max = groups[1].values[0].value.as_deref();
        assert_eq!(max, Some("2024-01-01T00:00:00.000019999Z"));
        store.maintain(&Control::default()).unwrap();
    }
}

/// A filter of the table of [`filled`], and the rows that it selects: the nanoseconds after its
/// start, from the first on and before the last.
const TIMES: &[(&str, std::ops::Range<i64>)] = &[
    ("t < \"2024-01-01T00:00:00.000000007Z\"", 0..7),
    ("\"2024-01-01T00:00:00.000000007Z\" > t", 0..7),
    ("t >= \"2024-01-01T01:00:00.000029990+01:00\"", 29_990..ROWS),
    ("t = \"2024-01-01T00:00:00.00002Z\"", 20_000..20_001),
    ("t = \"2024-01-01\"", 0..1),
    ("t in (\"2024-01-01T00:00:00.000000001Z\", 1704067200000000002)", 1..3),
    ("t < \"1704067200000000003\"", 0..3),
    ("t <= DateTime(2024, 1, 1)", 0..1),
    ("t > DateTime(2024, 1, 1) and t < DateTime(2025, 1, 1) + \"1.00:00\"", 1..ROWS),
    ("t > \"2024-01-01T00:00:00.000000990Z\" and t <= @0", 991..1_001),
    ("t < \"9999-12-31T00:00:00Z\"", 0..ROWS),
    ("t > \"9999-12-31\" or t < \"0001-01-01\"", 0..0),
    ("t != \"9999-12-31\"", 0..ROWS),
    // Cells of `us` are microseconds from 7 before 1970 on; every fifth is null.
    ("us < \"1969-12-31T23:59:59.999995Z\"", 1..2),
    ("us = \"1969-12-31T23:59:59.999995Z\"", 2..3),
    ("us in (\"1969-12-31T23:59:59.999995Z\", \"1969-12-31T23:59:59.999996Z\")", 2..4),
];

#[test]
fn filters_of_the_language_take_date_times_with_all_digits() {
    let disk: SharedDisk = Arc::new(MemoryDisk::new());
    let (_store, session) = open(&disk);
    for id in [filled(&session), interleaved(&session)] {
        let asked = |filter: &str| {
            ScanRequest::new()
                .columns(["t"])
                .filter(filter)
                .substitutions(["2024-01-01T00:00:00.000001Z"])
        };
        for (filter, expected) in TIMES {
            let found = scanned(&session, &id, asked(filter));
            assert_eq!(found, expected.clone().collect::<Vec<_>>(), "{filter}");
        }
        for (filter, digits) in [
            ("us < \"2024-01-01T00:00:00.0000001Z\"", 6),
            ("t = \"yesterday\"", 9),
            ("t in (1, \"2024-13-01\")", 9),
        ] {
            let error = session.scan(&id, asked(filter), &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{filter}");
            let text = format!("a date and time of at most {digits} digits");
            assert!(error.to_string().contains(&text), "{filter}: {error}");
        }
        // Only a comparison knows the unit.
        let error = session.scan(&id, asked("t + 1 < \"2024-01-01\""), &Control::default());
        assert!(error.is_err());
    }
}

fn extremes_of_widths(count: i64) -> Vec<i64> {
    let mut kept = Vec::new();
    let number = |at: i64| (at * count / (ROWS - 1)).min(count - 1);
    for interval in 0..count {
        let rows = || (0..ROWS).filter(|at| number(*at) == interval);
        let least = rows().min_by_key(|at| (at % 1000, *at)).unwrap();
        let greatest = rows().min_by_key(|at| (-(at % 1000), *at)).unwrap();
        kept.extend([least.min(greatest), least.max(greatest)]);
    }
    kept.dedup();
    kept
}

/// All times of the table are within 30 microseconds, and a double has steps of 256 nanoseconds
/// there: only whole counts of nanoseconds give these rows and skip these pages.
#[test]
fn summaries_and_intervals_have_the_resolution_of_the_column() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (store, session) = open(&disk);
    let ids = [filled(&session), interleaved(&session)];
    let kept = |id: &TableId, options: DecimationOptions| -> Vec<i64> {
        let request = QueryDecimatedDataRequest::new().decimation(options);
        let rows = session.query_decimated_data(id, request).unwrap().frame.to_data_frame().data;
        let nanos = |row: Vec<Option<String>>| -> i64 {
            row[0].as_ref().unwrap()["2024-01-01T00:00:00.".len()..]
                .trim_end_matches('Z')
                .parse()
                .unwrap()
        };
        rows.into_iter().map(nanos).collect()
    };
    let options = |method, y: &str| DecimationOptions::new(method).y_columns([y.to_owned()]);
    let check = |id: &TableId| {
        let width = |method| {
            options(method, "v").intervals(7).distribution(DecimationDistribution::EqualWidth)
        };
        assert_eq!(kept(id, width(DecimationMethod::MaxMin)), extremes_of_widths(7));
        let mut ends = extremes_of_widths(7);
        for interval in 0..7 {
            let first = (interval * (ROWS - 1) + 6) / 7;
            let next = ((interval + 1) * (ROWS - 1) + 6) / 7;
            ends.extend([first, if interval == 6 { ROWS } else { next } - 1]);
        }
        ends.sort_unstable();
        ends.dedup();
        assert_eq!(kept(id, width(DecimationMethod::EntryExit)), ends);
        // Times as values: microseconds that are null in every fifth row.
        let expected: Vec<i64> =
            (0..30).flat_map(|part| [part * 1000 + 1, part * 1000 + 999]).collect();
        assert_eq!(kept(id, options(DecimationMethod::MaxMin, "us").intervals(30)), expected);
        for (column, from, to) in [
            ("t", "2024-01-01T00:00:00.000012344Z", "2024-01-01T00:00:00.000012347Z"),
            ("us", "1970-01-01T00:00:00.012335Z", "1970-01-01T00:00:00.012340Z"),
        ] {
            let request = QueryTableDataRequest::new().filters(vec![
                filter(column, FilterOperation::GreaterThan, from),
                filter(column, FilterOperation::LessThan, to),
            ]);
            let touched = session.explain_query_table_data(id, request).unwrap().touched;
            assert!(touched.pages_pruned > 0, "{column}: {touched:?}");
            assert!(touched.rows_touched < 12_000, "{column}: {touched:?}");
            assert!((2..=4).contains(&touched.rows_passed), "{column}: {touched:?}");
        }
    };
    ids.iter().for_each(check);
    store.maintain(&Control::default()).unwrap();
    ids.iter().for_each(check);
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
    let request = ImportTableRequest::new().table(table());
    let parquet = bytes::Bytes::from(export(&id, ExportFormat::Parquet));
    let reader = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap().build().unwrap();
    let mut rows = Rows::new(request.clone(), Vec::new(), reader.map(Result::unwrap).collect());
    let made = session.import_rows(request, &mut rows, &Control::default()).unwrap();
    assert_eq!(made.columns[1].null_count, ROWS / 5);
    assert_eq!(export(&made.id.unwrap(), ExportFormat::Csv), csv);
    let made = session.create_table(table()).unwrap();
    let stream = export(&id, ExportFormat::ArrowStream);
    session.append_arrow(&made, &mut &stream[..], None).unwrap();
    assert_eq!(export(&made, ExportFormat::Csv), csv);
}

/// Data frames commonly count nanoseconds, whatever they were made of.
#[test]
fn nanoseconds_whose_finer_digits_are_zero_are_taken_by_coarser_columns() {
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (_store, session) = open(&disk);
    let append = |data_type: DataType, times: Vec<i64>| {
        let columns = vec![column("t", data_type, ColumnType::Index)];
        let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
        let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(times));
        let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
        let mut stream = Vec::new();
        let mut writer =
            stationdb::arrow::ipc::writer::StreamWriter::try_new(&mut stream, &batch.schema())
                .unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        session.append_arrow(&id, &mut &stream[..], None)?;
        let page = session.get_table_data(&id, GetTableDataRequest::default())?;
        Ok::<_, stationdb::Error>(page.frame.to_data_frame().data)
    };
    let cell = |text: &str| vec![Some(text.to_owned())];
    assert_eq!(
        append(DataType::Timestamp, vec![START, START + 2_000_000]).unwrap(),
        [cell("2024-01-01T00:00:00.000Z"), cell("2024-01-01T00:00:00.002Z")]
    );
    assert_eq!(
        append(DataType::TimestampMicros, vec![-1_000, START]).unwrap(),
        [cell("1969-12-31T23:59:59.999999Z"), cell("2024-01-01T00:00:00.000000Z")]
    );
    for (data_type, finest, part) in [
        (DataType::Timestamp, 1_000, "TIMESTAMP_US to keep"),
        (DataType::Timestamp, 1, "TIMESTAMP_NS to keep"),
        (DataType::TimestampMicros, 1, "TIMESTAMP_NS to keep"),
    ] {
        let error = append(data_type, vec![START, START + finest]).unwrap_err();
        assert_eq!(error.place(), Some(&Place::Cell { row: 1, column: "t".to_owned() }));
        for part in [part, "finerTimes = CUT"] {
            assert!(error.message().contains(part), "{part}: {error}");
        }
    }
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

/// As a double, the count before the least one of the type is the least one.
#[test]
fn a_time_beyond_the_type_equals_none_of_its_times() {
    let ends = ["1677-09-21T00:12:43.145224192Z", "2262-04-11T23:47:16.854775807Z"];
    let beyond = ["1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z"];
    for seal_rows in [1, 100] {
        let options = Store::options().maintenance_thread(false).seal_rows(seal_rows);
        let (_store, session) = opened(options, Arc::new(MemoryDisk::new()));
        let columns = vec![
            column("t", DataType::TimestampNanos, ColumnType::Index),
            column("u", DataType::TimestampNanos, ColumnType::Normal),
        ];
        let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
        let data = ends.map(|time| vec![Some(time.to_owned()); 2]);
        let request = AppendTableDataRequest::new().frame(DataFrame::new().data(data));
        session.append_table_data(&id, request).unwrap();
        for column in ["t", "u"] {
            let count = |test: &str, time: &str| {
                let request =
                    ScanRequest::new().filter(format!("{column} {test}").replace('@', time));
                let rows = session.scan(&id, request, &Control::default()).unwrap();
                rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
            };
            for (time, is_least) in [(beyond[0], true), (beyond[1], false)] {
                assert_eq!(count("= \"@\"", time), 0, "{column} {time}");
                assert_eq!(count("in (\"@\", 7)", time), 0, "{column} {time}");
                assert_eq!(count("!= \"@\"", time), 2, "{column} {time}");
                for (test, wants_more) in [("<", false), ("<=", false), (">", true), (">=", true)] {
                    let expected = if wants_more == is_least { 2 } else { 0 };
                    let found = count(&format!("{test} \"@\""), time);
                    assert_eq!(found, expected, "{column} {test} {time}");
                }
            }
            for end in ends {
                assert_eq!(count("= \"@\"", end), 1, "{column} {end}");
            }
        }
    }
}
