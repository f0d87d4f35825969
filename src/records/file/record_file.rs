//! Creating, opening, reading and committing the record file.

use std::sync::Arc;

use redb::{Database, ReadableDatabase};

use super::backend::DiskBackend;
use super::bookkeeping;
use super::free_space::FreeSpace;
use super::medium::Medium;
use super::names::{OpenName, check_names};
use super::pages::{HEADER_BYTES, MAGIC, NOT_CLOSED, TWO_PHASES};
use crate::disk::{DiskFile, FileId, Mode, SharedDisk, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::records::error::from_redb;
use crate::records::journal::{Journal, Replayed};
use crate::records::row_cache::RowCache;
use crate::records::space::Table;
use crate::records::{
    Base, Change, FileTurn, Finished, FrozenLayer, Snapshot, Space, WriteTransaction,
};
use crate::value::{drop_guarded, guarded};

pub(in crate::records) const NAME: &str = "records.redb";
/// The name of a record file until it is complete. A file of this name at open is a leftover.
pub(in crate::records) const NEW_NAME: &str = "records.redb.new";

/// How the record file is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordFileOptions {
    /// Bytes of redb's page cache, and of the kept rows.
    pub(crate) cache_bytes: usize,
    /// Two syncs for each commit instead of one, so that an open after a power cut takes constant
    /// time.
    pub(crate) quick_repair: bool,
}

/// The open record file.
#[derive(Debug)]
pub(crate) struct RecordFile {
    /// `None` after it was dropped, or if it could not be reopened after a failure.
    database: Option<Database>,
    pub(in crate::records) medium: Arc<Medium>,
    pub(in crate::records) free: Arc<FreeSpace>,
    rows: Arc<RowCache>,
    pub(in crate::records) disk: SharedDisk,
    /// The identity of the open file, whatever its name is now.
    pub(in crate::records) id: FileId,
    pub(in crate::records) options: RecordFileOptions,
    /// Why the file could not be reopened after a failure.
    pub(super) lost: Option<Error>,
    /// Whether the medium refuses writes although the open redb has seen no failed commit. Its
    /// snapshots may then be read.
    pub(in crate::records) is_read_only: bool,
}

impl RecordFile {
    /// Creates a record file with the rows `first`, and its journal.
    ///
    /// The order is: the file is complete and durable under the temporary name, then it is renamed,
    /// then the directory is synced. So the final name never leads to an incomplete file.
    pub(crate) fn create(
        disk: &SharedDisk,
        options: RecordFileOptions,
        first: &[Change],
    ) -> Result<()> {
        let link = Journal::create(disk)?;
        Self::write_new(disk, options, |record_file, transaction| {
            let mut turn = FileTurn::open(transaction, record_file.base(0)?);
            turn.apply(first.iter().cloned())?;
            turn.set_link(link)?;
            turn.finish()
        })?;
        Self::name_new(disk)
    }

    /// Creates a record file without rows and without a journal under the temporary name, beside
    /// one that may have the name, and opens it. [`Self::name_new`] names it when it is complete.
    ///
    /// It names no journal, so whatever journal is beside it has no commit of it.
    pub(crate) fn create_beside(disk: &SharedDisk, options: RecordFileOptions) -> Result<Self> {
        Self::write_new(disk, options, |record_file, transaction| {
            FileTurn::open(transaction, record_file.base(0)?).finish()
        })?;
        let file = disk
            .open(NEW_NAME, Mode::ReadWrite)
            .map_err(|error| Error::io("opening records.redb.new", error))?;
        Self::open_file(disk, file, options)
    }

    /// Gives the record file with the temporary name, which is closed, complete and durable, its
    /// name. A power cut leaves either the file that had the name or the new one.
    pub(crate) fn name_new(disk: &SharedDisk) -> Result<()> {
        let failed = |attempt: &str, error| {
            Error::io(format!("creating the record file: cannot {attempt}"), error)
        };
        disk.rename(NEW_NAME, NAME).map_err(|error| failed("rename records.redb.new", error))?;
        disk.sync_dir("").map_err(|error| failed("sync the store directory", error))
    }

