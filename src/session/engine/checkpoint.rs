//! Commits through the journal, and checkpoints, which move them into the record file.
//!
//! What must hold:
//! - Only the holder of the write turn commits and freezes.
//! - The record file is written only under the lock `moving`: by a checkpoint, or by the holder of
//!   the turn when nothing is frozen and the active layer is empty.
//! - A snapshot shows a commit only after the sync of its record, and lacks a frozen layer only
//!   after the transaction that moved it.
//! - Each failure sets the latch. The layers stay in memory and in the journal.

use std::sync::{Arc, PoisonError};

use super::Engine;
use super::moving::Layers;
use super::sync::MutexGuard;
use crate::error::Result;
use crate::records::gate::Shut;
use crate::records::{Finished, RecordFile, Snapshot, Turn, TurnResult, WriteTransaction};
use crate::session::lock::lock;
use crate::value::{limits, trace};

/// Part of the bound from which on a group goes into the record file directly.
const DIRECT_PART: usize = 4;
/// A checkpoint may write this many times the bytes that it moves: each change of a few bytes
/// writes a page.
const PAGES_PART: u64 = 16;

impl Layers for Engine {
    fn sizes(&self) -> (usize, bool) {
        let snapshot = self.snapshot();
        (snapshot.active().bytes(), snapshot.frozen().is_some())
    }

    fn freeze(&self) -> Result<()> {
        let snapshot = self.snapshot();
        if snapshot.frozen().is_some() || snapshot.active().is_empty() {
            return Ok(());
        }
        drop(snapshot);
        let pass = self.begin_pass()?;
        self.publish_as(|held| held.freeze(pass), None);
        Ok(())
    }

    fn move_frozen(&self) -> Result<()> {
        let whole = self.snapshot();
        if whole.frozen().is_none() {
            return Ok(());
        }
        self.turns.latch.check()?;
        self.check_place()?;
        self.move_layer(whole, None)
    }
}

/// The right to write the record file: nothing else of this process writes it, and nobody looks.
#[derive(Debug)]
pub(in crate::session) struct Moving<'e> {
    _shut: Shut<'e>,
    _moving: MutexGuard<'e, ()>,
}

