//! Backup sets: histories against a model, interruptions, wrong bits, and how much is written.
//!
//! `STATIONDB_CRASH_SEED` is the first seed of the histories.

use std::sync::Mutex;

use chrono::{DateTime, Utc};

use super::earlier::dissolved;
use super::layout::{BACKUPS, OBJECTS, RECORDS, manifest_path};
use super::manifest::{Manifest, NeededPack};
use super::sweep::Manifests;
use super::*;
use crate::sizes;
use crate::store::backup_tests::upload;
use crate::store::backup_tests::{Model, World, append, create_table, maintain, new_disk, session};
use crate::store::tests::prelude::*;
use crate::value::Clock;

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

/// Backs up a store that changes between any two steps of the backup, prunes the set, damages
/// nothing, and restores every point.
fn history(seed: u64, backups: usize) {
    let (clock, set) = (clock(), new_disk());
    let store = options(&clock).open_on(new_disk()).unwrap();
    let world = Arc::new(Mutex::new(World::new(&store, seed)));
    let mut points: Vec<Point> = Vec::new();
    for number in 0..backups {
        let place = format!("seed {seed}, backup {number}");
        let model = {
            let mut world = world.lock().unwrap();
            clock.advance_ms(world.random.below(3 * 86_400_000) as i64);
            (0..world.random.below(8)).for_each(|_| world.step());
            world.model.clone()
        };
        let beside = world.clone();
        let control = Control::default().with_progress(move |_| {
            let mut world = beside.lock().unwrap();
            if world.random.percent(60) {
                world.step();
            }
        });
        let report = store
            .backup_to_set_disk(&set, &SetBackupOptions::new(), &control)
            .unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(report.findings, [], "{place}");
        assert!(!report.went_on && !report.is_ahead && report.unreadable.is_empty(), "{place}");
        let (backup, sequence, taken) = (report.backup, report.sequence, report.taken);
        points.push(Point { backup, sequence, taken, model });
        let mut world = world.lock().unwrap();
        if world.random.percent(30) {
            let mut draw = || world.random.below(4) as u32;
            let retention = SetRetention::new(draw(), draw(), draw());
            let report = Store::prune_set_disk(&set, retention, &self::control()).unwrap();
            assert!(report.kept.contains(&backup) && report.held_back.is_none(), "{place}");
            let all: Vec<u64> = points.iter().map(|point| point.backup).collect();
            let mut told = [report.kept.clone(), report.removed].concat();
            told.sort_unstable();
            assert_eq!(told, all, "{place}");
            points.retain(|point| report.kept.contains(&point.backup));
        }
        drop(world);
        let verified = Store::verify_set_disk(&set, &self::control()).unwrap();
        assert!(verified.is_sound() && !verified.is_unfinished, "{place}: {verified:?}");
        let listed: Vec<u64> = verified.backups.iter().map(|backup| backup.backup).collect();
        let kept: Vec<u64> = points.iter().map(|point| point.backup).collect();
        assert_eq!(listed, kept, "{place}");
        if number % 3 == 2 || number + 1 == backups {
            for point in &points {
                assert_restores(&set, RestorePoint::Backup(point.backup), &point.model, &place);
            }
            let last = points.last().unwrap();
            assert_restores(&set, RestorePoint::Latest, &last.model, &place);
            assert_restores(&set, RestorePoint::Sequence(last.sequence), &last.model, &place);
            let at = last.taken + chrono::TimeDelta::days(400);
            assert_restores(&set, RestorePoint::Time(at), &last.model, &place);
        }
    }
    // The set has nothing that no backup needs.
    let needed = walk(&*set, RECORDS).unwrap().len();
    assert!(needed <= points.len() + 33, "{needed} packs");
}

#[test]
fn histories_are_restored_to_every_point() {
    let first = sizes::seed();
    let (seeds, backups) = (sizes::size("backup_seeds"), sizes::count("backups"));
    for seed in first..first + seeds {
        history(seed, backups);
    }
    // `.ci/night` adds up these lines.
    println!("counted: {} backups", seeds * backups as u64);
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

#[test]
fn nothing_is_sent_twice_and_no_file_is_read_to_know_that() {
    let (store, set, _) = example();
    let again = back_up(&store, &set).unwrap();
    assert_eq!((again.files_sent, again.files > 4), (0, true), "{again:?}");
    // Neither commit nor change: no pack is needed.
    assert_eq!(again.written_bytes, 0);
    // A kept object with a wrong byte is not read.
    let objects = walk(&*set, OBJECTS).unwrap();
    let (path, _) = objects.into_iter().find(|(_, len)| *len > 70_000).unwrap();
    flip(&*set, &path, 30);
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 0);
    assert!(!Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    // One that is gone is sent again, and mends the earlier backups.
    set.remove_file(&path).unwrap();
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 1);
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
}

