//! Rows of records that were read by their keys, beside the pages of the record file.
//!
//! A lookup in the file goes down three or four pages, each in a table of its own; a row that is
//! kept is one step, and takes a tenth of the memory of its page.
//!
//! What must hold: nobody gets a row of another state of the file than the one that they read.
//! States are numbered. A row has the number of the state in which it was read, and is removed
//! before a transaction that changes it is committed. So a row that is there has not changed since
//! its state, and is right in that state and in every later one. Only readers of the newest state
//! add rows, and nobody does while a transaction is being committed: otherwise a reader of an older
//! state could put back what was removed. After a failed commit nobody adds rows any more.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::value::cache::{Cache, bounded};

/// Approximate bytes that a row takes in memory in addition to its value: its key and its place in
/// the cache, and what the cache remembers of rows that it dropped.
const ROW_BYTES: usize = 128;
/// Bytes of a usual row, to size the tables of the cache.
const USUAL_BYTES: usize = 512;
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
    newest: RwLock<Newest>,
}

impl RowCache {
    /// An empty cache of at most `bytes_max`.
    pub(in crate::records) fn new(bytes_max: usize) -> Self {
        let weight = |_: &RowKey, row: &Row| row.value.len().saturating_add(ROW_BYTES);
        let rows = bounded(bytes_max / USUAL_BYTES, bytes_max, weight);
        Self { rows, newest: RwLock::default() }
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

    /// Bytes that the rows take.
    #[cfg(test)]
    pub(in crate::records) fn bytes(&self) -> u64 {
        self.rows.weight()
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
        let row = cache.rows.get(&RowKey::new(key)?)?;
        (row.state <= *state).then_some(row.value)
    }

    /// Keeps a row that was read in this state, if it is still the newest.
    pub(in crate::records) fn keep(&self, key: &[u8], value: &[u8]) {
        let Some((cache, state)) = &self.0 else { return };
        let Some(key) = RowKey::new(key) else { return };
        if (value.len() + ROW_BYTES) as u64 > cache.rows.capacity() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(keys: &[&[u8]]) -> Changes {
        let changes = Changes::default();
        keys.iter().for_each(|key| changes.add(key));
        changes
    }

    fn value(rows: &KeptRows, key: &[u8]) -> Option<Vec<u8>> {
        rows.get(key).map(|value| value.to_vec())
    }

    #[test]
    fn a_state_gets_rows_of_its_own_and_of_earlier_states_only() {
        let cache = Arc::new(RowCache::new(1 << 20));
        let first = cache.rows();
        first.keep(b"same", b"1");
        first.keep(b"other", b"1");
        cache.commit(&changes(&[b"other", b"new"])).done();
        // The older reader is still there, and may not bring back what it sees.
        first.keep(b"other", b"1");
        let second = cache.rows();
        assert_eq!(value(&second, b"same"), Some(b"1".to_vec()));
        assert_eq!(value(&second, b"other"), None);
        second.keep(b"other", b"2");
        second.keep(b"new", b"2");
        assert_eq!(value(&second, b"other"), Some(b"2".to_vec()));
        assert_eq!(value(&first, b"other"), None, "a row of a later state");
        assert_eq!(value(&first, b"new"), None, "a row of a later state");
        assert_eq!(value(&first, b"same"), Some(b"1".to_vec()));
    }

    #[test]
    fn nobody_adds_rows_while_a_transaction_is_being_committed_or_after_it_failed() {
        let cache = Arc::new(RowCache::new(1 << 20));
        let before = cache.rows();
        before.keep(b"kept", b"1");
        let committing = cache.commit(&changes(&[b"changed"]));
        before.keep(b"changed", b"1");
        let meanwhile = cache.rows();
        meanwhile.keep(b"changed", b"?");
        assert_eq!(value(&meanwhile, b"kept"), None, "which state it reads is not known");
        assert_eq!(value(&before, b"kept"), Some(b"1".to_vec()));
        committing.done();
        assert_eq!(value(&cache.rows(), b"changed"), None);
        drop(cache.commit(&changes(&[b"kept"])));
        before.keep(b"kept", b"1");
        cache.rows().keep(b"kept", b"1");
        assert_eq!(value(&before, b"kept"), None);
    }

    #[test]
    fn many_changes_stand_for_all_rows() {
        let cache = Arc::new(RowCache::new(1 << 20));
        cache.rows().keep(b"one", b"1");
        let many = Changes::default();
        (0..=CHANGES_MAX as u64).for_each(|number| many.add(&number.to_be_bytes()));
        cache.commit(&many).done();
        assert_eq!(value(&cache.rows(), b"one"), None);
    }

    #[test]
    fn the_bytes_stay_within_the_bound() {
        const BYTES: usize = 40 * (ROW_BYTES + 100);
        let cache = Arc::new(RowCache::new(BYTES));
        let rows = cache.rows();
        for number in 0..1_000u32 {
            rows.keep(&number.to_be_bytes(), &[1; 100]);
            assert!(cache.bytes() <= BYTES as u64);
        }
        assert!(cache.bytes() > BYTES as u64 / 2);
        rows.keep(b"large", &vec![1; BYTES]);
        assert_eq!(value(&rows, b"large"), None);
        rows.keep(&[7; 18], b"a key that is too long");
        assert_eq!(value(&rows, &[7; 18]), None);
        let none = Arc::new(RowCache::new(0));
        none.rows().keep(b"key", b"value");
        assert_eq!(value(&none.rows(), b"key"), None);
        cache.clear();
        assert_eq!(cache.bytes(), 0);
    }

    #[test]
    fn a_key_and_its_beginning_are_two_rows() {
        let cache = Arc::new(RowCache::new(1 << 20));
        let rows = cache.rows();
        rows.keep(&[7], b"short");
        rows.keep(&[7, 0], b"long");
        assert_eq!(value(&rows, &[7]), Some(b"short".to_vec()));
        assert_eq!(value(&rows, &[7, 0]), Some(b"long".to_vec()));
    }
}
