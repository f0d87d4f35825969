//! The report of a salvage.

use serde::Serialize;

use crate::value::limits;

/// Something that a salvage could not copy, or copied without proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Lost {
    /// What it is: the name of a kind of record, `rows`, `upload chunk`, `change log`, and so on.
    pub kind: String,
    /// Its id, or the range of ids that contains it.
    pub place: String,
    /// The file that is damaged.
    pub file: String,
    /// What is wrong, and its consequence.
    pub reason: String,
}

/// The result of a salvage: what was copied and what is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SalvageReport {
    /// Sequence number of the commit that was read; that of the new store if it is lost.
    pub sequence: u64,
    /// Records in the new store.
    pub records: u64,
    /// Rows of tables in the new store.
    pub rows: u64,
    /// Contents of files, packages and upload chunks in the new store.
    pub files: u64,
    /// Bytes of these contents and of the tables' files.
    pub bytes: u64,
    /// What is lost, up to a thousand entries; empty if the last commit was copied completely.
    pub lost: Vec<Lost>,
    /// Number of further losses.
    pub lost_left_out: u64,
    /// Entries of the new store that only their own checksum supports: they may be earlier
    /// versions. Up to a thousand entries.
    pub unproven: Vec<Lost>,
    /// Number of further unproven entries.
    pub unproven_left_out: u64,
}

impl SalvageReport {
    /// Whether nothing is lost and nothing is unproven.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lost.is_empty() && self.unproven.is_empty()
    }

    /// Adds a loss.
    pub(super) fn lose(
        &mut self,
        kind: &str,
        place: impl Into<String>,
        file: &str,
        reason: impl Into<String>,
    ) {
        push(&mut self.lost, &mut self.lost_left_out, kind, place.into(), file, reason.into());
    }

    /// Adds an entry that was copied but is not proven.
    pub(super) fn doubt(&mut self, kind: &str, place: String, file: &str, reason: &str) {
        push(&mut self.unproven, &mut self.unproven_left_out, kind, place, file, reason.to_owned());
    }
}

fn push(
    list: &mut Vec<Lost>,
    left_out: &mut u64,
    kind: &str,
    place: String,
    file: &str,
    reason: String,
) {
    if list.len() >= limits::FINDINGS {
        *left_out += 1;
        return;
    }
    list.push(Lost { kind: kind.to_owned(), place, file: file.to_owned(), reason });
}