fn flip(disk: &dyn Disk, path: &str, at: u64) {
    let file = disk.open(path, Mode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 4], at).unwrap();
}

/// A wrong bit, a cut and a loss of every file: each backup is restored as it was, or the damage is
/// told. What verification says is what a restore finds.
#[test]
fn damage_of_any_file_is_told_and_leaves_what_does_not_need_it() {
    let (store, set, points) = example();
    let (mut hurt, mut unhurt) = (0, 0);
    let files = walk(&*set, "").unwrap();
    for (number, (path, len)) in files.into_iter().filter(|(_, len)| *len > 0).enumerate() {
        let cases = [Some(0), Some(len / 2), Some(len - 1), None];
        for (case, at) in cases.into_iter().enumerate() {
            let place = format!("{path}, byte {at:?}");
            let damaged = copy(&*set);
            match at {
                Some(at) => flip(&*damaged, &path, at),
                None if number.is_multiple_of(2) => damaged.remove_file(&path).unwrap(),
                None => {
                    damaged.open(&path, Mode::ReadWrite).unwrap().set_len(len / 2).unwrap();
                }
            }
            if path == "SET" {
                let refused = Store::verify_set_disk(&damaged, &control()).unwrap_err().kind();
                assert!(matches!(refused, ErrorKind::Corrupt | ErrorKind::NotAStore), "{place}");
                continue;
            }
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            let is_manifest_lost =
                path.starts_with(BACKUPS) && at.is_none() && number.is_multiple_of(2);
            // The magic of a pack and its number are not needed to read its chunks.
            let is_beside = path.starts_with(RECORDS) && at == Some(0);
            assert_eq!(told.is_sound(), is_manifest_lost || is_beside, "{place}: {told:?}");
            for point in &points {
                // Restoring all would take long, and the first byte is like the last one.
                if case == 0 {
                    break;
                }
                let is_told = told.backups.iter().find(|told| told.backup == point.backup);
                let is_told = is_told.is_none_or(|told| told.problem.is_some());
                let at = RestorePoint::Backup(point.backup);
                match restored(&damaged, at) {
                    Ok((model, false)) => {
                        assert_eq!(model, point.model, "{place}, {at:?}");
                        assert!(!is_told, "{place}, {at:?}: verification tells more");
                        unhurt += 1;
                    }
                    Ok((_, true)) | Err(_) => {
                        assert!(is_told, "{place}, {at:?}: verification tells less");
                        hurt += 1;
                    }
                }
            }
            // What the report says to do: the file is removed, and the next backup is whole.
            if damaged.exists(&path).unwrap() {
                damaged.remove_file(&path).unwrap();
            }
            let next = back_up(&store, &damaged).unwrap_or_else(|e| panic!("{place}: {e}"));
            assert_eq!(next.findings, [], "{place}");
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            let told = told.backups.last().unwrap();
            assert_eq!((told.backup, &told.problem), (next.backup, &None), "{place}");
        }
    }
    println!("{hurt} backups hurt, {unhurt} not");
    assert!(hurt > 20 && unhurt > 50);
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

#[test]
fn every_operation_of_a_backup_can_fail() {
    let (store, before, first, second) = before_the_second();
    let start = before.survivors(0, Survival::All);
    let clean = start.survivors(0, Survival::All);
    let from = clean.ops();
    back_up(&store, &(Arc::new(clean.clone()) as SharedDisk)).unwrap();
    let mut failed = 0;
    for op in from..clean.ops() {
        let disk = start.survivors(0, Survival::All);
        let set: SharedDisk = Arc::new(disk.clone());
        match op % 3 {
            0 => disk.inject(Pick::from_op(op), Fault::Io),
            1 => disk.inject(Pick::from_op(op).once(), Fault::Io),
            _ => disk.inject(Pick::from_op(op), Fault::NoSpace),
        }
        let outcome = back_up(&store, &set);
        failed += usize::from(outcome.is_err());
        disk.heal();
        let image = disk.survivors(op, Survival::Random);
        let place = format!("operation {op}: {outcome:?}");
        let count = assert_whole(&image, [&first, &second], op.is_multiple_of(7), &place);
        assert!(count == 2 || outcome.is_err(), "{place}");
        // The next one goes on, and leaves nothing of the interrupted one. It relies on no name that
        // the interrupted one left without a sync: after a kill, and not a power cut, those are
        // there.
        let is_killed = op.is_multiple_of(2);
        let disk = if is_killed { disk } else { image };
        let set: SharedDisk = Arc::new(disk.clone());
        let next = back_up(&store, &set).unwrap_or_else(|error| panic!("{place}: {error}"));
        let set: SharedDisk = Arc::new(disk.survivors(op, Survival::None));
        let told = Store::verify_set_disk(&set, &control()).unwrap();
        assert!(told.is_sound() && !told.is_unfinished, "{place}: {told:?}");
        assert_eq!(told.backups.last().unwrap().backup, next.backup, "{place}");
        let left = walk(&*set, "").unwrap().into_iter().find(|(path, _)| path.ends_with(".new"));
        assert_eq!(left, None, "{place}");
        if op.is_multiple_of(5) {
            assert_restores(&set, RestorePoint::Latest, &second, &place);
        }
    }
    assert!(failed > 20, "{failed}");
}

#[test]
fn every_change_of_a_backup_can_be_the_last() {
    let (store, before, first, second) = before_the_second();
    let disk = before.survivors(0, Survival::All);
    let set: SharedDisk = Arc::new(disk.clone());
    back_up(&store, &set).unwrap();
    let (mut one, mut two) = (0, 0);
    let mut replay = disk.replay();
    let mut seed = 0_u64;
    while let Some((op, kind, path)) = replay.advance() {
        for survival in [Survival::None, Survival::All, Survival::Random] {
            seed += 1;
            let place = format!("after {op} ({kind:?} {path:?}), {survival:?}, seed {seed}");
            let image = replay.survivors(seed, survival);
            match assert_whole(&image, [&first, &second], seed.is_multiple_of(11), &place) {
                1 => one += 1,
                _ => two += 1,
            }
            let set: SharedDisk = Arc::new(image.clone());
            back_up(&store, &set).unwrap_or_else(|error| panic!("{place}: {error}"));
            let image = image.survivors(seed, Survival::None);
            assert_whole(&image, [&first, &second], false, &place);
            if seed.is_multiple_of(13) {
                let set: SharedDisk = Arc::new(image);
                assert_restores(&set, RestorePoint::Latest, &second, &place);
            }
        }
    }
    assert!(one > 20 && two > 3, "{one} {two}");
}

/// A pruning that is cut removes a backup whole or not at all.
#[test]
fn every_change_of_a_pruning_can_be_the_last() {
    let (store, disk, _, second) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    back_up(&store, &set).unwrap();
    let first = {
        let set = copy(&disk);
        restored(&set, RestorePoint::Backup(1)).unwrap().0
    };
    let disk = disk.survivors(0, Survival::All);
    let set: SharedDisk = Arc::new(disk.clone());
    let report = Store::prune_set_disk(&set, SetRetention::new(0, 0, 0), &control()).unwrap();
    assert_eq!((report.kept, report.removed), (vec![2], vec![1]));
    assert!(report.files > 0, "the file that the second backup lacks");
    let mut replay = disk.replay();
    let (mut seed, mut counts) = (0_u64, BTreeSet::new());
    while let Some((op, kind, path)) = replay.advance() {
        for survival in [Survival::None, Survival::All, Survival::Random] {
            seed += 1;
            let place = format!("after {op} ({kind:?} {path:?}), {survival:?}, seed {seed}");
            let image = replay.survivors(seed, survival);
            let set: SharedDisk = Arc::new(image);
            let told = Store::verify_set_disk(&set, &control()).unwrap();
            assert!(told.is_sound(), "{place}: {told:?}");
            counts.insert(told.backups.len());
            for backup in told.backups.into_iter().filter(|_| seed.is_multiple_of(5)) {
                let model = if backup.backup == 1 { &first } else { &second };
                assert_restores(&set, RestorePoint::Backup(backup.backup), model, &place);
            }
            let again = Store::prune_set_disk(&set, SetRetention::new(0, 0, 0), &control());
            assert_eq!(again.unwrap().kept, [2], "{place}");
        }
    }
    assert_eq!(counts, BTreeSet::from([1, 2]));
}

/// A store that lost a file: the backup has it from the set, or tells it, and keeps all else.
#[test]
fn damage_of_the_store_is_a_finding_and_not_the_end() {
    let (store, set, mut points) = example();
    let disk = store.engine().disk.clone();
    let (path, _) = walk(&*disk, "files").unwrap().pop().unwrap();
    disk.remove_file(&path).unwrap();
    let report = back_up(&store, &set).unwrap();
    assert_eq!(report.findings, [], "an earlier backup has the file");
    let model = points.pop().unwrap().model;
    assert_restores(&set, RestorePoint::Latest, &model, "after a loss");
    let fresh = new_disk();
    let report = back_up(&store, &fresh).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    assert_eq!(report.findings[0].file, path);
    assert_eq!(Store::list_backups_disk(&fresh).unwrap().backups[0].findings, 1);
    let target = new_disk();
    let found =
        Store::restore_from_set_disk(&fresh, RestorePoint::Latest, &target, &control()).unwrap();
    assert!(found.findings.iter().any(|finding| finding.file == path), "{found:?}");
    // A wrong byte of a file never gets the name of the right one.
    let (path, _) = walk(&*disk, "files").unwrap().pop().unwrap();
    flip(&*disk, &path, 40);
    let report = back_up(&store, &new_disk()).unwrap();
    assert_eq!(report.findings.len(), 2, "{report:?}");
    assert_eq!(back_up(&store, &set).unwrap().findings, []);
}

#[test]
fn a_point_that_no_backup_has_is_named_with_the_nearest() {
    let (_store, set, points) = example();
    let error = |at| restored(&set, at).unwrap_err();
    let taken = |point: &Point| time::format(point.taken);
    for (at, words) in [
        (RestorePoint::Backup(9), vec!["no backup 9".to_owned(), "backup 3".to_owned()]),
        (RestorePoint::Sequence(0), vec!["commit 0".to_owned(), taken(&points[0])]),
        (
            RestorePoint::Sequence(points[1].sequence + 1),
            vec![taken(&points[1]), taken(&points[2])],
        ),
        (RestorePoint::Time(points[0].taken - chrono::TimeDelta::days(1)), vec![taken(&points[0])]),
    ] {
        let error = error(at);
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        for word in words {
            assert!(error.message().contains(&word), "{at:?}: {error}, without {word:?}");
        }
    }
    let between = points[1].taken + chrono::TimeDelta::seconds(1);
    assert_restores(&set, RestorePoint::Time(between), &points[1].model, "between two");
    // An unreadable backup may be the one that is meant.
    flip(&*set, &manifest_path(3), 200);
    for at in [RestorePoint::Latest, RestorePoint::Backup(3), RestorePoint::Time(between)] {
        let error = error(at);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("backup 2"), "{error}");
    }
    assert_restores(&set, RestorePoint::Backup(2), &points[1].model, "before it");
}

