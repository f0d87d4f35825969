//! The state that all sessions of one open store share: the engines, the published snapshot, the
//! latch, the commit sequence and the store's time.

pub(crate) mod archive;
mod archiving;
mod checkpoint;
mod growing;
mod health;
mod latch;
pub(crate) mod memory;
mod moving;
mod planned;
mod sync;
pub(in crate::session) mod turns;
#[cfg(test)]
mod turns_tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, Weak};
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::access::holders::Holders;
use super::access::options::Settings;
use super::access::readers::Readers;
use super::feed::log_sizes::LogSizes;
use super::lock::lock;
use super::outbox::SearchOutbox;
use super::tables::TableCache;
use crate::blobs::BlobStore;
use crate::disk::{DiskFile, Owner, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::gate::Gate;
use crate::records::{Change, Journal, ReadSource, RecordFile, Snapshot, Space, check_names};
use crate::value::budget::Budget;
use crate::value::{Latencies, guarded, limits, time, trace};

use growing::Growing;
pub(crate) use health::Health;
pub(crate) use moving::Checkpoints;
pub(in crate::session) use planned::{Planned, Room};
use turns::Turns;

const STATE_KEY: &[u8] = b"state";
/// By how much a clock is set back without being called wrong before.
const CORRECTION_MS: i64 = 60_000;

/// The shared state of one open store.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) settings: Settings,
    pub(crate) disk: SharedDisk,
    /// Contents of files and packages.
    pub(crate) blobs: BlobStore,
    /// Locked for writing only while a rewrite replaces the record file.
    pub(super) records: RwLock<RecordFile>,
    /// Only the holder of the write turn uses it.
    journal: Mutex<Journal>,
    pub(crate) checkpoints: Arc<Checkpoints>,
    /// The archive of commits; off until [`Self::open_archive`].
    archive: archive::Archive,
    /// The queue of writers.
    pub(in crate::session) turns: Arc<Turns<Planned, ()>>,
    /// Seed of generated ids; drawn when the store was created.
    pub(crate) seed: u64,
    /// Key of continuation tokens; drawn when the store was created.
    pub(crate) token_key: [u8; 32],
    pub(crate) search: SearchOutbox,
    pub(crate) tables: TableCache,
    /// The budget of memory.
    pub(crate) memory: Arc<Budget>,
    /// Whether any index is still being filled.
    pub(crate) growth: Growing,
    /// How much of the change log comes after a position.
    pub(crate) log_sizes: LogSizes,
    /// The handles that keep the store open.
    pub(crate) holders: Arc<Holders>,
    /// Who holds an older state of the store.
    pub(crate) readers: Arc<Readers>,
    /// How long writes took, from the call to the answer.
    pub(in crate::session) commit_latency: Latencies,
    pub(super) published: RwLock<Arc<Snapshot>>,
    /// The snapshots that readers may still hold, the published one among them.
    pub(super) live: Mutex<VecDeque<Weak<Snapshot>>>,
    sequence: AtomicU64,
    time_ms: AtomicI64,
    commits: (Mutex<u64>, Condvar),
    /// Sequence of the oldest state of the record file that a reader held when free pages were last
    /// counted; `u64::MAX` if it was the newest one.
    pub(super) held_back: AtomicU64,
    /// Whether a rewrite of the record file has failed.
    pub(super) has_rewrite_failed: AtomicBool,
    /// When maintenance looks again for results that their retention does not keep, in milliseconds
    /// since 1970 UTC.
    pub(crate) results_due_ms: AtomicI64,
    /// The process that opened the store.
    owner: Owner,
    /// Shut while the record file is written and while files are removed.
    pub(crate) gate: Gate,
    // Declared last, so that it is dropped last: the lock must not be released before the record
    // file is closed.
    _lock: Box<dyn DiskFile>,
}

