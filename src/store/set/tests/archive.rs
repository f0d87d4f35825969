//! The archive of commits: restores to every commit between two backups.

use super::*;
use crate::records::archive::{DIRECTORY, Span};

/// A checkpoint every few commits.
pub(super) fn archiving(clock: &Arc<ManualClock>, bytes: u64) -> StoreOptions {
    options(clock).memory_table_bytes(60_000).archive_bytes(Some(bytes))
}

pub(super) fn archive(store: &Store, set: &SharedDisk) -> Result<ArchiveReport> {
    store.archive_to_set_disk(set, &SetBackupOptions::new(), &control())
}

/// What a store had after a commit.
pub(super) struct Moment {
    pub(super) sequence: u64,
    pub(super) time: DateTime<Utc>,
    pub(super) model: Model,
}

/// Every moment that the set says it has is restored, and the others are refused with words.
pub(super) fn assert_reaches(set: &SharedDisk, moments: &[Moment], step: usize, place: &str) {
    let listed = Store::list_backups_disk(set).unwrap();
    let in_range =
        |at: u64| listed.ranges.iter().any(|range| (range.first..=range.last).contains(&at));
    let in_backup = |at| listed.backups.iter().any(|backup| backup.sequence == at);
    for moment in moments.iter().step_by(step) {
        let at = RestorePoint::Sequence(moment.sequence);
        if in_range(moment.sequence) || in_backup(moment.sequence) {
            assert_restores(set, at, &moment.model, place);
            continue;
        }
        let error = restored(set, at).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{place}: {error}");
        assert!(error.message().contains("the nearest"), "{place}: {error}");
    }
    // All commits between the moments, too, are whole.
    for range in &listed.ranges {
        for sequence in (range.first..=range.last).step_by(step * 3) {
            let (_, is_damaged) = restored(set, RestorePoint::Sequence(sequence))
                .unwrap_or_else(|error| panic!("{place}, commit {sequence}: {error}"));
            assert!(!is_damaged, "{place}, commit {sequence}");
        }
    }
}

/// Random changes, checkpoints, closings, backups, archiving and prunings; the archive has a bound
/// that is not reached, or one that is reached now and then.
fn history(seed: u64, steps: usize) {
    let (clock, set, disk) = (clock(), new_disk(), new_disk());
    let bytes = if seed.is_multiple_of(2) { 1 << 30 } else { 60_000 };
    let open = || archiving(&clock, bytes).open_on(disk.clone()).unwrap();
    let mut world = World::new(&open(), seed);
    let mut moments: Vec<Moment> = Vec::new();
    let mut archived = 0;
    for step in 0..steps {
        let place = format!("seed {seed}, step {step}");
        clock.advance_ms(1 + world.random.below(3_600_000) as i64);
        match world.random.below(20) {
            0..=13 => {
                world.step();
                moments.push(Moment {
                    sequence: world.store.engine().snapshot().sequence,
                    time: clock.now(),
                    model: world.model.clone(),
                });
            }
            14 | 15 => {
                let report = back_up(&world.store, &set).unwrap();
                assert_eq!(report.findings, [], "{place}");
                assert_eq!(report.archived.unwrap().findings, [], "{place}");
            }
            16 | 17 => match archive(&world.store, &set) {
                Ok(report) => {
                    assert_eq!(report.findings, [], "{place}");
                    archived += report.commits;
                }
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotAStore),
                    "{place}: {error}"
                ),
            },
            18 => {
                let World { store, model, random, next_row } = world;
                store.close().unwrap();
                world = World { store: open(), model, random, next_row };
            }
            _ if set.exists("SET").unwrap() => {
                let mut draw = || world.random.below(4) as u32;
                let retention = SetRetention::new(draw(), draw(), draw());
                let report = Store::prune_set_disk(&set, retention, &control()).unwrap();
                assert_eq!(report.held_back, None, "{place}");
            }
            _ => {}
        }
    }
    let report = back_up(&world.store, &set).unwrap();
    assert!(report.archived.is_some());
    let place = format!("seed {seed}");
    let verified = Store::verify_set_disk(&set, &control()).unwrap();
    assert!(verified.is_sound() && !verified.is_unfinished, "{place}: {verified:?}");
    let step = sizes::count("set_archive_step");
    assert_reaches(&set, &moments, step, &place);
    // A time means the last commit until then that the set has after the last backup until then.
    let listed = Store::list_backups_disk(&set).unwrap();
    for moment in moments.iter().step_by(step * 2) {
        let base = listed.backups.iter().rfind(|one| one.taken.unwrap() <= moment.time);
        let Some(base) = base else { continue };
        let range = listed
            .ranges
            .iter()
            .find(|range| range.backup == base.backup && range.last >= moment.sequence);
        if range.is_some() && moment.sequence > base.sequence {
            assert_restores(&set, RestorePoint::Time(moment.time), &moment.model, &place);
        }
    }
    println!("{archived} commits archived, {} ranges", listed.ranges.len());
}

