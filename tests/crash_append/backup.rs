//! Backups and restores under power cuts. After a cut at any change, the target is marked as
//! incomplete or is complete, a second attempt completes it, and the source does not change.

use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stationdb::Identity;
use stationdb::faults::SharedDisk;

use crate::files::{Files, upload};

fn source() -> (Store, Observation) {
    let history = History::new(SimDisk::new(first_seed()));
    let sequence = Sequence::new(Files);
    sequence.run(&history).unwrap();
    let store = sequence.open(history.disk).unwrap();
    let seen = Files.observe(&store).unwrap();
    (store, seen)
}

fn back_up(store: &Store, target: &SimDisk) -> Result<(), Error> {
    store.backup_disk(&(Arc::new(target.clone()) as SharedDisk), &Control::default()).map(|_| ())
}

/// Returns `true` for a complete copy, and `false` for one that is marked as incomplete.
fn look(target: &SimDisk, expected: &Observation) -> Result<bool, String> {
    let opened =
        catch_unwind(AssertUnwindSafe(|| Files.options().open_disk(Arc::new(target.clone()))));
    let store = match opened.map_err(|_| "a panic left the library".to_owned())? {
        Ok(store) => store,
        Err(error) if error.kind() == ErrorKind::NotAStore => return Ok(false),
        Err(error) => return Err(format!("the copy does not open: {error:?}")),
    };
    let report = store
        .verify(VerifyLevel::Checksums, &Control::default())
        .map_err(|error| format!("{error:?}"))?;
    if !report.is_sound() {
        return Err(format!("verify finds {:?}", report.findings));
    }
    let seen = Files.observe(&store).map_err(|error| format!("{error:?}"))?;
    if seen == *expected { Ok(true) } else { Err(format!("the copy shows {seen:?}")) }
}

/// Cuts the power at every change of a copy. `again` says whether a complete copy may be copied
/// over.
fn every_change_can_be_the_last(
    name: &str,
    expected: &Observation,
    again: bool,
    copy: impl Fn(&SimDisk) -> Result<(), Error>,
) {
    let target = SimDisk::new(first_seed());
    copy(&target).unwrap();
    let acked = target.ops();
    let (mut images, mut whole) = (0, 0);
    let mut random = Random::new(first_seed());
    let mut replay = target.replay();
    while let Some((op, kind, path)) = replay.advance() {
        for survival in
            [Survival::None, Survival::All, Survival::Random, Survival::Journal, Survival::Random]
        {
            let seed = random.next_u64();
            let place = format!(
                "{name}, after operation {op} ({kind:?} {path:?}), {survival:?} with seed {seed}"
            );
            let image = replay.survivors(seed, survival);
            // Before the marker is durable the target may be empty; it then opens as a new store.
            if image.list("").unwrap().is_empty() {
                continue;
            }
            images += 1;
            let copied = image.survivors(0, Survival::All);
            let is_whole =
                look(&copied, expected).unwrap_or_else(|problem| panic!("{place}: {problem}"));
            assert!(
                is_whole || acked > replay.until_op(),
                "{place}: an acknowledged copy is incomplete"
            );
            whole += u64::from(is_whole);
            if matches!(survival, Survival::Random | Survival::Journal) && (again || !is_whole) {
                copy(&image)
                    .unwrap_or_else(|error| panic!("{place}: a second attempt fails: {error:?}"));
                let second = look(&image.survivors(seed, Survival::None), expected);
                assert_eq!(second, Ok(true), "{place}: a second attempt is incomplete");
            }
        }
    }
    counted(images, "images");
    println!("{name}: {} changes, {images} images, {whole} of them whole", target.changes());
    assert!(whole > 0 && whole < images);
}

/// Makes each operation of a copy fail in turn; `left` creates the state of the target before it.
fn the_nth_operation_fails(
    expected: &Observation,
    left: impl Fn() -> SimDisk,
    copy: impl Fn(&SimDisk) -> Result<(), Error>,
) {
    let clean = left();
    copy(&clean).unwrap();
    for (op, entry) in clean.trace().into_iter().enumerate() {
        let op = op as u64;
        let target = left();
        // Only some operations can fail for lack of space.
        let for_space =
            !op.is_multiple_of(2) && entry.kind.is_change() && entry.kind != OpKind::Remove;
        target.inject(Pick::from_op(op), if for_space { Fault::NoSpace } else { Fault::Io });
        let outcome = catch_unwind(AssertUnwindSafe(|| copy(&target)));
        let outcome =
            outcome.unwrap_or_else(|_| panic!("operation {op}: a panic left the library"));
        target.heal();
        let image = target.survivors(op, Survival::Random);
        if outcome.is_ok() || !image.list("").unwrap().is_empty() {
            let whole = look(&image, expected)
                .unwrap_or_else(|problem| panic!("operation {op}: {problem}"));
            assert!(
                whole || outcome.is_err(),
                "operation {op}: an acknowledged copy is incomplete"
            );
        }
    }
    counted(clean.ops(), "faults");
}

