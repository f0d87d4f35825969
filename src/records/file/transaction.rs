//! An open write transaction of redb, and its commit.

use std::sync::Arc;
use std::thread;

use super::free_space::FreeSpace;
use super::medium::Medium;
use crate::error::{Error, Result};
use crate::records::error::from_redb;
use crate::records::row_cache::{Changes, RowCache};
use crate::records::space::Table;
use crate::value::drop_guarded;

pub(in crate::records) type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// An open write transaction. After one of its writes failed, its further writes stay in memory. It
/// is aborted if it is dropped without a commit.
///
/// redb may panic on damaged pages while it aborts, even while an earlier panic unwinds. Both
/// panics are caught. While a panic unwinds, redb does not abort: the pages of the transaction
/// would be lost until the next opening finds them. So another thread aborts it then.
pub(crate) struct WriteTransaction {
    /// `None` after it was committed or dropped.
    transaction: Option<redb::WriteTransaction>,
    medium: Arc<Medium>,
    free: Arc<FreeSpace>,
    rows: Arc<RowCache>,
    changes: Changes,
}

/// Proof that every change is in the transaction; required for the commit.
#[derive(Debug)]
pub(crate) struct Finished(());

impl Finished {
    /// Made by a caller that keeps no change outside the transaction.
    pub(in crate::records) fn nothing_left() -> Self {
        Self(())
    }
}

impl WriteTransaction {
    pub(in crate::records) fn new(
        transaction: redb::WriteTransaction,
        medium: &Arc<Medium>,
        free: &Arc<FreeSpace>,
        rows: &Arc<RowCache>,
    ) -> Self {
        Self {
            transaction: Some(transaction),
            medium: medium.clone(),
            free: free.clone(),
            rows: rows.clone(),
            changes: Changes::default(),
        }
    }

    pub(in crate::records) fn open_table(&self, table: Table) -> Result<WriteTable<'_>> {
        let opened = self.transaction.as_ref().ok_or_else(ended)?.open_table(table.definition());
        opened.map_err(|error| from_redb("open a table for writing", error))
    }

    /// Returns an error after a failed write. redb itself does not know about the failure.
    pub(in crate::records) fn check(&self) -> Result<()> {
        self.medium.check()
    }

    /// Counts the bytes of values that were removed or replaced.
    pub(in crate::records) fn removed(&self, bytes: u64) {
        self.free.removed(bytes);
    }

    /// Notes that the row of a record changes. Whoever writes the table of the records of an open
    /// store calls it.
    pub(in crate::records) fn changes_record(&self, key: &[u8]) {
        self.changes.add(key);
    }

    /// Makes the transaction durable.
    ///
    /// # Errors
    /// The failure. Whether the commit is on the disk is then known only after a reopen.
    pub(crate) fn commit(mut self, _finished: Finished) -> Result<()> {
        self.medium.check()?;
        let written = self.transaction.take().ok_or_else(ended)?;
        let committing = self.rows.commit(&self.changes);
        written.commit().map_err(|error| from_redb("commit", error))?;
        // The medium does not report failures to redb, so a successful commit of redb proves
        // nothing.
        self.medium.check()?;
        committing.done();
        Ok(())
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        let transaction = self.transaction.take();
        let abort = move || drop_guarded("aborting a write", transaction);
        if !thread::panicking() {
            let _ = abort();
        } else if let Ok(thread) = thread::Builder::new().spawn(abort) {
            let _ = thread.join();
        }
    }
}

fn ended() -> Error {
    Error::conflict("the write transaction has ended")
}
