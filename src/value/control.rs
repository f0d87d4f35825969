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
type Poll = Arc<dyn Fn() -> bool + Send + Sync>;

/// Deadline, cancel flag, poll and progress callback of one long operation.
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
    /// The cancel flags of the operations that this one is a part of.
    outer: Vec<Arc<AtomicBool>>,
    progress: Option<Callback>,
    poll: Option<Poll>,
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

    /// Asks `poll` at each check, on the thread that does the work: the work ends with
    /// [`ErrorKind::Cancelled`] when it returns true. The cancel flag stays as it is.
    ///
    /// This is for hosts that can look for an interruption only on the thread of the call, as
    /// Python looks for Ctrl-C on its main thread. A check may be made every few microseconds, so
    /// `poll` keeps its own pace, and it does not call the store. A call that waits for its turn to
    /// write asks the cancel flag alone.
    ///
    /// ```
    /// use stationdb::{Control, ErrorKind};
    ///
    /// let control = Control::default().with_poll(|| true);
    /// assert_eq!(control.check().unwrap_err().kind(), ErrorKind::Cancelled);
    /// assert!(!control.is_cancelled());
    /// ```
    #[must_use]
    pub fn with_poll(mut self, poll: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.poll = Some(Arc::new(poll));
        self
    }

    /// A copy with the same deadline, cancel flag and poll but without the callback, for one part
    /// of an operation that reports progress as a whole.
    #[must_use]
    pub fn without_progress(&self) -> Self {
        Self { progress: None, ..self.clone() }
    }

    /// The control of one part of the work: it has the same deadline, poll and callback, and
    /// cancelling this control stops the part too. Cancelling the part stops the part alone.
    ///
    /// ```
    /// use stationdb::Control;
    ///
    /// let whole = Control::default();
    /// let (first, second) = (whole.part(), whole.part());
    /// first.cancel();
    /// assert!(first.is_cancelled() && !second.is_cancelled() && !whole.is_cancelled());
    /// whole.cancel();
    /// assert!(second.is_cancelled());
    /// ```
    #[must_use]
    pub fn part(&self) -> Self {
        Self { progress: self.progress.clone(), ..Self::default().within(self) }
    }

    /// Makes this the control of a part of the work that `outer` controls: cancelling either stops
    /// the part. Its own deadline and poll, if it has them, replace those of `outer`.
    #[must_use]
    pub(crate) fn within(&self, outer: &Self) -> Self {
        let deadline = self.deadline.or(outer.deadline);
        let poll = self.poll.clone().or_else(|| outer.poll.clone());
        // Either may be a part already.
        let flags = self.outer.iter().chain(&outer.outer).chain([&outer.cancelled]);
        let outer = flags.cloned().collect();
        Self { deadline, outer, poll, ..self.clone() }
    }

    /// Asks the work to stop; it fails with [`ErrorKind::Cancelled`] at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        let is_set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        is_set(&self.cancelled) || self.outer.iter().any(is_set)
    }

    /// The time after which the work fails.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Fails when the work should stop. Long work calls it once for each block of work.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() || self.poll.as_ref().is_some_and(|poll| poll()) {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize};

    use super::*;

    #[test]
    fn a_poll_ends_the_check_that_asks_it_and_no_other() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        // The second answer is yes.
        let outer =
            Control::default().with_poll(move || counted.fetch_add(1, Ordering::Relaxed) == 1);
        let part = Control::default().within(&outer);
        assert!(part.check().is_ok());
        assert_eq!(part.check().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(part.check().is_ok() && !part.is_cancelled() && !outer.is_cancelled());
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        // Its own poll replaces that of the whole; a cancelled control asks none.
        let own = Control::default().with_poll(|| true).within(&outer);
        assert!(own.check().is_err());
        outer.cancel();
        assert!(part.check().is_err() && own.without_progress().check().is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_part_ends_with_every_whole_around_it() {
        let (call, session, server) = (Control::default(), Control::default(), Control::default());
        let session = session.within(&server);
        for whole in [&call, &session, &server] {
            let part = call.part().within(&session);
            let narrower = part.part();
            narrower.cancel();
            assert!(narrower.is_cancelled() && !part.is_cancelled() && !call.is_cancelled());
            let narrower = part.part();
            assert!(narrower.check().is_ok());
            whole.cancel();
            assert!(narrower.check().is_err() && part.check().is_err());
            whole.cancelled.store(false, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_part_has_the_deadline_and_the_callback_of_the_whole() {
        let done = Arc::new(AtomicU64::new(0));
        let noted = done.clone();
        let whole = Control::default()
            .with_deadline(Instant::now())
            .with_progress(move |progress| noted.store(progress.done, Ordering::Relaxed));
        let part = whole.part();
        part.report(7, None, "rows");
        assert_eq!(done.load(Ordering::Relaxed), 7);
        assert_eq!(part.check().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    }
}
