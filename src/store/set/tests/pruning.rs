//! Pruning: what is kept, and interruptions.

use super::*;

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
        // A removal that is lost beside one that is not is a matter of the draw.
        let random = std::iter::repeat_n(Survival::Random, 8);
        for survival in [Survival::None, Survival::All].into_iter().chain(random) {
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

/// Each operation of a pruning fails, once or from then on: every backup is whole or removed, and
/// the next pruning ends it.
#[test]
fn every_operation_of_a_pruning_can_fail() {
    let (store, disk, first, second) = before_the_second();
    back_up(&store, &(Arc::new(disk.clone()) as SharedDisk)).unwrap();
    let start = disk.survivors(0, Survival::All);
    let prune = |disk: &SimDisk| {
        let set: SharedDisk = Arc::new(disk.clone());
        Store::prune_set_disk(&set, SetRetention::new(0, 0, 0), &control())
    };
    let clean = start.survivors(0, Survival::All);
    let from = clean.ops();
    prune(&clean).unwrap();
    let left = walk(&clean, "").unwrap();
    let (mut failed, mut counts) = (0, BTreeSet::new());
    for op in from..clean.ops() {
        let disk = start.survivors(0, Survival::All);
        match op % 2 {
            0 => disk.inject(Pick::from_op(op), Fault::Io),
            _ => disk.inject(Pick::from_op(op).once(), Fault::Io),
        }
        let outcome = prune(&disk);
        failed += usize::from(outcome.is_err());
        disk.heal();
        let place = format!("operation {op}: {outcome:?}");
        for disk in [disk.survivors(op, Survival::Random), disk] {
            let set: SharedDisk = Arc::new(disk.clone());
            let told = Store::verify_set_disk(&set, &control()).unwrap();
            assert!(told.is_sound(), "{place}: {told:?}");
            counts.insert(told.backups.len());
            for backup in told.backups.into_iter().filter(|_| op.is_multiple_of(5)) {
                let model = if backup.backup == 1 { &first } else { &second };
                assert_restores(&set, RestorePoint::Backup(backup.backup), model, &place);
            }
            let report = prune(&disk).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!((report.kept, report.held_back), (vec![2], None), "{place}");
            assert_eq!(walk(&disk, "").unwrap(), left, "{place}");
        }
    }
    println!("{failed} prunings failed");
    assert!(failed > 20, "{failed}");
    assert_eq!(counts, BTreeSet::from([1, 2]));
}

/// What a backup needs whose manifest cannot be read is unknown, so nothing is removed but whole
/// backups. When the manifest is gone, the next pruning gives the space back.
#[test]
fn nothing_is_removed_that_an_unreadable_backup_may_need() {
    let (_store, set, points) = example();
    let manifest = manifest_path(2);
    let (before, bytes) = (walk(&*set, "").unwrap(), read_file(&*set, &manifest, 1 << 20).unwrap());
    flip(&*set, &manifest, 200);
    let prune = || Store::prune_set_disk(&set, SetRetention::new(0, 0, 0), &control()).unwrap();
    let report = prune();
    assert_eq!((report.removed, report.files), (vec![1], 0));
    assert!(report.held_back.is_some_and(|reason| reason.contains(&manifest)));
    let after = walk(&*set, "").unwrap();
    let expected: Vec<_> =
        before.into_iter().filter(|(path, _)| *path != manifest_path(1)).collect();
    assert_eq!(after, expected);
    // The manifest is mended: its backup lacks nothing.
    set.remove_file(&manifest).unwrap();
    write_new_file(&*set, &manifest, &bytes).unwrap();
    assert_restores(&set, RestorePoint::Backup(2), &points[1].model, "the mended one");
    let report = prune();
    assert_eq!((report.removed, report.held_back), (vec![2], None));
    assert!(report.files > 0);
    assert_restores(&set, RestorePoint::Latest, &points[2].model, "the last one");
}

/// A backup of a store that lost a file takes the place of no whole one of its day.
#[test]
fn a_backup_that_lacks_something_takes_the_place_of_none_that_is_whole() {
    let clock = clock();
    let disk = new_disk();
    let store = options(&clock).open_on(disk.clone()).unwrap();
    let set = new_disk();
    upload(&session(&store), b'x', 3_000);
    back_up(&store, &set).unwrap();
    let model = Model::of(&store);
    upload(&session(&store), b'y', 4_000);
    maintain(&store);
    let (path, _) =
        walk(&*disk, "files").unwrap().into_iter().rfind(|(_, len)| *len > 4_000).unwrap();
    disk.remove_file(&path).unwrap();
    clock.advance_ms(3_600_000);
    assert_eq!(back_up(&store, &set).unwrap().findings.len(), 1);
    let report = Store::prune_set_disk(&set, SetRetention::new(1, 1, 1), &control()).unwrap();
    assert_eq!((report.kept, report.removed), (vec![1, 2], vec![]));
    assert_restores(&set, RestorePoint::Backup(1), &model, "the whole one");
    // One that lost its pack, or of which a verification found it damaged, is not whole either.
    for is_lost in [true, false] {
        let store = options(&clock).open_on(new_disk()).unwrap();
        let set = new_disk();
        upload(&session(&store), b'x', 3_000);
        back_up(&store, &set).unwrap();
        upload(&session(&store), b'z', 3_000);
        back_up(&store, &set).unwrap();
        if is_lost {
            set.remove_file(&pack_path(2)).unwrap();
        } else {
            flip(&*set, &pack_path(2), 30);
            assert!(!Store::verify_set_disk(&set, &control()).unwrap().is_sound());
        }
        let report = Store::prune_set_disk(&set, SetRetention::new(1, 0, 0), &control()).unwrap();
        assert_eq!((report.kept, report.removed), (vec![1, 2], vec![]), "{is_lost}");
    }
}

/// A pruning keeps what any kept backup needs, and gives the rest back.
#[test]
fn a_pruning_leaves_exactly_what_the_kept_backups_need() {
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let mut example = (store, new_disk(), Vec::new());
    let mut last: Option<String> = None;
    for byte in [b'a', b'b', b'c'] {
        clock.advance_ms(86_400_000);
        let ada = session(&example.0);
        if let Some(file) = last.replace(upload(&ada, byte, 3_000)) {
            ada.delete_file(&file.as_str().into()).unwrap();
        }
        add_point(&mut example);
    }
    let (store, set, points) = example;
    assert_eq!(walk(&*set, OBJECTS).unwrap().len(), 3);
    let report = Store::prune_set_disk(&set, SetRetention::new(2, 0, 0), &control()).unwrap();
    assert_eq!((report.kept, report.removed), (vec![2, 3], vec![1]));
    for point in &points[1..] {
        assert_restores(&set, RestorePoint::Backup(point.backup), &point.model, "a kept one");
    }
    let told = Store::verify_set_disk(&set, &control()).unwrap();
    assert!(told.is_sound(), "{told:?}");
    assert_eq!((told.files, walk(&*set, OBJECTS).unwrap().len()), (2, 2));
    // A backup that goes on from there sends nothing of it again.
    assert_eq!(back_up(&store, &set).unwrap().files_sent, 0);
}

/// A backup was killed at any operation, and a pruning that may remove nothing takes the mark of
/// that away. The next backup relies on no name that the killed one left without a sync.
#[test]
fn a_pruning_makes_the_names_durable_that_a_killed_backup_left() {
    let (store, disk, ..) = before_the_second();
    let set: SharedDisk = Arc::new(disk.clone());
    flip(&*set, &manifest_path(1), 200);
    let start = disk.survivors(0, Survival::All);
    let clean = start.survivors(0, Survival::All);
    let from = clean.ops();
    back_up(&store, &(Arc::new(clean.clone()) as SharedDisk)).unwrap();
    for op in from..clean.ops() {
        let disk = start.survivors(0, Survival::All);
        let set: SharedDisk = Arc::new(disk.clone());
        disk.inject(Pick::from_op(op), Fault::Io);
        let _ = back_up(&store, &set);
        disk.heal();
        let place = format!("operation {op}");
        let report = Store::prune_set_disk(&set, SetRetention::new(9, 0, 0), &control()).unwrap();
        assert!(report.held_back.is_some(), "{place}");
        let next = back_up(&store, &set).unwrap().backup;
        let set: SharedDisk = Arc::new(disk.survivors(op, Survival::None));
        let told = Store::verify_set_disk(&set, &control()).unwrap().backups;
        let told = told.last().unwrap();
        assert_eq!((told.backup, &told.problem), (next, &None), "{place}");
    }
}
