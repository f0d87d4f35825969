//! Makes the text index durable: periodically, and before the store closes.
//!
//! What must hold: the checkpoint row is written after the files that it names are synced.
//! Otherwise a power cut could leave a checkpoint that names missing files.

use std::time::{Duration, Instant};

use super::CHECKPOINT;
use super::state::SearchOutbox;
use crate::error::{ErrorKind, Result};
use crate::records::Space;
use crate::session::access::sessions::{Access, Session};
use crate::session::lock::lock;
use crate::text::Index;
use crate::value::limits::SEARCH_CHECKPOINT_CHANGES;
use crate::value::trace;

/// The longest time that changes of the index stay unsaved.
const CHECKPOINT_PERIOD: Duration = Duration::from_secs(60);

impl SearchOutbox {
    /// Brings the index up to date, commits it, and makes it durable if a checkpoint is due.
    ///
    /// # Errors
    /// The errors of any write. An error of the index itself only means that the next pass tries
    /// again.
    pub(crate) fn maintain(&self, session: &Session) -> Result<()> {
        if !self.is_behind(session)? {
            return Ok(());
        }
        let (index, _) = self.catch_up(session.context())?;
        {
            // Under the lock of feeding: a feeder commits its own changes when they are complete.
            let _feeding = lock(&self.feeding);
            index.commit()?;
        }
        let is_old = lock(&self.saved_at).is_none_or(|at| at.elapsed() >= CHECKPOINT_PERIOD);
        let is_much = index.unsaved_changes() >= SEARCH_CHECKPOINT_CHANGES;
        let passed = index.sequence().saturating_sub(self.position(session)?);
        let is_far = passed >= SEARCH_CHECKPOINT_CHANGES;
        if is_much || is_far || (is_old && index.unsaved_changes() > 0) {
            self.checkpoint(&index, session, is_far)?;
            *lock(&self.saved_at) = Some(Instant::now());
        }
        Ok(())
    }

    /// Whether there may be something to do. Does not open the index of a store that never logged a
    /// change.
    fn is_behind(&self, session: &Session) -> Result<bool> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(false);
        }
        let opened = self.open_index();
        session.read(|view| match opened {
            Some(index) => Ok(index.sequence() != view.context().engine.snapshot().sequence
                || index.unsaved_changes() > 0),
            None => {
                let recorded = Self::recorded(view)?;
                let fingerprint = self.shape().fingerprint();
                // The index of another build is not used any more, and must be built again.
                if recorded.as_ref().is_some_and(|checkpoint| checkpoint.fingerprint != fingerprint)
                {
                    return Ok(true);
                }
                let position = recorded.map_or(0, |checkpoint| checkpoint.sequence);
                let mut is_behind = position == 0 && view.log_tail()?.is_some();
                if position > 0 {
                    // The index is also behind if the log no longer reaches back to its position.
                    is_behind = view
                        .log_after(position, |_, _| {
                            is_behind = true;
                            Ok(false)
                        })
                        .is_err()
                        || is_behind;
                }
                Ok(is_behind)
            }
        })
    }

    /// The sequence up to which the text index is durable. The index does not need the log up to
    /// there.
    pub(crate) fn position(&self, session: &Session) -> Result<u64> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(session.context().engine.snapshot().sequence);
        }
        session.read(|view| Ok(Self::recorded(view)?.map_or(0, |checkpoint| checkpoint.sequence)))
    }

    /// Makes the contents of the index durable, before the store closes.
    pub(crate) fn save(&self, session: &Session) -> Result<()> {
        match self.open_index() {
            Some(index) if index.unsaved_changes() > 0 => self.checkpoint(&index, session, false),
            _ => Ok(()),
        }
    }

    fn checkpoint(&self, index: &Index, session: &Session, is_forced: bool) -> Result<()> {
        let _span = trace::span!("checkpoint", is_forced = is_forced);
        let checkpoint = {
            // Under the lock of feeding: changes that are half fed must not be saved, nor be
            // discarded while a feeder works. The lock is released before the write below: the
            // current holder of the write turn may be waiting for it.
            let _feeding = lock(&self.feeding);
            // An interrupted build starts again, so the next opening must not find it.
            if index.sequence() == 0 {
                return Ok(());
            }
            match index.checkpoint(is_forced) {
                Ok(Some(checkpoint)) => checkpoint,
                Ok(None) => return Ok(()),
                // After a failed sync, the contents of the disk are unknown, and a second sync
                // could succeed without writing them: start with an empty index.
                Err(error) if error.kind() == ErrorKind::Io => {
                    index.start_anew()?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        };
        let bytes = checkpoint.to_bytes()?;
        session.write(move |draft| {
            draft.put_raw(Space::Positions, CHECKPOINT.to_vec(), bytes);
            Ok(())
        })?;
        index.recorded(&checkpoint);
        Ok(())
    }
}
