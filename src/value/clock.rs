//! The store's one clock.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Utc};

/// The source of the store's time.
///
/// Stored timestamps never go backwards, whatever the clock returns.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The current time; the store truncates it to milliseconds.
    fn now(&self) -> DateTime<Utc>;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}

/// A clock that stands still until it is set: for tests, and for replaying recorded measurements.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock set to `start`.
    #[must_use]
    pub fn new(start: DateTime<Utc>) -> Self {
        Self(AtomicI64::new(start.timestamp_millis()))
    }

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, now: DateTime<Utc>) {
        self.0.store(now.timestamp_millis(), Ordering::SeqCst);
    }

    /// Moves the clock by `milliseconds`, which may be negative.
    pub fn advance_ms(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        super::time::from_millis(self.0.load(Ordering::SeqCst))
    }
}
