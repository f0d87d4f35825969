//! Damage that was found, and the texts that report it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::by_code;
use crate::session::guarded;
use crate::value::limits;

pub(super) const RECORD_FILE: &str = "records.redb";
pub(super) const RESTORE: &str = "repair the store from a backup set, or restore it, or this \
                                  record, from a backup";
pub(super) const REBUILD: &str =
    "back up the store and restore the copy; this rebuilds the indexes";

pub(super) const REOPEN: &str =
    "close and reopen the store: nothing is lost, the text index is rebuilt from the records";
pub(super) const MOVE: &str = "nothing is lost while the store is open: close it without a power \
                               cut or a kill, which moves the commits into records.redb";

/// One damage that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The key or the byte range in the file.
    pub place: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub action: String,
}

impl fmt::Display for Finding {
    /// The file, the place and what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.file, self.place, self.problem)
    }
}

/// What the status tells of damage: the first finding, or what was done without one.
pub(super) fn first_or(findings: &[Finding], done: impl FnOnce() -> String) -> String {
    findings.first().map_or_else(done, Finding::to_string)
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VerifyReport {
    /// Everything that is wrong, up to a thousand findings; empty for an undamaged store.
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
    /// Records that were checked.
    pub records: u64,
    /// Index entries that were checked.
    pub index_entries: u64,
    /// Entries of the change log that were checked.
    pub log_entries: u64,
    /// Number of the format, from the file `FORMAT`.
    pub format: u32,
    /// Records in the form of an older format.
    pub older_records: u64,
    /// Indexes that were added by a later format and that maintenance is still filling, as `index 6
    /// of file`. Queries do not use them until they are complete.
    pub incomplete_indexes: Vec<String>,
    /// Files that were checked.
    pub files: u64,
    /// Bytes of those files.
    pub file_bytes: u64,
}

impl VerifyReport {
    /// Whether there are no findings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// The number of findings, and the first of them or what was read, for the status.
    pub(super) fn outcome(&self) -> (u64, String) {
        let message = first_or(&self.findings, || {
            format!("no damage found in {} records and {} files", self.records, self.files)
        });
        (self.findings.len() as u64 + self.findings_left_out, message)
    }

    /// Adds a finding.
    pub(super) fn find(
        &mut self,
        file: &str,
        place: impl Into<String>,
        problem: impl Into<String>,
        action: &str,
    ) {
        if self.findings.len() >= limits::FINDINGS {
            self.findings_left_out += 1;
            return;
        }
        self.findings.push(Finding {
            file: file.to_owned(),
            place: place.into(),
            problem: problem.into(),
            action: action.to_owned(),
        });
    }

    /// Adds a finding in the record file.
    pub(super) fn find_in_records(
        &mut self,
        place: impl Into<String>,
        problem: impl Into<String>,
        action: &str,
    ) {
        self.find(RECORD_FILE, place, problem, action);
    }

    /// The result of a [`checked`] part of the record file; `None` if it is damaged, which becomes
    /// a finding.
    pub(super) fn undamaged<T>(
        &mut self,
        checked: Result<T>,
        place: impl Into<String>,
        action: &str,
    ) -> Option<T> {
        checked.map_err(|error| self.find_in_records(place, error.message(), action)).ok()
    }
}

/// Runs a check. Damage of the stored bytes is the error inside: it becomes a finding, and the
/// verification continues.
///
/// # Errors
/// The errors of the check that are no damage.
pub(super) fn checked<T>(attempt: &str, f: impl FnOnce() -> Result<T>) -> Result<Result<T>> {
    match guarded(attempt, f) {
        Err(error) if !is_damage(&error) => Err(error),
        checked => Ok(checked),
    }
}

/// Whether an error is damage of the stored bytes.
pub(super) fn is_damage(error: &Error) -> bool {
    error.is_damage()
}

/// The name of a kind in findings.
pub(super) fn kind_name(code: u8) -> String {
    by_code(code).map_or_else(|| format!("unknown kind {code}"), |known| known.kind.name.to_owned())
}
