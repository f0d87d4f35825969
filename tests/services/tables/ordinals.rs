//! Rows by their append ordinals, and what is known of rows without reading them.

use crate::prelude::*;
use std::ops::Range;

use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use stationdb::arrow::array::{AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Float64Type, Int64Type};

use super::column;

/// The appends: index values that overlap and fall, the last ones in the buffer.
const APPENDS: [(Range<i64>, i64); 4] = [(0..300, 1), (100..500, -1), (400..650, 1), (0..20, 3)];

fn volts(at: i64) -> &'static str {
    ["NaN", "-5.5", "0", "7.25"][at as usize % 4]
}

fn filled(nan: bool) -> (Store, Session, TableId, Vec<i64>) {
    let options = Store::options().maintenance_thread(false).seal_rows(100);
    let (store, session) = opened(options, Arc::new(MemoryDisk::default()));
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("volts", DataType::Float64, ColumnType::Nullable),
        column("text", DataType::String, ColumnType::Nullable),
    ];
    let id = session.create_table(CreateTableRequest::new(columns)).unwrap();
    let mut appended = Vec::new();
    for (range, step) in APPENDS {
        let mut index: Vec<i64> = range.collect();
        if step < 0 {
            index.reverse();
        }
        let row = |at: &i64| {
            let volts = if nan { volts(*at) } else { volts(at % 3 + 1) };
            vec![Some(at.to_string()), (at % 9 != 0).then(|| volts.to_owned()), None]
        };
        let frame = DataFrame::new().data(index.iter().map(row));
        let request = AppendTableDataRequest::new().frame(frame);
        session.append_table_data(&id, request).unwrap();
        appended.extend(index);
        if appended.len() == 300 {
            store.maintain(&Control::default()).unwrap();
        }
    }
    (store, session, id, appended)
}

fn index_of(batch: &RecordBatch) -> Vec<i64> {
    batch.column(0).as_primitive::<Int64Type>().values().to_vec()
}

/// Reads around the borders of the blocks with checksums, in a file that nothing was read of.
fn assert_same_anywhere(stored: &StoredBytes, bytes: &[u8]) {
    const BLOCK: usize = 16 * 1024;
    assert_eq!(stored.byte_count(), bytes.len() as u64);
    let near = |at: usize| [at.saturating_sub(1), at, at + 1];
    let mut places: Vec<usize> = (0..=bytes.len()).step_by(BLOCK).flat_map(near).collect();
    places.extend([bytes.len() - 1, bytes.len()]);
    places.retain(|at| *at <= bytes.len());
    for from in &places {
        for to in places.iter().filter(|to| *to >= from) {
            let mut out = vec![0; to - from];
            stored.read_at(*from as u64, &mut out).unwrap();
            assert!(out == bytes[*from..*to], "{from}..{to}");
        }
    }
    for from in [bytes.len() as u64, u64::MAX] {
        let beyond = stored.read_at(from, &mut [0]).unwrap_err();
        assert_eq!(beyond.kind(), ErrorKind::InvalidArgument);
    }
}

/// The ordinal and index value of each row that is passed on, and the number of whole files.
fn exported(session: &Session, id: &TableId, ordinals: Range<u64>) -> (Vec<(u64, i64)>, usize) {
    let (mut rows, mut files) = (Vec::new(), 0);
    let mut next = 0;
    let each = &mut |part: stationdb::tables::RowsPart<'_>| {
        assert!(part.first_ordinal >= next, "ascending");
        next = part.first_ordinal + part.row_count;
        let mut own = match part.rows {
            PartRows::Batch(batch) => (part.first_ordinal..).zip(index_of(&batch)).collect(),
            PartRows::Segment(stored) => {
                files += 1;
                let ordinals = stored.ordinals(0..part.row_count)?;
                assert_eq!(stored.is_in_append_order(), ordinals.is_sorted());
                let beyond = stored.ordinals(0..part.row_count + 1).unwrap_err();
                assert_eq!(beyond.kind(), ErrorKind::InvalidArgument);
                let mut bytes = Vec::new();
                let anywhere = stored.bytes();
                std::io::copy(stored.file.data, &mut bytes)?;
                assert_same_anywhere(&anywhere, &bytes);
                let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
                let index: Vec<i64> =
                    reader.build().unwrap().flat_map(|batch| index_of(&batch.unwrap())).collect();
                assert!(index.is_sorted());
                let mut own: Vec<(u64, i64)> = ordinals.into_iter().zip(index).collect();
                own.sort_unstable();
                own
            }
            _ => return Err(Error::io("exporting", std::io::Error::other("an unknown form"))),
        };
        assert_eq!(own.len() as u64, part.row_count);
        rows.append(&mut own);
        Ok(())
    };
    let count = session.export_rows(id, ordinals, each, &Control::default()).unwrap();
    assert_eq!(count, rows.len() as u64);
    (rows, files)
}

