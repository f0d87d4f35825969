//! The disk of the operating system.
//!
//! With the files and directories beside it, the only module that uses `std::fs`. It refuses
//! operations on names once the directory is not the one that was opened, and all operations in a
//! forked process. What Windows refuses while a scanner has a file open is tried again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file::RealFile;
use super::held::{while_held, while_not_shared};
use super::{DirEntry, Disk, DiskFile, FileId, Mode, Owner, directory, identity, path};

/// The locked file of a temporary directory.
const HOLD: &str = "HOLD";

/// A directory of the operating system.
///
/// Every operation on a name first compares the directory at the path with the one that was opened:
/// a `stat` call. A move between this check and the operation goes unnoticed.
#[derive(Debug)]
pub struct RealDisk {
    root: PathBuf,
    opened: OpenedRoot,
    owner: Owner,
    /// In a temporary directory: the locked file that keeps others from removing it.
    hold: Option<RealFile>,
}

/// The identity of the opened directory.
///
/// The open handle keeps the directory's number from being given again when the directory is
/// removed. It keeps nobody from moving or removing the directory.
#[derive(Debug)]
struct OpenedRoot {
    id: FileId,
    _open: File,
}

impl OpenedRoot {
    fn of(root: &Path) -> io::Result<Self> {
        let open = directory::open(root)?;
        Ok(Self { id: identity::of_file(&open)?, _open: open })
    }
}

#[cfg(not(unix))]
fn private_directory() -> fs::DirBuilder {
    fs::DirBuilder::new()
}

#[cfg(unix)]
fn private_directory() -> fs::DirBuilder {
    use std::os::unix::fs::DirBuilderExt as _;
    let mut builder = fs::DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(windows))]
fn keep_name(_options: &mut OpenOptions) {}

/// Opens a file so that it cannot be removed, renamed or replaced while the handle is open.
#[cfg(windows)]
fn keep_name(options: &mut OpenOptions) {
    use std::os::windows::fs::OpenOptionsExt;
    const FILE_SHARE_READ: u32 = 1;
    const FILE_SHARE_WRITE: u32 = 2;
    options.share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE);
}

