//! Looking for damage in the files of the text index.
//!
//! The recorded checkpoint says which files there are, how long they are and what their checksums are. Maintenance may record
//! another checkpoint meanwhile and remove files of this one, so a finding counts only while its checkpoint is still
//! the recorded one.

use std::sync::Arc;

use super::engine::Engine;
use super::search_outbox::CHECKPOINT;
use crate::disk::{Disk, Mode};
use crate::error::Result;
use crate::records::{Source, Space};
use crate::search::Checkpoint;
use crate::value::Control;

/// How often a check begins again because the checkpoint changed under it.
const ATTEMPTS: usize = 8;
const READ_BYTES: usize = 256 * 1024;

fn recorded(engine: &Engine) -> Result<Option<Checkpoint>> {
    let snapshot = engine.snapshot();
    let row = Source::Snapshot(&snapshot).get(Space::Positions, CHECKPOINT)?;
    Ok(row.and_then(|bytes| Checkpoint::from_bytes(&bytes)))
}

/// What is wrong with a file, if anything.
fn problem(disk: &dyn Disk, path: &str, len: u64, crc: Option<u32>, control: &Control) -> Result<Option<String>> {
    let file = match disk.open(path, Mode::Read) {
        Ok(file) => file,
        Err(error) => return Ok(Some(format!("cannot be opened: {error}"))),
    };
    let found_len = match file.len() {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("cannot be measured: {error}"))),
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
    Ok((hasher.finalize() != crc).then(|| "does not have its checksum".to_owned()))
}

/// Checks the files that the recorded checkpoint names: that they are there with their lengths and, when `deep`, with
/// their checksums. Tells each damaged file and its problem; the numbers of files and bytes.
///
/// # Errors
/// What `control` says, and what reading the checkpoint answers.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    deep: bool,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<(u64, u64)> {
    for _ in 0..ATTEMPTS {
        let Some(checkpoint) = recorded(engine)? else { return Ok((0, 0)) };
        // Without any of its files the index was left behind, as a backup does, or deleted, as anybody may: it is built again.
        let path = |name: &str| format!("{}/{name}", super::search_outbox::DIRECTORY);
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
            if let Some(problem) = problem(&*engine.disk, &path, file.len, deep.then_some(file.crc), control)? {
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
