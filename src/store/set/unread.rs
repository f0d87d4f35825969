//! What cannot be read of a set: lost, or the end of the call.

use super::layout::Set;
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};

/// Reads that fail one after the other, after which the medium counts as gone: a bad place of a
/// medium is smaller.
const IN_A_ROW_MAX: u32 = 64;
/// The same for the last reads of all. One of them may be the list of many others, which are not
/// tried then.
const LAST_MAX: u32 = 4;
const GONE: &str =
    "; nothing of the backup set can be read any more: connect its medium again, and";

/// Tells a medium with bad places, of which the rest is worth reading, from one that was pulled.
pub(super) struct Unread {
    disk: SharedDisk,
    /// What to do when the medium is connected again.
    again: &'static str,
    failed_in_a_row: u32,
}

impl Unread {
    pub(super) fn new(set: &Set, again: &'static str) -> Self {
        Self { disk: set.disk.clone(), again, failed_in_a_row: 0 }
    }

    /// Notes that a read succeeded.
    pub(super) fn succeeded(&mut self) {
        self.failed_in_a_row = 0;
    }

    /// Gives the error of a read back if what it read is lost, and the rest is worth reading.
    ///
    /// # Errors
    /// `error` itself if it is no damage, or nothing of the set can be read any more.
    pub(super) fn lost(&mut self, error: Error) -> Result<Error> {
        if !error.is_damage() {
            return Err(error);
        }
        if error.kind() == ErrorKind::Io {
            self.failed_in_a_row += 1;
            // The system may still have these pages of a medium that is gone, hence the count.
            let is_gone = Set::seen(self.disk.clone()).is_err();
            if is_gone || self.failed_in_a_row >= IN_A_ROW_MAX {
                return Err(error.followed_by(format_args!("{GONE} {}", self.again)));
            }
        }
        Ok(error)
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
        Err(Error::new(ErrorKind::Io, told).followed_by(format_args!("{GONE} {}", self.again)))
    }
}