impl RealDisk {
    /// Opens an existing directory; `NotFound` or `NotADirectory` otherwise. Creates nothing.
    pub fn open(root: &Path) -> io::Result<Arc<Self>> {
        if !fs::metadata(root)?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                format!("{} is not a directory", root.display()),
            ));
        }
        // An absolute root survives a change of the process's working directory.
        let root = std::path::absolute(root)?;
        Ok(Arc::new(Self::over(root, None)?))
    }

    fn over(root: PathBuf, hold: Option<RealFile>) -> io::Result<Self> {
        Ok(Self { opened: OpenedRoot::of(&root)?, owner: Owner::current(), root, hold })
    }

    /// Makes the directory `root`, which is removed when the disk is dropped; `AlreadyExists` if it
    /// is there. What is written in it is not synced, and other users cannot read it.
    pub(crate) fn temporary(root: &Path) -> io::Result<Arc<Self>> {
        let root = std::path::absolute(root)?;
        private_directory().create(&root)?;
        let hold = OpenOptions::new().write(true).create_new(true).open(root.join(HOLD));
        let hold = RealFile::new(hold?);
        if !hold.try_lock()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Arc::new(Self::over(root, Some(hold))?))
    }

    /// Removes the temporary directories in the directory `parent` whose processes have ended. A
    /// link in its place is not followed, and other names than those of `is_name` stay.
    pub(crate) fn remove_abandoned(parent: &Path, is_name: fn(&str) -> bool) -> io::Result<()> {
        if !fs::symlink_metadata(parent)?.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(parent)? {
            let entry = entry?;
            let is_ours = entry.file_name().to_str().is_some_and(is_name);
            if !is_ours || !entry.file_type()?.is_dir() {
                continue;
            }
            let path = entry.path();
            let open = |create| {
                OpenOptions::new().write(true).create(create).truncate(false).open(path.join(HOLD))
            };
            // Without the locked file, the directory is empty, somebody removes it, or a power cut
            // left the other files alone. A process that makes one has the locked file first.
            let hold = match open(false) {
                Ok(hold) => hold,
                Err(_) if fs::remove_dir(&path).is_ok() => continue,
                Err(_) => {
                    let Ok(hold) = open(true) else { continue };
                    hold
                }
            };
            let hold = RealFile::new(hold);
            if hold.try_lock()? {
                remove_temporary(&path, hold);
            }
        }
        Ok(())
    }

    /// Gives the file `path` of `source` a second name in this directory. Copies it where that is
    /// not possible. Returns false if there is no such file.
    pub(crate) fn share(&self, source: &Self, path: &str) -> io::Result<bool> {
        let (from, to) = (source.named(path)?, self.named(path)?);
        found(fs::hard_link(&from, &to).or_else(|_| copy_file(&from, &to).map(drop)))
    }

    /// Copies the file `path` of `source`. Where the file system can, both have the same blocks
    /// until one of them is written.
    pub(crate) fn copy(&self, source: &Self, path: &str) -> io::Result<u64> {
        copy_file(&source.named(path)?, &self.named(path)?)
    }

    /// Opens a directory, and creates it and its missing parents. The names of all created
    /// directories are durable on return.
    pub fn create(root: &Path) -> io::Result<Arc<Self>> {
        let root = std::path::absolute(root)?;
        let missing: Vec<&Path> = root.ancestors().take_while(|dir| !dir.exists()).collect();
        fs::create_dir_all(&root)?;
        for dir in missing {
            if let Some(parent) = dir.parent() {
                directory::sync(parent)?;
            }
        }
        Self::open(&root)
    }

    /// Opens the file at `path` for reading; `path` is any path of the system.
    pub fn open_file(path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = while_not_shared(|| File::open(path))?;
        // Unix opens directories for reading, but cannot read them.
        if file.metadata()?.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                format!("{} is a directory", path.display()),
            ));
        }
        Ok(Box::new(RealFile::new(file)))
    }

    /// Creates a file in the directory itself, with any name that this system allows.
    pub fn create_local(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).open(self.local(name)?)?;
        Ok(Box::new(RealFile::new(file)))
    }

    /// Removes a file that [`RealDisk::create_local`] created.
    pub fn remove_local(&self, name: &str) -> io::Result<()> {
        let path = self.local(name)?;
        while_held(|| fs::remove_file(&path))
    }

    fn local(&self, name: &str) -> io::Result<PathBuf> {
        path::check_local_name(name)?;
        Ok(self.root()?.join(name))
    }

    fn full(&self, path: &str) -> io::Result<PathBuf> {
        path::check(path)?;
        let root = self.root()?;
        Ok(if path.is_empty() { root.to_owned() } else { root.join(path) })
    }

    fn named(&self, path: &str) -> io::Result<PathBuf> {
        path::check_name(path)?;
        Ok(self.root()?.join(path))
    }

    /// The path of the directory, if the opened directory is still there.
    fn root(&self) -> io::Result<&Path> {
        self.owner.check()?;
        let is_there = match identity::of_path(&self.root) {
            Ok(id) => id == self.opened.id,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                false
            }
            Err(error) => return Err(error),
        };
        if is_there {
            return Ok(&self.root);
        }
        Err(io::Error::new(
            io::ErrorKind::StaleNetworkFileHandle,
            format!(
                "the directory {} was moved, removed or replaced while it was open",
                self.root.display()
            ),
        ))
    }
}

impl Disk for RealDisk {
    fn directory(&self) -> Option<PathBuf> {
        Some(self.root.clone())
    }

    fn open(&self, path: &str, mode: Mode) -> io::Result<Box<dyn DiskFile>> {
        let path = self.named(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            Mode::Read => return Self::open_file(&path),
            Mode::ReadWrite => {
                options.write(true);
                keep_name(&mut options);
            }
            Mode::ReadWriteRemovable => {
                options.write(true);
            }
            Mode::CreateNew => {
                options.write(true).create_new(true);
            }
            Mode::OpenOrCreate => {
                options.write(true).create(true).truncate(false);
            }
        }
        // A new file may have the name of one whose removal waits for a scanner.
        let opened = match mode {
            Mode::CreateNew => while_held(|| options.open(&path)),
            _ => while_not_shared(|| options.open(&path)),
        };
        let mut file = RealFile::new(opened?);
        file.is_temporary = self.hold.is_some();
        Ok(Box::new(file))
    }

