//! Faults, and the choice of operations that they strike.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::Hold;

/// Kinds of operations, for the choice of where a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OpKind {
    /// Opening a file that exists.
    Open,
    /// Creating a file.
    Create,
    /// Creating directories.
    CreateDir,
    /// Listing a directory, or checking whether a name exists.
    List,
    /// Reading the length of an open file.
    Len,
    /// Reading the free space.
    FreeSpace,
    /// Reading file data.
    Read,
    /// Writing file data.
    Write,
    /// Truncating or growing a file.
    SetLen,
    /// Syncing a file.
    Sync,
    /// Syncing a directory.
    SyncDir,
    /// Renaming.
    Rename,
    /// Removing a file or directory tree.
    Remove,
    /// Taking a lock.
    Lock,
}

impl OpKind {
    /// Whether the operation can change what a power cut leaves.
    #[must_use]
    pub fn is_change(self) -> bool {
        !matches!(
            self,
            Self::Open | Self::List | Self::Len | Self::FreeSpace | Self::Read | Self::Lock
        )
    }
}

/// The effect of a fault. A fault strikes only operations to which it can apply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The operation fails and does nothing (`EIO`).
    Io,
    /// A write, growth, creation, rename or sync fails for lack of space and does nothing
    /// (`ENOSPC`).
    NoSpace,
    /// A write fails for lack of space after a part of the data was written.
    PartialWrite,
    /// A read fails after a part of the data was read.
    ShortRead,
    /// The operation fails with `Interrupted` (`EINTR`) and does nothing.
    Interrupted,
    /// One bit of the data read is wrong; the operation reports success.
    FlipBit,
    /// A sync fails, and the data that it should have written is never written: the kernel marks
    /// the pages as clean.
    DropDirty,
    /// A sync reports success and does nothing: for tests that remove a barrier.
    IgnoreSync,
    /// A write lands on another sector of the file; the operation reports success.
    Misdirect,
    /// The operation takes this long, and then does what it should.
    Delay(Duration),
    /// The operation begins, waits until the hold is released, and then does what it should.
    Hold(Hold),
}

impl Fault {
    fn strikes(&self, kind: OpKind) -> bool {
        match self {
            Self::Io | Self::Interrupted | Self::Delay(_) | Self::Hold(_) => true,
            Self::NoSpace => matches!(
                kind,
                OpKind::Write
                    | OpKind::SetLen
                    | OpKind::Create
                    | OpKind::CreateDir
                    | OpKind::Rename
                    | OpKind::Sync
                    | OpKind::SyncDir
            ),
            Self::PartialWrite | Self::Misdirect => kind == OpKind::Write,
            Self::ShortRead | Self::FlipBit => kind == OpKind::Read,
            Self::DropDirty => kind == OpKind::Sync,
            Self::IgnoreSync => matches!(kind, OpKind::Sync | OpKind::SyncDir),
        }
    }
}

/// The operations that a fault strikes; all by default.
///
/// ```
/// use stationdb::faults::{Fault, OpKind, Pick, SimDisk};
///
/// let disk = SimDisk::new(1);
/// // The third sync of any file whose path contains "records", and no other.
/// disk.inject(Pick::kind(OpKind::Sync).on_path("records").nth(3).once(), Fault::Io);
/// ```
#[derive(Clone, Debug)]
pub struct Pick {
    kind: Option<OpKind>,
    path: Option<String>,
    ops: RangeInclusive<u64>,
    skip: u64,
    once: bool,
}

impl Pick {
    /// Every operation.
    #[must_use]
    pub fn any() -> Self {
        Self { kind: None, path: None, ops: 0..=u64::MAX, skip: 0, once: false }
    }

    /// Every operation of one kind.
    #[must_use]
    pub fn kind(kind: OpKind) -> Self {
        Self { kind: Some(kind), ..Self::any() }
    }

    /// Only the operation with this number, counted from 0 as in
    /// [`SimDisk::ops`](super::SimDisk::ops).
    #[must_use]
    pub fn op(op: u64) -> Self {
        Self { ops: op..=op, ..Self::any() }
    }

    /// The operation with this number and all after it.
    #[must_use]
    pub fn from_op(op: u64) -> Self {
        Self { ops: op..=u64::MAX, ..Self::any() }
    }

    /// Restricts the choice to operations on paths that contain this text.
    #[must_use]
    pub fn on_path(mut self, text: &str) -> Self {
        self.path = Some(text.to_owned());
        self
    }

    /// Starts with the n-th match, counted from 1.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.skip = n.saturating_sub(1);
        self
    }

    /// Restricts the choice to one match.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }
}

/// The active faults.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<(Pick, Fault)>);

impl Rules {
    pub(super) fn add(&mut self, pick: Pick, fault: Fault) {
        self.0.push((pick, fault));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The fault that strikes this operation, if any; removes a rule that strikes once.
    pub(super) fn strike(&mut self, op: u64, kind: OpKind, path: &str) -> Option<Fault> {
        let at = self.0.iter_mut().position(|(pick, fault)| {
            let hit = pick.ops.contains(&op)
                && fault.strikes(kind)
                && pick.kind.is_none_or(|wanted| wanted == kind)
                && pick.path.as_deref().is_none_or(|text| path.contains(text));
            if hit && pick.skip > 0 {
                pick.skip -= 1;
                return false;
            }
            hit
        })?;
        if self.0.get(at).is_some_and(|(pick, _)| pick.once) {
            return Some(self.0.remove(at).1);
        }
        self.0.get(at).map(|(_, fault)| fault.clone())
    }
}

/// The error of a fault. It names the operation, so that a test can recognise it.
pub(super) fn error(kind: io::ErrorKind, op: u64, what: OpKind, path: &str) -> io::Error {
    io::Error::new(kind, format!("simulated fault at operation {op}: {what:?} {path:?}"))
}
