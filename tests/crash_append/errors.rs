//! The n-th operation fails, once or from then on. Nothing panics, nothing acknowledged is lost,
//! nothing refused is stored, and after a failed sync a file is neither written nor synced again.

use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::harness::{check, file_kind, size};

#[test]
fn the_nth_operation_of_creating_and_writing_fails() {
    every_operation_fails("records", &Records);
}

#[test]
fn the_nth_operation_of_grouped_commits_fails() {
    operations_fail("grouped commits", &Grouped, 24);
}

#[test]
fn a_disk_that_fills_up_anywhere_loses_nothing() {
    // The journal of an empty store has room for these small commits on a disk of any size.
    fills_up("records", &Records);
    let refused = with_memory(0, || fills_up("records without a memory table", &Records));
    assert!(refused > 0);
    assert!(fills_up("checkpoints", &Checkpoints) > 0);
}

#[test]
fn the_nth_operation_of_checkpoints_fails() {
    operations_fail("checkpoints", &Checkpoints, 3);
}

/// The bytes that the largest scenario adds to an empty store.
const ROOM_BYTES: u64 = 256 * 1024;

/// Runs the scenario on new stores, on disks of every size up to a sufficient one, then makes room.
/// Returns how many were too small.
pub fn fills_up(name: &str, scenario: &dyn Scenario) -> u64 {
    let empty = SimDisk::new(first_seed());
    drop(scenario.open(empty.clone()).unwrap());
    let empty = || empty.survivors(0, Survival::All);
    let whole = History::new(empty());
    scenario.run(&whole).unwrap();
    // The record file shrinks after its creation and grows again at the next opening, so the peak
    // alone is not enough.
    let needed = whole.disk.peak_bytes().max(bytes_on(&empty(), "") + ROOM_BYTES);
    let sizes = size("disk_sizes");
    let mut refused = 0;
    for size in 0..sizes {
        let capacity = needed * size / sizes;
        let history = History::new(empty());
        history.disk.set_capacity(Some(capacity));
        let outcome = catch_unwind(AssertUnwindSafe(|| scenario.run(&history)))
            .unwrap_or_else(|_| panic!("{name} on {capacity} bytes: a panic left the library"));
        if let Err(error) = outcome {
            refused += 1;
            names_its_cause(&error)
                .unwrap_or_else(|problem| panic!("{name} on {capacity} bytes: {problem}"));
        }
        history.read_on().unwrap_or_else(|problem| panic!("{name} on {capacity} bytes: {problem}"));
        history.disk.set_capacity(None);
        let window = history.window_at_end();
        for survival in [Survival::All, Survival::None] {
            check(scenario, &history.disk.survivors(size, survival), &window, true).unwrap_or_else(
                |problem| panic!("{name} on {capacity} bytes, then {survival:?}: {problem}"),
            );
        }
    }
    counted(sizes, "full disks");
    println!("{name}: {sizes} sizes of disk up to {needed} bytes, {refused} too small");
    refused
}

/// Returns the bytes of all files below a directory.
pub fn bytes_on(disk: &SimDisk, directory: &str) -> u64 {
    let below = |name: &str| {
        if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
    };
    let entries = disk.list(directory).unwrap();
    entries
        .iter()
        .map(|entry| if entry.is_dir { bytes_on(disk, &below(&entry.name)) } else { entry.len })
        .sum()
}

/// Makes each operation of the scenario fail.
pub fn every_operation_fails(name: &str, scenario: &dyn Scenario) {
    operations_fail(name, scenario, 1);
}