#[test]
fn what_is_no_set_or_another_stores_is_refused() {
    let (store, set, _) = example();
    let other = StoreOptions::default().seed(Some(2)).open_on(new_disk()).unwrap();
    assert_eq!(back_up(&other, &set).unwrap_err().kind(), ErrorKind::NotAStore);
    let full = new_disk();
    write_new_file(&*full, "letter", b"dear").unwrap();
    assert_eq!(back_up(&store, &full).unwrap_err().kind(), ErrorKind::NotAStore);
    assert_eq!(full.list("").unwrap().len(), 1);
    assert_eq!(Store::list_backups_disk(&full).unwrap_err().kind(), ErrorKind::NotAStore);
    // A lock that another call has.
    let lock = set.open("LOCK", Mode::ReadWrite).unwrap();
    assert!(lock.try_lock().unwrap());
    assert_eq!(back_up(&store, &set).unwrap_err().kind(), ErrorKind::Locked);
    let pruned = Store::prune_set_disk(&set, SetRetention::new(1, 1, 1), &control());
    assert_eq!(pruned.unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(Store::verify_set_disk(&set, &control()).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(Store::list_backups_disk(&set).unwrap().backups.len(), 3);
    drop(lock);
    // A target that contains something.
    let error = Store::restore_from_set_disk(&set, RestorePoint::Latest, &full, &control());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotAStore);
    // A layout and a stored form of a later build.
    let text = String::from_utf8(read_file(&*set, "SET", 4_096).unwrap()).unwrap();
    let lines = text.replace("set 1", "set 2");
    let lines = lines.split("\nsum ").next().unwrap();
    set.remove_file("SET").unwrap();
    write_new_file(&*set, "SET", crate::store::format::with_sum(lines).as_bytes()).unwrap();
    assert_eq!(back_up(&store, &set).unwrap_err().kind(), ErrorKind::NewerFormat);
}

/// Many backups need few packs, and the set does not keep what none needs.
#[test]
fn the_packs_of_a_backup_are_bounded() {
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let (ada, set) = (session(&store), new_disk());
    let mut models = Vec::new();
    for round in 0..80 {
        clock.advance_ms(3_600_000);
        upload(&ada, round, 150);
        back_up(&store, &set).unwrap();
        models.push(Model::of(&store));
    }
    let opened = super::layout::Set::seen(set.clone()).unwrap();
    let most = Manifests::of(&opened).unwrap().readable;
    let most = most.iter().map(|manifest: &Manifest| manifest.packs.len()).max().unwrap();
    assert!((2..=33).contains(&most), "{most}");
    for at in [1, 40, 80] {
        let model = &models[at as usize - 1];
        assert_restores(&set, RestorePoint::Backup(at), model, "of eighty");
    }
    let report = Store::prune_set_disk(&set, SetRetention::new(2, 0, 0), &control()).unwrap();
    assert_eq!(report.kept.len(), 2);
    for at in report.kept {
        assert_restores(&set, RestorePoint::Backup(at), &models[at as usize - 1], "after pruning");
    }
    assert!(walk(&*set, RECORDS).unwrap().len() <= 66);
}

/// Packs that are lost, cut off, mostly unused, or small among many, are not needed any more.
#[test]
fn worn_packs_are_written_again() {
    let disk = new_disk();
    let set = super::layout::Set::made(disk.clone(), 1).unwrap();
    let pack = |pack: u64, bytes: u64, needed: u64| NeededPack { pack, bytes, needed };
    for number in 1..=40 {
        let path = super::layout::pack_path(number);
        write_new_file(&*disk, &path, &[0; 70_000]).unwrap();
    }
    let worn = |packs: &[NeededPack]| -> Vec<u64> {
        let mut worn: Vec<u64> = dissolved(&set, packs).unwrap().into_iter().collect();
        worn.sort_unstable();
        worn
    };
    let packs = [
        pack(1, 70_000, 70_000),
        pack(2, 70_001, 70_001),
        pack(3, 70_000, 17_499),
        pack(4, 70_000, 17_500),
        pack(41, 70_000, 70_000),
    ];
    assert_eq!(worn(&packs), [2, 3, 41]);
    let many = |count: u64| -> Vec<NeededPack> {
        (1..=count).map(|number| pack(number, 70_000, 20_000 + number)).collect()
    };
    assert!(worn(&many(32)).is_empty());
    assert_eq!(worn(&many(33)), (1..=17).collect::<Vec<u64>>());
}

/// A backup writes little when little changed: at most 0.3 % of the store for a change of 0.1 %.
#[test]
fn an_hourly_backup_writes_little() {
    const FILES: u64 = 32;
    const FILE_BYTES: usize = 1024 * 1024;
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let (ada, set) = (session(&store), new_disk());
    let mut random = Random::new(3);
    let mut content = |len: usize| -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).take(len).collect()
    };
    let put = |bytes: &[u8]| {
        ada.upload_file(&mut &*bytes, UploadFileRequest::default(), &control()).unwrap();
    };
    let product = |number: u64| CreateProductRequest {
        part_number: format!("part {number}"),
        keywords: Some(vec!["red".to_owned(), format!("of station {}", number % 7)]),
        ..Default::default()
    };
    for _ in 0..FILES {
        put(&content(FILE_BYTES));
    }
    for first in (0..8_000).step_by(1_000) {
        let _ = ada.create_products((first..first + 1_000).map(product).collect()).unwrap();
    }
    maintain(&store);
    let first = back_up(&store, &set).unwrap();
    let bytes = first.written_bytes;
    assert!(bytes > FILES * FILE_BYTES as u64, "{first:?}");
    // A thousandth of the bytes in a file, a thousandth of the records changed here and there, and
    // as many that are new.
    for round in 0..3_u64 {
        clock.advance_ms(3_600_000);
        put(&content((bytes / 1_000) as usize));
        let page = ada.query_products(Default::default()).unwrap().products;
        let updates =
            page.into_iter().step_by(100).map(|product| crate::products::UpdateProductRequest {
                id: product.id.unwrap().to_string(),
                name: Some(format!("renamed {round}")),
                ..Default::default()
            });
        let _ = ada.update_products(updates.collect(), false).unwrap();
        let next = 10_000 + round * 10;
        let _ = ada.create_products((next..next + 8).map(product).collect()).unwrap();
        maintain(&store);
        let begun = std::time::Instant::now();
        let report = back_up(&store, &set).unwrap();
        println!(
            "a set of {bytes} bytes, {} of them written for a change of 0.1 %: {:.3} %, {:?}",
            report.written_bytes,
            report.written_bytes as f64 * 100.0 / bytes as f64,
            begun.elapsed()
        );
        assert_eq!(report.files_sent, 1);
        assert!(report.written_bytes * 1_000 <= 3 * bytes, "{report:?}");
    }
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
}

