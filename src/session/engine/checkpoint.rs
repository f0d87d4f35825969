//! Commits through the journal, and checkpoints, which move them into the record file.
//!
//! What must hold:
//! - Only the holder of the write turn commits and freezes. A layer is frozen only while there is
//!   no frozen one, so that the journal's other file is free.
//! - The record file is written only under the lock `moving`: by a checkpoint, or by the holder of
//!   the turn when nothing is frozen and the active layer is empty.
//! - A snapshot shows a commit only after the sync of its record, and lacks a frozen layer only
//!   after the transaction that moved it.
//! - Each failure sets the latch. The layers stay in memory and in the journal.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::Engine;
use crate::error::Result;
use crate::records::gate::Shut;
use crate::records::{Made, RecordFile, Snapshot, Turn};
use crate::session::lock::lock;
use crate::value::{guarded, limits, trace};

/// The most that a group waits for a checkpoint that is behind.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// Part of the bound from which on a group goes into the record file directly.
const DIRECT_PART: usize = 4;
/// The active layer may grow to this many times the bound while a checkpoint is under way.
const OVERFLOW: usize = 4;
/// A checkpoint may write this many times the bytes that it moves: each change of a few bytes
/// writes a page.
const PAGES_PART: u64 = 16;

/// What writers and the checkpoint thread tell each other.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    state: Mutex<State>,
    changed: Condvar,
    /// Held while the record file is written.
    moving: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    has_thread: bool,
    is_stopped: bool,
    is_wanted: bool,
}

impl Checkpoints {
    /// Waits until a checkpoint is wanted. Returns false when the thread has to end.
    fn wait(&self) -> bool {
        let state = lock(&self.state);
        let mut state = self
            .changed
            .wait_while(state, |state| !state.is_wanted && !state.is_stopped)
            .unwrap_or_else(PoisonError::into_inner);
        state.is_wanted = false;
        !state.is_stopped
    }

    /// Asks the thread for a checkpoint; returns false if there is no thread.
    fn ask(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_wanted |= state.has_thread;
        self.changed.notify_all();
        state.has_thread
    }

    /// Wakes the writers that wait for a checkpoint.
    fn moved(&self) {
        // Under the lock, so that no writer misses it between its look and its wait.
        let _state = lock(&self.state);
        self.changed.notify_all();
    }

    /// Runs the work of the thread until [`Self::stop`]. `work` returns whether to go on.
    pub(crate) fn run(&self, mut work: impl FnMut() -> bool) {
        while self.wait() && work() {}
        lock(&self.state).has_thread = false;
    }

