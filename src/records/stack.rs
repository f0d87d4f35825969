//! What a snapshot and a turn read: the record file, and the layers over it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::base::Base;
use super::cursor::Inner;
use super::memory::layer::{Layer, Row};
use super::memory::layered::Layered;
use super::runs::Memory;
use super::{Cursor, Found, Space, Sums};
use crate::error::Result;

/// The record file and the layers over it.
#[derive(Clone, Copy)]
pub(super) struct Stack<'a> {
    pub(super) base: &'a Base,
    /// The older layer, while a checkpoint moves it.
    pub(super) frozen: Option<&'a Layer>,
    pub(super) active: &'a Layer,
}

impl<'a> Stack<'a> {
    /// The layers, newest first.
    fn layers(self) -> impl Iterator<Item = &'a Layer> {
        std::iter::once(self.active).chain(self.frozen)
    }

    /// The changed index entries.
    fn memory(self) -> Memory<'a> {
        Memory { older: self.frozen.map_or(&[], Layer::sets), newer: self.active.sets() }
    }

    /// The row of a key in the newest layer that has one.
    fn row(self, space: Space, key: &[u8]) -> Option<&'a Row> {
        self.layers().find_map(|layer| layer.row(space, key))
    }

    /// Calls `f` with the value of a key, without copying the value; returns whether it has one.
    pub(super) fn read(self, space: Space, key: &[u8], f: &mut Found<'_>) -> Result<bool> {
        if space == Space::Index {
            return self.cursor(space, key, Some(&[key, &[0]].concat()))?.visit_value(f);
        }
        let Some(row) = self.row(space, key) else { return self.base.read(space, key, f) };
        Ok(row.value.as_deref().map(f).is_some())
    }

    pub(super) fn cursor(self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Cursor<'a>> {
        if space == Space::Index {
            return self.base.entries(self.memory(), from, to);
        }
        let parts = self.base.parts(space, from, to)?;
        let layers = self.layers().filter(|layer| layer.walk(space, from, to, false).is_some());
        let layers: Vec<_> = layers.collect();
        if layers.is_empty() {
            return Ok(Cursor(Inner::Parts(parts)));
        }
        Ok(Cursor(Inner::Layered(Box::new(Layered::new(parts, layers, space, from, to)))))
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded).
    pub(super) fn count_entries(self, from: &[u8], to: &[u8], most: u64) -> Result<u64> {
        self.base.count_entries(self.memory(), from, to, most)
    }

    /// Keys that split a range of the index space into parts of at most `blocks` blocks. Changes in
    /// memory are few and do not count.
    pub(super) fn split_entries(
        self,
        from: &[u8],
        to: &[u8],
        blocks: usize,
    ) -> Result<Vec<Vec<u8>>> {
        self.base.split_entries(from, to, blocks)
    }

    /// The number of entries of a space.
    pub(super) fn len(self, space: Space) -> Result<u64> {
        let held = self.base.len(space)?;
        if space == Space::Index {
            return Ok(held.saturating_add_signed(self.memory().net()));
        }
        let mut net = 0;
        for (key, row) in self.changed(space) {
            let was_there = self.base.read(space, key, &mut |_| {})?;
            net += i64::from(row.value.is_some()) - i64::from(was_there);
        }
        Ok(held.saturating_add_signed(net))
    }

    /// The rows of the layers, for each key the newest.
    fn changed(self, space: Space) -> BTreeMap<&'a [u8], &'a Row> {
        let mut changed = BTreeMap::new();
        for layer in self.frozen.into_iter().chain([self.active]) {
            let mut walk = layer.walk(space, &[], None, false);
            while let Some(held) = &mut walk {
                if let Some(row) = held.row() {
                    changed.insert(row.key.as_slice(), row);
                }
                if !held.advance() {
                    walk = None;
                }
            }
        }
        changed
    }

    /// The sums of all collections with the changes of the layers; `None` if their row is missing
    /// or damaged.
    pub(super) fn sums(self) -> Result<Option<Sums>> {
        let Some(mut sums) = self.base.sums()? else { return Ok(None) };
        for space in Space::ALL.into_iter().filter(|space| *space != Space::Index) {
            for (key, row) in self.changed(space) {
                let old = self.base.get(space, key)?;
                sums.replace(space, key, old.as_deref(), row.value.as_deref());
            }
        }
        Ok(Some(sums))
    }
}
