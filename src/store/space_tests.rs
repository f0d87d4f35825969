//! The space that a store takes on disk, compared with its contents: during churn, and after most
//! of it was deleted.

use crate::store::tests::prelude::*;
use std::collections::VecDeque;

use super::open::{Store, StoreOptions};
use super::verify::VerifyLevel;
use crate::files::*;
use crate::tables::*;
use crate::*;

const ROWS: i64 = 500;
const SMALL: usize = 12_000;
const LARGE: usize = 60_000;

fn open(disk: &Arc<MemoryDisk>) -> Store {
    let options = StoreOptions::default()
        .maintenance_thread(false)
        .seed(Some(1))
        .seal_rows(1_000)
        .log_entries_max(500);
    options.clock(ManualClock::new(Default::default())).open_on(disk.clone()).unwrap()
}

/// Bytes on disk, and bytes in use.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// Length of the record file; bytes of the keys and values in it.
    records: (u64, u64),
    /// Length of the files of segments and contents; length of those that are named.
    files: (u64, u64),
    /// Bytes of keys and values that are not sealed yet.
    buffer: u64,
}

impl Taken {
    fn of(store: &Store, disk: &MemoryDisk) -> Self {
        let snapshot = store.engine().snapshot();
        let source = ReadSource::Snapshot(&snapshot);
        let (mut live, mut named, mut buffer) = (0, 0, 0);
        for space in Space::ALL {
            let mut cursor = source.cursor(space, &[], None).unwrap();
            while let Some((key, value)) = cursor.next().unwrap() {
                live += (key.len() + value.len()) as u64;
                match space {
                    Space::Segments => {
                        let meta: SegmentMeta =
                            crate::records::envelope::from_row(&key, &value).unwrap();
                        named += meta.data_bytes + meta.summary_bytes;
                    }
                    Space::Blobs => {
                        named += u64::from_be_bytes(value.as_slice().try_into().unwrap());
                    }
                    Space::TableBuffer => buffer += value.len() as u64,
                    _ => {}
                }
            }
        }
        let len = |directory: &str| {
            walk(disk, directory).unwrap().iter().map(|(_, len)| len).sum::<u64>()
        };
        let records =
            walk(disk, "").unwrap().into_iter().find(|(path, _)| path == "records.redb").unwrap().1;
        Self { records: (records, live), files: (len("tables") + len("files"), named), buffer }
    }

    fn assert_bounded(&self, when: &str) {
        let (file, live) = self.records;
        assert!(
            file <= 3 * live,
            "{when}: records.redb is {:.1} times what is in it: {self:?}",
            file as f64 / live as f64
        );
        let (files, named) = self.files;
        assert!(
            files * 10 <= named * 13,
            "{when}: files take {:.2} times what is named: {self:?}",
            files as f64 / named as f64
        );
        // The record file has its own limit, above.
        let (total, in_use) = (file + files, live + named);
        assert!(total * 10 <= in_use * 13 + self.buffer * 10 + 2 * live * 10, "{when}: {self:?}");
    }
}

/// Tables and files in the order of their creation.
#[derive(Default)]
struct World {
    tables: VecDeque<TableId>,
    files: VecDeque<FileId>,
    made: usize,
}

impl World {
    fn add_table(&mut self, session: &Session) {
        let columns = vec![
            column("t", DataType::Int64, ColumnType::Index),
            column("v", DataType::Float64, ColumnType::Normal),
        ];
        let id =
            session.create_table(CreateTableRequest { columns, ..Default::default() }).unwrap();
        for part in 0..5 {
            let row = |at: i64| vec![Some(at.to_string()), Some((at as f64 / 3.0).to_string())];
            let data = (part * ROWS..(part + 1) * ROWS).map(row).collect();
            let frame = Some(DataFrame { columns: None, data });
            session
                .append_table_data(&id, AppendTableDataRequest { frame, end_of_data: None })
                .unwrap();
        }
        self.tables.push_back(id);
    }

