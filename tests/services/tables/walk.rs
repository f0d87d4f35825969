//! Reads while others write: prefixes of the appends, walks by token, no waiting for a seal or a
//! merge; and the contents of plans.

use crate::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use proptest::prelude::*;
use stationdb::arrow::array::RecordBatch;

use super::column;
use super::int64_values;

fn create(session: &Session) -> String {
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("n", DataType::Int64, ColumnType::Normal),
        column("v", DataType::Float64, ColumnType::Nullable),
    ];
    session.create_table(CreateTableRequest::new(columns)).unwrap().to_string()
}

fn append(session: &Session, id: &str, rows: impl Iterator<Item = (i64, i64)>) {
    let row = |(t, n): (i64, i64)| {
        vec![Some(t.to_string()), Some(n.to_string()), (n % 3 != 0).then(|| (n % 5).to_string())]
    };
    let frame = DataFrame::new().data(rows.map(row));
    session.append_table_data(&id.into(), AppendTableDataRequest::new().frame(frame)).unwrap();
}

/// The cells of `t` and `n`.
fn texts(batch: &RecordBatch) -> Vec<Vec<Option<String>>> {
    let columns: Vec<&[i64]> = (0..2).map(|column| int64_values(batch, column)).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|values| Some(values[row].to_string())).collect())
        .collect()
}

fn number(cell: &Option<String>) -> i64 {
    cell.as_deref().unwrap().parse().unwrap()
}

const BATCH: i64 = 20;

/// One thread writes, one seals and merges, two scan and two decimate, on a disk with slow syncs.
#[test]
fn readers_see_prefixes_and_wait_for_nobody() {
    const SYNC: Duration = Duration::from_millis(120);
    const APPENDS: i64 = 14;
    let disk = SimDisk::new(1);
    let (store, session) = opened(
        Store::options().maintenance_thread(false).seal_rows(60),
        Arc::new(disk.clone()) as SharedDisk,
    );
    let id = create(&session);
    append(&session, &id, (0..BATCH).map(|at| ((at * 7) % 50, at)));
    disk.set_latency(OpKind::Sync, SYNC);
    let is_done = AtomicBool::new(false);
    let acknowledged = AtomicU64::new(BATCH as u64);
    let written = AtomicU64::new(0);
    let mut waits = Vec::new();
    std::thread::scope(|scope| {
        let (store, session, id, is_done, acknowledged, written) =
            (&store, &session, id.as_str(), &is_done, &acknowledged, &written);
        scope.spawn(move || {
            let mut batch = 0;
            // A pass of maintenance has checkpoints, so it takes longer than some appends.
            while batch < APPENDS || (written.load(Ordering::SeqCst) < 2 && batch < 4 * APPENDS) {
                batch += 1;
                append(
                    session,
                    id,
                    (batch * BATCH..(batch + 1) * BATCH).map(|at| ((at * 7) % 50, at)),
                );
                acknowledged.fetch_max(((batch + 1) * BATCH) as u64, Ordering::SeqCst);
            }
            is_done.store(true, Ordering::SeqCst);
        });
        scope.spawn(move || {
            while !is_done.load(Ordering::SeqCst) {
                let made = store.maintain(&Control::default()).unwrap().segments_written;
                written.fetch_add(made, Ordering::SeqCst);
            }
        });
        let readers: Vec<_> = (0..4)
            .map(|reader| {
                scope.spawn(move || {
                    let mut waits = Vec::new();
                    let mut seen = 0;
                    while !is_done.load(Ordering::SeqCst) {
                        let least = acknowledged.load(Ordering::SeqCst);
                        let start = Instant::now();
                        let rows: Vec<Vec<Option<String>>> = if reader % 2 == 0 {
                            let scan = session
                                .scan(&id.into(), ScanRequest::default(), &Control::default())
                                .unwrap();
                            scan.flat_map(|batch| texts(&batch.unwrap())).collect()
                        } else {
                            let decimation = DecimationOptions::new(DecimationMethod::EntryExit)
                                .y_columns(["n"])
                                .intervals(10_000);
                            let request = QueryDecimatedDataRequest::new().decimation(decimation);
                            session
                                .query_decimated_data(&id.into(), request)
                                .unwrap()
                                .frame
                                .to_data_frame()
                                .data
                        };
                        waits.push(start.elapsed());
                        // Only whole appends, without gaps, at least all that were acknowledged,
                        // and never fewer than before.
                        let count = rows.len() as u64;
                        assert_eq!(count % BATCH as u64, 0);
                        assert!(
                            count >= least && count >= seen,
                            "{count} rows after {least} and {seen}"
                        );
                        seen = count;
                        let numbers: HashSet<i64> =
                            rows.iter().map(|row| number(&row[1])).collect();
                        assert_eq!(numbers, (0..count as i64).collect());
                        let keys: Vec<(i64, i64)> =
                            rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
                        assert!(keys.is_sorted(), "by index, then by append");
                    }
                    waits
                })
            })
            .collect();
        waits.extend(readers.into_iter().flat_map(|reader| reader.join().unwrap()));
    });
    disk.set_latency(OpKind::Sync, Duration::ZERO);
    assert!(written.load(Ordering::SeqCst) >= 2, "nothing was sealed or merged during the reads");
    // A seal takes several syncs, and a read that waited for it would take that long. Most reads
    // must not, whatever else is running.
    waits.sort_unstable();
    let (median, greatest) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    println!(
        "{} reads, median {median:?}, longest {greatest:?}; a sync takes {SYNC:?}",
        waits.len()
    );
    assert!(waits.len() > 40 && median < SYNC, "{} reads, median {median:?}", waits.len());
}

