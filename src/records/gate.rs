//! The gate between the owner of a store and the processes that look into it.
//!
//! A looker holds the lock of the file `LOOK` shared while it copies the record file and takes the
//! names of the other files. The owner holds it exclusively while it writes the record file or
//! removes files. Commits go to the journal, so they need no gate.
//!
//! What must hold: a looker that finds the generation of the file at its name unchanged had the
//! record file to itself. The owner waits only [`limits::LOOKER_WAIT`] for a looker. Then it puts a
//! new file at the name, locked already, and goes on; the looker finds another generation and
//! begins again. The generation is the length of the file: it can be read while the file is locked,
//! on every platform.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::disk::{DiskFile, Mode, SharedDisk, remove_if_there};
use crate::error::{Error, Result};
use crate::value::{Control, limits};

/// The locked file. It is empty at first.
pub(crate) const NAME: &str = "LOOK";
/// The file that replaces it.
const NEW_NAME: &str = "LOOK.new";
/// How often a lock is tried.
const PAUSE: Duration = Duration::from_millis(1);

fn failed(error: std::io::Error) -> Error {
    Error::io("locking the file LOOK", error)
}

/// The owner's side.
#[derive(Debug)]
pub(crate) struct Gate {
    disk: SharedDisk,
    file: Mutex<Box<dyn DiskFile>>,
    wait: Duration,
}

impl Gate {
    /// Opens the gate of the store on `disk`, whose lock the caller holds.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn open(disk: &SharedDisk) -> Result<Self> {
        let file = disk.open(NAME, Mode::OpenOrCreate).map_err(failed)?;
        Ok(Self { disk: disk.clone(), file: Mutex::new(file), wait: limits::LOOKER_WAIT })
    }

    /// Shuts the gate. Waits for lookers, for a bounded time.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn shut(&self) -> Result<Shut<'_>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        take(&self.disk, &mut file, self.wait)?;
        Ok(Shut { file })
    }

    /// Shuts the gate if nobody looks.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn try_shut(&self) -> Result<Option<Shut<'_>>> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(file.try_lock().map_err(failed)?.then_some(Shut { file }))
    }

    /// Shuts the gate until this is dropped.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn shut_for_good(&mut self) -> Result<()> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        take(&self.disk, file, self.wait)
    }
}

