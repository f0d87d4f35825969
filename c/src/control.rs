//! Controls of long calls: a deadline, a cancellation and progress, which callers poll.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use stationdb::{Control, Error, Progress};

use crate::failure::Outcome;

/// A control, and how far the call is that reported last.
pub struct Watch {
    pub control: Control,
    reported: Arc<Reported>,
}

struct Reported {
    done: AtomicI64,
    /// -1 when it is unknown.
    total: AtomicI64,
    unit: AtomicI32,
}

/// What is counted, as a number that never changes.
fn unit(name: &str) -> i32 {
    match name {
        "bytes" => 1,
        "rows" => 2,
        "files" => 3,
        _ => 4,
    }
}

fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Reported {
    fn note(&self, progress: Progress) {
        self.total.store(progress.total.map_or(-1, count), Ordering::Relaxed);
        self.unit.store(unit(progress.unit), Ordering::Relaxed);
        self.done.store(count(progress.done), Ordering::Relaxed);
    }
}

impl Watch {
    /// A control whose deadline is in `timeout`, if there is one.
    pub fn new(timeout: Option<Duration>) -> Self {
        let reported = Arc::new(Reported {
            done: AtomicI64::new(0),
            total: AtomicI64::new(-1),
            unit: AtomicI32::new(0),
        });
        let noted = reported.clone();
        let control = Control::default().with_progress(move |progress| noted.note(progress));
        Self { control: until(control, timeout), reported }
    }
}

impl Watch {
    /// What is done, its total or -1, and the unit.
    pub fn progress(&self) -> (i64, i64, i32) {
        let Reported { done, total, unit } = &*self.reported;
        let (total, unit) = (total.load(Ordering::Relaxed), unit.load(Ordering::Relaxed));
        (done.load(Ordering::Relaxed), total, unit)
    }
}

/// With a deadline in `timeout`, unless it is beyond what a clock can say.
pub fn until(control: Control, timeout: Option<Duration>) -> Control {
    match timeout.and_then(|timeout| Instant::now().checked_add(timeout)) {
        Some(deadline) => control.with_deadline(deadline),
        None => control,
    }
}

/// A control that ends with `whole` and reports to it, and can be cancelled alone.
pub fn part_of(whole: Option<&Watch>) -> Control {
    whole.map(|watch| watch.control.part()).unwrap_or_default()
}

/// Milliseconds of a caller; -1 for none.
pub fn timeout(what: &str, milliseconds: i64) -> Outcome<Option<Duration>> {
    match u64::try_from(milliseconds) {
        Ok(milliseconds) => Ok(Some(Duration::from_millis(milliseconds))),
        Err(_) if milliseconds == -1 => Ok(None),
        Err(_) => Err(Error::invalid(format!(
            "{what} is {milliseconds} ms; give a number that is not negative, or -1 for none"
        ))
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;

    #[test]
    fn a_part_ends_with_the_whole_and_not_the_other_way() {
        let watch = Watch::new(None);
        let part = part_of(Some(&watch));
        part.report(5, Some(7), "rows");
        assert_eq!(watch.progress(), (5, 7, 2));
        part.cancel();
        assert!(part.check().is_err() && watch.control.check().is_ok());
        let part = part_of(Some(&watch));
        assert!(part.check().is_ok());
        watch.control.cancel();
        // What waits for its turn to write looks at nothing else.
        assert!(part.is_cancelled());
        assert_eq!(part.check().unwrap_err().kind(), ErrorKind::Cancelled);
        let late = part_of(Some(&Watch::new(Some(Duration::ZERO))));
        assert_eq!(late.check().unwrap_err().kind(), ErrorKind::DeadlineExceeded);
    }

    #[test]
    fn timeouts_are_milliseconds_or_none() {
        assert_eq!(timeout("t", -1).unwrap(), None);
        assert_eq!(timeout("t", 1_500).unwrap(), Some(Duration::from_millis(1_500)));
        assert!(timeout("t", -2).is_err());
        assert!(until(Control::default(), Some(Duration::MAX)).deadline().is_none());
    }
}
