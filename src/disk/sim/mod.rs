//! A disk that can lose what a real disk may lose, and that fails on demand.
//!
//! Every change goes to a log and to two images: what readers see, and what is durable. File data
//! is durable after the file's sync, a name after the sync of its directory; nothing else is.
//!
//! A power cut at any change is simulated by replaying the log up to it ([`SimDisk::replay`]) and
//! drawing which of the changes that are not durable survive ([`Survival`]). So one run of a
//! scenario yields all its crash images. What must hold: equal seeds and equal operations give
//! equal images.

mod content;
mod fault;
mod hold;
mod random;
mod state;
mod survival;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{DirEntry, Disk, DiskFile, FileId, Mode, parent, path};
use fault::Rules;
pub use fault::{Fault, OpKind, Pick};
pub use hold::Hold;
pub use random::Random;
use state::{Change, Id, Node, SimState};
pub use survival::Survival;

/// One requested operation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceEntry {
    /// Its number.
    pub op: u64,
    /// Its kind.
    pub kind: OpKind,
    /// The path of the request; for a file, the path that it was opened with.
    pub path: Arc<str>,
    /// Whether a fault made it fail.
    pub failed: bool,
    /// Number of bytes that it was to read or write.
    pub bytes: usize,
}

/// A simulated disk. Clones share one medium.
///
/// ```
/// use stationdb::faults::{Disk, Mode, SimDisk, Survival};
///
/// # fn main() -> std::io::Result<()> {
/// let disk = SimDisk::new(1);
/// let file = disk.open("f", Mode::CreateNew)?;
/// file.write_all_at(b"data", 0)?;
/// file.sync_data()?;
/// // The data is durable, the name is not: nobody synced the directory.
/// assert!(!disk.survivors(7, Survival::None).exists("f")?);
/// disk.sync_dir("")?;
/// assert!(disk.survivors(7, Survival::None).exists("f")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
    next_handle: Arc<AtomicU64>,
}

struct Inner {
    state: SimState,
    /// The state before the first change of the log.
    base: SimState,
    log: Vec<LogRecord>,
    trace: Vec<TraceEntry>,
    rules: Rules,
    random: Random,
    crash_after: Option<u64>,
    capacity_bytes: Option<u64>,
    peak_bytes: u64,
    latency: BTreeMap<OpKind, Duration>,
    locks: BTreeMap<Id, u64>,
}

#[derive(Clone)]
struct LogRecord {
    op: u64,
    kind: OpKind,
    path: Arc<str>,
    change: Change,
}

/// An operation in progress, after the faults were applied.
struct Turn<'d> {
    inner: MutexGuard<'d, Inner>,
    op: u64,
    kind: OpKind,
    path: Arc<str>,
    fault: Option<Fault>,
    /// Sequence number of the next change when the operation began, before any delay.
    began: u64,
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimDisk").field("ops", &self.ops()).finish_non_exhaustive()
    }
}