#[test]
fn every_change_of_a_backup_can_be_the_last() {
    let (store, expected) = source();
    every_change_can_be_the_last("backup", &expected, true, |target| back_up(&store, target));
    assert_eq!(Files.observe(&store).unwrap(), expected);
}

#[test]
fn the_nth_operation_of_a_backup_fails() {
    let (store, expected) = source();
    the_nth_operation_fails(
        &expected,
        || SimDisk::new(first_seed()),
        |target| back_up(&store, target),
    );
    assert_eq!(Files.observe(&store).unwrap(), expected);
}

/// A backup over the remains of an interrupted one: with all files, and with a part of one file.
#[test]
fn the_nth_operation_of_a_repeated_backup_fails() {
    let (store, expected) = source();
    let whole = SimDisk::new(first_seed());
    back_up(&store, &whole).unwrap();
    let trace = whole.trace();
    let marker = trace
        .iter()
        .find(|entry| entry.kind == OpKind::Remove && &*entry.path == "BACKUP-INCOMPLETE");
    let content =
        trace.iter().find(|entry| entry.kind == OpKind::Write && entry.path.starts_with("files/"));
    for end in [marker, content] {
        let cut = SimDisk::new(first_seed());
        cut.crash_after(end.unwrap().op - 1);
        assert!(back_up(&store, &cut).is_err());
        the_nth_operation_fails(
            &expected,
            || cut.survivors(0, Survival::All),
            |target| back_up(&store, target),
        );
    }
    assert_eq!(Files.observe(&store).unwrap(), expected);
}

/// A target with an earlier backup, the store that has changed since, and what it showed then and
/// shows now. The earlier backup was opened as a store, so it has a journal.
fn over_an_earlier_one() -> (SimDisk, Store, [Observation; 2]) {
    let (store, then) = source();
    let target = SimDisk::new(first_seed());
    back_up(&store, &target).unwrap();
    drop(Files.options().open_disk(Arc::new(target.clone())).unwrap());
    assert!(target.exists("journal.0").unwrap());
    let session = store.session(Identity::user("ada"));
    let other = Files.observe(&store).unwrap().into_keys().next().unwrap();
    let name = other.strip_prefix("file ").unwrap();
    let files = session.get_files(Default::default()).unwrap().available_files;
    let file = files.into_iter().find(|file| file.properties["Name"] == name).unwrap();
    session.delete_file(&file.id).unwrap();
    upload(&session, "later", 30_000).unwrap();
    upload(&session, "later and small", 300).unwrap();
    let now = Files.observe(&store).unwrap();
    assert_ne!(then, now);
    (target, store, [then, now])
}

/// Which of the two states a target shows: it is always one of them, whole.
fn shown(target: &SimDisk, states: &[Observation; 2], place: &str) -> usize {
    let looks = states.each_ref().map(|state| look(&target.survivors(0, Survival::All), state));
    looks
        .iter()
        .position(|look| *look == Ok(true))
        .unwrap_or_else(|| panic!("{place}: the target is neither backup: {looks:?}"))
}

#[test]
fn every_change_of_a_backup_over_an_earlier_one_leaves_one_of_them() {
    let (target, store, states) = over_an_earlier_one();
    let begun = target.ops();
    back_up(&store, &target).unwrap();
    let acked = target.ops();
    let mut random = Random::new(first_seed());
    let (mut images, mut new) = (0, 0);
    let mut replay = target.replay();
    while let Some((op, kind, path)) = replay.advance() {
        if op < begun {
            continue;
        }
        for survival in [Survival::None, Survival::All, Survival::Random, Survival::Journal] {
            let seed = random.next_u64();
            let place =
                format!("after operation {op} ({kind:?} {path:?}), {survival:?} with seed {seed}");
            let image = replay.survivors(seed, survival);
            let is_new = shown(&image, &states, &place) == 1;
            assert!(is_new || acked > replay.until_op(), "{place}: an acknowledged copy is gone");
            if survival == Survival::Random {
                back_up(&store, &image)
                    .unwrap_or_else(|error| panic!("{place}: a second attempt fails: {error:?}"));
                assert_eq!(shown(&image.survivors(seed, Survival::None), &states, &place), 1);
            }
            images += 1;
            new += u64::from(is_new);
        }
    }
    counted(images, "images");
    assert!(new > 0 && new < images);
}

