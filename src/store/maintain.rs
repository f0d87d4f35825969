//! Maintenance on request.

use chrono::{DateTime, Utc};

use super::maintenance;
use super::maintenance_report::MaintenanceReport;
use super::open::Store;
use crate::error::Result;
use crate::session::{Access, Session, guarded, tables};
use crate::value::Control;

impl Store {
    /// Runs one pass of maintenance now, as the maintenance thread does periodically: removes files
    /// that no record names, trims the log, makes the record file smaller.
    ///
    /// The record file is rewritten if it takes at least 4 MiB, more than nine sixteenths of it are
    /// free, at most [`Settings::record_rewrite_bytes_max`] bytes are in use, the disk has space
    /// for twice these in addition to the reserve, and there is no reader at that moment. Writers
    /// wait meanwhile: 0.4 to 1.5 s of processor time for each 100 MB in use, plus the time to
    /// write and sync as many bytes. So with the default limit of 64 MiB, the longest wait is about
    /// a second. Readers wait while the new file replaces the old one: up to 20 ms for other
    /// readers to end, at most five times, then for a rename and the sync of the directory. If the
    /// other readers do not end, the old file stays. After a failed rewrite, there is no further
    /// attempt until the store is reopened. [`Store::compact`] shrinks a file of any size.
    ///
    /// [`Settings::record_rewrite_bytes_max`]: crate::Settings::record_rewrite_bytes_max
    ///
    /// # Errors
    /// As any write, and the errors of `control`; `Conflict` inside a transaction of the same
    /// thread, because it would wait for itself.
    pub fn maintain(&self, control: &Control) -> Result<MaintenanceReport> {
        self.engine().refuse_in_transaction()?;
        maintenance::run(self.engine(), self.upkeep(), control, true)
    }

    /// Makes the present time of the clock the time of the store, which otherwise never goes back.
    /// Returns the time that the store had, if it was ahead.
    ///
    /// A clock that was once far ahead stops the store's time: records get that time, and retention
    /// by age waits until the clock reaches it. [`MaintenanceReport::time_ahead`] tells when it
    /// was. Rows that were noted as appended then count as appended now, so they are kept for their
    /// whole age. Times of records stay. Call this only when the clock is right: rows that are
    /// noted while it is behind go too early when it is corrected.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// assert_eq!(store.take_present_time()?, None);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// As any write; `Conflict` inside a transaction of the same thread.
    pub fn take_present_time(&self) -> Result<Option<DateTime<Utc>>> {
        self.engine().refuse_in_transaction()?;
        let before = self.engine().time_ahead();
        let session = Session::of_store(self.engine());
        let due = guarded("finding the tables with a retention", || tables::due(&session));
        let retained = due?.retained;
        self.engine().take_clock();
        session.write(move |draft| {
            for (key, _) in &retained {
                tables::take_present_time(draft, *key)?;
            }
            Ok(())
        })?;
        Ok(before)
    }
}
