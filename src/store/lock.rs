//! The lock of a store: one handle in one process at a time.

use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};

/// The locked file. It stays when the store is closed; only the operating system's lock counts.
pub(super) const NAME: &str = "LOCK";
/// The owner of the lock, only for the error message: a locked file cannot be read on every
/// platform.
pub(super) const OWNER: &str = "LOCK.owner";

/// Locks the store directory. The lock is held while the returned file is open.
///
/// With `is_new`, the name of the lock file is durable on return, before any other file is created
/// in the directory. Otherwise, after a power cut, the next process would find files of an
/// interrupted creation without a lock file and refuse the directory as foreign. The directory is
/// synced even if another process created the file.
///
/// # Errors
/// `Locked`, with the owner, if another handle or process has the lock.
pub(super) fn acquire(disk: &SharedDisk, is_new: bool) -> Result<Box<dyn DiskFile>> {
    let file = disk
        .open(NAME, Mode::OpenOrCreate)
        .map_err(|error| Error::io("opening the lock file", error))?;
    take(disk, &*file)?;
    if is_new {
        disk.sync_dir("").map_err(|error| Error::io("syncing the store directory", error))?;
    }
    // Best effort: the text is only used in a message.
    let _ = write_owner(disk);
    Ok(file)
}

/// Prevents other processes from opening the store while its files are read. On a medium that
/// cannot be written, no process can open the store anyway, and no lock is taken.
///
/// # Errors
/// `Locked`, with the owner, if a handle or process has the lock.
pub(super) fn acquire_for_reading(disk: &SharedDisk) -> Result<Option<Box<dyn DiskFile>>> {
    let Ok(file) = disk.open(NAME, Mode::ReadWrite) else { return Ok(None) };
    take(disk, &*file)?;
    Ok(Some(file))
}

pub(super) fn take(disk: &SharedDisk, file: &dyn DiskFile) -> Result<()> {
    if file.try_lock().map_err(|error| Error::io("locking the store", error))? {
        return Ok(());
    }
    let owner = read_owner(disk).unwrap_or_else(|| "an unknown process".to_owned());
    Err(Error::new(
        ErrorKind::Locked,
        format!("the store is open already, by {owner}; close it there, or use that handle"),
    ))
}

fn write_owner(disk: &SharedDisk) -> std::io::Result<()> {
    let program = std::env::args().next().unwrap_or_default();
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let text = format!("process {} ({program})", std::process::id());
    // A new file: the name may be a link, and what it leads to is not ours to write.
    match disk.remove_file(OWNER) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    disk.open(OWNER, Mode::CreateNew)?.write_all_at(text.as_bytes(), 0)
}

fn read_owner(disk: &SharedDisk) -> Option<String> {
    let file = disk.open(OWNER, Mode::Read).ok()?;
    let len = usize::try_from(file.len().ok()?.min(256)).ok()?;
    let mut text = vec![0; len];
    file.read_exact_at(&mut text, 0).ok()?;
    String::from_utf8(text).ok().filter(|text| !text.is_empty())
}