/// Locks the file, or after `wait` the one that it is replaced by.
fn take(disk: &SharedDisk, file: &mut Box<dyn DiskFile>, wait: Duration) -> Result<()> {
    let until = Instant::now() + wait;
    while !file.try_lock().map_err(failed)? {
        if Instant::now() >= until {
            *file = replace(disk, &**file)?;
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Puts a locked file of the next generation at the name.
fn replace(disk: &SharedDisk, old: &dyn DiskFile) -> Result<Box<dyn DiskFile>> {
    let generation = old.len().map_err(failed)?;
    // What was left there is removed and not written: it may be a link.
    remove_if_there(&**disk, NEW_NAME).map_err(failed)?;
    let new = disk.open(NEW_NAME, Mode::CreateNew).map_err(failed)?;
    new.set_len(generation.saturating_add(1)).map_err(failed)?;
    if !new.try_lock().map_err(failed)? {
        return Err(Error::conflict("the file LOOK.new is locked by another program"));
    }
    disk.rename(NEW_NAME, NAME).map_err(failed)?;
    Ok(new)
}

/// The gate is shut while this is alive.
#[derive(Debug)]
pub(crate) struct Shut<'g> {
    file: MutexGuard<'g, Box<dyn DiskFile>>,
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        // The lock also ends with the handle.
        let _ = self.file.unlock();
    }
}

/// The looker's side: the owner leaves the record file and the names alone while this is alive.
#[derive(Debug)]
pub(crate) struct Passage {
    disk: SharedDisk,
    file: Box<dyn DiskFile>,
}

impl Passage {
    /// Waits until the owner does not write the record file. `None` if the store has no gate: no
    /// build that knows gates has opened it.
    ///
    /// # Errors
    /// `Io`; the errors of `control`.
    pub(crate) fn enter(disk: &SharedDisk, control: &Control) -> Result<Option<Self>> {
        loop {
            let file = match disk.open(NAME, Mode::Read) {
                Ok(file) => file,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(error)),
            };
            let passage = Self { disk: disk.clone(), file };
            while !passage.file.try_lock_shared().map_err(failed)? {
                control.check()?;
                std::thread::sleep(PAUSE);
            }
            if passage.is_current()? {
                return Ok(Some(passage));
            }
        }
    }

    /// Whether the owner has waited for this passage until now.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn is_current(&self) -> Result<bool> {
        let at_name = self.disk.open(NAME, Mode::Read).and_then(|file| file.len());
        Ok(at_name.map_err(failed)? == self.file.len().map_err(failed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::error::ErrorKind;

    fn gate(disk: &SharedDisk, wait_ms: u64) -> Gate {
        Gate { wait: Duration::from_millis(wait_ms), ..Gate::open(disk).unwrap() }
    }

    fn enter(disk: &SharedDisk, timeout_ms: u64) -> Result<Option<Passage>> {
        let control =
            Control::default().with_deadline(Instant::now() + Duration::from_millis(timeout_ms));
        Passage::enter(disk, &control)
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_replaces_the_gate_is_a_new_one() {
        let directory = tempfile::tempdir().unwrap();
        let theirs = directory.path().join("theirs");
        std::fs::write(&theirs, b"important").unwrap();
        let store = directory.path().join("store");
        std::fs::create_dir(&store).unwrap();
        let disk: SharedDisk = RealDisk::open(&store).unwrap();
        let mut gate = gate(&disk, 0);
        std::os::unix::fs::symlink(&theirs, store.join(NEW_NAME)).unwrap();
        let _looker = enter(&disk, 1_000).unwrap().unwrap();
        gate.shut_for_good().unwrap();
        assert_eq!(std::fs::read(&theirs).unwrap(), b"important");
        assert!(std::fs::symlink_metadata(store.join(NAME)).unwrap().is_file());
    }

    #[test]
    fn lookers_share_and_the_owner_waits() {
        let directory = tempfile::tempdir().unwrap();
        let disk: SharedDisk = RealDisk::open(directory.path()).unwrap();
        assert!(enter(&disk, 10).unwrap().is_none(), "there is no gate yet");
        let mut gate = gate(&disk, 60_000);
        let first = enter(&disk, 1_000).unwrap().unwrap();
        let second = enter(&disk, 1_000).unwrap().unwrap();
        assert!(gate.try_shut().unwrap().is_none());
        drop(first);
        assert!(gate.try_shut().unwrap().is_none());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                assert!(second.is_current().unwrap());
                drop(second);
            });
            let shut = gate.shut().unwrap();
            assert_eq!(enter(&disk, 30).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
            drop(shut);
        });
        assert!(enter(&disk, 1_000).unwrap().unwrap().is_current().unwrap());
        gate.shut_for_good().unwrap();
        assert_eq!(enter(&disk, 30).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
        drop(gate);
        assert!(enter(&disk, 1_000).unwrap().is_some());
    }

    #[test]
    fn a_looker_that_does_not_end_is_passed_by_and_finds_out() {
        let directory = tempfile::tempdir().unwrap();
        let disk: SharedDisk = RealDisk::open(directory.path()).unwrap();
        let gate = gate(&disk, 20);
        let stopped = enter(&disk, 1_000).unwrap().unwrap();
        for _ in 0..2 {
            let shut = gate.shut().unwrap();
            assert!(!stopped.is_current().unwrap());
            // A looker that comes now waits for the owner, not for the one that is stopped.
            assert_eq!(enter(&disk, 30).unwrap_err().kind(), ErrorKind::DeadlineExceeded);
            drop(shut);
            assert!(enter(&disk, 1_000).unwrap().unwrap().is_current().unwrap());
        }
    }
}
