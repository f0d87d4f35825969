//! Each kind of sync is taken out of the real disk, and has to be missed.

use stationdb_powerfs::{Kept, SyncKind};

use crate::ground::{FileSystem, Ground};
use crate::harness::{End, Plan, explore, is_skipped};
use crate::works::{self, Work};
use crate::{devices, peers, sets, sizes};

/// States within which a missing sync has to be found.
const STATES_MAX: u64 = 200;

/// A workload whose syncs of a kind, of the paths that match, do nothing.
fn is_missed(what: &str, work: Work, ground: Ground, kind: SyncKind, matches: fn(&str) -> bool) {
    if is_skipped(what, ground) {
        return;
    }
    let kept = Kept::all_but(kind, matches);
    // Enough for segments and backups.
    let plan = Plan { work, ground, end: End::Cut, kept, changes_min: 500 };
    let explored = explore(&plan, sizes::seed(), STATES_MAX);
    assert!(explored.ignored_syncs > 0, "{what}: there is no such sync");
    let Some(problem) = &explored.problem else {
        panic!("{what}: not missed in {explored}");
    };
    let text: String = problem.lines().next().unwrap_or_default().chars().take(200).collect();
    println!("{what}: missed after {} states: {text}", explored.states);
}

macro_rules! removed {
    ($($test:ident: $work:expr, $kind:ident, $matches:expr;)*) => {
        $(#[test]
        fn $test() {
            is_missed(stringify!($test), $work, Ground::Lossy, SyncKind::$kind, $matches);
        })*
    };
}

removed! {
    every_fsync_is_missed: works::station(), File, |_| true;
    every_fdatasync_is_missed: works::station(), Data, |_| true;
    every_sync_of_a_directory_is_missed: works::station(), Directory, |_| true;
    fdatasync_of_the_journal_is_missed: works::station(), Data, |path| path.contains("/journal.");
    fdatasync_of_the_record_file_is_missed: works::compactions(), Data, |path| {
        path.contains("/records.redb")
    };
    fsync_of_contents_is_missed: works::station(), File, |path| path.contains("/files/");
    fsync_of_segments_is_missed: works::station(), File, |path| path.contains("/tables/");
    sync_of_the_store_directory_is_missed: works::station(), Directory, |path| path == "/store";
    sync_of_the_directories_of_contents_is_missed: works::station(), Directory, |path| {
        path.starts_with("/store/files")
    };
    sync_of_the_directories_of_segments_is_missed: works::station(), Directory, |path| {
        path.starts_with("/store/tables")
    };
    sync_of_the_parent_is_missed: works::station(), Directory, str::is_empty;
    fsync_of_a_backup_is_missed: works::backups(), File, |path| path.starts_with("/backup");
    sync_of_the_directories_of_a_backup_is_missed: works::backups(), Directory, |path| {
        path.starts_with("/backup")
    };
    fsync_of_a_backup_set_is_missed: sets::sets(), File, |path| path.starts_with("/set");
    sync_of_the_directories_of_a_backup_set_is_missed: sets::sets(), Directory, |path| {
        path.starts_with("/set")
    };
    fdatasync_of_redb_is_missed: peers::redb(), Data, |_| true;
}

/// As on a device that acknowledges flushes without carrying them out, or with the option
/// `nobarrier` of former kernels.
#[test]
fn a_flush_of_a_device_is_missed() {
    let _turn = devices::turn();
    for file_system in [FileSystem::Ext4, FileSystem::Xfs] {
        let what = format!("a flush below {file_system:?}");
        let ground = Ground::Device(file_system);
        is_missed(&what, works::station(), ground, SyncKind::File, |_| true);
    }
}
