//! Creating, opening, reading and committing the record file.

use std::sync::Arc;

use redb::{Database, ReadableDatabase, WriteTransaction};

use super::backend::DiskBackend;
use super::error::from_redb;
use super::space::Table;
use super::turn::Finished;
use super::{Change, Snapshot, Space, Turn, bookkeeping};
use crate::disk::{FileId, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};

const NAME: &str = "records.redb";
const NEW_NAME: &str = "records.redb.new";

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
    /// There until it is dropped.
    database: Option<Database>,
    /// The file that is open, whatever its name is now.
    id: FileId,
    options: RecordFileOptions,
}

impl RecordFile {
    /// Creates an empty record file under a temporary name and renames it, because redb creates in several steps.
    pub(crate) fn create(disk: &SharedDisk, options: RecordFileOptions, first: &[Change]) -> Result<()> {
        let failed = |attempt: &str, error| Error::io(format!("creating the record file: cannot {attempt}"), error);
        if disk.exists(NEW_NAME).map_err(|error| failed("look for leftovers", error))? {
            disk.remove_file(NEW_NAME).map_err(|error| failed("remove leftovers", error))?;
        }
        let file = disk.open(NEW_NAME, Mode::CreateNew).map_err(|error| failed("create records.redb.new", error))?;
        let id = file.file_id().map_err(|error| failed("look at records.redb.new", error))?;
        let record_file = Self { database: Some(open_database(file, options)?), id, options };
        let transaction = record_file.begin()?;
        for table in Table::ALL {
            transaction.open_table(table.definition()).map_err(|error| from_redb("create its tables", error))?;
        }
        let finished = {
            let mut turn = Turn::open(&transaction, Arc::new(record_file.snapshot(0)?));
            turn.apply(first.iter().cloned())?;
            turn.finish()?
        };
        Self::commit(transaction, finished)?;
        drop(record_file);
        disk.rename(NEW_NAME, NAME).map_err(|error| failed("rename records.redb.new", error))?;
        disk.sync_dir("").map_err(|error| failed("sync the store directory", error))
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
        let rows = Space::ALL.iter().try_fold(0, |rows, space| Ok(rows + snapshot.len(*space)?))?;
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
        // Before redb sees them: damage there would end the process in a later commit.
        bookkeeping::check(&*file)?;
        let id = file.file_id().map_err(|error| Error::io("looking at records.redb", error))?;
        Ok(Self { database: Some(open_database(file, options)?), id, options })
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
        self.database.as_ref().ok_or_else(closed)
    }

    /// The state of the last commit.
    pub(crate) fn snapshot(&self, sequence: u64) -> Result<Snapshot> {
        let transaction = self.database()?.begin_read().map_err(|error| from_redb("begin a read", error))?;
        Ok(Snapshot::new(transaction, sequence))
    }

    /// Begins a write transaction; waits while another is open.
    pub(crate) fn begin(&self) -> Result<WriteTransaction> {
        let mut transaction = self.database()?.begin_write().map_err(|error| from_redb("begin a write", error))?;
        transaction.set_quick_repair(self.options.quick_repair);
        Ok(transaction)
    }

    /// Makes a write transaction durable, whose turn is finished.
    pub(crate) fn commit(transaction: WriteTransaction, _finished: Finished) -> Result<()> {
        transaction.commit().map_err(|error| from_redb("commit", error))
    }

    /// Runs `f` in a write transaction of its own and commits it.
    pub(crate) fn write<T>(&self, f: impl FnOnce(&mut Turn<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.begin()?;
        let (value, finished) = {
            let mut turn = Turn::open(&transaction, Arc::new(self.snapshot(0)?));
            (f(&mut turn)?, turn.finish()?)
        };
        Self::commit(transaction, finished)?;
        Ok(value)
    }

    /// Gives unused pages back to the file system; needs that nothing reads.
    pub(crate) fn compact(&mut self) -> Result<bool> {
        let database = self.database.as_mut().ok_or_else(closed)?;
        database.compact().map_err(|error| {
            let error: redb::Error = error.into();
            from_redb("compact", error)
        })
    }

    /// Reads every page from the medium and compares its checksum; false when the bookkeeping had to be mended. Needs that
    /// nothing reads.
    ///
    /// # Errors
    /// `Corrupt` when a page is damaged.
    pub(crate) fn check_pages(&mut self) -> Result<bool> {
        let database = self.database.as_mut().ok_or_else(closed)?;
        database.check_integrity().map_err(|error| {
            let error: redb::Error = error.into();
            from_redb("verify its pages", error)
        })
    }
}

impl Drop for RecordFile {
    /// redb writes when it is closed, and may panic on damaged pages as anywhere else. All that was acknowledged is safe.
    fn drop(&mut self) {
        let database = self.database.take();
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(database)));
    }
}

fn closed() -> Error {
    Error::conflict("the record file is closed")
}

fn open_database(file: Box<dyn crate::disk::DiskFile>, options: RecordFileOptions) -> Result<Database> {
    let open = || {
        redb::Builder::new()
            .set_cache_size(options.cache_bytes)
            .create_with_backend(DiskBackend::new(file))
            .map_err(|error| from_redb("open", error))
    };
    // redb may panic on damaged pages: a damaged store is an error of ours and never the end of the host.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(open)) {
        Ok(result) => result,
        Err(_) => Err(Error::new(ErrorKind::Corrupt, "records.redb is damaged and cannot be opened; restore a backup")),
    }
}