/// By paths, with a limit of the bandwidth, and from a process that looks.
#[test]
fn a_set_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (path, set) = (directory.path().join("store"), directory.path().join("stick/set"));
    let store = options(&clock()).open(&path).unwrap();
    let ada = session(&store);
    upload(&ada, b'x', 300_000);
    let inside = store.backup_to_set(path.join("set"), &SetBackupOptions::new(), &control());
    assert_eq!(inside.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let begun = std::time::Instant::now();
    let slow = SetBackupOptions::new().bytes_per_second(1_000_000);
    store.backup_to_set(&set, &slow, &control()).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
    let view = Store::options().look(&path).unwrap();
    let seen = view.backup_to_set(&set, &SetBackupOptions::new(), &control()).unwrap();
    assert!(seen.is_ahead && seen.files_sent == 0);
    drop(view);
    let listed = Store::list_backups(&set).unwrap();
    let ahead: Vec<bool> = listed.backups.iter().map(|backup| backup.is_ahead).collect();
    assert_eq!(ahead, [false, true]);
    assert!(Store::verify_set(&set, &control()).unwrap().is_sound());
    let target = directory.path().join("again");
    let report =
        Store::restore_from_set(&set, RestorePoint::Backup(2), &target, &control()).unwrap();
    assert_eq!((report.findings.len(), report.files), (0, 1));
    let again = options(&clock()).open(&target).unwrap();
    assert_eq!(Model::of(&again), Model::of(&store));
    assert_eq!(again.id(), store.id());
    let kept = Store::prune_set(&set, SetRetention::default(), &control()).unwrap().kept;
    assert_eq!(kept, [2]);
    let nowhere = Store::list_backups(directory.path().join("nowhere"));
    assert_eq!(nowhere.unwrap_err().kind(), ErrorKind::NotFound);
}

