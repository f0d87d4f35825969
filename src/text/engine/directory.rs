//! The directory of the index engine, over our disk.
//!
//! What must hold:
//! - Nothing here syncs except [`StoreDirectory::sync`], which checkpoints call. The two files that
//!   the engine replaces (`meta.json`, `.managed.json`) are kept in memory; a checkpoint writes the
//!   first one under a name of its own.
//! - A file that a checkpoint names is removed from the disk only after a later checkpoint was
//!   recorded. Otherwise a power cut could leave a recorded checkpoint without its files.
//! - Reads copy into owned memory. A mapped file that another process truncates would kill the host
//!   process.
//! - Every byte is verified when it is read from the disk, so that damage that occurs while the
//!   index is open is an error and not a wrong answer. Verified bytes are cached, within bounds,
//!   for all readers of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tantivy::HasLen;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, Lock, OwnedBytes, TerminatingWrite,
    WatchCallback, WatchHandle, WritePtr,
};

use super::blocks::Blocks;
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::text::checkpoint::FileEntry;
use crate::value::limits::{SEARCH_BLOCKS_BYTES, SEARCH_RESIDENT_BYTES};

/// The name of the engine's list of segments.
pub(crate) const META: &str = "meta.json";
const WRITE_BYTES: usize = 256 * 1024;
/// Block size of the checksums for reads of a part of a file.
const SUM_BYTES: usize = 16 * 1024;
/// How long one merge or reload waits for another to release the list of segments.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// See the module documentation. Clones share everything.
#[derive(Clone)]
pub(crate) struct StoreDirectory(Arc<Shared>);

struct Shared {
    disk: SharedDisk,
    path: String,
    names: Mutex<Names>,
    unlocked: Condvar,
    resident_bytes: Arc<AtomicUsize>,
    blocks: Arc<Blocks>,
    next_file: AtomicU64,
    refuses_writes: AtomicBool,
}

/// The cached state of a file, shared by all its readers. The engine opens every file again after
/// each commit.
struct CachedFile {
    /// The number of the file in [`Blocks`].
    number: u64,
    /// CRC-32 of each block, once computed.
    sums: OnceLock<Vec<u32>>,
    /// The whole content, if it fits into the memory bound.
    whole: OnceLock<OwnedBytes>,
    resident_bytes: Arc<AtomicUsize>,
}

impl Drop for CachedFile {
    fn drop(&mut self) {
        if let Some(whole) = self.whole.get() {
            self.resident_bytes.fetch_sub(whole.len(), Ordering::Relaxed);
        }
    }
}

#[derive(Default)]
struct Names {
    files: BTreeMap<String, FileEntry>,
    known: BTreeMap<String, Arc<CachedFile>>,
    in_memory: BTreeMap<String, Vec<u8>>,
    locks: BTreeSet<PathBuf>,
    /// Names of the files of the last recorded checkpoint.
    recorded: BTreeSet<String>,
    /// Names of the files of the checkpoint in progress.
    pinned: BTreeSet<String>,
    /// Files that the engine removed and that are still on the disk.
    doomed: BTreeSet<String>,
}

impl fmt::Debug for StoreDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreDirectory").field("path", &self.0.path).finish_non_exhaustive()
    }
}

impl StoreDirectory {
    /// An index directory at `path` of `disk` with `files`, all of them recorded, and `meta` if
    /// there is one.
    pub(crate) fn new(
        disk: SharedDisk,
        path: &str,
        files: Vec<FileEntry>,
        meta: Option<Vec<u8>>,
    ) -> Self {
        let mut names = Names {
            recorded: files.iter().map(|file| file.name.clone()).collect(),
            ..Names::default()
        };
        if let Some(meta) = meta {
            let mut managed: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
            managed.push(META);
            names.in_memory.insert(
                ".managed.json".to_owned(),
                serde_json::to_vec(&managed).unwrap_or_default(),
            );
            names.in_memory.insert(META.to_owned(), meta);
        }
        names.files = files.into_iter().map(|file| (file.name.clone(), file)).collect();
        Self(Arc::new(Shared {
            disk,
            path: path.to_owned(),
            names: Mutex::new(names),
            unlocked: Condvar::new(),
            resident_bytes: Arc::default(),
            blocks: Arc::new(Blocks::new(SEARCH_BLOCKS_BYTES, SUM_BYTES)),
            next_file: AtomicU64::new(0),
            refuses_writes: AtomicBool::new(false),
        }))
    }

    /// Makes every later write of the engine fail, or ends that.
    pub(crate) fn refuse_writes(&self, is_refused: bool) {
        self.0.refuses_writes.store(is_refused, Ordering::SeqCst);
    }

