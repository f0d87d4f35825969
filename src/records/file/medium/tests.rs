//! The n-th change that redb makes to its file fails. Everything that was committed before can
//! still be read, without a cache.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use super::*;
use crate::disk::sim::{Fault, OpKind, Pick, SimDisk, Survival, TraceEntry};
use crate::disk::{Disk, FileId, Mode, SharedDisk};
use crate::error::ErrorKind;
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space};

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

const OPTIONS: RecordFileOptions = RecordFileOptions { cache_bytes: 0, quick_repair: false };
const COMMITS: u8 = 5;

fn put(rows: &mut Rows, key: u64, byte: u8, len: usize) -> Change {
    let (key, value) = (key.to_be_bytes().to_vec(), vec![byte; len]);
    rows.insert(key.clone(), value.clone());
    Change::Put { space: Space::Blobs, key, value }
}

/// The rows of a file before anything fails.
fn prepared(options: RecordFileOptions) -> (SimDisk, Rows) {
    let disk = SimDisk::new(1);
    let shared: SharedDisk = Arc::new(disk.clone());
    RecordFile::create(&shared, options, &[]).unwrap();
    let mut rows = Rows::new();
    let changes: Vec<_> = (0..200).map(|key| put(&mut rows, key, 1, 300)).collect();
    RecordFile::open(&shared, options).unwrap().write(|turn| turn.apply(changes)).unwrap();
    (disk.survivors(0, Survival::All), rows)
}

/// The changes of commit `number`: rows all over the tree, and a value for which the file must
/// grow.
fn changes(rows: &mut Rows, number: u8) -> Vec<Change> {
    let mut changes: Vec<_> =
        (0..8).map(|n| put(rows, n * 25 + u64::from(number), number, 200)).collect();
    changes.push(put(rows, 1000 + u64::from(number), number, 90_000));
    let key = (u64::from(number) * 30).to_be_bytes().to_vec();
    rows.remove(&key);
    changes.push(Change::Delete { space: Space::Blobs, key });
    changes
}

fn read(snapshot: &Snapshot) -> Result<Rows> {
    let mut cursor = ReadSource::Snapshot(snapshot).cursor(Space::Blobs, &[], None)?;
    let mut rows = Rows::new();
    while let Some((key, value)) = cursor.next()? {
        // Reads each row by its key as well, as a lookup does.
        assert_eq!(ReadSource::Snapshot(snapshot).get(Space::Blobs, &key)?.as_ref(), Some(&value));
        rows.insert(key, value);
    }
    Ok(rows)
}

fn is_change(entry: &TraceEntry) -> bool {
    matches!(entry.kind, OpKind::Write | OpKind::SetLen | OpKind::Sync)
}

/// Commits until a commit fails. Returns what was published before, and the rows with and without
/// the failed commit.
fn run(file: &RecordFile, mut rows: Rows) -> (Snapshot, Rows, Option<(Error, Rows)>) {
    let mut published = file.snapshot(0).unwrap();
    for number in 1..=COMMITS {
        let mut after = rows.clone();
        let changes = changes(&mut after, number);
        if let Err(error) = file.write(|turn| turn.apply(changes)) {
            return (published, rows, Some((error, after)));
        }
        published = file.snapshot(u64::from(number)).unwrap();
        rows = after;
    }
    (published, rows, None)
}

