//! A fresh record file with the rows of the last commit, put into the place of the one that is
//! open.
//!
//! What must hold: the fresh file is whole, durable and compared with what the commits wrote before
//! it gets the name, so a power cut leaves the one file or the other. Nobody writes meanwhile, and
//! nobody reads the old file when it is closed. Every row is copied as it is, that of the sums and
//! the sorted runs included, so nothing above sees a difference.
//!
//! The old file is closed before the rename, because Windows does not replace a file that is open.
//! Nothing is written to it any more: it stays as a kill would leave it, and has the last commit.

use redb::ReadableTableMetadata;

use super::error::from_redb;
use super::file::{NAME, NEW_NAME};
use super::space::{Table, space_of};
use super::{Finished, RecordFile, RecordFileOptions, Snapshot, Sums, WriteTransaction};
use crate::disk::Mode;
use crate::error::{Error, Result};
use crate::value::{Control, limits};

/// Page cache for writing the fresh file, beside that of the open one.
const CACHE_BYTES: usize = 16 * 1024 * 1024;
/// Rows that are copied between two looks at the control.
const STEP_ROWS: u64 = 256;

/// What came of putting a fresh file into the place of the open one.
pub(crate) struct Replaced {
    /// The state of the last commit, in the file that is open now.
    pub(crate) snapshot: Snapshot,
    /// Whether the fresh file is the one. When it is not, the old file is in use again; or it is
    /// not known which file the name leads to after a power cut, and nothing is written any more.
    pub(crate) outcome: Result<()>,
}

impl RecordFile {
    /// Whether nine sixteenths of what the file takes of the disk are free, by the last count, and
    /// what is in use is at most `used_bytes_max`: the bytes in use then.
    ///
    /// Not half: redb doubles a file that is full, so half of it is free right after it grew, and
    /// each rewrite would make it grow again.
    pub(crate) fn bytes_to_rewrite(&self, used_bytes_max: u64) -> Option<u64> {
        let (taken, used) = self.free.taken_and_used(&self.medium)?;
        let is_due = taken >= limits::RECORD_REWRITE_BYTES_MIN && used <= taken / 16 * 7 && used <= used_bytes_max;
        is_due.then_some(used)
    }

    /// The length of the file in bytes, as redb knows it.
    pub(crate) fn known_len(&self) -> u64 {
        self.medium.known_len()
    }

    /// Writes the rows of `snapshot`, the state of the last commit, into a fresh file under the
    /// temporary name, and opens it. The open file is only read.
    ///
    /// # Errors
    /// `Corrupt` when the rows are not what the commits wrote; `NoSpace`, `Io`; what `control`
    /// says. The fresh file is removed then.
    pub(crate) fn rewrite(&self, snapshot: &Snapshot, control: &Control) -> Result<Self> {
        let options = RecordFileOptions { cache_bytes: self.options.cache_bytes.min(CACHE_BYTES), ..self.options };
        let write = || {
            Self::write_new(&self.disk, options, |_, transaction| {
                // Before the first row: nobody reads here what the old file keeps from him.
                let allowed = self.disk.copy_access(NAME, NEW_NAME);
                allowed.map_err(|error| Error::io("giving records.redb.new the rights of records.redb", error))?;
                copy(snapshot, transaction, control)
            })?;
            // Not with `ReadWrite`, which on Windows keeps the file from being renamed.
            let file = self.disk.open(NEW_NAME, Mode::OpenOrCreate);
            let file = file.map_err(|error| Error::io("opening records.redb.new", error))?;
            let mut fresh = Self::open_file(&self.disk, file, self.options)?;
            if !fresh.check_pages()? {
                return Err(Error::corrupt("records.redb.new is not what was written; the open file is kept"));
            }
            fresh.free.count(&fresh.medium);
            Ok(fresh)
        };
        write().inspect_err(|_| self.discard_new())
    }

    /// Removes the fresh file. One that stays is removed by the next rewrite or opening.
    pub(crate) fn discard_new(&self) {
        let _ = Self::sweep(&self.disk);
    }

