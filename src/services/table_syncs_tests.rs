//! What an append costs the disk: one sync, shared by those that wait for it together.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Int64Array, RecordBatch};

use super::tables::TableService;
use crate::disk::sim::{OpKind, SimDisk};
use crate::model::table::CreateTableRequest;
use crate::model::table_data::{Column, ColumnType, DataType};
use crate::store::Store;
use crate::{Identity, Session};

const ROWS: i64 = 100;

fn batch(number: i64) -> RecordBatch {
    let index = Int64Array::from_iter_values(number * ROWS..(number + 1) * ROWS);
    RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap()
}

fn create(session: &Session) -> String {
    let index = Column {
        name: "t".to_owned(),
        data_type: DataType::Int64,
        column_type: ColumnType::Index,
        ..Column::default()
    };
    session.create_table(CreateTableRequest { columns: vec![index], ..Default::default() }).unwrap().into()
}

fn append(session: &Session, id: &str, number: i64) {
    session.append_batches(id, &mut std::iter::once(Ok(batch(number))), None).unwrap();
}

fn syncs(disk: &SimDisk) -> usize {
    disk.trace().iter().filter(|entry| entry.kind == OpKind::Sync).count()
}

fn rows(session: &Session, id: &str) -> i64 {
    session.get_table_metadata(id).unwrap().row_count.unwrap()
}

#[test]
fn a_small_append_is_one_sync() {
    let disk = SimDisk::new(1);
    let store = Store::options().seed(Some(1)).maintenance_thread(false).open_on(Arc::new(disk.clone())).unwrap();
    let session = store.session(Identity::user("ada"));
    let id = create(&session);
    append(&session, &id, 0);
    let before = syncs(&disk);
    for number in 1..51 {
        append(&session, &id, number);
    }
    // One each; redb makes one more where it grows its file.
    let count = syncs(&disk) - before;
    assert!((50..=51).contains(&count), "{count} syncs");
    assert_eq!(rows(&session, &id), 51 * ROWS);
}

#[test]
fn eight_threads_share_the_syncs_of_a_slow_disk() {
    const THREADS: i64 = 8;
    const APPENDS: i64 = 25;
    let disk = SimDisk::new(2);
    let store = Store::options().seed(Some(1)).maintenance_thread(false).open_on(Arc::new(disk.clone())).unwrap();
    let session = store.session(Identity::user("ada"));
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
    println!("sync 4 ms: {alone:.0} appends a second alone, {together:.0} by 8 threads, {syncs} syncs for 200 appends");
    // The times depend on the machine, the syncs do not: five times the rate is at most one sync for five appends.
    assert!(syncs <= 40, "{syncs} syncs");
    assert!(ids.iter().all(|id| rows(&session, id) == APPENDS * ROWS));
}
