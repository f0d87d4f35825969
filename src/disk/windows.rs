//! A disk that refuses what Windows refuses, over any other disk.
//!
//! For tests on every system: what a store does to its files while it has them open has to work on
//! Windows, too. The refusals pass through the retries of the real disk. What must hold: an
//! operation that is allowed makes the same operations of the disk below, in the same order, so
//! that the simulator counts alike.
//!
//! `docs/platforms.md` says where Windows documents each refusal.

mod names;
mod open_files;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::held::{Refusal, while_held, while_not_shared};
use super::{DirEntry, Disk, DiskFile, FileId, Mode, SharedDisk};
use open_files::{Handle, OpenFiles};

/// What happens to the name of a file that is removed or replaced while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The name is free at once: NTFS since version 1809 of Windows 10.
    AtOnce,
    /// The name is free when the last handle is closed, and an open file is not replaced: earlier
    /// versions, other file systems, and shares of a network.
    WithLastHandle,
}

/// A disk that refuses what Windows refuses.
///
/// ```
/// use std::sync::Arc;
/// use stationdb::faults::{Disk, MemoryDisk, Mode, Removal, WindowsDisk};
///
/// # fn main() -> std::io::Result<()> {
/// let disk = WindowsDisk::over(Arc::new(MemoryDisk::new()), Removal::WithLastHandle);
/// let file = disk.open("f", Mode::CreateNew)?;
/// disk.remove_file("f")?;
/// // The name stays until the file is closed, and nobody can use it.
/// assert!(disk.exists("f").is_err());
/// drop(file);
/// assert!(!disk.exists("f")?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct WindowsDisk {
    inner: SharedDisk,
    open: Arc<Mutex<OpenFiles>>,
}

/// A refused operation: the cause of an [`io::Error`].
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    path: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.refusal {
            Refusal::AccessDenied => "a handle is open, and keeps the name",
            Refusal::Shared => "another handle does not share it",
            Refusal::Locked => "another handle has locked it",
            Refusal::Mapped => "it is mapped",
        };
        write!(f, "Windows refuses the operation on {:?}: {why}", self.path)
    }
}

impl std::error::Error for Refused {}

fn refused(refusal: Refusal, path: &str) -> io::Error {
    let kind = match refusal {
        Refusal::AccessDenied => io::ErrorKind::PermissionDenied,
        Refusal::Shared | Refusal::Locked | Refusal::Mapped => io::ErrorKind::Other,
    };
    io::Error::new(kind, Refused { refusal, path: path.to_owned() })
}

/// The disk that a run of the tests asks for by `STATIONDB_DISK`: `windows` or `windows-old` over the
/// given one, or that one alone.
///
/// # Errors
/// `InvalidInput` if there is no such disk.
pub(crate) fn as_asked(disk: SharedDisk) -> io::Result<SharedDisk> {
    const FILES_ONE_IN: u32 = 16;
    const SCAN: Duration = Duration::from_millis(3);
    let removal = match std::env::var("STATIONDB_DISK").as_deref() {
        Err(_) => return Ok(disk),
        Ok("windows") => Removal::AtOnce,
        Ok("windows-old") => Removal::WithLastHandle,
        Ok(other) => {
            let text = format!("STATIONDB_DISK is {other:?}; there is windows and windows-old");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    };
    Ok(Arc::new(WindowsDisk::over(disk, removal).scanned(FILES_ONE_IN, SCAN)))
}

impl WindowsDisk {
    /// The refusals of Windows over `inner`, whose files are used through this disk alone.
    #[must_use]
    pub fn over(inner: SharedDisk, removal: Removal) -> Self {
        Self { inner, open: Arc::new(Mutex::new(OpenFiles::new(removal))) }
    }

    /// Of the files that are written and closed, a scanner has each `one_in`th open for `duration`
    /// without sharing it.
    #[must_use]
    pub fn scanned(self, one_in: u32, duration: Duration) -> Self {
        self.files().scan(one_in, duration);
        self
    }

    /// How often an operation was refused, whether or not it was allowed later.
    #[must_use]
    pub fn refusals(&self) -> u64 {
        self.files().refusals
    }

    fn files(&self) -> MutexGuard<'_, OpenFiles> {
        lock(&self.open)
    }

    fn named(&self, path: &str) -> io::Result<()> {
        super::path::check(path)?;
        names::check(path)
    }
}

