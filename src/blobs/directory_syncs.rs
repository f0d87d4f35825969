//! One sync of a directory for all blobs that are finished at the same time.
//!
//! What must hold:
//! - A sync counts for a blob only if it began after the name of the blob was there. So a caller
//!   that comes while a sync runs waits for the next one, and shares it with all who wait.
//! - A failed sync fails every caller that it counts for. None of them tries again: after a failed
//!   sync the system may report success for names that it dropped.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::value::guarded;

/// The syncs of all directories.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectorySyncs(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queues: Mutex<HashMap<String, Queue>>,
    changed: Condvar,
}

/// The sync of one directory that runs, and the one after it.
#[derive(Debug, Default)]
struct Queue {
    is_running: bool,
    next: Arc<OnceLock<Result<()>>>,
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, HashMap<String, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DirectorySyncs {
    /// Makes the names in a directory durable that are there now.
    ///
    /// # Errors
    /// Errors of the disk.
    pub(super) fn sync(&self, disk: &dyn Disk, directory: &str) -> Result<()> {
        let mut queues = self.0.queues();
        let round = queues.entry(directory.to_owned()).or_default().next.clone();
        loop {
            if let Some(outcome) = round.get() {
                return outcome.clone();
            }
            let queue = queues.entry(directory.to_owned()).or_default();
            if !queue.is_running {
                queue.is_running = true;
                // Whoever comes from now on belongs to the next sync.
                queue.next = Arc::default();
                break;
            }
            queues = self.0.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
        drop(queues);
        let outcome = guarded("syncing a directory", || {
            disk.sync_dir(directory).map_err(|error| {
                Error::io(format_args!("syncing the directory {directory}"), error)
            })
        });
        let mut queues = self.0.queues();
        queues.entry(directory.to_owned()).or_default().is_running = false;
        let outcome = round.get_or_init(|| outcome).clone();
        self.0.changed.notify_all();
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::blobs::{BlobStore, format};
    use crate::disk::sim::{Fault, Hold, OpKind, Pick, SimDisk};
    use crate::value::Control;

    const OTHERS: usize = 7;

    fn syncs(disk: &SimDisk, kind: OpKind) -> usize {
        let directory = format::directory(1);
        let trace = disk.trace();
        let is_there = |path: &str| path.starts_with(&directory);
        trace.iter().filter(|entry| entry.kind == kind && is_there(&entry.path)).count()
    }

    fn wait_until(is_done: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_done() {
            assert!(begun.elapsed() < Duration::from_mins(1));
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Puts one blob whose sync of the directory is held, and others meanwhile. Returns whether
    /// each of the others is there, and the syncs of the directory.
    fn beside_a_held_sync(fails: bool) -> (Vec<bool>, usize) {
        let disk = SimDisk::new(1);
        let blobs = BlobStore::open(std::sync::Arc::new(disk.clone())).unwrap();
        let put = |id| blobs.put(id, &mut &b"content"[..], None, &Control::default());
        put(1).unwrap();
        let before = syncs(&disk, OpKind::SyncDir);
        let hold = Hold::default();
        let of_names = Pick::kind(OpKind::SyncDir).on_path(&format::directory(1));
        disk.inject(of_names.clone().once(), Fault::Hold(hold.clone()));
        let put = &put;
        let others = thread::scope(|scope| {
            let first = scope.spawn(move || put(2));
            wait_until(|| hold.is_reached());
            if fails {
                disk.inject(of_names.once(), Fault::Io);
            }
            let written = syncs(&disk, OpKind::Sync);
            let others: Vec<_> =
                (0..OTHERS as u64).map(|at| scope.spawn(move || put(10 + at))).collect();
            wait_until(|| syncs(&disk, OpKind::Sync) == written + OTHERS);
            // All of them have written their content, and soon wait for the sync.
            thread::sleep(Duration::from_millis(200));
            hold.release();
            first.join().unwrap().unwrap();
            let others = others.into_iter().map(|other| other.join().unwrap());
            others.collect::<Vec<_>>()
        });
        for (id, other) in (10..).zip(&others) {
            assert_eq!(disk_has(&disk, id), other.is_ok(), "{id}");
        }
        let is_there = others.iter().map(Result::is_ok).collect();
        (is_there, syncs(&disk, OpKind::SyncDir) - before)
    }

    fn disk_has(disk: &SimDisk, id: u64) -> bool {
        use crate::disk::Disk;
        disk.exists(&format::path(id)).unwrap()
    }

    #[test]
    fn blobs_that_end_together_share_the_sync_of_their_directory() {
        let (there, syncs) = beside_a_held_sync(false);
        assert!(there.iter().all(|is_there| *is_there));
        // One of them may have come late on a busy machine.
        assert!((2..=3).contains(&syncs), "{syncs} syncs for {} blobs", OTHERS + 1);
    }

    #[test]
    fn a_failed_sync_fails_all_who_share_it() {
        let (there, syncs) = beside_a_held_sync(true);
        let failed = there.iter().filter(|is_there| !**is_there).count();
        assert!(failed >= OTHERS - 1, "{failed} of {OTHERS} failed after {syncs} syncs");
    }
}
