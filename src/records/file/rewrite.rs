//! Replaces the open record file by a new file with the rows of the last commit.
//!
//! What must hold: the new file is complete, durable and compared with the sums of the commits
//! before it gets the name. So a power cut leaves either the old file or the new one. No
//! transaction writes during the rewrite, and no snapshot reads the old file when it is closed.
//! Every row is copied unchanged, including the row of the sums and the sorted runs, so the modules
//! above see no difference.
//!
//! The old file is closed before the rename, because Windows does not replace an open file. Nothing
//! is written to it any more: it stays as a kill would leave it, with the last commit.

use redb::ReadableTableMetadata;

use super::names::check_names;
use super::record_file::{NAME, NEW_NAME};
use crate::disk::Mode;
use crate::error::{Error, Result};
use crate::records::error::from_redb;
use crate::records::space::{Table, space_of};
use crate::records::{Finished, RecordFile, RecordFileOptions, Snapshot, Sums, WriteTransaction};
use crate::value::{Control, guarded, limits};

/// Number of rows that are copied between two checks of the control.
const STEP_ROWS: u64 = 256;

/// The result of replacing the open file.
pub(crate) struct Replacement {
    /// A snapshot of the last commit, in the file that is open now.
    pub(crate) snapshot: Snapshot,
    /// Whether the new file replaced the old one. If not, the old file is in use again; or it is
    /// unknown which file has the name after a power cut, and no further write is accepted.
    pub(crate) outcome: Result<()>,
}

impl RecordFile {
    /// Returns the bytes in use at the last count if a rewrite is due: the file takes at least
    /// [`limits::RECORD_REWRITE_BYTES_MIN`] on the disk, at least nine sixteenths of that are free,
    /// and at most `used_bytes_max` are in use.
    ///
    /// The limit is more than half because redb doubles a file that is full. Half of the file is
    /// then free right after it grew, and each rewrite would make it grow again.
    pub(crate) fn bytes_to_rewrite(&self, used_bytes_max: u64) -> Option<u64> {
        let (taken, used) = self.free.taken_and_used(&self.medium)?;
        let is_due = taken >= limits::RECORD_REWRITE_BYTES_MIN
            && used <= taken / 16 * 7
            && used <= used_bytes_max;
        is_due.then_some(used)
    }

    /// Copies all rows in the order of their keys into a new file and replaces this one by it, if
    /// the copy is at least an eighth shorter. Requires that no snapshot is open. Returns whether
    /// the file was replaced.
    ///
    /// Rows that arrive in another order than that of their keys leave pages of which a third is
    /// unused, and moving pages does not change that.
    ///
    /// The file stays as it is without room on the disk for the copy beside `reserve_bytes`, or
    /// without sums of its rows to compare the copy with.
    ///
    /// # Errors
    /// As [`Self::rewrite`] and [`Self::replace`]. This file then stays in use, unless it is
    /// unknown to which file the name leads after a power cut: then this file takes no writes.
    pub(crate) fn pack(&mut self, sequence: u64, reserve_bytes: u64) -> Result<bool> {
        self.check_writable()?;
        let snapshot = self.snapshot(sequence)?;
        let packed_bytes = packed_bytes(&snapshot)?;
        let free_bytes = self.disk.free_bytes();
        let free_bytes =
            free_bytes.map_err(|error| Error::io("reading the free space of the disk", error))?;
        // redb doubles a file that must grow.
        let needed_bytes = packed_bytes.saturating_mul(2).saturating_add(reserve_bytes);
        if packed_bytes > self.known_len() / 8 * 7
            || free_bytes.is_some_and(|free| free < needed_bytes)
            || snapshot.sums()?.is_none()
        {
            return Ok(false);
        }
        let fresh =
            guarded("copying the record file", || self.rewrite(&snapshot, &Control::default()));
        drop(snapshot);
        let replaced = fresh.and_then(|mut fresh| {
            // redb doubled the file while it grew.
            fresh.compact()?;
            // The rename would overwrite a file that somebody else put there.
            check_names(&self.disk, &[self.open_name()])?;
            self.replace(fresh, sequence)
        });
        match replaced {
            Ok(replaced) => replaced.outcome.map(|()| true),
            Err(error) => {
                self.discard_new();
                Err(error)
            }
        }
    }

    /// The length of the file in bytes, as redb knows it.
    pub(crate) fn known_len(&self) -> u64 {
        self.medium.known_len()
    }

