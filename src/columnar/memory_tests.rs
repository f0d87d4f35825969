//! Memory of reads, sorts and exports: bounded by the query, not by the table.

use std::sync::Arc;

use super::exchange::export::export_parquet_in;
use super::exchange::frame::column_of_texts;
use super::order::select::{key_rows, select_rows};
use super::read::rows::read_page_within;
use super::write::buffer::{batch_bytes, encode_batch};
use super::*;
use crate::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use crate::disk::{MemoryDisk, SharedDisk};
use crate::error::{ErrorKind, Place};
use crate::model::tables::data::{ColumnType, DataType, column};
use crate::value::{Control, limits};

/// An index column and a text column.
fn schema() -> Arc<TableSchema> {
    let columns = vec![
        column("i", DataType::Int64, ColumnType::Index),
        column("s", DataType::String, ColumnType::Normal),
    ];
    Arc::new(TableSchema::with_default_limit(columns).unwrap())
}

/// Rows from `from` on with a distance of `step`, whose texts have this length and are in no order.
fn rows(schema: &TableSchema, from: i64, step: i64, count: i64, text_bytes: usize) -> RecordBatch {
    let index: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..count).map(|at| from + at * step)));
    let text = |at: i64| format!("{:08}{}", at * 7919 % 10_007, "x".repeat(text_bytes - 8));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(text)));
    RecordBatch::try_new(schema.arrow().clone(), vec![index, texts]).unwrap()
}

/// 3,000 rows in three runs.
fn view(schema: &Arc<TableSchema>, text_bytes: usize) -> Arc<TableView> {
    let whole = rows(schema, 0, 1, 3000, text_bytes);
    let run = |at: usize| {
        Run::from(Arc::new(MemoryRun::new(schema, &[whole.slice(at, 1000)], at as u64).unwrap()))
    };
    Arc::new(TableView::new(schema.clone(), [0, 1000, 2000].map(run).to_vec()))
}

fn sorted_by_text(memory_bytes: usize, spill: Option<SpillPlace>) -> RowQuery {
    let order = vec![OrderColumn { column: 1, descending: true }];
    RowQuery { columns: vec![0, 1], order, memory_bytes, spill, ..RowQuery::default() }
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    batch_rows(batch).into_iter().map(|row| row[1].clone().unwrap()).collect()
}

#[test]
fn runs_that_are_merged_wait_with_few_rows_each() {
    const RUNS: i64 = 24;
    const ROWS: i64 = 4096;
    let schema = schema();
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    disk.create_dir_all("t").unwrap();
    let runs = (0..RUNS).map(|at| {
        let mut writer =
            SegmentWriter::new(disk.clone(), "t", at as u64, schema.clone(), (at * ROWS) as u64)
                .unwrap();
        writer.write(&rows(&schema, at, RUNS, ROWS, 8), None).unwrap();
        Run::from(Arc::new(
            Segment::open(&disk, "t", writer.finish().unwrap(), schema.clone()).unwrap(),
        ))
    });
    let view = Arc::new(TableView::new(schema.clone(), runs.collect()));
    let mut scan =
        MergedScan::new(view, Arc::default(), vec![0], None, Control::default()).unwrap();
    let mut next = 0;
    let mut most = 0;
    while let Some(chunk) = scan.next_chunk().unwrap() {
        let values = index_values(chunk.batch.column(0)).unwrap().into_owned();
        assert!(values.iter().copied().eq(next..next + values.len() as i64), "{next}");
        next += values.len() as i64;
        most = most.max(scan.waiting_rows());
    }
    assert_eq!(next, RUNS * ROWS);
    assert!(most as i64 <= 3 * ROWS, "{most} of {next} rows waited");
}

#[test]
fn merged_rows_of_long_texts_come_in_small_batches() {
    let schema = schema();
    let run = |at: i64| {
        let run = MemoryRun::new(&schema, &[rows(&schema, at, 2, 250, 100_000)], 250 * at as u64)
            .unwrap();
        Run::from(Arc::new(run))
    };
    let view = Arc::new(TableView::new(schema.clone(), vec![run(0), run(1)]));
    let mut scan =
        MergedScan::new(view, Arc::default(), vec![0, 1], None, Control::default()).unwrap();
    let mut next = 0;
    while let Some(chunk) = scan.next_chunk().unwrap() {
        assert!(batch_bytes(&chunk.batch) <= 33 << 20, "{}", batch_bytes(&chunk.batch));
        let values = index_values(chunk.batch.column(0)).unwrap().into_owned();
        assert!(values.iter().copied().eq(next..next + values.len() as i64), "{next}");
        next += values.len() as i64;
    }
    assert_eq!(next, 500);
}