#[test]
fn every_archived_commit_is_restored() {
    let first = sizes::seed();
    let (seeds, steps) = (sizes::size("set_archive_seeds"), sizes::count("set_archive_steps"));
    (first..first + seeds).for_each(|seed| history(seed, steps));
}

/// A store with a set, a backup, and moments after it, of which some name a file that is removed
/// before the next one.
pub(super) fn example() -> (Store, SharedDisk, Vec<Moment>) {
    let clock = clock();
    let store = archiving(&clock, 1 << 30).open_on(new_disk()).unwrap();
    let set = new_disk();
    let ada = session(&store);
    let table = create_table(&ada);
    back_up(&store, &set).unwrap();
    let mut moments = Vec::new();
    for round in 0..6_i64 {
        clock.advance_ms(1_000);
        let file = upload(&ada, b'a' + round as u8, 3_000);
        append(&ada, &table, round * 40);
        push(&store, &clock, &mut moments);
        clock.advance_ms(1_000);
        ada.delete_file(&file.as_str().into()).unwrap();
        maintain(&store);
        maintain(&store);
        push(&store, &clock, &mut moments);
    }
    (store, set, moments)
}

fn push(store: &Store, clock: &Arc<ManualClock>, moments: &mut Vec<Moment>) {
    let (sequence, model) = (store.engine().snapshot().sequence, Model::of(store));
    moments.push(Moment { sequence, time: clock.now(), model });
}

