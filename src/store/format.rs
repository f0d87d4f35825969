//! The FORMAT file. It shows that the directory is a store, and which builds may open it.
//!
//! It is written last when a store is created. So a directory without it is either not a store, or
//! one whose creation was interrupted and that contains no data yet.

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{Mode, SharedDisk, parent, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::records::gate;
use crate::value::stored::Format;

pub(super) const NAME: &str = "FORMAT";
/// The file of what the status keeps over a close.
pub(super) const STATUS: &str = "STATUS";
/// Its successor until that is durable.
pub(super) const NEW_STATUS: &str = "STATUS.new";
/// A file that marks the copy of a store until the copy is complete.
pub(super) const INCOMPLETE: &str = "BACKUP-INCOMPLETE";
/// The file that a backup set has instead of FORMAT.
pub(super) const SET: &str = "SET";
const NEW_NAME: &str = "FORMAT.new";
/// The first line of the file.
const MAGIC: &str = "stationdb store";
/// The first line of stores from before format 1 got its form.
const FORMER_MAGIC: &str = "stationdb";

/// The format that this build writes, and the newest one that it reads.
pub(super) fn version() -> u32 {
    Format::current().number().into()
}

/// A hash of everything that the stored form consists of: `tests/fixtures/v1/format.txt`. Until the
/// first release each change of it changes format 1, and only builds with the same fingerprint read
/// one another's stores. A test compares it with the list, and says how it is changed.
pub(super) const FINGERPRINT: u64 = 0xde2b_a329_1aec_d3e8;

/// The version of the crate, and the commit that it was built from if that is known.
pub(super) const BUILD: &str = match option_env!("STATIONDB_BUILD") {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

/// The kind of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectoryKind {
    /// A store that this build opens.
    Store,
    /// An empty directory, or an interrupted creation.
    Empty,
}

/// Determines the kind of a directory, without changing it.
///
/// # Errors
/// `NotAStore` if it contains something else; `OlderFormat` if it is a store with another stored
/// form, `NewerFormat` if it has a later format; `Corrupt` if FORMAT is damaged.
pub(super) fn probe(disk: &SharedDisk) -> Result<DirectoryKind> {
    let entries = match disk.list("") {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(DirectoryKind::Empty);
        }
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
        let text = read(disk)?;
        let has_records = entries.iter().any(|entry| entry.name == "records.redb");
        return match check(&text) {
            // A FORMAT of something else lies beside no record file.
            Err(error) if error.kind() == ErrorKind::NotAStore && has_records => Err(damaged()),
            checked => checked.map(|()| DirectoryKind::Store),
        };
    }
    if entries.iter().any(|entry| entry.name == SET && !entry.is_dir) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the directory is a backup set and no store: `restore_from_set` makes a store of one \
             of its backups in another directory, and `backup_to_set` adds a backup",
        ));
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
        STATUS,
        NEW_STATUS,
        "tables",
        "files",
        "search",
    ];
    let foreign = entries.iter().find(|entry| !ours.contains(&entry.name.as_str()));
    // A creation makes the lock file first. So files without a lock file are not ours.
    let started = entries.iter().any(|entry| entry.name == "LOCK");
    match foreign {
        None if entries.is_empty() || started => Ok(DirectoryKind::Empty),
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
    String::from_utf8(bytes).map_err(|_| damaged())
}

/// The rest of the line that begins with `name` and a space.
pub(super) fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
}

fn number_in(text: &str) -> Option<u32> {
    value(text, "format")?.parse().ok().filter(|number| *number > 0)
}

