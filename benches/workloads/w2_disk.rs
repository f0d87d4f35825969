//! W2D: the appends of W2 over a disk whose syncs take at least a given time, beside bare writes
//! and syncs of as many bytes; and the bytes that the appends write.
//!
//! Needs the feature `faults`, which opens a store over another disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stationdb::arrow::array::RecordBatch;
use stationdb::faults::{DirEntry, Disk, DiskFile, FileId, Mode, RealDisk};
use stationdb::prelude::*;
use stationdb::{Identity, Session, Store};

use crate::common::{Res, Scale, timed};
use crate::measurements::{batch, create_table, schema};

const ROWS: usize = 100;
/// Bytes of a row: four numbers of 8 bytes, one of 4, and a text of 8 or fewer.
const ROW_BYTES: usize = 44;

/// A directory whose syncs take at least a given time, and that counts what is written.
#[derive(Clone, Debug)]
struct Measured {
    disk: Arc<RealDisk>,
    sync: Duration,
    journal: Arc<AtomicU64>,
    others: Arc<AtomicU64>,
    /// Bytes that the journal grew by; they are in none of the others.
    growth: Arc<AtomicU64>,
}

impl Measured {
    fn open(dir: &Path, sync: Duration) -> Res<Self> {
        let disk = RealDisk::create(dir)?;
        let [journal, others, growth] = <[Arc<AtomicU64>; 3]>::default();
        Ok(Self { disk, sync, journal, others, growth })
    }

    /// Bytes written to the journal, to other files, and to make the journal grow.
    fn bytes(&self) -> [u64; 3] {
        [&self.journal, &self.others, &self.growth].map(|bytes| bytes.load(Ordering::SeqCst))
    }
}

#[derive(Debug)]
struct MeasuredFile {
    file: Box<dyn DiskFile>,
    sync: Duration,
    written: Arc<AtomicU64>,
    growth: Arc<AtomicU64>,
}

/// Runs a sync, and waits until it has taken `least`. Sleeps are cut short and the rest is waited
/// for actively: a sleep ends late by a time that differs from run to run.
fn slowly(least: Duration, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    const ACTIVE: Duration = Duration::from_micros(150);
    let began = Instant::now();
    let outcome = sync();
    let left = least.saturating_sub(began.elapsed());
    if left > ACTIVE {
        std::thread::sleep(left - ACTIVE);
    }
    while began.elapsed() < least {
        std::hint::spin_loop();
    }
    outcome
}

impl DiskFile for MeasuredFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn file_id(&self) -> io::Result<FileId> {
        self.file.file_id()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let is_growth = data.iter().all(|byte| *byte == 0);
        let counter = if is_growth { &self.growth } else { &self.written };
        counter.fetch_add(data.len() as u64, Ordering::SeqCst);
        self.file.write_all_at(data, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        slowly(self.sync, || self.file.sync_data())
    }
    fn sync_all(&self) -> io::Result<()> {
        slowly(self.sync, || self.file.sync_all())
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
    fn try_lock_shared(&self) -> io::Result<bool> {
        self.file.try_lock_shared()
    }
    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Disk for Measured {
    fn directory(&self) -> Option<PathBuf> {
        self.disk.directory()
    }
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.disk.open(path, mode)?;
        let is_journal = path.starts_with("journal.");
        let written = if is_journal { &self.journal } else { &self.others }.clone();
        let growth = if is_journal { &self.growth } else { &self.others }.clone();
        Ok(Box::new(MeasuredFile { file, sync: self.sync, written, growth }))
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
        slowly(self.sync, || self.disk.sync_dir(path))
    }
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.disk.file_id(path)
    }
    fn file_ids(&self, paths: &[&str]) -> Vec<io::Result<FileId>> {
        self.disk.file_ids(paths)
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}

fn append(session: &Session, id: &str, batch: &RecordBatch) -> Res<()> {
    Ok(session.append_batches(&id.into(), &mut std::iter::once(Ok(batch.clone())), None)?)
}

fn open(disk: &Measured) -> Res<Session> {
    let store = Store::options().open_disk(Arc::new(disk.clone()))?;
    Ok(store.session(Identity::user("bench")))
}

/// Appends all batches by `threads` threads with a table each; returns the appends in a second.
fn appends_per_s(session: &Session, batches: &[RecordBatch], threads: usize) -> Res<f64> {
    let ids = (0..threads).map(|_| create_table(session, true)).collect::<Res<Vec<_>>>()?;
    let next = AtomicUsize::new(0);
    let (seconds, ()) = timed(|| {
        let work = |id: &str| -> Res<()> {
            while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                append(session, id, batch)?;
            }
            Ok(())
        };
        let work = &work;
        std::thread::scope(|scope| -> Res<()> {
            let running: Vec<_> = ids.iter().map(|id| scope.spawn(move || work(id))).collect();
            running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "panicked")?)
        })
    })?;
    let rows = ids.iter().map(|id| {
        Ok(session.get_table_metadata(&id.as_str().into())?.row_count.unwrap_or_default())
    });
    assert_eq!(rows.sum::<Res<i64>>()?, (batches.len() * ROWS) as i64);
    Ok(batches.len() as f64 / seconds)
}