#[test]
fn the_nth_operation_of_a_backup_over_an_earlier_one_fails() {
    let (target, store, states) = over_an_earlier_one();
    let clean = target.survivors(0, Survival::All);
    back_up(&store, &clean).unwrap();
    let mut failed = 0;
    for (op, entry) in clean.trace().into_iter().enumerate() {
        let op = op as u64;
        let target = target.survivors(0, Survival::All);
        let for_space =
            !op.is_multiple_of(2) && entry.kind.is_change() && entry.kind != OpKind::Remove;
        target.inject(Pick::from_op(op), if for_space { Fault::NoSpace } else { Fault::Io });
        let outcome = catch_unwind(AssertUnwindSafe(|| back_up(&store, &target)));
        let outcome =
            outcome.unwrap_or_else(|_| panic!("operation {op}: a panic left the library"));
        target.heal();
        let image = target.survivors(op, Survival::Random);
        let shows = shown(&image, &states, &format!("operation {op}"));
        assert!(shows == 1 || outcome.is_err(), "operation {op}: an acknowledged copy is gone");
        failed += u64::from(outcome.is_err());
    }
    counted(failed, "faults");
    assert!(failed > 20, "{failed}");
}

/// Makes a backup and observes it.
fn whole_backup() -> (SharedDisk, Observation) {
    let (store, expected) = source();
    let disk = SimDisk::new(first_seed());
    back_up(&store, &disk).unwrap();
    (Arc::new(disk), expected)
}

fn restore(backup: &SharedDisk, target: &SimDisk) -> Result<(), Error> {
    let report = Store::restore_disk(
        backup,
        &(Arc::new(target.clone()) as SharedDisk),
        &Control::default(),
    )?;
    // A read that failed while the copy was verified is a finding as well.
    if report.findings.is_empty() {
        Ok(())
    } else {
        Err(Error::new(ErrorKind::Corrupt, format!("{:?}", report.findings)))
    }
}

#[test]
fn every_change_of_a_restore_can_be_the_last() {
    let (backup, expected) = whole_backup();
    every_change_can_be_the_last("restore", &expected, false, |target| restore(&backup, target));
}

#[test]
fn the_nth_operation_of_a_restore_fails() {
    let (backup, expected) = whole_backup();
    the_nth_operation_fails(
        &expected,
        || SimDisk::new(first_seed()),
        |target| restore(&backup, target),
    );
}

/// Restoring reports damage in the backup and restores the rest.
#[test]
fn a_restore_tells_what_is_damaged() {
    let (backup, expected) = whole_backup();
    let path = ["files", "files/00"].iter().find_map(|folder| {
        let entries = backup.list(folder).ok()?;
        entries.iter().find(|entry| !entry.is_dir).map(|entry| format!("{folder}/{}", entry.name))
    });
    let path = path.or_else(|| {
        let below = backup.list("files").ok()?.into_iter().find(|entry| entry.is_dir)?.name;
        let file = backup.list(&format!("files/{below}")).ok()?.into_iter().next()?.name;
        Some(format!("files/{below}/{file}"))
    });
    let file = backup.open(&path.unwrap(), Mode::ReadWrite).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 70).unwrap();
    file.write_all_at(&[byte[0] ^ 1], 70).unwrap();
    let target = SimDisk::new(first_seed());
    let shared: SharedDisk = Arc::new(target.clone());
    let report = Store::restore_disk(&backup, &shared, &Control::default()).unwrap();
    assert_eq!(report.findings.len(), 1, "{report:?}");
    let store = Files.options().open_disk(shared).unwrap();
    let seen =
        Files.observe(&store).map_or_else(|error| format!("{error:?}"), |seen| format!("{seen:?}"));
    assert_ne!(seen, format!("{expected:?}"));
}
