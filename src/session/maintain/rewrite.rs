//! Rewriting the record file while the store is open, which returns its free pages to the disk.
//!
//! What must hold:
//! - Only the holder of the write turn rewrites, so nothing is written meanwhile.
//! - A snapshot reads the file that it was taken from, so the old file is closed only when no
//!   reader holds a snapshot. A caller that asks for a snapshot meanwhile waits, for a bounded
//!   time.
//! - The rewrite is not a commit: sequence, time and every row stay, and the layers above the
//!   record file do not notice it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::records::{RecordFile, Replacement, Snapshot};
use crate::session::access::sessions::{Access, Session};
use crate::session::engine::Engine;
use crate::session::lock::lock;
use crate::session::write::write_path::exclusive;
use crate::value::{Control, guarded, limits};

/// How long new readers wait at a time for the current readers to end.
const READERS_WAIT: Duration = Duration::from_millis(20);
/// How often that is tried. A reader may itself wait for a new snapshot of its own thread; it
/// cannot end while new readers wait.
const TRIES: u32 = 5;
/// How long new readers go on undisturbed between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Rewrites the record file when more than nine sixteenths of it are free; returns the bytes by
/// which it shrank.
///
/// Does nothing while a reader holds a snapshot, outside the size bounds, or when the disk has no
/// room for the new file. After a failure it does nothing until the store is reopened: otherwise
/// maintenance would copy the file again and again.
///
/// # Errors
/// Those of reading, writing and renaming record files. The old file then stays in use and the
/// store takes writes, unless it is unknown to which file the name leads after a power cut: then
/// the store is latched. The errors of `control`.
pub(crate) fn rewrite_record_file(session: &Session, control: &Control) -> Result<u64> {
    let engine = &session.context().engine;
    // Most maintenance passes find nothing to do, and do not take the turn.
    if !engine.may_rewrite() {
        return Ok(0);
    }
    let _turn = exclusive(session.context(), "a rewrite of the record file")?;
    engine.rewrite(control).inspect_err(|error| {
        if !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::DeadlineExceeded) {
            engine.has_rewrite_failed.store(true, Ordering::SeqCst);
        }
    })
}

impl Engine {
    /// Makes the record file and the files of the journal as small as they can be. `&mut self`: no
    /// other user of the engine exists.
    ///
    /// # Errors
    /// As [`RecordFile::pack`] and [`RecordFile::compact`]. The store is latched if it is unknown
    /// to which file the name of the record file leads after a power cut.
    pub(crate) fn compact(&mut self) -> Result<()> {
        let (sequence, reserve_bytes) = (self.sequence(), self.settings.reserve_bytes);
        let compacted = self.without_readers(|records| {
            let is_packed = records.pack(sequence, reserve_bytes)?;
            if is_packed { Ok(true) } else { records.compact() }
        });
        if let Err(error) = &compacted
            && self.records().check_writable().is_err()
        {
            self.set_latch(error);
        }
        compacted?;
        self.shrink_journal()
    }

    /// Whether a rewrite may be worthwhile and possible.
    fn may_rewrite(&self) -> bool {
        let used_bytes_max = self.settings.record_rewrite_bytes_max;
        if used_bytes_max == 0
            || self.has_rewrite_failed.load(Ordering::SeqCst)
            || self.has_readers(0)
        {
            return false;
        }
        let is_large = self.records().known_len() >= limits::RECORD_REWRITE_BYTES_MIN;
        is_large
            && (self.is_free_space_stale()
                || self.records().bytes_to_rewrite(used_bytes_max).is_some())
    }

    /// Whether any reader holds a snapshot, apart from the `own` snapshots of the caller.
    fn has_readers(&self, own: usize) -> bool {
        // One strong count is the published snapshot itself.
        lock(&self.live).iter().map(Weak::strong_count).sum::<usize>() > 1 + own
    }