    fn check_writes(&self) -> io::Result<()> {
        if self.0.refuses_writes.load(Ordering::SeqCst) {
            Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "the writer of the text index is being closed",
            ))
        } else {
            Ok(())
        }
    }

    fn new_known(&self, sums: OnceLock<Vec<u32>>) -> Arc<CachedFile> {
        let number = self.0.next_file.fetch_add(1, Ordering::Relaxed);
        let resident_bytes = Arc::clone(&self.0.resident_bytes);
        Arc::new(CachedFile { number, sums, whole: OnceLock::new(), resident_bytes })
    }

    /// Drops the verified blocks, so that a test reads the disk again.
    #[cfg(test)]
    pub(crate) fn forget_blocks(&self) {
        self.0.blocks.clear();
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_disk(&self, name: &str) -> String {
        format!("{}/{name}", self.0.path)
    }

    /// The current list of segments, and the files that it names. They are kept until
    /// [`StoreDirectory::unpin`].
    pub(crate) fn pin(&self) -> io::Result<(Vec<u8>, Vec<FileEntry>)> {
        let mut names = self.names();
        let meta = names.in_memory.get(META).cloned().unwrap_or_default();
        let ids = segment_ids(&meta)?;
        let mut files = Vec::new();
        for id in ids {
            let before = files.len();
            files.extend(
                names
                    .files
                    .range(id.clone()..)
                    .take_while(|(name, _)| name.starts_with(&id))
                    .map(|(_, f)| f.clone()),
            );
            if files.len() == before {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("no file of segment {id}"),
                ));
            }
        }
        names.pinned = files.iter().map(|file| file.name.clone()).collect();
        Ok((meta, files))
    }

    /// Syncs the files that no recorded checkpoint names, then writes `meta` durably as `name`. The
    /// order matters: the list of segments must not become durable before the files that it names.
    pub(crate) fn sync(&self, files: &[FileEntry], name: &str, meta: &[u8]) -> io::Result<()> {
        for file in files {
            if !self.names().recorded.contains(&file.name) {
                self.0.disk.open(&self.on_disk(&file.name), Mode::ReadWrite)?.sync_all()?;
            }
        }
        let file = self.0.disk.open(&self.on_disk(name), Mode::CreateNew)?;
        file.write_all_at(meta, 0)?;
        file.sync_all()?;
        self.0.disk.sync_dir(&self.0.path)
    }

    /// Abandons the checkpoint in progress.
    pub(crate) fn unpin(&self) {
        self.names().pinned.clear();
        self.sweep();
    }

    /// Records that the last recorded checkpoint now names these files.
    pub(crate) fn recorded(&self, files: &[FileEntry]) {
        {
            let mut names = self.names();
            names.recorded = files.iter().map(|file| file.name.clone()).collect();
            names.pinned.clear();
        }
        self.sweep();
    }

    /// Removes files from the disk that nothing names any more. A file that cannot be removed is
    /// tried again the next time.
    fn sweep(&self) {
        let mut names = self.names();
        let kept: BTreeSet<String> = names
            .doomed
            .iter()
            .filter(|&name| {
                names.recorded.contains(name)
                    || names.pinned.contains(name)
                    || !is_gone(self.0.disk.remove_file(&self.on_disk(name)))
            })
            .cloned()
            .collect();
        names.doomed = kept;
    }
}

fn is_gone(outcome: io::Result<()>) -> bool {
    match outcome {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// The ids of the segments in a `meta.json`, as they appear in file names.
fn segment_ids(meta: &[u8]) -> io::Result<Vec<String>> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "the list of segments is damaged");
    let value: serde_json::Value = serde_json::from_slice(meta).map_err(|_| bad())?;
    let segments =
        value.get("segments").and_then(|segments| segments.as_array()).ok_or_else(bad)?;
    segments
        .iter()
        .map(|segment| {
            let id = segment.get("segment_id").and_then(|id| id.as_str()).ok_or_else(bad)?;
            Ok(id.replace('-', ""))
        })
        .collect()
}

fn name_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|name| !name.contains(['/', '\\']))
}

