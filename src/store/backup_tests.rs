//! Backups during deletes, transactions and maintenance; backups of stores that lost files.
//!
//! `STATIONDB_CRASH_SEED` is the first seed of the model.

use crate::store::tests::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::named::named_files;
use super::open::{Store, StoreOptions};
use super::restore::restore_to;
use crate::error::Error;
use crate::files::*;
use crate::sizes;
use crate::tables::*;
use crate::*;

const ROWS: i64 = 40;

fn open(disk: &SharedDisk) -> Store {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    options.small_blob_bytes(100).seal_rows(100).open_on(disk.clone()).unwrap()
}

pub(super) fn new_disk() -> SharedDisk {
    Arc::new(MemoryDisk::new())
}

pub(super) fn session(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

pub(super) fn upload(files: &impl FileService, byte: u8, len: usize) -> String {
    let request = UploadFileRequest { name: Some("log".into()), ..Default::default() };
    files
        .upload_file(&mut vec![byte; len].as_slice(), request, &Control::default())
        .unwrap()
        .to_string()
}

pub(super) fn create_table(tables: &impl TableService) -> String {
    let columns = r#"{"columns": [{"name": "t", "dataType": "INT64", "columnType": "INDEX"}]}"#;
    tables.create_table(crate::from_json(columns.as_bytes()).unwrap()).unwrap().to_string()
}

pub(super) fn append(tables: &impl TableService, table: &str, first: i64) {
    let index = crate::arrow::array::Int64Array::from_iter_values(first..first + ROWS);
    let batch =
        crate::arrow::array::RecordBatch::try_from_iter([("t", Arc::new(index) as _)]).unwrap();
    tables.append_batches(&table.into(), &mut std::iter::once(Ok(batch)), None).unwrap();
}

pub(super) fn maintain(store: &Store) {
    store.maintain(&Control::default()).unwrap();
}

/// A store with a file, and with a table that has a segment.
fn filled() -> (SharedDisk, Store) {
    let disk = new_disk();
    let store = open(&disk);
    let ada = session(&store);
    upload(&ada, b'x', 3_000);
    upload(&ada, b'y', 70_000);
    let table = create_table(&ada);
    (0..3).for_each(|at| append(&ada, &table, at * ROWS));
    maintain(&store);
    assert_eq!(
        (walk(&*disk, "files").unwrap().len(), walk(&*disk, "tables").unwrap().len()),
        (2, 2)
    );
    (disk, store)
}

/// The blob was created in a transaction, so maintenance checks whether that was rolled back. It
/// was not.
#[test]
fn no_file_is_removed_that_a_live_snapshot_names() {
    let disk = new_disk();
    let store = open(&disk);
    let ada = session(&store);
    let id = ada.transaction(|tx| Ok(upload(tx, b'x', 3_000))).unwrap();
    let snapshot = store.engine().snapshot();
    ada.delete_file(&id.as_str().into()).unwrap();
    maintain(&store);
    maintain(&store);
    let named = named_files(&snapshot).unwrap();
    assert_eq!(named.len(), 1);
    assert!(disk.exists(&named[0].path).unwrap(), "{} was removed under its reader", named[0].path);
    drop(snapshot);
    maintain(&store);
    assert!(walk(&*disk, "files").unwrap().is_empty());
    // What a rolled-back transaction wrote is still removed.
    let taken_back = ada.transaction(|tx| {
        upload(tx, b'x', 3_000);
        Err::<(), _>(Error::conflict("taken back"))
    });
    assert!(taken_back.is_err() && walk(&*disk, "files").unwrap().len() == 1);
    maintain(&store);
    assert!(walk(&*disk, "files").unwrap().is_empty());
}

#[test]
fn a_backup_of_a_store_that_lost_files_is_an_error_that_names_them() {
    type Loss = fn(&dyn Disk, &str);
    let losses: [(&str, Loss, &str); 3] = [
        (
            "the directory",
            |disk, path| disk.remove_dir_all(path.split_once('/').unwrap().0).unwrap(),
            "missing",
        ),
        ("one file", |disk, path| disk.remove_file(path).unwrap(), "missing"),
        (
            "the end of one",
            |disk, path| disk.open(path, Mode::ReadWrite).unwrap().set_len(20).unwrap(),
            "20 bytes",
        ),
    ];
    for directory in ["files", "tables"] {
        for (what, lose, problem) in losses {
            let place = format!("{what} below {directory} is lost");
            let (disk, store) = filled();
            let earlier = new_disk();
            store.backup_to(&earlier, &Control::default()).unwrap();
            let before = walk(&*earlier, "").unwrap();
            let path = walk(&*disk, directory).unwrap()[0].0.clone();
            lose(&*disk, &path);

            let fresh = new_disk();
            for target in [&earlier, &fresh] {
                let error = store.backup_to(target, &Control::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
                assert!(
                    error.message().contains(&path) && error.message().contains(problem),
                    "{place}: {error}"
                );
                let inner = error.api_error().inner_errors;
                assert_eq!(inner[0].args[0], path, "{place}");
                assert_eq!(
                    inner.len(),
                    if what == "the directory" { 2 } else { 1 },
                    "{place}: {inner:?}"
                );
            }
            // The earlier backup has what the store lost. The new one is marked as incomplete.
            assert_eq!(walk(&*earlier, "").unwrap(), before, "{place}");
            assert_eq!(
                restore_to(&earlier, &new_disk(), &Control::default()).unwrap().findings,
                [],
                "{place}"
            );
            let refused = restore_to(&fresh, &new_disk(), &Control::default()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::NotAStore, "{place}");
            assert_eq!(
                walk(&*fresh, "").unwrap().iter().filter(|(path, _)| path.contains('/')).count(),
                {
                    walk(&*disk, "")
                        .unwrap()
                        .iter()
                        .filter(|(path, _)| !path.contains("search") && path.contains('/'))
                        // A file with another length than its record says is not copied.
                        .filter(|(found, _)| what != "the end of one" || *found != path)
                        .count()
                }
            );

            // A restore from the backup also finds what the backup lacks, whatever removed it.
            lose(&*earlier, &path);
            let report = restore_to(&earlier, &new_disk(), &Control::default()).unwrap();
            assert!(
                report.findings.iter().any(|finding| finding.file == path),
                "{place}: {report:?}"
            );

            // After the names are deleted, a backup lacks nothing.
            let ada = session(&store);
            for file in ada.get_files(GetFilesRequest::default()).unwrap().available_files {
                ada.delete_file(&file.id).unwrap();
            }
            for table in ada.query_tables(Default::default()).unwrap().tables {
                ada.delete_tables(vec![table.id.unwrap().to_string().into()]).unwrap();
            }
            store.backup_to(&fresh, &Control::default()).unwrap();
            assert_eq!(
                restore_to(&fresh, &new_disk(), &Control::default()).unwrap().findings,
                [],
                "{place}"
            );
        }
    }
}

/// A file disappears while the backup copies. The store itself never does this.
#[test]
fn a_file_that_somebody_removes_during_a_backup_is_an_error_as_well() {
    let (disk, store) = filled();
    let path = walk(&*disk, "files").unwrap()[1].0.clone();
    let control = {
        let (disk, path) = (disk.clone(), path.clone());
        Control::default().with_progress(move |progress| {
            if progress.unit == "keys" && disk.exists(&path).unwrap() {
                disk.remove_file(&path).unwrap();
            }
        })
    };
    let target = new_disk();
    let error = store.backup_to(&target, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(error.api_error().inner_errors[0].args[0], path);
    assert!(restore_to(&target, &new_disk(), &Control::default()).is_err());
}

/// What the store contains: the byte and length of each file, the index values of each table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) files: BTreeMap<String, (u8, usize)>,
    tables: BTreeMap<String, Vec<i64>>,
}

impl Model {
    pub(super) fn of(store: &Store) -> Self {
        let ada = session(store);
        let mut seen = Self::default();
        for file in ada
            .get_files(GetFilesRequest { take: Some(1_000), ..Default::default() })
            .unwrap()
            .available_files
        {
            let mut content = Vec::new();
            ada.download_file(&file.id, &mut content, &Control::default()).unwrap();
            assert!(content.iter().all(|byte| *byte == content[0]));
            seen.files.insert(file.id.to_string(), (content[0], content.len()));
        }
        for table in ada
            .query_tables(QueryTablesRequest { take: Some(1_000), ..Default::default() })
            .unwrap()
            .tables
        {
            let id = table.id.unwrap().to_string();
            let request = GetTableDataRequest { take: Some(10_000), ..Default::default() };
            let frame =
                ada.get_table_data(&id.as_str().into(), request).unwrap().frame.to_data_frame();
            let rows = frame.data.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap());
            seen.tables.insert(id, rows.collect());
        }
        seen
    }
}

/// A store that changes, and what it contains.
pub(super) struct World {
    pub(super) store: Store,
    pub(super) model: Model,
    pub(super) random: Random,
    pub(super) next_row: i64,
}

impl World {
    pub(super) fn new(store: &Store, seed: u64) -> Self {
        let (store, random) = (store.clone(), Random::new(seed));
        Self { store, model: Model::default(), random, next_row: 0 }
    }

    fn pick<T>(&mut self, from: &BTreeMap<String, T>) -> Option<String> {
        let at = self.random.below(from.len().max(1) as u64);
        from.keys().nth(at as usize).cloned()
    }

    fn any_file(&mut self) -> Option<String> {
        let files = std::mem::take(&mut self.model.files);
        let picked = self.pick(&files);
        self.model.files = files;
        picked
    }

    fn any_table(&mut self) -> Option<String> {
        let tables = std::mem::take(&mut self.model.tables);
        let picked = self.pick(&tables);
        self.model.tables = tables;
        picked
    }

    fn new_content(&mut self) -> (u8, usize) {
        (self.random.below(256) as u8, 101 + self.random.below(3_000) as usize)
    }

    fn append(&mut self, tables: &impl TableService) {
        let Some(table) = self.any_table() else { return };
        append(tables, &table, self.next_row);
        self.model.tables.get_mut(&table).unwrap().extend(self.next_row..self.next_row + ROWS);
        self.next_row += ROWS;
    }

    pub(super) fn step(&mut self) {
        let ada = session(&self.store);
        match self.random.below(14) {
            0 => {
                let (byte, len) = self.new_content();
                self.model.files.insert(upload(&ada, byte, len), (byte, len));
            }
            1..=4 => ada
                .transaction(|tx| {
                    for _ in 0..=self.random.below(2) {
                        let (byte, len) = self.new_content();
                        self.model.files.insert(upload(tx, byte, len), (byte, len));
                    }
                    if self.random.percent(50) {
                        let id = self.any_file().unwrap();
                        tx.delete_file(&id.as_str().into()).unwrap();
                        self.model.files.remove(&id);
                    }
                    if self.random.percent(30) {
                        self.append(tx);
                    }
                    Ok(())
                })
                .unwrap(),
            5 => {
                let (byte, len) = self.new_content();
                let taken_back = ada.transaction(|tx| {
                    upload(tx, byte, len);
                    Err::<(), _>(Error::conflict("taken back"))
                });
                assert!(taken_back.is_err());
            }
            6..=8 => {
                if let Some(id) = self.any_file() {
                    ada.delete_file(&id.as_str().into()).unwrap();
                    self.model.files.remove(&id);
                }
            }
            9 | 10 if self.model.tables.len() < 2 => {
                self.model.tables.insert(create_table(&ada), Vec::new());
            }
            9 | 10 => self.append(&ada),
            11 if self.random.percent(30) => {
                if let Some(id) = self.any_table() {
                    ada.delete_tables(vec![id.clone().into()]).unwrap();
                    self.model.tables.remove(&id);
                }
            }
            _ => maintain(&self.store),
        }
    }
}

/// Restores a backup and compares the contents of the copy.
fn assert_shows(backup: &SharedDisk, expected: &Model, place: &str) {
    let target = new_disk();
    let report = restore_to(backup, &target, &Control::default())
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(report.findings, [], "{place}");
    assert_eq!(Model::of(&open(&target)), *expected, "{place}");
}

/// Backs up repeatedly, into the same directory and into new ones, while the store continues
/// between any two steps of the backup. Sometimes a named file is missing: then there must be no
/// backup, and the earlier one must be unchanged.
fn backups_beside_changes(seed: u64, backups: usize) {
    let disk = new_disk();
    let store = open(&disk);
    let world = Arc::new(Mutex::new(World::new(&store, seed)));
    let mut target = new_disk();
    let mut earlier: Option<Model> = None;
    for number in 0..backups {
        let place = format!("seed {seed}, backup {number}");
        let expected = {
            let mut world = world.lock().unwrap();
            (0..6).for_each(|_| world.step());
            world.model.clone()
        };
        if number % 4 == 3 {
            (target, earlier) = (new_disk(), None);
        }
        let named = named_files(&store.engine().snapshot()).unwrap();
        if number % 3 == 1 && !named.is_empty() {
            let lost = &named[world.lock().unwrap().random.below(named.len() as u64) as usize].path;
            let bytes = read_file(&*disk, lost, 1 << 20).unwrap();
            disk.remove_file(lost).unwrap();
            let error = store.backup_to(&target, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{place}: {error}");
            assert_eq!(&error.api_error().inner_errors[0].args[0], lost, "{place}");
            if let Some(earlier) = &earlier {
                assert_shows(&target, earlier, &place);
            }
            write_new_file(&*disk, lost, &bytes).unwrap();
        }
        if let Some(earlier) = &earlier {
            let checks_left = world.lock().unwrap().random.below(8);
            backup_is_cancelled(&store, &target, checks_left);
            assert_shows(&target, earlier, &place);
        }
        let beside = world.clone();
        let control = Control::default().with_progress(move |_| {
            let mut world = beside.lock().unwrap();
            if world.random.percent(60) {
                world.step();
            }
        });
        let report =
            store.backup_to(&target, &control).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(report.findings, [], "{place}");
        assert_shows(&target, &expected, &place);
        earlier = Some(expected);
    }
    let world = world.lock().unwrap();
    assert_eq!(Model::of(&store), world.model, "seed {seed}");
}

/// Begins a backup that ends after so many checks.
fn backup_is_cancelled(store: &Store, target: &SharedDisk, checks: u64) {
    let asked = AtomicU64::new(0);
    let is_over = move || asked.fetch_add(1, Ordering::Relaxed) >= checks;
    let outcome = store.backup_to(target, &Control::default().with_poll(is_over));
    if let Err(error) = outcome {
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    } else {
        // Over before the last check: it is the state of now.
        let target = new_disk();
        store.backup_to(&target, &Control::default()).unwrap();
    }
}

/// A store that was restored gives its next files the numbers that a newer backup has for others.
#[test]
fn contents_of_an_earlier_backup_stay_until_those_of_the_new_one_are_there() {
    let (disk, store) = filled();
    let (older, newer) = (new_disk(), new_disk());
    store.backup_to(&older, &Control::default()).unwrap();
    // Numbers are taken by the thousand, so a store that is opened has others than it had before.
    store.close().unwrap();
    let store = open(&disk);
    upload(&session(&store), b'b', 5_000);
    store.backup_to(&newer, &Control::default()).unwrap();
    let before = Model::of(&store);
    let restored = new_disk();
    restore_to(&older, &restored, &Control::default()).unwrap();
    let restored = open(&restored);
    upload(&session(&restored), b'c', 5_000);
    let files = |store: &Store| -> Vec<String> {
        let named = named_files(&store.engine().snapshot()).unwrap();
        named.into_iter().map(|file| file.path).filter(|path| path.starts_with("files")).collect()
    };
    assert_eq!(files(&restored), files(&store), "the numbers are given again");
    let mut ended = 0;
    for checks in 0.. {
        let asked = AtomicU64::new(0);
        let is_over = move || asked.fetch_add(1, Ordering::Relaxed) >= checks;
        match restored.backup_to(&newer, &Control::default().with_poll(is_over)) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        }
        assert_shows(&newer, &before, &format!("after {checks} checks"));
        ended += 1;
    }
    assert!(ended > 4, "{ended}");
    assert_shows(&newer, &Model::of(&restored), "in the end");
    let left = walk(&*newer, "").unwrap();
    assert!(left.iter().all(|(path, _)| !path.ends_with(".new")), "{left:?}");
}

#[test]
fn backups_beside_deletes_transactions_and_maintenance_hold_one_state() {
    let first = sizes::seed();
    let (seeds, backups) = (sizes::size("backup_seeds"), sizes::count("backups"));
    for seed in first..first + seeds {
        backups_beside_changes(seed, backups);
    }
    // `.ci/night` adds up these lines.
    println!("counted: {} backups", seeds * backups as u64);
}
