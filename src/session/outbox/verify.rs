//! Finds damage in the files of the text index, and documents that differ from the records.
//!
//! The recorded checkpoint lists the files, their lengths and their checksums. Maintenance may
//! meanwhile record another checkpoint and remove files of this one. So a finding counts only if
//! its checkpoint is still the recorded one afterwards.

use std::sync::Arc;

use super::state::SearchOutbox;
use super::{CHECKPOINT, DIRECTORY};
use crate::disk::{Disk, Mode};
use crate::error::Result;
use crate::records::keys::split_record_key;
use crate::records::{ReadSource, Space};
use crate::session::access::sessions::{Access, Session};
use crate::session::engine::Engine;
use crate::text::{Checkpoint, Comparison, DocKey, ExpectedContents, Shape, View};
use crate::value::Control;

/// Most attempts of a check when the checkpoint changes meanwhile.
const ATTEMPTS: usize = 8;
const READ_BYTES: usize = 256 * 1024;

fn recorded(engine: &Engine) -> Result<Option<Checkpoint>> {
    let snapshot = engine.snapshot();
    let row = ReadSource::Snapshot(&snapshot).get(Space::Positions, CHECKPOINT)?;
    Ok(row.and_then(|bytes| Checkpoint::from_bytes(&bytes)))
}

/// The damage of a file, if any.
fn problem(
    disk: &dyn Disk,
    path: &str,
    len: u64,
    crc: Option<u32>,
    control: &Control,
) -> Result<Option<String>> {
    let file = match disk.open(path, Mode::Read) {
        Ok(file) => file,
        Err(error) => return Ok(Some(format!("cannot be opened: {error}"))),
    };
    let found_len = match file.len() {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("its length cannot be read: {error}"))),
    };
    if found_len != len {
        return Ok(Some(format!("has {found_len} bytes instead of {len}")));
    }
    let Some(crc) = crc else { return Ok(None) };
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; READ_BYTES];
    let mut at = 0u64;
    while at < len {
        control.check()?;
        let count = usize::try_from(len - at).unwrap_or(READ_BYTES).min(READ_BYTES);
        let Some(part) = buffer.get_mut(..count) else { break };
        if let Err(error) = file.read_exact_at(part, at) {
            return Ok(Some(format!("cannot be read at byte {at}: {error}")));
        }
        hasher.update(part);
        at += count as u64;
    }
    Ok((hasher.finalize() != crc).then(|| "does not match its checksum".to_owned()))
}

/// The files of the recorded checkpoint: path, length and checksum. None if none of them exists:
/// the index was left out, as in a backup, or it was deleted, which is allowed.
///
/// # Errors
/// Errors of reading the checkpoint.
pub(crate) fn recorded_files(engine: &Engine) -> Result<Vec<(String, u64, u32)>> {
    let Some(checkpoint) = recorded(engine)? else { return Ok(Vec::new()) };
    let named = checkpoint.files.iter().chain([&checkpoint.meta]);
    let files: Vec<_> =
        named.map(|file| (format!("{DIRECTORY}/{}", file.name), file.len, file.crc)).collect();
    let is_there = files.iter().any(|(path, ..)| engine.disk.exists(path).unwrap_or(true));
    Ok(if is_there { files } else { Vec::new() })
}

/// Checks that the files of the recorded checkpoint exist with their lengths and, if `deep`, match
/// their checksums. Calls `found` with each damaged file and its problem. Returns the number of
/// files and bytes checked.
///
/// # Errors
/// Errors of `control`, and of reading the checkpoint.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    deep: bool,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<(u64, u64)> {
    for _ in 0..ATTEMPTS {
        let Some(checkpoint) = recorded(engine)? else { return Ok((0, 0)) };
        // If no file exists, the index was left out, as in a backup, or it was deleted, which is
        // allowed. It is built again.
        let path = |name: &str| format!("{DIRECTORY}/{name}");
        let named = || checkpoint.files.iter().chain([&checkpoint.meta]);
        if !named().any(|file| engine.disk.exists(&path(&file.name)).unwrap_or(true)) {
            return Ok((0, 0));
        }
        let (mut files, mut bytes, mut damaged) = (0, 0, Vec::new());
        for file in named() {
            control.check()?;
            let path = path(&file.name);
            files += 1;
            bytes += file.len;
            if let Some(problem) =
                problem(&*engine.disk, &path, file.len, deep.then_some(file.crc), control)?
            {
                damaged.push((path, problem));
            }
        }
        if damaged.is_empty() || recorded(engine)?.as_ref() == Some(&checkpoint) {
            damaged.iter().for_each(|(path, problem)| found(path, problem));
            return Ok((files, bytes));
        }
    }
    Ok((0, 0))
}

