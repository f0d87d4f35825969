//! The disk of the operating system.
//!
//! The one module that uses `std::fs`. What it adds to it: positioned reads and writes on every platform, directory
//! syncs, and patience with Windows scanners that hold a fresh file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{DirEntry, Disk, DiskFile, Mode, path};

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// Opens a directory that exists; `NotFound` or `NotADirectory` otherwise. Creates nothing.
    pub fn open(root: &Path) -> io::Result<Arc<Self>> {
        if !fs::metadata(root)?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, format!("{} is not a directory", root.display())));
        }
        // An absolute root survives a change of the process's working directory.
        Ok(Arc::new(Self { root: std::path::absolute(root)? }))
    }

    /// Opens a directory, creating it and its missing parents; the names of all created ones are durable on return.
    pub fn create(root: &Path) -> io::Result<Arc<Self>> {
        let root = std::path::absolute(root)?;
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        fs::create_dir_all(&root)?;
        for dir in missing {
            if let Some(parent) = dir.parent() {
                sync_directory(parent)?;
            }
        }
        Self::open(&root)
    }

    /// Opens the file at `path` for reading, wherever it is and whatever its name.
    pub fn open_file(path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = File::open(path)?;
        // Unix opens directories for reading; nothing sensible can follow.
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, format!("{} is a directory", path.display())));
        }
        Ok(Box::new(RealFile { file }))
    }

    /// Creates a file in the directory itself, with any name that this system has for one.
    pub fn create_local(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(self.local(name)?)?;
        Ok(Box::new(RealFile { file }))
    }

    /// Removes what [`RealDisk::create_local`] created.
    pub fn remove_local(&self, name: &str) -> io::Result<()> {
        let path = self.local(name)?;
        while_held(|| fs::remove_file(&path))
    }

    fn local(&self, name: &str) -> io::Result<PathBuf> {
        path::check_local_name(name)?;
        Ok(self.root.join(name))
    }

    fn full(&self, path: &str) -> io::Result<PathBuf> {
        path::check(path)?;
        Ok(if path.is_empty() { self.root.clone() } else { self.root.join(path) })
    }

    fn named(&self, path: &str) -> io::Result<PathBuf> {
        path::check_name(path)?;
        Ok(self.root.join(path))
    }
}

impl Disk for RealDisk {
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let path = self.named(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            Mode::Read => return Self::open_file(&path),
            Mode::ReadWrite => {
                options.write(true);
            }
            Mode::CreateNew => {
                options.write(true).create_new(true);
            }
            Mode::OpenOrCreate => {
                options.write(true).create(true).truncate(false);
            }
        }
        Ok(Box::new(RealFile { file: options.open(&path)? }))
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        let path = self.full(path)?;
        // Only below a root that is still there: a store that was moved away is not begun anew behind its back.
        if !self.root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is gone", self.root.display())));
        }
        fs::create_dir_all(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.full(path)?.try_exists()
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.full(path)?)? {
            let entry = entry?;
            // A name that is not Unicode was not written by this crate, and could not be asked for either.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let metadata = match entry.metadata() {
                Ok(metadata) => metadata,
                // Removed since the directory was read.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let is_dir = metadata.is_dir();
            entries.push(DirEntry { name, is_dir, len: if is_dir { 0 } else { metadata.len() } });
        }
        entries.sort();
        Ok(entries)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.named(from)?, self.named(to)?);
        while_held(|| fs::rename(&from, &to))
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        let path = self.named(path)?;
        while_held(|| fs::remove_file(&path))
    }

    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        let path = self.named(path)?;
        while_held(|| fs::remove_dir_all(&path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        sync_directory(&self.full(path)?)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        fs4::available_space(&self.root).map(Some)
    }
}

#[cfg(not(windows))]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Windows has no documented call that makes one name durable: a directory handle cannot be flushed without the
/// rights of a backup operator. NTFS and ReFS log every change of a name, and a file flush forces the log up to it;
/// the record file is flushed right after each directory sync that matters, in the commit that uses the name.
#[cfg(windows)]
fn sync_directory(path: &Path) -> io::Result<()> {
    fs::metadata(path).map(|_| ())
}

#[cfg(not(windows))]
fn while_held<T>(attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut attempt = attempt;
    attempt()
}

/// Scanners and indexers on Windows open fresh files for moments without sharing them; a refusal is tried again
/// until this much time has passed.
#[cfg(windows)]
const HELD_FILE_RETRY_MS: u64 = 2_500;

#[cfg(windows)]
fn while_held<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    use std::time::{Duration, Instant};
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    let deadline = Instant::now() + Duration::from_millis(HELD_FILE_RETRY_MS);
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(error)
                if matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION))
                    && Instant::now() + pause < deadline =>
            {
                std::thread::sleep(pause);
                pause *= 2;
            }
            result => return result,
        }
    }
}

#[derive(Debug)]
struct RealFile {
    file: File,
}

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    // On Windows files have no holes unless they are made for it.
    #[cfg(unix)]
    fn allocated_bytes(&self) -> io::Result<u64> {
        /// The unit of `st_blocks`, whatever the file system's is.
        const BLOCK_BYTES: u64 = 512;
        Ok(std::os::unix::fs::MetadataExt::blocks(&self.file.metadata()?) * BLOCK_BYTES)
    }

    #[cfg(not(windows))]
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(not(windows))]
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, data, offset)
    }

    // The Windows calls move the file's cursor as well; nothing here uses a cursor.
    #[cfg(windows)]
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        while !buffer.is_empty() {
            match self.file.seek_read(buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buffer = buffer.get_mut(count..).unwrap_or_default();
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[cfg(windows)]
    fn write_all_at(&self, mut data: &[u8], mut offset: u64) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        while !data.is_empty() {
            match self.file.seek_write(data, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    data = data.get(count..).unwrap_or_default();
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
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
        match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        self.file.unlock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was only grown takes no room of the disk, and what was written does.
    #[cfg(unix)]
    #[test]
    fn a_hole_takes_no_room() {
        const BYTES: u64 = 8 << 20;
        let dir = tempfile::tempdir().unwrap();
        let file = RealDisk::create(dir.path()).unwrap().open("f", Mode::CreateNew).unwrap();
        file.set_len(BYTES).unwrap();
        let data: Vec<u8> = (0..1u32 << 20).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        file.write_all_at(&data, BYTES / 2).unwrap();
        file.sync_all().unwrap();
        let allocated = file.allocated_bytes().unwrap();
        assert!((data.len() as u64 / 2..BYTES / 2).contains(&allocated), "{allocated}");
    }

    #[test]
    fn probing_creates_nothing_and_creating_creates_parents() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/b/store");
        assert_eq!(RealDisk::open(&root).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!dir.path().join("a").exists());
        let disk = RealDisk::create(&root).unwrap();
        assert!(disk.list("").unwrap().is_empty());
        assert!(RealDisk::open(&root).is_ok());
        fs::write(dir.path().join("plain"), b"x").unwrap();
        assert_eq!(RealDisk::open(&dir.path().join("plain")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert!(RealDisk::create(&dir.path().join("plain")).is_err());
    }

    #[test]
    fn a_root_that_was_moved_away_is_not_created_again() {
        let dir = tempfile::tempdir().unwrap();
        let disk = RealDisk::create(&dir.path().join("store")).unwrap();
        fs::rename(dir.path().join("store"), dir.path().join("moved")).unwrap();
        assert!(disk.create_dir_all("tables").is_err());
        assert!(!dir.path().join("store").exists());
    }
}
