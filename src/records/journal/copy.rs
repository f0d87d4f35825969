//! Copying the journal of a store while its owner appends to it.
//!
//! What must hold: the copy ends at a whole record, and has every record before it. Records are
//! appended in order, so the intact records from the start of a pass are such a part. A pass that
//! begins meanwhile writes the header of the other file; then the copy begins again. The caller
//! sees to it that no checkpoint ends meanwhile, so this happens once at most: the pass after that
//! begins only after a checkpoint.

use super::file::{NAMES, PassFile, RECORDS};
use super::header::Header;
use super::replay::Window;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};

/// How often the copy is begun.
const TRIES: u32 = 4;

/// Copies both files to a disk that has neither. A backup that was never opened has no journal.
///
/// # Errors
/// `Corrupt` if a file is missing; `Conflict` if passes go on beginning; `Io`, `NoSpace`.
pub(crate) fn copy(from: &SharedDisk, to: &SharedDisk) -> Result<()> {
    let [one, _] = NAMES;
    if !from.exists(one).map_err(|error| Error::io(format!("looking for {one}"), error))? {
        return Ok(());
    }
    for _ in 0..TRIES {
        let before = headers(from)?;
        let mut parts = Vec::new();
        for (name, header) in NAMES.into_iter().zip(before) {
            parts.push((name, part(&PassFile::open(from, name, Mode::Read)?, header)?));
        }
        if headers(from)? != before {
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
    let header = |name| {
        let file = PassFile::open(disk, name, Mode::Read)?;
        Ok::<_, Error>(file.header()?.map(|(header, _)| header))
    };
    Ok([header(one)?, header(other)?])
}

/// The start of a file up to its last intact record.
fn part(file: &PassFile, header: Option<Header>) -> Result<Vec<u8>> {
    let Some(header) = header else { return Ok(Vec::new()) };
    let mut end = RECORDS;
    let mut window = Window::over(file);
    while let Some(record) = window.record(header.salt, end)? {
        end = end.saturating_add(record.record_len());
    }
    let mut bytes = vec![0; usize::try_from(end).unwrap_or(usize::MAX)];
    file.read(&mut bytes, 0)?;
    Ok(bytes)
}