    /// Writes a record file under the temporary name, because redb creates a file in several steps.
    /// `fill` writes the rows, in one transaction. On return, the file is durable and closed, and
    /// redb has truncated the free pages at its end.
    pub(in crate::records) fn write_new(
        disk: &SharedDisk,
        options: RecordFileOptions,
        fill: impl FnOnce(&Self, &WriteTransaction) -> Result<Finished>,
    ) -> Result<()> {
        let failed = |attempt: &str, error| {
            Error::io(format!("creating the record file: cannot {attempt}"), error)
        };
        Self::sweep(disk)?;
        let file = disk
            .open(NEW_NAME, Mode::CreateNew)
            .map_err(|error| failed("create records.redb.new", error))?;
        let record_file = Self::over(disk, Medium::new(file), options)?;
        // Nothing else reads the file during the creation, so the first failure can end it.
        record_file.medium.set_strict(true);
        let medium = record_file.medium.clone();
        let transaction = record_file.begin()?;
        for table in Table::ALL {
            transaction.open_table(table)?;
        }
        let finished = fill(&record_file, &transaction)?;
        transaction.commit(finished)?;
        drop(record_file);
        // redb does not report a failure while it closes.
        medium.check()
    }

    /// Removes the file that an interrupted creation or rewrite left behind.
    ///
    /// # Errors
    /// `Io` if the file cannot be looked up or removed.
    pub(crate) fn sweep(disk: &SharedDisk) -> Result<()> {
        let failed = |error| {
            Error::io("removing records.redb.new, a leftover of an interrupted call", error)
        };
        remove_if_there(&**disk, NEW_NAME).map_err(failed)
    }

