//! Looking into a store that another process may have open.
//!
//! The looker works on a private copy. Under the lock of the gate, which keeps the owner from
//! writing the record file and from removing files, it copies the record file, reads the journal up
//! to its last whole record, and then gives every other file a second name. The copy is opened as a
//! store that takes no writes. `docs/looking.md` has the costs.
//!
//! What must hold: the journal is read before the names are taken. A commit names a file only after
//! that file is durable, so every file that the copied commits name is there. The copied files are
//! never written: they are the files of the owner.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::backup::DIRECTORIES;
use super::open::{Store, StoreOptions};
use super::{directory, format, lock};
use crate::disk::{Disk as _, RealDisk, SharedDisk, parent, walk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::copy_journal;
use crate::records::gate::Passage;
use crate::session::guarded;
use crate::value::Control;

/// How often a copy is begun before the store counts as too busy.
const TRIES: u32 = 5;

impl Store {
    /// Opens the last commit of the store in `path` for reading, also while another process has the
    /// store open and writes.
    ///
    /// The handle shows this one commit for as long as it lives; a later call shows a later one. It
    /// may show a commit that its caller does not know to be durable yet. Every write is refused.
    /// The call copies the record file, or shares its blocks where the file system can. Meanwhile
    /// the owner commits, but writes no checkpoint and removes no file: for 10 seconds at most.
    /// Then it goes on, and the call begins again.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// # let path = dir.path().join("bench-7");
    /// use stationdb::{ErrorKind, Identity, Store};
    ///
    /// let owner = Store::open(&path)?;
    /// assert_eq!(Store::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    /// let view = Store::look(&path)?;
    /// let session = view.session(Identity::user("ada"));
    /// # drop(session);
    /// # view.close()?;
    /// # owner.close()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it contains no store; `Locked` if a
    /// build that does not know this call has the store open; `Conflict` if the owner went on
    /// before each of five copies was complete; `NewerFormat`, `OlderFormat`, `Corrupt`; `Io` and
    /// `NoSpace`.
    pub fn look(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().look(path)
    }
}

impl StoreOptions {
    /// Opens the last commit of the store in `path` for reading, with these options: see
    /// [`Store::look`]. There is no maintenance.
    ///
    /// # Errors
    /// As [`Store::look`]; `InvalidArgument` for an invalid option.
    pub fn look(self, path: impl AsRef<Path>) -> Result<Store> {
        let path = path.as_ref();
        let attempt = format!("looking into the store in {}", path.display());
        let source = directory::existing(path, &attempt)?;
        let looked = guarded("looking into the store", || {
            let view = take(&source, &Control::default())?;
            self.for_view().open_on(view)
        });
        looked.map_err(|error| error.context(attempt))
    }
}

/// Makes the private copy of the store on `source`.
fn take(source: &Arc<RealDisk>, control: &Control) -> Result<SharedDisk> {
    let shared: SharedDisk = source.clone();
    if format::probe(&shared)? == format::DirectoryKind::Empty {
        return Err(Error::new(ErrorKind::NotAStore, "the directory contains no store"));
    }
    for _ in 0..TRIES {
        let passage = Passage::enter(&shared, control)?;
        // Without a gate, nobody may have the store open meanwhile.
        let lock = match &passage {
            Some(_) => None,
            None => lock::acquire_for_reading(&shared)?,
        };
        let view = private(source)?;
        let copied = copy(source, &view);
        // A copy of what was written meanwhile proves nothing, whether it failed or not.
        if passage.map_or(Ok(true), |passage| passage.is_current())? {
            drop(lock);
            return copied.map(|()| view as SharedDisk);
        }
    }
    Err(Error::conflict(
        "the store was written before its copy was complete; try again when the disk is less busy",
    ))
}

/// A new private directory: in the store, where files can have second names; or in the temporary
/// directory of the system, if nothing can be made there, as when another user has the store.
fn private(source: &RealDisk) -> Result<Arc<RealDisk>> {
    let inside = source.directory().map(|root| root.join(directory::VIEWS));
    let inside = inside.filter(|_| source.create_dir_all(directory::VIEWS).is_ok());
    if let Some(parent) = &inside {
        // What cannot be removed now is removed by a later call.
        let _ = RealDisk::remove_abandoned(parent, directory::is_view_name);
    }
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for parent in inside.into_iter().chain([std::env::temp_dir()]) {
        for _ in 0..TRIES {
            match RealDisk::temporary(&parent.join(name()?)) {
                Ok(disk) => return Ok(disk),
                Err(error) => last = error,
            }
            if last.kind() != io::ErrorKind::AlreadyExists {
                break;
            }
        }
    }
    Err(Error::io("creating a directory for the copy", last))
}

fn name() -> Result<PathBuf> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| io::Error::other(error.to_string()))
        .map_err(|error| Error::io("drawing the name of a directory", error))?;
    Ok(PathBuf::from(directory::view_name(u64::from_le_bytes(bytes))))
}

