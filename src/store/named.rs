//! The files that a snapshot names, and which of them are missing on a disk.
//!
//! The record file is the source of truth: a copy of a store is complete if it has each of these
//! files, whatever other files its directories contain.

use std::collections::HashMap;
use std::io;

use super::findings::{RESTORE, VerifyReport};
use crate::disk::{Disk, parent};
use crate::error::{Error, Result};
use crate::records::Snapshot;
use crate::value::Control;

/// A file that a snapshot names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedFile {
    /// Path on the disk.
    pub(super) path: String,
    /// Length in bytes; `None` if the row with the length is damaged.
    pub(super) len: Option<u64>,
}

/// Every file that a snapshot names, sorted by path, so that the files of a directory are adjacent.
///
/// # Errors
/// `Corrupt` if the names cannot be read.
pub(super) fn named_files(snapshot: &Snapshot) -> Result<Vec<NamedFile>> {
    let mut named = crate::services::named_content_paths(snapshot)?;
    named.extend(crate::session::tables::named_files(snapshot)?);
    let mut named: Vec<NamedFile> =
        named.into_iter().map(|(path, len)| NamedFile { path, len }).collect();
    named.sort_unstable();
    Ok(named)
}

/// Whether the sorted list `named` contains this path.
pub(super) fn is_named(named: &[NamedFile], path: &str) -> bool {
    named.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok()
}

/// Returns those of `named` that exist on the disk, with their lengths. A file that is missing or
/// has another length is added to `lacking` as a finding.
///
/// # Errors
/// The errors of the disk and of `control`.
pub(super) fn present(
    disk: &dyn Disk,
    named: &[NamedFile],
    control: &Control,
    lacking: &mut VerifyReport,
) -> Result<Vec<(String, u64)>> {
    let mut present = Vec::with_capacity(named.len());
    let mut directory = None;
    let mut listed: HashMap<String, u64> = HashMap::new();
    for file in named {
        let parent = parent(&file.path);
        if directory != Some(parent) {
            control.check()?;
            listed = list(disk, parent)?;
            directory = Some(parent);
        }
        let name = file.path.rsplit('/').next().unwrap_or_default();
        match listed.get(name) {
            None => tell_missing(&file.path, lacking),
            Some(&len) => match file.len.filter(|expected| *expected != len) {
                // The file is not copied: a copy from an earlier backup may be the last good one.
                Some(expected) => {
                    let problem = format!("it has {len} bytes instead of {expected}");
                    lacking.find(&file.path, "its end", problem, RESTORE);
                }
                None => present.push((file.path.clone(), len)),
            },
        }
    }
    Ok(present)
}

/// Adds the finding that a named file is missing.
pub(super) fn tell_missing(path: &str, lacking: &mut VerifyReport) {
    lacking.find(path, "the whole file", "it is missing", RESTORE);
}

fn list(disk: &dyn Disk, directory: &str) -> Result<HashMap<String, u64>> {
    match disk.list(directory) {
        Ok(entries) => {
            Ok(entries.into_iter().filter(|entry| !entry.is_dir).map(|e| (e.name, e.len)).collect())
        }
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(HashMap::new())
        }
        Err(error) => Err(Error::io(format!("listing {directory}"), error)),
    }
}