#[derive(Clone, Debug)]
enum Beside {
    Append(Vec<i64>),
    Maintain,
    Reopen,
}

fn beside() -> impl Strategy<Value = Beside> {
    prop_oneof![
        4 => proptest::collection::vec(0i64..12, 1..15).prop_map(Beside::Append),
        2 => Just(Beside::Maintain),
        1 => Just(Beside::Reopen),
    ]
}

fn open(disk: &SharedDisk) -> (Store, Session) {
    let (store, session) = opened(
        Store::options().maintenance_thread(false).seal_rows(16).seed(Some(3)),
        disk.clone(),
    );
    (store, session)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// A walk returns each row that existed at its start once and in order, whatever happens to the
    /// table between pages.
    #[test]
    fn a_walk_gives_each_row_of_its_start_once(
        start in proptest::collection::vec(proptest::collection::vec(0i64..12, 1..12), 1..6),
        sealed_first: bool,
        between in proptest::collection::vec(proptest::collection::vec(beside(), 0..3), 1..12),
        take in 1i64..9,
        order in 0usize..4,
        filtered: bool,
    ) {
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        let (mut store, mut session) = open(&disk);
        let id = create(&session);
        let mut next = 0;
        // Index value and number of each row, in order of append.
        let mut model: Vec<(i64, i64)> = Vec::new();
        for values in &start {
            let rows: Vec<(i64, i64)> = values.iter().zip(next..).map(|(t, n)| (*t, n)).collect();
            next += rows.len() as i64;
            append(&session, &id, rows.iter().copied());
            model.extend(rows);
        }
        if sealed_first {
            store.maintain(&Control::default()).unwrap();
        }
        let filters = filtered.then(|| vec![ColumnFilter::new("v", FilterOperation::NotEquals)]);
        let by = |column: &str, descending| vec![ColumnOrderBy::new(column).descending(descending)];
        let order_by = [None, Some(by("t", true)), Some(by("v", false)), Some(by("v", true))][order].clone();
        let value = |n: i64| if n % 3 == 0 { None } else { Some(n % 5) };
        let mut expected: Vec<(i64, i64)> =
            model.iter().copied().filter(|(_, n)| !filtered || value(*n).is_some()).collect();
        match order {
            0 => expected.sort_by_key(|(t, _)| *t),
            1 => expected.sort_by_key(|(t, _)| -*t),
            2 => expected.sort_by_key(|(_, n)| value(*n).map_or(i64::MAX, |v| v)),
            _ => expected.sort_by_key(|(_, n)| value(*n).map_or(i64::MAX, |v| -v)),
        }
        let of_start = model.len() as i64;
        let mut seen: Vec<i64> = Vec::new();
        let mut token: Option<String> = None;
        let mut steps = between.iter();
        loop {
            let page = session.query_table_data(&id.as_str().into(), QueryTableDataRequest::new().columns(["n"]).take(take).maybe_filters(filters.clone()).maybe_order_by(order_by.clone()).maybe_continuation_token(token.clone())).unwrap();
            seen.extend(page.frame.to_data_frame().data.iter().map(|row| number(&row[0])));
            prop_assert!(page.continuation_token.is_none() || page.continuation_token != token);
            token = page.continuation_token;
            if token.is_none() {
                break;
            }
            for step in steps.next().into_iter().flatten() {
                match step {
                    Beside::Append(values) => {
                        append(&session, &id, values.iter().zip(next..).map(|(t, n)| (*t, n)));
                        next += values.len() as i64;
                    }
                    Beside::Maintain => {
                        store.maintain(&Control::default()).unwrap();
                    }
                    Beside::Reopen => {
                        drop((session, store));
                        (store, session) = open(&disk);
                    }
                }
            }
        }
        let distinct: HashSet<i64> = seen.iter().copied().collect();
        prop_assert_eq!(distinct.len(), seen.len(), "a row was repeated");
        let of_start: Vec<i64> = seen.into_iter().filter(|n| *n < of_start).collect();
        prop_assert_eq!(of_start, expected.into_iter().map(|(_, n)| n).collect::<Vec<_>>());
    }
}

