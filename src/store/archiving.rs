//! The bound of the archive of commits of an open store, and what it has.

use super::archive::{ArchiveStatus, CommitRange, open};
use super::open::Store;
use crate::error::Result;
use crate::session::guarded;

impl Store {
    /// Sets the most bytes of the archive of commits, as the option
    /// [`archive_bytes`](crate::StoreOptions::archive_bytes) does; 0 turns it off and removes it.
    ///
    /// # Errors
    /// `Unsupported` for a store that was opened by [`Store::look`]; `Latched` after a failed
    /// write; `Locked` in a forked process; `Io`, `NoSpace`.
    pub fn set_archive_bytes(&self, bytes: u64) -> Result<()> {
        let engine = self.engine();
        engine.check_writable()?;
        guarded("setting up the archive of commits", || {
            engine.without_checkpoints(|| open(engine, Some(bytes)))
        })
    }

    /// What the archive of commits has; `None` while it is off.
    #[must_use]
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        let state = self.engine().archive_state();
        let spans = &state.spans;
        let gaps = spans.iter().zip(spans.iter().skip(1));
        let gaps = gaps.filter(|(one, next)| one.last.saturating_add(1) < next.first);
        (state.bound > 0).then(|| ArchiveStatus {
            bytes_max: state.bound,
            bytes: state.file_bytes,
            held_bytes: state.held_bytes,
            first: spans.first().map(|span| span.first),
            last: spans.last().map(|span| span.last),
            gaps: gaps
                .map(|(one, next)| CommitRange { first: one.last + 1, last: next.first - 1 })
                .collect(),
            problem: state.problem.clone(),
        })
    }
}