    /// Takes the lock `moving`, if nobody writes the record file.
    fn try_hold(&self) -> Option<MutexGuard<'_, ()>> {
        match self.moving.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes the lock `moving`.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.moving)
    }

    /// Announces the thread, before it starts.
    pub(crate) fn begin(&self) {
        *lock(&self.state) = State { has_thread: true, ..State::default() };
    }

    /// Ends the thread. The caller joins it.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        state.is_stopped = true;
        state.has_thread = false;
        self.changed.notify_all();
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
        let moving = lock(&self.checkpoints.moving);
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
    /// holder of the write turn may call it.
    ///
    /// # Errors
    /// Any failure sets the latch: the commit may be on the disk although it was not published.
    pub(in crate::session) fn commit(&self, made: Made, sequence: u64) -> Result<()> {
        let _span = trace::span!("commit", sequence = sequence);
        let committed = guarded("committing", || {
            let body = made.body.filter(|_| !self.is_space_short(made.active.bytes()));
            let Some(body) = body else { return self.commit_directly(made.active, sequence) };
            lock(&self.journal).append(self.sequence(), sequence, &body)?;
            self.publish_as(|held| held.committed(made.active, sequence), Some(sequence));
            self.checkpoint_when_due()
        });
        committed.inspect_err(|error| self.set_latch(error))
    }

    /// Whether the disk has so little space that the journal must not grow, and that what is in
    /// memory must not wait for a later checkpoint.
    fn is_space_short(&self, pending: usize) -> bool {
        let wanted = (2 * limits::BATCH_BYTES as u64)
            .saturating_add(self.settings.reserve_bytes)
            .saturating_add((pending as u64).saturating_mul(PAGES_PART));
        // An error of the disk is met by the write itself.
        matches!(self.disk_free_bytes(), Ok(Some(free)) if free < wanted)
    }

    /// Moves the whole active layer, with the changes of the commit `sequence`, into the record
    /// file.
    fn commit_directly(&self, active: crate::records::Layer, sequence: u64) -> Result<()> {
        self.move_frozen()?;
        // The pass begins after the last commit, not after this one: if this one fails, the pass
        // continues the commit before it.
        let pass = lock(&self.journal).begin_pass(self.sequence())?;
        let whole = self.snapshot().committed(active, sequence).freeze(pass);
        let _moving = self.hold_record_file()?;
        self.move_layer(Arc::new(whole), Some(sequence))
    }

    /// Begins a checkpoint when the active layer has reached its bound, and makes the writer wait
    /// when checkpoints are behind.
    fn checkpoint_when_due(&self) -> Result<()> {
        let bound = self.settings.memory_table_bytes;
        let snapshot = self.snapshot();
        let (active, is_moving) = (snapshot.active().bytes(), snapshot.frozen().is_some());
        drop(snapshot);
        if !is_moving && active >= bound {
            self.freeze()?;
            if !self.checkpoints.ask() {
                return self.move_frozen();
            }
        } else if is_moving && active >= bound.saturating_mul(OVERFLOW) {
            return self.move_frozen();
        } else if is_moving && active > bound / 2 {
            let behind = (active - bound / 2).min(bound.max(1));
            let part = behind as f64 / bound.max(1) as f64;
            self.wait_for_checkpoint(LONGEST_WAIT.mul_f64(part));
        }
        Ok(())
    }

    /// Waits until no layer is frozen, or for `most`.
    fn wait_for_checkpoint(&self, most: Duration) {
        let state = lock(&self.checkpoints.state);
        let _ = self
            .checkpoints
            .changed
            .wait_timeout_while(state, most, |_| self.snapshot().frozen().is_some());
    }

    /// Freezes the active layer. Only the holder of the write turn may call it.
    fn freeze(&self) -> Result<()> {
        let snapshot = self.snapshot();
        if snapshot.frozen().is_some() || snapshot.active().is_empty() {
            return Ok(());
        }
        drop(snapshot);
        let pass = lock(&self.journal).begin_pass(self.sequence())?;
        self.publish_as(|held| held.freeze(pass), None);
        Ok(())
    }

    /// Moves the frozen layer into the record file. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// As [`RecordFile::move_layer`]; the latch is then set.
    pub(crate) fn move_frozen(&self) -> Result<()> {
        let moved = guarded("moving commits into records.redb", || {
            let _moving = self.hold_record_file()?;
            let whole = self.snapshot();
            if whole.frozen().is_none() {
                return Ok(());
            }
            self.write_queue.turns.latch.check()?;
            self.check_place()?;
            self.move_layer(whole, None)
        });
        moved.inspect_err(|error| self.set_latch(error))
    }

    /// Moves the frozen layer of `whole` into the record file and publishes that. Only the holder
    /// of the lock `moving` may call it.
    fn move_layer(&self, whole: Arc<Snapshot>, sequence: Option<u64>) -> Result<()> {
        let Some(frozen) = whole.frozen() else { return Ok(()) };
        let _span = trace::span!("move", bytes = frozen.layer.bytes());
        let records = self.records();
        records.move_layer(whole.base(), frozen)?;
        let base = records.base(whole.sequence)?;
        drop(records);
        // The count below must not find this reader.
        drop(whole);
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

    /// Moves every commit into the record file. Only the holder of the write turn may call it.
    ///
    /// # Errors
    /// As [`Self::move_frozen`].
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.move_frozen()?;
        self.begin_checkpoint()?;
        self.move_frozen()
    }

    /// Freezes the active layer if no layer is frozen. [`Self::move_frozen`] then moves it, for
    /// which nobody needs the write turn. Only the holder of the turn may call this.
    ///
    /// # Errors
    /// `Io`, `NoSpace`; the latch is then set.
    pub(in crate::session) fn begin_checkpoint(&self) -> Result<()> {
        guarded("beginning a checkpoint", || self.freeze())
            .inspect_err(|error| self.set_latch(error))
    }

    /// Goes on with the checkpoint that was under way when the store was last open.
    ///
    /// # Errors
    /// As [`Self::move_frozen`].
    pub(crate) fn resume_checkpoint(&self) -> Result<()> {
        let is_moving = self.snapshot().frozen().is_some();
        if is_moving && !self.checkpoints.ask() { self.move_frozen() } else { Ok(()) }
    }

    /// Moves every commit into the record file, when nobody else uses the store. After a failed
    /// write nothing is moved: the next open replays the journal.
    ///
    /// # Errors
    /// As [`Self::move_frozen`]; `Latched` after a failed write.
    pub(crate) fn close_journal(&self) -> Result<()> {
        // First, because it takes no lock.
        self.check_process()?;
        if self.snapshot().pending_bytes() == 0 && self.snapshot().frozen().is_none() {
            return Ok(());
        }
        self.write_queue.turns.latch.check()?;
        self.check_place()?;
        self.checkpoint()
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
        let written = guarded("writing records.redb", || {
            let records = self.records();
            let is_written = f(&records)?;
            if is_written {
                let base = records.base(self.sequence())?;
                self.publish_as(|held| held.moved(base), None);
                self.count_free_pages_alone()?;
            }
            Ok(is_written)
        });
        written.inspect_err(|error| self.set_latch(error))
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
