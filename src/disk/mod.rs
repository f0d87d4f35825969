//! The only access to the file system.
//!
//! Paths are relative to the directory that a disk was opened on, with `/` between the parts, so
//! that no absolute path is stored on disk or in memory.
//!
//! What must hold: file data is durable after the file's sync, and a name is durable after
//! [`Disk::sync_dir`] of its directory. Nothing else is promised. No other module uses `std::fs`.

#[cfg(any(test, feature = "faults"))]
pub mod contract;
#[cfg(test)]
mod counting;
mod directory;
mod file;
mod held;
mod identity;
#[cfg(any(test, feature = "fuzzing", feature = "faults"))]
mod memory;
mod owner;
mod path;
mod place;
mod real;
#[cfg(any(test, feature = "faults"))]
pub(crate) mod sim;
#[cfg(any(test, feature = "faults"))]
mod windows;

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Result};

#[cfg(test)]
pub(crate) use counting::CountingDisk;
#[cfg(any(test, feature = "fuzzing", feature = "faults"))]
pub use memory::MemoryDisk;
pub(crate) use owner::Owner;
pub(crate) use place::{directories_in, existing_parent, file_in_the_way, is_inside};
pub use real::RealDisk;
#[cfg(any(test, feature = "faults"))]
pub(crate) use windows::as_asked;
#[cfg(any(test, feature = "faults"))]
pub use windows::{Removal, WindowsDisk};

/// A handle to a disk, shared by all modules of one store.
pub type SharedDisk = Arc<dyn Disk>;

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// Name inside the directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Length in bytes; 0 for directories.
    pub len: u64,
}

/// The identity of the file that a name or a handle refers to. It is unique on one disk while a
/// handle of the file is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    /// The device that the file is on.
    pub device: u64,
    /// The file's number on the device.
    pub index: u64,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The file must exist, and is only read.
    Read,
    /// The file must exist, and is read and written.
    ReadWrite,
    /// As `ReadWrite`, for a file that can be removed and renamed meanwhile on every system, like
    /// one that was created.
    ReadWriteRemovable,
    /// The file must not exist. It is created, and is read and written.
    CreateNew,
    /// The file is created if it does not exist, and is read and written.
    OpenOrCreate,
}

/// A directory tree on some medium.
///
/// All calls are safe from many threads at once. Errors are plain [`io::Error`]s; callers add the
/// attempt and the path.
///
/// A disk whose directory is no longer at its path returns `StaleNetworkFileHandle` from every call
/// that takes a name, so that no file of another directory is read, changed or removed.
pub trait Disk: Send + Sync + Debug + 'static {
    /// The directory of the system that this disk is; `None` if it is none.
    fn directory(&self) -> Option<std::path::PathBuf> {
        None
    }
    /// Opens or creates a file.
    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>>;
    /// Creates a directory and its missing parents inside the disk. Succeeds if it exists. `""` is
    /// the root of the disk.
    fn create_dir_all(&self, path: &str) -> io::Result<()>;
    /// Whether a file or directory with this name exists.
    fn exists(&self, path: &str) -> io::Result<bool>;
    /// The entries of a directory, sorted by name; `NotFound` when there is no such directory.
    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>>;
    /// Gives `to` the access permissions of `from`, which it will replace. Does nothing on a disk
    /// without permissions.
    fn copy_access(&self, from: &str, to: &str) -> io::Result<()> {
        let _ = (from, to);
        Ok(())
    }
    /// Renames a file or directory, replacing a file that has the new name. Durable after
    /// `sync_dir` of both parents.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file. Durable after `sync_dir` of its parent.
    fn remove_file(&self, path: &str) -> io::Result<()>;
    /// Removes a directory and everything in it.
    fn remove_dir_all(&self, path: &str) -> io::Result<()>;
    /// Removes a directory that is empty; `DirectoryNotEmpty` when it is not. Durable after
    /// `sync_dir` of its parent.
    ///
    /// As it is here, nobody may create a file in the directory meanwhile.
    fn remove_dir(&self, path: &str) -> io::Result<()> {
        if self.list(path)?.is_empty() {
            self.remove_dir_all(path)
        } else {
            Err(io::ErrorKind::DirectoryNotEmpty.into())
        }
    }
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &str) -> io::Result<()>;
    /// The file that a name leads to now.
    fn file_id(&self, path: &str) -> io::Result<FileId>;
    /// As [`Disk::file_id`], for several names in their order. May end with the first error.
    fn file_ids(&self, paths: &[&str]) -> Vec<io::Result<FileId>> {
        paths.iter().map(|path| self.file_id(path)).collect()
    }
    /// Bytes that can still be written; `None` if the medium does not report them.
    fn free_bytes(&self) -> io::Result<Option<u64>>;
}

