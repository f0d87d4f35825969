//! Reading the records of a pass while others append to the journal.

use super::file::{PassFile, RECORDS};
use super::header::Header;
use super::replay::Window;
use super::{Journal, body, damaged, file_of};
use crate::disk::{Mode, SharedDisk};
use crate::error::Result;
use crate::records::Change;

/// What is called with the sequences before and after the commits of a record, and their changes.
type Each<'f> = dyn FnMut(u64, u64, Vec<Change>) -> Result<()> + 'f;

/// The records that a pass had at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassPart {
    name: &'static str,
    header: Header,
    end: u64,
}

impl Journal {
    /// The pass before the newest one, if its commits are not in the record file yet, and the
    /// newest one. Both stay as they are until a checkpoint ends.
    pub(crate) fn passes(&self, is_moving: bool) -> Vec<PassPart> {
        let older = self.older.filter(|_| is_moving);
        let passes = older.into_iter().chain([(self.newest, self.at)]);
        let part = |(header, end): (Header, u64)| {
            let name = self.files.get(file_of(header.pass))?.name();
            Some(PassPart { name, header, end })
        };
        passes.filter_map(part).collect()
    }
}

impl PassPart {
    /// Calls `f` with each record that has a commit after `sequence`.
    ///
    /// # Errors
    /// `Corrupt` if a record is damaged, or the pass is over; `Io`; the errors of `f`.
    pub(crate) fn each_record(
        &self,
        disk: &SharedDisk,
        sequence: u64,
        f: &mut Each<'_>,
    ) -> Result<()> {
        let Self { name, header, end } = *self;
        let file = PassFile::open(disk, name, Mode::Read)?;
        let mut window = Window::over(&file);
        let mut at = RECORDS;
        while at < end {
            let Some(found) = window.record(header.salt, at)? else {
                return Err(damaged(name, &format!("the record at {at} is damaged")));
            };
            if found.sequences.after > sequence {
                let changes = body::decode(window.body(at, found.len)?, name)?;
                f(found.sequences.before, found.sequences.after, changes)?;
            }
            at = at.saturating_add(found.record_len());
        }
        Ok(())
    }
}