#[test]
fn plans_tell_what_is_touched() {
    let (_store, session) = opened(
        Store::options().maintenance_thread(false).seal_rows(10_000),
        Arc::new(MemoryDisk::default()),
    );
    let id = create(&session);
    // Two segments, one after the other, with three pages each, and buffered rows after them.
    append(&session, &id, (0..12_000).map(|at| (at, at)));
    append(&session, &id, (12_000..24_000).map(|at| (at, at)));
    append(&session, &id, (24_000..24_500).map(|at| (at, at)));
    let explain = |filters: &[(&str, FilterOperation, &str)],
                   order_by: Option<Vec<ColumnOrderBy>>| {
        let filter = |(column, operation, value): &(&str, FilterOperation, &str)| {
            ColumnFilter::new((*column).to_owned(), *operation).value((*value).to_owned())
        };
        let filters = Some(filters.iter().map(filter).collect());
        let request = QueryTableDataRequest::new().maybe_filters(filters).maybe_order_by(order_by);
        session.explain_query_table_data(&id.as_str().into(), request).unwrap()
    };
    use FilterOperation as Op;
    let plan = explain(&[], None);
    assert_eq!(plan.order, "in the order of the index");
    let t = plan.touched;
    assert_eq!((t.segments, t.row_groups, t.pages, t.buffered_rows), (2, 2, 6, 500));
    assert_eq!(
        (t.segments_pruned, t.pages_pruned, t.rows_touched, t.rows_passed),
        (0, 0, 0, 24_500)
    );
    // One page of the second segment, selected by the statistics of a column that is not the index.
    let t = explain(&[("n", Op::GreaterThanEquals, "13000"), ("n", Op::LessThan, "13010")], None)
        .touched;
    assert_eq!((t.segments_pruned, t.row_groups_pruned, t.pages_pruned), (1, 1, 5));
    assert_eq!(t.rows_passed, 10);
    assert!((10..=1024 + 500).contains(&t.rows_touched), "{t:?}");
    let t = explain(&[("n", Op::LessThan, "0")], None).touched;
    assert_eq!((t.segments_pruned, t.pages_pruned, t.rows_passed), (2, 6, 0));
    // Rows for which the statistics decide are not read.
    let t = explain(&[("t", Op::LessThan, "12000")], None).touched;
    assert_eq!((t.segments_pruned, t.rows_passed), (1, 12_000));
    assert!(t.rows_touched <= 500, "{t:?}");
    let by = vec![ColumnOrderBy::new("v").descending(true)];
    assert_eq!(explain(&[], Some(by)).order, "first 501 by v descending");
    append(&session, &id, (5..8).map(|at| (at, at)));
    let plan = explain(&[], None);
    assert_eq!(plan.order, "merged from 3 overlapping runs");
    assert!(plan.to_string().contains("2 of 2 segments"), "{plan}");
    assert_eq!(serde_json::to_value(&plan).unwrap()["rowsPassed"], 24_503);
    let plan = explain(&[("t", Op::GreaterThan, "24400"), ("n", Op::LessThan, "24450")], None);
    assert_eq!(plan.order, "in the order of the index", "one run is within the range");
    assert_eq!((plan.touched.segments_pruned, plan.touched.rows_passed), (2, 49));
}

#[test]
fn segments_are_handed_out_whole() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let (store, session) = open(&(Arc::new(MemoryDisk::default()) as SharedDisk));
    let id = create(&session);
    for from in [40, 0, 80] {
        append(&session, &id, (from..from + 20).map(|at| (at, at)));
    }
    append(&session, &id, (100..103).map(|at| (at, at)));
    let mut files: Vec<Vec<u8>> = Vec::new();
    let mut rows = 0;
    let manifest = session
        .export_segments(
            &id.as_str().into(),
            &mut |file| {
                assert!(file.name.ends_with(".parquet"));
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(file.data, &mut bytes)
                    .map_err(|error| stationdb::Error::io("reading", error))?;
                assert_eq!(bytes.len() as u64, file.byte_count);
                rows += file.row_count;
                files.push(bytes);
                Ok(())
            },
            &Control::default(),
        )
        .unwrap();
    assert_eq!((manifest.files.len(), manifest.row_count, rows), (files.len(), 63, 63));
    let mut numbers: Vec<i64> = Vec::new();
    for file in files {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file))
            .unwrap()
            .build()
            .unwrap();
        for batch in reader {
            numbers.extend(int64_values(&batch.unwrap(), 1));
        }
    }
    assert_eq!(numbers, (0..20).chain(40..60).chain(80..103).collect::<Vec<i64>>());
    let refused = session.transaction(|tx| {
        tx.export_segments(&id.as_str().into(), &mut |_| Ok(()), &Control::default())
    });
    assert_eq!(refused.unwrap_err().kind(), stationdb::ErrorKind::Unsupported);
    drop(store);
}
