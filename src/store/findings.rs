//! What is found damaged, and the words in which it is reported.

use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::model::by_code;
use crate::value::limits;

pub(super) const RECORD_FILE: &str = "records.redb";
pub(super) const RESTORE: &str = "restore the store, or this record, from a backup";
pub(super) const REBUILD: &str = "back the store up and restore the copy, which rebuilds its indexes";

/// One damage that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The file.
    pub file: String,
    /// The key or byte range in it.
    pub place: String,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub action: String,
}

/// What a verification saw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VerifyReport {
    /// Everything that is wrong, up to a thousand findings; empty for a sound store.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub findings_left_out: u64,
    /// Records that were checked.
    pub records: u64,
    /// Index entries that were checked.
    pub index_entries: u64,
    /// Entries of the change log that were checked.
    pub log_entries: u64,
    /// Number of the format in `FORMAT`.
    pub format: u32,
    /// Records that builds of an older format wrote, and that are read as such.
    pub older_records: u64,
    /// Indexes that came with the format and that maintenance is still filling, as `index 6 of file`.
    /// Queries do not use them until they are complete.
    pub incomplete_indexes: Vec<String>,
    /// Files that were checked.
    pub files: u64,
    /// Bytes of those files.
    pub file_bytes: u64,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a finding.
    pub(super) fn find(&mut self, file: &str, place: impl Into<String>, problem: impl Into<String>, action: &str) {
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
}

/// Whether an error is about bytes, so that it is a finding and the verification goes on.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Io)
}

/// The name of a kind in findings.
pub(super) fn kind_name(code: u8) -> String {
    by_code(code).map_or_else(|| format!("unknown kind {code}"), |known| known.kind.name.to_owned())
}