/// Copies the store. The order is that of the promise at the top of this file.
fn copy(source: &Arc<RealDisk>, view: &Arc<RealDisk>) -> Result<()> {
    let failed = |error| Error::io("copying what the store has", error);
    let (from, to): (SharedDisk, SharedDisk) = (source.clone(), view.clone());
    view.copy(source, "records.redb").map_err(failed)?;
    copy_journal(&from, &to)?;
    for directory in DIRECTORIES.into_iter().chain(["search"]) {
        for (path, _) in walk(&*from, directory).map_err(failed)? {
            view.create_dir_all(parent(&path)).map_err(failed)?;
            // Files that no copied commit names may be removed meanwhile.
            view.share(source, &path).map_err(failed)?;
        }
    }
    // The view has no history without it, and is whole all the same.
    let _ = view.copy(source, format::STATUS);
    format::copy(&from, &to)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::files::{FileService as _, UploadFileRequest};
    use crate::{Identity, Session};

    fn upload(session: &Session, bytes: &[u8]) -> crate::files::FileId {
        let request = UploadFileRequest::default();
        session.upload_file(&mut &*bytes, request, &Control::default()).unwrap()
    }

    fn contents(path: &Path) -> usize {
        walk(&*RealDisk::open(path).unwrap(), "files").unwrap().len()
    }

    /// While somebody looks, commits go on, and neither a checkpoint nor a removal happens.
    #[test]
    fn the_owner_waits_for_a_looker_with_what_is_not_a_commit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let options = Store::options().maintenance_thread(false).small_blob_bytes(10);
        let owner = options.open(path).unwrap();
        let session = owner.session(Identity::user("ada"));
        let file = upload(&session, &[7; 100]);
        owner.maintain(&Control::default()).unwrap();
        let disk: SharedDisk = RealDisk::open(path).unwrap();
        let passage = Passage::enter(&disk, &Control::default()).unwrap().unwrap();
        let records = || std::fs::read(path.join("records.redb")).unwrap();
        let before = records();
        session.delete_file(&file).unwrap();
        upload(&session, &[8; 100]);
        assert_eq!(contents(path), 2);
        std::thread::scope(|scope| {
            let begun = Instant::now();
            let worker = scope.spawn(|| owner.maintain(&Control::default()));
            std::thread::sleep(Duration::from_millis(100));
            assert!(passage.is_current().unwrap());
            assert_eq!(contents(path), 2, "a file was removed beside a looker");
            assert!(records() == before, "the record file was written beside a looker");
            drop(passage);
            worker.join().unwrap().unwrap();
            assert!(begun.elapsed() >= Duration::from_millis(100));
        });
        owner.maintain(&Control::default()).unwrap();
        assert_eq!(contents(path), 1);
        assert!(records() != before);
    }

    /// A directory that cannot be written is looked into all the same, and nobody else can read
    /// what is then copied out of it.
    #[cfg(unix)]
    #[test]
    fn a_view_may_lie_outside_of_the_store() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let owner = Store::options().small_blob_bytes(10).open(path).unwrap();
        let file = upload(&owner.session(Identity::user("ada")), &[7; 100]);
        let views = path.join(directory::VIEWS);
        // A file where the directory of the copies should be; then a directory that takes none.
        for is_directory in [false, cfg!(target_os = "linux")] {
            if is_directory {
                symlink("/proc/self/fdinfo", &views).unwrap();
            } else {
                std::fs::write(&views, "").unwrap();
            }
            let view = Store::look(path).unwrap();
            let outside = view.engine().disk.directory().unwrap();
            assert!(outside.starts_with(std::env::temp_dir()), "{}", outside.display());
            let mode = outside.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{mode:o}");
            let mut bytes = Vec::new();
            let session = view.session(Identity::user("ada"));
            session.download_file(&file, &mut bytes, &Control::default()).unwrap();
            assert_eq!(bytes, [7; 100]);
            drop((session, view));
            assert!(!outside.exists());
            std::fs::remove_file(&views).unwrap();
        }
    }
}
