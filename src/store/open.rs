//! Opening, creating and closing a store.

use std::path::Path;
use std::sync::Arc;

use super::checkpoint_thread::CheckpointThread;
use super::format::{self, DirectoryKind};
use super::maintenance::MaintenanceThread;
use super::maintenance_report::MaintenanceStatus;
use super::upkeep::Upkeep;
use super::{archive, directory, lock};
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::model::VendorPrefix;
use crate::model::results::ResultRetention;
use crate::records::gate::Gate;
use crate::records::{Change, RecordFile, RecordFileOptions, Space};
use crate::services::recover_intents;
use crate::session::maintain::growth;
use crate::session::memory;
use crate::session::{
    Access, AccessPolicy, Engine, Holder, Identity, JobRunner, Session, Settings, guarded,
};
use crate::value::{Clock, ManualClock, time};

/// An open store. It is cheap to clone, and closes when the last clone and the last session are
/// dropped.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::{Identity, Store};
///
/// let store = Store::open(dir.path().join("bench-7"))?;
/// let session = store.session(Identity::user("ada"));
/// # drop(session);
/// store.close()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // First, so that the thread has stopped before the engine is dropped.
    maintenance: Option<MaintenanceThread>,
    checkpoints: Option<CheckpointThread>,
    engine: Arc<Engine>,
    upkeep: Arc<Upkeep>,
    /// Whether nothing is left to do: the text index was saved, or this is a view.
    is_saved: bool,
}

impl Inner {
    /// Starts the threads that the store has, if they are stopped.
    fn start_threads(&mut self) -> Result<()> {
        if !self.engine.settings.maintenance_thread {
            return Ok(());
        }
        if self.checkpoints.is_none() {
            self.checkpoints = Some(CheckpointThread::start(&self.engine)?);
        }
        if self.maintenance.is_none() {
            let engine = Arc::downgrade(&self.engine);
            self.maintenance = Some(MaintenanceThread::start(engine, self.upkeep.clone())?);
        }
        Ok(())
    }

    /// Waits for the work of the threads, which have the engine as well, and ends them.
    fn stop_threads(&mut self) {
        self.maintenance = None;
        self.checkpoints = None;
    }

    /// Saves the text index and moves all commits into the record file, when nobody else has the
    /// engine.
    fn close(&mut self) -> Result<()> {
        self.stop_threads();
        if Arc::strong_count(&self.engine) > 1 {
            return Err(in_use(&self.engine, 0));
        }
        if self.is_saved {
            return Ok(());
        }
        self.is_saved = true;
        // What is kept of the status is no part of what a close promises.
        let _ = self.upkeep.keeper.save();
        let saved = save_text(&self.engine);
        // The write that latched the store has told it.
        let told = |error: Error| match error.kind() {
            ErrorKind::Latched => Ok(()),
            _ => Err(error),
        };
        let moved = self.engine.close_journal().or_else(told);
        saved.map(drop).or_else(told).and(moved)
    }
}

/// Makes the text index durable.
fn save_text(engine: &Arc<Engine>) -> Result<()> {
    let session = Session::of_store(engine);
    guarded("saving the text index", || engine.search.save(&session))
}

/// The error of a call that needs the store alone. The handle of the caller is not counted.
fn in_use(engine: &Engine, store_clones: usize) -> Error {
    let held = engine.holders.list(store_clones);
    // A call of another thread may hold the store for its own time.
    let held = held.unwrap_or_else(|| "a call of another thread".to_owned());
    Error::conflict(format!("the store is still held by {held}; drop them first")).with_args([held])
}

impl Drop for Inner {
    /// Saves the text index, so that the next open has less to catch up. A failure here is
    /// harmless: the next open catches up. A store that lost its files, or that another process
    /// opened, saves nothing. The engine moves all commits into the record file when it is dropped.
    fn drop(&mut self) {
        self.stop_threads();
        if self.is_saved || self.engine.check_place().is_err() {
            return;
        }
        let _ = self.upkeep.keeper.save();
        let _ = save_text(&self.engine);
    }
}

