//! Makes the text index durable from time to time, and before the store closes.
//!
//! What must hold: the checkpoint row is written after the files that it names are synced.

use std::time::{Duration, Instant};

use super::CHECKPOINT;
use super::state::SearchOutbox;
use crate::error::{ErrorKind, Result};
use crate::records::Space;
use crate::session::access::{Access, Session};
use crate::session::lock::lock;
use crate::text::Index;
use crate::value::limits::SEARCH_CHECKPOINT_CHANGES;

/// How long work on the index may go unsaved.
const CHECKPOINT_PERIOD: Duration = Duration::from_secs(60);

impl SearchOutbox {
    /// Catches up, commits, and makes the index durable when that is due.
    ///
    /// # Errors
    /// As any write; an error of the index itself only means that it is tried again.
    pub(crate) fn maintain(&self, session: &Session) -> Result<()> {
        if !self.is_behind(session)? {
            return Ok(());
        }
        let (index, _) = self.catch_up(session.context())?;
        {
            // What is being fed is committed by whoever feeds, when it is complete.
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

    /// Whether there may be something to do. A store that never logged anything does not even open
    /// the index.
    fn is_behind(&self, session: &Session) -> Result<bool> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(false);
        }
        let opened = self.open_index();
        session.read(|view| match opened {
            Some(index) => {
                Ok(index.sequence() != view.context().engine.snapshot().sequence || index.unsaved_changes() > 0)
            }
            None => {
                let recorded = Self::recorded(view)?;
                let fingerprint = self.shape().fingerprint();
                // Another build wrote the index, and it is not used any more: it is built anew.
                if recorded.as_ref().is_some_and(|checkpoint| checkpoint.fingerprint != fingerprint) {
                    return Ok(true);
                }
                let position = recorded.map_or(0, |checkpoint| checkpoint.sequence);
                let mut is_behind = position == 0 && view.log_tail()?.is_some();
                if position > 0 {
                    // A log that no longer reaches back is behind as well.
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

    /// Up to where the text index is durable: the log behind it is not needed for the index.
    pub(crate) fn position(&self, session: &Session) -> Result<u64> {
        if cfg!(not(feature = "search")) || self.searchable().next().is_none() {
            return Ok(session.context().engine.snapshot().sequence);
        }
        session.read(|view| Ok(Self::recorded(view)?.map_or(0, |checkpoint| checkpoint.sequence)))
    }

    /// Makes durable what the index holds, before the store closes.
    pub(crate) fn save(&self, session: &Session) -> Result<()> {
        match self.open_index() {
            Some(index) if index.unsaved_changes() > 0 => self.checkpoint(&index, session, false),
            _ => Ok(()),
        }
    }

    fn checkpoint(&self, index: &Index, session: &Session, is_forced: bool) -> Result<()> {
        let checkpoint = {
            // Half of what is fed must not be saved, and not be given up under whoever feeds. It is
            // let go before the write, since whoever has the turn may wait for it.
            let _feeding = lock(&self.feeding);
            // A building that was cut short is begun again, and must not be found by the next open.
            if index.sequence() == 0 {
                return Ok(());
            }
            match index.checkpoint(is_forced) {
                Ok(Some(checkpoint)) => checkpoint,
                Ok(None) => return Ok(()),
                // After a failed sync nobody knows what is on the disk, and a second sync would not
                // tell.
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
