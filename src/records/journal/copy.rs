//! Copying the journal of a store while its owner appends to it.
//!
//! What must hold: the copy ends at a whole record, and has every record before it. Records are
//! appended in order, so the intact records from the start of a pass are such a part. The marks are
//! read before the records: what was acknowledged then is there, and a write under way meanwhile is
//! not missed. They are written by turns, each after the sync of the other, so that one of them can
//! be read; if none can, the copy begins again. A pass that begins meanwhile writes the header of
//! the other file; then the copy begins again, too. The caller sees to it that no checkpoint ends
//! meanwhile, so this happens once at most: the pass after that begins only after a checkpoint.

use super::file::{NAMES, PassFile, RECORDS};
use super::header::Header;
use super::mark::{Mark, Marks};
use super::replay::Window;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};

/// How often the copy is begun.
const TRIES: u32 = 4;

/// Copies both files to a disk that has neither. A store of an earlier format has no journal.
///
/// # Errors
/// `Corrupt` if a file is missing; `Conflict` if passes go on beginning; `Io`, `NoSpace`.
pub(crate) fn copy(from: &SharedDisk, to: &SharedDisk) -> Result<()> {
    let [one, _] = NAMES;
    if !from.exists(one).map_err(|error| Error::io(format!("looking for {one}"), error))? {
        return Ok(());
    }
    for tried in 1..=TRIES {
        let before = headers(from)?;
        let mut parts = Vec::new();
        let mut are_marked = true;
        for (name, header) in NAMES.into_iter().zip(before) {
            let (bytes, is_marked) = part(&PassFile::open(from, name, Mode::Read)?, header)?;
            parts.push((name, bytes));
            are_marked &= is_marked;
        }
        // At last they are taken as they are: a pass that was just begun may have none, and the
        // opening of the copy tells that from damage.
        if headers(from)? != before || !(are_marked || tried == TRIES) {
            continue;
        }
        for (name, bytes) in parts {
            to.open(name, Mode::CreateNew)
                .and_then(|file| file.write_all_at(&bytes, 0))
                .map_err(|error| Error::io(format!("copying {name}"), error))?;
        }
        return Ok(());
    }
    Err(Error::conflict("the journal went on while it was copied; try again"))
}

fn headers(disk: &SharedDisk) -> Result<[Option<Header>; 2]> {
    let [one, other] = NAMES;
    let header = |name| PassFile::open(disk, name, Mode::Read)?.header();
    Ok([header(one)?, header(other)?])
}

/// The start of a file up to its last intact record, and whether it has a mark.
fn part(file: &PassFile, header: Option<Header>) -> Result<(Vec<u8>, bool)> {
    let mut bytes = file.front()?.unwrap_or_default();
    let Some(header) = header else { return Ok((bytes, true)) };
    let needed = Marks::of(&bytes, header.salt).needed();
    if let Some(needed) = needed {
        // Of a mark that was being written only a part may have been read.
        bytes = header.to_front([Mark::at(needed); 2]);
    }
    let mut end = RECORDS;
    let mut window = Window::over(file);
    while let Some(record) = window.record(header.salt, end)? {
        end = end.saturating_add(record.record_len());
    }
    let front = bytes.len();
    bytes.resize(usize::try_from(end).unwrap_or(usize::MAX), 0);
    if let Some(records) = bytes.get_mut(front..) {
        file.read(records, RECORDS)?;
    }
    Ok((bytes, needed.is_some()))
}
