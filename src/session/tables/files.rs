//! The files of open segments, of which few are open at a time.
//!
//! A process may have few files open, on some systems 256, and a table may have thousands of
//! segments of two files each. So a file is opened when it is read, and the one that was not read
//! for longest is closed when there are too many.
//!
//! What must hold: the name of a file leads to the same bytes for as long as somebody may read it.
//! Segments are never changed, their numbers are never given again, and a repaired file has the
//! bytes of the old one. Files of segments that somebody uses are not removed, see
//! [`super::cache::TableCache::release`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::{DiskFile, FileId, Mode, SharedDisk};
use crate::value::cache::{Cache, bounded};

/// Files that stay open while nobody reads them.
const OPEN_FILES: usize = 128;

/// The open files of segments.
#[derive(Debug)]
pub(super) struct SegmentFiles {
    open: Cache<u64, Arc<dyn DiskFile>>,
    next: AtomicU64,
}

impl Default for SegmentFiles {
    fn default() -> Self {
        Self { open: bounded(OPEN_FILES, OPEN_FILES, |_, _| 1), next: AtomicU64::default() }
    }
}

impl SegmentFiles {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the disk.
    pub(super) fn open(
        self: &Arc<Self>,
        disk: &SharedDisk,
        path: &str,
    ) -> io::Result<Box<dyn DiskFile>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let file =
            PooledFile { files: self.clone(), number, disk: disk.clone(), path: path.to_owned() };
        file.file()?;
        Ok(Box::new(file))
    }

    /// Closes the files that nobody reads at the moment.
    pub(super) fn close_all(&self) {
        self.open.clear();
    }
}

/// A file for reading, which is open while it is read, and at most until others need its place.
#[derive(Debug)]
struct PooledFile {
    files: Arc<SegmentFiles>,
    number: u64,
    disk: SharedDisk,
    path: String,
}

impl PooledFile {
    fn file(&self) -> io::Result<Arc<dyn DiskFile>> {
        if let Some(file) = self.files.open.get(&self.number) {
            return Ok(file);
        }
        let open = || self.disk.open(&self.path, Mode::Read);
        let opened = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
            // The process may have as many open files as it may have.
            Err(_) => {
                self.files.close_all();
                open()
            }
            opened => opened,
        };
        let file: Arc<dyn DiskFile> = Arc::from(opened?);
        self.files.open.insert(self.number, file.clone());
        Ok(file)
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        self.files.open.remove(&self.number);
    }
}

impl DiskFile for PooledFile {
    fn len(&self) -> io::Result<u64> {
        self.file()?.len()
    }
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.file()?.allocated_bytes()
    }
    fn file_id(&self) -> io::Result<FileId> {
        self.file()?.file_id()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file()?.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn sync_data(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }
    fn sync_all(&self) -> io::Result<()> {
        self.file()?.sync_all()
    }
    // A lock would end when the file is closed.
    fn try_lock(&self) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
    fn unlock(&self) -> io::Result<()> {
        Ok(())
    }
}
