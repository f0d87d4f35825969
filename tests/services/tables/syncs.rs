//! The disk cost of an append: one sync, shared by appends that wait for it at the same time, and
//! few pages.

use crate::prelude::*;
use std::time::Instant;

use stationdb::arrow::array::{Int64Array, RecordBatch};
use stationdb::faults::walk;

const ROWS: i64 = 100;

fn batch(number: i64) -> RecordBatch {
    let index = Int64Array::from_iter_values(number * ROWS..(number + 1) * ROWS);
    RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap()
}

fn create(session: &Session) -> String {
    let index = Column::new("t", DataType::Int64).column_type(ColumnType::Index);
    session.create_table(CreateTableRequest::new([index])).unwrap().into()
}

fn append(session: &Session, id: &str, number: i64) {
    session.append_batches(&id.into(), &mut std::iter::once(Ok(batch(number))), None).unwrap();
}

/// An append to a wide table writes the small state of the table and not its record, not even
/// unchanged.
#[test]
fn an_append_to_a_wide_table_writes_as_much_as_to_a_narrow_one() {
    const COLUMNS: usize = 2500;
    let written = |column_count: usize| {
        let disk = SimDisk::new(3);
        let (_store, session) = opened(
            Store::options().seed(Some(1)).maintenance_thread(false),
            Arc::new(disk.clone()),
        );
        let column = |at: usize| {
            Column::new(
                if at == 0 { "t".to_owned() } else { format!("column {at}") },
                if at == 0 { DataType::Int64 } else { DataType::Bool },
            )
            .column_type(if at == 0 {
                ColumnType::Index
            } else {
                ColumnType::Nullable
            })
        };
        let columns: Vec<Column> = (0..column_count).map(column).collect();
        let record_bytes: usize = columns.iter().map(|column| column.name.len()).sum();
        let id: String = session.create_table(CreateTableRequest::new(columns)).unwrap().into();
        // A row of nulls except for the index, so that the appends differ only in the metadata of
        // their tables.
        let append = |number: i64| {
            let index = Int64Array::from(vec![number]);
            let batch = RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
            session
                .append_batches(&id.as_str().into(), &mut std::iter::once(Ok(batch)), None)
                .unwrap();
        };
        append(0);
        let before = disk.trace().len();
        (1..=10).for_each(append);
        let trace = disk.trace();
        let writes = trace.iter().skip(before).filter(|entry| entry.kind == OpKind::Write);
        (writes.map(|entry| entry.bytes).sum::<usize>() / 10, record_bytes)
    };
    let ((narrow, _), (wide, record_bytes)) = (written(1), written(COLUMNS));
    println!("bytes written by an append: {narrow} with one column, {wide} with {COLUMNS}");
    // A null in each column takes a byte or two in the row itself.
    assert!(
        wide < narrow + record_bytes,
        "{wide} bytes instead of {narrow}; the names alone take {record_bytes}"
    );
}

fn syncs(disk: &SimDisk) -> usize {
    disk.trace().iter().filter(|entry| entry.kind == OpKind::Sync).count()
}

fn rows(session: &Session, id: &str) -> i64 {
    session.get_table_metadata(&id.into()).unwrap().row_count.unwrap()
}

#[test]
fn a_small_append_is_one_sync() {
    let disk = SimDisk::new(1);
    let (_store, session) =
        opened(Store::options().seed(Some(1)).maintenance_thread(false), Arc::new(disk.clone()));
    let id = create(&session);
    append(&session, &id, 0);
    let before = syncs(&disk);
    for number in 1..51 {
        append(&session, &id, number);
    }
    // One sync for each append. redb makes one more when it grows its file.
    let count = syncs(&disk) - before;
    assert!((50..=51).contains(&count), "{count} syncs");
    assert_eq!(rows(&session, &id), 51 * ROWS);
}

/// The pages of an append: its rows, the small state that all commits update, redb's own pages, and
/// sometimes the log.
#[test]
fn a_small_append_writes_few_pages() {
    const APPENDS: i64 = 200;
    let disk = SimDisk::new(1);
    let (_store, session) =
        opened(Store::options().seed(Some(1)).maintenance_thread(false), Arc::new(disk.clone()));
    let id = create(&session);
    append(&session, &id, 0);
    let writes = || disk.trace().iter().filter(|entry| entry.kind == OpKind::Write).count();
    let before = writes();
    for number in 1..=APPENDS {
        append(&session, &id, number);
    }
    let each = (writes() - before) as f64 / APPENDS as f64;
    println!("{each} writes an append");
    assert!(each < 8.0, "{each} writes an append");
}