/// The files of a deleted record and of merged segments stay until the archive has no commit that
/// names them.
#[test]
fn files_that_were_removed_between_two_backups_are_restored() {
    let (store, set, moments) = example();
    let status = store.archive_status().unwrap();
    assert!(status.held_bytes > 6 * 3_000 && status.problem.is_none(), "{status:?}");
    assert_eq!(status.gaps, []);
    let report = archive(&store, &set).unwrap();
    assert!(report.files_sent >= 6 && report.findings.is_empty(), "{report:?}");
    assert_eq!(report.last, moments.last().unwrap().sequence);
    assert_reaches(&set, &moments, 1, "held");
    for moment in &moments {
        assert_restores(&set, RestorePoint::Time(moment.time), &moment.model, "a time");
    }
    assert_restores(&set, RestorePoint::Latest, &moments.last().unwrap().model, "the last");
    // Nothing is sent twice.
    assert_eq!(archive(&store, &set).unwrap().written_bytes, 0);
    // Without the archive they go.
    let disk = store.engine().disk.clone();
    store.close().unwrap();
    let store = archiving(&clock(), 0).open_on(disk.clone()).unwrap();
    maintain(&store);
    assert_eq!(walk(&*disk, "files").unwrap(), []);
    assert!(store.archive_status().is_none());
    assert_eq!(archive(&store, &set).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_reaches(&set, &moments, 3, "of the set");
}

/// The store keeps its bound, whoever opens it, and two sets get the same commits.
#[test]
fn the_bound_is_kept_in_the_store() {
    let (store, set, moments) = example();
    let (other, disk) = (new_disk(), store.engine().disk.clone());
    store.close().unwrap();
    let store = options(&clock()).open_on(disk).unwrap();
    assert_eq!(store.archive_status().unwrap().bytes_max, 1 << 30);
    archive(&store, &set).unwrap();
    back_up(&store, &other).unwrap();
    upload(&session(&store), b'z', 2_000);
    let last = Moment {
        sequence: store.engine().snapshot().sequence,
        time: moments.last().unwrap().time,
        model: Model::of(&store),
    };
    for set in [&set, &other] {
        archive(&store, set).unwrap();
        assert_restores(set, RestorePoint::Sequence(last.sequence), &last.model, "both");
    }
    assert_reaches(&set, &moments, 3, "the first");
    assert_eq!(Store::list_backups_disk(&other).unwrap().ranges.len(), 1);
}

/// Beyond the bound the oldest commits are given up: writers go on, the gap is told, and ends with
/// the next backup.
#[test]
fn commits_beyond_the_bound_are_a_gap() {
    let clock = clock();
    let disk = new_disk();
    let store = archiving(&clock, 40_000).open_on(disk.clone()).unwrap();
    let set = new_disk();
    back_up(&store, &set).unwrap();
    let ada = session(&store);
    let mut moments = Vec::new();
    for round in 0..12_u8 {
        clock.advance_ms(1_000);
        let file = upload(&ada, round, 9_000);
        push(&store, &clock, &mut moments);
        ada.delete_file(&file.as_str().into()).unwrap();
        maintain(&store);
        maintain(&store);
    }
    let status = store.archive_status().unwrap();
    assert!(status.bytes + status.held_bytes <= 40_000, "{status:?}");
    let files: u64 = walk(&*disk, "files").unwrap().iter().map(|(_, len)| len).sum();
    assert!(files <= 50_000, "{files}");
    archive(&store, &set).unwrap();
    assert_reaches(&set, &moments, 1, "before the backup");
    let lost = restored(&set, RestorePoint::Sequence(moments[1].sequence)).unwrap_err();
    assert!(lost.message().contains("the backup 1"), "{lost}");
    let backup = back_up(&store, &set).unwrap();
    upload(&ada, b'q', 2_000);
    push(&store, &clock, &mut moments);
    archive(&store, &set).unwrap();
    let ranges = Store::list_backups_disk(&set).unwrap().ranges;
    let last = ranges.last().unwrap();
    assert_eq!((last.backup, last.last), (2, moments.last().unwrap().sequence), "{ranges:?}");
    assert_eq!(last.first, backup.sequence + 1);
    assert_reaches(&set, &moments, 1, "after the backup");
}

/// A transaction that is too large for the journal leaves a gap up to the next backup.
#[test]
fn a_commit_past_the_journal_is_a_gap() {
    let (store, set, mut moments) = example();
    let ada = session(&store);
    let large = store.engine().snapshot().sequence + 1;
    ada.transaction(|tx| {
        for name in 0..200 {
            upload(tx, name as u8, 90);
        }
        Ok(())
    })
    .unwrap();
    let clock = clock();
    push(&store, &clock, &mut moments);
    upload(&ada, b'q', 2_000);
    push(&store, &clock, &mut moments);
    archive(&store, &set).unwrap();
    let range = Store::list_backups_disk(&set).unwrap().ranges[0].clone();
    assert_eq!((range.last, range.missing), (large - 1, None));
    let gaps = store.archive_status().unwrap().gaps;
    assert_eq!(gaps, [crate::CommitRange { first: large, last: large }]);
    assert_reaches(&set, &moments, 3, "a gap");
    let after = back_up(&store, &set).unwrap();
    let range = Store::list_backups_disk(&set).unwrap().ranges[0].clone();
    let missing = crate::CommitRange { first: large, last: after.sequence - 1 };
    assert_eq!(range.missing, Some(missing));
}

/// A store that was restored and goes on has other commits of the same numbers: they are not mixed
/// up with those of the archive.
#[test]
fn commits_of_two_histories_are_not_mixed() {
    let (store, set, moments) = example();
    archive(&store, &set).unwrap();
    drop(store);
    let target = new_disk();
    let at = RestorePoint::Sequence(moments[3].sequence);
    Store::restore_from_set_disk(&set, at, &target, &control()).unwrap();
    let store = archiving(&clock(), 1 << 30).open_on(target).unwrap();
    let ada = session(&store);
    let refused = archive(&store, &set).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound, "{refused}");
    upload(&ada, b'1', 4_000);
    back_up(&store, &set).unwrap();
    let mut other = Vec::new();
    for byte in b'2'..b'6' {
        upload(&ada, byte, 4_000);
        push(&store, &clock(), &mut other);
    }
    archive(&store, &set).unwrap();
    assert_reaches(&set, &other, 1, "the second history");
    let listed = Store::list_backups_disk(&set).unwrap();
    assert_eq!(listed.ranges.len(), 2, "{listed:?}");
    // Beyond its end, the first one goes on.
    let last = moments.last().unwrap();
    assert!(last.sequence > other.last().unwrap().sequence);
    assert_restores(&set, RestorePoint::Sequence(last.sequence), &last.model, "the first history");
}