#[test]
fn ordered_texts_are_fetched_in_parts_that_memory_holds() {
    const MEMORY: usize = 1 << 20;
    let schema = schema();
    let view = view(&schema, 2000);
    let query = sorted_by_text(MEMORY, None);
    let mut seen = Vec::new();
    for batch in RowStream::new(view.clone(), query, Control::default()).unwrap() {
        let batch = batch.unwrap();
        assert!(batch.get_array_memory_size() <= MEMORY, "{}", batch.get_array_memory_size());
        seen.extend(texts(&batch));
    }
    assert_eq!(seen.len(), 3000);
    assert!(seen.is_sorted_by(|a, b| a >= b));
    // Keys as long as their texts: fewer rows than requested, and the rest after them.
    let order = [OrderColumn { column: 1, descending: true }];
    let select = |after: Option<&After>| {
        select_rows(
            &view,
            &Predicates::default(),
            &order,
            after,
            (3000, MEMORY),
            &Control::default(),
        )
        .unwrap()
    };
    let (mut after, mut positions) = (None, Vec::new());
    loop {
        let part = select(after.as_ref());
        assert!(part.is_all || part.rows.len() == 1024, "{}", part.rows.len());
        after = part.rows.last().map(order::select::SelectedRow::after);
        positions.extend(part.rows.iter().map(|row| row.ordinal));
        if part.is_all {
            break;
        }
    }
    let all = select_rows(
        &view,
        &Predicates::default(),
        &order,
        None,
        (3001, usize::MAX),
        &Control::default(),
    )
    .unwrap();
    assert!(all.is_all);
    assert_eq!(positions, all.rows.iter().map(|row| row.ordinal).collect::<Vec<_>>());
}

#[test]
fn a_sort_of_wide_rows_by_way_of_files_answers_in_small_batches() {
    let schema = schema();
    let view = view(&schema, 8000);
    let disk: SharedDisk = Arc::new(MemoryDisk::default());
    let place = SpillPlace {
        disk,
        dir: "tmp",
        numbers: Arc::default(),
        bytes_max: u64::MAX,
        reserve_bytes: 0,
    };
    let mut seen = Vec::new();
    for batch in
        RowStream::new(view, sorted_by_text(1000, Some(place)), Control::default()).unwrap()
    {
        let batch = batch.unwrap();
        assert!(batch_bytes(&batch) <= 12 << 20, "{}", batch_bytes(&batch));
        seen.extend(texts(&batch));
    }
    assert_eq!(seen.len(), 3000);
    assert!(seen.is_sorted_by(|a, b| a >= b));
}

#[test]
fn a_part_of_a_batch_is_encoded_in_its_own_size() {
    let schema = schema();
    let part = rows(&schema, 0, 1, 20_000, 20).slice(10_000, 10);
    let bytes = encode_batch(&schema, &part).unwrap();
    assert!(bytes.capacity() < 2 * bytes.len() + 100, "{} for {}", bytes.capacity(), bytes.len());
}

#[test]
fn row_groups_of_an_export_are_bounded_by_their_bytes() {
    let schema = schema();
    let batch = rows(&schema, 0, 1, 4000, 100);
    let parts = (0..8).map(|at| Ok(batch.slice(at * 500, 500)));
    let mut out = Vec::new();
    assert_eq!(export_parquet_in(schema.arrow(), parts, &mut out, 4 * 1024).unwrap(), 4000);
    let file = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
        bytes::Bytes::from(out),
    )
    .unwrap();
    assert!(file.metadata().num_row_groups() > 2, "{}", file.metadata().num_row_groups());
    let read: Vec<RecordBatch> = file.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(read.iter().flat_map(texts).collect::<Vec<_>>(), texts(&batch));
}

#[test]
fn texts_beyond_what_an_array_holds_are_refused() {
    let text = "x".repeat(1 << 26);
    let column = column("s", DataType::String, ColumnType::Normal);
    let place = |row: usize| Place::Cell { row: row as u64, column: "s".to_owned() };
    let error = column_of_texts(&column, 32, &|_| Some(text.as_str()), &place).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
}

#[test]
fn a_page_of_long_keys_is_put_together_from_parts() {
    let schema = schema();
    let view = view(&schema, 4000);
    let page = |memory_bytes: usize, after: Option<&After>| {
        let query = RowQuery { take: Some(2500), ..sorted_by_text(memory_bytes, None) };
        read_page(&view, &query, after, &Control::default()).unwrap()
    };
    let (parts, whole) = (page(1, None), page(usize::MAX, None));
    assert_eq!((texts(&parts.batch).len(), &texts(&parts.batch)), (2500, &texts(&whole.batch)));
    assert_eq!(parts.next_after, whole.next_after);
    let rest = page(1, parts.next_after.as_ref());
    assert_eq!((texts(&rest.batch).len(), rest.next_after), (500, None));
}

#[test]
fn keys_that_are_longer_than_all_memory_are_selected_one_by_one() {
    let view = view(&schema(), 2000);
    let order = [OrderColumn { column: 1, descending: true }];
    let select = |after: Option<&After>, bytes| {
        select_rows(&view, &Predicates::default(), &order, after, (5, bytes), &Control::default())
            .unwrap()
    };
    let expected: Vec<u64> = select(None, usize::MAX).rows.iter().map(|row| row.ordinal).collect();
    let mut seen: Vec<u64> = Vec::new();
    while seen.len() < 5 {
        let after = seen.last().map(|ordinal| After { ordinal: *ordinal, key: None });
        let part = select(after.as_ref(), 100);
        assert_eq!((part.rows.len(), part.is_all), (1, false));
        seen.extend(part.rows.iter().map(|row| row.ordinal));
    }
    assert_eq!(seen, expected);
}