#[test]
fn eight_threads_share_the_syncs_of_a_slow_disk() {
    const THREADS: i64 = 8;
    const APPENDS: i64 = 25;
    let disk = SimDisk::new(2);
    let (_store, session) =
        opened(Store::options().seed(Some(1)).maintenance_thread(false), Arc::new(disk.clone()));
    let ids: Vec<String> = (0..=THREADS).map(|_| create(&session)).collect();
    disk.set_latency(OpKind::Sync, Duration::from_millis(4));
    let start = Instant::now();
    for number in 0..APPENDS {
        append(&session, &ids[THREADS as usize], number);
    }
    let alone = APPENDS as f64 / start.elapsed().as_secs_f64();
    let before = syncs(&disk);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for id in &ids[..THREADS as usize] {
            let session = &session;
            scope.spawn(move || (0..APPENDS).for_each(|number| append(session, id, number)));
        }
    });
    let together = (THREADS * APPENDS) as f64 / start.elapsed().as_secs_f64();
    let syncs = syncs(&disk) - before;
    println!(
        "sync 4 ms: {alone:.0} appends a second alone, {together:.0} by 8 threads, {syncs} syncs for 200 appends"
    );
    // The times depend on the machine, the syncs do not. One sync for at least five appends gives
    // five times the rate.
    assert!(syncs <= 40, "{syncs} syncs");
    assert!(ids.iter().all(|id| rows(&session, id) == APPENDS * ROWS));
}

fn sealing(disk: &SimDisk) -> (Store, Session) {
    let options = Store::options().seed(Some(1)).maintenance_thread(false).seal_rows(1);
    let (store, session) = opened(options, Arc::new(disk.clone()));
    (store, session)
}

/// After a power cut that keeps only synced data, each segment that a commit names exists.
fn survives_a_power_cut(disk: &SimDisk, id: &str, appended: i64) {
    let (store, session) = sealing(&disk.survivors(1, Survival::None));
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).unwrap();
    assert!(report.is_sound() && report.files > 0, "{report:?}");
    assert_eq!(rows(&session, id), appended * ROWS);
}

#[test]
fn a_directory_whose_sync_failed_is_not_trusted() {
    let disk = SimDisk::new(5);
    let (store, session) = sealing(&disk);
    let id = create(&session);
    disk.inject(Pick::kind(OpKind::SyncDir).on_path("tables").once(), Fault::Io);
    // The rows are durable in the buffer. If sealing them fails, the next append repeats it.
    append(&session, &id, 0);
    append(&session, &id, 1);
    assert!(disk.trace().iter().any(|entry| entry.kind == OpKind::SyncDir && entry.failed));
    drop((store, session));
    survives_a_power_cut(&disk, &id, 2);
}

#[test]
fn a_directory_that_a_killed_process_left_is_not_trusted() {
    let disk = SimDisk::new(6);
    let (store, session) = sealing(&disk);
    let id = create(&session);
    drop((store, session));
    disk.create_dir_all(&format!("tables/{id}")).unwrap();
    let (store, session) = sealing(&disk);
    append(&session, &id, 0);
    drop((store, session));
    survives_a_power_cut(&disk, &id, 1);
}

#[test]
fn a_segment_that_cannot_be_written_leaves_no_bytes() {
    let disk = SimDisk::new(8);
    let (store, session) = sealing(&disk);
    let id = create(&session);
    disk.inject(Pick::kind(OpKind::Write).on_path(".parquet").once(), Fault::NoSpace);
    append(&session, &id, 0);
    assert!(disk.trace().iter().any(|entry| entry.kind == OpKind::Write && entry.failed));
    // On a full disk, each attempt would use up the remaining space until the next open.
    assert!(walk(&disk, "tables").unwrap().is_empty());
    append(&session, &id, 1);
    assert_eq!(walk(&disk, "tables").unwrap().len(), 2);
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}