    /// Puts `fresh`, which [`Self::rewrite`] wrote, into the place of this file. Needs that nobody
    /// reads or writes, and that the name was looked at.
    ///
    /// # Errors
    /// Those of reading `fresh`. Nothing has happened then.
    pub(crate) fn replace(&mut self, fresh: Self, sequence: u64) -> Result<Replaced> {
        let snapshot = fresh.snapshot(sequence)?;
        // What could not be read is told while the old file is there.
        snapshot.open_all()?;
        let old = std::mem::replace(self, fresh);
        let old_id = old.id;
        old.abandon();
        drop(old);
        let renamed = self.disk.rename(NEW_NAME, NAME);
        let failed = |attempt: &str, error| Error::io(format!("rewriting records.redb: cannot {attempt}"), error);
        let Err(error) = renamed else {
            let outcome = self.disk.sync_dir("").map_err(|error| failed("sync the store directory", error));
            match &outcome {
                // On Windows the identity may come with the name.
                Ok(()) => self.id = self.medium.file().file_id().unwrap_or(self.id),
                // The old file may have the name again after a power cut, without what would be
                // written now.
                Err(error) => self.stop_writing(error),
            }
            return Ok(Replaced { snapshot, outcome });
        };
        let error = failed("rename records.redb.new", error);
        let is_old_there = self.disk.file_id(NAME).is_ok_and(|id| id == old_id);
        let reopened = || {
            let old = Self::open(&self.disk, self.options)?;
            let snapshot = old.snapshot(sequence)?;
            Ok::<_, Error>((old, snapshot))
        };
        match is_old_there.then(reopened) {
            Some(Ok((old, old_snapshot))) => {
                drop(snapshot);
                self.abandon();
                *self = old;
                self.discard_new();
                Ok(Replaced { snapshot: old_snapshot, outcome: Err(error) })
            }
            _ => {
                // Reads go on: the fresh file has the state of the last commit, whatever its name
                // is.
                self.id = if is_old_there { old_id } else { self.id };
                self.stop_writing(&error);
                Ok(Replaced { snapshot, outcome: Err(error) })
            }
        }
    }

    /// Leaves the file as it is, whatever redb writes when it is closed.
    fn abandon(&self) {
        self.medium.stop_writing(Error::conflict("the record file is closed"), true);
    }

    /// From now on the file is only read.
    fn stop_writing(&mut self, cause: &Error) {
        self.medium.stop_writing(cause.clone(), false);
        self.is_read_only = true;
    }
}

/// Copies every row of every table, and compares the copy with the sums of the snapshot.
fn copy(snapshot: &Snapshot, transaction: &WriteTransaction, control: &Control) -> Result<Finished> {
    let mut sums = Sums::default();
    let mut rows = 0;
    for table in Table::ALL {
        let source = snapshot.table(table)?;
        let mut target = transaction.open_table(table)?;
        let failed = |error: redb::StorageError| from_redb("copy its rows", error);
        for row in source.range::<&[u8]>(..).map_err(failed)? {
            if rows % STEP_ROWS == 0 {
                control.check()?;
            }
            rows += 1;
            let (key, value) = row.map_err(failed)?;
            if let Some((space, key)) = space_of(table, key.value()) {
                sums.replace(space, key, None, Some(value.value()));
            }
            target.insert(key.value(), value.value()).map_err(failed)?;
        }
        // The indexes have no sum; the number of their rows is that of the commit.
        if target.len().map_err(failed)? != snapshot.table_len(table)? {
            return Err(differs(table.name()));
        }
    }
    match snapshot.sums()? {
        Some(written) if written == sums => Ok(Finished::nothing_left()),
        _ => Err(differs("a collection")),
    }
}

fn differs(what: &str) -> Error {
    Error::corrupt(format!(
        "records.redb is not rewritten, since {what} does not hold what the commits wrote; `verify` tells what is damaged"
    ))
}