fn lock(open: &Mutex<OpenFiles>) -> MutexGuard<'_, OpenFiles> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk for WindowsDisk {
    fn directory(&self) -> Option<PathBuf> {
        self.inner.directory()
    }

    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        self.named(path)?;
        let attempt = || {
            // The handle is known before the file is open, so that nobody removes it in between.
            let handle = self.files().begin(path, mode)?;
            let file = match self.inner.open(path, mode) {
                Ok(file) => file,
                Err(error) => {
                    self.files().forget(handle);
                    return Err(error);
                }
            };
            let disk = self.clone();
            Ok(Box::new(WindowsFile { file: Some(file), disk, handle }) as Box<dyn DiskFile>)
        };
        match mode {
            Mode::CreateNew => while_held(attempt),
            _ => while_not_shared(attempt),
        }
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        self.named(path)?;
        self.files().spell(path)?;
        self.inner.create_dir_all(path)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.files().need_name(path)?;
        self.inner.exists(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.inner.list(path)
    }

    fn copy_access(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.copy_access(from, to)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.named(from).and_then(|()| self.named(to))?;
        while_held(|| {
            self.files().allow_rename(from, to)?;
            self.inner.rename(from, to)?;
            self.files().renamed(from, to);
            Ok(())
        })
    }

    fn remove_file(&self, path: &str) -> io::Result<()> {
        self.named(path)?;
        while_held(|| {
            if self.files().allow_removal(path)? {
                return self.inner.remove_file(path);
            }
            self.files().remove_later(path);
            Ok(())
        })
    }

    fn remove_dir_all(&self, path: &str) -> io::Result<()> {
        self.named(path)?;
        while_held(|| {
            self.files().allow_removal_below(path)?;
            self.inner.remove_dir_all(path)?;
            self.files().removed_below(path);
            Ok(())
        })
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.named(path)?;
        while_held(|| self.inner.remove_dir(path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.inner.sync_dir(path)
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        self.files().need_name(path)?;
        self.inner.file_id(path)
    }

    fn file_ids(&self, paths: &[&str]) -> Vec<io::Result<FileId>> {
        self.inner.file_ids(paths)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.inner.free_bytes()
    }
}

#[derive(Debug)]
struct WindowsFile {
    /// `None` only while it is dropped.
    file: Option<Box<dyn DiskFile>>,
    disk: WindowsDisk,
    handle: Handle,
}

impl WindowsFile {
    fn file(&self) -> io::Result<&dyn DiskFile> {
        self.file.as_deref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for WindowsFile {
    fn drop(&mut self) {
        // The file is closed before its name is free.
        self.file = None;
        let removed = self.disk.files().end(self.handle);
        if let Some(path) = removed {
            // As on Windows, nobody learns that it failed.
            let _ = self.disk.inner.remove_file(&path);
        }
    }
}

impl DiskFile for WindowsFile {
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
        self.disk.files().allow_read(self.handle)?;
        self.file()?.read_exact_at(buffer, offset)
    }

    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.disk.files().allow_write(self.handle)?;
        self.file()?.write_all_at(data, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.files().allow_write(self.handle)?;
        self.file()?.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file()?.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file()?.sync_all()
    }

    fn try_lock(&self) -> io::Result<bool> {
        let taken = self.file()?.try_lock()?;
        if taken {
            self.disk.files().locked(self.handle, false);
        }
        Ok(taken)
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        let taken = self.file()?.try_lock_shared()?;
        if taken {
            self.disk.files().locked(self.handle, true);
        }
        Ok(taken)
    }

    fn unlock(&self) -> io::Result<()> {
        self.file()?.unlock()?;
        self.disk.files().unlocked(self.handle);
        Ok(())
    }
}
