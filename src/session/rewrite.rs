//! Rewriting the record file while the store is open, so that its free pages go back to the disk.
//!
//! What must hold: the holder of the write turn does it, so nobody writes; a snapshot that somebody
//! holds reads the old file, so that one is closed only when nobody holds any; whoever asks for a
//! snapshot meanwhile waits, for a bounded time. The rewrite is no commit: sequence, time and every
//! row stay, and nothing above the record file is told.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::access::{Access, Session};
use super::engine::Engine;
use super::lock::lock;
use super::write_path::exclusive;
use crate::error::{ErrorKind, Result};
use crate::records::{RecordFile, Replaced, Snapshot};
use crate::value::{Control, guarded, limits};

/// How long readers that begin are kept waiting at a time, for those that are there to end.
const READERS_WAIT: Duration = Duration::from_millis(20);
/// How often that is tried. A reader may be one that waits for another of its own, and then never
/// ends meanwhile.
const TRIES: u32 = 5;
/// How long to leave the readers alone between two tries.
const PAUSE: Duration = Duration::from_millis(20);

/// Rewrites the record file when more than nine sixteenths of it are free; returns the bytes by which it became
/// smaller.
///
/// Nothing is done while somebody reads, beyond the bounds, or when the disk has no room for the
/// new file. After a failure it is left alone until the store is opened again, since maintenance
/// would copy the file again and again.
///
/// # Errors
/// Those of reading, writing and renaming record files. The old file is in use then, and the store
/// takes writes; or it is latched, when it is not known which file the name leads to after a power
/// cut. What `control` says.
pub(crate) fn rewrite_record_file(session: &Session, control: &Control) -> Result<u64> {
    let engine = &session.context().engine;
    // Most passes find nothing to do, and take no turn.
    if !engine.may_rewrite() {
        return Ok(0);
    }
    exclusive(session.context(), || {
        engine.rewrite(control).inspect_err(|error| {
            if !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::DeadlineExceeded) {
                engine.has_rewrite_failed.store(true, Ordering::SeqCst);
            }
        })
    })
}

impl Engine {
    /// Whether a rewrite may be worthwhile and possible.
    fn may_rewrite(&self) -> bool {
        let used_bytes_max = self.settings.record_rewrite_bytes_max;
        if used_bytes_max == 0 || self.has_rewrite_failed.load(Ordering::SeqCst) || self.has_readers(0) {
            return false;
        }
        let is_large = self.records().known_len() >= limits::RECORD_REWRITE_BYTES_MIN;
        is_large && (self.is_free_space_stale() || self.records().bytes_to_rewrite(used_bytes_max).is_some())
    }

    /// Whether anybody holds a snapshot, beside the caller who holds `own` of them.
    fn has_readers(&self, own: usize) -> bool {
        // One is the published snapshot itself.
        lock(&self.live).iter().map(Weak::strong_count).sum::<usize>() > 1 + own
    }

    /// Only the holder of the write turn may.
    fn rewrite(&self, control: &Control) -> Result<u64> {
        self.check_place()?;
        let disk_free_bytes = self.disk_free_bytes()?.unwrap_or(u64::MAX);
        if self.is_free_space_stale() {
            self.count_free_pages_now(disk_free_bytes).inspect_err(|error| self.set_latch(error))?;
        }
        let Some(used_bytes) = self.records().bytes_to_rewrite(self.settings.record_rewrite_bytes_max) else {
            return Ok(0);
        };
        // redb doubles a file that has to grow, and cuts it off when it is closed.
        if disk_free_bytes < used_bytes.saturating_mul(2).saturating_add(self.settings.reserve_bytes) {
            return Ok(0);
        }
        let snapshot = self.snapshot();
        if self.has_readers(1) {
            return Ok(0);
        }
        let before = self.records().known_len();
        let fresh = guarded("rewriting the record file", || self.records().rewrite(&snapshot, control));
        // Again, since a panic on a damaged page passes by whoever writes the file.
        let fresh = fresh.inspect_err(|_| self.records().discard_new())?;
        drop(snapshot);
        match self.replace_record_file(fresh)? {
            true => Ok(before.saturating_sub(self.records().known_len())),
            false => Ok(0),
        }
    }

    /// Puts a fresh record file into the place of the open one, as soon as nobody reads; whether
    /// there was such a moment.
    fn replace_record_file(&self, fresh: RecordFile) -> Result<bool> {
        let mut fresh = Some(fresh);
        for number in 0..TRIES {
            if number > 0 {
                std::thread::sleep(PAUSE);
            }
            // From here on nobody gets a snapshot.
            let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
            let until = Instant::now() + READERS_WAIT;
            while self.has_readers(0) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            if self.has_readers(0) {
                continue;
            }
            let Some(fresh) = fresh.take() else { break };
            return self.replace_unread(fresh, &mut published).map(|()| true);
        }
        drop(fresh);
        self.records().discard_new();
        Ok(false)
    }

    /// As [`Self::replace_record_file`], while nobody reads and nobody can begin to.
    fn replace_unread(&self, fresh: RecordFile, published: &mut Arc<Snapshot>) -> Result<()> {
        let sequence = self.sequence();
        // The rename would replace what somebody else has put there.
        if let Err(error) = self.check_place() {
            drop(fresh);
            self.records().discard_new();
            return Err(error);
        }
        // Whoever looks for the oldest snapshot takes hold of each for a moment, under this lock.
        let mut live = lock(&self.live);
        *published = Arc::new(Snapshot::empty(sequence));
        live.clear();
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = guarded("replacing the record file", || records.replace(fresh, sequence));
        let (snapshot, outcome) = match replaced {
            Ok(Replaced { snapshot, outcome }) => (Ok(snapshot), outcome),
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
