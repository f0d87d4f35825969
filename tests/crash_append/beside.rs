//! Commits beside a checkpoint that is under way in its thread: the checkpoint is held at one of
//! its operations until several commits were acknowledged.

use crate::prelude::*;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use stationdb::faults::Hold;

use crate::harness::{default_extent, must_survive_kills};
use crate::kills::of_a_run;
use crate::scenarios::those_there;

/// Bytes of the memory table: full after a few commits.
const MEMORY: usize = 1_500;
/// Commits while a checkpoint is held. The memory table has room for them: beyond four times its
/// bound a commit waits for the checkpoint.
const BESIDE: u32 = 4;
/// Commits after which a checkpoint has begun, unless something failed. All together are fewer than
/// one user may have subscribers.
const MOST: u32 = 20;
/// How long a commit that may have begun a checkpoint waits for the thread.
const PAUSE: Duration = Duration::from_millis(10);

/// Where a checkpoint is held, one place after the other: before it reads the memory table, before
/// its first write, and before each of its syncs.
fn places() -> [Pick; 4] {
    let sync = || Pick::kind(OpKind::Sync).on_path("records.redb").once();
    [
        Pick::kind(OpKind::Lock).on_path("LOOK").once(),
        Pick::kind(OpKind::Write).on_path("records.redb").once(),
        sync(),
        sync().nth(2),
    ]
}

#[derive(Default)]
struct Beside {
    /// Commits of the longest run.
    made: AtomicU32,
    /// Commits that were acknowledged while a checkpoint was held, and the changes of the disk
    /// meanwhile.
    beside: AtomicU32,
    changes: AtomicUsize,
    /// Syncs of this file do nothing once the store is open.
    removed: Option<&'static str>,
}

/// Releases the checkpoint also when a step fails.
struct Held(Hold);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl Held {
    fn is_reached_within(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        while !self.0.is_reached() && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.0.is_reached()
    }
}

impl Beside {
    fn commit(&self, history: &History, store: &Store, number: &mut u32) -> Result<(), Error> {
        let name = number.to_string();
        *number += 1;
        self.made.fetch_max(*number, Ordering::Relaxed);
        history.step(name.clone(), || ada(store).register_subscriber(&name).map(drop))
    }
}

/// The syncs of the record file, which a checkpoint ends with two of; `None` after a failure.
fn syncs(history: &History) -> Option<usize> {
    let trace = history.disk.trace();
    let is_sync = |entry: &&TraceEntry| entry.kind == OpKind::Sync && is_record_file(&entry.path);
    let count = trace.iter().filter(is_sync).count();
    (!trace.iter().any(|entry| entry.failed)).then_some(count)
}

/// Waits until a checkpoint has made its syncs, so that the next place is one of the next
/// checkpoint. After a failure the next commit tells.
fn wait_for_syncs(history: &History, before: Option<usize>) {
    let until = Instant::now() + Duration::from_secs(5);
    let is_under_way = || match (before, syncs(history)) {
        (Some(before), Some(now)) => now < before + 2,
        _ => false,
    };
    while is_under_way() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Scenario for Beside {
    fn open(&self, disk: SimDisk) -> Result<Store, Error> {
        options().memory_table_bytes(MEMORY).open_disk(Arc::new(disk))
    }

    fn run(&self, history: &History) -> Result<(), Error> {
        let options = options().memory_table_bytes(MEMORY).maintenance_thread(true);
        let store = options.open_disk(Arc::new(history.disk.clone()))?;
        if let Some(path) = self.removed {
            history.disk.ignore_sync(Pick::kind(OpKind::Sync).on_path(path));
        }
        let mut number = 0;
        for place in places() {
            let before = syncs(history);
            let held = Held(Hold::default());
            history.disk.inject(place, Fault::Hold(held.0.clone()));
            for _ in 0..MOST {
                self.commit(history, &store, &mut number)?;
                if held.is_reached_within(PAUSE) {
                    break;
                }
            }
            if !held.0.is_reached() {
                continue;
            }
            let changes = history.disk.changes();
            for _ in 0..BESIDE {
                self.commit(history, &store, &mut number)?;
            }
            self.beside.fetch_add(BESIDE, Ordering::Relaxed);
            self.changes.fetch_add(history.disk.changes() - changes, Ordering::Relaxed);
            drop(held);
            wait_for_syncs(history, before);
        }
        Ok(())
    }

    fn found(&self, store: &Store, _: &SimDisk) -> Result<BTreeSet<String>, Problem> {
        those_there(store, (0..self.made.load(Ordering::Relaxed)).map(|number| number.to_string()))
    }

    fn go_on(&self, store: &Store) -> Result<(), Error> {
        ada(store).register_subscriber("later").map(|_| ())
    }
}

#[test]
fn every_change_of_commits_beside_a_checkpoint_can_be_the_last() {
    let scenario = Beside::default();
    let history = History::new(scenario.disk());
    scenario.run(&history).unwrap();
    let (beside, changes) =
        (scenario.beside.load(Ordering::Relaxed), scenario.changes.load(Ordering::Relaxed));
    // Each commit writes a record and syncs it.
    assert_eq!(beside, BESIDE * places().len() as u32, "no checkpoint was held at a place");
    assert!(changes >= 2 * beside as usize, "{changes}");
    assert!(history.moves() >= places().len(), "{}", history.moves());
    let explored = explore(&scenario, &history, default_extent());
    println!(
        "commits beside a checkpoint: {} changes, {changes} of them while it is held, {beside} \
         commits, {} images ({} distinct)",
        explored.changes, explored.images, explored.distinct
    );
    counted(explored.images - explored.recovery_images, "images");
    counted(explored.recovery_images, "images of a second cut");
    assert_eq!(explored.failure, None);
    must_survive_kills("commits beside a checkpoint", &scenario, &history, &of_a_run(false));
}

#[test]
fn the_nth_operation_of_commits_beside_a_checkpoint_fails() {
    errors::operations_fail("commits beside a checkpoint", &Beside::default(), 40);
}

#[test]
fn each_removed_barrier_beside_a_checkpoint_is_found() {
    for path in ["journal", "records.redb"] {
        let scenario = Beside { removed: Some(path), ..Beside::default() };
        let history = History::new(scenario.disk());
        scenario.run(&history).unwrap();
        let extent = Extent { draws: 8, recovery_one_in: 0, ..default_extent() };
        let failure = explore(&scenario, &history, extent).failure;
        let failure = failure.unwrap_or_else(|| panic!("without syncs of {path} all was good"));
        println!("without syncs of {path}: {failure}");
    }
}
