//! Deletion of rows: what it tells, who keeps rows, what it gives back, and what survives it.

use crate::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};

use super::{column, int64_values};

fn options() -> StoreOptions {
    Store::options().maintenance_thread(false).seal_rows(100)
}

fn opened(options: StoreOptions, disk: &Arc<MemoryDisk>) -> (Store, Session) {
    crate::prelude::opened(options, disk.clone())
}

fn create(session: &Session) -> TableId {
    let columns = vec![
        column("t", DataType::Int64, ColumnType::Index),
        column("v", DataType::Float64, ColumnType::Normal),
    ];
    session.create_table(CreateTableRequest::new(columns)).unwrap()
}

/// A value that does not compress.
fn noise(t: i64) -> f64 {
    let mixed = (t as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    f64::from_bits((mixed ^ (mixed >> 29)) >> 12 | 0x3ff0_0000_0000_0000)
}

fn append(session: &Session, id: &TableId, rows: impl Iterator<Item = i64>) {
    let t: Vec<i64> = rows.collect();
    let v: ArrayRef = Arc::new(t.iter().map(|t| Some(noise(*t))).collect::<Float64Array>());
    let t: ArrayRef = Arc::new(Int64Array::from(t));
    let batch = RecordBatch::try_from_iter([("t", t), ("v", v)]).unwrap();
    session.append_batches(id, &mut std::iter::once(Ok(batch)), None).unwrap();
}

fn between(from: i64, before: i64) -> DeleteRowsRequest {
    DeleteRowsRequest::new().index_from(from.to_string()).index_before(before.to_string())
}

/// The index values of all rows.
fn rows(session: &Session, id: &TableId) -> Vec<i64> {
    let stream = session.scan(id, ScanRequest::new(), &Control::default()).unwrap();
    stream.flat_map(|batch| int64_values(&batch.unwrap(), 0).to_vec()).collect()
}

fn deleted(session: &Session, id: &TableId) -> Vec<(i64, i64)> {
    let list = session.list_deleted_rows(id, ListDeletedRowsRequest::new()).unwrap();
    list.ranges.iter().map(|range| (range.first, range.last)).collect()
}

fn table_bytes(disk: &MemoryDisk, id: &TableId) -> u64 {
    let dir = format!("tables/{id}");
    let files = if disk.exists(&dir).unwrap() { disk.list(&dir).unwrap() } else { Vec::new() };
    let len = |name: &str| disk.open(&format!("{dir}/{name}"), Mode::Read).unwrap().len().unwrap();
    files.iter().map(|file| len(&file.name)).sum()
}

fn tidy(store: &Store) {
    // The second pass removes the files that the first one forgot.
    for _ in 0..2 {
        store.maintain(&Control::default()).unwrap();
    }
}

#[test]
fn a_deletion_tells_its_rows_and_their_ordinals_are_not_used_again() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options(), &disk);
    let id = create(&session);
    append(&session, &id, 0..10);
    assert_eq!(session.delete_rows(&id, between(7, 100)).unwrap().row_count, 3);
    append(&session, &id, 20..22);
    let low = ColumnFilter::new("t", FilterOperation::LessThanEquals).value("20");
    let some = DeleteRowsRequest::new().index_from("5").filters([low]);
    assert_eq!(session.delete_rows(&id, some).unwrap().row_count, 3);
    // Nothing matches: no event.
    assert_eq!(session.delete_rows(&id, between(5, 9)).unwrap().row_count, 0);
    assert_eq!(rows(&session, &id), [0, 1, 2, 3, 4, 21]);
    assert_eq!(deleted(&session, &id), [(5, 10)]);
    let mut changes = session.changes(Position::START);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let what: Vec<_> = events.iter().map(|event| (event.what, event.detail.clone())).collect();
    let gone = |count: u64, ordinals: serde_json::Value| {
        (
            What::RowsDeleted,
            Some(json!({"rowCount": count, "ordinals": ordinals, "complete": true})),
        )
    };
    assert_eq!(
        what,
        [
            (What::Created, None),
            (What::RowsAppended, Some(json!({"rowCount": 10}))),
            gone(3, json!([[7, 9]])),
            (What::RowsAppended, Some(json!({"rowCount": 2}))),
            gone(3, json!([[5, 6], [10, 10]])),
        ]
    );
    drop(changes);
    // The list does not depend on the log.
    tidy(&store);
    drop((session, store));
    let (_store, session) = opened(options(), &disk);
    assert_eq!(deleted(&session, &id), [(5, 10)]);
    append(&session, &id, 30..31);
    session.delete_rows(&id, between(30, 31)).unwrap();
    assert_eq!(deleted(&session, &id), [(5, 10), (12, 12)]);
}

