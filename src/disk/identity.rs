//! The identity of files.
//!
//! On Linux the times of a file are not asked for with its identity. Since Linux 6.13 a file whose
//! times were asked for gets an exact time with its next write, and its inode is then written with
//! each sync, for instance by ext4 without a journal. Every commit compares the names of the
//! journal before it writes there.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::FileId;

/// The identity of the file at `path`.
#[cfg(not(target_os = "linux"))]
pub(super) fn of_path(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|metadata| of_metadata(&metadata))
}

/// The identity of an open file.
#[cfg(not(target_os = "linux"))]
pub(super) fn of_file(file: &File) -> io::Result<FileId> {
    file.metadata().map(|metadata| of_metadata(&metadata))
}

/// The identity of the file at `path`.
#[cfg(target_os = "linux")]
pub(super) fn of_path(path: &Path) -> io::Result<FileId> {
    use rustix::fs::{AtFlags, CWD};
    of_statx(CWD, path, AtFlags::empty(), || fs::metadata(path))
}

/// The identity of an open file.
#[cfg(target_os = "linux")]
pub(super) fn of_file(file: &File) -> io::Result<FileId> {
    of_statx(file, "", rustix::fs::AtFlags::EMPTY_PATH, || file.metadata())
}

/// The identity alone, or by `otherwise` where the system does not have or allow the call.
#[cfg(target_os = "linux")]
fn of_statx(
    directory: impl std::os::fd::AsFd,
    path: impl rustix::path::Arg,
    flags: rustix::fs::AtFlags,
    otherwise: impl FnOnce() -> io::Result<fs::Metadata>,
) -> io::Result<FileId> {
    use rustix::fs::{StatxFlags, makedev, statx};
    use rustix::io::Errno;
    match statx(directory, path, flags, StatxFlags::INO) {
        Ok(found) => Ok(FileId {
            device: makedev(found.stx_dev_major, found.stx_dev_minor),
            index: found.stx_ino,
        }),
        Err(Errno::NOSYS | Errno::PERM) => otherwise().map(|metadata| of_metadata(&metadata)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(windows))]
fn of_metadata(metadata: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    FileId { device: metadata.dev(), index: metadata.ino() }
}

/// The standard library does not return the file index on Windows. The creation time distinguishes
/// most files. The replacement of the record file is prevented by keeping its name, see
/// [`RealDisk`](super::RealDisk).
#[cfg(windows)]
fn of_metadata(metadata: &fs::Metadata) -> FileId {
    use std::os::windows::fs::MetadataExt;
    FileId { device: 0, index: metadata.creation_time() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_handle_have_the_identity_that_metadata_tells() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = File::create(&path).unwrap();
        let told = of_metadata(&fs::metadata(&path).unwrap());
        assert_eq!(of_path(&path).unwrap(), told);
        assert_eq!(of_file(&file).unwrap(), told);
        assert_ne!(of_path(directory.path()).unwrap(), told);
        let gone = of_path(&directory.path().join("g")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        let inside = of_path(&path.join("g")).unwrap_err();
        assert_eq!(inside.kind(), io::ErrorKind::NotADirectory);
    }

    /// A link leads to the identity of its target.
    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [path, link] = ["f", "l"].map(|name| directory.path().join(name));
        File::create(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(of_path(&link).unwrap(), of_path(&path).unwrap());
    }
}