fn reads_go_on(options: RecordFileOptions, one_in: usize) {
    let (disk, rows) = prepared(options);
    let fresh = || disk.survivors(0, Survival::All);
    let whole = fresh();
    let file = RecordFile::open(&(Arc::new(whole.clone()) as SharedDisk), options).unwrap();
    let opened = whole.ops();
    let (_, _, failed) = run(&file, rows.clone());
    assert!(failed.is_none());
    let trace = whole.trace();
    drop(file);
    let mut kinds = BTreeMap::<String, u64>::new();
    let changes = trace.iter().filter(|entry| is_change(entry) && entry.op >= opened);
    for (turn, entry) in changes.enumerate() {
        let faults = match entry.kind {
            OpKind::Sync => vec![Fault::Io, Fault::DropDirty],
            // There are few others.
            OpKind::Write if turn % one_in > 0 => continue,
            OpKind::Write if turn % 2 == 0 => vec![Fault::PartialWrite],
            _ => vec![[Fault::Io, Fault::NoSpace][turn / 2 % 2].clone()],
        };
        for fault in faults {
            let place = format!("{fault:?} at operation {} ({:?})", entry.op, entry.kind);
            *kinds.entry(format!("{:?}", entry.kind)).or_default() += 1;
            let disk = fresh();
            let shared: SharedDisk = Arc::new(disk.clone());
            let file = RecordFile::open(&shared, options).unwrap();
            disk.inject(Pick::op(entry.op), fault);
            let (published, rows, failed) = run(&file, rows.clone());
            let (error, unknown) = failed.unwrap_or_else(|| panic!("{place}: nothing failed"));
            assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace), "{place}: {error}");
            // Reads twice: the first read may leave pages in a cache.
            for _ in 0..2 {
                let seen = read(&published)
                    .unwrap_or_else(|error| panic!("{place}: a read was refused: {error}"));
                assert_eq!(seen, rows, "{place}");
            }
            assert_eq!(
                file.begin().err().map(|error| error.kind()),
                Some(ErrorKind::Latched),
                "{place}"
            );
            assert!(file.snapshot(0).is_err(), "{place}: a snapshot shows a commit that failed");
            drop(file);
            drop(published);
            let after: Vec<_> =
                disk.trace().into_iter().filter(|e| e.op > entry.op && is_change(e)).collect();
            assert!(after.is_empty(), "{place}: the file was changed after it: {after:?}");
            for survival in [Survival::All, Survival::None, Survival::Random] {
                let shared: SharedDisk = Arc::new(disk.survivors(entry.op, survival));
                let file = RecordFile::open(&shared, options).unwrap();
                let found = read(&file.snapshot(0).unwrap()).unwrap();
                assert!(found == rows || found == unknown, "{place}, {survival:?}");
            }
        }
    }
    println!("{kinds:?}");
    assert!(["Write", "SetLen", "Sync"].iter().all(|kind| kinds.contains_key(*kind)), "{kinds:?}");
}

#[test]
fn reads_without_a_cache_go_on_after_each_failed_change() {
    reads_go_on(OPTIONS, 24);
}

#[test]
fn reads_without_a_cache_go_on_after_each_failed_change_of_two_phases() {
    reads_go_on(RecordFileOptions { quick_repair: true, ..OPTIONS }, 60);
}

/// After a failed compaction, the file can be read but not written.
#[test]
fn reads_go_on_after_a_failed_compaction() {
    let (disk, rows) = prepared(OPTIONS);
    let prepare = || {
        let disk = disk.survivors(0, Survival::All);
        let file = RecordFile::open(&(Arc::new(disk.clone()) as SharedDisk), OPTIONS).unwrap();
        let (_, mut rows, _) = run(&file, rows.clone());
        let gone: Vec<_> = rows.keys().skip(20).cloned().collect();
        let delete = |key: &Vec<u8>| Change::Delete { space: Space::Blobs, key: key.clone() };
        file.write(|turn| turn.apply(gone.iter().map(delete))).unwrap();
        gone.iter().for_each(|key| drop(rows.remove(key)));
        let len = disk.open("records.redb", Mode::Read).unwrap().len().unwrap();
        (disk, file, rows, len)
    };
    let (whole, mut file, _, before) = prepare();
    let begun = whole.ops();
    file.compact().unwrap();
    let trace = whole.trace();
    assert!(
        whole.open("records.redb", Mode::Read).unwrap().len().unwrap() < before,
        "there is nothing to compact"
    );
    let (mut latched, mut writable) = (0, 0);
    for entry in trace
        .iter()
        .filter(|entry| entry.op >= begun && (is_change(entry) || entry.kind == OpKind::Read))
        .step_by(7)
    {
        let place = format!("operation {} ({:?})", entry.op, entry.kind);
        let (disk, mut file, rows, _) = prepare();
        disk.inject(Pick::op(entry.op), Fault::Io);
        file.compact().unwrap_err();
        let seen =
            read(&file.snapshot(0).unwrap()).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(seen, rows, "{place}");
        match file.begin() {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Latched, "{place}");
                latched += 1;
            }
            Ok(_) => {
                assert_eq!(entry.kind, OpKind::Read, "{place}: writes continue after a failed one");
                writable += 1;
            }
        }
    }
    println!("{latched} failed writes, {writable} failed reads");
    assert!(latched > 5 && writable > 0);
}

