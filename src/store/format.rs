//! The FORMAT file. It shows that the directory is a store, and which builds may open it.
//!
//! It is written last when a store is created. So a directory without it is either not a store, or
//! one whose creation was interrupted and that contains no data yet.

use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::gate;
use crate::value::stored::Format;

pub(super) const NAME: &str = "FORMAT";
/// A file that marks the copy of a store until the copy is complete.
pub(super) const INCOMPLETE: &str = "BACKUP-INCOMPLETE";
const NEW_NAME: &str = "FORMAT.new";
const MAGIC: &str = "stationdb";

/// The format that this build writes, and the newest one that it reads. Later builds were never
/// promised to read format 0.
///
/// It is raised with any change of stored bytes that an older build could not read, or would
/// damage. Such a change includes the upgrade of stores of the format before. See "Versions" in
/// `docs/format.md`.
pub(super) const VERSION: u32 = Format::CURRENT.number() as u32;
/// Distinguished stores of format 0. Builds of that time read the line before they refuse a store.
const REVISION: u32 = 0;

/// The kind of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A store that this build opens.
    Store,
    /// An empty directory, or an interrupted creation.
    Empty,
}

/// Determines the kind of a directory, without changing it.
///
/// # Errors
/// `NotAStore` if it contains something else; `NewerFormat` or `OlderFormat` if this build does not
/// read its format; `Corrupt` if FORMAT is damaged.
pub(super) fn probe(disk: &SharedDisk) -> Result<Found> {
    let entries = match disk.list("") {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Empty),
        Err(error) => return Err(Error::io("listing the store directory", error)),
    };
    if entries.iter().any(|entry| entry.name == INCOMPLETE) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the directory contains an interrupted backup; back up to it again, or choose another \
             directory",
        ));
    }
    if entries.iter().any(|entry| entry.name == NAME && !entry.is_dir) {
        check(&read(disk)?)?;
        return Ok(Found::Store);
    }
    let ours = [
        "LOCK",
        "LOCK.owner",
        gate::NAME,
        NEW_NAME,
        "records.redb",
        "records.redb.new",
        "journal.0",
        "journal.1",
        "tables",
        "files",
        "search",
    ];
    let foreign = entries.iter().find(|entry| !ours.contains(&entry.name.as_str()));
    // A creation makes the lock file first. So files without a lock file are not ours.
    let started = entries.iter().any(|entry| entry.name == "LOCK");
    match foreign {
        None if entries.is_empty() || started => Ok(Found::Empty),
        _ => Err(Error::new(
            ErrorKind::NotAStore,
            format!(
                "the directory is not empty and contains no store (it contains {}); choose an \
                 empty directory",
                foreign.or(entries.first()).map_or("something", |entry| entry.name.as_str())
            ),
        )),
    }
}

fn read(disk: &SharedDisk) -> Result<String> {
    let file = disk.open(NAME, Mode::Read).map_err(|error| Error::io("opening FORMAT", error))?;
    let len = file.len().map_err(|error| Error::io("reading FORMAT", error))?;
    let mut bytes = vec![0; usize::try_from(len.min(4096)).unwrap_or(4096)];
    file.read_exact_at(&mut bytes, 0).map_err(|error| Error::io("reading FORMAT", error))?;
    String::from_utf8(bytes)
        .map_err(|_| Error::corrupt("FORMAT is not text; restore the store from a backup"))
}