#[test]
fn an_event_of_many_ranges_names_the_first_and_the_last() {
    let (_store, session) = opened(options(), &Arc::new(MemoryDisk::new()));
    let id = create(&session);
    append(&session, &id, 0..10_000);
    // Every second row.
    let odd = ColumnFilter::new("v", FilterOperation::GreaterThan).value("1.5");
    let count = session.delete_rows(&id, DeleteRowsRequest::new().filters([odd])).unwrap();
    let few = session.delete_rows(&id, between(0, 10)).unwrap();
    assert!(few.row_count > 0 && count.row_count > 4_000, "{count:?}");
    let mut changes = session.changes(Position::START);
    let events: Vec<_> = std::iter::from_fn(|| changes.poll().unwrap()).collect();
    let details: Vec<_> = events.into_iter().filter_map(|event| event.detail).collect();
    for detail in &details[1..] {
        let named = detail["ordinals"].as_array().unwrap().len();
        let is_whole = detail["complete"].as_bool().unwrap();
        assert!(named <= 4_096 && (is_whole || named == 1), "{detail}");
    }
    assert_eq!(details.len(), 3);
}

#[test]
fn a_reader_that_began_before_keeps_its_rows() {
    for is_whole in [false, true] {
        let (store, session) = opened(options(), &Arc::new(MemoryDisk::new()));
        let id = create(&session);
        append(&session, &id, 0..150_000);
        append(&session, &id, 300_000..600_000);
        append(&session, &id, 150_000..150_050);
        let mut stream = session.scan(&id, ScanRequest::new(), &Control::default()).unwrap();
        let first = int64_values(&stream.next().unwrap().unwrap(), 0).to_vec();
        let until = if is_whole { 1_000_000 } else { 500_000 };
        session.delete_rows(&id, between(10, until)).unwrap();
        tidy(&store);
        let rest = stream.flat_map(|batch| int64_values(&batch.unwrap(), 0).to_vec());
        let seen: Vec<i64> = first.into_iter().chain(rest).collect();
        assert!(seen == (0..150_050).chain(300_000..600_000).collect::<Vec<_>>(), "{}", seen.len());
        let left: Vec<i64> = (0..10).chain(until.min(600_000)..600_000).collect();
        assert!(rows(&session, &id) == left);
    }
}

#[test]
fn a_walk_goes_on_behind_a_row_that_is_gone() {
    let by_value = [ColumnOrderBy::new("v")];
    for (order, rewritten) in
        [(&[][..], false), (&[], true), (&by_value[..], false), (&by_value[..], true)]
    {
        let (store, session) = opened(options(), &Arc::new(MemoryDisk::new()));
        let id = create(&session);
        append(&session, &id, (0..400).rev());
        append(&session, &id, (0..400).map(|t| t * 2));
        let request = || QueryTableDataRequest::new().order_by(order.to_vec()).take(100);
        let whole = session.query_table_data(&id, request().take(1_000)).unwrap();
        let whole: Vec<i64> =
            whole.frame.batches.iter().flat_map(|b| int64_values(b, 0).to_vec()).collect();
        let page = session.query_table_data(&id, request()).unwrap();
        let token = page.continuation_token.unwrap();
        let last = whole[99];
        session.delete_rows(&id, between(last, last + 1)).unwrap();
        if rewritten {
            let mut nothing = |_: stationdb::tables::SegmentFile<'_>| Ok(());
            session.export_segments(&id, &mut nothing, &Control::default()).unwrap();
            tidy(&store);
        }
        let next =
            session.query_table_data(&id, request().take(1_000).continuation_token(token)).unwrap();
        let next: Vec<i64> =
            next.frame.batches.iter().flat_map(|b| int64_values(b, 0).to_vec()).collect();
        let expected: Vec<i64> = whole[100..].iter().copied().filter(|t| *t != last).collect();
        assert_eq!(next, expected, "{order:?}, rewritten {rewritten}");
    }
}

