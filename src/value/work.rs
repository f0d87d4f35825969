//! Limits the work of testing one record: counts steps, and checks deadline and cancellation every
//! so many steps.

use std::cell::{Cell, RefCell};

use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

/// Steps between two checks of the deadline: a fraction of a millisecond of optimised evaluation.
const STEPS_BETWEEN_LOOKS: u64 = 16 * 1024;

/// Counts the steps of testing one record against one filter.
///
/// Evaluation returns true or false and cannot fail, so a meter that stops keeps the error. From
/// then on [`Work::spend`] returns false, every loop ends at its next step, and the computed result
/// is meaningless. The creator of the meter must call [`Work::finish`] before it uses the result.
pub(crate) struct Work<'c> {
    /// Steps left until the next check.
    until_look: Cell<u64>,
    /// Total steps at the next check.
    at_look: Cell<u64>,
    limit: u64,
    check: &'c dyn Fn() -> Result<()>,
    stopped: RefCell<Option<Error>>,
}

impl<'c> Work<'c> {
    /// A meter for one record. It stops beyond [`limits::FILTER_WORK`] steps, or when `check`
    /// fails.
    #[must_use]
    pub(crate) fn new(check: &'c dyn Fn() -> Result<()>) -> Self {
        Self::with_limit(limits::FILTER_WORK, check)
    }

    /// A meter with another bound of steps.
    #[must_use]
    pub(crate) fn with_limit(limit: u64, check: &'c dyn Fn() -> Result<()>) -> Self {
        let first = limit.min(STEPS_BETWEEN_LOOKS);
        Self {
            until_look: Cell::new(first),
            at_look: Cell::new(first),
            limit,
            check,
            stopped: RefCell::new(None),
        }
    }

    /// Counts `steps`; returns false when the evaluation must end.
    #[inline]
    pub(crate) fn spend(&self, steps: u64) -> bool {
        match self.until_look.get().checked_sub(steps) {
            Some(left) => {
                self.until_look.set(left);
                true
            }
            None => self.look(steps),
        }
    }

    /// Counts one pass over a text of `len` bytes: a search, or a comparison. A short text costs
    /// nothing beyond the step of its condition.
    #[inline]
    pub(crate) fn scan(&self, len: usize) -> bool {
        const BYTES: usize = 64;
        self.spend((len / BYTES) as u64)
    }

    /// Counts the conversion of a text of `len` bytes to another text or to another type.
    #[inline]
    pub(crate) fn convert(&self, len: usize) -> bool {
        const BYTES: usize = 8;
        self.spend((len / BYTES) as u64)
    }

    /// Checks limit, deadline and cancellation; `steps` are those that exceed the steps left.
    #[cold]
    fn look(&self, steps: u64) -> bool {
        let mut stopped = self.stopped.borrow_mut();
        if stopped.is_some() {
            return false;
        }
        let spent = (self.at_look.get() - self.until_look.get()).saturating_add(steps);
        let checked = if spent > self.limit { Err(self.beyond()) } else { (self.check)() };
        match checked {
            Ok(()) => {
                let next = (self.limit - spent).min(STEPS_BETWEEN_LOOKS);
                self.at_look.set(spent + next);
                self.until_look.set(next);
                true
            }
            Err(error) => {
                self.until_look.set(0);
                *stopped = Some(error);
                false
            }
        }
    }

    fn beyond(&self) -> Error {
        Error::new(
            ErrorKind::LimitExceeded,
            format!(
                "testing one record took more than the {} steps that FILTER_WORK allows; use fewer \
                 conditions, or shorter texts and lists",
                self.limit
            ),
        )
    }

    /// The steps counted so far.
    #[cfg(test)]
    pub(crate) fn spent(&self) -> u64 {
        self.at_look.get() - self.until_look.get()
    }

    /// Ends the count and returns the error that stopped it.
    ///
    /// # Errors
    /// `LimitExceeded` beyond the bound; otherwise the error that `check` returned.
    pub(crate) fn finish(self) -> Result<()> {
        self.stopped.into_inner().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::limits::holds_at;

    #[test]
    fn the_bound_holds_however_the_steps_come() {
        for step in [1, 7, 1000, 100_000] {
            holds_at(300_000u64, ErrorKind::LimitExceeded, |total| {
                let work = Work::with_limit(300_000, &|| Ok(()));
                let mut left = total as u64;
                while left > 0 {
                    work.spend(step.min(left));
                    left -= step.min(left);
                }
                work.finish()
            });
        }
        holds_at(limits::FILTER_WORK, ErrorKind::LimitExceeded, |total| {
            let work = Work::new(&|| Ok(()));
            work.spend(total as u64);
            work.finish()
        });
    }

    #[test]
    fn the_check_is_asked_every_so_many_steps_and_ends_it() {
        let asked = Cell::new(0);
        let check = || {
            asked.set(asked.get() + 1);
            if asked.get() == 3 { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) }
        };
        let work = Work::new(&check);
        let mut taken = 0u64;
        while work.spend(1) {
            taken += 1;
        }
        assert_eq!((asked.get(), taken), (3, 3 * STEPS_BETWEEN_LOOKS + 2));
        assert!(!work.spend(1) && asked.get() == 3, "a meter that stopped asks nobody");
        assert_eq!(work.finish().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
