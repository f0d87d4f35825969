//! A disk in memory that counts operations, for tests of their cost.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{DirEntry, Disk, DiskFile, FileId, MemoryDisk, Mode};

/// A disk that counts bytes read, files open, and the most files that were open at a time.
#[derive(Clone, Debug)]
pub(crate) struct CountingDisk {
    /// The disk with the files.
    pub disk: Arc<MemoryDisk>,
    /// Number of bytes read.
    pub read: Arc<AtomicU64>,
    /// Number of open files.
    pub open: Arc<AtomicU64>,
    /// Most files that were open at a time.
    pub most_open: Arc<AtomicU64>,
    /// Most files that may be open. One more fails, as for a process at its limit.
    pub open_max: Arc<AtomicU64>,
    /// Whether [`Disk::file_id`] fails.
    pub file_id_fails: Arc<AtomicBool>,
}

impl Default for CountingDisk {
    fn default() -> Self {
        Self {
            disk: Arc::default(),
            read: Arc::default(),
            open: Arc::default(),
            most_open: Arc::default(),
            open_max: Arc::new(AtomicU64::new(u64::MAX)),
            file_id_fails: Arc::default(),
        }
    }
}

#[derive(Debug)]
struct CountingFile {
    file: Box<dyn DiskFile>,
    read: Arc<AtomicU64>,
    open: Arc<AtomicU64>,
}

impl Drop for CountingFile {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl DiskFile for CountingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read.fetch_add(buffer.len() as u64, Ordering::SeqCst);
        self.file.read_exact_at(buffer, offset)
    }
    fn file_id(&self) -> io::Result<FileId> {
        self.file.file_id()
    }
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.file.try_lock()
    }
    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

impl Disk for CountingDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        if self.open.load(Ordering::SeqCst) >= self.open_max.load(Ordering::SeqCst) {
            return Err(io::Error::other("too many open files"));
        }
        let file = self.disk.open(path, mode)?;
        self.most_open.fetch_max(self.open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Ok(Box::new(CountingFile { file, read: self.read.clone(), open: self.open.clone() }))
    }
    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir_all(path)
    }
    fn exists(&self, path: &str) -> io::Result<bool> {
        self.disk.exists(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.disk.remove_file(path)
    }
    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        self.disk.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }
    fn file_id(&self, path: &str) -> io::Result<FileId> {
        if self.file_id_fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the file system does not answer"));
        }
        self.disk.file_id(path)
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.disk.free_bytes()
    }
}