/// Writes and syncs `bytes` as often as there are appends, into a file that was written before.
fn bare_per_s(disk: &Measured, times: usize, bytes: usize) -> Res<f64> {
    let file = disk.open("bare", Mode::CreateNew)?;
    file.write_all_at(&vec![0; times * bytes], 0)?;
    file.sync_data()?;
    let data = vec![1; bytes];
    let (seconds, ()) = timed(|| {
        for at in 0..times {
            file.write_all_at(&data, (at * bytes) as u64)?;
            file.sync_data()?;
        }
        Ok(())
    })?;
    Ok(times as f64 / seconds)
}

fn rates(scale: &Scale, batches: &[RecordBatch], sync: Duration, name: &str) -> Res<()> {
    let (mut one, mut eight, mut bare) = (vec![], vec![], vec![]);
    for _ in 0..scale.repetitions {
        let disk = Measured::open(&scale.scratch("w2d")?, sync)?;
        let session = open(&disk)?;
        let [before, ..] = disk.bytes();
        one.push(appends_per_s(&session, batches, 1)?);
        let record = (disk.bytes()[0] - before) as usize / batches.len();
        eight.push(appends_per_s(&session, batches, 8)?);
        bare.push(bare_per_s(&disk, batches.len(), record)?);
    }
    let note = format!("syncs of {name}");
    scale.emit("W2D", &format!("appends_per_s, {name}"), &one, "appends/s", &note);
    scale.emit("W2D", &format!("appends_per_s, 8 threads, {name}"), &eight, "appends/s", &note);
    scale.emit("W2D", &format!("bare writes_per_s, {name}"), &bare, "writes/s", &note);
    Ok(())
}

pub fn run(scale: &Scale) -> Res<()> {
    let schema = schema(true);
    let batches =
        (0..scale.appends).map(|at| batch(&schema, at * ROWS, ROWS)).collect::<Res<Vec<_>>>()?;
    for (sync, name) in [(0, "the disk"), (300, "0.3 ms"), (4_000, "4 ms")] {
        rates(scale, &batches, Duration::from_micros(sync), name)?;
    }

    let disk = Measured::open(&scale.scratch("w2d")?, Duration::ZERO)?;
    let store = Store::options().open_disk(Arc::new(disk.clone()))?;
    let session = store.session(Identity::user("bench"));
    let id = create_table(&session, true)?;
    for at in 0..scale.appends * 5 {
        append(&session, &id, &batch(&schema, at * ROWS, ROWS)?)?;
    }
    drop(session);
    store.close()?;
    let [journal, others, growth] = disk.bytes();
    let appends = (scale.appends * 5) as f64;
    let payload = (ROWS * ROW_BYTES) as f64;
    let note = format!("from open to close, {appends} appends of {payload} bytes");
    scale.emit("W2D", "journal bytes an append", &[journal as f64 / appends], "B", &note);
    scale.emit("W2D", "growth of the journal an append", &[growth as f64 / appends], "B", &note);
    scale.emit("W2D", "other bytes an append", &[others as f64 / appends], "B", &note);
    // Each append is in the journal, and in the record file or a segment.
    assert!(journal as f64 > appends * payload && others > 0, "{journal} {others}");
    assert!(journal as f64 <= appends * (1.1 * payload + 512.0) + 65_536.0, "{journal}");
    if !scale.is_small() {
        let all = (journal + growth + others) as f64;
        assert!(all <= appends * (2.5 * payload + 4_096.0), "{all}");
    }
    Ok(())
}