/// An open file: positioned reads and writes, no cursor.
///
/// Dropping it promises nothing: data that is not synced may be lost.
#[cfg_attr(
    feature = "faults",
    expect(
        clippy::len_without_is_empty,
        reason = "asking costs a system call, and nobody asks for emptiness alone"
    )
)]
pub trait DiskFile: Send + Sync + Debug {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Bytes that the file uses on the medium, if it reports them. Holes that were never written
    /// use none.
    fn allocated_bytes(&self) -> io::Result<u64> {
        self.len()
    }
    /// The file that this handle refers to, whatever its current name.
    fn file_id(&self) -> io::Result<FileId>;
    /// Fills `buffer` from `offset`; `UnexpectedEof` if the file ends earlier.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `data` at `offset`; grows the file if needed.
    fn write_all_at(&self, data: &[u8], offset: u64) -> io::Result<()>;
    /// Truncates or grows the file; new bytes read as zero.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes the data durable, and the length that is needed to read it.
    fn sync_data(&self) -> io::Result<()>;
    /// Makes data and metadata durable.
    fn sync_all(&self) -> io::Result<()>;
    /// Takes the exclusive lock of the file without waiting. Returns false if another handle or
    /// process has it.
    ///
    /// The lock ends with [`DiskFile::unlock`], when the handle is dropped, or with the process.
    /// The platforms do not define what happens if this handle already has the lock; do not take it
    /// twice.
    fn try_lock(&self) -> io::Result<bool>;
    /// Takes the lock of the file without waiting, together with other handles that share it.
    /// Returns false if a handle or process has it exclusively. The file may be opened for reading.
    ///
    /// On a disk without shared locks, this is the exclusive one.
    fn try_lock_shared(&self) -> io::Result<bool> {
        self.try_lock()
    }
    /// Releases the lock; succeeds if this handle does not have it.
    fn unlock(&self) -> io::Result<()>;
}

/// The directory part of a path: `a/b/c` -> `a/b`, `c` -> `""`.
#[must_use]
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Reads a whole file of at most `max_len` bytes. A longer file is `InvalidData`, so that the file
/// does not determine how much memory is allocated.
#[cfg(any(test, feature = "faults"))]
pub fn read_file(disk: &dyn Disk, path: &str, max_len: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(path, Mode::Read)?;
    let len = file.len()?;
    let too_long = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{path} has {len} bytes, at most {max_len} are expected"),
        )
    };
    if len > max_len {
        return Err(too_long());
    }
    let mut bytes = vec![0; usize::try_from(len).map_err(|_| too_long())?];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// Creates a file with this content, and makes first the file and then its name durable.
#[cfg(any(test, feature = "faults"))]
pub fn write_new_file(disk: &dyn Disk, path: &str, bytes: &[u8]) -> io::Result<()> {
    let file = disk.open(path, Mode::CreateNew)?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    disk.sync_dir(parent(path))
}

/// Size of the buffer of [`copy_file`].
const COPY_BYTES: usize = 1024 * 1024;

/// Copies a file from one disk to a new file on another, and syncs it. `progress` is called with
/// the number of bytes of each step, and its error stops the copy.
///
/// # Errors
/// Those of the disks; the error of `progress`, unchanged.
pub(crate) fn copy_file(
    from: &dyn Disk,
    to: &dyn Disk,
    path: &str,
    progress: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    copy_file_as(from, path, to, path, progress)
}

/// As [`copy_file`], to a file with another path.
///
/// # Errors
/// As [`copy_file`].
pub(crate) fn copy_file_as(
    from: &dyn Disk,
    path: &str,
    to: &dyn Disk,
    new_path: &str,
    mut progress: impl FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let failed = |error| Error::io(format_args!("copying {path}"), error);
    let source = from.open(path, Mode::Read).map_err(failed)?;
    let target = to.open(new_path, Mode::CreateNew).map_err(failed)?;
    let len = source.len().map_err(failed)?;
    let mut buffer = vec![0; COPY_BYTES];
    let mut at = 0;
    while at < len {
        let step = usize::try_from(len - at).map_or(COPY_BYTES, |rest| rest.min(COPY_BYTES));
        let chunk = buffer.get_mut(..step).unwrap_or_default();
        source.read_exact_at(chunk, at).map_err(failed)?;
        target.write_all_at(chunk, at).map_err(failed)?;
        at += step as u64;
        progress(step as u64)?;
    }
    target.sync_all().map_err(failed)?;
    Ok(len)
}

/// Removes a file if it is there.
///
/// # Errors
/// What the disk says.
pub(crate) fn remove_if_there(disk: &dyn Disk, path: &str) -> io::Result<()> {
    if disk.exists(path)? { disk.remove_file(path) } else { Ok(()) }
}

/// The paths and lengths of all files below a directory, sorted by path; empty if it does not
/// exist.
pub fn walk(disk: &dyn Disk, directory: &str) -> io::Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = match disk.list(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let path = if directory.is_empty() {
                entry.name
            } else {
                format!("{directory}/{}", entry.name)
            };
            if entry.is_dir {
                open.push(path);
            } else {
                files.push((path, entry.len));
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}
