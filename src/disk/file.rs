//! An open file of the operating system.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::held::while_held;
use super::{DiskFile, FileId, Owner, identity};

#[derive(Debug)]
pub(super) struct RealFile {
    file: File,
    owner: Owner,
    is_locked: AtomicBool,
    /// Whether the file ends with its directory, so that a sync would be wasted.
    pub(super) is_temporary: bool,
    /// The volume that the file is on, from the first question on. An open file stays there, but
    /// Wine forgets it when the file is renamed.
    #[cfg(windows)]
    volume: std::sync::OnceLock<u64>,
}

impl RealFile {
    pub(super) fn new(file: File) -> Self {
        let is_locked = AtomicBool::new(false);
        Self {
            file,
            owner: Owner::current(),
            is_locked,
            is_temporary: false,
            #[cfg(windows)]
            volume: std::sync::OnceLock::new(),
        }
    }

    fn locked(&self, outcome: Result<(), TryLockError>) -> io::Result<bool> {
        match outcome {
            Ok(()) => {
                self.is_locked.store(true, Ordering::Release);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for RealFile {
    /// Closing is not enough: a live forked process has a copy of the handle, and the lock belongs
    /// to both copies.
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    // On Windows, files have no holes unless they are marked as sparse.
    #[cfg(unix)]
    fn allocated_bytes(&self) -> io::Result<u64> {
        /// The unit of `st_blocks`, independent of the file system's block size.
        const BLOCK_BYTES: u64 = 512;
        Ok(std::os::unix::fs::MetadataExt::blocks(&self.file.metadata()?) * BLOCK_BYTES)
    }

    #[cfg(not(windows))]
    fn file_id(&self) -> io::Result<FileId> {
        identity::of_file(&self.file)
    }

    #[cfg(windows)]
    fn file_id(&self) -> io::Result<FileId> {
        let id = identity::of_file(&self.file)?;
        Ok(FileId { device: *self.volume.get_or_init(|| id.device), index: id.index })
    }

    // A forked process must not read either: the pages that it knows may have been reused.
    #[cfg(not(windows))]
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.owner.check()?;
        std::os::unix::fs::FileExt::read_exact_at(&self.file, buffer, offset)
    }

    #[cfg(not(windows))]
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.owner.check()?;
        std::os::unix::fs::FileExt::write_all_at(&self.file, data, offset)
    }

    // The Windows calls also move the cursor of the file; no code here uses the cursor.
    #[cfg(windows)]
    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        self.owner.check()?;
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
        self.owner.check()?;
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
        self.owner.check()?;
        while_held(|| self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.owner.check()?;
        if self.is_temporary { Ok(()) } else { self.file.sync_data() }
    }

    fn sync_all(&self) -> io::Result<()> {
        self.owner.check()?;
        if self.is_temporary { Ok(()) } else { self.file.sync_all() }
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.owner.check()?;
        self.locked(self.file.try_lock())
    }

    fn try_lock_shared(&self) -> io::Result<bool> {
        self.owner.check()?;
        self.locked(self.file.try_lock_shared())
    }

    fn unlock(&self) -> io::Result<()> {
        // A forked process would release the lock of the process that opened the file.
        if self.owner.is_current() && self.is_locked.swap(false, Ordering::AcqRel) {
            return match self.file.unlock() {
                Err(error) if is_unlocked(&error) => Ok(()),
                outcome => outcome,
            };
        }
        Ok(())
    }
}

/// Whether the error says that nothing is locked any more. On Windows the standard library unlocks
/// twice, because a handle may have two locks, and Wine reports that there is no second one as a
/// lock violation.
fn is_unlocked(error: &io::Error) -> bool {
    const LOCK_VIOLATION: i32 = 33;
    cfg!(windows) && error.raw_os_error() == Some(LOCK_VIOLATION)
}

#[cfg(all(test, unix))]
mod tests {
    use crate::disk::{Disk as _, Mode, RealDisk};

    /// A range that was only added by growth uses no space of the disk; a written range does.
    #[test]
    fn a_hole_takes_no_room() {
        const BYTES: u64 = 8 << 20;
        let dir = tempfile::tempdir().unwrap();
        let file = RealDisk::create(dir.path()).unwrap().open("f", Mode::CreateNew).unwrap();
        file.set_len(BYTES).unwrap();
        let data: Vec<u8> =
            (0..1u32 << 20).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
        file.write_all_at(&data, BYTES / 2).unwrap();
        file.sync_all().unwrap();
        let allocated = file.allocated_bytes().unwrap();
        assert!((data.len() as u64 / 2..BYTES / 2).contains(&allocated), "{allocated}");
    }
}
