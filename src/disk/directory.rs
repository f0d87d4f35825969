//! Handles of directories: to keep their identity, and to make their names durable.

use std::fs::File;
#[cfg(windows)]
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(windows)]
use super::held::while_not_shared;

/// Opens a directory or a file for the question which one it is.
#[cfg(not(windows))]
pub(super) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a directory or a file for the question which one it is. Without any right of access, so
/// that no share mode of another handle refuses it; it keeps nobody from renaming or removing it.
#[cfg(windows)]
pub(super) fn open(path: &Path) -> io::Result<File> {
    with_access(path, 0)
}

#[cfg(windows)]
fn with_access(path: &Path, rights: u32) -> io::Result<File> {
    use std::os::windows::fs::OpenOptionsExt;
    /// `CreateFileW` opens directories with this flag alone.
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    OpenOptions::new().access_mode(rights).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)
}

/// Makes the names in a directory durable.
#[cfg(not(windows))]
pub(super) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes the names in a directory durable by `FlushFileBuffers`, which asks for one of two rights:
/// to add files or to add directories. Whoever made a name in the directory has one of them.
///
/// A file system that does not flush directories has to be one that logs names in their order, as
/// NTFS and ReFS do: the flush of a file forces the log up to it, and the record file is flushed in
/// the commit that uses the name. See `docs/platforms.md`.
#[cfg(windows)]
pub(super) fn sync(path: &Path) -> io::Result<()> {
    const FILE_ADD_FILE: u32 = 2;
    const FILE_ADD_SUBDIRECTORY: u32 = 4;
    let directory = while_not_shared(|| {
        with_access(path, FILE_ADD_FILE).or_else(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => with_access(path, FILE_ADD_SUBDIRECTORY),
            _ => Err(error),
        })
    })?;
    if !directory.metadata()?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    match directory.sync_all() {
        Err(error) if is_no_operation(&error) => fs::metadata(path).map(drop),
        outcome => outcome,
    }
}

/// Whether the file system has no flush of directories.
#[cfg(windows)]
fn is_no_operation(error: &io::Error) -> bool {
    const INVALID_FUNCTION: i32 = 1;
    const ACCESS_DENIED: i32 = 5;
    const NOT_SUPPORTED: i32 = 50;
    const INVALID_PARAMETER: i32 = 87;
    matches!(
        error.raw_os_error(),
        Some(INVALID_FUNCTION | ACCESS_DENIED | NOT_SUPPORTED | INVALID_PARAMETER)
    )
}