impl Engine {
    /// Waits until nothing else writes the record file and nobody looks.
    ///
    /// # Errors
    /// `Io`.
    pub(in crate::session) fn hold_record_file(&self) -> Result<Moving<'_>> {
        let moving = self.checkpoints.hold();
        Ok(Moving { _shut: self.gate.shut()?, _moving: moving })
    }

    /// As [`Self::hold_record_file`], without waiting.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn try_hold_record_file(&self) -> Result<Option<Moving<'_>>> {
        let Some(moving) = self.checkpoints.try_hold() else { return Ok(None) };
        Ok(self.gate.try_shut()?.map(|shut| Moving { _shut: shut, _moving: moving }))
    }

    /// Opens a turn over the last commit. Only the holder of the write turn may call it.
    pub(in crate::session) fn open_turn(&self) -> Turn {
        Turn::open(self.snapshot(), self.settings.memory_table_bytes / DIRECT_PART)
    }

    /// Makes the changes of a turn durable, then publishes them as the commit `sequence`. Only the
    /// holder of the write turn may call it. `disk_free_bytes` is what its plans read just before.
    ///
    /// # Errors
    /// After any failure or panic the store must latch: the commit may be on the disk although it
    /// was not published.
    pub(in crate::session) fn commit(
        &self,
        made: TurnResult,
        sequence: u64,
        disk_free_bytes: Option<u64>,
    ) -> Result<()> {
        let _span = trace::span!("commit", sequence = sequence);
        let body = made.body;
        let body = body.filter(|_| !self.is_space_short(made.active.bytes(), disk_free_bytes));
        let Some(body) = body else { return self.commit_directly(made.active, sequence) };
        lock(&self.journal).append(self.sequence(), sequence, &body)?;
        self.publish_as(|held| held.committed(made.active, sequence), Some(sequence));
        self.checkpoints.after_commit(self.settings.memory_table_bytes, self)
    }

    /// Whether the disk has so little space that the journal must not grow, and that what is in
    /// memory must not wait for a later checkpoint.
    fn is_space_short(&self, pending: usize, disk_free_bytes: Option<u64>) -> bool {
        let wanted = (2 * limits::BATCH_BYTES as u64)
            .saturating_add(self.settings.reserve_bytes)
            .saturating_add((pending as u64).saturating_mul(PAGES_PART));
        // An error of the disk is met by the write itself.
        let free = disk_free_bytes.or_else(|| self.disk_free_bytes().ok().flatten());
        free.is_some_and(|free| free < wanted)
    }

    /// Moves the whole active layer, with the changes of the commit `sequence`, into the record
    /// file.
    fn commit_directly(&self, active: crate::records::Layer, sequence: u64) -> Result<()> {
        self.move_layers()?;
        // The pass begins after the last commit, not after this one: if this one fails, the pass
        // continues the commit before it.
        let pass = self.begin_pass()?;
        let whole = self.snapshot().committed(active, sequence).freeze(pass);
        let _moving = self.checkpoints.hold();
        self.move_layer(Arc::new(whole), Some(sequence))
    }

    /// Moves the frozen layer into the record file. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// As [`RecordFile::move_layer`]; the latch is then set.
    pub(crate) fn move_layers(&self) -> Result<()> {
        self.latching("moving commits into records.redb", || self.checkpoints.move_frozen(self))
    }

    /// Moves the frozen layer of `whole` into the record file and publishes that. Only the holder
    /// of the lock `moving` may call it.
    fn move_layer(&self, whole: Arc<Snapshot>, sequence: Option<u64>) -> Result<()> {
        let Some(frozen) = whole.frozen() else { return Ok(()) };
        // First, because the file of the pass is free after the move.
        self.archive_moving();
        let _shut = self.gate.shut()?;
        let _span = trace::span!("move", bytes = frozen.layer.bytes());
        // Under the lock, so that nobody moves the layer once more.
        let moved = self.records().move_layer(whole.base(), frozen);
        moved.inspect_err(|error| self.set_latch(error))?;
        let at = whole.sequence;
        // The count below must not find this reader.
        drop(whole);
        self.publish_moved(at, sequence)
    }

    /// Publishes the record file, whose last commit is now `at`; `sequence` is that of a commit
    /// that went into it directly. Only the holder of the lock `moving` may call it.
    fn publish_moved(&self, at: u64, sequence: Option<u64>) -> Result<()> {
        let base = self.records().base(at)?;
        self.publish_as(
            |held| match sequence {
                Some(sequence) => Snapshot::over(base, sequence),
                None => held.moved(base),
            },
            sequence,
        );
        self.checkpoints.moved();
        // Readers of the new snapshot no longer need the pages that the transaction freed, so this
        // is the time to count them. A failure here does not undo anything: it only sets the latch.
        if let Err(error) = self.count_free_pages_alone() {
            self.set_latch(&error);
        }
        Ok(())
    }

    /// Begins a write of the record file. Only the holder of the write turn may call it, while no
    /// layer is frozen.
    ///
    /// # Errors
    /// As [`RecordFile::begin`].
    pub(in crate::session) fn begin(&self) -> Result<WriteTransaction> {
        self.records().begin()
    }

    /// Begins a pass of the journal, whose first commit is after the last one, and returns its
    /// number. Only the holder of the write turn may call it, while no layer is frozen.
    ///
    /// # Errors
    /// `Io`, `NoSpace`; the store must then latch.
    pub(in crate::session) fn begin_pass(&self) -> Result<u64> {
        lock(&self.journal).begin_pass(self.sequence())
    }

    /// Makes a write of the record file durable, which has all commits and a new one, then
    /// publishes it as the commit `sequence`. Only the holder of the write turn may call it, while
    /// no layer is frozen.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub(in crate::session) fn commit_file(
        &self,
        written: WriteTransaction,
        finished: Finished,
        sequence: u64,
    ) -> Result<()> {
        let _span = trace::span!("commit", sequence = sequence);
        let _moving = self.hold_record_file()?;
        self.archive_moving();
        written.commit(finished).inspect_err(|error| self.set_latch(error))?;
        self.publish_moved(sequence, Some(sequence))
    }

    /// Moves every commit into the record file. Only the holder of the write turn may call it.
    ///
    /// # Errors
    /// As [`Self::move_layers`].
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.move_layers()?;
        self.begin_checkpoint()?;
        self.move_layers()
    }

    /// Freezes the active layer if no layer is frozen. [`Self::move_layers`] then moves it, for
    /// which nobody needs the write turn. Only the holder of the turn may call this.
    ///
    /// # Errors
    /// `Io`, `NoSpace`; the latch is then set.
    pub(in crate::session) fn begin_checkpoint(&self) -> Result<()> {
        self.latching("beginning a checkpoint", || self.freeze())
    }

    /// Goes on with the checkpoint that was under way when the store was last open.
    ///
    /// # Errors
    /// As [`Self::move_layers`].
    pub(crate) fn resume_checkpoint(&self) -> Result<()> {
        let is_moving = self.snapshot().frozen().is_some();
        if is_moving && !self.checkpoints.ask() { self.move_layers() } else { Ok(()) }
    }

    /// Moves every commit into the record file and gives the space of the journal back to the
    /// disk, when nobody else uses the store. After a failed write nothing is moved: the next open
    /// replays the journal.
    ///
    /// # Errors
    /// As [`Self::move_layers`]; `Latched` after a failed write; `Io`.
    pub(crate) fn close_journal(&self) -> Result<()> {
        // First, because it takes no lock.
        self.check_process()?;
        let snapshot = self.snapshot();
        if snapshot.pending_bytes() > 0 || snapshot.frozen().is_some() {
            drop(snapshot);
            self.turns.latch.check()?;
            self.check_place()?;
            self.checkpoint()?;
        } else if self.turns.latch.check().is_err() {
            // Nothing has to be moved, and the journal may have a commit whose outcome is unknown.
            return Ok(());
        }
        self.shrink_journal()
    }

    /// Gives the space of the journal that no record needs back to the disk. Only while the record
    /// file has every commit, and when nobody else uses the store.
    ///
    /// # Errors
    /// `Io`; `Latched` if the files of the store were moved or replaced.
    pub(in crate::session) fn shrink_journal(&self) -> Result<()> {
        self.check_place()?;
        // A looker reads the journal by its length.
        let _moving = self.hold_record_file()?;
        lock(&self.journal).shrink()
    }

    /// The damage of those records of the journal that the record file lacks: the file, and what is
    /// wrong. Writers wait meanwhile.
    pub(crate) fn check_journal(&self) -> Vec<(&'static str, String)> {
        let journal = lock(&self.journal);
        journal.check(self.snapshot().frozen().is_some())
    }

    /// Runs `f` on the record file while nothing else writes it, and publishes its new state. Only
    /// the holder of the write turn may call it.
    ///
    /// # Errors
    /// Those of `f` and of [`Self::checkpoint`]; the latch is then set.
    pub(in crate::session) fn write_file(
        &self,
        f: impl FnOnce(&RecordFile) -> Result<bool>,
    ) -> Result<bool> {
        self.checkpoint()?;
        let _moving = self.hold_record_file()?;
        self.latching("writing records.redb", || {
            let records = self.records();
            let is_written = f(&records)?;
            if is_written {
                let base = records.base(self.sequence())?;
                self.publish_as(|held| held.moved(base), None);
                self.count_free_pages_alone()?;
            }
            Ok(is_written)
        })
    }

    /// Publishes what `f` makes of the published snapshot; `sequence` is that of a new commit.
    ///
    /// The new snapshot is made under the lock: a commit and a checkpoint that end at the same time
    /// must not undo each other.
    pub(super) fn publish_as(&self, f: impl FnOnce(&Snapshot) -> Snapshot, sequence: Option<u64>) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        let snapshot = Arc::new(f(&published));
        {
            let mut live = lock(&self.live);
            live.retain(|snapshot| snapshot.strong_count() > 0);
            live.push_back(Arc::downgrade(&snapshot));
        }
        if let Some(sequence) = sequence {
            self.set_sequence(sequence);
        }
        let old = std::mem::replace(&mut *published, snapshot);
        drop(published);
        // A large layer takes a while to free.
        drop(old);
        if let Some(sequence) = sequence {
            *lock(&self.commits.0) = sequence;
            self.commits.1.notify_all();
        }
    }
}
