//! The FORMAT file: that this directory is a store, and which build may open it.
//!
//! It is written last when a store is created, so a directory without it is either no store, or one whose creation was
//! cut short and holds nothing yet.

use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::stored::Format;

pub(super) const NAME: &str = "FORMAT";
/// A file that stands in the copy of a store until the copy is whole.
pub(super) const INCOMPLETE: &str = "BACKUP-INCOMPLETE";
const NEW_NAME: &str = "FORMAT.new";
const MAGIC: &str = "stationdb";

/// The format that this build writes, and the newest one that it reads. Format 0 was never promised to be read later.
///
/// Raised with any change of stored bytes that an older build could not read, or that it would harm; the change then brings
/// the upgrade of stores of the format before it. See "Versions" in `docs/format.md`.
pub(super) const VERSION: u32 = Format::CURRENT.number() as u32;
/// Told stores of format 0 apart. Builds of then look for it before they refuse.
const REVISION: u32 = 0;

/// What a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A store that this build opens.
    Store,
    /// Nothing, or a creation that was cut short.
    Empty,
}

/// Looks at a directory without changing it.
///
/// # Errors
/// `NotAStore` when it holds something else, `NewerFormat` or `OlderFormat` when this build does not read its format,
/// `Corrupt` when FORMAT is damaged.
pub(super) fn probe(disk: &SharedDisk) -> Result<Found> {
    let entries = match disk.list("") {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Empty),
        Err(error) => return Err(Error::io("listing the store directory", error)),
    };
    if entries.iter().any(|entry| entry.name == INCOMPLETE) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the directory holds a backup that was cut short; back up to it again, or choose another directory",
        ));
    }
    if entries.iter().any(|entry| entry.name == NAME && !entry.is_dir) {
        check(&read(disk)?)?;
        return Ok(Found::Store);
    }
    let ours = ["LOCK", "LOCK.owner", NEW_NAME, "records.redb", "records.redb.new", "tables", "files", "search"];
    let foreign = entries.iter().find(|entry| !ours.contains(&entry.name.as_str()));
    // The lock file comes first in a creation: what stands here without it was not put here by us.
    let started = entries.iter().any(|entry| entry.name == "LOCK");
    match foreign {
        None if entries.is_empty() || started => Ok(Found::Empty),
        _ => Err(Error::new(
            ErrorKind::NotAStore,
            format!(
                "the directory is not empty and holds no store ({} is in it); choose an empty directory",
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
    String::from_utf8(bytes).map_err(|_| Error::corrupt("FORMAT is not text; restore the store from a backup"))
}

fn check(text: &str) -> Result<()> {
    let mut lines = text.lines();
    if lines.next() != Some(MAGIC) {
        return Err(Error::new(ErrorKind::NotAStore, "the FORMAT file in this directory belongs to something else"));
    }
    let mut number = |name: &str| {
        lines.next().and_then(|line| line.strip_prefix(name)).and_then(|rest| rest.trim().parse::<u32>().ok())
    };
    let (Some(version), Some(revision)) = (number("format "), number("revision ")) else {
        return Err(Error::corrupt("FORMAT is damaged; restore the store from a backup"));
    };
    match version {
        0 => Err(Error::new(
            ErrorKind::OlderFormat,
            format!(
                "the store has format 0 revision {revision}, whose stores only the build that wrote them reads; open it with that \
                 build, take out what is needed (table data as Parquet, files, records as JSON), and bring that into a new store"
            ),
        )),
        newer if newer > VERSION => Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "the store has format {newer}, and this build reads formats up to {VERSION}; open it with a build that is at \
                 least as new as the one that wrote it"
            ),
        )),
        _ => Ok(()),
    }
}

/// The number of the format that FORMAT names.
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

/// Raises the number in FORMAT to the one that this build writes, before it writes anything else: from
/// then on an older build refuses the store.
///
/// # Errors
/// As [`probe`]; `Io`. FORMAT then has the one number or the other.
pub(super) fn raise(disk: &SharedDisk) -> Result<()> {
    let text = read(disk)?;
    check(&text)?;
    let held = number_in(&text);
    if held >= VERSION {
        return Ok(());
    }
    let raised = text.replacen(&format!("\nformat {held}\n"), &format!("\nformat {VERSION}\n"), 1);
    write_text(disk, &raised)
        .map_err(|error| error.context(format!("raising the store from format {held} to {VERSION}")))
}

/// Checks that FORMAT is still that of the store with this seed.
///
/// # Errors
/// `Corrupt` when it is not; `Io`.
pub(super) fn check_seed(disk: &SharedDisk, seed: u64) -> Result<()> {
    let text = read(disk)?;
    check(&text).map_err(|error| Error::corrupt(error.message()))?;
    let stored = text.lines().find_map(|line| line.strip_prefix("store "));
    if stored.and_then(|stored| u64::from_str_radix(stored, 16).ok()) == Some(seed) {
        Ok(())
    } else {
        Err(Error::corrupt("the store that FORMAT names is not this one"))
    }
}

/// The seed of the store that FORMAT names; `None` where it is missing or damaged.
pub(super) fn seed(disk: &SharedDisk) -> Option<u64> {
    let text = read(disk).ok()?;
    check(&text).ok()?;
    let seed = text.lines().find_map(|line| line.strip_prefix("store ")).filter(|seed| seed.len() == 16)?;
    u64::from_str_radix(seed, 16).ok()
}

/// Writes FORMAT: the last step of a creation.
pub(super) fn write(disk: &SharedDisk, seed: u64) -> Result<()> {
    write_text(disk, &format!("{MAGIC}\nformat {VERSION}\nrevision {REVISION}\nstore {seed:016x}\n"))
}

/// Gives a copy of a store the FORMAT of the original: the last step of a restore.
pub(super) fn copy(from: &SharedDisk, to: &SharedDisk) -> Result<()> {
    write_text(to, &read(from)?)
}

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