impl Store {
    /// Opens the store in `path`. Creates it if the directory is missing or empty.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid option; `Locked`, with the owner, if another process or
    /// handle has it open; `NotAStore` if the directory contains something else, or is a file;
    /// `NewerFormat` and `OlderFormat` if this build does not read its format; `Corrupt` if it is
    /// damaged; `Io` and `NoSpace`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Options for opening a store.
    pub fn options() -> StoreOptions {
        StoreOptions::default()
    }

    /// A handle with an identity, which implements every service trait.
    #[must_use]
    pub fn session(&self, identity: Identity) -> Session {
        Session::held_by(self.inner.engine.clone(), identity, Holder::Session)
    }

    /// The id that the store got when it was created: 16 hexadecimal digits. Backups, restored
    /// stores and copies of the directory have the id of the store that they come from.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::Store;
    ///
    /// let store = Store::open(dir.path())?;
    /// assert_eq!(store.id().len(), 16);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn id(&self) -> String {
        format!("{:016x}", self.inner.engine.seed)
    }

    /// Settings of the open store.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.inner.engine.settings
    }

    /// Runs `f`, which may ask for [`Self::engine_mut`], while the threads of the store are
    /// stopped. They go on afterwards, also after an error.
    ///
    /// # Errors
    /// `Locked` in a forked process; `Conflict` while other clones of the store exist; those of
    /// `f`; `Io` if a thread cannot be started again.
    pub(super) fn without_threads<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.engine().check_process()?;
        self.inner_alone()?.stop_threads();
        let done = f(self);
        let started = self.inner_alone().and_then(Inner::start_threads);
        done.and_then(|done| started.map(|()| done))
    }

    /// The one handle of the store.
    fn inner_alone(&mut self) -> Result<&mut Inner> {
        let clones = Arc::strong_count(&self.inner) - 1;
        let engine = self.inner.engine.clone();
        Arc::get_mut(&mut self.inner).ok_or_else(|| in_use(&engine, clones))
    }

    /// Exclusive access to the engine, for operations during which nothing may read. The threads of
    /// the store have to be stopped.
    pub(super) fn engine_mut(&mut self) -> Result<&mut Engine> {
        let clones = Arc::strong_count(&self.inner) - 1;
        let engine = self.inner.engine.clone();
        let in_use = move || in_use(&engine, clones);
        let Some(inner) = Arc::get_mut(&mut self.inner) else { return Err(in_use()) };
        if Arc::strong_count(&inner.engine) > 2 {
            return Err(in_use());
        }
        drop(in_use);
        Arc::get_mut(&mut inner.engine)
            .ok_or_else(|| Error::conflict("another thread uses the store; try again"))
    }

    /// Makes the text index durable, unless this is a view.
    pub(super) fn save_text(&self) -> Result<()> {
        if self.inner.is_saved { Ok(()) } else { save_text(&self.inner.engine) }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.inner.engine
    }

    /// Closes the store: stops its maintenance, saves the text index, and releases the directory,
    /// which can be opened again then. Every acknowledged write is durable before that.
    ///
    /// A store that is dropped instead is closed in the same way with the last of its handles, and
    /// reports no error.
    ///
    /// # Errors
    /// `Conflict` while another handle is alive, with the kinds of handles and their numbers:
    /// clones of the store, sessions, change streams, writers of content. The call does not wait;
    /// the store is closed with the last of them. The errors of saving the text index, such as
    /// `Io`: the store is closed, and the next open catches up.
    /// `Latched` if the directory or its record file was moved, removed or replaced while the store
    /// was open: follow the message before you open the store again. `Locked` in a forked process,
    /// which closes nothing. The handle is consumed in any case.
    pub fn close(self) -> Result<()> {
        self.engine().check_place()?;
        let engine = self.inner.engine.clone();
        let clones = Arc::strong_count(&self.inner) - 1;
        let Some(mut inner) = Arc::into_inner(self.inner) else {
            return Err(in_use(&engine, clones));
        };
        drop(engine);
        inner.close()
    }

    /// Whether this is a private copy of a store, which may have commits that are not durable.
    pub(super) fn is_view(&self) -> bool {
        self.inner.upkeep.keeper.is_view()
    }

    /// What the maintenance thread has done since the store was opened.
    pub(super) fn maintenance(&self) -> MaintenanceStatus {
        let status = crate::session::lock(&self.inner.upkeep.maintenance).clone();
        MaintenanceStatus { is_enabled: self.inner.maintenance.is_some(), ..status }
    }

    pub(super) fn upkeep(&self) -> &Upkeep {
        &self.inner.upkeep
    }
}

