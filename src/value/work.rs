//! The work that testing one record may take: counted in steps, with a look at the deadline every so many of them.

use std::cell::{Cell, RefCell};

use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

/// Steps between two looks at the deadline: a fraction of a millisecond of optimised evaluation.
const STEPS_BETWEEN_LOOKS: u64 = 16 * 1024;

/// Counts the steps of testing one record against one filter.
///
/// Evaluation answers true or false and cannot fail, so a meter that stops keeps the reason: from then on
/// [`Work::spend`] answers false, every loop ends at its next step, and what was computed means nothing.
/// Whoever made the meter must ask [`Work::finish`] before the answer is used.
pub struct Work<'c> {
    /// Steps that may be taken before the next look.
    until_look: Cell<u64>,
    /// Steps that will have been taken at the next look.
    at_look: Cell<u64>,
    limit: u64,
    check: &'c dyn Fn() -> Result<()>,
    stopped: RefCell<Option<Error>>,
}

impl<'c> Work<'c> {
    /// A meter for one record, which stops beyond [`limits::FILTER_WORK`] steps and when `check` fails.
    #[must_use]
    pub fn new(check: &'c dyn Fn() -> Result<()>) -> Self {
        Self::with_limit(limits::FILTER_WORK, check)
    }

    /// A meter with another bound.
    #[must_use]
    pub fn with_limit(limit: u64, check: &'c dyn Fn() -> Result<()>) -> Self {
        let first = limit.min(STEPS_BETWEEN_LOOKS);
        Self { until_look: Cell::new(first), at_look: Cell::new(first), limit, check, stopped: RefCell::new(None) }
    }

    /// Counts `steps`; false when the evaluation has to end.
    #[inline]
    pub fn spend(&self, steps: u64) -> bool {
        match self.until_look.get().checked_sub(steps) {
            Some(left) => {
                self.until_look.set(left);
                true
            }
            None => self.look(steps),
        }
    }

    /// Counts a look through a text of `len` bytes: for a part, for its end, or for how it compares. One that is short
    /// costs no more than the condition that asks for it.
    #[inline]
    pub fn scan(&self, len: usize) -> bool {
        const BYTES: usize = 64;
        self.spend((len / BYTES) as u64)
    }

    /// Counts making another text of `len` bytes out of one, or reading it as something else.
    #[inline]
    pub fn convert(&self, len: usize) -> bool {
        const BYTES: usize = 8;
        self.spend((len / BYTES) as u64)
    }

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
                "testing one record took more than the {} steps that FILTER_WORK allows; ask for less of each record, \
                 or for shorter texts and lists",
                self.limit
            ),
        )
    }

    /// The steps that were counted.
    #[cfg(test)]
    pub fn spent(&self) -> u64 {
        self.at_look.get() - self.until_look.get()
    }

    /// Ends the count.
    ///
    /// # Errors
    /// `LimitExceeded` beyond the bound; what the check failed with.
    pub fn finish(self) -> Result<()> {
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
