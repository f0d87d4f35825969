//! The locks, threads and clock that `turns` uses, in one place. `turns_tests` replaces this module
//! with one over a scheduler that explores interleavings.

pub(super) use std::sync::atomic::{AtomicBool, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
pub(super) use std::thread::{ThreadId, current};
pub(super) use std::time::Instant;

use std::sync::PoisonError;
use std::time::Duration;

/// Waits until `condvar` is notified, or for `left`.
pub(super) fn wait_at_most<'m, T>(
    condvar: &Condvar,
    _mutex: &'m Mutex<T>,
    guard: MutexGuard<'m, T>,
    left: Duration,
) -> MutexGuard<'m, T> {
    condvar.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0
}
