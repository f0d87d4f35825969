//! Objects: the files of the store in a set, named by what they contain.

use std::collections::HashMap;

use super::layout::{NEW, OBJECTS, Set};
use super::marks::Marks;
use super::pace::Pace;
use crate::blobs::{BlobStore, check_blob};
use crate::disk::{Disk, Mode, copy_file_as, parent, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::records::Snapshot;
use crate::session::tables::{check_file, file_hashes};
use crate::value::Control;
use crate::value::byte_reader::ByteReader;

/// Bytes that are read at once.
const STEP_BYTES: usize = 256 * 1024;

/// What a file of the store contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Object {
    /// Number of the blob whose content `hash` is of; without, `hash` is of the whole file.
    pub(super) blob: Option<u64>,
    /// Length of the file.
    pub(super) len: u64,
    /// XXH3-128 of the file, or of the content of the blob.
    pub(super) hash: u128,
}

impl Object {
    /// Its path in a set.
    pub(super) fn path(&self) -> String {
        let Self { len, hash, .. } = self;
        let directory = (hash >> 120) as u8;
        let mut path = format!("{OBJECTS}/{directory:02x}/{hash:032x}-{len:016x}");
        if let Some(blob) = self.blob {
            path.push_str(&format!("-{blob:016x}"));
        }
        path
    }

    /// Checks every byte of the file at `path`.
    ///
    /// # Errors
    /// `Corrupt` if it is another file, or missing; `Io`; the errors of `control`.
    pub(super) fn check(&self, disk: &dyn Disk, path: &str, control: &Control) -> Result<()> {
        if !disk.exists(path).map_err(|error| Error::io(format!("looking for {path}"), error))? {
            return Err(Error::corrupt("the file is missing"));
        }
        let Some(blob) = self.blob else {
            let hash = format!("{:032x}", self.hash);
            return check_file(disk, path, self.len, Some(&hash), control);
        };
        let content = BlobStore::content_len(self.len)
            .ok_or_else(|| Error::corrupt("the file has a length that no content has"))?;
        check_blob(disk, path, blob, content, self.hash, control)
    }

    /// The value of the row that describes a file.
    pub(super) fn row(object: Option<&Self>) -> Vec<u8> {
        let Some(object) = object else { return vec![0] };
        let mut row = vec![if object.blob.is_some() { 2 } else { 1 }];
        row.extend_from_slice(&object.len.to_le_bytes());
        row.extend_from_slice(&object.hash.to_le_bytes());
        row
    }

    /// Reads what [`Self::row`] made for the file `path`; `None` for a file that the store lacked.
    ///
    /// # Errors
    /// `Corrupt` if it is damaged.
    pub(super) fn from_row(path: &[u8], row: &[u8]) -> Result<(String, Option<Self>)> {
        let read = || {
            let path = String::from_utf8(path.to_vec()).ok()?;
            let mut reader = ByteReader::new(row);
            let kind = reader.byte()?;
            if kind == 0 {
                return Some((path, None));
            }
            let len = reader.number(u64::from_le_bytes)?;
            let hash = reader.number(u128::from_le_bytes)?;
            let blob = match kind {
                1 => None,
                2 => Some(u64::from_str_radix(path.rsplit('/').next()?, 16).ok()?),
                _ => return None,
            };
            Some((path, Some(Self { blob, len, hash })))
        };
        read().ok_or_else(|| Error::corrupt("the list of files of the backup is damaged"))
    }
}

/// What the records of a snapshot say about the contents of its files, by path.
///
/// # Errors
/// `Corrupt` if the records cannot be walked.
pub(super) fn identities(snapshot: &Snapshot) -> Result<HashMap<String, (Option<u64>, u128)>> {
    let mut known: HashMap<_, _> =
        file_hashes(snapshot)?.into_iter().map(|(path, hash)| (path, (None, hash))).collect();
    for blob in crate::services::blob_hashes(snapshot)? {
        known.insert(crate::blobs::path(blob.id), (Some(blob.id), blob.hash));
    }
    Ok(known)
}

