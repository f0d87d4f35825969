//! The backups of a set.

use std::collections::HashMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::chain::{self, Archives};
use super::layout::{RECORDS, Set, opened};
use super::manifest::Manifest;
use super::marks::Marks;
use super::sweep::Manifests;
use crate::disk::SharedDisk;
use crate::error::Result;
use crate::session::guarded;
use crate::store::archive::CommitRange;
use crate::store::open::Store;
use crate::value::time;

/// A backup of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetBackup {
    /// Its number.
    pub backup: u64,
    /// What the clock said when it began; absent if its manifest cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<DateTime<Utc>>,
    /// Sequence number of the commit that it has; 0 if its manifest cannot be read.
    pub sequence: u64,
    /// Whether the store may not have made its last commit durable.
    pub is_ahead: bool,
    /// Rows of the record file.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
    /// Number of things that the store lacked or had damaged.
    pub findings: u64,
    /// Why it cannot be restored as a whole, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl SetBackup {
    pub(super) fn of(manifest: &Manifest) -> Self {
        Self {
            backup: manifest.backup,
            taken: Some(manifest.taken),
            sequence: manifest.sequence,
            is_ahead: manifest.is_ahead,
            rows: manifest.rows,
            files: manifest.files,
            file_bytes: manifest.file_bytes,
            findings: manifest.findings,
            problem: None,
        }
    }

    fn unreadable(backup: u64, problem: &str) -> Self {
        Self {
            backup,
            taken: None,
            sequence: 0,
            is_ahead: false,
            rows: 0,
            files: 0,
            file_bytes: 0,
            findings: 0,
            problem: Some(problem.to_owned()),
        }
    }
}

/// Commits after a backup that the archive of a set has, so that each can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetRange {
    /// Number of the backup that they follow.
    pub backup: u64,
    /// Sequence number of the first commit.
    pub first: u64,
    /// Sequence number of the last commit.
    pub last: u64,
    /// The time of the last commit, or a later one of a commit in the same file; absent if the file
    /// cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
    /// The commits between the last one and the next backup, which cannot be restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<CommitRange>,
    /// Why a file with these commits cannot be read, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The backups of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetBackups {
    /// The backups, the oldest first.
    pub backups: Vec<SetBackup>,
    /// The commits between backups that can be restored, in the order of the backups. A backup
    /// without commits after it is not among them.
    pub ranges: Vec<SetRange>,
    /// Whether a call that writes to the set was interrupted, or still works. Nothing that a
    /// backup in the list needs is missing for that.
    pub is_unfinished: bool,
}

impl Store {
    /// The backups of the set in `directory`. Only their manifests are read, and whether their
    /// records are there; [`Store::verify_set`] reads everything.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set; `NewerFormat`, `Corrupt`,
    /// `Io`.
    pub fn list_backups(directory: impl AsRef<Path>) -> Result<SetBackups> {
        let path = directory.as_ref();
        let attempt = format!("listing the backups in {}", path.display());
        let disk = opened(path, &attempt)?;
        guarded("listing the backups", || list(disk)).map_err(|error| error.context(attempt))
    }

    /// As [`Store::list_backups`], of a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::list_backups`].
    #[cfg(any(test, feature = "faults"))]
    pub fn list_backups_disk(set: &SharedDisk) -> Result<SetBackups> {
        guarded("listing the backups", || list(set.clone()))
    }
}

fn list(disk: SharedDisk) -> Result<SetBackups> {
    let set = Set::seen(disk)?;
    let manifests = Manifests::of(&set)?;
    let mut backups = backups_of(&manifests);
    let packs: HashMap<u64, u64> = set.numbered(RECORDS)?.into_iter().collect();
    for manifest in &manifests.readable {
        if let Some(backup) = backups.iter_mut().find(|backup| backup.backup == manifest.backup) {
            backup.problem = manifest.lost_pack(&packs);
        }
    }
    let ranges = ranges(&set, &manifests)?;
    Ok(SetBackups { backups, ranges, is_unfinished: set.is_unfinished()? })
}

/// The commits between backups that can be restored. Only the heads of the files are read.
fn ranges(set: &Set, manifests: &Manifests) -> Result<Vec<SetRange>> {
    let archives = Archives::of(set)?;
    let marks = Marks::of(set)?;
    let mut ranges = Vec::new();
    for manifest in &manifests.readable {
        let chain = archives.after(manifest);
        let next = next_after(manifest, &manifests.readable);
        let last = next.map_or(chain.last(), |next| chain.last().min(next));
        // The last of backups of the same commit has what follows.
        let is_last = !manifests.readable.iter().any(|other| {
            other.backup > manifest.backup
                && other.journal == manifest.journal
                && other.sequence == manifest.sequence
                && !other.is_ahead
        });
        if last == chain.after || !is_last {
            continue;
        }
        let mut problem = None;
        let mut until = None;
        for span in chain.spans.iter().take_while(|span| span.first <= last) {
            match chain::opened(set, *span) {
                Ok(file) => until = Some(time::from_millis(file.head.ended_ms)),
                Err(error) => {
                    problem.get_or_insert_with(|| error.message().to_owned());
                }
            }
            if marks.have(&span.path()) {
                problem.get_or_insert_with(|| format!("{} was found damaged", span.path()));
            }
        }
        let missing = next.map(|next| CommitRange {
            first: last.saturating_add(1),
            last: next.saturating_sub(1),
        });
        ranges.push(SetRange {
            backup: manifest.backup,
            first: chain.after.saturating_add(1),
            last,
            until,
            missing: missing.filter(|missing| missing.first <= missing.last),
            problem,
        });
    }
    Ok(ranges)
}

/// The commit of the next backup of the same journal: those up to it follow `manifest`.
pub(super) fn next_after(manifest: &Manifest, all: &[Manifest]) -> Option<u64> {
    let later = all.iter().filter(|other| {
        other.journal == manifest.journal && other.sequence > manifest.sequence && !other.is_ahead
    });
    later.map(|other| other.sequence).min()
}

/// All backups in their order, as their manifests describe them.
pub(super) fn backups_of(manifests: &Manifests) -> Vec<SetBackup> {
    let unreadable = manifests.unreadable.iter();
    let unreadable =
        unreadable.map(|(backup, error)| SetBackup::unreadable(*backup, error.message()));
    let mut backups: Vec<SetBackup> =
        manifests.readable.iter().map(SetBackup::of).chain(unreadable).collect();
    backups.sort_unstable_by_key(|backup| backup.backup);
    backups
}