/// Options for opening a store. [`Settings`] documents the defaults.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct StoreOptions {
    settings: Settings,
    /// Whether a store that is not there is refused instead of created.
    must_exist: bool,
    /// Whether the store is a private copy that takes no writes.
    is_view: bool,
    /// Whether a copy is opened to be checked, with a clock of its own: its status keeps nothing.
    is_check: bool,
}

macro_rules! option {
    ($($(#[$meta:meta])* $name:ident: $ty:ty;)*) => {
        $($(#[$meta])*
        pub fn $name(mut self, $name: $ty) -> Self {
            self.settings.$name = $name;
            self
        })*
    };
}

impl StoreOptions {
    option! {
        /// Days before its due date in which a calibration counts as approaching.
        calibration_warning_days: u32;
        /// Seconds after its last heartbeat in which a running utilization counts as in use.
        utilization_timeout_s: u32;
        /// Bytes up to which file contents are stored in the record file.
        small_blob_bytes: usize;
        /// Largest file in bytes.
        file_bytes_max: Option<u64>;
        /// Days after its last chunk after which an upload session expires; `None` for never.
        upload_session_days: Option<u32>;
        /// Limit of the rows in the buffer of a table before it is sealed into a segment. For the
        /// steps of results it is 8,192 at most.
        seal_rows: u64;
        /// Limit of the bytes in the buffer of a table before it is sealed into a segment.
        seal_bytes: u64;
        /// Limit of the columns of one table.
        table_columns_max: usize;
        /// Limit of the rows of one table.
        table_rows_max: u64;
        /// Limit of the memory of one query in bytes.
        query_memory_bytes: usize;
        /// Limit of the memory of the store in bytes: its parts, caches and calls together.
        memory_budget_bytes: u64;
        /// Bytes of the record file's cache: at most three quarters for its pages, the rest for
        /// records that are read by their ids again and again.
        record_cache_bytes: usize;
        /// Free bytes of the disk below which writes are refused, so that deletes still have space.
        reserve_bytes: u64;
        /// Whether records may be put into registered workspaces only, also while none is
        /// registered.
        require_registered_workspaces: bool;
        /// Whether a test result whose part number no product has creates the product.
        results_create_products: bool;
        /// Bytes of commits that wait in memory and in the journal for a checkpoint.
        memory_table_bytes: usize;
        /// Two syncs for each commit of a store without a memory table.
        quick_repair: bool;
        /// Bytes in use up to which maintenance rewrites the record file if more than nine
        /// sixteenths of it are free; 0 for never.
        record_rewrite_bytes_max: u64;
        /// Milliseconds for which a transaction may hold the write turn.
        transaction_hold_ms: u64;
        /// Whether a thread seals, merges and removes files in the background.
        maintenance_thread: bool;
        /// Days from the begin of one scrub to that of the next; 0 for never.
        scrub_days: u32;
        /// Most bytes that a scrub reads in a second.
        scrub_bytes_per_s: u64;
        /// Most bytes of the archive of commits; 0 turns it off.
        archive_bytes: Option<u64>;
        /// Entries of the change log that are kept also for readers without a hold.
        log_entries_max: u64;
        /// Milliseconds for which a subscriber without bounds of its own holds the change log.
        subscriber_hold_ms: u64;
        /// Bytes of the change log that a subscriber without bounds of its own holds.
        subscriber_hold_bytes: u64;
        /// Whether full-text search ignores diacritics: `grosse` finds `Größe`.
        search_folds_diacritics: bool;
        /// Seed of the store's identity, for repeatable ids in tests.
        seed: Option<u64>;
    }

    /// Which test results maintenance keeps. It deletes the others, with their steps, and with the
    /// tables and files that only they name. [`open`](Self::open) refuses a policy that
    /// [`apply_result_retention`](crate::results::ResultService::apply_result_retention) refuses.
    pub fn result_retention(mut self, retention: ResultRetention) -> Self {
        self.settings.result_retention = Some(retention);
        self
    }

    /// The vendor prefix of asset members, platforms and package extensions: ASCII letters and
    /// digits, beginning with a letter.
    pub fn vendor_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.vendor_prefix = prefix.into();
        self
    }

    /// The workspace of records that are created without one.
    pub fn default_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.settings.default_workspace = workspace.into();
        self
    }

    /// The clock of the store.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.settings.clock = Arc::new(clock);
        self
    }

    /// The clock of the store, shared with the caller.
    pub fn shared_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = clock;
        self
    }

    /// The access policy: who may do what.
    pub fn access_policy(mut self, policy: impl AccessPolicy) -> Self {
        self.settings.policy = Arc::new(policy);
        self
    }

    /// The runner of the jobs and notebooks of work items.
    pub fn job_runner(mut self, runner: impl JobRunner) -> Self {
        self.settings.runner = Arc::new(runner);
        self
    }

    /// The runner of the jobs and notebooks of work items, shared with the caller.
    pub fn shared_job_runner(mut self, runner: Arc<dyn JobRunner>) -> Self {
        self.settings.runner = runner;
        self
    }

    /// Whether a store is created if the directory is missing or empty; true without this call.
    ///
    /// With false, a mistyped path is refused: with `NotFound` if there is no directory, and with
    /// `NotAStore` if it contains no store.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::{ErrorKind, Store};
    ///
    /// let options = Store::options().create(false);
    /// let error = options.open(directory.path().join("statoin")).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn create(mut self, create: bool) -> Self {
        self.must_exist = !create;
        self
    }

    /// Replaces all settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Opens the store in `path`. Creates it if the directory is missing or empty.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        VendorPrefix::new(&self.settings.vendor_prefix)?;
        memory::budget(&self.settings)?;
        let path = path.as_ref();
        let attempt = format!("opening the store in {}", path.display());
        let disk = if self.must_exist {
            directory::existing(path, &attempt)?
        } else {
            directory::made(path, &attempt)?
        };
        self.open_on(disk).map_err(|error| error.context(attempt))
    }

    /// Options for opening a private copy of a store, see [`Store::look`].
    pub(super) fn for_view(mut self) -> Self {
        self.settings.maintenance_thread = false;
        self.must_exist = true;
        self.is_view = true;
        self
    }

    /// Options for opening a copy that was just made, to check it: nothing expires, and the status
    /// keeps nothing.
    ///
    /// The caller that opens the store later decides how long upload sessions are kept. The clock
    /// is at its minimum, so that the open writes no time later than the records: a store's time
    /// never goes back.
    pub(super) fn for_check() -> Self {
        let clock = ManualClock::new(time::from_millis(time::MIN_MS));
        let options = Self { is_check: true, ..Self::default() };
        options.maintenance_thread(false).upload_session_days(None).clock(clock)
    }

    /// Opens the store on a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::open`].
    #[cfg(any(test, feature = "faults"))]
    pub fn open_disk(self, disk: SharedDisk) -> Result<Store> {
        self.open_on(disk)
    }

    /// Opens the store on a disk.
    pub(crate) fn open_on(self, disk: SharedDisk) -> Result<Store> {
        #[cfg(any(test, feature = "faults"))]
        let disk = crate::disk::as_asked(disk)
            .map_err(|error| Error::io("choosing the disk of the tests", error))?;
        guarded("opening the store", || self.open_unguarded(disk))
    }

    /// Opens the store; panics of redb are caught by the caller.
    ///
    /// What must hold:
    /// - `probe` runs before anything is created, so that a foreign directory stays unchanged. It
    ///   runs again under the lock, because another process may have created the store meanwhile.
    /// - FORMAT is raised before anything is written to an existing store, so that an older build
    ///   refuses what this one writes.
    /// - Leftover files are removed before the first session starts, while no reader can need them.
    /// - Intents are recovered before the caller gets the store, so that an execution with an
    ///   unknown outcome is recorded before another one can start.
    fn open_unguarded(self, disk: SharedDisk) -> Result<Store> {
        VendorPrefix::new(&self.settings.vendor_prefix)?;
        memory::budget(&self.settings)?;
        self.settings.result_retention.as_ref().map_or(Ok(()), ResultRetention::check)?;
        // Before anything is created, so that a directory that is not a store stays unchanged.
        let is_new = format::probe(&disk)? == DirectoryKind::Empty;
        if is_new && self.must_exist {
            return Err(Error::new(
                ErrorKind::NotAStore,
                "the directory contains no store, and none was to be created; check the path, or \
                 open it without create(false)",
            ));
        }
        let lock = lock::acquire(&disk, is_new)?;
        let options = RecordFileOptions {
            cache_bytes: self.settings.record_cache_bytes,
            // Without a memory table each commit is one of the record file.
            quick_repair: self.settings.quick_repair || self.settings.memory_table_bytes > 0,
        };
        if format::probe(&disk)? == DirectoryKind::Empty {
            create(&disk, options, self.settings.seed)?;
        }
        // Nobody copies what is repaired and removed here.
        let gate = Gate::open(&disk)?;
        let shut = gate.shut()?;
        format::raise(&disk)?;
        directory::remove_abandoned_views(&disk);
        RecordFile::sweep(&disk)?;
        let records = RecordFile::open(&disk, options)?;
        let (is_view, keeps_nothing) = (self.is_view, self.is_view || self.is_check);
        let engine = Arc::new(Engine::start(self.settings, disk, records, lock)?);
        let swept = crate::services::sweep_contents(&engine)
            .and_then(|_| crate::session::tables::sweep(&engine));
        // Also after an error: the engine that is dropped then shuts its own gate, and would wait
        // for this one.
        drop(shut);
        swept?;
        let upkeep = Upkeep::open(&engine.disk, keeps_nothing, engine.clock_now());
        let upkeep = Arc::new(upkeep);
        if is_view {
            return Self::view(engine, upkeep);
        }
        if !keeps_nothing {
            archive::open(&engine, engine.settings.archive_bytes)?;
        }
        let has_threads = engine.settings.maintenance_thread;
        let checkpoints = has_threads.then(|| CheckpointThread::start(&engine)).transpose()?;
        engine.resume_checkpoint()?;
        let session = Session::of_store(&engine);
        growth::begin(&session)?;
        session.write(recover_intents)?;
        crate::services::expire_upload_sessions(&session)?;
        drop(session);
        let maintenance = None;
        let mut inner = Inner { maintenance, checkpoints, engine, upkeep, is_saved: false };
        inner.start_threads()?;
        Ok(Store { inner: Arc::new(inner) })
    }

    /// The store of a private copy. Its records stay as they are: what the owner is about to do is
    /// not an interrupted work here.
    fn view(engine: Arc<Engine>, upkeep: Arc<Upkeep>) -> Result<Store> {
        growth::begin(&Session::of_store(&engine))?;
        engine.refuse_writes();
        let inner = Inner { maintenance: None, checkpoints: None, engine, upkeep, is_saved: true };
        Ok(Store { inner: Arc::new(inner) })
    }
}

fn create(disk: &SharedDisk, options: RecordFileOptions, seed: Option<u64>) -> Result<()> {
    let mut random = [0; 40];
    getrandom::fill(&mut random).map_err(|error| {
        Error::new(ErrorKind::Io, format!("generating the identity of the store: {error}"))
    })?;
    let (seed_bytes, token_key) = random.split_at(8);
    let seed = seed
        .unwrap_or_else(|| seed_bytes.iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte)));
    let mut key = [0; 32];
    key.iter_mut().zip(token_key).for_each(|(target, byte)| *target = *byte);
    let (format_key, format_row) = growth::format_row();
    let first = [
        Engine::identity_row(seed, key),
        Change::Put { space: Space::Meta, key: format_key, value: format_row },
    ];
    // A store whose FORMAT was lost looks like an interrupted creation, and must not be
    // overwritten.
    if RecordFile::is_used(disk, options, first.len())? {
        return Err(Error::corrupt(
            "FORMAT is missing, and records.redb contains records; restore the store from a backup",
        ));
    }
    RecordFile::create(disk, options, &first)?;
    format::write(disk, seed)
}