/// As [`every_operation_fails`], but by day only for one in `one_in` operations, and for the first
/// operation of each kind on each kind of file. For long scenarios.
pub fn operations_fail(name: &str, scenario: &dyn Scenario, one_in: usize) {
    let one_in = one_in_operations(one_in);
    let begun = Instant::now();
    let whole = History::new(scenario.disk());
    scenario.run(&whole).unwrap();
    let ops = whole.disk.ops();
    let (mut runs, mut kinds) = (0_u64, BTreeMap::<String, u64>::new());
    let mut kinds_of_files = BTreeSet::new();
    let firsts = whole
        .disk
        .trace()
        .into_iter()
        .filter(|entry| kinds_of_files.insert((entry.kind, file_kind(&entry.path))));
    let firsts: BTreeSet<u64> = firsts.map(|entry| entry.op).collect();
    let begin = first_seed() % one_in as u64;
    for (turn, op) in
        (0..ops).filter(|op| firsts.contains(op) || op % one_in as u64 == begin).enumerate()
    {
        let is_first_only = op % one_in as u64 != begin;
        // Every operation fails once, and from then on. The other faults take turns; at night all
        // of them are used.
        let others = [
            Fault::NoSpace,
            Fault::PartialWrite,
            Fault::ShortRead,
            Fault::Interrupted,
            Fault::DropDirty,
        ];
        let has_turn = |at: usize, one_in: usize| at % one_in == turn % one_in;
        let others = others
            .into_iter()
            .enumerate()
            .filter(|(at, _)| has_turn(*at, count("crash_faults")))
            .map(|(_, fault)| (Pick::op(op), fault));
        let for_ever = [Fault::Io, Fault::NoSpace].into_iter().enumerate();
        let for_ever = for_ever.filter(|(at, _)| has_turn(*at, count("crash_faults_lasting")));
        let for_ever = for_ever.map(|(_, fault)| (Pick::from_op(op), fault));
        let faults = [(Pick::op(op), Fault::Io)].into_iter().chain(for_ever).chain(others);
        for (pick, fault) in faults.take(if is_first_only { 1 } else { usize::MAX }) {
            let place = format!("{name}: {fault:?} at {pick:?}, seed {}", first_seed());
            let history = History::new(scenario.disk());
            history.disk.inject(pick, fault);
            let outcome = catch_unwind(AssertUnwindSafe(|| scenario.run(&history)));
            let outcome = outcome.unwrap_or_else(|_| panic!("{place}: a panic left the library"));
            if !history.disk.trace().iter().any(|entry| entry.failed) {
                continue;
            }
            runs += 1;
            if let Err(error) = &outcome {
                *kinds.entry(format!("{:?}", error.kind())).or_default() += 1;
                names_its_cause(error).unwrap_or_else(|problem| panic!("{place}: {problem}"));
            }
            leaves_files_alone_after_a_failed_sync(&history.disk)
                .unwrap_or_else(|problem| panic!("{place}: {problem}"));
            history.read_on().unwrap_or_else(|problem| panic!("{place}: {problem}"));
            // After the fault, the same machine and one whose power was cut both find everything.
            history.disk.heal();
            // What is acknowledged after the fault does not rely on a later checkpoint.
            if let Some((disk, window)) = history.cut_at_next_ack(op) {
                check(scenario, &disk, &window, false)
                    .unwrap_or_else(|problem| panic!("{place}, then a cut: {problem}"));
            }
            let window = history.window_at_end();
            let power_cut = if turn % 2 == 0 { Survival::None } else { Survival::Random };
            for survival in [Survival::All, power_cut] {
                check(scenario, &history.disk.survivors(op, survival), &window, true)
                    .unwrap_or_else(|problem| panic!("{place}, then {survival:?}: {problem}"));
            }
        }
    }
    counted(runs, "faults");
    println!(
        "{name}: {ops} operations, {runs} runs with a fault in {:.1} s; {kinds:?}",
        begun.elapsed().as_secs_f64()
    );
}

/// Makes changes of the record file and of the journal fail, one in `one_in` by day and all at
/// night. What was committed before has to stay readable.
pub fn reads_go_on(name: &str, scenario: &dyn Scenario, one_in: usize) {
    let begun = Instant::now();
    let whole = History::new(scenario.disk());
    scenario.run(&whole).unwrap();
    let is_change = |kind| matches!(kind, OpKind::Write | OpKind::SetLen | OpKind::Sync);
    let changes = whole.disk.trace().into_iter();
    let is_ours = |path: &str| is_record_file(path) || file_kind(path) == "journal";
    let changes: Vec<_> =
        changes.filter(|entry| is_ours(&entry.path) && is_change(entry.kind)).collect();
    let one_in = one_in_operations(one_in).min(one_in);
    let mut looked = 0;
    for (turn, entry) in
        changes.iter().enumerate().skip(first_seed() as usize % one_in).step_by(one_in)
    {
        let fault = match entry.kind {
            OpKind::Sync => [Fault::Io, Fault::DropDirty][turn % 2].clone(),
            OpKind::Write => [Fault::Io, Fault::NoSpace, Fault::PartialWrite][turn % 3].clone(),
            _ => Fault::NoSpace,
        };
        let place = format!(
            "{name}: {fault:?} at operation {} ({:?}), seed {}",
            entry.op,
            entry.kind,
            first_seed()
        );
        let history = History::new(scenario.disk());
        history.disk.inject(Pick::op(entry.op), fault);
        let outcome = catch_unwind(AssertUnwindSafe(|| scenario.run(&history)));
        let _ = outcome.unwrap_or_else(|_| panic!("{place}: a panic left the library"));
        leaves_files_alone_after_a_failed_sync(&history.disk)
            .unwrap_or_else(|problem| panic!("{place}: {problem}"));
        looked += history.read_on().unwrap_or_else(|problem| panic!("{place}: {problem}"));
    }
    counted(looked, "faults");
    println!(
        "{name}: {} changes, read on after {looked} in {:.1} s",
        changes.len(),
        begun.elapsed().as_secs_f64()
    );
    assert!(looked > 10, "{looked}");
}

fn names_its_cause(error: &Error) -> Result<(), String> {
    let expected = [
        ErrorKind::Io,
        ErrorKind::NoSpace,
        ErrorKind::OutcomeUnknown,
        ErrorKind::Latched,
        ErrorKind::Corrupt,
    ];
    if !expected.contains(&error.kind()) {
        return Err(format!("a disk error came out as {error:?}"));
    }
    Ok(())
}

fn leaves_files_alone_after_a_failed_sync(disk: &SimDisk) -> Result<(), String> {
    let mut failed = BTreeSet::new();
    for entry in disk.trace() {
        match entry.kind {
            // A reopen within the run starts again from the bytes on the disk.
            OpKind::Open | OpKind::Create => {
                failed.remove(&entry.path);
            }
            OpKind::Sync if entry.failed => {
                failed.insert(entry.path);
            }
            OpKind::Sync | OpKind::Write | OpKind::SetLen if failed.contains(&entry.path) => {
                return Err(format!("{:?} of {} after its sync failed", entry.kind, entry.path));
            }
            _ => {}
        }
    }
    Ok(())
}
