//! A disk in memory whose n-th read panics.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};

use stationdb::faults::{DirEntry, Disk, DiskFile, FileId, MemoryDisk, Mode, SharedDisk, parent};

const MESSAGE: &str = "this read panics on purpose";

thread_local! {
    static PANICS: Cell<u64> = const { Cell::new(0) };
}

/// Hides expected panics from the output: those of engines, and those of this suite, whose payload
/// is no text.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_here =
                info.location().is_some_and(|location| location.file().starts_with("tests"));
            let is_meant =
                info.payload().is::<u32>() || info.payload().downcast_ref() == Some(&MESSAGE);
            // The last message before the process ends.
            let is_the_end = info
                .payload()
                .downcast_ref::<&str>()
                .is_some_and(|text| text.contains("destructor"));
            if is_the_end {
                eprintln!("{}", std::backtrace::Backtrace::force_capture());
                hook(info);
            } else if !is_here {
                PANICS.with(|panics| panics.set(panics.get() + 1));
            } else if !is_meant {
                hook(info);
            }
        }));
    });
}

/// Returns the number of panics of engines on this thread since [`quiet`] was called.
pub fn engine_panics() -> u64 {
    PANICS.with(Cell::get)
}

/// The files of a store.
#[derive(Clone, Default)]
pub struct Image {
    pub files: BTreeMap<String, Arc<Vec<u8>>>,
}

#[derive(Debug, Default)]
struct Trap {
    is_open: AtomicBool,
    reads: AtomicU64,
    panics_at: AtomicU64,
    has_panicked: AtomicBool,
}

impl Trap {
    fn read(&self) {
        if self.is_open.load(Ordering::SeqCst) {
            let read = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
            if read == self.panics_at.load(Ordering::SeqCst) {
                self.has_panicked.store(true, Ordering::SeqCst);
                std::panic::panic_any(MESSAGE);
            }
        }
    }
}

/// A disk in memory on which one read panics: the n-th after [`PanickingDisk::begin`].
#[derive(Clone, Debug)]
pub struct PanickingDisk {
    inner: MemoryDisk,
    trap: Arc<Trap>,
}

impl PanickingDisk {
    /// Returns a disk with these files.
    pub fn over(image: &Image) -> Self {
        let inner = MemoryDisk::new();
        for (path, bytes) in &image.files {
            inner.create_dir_all(parent(path)).unwrap();
            inner.open(path, Mode::CreateNew).unwrap().write_all_at(bytes, 0).unwrap();
        }
        Self { inner, trap: Arc::default() }
    }

    pub fn shared(&self) -> SharedDisk {
        Arc::new(self.clone())
    }

    /// Makes the read with this number panic, counted from [`PanickingDisk::begin`] on.
    pub fn arm(&self, read: u64) {
        self.trap.panics_at.store(read, Ordering::SeqCst);
    }

    /// Starts to count reads.
    pub fn begin(&self) {
        self.trap.is_open.store(true, Ordering::SeqCst);
    }

    /// Stops counting. Returns the number of reads.
    pub fn disarm(&self) -> u64 {
        self.trap.is_open.store(false, Ordering::SeqCst);
        self.trap.reads.load(Ordering::SeqCst)
    }

    pub fn has_panicked(&self) -> bool {
        self.trap.has_panicked.load(Ordering::SeqCst)
    }

    /// Returns the files of the disk.
    pub fn image(&self) -> Image {
        let mut image = Image::default();
        let mut directories = vec![String::new()];
        while let Some(directory) = directories.pop() {
            for entry in self.inner.list(&directory).unwrap() {
                let path = if directory.is_empty() {
                    entry.name
                } else {
                    format!("{directory}/{}", entry.name)
                };
                if entry.is_dir {
                    directories.push(path);
                    continue;
                }
                let mut bytes = vec![0; usize::try_from(entry.len).unwrap()];
                self.inner.open(&path, Mode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
                image.files.insert(path, Arc::new(bytes));
            }
        }
        image
    }
}

impl Disk for PanickingDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(PanickingFile { inner: self.inner.open(path, mode)?, trap: self.trap.clone() }))
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.inner.create_dir_all(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.inner.list(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.inner.remove_file(path)
    }

    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        self.inner.remove_dir_all(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.inner.sync_dir(path)
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.inner.file_id(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.inner.free_bytes()
    }
}

#[derive(Debug)]
struct PanickingFile {
    inner: Box<dyn DiskFile>,
    trap: Arc<Trap>,
}

impl DiskFile for PanickingFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.trap.read();
        self.inner.read_exact_at(buffer, offset)
    }

    fn file_id(&self) -> io::Result<FileId> {
        self.inner.file_id()
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.inner.sync_all()
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.inner.try_lock()
    }

    fn unlock(&self) -> io::Result<()> {
        self.inner.unlock()
    }
}
