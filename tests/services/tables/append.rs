//! Appends to one table in different ways: through the buffer, directly to segments, inside
//! transactions.

use crate::prelude::*;
use std::ops::Range;

use stationdb::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{column, int64_values};

/// A batch of this many rows goes directly to a segment.
const SORT_ROWS: usize = 256 * 1024;

fn open(disk: &SharedDisk) -> (Store, Session) {
    let (store, session) = opened(Store::options().maintenance_thread(false), disk.clone());
    (store, session)
}

/// A table with the index `t` and a column of this type.
fn request(name: &str, data_type: DataType) -> CreateTableRequest {
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column(name, data_type, ColumnType::Normal),
    ];
    CreateTableRequest::new(columns)
}

fn append(session: &Session, id: &str, batch: RecordBatch) {
    session.append_batches(&id.into(), &mut std::iter::once(Ok(batch)), None).unwrap();
}

/// The text of Arrow's reader has names of types of Rust.
#[test]
fn a_batch_that_cannot_be_read_is_told_in_words_of_this_library() {
    use std::error::Error as _;

    use stationdb::arrow::error::ArrowError;
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let (_store, session) = open(&disk);
    let id = session.create_table(request("n", DataType::Int64)).unwrap();
    let foreign = "Unaligned { position: 7, unaligned_type: \"i64\" }";
    let refused = |error: ArrowError| {
        let mut batches = [Ok(numbered(0..3)), Err(error)].into_iter();
        session.append_batches(&id, &mut batches, None).unwrap_err()
    };
    let error = refused(ArrowError::ParseError(foreign.to_owned()));
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(error.message(), "batch 2 of those to append cannot be read");
    assert!(error.source().unwrap().to_string().contains(foreign));
    // What the caller's own code says is for the caller.
    let own = refused(ArrowError::ExternalError("the sensor is off".into()));
    assert!(own.message().ends_with(": the sensor is off"), "{own}");
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(0));
}

/// Numbered rows with the same index value, so that they are ordered by append.
fn numbered(rows: Range<i64>) -> RecordBatch {
    let index: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone().map(|_| 5)));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
    RecordBatch::try_from_iter([("t", index), ("n", numbers)]).unwrap()
}

/// The numbers of `rows`, read in small pages, in the order of the index or in descending order.
fn walk(session: &Session, id: &str, rows: &Range<i64>, descending: bool) -> Vec<i64> {
    let filter = |operation, value: i64| ColumnFilter::new("n", operation).value(value.to_string());
    let by = ColumnOrderBy::new("t").descending(true);
    let mut request = QueryTableDataRequest::new()
        .columns(["n"])
        .filters([
            filter(FilterOperation::GreaterThanEquals, rows.start),
            filter(FilterOperation::LessThan, rows.end),
        ])
        .take(4)
        .maybe_order_by(descending.then(|| vec![by]));
    let mut seen = Vec::new();
    loop {
        let page = session.query_table_data(&id.into(), request.clone()).unwrap();
        seen.extend(
            page.frame
                .to_data_frame()
                .data
                .iter()
                .map(|row| row[0].as_ref().unwrap().parse::<i64>().unwrap()),
        );
        request.continuation_token = page.continuation_token;
        if request.continuation_token.is_none() {
            return seen;
        }
    }
}

#[test]
fn small_appends_around_a_large_one_keep_their_places() {
    let disk = disk();
    let (store, session) = open(&disk);
    let id = session.create_table(request("n", DataType::Int64)).unwrap().to_string();
    let large = 3..3 + SORT_ROWS as i64;
    let total = large.end + 3;
    for rows in [0..large.start, large.clone(), large.end..total] {
        append(&session, &id, numbered(rows));
    }
    let check = |session: &Session, state: &str| {
        let mut next = 0;
        let only = ScanRequest::new().columns(["n"]);
        for batch in session.scan(&id.as_str().into(), only, &Control::default()).unwrap() {
            let batch = batch.unwrap();
            let numbers = int64_values(&batch, 0);
            assert!(
                numbers.iter().copied().eq(next..next + numbers.len() as i64),
                "{state}: out of order at {next}"
            );
            next += numbers.len() as i64;
        }
        assert_eq!(next, total, "{state}");
        for rows in [0..7, large.end - 4..total] {
            for descending in [false, true] {
                assert_eq!(
                    walk(session, &id, &rows, descending),
                    rows.clone().collect::<Vec<_>>(),
                    "{state}"
                );
            }
        }
    };
    check(&session, "buffered on both sides");
    let mut files = Vec::new();
    session
        .export_segments(
            &id.as_str().into(),
            &mut |file| {
                files.push(file.row_count);
                Ok(())
            },
            &Control::default(),
        )
        .unwrap();
    assert_eq!(files, [3, SORT_ROWS as u64, 3], "nothing of the buffer is left out");
    check(&session, "sealed");
    session
        .append_table_data(&id.as_str().into(), AppendTableDataRequest::new().end_of_data(true))
        .unwrap();
    store.maintain(&Control::default()).unwrap();
    drop((session, store));
    let (_store, session) = open(&disk);
    check(&session, "merged and opened again");
}

