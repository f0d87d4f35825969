//! The file below redb, and what redb sees of it after a write failed.
//!
//! Once its backend has returned an error, redb serves only reads that are in its cache. So after
//! the first failed write, growth or sync, the medium returns no more errors to redb. Later writes
//! of redb stay in memory and do not reach the file, and reads return what redb wrote. The file
//! stays as the failure left it, as after a power cut. The pages of the snapshot that was published
//! before are still read from it: redb never writes to a page that a live snapshot needs.
//!
//! What must hold:
//! - The code that commits calls [`Medium::check`] after the commit, because redb believes that it
//!   succeeded. Otherwise a lost commit would be acknowledged.
//! - No transaction begins after a failure. This bounds the memory by what one transaction writes.
//! - No snapshot is taken after a failure, because it would show the failed commit.
//!
//! A failed sync may lose earlier writes: the kernel may drop the dirty pages, and later reads
//! return the old bytes. redb reads some of its own pages at the end of a commit. So the writes
//! since the last sync are kept in memory as well, up to a bound.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::page_sums::PageSums;
use crate::disk::DiskFile;
use crate::error::{Error, Result};
use crate::value::limits::RECORD_UNSYNCED_BYTES;

/// Limit of the writes since the last sync that are kept. If a sync of more than that fails, redb
/// gets an error, and only what is in its cache can still be read.
const UNSYNCED_BYTES: usize = RECORD_UNSYNCED_BYTES;
/// Capacity that the buffer of these writes keeps between commits.
const UNSYNCED_BYTES_KEPT: usize = 1024 * 1024;
/// The unit in which writes are kept after a failure; equals redb's page size.
const PAGE_BYTES: usize = 4096;

type Page = Box<[u8; PAGE_BYTES]>;

/// The record file as redb's backend uses it.
#[derive(Debug)]
pub(in crate::records) struct Medium {
    file: Box<dyn DiskFile>,
    /// Whether `state` has a failure. Never reset.
    has_failed: AtomicBool,
    /// Bytes that redb wrote. redb writes every page that a commit takes.
    written_bytes: AtomicU64,
    /// Verifies what redb reads.
    sums: PageSums,
    state: RwLock<MediumState>,
}

#[derive(Debug, Default)]
struct MediumState {
    /// The file's length when it was last read or set.
    len: u64,
    unsynced: PendingWrites,
    /// Return errors to redb after a failure, as a plain file would.
    is_strict: bool,
    failure: Option<Failure>,
}

/// The writes since the last sync.
#[derive(Debug, Default)]
struct PendingWrites {
    /// For each write, its offset in the file and its end in `bytes`.
    places: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    /// Whether there were more writes than are kept.
    is_partial: bool,
}

#[derive(Debug)]
struct Failure {
    cause: Error,
    /// Pages that redb wrote after the failure, and pages that the failure may have lost.
    pages: BTreeMap<u64, Page>,
    /// Whether redb gets errors: because a page that it needs may be lost, or because nothing reads
    /// the file any more.
    is_refusing: bool,
}

/// What a failure loses, in addition to the operation that failed.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    None,
    /// The file did not get this length.
    Length(u64),
    /// The writes since the last sync may be lost.
    Unsynced,
}

impl Medium {
    pub(in crate::records) fn new(file: Box<dyn DiskFile>) -> Self {
        Self {
            file,
            has_failed: AtomicBool::new(false),
            written_bytes: AtomicU64::new(0),
            sums: PageSums::default(),
            state: RwLock::default(),
        }
    }

    /// A file that is only read: redb's writes stay in memory from the start. `cause` is the
    /// reason.
    pub(in crate::records) fn read_only(file: Box<dyn DiskFile>, cause: Error) -> io::Result<Self> {
        let len = file.len()?;
        let failure = Failure { cause, pages: BTreeMap::new(), is_refusing: false };
        let state = MediumState { len, failure: Some(failure), ..MediumState::default() };
        let state = RwLock::new(state);
        Ok(Self {
            file,
            has_failed: AtomicBool::new(true),
            written_bytes: AtomicU64::new(0),
            sums: PageSums::default(),
            state,
        })
    }

    // A poisoned lock only means that another thread panicked: no update below can be left
    // incomplete.
    fn state(&self) -> RwLockReadGuard<'_, MediumState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, MediumState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Returns an error once a write, a growth or a sync has failed.
    ///
    /// # Errors
    /// The first failure.
    pub(in crate::records) fn check(&self) -> Result<()> {
        if !self.has_failed() {
            return Ok(());
        }
        self.state().failure.as_ref().map_or(Ok(()), |failure| Err(failure.cause.clone()))
    }

