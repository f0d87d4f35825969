//! Damaged pages of the open record file: found, written again, and read again.

use std::sync::Arc;

use super::record_file::RecordFile;
use crate::error::{Error, Result};
use crate::records::Base;
use crate::records::salvage::mend::{LastCommit, PageDamage, damage};
use crate::value::Control;

impl RecordFile {
    /// The commit that the file has. Nobody may write the file meanwhile.
    ///
    /// # Errors
    /// `Latched` after a failed write: it is unknown then which commit that is.
    pub(crate) fn last_commit(&self) -> Result<LastCommit> {
        self.check_writable()?;
        Ok(LastCommit::of(self.medium.file()))
    }

    /// The damaged pages of a commit; the caller holds a snapshot of it.
    ///
    /// # Errors
    /// Those of `control`.
    pub(crate) fn page_damage(&self, commit: &LastCommit, control: &Control) -> Result<PageDamage> {
        damage(self.medium.file(), commit, control)
    }

    /// Writes mended pages, each with the byte of the file where it begins, and makes them durable.
    /// Nobody may write the file meanwhile, and a snapshot that needs the pages is held.
    ///
    /// # Errors
    /// `Latched` after a failed write; `Io`. The file then has damaged pages or mended ones. After
    /// a failed sync it takes no writes: what redb wrote may be lost as well.
    pub(crate) fn put_pages(&self, pages: &[(u64, Vec<u8>)]) -> Result<()> {
        self.check_writable()?;
        let attempt = |error| Error::io("writing the mended pages of records.redb", error);
        for (at, page) in pages {
            self.medium.file().write_all_at(page, *at).map_err(attempt)?;
        }
        let synced = self.medium.file().sync_data().map_err(attempt);
        synced.inspect_err(|error| self.medium.stop_writing(error.clone(), false))?;
        pages.iter().try_for_each(|(at, page)| self.medium.mended(*at, page))
    }

    /// Opens the file again, so that no page of the cache is in use any more; returns the state of
    /// the commit `sequence`, which is the last one. Requires that no snapshot is open.
    ///
    /// # Errors
    /// `Latched` after a failed write. After any other error the file is closed.
    pub(crate) fn reopen(&mut self, sequence: u64) -> Result<Arc<Base>> {
        self.check_writable()?;
        self.open_again().inspect_err(|error| self.lost = Some(error.clone()))?;
        self.base(sequence)
    }
}