/// The objects that a set has, as a listing shows them.
pub(super) struct Listed<'m> {
    directories: HashMap<String, HashMap<String, u64>>,
    marks: &'m Marks,
}

impl<'m> Listed<'m> {
    pub(super) fn new(marks: &'m Marks) -> Self {
        Self { directories: HashMap::new(), marks }
    }

    /// Whether the set has this object: under its name, with its length, and without a mark. It had
    /// its checksums when it got the name, so it is not read.
    pub(super) fn has(&mut self, set: &Set, object: &Object) -> Result<bool> {
        let path = object.path();
        let directory = parent(&path);
        if !self.directories.contains_key(directory) {
            let entries = match set.disk.list(directory) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
                entries => {
                    entries.map_err(|error| Error::io(format!("listing {directory}"), error))?
                }
            };
            let files = entries.into_iter().filter(|entry| !entry.is_dir);
            let files = files.map(|file| (file.name, file.len)).collect();
            self.directories.insert(directory.to_owned(), files);
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        let len = self.directories.get(directory).and_then(|files| files.get(name));
        Ok(len == Some(&object.len) && !self.marks.have(&path))
    }

    /// Notes that an object was added.
    pub(super) fn add(&mut self, object: &Object) {
        let path = object.path();
        if let Some(files) = self.directories.get_mut(parent(&path)) {
            files.insert(path.rsplit('/').next().unwrap_or_default().to_owned(), object.len);
        }
    }
}

/// Copies a file of a store into a set as an object. Its bytes are durable on return, its name is
/// after a sync of its directory. The error inside is that of a file that is missing or damaged, or
/// that cannot be read.
///
/// The file is checked first. So damage of the store never gets the name of what it damaged.
///
/// # Errors
/// Those of the set, `NoSpace` among them; the errors of `control`.
pub(super) fn send(
    source: &dyn Disk,
    path: &str,
    set: &Set,
    object: &Object,
    pace: &mut Pace<'_>,
) -> Result<Result<()>> {
    let check = |control: &Control| match object.check(source, path, control) {
        Err(error) if error.is_damage() => Ok(Err(error)),
        checked => checked.map(Ok),
    };
    if let Err(lost) = check(pace.control)? {
        return Ok(Err(lost));
    }
    let target = object.path();
    let attempt = |error| Error::io(format!("copying {path} to {target}"), error);
    set.disk.create_dir_all(parent(&target)).map_err(attempt)?;
    let new = format!("{target}{NEW}");
    remove_if_there(&*set.disk, &new).map_err(attempt)?;
    if let Err(failed) = copy_file_as(source, path, &*set.disk, &new, |step| pace.wrote(step)) {
        // A failure of the store shows in a read of it alone.
        if failed.is_damage()
            && let Err(lost) = check(pace.control)?
        {
            return Ok(Err(lost));
        }
        return Err(failed);
    }
    set.disk.rename(&new, &target).map_err(attempt)?;
    Ok(Ok(()))
}

/// The object that a file without an identity is: its records are damaged, so its bytes name it.
///
/// # Errors
/// `Corrupt` if it is missing; `Io`; the errors of `control`.
pub(super) fn of_bytes(disk: &dyn Disk, path: &str, control: &Control) -> Result<Object> {
    let attempt = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(ErrorKind::Corrupt, "the file is missing"),
        _ => Error::io(format!("reading {path}"), error),
    };
    let file = disk.open(path, Mode::Read).map_err(attempt)?;
    let len = file.len().map_err(attempt)?;
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    let mut buffer = vec![0; STEP_BYTES];
    let mut at = 0;
    while at < len {
        control.check()?;
        let step = usize::try_from(len - at).unwrap_or(STEP_BYTES).min(STEP_BYTES);
        let part = buffer.get_mut(..step).unwrap_or_default();
        file.read_exact_at(part, at).map_err(attempt)?;
        hasher.update(part);
        at += step as u64;
    }
    Ok(Object { blob: None, len, hash: hasher.digest128() })
}
