//! What a restore cannot read of a set: a finding, or the end of the restore.

use super::layout::Set;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::store::findings::VerifyReport;

const LOST: &str = "restore another backup of the set";
/// Reads that fail one after the other, after which the medium counts as gone: a bad place of a
/// medium is smaller.
const IN_A_ROW_MAX: u32 = 64;
/// The same for the last reads of all. One of them may be the list of many others, which are not
/// tried then.
const LAST_MAX: u32 = 4;
const GONE: &str = "; nothing of the backup set can be read any more: connect its medium again, \
                    and restore again into the same directory";

/// Tells a medium with bad places, of which the rest is worth restoring, from one that was pulled:
/// a restore of that would be a store without most of its rows.
pub(super) struct Unread<'r> {
    disk: SharedDisk,
    report: &'r mut VerifyReport,
    failed_in_a_row: u32,
}

impl<'r> Unread<'r> {
    pub(super) fn new(set: &Set, report: &'r mut VerifyReport) -> Self {
        Self { disk: set.disk.clone(), report, failed_in_a_row: 0 }
    }

    /// Notes that a read succeeded.
    pub(super) fn succeeded(&mut self) {
        self.failed_in_a_row = 0;
    }

    /// Adds the finding of a read that failed.
    ///
    /// # Errors
    /// `error` itself if it is no damage, or nothing of the set can be read any more.
    pub(super) fn find(&mut self, file: &str, place: &str, error: Error) -> Result<()> {
        if !error.is_damage() {
            return Err(error);
        }
        if error.kind() == ErrorKind::Io {
            self.failed_in_a_row += 1;
            // The system may still have these pages of a medium that is gone, hence the count.
            let is_gone = Set::seen(self.disk.clone()).is_err();
            if is_gone || self.failed_in_a_row >= IN_A_ROW_MAX {
                return Err(error.followed_by(GONE));
            }
        }
        self.report.find(file, place, error.message(), LOST);
        Ok(())
    }

    /// Ends the reads of the set.
    ///
    /// # Errors
    /// `Io` if the last ones failed.
    pub(super) fn end(self) -> Result<()> {
        if self.failed_in_a_row < LAST_MAX {
            return Ok(());
        }
        let told = format!("the last {} reads of the set failed", self.failed_in_a_row);
        Err(Error::new(ErrorKind::Io, told).followed_by(GONE))
    }
}