impl Engine {
    /// Takes the open record file, replays its journal, and reads sequence, time and identity.
    pub(crate) fn start(
        settings: Settings,
        disk: SharedDisk,
        records: RecordFile,
        lock: Box<dyn DiskFile>,
    ) -> Result<Self> {
        let (journal, published, time_ms, seed, token_key) =
            guarded("opening the record file", || {
                let base = records.base(0)?;
                let held = Snapshot::over(base, 0);
                // Reports damage now instead of at the first read of the damaged table.
                held.open_all()?;
                let state = |snapshot: &Snapshot| match ReadSource::Snapshot(snapshot)
                    .get(Space::Meta, STATE_KEY)?
                {
                    Some(bytes) => read_state(&bytes),
                    None => Ok((0, time::MIN_MS)),
                };
                let (journal, replayed) = records.open_journal(state(&held)?.0)?;
                // A record file without a journal got one meanwhile.
                let held = Snapshot::over(records.base(state(&held)?.0)?, 0);
                let snapshot = replayed.over(&held, journal.pass());
                let (sequence, time_ms) = state(&snapshot)?;
                if sequence != snapshot.sequence {
                    return Err(Error::corrupt(
                        "the journal and records.redb disagree about the last commit; restore the \
                     store from a backup",
                    ));
                }
                let source = ReadSource::Snapshot(&snapshot);
                let identity = source.get(Space::Meta, b"identity")?;
                let (seed, token_key) = identity
                    .as_deref()
                    .and_then(|bytes| {
                        let (seed, key) = bytes.split_first_chunk::<8>()?;
                        Some((u64::from_be_bytes(*seed), <[u8; 32]>::try_from(key).ok()?))
                    })
                    .ok_or_else(|| {
                        Error::corrupt(
                            "records.redb has no store identity; restore it from a backup",
                        )
                    })?;
                Ok((journal, snapshot, time_ms, seed, token_key))
            })?;
        let sequence = published.sequence;
        let published = Arc::new(published);
        let search = SearchOutbox::new(&settings);
        let memory = Arc::new(memory::budget(&settings)?);
        let tables = TableCache::default();
        memory.set_caches(tables.switch());
        Ok(Self {
            settings,
            blobs: BlobStore::open(disk.clone())?,
            gate: Gate::open(&disk)?,
            disk,
            records: RwLock::new(records),
            journal: Mutex::new(journal),
            checkpoints: Arc::default(),
            archive: archive::Archive::default(),
            turns: Arc::default(),
            seed,
            token_key,
            search,
            tables,
            memory,
            growth: Growing::default(),
            log_sizes: LogSizes::default(),
            holders: Arc::default(),
            readers: Arc::default(),
            commit_latency: Latencies::default(),
            live: Mutex::new(VecDeque::from([Arc::downgrade(&published)])),
            published: RwLock::new(published),
            sequence: AtomicU64::new(sequence),
            time_ms: AtomicI64::new(time_ms),
            commits: (Mutex::new(sequence), Condvar::new()),
            held_back: AtomicU64::new(u64::MAX),
            has_rewrite_failed: AtomicBool::new(false),
            results_due_ms: AtomicI64::new(i64::MIN),
            owner: Owner::current(),
            _lock: lock,
        })
    }

    /// Read access to the open record file.
    pub(super) fn records(&self) -> RwLockReadGuard<'_, RecordFile> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places in the record file of damaged pages that were refused since it was opened;
    /// `None` if its pages are not verified when they are read.
    pub(crate) fn refused_pages(&self) -> Option<Vec<u64>> {
        self.records().refused_pages()
    }

    /// The identity row of a new store.
    pub(crate) fn identity_row(seed: u64, token_key: [u8; 32]) -> Change {
        let mut value = seed.to_be_bytes().to_vec();
        value.extend_from_slice(&token_key);
        Change::Put { space: Space::Meta, key: b"identity".to_vec(), value }
    }

    /// The snapshot of the last published commit.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until a commit after `sequence` is published or the timeout passes. Returns the newest
    /// sequence.
    pub(crate) fn wait_for_commit(&self, sequence: u64, timeout: Duration) -> u64 {
        let newest = lock(&self.commits.0);
        let (newest, _) = self
            .commits
            .1
            .wait_timeout_while(newest, timeout, |newest| *newest <= sequence)
            .unwrap_or_else(PoisonError::into_inner);
        *newest
    }

