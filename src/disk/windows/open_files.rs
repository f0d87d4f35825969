//! The open handles of a disk, and what they refuse.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use super::{Refusal, Removal, names, refused};
use crate::disk::Mode;

/// One opening of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Handle(u64);

/// What a handle has open, and how.
#[derive(Debug)]
struct Open {
    /// The name of the file now; `None` when it has none any more.
    path: Option<String>,
    /// Whether others may remove and rename the file.
    shares_removal: bool,
    /// Whether it was opened for writing.
    writes: bool,
    lock: Option<Lock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Exclusive,
    Shared,
}

#[derive(Debug)]
pub(super) struct OpenFiles {
    removal: Removal,
    next: u64,
    handles: BTreeMap<Handle, Open>,
    /// Paths whose names are free when their last handles are closed.
    leaving: Vec<String>,
    /// By its folded form, the spelling of each path that was made or opened.
    spelled: BTreeMap<String, String>,
    /// The files that a scanner has open, and until when.
    scanned: BTreeMap<String, Instant>,
    scan_one_in: u32,
    scan: Duration,
    written: u32,
    pub(super) refusals: u64,
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

impl OpenFiles {
    pub(super) fn new(removal: Removal) -> Self {
        Self {
            removal,
            next: 0,
            handles: BTreeMap::new(),
            leaving: Vec::new(),
            spelled: BTreeMap::new(),
            scanned: BTreeMap::new(),
            scan_one_in: 0,
            scan: Duration::ZERO,
            written: 0,
            refusals: 0,
        }
    }

    pub(super) fn scan(&mut self, one_in: u32, duration: Duration) {
        (self.scan_one_in, self.scan) = (one_in, duration);
    }

    fn refuse<T>(&mut self, refusal: Refusal, path: &str) -> io::Result<T> {
        self.refusals += 1;
        Err(refused(refusal, path))
    }

    fn at<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Open> {
        self.handles.values().filter(move |open| open.path.as_deref() == Some(path))
    }

    fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = &'a Open> {
        let is_below = move |path: &String| is_below(path, directory);
        self.handles.values().filter(move |open| open.path.as_ref().is_some_and(is_below))
    }

    fn is_scanned(&mut self, path: &str) -> bool {
        let now = Instant::now();
        self.scanned.retain(|_, end| *end > now);
        self.scanned.contains_key(path)
    }

    fn is_scanned_below(&mut self, directory: &str) -> bool {
        let now = Instant::now();
        self.scanned.retain(|_, end| *end > now);
        self.scanned.keys().any(|path| is_below(path, directory))
    }