/// Compares the text index with the records, in both directions: each document with its record, and
/// that each record has exactly one document. Both are read in the same state, and writers are not
/// blocked.
///
/// Calls `found` with the place and kind of each difference. An index with a difference is
/// discarded, so that it is built again from the records. If there is no index that a search would
/// use, nothing is compared.
///
/// # Errors
/// Errors of `control`, and of reading the records.
pub(crate) fn compare(
    engine: &Arc<Engine>,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<()> {
    let session = Session::of_store(engine);
    let session = session.with_control(control);
    let outbox = &engine.search;
    let Some((state, snapshot)) = outbox.settled(session.context())? else { return Ok(()) };
    let beginnings = outbox.beginnings();
    let source = ReadSource::Snapshot(&snapshot);
    let mut work =
        Work { outbox, shape: &outbox.shape(), source, control, differences: 0, found: &mut found };
    work.documents(&state)?;
    work.records(&state)?;
    if work.differences > 0
        && let Err(error) = outbox.give_up(session.context(), beginnings)
    {
        let problem = format!(
            "the index could not be discarded ({error}); close the store and delete this directory"
        );
        found(DIRECTORY, &problem);
    }
    Ok(())
}

/// A running comparison.
struct Work<'w> {
    outbox: &'w SearchOutbox,
    shape: &'w Shape,
    source: ReadSource<'w>,
    control: &'w Control,
    differences: u64,
    found: &'w mut dyn FnMut(&str, &str),
}

impl Work<'_> {
    fn documents(&mut self, state: &View) -> Result<()> {
        let outcome = state.compare(self);
        self.unless_damaged(outcome)
    }

    fn records(&mut self, state: &View) -> Result<()> {
        for registered in self.outbox.searchable() {
            let mut cursor = self.source.with_prefix(Space::Records, &[registered.kind.code])?;
            while let Some((bytes, _)) = cursor.next()? {
                self.control.check()?;
                let key = split_record_key(registered.kind, &bytes);
                let Some(key) = key.map(|key| DocKey { kind: registered.kind.code, key }) else {
                    continue;
                };
                match state.copies(key) {
                    Ok(1) => {}
                    Ok(0) => {
                        // An unreadable record is reported when it is read; it has no document.
                        if matches!(
                            self.outbox.expected(self.source, self.shape, key),
                            ExpectedContents::Document(_)
                        ) {
                            self.found(Some(key), "the record has no document");
                        }
                    }
                    Ok(_) => self.found(Some(key), "the record has several documents"),
                    outcome => return self.unless_damaged(outcome.map(drop)),
                }
            }
        }
        Ok(())
    }

    /// Reports damage of the index as a finding, and returns other errors.
    fn unless_damaged(&mut self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Err(error) if error.is_damage() => {
                self.differences += 1;
                (self.found)("the whole index", error.message());
                Ok(())
            }
            outcome => outcome,
        }
    }
}

impl Comparison for Work<'_> {
    fn expected(&mut self, key: DocKey) -> Result<ExpectedContents> {
        Ok(self.outbox.expected(self.source, self.shape, key))
    }

    fn check(&mut self) -> Result<()> {
        self.control.check()
    }

    fn found(&mut self, key: Option<DocKey>, problem: &'static str) {
        self.differences += 1;
        let kind = key.and_then(|key| self.outbox.by_code(key.kind));
        let place = match (key, kind) {
            (Some(key), Some(registered)) => {
                format!("{} {}", registered.kind.name, key.key.to_id(registered.kind.id))
            }
            _ => "a document".to_owned(),
        };
        (self.found)(&place, problem);
    }
}