    /// Only the holder of the write turn may call it.
    fn rewrite(&self, control: &Control) -> Result<u64> {
        self.check_place()?;
        self.checkpoint()?;
        let _moving = self.hold_record_file()?;
        let disk_free_bytes = self.disk_free_bytes()?.unwrap_or(u64::MAX);
        if self.is_free_space_stale() {
            self.count_free_pages_now(disk_free_bytes)
                .inspect_err(|error| self.set_latch(error))?;
        }
        let Some(used_bytes) =
            self.records().bytes_to_rewrite(self.settings.record_rewrite_bytes_max)
        else {
            return Ok(0);
        };
        // redb doubles a file that must grow and truncates it on close: the new file may need twice
        // its size.
        if disk_free_bytes
            < used_bytes.saturating_mul(2).saturating_add(self.settings.reserve_bytes)
        {
            return Ok(0);
        }
        let snapshot = self.snapshot();
        if self.has_readers(1) {
            return Ok(0);
        }
        let before = self.records().known_len();
        let fresh =
            guarded("rewriting the record file", || self.records().rewrite(&snapshot, control));
        // Discarded here too: a panic on a damaged page skips the cleanup in `RecordFile::rewrite`.
        let fresh = fresh.inspect_err(|_| self.records().discard_new())?;
        drop(snapshot);
        if self.replace_record_file(fresh)? {
            Ok(before.saturating_sub(self.records().known_len()))
        } else {
            Ok(0)
        }
    }

    /// Runs `f` at a moment without readers, while nobody gets a snapshot. Returns false if there
    /// was no such moment within the bound. Only the holder of the lock `moving` may call it.
    pub(super) fn at_a_moment_without_readers(
        &self,
        f: impl FnOnce(&mut Arc<Snapshot>) -> Result<()>,
    ) -> Result<bool> {
        for number in 0..TRIES {
            if number > 0 {
                std::thread::sleep(PAUSE);
            }
            // While this lock is held, nobody gets a snapshot.
            let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
            let until = Instant::now() + READERS_WAIT;
            while self.has_readers(0) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !self.has_readers(0) {
                return f(&mut published).map(|()| true);
            }
        }
        Ok(false)
    }

    /// Replaces the open record file with `fresh` at a moment without readers. Returns false if
    /// there was no such moment within the bound.
    fn replace_record_file(&self, fresh: RecordFile) -> Result<bool> {
        let mut fresh = Some(fresh);
        let replaced = self.at_a_moment_without_readers(|published| match fresh.take() {
            Some(fresh) => self.replace_unread(fresh, published),
            None => Ok(()),
        })?;
        if !replaced {
            drop(fresh);
            self.records().discard_new();
        }
        Ok(replaced)
    }

    /// As [`Self::replace_record_file`], when there is no reader and none can begin.
    fn replace_unread(&self, fresh: RecordFile, published: &mut Arc<Snapshot>) -> Result<()> {
        let sequence = self.sequence();
        // The rename would overwrite a file that somebody else put there.
        if let Err(error) = self.check_place() {
            drop(fresh);
            self.records().discard_new();
            return Err(error);
        }
        // `oldest_live_sequence` upgrades each weak reference for a moment, under this lock. While
        // it is locked here, no such reference to an old snapshot exists.
        let mut live = lock(&self.live);
        *published = Arc::new(Snapshot::empty(sequence));
        live.clear();
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = guarded("replacing the record file", || records.replace(fresh, sequence));
        let (snapshot, outcome) = match replaced {
            Ok(Replacement { snapshot, outcome }) => (Ok(snapshot), outcome),
            Err(error) => {
                records.discard_new();
                (records.snapshot(sequence), Err(error))
            }
        };
        match snapshot {
            Ok(snapshot) => {
                *published = Arc::new(snapshot);
                live.push_back(Arc::downgrade(published));
            }
            Err(error) => self.set_latch(&error),
        }
        if records.check_writable().is_err()
            && let Err(error) = &outcome
        {
            self.set_latch(error);
        }
        self.held_back.store(u64::MAX, Ordering::SeqCst);
        outcome
    }
}
