//! The directory of blobs.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use super::directory_syncs::DirectorySyncs;
use super::format::{self, ROOT};
use super::numbers::Numbers;
use super::read::BlobReader;
use super::suspects::Suspects;
use super::write::{BlobInfo, BlobWriter, Shared};
use crate::disk::SharedDisk;
use crate::error::{Error, Result};
use crate::value::Control;

/// The contents of files and packages.
#[derive(Clone, Debug)]
pub struct BlobStore {
    pub(super) disk: SharedDisk,
    /// Directories whose names are durable.
    durable: Arc<Mutex<HashSet<String>>>,
    directory_syncs: DirectorySyncs,
    numbers: Numbers,
    /// Blobs that possibly no record names, see [`BlobStore::suspect`].
    suspects: Suspects,
    /// Number of readers that will still open each blob.
    held: Arc<Mutex<HashMap<u64, usize>>>,
}

/// Protects blobs from removal while this value lives, see [`BlobStore::hold`].
#[derive(Debug)]
pub(super) struct BlobHold {
    blobs: BlobStore,
    ids: Vec<u64>,
}

impl Drop for BlobHold {
    fn drop(&mut self) {
        let mut held = self.blobs.held.lock().unwrap_or_else(PoisonError::into_inner);
        for id in &self.ids {
            if let Some(readers) = held.get_mut(id) {
                *readers -= 1;
                if *readers == 0 {
                    held.remove(id);
                }
            }
        }
    }
}

/// A file of the directory, for the sweep at opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobEntry {
    /// Path on the disk.
    pub path: String,
    /// The blob's id; `None` for a file that is not a blob.
    pub id: Option<u64>,
    /// Length of the file in bytes.
    pub file_len: u64,
}

