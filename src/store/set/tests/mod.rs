//! Backup sets. Here is what the tests share.
//!
//! `STATIONDB_CRASH_SEED` is the first seed of the histories.

use std::sync::Mutex;

use chrono::{DateTime, Utc};

use super::chunks::{Chunk, Packs, Place};
use super::earlier::dissolved;
use super::layout::{BACKUPS, OBJECTS, RECORDS, Set, manifest_path, pack_path};
use super::manifest::{Manifest, NeededPack};
use super::marks::Marks;
use super::sweep::Manifests;
use super::*;
use crate::sizes;
use crate::store::BackupReport;
use crate::store::backup_tests::{
    Model, World, append, create_table, maintain, new_disk, session, upload,
};
use crate::store::tests::prelude::*;
use crate::value::Clock;

mod archive;
mod archive_cuts;
mod backups;
mod damage;
mod mends;
mod packs;
mod pruning;
mod repairs;
mod restores;

#[derive(Debug)]
struct Hands(Arc<ManualClock>);

impl Clock for Hands {
    fn now(&self) -> DateTime<Utc> {
        self.0.now()
    }
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(time::parse("2026-01-05T10:00:00Z").unwrap()))
}

fn options(clock: &Arc<ManualClock>) -> StoreOptions {
    let options = StoreOptions::default().maintenance_thread(false).seed(Some(1));
    options.small_blob_bytes(100).seal_rows(100).clock(Hands(clock.clone()))
}

fn control() -> Control {
    Control::default()
}

fn back_up(store: &Store, set: &SharedDisk) -> Result<SetBackupReport> {
    store.backup_to_set_disk(set, &SetBackupOptions::new(), &control())
}

/// Restores a point; returns what the store has, and whether anything was found. What a store has
/// of which something is lost is not read.
fn restored(set: &SharedDisk, at: RestorePoint) -> Result<(Model, bool)> {
    let target = new_disk();
    let report = Store::restore_from_set_disk(set, at, &target, &control())?;
    if !report.findings.is_empty() {
        return Ok((Model::default(), true));
    }
    let store = options(&clock()).open_on(target)?;
    Ok((Model::of(&store), false))
}

fn assert_restores(set: &SharedDisk, at: RestorePoint, expected: &Model, place: &str) {
    let (model, is_damaged) =
        restored(set, at).unwrap_or_else(|error| panic!("{place}, {at:?}: {error}"));
    assert!(!is_damaged, "{place}, {at:?}");
    assert_eq!(model, *expected, "{place}, {at:?}");
}

fn copy(disk: &dyn Disk) -> SharedDisk {
    let fresh = new_disk();
    for directory in [BACKUPS, RECORDS, OBJECTS] {
        fresh.create_dir_all(directory).unwrap();
    }
    for (path, _) in walk(disk, "").unwrap() {
        fresh.create_dir_all(parent(&path)).unwrap();
        copy_file(disk, &*fresh, &path, |_| Ok(())).unwrap();
    }
    fresh
}

/// A backup, and what the store had then.
struct Point {
    backup: u64,
    sequence: u64,
    taken: DateTime<Utc>,
    model: Model,
}

/// A store and a set with three backups of it. The first two have files that the third has not.
fn example() -> (Store, SharedDisk, Vec<Point>) {
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let (points, set) = (Vec::new(), new_disk());
    let mut example = (store, set, points);
    let ada = session(&example.0);
    let table = create_table(&ada);
    for round in 0..3_i64 {
        clock.advance_ms(86_400_000);
        let file = upload(&ada, b'a' + round as u8, 3_000 + round as usize);
        (0..3).for_each(|at| append(&ada, &table, (round * 3 + at) * 40));
        upload(&ada, b'k' + round as u8, 70_000);
        if round == 2 {
            ada.delete_file(&file.as_str().into()).unwrap();
        }
        // The second pass removes what the first one has merged.
        maintain(&example.0);
        maintain(&example.0);
        add_point(&mut example);
    }
    example
}

fn add_point((store, set, points): &mut (Store, SharedDisk, Vec<Point>)) {
    let report = back_up(store, set).unwrap();
    assert_eq!(report.findings, []);
    let (backup, sequence, taken) = (report.backup, report.sequence, report.taken);
    points.push(Point { backup, sequence, taken, model: Model::of(store) });
}

fn flip(disk: &dyn Disk, path: &str, at: u64) {
    let file = disk.open(path, Mode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// A set with one backup on a simulated disk, and a store that has changed since.
fn before_the_second() -> (Store, SimDisk, Model, Model) {
    let store = options(&clock()).open_on(new_disk()).unwrap();
    let ada = session(&store);
    let table = create_table(&ada);
    (0..3).for_each(|at| append(&ada, &table, at * 40));
    let file = upload(&ada, b'x', 3_000);
    maintain(&store);
    let disk = SimDisk::new(1);
    let set: SharedDisk = Arc::new(disk.clone());
    back_up(&store, &set).unwrap();
    let first = Model::of(&store);
    (3..6).for_each(|at| append(&ada, &table, at * 40));
    upload(&ada, b'y', 5_000);
    upload(&ada, b'z', 200);
    ada.delete_file(&file.as_str().into()).unwrap();
    maintain(&store);
    let second = Model::of(&store);
    (store, disk, first, second)
}

/// Every listed backup is whole, and the first one is there. Returns how many there are.
///
/// They are restored when `restores` says so; otherwise all their bytes are verified.
fn assert_whole(disk: &SimDisk, models: [&Model; 2], restores: bool, place: &str) -> usize {
    let set: SharedDisk = Arc::new(disk.clone());
    let told =
        Store::verify_set_disk(&set, &control()).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(told.is_sound(), "{place}: {told:?}");
    for (backup, model) in told.backups.iter().zip(models).filter(|_| restores) {
        assert_restores(&set, RestorePoint::Backup(backup.backup), model, place);
    }
    told.backups.len()
}
