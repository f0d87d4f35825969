//! When a checkpoint begins, who makes it, and how long writers wait for it.
//!
//! What must hold:
//! - A layer is frozen only while there is no frozen one, so that the journal's other file is free.
//! - The record file is written only under the lock `moving`.
//! - A writer waits for a checkpoint at most [`LONGEST_WAIT`], unless memory would grow beyond its
//!   bound several times.
//!
//! `turns_tests` explores interleavings of this file with commits and readers.

use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

use super::sync::{Condvar, Instant, Mutex, MutexGuard, wait_at_most};
use crate::error::Result;

/// The most that a group waits for a checkpoint that is behind.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// The active layer may grow to this many times the bound while a checkpoint is under way.
const OVERFLOW: usize = 4;

/// The layers of the memory table, and the files that they go to.
pub(super) trait Layers {
    /// Bytes of the active layer, and whether a layer is frozen.
    fn sizes(&self) -> (usize, bool);

    /// Freezes the active layer if it has changes and no layer is frozen. Only the holder of the
    /// write turn may call it.
    fn freeze(&self) -> Result<()>;

    /// Moves the frozen layer into the record file and publishes that. Only the holder of the lock
    /// `moving` may call it. A failure sets the latch before it returns.
    fn move_frozen(&self) -> Result<()>;
}

/// What writers and the checkpoint thread tell each other.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    state: Mutex<MoverState>,
    changed: Condvar,
    /// Held while the record file is written.
    moving: Mutex<()>,
}

#[derive(Debug, Default)]
struct MoverState {
    has_thread: bool,
    is_stopped: bool,
    is_wanted: bool,
}

/// Data stays valid when a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Checkpoints {
    /// Waits until a checkpoint is wanted. Returns false when the thread has to end.
    fn wait(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.is_wanted && !state.is_stopped {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_wanted = false;
        !state.is_stopped
    }

    /// Asks the thread for a checkpoint; returns false if there is no thread.
    pub(super) fn ask(&self) -> bool {
        let mut state = lock(&self.state);
        state.is_wanted |= state.has_thread;
        self.changed.notify_all();
        state.has_thread
    }

    /// Wakes the writers that wait for a checkpoint.
    pub(super) fn moved(&self) {
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
    pub(super) fn try_hold(&self) -> Option<MutexGuard<'_, ()>> {
        match self.moving.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(held)) => Some(held.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Takes the lock `moving`.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.moving)
    }

    /// Announces the thread, before it starts.
    pub(crate) fn begin(&self) {
        *lock(&self.state) = MoverState { has_thread: true, ..MoverState::default() };
    }

    /// Ends the thread. The caller joins it.
    pub(crate) fn stop(&self) {
        let mut state = lock(&self.state);
        state.is_stopped = true;
        state.has_thread = false;
        self.changed.notify_all();
    }

    /// Moves the frozen layer. Waits for a move that is under way.
    pub(super) fn move_frozen(&self, layers: &impl Layers) -> Result<()> {
        let _moving = self.hold();
        layers.move_frozen()
    }

    /// Begins a checkpoint when the active layer has reached its bound, and makes the writer wait
    /// when checkpoints are behind. Called after each commit, by the holder of the write turn.
    pub(super) fn after_commit(&self, bound: usize, layers: &impl Layers) -> Result<()> {
        let (active, is_moving) = layers.sizes();
        if !is_moving && active >= bound {
            layers.freeze()?;
            if !self.ask() {
                return self.move_frozen(layers);
            }
        } else if is_moving && active >= bound.saturating_mul(OVERFLOW) {
            return self.move_frozen(layers);
        } else if is_moving && active > bound / 2 {
            let behind = (active - bound / 2).min(bound.max(1));
            let part = behind as f64 / bound.max(1) as f64;
            self.wait_for_move(layers, LONGEST_WAIT.mul_f64(part));
        }
        Ok(())
    }

    /// Waits until no layer is frozen, or for `most`.
    fn wait_for_move(&self, layers: &impl Layers, most: Duration) {
        let until = Instant::now() + most;
        let mut state = lock(&self.state);
        while layers.sizes().1 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = wait_at_most(&self.changed, &self.state, state, left);
        }
    }
}