impl BlobStore {
    /// Opens the blobs of a store, and makes their directories durable.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn open(disk: SharedDisk) -> Result<Self> {
        let attempt = |error| Error::io("opening the directory of file contents", error);
        disk.create_dir_all(ROOT).map_err(attempt)?;
        disk.sync_dir("").map_err(attempt)?;
        let found = disk.list(ROOT).map_err(attempt)?;
        // Makes the directories durable before they are relied on: a killed process may have left
        // one that is not.
        disk.sync_dir(ROOT).map_err(attempt)?;
        let durable = found
            .into_iter()
            .filter(|entry| entry.is_dir)
            .map(|entry| format!("{ROOT}/{}", entry.name));
        Ok(Self {
            durable: Arc::new(Mutex::new(durable.collect())),
            directory_syncs: DirectorySyncs::default(),
            numbers: Numbers::default(),
            suspects: Suspects::default(),
            held: Arc::default(),
            disk,
        })
    }

    /// A reserved id without a file; `None` if the durable counter must be used.
    #[must_use]
    pub fn reserved_id(&self) -> Option<u64> {
        self.numbers.reserved()
    }

    /// The smallest id that was not assigned in this process.
    #[must_use]
    pub fn first_free_id(&self) -> u64 {
        self.numbers.first_free()
    }

    /// Sets the ids: those below `next` are assigned, those below `reserved` are durably reserved.
    pub fn set_reserved(&self, next: u64, reserved: u64) {
        self.numbers.set_reserved(next, reserved);
    }

    /// Lists blobs for the next check: their record may never be committed, or they could not be
    /// removed.
    pub fn suspect(&self, ids: impl IntoIterator<Item = u64>) {
        self.suspects.add(ids);
    }

    /// Removes and returns the ids that [`BlobStore::suspect`] listed.
    #[must_use]
    pub fn take_suspects(&self) -> Vec<u64> {
        self.suspects.take()
    }

    /// Marks blobs that will be opened later. Must be called while a record names them. The removal
    /// of blobs whose records are gone checks [`BlobStore::is_held`].
    #[must_use]
    pub(super) fn hold(&self, ids: Vec<u64>) -> BlobHold {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        for id in &ids {
            *held.entry(*id).or_default() += 1;
        }
        drop(held);
        BlobHold { blobs: self.clone(), ids }
    }

    /// Whether the file at `path` is a blob that a reader will still open.
    #[must_use]
    pub fn is_held(&self, path: &str) -> bool {
        let id = path
            .rsplit('/')
            .next()
            .and_then(format::parse_name)
            .filter(|&id| format::path(id) == path);
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        id.is_some_and(|id| held.contains_key(&id))
    }

    /// Starts writing the blob `id`, which must never have been used.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn writer(&self, id: u64) -> Result<BlobWriter> {
        self.prepare_directory(&format::directory(id))?;
        BlobWriter::create(self.shared(), id)
    }

    /// Starts writing a blob whose file is there, empty and with a durable name; `None` if no such
    /// file waits. A file that cannot be opened fails no blob: it is listed for the next check, and
    /// nobody gets its id.
    #[must_use]
    pub fn ready_writer(&self) -> Option<BlobWriter> {
        while let Some(id) = self.numbers.ready() {
            match BlobWriter::open(self.shared(), id) {
                Ok(writer) => return Some(writer),
                Err(_) => self.suspects.add([id]),
            }
        }
        None
    }

    fn shared(&self) -> Shared {
        Shared {
            disk: Arc::clone(&self.disk),
            suspects: self.suspects.clone(),
            directories: self.directory_syncs.clone(),
            numbers: self.numbers.clone(),
        }
    }

    /// Writes the blob `id` from `source`. It is durable when this returns; after an error no file
    /// is left.
    ///
    /// # Errors
    /// `LimitExceeded` above `size_limit` bytes; `Cancelled` and `DeadlineExceeded` by `control`;
    /// the errors of the source and of the disk.
    pub fn put(
        &self,
        id: u64,
        source: &mut dyn Read,
        size_limit: Option<u64>,
        control: &Control,
    ) -> Result<BlobInfo> {
        self.fill(self.writer(id)?, source, size_limit, control)
    }

    /// Writes the content of a blob that [`BlobStore::writer`] started, as [`BlobStore::put`] does.
    ///
    /// # Errors
    /// As [`BlobStore::put`].
    pub fn fill(
        &self,
        mut writer: BlobWriter,
        source: &mut dyn Read,
        size_limit: Option<u64>,
        control: &Control,
    ) -> Result<BlobInfo> {
        loop {
            control.check()?;
            let count = match source.read(writer.space()?) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io("reading the content from its source", error)),
            };
            writer.advance(count)?;
            check_limit(writer.len(), size_limit)?;
            control.report(writer.len(), None, "bytes");
        }
        writer.finish()
    }

    /// Opens a blob of `len` bytes. The handle stays readable if the blob is removed meanwhile.
    ///
    /// # Errors
    /// `NotFound` if there is no such blob; `Corrupt` if its file does not have this id and length.
    pub fn read(&self, id: u64, len: u64) -> Result<BlobReader> {
        BlobReader::open(&self.disk, id, len)
    }

    /// Reads a whole blob, and compares it with the hash of its content.
    ///
    /// # Errors
    /// `Corrupt` if a byte does not match.
    pub fn check(&self, info: &BlobInfo, control: &Control) -> Result<()> {
        self.read(info.id, info.len)?.copy_to(&mut io::sink(), Some(info.hash), control).map(|_| ())
    }

    /// As [`BlobStore::check`], on a disk that is only read.
    ///
    /// # Errors
    /// `NotFound` if there is no such blob; `Corrupt` if a byte does not match.
    pub fn check_on(disk: &SharedDisk, info: &BlobInfo, control: &Control) -> Result<()> {
        BlobReader::open(disk, info.id, info.len)?
            .copy_to(&mut io::sink(), Some(info.hash), control)
            .map(|_| ())
    }

    /// Removes blobs and makes their removal durable. Missing blobs are skipped, so the call can be
    /// repeated.
    ///
    /// # Errors
    /// Errors of the disk; the blobs after the one that failed may remain.
    pub fn delete(&self, ids: &[u64]) -> Result<()> {
        let paths: Vec<String> = ids.iter().map(|&id| format::path(id)).collect();
        self.remove(&paths)
    }

    /// Removes the empty files that wait for content, at rest and before the store is closed. What
    /// cannot be removed is garbage for the sweep at the next opening.
    pub fn remove_ready(&self) {
        for id in self.numbers.take_ready() {
            let _ = self.disk.remove_file(&format::path(id));
        }
    }

    /// Removes files that [`BlobStore::list`] found.
    ///
    /// # Errors
    /// As [`BlobStore::delete`].
    pub fn remove(&self, paths: &[String]) -> Result<()> {
        let mut directories: Vec<&str> = Vec::new();
        for path in paths {
            match self.disk.remove_file(path) {
                Ok(()) => {}
                // Removed by an earlier attempt, whose sync may have failed: sync the directory all
                // the same.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(format_args!("removing {path}"), error)),
            }
            let directory = crate::disk::parent(path);
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        for directory in directories {
            match self.disk.sync_dir(directory) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io(
                        format_args!("syncing the directory {directory}"),
                        error,
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Every file of the directory, for the sweep: files that no record names are garbage.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn list(&self) -> Result<Vec<BlobEntry>> {
        let list = |path: &str| {
            self.disk
                .list(path)
                .map_err(|error| Error::io(format_args!("listing the directory {path}"), error))
        };
        let mut out = Vec::new();
        for top in list(ROOT)? {
            let top_path = format!("{ROOT}/{}", top.name);
            if !top.is_dir {
                out.push(BlobEntry { path: top_path, id: None, file_len: top.len });
                continue;
            }
            for file in list(&top_path)?.into_iter().filter(|file| !file.is_dir) {
                let path = format!("{top_path}/{}", file.name);
                // A blob in the wrong directory is not found by its id, so it counts as a stray
                // file.
                let id = format::parse_name(&file.name).filter(|&id| format::path(id) == path);
                out.push(BlobEntry { path, id, file_len: file.len });
            }
        }
        Ok(out)
    }

    /// Length of the file of a blob with `len` bytes of content.
    #[must_use]
    pub fn file_len(len: u64) -> u64 {
        format::file_len(len)
    }

    /// Length of the content of a blob whose file has `len` bytes; `None` if no blob has such a
    /// file.
    #[must_use]
    pub fn content_len(len: u64) -> Option<u64> {
        format::content_len(len)
    }

    fn prepare_directory(&self, directory: &str) -> Result<()> {
        // Locked during the sync. Otherwise a second caller could name a blob before the name of
        // its directory is durable.
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if durable.contains(directory) {
            return Ok(());
        }
        let attempt = |error| Error::io(format_args!("creating the directory {directory}"), error);
        self.disk.create_dir_all(directory).map_err(attempt)?;
        self.disk.sync_dir(ROOT).map_err(attempt)?;
        durable.insert(directory.to_owned());
        Ok(())
    }
}

/// Returns `LimitExceeded` for content beyond the limit of the store.
pub(crate) fn check_limit(len: u64, size_limit: Option<u64>) -> Result<()> {
    match size_limit {
        Some(limit) if len > limit => Err(Error::limit(format!(
            "the content is longer than the {limit} bytes that the store's options allow"
        ))),
        _ => Ok(()),
    }
}