    /// The sequence of the oldest snapshot that a reader still holds.
    pub(crate) fn oldest_live_sequence(&self) -> u64 {
        let live = lock(&self.live);
        live.iter()
            .filter_map(Weak::upgrade)
            .map(|snapshot| snapshot.sequence)
            .min()
            .unwrap_or_else(|| self.sequence.load(Ordering::SeqCst))
    }

    /// The sequence of the oldest state of the record file that a reader still holds.
    fn oldest_live_base(&self) -> u64 {
        let live = lock(&self.live);
        let bases = live.iter().filter_map(Weak::upgrade).map(|snapshot| snapshot.base().sequence);
        bases.min().unwrap_or_else(|| self.sequence.load(Ordering::SeqCst))
    }

    /// The sequence number of the last commit. Stable only for the holder of the write turn.
    pub(in crate::session) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::SeqCst)
    }

    /// Sets the sequence number of the last commit.
    fn set_sequence(&self, sequence: u64) {
        self.sequence.store(sequence, Ordering::SeqCst);
    }

    /// The store's time: the clock, but never before a time that was returned earlier.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        let clock = self.settings.clock.now().timestamp_millis().clamp(time::MIN_MS, time::MAX_MS);
        let before = self.time_ms.fetch_max(clock, Ordering::SeqCst);
        time::from_millis(before.max(clock))
    }

    /// What the clock says, also if that goes back.
    pub(crate) fn clock_now(&self) -> DateTime<Utc> {
        let clock = self.settings.clock.now().timestamp_millis();
        time::from_millis(clock.clamp(time::MIN_MS, time::MAX_MS))
    }

    /// The time that the clock once had and the store still has, if it is ahead of the clock by
    /// more than clocks are corrected by.
    pub(crate) fn time_ahead(&self) -> Option<DateTime<Utc>> {
        let clock = self.settings.clock.now().timestamp_millis();
        let time = self.time_ms.load(Ordering::SeqCst);
        (time.saturating_sub(clock) > CORRECTION_MS).then(|| time::from_millis(time))
    }

    /// Makes the clock the store's time, also if that goes back.
    pub(crate) fn take_clock(&self) {
        let clock = self.settings.clock.now().timestamp_millis().clamp(time::MIN_MS, time::MAX_MS);
        self.time_ms.store(clock, Ordering::SeqCst);
    }

    /// The row that keeps sequence and time across a restart.
    pub(in crate::session) fn state_row(&self, sequence: u64) -> Change {
        let mut value = sequence.to_be_bytes().to_vec();
        value.extend_from_slice(&self.time_ms.load(Ordering::SeqCst).to_be_bytes());
        Change::Put { space: Space::Meta, key: STATE_KEY.to_vec(), value }
    }

    /// Reads every page of the record file and compares its checksum. Returns false when something
    /// was repaired. `&mut self`: no other user of the engine exists.
    pub(crate) fn check_pages(&mut self) -> Result<bool> {
        self.without_readers(RecordFile::check_pages)
    }

    pub(super) fn without_readers<T>(
        &mut self,
        f: impl FnOnce(&mut RecordFile) -> Result<T>,
    ) -> Result<T> {
        self.turns.latch.check()?;
        self.checkpoint()?;
        // Nobody else has the engine, so this gate and the engine's own do not meet.
        let gate = Gate::open(&self.disk)?;
        let _shut = gate.shut()?;
        let records = self.records.get_mut().unwrap_or_else(PoisonError::into_inner);
        // After a failed write, only the published snapshot can still be read: keep it.
        records.check_writable()?;
        let sequence = self.sequence.load(Ordering::SeqCst);
        // The published snapshot counts as a reader and would block `f`. It is dropped here, and a
        // new one is published afterwards.
        let held = self.published.get_mut().unwrap_or_else(PoisonError::into_inner);
        *held = Arc::new(Snapshot::empty(sequence));
        // Publishes whatever `f` returned: readers need a snapshot again.
        let outcome = guarded("working on the whole record file", || f(records));
        let published = self.latching("publishing after work on the whole record file", || {
            let base = self.records().base(sequence)?;
            self.publish_as(|_| Snapshot::over(base, sequence), None);
            self.count_free_pages_alone()
        });
        // The error of `f` comes first: it names the cause.
        let done = outcome?;
        published.map(|()| done)
    }

    /// Returns an error in every process but the one that opened the store. Takes no lock: in a
    /// forked child, a lock may be held forever by a thread that the child does not have.
    ///
    /// # Errors
    /// `Locked` in a forked process.
    pub(crate) fn check_process(&self) -> Result<()> {
        self.owner.check().map_err(|error| {
            Error::new(
                ErrorKind::Locked,
                format!(
                    "the store is open in another process: {error}; open it here after it is \
                         closed there"
                ),
            )
            .with_source(error)
        })
    }

    /// Returns an error, and sets the latch, when the store's names no longer lead to its open
    /// files: its directory or its record file was moved, removed or replaced. Called right before
    /// a commit, and before files are removed by name.
    ///
    /// # Errors
    /// `Locked` in a forked process; `Latched` when the files were moved or replaced; `Io` when
    /// that cannot be determined.
    pub(crate) fn check_place(&self) -> Result<()> {
        self.check_process()?;
        let [one, other] = lock(&self.journal).open_names();
        let names = [self.records().open_name(), one, other];
        check_names(&self.disk, &names).inspect_err(|error| {
            // An `Io` error proves no loss, so it does not set the latch.
            if error.kind() == ErrorKind::Latched {
                self.set_latch(error);
            }
        })
    }

    /// Returns `NoSpace` when the disk is almost full. The reserve is kept for deletes and
    /// maintenance.
    pub(crate) fn check_space(&self, wanted_bytes: u64) -> Result<()> {
        self.check_room(wanted_bytes, || 0).map(drop)
    }

    /// As [`Self::check_space`], for bytes that go into the record file: its free pages count too,
    /// and the commits that it does not have yet need space as well. Returns the free bytes of the
    /// disk, if it reports them.
    pub(crate) fn check_record_space(&self, wanted_bytes: u64) -> Result<Option<u64>> {
        let pending = self.snapshot().pending_bytes() as u64;
        self.check_room(wanted_bytes.saturating_add(pending), || self.records().free_bytes())
    }

    fn check_room(
        &self,
        wanted_bytes: u64,
        free_within: impl FnOnce() -> u64,
    ) -> Result<Option<u64>> {
        let Some(free) = self.disk_free_bytes()? else { return Ok(None) };
        let reserve = self.settings.reserve_bytes;
        let needed = reserve.saturating_add(wanted_bytes);
        // A quarter of the reserve must be free on the disk itself, however many pages are free
        // within the file: some file systems allocate new blocks for overwritten data, and redb may
        // have to grow the file for a value that fits into no free range of pages.
        if free >= needed || (free >= reserve / 4 && free.saturating_add(free_within()) >= needed) {
            return Ok(Some(free));
        }
        Err(Error::new(
            ErrorKind::NoSpace,
            format!(
                "the disk has {free} bytes left, and {wanted_bytes} are needed in addition to the \
                 reserve of {reserve}; delete something, or free space on the disk"
            ),
        ))
    }

    pub(crate) fn disk_free_bytes(&self) -> Result<Option<u64>> {
        self.disk.free_bytes().or_else(|error| {
            self.check_place()?;
            Err(Error::io("reading the free space of the disk", error))
        })
    }

    /// Counts the free pages of the record file again, if the disk is almost full and the last
    /// count is stale. Does nothing while a checkpoint is under way, which counts them itself.
    ///
    /// # Errors
    /// Those of a commit; the store then accepts no further writes.
    pub(in crate::session) fn count_free_pages(&self) -> Result<()> {
        if !self.is_free_space_stale() {
            return Ok(());
        }
        let counted = match self.try_hold_record_file()? {
            Some(_moving) => self.count_free_pages_alone(),
            None => Ok(()),
        };
        counted.inspect_err(|error| self.set_latch(error))
    }

    /// As [`Self::count_free_pages`], by the holder of the lock `moving`.
    fn count_free_pages_alone(&self) -> Result<()> {
        /// The most that one commit is expected to write.
        const COMMIT_BYTES: u64 = 2 * limits::BATCH_BYTES as u64;
        if !self.is_free_space_stale() {
            return Ok(());
        }
        match self.disk_free_bytes() {
            Ok(Some(free)) if free < self.settings.reserve_bytes.saturating_add(COMMIT_BYTES) => {
                self.count_free_pages_now(free)
            }
            // A disk that does not report its free space refuses nothing. An error of the disk is
            // returned to the plan that needs space.
            _ => Ok(()),
        }
    }

    /// Whether a new count of the free pages may find more than the last one.
    pub(super) fn is_free_space_stale(&self) -> bool {
        // Pages that a reader held back at the last count may be free by now.
        let held_back = self.held_back.load(Ordering::SeqCst);
        let has_moved = held_back < u64::MAX && held_back < self.oldest_live_base();
        has_moved || self.records().is_free_space_stale()
    }

    /// Counts the free pages of the record file; `disk_free_bytes` are free on the disk. Only the
    /// holder of the lock `moving` may call it.
    ///
    /// # Errors
    /// Those of a commit; the store then accepts no further writes.
    pub(super) fn count_free_pages_now(&self, disk_free_bytes: u64) -> Result<()> {
        let oldest = self.oldest_live_base();
        let held_back = if oldest < self.snapshot().base().sequence { oldest } else { u64::MAX };
        self.held_back.store(held_back, Ordering::SeqCst);
        guarded("counting free pages", || self.records().count_free_bytes(disk_free_bytes))
    }

    /// Refuses a call that would wait for a transaction of its own thread.
    ///
    /// # Errors
    /// `Conflict`.
    pub(crate) fn refuse_in_transaction(&self) -> Result<()> {
        self.turns.refuse_leader()
    }

    /// Refuses every write from now on: the store is a view of one that another process may have.
    pub(crate) fn refuse_writes(&self) {
        self.turns.latch.set(&Error::new(
            ErrorKind::Unsupported,
            "the store was opened to look into it, so that nothing can be written; close it, and \
             open the store with Store::open",
        ));
    }

    /// Runs `f`; an error or a panic sets the latch.
    pub(in crate::session) fn latching<T>(
        &self,
        what: &str,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        guarded(what, f).inspect_err(|error| self.set_latch(error))
    }

    /// Refuses every write from now on, until the store is reopened. The first cause is kept.
    pub(crate) fn set_latch(&self, cause: &Error) {
        if self.turns.latch.set(cause) {
            trace::background_error("writing; the store refuses writes from now on", cause);
        }
    }
}

impl Drop for Engine {
    /// Removes the empty files that wait for content, and moves all commits into the record file,
    /// so that the next open has nothing to replay. A failure is harmless: they stay in the
    /// journal. A store that lost its files, or that another process opened, moves nothing.
    fn drop(&mut self) {
        if self.check_process().is_ok() {
            self.blobs.remove_ready();
        }
        let _ = guarded("closing the journal", || self.close_journal());
        // redb writes the record file when it is closed, right after this.
        if self.check_process().is_ok() {
            let _ = self.gate.shut_for_good();
        }
    }
}

fn read_state(bytes: &[u8]) -> Result<(u64, i64)> {
    let damaged =
        || Error::corrupt("records.redb: the state row is damaged; restore it from a backup");
    let (sequence, time_ms) = bytes.split_first_chunk::<8>().ok_or_else(damaged)?;
    let time_ms = <[u8; 8]>::try_from(time_ms).map_err(|_| damaged())?;
    Ok((u64::from_be_bytes(*sequence), i64::from_be_bytes(time_ms)))
}
