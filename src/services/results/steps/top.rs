//! The first steps in an order, kept while all are read.

use std::collections::{BTreeMap, BinaryHeap};

use super::scan::{Found, FoundStep, FoundSteps};
use crate::error::{Error, Result};
use crate::model::steps::stored::StoredStep;
use crate::session::View;
use crate::value::RecordKey;
use crate::value::budget::CallMemory;

/// The first steps after a sort key. Sealed steps are kept as the places of their rows, as long as
/// the pass reads no more of them.
pub(super) struct Top {
    keep: usize,
    after: Option<Vec<u8>>,
    heap: BinaryHeap<Vec<u8>>,
    steps: BTreeMap<Vec<u8>, FoundStep>,
    bytes: usize,
    memory: CallMemory,
    /// Whether steps that take too much memory are cut; they are refused otherwise.
    is_cut: bool,
}

fn bytes_of(sort: &[u8], found: &Found) -> usize {
    let step = match found {
        Found::Step(step) => step.memory_bytes(),
        Found::Rows { .. } => 0,
    };
    step + size_of::<FoundStep>() + 2 * sort.len()
}

impl Top {
    pub(super) fn new(view: &View<'_>, after: Option<Vec<u8>>, keep: usize, is_cut: bool) -> Self {
        Self {
            keep,
            after,
            heap: BinaryHeap::new(),
            steps: BTreeMap::new(),
            bytes: 0,
            memory: view.context().call_memory(),
            is_cut,
        }
    }

    /// The sort key of the last step.
    pub(super) fn last(&self) -> Option<&Vec<u8>> {
        self.heap.peek()
    }

    fn drop_last(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        if let Some((_, _, found)) = self.steps.remove(&last) {
            self.bytes = self.bytes.saturating_sub(bytes_of(&last, &found));
        }
    }

    /// Keeps a step if it is one of the first.
    ///
    /// # Errors
    /// `LimitExceeded` for steps of too much memory.
    pub(super) fn offer(&mut self, sort: Vec<u8>, step: FoundStep) -> Result<()> {
        if self.after.as_ref().is_some_and(|after| sort <= *after) || self.keep == 0 {
            return Ok(());
        }
        if self.heap.len() >= self.keep {
            if self.heap.peek().is_none_or(|last| sort >= *last) {
                return Ok(());
            }
            self.drop_last();
        }
        self.bytes += bytes_of(&sort, &step.2);
        self.heap.push(sort.clone());
        self.steps.insert(sort, step);
        if self.bytes > self.memory.most() && !self.is_cut {
            return Err(too_long(self.memory.most()));
        }
        while self.bytes > self.memory.most() && self.heap.len() > 1 {
            self.drop_last();
            self.keep = self.heap.len();
        }
        self.memory.hold(self.bytes.min(self.memory.most())).map(|_| ())
    }

    /// The steps in order. `found` reads those that are kept as places.
    ///
    /// # Errors
    /// Those of reading; `LimitExceeded` for steps of too much memory.
    pub(super) fn into_steps(mut self, found: &FoundSteps) -> Result<Vec<(RecordKey, StoredStep)>> {
        let steps = found.read(self.steps.into_values().collect())?;
        let bytes: usize = steps.iter().map(|(_, step)| step.memory_bytes()).sum();
        if !self.memory.hold(bytes)? && !self.is_cut {
            return Err(too_long(self.memory.most()));
        }
        Ok(steps)
    }
}

/// The error of a page whose steps take too much memory.
pub(super) fn too_long(bytes_max: usize) -> Error {
    Error::limit(format!(
        "the steps of the page take more than the {bytes_max} bytes that `query_memory_bytes` \
         allows one query; take fewer at once"
    ))
    .at_member("take")
}