    fn add_file(&mut self, session: &Session, len: usize) {
        self.made += 1;
        let content: Vec<u8> =
            (0..len).map(|at| (at.wrapping_mul(31 + self.made) >> 3) as u8).collect();
        let request =
            UploadFileRequest { name: Some(format!("file {}", self.made)), ..Default::default() };
        self.files.push_back(
            session.upload_file(&mut content.as_slice(), request, &Control::default()).unwrap(),
        );
    }

    fn delete(&mut self, session: &Session, tables: usize, files: usize) {
        let gone = self.tables.drain(..tables).collect();
        session.delete_tables(gone).unwrap();
        session.delete_files(self.files.drain(..files).collect()).unwrap();
    }
}

#[test]
fn churn_keeps_the_space_in_proportion_and_deletes_give_it_back() {
    let disk = Arc::new(MemoryDisk::new());
    let mut store = open(&disk);
    let mut world = World::default();
    let session = store.session(Identity::user("ada"));
    let maintain = |store: &Store| store.maintain(&Control::default()).unwrap();
    let (mut worst, mut appended) = (0.0f64, 0);
    for round in 0..24 {
        for file in 0..8 {
            world.add_file(&session, if file == 0 { LARGE } else { SMALL });
        }
        world.add_table(&session);
        appended += 5 * ROWS;
        if round >= 12 {
            world.delete(&session, 1, 8);
        }
        maintain(&store);
        if round >= 12 {
            let space = Taken::of(&store, &disk);
            space.assert_bounded("while everything is replaced");
            worst = worst.max(space.records.0 as f64 / space.records.1 as f64);
        }
    }
    let full = Taken::of(&store, &disk);
    println!(
        "after {appended} rows and {} files: {full:?}; records.redb at most {worst:.2} times what is in it",
        world.made
    );

    let (tables, files) = (world.tables.len() * 9 / 10, world.files.len() * 9 / 10);
    world.delete(&session, tables, files);
    let before = Taken::of(&store, &disk);
    assert!(before.files.0 > before.files.1 * 3, "nothing waits to be removed: {before:?}");
    maintain(&store);
    let after = Taken::of(&store, &disk);
    println!("after deleting nine tenths and one pass: {after:?}");
    assert!(after.files.0 * 10 <= after.files.1 * 13, "{after:?}");
    // The free pages of the record file are reused: as much data again does not make it grow.
    for _ in 0..60 {
        world.add_file(&session, SMALL);
    }
    assert!(Taken::of(&store, &disk).records.0 <= full.records.0, "free pages were not used again");
    let gone = world.files.len() - 10;
    world.delete(&session, 0, gone);
    maintain(&store);
    drop(session);
    // If no other handle exists, compaction returns them to the disk.
    let report = store.compact().unwrap();
    let compact = Taken::of(&store, &disk);
    println!("compacted: {report:?}, {compact:?}");
    assert!(report.bytes_after < report.bytes_before / 2, "{report:?}");
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}

const MIB: u64 = 1024 * 1024;

fn small() -> StoreOptions {
    let options =
        StoreOptions::default().maintenance_thread(false).seed(Some(1)).reserve_bytes(3 * MIB);
    options.clock(ManualClock::new(Default::default()))
}

fn open_small(disk: &SimDisk, quick_repair: bool) -> Store {
    small().quick_repair(quick_repair).open_on(Arc::new(disk.clone())).unwrap()
}

/// Uploads small files until one is refused, or there are `most`; returns their ids.
fn fill(session: &Session, most: usize) -> (Vec<String>, Option<Error>) {
    let mut ids = Vec::new();
    while ids.len() < most {
        let content = vec![ids.len() as u8; SMALL];
        let request =
            UploadFileRequest { name: Some(format!("file {}", ids.len())), ..Default::default() };
        match session.upload_file(&mut content.as_slice(), request, &Control::default()) {
            Ok(id) => ids.push(id.to_string()),
            Err(error) => return (ids, Some(error)),
        }
    }
    (ids, None)
}

