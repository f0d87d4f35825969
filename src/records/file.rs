//! Creating, opening, reading and committing the record file.

use std::sync::Arc;

use redb::{Database, ReadableDatabase};

use super::backend::DiskBackend;
use super::error::from_redb;
use super::free_space::FreeSpace;
use super::medium::Medium;
use super::space::Table;
use super::{Change, Finished, Snapshot, Space, Turn, WriteTransaction, bookkeeping};
use crate::disk::{DiskFile, FileId, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{drop_guarded, guarded};

pub(super) const NAME: &str = "records.redb";
/// The name of a record file until it is whole. One that is found when a store is opened is a leftover.
pub(super) const NEW_NAME: &str = "records.redb.new";

/// How the record file is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFileOptions {
    /// Bytes of redb's page cache.
    pub(crate) cache_bytes: usize,
    /// Two syncs a commit instead of one, for an open in constant time after a power cut.
    pub(crate) quick_repair: bool,
}

/// The open record file.
#[derive(Debug)]
pub(crate) struct RecordFile {
    /// There until it is dropped, or could not be opened again after a failure.
    database: Option<Database>,
    pub(super) medium: Arc<Medium>,
    pub(super) free: Arc<FreeSpace>,
    pub(super) disk: SharedDisk,
    /// The file that is open, whatever its name is now.
    pub(super) id: FileId,
    pub(super) options: RecordFileOptions,
    /// Why the file could not be opened again after a failure.
    lost: Option<Error>,
    /// Whether redb knows of no commit that failed, although the medium has failed.
    pub(super) is_read_only: bool,
}

impl RecordFile {
    /// Creates a record file that holds `first`.
    pub(crate) fn create(disk: &SharedDisk, options: RecordFileOptions, first: &[Change]) -> Result<()> {
        let failed = |attempt: &str, error| Error::io(format!("creating the record file: cannot {attempt}"), error);
        Self::write_new(disk, options, |record_file, transaction| {
            let mut turn = Turn::open(transaction, Arc::new(record_file.snapshot(0)?));
            turn.apply(first.iter().cloned())?;
            turn.finish()
        })?;
        disk.rename(NEW_NAME, NAME).map_err(|error| failed("rename records.redb.new", error))?;
        disk.sync_dir("").map_err(|error| failed("sync the store directory", error))
    }

    /// Writes a record file under the temporary name, because redb creates a file in several steps.
    /// `fill` puts the rows into it, in one transaction. When this returns, the file is durable and
    /// closed, and redb has cut the free pages off its end.
    pub(super) fn write_new(
        disk: &SharedDisk,
        options: RecordFileOptions,
        fill: impl FnOnce(&Self, &WriteTransaction) -> Result<Finished>,
    ) -> Result<()> {
        let failed = |attempt: &str, error| Error::io(format!("creating the record file: cannot {attempt}"), error);
        Self::sweep(disk)?;
        let file = disk.open(NEW_NAME, Mode::CreateNew).map_err(|error| failed("create records.redb.new", error))?;
        let record_file = Self::over(disk, Medium::new(file), options)?;
        // Nobody reads beside it, so it ends with the first failure.
        record_file.medium.set_strict(true);
        let medium = record_file.medium.clone();
        let transaction = record_file.begin()?;
        for table in Table::ALL {
            transaction.open_table(table)?;
        }
        let finished = fill(&record_file, &transaction)?;
        transaction.commit(finished)?;
        drop(record_file);
        // redb does not tell when closing failed.
        medium.check()
    }

    /// Removes what an interrupted creation or rewrite left.
    ///
    /// # Errors
    /// `Io` when it cannot be looked for or removed.
    pub(crate) fn sweep(disk: &SharedDisk) -> Result<()> {
        let failed = |error| Error::io("removing records.redb.new, which an interrupted call left", error);
        if disk.exists(NEW_NAME).map_err(failed)? {
            disk.remove_file(NEW_NAME).map_err(failed)?;
        }
        Ok(())
    }

