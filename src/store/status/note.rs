//! How a process that looks into a store tells its owner of a backup.
//!
//! The outcome lies in the directory of the views until the owner keeps it. Nothing depends on it:
//! a note that is lost, or that cannot be written, costs the owner's knowledge of one backup.

use super::report::Outcome;
use super::text::{read, write};
use crate::disk::{RealDisk, SharedDisk};
use crate::error::{Error, Result};
use crate::store::directory::VIEWS;

const NAME: &str = "backup-outcome";

fn path() -> String {
    format!("{VIEWS}/{NAME}")
}

/// The place for the notes of a view.
#[derive(Debug)]
pub(super) struct Note {
    owner: std::path::PathBuf,
}

impl Note {
    /// The place for a view on this disk; `None` if it does not lie in the directory of its owner.
    pub(super) fn of_view(disk: &SharedDisk) -> Option<Self> {
        let view = disk.directory()?;
        let views = view.parent().filter(|views| views.ends_with(VIEWS))?;
        Some(Self { owner: views.parent()?.to_owned() })
    }

    /// Leaves the outcome of a backup.
    ///
    /// # Errors
    /// `Io`, `NoSpace`.
    pub(super) fn leave(&self, outcome: &Outcome) -> Result<()> {
        let disk: SharedDisk = RealDisk::open(&self.owner)
            .map_err(|error| Error::io("opening the store that is looked into", error))?;
        write(&disk, &path(), &format!("{}.new", path()), outcome)
    }
}

/// Takes the note that is left for the owner of a store.
///
/// # Errors
/// `Io`; `Corrupt` if it is none.
pub(super) fn take(disk: &SharedDisk) -> Result<Option<Outcome>> {
    let path = path();
    let attempt = |error| Error::io(format!("reading {path}"), error);
    if !disk.exists(&path).map_err(attempt)? {
        return Ok(None);
    }
    let found = read(disk, &path);
    disk.remove_file(&path).map_err(attempt)?;
    found
}