#[test]
fn rows_of_an_order_of_many_columns_are_looked_at_few_at_a_time() {
    let index = column("i", DataType::Int64, ColumnType::Index);
    let others =
        (0..2_499).map(|at| column(&format!("v{at}"), DataType::Float64, ColumnType::Normal));
    let schema =
        TableSchema::with_default_limit([index].into_iter().chain(others).collect()).unwrap();
    let order = |columns: usize| -> Vec<OrderColumn> {
        (0..columns).map(|column| OrderColumn { column, descending: false }).collect()
    };
    let rows = |columns: usize| key_rows(&schema, &order(columns), 64 << 20, 256 * 1024).unwrap();
    assert_eq!(rows(1), 256 * 1024);
    for columns in [100, 500, 1_500] {
        let bytes = rows(columns) * columns * 9;
        assert!((8 << 20..=32 << 20).contains(&bytes), "{columns}: {bytes}");
    }
    assert_eq!(rows(2_500), 1024, "no fewer than a block");
}

/// The rows of the first pages of at most so many bytes, and how many each page has.
fn pages(
    view: &Arc<TableView>,
    query: &RowQuery,
    bytes_max: usize,
    most: usize,
) -> (Vec<String>, Vec<usize>) {
    let (mut seen, mut counts, mut after) = (Vec::new(), Vec::new(), None);
    while counts.len() < most {
        let page =
            read_page_within(view, query, after.as_ref(), bytes_max, &Control::default()).unwrap();
        seen.extend(texts(&page.batch));
        counts.push(page.batch.num_rows());
        after = page.next_after;
        if after.is_none() {
            break;
        }
    }
    (seen, counts)
}

#[test]
fn a_page_ends_before_the_row_with_which_it_has_too_many_bytes() {
    let schema = schema();
    let view = view(&schema, 4000);
    let by_index = RowQuery { columns: vec![0, 1], ..RowQuery::default() };
    for query in [by_index, sorted_by_text(1 << 20, None)] {
        let query = RowQuery { take: Some(200), ..query };
        let first = read_page(&view, &query, None, &Control::default()).unwrap();
        let whole = batch_bytes(&first.batch);
        let (all, counts) = pages(&view, &query, usize::MAX, usize::MAX);
        assert_eq!((all.len(), counts), (3000, vec![200; 15]));
        let (seen, counts) = pages(&view, &query, 1, 3);
        assert_eq!((&seen[..], counts), (&all[..3], vec![1; 3]), "a page has a row");
        // A part of a page may take a few bytes more than its share of the whole: each part that is
        // put together has an offset more.
        for (bytes, least, most) in
            [(whole + 100, 200, 200), (whole - 100, 199, 199), (whole / 2, 99, 100)]
        {
            let (seen, counts) = pages(&view, &query, bytes, usize::MAX);
            assert_eq!(seen, all, "{bytes}");
            let full = &counts[..counts.len() - 1];
            assert!(full.iter().all(|count| (least..=most).contains(count)), "{bytes}: {counts:?}");
        }
    }
}

#[test]
fn a_page_holds_at_its_bytes_and_not_above() {
    // Four rows: besides its text a row has its index and an offset, and the last offset is an end.
    const TEXT: usize = (limits::ROWS_PAGE_BYTES - 4 * 8 - 5 * 4) / 4;
    let schema = schema();
    let page = |text_bytes: usize| {
        let rows = rows(&schema, 0, 1, 5, text_bytes);
        let run = MemoryRun::new(&schema, &[rows], 0).unwrap();
        let view = Arc::new(TableView::new(schema.clone(), vec![Run::from(Arc::new(run))]));
        let query = RowQuery { columns: vec![0, 1], take: Some(5), ..RowQuery::default() };
        let page = read_page(&view, &query, None, &Control::default()).unwrap();
        assert!(batch_bytes(&page.batch) <= limits::ROWS_PAGE_BYTES);
        (page.batch.num_rows(), page.next_after.is_some())
    };
    assert_eq!(page(TEXT), (4, true));
    assert_eq!(page(TEXT + 1), (3, true));
}

/// Rows of long texts are fetched a few at a time also where a query has much memory.
#[test]
fn the_first_rows_of_an_ordered_stream_are_few_if_they_may_have_long_texts() {
    let schema = schema();
    let view = view(&schema, 20_000);
    let mut stream =
        RowStream::new(view, sorted_by_text(1 << 30, None), Control::default()).unwrap();
    let first = stream.next().unwrap().unwrap();
    assert!(batch_bytes(&first) <= 2 << 20, "{}", batch_bytes(&first));
    assert_eq!(
        first.num_rows() + stream.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        3000
    );
}