/// Every file of the store is damaged in turn, while the store is open and has its segments open:
/// a repair gives back the same bytes, and a second one has nothing to do.
#[test]
fn a_repair_takes_exactly_what_is_damaged() {
    let (store, set, points) = example();
    let disk = store.engine().disk.clone();
    let model = &points.last().unwrap().model;
    let files: Vec<(String, u64)> = ["files", "tables"]
        .iter()
        .flat_map(|directory| walk(&*disk, directory).unwrap())
        .filter(|(_, len)| *len > 0)
        .collect();
    assert!(files.len() > 4, "{files:?}");
    let bytes = |path: &str| read_file(&*disk, path, 1 << 20).unwrap();
    let lose: [fn(&dyn Disk, &str, u64); 3] = [
        |disk, path, len| flip(disk, path, len / 2),
        |disk, path, _| disk.remove_file(path).unwrap(),
        |disk, path, len| {
            disk.open(path, Mode::ReadWrite).unwrap().set_len(len / 2).unwrap();
        },
    ];
    for (path, len) in &files {
        let before = bytes(path);
        for lose in lose {
            assert_eq!(Model::of(&store), *model);
            lose(&*disk, path, *len);
            let report = store.repair_disk(&set, &control()).unwrap();
            assert_eq!((&report.repaired, report.repaired_bytes), (&vec![path.clone()], *len));
            assert_eq!((report.findings, report.files), (vec![], files.len() as u64));
            assert!(bytes(path) == before, "{path}");
        }
    }
    let report = store.repair_disk(&set, &control()).unwrap();
    assert!(report.repaired.is_empty() && report.findings.is_empty(), "{report:?}");
    assert!(store.verify(VerifyLevel::Checksums, &control()).unwrap().is_sound());
    // The directories are lost as well.
    disk.remove_dir_all("files").unwrap();
    assert!(!store.repair_disk(&set, &control()).unwrap().repaired.is_empty());
    assert_eq!(Model::of(&store), *model);
}