    /// Whether a record file exists with more rows than [`Self::create`] writes for `first`
    /// changes, or a journal with a commit.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn is_used(
        disk: &SharedDisk,
        options: RecordFileOptions,
        first: usize,
    ) -> Result<bool> {
        if Journal::is_used(disk)? {
            return Ok(true);
        }
        if !disk.exists(NAME).map_err(|error| Error::io("looking for records.redb", error))? {
            return Ok(false);
        }
        // The file stays open until the rows are counted: a snapshot cannot read a closed file.
        let record_file = Self::open(disk, options)?;
        let snapshot = record_file.snapshot(0)?;
        let rows = Space::ALL
            .iter()
            .try_fold(0, |rows, space| Ok::<_, Error>(rows + snapshot.len(*space)?))?;
        // [`Self::create`] also writes one row with the sums.
        Ok(rows > first as u64 + 1)
    }

    /// Opens the record file, repairing it after an unclean stop.
    ///
    /// # Errors
    /// `Corrupt` if the file is missing, is not a redb file, or has damaged bookkeeping pages.
    pub(crate) fn open(disk: &SharedDisk, options: RecordFileOptions) -> Result<Self> {
        let file = disk.open(NAME, Mode::ReadWrite).map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                Error::corrupt("the store has no records.redb; restore it from a backup")
            } else {
                Error::io("opening records.redb", error)
            }
        })?;
        let len =
            file.len().map_err(|error| Error::io("reading the length of records.redb", error))?;
        if len == 0 {
            return Err(Error::corrupt("records.redb is empty; restore it from a backup"));
        }
        Self::open_file(disk, file, options)
    }

    /// Opens `file` as the record file, whatever its name.
    pub(in crate::records) fn open_file(
        disk: &SharedDisk,
        file: Box<dyn DiskFile>,
        options: RecordFileOptions,
    ) -> Result<Self> {
        // Before redb reads these pages: damage there would abort the process in a later commit.
        let free_bytes = bookkeeping::check(&*file)?;
        settle(&*file).map_err(|error| Error::io("writing records.redb again", error))?;
        let medium = Medium::new(file);
        let record_file = Self::over(disk, medium, options)?;
        // `written_bytes` is passed as 0, so that whatever redb wrote during the open counts
        // against the free space.
        record_file.free.set(&record_file.medium, free_bytes, 0);
        Ok(record_file)
    }

    fn over(disk: &SharedDisk, medium: Medium, options: RecordFileOptions) -> Result<Self> {
        let id = medium
            .file()
            .file_id()
            .map_err(|error| Error::io("reading the identity of records.redb", error))?;
        let medium = Arc::new(medium);
        let rows = Arc::new(RowCache::new(options.cache_bytes));
        let database = open_database(medium.clone(), rows.clone(), options)?;
        let record_file = Self {
            database: Some(database),
            medium,
            free: Arc::default(),
            rows,
            disk: disk.clone(),
            id,
            options,
            lost: None,
            is_read_only: false,
        };
        // redb may have written while it opened the file, and the medium reports no failure to it.
        record_file.medium.check()?;
        Ok(record_file)
    }

    /// The name of the open file.
    pub(crate) fn open_name(&self) -> OpenName {
        OpenName { name: NAME, id: self.id }
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(|| self.closed())
    }

    /// A view of the last transaction; `sequence` is that of its last commit.
    ///
    /// # Errors
    /// The failure of the medium after a failed write. redb believes that the failed commit
    /// succeeded, so its newest state may never have reached the disk.
    pub(crate) fn base(&self, sequence: u64) -> Result<Arc<Base>> {
        if !self.is_read_only {
            self.medium.check()?;
        }
        // Before the read begins, see there.
        let rows = self.rows.rows();
        let transaction =
            self.database()?.begin_read().map_err(|error| from_redb("begin a read", error))?;
        Ok(Arc::new(Base::new(transaction, rows, sequence)))
    }

    /// The kept rows.
    #[cfg(test)]
    pub(in crate::records) fn rows(&self) -> &RowCache {
        &self.rows
    }

    /// A snapshot of the last transaction.
    ///
    /// # Errors
    /// As [`Self::base`].
    pub(crate) fn snapshot(&self, sequence: u64) -> Result<Snapshot> {
        Ok(Snapshot::over(self.base(sequence)?, sequence))
    }

    /// Opens the journal, and reads the commits after `sequence`, that of the record file. A record
    /// file without a journal gets one.
    ///
    /// What must hold: the files of the journal are durable with their names before the record file
    /// names them. Otherwise a power cut could leave a record file that names a journal that is not
    /// there. A record file that names none needs none, so files of a journal without it have no
    /// commit and are replaced.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub(crate) fn open_journal(&self, sequence: u64) -> Result<(Journal, Replayed)> {
        let link = match self.base(sequence)?.link()? {
            Some(link) => link,
            None => {
                let link = Journal::create(&self.disk)?;
                let synced = self.disk.sync_dir("");
                synced.map_err(|error| Error::io("creating the journal", error))?;
                self.write(|turn| turn.set_link(link))?;
                link
            }
        };
        Journal::open(&self.disk, link, sequence)
    }

    /// Moves a frozen layer into the file, in one transaction that also makes its pass live. `base`
    /// is the state of the last transaction.
    ///
    /// # Errors
    /// As [`Self::begin`] and [`WriteTransaction::commit`].
    pub(crate) fn move_layer(&self, base: &Arc<Base>, frozen: &FrozenLayer) -> Result<()> {
        let transaction = self.begin()?;
        let finished = {
            let mut turn = FileTurn::open(&transaction, base.clone());
            turn.apply_layer(&frozen.layer)?;
            turn.set_pass(frozen.pass)?;
            turn.finish()?
        };
        transaction.commit(finished)
    }

    /// Begins a write transaction; waits while another one is open.
    ///
    /// # Errors
    /// `Latched` after a failed write.
    pub(crate) fn begin(&self) -> Result<WriteTransaction> {
        self.begin_with(self.options.quick_repair)
    }

    fn begin_with(&self, quick_repair: bool) -> Result<WriteTransaction> {
        self.check_writable()?;
        let mut transaction =
            self.database()?.begin_write().map_err(|error| from_redb("begin a write", error))?;
        transaction.set_quick_repair(quick_repair);
        Ok(WriteTransaction::new(transaction, &self.medium, &self.free, &self.rows))
    }

    /// Bytes that commits can write without growing the file on the disk. Pages that were freed
    /// recently are included only after [`Self::count_free_bytes`].
    pub(crate) fn free_bytes(&self) -> u64 {
        self.free.bytes(&self.medium)
    }

    /// Whether so much was written or removed that [`Self::count_free_bytes`] may find more.
    pub(crate) fn is_free_space_stale(&self) -> bool {
        self.free.is_stale(&self.medium)
    }

    /// Counts the free pages again, by an empty commit: it makes those pages reusable that no
    /// reader needs any more, and stores which pages are free. The caller must hold the turn to
    /// write. `free_bytes` are free on the disk.
    ///
    /// # Errors
    /// As [`Self::begin`] and [`WriteTransaction::commit`].
    pub(crate) fn count_free_bytes(&self, free_bytes: u64) -> Result<()> {
        // No transaction has begun, so nothing failed. The count stays as it was, and a write that
        // needs space is refused.
        let Ok(len) = self.medium.file().len() else { return Ok(()) };
        // A commit that runs out of space would latch the store. The free pages inside the file may
        // be too scattered for the state of a region, so they do not count here.
        if free_bytes < FreeSpace::count_bytes(len) {
            return Ok(());
        }
        self.begin_with(true)?.commit(Finished::nothing_left())?;
        self.free.count(&self.medium);
        Ok(())
    }

    /// Returns an error after a failed write.
    ///
    /// # Errors
    /// `Latched`.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.medium.check().map_err(|cause| {
            let text = format!(
                "an earlier write failed ({}); close and reopen the store",
                cause.message()
            );
            Error::new(ErrorKind::Latched, text).with_source(cause)
        })
    }

    /// Runs `f` in a write transaction and commits it.
    pub(crate) fn write<T>(&self, f: impl FnOnce(&mut FileTurn<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.begin()?;
        let (value, finished) = {
            let mut turn = FileTurn::open(&transaction, self.base(0)?);
            (f(&mut turn)?, turn.finish()?)
        };
        transaction.commit(finished)?;
        Ok(value)
    }

    /// Continues the merging of index runs by a bounded amount; returns whether anything was
    /// merged.
    pub(crate) fn settle_indexes(&self, entries: u64) -> Result<bool> {
        let transaction = self.begin()?;
        let mut turn = FileTurn::open(&transaction, self.base(0)?);
        if !turn.settle_indexes(entries)? {
            return Ok(false);
        }
        let finished = turn.finish()?;
        transaction.commit(finished).map(|()| true)
    }

    /// Moves pages to the front of the file and cuts off its end. Requires that no snapshot is
    /// open.
    pub(crate) fn compact(&mut self) -> Result<bool> {
        self.alone("compact", |database| database.compact())
    }

    /// Reads every page from the medium and compares its checksum. Returns false if redb had to
    /// repair its bookkeeping. Requires that no snapshot is open.
    ///
    /// # Errors
    /// `Corrupt` if a page is damaged.
    pub(crate) fn check_pages(&mut self) -> Result<bool> {
        self.alone("verify its pages", |database| database.check_integrity())
    }

    /// The places of the damaged pages that were refused since the file was opened; `None` if the
    /// file is not in the known form, so that no page is compared with its checksum.
    pub(crate) fn refused_pages(&self) -> Option<Vec<u64>> {
        self.medium.refused_pages()
    }

    /// Runs `f` on the whole file while no snapshot is open.
    ///
    /// The medium is strict meanwhile: a failure of the disk is reported to redb and ends `f`.
    /// After that, redb reads only what is in its cache. So the file is reopened in the state on
    /// the disk, as after a kill; read-only if a write has failed.
    fn alone<E>(
        &mut self,
        attempt: &str,
        f: impl FnOnce(&mut Database) -> std::result::Result<bool, E>,
    ) -> Result<bool>
    where
        redb::Error: From<E>,
    {
        self.check_writable()?;
        let closed = self.closed();
        let database = self.database.as_mut().ok_or(closed)?;
        // As redb drops its pages.
        self.rows.clear();
        self.medium.set_strict(true);
        let outcome = guarded(attempt, || {
            f(database).map_err(|error| from_redb(attempt, redb::Error::from(error)))
        });
        self.medium.set_strict(false);
        let outcome = outcome.and_then(|done| self.medium.check().map(|()| done));
        // Unknown after `f`; it is counted again when the space matters.
        self.free = Arc::default();
        let is_fault = |error: &Error| {
            matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace | ErrorKind::Latched)
        };
        if outcome.as_ref().is_err_and(is_fault) {
            self.lost = self.open_again().err();
        }
        outcome
    }

    /// The error of a read while the file is closed.
    fn closed(&self) -> Error {
        self.lost.clone().unwrap_or_else(|| Error::conflict("the record file is closed"))
    }

    pub(super) fn open_again(&mut self) -> Result<()> {
        self.close();
        check_names(&self.disk, &[self.open_name()])?;
        let failed = |error| Error::io("reopening records.redb", error);
        let file = self.disk.open(NAME, Mode::ReadWrite).map_err(failed)?;
        let medium = match self.medium.check() {
            Ok(()) => Medium::new(file),
            Err(cause) => Medium::read_only(file, cause).map_err(failed)?,
        };
        self.is_read_only = medium.check().is_err();
        self.medium = Arc::new(medium);
        self.free = Arc::default();
        self.rows = Arc::new(RowCache::new(self.options.cache_bytes));
        let database = open_database(self.medium.clone(), self.rows.clone(), self.options)?;
        self.database = Some(database);
        Ok(())
    }

    /// Closes the file. redb writes while it closes, and may panic on damaged pages there too;
    /// `drop_guarded` catches that. No acknowledged commit depends on these writes.
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

