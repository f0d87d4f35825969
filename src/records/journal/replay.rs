//! Opening the journal: which passes are there, and which commits the record file lacks.
//!
//! What must hold: every commit that was acknowledged is found, or opening fails, apart from those
//! of the last record of the newest pass: it cannot be told from a torn one. A torn record ends its
//! pass. An intact record after a damaged one proves that the damaged one was durable, because a
//! record is written only after the sync of the one before; the marks prove it where no record
//! follows.

use std::sync::Arc;

use super::body;
use super::file::{NAMES, PassFile, RECORDS, open_both};
use super::header::Header;
use super::record::{self, HEAD};
use super::{Journal, Link, damaged, file_of};
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::records::Change;

/// Bytes that are read at a time.
const WINDOW: usize = 1 << 20;

/// What the journal had for the record file.
#[derive(Debug, Default)]
pub(crate) struct Replayed {
    /// The commits of each pass that the record file may lack, oldest first: one pass or two.
    pub(crate) passes: Vec<Vec<Change>>,
    /// The sequence after all of them.
    pub(crate) sequence: u64,
}

impl Journal {
    /// As [`Journal::open`], without what a salvage would keep.
    pub(super) fn replay(disk: &SharedDisk, link: Link, sequence: u64) -> Result<(Self, Replayed)> {
        let mut files = open_both(disk)?;
        let (live, next) = passes(&files, link)?;
        let mut replayed = Replayed { passes: Vec::new(), sequence };
        let mut end = End::default();
        let (mut newest, mut older) = (live, None);
        for header in [Some(live), next].into_iter().flatten() {
            if replayed.sequence.saturating_add(1) < header.first {
                return Err(behind(&files, header, replayed.sequence));
            }
            older = (header != live).then_some((newest, end.at));
            let file = files
                .get(file_of(header.pass))
                .ok_or_else(|| Error::conflict("internal error: the journal has two files"))?;
            let mut changes = Vec::new();
            end = read_pass(file, header, header == live, &mut replayed.sequence, &mut changes)?;
            replayed.passes.push(changes);
            newest = header;
        }
        let file = files.get_mut(file_of(newest.pass));
        let file = file.ok_or_else(|| Error::conflict("internal error: no file of a pass"))?;
        let next_mark = settle(file, newest, replayed.sequence, end.last.as_ref())?;
        let (at, buffer) = (end.at, Vec::new());
        let syncs = Arc::default();
        Ok((Self { files, newest, at, next_mark, older, buffer, syncs }, replayed))
    }