impl SimDisk {
    /// An empty disk. The seed determines random choices, such as the bit that [`Fault::FlipBit`]
    /// flips.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_state(SimState::new(), seed)
    }

    fn with_state(state: SimState, seed: u64) -> Self {
        let inner = Inner {
            base: state.clone(),
            state,
            log: Vec::new(),
            trace: Vec::new(),
            rules: Rules::default(),
            random: Random::new(seed),
            crash_after: None,
            capacity_bytes: None,
            peak_bytes: 0,
            latency: BTreeMap::new(),
            locks: BTreeMap::new(),
        };
        Self { inner: Arc::new(Mutex::new(inner)), next_handle: Arc::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of operations so far, including failed ones and reads; also the number of the next
    /// operation.
    #[must_use]
    pub fn ops(&self) -> u64 {
        self.inner().trace.len() as u64
    }

    /// Number of changes so far: the number of points at which a power cut can leave a different
    /// image.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.inner().log.len()
    }

    /// All operations so far.
    #[must_use]
    pub fn trace(&self) -> Vec<TraceEntry> {
        self.inner().trace.clone()
    }

    /// Lets operations up to and including number `op` succeed, and makes all later ones fail
    /// without effect.
    pub fn crash_after(&self, op: u64) {
        self.inner().crash_after = Some(op);
    }

    /// Makes every later operation fail without effect.
    pub fn crash_now(&self) {
        let mut inner = self.inner();
        // `crash_after` cannot express "after no operation", since operation numbers start at 0.
        inner.crash_after = None;
        inner.rules.clear();
        inner.rules.add(Pick::any(), Fault::Io);
    }

    /// Adds a fault. If several apply to an operation, the one added first strikes.
    pub fn inject(&self, pick: Pick, fault: Fault) {
        self.inner().rules.add(pick, fault);
    }

    /// Makes syncs report success and do nothing.
    pub fn ignore_sync(&self, pick: Pick) {
        self.inject(pick, Fault::IgnoreSync);
    }

    /// Removes all faults and ends the crash; their effects on the disk stay.
    pub fn heal(&self) {
        let mut inner = self.inner();
        inner.rules.clear();
        inner.crash_after = None;
    }

    /// Limits the total bytes of all files. Writes and growth beyond it fail with `StorageFull`
    /// until space is freed.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.inner().capacity_bytes = bytes;
    }

    /// The largest total of bytes of all files so far: the smallest capacity that would have been
    /// enough.
    #[must_use]
    pub fn peak_bytes(&self) -> u64 {
        self.inner().peak_bytes
    }

    /// Makes every operation of a kind take this long.
    pub fn set_latency(&self, kind: OpKind, latency: Duration) {
        self.inner().latency.insert(kind, latency);
    }

    /// A new disk with the contents that a power cut at this moment leaves.
    #[must_use]
    pub fn survivors(&self, seed: u64, survival: Survival) -> Self {
        Self::with_state(self.inner().state.after_power_cut(seed, survival), seed)
    }

    /// Replays the log from the start, for crash images at every change.
    #[must_use]
    pub fn replay(&self) -> Replay {
        let inner = self.inner();
        Replay { state: inner.base.clone(), log: inner.log.clone(), next: 0 }
    }

    /// A hash of all names and bytes that readers see. Images with equal hashes need to be checked
    /// only once.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.inner().state.fingerprint()
    }

    /// Begins an operation: numbers it, waits for its latency, and applies faults that fail it.
    fn begin(&self, kind: OpKind, path: &Arc<str>) -> io::Result<Turn<'_>> {
        let mut inner = self.inner();
        let op = inner.trace.len() as u64;
        let crashed = inner.crash_after.is_some_and(|last| op > last);
        let mut fault = if crashed { Some(Fault::Io) } else { inner.rules.strike(op, kind, path) };
        let refusal = match &fault {
            Some(Fault::Io | Fault::DropDirty) => Some(io::ErrorKind::Other),
            Some(Fault::NoSpace | Fault::PartialWrite) => Some(io::ErrorKind::StorageFull),
            Some(Fault::Interrupted) => Some(io::ErrorKind::Interrupted),
            Some(Fault::ShortRead) => Some(io::ErrorKind::UnexpectedEof),
            _ => None,
        };
        inner.trace.push(TraceEntry {
            op,
            kind,
            path: path.clone(),
            failed: refusal.is_some(),
            bytes: 0,
        });
        if let (Some(refusal), Some(Fault::Io | Fault::NoSpace | Fault::Interrupted)) =
            (refusal, &fault)
        {
            return Err(fault::error(refusal, op, kind, path));
        }
        let began = inner.state.sequence;
        let mut delay = inner.latency.get(&kind).copied();
        if let Some(Fault::Delay(longer)) = fault {
            delay = Some(longer);
            fault = None;
        }
        if let Some(Fault::Hold(hold)) = fault {
            drop(inner);
            hold.wait();
            inner = self.inner();
            fault = None;
        }
        if let Some(delay) = delay {
            drop(inner);
            std::thread::sleep(delay);
            inner = self.inner();
        }
        Ok(Turn { inner, op, kind, path: path.clone(), fault, began })
    }
}

