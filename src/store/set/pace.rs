//! The pace at which a backup writes.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::value::Control;

/// How long it waits before it looks at the control again.
const STEP: Duration = Duration::from_millis(20);
/// What the limit allows in this time may be written at once, after as long without a write.
const BURST: Duration = Duration::from_secs(1);

/// Counts what is written, and waits so that it does not come faster than the limit.
pub(super) struct Pace<'c> {
    pub(super) control: &'c Control,
    bytes_per_second: Option<u64>,
    /// Until when what was written takes at the limit.
    due: Instant,
    /// Bytes written so far.
    pub(super) bytes: u64,
}

impl<'c> Pace<'c> {
    pub(super) fn new(bytes_per_second: Option<u64>, control: &'c Control) -> Self {
        Self { control, bytes_per_second, due: Instant::now(), bytes: 0 }
    }

    /// Counts bytes, and waits until the limit allows them.
    ///
    /// # Errors
    /// Those of the control.
    pub(super) fn wrote(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        self.control.report(self.bytes, None, "bytes");
        if let Some(limit) = self.bytes_per_second {
            let taken = Duration::from_secs_f64(bytes as f64 / limit.max(1) as f64);
            // A time without a write allows no more than a burst.
            let earliest = Instant::now().checked_sub(BURST).unwrap_or(self.due);
            let from = self.due.max(earliest);
            self.due = from.checked_add(taken).unwrap_or(from);
        }
        loop {
            self.control.check()?;
            let ahead = self.due.saturating_duration_since(Instant::now());
            if self.bytes_per_second.is_none() || ahead.is_zero() {
                return Ok(());
            }
            std::thread::sleep(ahead.min(STEP));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A backup that read for a long time does not write then as fast as it can.
    #[test]
    fn a_time_without_a_write_allows_one_burst() {
        let control = Control::default();
        let mut pace = Pace::new(Some(1_000_000), &control);
        // As if a minute had gone by since the last write.
        pace.due = Instant::now().checked_sub(Duration::from_secs(60)).unwrap_or(pace.due);
        let begun = Instant::now();
        pace.wrote(1_000_000).unwrap();
        assert!(begun.elapsed() < Duration::from_millis(300), "{:?}", begun.elapsed());
        pace.wrote(400_000).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(390), "{:?}", begun.elapsed());
    }
}