/// What the set has damaged, or not at all, is told and not taken.
#[test]
fn a_repair_takes_nothing_that_is_not_proven() {
    let (store, set, _) = example();
    let disk = store.engine().disk.clone();
    let (path, len) = walk(&*disk, "tables").unwrap().pop().unwrap();
    flip(&*disk, &path, len / 2);
    let damaged = read_file(&*disk, &path, 1 << 20).unwrap();
    for (object, _) in walk(&*set, OBJECTS).unwrap() {
        flip(&*set, &object, 20);
    }
    for _ in 0..2 {
        let report = store.repair_disk(&set, &control()).unwrap();
        assert_eq!((report.repaired.len(), report.findings.len()), (0, 1), "{report:?}");
        assert_eq!(report.findings[0].file, path);
        assert!(read_file(&*disk, &path, 1 << 20).unwrap() == damaged);
        for (object, _) in walk(&*set, OBJECTS).unwrap() {
            set.remove_file(&object).unwrap();
        }
    }
    let other = StoreOptions::default().seed(Some(2)).open_on(new_disk()).unwrap();
    let refused = other.repair_disk(&set, &control()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotAStore, "{refused}");
}

/// The power is cut at any change of a repair: the store opens, and has the damaged bytes or the
/// whole ones; the next repair ends it.
#[test]
fn every_change_of_a_repair_can_be_the_last() {
    let disk = SimDisk::new(1);
    let shared: SharedDisk = Arc::new(disk.clone());
    let clock = clock();
    let store = options(&clock).open_on(shared.clone()).unwrap();
    let ada = session(&store);
    let table = create_table(&ada);
    (0..3).for_each(|at| append(&ada, &table, at * 40));
    upload(&ada, b'x', 3_000);
    maintain(&store);
    let set = new_disk();
    back_up(&store, &set).unwrap();
    let model = Model::of(&store);
    drop(ada);
    store.close().unwrap();
    for directory in ["files", "tables"] {
        let (path, len) = walk(&*shared, directory).unwrap().pop().unwrap();
        flip(&*shared, &path, len / 2);
    }
    let start = disk.survivors(0, Survival::All);
    let store = options(&clock).open_on(Arc::new(start.clone())).unwrap();
    let from = start.ops();
    assert_eq!(store.repair_disk(&set, &control()).unwrap().repaired.len(), 2);
    let until = start.ops();
    let (mut seed, mut counts) = (0_u64, BTreeSet::new());
    let mut replay = start.replay();
    while let Some((op, kind, path)) = replay.advance() {
        if !(from..until).contains(&op) {
            continue;
        }
        for survival in [Survival::None, Survival::All, Survival::Random] {
            seed += 1;
            let place = format!("after {op} ({kind:?} {path:?}), {survival:?}, seed {seed}");
            let image: SharedDisk = Arc::new(replay.survivors(seed, survival));
            let store = options(&clock).open_on(image.clone()).unwrap();
            let report = store.repair_disk(&set, &control()).unwrap();
            assert_eq!(report.findings, [], "{place}");
            counts.insert(report.repaired.len());
            assert_eq!(Model::of(&store), model, "{place}");
            assert!(!image.exists("tmp").unwrap() || image.list("tmp").unwrap().is_empty());
        }
    }
    assert_eq!(counts, BTreeSet::from([0, 1, 2]));
}