    /// Whether the files on this disk have any commit, whatever the record file says. A file that
    /// is missing or has no header has none.
    pub(in crate::records) fn is_used(disk: &SharedDisk) -> Result<bool> {
        for name in NAMES {
            let exists = disk.exists(name).map_err(|error| Error::io("looking for it", error))?;
            if !exists {
                continue;
            }
            let file = PassFile::open(disk, name, Mode::Read)?;
            let Some(header) = file.header()? else { continue };
            let mut window = Window::over(&file);
            if header.pass > 1 || window.record(header.salt, RECORDS)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Makes durable what a killed process may have left readable and not durable: the header of the
/// newest pass, or the last record with its mark, and nothing else, because each is synced before
/// what follows it is written. They are written again, since after a failed sync the system may
/// take their pages for written. Returns at which place the next mark goes.
///
/// A power cut meanwhile tears only bytes that were not durable before, and at most one mark.
fn settle(
    file: &mut PassFile,
    header: Header,
    sequence: u64,
    last: Option<&(u64, Vec<u8>)>,
) -> Result<usize> {
    let (marks, next_mark) = file.marks(header)?.settled(sequence);
    file.write(&header.to_front(marks), 0)?;
    if let Some((at, record)) = last {
        file.write(record, *at)?;
    }
    file.sync()?;
    Ok(next_mark)
}

/// The error of a pass that begins after the commit that follows `sequence`.
fn behind(files: &[PassFile; 2], header: Header, sequence: u64) -> Error {
    let name = files.get(file_of(header.pass)).map_or("journal", PassFile::name);
    Error::corrupt(format!(
        "{name} begins with the commit {}, and the commits before it end with {sequence}: \
         records.redb is an earlier state of itself, or the end of the other file of the journal \
         is damaged; restore the store from a backup",
        header.first
    ))
}

/// The headers of the live pass, and of the pass after it if that has begun.
fn passes(files: &[PassFile; 2], link: Link) -> Result<(Header, Option<Header>)> {
    let [mut live, mut next] = [None, None];
    for (number, file) in files.iter().enumerate() {
        let Some(front) = file.front()? else {
            return Err(damaged(file.name(), "it is shorter than its header"));
        };
        let Some(header) = Header::from_front(&front) else {
            if Header::may_be_torn(&front) {
                continue;
            }
            return Err(damaged(file.name(), "its header is missing"));
        };
        let foreign = || damaged(file.name(), "it is not the journal that records.redb names");
        if header.id != link.id || file_of(header.pass) != number {
            return Err(foreign());
        }
        match header.pass.checked_sub(link.pass) {
            Some(0) => live = Some(header),
            Some(1) => next = Some(header),
            None if header.pass.checked_add(1) == Some(link.pass) => {}
            _ => return Err(foreign()),
        }
    }
    let name = files.get(file_of(link.pass)).map_or("journal", |file| file.name());
    let live = live.ok_or_else(|| damaged(name, "its header is missing or damaged"))?;
    Ok((live, next))
}

/// Where a pass ends.
#[derive(Debug, Default)]
struct End {
    at: u64,
    /// The position and the bytes of the last record.
    last: Option<(u64, Vec<u8>)>,
}

/// Reads the records of a pass. Adds the changes of the commits after `sequence`, and advances it.
/// `is_durable` says that the beginning of the pass is.
fn read_pass(
    file: &PassFile,
    header: Header,
    is_durable: bool,
    sequence: &mut u64,
    changes: &mut Vec<Change>,
) -> Result<End> {
    let mut window = Window::over(file);
    let mut end = End { at: RECORDS, last: None };
    let mut last = None;
    let mut is_behind = true;
    while let Some(found) = window.record(header.salt, end.at)? {
        let (before, after) = (found.sequences.before, found.sequences.after);
        if after > *sequence || !is_behind {
            if before != *sequence || after <= before {
                return Err(damaged(
                    file.name(),
                    &format!("a record continues the commit {before}, and {sequence} was expected"),
                ));
            }
            is_behind = false;
            changes.extend(body::decode(window.body(end.at, found.len)?, file.name())?);
            *sequence = after;
        }
        last = Some((end.at, found.record_len()));
        end.at = end.at.saturating_add(found.record_len());
    }
    if let Some(at) = window.find_record(header.salt, end.at)? {
        return Err(damaged(
            file.name(),
            &format!("the record at {} is damaged, and the one at {at} is intact", end.at),
        ));
    }
    let marks = file.marks(header)?;
    match marks.needed() {
        Some(needed) if *sequence < needed => {
            return Err(damaged(
                file.name(),
                &format!(
                    "the commits {} to {needed} were acknowledged, and their records are missing",
                    sequence.saturating_add(1)
                ),
            ));
        }
        None if is_durable || last.is_some() || !marks.may_have_begun() => {
            return Err(damaged(file.name(), "both marks of what was acknowledged are damaged"));
        }
        _ => {}
    }
    if let Some((at, len)) = last {
        end.last = Some((at, window.bytes(at, usize::try_from(len).unwrap_or(0))?.to_vec()));
    }
    Ok(end)
}

/// A part of the file in memory.
pub(super) struct Window<'f> {
    file: &'f PassFile,
    start: u64,
    bytes: Vec<u8>,
}

impl<'f> Window<'f> {
    pub(super) fn over(file: &'f PassFile) -> Self {
        Self { file, start: 0, bytes: Vec::new() }
    }

    /// `len` bytes from `at`; fewer at the end of the file.
    fn bytes(&mut self, at: u64, len: usize) -> Result<&[u8]> {
        let left = usize::try_from(self.file.len().saturating_sub(at)).unwrap_or(usize::MAX);
        let len = len.min(left);
        if len == 0 {
            return Ok(&[]);
        }
        let held = at.checked_sub(self.start).and_then(|skip| usize::try_from(skip).ok());
        let is_held = held.is_some_and(|skip| self.bytes.len() >= skip.saturating_add(len));
        if !is_held {
            self.bytes.clear();
            self.bytes.resize(len.max(WINDOW).min(left), 0);
            self.start = at;
            self.file.read(&mut self.bytes, at)?;
        }
        let skip = usize::try_from(at - self.start).unwrap_or(0);
        Ok(self.bytes.get(skip..skip + len).unwrap_or_default())
    }

    /// The head of the intact record at `at`; `None` if there is none.
    pub(super) fn record(&mut self, salt: u64, at: u64) -> Result<Option<record::Head>> {
        let Some(head) = record::head(self.bytes(at, HEAD)?, salt, at) else { return Ok(None) };
        // A forged length allocates no more than the file has.
        let is_intact = head.has(self.body(at, head.len)?, salt, at);
        Ok(is_intact.then_some(head))
    }

    pub(super) fn body(&mut self, at: u64, len: u64) -> Result<&[u8]> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        self.bytes(at.saturating_add(HEAD as u64), len)
    }

    /// The position of the first intact record after `at`.
    pub(super) fn find_record(&mut self, salt: u64, at: u64) -> Result<Option<u64>> {
        let mut at = at.saturating_add(record::ALIGN);
        while at < self.file.len() {
            let bytes = self.bytes(at, HEAD)?;
            // Most of what follows the last record is zero.
            let is_empty = bytes.first_chunk::<8>() == Some(&[0; 8]);
            if !is_empty && self.record(salt, at)?.is_some() {
                return Ok(Some(at));
            }
            at = at.saturating_add(record::ALIGN);
        }
        Ok(None)
    }
}
