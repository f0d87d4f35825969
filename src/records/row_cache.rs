//! Rows of records that are read by their keys again and again, beside the pages of the file.
//!
//! A lookup in the file goes down three or four pages, each in a table of its own; a row that is
//! kept is one step, and takes a tenth of the memory of its page. A row is kept when it is read for
//! the second time: most reads of many different records are of rows that are not read again, and
//! keeping a row costs as much as reading it.
//!
//! Pages and rows share one bound. redb's part of it is fixed when the file is opened: three
//! quarters. Of a shorter file there are fewer pages than that, and rows may take what the pages
//! cannot. When the file grows, rows make room first.
//!
//! What must hold: nobody gets a row of another state of the file than the one that they read.
//! States are numbered. A row has the number of the state in which it was read, and is removed
//! before a transaction that changes it is committed. So a row that is there has not changed since
//! its state, and is right in that state and in every later one. Only readers of the newest state
//! add rows, and nobody does while a transaction is being committed: otherwise a reader of an older
//! state could put back what was removed. After a failed commit nobody adds rows any more.

mod seen;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use self::seen::Seen;
use crate::value::cache::{Cache, in_shards};

/// Approximate bytes that a row takes in memory in addition to its value: its key and its place in
/// the cache, and what the cache remembers of rows that it dropped.
const ROW_BYTES: usize = 128;
/// Bytes of a usual row, to size the tables of the cache.
const USUAL_BYTES: usize = 512;
/// Shards of the rows, so that readers rarely meet at a lock.
const SHARDS: usize = 16;
/// The bound from which on the rows have shards. Each keeps the longest records then.
const SHARDED_BYTES: usize = 32 * 1024 * 1024;
/// Number of changed rows of one transaction from which on all rows are dropped.
const CHANGES_MAX: usize = 1 << 16;

/// The key of a row: its length and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RowKey([u8; 18]);

impl RowKey {
    /// `None` for a key that is longer than those of records.
    fn new(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; 18];
        let (len, held) = bytes.split_first_mut()?;
        *len = u8::try_from(key.len()).ok()?;
        held.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self(bytes))
    }
}

#[derive(Clone)]
struct Row {
    /// The state in which it was read.
    state: u64,
    value: Arc<[u8]>,
}

#[derive(Default)]
struct Newest {
    /// The number of the newest state.
    state: u64,
    /// Whether a transaction is being committed, or failed in it.
    is_changing: bool,
}

/// The rows that are kept of one open record file.
pub(in crate::records) struct RowCache {
    rows: Cache<RowKey, Row>,
    seen: Seen,
    /// Bytes of the pages, the rows and what was seen.
    bytes_max: usize,
    newest: RwLock<Newest>,
}

impl RowCache {
    /// The bytes of redb's pages when pages and rows take at most `bytes_max`.
    pub(in crate::records) fn page_bytes(bytes_max: usize) -> usize {
        bytes_max - bytes_max / 4
    }

    /// An empty cache of rows that take at most `bytes_max` with redb's pages. The file may have
    /// any length.
    pub(in crate::records) fn new(bytes_max: usize) -> Self {
        let weight = |_: &RowKey, row: &Row| row.value.len().saturating_add(ROW_BYTES);
        let shards = if bytes_max < SHARDED_BYTES { 1 } else { SHARDS };
        let seen = Seen::new(bytes_max);
        let rows = in_shards(shards, bytes_max / 4 / USUAL_BYTES, bytes_max / 4, weight);
        let cache = Self { rows, seen, bytes_max, newest: RwLock::default() };
        cache.fit(u64::MAX);
        cache
    }

    /// Leaves room for the pages of a file of `file_len` bytes. Called before the file gets this
    /// length.
    pub(in crate::records) fn fit(&self, file_len: u64) {
        let page_bytes = Self::page_bytes(self.bytes_max);
        let pages = usize::try_from(file_len).unwrap_or(usize::MAX).min(page_bytes);
        let taken = pages.saturating_add(self.seen.bytes());
        self.rows.set_capacity(self.bytes_max.saturating_sub(taken) as u64);
    }

    /// The rows for a read of the newest state. What must hold: the read begins after this call.
    /// Otherwise it may show an older state than the number says.
    pub(in crate::records) fn rows(self: &Arc<Self>) -> KeptRows {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        KeptRows((!newest.is_changing).then(|| (Arc::clone(self), newest.state)))
    }

    /// Removes the rows that a transaction changes, before its commit. After the commit the caller
    /// says so with [`Committing::done`].
    pub(in crate::records) fn commit(&self, changes: &Changes) -> Committing<'_> {
        // Nobody adds a row after this, so what is removed below does not come back.
        self.newest.write().unwrap_or_else(PoisonError::into_inner).is_changing = true;
        let changed = changes.0.lock().unwrap_or_else(PoisonError::into_inner);
        if changed.len() >= CHANGES_MAX {
            self.rows.clear();
        } else {
            for key in &*changed {
                self.rows.remove(key);
            }
        }
        Committing(self)
    }

    /// Drops all rows.
    pub(in crate::records) fn clear(&self) {
        self.rows.clear();
    }

    /// The bytes that rows take, and those that they may take.
    #[cfg(test)]
    pub(in crate::records) fn bytes(&self) -> (u64, u64) {
        (self.rows.weight(), self.rows.capacity())
    }
}

impl std::fmt::Debug for RowCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowCache").field("bytes", &self.rows.weight()).finish_non_exhaustive()
    }
}

/// A transaction that is being committed.
#[must_use]
pub(in crate::records) struct Committing<'c>(&'c RowCache);

impl Committing<'_> {
    /// Ends a commit that succeeded: the next state is the newest.
    pub(in crate::records) fn done(self) {
        let mut newest = self.0.newest.write().unwrap_or_else(PoisonError::into_inner);
        newest.state += 1;
        newest.is_changing = false;
    }
}

/// The keys of the rows that an open transaction changes: at most [`CHANGES_MAX`] of them, which
/// then stand for all.
#[derive(Default)]
pub(in crate::records) struct Changes(Mutex<Vec<RowKey>>);

impl Changes {
    /// Adds a row.
    pub(in crate::records) fn add(&self, key: &[u8]) {
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = RowKey::new(key)
            && changed.len() < CHANGES_MAX
        {
            changed.push(key);
        }
    }
}

/// The rows of one state of the file; `None` for a state without kept rows.
pub(in crate::records) struct KeptRows(Option<(Arc<RowCache>, u64)>);

impl KeptRows {
    /// Without rows.
    pub(in crate::records) fn none() -> Self {
        Self(None)
    }

    /// The row of a key, if it is kept for this state.
    pub(in crate::records) fn get(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        let (cache, state) = self.0.as_ref()?;
        let key = RowKey::new(key)?;
        // Of a key that was not read lately there is no row, and this is cheaper to know.
        let row = cache.seen.has(&key.0).then(|| cache.rows.get(&key))??;
        (row.state <= *state).then_some(row.value)
    }

    /// Keeps a row that was read in this state, if it was read before and the state is still the
    /// newest.
    pub(in crate::records) fn keep(&self, key: &[u8], value: &[u8]) {
        let Some((cache, state)) = &self.0 else { return };
        let Some(key) = RowKey::new(key) else { return };
        if !cache.seen.again(&key.0) {
            return;
        }
        let row = Row { state: *state, value: value.into() };
        // Held while the row is added, see the module.
        let newest = cache.newest.read().unwrap_or_else(PoisonError::into_inner);
        if newest.state == *state && !newest.is_changing {
            cache.rows.insert(key, row);
        }
    }
}
