//! A read-only view of one commit.

use std::sync::Arc;

use super::base::Base;
use super::journal::Replayed;
use super::memory::layer::Layer;
use super::stack::Stack;
use super::{Space, Sums};
use crate::error::Result;

/// A layer that a checkpoint moves into the record file.
#[derive(Clone, Debug)]
pub(crate) struct FrozenLayer {
    /// The changes.
    pub(crate) layer: Arc<Layer>,
    /// The pass that is live when they are moved.
    pub(crate) pass: u64,
}

/// A read-only view of one commit. It is cheap to create and to share, and stays readable during
/// later commits and checkpoints.
pub(crate) struct Snapshot {
    base: Arc<Base>,
    frozen: Option<FrozenLayer>,
    active: Layer,
    /// Sequence number of the commit.
    pub(crate) sequence: u64,
}

impl Snapshot {
    /// The state of the record file alone.
    pub(crate) fn over(base: Arc<Base>, sequence: u64) -> Self {
        Self { base, frozen: None, active: Layer::default(), sequence }
    }

    /// A snapshot without rows, which keeps no page of the file in use. It is published while the
    /// file is compacted.
    pub(crate) fn empty(sequence: u64) -> Self {
        Self::over(Arc::new(Base::empty(sequence)), sequence)
    }

    /// This state with another active layer: that of the commit `sequence`.
    pub(crate) fn committed(&self, active: Layer, sequence: u64) -> Self {
        Self { base: self.base.clone(), frozen: self.frozen.clone(), active, sequence }
    }

    /// The same state with a frozen layer that is the active one, and an empty active layer. `pass`
    /// is the pass of the commits from now on. Only without a frozen layer.
    pub(crate) fn freeze(&self, pass: u64) -> Self {
        let layer = Arc::new(self.active.clone());
        let frozen = Some(FrozenLayer { layer, pass });
        Self { frozen, ..Self::over(self.base.clone(), self.sequence) }
    }

    /// The same state after the frozen layer was moved into the record file.
    pub(crate) fn moved(&self, base: Arc<Base>) -> Self {
        Self { base, frozen: None, active: self.active.clone(), sequence: self.sequence }
    }

    /// The same state over another view of the same record file.
    pub(crate) fn rebased(&self, base: Arc<Base>) -> Self {
        let Self { frozen, active, .. } = self;
        Self { base, frozen: frozen.clone(), active: active.clone(), sequence: self.sequence }
    }

    /// The same layers over a view without rows, which keeps no page of the file in use.
    pub(crate) fn without_base(&self) -> Self {
        self.rebased(Arc::new(Base::empty(self.base.sequence)))
    }

    /// The state of the record file.
    pub(crate) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    /// The layer that is being moved.
    pub(crate) fn frozen(&self) -> Option<&FrozenLayer> {
        self.frozen.as_ref()
    }

    /// The changes since the last checkpoint began.
    pub(crate) fn active(&self) -> &Layer {
        &self.active
    }

    /// Bytes of the changes that the record file lacks.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.active.bytes() + self.frozen.as_ref().map_or(0, |frozen| frozen.layer.bytes())
    }

    pub(super) fn stack(&self) -> Stack<'_> {
        self.stack_with(&self.active)
    }

    /// The same with another active layer.
    pub(super) fn stack_with<'a>(&'a self, active: &'a Layer) -> Stack<'a> {
        Stack {
            base: &self.base,
            frozen: self.frozen.as_ref().map(|frozen| &*frozen.layer),
            active,
        }
    }

    /// Opens every table and reads the list of runs.
    ///
    /// # Errors
    /// `Corrupt` if a table or the list is missing or damaged.
    pub(crate) fn open_all(&self) -> Result<()> {
        self.base.open_all()
    }

    /// Finds the first row of the index space that a scan returns and a lookup of its key does not
    /// find. Such a row means a damaged branch page.
    pub(crate) fn lost_index_row(&self) -> Result<Option<Vec<u8>>> {
        self.base.lost_index_row()
    }

    /// The sums of all collections; `None` if their row is missing or damaged.
    pub(crate) fn sums(&self) -> Result<Option<Sums>> {
        self.stack().sums()
    }

    /// The number of sorted runs.
    #[cfg(test)]
    pub(super) fn run_count(&self) -> usize {
        self.base.run_count()
    }

    pub(super) fn len(&self, space: Space) -> Result<u64> {
        self.stack().len(space)
    }
}

impl Replayed {
    /// The state of the record file `held` with the commits of the journal. If a checkpoint was
    /// under way, it still is: the older of two passes is a frozen layer. `pass` is the newest
    /// pass.
    pub(crate) fn over(self, held: &Snapshot, pass: u64) -> Snapshot {
        let mut passes = self.passes.into_iter().map(|changes| {
            let mut layer = Layer::default();
            changes.into_iter().for_each(|change| layer.apply(change));
            layer
        });
        let first = held.committed(passes.next().unwrap_or_default(), self.sequence);
        match passes.next() {
            Some(second) => first.freeze(pass).committed(second, self.sequence),
            None => first,
        }
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}
