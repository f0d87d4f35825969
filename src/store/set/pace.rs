//! The pace at which a backup writes.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::value::Control;

/// How long it waits before it looks at the control again.
const STEP: Duration = Duration::from_millis(20);

/// Counts what is written, and waits so that it does not come faster than the limit.
pub(super) struct Pace<'c> {
    pub(super) control: &'c Control,
    bytes_per_second: Option<u64>,
    begun: Instant,
    /// Bytes written so far.
    pub(super) bytes: u64,
}

impl<'c> Pace<'c> {
    pub(super) fn new(bytes_per_second: Option<u64>, control: &'c Control) -> Self {
        Self { control, bytes_per_second, begun: Instant::now(), bytes: 0 }
    }

    /// Counts bytes, and waits until the limit allows them.
    ///
    /// # Errors
    /// Those of the control.
    pub(super) fn wrote(&mut self, bytes: u64) -> Result<()> {
        self.bytes += bytes;
        self.control.report(self.bytes, None, "bytes");
        loop {
            self.control.check()?;
            let Some(limit) = self.bytes_per_second else { return Ok(()) };
            let due = Duration::from_secs_f64(self.bytes as f64 / limit.max(1) as f64);
            let ahead = due.saturating_sub(self.begun.elapsed());
            if ahead.is_zero() {
                return Ok(());
            }
            std::thread::sleep(ahead.min(STEP));
        }
    }
}