impl Turn<'_> {
    fn asks_for(&mut self, bytes: usize) {
        if let Some(entry) = self.inner.trace.last_mut().filter(|entry| entry.op == self.op) {
            entry.bytes = bytes;
        }
    }

    fn apply(&mut self, change: Change) {
        self.inner.state.apply(&change);
        if matches!(change, Change::Write { .. } | Change::SetLen { .. }) {
            self.inner.peak_bytes = self.inner.peak_bytes.max(self.inner.state.used_bytes());
        }
        let logged = LogRecord { op: self.op, kind: self.kind, path: self.path.clone(), change };
        self.inner.log.push(logged);
    }

    fn error(&self, kind: io::ErrorKind) -> io::Error {
        fault::error(kind, self.op, self.kind, &self.path)
    }

    fn find(&self, path: &str) -> io::Result<Id> {
        self.inner.state.find(path).map_err(|through_file| {
            let kind =
                if through_file { io::ErrorKind::NotADirectory } else { io::ErrorKind::NotFound };
            io::Error::new(kind, format!("there is no {path:?}"))
        })
    }

    fn find_directory(&self, path: &str) -> io::Result<Id> {
        let id = self.find(path)?;
        match self.inner.state.node(id) {
            Some(Node::Directory(_)) => Ok(id),
            _ => Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{path:?} is not a directory"),
            )),
        }
    }

    fn is_directory(&self, id: Id) -> bool {
        self.inner.state.directory(id).is_some()
    }

    /// Number of bytes by which files may still grow.
    fn room_bytes(&self) -> u64 {
        self.inner
            .capacity_bytes
            .map_or(u64::MAX, |capacity| capacity.saturating_sub(self.inner.state.used_bytes()))
    }

    fn unlink_tree(&mut self, dir: Id) {
        let Some(directory) = self.inner.state.directory(dir) else { return };
        let names: Vec<(Arc<str>, Id)> =
            directory.live.iter().map(|(name, id)| (name.clone(), *id)).collect();
        for (name, id) in names {
            if self.is_directory(id) {
                self.unlink_tree(id);
            }
            self.apply(Change::Unlink { dir, name });
        }
    }
}

fn file_name(path: &str) -> Arc<str> {
    path.rsplit_once('/').map_or(path, |(_, name)| name).into()
}

fn is_directory_error(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, format!("{path:?} is a directory"))
}

impl Disk for SimDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        path::check_name(path)?;
        let shared: Arc<str> = path.into();
        let exists = self.inner().state.find(path).is_ok();
        let kind = match mode {
            Mode::CreateNew | Mode::OpenOrCreate if !exists => OpKind::Create,
            _ => OpKind::Open,
        };
        let mut turn = self.begin(kind, &shared)?;
        let id = match turn.find(path) {
            Ok(_) if mode == Mode::CreateNew => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    format!("{path:?} exists"),
                ));
            }
            Ok(id) if turn.is_directory(id) => return Err(is_directory_error(path)),
            Ok(id) => id,
            Err(_) if matches!(mode, Mode::CreateNew | Mode::OpenOrCreate) => {
                let dir = turn.find_directory(parent(path))?;
                let id = turn.inner.state.new_id();
                turn.apply(Change::Create { dir, name: file_name(path), id, is_dir: false });
                id
            }
            Err(error) => return Err(error),
        };
        drop(turn);
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(SimFile {
            disk: self.clone(),
            path: shared,
            id,
            handle,
            writable: mode != Mode::Read,
        }))
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        path::check(path)?;
        let mut turn = self.begin(OpKind::CreateDir, &path.into())?;
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for dir_path in ends.filter_map(|end| path.get(..end)) {
            match turn.inner.state.find(dir_path) {
                Ok(_) => {
                    turn.find_directory(dir_path)?;
                }
                Err(_) => {
                    let dir = turn.find_directory(parent(dir_path))?;
                    let id = turn.inner.state.new_id();
                    turn.apply(Change::Create { dir, name: file_name(dir_path), id, is_dir: true });
                }
            }
        }
        Ok(())
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        path::check(path)?;
        let turn = self.begin(OpKind::List, &path.into())?;
        Ok(turn.inner.state.find(path).is_ok())
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        path::check(path)?;
        let turn = self.begin(OpKind::List, &path.into())?;
        let dir = turn.find_directory(path)?;
        let state = &turn.inner.state;
        let names = state.directory(dir).into_iter().flat_map(|directory| &directory.live);
        Ok(names
            .map(|(name, id)| DirEntry {
                name: name.to_string(),
                is_dir: state.directory(*id).is_some(),
                len: state.file(*id).map_or(0, |file| file.live.len()),
            })
            .collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        path::check_name(from)?;
        path::check_name(to)?;
        let mut turn = self.begin(OpKind::Rename, &from.into())?;
        let id = turn.find(from)?;
        let (from_dir, to_dir) =
            (turn.find_directory(parent(from))?, turn.find_directory(parent(to))?);
        if from == to {
            return Ok(());
        }
        if let Ok(target) = turn.find(to) {
            let target_entries =
                turn.inner.state.directory(target).map(|directory| directory.live.len());
            match (turn.is_directory(id), target_entries) {
                (false, Some(_)) => return Err(is_directory_error(to)),
                (true, None) => {
                    return Err(io::Error::new(
                        io::ErrorKind::NotADirectory,
                        format!("{to:?} is a file"),
                    ));
                }
                (true, Some(entries)) if entries > 0 => {
                    return Err(io::Error::new(
                        io::ErrorKind::DirectoryNotEmpty,
                        format!("{to:?} is not empty"),
                    ));
                }
                _ => {}
            }
        }
        if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{to:?} is inside {from:?}"),
            ));
        }
        turn.apply(Change::Rename {
            from_dir,
            from: file_name(from),
            to_dir,
            to: file_name(to),
            id,
        });
        Ok(())
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        path::check_name(path)?;
        let mut turn = self.begin(OpKind::Remove, &path.into())?;
        let id = turn.find(path)?;
        if turn.is_directory(id) {
            return Err(is_directory_error(path));
        }
        let dir = turn.find_directory(parent(path))?;
        turn.apply(Change::Unlink { dir, name: file_name(path) });
        Ok(())
    }

    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        path::check_name(path)?;
        let mut turn = self.begin(OpKind::Remove, &path.into())?;
        let id = turn.find_directory(path)?;
        let dir = turn.find_directory(parent(path))?;
        turn.unlink_tree(id);
        turn.apply(Change::Unlink { dir, name: file_name(path) });
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        path::check(path)?;
        let mut turn = self.begin(OpKind::SyncDir, &path.into())?;
        let node = turn.find_directory(path)?;
        if !matches!(turn.fault, Some(Fault::IgnoreSync)) {
            let before = turn.began;
            turn.apply(Change::Sync { node, before });
        }
        Ok(())
    }

    // Not counted as an operation: it is called at every commit, and changes nothing that a power
    // cut could lose.
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        path::check_name(path)?;
        let missing = |_| io::Error::new(io::ErrorKind::NotFound, format!("there is no {path:?}"));
        let index = self.inner().state.find(path).map_err(missing)?;
        Ok(FileId { device: 0, index })
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        let turn = self.begin(OpKind::FreeSpace, &"".into())?;
        let inner = &turn.inner;
        Ok(inner.capacity_bytes.map(|capacity| capacity.saturating_sub(inner.state.used_bytes())))
    }
}

