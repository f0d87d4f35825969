//! How much of a large table a statement reads.

mod common;

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use common::{ask, request, settle};
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use serde_json::json;
use stationdb::faults::{DirEntry, Disk, DiskFile, FileId, MemoryDisk, Mode};
use stationdb::prelude::*;
use stationdb::{Identity, Store};
use stationdb_sql::{context, datafusion};

const ROWS: i64 = 1_000_000;

/// A disk that counts the bytes read from files with rows, and knows which threads read any file.
#[derive(Clone, Debug, Default)]
struct CountingDisk {
    disk: Arc<MemoryDisk>,
    read: Arc<AtomicU64>,
    readers: Arc<Mutex<HashSet<ThreadId>>>,
}

#[derive(Debug)]
struct CountingFile {
    file: Box<dyn DiskFile>,
    read: Option<Arc<AtomicU64>>,
    readers: Arc<Mutex<HashSet<ThreadId>>>,
}

impl DiskFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn file_id(&self) -> io::Result<FileId> {
        self.file.file_id()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.readers.lock().unwrap().insert(thread::current().id());
        if let Some(read) = &self.read {
            read.fetch_add(buffer.len() as u64, Ordering::SeqCst);
        }
        self.file.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Disk for CountingDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(path, mode)?;
        let read = path.ends_with(".parquet").then(|| self.read.clone());
        Ok(Box::new(CountingFile { file, read, readers: self.readers.clone() }))
    }
    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }
    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        self.disk.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.disk.file_id(path)
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

impl CountingDisk {
    /// Bytes of the files with rows.
    fn stored(&self) -> u64 {
        let files = stationdb::faults::walk(&*self.disk, "").unwrap().into_iter();
        files.filter(|(path, _)| path.ends_with(".parquet")).map(|(_, len)| len).sum()
    }

    fn taken(&self) -> u64 {
        self.read.swap(0, Ordering::SeqCst)
    }
}

fn open(disk: &CountingDisk) -> Store {
    let options = Store::options().maintenance_thread(false).seal_rows(ROWS as u64);
    options.open_disk(Arc::new(disk.clone())).unwrap()
}

fn fill(store: &Store, rows: i64) {
    let session = store.session(Identity::user("ada"));
    let columns = json!([
        { "name": "n", "dataType": "INT64", "columnType": "INDEX" },
        { "name": "a", "dataType": "FLOAT64" },
        { "name": "b", "dataType": "FLOAT64" },
    ]);
    let id = session.create_table(request(json!({ "name": "wide", "columns": columns }))).unwrap();
    // No encoding makes these values small.
    let noise = |at: i64, salt: u64| {
        let mixed = (at as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 31).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 12) as f64 / 1e6
    };
    let batches = (0..rows).step_by(100_000).map(|from| {
        let at = || from..from + 100_000;
        let index: ArrayRef = Arc::new(Int64Array::from_iter_values(at()));
        let of = |salt: u64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(at().map(|at| noise(at, salt))))
        };
        let columns = [("n", index), ("a", of(1)), ("b", of(2))];
        RecordBatch::try_from_iter(columns).map_err(|error| panic!("{error}"))
    });
    session.append_batches(&id, &mut batches.into_iter(), Some(true)).unwrap();
    settle(store);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_and_ranges_read_what_they_need() {
    let disk = CountingDisk::default();
    let store = open(&disk);
    fill(&store, ROWS);
    store.close().unwrap();
    let stored = disk.stored();
    assert!(stored > 16 * ROWS as u64 / 2, "{stored} bytes");

    // Nothing is in memory yet: the footers are read once.
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    disk.taken();
    for bytes_max in [stored / 100, 0] {
        let sql = context(&session).unwrap();
        let known = "select count(*), min(n), max(n), count(a) from wide";
        let expected = format!("{ROWS} | 0 | {} | {ROWS}", ROWS - 1);
        assert_eq!(ask(&sql, known).await.unwrap(), [expected]);
        let extremes = "select min(a) < 100000, max(b) > 4000000000 from wide";
        assert_eq!(ask(&sql, extremes).await.unwrap(), ["true | true"]);
        let taken = disk.taken();
        assert!(taken <= bytes_max, "{taken} of {stored} bytes");
    }
    let sql = context(&session).unwrap();

    // A ten-thousandth of the rows: a page of each column.
    let part = "select count(*), sum(a) > 0, sum(b) > 0 from wide where n >= 600000 and n < 600100";
    assert_eq!(ask(&sql, part).await.unwrap(), ["100 | true | true"]);
    let taken = disk.taken();
    assert!(taken > 0 && taken * 20 < stored, "{taken} of {stored} bytes");

    // What does read it all is counted.
    ask(&sql, "select sum(a + b) from wide").await.unwrap();
    let taken = disk.taken();
    assert!(taken * 10 > stored * 9, "{taken} of {stored} bytes");
}

/// A read would keep all other work of the thread waiting.
#[test]
fn no_async_thread_reads_the_store() {
    let disk = CountingDisk::default();
    let store = open(&disk);
    fill(&store, 100_000);
    let session = store.session(Identity::user("ada"));
    let products: Vec<_> = (0..500).map(|at| json!({ "partNumber": format!("P-{at}") })).collect();
    let _ = session.create_products(request(json!(products))).unwrap();
    drop(session);
    store.close().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut readers = 0;
    for statement in [
        "select count(*) from products where part_number = 'P-7'",
        "select count(name) from tables",
        "select count(*), max(n) from wide",
        "select sum(a) from wide where n < 1000",
        "select n from wide order by a desc limit 3",
        "select count(*) from decimate('wide', 'a', 10)",
        "select count(*) from search('P-7')",
        "select count(*) from quotas",
        "select count(*) from information_schema.tables",
        "select count(*) from information_schema.columns",
        "select p.id from products p join wide w on w.n = length(p.part_number)",
        "describe wide",
        "explain select * from wide where a > 1 and b in (1, 2)",
    ] {
        // Nothing is in memory yet.
        let store = open(&disk);
        let sql = context(&store.session(Identity::user("ada"))).unwrap();
        disk.readers.lock().unwrap().clear();
        let answer = runtime.block_on(ask(&sql, statement));
        assert!(answer.is_ok(), "{statement}: {answer:?}");
        let seen = disk.readers.lock().unwrap();
        assert!(!seen.contains(&thread::current().id()), "{statement}");
        readers += seen.len();
    }
    assert!(readers > 3, "{readers} threads have read");
}
