//! Merging in a second thread, while the plans of a turn are run.
//!
//! Runs are changed by turns alone, and a turn changes them last. So what is to be merged stands in the snapshot that the
//! turn began from, and can be read and put together from the first plan on; the turn writes it when it is finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::advance::{Advanced, Work, go_on};
use super::cursor::Rows;
use super::damaged;
use crate::error::{Error, Result};
use crate::records::Snapshot;
use crate::records::space::Table;

/// Entries that a merge reads ahead at most, however long the plans take.
pub(super) const MOST: u64 = 65_536;

/// Merging under way.
pub(in crate::records) struct Ahead {
    work: Arc<AtomicU64>,
    /// Nothing where there is nothing to merge.
    thread: Option<JoinHandle<Result<Vec<Advanced>>>>,
}

impl Ahead {
    /// Goes on with the merges of the snapshot that a turn began from.
    pub(in crate::records) fn begin(base: &Arc<Snapshot>) -> Result<Self> {
        let work = Arc::new(AtomicU64::new(MOST));
        let merges = base.runs()?.merges.clone();
        if merges.is_empty() {
            return Ok(Self { work, thread: None });
        }
        let (base, most) = (Arc::clone(base), Arc::clone(&work));
        let merge = move || {
            let table = base.table(Table::Index)?;
            let work = || most.load(Ordering::Relaxed);
            merges.into_iter().map(|merge| go_on(Rows::Snapshot(table), merge, work)).collect()
        };
        let thread = std::thread::Builder::new()
            .name("stationdb-merge".to_owned())
            .spawn(merge)
            .map_err(|error| Error::io("starting the thread that merges index entries", error))?;
        Ok(Self { work, thread: Some(thread) })
    }

    /// Ends each merge once it has read this much.
    pub(super) fn stop_at(&self, work: Work) {
        self.work.fetch_min(work.0, Ordering::Relaxed);
    }

    /// What the merges brought; waits for them.
    pub(super) fn finish(mut self) -> Result<Vec<Advanced>> {
        match self.thread.take() {
            None => Ok(Vec::new()),
            // redb panics on damaged pages.
            Some(thread) => thread.join().unwrap_or_else(|_| Err(damaged("a run"))),
        }
    }
}

impl Drop for Ahead {
    /// The thread holds the snapshot, so it ends with the turn.
    fn drop(&mut self) {
        self.work.store(0, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