    /// Sets whether redb gets errors after a failure. For long work that must end with the first
    /// failure, and during which nothing else reads the file.
    pub(in crate::records) fn set_strict(&self, is_strict: bool) {
        self.state_mut().is_strict = is_strict;
    }

    /// If there was a failure, returns errors to redb from now on, so that closing it does no more
    /// work.
    pub(in crate::records) fn refuse_after_failure(&self) {
        if let Some(failure) = &mut self.state_mut().failure {
            failure.is_refusing = true;
        }
    }

    /// Keeps all later writes from the file, as a failure would; `cause` is the reason. redb's
    /// writes stay in memory, or get an error if `is_refusing`.
    pub(in crate::records) fn stop_writing(&self, cause: Error, is_refusing: bool) {
        let mut state = self.state_mut();
        state.len = self.file.len().unwrap_or(state.len);
        let failure = Failure { cause, pages: BTreeMap::new(), is_refusing };
        state.failure.get_or_insert(failure).is_refusing = is_refusing;
        self.has_failed.store(true, Ordering::Release);
    }

    /// Begins to verify the pages that redb reads; see [`PageSums::learn`].
    ///
    /// # Errors
    /// `Io`.
    pub(in crate::records) fn verify_pages(&self, is_open: bool) -> Result<()> {
        self.sums.learn(&*self.file, is_open)
    }

    /// The places of the pages that were refused; `None` if no page is verified.
    pub(in crate::records) fn refused_pages(&self) -> Option<Vec<u64>> {
        self.sums.refused()
    }

    /// Tells that a page which was damaged has these bytes now, other than by a write of redb.
    ///
    /// # Errors
    /// As [`PageSums::wrote`].
    pub(in crate::records) fn mended(&self, offset: u64, page: &[u8]) -> Result<()> {
        self.sums.wrote(offset, page)
    }

    #[cfg(test)]
    pub(in crate::records) fn sums(&self) -> &PageSums {
        &self.sums
    }

    pub(in crate::records) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Bytes that redb has written so far.
    pub(in crate::records) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// The file's length when redb last read or set it.
    pub(in crate::records) fn known_len(&self) -> u64 {
        self.state().len
    }

    pub(in crate::records) fn len(&self) -> io::Result<u64> {
        if self.has_failed() {
            let state = self.state();
            state.refuse()?;
            return Ok(state.len);
        }
        let len = self.file.len()?;
        self.state_mut().len = len;
        Ok(len)
    }