/// A store that filled its disk is emptied, and accepts as much again, without a compaction.
fn fills_again(quick_repair: bool, is_reopened: bool) {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(6 * MIB));
    let mut store = open_small(&disk, quick_repair);
    let record_file = |disk: &SimDisk| {
        walk(disk, "").unwrap().into_iter().find(|(path, _)| path == "records.redb")
    };
    let mut first = 0;
    for round in 0..3 {
        let session = store.session(Identity::user("ada"));
        let (ids, refused) = fill(&session, if round == 0 { usize::MAX } else { first * 8 / 10 });
        let kind = refused.as_ref().map(Error::kind);
        if round == 0 {
            assert_eq!(kind, Some(ErrorKind::NoSpace), "{refused:?}");
            first = ids.len();
        } else {
            assert_eq!(
                kind,
                None,
                "round {round}: {} of {first} files went in again: {refused:?}",
                ids.len()
            );
        }
        println!("round {round}: {} files, {:?}", ids.len(), record_file(&disk));
        session
            .delete_files(ids.into_iter().map(Into::into).collect())
            .unwrap_or_else(|error| panic!("round {round}: a delete was refused: {error}"));
        drop(session);
        if is_reopened {
            drop(store);
            store = open_small(&disk, quick_repair);
        }
    }
    // The file doubles when it is full. The disk is full at the first length of more than 3 MiB, so
    // between 1.5 and 3 MiB were used, at 18 KiB a file.
    assert!(first > 80, "{first}");
    assert!(store.verify(VerifyLevel::Checksums, &Control::default()).unwrap().is_sound());
}

#[test]
fn a_full_store_that_was_emptied_takes_as_much_again() {
    fills_again(false, false);
}

#[test]
fn a_full_store_that_was_emptied_and_opened_again_takes_as_much_again() {
    fills_again(true, true);
}

/// While the disk has space, no commit is spent on counting free pages.
#[test]
fn free_pages_are_counted_only_where_the_disk_is_almost_full() {
    let syncs = |capacity| {
        let disk = SimDisk::new(1);
        disk.set_capacity(capacity);
        // Without a memory table, so that each commit is one of the record file.
        let (_store, session) = opened(small().memory_table_bytes(0), Arc::new(disk.clone()));
        let before = disk.trace().len();
        let (ids, refused) = fill(&session, 60);
        assert!(refused.is_none(), "{refused:?}");
        session.delete_files(ids.into_iter().map(Into::into).collect()).unwrap();
        let trace = disk.trace().split_off(before);
        trace
            .iter()
            .filter(|entry| entry.kind == OpKind::Sync && &*entry.path == "records.redb")
            .count()
    };
    let (unbounded, roomy, tight) = (syncs(None), syncs(Some(1024 * MIB)), syncs(Some(8 * MIB)));
    println!(
        "syncs of 61 commits: {unbounded} without a bound, {roomy} with room, {tight} on a small disk"
    );
    assert_eq!(unbounded, roomy);
    assert!(tight > roomy && tight < roomy * 2, "{tight}");
}

/// Readers keep pages from being reused, so these pages do not count as free.
#[test]
fn pages_that_a_reader_needs_are_not_room() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(6 * MIB));
    let store = open_small(&disk, false);
    let session = store.session(Identity::user("ada"));
    let (ids, _) = fill(&session, usize::MAX);
    let count = ids.len();
    let reader = store.engine().snapshot();
    session.delete_files(ids.into_iter().map(Into::into).collect()).unwrap();
    let (ids, refused) = fill(&session, count);
    assert_eq!(
        refused.map(|error| error.kind()),
        Some(ErrorKind::NoSpace),
        "{} of {count}",
        ids.len()
    );
    drop(reader);
    session.delete_files(ids.into_iter().map(Into::into).collect()).unwrap();
    let (ids, refused) = fill(&session, count * 8 / 10);
    assert!(refused.is_none(), "{} of {count}: {refused:?}", ids.len());
}