#[test]
fn what_a_refused_transaction_buffered_is_of_no_other_table() {
    let (_store, session) = open(&disk());
    let frame = || {
        let cell = |text: &str| Some(text.to_owned());
        let frame = DataFrame::new().data([[cell("1"), cell("0")]]);
        AppendTableDataRequest::new().frame(frame)
    };
    let mut nullable = request("v", DataType::Int64);
    nullable.columns[1].column_type = ColumnType::Nullable;
    // The same id, and the same bits with another type, another name and another column type.
    for other in [
        request("v", DataType::Float64),
        request("w", DataType::Int64),
        request("v", DataType::Int64),
    ] {
        let mut first = None;
        let refused: Result<()> = session.transaction(|tx| {
            let id = tx.create_table(nullable.clone())?;
            tx.append_table_data(&id, frame())?;
            assert_eq!(tx.get_table_data(&id, GetTableDataRequest::default())?.total_row_count, 1);
            first = Some(id);
            Err(Error::invalid("never mind"))
        });
        assert!(refused.is_err());
        let id = session.create_table(other).unwrap();
        assert_eq!(Some(&id), first.as_ref());
        session.append_table_data(&id, frame()).unwrap();
        let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
        assert_eq!(page.frame.to_data_frame().data, frame().frame.unwrap().data);
    }
}

#[test]
fn long_texts_in_a_transaction_are_cut_into_batches() {
    let (_store, session) = open(&disk());
    let id = session.create_table(request("s", DataType::String)).unwrap();
    let index: ArrayRef = Arc::new(Int64Array::from(vec![2, 1, 3]));
    let text = "x".repeat(stationdb::faults::limits::BATCH_BYTES / 2);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text.as_str(), "", text.as_str()]));
    let batch = RecordBatch::try_from_iter([("t", index), ("s", texts)]).unwrap();
    session
        .transaction(|tx| tx.append_batches(&id, &mut std::iter::once(Ok(batch)), None))
        .unwrap();
    let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
    let lengths: Vec<usize> =
        page.frame.to_data_frame().data.iter().map(|row| row[1].as_ref().unwrap().len()).collect();
    assert_eq!(lengths, [0, text.len(), text.len()]);
}

#[test]
fn a_small_part_of_a_large_batch_is_a_small_append() {
    let disk = disk();
    let (_store, session) = open(&disk);
    let id = session.create_table(request("n", DataType::Int64)).unwrap();
    let whole = numbered(0..5_000_000);
    for at in [0, 4_000_000] {
        append(&session, &id, whole.slice(at, 10));
    }
    assert!(!disk.exists(&format!("tables/{id}")).unwrap(), "it is buffered");
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(20));
}

#[test]
fn a_table_may_have_as_many_columns_as_the_store_was_told() {
    let count = stationdb::faults::limits::IMPORT_COLUMNS + 1;
    let (_store, session) =
        opened(Store::options().maintenance_thread(false).table_columns_max(count), disk());
    let mut request = request("0", DataType::Bool);
    request.columns.extend(
        (1..count - 1).map(|at| {
            Column::new(at.to_string(), DataType::Bool).column_type(ColumnType::Nullable)
        }),
    );
    let id = session.create_table(request).unwrap();
    let frame =
        DataFrame::new().columns(["t", "0"]).data([[Some("1".into()), Some("true".into())]]);
    session.append_table_data(&id, AppendTableDataRequest::new().frame(frame)).unwrap();
    let page = session.get_table_data(&id, GetTableDataRequest::default()).unwrap();
    assert_eq!(page.frame.columns.len(), count);
}
