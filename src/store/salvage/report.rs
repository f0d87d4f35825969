//! What a salvage took over, and what it could not.

use serde::Serialize;

use crate::value::limits;

/// Something that a salvage could not take over, or not prove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Lost {
    /// What it is: the name of a kind of record, `rows`, `upload chunk`, `change log`, and so on.
    pub kind: String,
    /// Its id, or the range of ids in which it lies.
    pub place: String,
    /// The file that is damaged.
    pub file: String,
    /// What is wrong, and what follows.
    pub reason: String,
}

/// What a salvage took over, and what it could not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SalvageReport {
    /// Sequence number of the commit whose state was read; that of the new store where it is lost.
    pub sequence: u64,
    /// Records in the new store.
    pub records: u64,
    /// Rows of tables in the new store.
    pub rows: u64,
    /// Contents of files, packages and upload chunks in the new store.
    pub files: u64,
    /// Bytes of these contents and of the files of tables.
    pub bytes: u64,
    /// What is lost, up to a thousand entries; empty when all of the last commit is there.
    pub lost: Vec<Lost>,
    /// Losses beyond those.
    pub lost_left_out: u64,
    /// What is in the new store although only its own checksum speaks for it: it may be an earlier
    /// version. Up to a thousand entries.
    pub unproven: Vec<Lost>,
    /// Unproven entries beyond those.
    pub unproven_left_out: u64,
}

impl SalvageReport {
    /// Whether nothing is lost, and nothing is in doubt.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.unproven.is_empty()
    }

    /// Adds something that is lost.
    pub(super) fn lose(&mut self, kind: &str, place: impl Into<String>, file: &str, reason: impl Into<String>) {
        push(&mut self.lost, &mut self.lost_left_out, kind, place.into(), file, reason.into());
    }

    /// Adds something that is taken over and not proven.
    pub(super) fn doubt(&mut self, kind: &str, place: String, file: &str, reason: &str) {
        push(&mut self.unproven, &mut self.unproven_left_out, kind, place, file, reason.to_owned());
    }
}

fn push(list: &mut Vec<Lost>, left_out: &mut u64, kind: &str, place: String, file: &str, reason: String) {
    if list.len() >= limits::FINDINGS {
        *left_out += 1;
        return;
    }
    list.push(Lost { kind: kind.to_owned(), place, file: file.to_owned(), reason });
}