    /// Writes the rows of `snapshot`, which is the state of the record file, into a new file under
    /// the temporary name, and opens that file. The open file is only read.
    ///
    /// # Errors
    /// `Corrupt` if the rows are not those that the commits wrote; `NoSpace`, `Io`; the errors of
    /// `control`. The new file is then removed.
    pub(crate) fn rewrite(&self, snapshot: &Snapshot, control: &Control) -> Result<Self> {
        let options = RecordFileOptions {
            cache_bytes: self.options.cache_bytes.min(limits::REWRITE_CACHE_BYTES),
            ..self.options
        };
        let write = || {
            Self::write_new(&self.disk, options, |_, transaction| {
                // Before the first row is written: a user without access to the old file must not
                // be able to read the rows in the new one.
                let allowed = self.disk.copy_access(NAME, NEW_NAME);
                allowed.map_err(|error| {
                    Error::io(
                        "copying the access rights of records.redb to records.redb.new",
                        error,
                    )
                })?;
                copy(snapshot, transaction, control)
            })?;
            // Not `ReadWrite`: on Windows, a file that is open in that mode cannot be renamed.
            let file = self.disk.open(NEW_NAME, Mode::OpenOrCreate);
            let file = file.map_err(|error| Error::io("opening records.redb.new", error))?;
            let mut fresh = Self::open_file(&self.disk, file, self.options)?;
            if !fresh.check_pages()? {
                return Err(Error::corrupt(
                    "records.redb.new differs from what was written to it; the open file stays in \
                     use",
                ));
            }
            fresh.free.count(&fresh.medium);
            Ok(fresh)
        };
        write().inspect_err(|_| self.discard_new())
    }

    /// Removes the new file. If that fails, the next rewrite or open removes it.
    pub(crate) fn discard_new(&self) {
        let _ = Self::sweep(&self.disk);
    }

    /// Replaces this file by `fresh`, which [`Self::rewrite`] wrote. Requires that nothing reads or
    /// writes, and that [`Self::check_name`] succeeded.
    ///
    /// The new file is read first, while the old one is still open, because that may fail. Then the
    /// old file is closed without a write, the new one is renamed, and the directory is synced. If
    /// the rename fails and the name still leads to the old file, that is opened again: it has the
    /// last commit, because nothing was written to it. If the sync fails, both files have the last
    /// commit, and only later writes could be lost; so there are none.
    ///
    /// # Errors
    /// The errors of reading `fresh`. Nothing was changed then.
    pub(crate) fn replace(&mut self, fresh: Self, sequence: u64) -> Result<Replacement> {
        let snapshot = fresh.snapshot(sequence)?;
        // Reports an unreadable table while the old file is still open.
        snapshot.open_all()?;
        let old = std::mem::replace(self, fresh);
        let old_id = old.id;
        old.abandon();
        drop(old);
        let renamed = self.disk.rename(NEW_NAME, NAME);
        let failed = |attempt: &str, error| {
            Error::io(format!("rewriting records.redb: cannot {attempt}"), error)
        };
        let Err(error) = renamed else {
            let outcome =
                self.disk.sync_dir("").map_err(|error| failed("sync the store directory", error));
            match &outcome {
                // On FAT, the number of a file depends on its name.
                Ok(()) => self.id = self.medium.file().file_id().unwrap_or(self.id),
                // After a power cut, the old file may have the name again. Later writes to the new
                // file would then be lost, so there must be none.
                Err(error) => self.stop_writing(error),
            }
            return Ok(Replacement { snapshot, outcome });
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
                Ok(Replacement { snapshot: old_snapshot, outcome: Err(error) })
            }
            _ => {
                // Reads continue: the new file has the state of the last commit, whatever its name
                // is.
                self.id = if is_old_there { old_id } else { self.id };
                self.stop_writing(&error);
                Ok(Replacement { snapshot, outcome: Err(error) })
            }
        }
    }

    /// Keeps the file as it is, whatever redb writes while it closes.
    fn abandon(&self) {
        self.medium.stop_writing(Error::conflict("the record file is closed"), true);
    }

    /// From now on, the file is only read.
    fn stop_writing(&mut self, cause: &Error) {
        self.medium.stop_writing(cause.clone(), false);
        self.is_read_only = true;
    }
}

/// About the bytes of a file with the rows of the snapshot in the order of their keys.
///
/// # Errors
/// `Corrupt` if a page is damaged.
fn packed_bytes(snapshot: &Snapshot) -> Result<u64> {
    /// Rows of more bytes than this on average have pages of their own, which stay as they are.
    const LARGE_ROW: u64 = 1_024;
    let mut bytes = 0;
    for table in Table::ALL {
        let rows = snapshot.base().table_len(table)?;
        let pages = snapshot.base().table(table)?.stats();
        let pages = pages.map_err(|error| from_redb("count its pages", error))?;
        let filled = pages.stored_bytes().saturating_add(pages.metadata_bytes());
        bytes += match filled / rows.max(1) {
            // Rows that arrive in the order of their keys fill 93 % of their pages.
            0..LARGE_ROW => filled.saturating_add(filled / 7),
            _ => filled.saturating_add(pages.fragmented_bytes()),
        };
    }
    Ok(bytes)
}

/// Copies every row of every table, and compares the copy with the sums of the snapshot.
fn copy(
    snapshot: &Snapshot,
    transaction: &WriteTransaction,
    control: &Control,
) -> Result<Finished> {
    let mut sums = Sums::default();
    let mut rows = 0;
    for table in Table::ALL {
        let source = snapshot.base().table(table)?;
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
        // The index space has no sum; its table is checked by the number of rows.
        if target.len().map_err(failed)? != snapshot.base().table_len(table)? {
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
        "cannot rewrite records.redb: {what} differs from what the commits wrote; call `verify` to \
         find the damage"
    ))
}
