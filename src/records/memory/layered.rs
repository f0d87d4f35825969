//! The rows of the record file and of the layers over it, as one sequence.

use super::layer::{Layer, Walk};
use crate::error::Result;
use crate::records::Space;
use crate::records::file::parts::{Entry, Parts, Visit};

/// A range of a space other than the index.
///
/// What must hold: for equal keys the newest layer counts, and the record file last. A row without
/// a value hides the older ones.
pub(in crate::records) struct Layered<'a> {
    base: Parts<'a>,
    /// The next row of the record file; `None` at its end, and before it was read.
    head: Option<Entry<'a>>,
    /// Whether `head` was returned or is not read yet. It is read as late as possible, so that an
    /// unreadable row does not hide the one before it.
    is_head_used: bool,
    /// Newest first.
    layers: Vec<&'a Layer>,
    /// The walks that are not at their end, newest first.
    walks: Vec<Walk<'a>>,
    space: Space,
    from: Vec<u8>,
    to: Option<Vec<u8>>,
    /// The direction; `None` until something was read.
    back: Option<bool>,
}

impl<'a> Layered<'a> {
    pub(in crate::records) fn new(
        base: Parts<'a>,
        layers: Vec<&'a Layer>,
        space: Space,
        from: &[u8],
        to: Option<&[u8]>,
    ) -> Self {
        Self {
            base,
            head: None,
            is_head_used: true,
            layers,
            walks: Vec::new(),
            space,
            from: from.to_vec(),
            to: to.map(<[u8]>::to_vec),
            back: None,
        }
    }

    fn begin(&mut self, back: bool) {
        self.back = Some(back);
        let walk = |layer: &&'a Layer| layer.walk(self.space, &self.from, self.to.as_deref(), back);
        self.walks = self.layers.iter().filter_map(walk).collect();
    }

    /// Calls `f` with the next entry; returns false at the end.
    pub(in crate::records) fn visit(&mut self, back: bool, f: &mut Visit<'_>) -> Result<bool> {
        match self.back {
            None => self.begin(back),
            Some(known) => debug_assert_eq!(known, back, "a cursor keeps its direction"),
        }
        let back = self.back == Some(true);
        let is_before = |one: &[u8], other: &[u8]| if back { one > other } else { one < other };
        loop {
            if self.is_head_used {
                self.head = self.base.next(back)?;
                self.is_head_used = false;
            }
            // The first of equal keys is that of the newest layer.
            let rows = self.walks.iter().filter_map(Walk::row);
            let next =
                rows.reduce(|held, row| if is_before(&row.key, &held.key) { row } else { held });
            let Some(next) = next else {
                let Some(entry) = self.head.take() else { return Ok(false) };
                self.is_head_used = true;
                f(entry.key(), entry.value());
                return Ok(true);
            };
            if let Some(entry) = self.head.take_if(|entry| !is_before(&next.key, entry.key())) {
                self.is_head_used = true;
                if entry.key() != next.key {
                    f(entry.key(), entry.value());
                    return Ok(true);
                }
            }
            let is_there = |walk: &mut Walk<'_>| {
                walk.row().is_some_and(|row| row.key != next.key) || walk.advance()
            };
            self.walks.retain_mut(is_there);
            if let Some(value) = &next.value {
                f(&next.key, value);
                return Ok(true);
            }
        }
    }
}
