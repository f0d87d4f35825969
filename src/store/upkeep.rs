//! What an open store keeps about itself, and the part of maintenance that keeps it.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};

use super::maintenance_report::MaintenanceStatus;
use super::scrubbing::Scrubber;
use super::status::kept::Keeper;
use crate::disk::SharedDisk;
use crate::error::Result;
use crate::session::{Engine, lock};
use crate::value::Control;

/// For how long a store is open before it keeps anything, by its clock: a command of a shell is not
/// the life of a station.
const SETTLED_MS: i64 = 60_000;
/// The file is written at most this often for progress alone.
const SAVE_PERIOD: Duration = Duration::from_secs(60);

/// What an open store keeps about itself.
#[derive(Debug)]
pub(super) struct Upkeep {
    pub(super) keeper: Keeper,
    pub(super) scrubber: Scrubber,
    saved_at: Mutex<Option<Instant>>,
    /// What the maintenance thread has done.
    pub(super) maintenance: Mutex<MaintenanceStatus>,
    /// Held by the one repair that is under way.
    repairing: Mutex<()>,
}

impl Upkeep {
    pub(super) fn open(disk: &SharedDisk, keeps_nothing: bool, now: DateTime<Utc>) -> Self {
        Self {
            keeper: Keeper::open(disk, keeps_nothing, now),
            scrubber: Scrubber::default(),
            saved_at: Mutex::new(None),
            maintenance: Mutex::default(),
            repairing: Mutex::new(()),
        }
    }

    /// Lets one repair at a time begin; `None` while another one is under way.
    pub(super) fn try_repair(&self) -> Option<MutexGuard<'_, ()>> {
        match self.repairing.try_lock() {
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(left)) => Some(left.into_inner()),
            Ok(alone) => Some(alone),
        }
    }

    /// The step of a pass of maintenance: takes the sample of the day, continues the scrub, and
    /// writes what is to be kept.
    ///
    /// # Errors
    /// Those of the disk and of `control`.
    pub(super) fn maintain(&self, engine: &Arc<Engine>, control: &Control) -> Result<()> {
        let now = engine.clock_now();
        self.keeper.take_note(now);
        let open_ms = (now - self.keeper.opened_at).num_milliseconds();
        if open_ms < SETTLED_MS && self.keeper.kept().since.is_none() {
            return Ok(());
        }
        self.keeper.begin(now);
        let free = engine.disk_free_bytes()?;
        let is_new = free.is_some_and(|free| self.keeper.sample(now, free));
        let has_ended = self.scrubber.step(engine, &self.keeper, control);
        if is_new || matches!(has_ended, Ok(true)) || self.is_save_due() {
            self.keeper.save()?;
        }
        has_ended.map(drop)
    }

    fn is_save_due(&self) -> bool {
        let mut saved_at = lock(&self.saved_at);
        let is_due = saved_at.is_none_or(|at| at.elapsed() >= SAVE_PERIOD);
        if is_due {
            *saved_at = Some(Instant::now());
        }
        is_due
    }
}