/// A value of 16 hexadecimal digits, in lower case: a wrong bit makes another case.
pub(super) fn hexadecimal(text: &str, name: &str) -> Option<u64> {
    value(text, name)
        .filter(|digits| digits.len() == 16 && !digits.bytes().any(|b| b.is_ascii_uppercase()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
}

fn damaged() -> Error {
    Error::corrupt("FORMAT is damaged; restore the store from a backup, or salvage it")
}

/// The sum of the lines before the line `sum`.
fn sum_of(text: &str) -> u64 {
    let lines = text.split_once("\nsum ").map_or(text, |(lines, _)| lines);
    xxh3_64(lines.as_bytes())
}

/// Whether a text has the sum of its lines.
pub(super) fn has_sum(text: &str) -> bool {
    hexadecimal(text, "sum") == Some(sum_of(text))
}

/// The text of the file with these lines.
pub(super) fn with_sum(lines: &str) -> String {
    format!("{lines}\nsum {:016x}\n", sum_of(lines))
}

/// The error of a store that a build with another stored form wrote.
fn another_form(form: &str) -> Error {
    Error::new(
        ErrorKind::OlderFormat,
        format!(
            "{form}; this build ({BUILD}) reads only the stored form {FINGERPRINT:016x}, and \
             nothing converts it: open it with the build that wrote it, which can export the rows \
             of each table, print the records of each kind with `ls KIND --json` and read the \
             contents of files by the library, and put them into a new store"
        ),
    )
}

/// Whether this build can read the store. The fingerprint counts before the number: no number says
/// anything about bytes of another form.
fn check(text: &str) -> Result<()> {
    match text.lines().next() {
        Some(MAGIC) => {}
        Some(FORMER_MAGIC) => {
            return Err(another_form("the store is from before format 1 got its form"));
        }
        _ => {
            return Err(Error::new(
                ErrorKind::NotAStore,
                "the FORMAT file in this directory is not one of a store; choose another directory",
            ));
        }
    }
    number_in(text).ok_or_else(damaged)?;
    let fingerprint = hexadecimal(text, "fingerprint").ok_or_else(damaged)?;
    // A wrong bit in the fingerprint must not look like another stored form. Builds from before the
    // line `sum` wrote other fingerprints.
    match hexadecimal(text, "sum") {
        Some(sum) if sum == sum_of(text) => {}
        None if fingerprint != FINGERPRINT => {}
        _ => return Err(damaged()),
    }
    check_form(text, "the store")
}

/// Whether this build can read what has the stored form of these lines. `what` names it in errors.
///
/// # Errors
/// `OlderFormat`, `NewerFormat`; `Corrupt` if the lines are missing.
pub(super) fn check_form(text: &str, what: &str) -> Result<()> {
    let number = number_in(text).ok_or_else(damaged)?;
    let fingerprint = hexadecimal(text, "fingerprint").ok_or_else(damaged)?;
    if fingerprint != FINGERPRINT {
        let build = value(text, "build").unwrap_or("unknown");
        return Err(another_form(&format!(
            "{what} has the stored form {fingerprint:016x} of format {number}, which the build \
             {build} wrote"
        )));
    }
    if number > version() {
        return Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "{what} has format {number}, and this build reads formats up to {}; open it \
                 with a build that is at least as new as the one that wrote it",
                version()
            ),
        ));
    }
    Ok(())
}

/// The number of the format in FORMAT.
///
/// # Errors
/// As [`probe`].
pub(super) fn number(disk: &SharedDisk) -> Result<u32> {
    let text = read(disk)?;
    check(&text)?;
    number_in(&text).ok_or_else(damaged)
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
    let held = number_in(&text).ok_or_else(damaged)?;
    if held >= version() {
        return Ok(());
    }
    let seed = hexadecimal(&text, "store").ok_or_else(damaged)?;
    write(disk, seed).map_err(|error| {
        error.context(format!("raising the store from format {held} to {}", version()))
    })
}

/// Checks that FORMAT belongs to the store with this seed.
///
/// # Errors
/// `Corrupt` if it does not; `Io`.
pub(super) fn check_seed(disk: &SharedDisk, seed: u64) -> Result<()> {
    let text = read(disk)?;
    check(&text).map_err(|error| Error::corrupt(error.message()))?;
    if hexadecimal(&text, "store") == Some(seed) {
        Ok(())
    } else {
        Err(Error::corrupt("FORMAT names another store"))
    }
}

/// The seed of the store in FORMAT; `None` if FORMAT is missing or damaged.
pub(super) fn seed(disk: &SharedDisk) -> Option<u64> {
    let text = read(disk).ok()?;
    check(&text).ok()?;
    hexadecimal(&text, "store")
}

/// The lines that say in which form the bytes of this build are stored.
pub(super) fn form_lines() -> String {
    format!("format {}\nfingerprint {FINGERPRINT:016x}\nbuild {BUILD}", version())
}

/// Writes FORMAT: the last step of a creation.
pub(super) fn write(disk: &SharedDisk, seed: u64) -> Result<()> {
    let lines = format!("{MAGIC}\n{}\nstore {seed:016x}", form_lines());
    replace(disk, NAME, NEW_NAME, &with_sum(&lines))
}

/// Copies FORMAT to a copy of the store: the last step of a restore.
pub(super) fn copy(from: &SharedDisk, to: &SharedDisk) -> Result<()> {
    replace(to, NAME, NEW_NAME, &read(from)?)
}

/// Replaces a small text: writes a new file, syncs it, renames it, and syncs the directory. So a
/// power cut leaves either the old text or the new one.
pub(super) fn replace(disk: &SharedDisk, name: &str, new_name: &str, text: &str) -> Result<()> {
    let failed = |error| Error::io(format_args!("writing {name}"), error);
    remove_if_there(&**disk, new_name).map_err(failed)?;
    let file = disk.open(new_name, Mode::CreateNew).map_err(failed)?;
    file.write_all_at(text.as_bytes(), 0).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    disk.rename(new_name, name).map_err(failed)?;
    disk.sync_dir(parent(name)).map_err(failed)
}