/// If a commit writes more than is kept, a failed sync may lose pages that redb needs. redb then
/// gets an error, and never a wrong page.
#[test]
fn a_failed_sync_of_more_than_is_held_is_an_error() {
    let disk = SimDisk::new(1);
    let shared: SharedDisk = Arc::new(disk.clone());
    shared.open("f", Mode::CreateNew).unwrap();
    let page = [7; PAGE_BYTES];
    let held = (UNSYNCED_BYTES / PAGE_BYTES) as u64;
    for (count, is_held) in [(held, true), (held + 1, false)] {
        let medium = Medium::new(shared.open("f", Mode::ReadWrite).unwrap());
        for at in 0..count {
            medium.write(at * PAGE_BYTES as u64, &page).unwrap();
        }
        disk.inject(Pick::kind(OpKind::Sync).once(), Fault::DropDirty);
        assert_eq!(medium.sync().is_ok(), is_held);
        let mut out = [0; PAGE_BYTES];
        assert_eq!(medium.read(0, &mut out).is_ok() && out == page, is_held);
        assert_eq!(medium.check().unwrap_err().kind(), ErrorKind::Io);
        disk.heal();
    }
}

/// A file whose failed sync loses the writes since the sync before: reads return the old bytes.
#[derive(Debug)]
struct Forgetful {
    file: Box<dyn DiskFile>,
    /// The old bytes of the ranges written since the last sync.
    before: Mutex<Vec<(u64, Vec<u8>)>>,
    /// Number of syncs that succeed before the one that fails.
    left: Arc<AtomicU64>,
}

impl DiskFile for Forgetful {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn file_id(&self) -> io::Result<FileId> {
        self.file.file_id()
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut old = vec![0; data.len()];
        self.file.read_exact_at(&mut old, offset)?;
        self.before.lock().unwrap().push((offset, old));
        self.file.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let before = std::mem::take(&mut *self.before.lock().unwrap());
        if self.left.fetch_sub(1, Ordering::SeqCst) > 1 {
            return self.file.sync_data();
        }
        for (offset, old) in before.into_iter().rev() {
            self.file.write_all_at(&old, offset)?;
        }
        Err(io::Error::other("the sync failed"))
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

/// redb reads some of its own pages at the end of a commit. A failed sync may have lost them.
#[test]
fn a_failed_sync_that_takes_what_was_written_harms_nobody() {
    use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata};
    const TABLE: redb::TableDefinition<'_, u64, &[u8]> = redb::TableDefinition::new("t");
    for failing in 1..6 {
        let disk = crate::disk::MemoryDisk::new();
        let file = disk.open("f", Mode::CreateNew).unwrap();
        let left = Arc::new(AtomicU64::new(u64::MAX));
        let file = Forgetful { file, before: Mutex::default(), left: left.clone() };
        let medium = Arc::new(Medium::new(Box::new(file)));
        let backend = crate::records::file::backend::DiskBackend::alone(medium.clone());
        let database = redb::Builder::new().set_cache_size(0).create_with_backend(backend).unwrap();
        let commit = |number: u64| {
            let write = database.begin_write().unwrap();
            {
                let mut table = write.open_table(TABLE).unwrap();
                (0..40).for_each(|key| {
                    drop(table.insert(key * 7 % 101, [number as u8; 900].as_slice()).unwrap());
                });
            }
            write.commit().unwrap();
        };
        commit(1);
        left.store(failing, Ordering::SeqCst);
        let mut published = database.begin_read().unwrap();
        let mut number = 1;
        while medium.check().is_ok() {
            number += 1;
            commit(number);
            if medium.check().is_ok() {
                published = database.begin_read().unwrap();
            }
        }
        assert!(number > 1);
        let table = published.open_table(TABLE).unwrap();
        assert_eq!(table.len().unwrap(), 40);
        for row in table.iter().unwrap() {
            assert_eq!(
                row.unwrap().1.value(),
                [number as u8 - 1; 900],
                "the failed sync is number {failing}"
            );
        }
        medium.refuse_after_failure();
        drop(database);
    }
}
