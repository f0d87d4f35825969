//! One layer of the memory table: changes that the record file does not have yet.
//!
//! A layer is a value: a clone shares everything with the original and can be changed without it.
//! So a turn changes its own clone, and a snapshot keeps the one of its commit. A deleted key stays
//! in the layer as a row without a value, because the record file may have the key.

#[cfg(test)]
mod tests;
mod tree;
mod walk;

use std::sync::Arc;

use super::entries::SortedEntries;
use crate::records::{Change, Entries, Space};

pub(in crate::records) use tree::Row;
use tree::Tree;
pub(in crate::records) use walk::Walk;

/// Approximate bytes that a row takes in memory in addition to its key and value.
const ROW_BYTES: usize = 96;
/// Approximate bytes that an index entry takes in addition to its key and value.
const ENTRY_BYTES: usize = 32;
/// A set of this many entries is not merged with newer ones any more, because the commit that does
/// it would wait.
const LARGE_SET: usize = 16_384;

/// Sets of changed index entries, newest last.
pub(in crate::records) type Sets = Vec<Arc<SortedEntries>>;

/// Changes since a checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// The rows of each space but the index.
    trees: [Tree; Space::ALL.len()],
    sets: Sets,
    bytes: usize,
}

impl Layer {
    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Approximate bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::records) fn sets(&self) -> &[Arc<SortedEntries>] {
        &self.sets
    }

    fn tree(&self, space: Space) -> Option<&Tree> {
        self.trees.get(usize::from(space.number()))
    }

    /// The row of a key; `None` if the layer does not say anything about the key.
    pub(in crate::records) fn row(&self, space: Space, key: &[u8]) -> Option<&Row> {
        self.tree(space)?.get(key)
    }

    /// The rows from `from` (included) to `to` (excluded), forwards or backwards; `None` if there
    /// are none.
    pub(in crate::records) fn walk(
        &self,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
        back: bool,
    ) -> Option<Walk<'_>> {
        Walk::begin(self.tree(space)?, from, to, back)
    }

    /// Applies a change.
    pub(in crate::records) fn apply(&mut self, change: Change) {
        match change {
            Change::Put { space: Space::Index, key, value } => {
                let mut entries = Entries::default();
                entries.change_key(&key, false, Some(&value));
                self.add_set(entries.into_sorted());
            }
            Change::Delete { space: Space::Index, key } => {
                let mut entries = Entries::default();
                entries.change_key(&key, true, None);
                self.add_set(entries.into_sorted());
            }
            Change::Put { space, key, value } => self.put(space, Row { key, value: Some(value) }),
            Change::Delete { space, key } => self.put(space, Row { key, value: None }),
            Change::Entries(entries) => self.add_set(entries),
        }
    }

    fn put(&mut self, space: Space, row: Row) {
        self.bytes += row.len() + ROW_BYTES;
        let Some(tree) = self.trees.get_mut(usize::from(space.number())) else { return };
        if let Some(old) = tree.insert(Arc::new(row)) {
            self.bytes = self.bytes.saturating_sub(old.len() + ROW_BYTES);
        }
    }

    /// Adds a set of changed entries.
    ///
    /// A set keeps at least twice as many changes as the next newer one, or is large; otherwise the
    /// two are merged. So every read merges few sets, and each change is merged only a few times.
    fn add_set(&mut self, newest: SortedEntries) {
        if newest.len() == 0 {
            return;
        }
        self.bytes += newest.bytes() + newest.len() * ENTRY_BYTES;
        let mut newest = Arc::new(newest);
        while let Some(older) = self.sets.pop() {
            if older.len() >= newest.len() * 2 || older.len() >= LARGE_SET {
                self.sets.push(older);
                break;
            }
            newest = Arc::new(SortedEntries::merge([&*older, &*newest]));
        }
        self.sets.push(newest);
    }
}