/// Both the rewriting of a segment and the loss of whole segments give space back.
#[test]
fn the_space_of_deleted_rows_is_given_back() {
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options(), &disk);
    let id = create(&session);
    append(&session, &id, 0..300_000);
    append(&session, &id, 300_000..600_000);
    let whole = table_bytes(&disk, &id);
    // A tenth of a segment is left where it is.
    session.delete_rows(&id, between(0, 30_000)).unwrap();
    tidy(&store);
    assert_eq!(table_bytes(&disk, &id), whole);
    session.delete_rows(&id, between(0, 150_000)).unwrap();
    tidy(&store);
    let rewritten = table_bytes(&disk, &id);
    assert!(rewritten * 100 < whole * 77, "{rewritten} of {whole} bytes");
    session.delete_rows(&id, between(300_000, 600_000)).unwrap();
    tidy(&store);
    let dropped = table_bytes(&disk, &id);
    assert!(dropped * 100 < whole * 27, "{dropped} of {whole} bytes");
    session.delete_rows(&id, between(i64::MIN, i64::MAX)).unwrap();
    tidy(&store);
    println!("{whole} bytes, {rewritten} without a quarter, {dropped} without three quarters");
    assert_eq!(table_bytes(&disk, &id), 0);
    assert_eq!(deleted(&session, &id), [(0, 599_999)]);
    append(&session, &id, 0..10);
    assert_eq!(rows(&session, &id), (0..10).collect::<Vec<_>>());
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().findings.is_empty());
}

#[test]
fn a_deletion_needs_a_condition_that_fits() {
    let (_store, session) = opened(options(), &Arc::new(MemoryDisk::new()));
    let id = create(&session);
    append(&session, &id, 0..10);
    let refused = |request: DeleteRowsRequest| {
        let error = session.delete_rows(&id, request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        format!("{error}")
    };
    assert!(refused(DeleteRowsRequest::new()).contains("indexFrom"));
    assert!(
        refused(DeleteRowsRequest::new().filters(Vec::<ColumnFilter>::new())).contains("indexFrom")
    );
    assert!(refused(DeleteRowsRequest::new().index_from("soon")).contains("indexFrom"));
    assert!(refused(DeleteRowsRequest::new().index_before("x")).contains("indexBefore"));
    let unknown = ColumnFilter::new("w", FilterOperation::Equals).value("1");
    assert!(refused(DeleteRowsRequest::new().filters([unknown])).contains("filters[0].column"));
    let missing = TableId::from("0123456789abcdef01234567");
    assert_eq!(
        session.delete_rows(&missing, between(0, 1)).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(rows(&session, &id).len(), 10);
    // A closed table loses rows too.
    let end = AppendTableDataRequest::new().end_of_data(true);
    session.append_table_data(&id, end).unwrap();
    assert_eq!(session.delete_rows(&id, between(0, 5)).unwrap().row_count, 5);
    assert_eq!(rows(&session, &id), [5, 6, 7, 8, 9]);
}

/// Appends, deletions and maintenance of three threads.
#[test]
fn deletions_beside_appends_seals_and_merges_lose_nothing_else() {
    const ROUNDS: i64 = 60;
    let disk = Arc::new(MemoryDisk::new());
    let (store, session) = opened(options().seal_rows(40), &disk);
    let id = create(&session);
    let is_done = AtomicBool::new(false);
    let gone = std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                append(&session, &id, (0..50).map(|at| at * ROUNDS + round));
            }
            is_done.store(true, Ordering::SeqCst);
        });
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                store.maintain(&Control::default()).unwrap();
            }
        });
        let deleter = scope.spawn(|| {
            let mut gone = 0;
            let mut from = 0;
            while !is_done.load(Ordering::SeqCst) {
                let answer = session.delete_rows(&id, between(from, from + 20)).unwrap();
                gone += answer.row_count;
                from = (from + 37) % (50 * ROUNDS);
            }
            gone
        });
        deleter.join().unwrap()
    });
    tidy(&store);
    let left = rows(&session, &id);
    assert!(left.is_sorted() && left.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(left.len() as i64 + gone, 50 * ROUNDS);
    let list = session.list_deleted_rows(&id, ListDeletedRowsRequest::new().take(10_000)).unwrap();
    assert_eq!(list.total_row_count, gone);
    assert_eq!(session.get_table_metadata(&id).unwrap().row_count, Some(left.len() as i64));
    drop((session, store));
    let (store, session) = opened(options(), &disk);
    assert!(rows(&session, &id) == left);
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().findings.is_empty());
}