fn check(text: &str) -> Result<()> {
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the FORMAT file in this directory is not one of a store; choose another directory",
        ));
    }
    let mut number = |name: &str| {
        lines
            .next()
            .and_then(|line| line.strip_prefix(name))
            .and_then(|rest| rest.trim().parse::<u32>().ok())
    };
    let (Some(version), Some(revision)) = (number("format "), number("revision ")) else {
        return Err(Error::corrupt("FORMAT is damaged; restore the store from a backup"));
    };
    match version {
        0 => Err(Error::new(
            ErrorKind::OlderFormat,
            format!(
                "the store has format 0 revision {revision}, which only the build that wrote it \
                 can read; open it with that build, export the data (tables as Parquet, files, \
                 records as JSON), and import it into a new store"
            ),
        )),
        newer if newer > VERSION => Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the store has format {newer}, and this build reads formats up to {VERSION}; open \
                 it with a build that is at least as new as the one that wrote it"
            ),
        )),
        _ => Ok(()),
    }
}

/// The number of the format in FORMAT.
///
/// # Errors
/// As [`probe`].
pub(super) fn number(disk: &SharedDisk) -> Result<u32> {
    let text = read(disk)?;
    check(&text)?;
    Ok(number_in(&text))
}

fn number_in(text: &str) -> u32 {
    let number = text.lines().find_map(|line| line.strip_prefix("format "));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}

/// Raises the number in FORMAT to the one that this build writes. Called before anything else is
/// written, so that older builds refuse the store from then on. Otherwise an older build could open
/// a store with bytes that it misreads.
///
/// # Errors
/// As [`probe`]; `Io`. After an error, FORMAT has either the old number or the new one.
pub(super) fn raise(disk: &SharedDisk) -> Result<()> {
    let text = read(disk)?;
    check(&text)?;
    let held = number_in(&text);
    if held >= VERSION {
        return Ok(());
    }
    let raised = text.replacen(&format!("\nformat {held}\n"), &format!("\nformat {VERSION}\n"), 1);
    write_text(disk, &raised).map_err(|error| {
        error.context(format!("raising the store from format {held} to {VERSION}"))
    })
}

/// Checks that FORMAT belongs to the store with this seed.
///
/// # Errors
/// `Corrupt` if it does not; `Io`.
pub(super) fn check_seed(disk: &SharedDisk, seed: u64) -> Result<()> {
    let text = read(disk)?;
    check(&text).map_err(|error| Error::corrupt(error.message()))?;
    let stored = text.lines().find_map(|line| line.strip_prefix("store "));
    if stored.and_then(|stored| u64::from_str_radix(stored, 16).ok()) == Some(seed) {
        Ok(())
    } else {
        Err(Error::corrupt("FORMAT names another store"))
    }
}

/// The seed of the store in FORMAT; `None` if FORMAT is missing or damaged.
pub(super) fn seed(disk: &SharedDisk) -> Option<u64> {
    let text = read(disk).ok()?;
    check(&text).ok()?;
    let seed = text
        .lines()
        .find_map(|line| line.strip_prefix("store "))
        .filter(|seed| seed.len() == 16)?;
    u64::from_str_radix(seed, 16).ok()
}

/// Writes FORMAT: the last step of a creation.
pub(super) fn write(disk: &SharedDisk, seed: u64) -> Result<()> {
    write_text(
        disk,
        &format!("{MAGIC}\nformat {VERSION}\nrevision {REVISION}\nstore {seed:016x}\n"),
    )
}

/// Copies FORMAT to a copy of the store: the last step of a restore.
pub(super) fn copy(from: &SharedDisk, to: &SharedDisk) -> Result<()> {
    write_text(to, &read(from)?)
}

/// Replaces FORMAT: writes a new file, syncs it, renames it, and syncs the directory. So a power
/// cut leaves either the old text or the new one.
fn write_text(disk: &SharedDisk, text: &str) -> Result<()> {
    let failed = |error| Error::io("writing FORMAT", error);
    if disk.exists(NEW_NAME).map_err(failed)? {
        disk.remove_file(NEW_NAME).map_err(failed)?;
    }
    let file = disk.open(NEW_NAME, Mode::CreateNew).map_err(failed)?;
    file.write_all_at(text.as_bytes(), 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    disk.rename(NEW_NAME, NAME).map_err(failed)?;
    disk.sync_dir("").map_err(failed)
}