    pub(in crate::records) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let again = |out: &mut [u8]| self.file.read_exact_at(out, offset);
        if !self.has_failed() {
            again(out)?;
            return self.sums.verify(offset, out, again);
        }
        let state = self.state();
        state.refuse()?;
        let mut is_from_file = true;
        let mut rest = &mut *out;
        for (number, within) in pages_of(offset, rest.len()) {
            let (part, after) = rest.split_at_mut_checked(within.len()).unwrap_or_default();
            match state.failure.as_ref().and_then(|failure| failure.pages.get(&number)) {
                Some(page) => {
                    part.copy_from_slice(page.get(within).unwrap_or_default());
                    is_from_file = false;
                }
                None => self
                    .file
                    .read_exact_at(part, number * PAGE_BYTES as u64 + within.start as u64)?,
            }
            rest = after;
        }
        if is_from_file { self.sums.verify(offset, out, again) } else { Ok(()) }
    }

    pub(in crate::records) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if let Err(damage) = self.sums.wrote(offset, data)
            && !self.has_failed()
        {
            self.stop_writing(damage, false);
        }
        if !self.has_failed() {
            match self.file.write_all_at(data, offset) {
                Ok(()) => {
                    let mut state = self.state_mut();
                    self.written_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
                    state.unsynced.push(offset, data);
                    // If another operation has failed meanwhile, this write is kept in memory too:
                    // that failure may have lost it.
                    return state.keep(&*self.file, offset, data);
                }
                Err(error) => self.fail("write", error, Loss::None)?,
            }
        }
        let mut state = self.state_mut();
        state.refuse()?;
        state.keep(&*self.file, offset, data)
    }

    pub(in crate::records) fn set_len(&self, len: u64) -> io::Result<()> {
        if !self.has_failed() {
            match self.file.set_len(len) {
                Ok(()) => {
                    self.state_mut().len = len;
                    return Ok(());
                }
                Err(error) => return self.fail("change its length", error, Loss::Length(len)),
            }
        }
        let mut state = self.state_mut();
        state.refuse()?;
        state.len = len;
        Ok(())
    }

    pub(in crate::records) fn sync(&self) -> io::Result<()> {
        if self.has_failed() {
            return self.state().refuse();
        }
        // The sync may not cover writes that other threads make while it runs. So only the writes
        // before it are dropped from `unsynced` afterwards.
        let (covered, written_bytes) = {
            let state = self.state();
            (state.unsynced.places.len(), self.written_bytes())
        };
        match self.file.sync_data() {
            Ok(()) => {
                let mut state = self.state_mut();
                let is_all = self.written_bytes() == written_bytes;
                state.unsynced.synced(covered, is_all);
                Ok(())
            }
            Err(error) => self.fail("sync", error, Loss::Unsynced),
        }
    }

    /// Records the first failure. Returns an error only if redb must not continue.
    ///
    /// The pages that the failure may have lost are kept before `has_failed` is set. Otherwise a
    /// read between the two could return the old bytes.
    fn fail(&self, attempt: &str, error: io::Error, loss: Loss) -> io::Result<()> {
        let mut state = self.state_mut();
        state.len = match loss {
            Loss::Length(len) => len,
            _ => self.file.len().unwrap_or(state.len),
        };
        if state.failure.is_none() {
            let unsynced = std::mem::take(&mut state.unsynced);
            let is_refusing = state.is_strict || (loss == Loss::Unsynced && unsynced.is_partial);
            let cause = Error::io(format!("records.redb: cannot {attempt}"), error);
            state.failure = Some(Failure { cause, pages: BTreeMap::new(), is_refusing });
            for (offset, data) in unsynced.writes() {
                state.keep(&*self.file, offset, data)?;
            }
            self.has_failed.store(true, Ordering::Release);
        }
        state.refuse()
    }

    pub(in crate::records) fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    pub(in crate::records) fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl MediumState {
    /// Returns the error that redb gets if it must not continue after a failure.
    fn refuse(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) if failure.is_refusing => Err(io::Error::other(failure.cause.clone())),
            _ => Ok(()),
        }
    }

    /// Keeps in memory what redb writes after a failure; does nothing if there was none.
    fn keep(&mut self, file: &dyn DiskFile, offset: u64, data: &[u8]) -> io::Result<()> {
        let Some(failure) = &mut self.failure else { return Ok(()) };
        let mut rest = data;
        for (number, within) in pages_of(offset, rest.len()) {
            let (part, after) = rest.split_at_checked(within.len()).unwrap_or_default();
            let page = failure.pages.entry(number).or_insert_with(|| {
                let mut page = Box::new([0; PAGE_BYTES]);
                // Only redb's header is shorter than a page, and redb reads nothing else of its
                // page. So if the page cannot be read, the rest may be zero.
                if part.len() < PAGE_BYTES
                    && file.read_exact_at(&mut *page, number * PAGE_BYTES as u64).is_err()
                {
                    page.fill(0);
                }
                page
            });
            if let Some(target) = page.get_mut(within) {
                target.copy_from_slice(part);
            }
            rest = after;
        }
        Ok(())
    }
}

impl PendingWrites {
    fn push(&mut self, offset: u64, data: &[u8]) {
        if self.is_partial {
            return;
        }
        if self.bytes.len() + data.len() > UNSYNCED_BYTES {
            *self = Self { is_partial: true, ..Self::default() };
            return;
        }
        self.bytes.extend_from_slice(data);
        self.places.push((offset, self.bytes.len()));
    }

    /// The writes in their order.
    fn writes(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut start = 0;
        self.places.iter().map(move |(offset, end)| {
            let data = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            (*offset, data)
        })
    }

    /// Drops the first `count` writes, which are durable. `is_all` says that there were no others,
    /// kept or not.
    fn synced(&mut self, count: usize, is_all: bool) {
        let end =
            count.checked_sub(1).and_then(|last| self.places.get(last)).map_or(0, |(_, end)| *end);
        self.places.drain(..count.min(self.places.len()));
        self.places.iter_mut().for_each(|(_, place_end)| *place_end -= end);
        self.bytes.drain(..end);
        self.bytes.shrink_to(UNSYNCED_BYTES_KEPT);
        self.is_partial &= !is_all;
    }
}

/// The pages of a range of the file: the number of each page, and the part of the page that is in
/// the range.
fn pages_of(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset.saturating_add(len as u64);
    let page_bytes = PAGE_BYTES as u64;
    (offset / page_bytes..end.div_ceil(page_bytes)).map(move |number| {
        let first = number * page_bytes;
        // `from` is less than the page size, and `to` at most the page size.
        let from = offset.saturating_sub(first) as usize;
        let to = (end - first).min(page_bytes) as usize;
        (number, from..to)
    })
}
