//! The crash suites: the power is cut after every change of every scenario, and nothing
//! acknowledged may be lost.
//!
//! At changes of each scenario the process is killed too, and the power is cut after the next
//! opening (`kills`): by day at one change in many, and at night at every one.
//!
//! `tests/common/sizes.rs` has the sizes. `STATIONDB_CRASH_MEMORY` sets the bytes of the memory
//! table: with a few thousand every scenario has checkpoints.

mod backup;
mod beside;
mod columns;
mod compact;
mod creation;
mod deletions;
mod errors;
mod files;
mod flips;
mod harness;
mod holds;
mod imports;
mod kills;
mod known_bad;
mod long_append;
#[cfg(feature = "packages")]
mod packages;
mod prelude;
mod results;
mod rewrite;
#[path = "../common/rows.rs"]
mod rows;
mod runs;
mod scenarios;
mod sequence;
mod sessions;
#[path = "../common/sizes.rs"]
mod sizes;
mod station;
mod tables;
mod transactions;
mod value_indexes;
#[cfg(feature = "packages")]
mod written;

use std::collections::BTreeSet;

use harness::{Extent, History, Scenario, explore, must_hold};
use scenarios::{Checkpoints, Grouped, Records};
use stationdb::faults::{OpKind, Pick, SimDisk};

#[test]
fn every_change_of_creating_and_writing_can_be_the_last() {
    must_hold("records", &Records);
}

#[test]
fn every_change_of_grouped_commits_can_be_the_last() {
    must_hold("grouped commits", &Grouped);
}

#[test]
fn every_change_of_checkpoints_can_be_the_last() {
    must_hold("checkpoints", &Checkpoints);
}

/// Each barrier of commits and checkpoints is needed: of a record, of the header of a pass, and of
/// the record file.
#[test]
fn each_removed_barrier_of_the_journal_is_found() {
    let removed = [
        ("every sync of the journal", Pick::kind(OpKind::Sync).on_path("journal")),
        ("every sync of one file of the journal", Pick::kind(OpKind::Sync).on_path("journal.0")),
        ("every sync of the record file", Pick::kind(OpKind::Sync).on_path("records.redb")),
    ];
    for (name, pick) in removed {
        must_fail(name, &Checkpoints, pick);
    }
    let history = History::new(SimDisk::new(harness::first_seed()));
    Checkpoints.run(&history).unwrap();
    let syncs = history.barriers();
    assert!(syncs.len() > 20, "{syncs:?}");
    let one_in = harness::size("crash_syncs") as usize;
    for (op, kind, path) in syncs.into_iter().step_by(one_in) {
        must_fail(&format!("operation {op} ({kind:?} {path:?})"), &Checkpoints, Pick::op(op));
    }
}

/// Tests the suite: it must fail when a sync is removed.
#[test]
fn each_kind_of_removed_barrier_is_found() {
    let removed = [
        ("every sync of the record file", Pick::kind(OpKind::Sync).on_path("records.redb")),
        ("every sync of FORMAT", Pick::kind(OpKind::Sync).on_path("FORMAT")),
        ("every sync of a directory", Pick::kind(OpKind::SyncDir)),
    ];
    for (name, pick) in removed {
        must_fail(name, &Records, pick);
    }
}

/// Each single sync of each commit is needed, not only all of them together.
#[test]
fn one_removed_sync_is_found() {
    let history = History::new(SimDisk::new(harness::first_seed()));
    Records.run(&history).unwrap();
    let syncs = history.barriers();
    assert!(syncs.len() > 20, "{syncs:?}");
    let one_in = harness::size("crash_syncs") as usize;
    for (op, kind, path) in syncs.into_iter().step_by(one_in) {
        must_fail(&format!("operation {op} ({kind:?} {path:?})"), &Records, Pick::op(op));
    }
}

fn must_fail(name: &str, scenario: &dyn Scenario, removed: Pick) {
    let disk = SimDisk::new(harness::first_seed());
    disk.ignore_sync(removed);
    let history = History::new(disk);
    scenario.run(&history).unwrap();
    let within = |draws, images_max| {
        let extent = Extent { draws, recovery_one_in: 0, images_max, one_in: 1 };
        explore(scenario, &history, extent)
    };
    let mut explored = within(4, 5_000);
    if explored.failure.is_none() {
        // Between the last write of a commit and its sync is one change, of which few draws are
        // partial.
        explored = within(40, 20_000);
    }
    let failure = explored
        .failure
        .unwrap_or_else(|| panic!("without {name} all {} images were good", explored.images));
    println!(
        "without {name}: red after {} images, {}",
        explored.images,
        failure.lines().next().unwrap_or_default()
    );
}

/// Removes each kind of sync of the path alone: record file, segments, summaries, directories.
fn each_barrier_is_found(scenario: &dyn Scenario) {
    let history = History::new(SimDisk::new(harness::first_seed()));
    scenario.run(&history).unwrap();
    let mut kinds = BTreeSet::new();
    for (op, kind, path) in history.barriers() {
        if kinds.insert((kind, harness::file_kind(&path))) || harness::does("crash_each_sync") {
            must_fail(&format!("operation {op} ({kind:?} {path:?})"), scenario, Pick::op(op));
        }
    }
    assert!(kinds.len() >= 4, "{kinds:?}");
}
