//! Backups: whichever change of the target was the last, the target is marked incomplete or whole, a second backup over
//! it becomes whole, and the source never notices.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use stationdb::faults::{Disk, Fault, Pick, Random, SimDisk, Survival};
use stationdb::{Control, ErrorKind, Store, VerifyLevel};

use crate::files::Files;
use crate::harness::{History, Scenario, first_seed};
use crate::sequence::{Observation, Sequence, Steps};

fn source() -> (Store, Observation) {
    let history = History::new(SimDisk::new(first_seed()));
    let sequence = Sequence::new(Files);
    sequence.run(&history).unwrap();
    let store = sequence.open(history.disk).unwrap();
    let seen = Files.observe(&store).unwrap();
    (store, seen)
}

fn back_up(store: &Store, target: &SimDisk) -> Result<(), stationdb::Error> {
    store.backup_disk(&(Arc::new(target.clone()) as stationdb::faults::SharedDisk), &Control::default()).map(|_| ())
}

/// `Ok(true)` for a whole copy, `Ok(false)` for one that says that it is none.
fn look(target: &SimDisk, expected: &Observation) -> Result<bool, String> {
    let opened = catch_unwind(AssertUnwindSafe(|| Files.options().open_disk(Arc::new(target.clone()))));
    let store = match opened.map_err(|_| "a panic left the library".to_owned())? {
        Ok(store) => store,
        Err(error) if error.kind() == ErrorKind::NotAStore => return Ok(false),
        Err(error) => return Err(format!("the copy does not open: {error:?}")),
    };
    let report = store.verify(VerifyLevel::Checksums, &Control::default()).map_err(|error| format!("{error:?}"))?;
    if !report.is_sound() {
        return Err(format!("verify finds {:?}", report.findings));
    }
    let seen = Files.observe(&store).map_err(|error| format!("{error:?}"))?;
    if seen == *expected { Ok(true) } else { Err(format!("the copy shows {seen:?}")) }
}

#[test]
fn every_change_of_a_backup_can_be_the_last() {
    let (store, expected) = source();
    let target = SimDisk::new(first_seed());
    back_up(&store, &target).unwrap();
    let acked = target.ops();
    let (mut images, mut whole) = (0, 0);
    let mut random = Random::new(first_seed());
    let mut replay = target.replay();
    while let Some((op, kind, path)) = replay.advance() {
        for survival in [Survival::None, Survival::All, Survival::Random, Survival::Journal, Survival::Random] {
            let seed = random.next_u64();
            let place = format!("after operation {op} ({kind:?} {path:?}), {survival:?} with seed {seed}");
            let image = replay.survivors(seed, survival);
            // Before the marker is durable there may be nothing at all, which opens as a new store.
            if image.list("").unwrap().is_empty() {
                continue;
            }
            images += 1;
            let copy = image.survivors(0, Survival::All);
            let is_whole = look(&copy, &expected).unwrap_or_else(|problem| panic!("{place}: {problem}"));
            assert!(is_whole || acked > replay.until_op(), "{place}: an acknowledged backup is incomplete");
            whole += u64::from(is_whole);
            if matches!(survival, Survival::Random | Survival::Journal) {
                back_up(&store, &image).unwrap_or_else(|error| panic!("{place}: a second backup fails: {error:?}"));
                let second = look(&image.survivors(seed, Survival::None), &expected);
                assert_eq!(second, Ok(true), "{place}: a second backup is not whole");
            }
        }
    }
    println!("backup: {} changes, {images} images, {whole} of them whole", target.changes());
    assert!(whole > 0 && whole < images);
    assert_eq!(Files.observe(&store).unwrap(), expected);
}

#[test]
fn the_nth_operation_of_a_backup_fails() {
    let (store, expected) = source();
    let clean = SimDisk::new(first_seed());
    back_up(&store, &clean).unwrap();
    for op in 0..clean.ops() {
        let target = SimDisk::new(first_seed());
        target.inject(Pick::from_op(op), if op % 2 == 0 { Fault::Io } else { Fault::NoSpace });
        let outcome = catch_unwind(AssertUnwindSafe(|| back_up(&store, &target)));
        let outcome = outcome.unwrap_or_else(|_| panic!("operation {op}: a panic left the library"));
        target.heal();
        let image = target.survivors(op, Survival::Random);
        if outcome.is_ok() || !image.list("").unwrap().is_empty() {
            let whole = look(&image, &expected).unwrap_or_else(|problem| panic!("operation {op}: {problem}"));
            assert!(whole || outcome.is_err(), "operation {op}: an acknowledged backup is incomplete");
        }
    }
    assert_eq!(Files.observe(&store).unwrap(), expected);
}
