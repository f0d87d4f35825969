//! Maintenance by hand.

use super::maintenance::{self, MaintenanceReport};
use super::open::Store;
use crate::error::Result;
use crate::value::Control;

impl Store {
    /// Does now what the maintenance thread does from time to time: removes files that nothing names, trims the log,
    /// makes the record file smaller.
    ///
    /// The record file is rewritten when it takes at least 4 MiB, more than nine sixteenths of it are free, at most
    /// [`Settings::record_rewrite_bytes_max`] bytes are in use, the disk has room for twice these beside the
    /// reserve, and nobody reads at the moment. Writers wait meanwhile: 0.4 to 1.5 s of processor time for each
    /// 100 MB in use, and for as many bytes to be written and synced. So with the default bound of 64 MiB the
    /// longest stop is about a second. Readers wait while the new file takes the place of the old one: up to
    /// 20 ms for others to end, at most five times, then for a rename and the sync of the directory. When others
    /// do not end, the old file stays. A rewrite that failed is not tried again before the store is opened again.
    /// [`Store::compact`] makes a file of any size small.
    ///
    /// [`Settings::record_rewrite_bytes_max`]: crate::Settings::record_rewrite_bytes_max
    ///
    /// # Errors
    /// As any write, and what `control` says; `Conflict` inside a transaction of the same thread, which it would wait for.
    pub fn maintain(&self, control: &Control) -> Result<MaintenanceReport> {
        self.engine().write_queue.refuse_in_transaction()?;
        maintenance::run(self.engine(), control, true)
    }
}
