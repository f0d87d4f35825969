//! The changes of a group of plans, before they are durable.

use std::cell::RefCell;
use std::sync::Arc;

use super::memory::layer::Layer;
use super::read_ahead::ReadAhead;
use super::stack::Stack;
use super::{Change, Snapshot, Space, journal};

/// Number of keys from which on they are read by another thread.
const MANY_READS: usize = 100;

/// The last commit plus the changes of a group. Reads see what was applied; nothing is written.
pub(crate) struct Turn {
    base: Arc<Snapshot>,
    active: Layer,
    /// The changes in the form of the journal; `None` when they have more than `body_max` bytes.
    body: Option<Vec<u8>>,
    body_max: usize,
    /// Reads of records into the cache by other threads.
    reading: RefCell<Vec<ReadAhead>>,
}

/// What a turn made.
#[derive(Debug)]
pub(crate) struct TurnResult {
    /// The active layer with the changes.
    pub(crate) active: Layer,
    /// The body of the journal's record; `None` if there are too many changes for the journal.
    pub(crate) body: Option<Vec<u8>>,
}

impl Turn {
    /// Begins a turn over `base`, the last commit. Changes of more than `body_max` bytes do not go
    /// into the journal.
    pub(crate) fn open(base: Arc<Snapshot>, body_max: usize) -> Self {
        /// What most groups need.
        const BODY_BYTES: usize = 8 * 1024;
        let active = base.active().clone();
        let body = Some(Vec::with_capacity(BODY_BYTES));
        Self { base, active, body, body_max, reading: RefCell::default() }
    }

    pub(super) fn stack(&self) -> Stack<'_> {
        self.base.stack_with(&self.active)
    }

    /// Announces reads of these keys of a space. If they are many, another thread reads them into
    /// the cache.
    pub(crate) fn expect_reads(&self, space: Space, keys: Vec<Vec<u8>>) {
        if keys.len() >= MANY_READS {
            self.reading.borrow_mut().push(ReadAhead::begin(self.base.base(), space, keys));
        }
    }

    /// Applies changes in order.
    pub(crate) fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            if let Some(body) = &mut self.body {
                journal::encode(&change, body);
                if body.len() > self.body_max {
                    self.body = None;
                }
            }
            self.active.apply(change);
        }
    }

    /// Whether its changes are too many for the journal.
    pub(crate) fn is_large(&self) -> bool {
        self.body.is_none()
    }

    /// The changes, and those of the commits that the record file lacks.
    pub(crate) fn active(&self) -> &Layer {
        &self.active
    }

    /// Ends the turn.
    pub(crate) fn finish(self) -> TurnResult {
        TurnResult { active: self.active, body: self.body }
    }
}