struct SimFile {
    disk: SimDisk,
    path: Arc<str>,
    id: Id,
    handle: u64,
    writable: bool,
}

impl std::fmt::Debug for SimFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimFile")
            .field("path", &self.path)
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl SimFile {
    fn need_writable(&self) -> io::Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is open for reading only"))
    }

    fn sync(&self) -> io::Result<()> {
        let mut turn = self.disk.begin(OpKind::Sync, &self.path)?;
        match turn.fault {
            Some(Fault::IgnoreSync) => {}
            Some(Fault::DropDirty) => {
                turn.apply(Change::Forget { node: self.id });
                return Err(turn.error(io::ErrorKind::Other));
            }
            _ => {
                let before = turn.began;
                turn.apply(Change::Sync { node: self.id, before });
            }
        }
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let turn = self.disk.begin(OpKind::Len, &self.path)?;
        Ok(turn.inner.state.file(self.id).map_or(0, |file| file.live.len()))
    }

    fn file_id(&self) -> io::Result<FileId> {
        Ok(FileId { device: 0, index: self.id })
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut turn = self.disk.begin(OpKind::Read, &self.path)?;
        turn.asks_for(buffer.len());
        let Some(file) = turn.inner.state.file(self.id) else {
            return Err(turn.error(io::ErrorKind::NotFound));
        };
        if matches!(turn.fault, Some(Fault::ShortRead)) {
            let half = buffer.len() / 2;
            file.live.read(offset, buffer.get_mut(..half).unwrap_or_default());
            return Err(turn.error(io::ErrorKind::UnexpectedEof));
        }
        if file.live.read(offset, buffer) < buffer.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if matches!(turn.fault, Some(Fault::FlipBit)) {
            let at = usize::try_from(turn.inner.random.below(buffer.len() as u64)).unwrap_or(0);
            let bit = 1 << turn.inner.random.below(8);
            if let Some(byte) = buffer.get_mut(at) {
                *byte ^= bit;
            }
        }
        Ok(())
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.need_writable()?;
        let mut turn = self.disk.begin(OpKind::Write, &self.path)?;
        turn.asks_for(data.len());
        if data.is_empty() {
            return Ok(());
        }
        let len = turn.inner.state.file(self.id).map_or(0, |file| file.live.len());
        let end = offset.checked_add(data.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        let (mut offset, mut done) = (offset, data.len());
        match turn.fault {
            Some(Fault::PartialWrite) => done /= 2,
            Some(Fault::Misdirect) => {
                let sectors = (len / 512).max(1);
                offset = turn.inner.random.below(sectors) * 512;
            }
            _ if turn.inner.capacity_bytes.is_some() => {
                let lacking = end.saturating_sub(len).saturating_sub(turn.room_bytes());
                done -= usize::try_from(lacking).unwrap_or(done).min(done);
            }
            _ => {}
        }
        let part = data.get(..done).unwrap_or_default();
        if !part.is_empty() {
            turn.apply(Change::Write { file: self.id, offset, data: part.into() });
        }
        if done < data.len() {
            return Err(turn.error(io::ErrorKind::StorageFull));
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.need_writable()?;
        let mut turn = self.disk.begin(OpKind::SetLen, &self.path)?;
        let old = turn.inner.state.file(self.id).map_or(0, |file| file.live.len());
        if turn.inner.capacity_bytes.is_some() && len.saturating_sub(old) > turn.room_bytes() {
            return Err(turn.error(io::ErrorKind::StorageFull));
        }
        turn.apply(Change::SetLen { file: self.id, len });
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut turn = self.disk.begin(OpKind::Lock, &self.path)?;
        if turn.inner.locks.contains_key(&self.id) {
            return Ok(false);
        }
        turn.inner.locks.insert(self.id, self.handle);
        Ok(true)
    }

    fn unlock(&self) -> io::Result<()> {
        let mut inner = self.disk.inner();
        if inner.locks.get(&self.id) == Some(&self.handle) {
            inner.locks.remove(&self.id);
        }
        Ok(())
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        // Cannot fail: only removes the lock.
        let _ = self.unlock();
    }
}

/// A replay of the log of a disk, change by change.
#[derive(Clone)]
pub struct Replay {
    state: SimState,
    log: Vec<LogRecord>,
    next: usize,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay")
            .field("next", &self.next)
            .field("changes", &self.log.len())
            .finish_non_exhaustive()
    }
}

