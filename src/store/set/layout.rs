//! The names in a set, its lock, and the file `SET`.

use std::path::Path;

use crate::disk::{DiskFile, Mode, SharedDisk, walk};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{directory, format};

pub(super) const NAME: &str = format::SET;
const NEW_NAME: &str = "SET.new";
const LOCK: &str = "LOCK";
const UNFINISHED: &str = "UNFINISHED";
pub(super) const BACKUPS: &str = "backups";
pub(super) const RECORDS: &str = "records";
pub(super) const OBJECTS: &str = "objects";
/// The directory of [`Marks`](super::marks::Marks).
pub(super) const MARKS: &str = "damaged";
/// What `UNFINISHED` contains while the set has no backup: what is there without a manifest is what
/// an interrupted backup left, and not what lost its manifests.
const FIRST: &str = "first\n";
/// Why a set that lost its manifests is not written to.
pub(super) const LOST_MANIFESTS: &str =
    "the set has records or files of backups, but no manifest in backups/ that says what is needed";
/// The end of a name until the file is complete.
pub(super) const NEW: &str = ".new";
/// The first line of `SET`.
const MAGIC: &str = "stationdb backup set";
/// The layout that this build writes and reads.
const LAYOUT: u64 = 1;
/// More bytes than `SET` ever has.
const SET_BYTES_MAX: u64 = 4_096;

pub(super) fn failed(attempt: &str) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::io(attempt, error)
}

/// An open set.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) disk: SharedDisk,
    /// The seed of the store whose backups it has.
    pub(super) seed: u64,
    /// Released when the set is dropped.
    _lock: Option<Box<dyn DiskFile>>,
}

impl Set {
    /// Opens a set to write to it, and makes it if the directory is empty.
    ///
    /// # Errors
    /// `NotAStore` if the directory contains something else, or backups of another store; `Locked`
    /// if another call works on it; `NewerFormat`, `Io`, `NoSpace`; `Corrupt` if `SET` is damaged,
    /// or the set lost its manifests.
    pub(super) fn made(disk: SharedDisk, seed: u64) -> Result<Self> {
        let attempt = failed("preparing the backup set");
        let entries = disk.list("").map_err(&attempt)?;
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let is_begun = entries.iter().all(|entry| entry.name == LOCK || entry.name == NEW_NAME);
        if !has(NAME) && (!is_begun || (!entries.is_empty() && !has(LOCK))) {
            return Err(no_set());
        }
        let lock = disk.open(LOCK, Mode::OpenOrCreate).map_err(&attempt)?;
        if !lock.try_lock().map_err(&attempt)? {
            return Err(locked());
        }
        disk.sync_dir("").map_err(&attempt)?;
        if disk.exists(NAME).map_err(&attempt)? {
            let found = read_seed(&disk)?;
            if found != seed {
                return Err(Error::new(
                    ErrorKind::NotAStore,
                    "the directory has the backups of another store; choose another directory",
                ));
            }
        } else {
            let lines = format!("{MAGIC}\nset {LAYOUT}\nstore {seed:016x}");
            format::replace(&disk, NAME, NEW_NAME, &format::with_sum(&lines))?;
        }
        let set = Self { disk, seed, _lock: Some(lock) };
        if set.has_lost_manifests()? {
            return Err(Error::corrupt(format!(
                "{LOST_MANIFESTS}; put the manifests back, or choose another directory"
            )));
        }
        for directory in [BACKUPS, RECORDS, OBJECTS] {
            set.disk.create_dir_all(directory).map_err(&attempt)?;
        }
        set.disk.sync_dir("").map_err(&attempt)?;
        Ok(set)
    }

