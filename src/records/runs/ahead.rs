//! Merges runs in a second thread while the plans of a turn run.
//!
//! Only turns change runs, and a turn changes them at its end. So the inputs of the merges are in
//! the snapshot that the turn began from, and can be merged from the first plan on. The turn writes
//! the result when it is finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use super::advance::{MergeProgress, Work, go_on};
use super::cursor::Rows;
use super::damaged;
use crate::error::{Error, Result};
use crate::records::Base;
use crate::records::space::Table;

/// Limit of the entries that a merge reads ahead, however long the plans take. It bounds the memory
/// of the merged blocks.
pub(super) const MOST: u64 = 65_536;

/// A merge in progress.
pub(in crate::records) struct Ahead {
    work: Arc<AtomicU64>,
    /// `None` if there is nothing to merge.
    thread: Option<JoinHandle<Result<Vec<MergeProgress>>>>,
}

impl Ahead {
    /// Starts to advance the merges of the snapshot that a turn began from.
    pub(in crate::records) fn begin(base: &Arc<Base>) -> Result<Self> {
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

    /// Ends each merge after it has read this many entries.
    pub(super) fn stop_at(&self, work: Work) {
        self.work.fetch_min(work.0, Ordering::Relaxed);
    }

    /// Waits for the merges and returns their results.
    pub(super) fn finish(mut self) -> Result<Vec<MergeProgress>> {
        match self.thread.take() {
            None => Ok(Vec::new()),
            // redb may panic on damaged pages.
            Some(thread) => thread.join().unwrap_or_else(|_| Err(damaged("a run"))),
        }
    }
}

impl Drop for Ahead {
    /// Waits for the thread: it holds the snapshot, which must not outlive the turn.
    fn drop(&mut self) {
        self.work.store(0, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
