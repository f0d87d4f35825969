//! The identity of files.
//!
//! On Linux the times of a file are not asked for with its identity. Since Linux 6.13 a file whose
//! times were asked for gets an exact time with its next write, and its inode is then written with
//! each sync, for instance by ext4 without a journal. Every commit compares the names of the
//! journal before it writes there.

#[cfg(not(windows))]
use std::fs;
use std::fs::File;
use std::io;
use std::path::Path;

use super::FileId;

/// The identity of the file at `path`.
#[cfg(windows)]
pub(super) fn of_path(path: &Path) -> io::Result<FileId> {
    of_file(&super::directory::open(path)?)
}

/// The identity of an open file: the serial number of its volume, and its number there.
///
/// The number of a file on NTFS tells how often its place was used. ReFS has longer numbers, and
/// returns the same one for all files whose number does not fit: there a replaced file may seem to
/// be the same, but none seems to be another.
#[cfg(windows)]
pub(super) fn of_file(file: &File) -> io::Result<FileId> {
    let found = winapi_util::file::information(file)?;
    Ok(FileId { device: found.volume_serial_number(), index: found.file_index() })
}

/// The identity of the file at `path`.
#[cfg(not(any(target_os = "linux", windows)))]
pub(super) fn of_path(path: &Path) -> io::Result<FileId> {
    fs::metadata(path).map(|metadata| of_metadata(&metadata))
}

/// The identity of an open file.
#[cfg(not(any(target_os = "linux", windows)))]
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_name_and_a_handle_have_the_same_identity() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = File::create(&path).unwrap();
        let id = of_file(&file).unwrap();
        assert_eq!(of_path(&path).unwrap(), id);
        assert_ne!(of_path(directory.path()).unwrap(), id);
        let gone = of_path(&directory.path().join("g")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        let inside = of_path(&path.join("g")).unwrap_err();
        // Windows does not tell a file in the place of a directory from no directory.
        let kind =
            if cfg!(windows) { io::ErrorKind::NotFound } else { io::ErrorKind::NotADirectory };
        assert_eq!(inside.kind(), kind);
    }

    #[cfg(unix)]
    #[test]
    fn the_identity_is_what_metadata_tells() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let file = File::create(&path).unwrap();
        let told = of_metadata(&fs::metadata(&path).unwrap());
        assert_eq!((of_path(&path).unwrap(), of_file(&file).unwrap()), (told, told));
    }

    /// A directory stays the same while files are made and removed in it, and a file while it is
    /// written. One that is made anew under its name is another one, also at once: Windows gives it
    /// the creation time of the old one.
    #[test]
    fn only_what_is_made_anew_is_another_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("d");
        fs::create_dir(&path).unwrap();
        let open = crate::disk::directory::open(&path).unwrap();
        let id = of_path(&path).unwrap();
        assert_eq!(of_file(&open).unwrap(), id);
        for round in 0..20 {
            let name = path.join("f");
            fs::write(&name, [round]).unwrap();
            let kept = File::open(&name).unwrap();
            let written = of_path(&name).unwrap();
            fs::write(&name, [round; 100]).unwrap();
            assert_eq!(of_path(&name).unwrap(), written);
            fs::rename(&name, path.join("old")).unwrap();
            fs::write(&name, [round]).unwrap();
            assert_ne!(of_path(&name).unwrap(), written);
            assert_eq!(of_file(&kept).unwrap(), written);
            drop(kept);
            fs::remove_file(&name).unwrap();
            fs::remove_file(path.join("old")).unwrap();
            assert_eq!(of_path(&path).unwrap(), id);
        }
        fs::rename(&path, root.path().join("away")).unwrap();
        fs::create_dir(&path).unwrap();
        assert_ne!(of_path(&path).unwrap(), id);
        assert_eq!(of_path(&root.path().join("away")).unwrap(), id);
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