    /// Keeps the spelling of a path. Another spelling of it is an error of the store: Windows would
    /// find the same file, and Linux would not.
    pub(super) fn spell(&mut self, path: &str) -> io::Result<()> {
        let known = self.spelled.entry(names::folded(path)).or_insert_with(|| path.to_owned());
        if known == path {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{path:?} and {known:?} are one file on Windows"),
        ))
    }

    /// Refuses a name that waits for its removal.
    pub(super) fn need_name(&mut self, path: &str) -> io::Result<()> {
        if self.leaving.iter().any(|leaving| leaving == path) {
            return self.refuse(Refusal::AccessDenied, path);
        }
        Ok(())
    }

    /// Begins to open a file.
    pub(super) fn begin(&mut self, path: &str, mode: Mode) -> io::Result<Handle> {
        self.need_name(path)?;
        self.spell(path)?;
        if self.is_scanned(path) {
            return self.refuse(Refusal::Shared, path);
        }
        let open = Open {
            path: Some(path.to_owned()),
            shares_removal: mode != Mode::ReadWrite,
            writes: mode != Mode::Read,
            lock: None,
        };
        let handle = Handle(self.next);
        self.next += 1;
        self.handles.insert(handle, open);
        Ok(handle)
    }

    /// Ends the opening of a file that could not be opened.
    pub(super) fn forget(&mut self, handle: Handle) {
        self.handles.remove(&handle);
    }

    /// Closes a file. Returns its path if it is removed now.
    pub(super) fn end(&mut self, handle: Handle) -> Option<String> {
        let open = self.handles.remove(&handle)?;
        let path = open.path?;
        if self.at(&path).next().is_some() {
            return None;
        }
        if let Some(place) = self.leaving.iter().position(|leaving| *leaving == path) {
            self.leaving.swap_remove(place);
            self.spelled.remove(&names::folded(&path));
            return Some(path);
        }
        if open.writes && self.scan_one_in > 0 {
            self.written = self.written.wrapping_add(1);
            if self.written.is_multiple_of(self.scan_one_in) {
                self.scanned.insert(path, Instant::now() + self.scan);
            }
        }
        None
    }

    pub(super) fn allow_rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.need_name(from)?;
        self.need_name(to)?;
        if self.is_scanned(from) || self.at(from).any(|open| !open.shares_removal) {
            return self.refuse(Refusal::Shared, from);
        }
        if self.is_scanned_below(from) || self.below(from).next().is_some() {
            return self.refuse(Refusal::AccessDenied, from);
        }
        if from == to {
            return Ok(());
        }
        if names::folded(from) != names::folded(to) {
            self.spell(to)?;
        }
        let keeps_name = |open: &Open| match self.removal {
            Removal::AtOnce => !open.shares_removal,
            Removal::WithLastHandle => true,
        };
        let is_kept = self.at(to).any(keeps_name);
        if is_kept || self.is_scanned(to) {
            return self.refuse(Refusal::AccessDenied, to);
        }
        Ok(())
    }

    /// Handles of the replaced file keep it without a name.
    pub(super) fn renamed(&mut self, from: &str, to: &str) {
        if from == to {
            return;
        }
        self.lose_names(to);
        for open in self.handles.values_mut() {
            if open.path.as_deref() == Some(from) {
                open.path = Some(to.to_owned());
            }
        }
        self.unspell(from);
        self.spelled.insert(names::folded(to), to.to_owned());
    }

    fn lose_names(&mut self, path: &str) {
        for open in self.handles.values_mut() {
            if open.path.as_deref().is_some_and(|open| open == path || is_below(open, path)) {
                open.path = None;
            }
        }
    }

    fn unspell(&mut self, path: &str) {
        self.spelled.retain(|_, spelled| spelled != path && !is_below(spelled, path));
    }

    /// Whether the file may be removed now; false if it is removed with its last handle.
    pub(super) fn allow_removal(&mut self, path: &str) -> io::Result<bool> {
        self.need_name(path)?;
        if self.is_scanned(path) || self.at(path).any(|open| !open.shares_removal) {
            return self.refuse(Refusal::Shared, path);
        }
        if self.removal == Removal::WithLastHandle && self.at(path).next().is_some() {
            return Ok(false);
        }
        self.lose_names(path);
        self.unspell(path);
        Ok(true)
    }

    /// The name is free when the last handle of the file is closed.
    pub(super) fn remove_later(&mut self, path: &str) {
        self.leaving.push(path.to_owned());
    }

    pub(super) fn allow_removal_below(&mut self, path: &str) -> io::Result<()> {
        if self.is_scanned_below(path) || self.below(path).any(|open| !open.shares_removal) {
            return self.refuse(Refusal::Shared, path);
        }
        if self.removal == Removal::WithLastHandle && self.below(path).next().is_some() {
            self.refusals += 1;
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        Ok(())
    }

    pub(super) fn removed_below(&mut self, path: &str) {
        self.lose_names(path);
        self.unspell(path);
    }

    /// Locks of others on the file of a handle.
    fn other_locks(&self, handle: Handle) -> impl Iterator<Item = Lock> {
        let path = self.handles.get(&handle).and_then(|open| open.path.as_deref());
        self.handles
            .iter()
            .filter(move |(other, open)| {
                **other != handle && path.is_some() && open.path.as_deref() == path
            })
            .filter_map(|(_, open)| open.lock)
    }

    fn path(&self, handle: Handle) -> String {
        self.handles.get(&handle).and_then(|open| open.path.clone()).unwrap_or_default()
    }

    pub(super) fn allow_read(&mut self, handle: Handle) -> io::Result<()> {
        if self.other_locks(handle).any(|lock| lock == Lock::Exclusive) {
            let path = self.path(handle);
            return self.refuse(Refusal::Locked, &path);
        }
        Ok(())
    }

    /// Nobody writes to what is locked together with others, and neither does a holder.
    pub(super) fn allow_write(&mut self, handle: Handle) -> io::Result<()> {
        let own = self.handles.get(&handle).and_then(|open| open.lock);
        if own == Some(Lock::Shared) || self.other_locks(handle).next().is_some() {
            let path = self.path(handle);
            return self.refuse(Refusal::Locked, &path);
        }
        Ok(())
    }

    pub(super) fn locked(&mut self, handle: Handle, is_shared: bool) {
        if let Some(open) = self.handles.get_mut(&handle) {
            open.lock = Some(if is_shared { Lock::Shared } else { Lock::Exclusive });
        }
    }

    pub(super) fn unlocked(&mut self, handle: Handle) {
        if let Some(open) = self.handles.get_mut(&handle) {
            open.lock = None;
        }
    }
}
