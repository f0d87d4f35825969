//! Marks of files that a verification found damaged, so that the next backup writes what they have
//! anew.
//!
//! A mark is an empty file with the name of the damaged one, in a directory of its own. Nothing
//! depends on it: a mark that is lost is made again by the next verification, and a mark too many
//! costs a backup that writes more.

use std::collections::BTreeSet;

use super::layout::{MARKS, OBJECTS, RECORDS, Set, failed};
use crate::disk::{Mode, remove_if_there};
use crate::error::Result;
use crate::records::archive::DIRECTORY as ARCHIVE;

/// The names of the marked files.
#[derive(Debug, Default)]
pub(super) struct Marks(BTreeSet<String>);

/// The last part of a path, which is unique in a set.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The path of the file that a mark is for.
fn path_of(name: &str) -> String {
    if name.contains('.') {
        return format!("{ARCHIVE}/{name}");
    }
    match (name.contains('-'), name.get(..2)) {
        (true, Some(directory)) => format!("{OBJECTS}/{directory}/{name}"),
        _ => format!("{RECORDS}/{name}"),
    }
}

impl Marks {
    /// The marks of a set.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn of(set: &Set) -> Result<Self> {
        let entries = match set.disk.list(MARKS) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            entries => entries.map_err(failed("listing the marks of the backup set"))?,
        };
        Ok(Self(entries.into_iter().map(|entry| entry.name).collect()))
    }

    /// Whether the file at this path is marked.
    pub(super) fn have(&self, path: &str) -> bool {
        self.0.contains(name_of(path))
    }

    /// Marks a file, durably.
    ///
    /// # Errors
    /// `Io`, `NoSpace`, as of a medium that takes no writes.
    pub(super) fn add(&mut self, set: &Set, path: &str) -> Result<()> {
        if self.have(path) {
            return Ok(());
        }
        let attempt = failed("marking a damaged file of the backup set");
        set.disk.create_dir_all(MARKS).map_err(&attempt)?;
        let name = name_of(path);
        let mark =
            set.disk.open(&format!("{MARKS}/{name}"), Mode::OpenOrCreate).map_err(&attempt)?;
        mark.sync_all().map_err(&attempt)?;
        set.disk.sync_dir(MARKS).map_err(&attempt)?;
        set.disk.sync_dir("").map_err(&attempt)?;
        self.0.insert(name.to_owned());
        Ok(())
    }

    /// Takes the mark of a file away that was written anew.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn remove(&mut self, set: &Set, path: &str) -> Result<()> {
        let name = name_of(path);
        if self.0.remove(name) {
            let attempt = failed("taking a mark from the backup set");
            remove_if_there(&*set.disk, &format!("{MARKS}/{name}")).map_err(attempt)?;
        }
        Ok(())
    }

    /// Takes the marks of all files away but of those for which `is_damaged` is true.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn keep(&mut self, set: &Set, is_damaged: impl Fn(&str) -> bool) -> Result<()> {
        let sound = self.0.iter().map(|name| path_of(name)).filter(|path| !is_damaged(path));
        for path in sound.collect::<Vec<_>>() {
            self.remove(set, &path)?;
        }
        Ok(())
    }

    /// Takes the marks of files away that are gone.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn sweep(&mut self, set: &Set) -> Result<()> {
        let attempt = failed("reading the backup set");
        for name in self.0.clone() {
            let path = path_of(&name);
            if !set.disk.exists(&path).map_err(&attempt)? {
                self.remove(set, &path)?;
            }
        }
        Ok(())
    }
}