impl Replay {
    /// Applies the next change, and returns the number, kind and path of its operation; `None` at
    /// the end.
    pub fn advance(&mut self) -> Option<(u64, OpKind, Arc<str>)> {
        let logged = self.log.get(self.next)?;
        self.next += 1;
        self.state.apply(&logged.change);
        Some((logged.op, logged.kind, logged.path.clone()))
    }

    /// The number of the operation of the next change; `u64::MAX` at the end. A power cut at this
    /// point comes before that change. Everything that was acknowledged when [`SimDisk::ops`] was
    /// at most this number must survive it.
    #[must_use]
    pub fn until_op(&self) -> u64 {
        self.log.get(self.next).map_or(u64::MAX, |logged| logged.op)
    }

    /// A new disk with the contents that a power cut at this point leaves.
    #[must_use]
    pub fn survivors(&self, seed: u64, survival: Survival) -> SimDisk {
        SimDisk::with_state(self.state.after_power_cut(seed, survival), seed)
    }

    /// A new disk as a process that is killed at this point leaves it. Everything that it wrote can
    /// be read, and what no sync covered is lost by a later power cut.
    #[must_use]
    pub fn killed(&self, seed: u64) -> SimDisk {
        SimDisk::with_state(self.state.clone(), seed)
    }

    /// As [`Self::killed`], after the next change has failed, which is the sync of a file: what it
    /// should have written can be read, and no later sync writes it. `None` if the next change is
    /// another one.
    #[must_use]
    pub fn killed_in_failed_sync(&self, seed: u64) -> Option<SimDisk> {
        let Change::Sync { node, .. } = self.log.get(self.next)?.change else { return None };
        self.state.file(node)?;
        let mut state = self.state.clone();
        state.apply(&Change::Forget { node });
        Some(SimDisk::with_state(state, seed))
    }
}