/// A damaged file with commits: all that does not need it is restored, the others are refused with
/// the nearest points, and the next archiving mends it.
#[test]
fn damage_of_the_archive_is_told() {
    let (store, set, moments) = example();
    archive(&store, &set).unwrap();
    back_up(&store, &set).unwrap();
    let files = walk(&*set, DIRECTORY).unwrap();
    assert!(files.len() > 2, "{files:?}");
    for (number, (path, len)) in files.iter().enumerate() {
        let span = Span::of_name(path.rsplit('/').next().unwrap()).unwrap();
        for way in ["head", "middle", "end", "cut", "lost"] {
            let place = format!("{path}, {way}");
            let damaged = copy_all(&*set);
            match way {
                "head" => flip(&*damaged, path, 20),
                "middle" => flip(&*damaged, path, len / 2),
                "end" => flip(&*damaged, path, len - 1),
                "cut" => {
                    damaged.open(path, Mode::ReadWrite).unwrap().set_len(len - 1).unwrap();
                }
                _ => damaged.remove_file(path).unwrap(),
            }
            for at in [RestorePoint::Backup(1), RestorePoint::Backup(2), RestorePoint::Latest] {
                assert!(!restored(&damaged, at).unwrap().1, "{place}");
            }
            let mut refused = 0;
            for moment in &moments {
                match restored(&damaged, RestorePoint::Sequence(moment.sequence)) {
                    Ok((model, is_damaged)) => {
                        assert!(!is_damaged && model == moment.model, "{place}");
                    }
                    Err(error) => {
                        let is_lost = way == "lost";
                        let kind = if is_lost { ErrorKind::NotFound } else { ErrorKind::Corrupt };
                        assert_eq!(error.kind(), kind, "{place}: {error}");
                        assert!(
                            error.message().contains("the nearest point") || is_lost,
                            "{error}"
                        );
                        assert!(moment.sequence >= span.first, "{place}: {error}");
                        refused += 1;
                    }
                }
            }
            assert!(refused > 0 || span.first > moments.last().unwrap().sequence, "{place}");
            let told = Store::verify_set_disk(&damaged, &control()).unwrap();
            if way == "lost" {
                assert!(told.is_sound(), "{place}: {told:?}");
                let ranges = Store::list_backups_disk(&damaged).unwrap().ranges;
                assert!(ranges.is_empty() || ranges[0].missing.is_some(), "{place}: {ranges:?}");
                continue;
            }
            assert!(told.findings.iter().any(|one| one.file == *path), "{place}: {told:?}");
            assert_eq!(told.findings.len(), 1, "{place}: {told:?}");
            let ranges = Store::list_backups_disk(&damaged).unwrap().ranges;
            assert!(ranges[0].problem.is_some(), "{place}: {ranges:?}");
            if number == 0 {
                archive(&store, &damaged).unwrap();
                assert!(Store::verify_set_disk(&damaged, &control()).unwrap().is_sound());
                assert_reaches(&damaged, &moments, 3, &place);
            }
        }
    }
}

/// As [`copy`], with the archive.
fn copy_all(disk: &dyn Disk) -> SharedDisk {
    let fresh = copy(disk);
    fresh.create_dir_all(DIRECTORY).unwrap();
    fresh
}

/// A pruning removes commits with the backup that they follow, and the files that only they name.
#[test]
fn commits_are_pruned_with_their_backup() {
    let (store, set, moments) = example();
    back_up(&store, &set).unwrap();
    assert!(!walk(&*set, DIRECTORY).unwrap().is_empty());
    let objects = walk(&*set, OBJECTS).unwrap().len();
    let kept = Store::prune_set_disk(&set, SetRetention::default(), &control()).unwrap();
    assert_eq!((kept.kept, kept.held_back), (vec![2], None));
    assert_eq!(walk(&*set, DIRECTORY).unwrap(), []);
    assert!(walk(&*set, OBJECTS).unwrap().len() < objects);
    assert_restores(&set, RestorePoint::Latest, &moments.last().unwrap().model, "kept");
    // They are not sent again.
    assert_eq!(archive(&store, &set).unwrap().commits, 0);
    assert_eq!(walk(&*set, DIRECTORY).unwrap(), []);
}

/// A process that looks backs up, and archives nothing.
#[test]
fn only_the_owner_archives() {
    let directory = tempfile::tempdir().unwrap();
    let (path, set) = (directory.path().join("store"), directory.path().join("stick"));
    let store = archiving(&clock(), 1 << 30).open(&path).unwrap();
    let ada = session(&store);
    let none = store.archive_to_set(&set, &SetBackupOptions::new(), &control()).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound, "{none}");
    store.backup_to_set(&set, &SetBackupOptions::new(), &control()).unwrap();
    upload(&ada, b'x', 3_000);
    let view = Store::options().look(&path).unwrap();
    let refused = view.archive_to_set(&set, &SetBackupOptions::new(), &control()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    let seen = view.backup_to_set(&set, &SetBackupOptions::new(), &control()).unwrap();
    assert!(seen.is_ahead && seen.archived.is_none(), "{seen:?}");
    drop(view);
    let report = store.archive_to_set(&set, &SetBackupOptions::new(), &control()).unwrap();
    assert!(report.commits > 0, "{report:?}");
    let target = directory.path().join("again");
    let at = RestorePoint::Sequence(report.last);
    Store::restore_from_set(&set, at, &target, &control()).unwrap();
    let again = options(&clock()).open(&target).unwrap();
    assert_eq!(Model::of(&again), Model::of(&store));
}