/// Makes durable what a killed process may have left readable and not durable.
///
/// A commit of two phases, and a clean close, sync all pages before the header that names them, and
/// redb writes and syncs the header whenever it opens the file. Only a commit of one phase may have
/// left pages whose sync failed: the system takes them for written, and no later sync writes them.
/// Which ones is not known, so all are written again. redb reads all of them too in this case.
fn settle(file: &dyn DiskFile) -> std::io::Result<()> {
    const PIECE_BYTES: usize = 1 << 20;
    let len = file.len()?;
    let mut header = [0; HEADER_BYTES];
    if len < HEADER_BYTES as u64 {
        return Ok(());
    }
    file.read_exact_at(&mut header, 0)?;
    let flags = header.get(MAGIC.len()).copied().unwrap_or_default();
    if flags & NOT_CLOSED == 0 || flags & TWO_PHASES != 0 {
        return Ok(());
    }
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = 0;
    while at < len {
        let size = usize::try_from(len - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let part = piece.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at)?;
        file.write_all_at(part, at)?;
        at += size as u64;
    }
    file.sync_data()
}

fn open_database(
    medium: Arc<Medium>,
    rows: Arc<RowCache>,
    options: RecordFileOptions,
) -> Result<Database> {
    medium.verify_pages(false)?;
    let pages = medium.clone();
    let open = || {
        redb::Builder::new()
            .set_cache_size(RowCache::page_bytes(options.cache_bytes))
            .create_with_backend(DiskBackend::new(medium, rows))
            .map_err(|error| from_redb("open", error))
    };
    // redb may panic on damaged pages. `guarded` turns that into an error, so it never ends the
    // host process.
    let database = guarded("opening records.redb, which is damaged; restore a backup", open)?;
    pages.verify_pages(true)?;
    Ok(database)
}
