//! Backups in a set: histories against a model, and interruptions.

use super::*;

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
    // One that is cut off is sent again.
    set.open(&path, Mode::ReadWrite).unwrap().set_len(1_000).unwrap();
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 1);
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
    // One that is gone is sent again, and mends the earlier backups.
    set.remove_file(&path).unwrap();
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 1);
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
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
        // The next one goes on, and leaves nothing of the interrupted one. It relies on no name
        // that the interrupted one left without a sync: after a kill, and not a power cut, those
        // are there.
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

/// The first backup fails at every operation, once and then once more: the next one goes on,
/// because what is there without a manifest is not taken for a set that lost its manifests.
#[test]
fn every_operation_of_the_first_backup_can_fail() {
    let (store, ..) = before_the_second();
    let clean = SimDisk::new(1);
    back_up(&store, &(Arc::new(clean.clone()) as SharedDisk)).unwrap();
    let mut failed = 0;
    for op in 0..clean.ops() {
        let mut disk = SimDisk::new(1);
        for _ in 0..2 {
            let set: SharedDisk = Arc::new(disk.clone());
            disk.inject(Pick::from_op(disk.ops() + op), Fault::Io);
            failed += usize::from(back_up(&store, &set).is_err());
            disk.heal();
            if op.is_multiple_of(2) {
                disk = disk.survivors(op, Survival::Random);
            }
        }
        let set: SharedDisk = Arc::new(disk);
        // A pruning takes away what the interrupted ones left, and the set stays one.
        if op.is_multiple_of(3) && set.exists("SET").unwrap() {
            Store::prune_set_disk(&set, SetRetention::default(), &control())
                .unwrap_or_else(|error| panic!("operation {op}: {error}"));
        }
        back_up(&store, &set).unwrap_or_else(|error| panic!("operation {op}: {error}"));
        let told = Store::verify_set_disk(&set, &control()).unwrap();
        assert!(told.is_sound() && !told.is_unfinished, "operation {op}: {told:?}");
    }
    assert!(failed > 40, "{failed}");
}

/// A clock that was ahead for a moment does not make one day of all later backups, of which a
/// pruning would keep the last one.
#[test]
fn a_clock_that_was_ahead_thins_nothing() {
    const DAY_MS: i64 = 86_400_000;
    let (clock, set) = (clock(), new_disk());
    let store = options(&clock).open_on(new_disk()).unwrap();
    clock.advance_ms(1_500 * DAY_MS);
    upload(&session(&store), b'x', 3_000);
    clock.advance_ms(-1_500 * DAY_MS);
    for _ in 0..4 {
        clock.advance_ms(DAY_MS);
        assert_eq!(back_up(&store, &set).unwrap().taken, clock.now());
    }
    let report = Store::prune_set_disk(&set, SetRetention::new(3, 0, 0), &control()).unwrap();
    assert_eq!((report.kept, report.removed), (vec![2, 3, 4], vec![1]));
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
    let told = || store.status().unwrap().backup.last.unwrap().message;
    assert!(told().contains("inside of it"), "{}", told());
    // The stick is not there: nothing is made in its place.
    let existing = SetBackupOptions::new().must_exist();
    let gone = store.backup_to_set(&set, &existing, &control()).unwrap_err();
    assert_eq!((gone.kind(), set.exists()), (ErrorKind::NotFound, false), "{gone}");
    assert!(told().contains("there is no directory"), "{}", told());
    std::fs::create_dir_all(&set).unwrap();
    let gone = store.backup_to_set(&set, &existing, &control()).unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotAStore, "{gone}");
    assert_eq!(std::fs::read_dir(&set).unwrap().count(), 0);
    let begun = std::time::Instant::now();
    let slow = SetBackupOptions::new().bytes_per_second(1_000_000);
    store.backup_to_set(&set, &slow, &control()).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(290), "{:?}", begun.elapsed());
    let view = Store::options().look(&path).unwrap();
    let seen = view.backup_to_set(&set, &SetBackupOptions::new(), &control()).unwrap();
    assert!(seen.is_ahead && seen.files_sent == 0);
    drop(view);
    // The owner learns of it.
    maintain(&store);
    assert!(told().starts_with("backup 2 of a set"), "{}", told());
    let first = SetBackupOptions::new().must_exist();
    let third = store.backup_to_set(&set, &first, &control()).unwrap();
    assert_eq!(third.backup, 3);
    std::fs::remove_file(set.join("backups/0000000000000003")).unwrap();
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
