//! What an open store knows about its archive of commits.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use crate::disk::SharedDisk;
use crate::error::Result;
use crate::records::archive::Span;

/// Where the bound is kept. What the store module writes there.
pub(crate) const SETTINGS: &str = "archive/SETTINGS";
/// How the bound is written: the bound, and the commit up to which nothing is archived.
pub(crate) type Keep = fn(&SharedDisk, u64, u64) -> Result<()>;

/// The archive of an open store.
#[derive(Debug, Default)]
pub(crate) struct Archive(pub(super) Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// The most bytes of the files, and of the files of the store whose removal waits; 0 while the
    /// archive is off.
    pub(super) bound: u64,
    pub(super) keep: Option<Keep>,
    /// The fingerprint of the stored form.
    pub(super) form: u64,
    /// The files, the oldest first, with their lengths.
    pub(super) files: VecDeque<(Span, u64)>,
    /// The last commit that is archived, or given up.
    pub(super) end: u64,
    /// The files of the store that no record names any more: a commit that does not name them, and
    /// their lengths.
    pub(super) forgotten: HashMap<Vec<u8>, (u64, u64)>,
    /// The last failure.
    pub(super) problem: Option<String>,
}

impl State {
    /// Files that no commit after this one names may be removed.
    pub(super) fn hold(&self) -> u64 {
        let first = self.files.front().map(|(span, _)| span.first.saturating_sub(1));
        first.unwrap_or(self.end).min(self.end)
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes).sum()
    }

    pub(super) fn held_bytes(&self) -> u64 {
        let hold = self.hold();
        self.forgotten.values().filter(|(at, _)| *at > hold).map(|(_, bytes)| bytes).sum()
    }
}

/// What the archive of a store has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveState {
    /// The bound; 0 while the archive is off.
    pub(crate) bound: u64,
    /// The files, the oldest first.
    pub(crate) spans: Vec<Span>,
    /// Bytes of the files.
    pub(crate) file_bytes: u64,
    /// Bytes of files of the store whose removal waits.
    pub(crate) held_bytes: u64,
    /// The last failure.
    pub(crate) problem: Option<String>,
}

/// What is kept of an archive in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) bound: u64,
    /// Commits up to this one are not archived.
    pub(crate) after: u64,
    /// The fingerprint of the stored form.
    pub(crate) form: u64,
}