    fn create_dir_all(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.full(path)?)
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        self.full(path)?.try_exists()
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.full(path)?)? {
            let entry = entry?;
            // This crate writes no names that are not Unicode, and its paths could not name them.
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

    fn copy_access(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.named(from)?, self.named(to)?);
        fs::set_permissions(&to, fs::metadata(&from)?.permissions())
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

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        let path = self.named(path)?;
        while_held(|| fs::remove_dir(&path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let path = self.full(path)?;
        if self.hold.is_some() { Ok(()) } else { directory::sync(&path) }
    }

    fn file_id(&self, path: &str) -> io::Result<FileId> {
        identity::of_path(&self.named(path)?)
    }

    /// Compares the directory once for all names.
    fn file_ids(&self, paths: &[&str]) -> Vec<io::Result<FileId>> {
        let root = match self.root() {
            Ok(root) => root,
            Err(error) => return vec![Err(error)],
        };
        let id = |path: &&str| {
            path::check_name(path)?;
            identity::of_path(&root.join(path))
        };
        paths.iter().map(id).collect()
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        fs4::available_space(self.root()?).map(Some)
    }
}

impl Drop for RealDisk {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take()
            && self.owner.is_current()
        {
            // What cannot be removed now is removed with the abandoned directories.
            remove_temporary(&self.root, hold);
        }
    }
}

/// Removes a temporary directory as far as the system allows. Where the name of a removed file
/// lasts until its last handle, the directory is empty when the locked file is closed.
fn remove_temporary(root: &Path, hold: RealFile) {
    if fs::remove_dir_all(root).is_err() {
        drop(hold);
        let _ = fs::remove_dir(root);
    }
}

#[cfg(not(windows))]
fn copy_file(from: &Path, to: &Path) -> io::Result<u64> {
    fs::copy(from, to)
}

/// Copies a file that may be open for writing. `CopyFileExW` does not say how it shares the file;
/// the standard library opens it so that others may read, write and remove it.
#[cfg(windows)]
fn copy_file(from: &Path, to: &Path) -> io::Result<u64> {
    let mut source = while_not_shared(|| File::open(from))?;
    let mut target = while_not_shared(|| File::create(to))?;
    io::copy(&mut source, &mut target)
}

fn found(outcome: io::Result<()>) -> io::Result<bool> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(
            RealDisk::open(&dir.path().join("plain")).unwrap_err().kind(),
            io::ErrorKind::NotADirectory
        );
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

    #[test]
    fn abandoned_directories_go_with_and_without_their_locked_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let live = RealDisk::temporary(&path("c-live")).unwrap();
        live.open("f", Mode::CreateNew).unwrap();
        for name in ["c-empty", "c-killed", "c-cut-off", "other"] {
            fs::create_dir(path(name)).unwrap();
        }
        for file in ["c-killed/f", "c-killed/HOLD", "c-cut-off/f", "other/f"] {
            fs::write(path(file), b"x").unwrap();
        }
        RealDisk::remove_abandoned(dir.path(), |name| name.starts_with("c-")).unwrap();
        let left: Vec<_> = RealDisk::open(dir.path()).unwrap().list("").unwrap();
        let left: Vec<_> = left.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(left, ["c-live", "other"]);
        assert!(live.exists("f").unwrap());
        drop(live);
        assert!(!path("c-live").exists());
    }

    #[cfg(unix)]
    #[test]
    fn no_name_is_used_in_a_directory_that_was_put_in_the_place_of_the_opened_one() {
        let dir = tempfile::tempdir().unwrap();
        let [root, away] = ["store", "away"].map(|name| dir.path().join(name));
        let disk = RealDisk::create(&root).unwrap();
        disk.open("f", Mode::CreateNew).unwrap().write_all_at(b"ours", 0).unwrap();
        fs::rename(&root, &away).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(root.join("f"), b"theirs").unwrap();
        let modes = [
            Mode::Read,
            Mode::ReadWrite,
            Mode::ReadWriteRemovable,
            Mode::CreateNew,
            Mode::OpenOrCreate,
        ];
        let mut refusals: Vec<_> = modes.map(|mode| disk.open("f", mode).map(drop)).into();
        refusals.extend([disk.create_dir_all("d"), disk.rename("f", "g"), disk.remove_file("f")]);
        refusals.extend([disk.remove_dir_all("f"), disk.sync_dir(""), disk.remove_local("f")]);
        refusals.extend([
            disk.exists("f").map(drop),
            disk.list("").map(drop),
            disk.file_id("f").map(drop),
        ]);
        refusals.extend([disk.free_bytes().map(drop), disk.create_local("g").map(drop)]);
        for refusal in refusals {
            assert_eq!(refusal.unwrap_err().kind(), io::ErrorKind::StaleNetworkFileHandle);
        }
        assert_eq!(fs::read(root.join("f")).unwrap(), b"theirs");
        // A link to another directory is a replacement as well. Moving the directory back ends the
        // refusals.
        fs::rename(&root, dir.path().join("theirs")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("theirs"), &root).unwrap();
        assert!(disk.list("").is_err());
        fs::remove_file(&root).unwrap();
        fs::rename(&away, &root).unwrap();
        assert_eq!(disk.list("").unwrap().len(), 1);
    }
}
