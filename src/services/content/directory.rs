//! A directory that an export writes.
//!
//! What must hold: an export that fails leaves none of its files, so that a part of one is not
//! taken for all of it and does not block the next attempt. The file that says that an export is
//! complete is written last, after the others and their names are durable.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::DiskWriter;
use crate::disk::{Disk, RealDisk, SharedDisk, is_inside};
use crate::error::{Error, Result};

/// A fresh directory, and the files that were written to it. Dropped before
/// [`ExportDirectory::finish`] it removes them.
pub(in crate::services) struct ExportDirectory {
    disk: Arc<RealDisk>,
    attempt: String,
    written: Vec<String>,
}

impl ExportDirectory {
    /// Opens a directory that does not exist or is empty, outside of the store, whose maintenance
    /// removes files that no record names. `what` names the export in errors.
    ///
    /// # Errors
    /// `InvalidArgument` for a directory of the store; `Conflict` for one that is not empty; the
    /// errors of the disk.
    pub(in crate::services) fn create(
        directory: &Path,
        what: &str,
        store: &SharedDisk,
    ) -> Result<Self> {
        let attempt = format!("exporting {what} into {}", directory.display());
        let failed = |error| Error::io(&attempt, error);
        let store = store.directory();
        if let Some(true) =
            store.map(|store| is_inside(directory, &store)).transpose().map_err(failed)?
        {
            let message =
                "the directory is the store itself, or inside of it; choose another directory";
            return Err(Error::invalid(message).context(&attempt));
        }
        let disk = RealDisk::create(directory).map_err(failed)?;
        if !disk.list("").map_err(failed)?.is_empty() {
            return Err(Error::conflict(format!(
                "{attempt}: the directory is not empty; name one that is missing or empty"
            )));
        }
        Ok(Self { disk, attempt, written: Vec::new() })
    }

    /// An error of the disk.
    pub(in crate::services) fn failed(&self, error: io::Error) -> Error {
        Error::io(&self.attempt, error)
    }

    /// Writes a file with `fill`. Its bytes are durable when this returns; its name is after
    /// [`ExportDirectory::sync`].
    ///
    /// # Errors
    /// Those of `fill` and of the disk.
    pub(in crate::services) fn write<T>(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut DiskWriter) -> Result<T>,
    ) -> Result<T> {
        let file = self.disk.create_local(name).map_err(|error| self.failed(error))?;
        self.written.push(name.to_owned());
        let mut target = DiskWriter { file, at: 0 };
        let filled = fill(&mut target)?;
        target.file.sync_all().map_err(|error| self.failed(error))?;
        Ok(filled)
    }

    /// Writes a file whose name is durable too.
    ///
    /// # Errors
    /// Those of the disk.
    pub(in crate::services) fn write_all(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let attempt = self.attempt.clone();
        self.write(name, |target| {
            target.write_all(bytes).map_err(|error| Error::io(&attempt, error))
        })?;
        self.sync()
    }

    /// Makes the names of all files durable.
    ///
    /// # Errors
    /// Those of the disk.
    pub(in crate::services) fn sync(&self) -> Result<()> {
        self.disk.sync_dir("").map_err(|error| self.failed(error))
    }

    /// Keeps the files.
    pub(in crate::services) fn finish(mut self) {
        self.written.clear();
    }
}

impl Drop for ExportDirectory {
    fn drop(&mut self) {
        self.written.iter().for_each(|name| drop(self.disk.remove_local(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn memory() -> SharedDisk {
        Arc::new(crate::disk::MemoryDisk::new())
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_was_finished_stays() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("export");
        let mut partial = ExportDirectory::create(&path, "numbers", &memory()).unwrap();
        partial.write_all("one", b"1").unwrap();
        let cut = partial.write("two", |target| {
            target.write_all(b"2").map_err(|error| Error::io("writing", error))?;
            Err::<(), _>(Error::invalid("cut"))
        });
        assert_eq!(cut.unwrap_err().message(), "cut");
        assert_eq!(files(&path), ["one", "two"]);
        drop(partial);
        assert_eq!(files(&path), Vec::<String>::new());

        let mut whole = ExportDirectory::create(&path, "numbers", &memory()).unwrap();
        whole.write_all("one", b"1").unwrap();
        whole.finish();
        assert_eq!(std::fs::read(path.join("one")).unwrap(), b"1");
        let again = ExportDirectory::create(&path, "numbers", &memory()).err().unwrap();
        assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
        assert_eq!(files(&path), ["one"]);
    }
}
