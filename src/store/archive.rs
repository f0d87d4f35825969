//! The archive of commits of a store: its bound, which is kept in the store, and what it has.

use serde::Serialize;

use super::format;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::records::archive::DIRECTORY;
use crate::session::Engine;
use crate::session::archive::{Kept, SETTINGS};

const NEW_SETTINGS: &str = "archive/SETTINGS.new";
/// The first line of the settings.
const MAGIC: &str = "stationdb archive";
/// More bytes than the settings ever have.
const SETTINGS_BYTES_MAX: u64 = 4_096;

/// Commits that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CommitRange {
    /// Sequence number of the first one.
    pub first: u64,
    /// Sequence number of the last one.
    pub last: u64,
}

/// What the archive of commits of a store has, see
/// [`Store::archive_to_set`](crate::Store::archive_to_set).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ArchiveStatus {
    /// The most bytes that it may have.
    pub bytes_max: u64,
    /// Bytes of the commits.
    pub bytes: u64,
    /// Bytes of files whose removal waits, because a commit of the archive names them.
    pub held_bytes: u64,
    /// Sequence number of the first commit that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Sequence number of the last one. Later commits are in the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// The commits between them that it lacks.
    pub gaps: Vec<CommitRange>,
    /// Why commits could not be archived lately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Takes up the archive of a store, whose bound becomes `wanted` if that is given.
///
/// # Errors
/// `Io`, `NoSpace`.
pub(super) fn open(engine: &Engine, wanted: Option<u64>) -> Result<()> {
    let disk = &engine.disk;
    let attempt = |error| Error::io("opening the archive of commits", error);
    let has_one = disk.exists(SETTINGS).map_err(attempt)?;
    if !has_one && wanted.unwrap_or(0) == 0 {
        return Ok(());
    }
    let kept = if has_one { read(disk)? } else { None };
    // Without the settings it is unknown what was given up.
    let (bound, after) = kept.unwrap_or((0, engine.snapshot().sequence));
    let kept = match wanted {
        Some(wanted) if wanted != bound || kept.is_none() => {
            // What was not archived while it was off stays so.
            let after = if bound == 0 { engine.snapshot().sequence } else { after };
            disk.create_dir_all(DIRECTORY).map_err(attempt)?;
            disk.sync_dir("").map_err(attempt)?;
            keep(disk, wanted, after)?;
            (wanted, after)
        }
        _ => (bound, after),
    };
    let kept = Kept { bound: kept.0, after: kept.1, form: format::FINGERPRINT };
    engine.open_archive(kept, keep)
}

/// The bound, and the commit up to which nothing is archived; `None` if the settings are damaged.
fn read(disk: &SharedDisk) -> Result<Option<(u64, u64)>> {
    let attempt = |error| Error::io(format!("reading {SETTINGS}"), error);
    let file = disk.open(SETTINGS, Mode::Read).map_err(attempt)?;
    let len = file.len().map_err(attempt)?.min(SETTINGS_BYTES_MAX);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0).map_err(attempt)?;
    let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
    let number = |name: &str| format::value(&text, name)?.parse::<u64>().ok();
    let is_whole = text.lines().next() == Some(MAGIC) && format::has_sum(&text);
    Ok(if is_whole { number("bytes").zip(number("after")) } else { None })
}

/// Writes the settings durably.
fn keep(disk: &SharedDisk, bound: u64, after: u64) -> Result<()> {
    let lines = format!("{MAGIC}\nbytes {bound}\nafter {after}");
    format::replace(disk, SETTINGS, NEW_SETTINGS, &format::with_sum(&lines))
}