impl Directory for StoreDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let missing = || OpenReadError::FileDoesNotExist(path.to_owned());
        let name = name_of(path).ok_or_else(missing)?;
        let (entry, known) = {
            let mut names = self.names();
            let entry = names.files.get(name).cloned().ok_or_else(missing)?;
            let known = names
                .known
                .entry(name.to_owned())
                .or_insert_with(|| self.new_known(OnceLock::new()));
            (entry, Arc::clone(known))
        };
        let file =
            self.0.disk.open(&self.on_disk(name), Mode::Read).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::NotFound => missing(),
                    _ => OpenReadError::wrap_io_error(error, path.to_owned()),
                }
            })?;
        let len = usize::try_from(entry.len).map_err(|_| missing())?;
        // Every query reads field lengths, columns, terms and postings; few queries read positions.
        let is_hot = ["fieldnorm", "fast", "term", "idx"].iter().any(|end| name.ends_with(end));
        Ok(Arc::new(Handle {
            file,
            len,
            crc: entry.crc,
            known,
            is_hot,
            blocks: Arc::clone(&self.0.blocks),
        }))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let missing = || DeleteError::FileDoesNotExist(path.to_owned());
        let name = name_of(path).ok_or_else(missing)?;
        let mut names = self.names();
        if names.in_memory.remove(name).is_some() {
            return Ok(());
        }
        names.files.remove(name).ok_or_else(missing)?;
        names.known.remove(name);
        let is_named = names.recorded.contains(name) || names.pinned.contains(name);
        if is_named || !is_gone(self.0.disk.remove_file(&self.on_disk(name))) {
            names.doomed.insert(name.to_owned());
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        let names = self.names();
        Ok(name_of(path).is_some_and(|name| {
            names.files.contains_key(name) || names.in_memory.contains_key(name)
        }))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let failed = |error| OpenWriteError::wrap_io_error(error, path.to_owned());
        let name = name_of(path).ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        self.check_writes().map_err(failed)?;
        if self.names().files.contains_key(name) {
            return Err(OpenWriteError::FileAlreadyExists(path.to_owned()));
        }
        let file = self.0.disk.open(&self.on_disk(name), Mode::CreateNew).map_err(failed)?;
        Ok(io::BufWriter::new(Box::new(Writer {
            directory: self.clone(),
            name: name.to_owned(),
            file,
            buffer: Vec::new(),
            written: 0,
            crc: crc32fast::Hasher::new(),
            sums: Vec::new(),
        })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let missing = || OpenReadError::FileDoesNotExist(path.to_owned());
        self.names().in_memory.get(name_of(path).ok_or_else(missing)?).cloned().ok_or_else(missing)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let name = name_of(path).ok_or(io::ErrorKind::InvalidInput)?;
        self.names().in_memory.insert(name.to_owned(), data.to_vec());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let mut names = self.names();
        if lock.is_blocking {
            let waited = self
                .0
                .unlocked
                .wait_timeout_while(names, LOCK_WAIT, |names| names.locks.contains(&lock.filepath));
            names = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if !names.locks.insert(lock.filepath.clone()) {
            return Err(LockError::LockBusy);
        }
        Ok(DirectoryLock::from(Box::new(Guard {
            directory: self.clone(),
            path: lock.filepath.clone(),
        })))
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// Locks work within the process; the store's own lock excludes other processes.
struct Guard {
    directory: StoreDirectory,
    path: PathBuf,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.directory.names().locks.remove(&self.path);
        self.directory.0.unlocked.notify_all();
    }
}

/// A file being written. Readers see it once it is terminated.
struct Writer {
    directory: StoreDirectory,
    name: String,
    file: Box<dyn DiskFile>,
    buffer: Vec<u8>,
    written: u64,
    crc: crc32fast::Hasher,
    sums: Vec<u32>,
}

impl Writer {
    /// Writes the whole blocks of the buffer; at the end also the rest.
    fn drain(&mut self, is_end: bool) -> io::Result<()> {
        let len = self.buffer.len();
        let ready =
            self.buffer.get(..if is_end { len } else { len - len % SUM_BYTES }).unwrap_or_default();
        self.file.write_all_at(ready, self.written)?;
        self.sums.extend(ready.chunks(SUM_BYTES).map(crc32fast::hash));
        self.crc.update(ready);
        self.written += ready.len() as u64;
        let written = ready.len();
        self.buffer.drain(..written);
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.directory.check_writes()?;
        self.buffer.extend_from_slice(data);
        if self.buffer.len() >= WRITE_BYTES {
            self.drain(false)?;
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Writer {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.directory.check_writes()?;
        self.drain(true)?;
        let entry = FileEntry {
            name: self.name.clone(),
            len: self.written,
            crc: self.crc.clone().finalize(),
        };
        let known = self.directory.new_known(OnceLock::from(std::mem::take(&mut self.sums)));
        let mut names = self.directory.names();
        names.known.insert(self.name.clone(), known);
        names.files.insert(self.name.clone(), entry);
        Ok(())
    }
}

fn damaged() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "a file of the text index does not match its checksum",
    )
}

struct Handle {
    file: Box<dyn DiskFile>,
    len: usize,
    crc: u32,
    known: Arc<CachedFile>,
    is_hot: bool,
    blocks: Arc<Blocks>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Handle {
    fn bytes(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; range.len()];
        self.file.read_exact_at(&mut bytes, range.start as u64)?;
        Ok(bytes)
    }

    /// The checksums of the blocks. Those of a file that an earlier process wrote are computed at
    /// the first read, together with the checksum of the whole file.
    fn sums(&self) -> io::Result<&[u32]> {
        if let Some(sums) = self.known.sums.get() {
            return Ok(sums);
        }
        let (mut sums, mut crc) = (Vec::new(), crc32fast::Hasher::new());
        let mut at = 0;
        while at < self.len {
            let bytes = self.bytes(at..self.len.min(at + WRITE_BYTES))?;
            sums.extend(bytes.chunks(SUM_BYTES).map(crc32fast::hash));
            crc.update(&bytes);
            at += bytes.len();
        }
        if crc.finalize() != self.crc {
            return Err(damaged());
        }
        Ok(self.known.sums.get_or_init(|| sums))
    }

    /// Reads a range; a range of few blocks comes from the cache.
    fn read(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        /// Longer reads would evict the blocks that other readers need.
        const FEW: usize = 8;
        let blocks = range.start / SUM_BYTES..range.end.div_ceil(SUM_BYTES);
        if blocks.len() > FEW {
            return self.read_blocks(range);
        }
        let mut bytes = Vec::new();
        for number in blocks.clone() {
            let from = number * SUM_BYTES;
            let block = self.block(number)?;
            let part = range.start.max(from) - from..(range.end - from).min(block.len());
            if blocks.len() == 1 {
                return Ok(block.slice(part));
            }
            bytes.extend_from_slice(block.get(part).unwrap_or_default());
        }
        Ok(OwnedBytes::new(bytes))
    }

    /// One verified block.
    fn block(&self, number: usize) -> io::Result<OwnedBytes> {
        if let Some(block) = self.blocks.get(self.known.number, number) {
            return Ok(block);
        }
        let from = number * SUM_BYTES;
        let block = self.read_blocks(from..self.len.min(from + SUM_BYTES))?;
        self.blocks.keep(self.known.number, number, block.clone());
        Ok(block)
    }

    /// Reads whole blocks from the disk and verifies each of them.
    fn read_blocks(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let first = range.start / SUM_BYTES;
        let from = first * SUM_BYTES;
        let to = self.len.min(range.end.div_ceil(SUM_BYTES) * SUM_BYTES).max(from);
        let sums = self.sums()?.get(first..).unwrap_or_default();
        let bytes = self.bytes(from..to)?;
        let blocks = bytes.chunks(SUM_BYTES);
        if blocks.len() > sums.len()
            || blocks.zip(sums).any(|(block, sum)| crc32fast::hash(block) != *sum)
        {
            return Err(damaged());
        }
        Ok(OwnedBytes::new(bytes).slice(range.start - from..range.end - from))
    }

    fn read_whole(&self) -> io::Result<OwnedBytes> {
        let bytes = self.bytes(0..self.len)?;
        if crc32fast::hash(&bytes) != self.crc {
            return Err(damaged());
        }
        Ok(OwnedBytes::new(bytes))
    }

    /// The whole content of a hot file, if it fits into the memory bound.
    ///
    /// The bytes are reserved before they are read, so that concurrent readers cannot exceed the
    /// bound together. A reader that fails, or that is not the first to store the content, releases
    /// them.
    fn whole(&self) -> io::Result<Option<&OwnedBytes>> {
        if !self.is_hot {
            return Ok(None);
        }
        let (whole, resident_bytes) = (&self.known.whole, &self.known.resident_bytes);
        if let Some(whole) = whole.get() {
            return Ok(Some(whole));
        }
        let before = resident_bytes.fetch_add(self.len, Ordering::Relaxed);
        if before + self.len > SEARCH_RESIDENT_BYTES {
            resident_bytes.fetch_sub(self.len, Ordering::Relaxed);
            return Ok(None);
        }
        let outcome = self.read_whole();
        let is_stored = outcome.as_ref().is_ok_and(|bytes| whole.set(bytes.clone()).is_ok());
        if !is_stored {
            resident_bytes.fetch_sub(self.len, Ordering::Relaxed);
        }
        outcome.map(|_| whole.get())
    }
}

impl HasLen for Handle {
    fn len(&self) -> usize {
        self.len
    }
}

impl FileHandle for Handle {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        if range.start > range.end || range.end > self.len {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "a read past the end of a file of the text index",
            ));
        }
        match self.whole()? {
            Some(whole) => Ok(whole.slice(range)),
            None => self.read(range),
        }
    }
}