#[test]
fn rows_are_exported_by_ordinal_whatever_is_sealed_and_merged() {
    let (store, session, id, appended) = filled(true);
    let all: Vec<(u64, i64)> = (0..).zip(appended).collect();
    let mut seen_files = Vec::new();
    for pass in 0..4 {
        for ordinals in [0..u64::MAX, 0..0, 0..1, 299..301, 50..650, 960..970, 2000..3000] {
            let (rows, files) = exported(&session, &id, ordinals.clone());
            let expected: Vec<_> =
                all.iter().filter(|(at, _)| ordinals.contains(at)).copied().collect();
            assert_eq!(rows, expected, "pass {pass}, {ordinals:?}");
            if ordinals.end == u64::MAX {
                seen_files.push(files);
            }
        }
        match pass {
            0 => drop(store.maintain(&Control::default()).unwrap()),
            1 => session
                .append_table_data(&id, serde_json::from_str(r#"{"endOfData":true}"#).unwrap())
                .unwrap(),
            _ => drop(store.maintain(&Control::default()).unwrap()),
        }
    }
    assert_eq!(seen_files.last(), Some(&1), "one run: {seen_files:?}");
    let stopped = session.export_rows(
        &id,
        0..u64::MAX,
        &mut |_| Err(Error::io("stopping", std::io::Error::other("enough"))),
        &Control::default(),
    );
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Io);
    let control = Control::default();
    control.cancel();
    let cancelled = session.export_rows(&id, 0..u64::MAX, &mut |_| Ok(()), &control);
    assert_eq!(cancelled.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn statistics_are_those_of_the_rows() {
    for nan in [true, false] {
        let (store, session, id, appended) = filled(nan);
        for pass in 0..3 {
            let known = session.table_statistics(&id).unwrap();
            let mut volts: Vec<Option<f64>> = Vec::new();
            for batch in session.scan(&id, Default::default(), &Control::default()).unwrap() {
                volts.extend(batch.unwrap().column(1).as_primitive::<Float64Type>().iter());
            }
            assert_eq!(known.row_count, appended.len() as u64, "pass {pass}");
            assert_eq!(known.index, "t");
            assert_eq!(known.overlapping_runs > 0, pass < 2, "pass {pass}");
            let [t, v, text] = &known.columns[..] else { panic!("{known:?}") };
            assert_eq!((t.min, t.max), (Some(Number::Int(0)), Some(Number::Int(649))));
            assert_eq!((t.null_count, t.nan_count), (Some(0), Some(0)));
            let count = |test: &dyn Fn(&Option<f64>) -> bool| {
                Some(volts.iter().filter(|value| test(value)).count() as u64)
            };
            assert_eq!(v.null_count, count(&|value| value.is_none()), "pass {pass}");
            assert_eq!(v.nan_count, count(&|value| value.is_some_and(f64::is_nan)));
            assert_eq!(v.nan_count > Some(0), nan);
            assert_eq!((v.min, v.max), (Some(Number::Float(-5.5)), Some(Number::Float(7.25))));
            assert_eq!((text.null_count, text.nan_count, text.min), (None, Some(0), None));
            match pass {
                0 => drop(store.maintain(&Control::default()).unwrap()),
                _ => {
                    let end = serde_json::from_str(r#"{"endOfData":true}"#).unwrap();
                    if session.append_table_data(&id, end).is_ok() {
                        store.maintain(&Control::default()).unwrap();
                    }
                }
            }
        }
    }
}

#[test]
fn deleted_rows_are_neither_exported_nor_counted() {
    let (store, session, id, appended) = filled(true);
    let mut left: Vec<(u64, i64)> = (0..).zip(appended).collect();
    let mut known_again = 0;
    // Rows in the middle of segments and in the buffer, the smallest, the largest, whole segments.
    for range in [5..7, 120..180, 0..40, 630..700, 200..500] {
        let request = DeleteRowsRequest::new()
            .index_from(range.start.to_string())
            .index_before(range.end.to_string());
        session.delete_rows(&id, request).unwrap();
        left.retain(|(_, t)| !range.contains(t));
        for pass in 0..2 {
            for ordinals in [0..u64::MAX, 3..305, 290..960] {
                let (rows, _) = exported(&session, &id, ordinals.clone());
                let expected: Vec<_> =
                    left.iter().filter(|(at, _)| ordinals.contains(at)).copied().collect();
                assert_eq!(rows, expected, "{range:?}, pass {pass}, {ordinals:?}");
            }
            let known = session.table_statistics(&id).unwrap();
            assert_eq!(known.row_count, left.len() as u64, "{range:?}, pass {pass}");
            let t = &known.columns[0];
            let number = |t: Option<&(u64, i64)>| t.map(|(_, t)| Number::Int(*t));
            if t.min.is_some() {
                known_again += 1;
                assert_eq!(t.min, number(left.iter().min_by_key(|(_, t)| t)), "{range:?}");
            }
            if t.max.is_some() {
                assert_eq!(t.max, number(left.iter().max_by_key(|(_, t)| t)), "{range:?}");
            }
            store.maintain(&Control::default()).unwrap();
        }
    }
    assert!(known_again > 0, "rewritten segments have statistics");
}

/// What is zero among all stored rows is zero among those that are left, and an extreme is known if
/// its row is left.
#[test]
fn a_deleted_row_leaves_what_it_does_not_change_known() {
    for nan in [false, true] {
        let (store, session, id, _) = filled(nan);
        let delete = |from: i64, before: i64| {
            let request = DeleteRowsRequest::new()
                .index_from(from.to_string())
                .index_before(before.to_string());
            session.delete_rows(&id, request).unwrap();
            session.table_statistics(&id).unwrap().columns
        };
        store.maintain(&Control::default()).unwrap();
        let known = delete(5, 6);
        let ends = |known: &[stationdb::tables::ColumnStatistics]| (known[0].min, known[0].max);
        assert_eq!(ends(&known), (Some(Number::Int(0)), Some(Number::Int(649))));
        assert_eq!(known[1].nan_count == Some(0), !nan);
        assert_eq!(ends(&delete(649, 650)), (Some(Number::Int(0)), None));
        assert_eq!(ends(&delete(0, 1)), (None, None));
    }
}