    /// Whether the set has what only a manifest could need, and no manifest, although a backup was
    /// completed in it. Nobody knows then what may be removed.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn has_lost_manifests(&self) -> Result<bool> {
        if !self.numbered(BACKUPS)?.is_empty() || self.is_bare()? {
            return Ok(false);
        }
        let is_first = self.is_unfinished()?
            && read_text(&self.disk, UNFINISHED, FIRST.len() as u64)? == FIRST;
        Ok(!is_first)
    }

    /// Whether the set has nothing that a backup would need.
    fn is_bare(&self) -> Result<bool> {
        // Directories stay when their last object goes.
        let objects = walk(&*self.disk, OBJECTS).map_err(failed("listing objects"))?;
        Ok(objects.is_empty() && self.numbered(RECORDS)?.is_empty())
    }

    /// Opens a set that is there, to remove from it.
    ///
    /// # Errors
    /// As [`Self::made`].
    pub(super) fn held(disk: SharedDisk) -> Result<Self> {
        let seed = read_seed(&disk)?;
        Self::made(disk, seed)
    }

    /// Opens a set to read it, beside others who do. On a medium that cannot be locked nobody can
    /// write to it either.
    ///
    /// # Errors
    /// `NotAStore` if the directory contains no set; `Locked` if a call writes to it;
    /// `NewerFormat`, `Corrupt`, `Io`.
    pub(super) fn shared(disk: SharedDisk) -> Result<Self> {
        let seed = read_seed(&disk)?;
        let lock = match disk.open(LOCK, Mode::ReadWrite) {
            Ok(lock) => Some(lock),
            Err(_) => disk.open(LOCK, Mode::Read).ok(),
        };
        if let Some(lock) = &lock
            && !lock.try_lock_shared().map_err(failed("locking the backup set"))?
        {
            return Err(locked());
        }
        Ok(Self { disk, seed, _lock: lock })
    }

    /// Opens a set without its lock, for a look at what it has.
    ///
    /// # Errors
    /// As [`Self::shared`], without `Locked`.
    pub(super) fn seen(disk: SharedDisk) -> Result<Self> {
        Ok(Self { seed: read_seed(&disk)?, disk, _lock: None })
    }

    /// Whether the last call that wrote to the set was interrupted, or still works.
    pub(super) fn is_unfinished(&self) -> Result<bool> {
        self.disk.exists(UNFINISHED).map_err(failed("reading the backup set"))
    }

    /// Marks the set as being written. Returns whether it was marked before: then names in it may
    /// not be durable, although they are there.
    pub(super) fn begin(&self) -> Result<bool> {
        let attempt = failed("marking the backup set");
        let was_marked = self.is_unfinished()?;
        let is_first = self.numbered(BACKUPS)?.is_empty() && self.is_bare()?;
        if !was_marked || is_first {
            let marker = self.disk.open(UNFINISHED, Mode::OpenOrCreate).map_err(&attempt)?;
            if is_first {
                marker.write_all_at(FIRST.as_bytes(), 0).map_err(&attempt)?;
            }
            marker.sync_all().map_err(&attempt)?;
        }
        self.disk.sync_dir("").map_err(&attempt)?;
        Ok(was_marked)
    }

    /// Takes the mark of [`Self::begin`] away.
    pub(super) fn finish(&self) -> Result<()> {
        let attempt = failed("taking the mark from the backup set");
        self.disk.remove_file(UNFINISHED).map_err(&attempt)?;
        self.disk.sync_dir("").map_err(&attempt)
    }

    /// The numbers of the files in a directory whose names are numbers, in order, with their
    /// lengths.
    pub(super) fn numbered(&self, directory: &str) -> Result<Vec<(u64, u64)>> {
        let entries = match self.disk.list(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            entries => entries.map_err(|error| Error::io(format!("listing {directory}"), error))?,
        };
        let files = entries.into_iter().filter(|entry| !entry.is_dir);
        Ok(files.filter_map(|file| Some((number(&file.name)?, file.len))).collect())
    }
}

/// Opens the directory of a set that must exist.
pub(super) fn opened(path: &Path, attempt: &str) -> Result<SharedDisk> {
    let disk: SharedDisk = directory::existing(path, attempt)?;
    Ok(disk)
}

/// The path of the manifest of a backup.
pub(super) fn manifest_path(backup: u64) -> String {
    format!("{BACKUPS}/{backup:016x}")
}

/// The path of the pack of a backup.
pub(super) fn pack_path(backup: u64) -> String {
    format!("{RECORDS}/{backup:016x}")
}

fn number(name: &str) -> Option<u64> {
    let number = u64::from_str_radix(name, 16).ok()?;
    (format!("{number:016x}") == name).then_some(number)
}

fn no_set() -> Error {
    Error::new(
        ErrorKind::NotAStore,
        "the directory is not empty and has no backup set; choose an empty directory, or one that \
         a backup made",
    )
}

fn locked() -> Error {
    Error::new(
        ErrorKind::Locked,
        "another call works on the backup set; try again when it has ended",
    )
}

fn read_seed(disk: &SharedDisk) -> Result<u64> {
    let text = match read_text(disk, NAME, SET_BYTES_MAX) {
        Err(error) if is_missing(&error) => {
            return Err(Error::new(
                ErrorKind::NotAStore,
                "the directory has no backup set; name the directory of one. A plain backup is \
                 restored and salvaged as a store",
            ));
        }
        text => text?,
    };
    let damaged = || Error::corrupt("SET of the backup set is damaged; choose another directory");
    if text.lines().next() != Some(MAGIC) || !format::has_sum(&text) {
        return Err(damaged());
    }
    let layout: u64 =
        format::value(&text, "set").and_then(|n| n.parse().ok()).ok_or_else(damaged)?;
    if layout != LAYOUT {
        return Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the backup set has the layout {layout}, and this build reads {LAYOUT}; use a \
                 build that is as new as the one that wrote it"
            ),
        ));
    }
    format::hexadecimal(&text, "store").ok_or_else(damaged)
}

/// Reads a text of at most `max` bytes.
///
/// # Errors
/// `Corrupt` for a longer file, or one that is not text; `Io`.
pub(super) fn read_text(disk: &SharedDisk, path: &str, max: u64) -> Result<String> {
    let attempt = |error| Error::io(format!("reading {path}"), error);
    let file = disk.open(path, Mode::Read).map_err(attempt)?;
    let len = file.len().map_err(attempt)?;
    if len > max {
        return Err(Error::corrupt(format!("{path} has {len} bytes, more than {max}")));
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0).map_err(attempt)?;
    String::from_utf8(bytes).map_err(|_| Error::corrupt(format!("{path} is not text")))
}

/// Whether an error says that a file does not exist.
pub(super) fn is_missing(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::NotFound)
}
