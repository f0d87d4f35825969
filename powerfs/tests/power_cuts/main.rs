//! Power cuts under a real process: the store on a file system that loses what was not synced.
//!
//! A child process works on a store in a mounted [`stationdb_powerfs::Tree`], with all its threads,
//! and records outside of the mount what was acknowledged. It is killed and started again, up to
//! twice in a row. At changes that a seed draws, before the process hears of them, the tree is kept
//! together with what was acknowledged until then. Of each kept tree several cuts are drawn. Each
//! of them is mounted: the store in it is opened, verified, compared with what was acknowledged,
//! and written. The power is cut during such an opening too. One of the cuts is what the next child
//! works on.
//!
//! Needs Linux, root and `/dev/fuse`. Without them each test prints `skipped`, and fails if
//! `STATIONDB_POWERFS` is set.
#![cfg(target_os = "linux")]

mod acks;
mod devices;
mod ground;
mod harness;
mod lake;
mod lane;
mod objects;
#[path = "../../../tests/common/package.rs"]
mod package;
mod peers;
#[path = "../../../tests/common/rows.rs"]
mod rows;
mod sets;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod syncs;
mod works;

use ground::Ground;
use harness::{End, Plan, explore, is_skipped};
use stationdb_powerfs::Kept;
use works::Work;

/// Explores a workload, and fails with the seed of the first bad state.
fn holds(work: Work, ground: Ground, end: End, size: &str) {
    let name = format!("{} on {ground:?}, {end:?}", work.name);
    if is_skipped(&name, ground) {
        return;
    }
    // A device has seen the blocks of its file system and of the new store by then.
    let least = if ground == Ground::Lossy { 0 } else { 300 };
    let changes_min = work.changes_min.max(least);
    let plan = Plan { work, ground, end, kept: Kept::default(), changes_min };
    let explored = explore(&plan, sizes::seed(), sizes::size(size));
    println!("{name}: {explored}");
    println!("counted: {} states", explored.states);
    if let Some(problem) = explored.problem {
        panic!("{name}: {problem}");
    }
    assert!(explored.acknowledged > 0, "{name}: nothing was acknowledged");
}

macro_rules! workloads {
    ($($test:ident: $module:ident::$work:ident;)*) => {
        $(#[test]
        fn $test() {
            holds($module::$work(), Ground::Lossy, End::Cut, "power_states");
        })*

        /// Every workload, by name.
        pub(crate) fn every_work() -> Vec<Work> {
            vec![$($module::$work(),)* peers::redb(), peers::redb_3()]
        }
    };
}

workloads! {
    a_power_cut_loses_nothing_of_a_station: works::station;
    a_power_cut_loses_nothing_of_several_writers: works::writers;
    a_power_cut_loses_nothing_beside_looks: works::looks;
    a_power_cut_loses_nothing_beside_looks_by_copy: works::looks_by_copy;
    a_power_cut_loses_nothing_of_backups_and_restores: works::backups;
    a_power_cut_loses_nothing_of_compactions: works::compactions;
    a_power_cut_loses_nothing_of_rewrites: works::rewrites;
    a_power_cut_loses_nothing_of_imports: works::imports;
    a_power_cut_loses_nothing_of_backup_sets: sets::sets;
    a_power_cut_loses_nothing_of_a_publisher: lake::publisher;
}

/// The harness finds an engine that is known to lose data, and nothing in the one that replaced it.
#[test]
fn redb_alone_loses_nothing() {
    holds(peers::redb(), Ground::Lossy, End::Cut, "power_states");
}

/// Not a test of its own: the work of the child process.
#[test]
fn child_that_is_cut_off() {
    if let Some(child) = harness::Child::of_this_process() {
        let work = every_work().into_iter().find(|work| work.name == child.work).unwrap();
        (work.run)(&child);
    }
}
