//! An open write transaction of redb, and its commit.

use std::sync::Arc;

use super::error::from_redb;
use super::free_space::FreeSpace;
use super::medium::Medium;
use super::space::Table;
use crate::error::{Error, Result};
use crate::value::drop_guarded;

pub(super) type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// An open write transaction, whose writes stay in memory once one of them has failed. Dropped
/// without a commit, it is aborted.
///
/// redb may panic on damaged pages while it aborts, also while another panic of it unwinds. Neither
/// goes further.
pub(crate) struct WriteTransaction {
    /// There until it is committed or dropped.
    transaction: Option<redb::WriteTransaction>,
    medium: Arc<Medium>,
    free: Arc<FreeSpace>,
}

/// Proof that everything that was changed is in its transaction.
#[derive(Debug)]
pub(crate) struct Finished(());

impl Finished {
    /// The caller keeps no change that is not in the transaction.
    pub(super) fn nothing_left() -> Self {
        Self(())
    }
}

impl WriteTransaction {
    pub(super) fn new(transaction: redb::WriteTransaction, medium: &Arc<Medium>, free: &Arc<FreeSpace>) -> Self {
        Self { transaction: Some(transaction), medium: medium.clone(), free: free.clone() }
    }

    pub(super) fn open_table(&self, table: Table) -> Result<WriteTable<'_>> {
        let opened = self.transaction.as_ref().ok_or_else(ended)?.open_table(table.definition());
        opened.map_err(|error| from_redb("open a table for writing", error))
    }

    /// Refuses once a write has failed, of which redb is told nothing.
    pub(super) fn check(&self) -> Result<()> {
        self.medium.check()
    }

    /// Counts the bytes of values that were removed or replaced.
    pub(super) fn removed(&self, bytes: u64) {
        self.free.removed(bytes);
    }

    /// Makes the transaction durable.
    ///
    /// # Errors
    /// What failed. Whether the commit is there is then only known after a reopen.
    pub(crate) fn commit(mut self, _finished: Finished) -> Result<()> {
        self.medium.check()?;
        let written = self.transaction.take().ok_or_else(ended)?;
        written.commit().map_err(|error| from_redb("commit", error))?;
        // redb was told of no failure.
        self.medium.check()
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        let _ = drop_guarded("aborting a write", self.transaction.take());
    }
}

fn ended() -> Error {
    Error::conflict("the write transaction has ended")
}