/// Flips one bit in the middle of each file that ends so.
fn damage(disk: &MemoryDisk, id: &TableId, suffix: &str) {
    let dir = format!("tables/{id}");
    for file in disk.list(&dir).unwrap().iter().filter(|file| file.name.ends_with(suffix)) {
        let file = disk.open(&format!("{dir}/{}", file.name), Mode::ReadWrite).unwrap();
        let len = file.len().unwrap();
        // More than single bits, so that they cannot be corrected.
        file.write_all_at(&[0x5a; 64], len / 2).unwrap();
    }
}

#[test]
fn a_salvage_brings_no_deleted_row_back() {
    for suffix in ["none", ".parquet", ".summary"] {
        for is_ordered in [true, false] {
            let disk = Arc::new(MemoryDisk::new());
            let (store, session) = opened(options(), &disk);
            let id = create(&session);
            let order = |t: i64| if is_ordered { t } else { 9_999 - t };
            append(&session, &id, (0..10_000).map(order));
            session.delete_rows(&id, between(2_000, 3_000)).unwrap();
            session.delete_rows(&id, between(6_000, 9_000)).unwrap();
            tidy(&store);
            session.delete_rows(&id, between(0, 10)).unwrap();
            append(&session, &id, 20_000..20_010);
            let ordinals = deleted(&session, &id);
            drop((session, store));
            damage(&disk, &id, suffix);
            let into = Arc::new(MemoryDisk::new());
            let (from, target): (SharedDisk, SharedDisk) = (disk.clone(), into.clone());
            let report = Store::salvage_disk(&from, &target, &Control::default()).unwrap();
            let (store, session) = opened(options(), &into);
            let found = rows(&session, &id);
            let is_live = |t: &i64| {
                (20_000..20_010).contains(t)
                    || (10..10_000).contains(t)
                        && !(2_000..3_000).contains(t)
                        && !(6_000..9_000).contains(t)
            };
            assert!(found.iter().all(is_live), "{suffix}, {is_ordered}: a deleted row is back");
            let expected = if suffix == ".parquet" { 1_000 } else { 10 };
            assert!(found.len() >= expected, "{suffix}, {is_ordered}: {} rows", found.len());
            assert_eq!(report.lost.is_empty(), suffix == "none", "{:?}", report.lost);
            if suffix == "none" {
                assert_eq!(deleted(&session, &id), ordinals);
                assert_eq!(found.len(), 6_000);
            }
            // The next row has an ordinal that no row had.
            append(&session, &id, 30_000..30_001);
            let before = session.list_deleted_rows(&id, ListDeletedRowsRequest::new()).unwrap();
            session.delete_rows(&id, between(30_000, 30_001)).unwrap();
            assert_eq!(deleted(&session, &id).last(), Some(&(10_010, 10_010)), "{before:?}");
            tidy(&store);
            assert_eq!(rows(&session, &id), found);
            let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}
