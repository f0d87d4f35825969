//! Deadline, cancellation and progress of long work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};

/// The progress of a long operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Units done.
    pub done: u64,
    /// Total number of units, if known.
    pub total: Option<u64>,
    /// What is counted: `bytes`, `rows`, `files`.
    pub unit: &'static str,
}

type Callback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Deadline, cancel flag and progress callback of one long operation.
///
/// Cheap to clone; clones share the cancel flag.
///
/// ```
/// use stationdb::Control;
///
/// let control = Control::default();
/// control.cancel();
/// assert!(control.check().is_err());
/// ```
#[derive(Clone, Default)]
pub struct Control {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
    /// The cancel flag of the operation that this one is a part of.
    outer: Option<Arc<AtomicBool>>,
    progress: Option<Callback>,
}

impl Control {
    /// Fails the work with [`ErrorKind::DeadlineExceeded`] once `deadline` has passed.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Calls `callback` from time to time, on the thread that does the work.
    #[must_use]
    pub fn with_progress(mut self, callback: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }

    /// A copy with the same deadline and cancel flag but without the callback, for one part of an
    /// operation that reports progress as a whole.
    #[must_use]
    pub fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// Makes this the control of a part of the work that `outer` controls: cancelling either stops
    /// the part. Its own deadline, if it has one, replaces that of `outer`.
    #[must_use]
    pub(crate) fn within(&self, outer: &Self) -> Self {
        let deadline = self.deadline.or(outer.deadline);
        Self { deadline, outer: Some(outer.cancelled.clone()), ..self.clone() }
    }

    /// Asks the work to stop; it fails with [`ErrorKind::Cancelled`] at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
            || self.outer.as_ref().is_some_and(|outer| outer.load(Ordering::Relaxed))
    }

    /// The time after which the work fails.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Fails when the work should stop. Long work calls it once for each block of work.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(
                ErrorKind::Cancelled,
                "the operation was cancelled by its caller",
            ));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Error::new(
                ErrorKind::DeadlineExceeded,
                "the operation took longer than its deadline allows",
            )),
            _ => Ok(()),
        }
    }

    /// Reports progress to the callback, if there is one.
    pub fn report(&self, done: u64, total: Option<u64>, unit: &'static str) {
        if let Some(callback) = &self.progress {
            callback(Progress { done, total, unit });
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("deadline", &self.deadline)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