    /// Whether there is a record file with more rows than [`Self::create`] was given.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn is_used(disk: &SharedDisk, options: RecordFileOptions, first: usize) -> Result<bool> {
        if !disk.exists(NAME).map_err(|error| Error::io("looking for records.redb", error))? {
            return Ok(false);
        }
        // Open until the rows are counted: a snapshot reads nothing of a closed file.
        let record_file = Self::open(disk, options)?;
        let snapshot = record_file.snapshot(0)?;
        let rows = Space::ALL.iter().try_fold(0, |rows, space| Ok::<_, Error>(rows + snapshot.len(*space)?))?;
        // The sums of what it was given are a row as well.
        Ok(rows > first as u64 + 1)
    }

    /// Opens the record file, repairing it after an unclean stop.
    ///
    /// # Errors
    /// `Corrupt` when the file is missing, is no redb file, or is damaged where redb keeps its free pages.
    pub(crate) fn open(disk: &SharedDisk, options: RecordFileOptions) -> Result<Self> {
        let file = disk.open(NAME, Mode::ReadWrite).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                Error::corrupt("the store has no records.redb; restore it from a backup")
            } else {
                Error::io("opening records.redb", error)
            }
        })?;
        let len = file.len().map_err(|error| Error::io("reading the length of records.redb", error))?;
        if len == 0 {
            return Err(Error::corrupt("records.redb is empty; restore it from a backup"));
        }
        Self::open_file(disk, file, options)
    }

    /// Opens the record file that `file` is, whatever its name.
    pub(super) fn open_file(disk: &SharedDisk, file: Box<dyn DiskFile>, options: RecordFileOptions) -> Result<Self> {
        // Before redb sees them: damage there would end the process in a later commit.
        let free_bytes = bookkeeping::check(&*file)?;
        let medium = Medium::new(file);
        let record_file = Self::over(disk, medium, options)?;
        // redb has written since then, if anything.
        record_file.free.set(&record_file.medium, free_bytes, 0);
        Ok(record_file)
    }

    fn over(disk: &SharedDisk, medium: Medium, options: RecordFileOptions) -> Result<Self> {
        let id = medium.file().file_id().map_err(|error| Error::io("looking at records.redb", error))?;
        let medium = Arc::new(medium);
        let database = open_database(medium.clone(), options)?;
        let record_file = Self {
            database: Some(database),
            medium,
            free: Arc::default(),
            disk: disk.clone(),
            id,
            options,
            lost: None,
            is_read_only: false,
        };
        // redb writes when it opens a file, and was told of no failure.
        record_file.medium.check()?;
        Ok(record_file)
    }

    /// Whether the name of the record file still leads to the file that is open, in the directory that was opened: what
    /// is written to any other file is lost when the store is closed.
    ///
    /// # Errors
    /// `Latched` when it does not; `Io` when that cannot be found out.
    pub(crate) fn check_name(&self, disk: &SharedDisk) -> Result<()> {
        let lost = |what: &str| {
            Error::new(
                ErrorKind::Latched,
                format!(
                    "{what}, so nothing more is written; put the files of the store back, or back the open store up, then \
                     close it and open it again"
                ),
            )
        };
        match disk.file_id(NAME) {
            Ok(id) if id == self.id => Ok(()),
            Ok(_) => Err(lost("another file was put in the place of records.redb while the store was open")),
            Err(error) => match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                    Err(lost("records.redb was moved or removed while the store was open"))
                }
                std::io::ErrorKind::StaleNetworkFileHandle => Err(lost(&error.to_string()).with_source(error)),
                _ => Err(Error::io("looking whether records.redb is in its place", error)),
            },
        }
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(|| self.closed())
    }

    /// The state of the last commit.
    ///
    /// # Errors
    /// Those of the medium after a failed write: redb takes the commit for done, so what it shows
    /// may never have reached the disk.
    pub(crate) fn snapshot(&self, sequence: u64) -> Result<Snapshot> {
        if !self.is_read_only {
            self.medium.check()?;
        }
        let transaction = self.database()?.begin_read().map_err(|error| from_redb("begin a read", error))?;
        Ok(Snapshot::new(transaction, sequence))
    }

    /// Begins a write transaction; waits while another is open.
    ///
    /// # Errors
    /// `Latched` after a failed write.
    pub(crate) fn begin(&self) -> Result<WriteTransaction> {
        self.begin_with(self.options.quick_repair)
    }

    fn begin_with(&self, quick_repair: bool) -> Result<WriteTransaction> {
        self.check_writable()?;
        let mut transaction = self.database()?.begin_write().map_err(|error| from_redb("begin a write", error))?;
        transaction.set_quick_repair(quick_repair);
        Ok(WriteTransaction::new(transaction, &self.medium, &self.free))
    }

    /// Bytes that commits can write without taking more of the disk. Of pages that were freed
    /// lately it tells only after [`Self::count_free_bytes`].
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free.bytes(&self.medium)
    }

    /// Whether so much has changed that [`Self::count_free_bytes`] may tell of more.
    pub(crate) fn is_free_space_stale(&self) -> bool {
        self.free.is_stale(&self.medium)
    }

    /// Counts the free pages again, by a commit that changes nothing: it makes the pages usable
    /// that nobody reads any more, and stores which are free. Needs the turn to write, and
    /// `free_bytes` that the disk has left.
    ///
    /// # Errors
    /// As [`Self::begin`] and [`WriteTransaction::commit`].
    pub(crate) fn count_free_bytes(&self, free_bytes: u64) -> Result<()> {
        // Nothing was begun: whoever needs room is refused.
        let Ok(len) = self.medium.file().len() else { return Ok(()) };
        // A commit that finds no room would latch, and what is free within may be too scattered for a region's state.
        if free_bytes < FreeSpace::count_bytes(len) {
            return Ok(());
        }
        self.begin_with(true)?.commit(Finished::nothing_left())?;
        self.free.count(&self.medium);
        Ok(())
    }

    /// Refuses once a write has failed.
    ///
    /// # Errors
    /// `Latched`.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.medium.check().map_err(|cause| {
            let text = format!("an earlier write failed ({}); close and reopen the store", cause.message());
            Error::new(ErrorKind::Latched, text).with_source(cause)
        })
    }

    /// Runs `f` in a write transaction of its own and commits it.
    pub(crate) fn write<T>(&self, f: impl FnOnce(&mut Turn<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.begin()?;
        let (value, finished) = {
            let mut turn = Turn::open(&transaction, Arc::new(self.snapshot(0)?));
            (f(&mut turn)?, turn.finish()?)
        };
        transaction.commit(finished)?;
        Ok(value)
    }

    /// Gives unused pages back to the file system; needs that nothing reads.
    pub(crate) fn compact(&mut self) -> Result<bool> {
        self.alone("compact", |database| database.compact())
    }

    /// Reads every page from the medium and compares its checksum; false when the bookkeeping had to be mended. Needs that
    /// nothing reads.
    ///
    /// # Errors
    /// `Corrupt` when a page is damaged.
    pub(crate) fn check_pages(&mut self) -> Result<bool> {
        self.alone("verify its pages", |database| database.check_integrity())
    }

    /// Works on the whole file while nobody reads.
    ///
    /// A failure of the disk ends the work, and redb then reads nothing that it does not have in
    /// its cache. So the file is opened again: as after a kill, and only for reading when a write
    /// has failed.
    fn alone<E>(&mut self, attempt: &str, f: impl FnOnce(&mut Database) -> std::result::Result<bool, E>) -> Result<bool>
    where
        redb::Error: From<E>,
    {
        self.check_writable()?;
        let closed = self.closed();
        let database = self.database.as_mut().ok_or(closed)?;
        self.medium.set_strict(true);
        let outcome = guarded(attempt, || f(database).map_err(|error| from_redb(attempt, redb::Error::from(error))));
        self.medium.set_strict(false);
        let outcome = outcome.and_then(|done| self.medium.check().map(|()| done));
        // Counted again where it matters.
        self.free = Arc::default();
        let is_fault = |error: &Error| matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Latched);
        if outcome.as_ref().is_err_and(is_fault) {
            self.lost = self.open_again().err();
        }
        outcome
    }

    /// Why there is nothing to read.
    fn closed(&self) -> Error {
        self.lost.clone().unwrap_or_else(|| Error::conflict("the record file is closed"))
    }

    fn open_again(&mut self) -> Result<()> {
        self.close();
        self.check_name(&self.disk)?;
        let failed = |error| Error::io("opening records.redb again", error);
        let file = self.disk.open(NAME, Mode::ReadWrite).map_err(failed)?;
        let medium = match self.medium.check() {
            Ok(()) => Medium::new(file),
            Err(cause) => Medium::read_only(file, cause).map_err(failed)?,
        };
        self.is_read_only = medium.check().is_err();
        self.medium = Arc::new(medium);
        self.free = Arc::default();
        self.database = Some(open_database(self.medium.clone(), self.options)?);
        Ok(())
    }

    /// redb writes when it is closed, and may panic on damaged pages as anywhere else. All that was acknowledged is safe.
    fn close(&mut self) {
        self.medium.refuse_after_failure();
        let _ = drop_guarded("closing the record file", self.database.take());
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        self.close();
    }
}

fn open_database(medium: Arc<Medium>, options: RecordFileOptions) -> Result<Database> {
    let open = || {
        redb::Builder::new()
            .set_cache_size(options.cache_bytes)
            .create_with_backend(DiskBackend::new(medium))
            .map_err(|error| from_redb("open", error))
    };
    // redb may panic on damaged pages: a damaged store is an error of ours and never the end of the host.
    guarded("opening records.redb, which is damaged; restore a backup", open)
}
