//! The record file: all access to redb. It is the source of truth of the store; every other file is
//! named in it.
//!
//! Keys and values are bytes here. What must hold: a change set is applied as a whole in one redb
//! transaction; applying it twice has the same result as once; and every value of
//! [`Space::Records`] is in a checksummed envelope whose checksum covers its key. Which keys exist
//! and what they mean is defined by the modules above. `docs/format.md` describes the bytes.
//!
//! `journal` has the newest commits, `memory` their changes until a checkpoint moves them into
//! `file`, `runs` the index entries of the file, `row_cache` the records that were read by key, and
//! `salvage` what can be taken from a damaged one. What readers see of all of it is a [`Snapshot`],
//! writers a [`Turn`].

pub(crate) mod archive;
mod base;
mod change;
mod cursor;
pub(crate) mod envelope;
mod error;
pub(crate) mod file;
pub(crate) mod gate;
mod journal;
pub(crate) mod keys;
#[cfg(test)]
mod layout_samples;
mod memory;
pub(crate) mod pass;
mod read_ahead;
mod row_cache;
mod runs;
pub(crate) mod salvage;
mod snapshot;
mod space;
mod stack;
mod sums;
mod turn;

pub(crate) use base::Base;
pub(crate) use change::Change;
pub(crate) use cursor::Cursor;
pub(crate) use file::file_turn::{FileTurn, PausedTurn};
pub(crate) use file::names::check_names;
pub(crate) use file::recent_log::BYTES as RECENT_LOG_BYTES;
pub(crate) use file::record_file::{RecordFile, RecordFileOptions};
pub(crate) use file::rewrite::Replacement;
pub(crate) use file::transaction::{Finished, WriteTransaction};
#[cfg(test)]
pub(crate) use journal::JOURNAL_MAGIC;
pub(crate) use journal::{
    Journal, LostCommits, NAMES as JOURNAL_NAMES, PassPart, copy as copy_journal, rescue,
};
#[cfg(test)]
pub(crate) use layout_samples::layout_samples;
pub(crate) use memory::entries::Entries;
pub(crate) use memory::layer::Layer;
pub(crate) use snapshot::{FrozenLayer, Snapshot};
pub(crate) use space::Space;
pub(crate) use sums::{Collection, KEY as SUMS_KEY, Sum, Sums};
pub(crate) use turn::{Turn, TurnResult};

use crate::error::Result;
use crate::value::key;

/// A state that can be read by key and by range: a snapshot, or a turn with its own writes.
#[derive(Clone, Copy)]
pub(crate) enum ReadSource<'a> {
    /// The state of one commit.
    Snapshot(&'a Snapshot),
    /// The state of the last commit plus what the turn applied.
    Turn(&'a Turn),
    /// The state of the record file plus what an open write of it has.
    File(&'a FileTurn<'a>),
}

/// What is called with the value of a key.
pub(crate) type Found<'f> = dyn FnMut(&[u8]) + 'f;

impl<'a> ReadSource<'a> {
    /// The sequence number of the commit whose state this is; `None` for one with other writes.
    pub(crate) fn sequence(self) -> Option<u64> {
        match self {
            Self::Snapshot(snapshot) => Some(snapshot.sequence),
            Self::Turn(_) | Self::File(_) => None,
        }
    }

    /// The value of a key.
    pub(crate) fn get(self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(space, key, <[u8]>::to_vec)
    }

    /// Calls `f` with the value of a key, without copying the value, and returns its result.
    pub(crate) fn read<T>(
        self,
        space: Space,
        key: &[u8],
        mut f: impl FnMut(&[u8]) -> T,
    ) -> Result<Option<T>> {
        let mut made = None;
        self.read_value(space, key, &mut |value| made = Some(f(value)))?;
        Ok(made)
    }

    /// As [`Self::read`], compiled once for all callers.
    fn read_value(self, space: Space, key: &[u8], f: &mut Found<'_>) -> Result<bool> {
        match self {
            Self::Snapshot(snapshot) => snapshot.stack().read(space, key, f),
            Self::Turn(turn) => turn.stack().read(space, key, f),
            Self::File(turn) => turn.read(space, key, f),
        }
    }

    /// A cursor over the keys from `from` (included) to `to` (excluded; `None` means the end of the
    /// space).
    pub(crate) fn cursor(self, space: Space, from: &[u8], to: Option<&[u8]>) -> Result<Cursor<'a>> {
        match self {
            Self::Snapshot(snapshot) => snapshot.stack().cursor(space, from, to),
            Self::Turn(turn) => turn.stack().cursor(space, from, to),
            Self::File(turn) => turn.cursor(space, from, to),
        }
    }

    /// A cursor over the keys that start with `prefix`.
    pub(crate) fn with_prefix(self, space: Space, prefix: &[u8]) -> Result<Cursor<'a>> {
        self.cursor(space, prefix, key::after_prefix(prefix).as_deref())
    }

    /// The number of keys of the index space from `from` (included) to `to` (excluded), mostly
    /// without reading them. A result of at most `most` is exact; a larger one may be too large.
    pub(crate) fn count_entries(self, from: &[u8], to: &[u8], most: u64) -> Result<u64> {
        match self {
            Self::Snapshot(snapshot) => snapshot.stack().count_entries(from, to, most),
            Self::Turn(turn) => turn.stack().count_entries(from, to, most),
            Self::File(turn) => turn.count_entries(from, to, most),
        }
    }

    /// The number of entries of a space.
    pub(crate) fn len(self, space: Space) -> Result<u64> {
        match self {
            Self::Snapshot(snapshot) => snapshot.stack().len(space),
            Self::Turn(turn) => turn.stack().len(space),
            Self::File(turn) => turn.len(space),
        }
    }
}
