//! The file below redb, and what redb sees of it after a write failed.
//!
//! redb answers no read that is not in its cache once its backend has answered an error. So after
//! the first failed write, growth or sync no error is answered any more: what redb writes then is
//! kept in memory, nothing of it reaches the file, and what redb reads is what it wrote. So the
//! file stays as the failure left it, as after a power cut, and the pages of the snapshot that was
//! published before are still read from it: redb never writes to a page that a live snapshot needs.
//!
//! What must hold: whoever commits asks [`Medium::check`] after the commit, since redb takes it for
//! done; no transaction begins after a failure, so that what is kept is bounded by what one
//! transaction writes; and no snapshot is taken after it, since it would show the failed commit.
//!
//! A failed sync may take what was written before it: the kernel may drop the pages and read old
//! ones back. redb reads some of its own pages at the end of a commit. So what was written since
//! the last sync is held as well, up to a bound.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::disk::DiskFile;
use crate::error::{Error, Result};

/// Bytes of writes since the last sync that are held. After a failed sync of more, redb is answered
/// an error, and only what is in its cache can still be read.
const UNSYNCED_BYTES: usize = 32 * 1024 * 1024;
/// Capacity that the buffer of these writes keeps between commits.
const UNSYNCED_BYTES_KEPT: usize = 1024 * 1024;
/// The unit in which writes are kept after a failure: redb's page.
const PAGE_BYTES: usize = 4096;

type Page = Box<[u8; PAGE_BYTES]>;

/// The record file as redb's backend uses it.
#[derive(Debug)]
pub(super) struct Medium {
    file: Box<dyn DiskFile>,
    /// Whether `state` has a failure; it never goes away.
    has_failed: AtomicBool,
    /// Bytes that redb wrote. It writes each page that a commit takes.
    written_bytes: AtomicU64,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The file's length when it was last asked or set.
    len: u64,
    unsynced: Unsynced,
    /// Answers errors to redb after a failure, as a plain file would.
    is_strict: bool,
    failure: Option<Failure>,
}

/// What was written since the last sync.
#[derive(Debug, Default)]
struct Unsynced {
    /// Offsets in the file, and the end of each write in `bytes`.
    places: Vec<(u64, usize)>,
    bytes: Vec<u8>,
    /// Whether there was more than is held.
    is_partial: bool,
}

#[derive(Debug)]
struct Failure {
    cause: Error,
    /// What redb wrote after the failure, and what the failure may have taken.
    pages: BTreeMap<u64, Page>,
    /// Whether redb is answered errors: what it needs may be gone, or nobody reads any more.
    is_refusing: bool,
}

/// What a failure takes from the file, beside the write that failed.
#[derive(Clone, Copy, PartialEq)]
enum Loss {
    None,
    /// The file does not get this length.
    Length(u64),
    /// What was written since the last sync may be gone.
    Unsynced,
}

impl Medium {
    pub(super) fn new(file: Box<dyn DiskFile>) -> Self {
        Self { file, has_failed: AtomicBool::new(false), written_bytes: AtomicU64::new(0), state: RwLock::default() }
    }

    /// A file that is only read: writes of redb stay in memory from the start. `cause` is why.
    pub(super) fn read_only(file: Box<dyn DiskFile>, cause: Error) -> io::Result<Self> {
        let len = file.len()?;
        let failure = Failure { cause, pages: BTreeMap::new(), is_refusing: false };
        let state = State { len, failure: Some(failure), ..State::default() };
        let state = RwLock::new(state);
        Ok(Self { file, has_failed: AtomicBool::new(true), written_bytes: AtomicU64::new(0), state })
    }

    // Poison only tells that another thread panicked; each update below is complete or not begun.
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// Refuses once a write, a growth or a sync has failed.
    ///
    /// # Errors
    /// The first failure.
    pub(super) fn check(&self) -> Result<()> {
        if !self.has_failed() {
            return Ok(());
        }
        self.state().failure.as_ref().map_or(Ok(()), |failure| Err(failure.cause.clone()))
    }

    /// Whether redb is answered errors after a failure. For work that goes on for long whatever the
    /// disk does, and that nobody reads beside.
    pub(super) fn set_strict(&self, is_strict: bool) {
        self.state_mut().is_strict = is_strict;
    }

    /// After a failure, answers errors to redb from now on, so that closing it does nothing more.
    pub(super) fn refuse_after_failure(&self) {
        if let Some(failure) = &mut self.state_mut().failure {
            failure.is_refusing = true;
        }
    }

    /// Lets nothing reach the file any more, as after a failure; `cause` is why. What redb writes stays in
    /// memory, or is refused when `is_refusing`.
    pub(super) fn stop_writing(&self, cause: Error, is_refusing: bool) {
        let mut state = self.state_mut();
        state.len = self.file.len().unwrap_or(state.len);
        let failure = Failure { cause, pages: BTreeMap::new(), is_refusing };
        state.failure.get_or_insert(failure).is_refusing = is_refusing;
        self.has_failed.store(true, Ordering::Release);
    }

    pub(super) fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Bytes that redb wrote so far.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// The file's length when redb last asked for it or set it.
    pub(super) fn known_len(&self) -> u64 {
        self.state().len
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        if self.has_failed() {
            let state = self.state();
            state.refuse()?;
            return Ok(state.len);
        }
        let len = self.file.len()?;
        self.state_mut().len = len;
        Ok(len)
    }

    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !self.has_failed() {
            return self.file.read_exact_at(out, offset);
        }
        let state = self.state();
        state.refuse()?;
        let mut rest = out;
        for (number, within) in pages_of(offset, rest.len()) {
            let (part, after) = rest.split_at_mut_checked(within.len()).unwrap_or_default();
            match state.failure.as_ref().and_then(|failure| failure.pages.get(&number)) {
                Some(page) => part.copy_from_slice(page.get(within).unwrap_or_default()),
                None => self.file.read_exact_at(part, number * PAGE_BYTES as u64 + within.start as u64)?,
            }
            rest = after;
        }
        Ok(())
    }

    pub(super) fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if !self.has_failed() {
            match self.file.write_all_at(data, offset) {
                Ok(()) => {
                    let mut state = self.state_mut();
                    self.written_bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
                    state.unsynced.push(offset, data);
                    // Another write may have failed meanwhile.
                    return state.keep(&*self.file, offset, data);
                }
                Err(error) => self.fail("write", error, Loss::None)?,
            }
        }
        let mut state = self.state_mut();
        state.refuse()?;
        state.keep(&*self.file, offset, data)
    }

    pub(super) fn set_len(&self, len: u64) -> io::Result<()> {
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

    pub(super) fn sync(&self) -> io::Result<()> {
        if self.has_failed() {
            return self.state().refuse();
        }
        // What others write meanwhile this sync may not cover.
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

    /// Remembers the first failure. The answer is redb's: an error where it cannot go on.
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

    pub(super) fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }

    pub(super) fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl State {
    /// Answers what redb is answered when it cannot go on after a failure.
    fn refuse(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) if failure.is_refusing => Err(io::Error::other(failure.cause.clone())),
            _ => Ok(()),
        }
    }

    /// Keeps what redb writes after a failure.
    fn keep(&mut self, file: &dyn DiskFile, offset: u64, data: &[u8]) -> io::Result<()> {
        let Some(failure) = &mut self.failure else { return Ok(()) };
        let mut rest = data;
        for (number, within) in pages_of(offset, rest.len()) {
            let (part, after) = rest.split_at_checked(within.len()).unwrap_or_default();
            let page = failure.pages.entry(number).or_insert_with(|| {
                let mut page = Box::new([0; PAGE_BYTES]);
                // Only the header is less than a page, and nobody reads more of its page.
                if part.len() < PAGE_BYTES && file.read_exact_at(&mut *page, number * PAGE_BYTES as u64).is_err() {
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

impl Unsynced {
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

    /// Forgets the first `count` writes, which are durable; `is_all` when there were no others,
    /// held or not.
    fn synced(&mut self, count: usize, is_all: bool) {
        let end = count.checked_sub(1).and_then(|last| self.places.get(last)).map_or(0, |(_, end)| *end);
        self.places.drain(..count.min(self.places.len()));
        self.places.iter_mut().for_each(|(_, place_end)| *place_end -= end);
        self.bytes.drain(..end);
        self.bytes.shrink_to(UNSYNCED_BYTES_KEPT);
        self.is_partial &= !is_all;
    }
}

/// The pages that a range of the file is in: number, and the part of the page.
fn pages_of(offset: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let end = offset.saturating_add(len as u64);
    let page_bytes = PAGE_BYTES as u64;
    (offset / page_bytes..end.div_ceil(page_bytes)).map(move |number| {
        let first = number * page_bytes;
        // Both are less than a page, or its end.
        let from = offset.saturating_sub(first) as usize;
        let to = (end - first).min(page_bytes) as usize;
        (number, from..to)
    })
}
