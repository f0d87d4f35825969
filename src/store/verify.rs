//! Looking for damage: what is on disk against what the records say.

use serde::Serialize;

use super::open::Store;
use crate::error::Result;
use crate::model::registry;
use crate::records::{Source, Space, envelope};
use crate::session::guarded;
use crate::value::Control;
use crate::value::id::hex;

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyLevel {
    /// That every named file is there with its length.
    Headers,
    /// And that every checksum holds, and records and indexes agree.
    Checksums,
}

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
    /// Everything that is wrong; empty for a sound store.
    pub findings: Vec<Finding>,
    /// Records that were checked.
    pub records: u64,
    /// Index entries that were checked.
    pub index_entries: u64,
    /// Entries of the change log that were checked.
    pub log_entries: u64,
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

    pub(crate) fn find(&mut self, file: &str, place: impl Into<String>, problem: impl Into<String>, action: &str) {
        self.findings.push(Finding {
            file: file.to_owned(),
            place: place.into(),
            problem: problem.into(),
            action: action.to_owned(),
        });
    }
}

const RECORD_FILE: &str = "records.redb";
const RESTORE: &str = "restore the store, or this record, from a backup";
const REOPEN: &str = "close the store and open it: nothing is lost, the text index is built again from the records";
const REBUILD: &str = "back the store up and restore the copy, which rebuilds its indexes";

impl Store {
    /// Looks for damage while readers and writers go on: in one snapshot, up to `level`.
    ///
    /// # Errors
    /// What `control` says; damage is not an error but a finding.
    pub fn verify(&self, level: VerifyLevel, control: &Control) -> Result<VerifyReport> {
        let snapshot = self.engine().snapshot();
        let source = Source::Snapshot(&snapshot);
        let mut report = VerifyReport::default();
        if level >= VerifyLevel::Checksums {
            let walked = guarded("verifying the records", || {
                verify_records(source, control, &mut report)?;
                verify_log(source, control, &mut report)
            });
            if let Err(error) = walked {
                if !matches!(error.kind(), crate::ErrorKind::Corrupt | crate::ErrorKind::Io) {
                    return Err(error);
                }
                report.find(RECORD_FILE, "a page", error.message(), RESTORE);
            }
        }
        let deep = level >= VerifyLevel::Checksums;
        let mut damaged = Vec::new();
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        match crate::services::verify_contents(self.engine(), deep, control, found) {
            Ok((files, bytes)) => {
                report.files += files;
                report.file_bytes += bytes;
            }
            Err(error) if error.kind() == crate::ErrorKind::Corrupt => {
                report.find(RECORD_FILE, "the records of files", error.message(), RESTORE);
            }
            Err(error) => return Err(error),
        }
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        match crate::session::table_store::verify(self.engine(), deep, control, found) {
            Ok((files, bytes)) => {
                report.files += files;
                report.file_bytes += bytes;
            }
            Err(error) if error.kind() == crate::ErrorKind::Corrupt => {
                report.find(RECORD_FILE, "the manifests of tables", error.message(), RESTORE);
            }
            Err(error) => return Err(error),
        }
        for (file, problem) in damaged {
            report.find(&file, "its content", problem, RESTORE);
        }
        let mut damaged = Vec::new();
        let found = |file: &str, problem: &str| damaged.push((file.to_owned(), problem.to_owned()));
        let (files, bytes) = crate::session::search_verify::verify(self.engine(), deep, control, found)?;
        report.files += files;
        report.file_bytes += bytes;
        for (file, problem) in damaged {
            report.find(&file, "its content", problem, REOPEN);
        }
        Ok(report)
    }
}

fn verify_records(source: Source<'_>, control: &Control, report: &mut VerifyReport) -> Result<()> {
    let total = source.len(Space::Records)?;
    let mut cursor = source.cursor(Space::Records, &[], None)?;
    let mut expected = Sum::default();
    while let Some((key, value)) = cursor.next()? {
        if report.records.is_multiple_of(1024) {
            control.check()?;
            control.report(report.records, Some(total), "records");
        }
        report.records += 1;
        let code = key.first().copied().unwrap_or_default();
        let payload = match envelope::open(&key, code, &value) {
            Ok(payload) => payload,
            Err(error) => {
                report.find(RECORD_FILE, hex(&key), error.message(), RESTORE);
                continue;
            }
        };
        let Some(registered) = registry::by_code(code) else {
            report.find(RECORD_FILE, hex(&key), format!("a record of the unknown kind {code}"), RESTORE);
            continue;
        };
        match (registered.entries)(payload) {
            Ok(entries) => {
                for (index, entry, value) in entries {
                    expected.add(&entry_key(code, index, &entry, &key), &value);
                }
            }
            Err(error) => report.find(RECORD_FILE, hex(&key), error.message(), RESTORE),
        }
    }
    verify_indexes(source, control, &expected, report)?;
    if report.records != total {
        report.find(
            RECORD_FILE,
            "the records",
            format!("{} records were found where {total} are counted", report.records),
            RESTORE,
        );
    }
    Ok(())
}

/// The key of an index entry of the record under `key`.
fn entry_key(code: u8, index: u8, entry: &[u8], key: &[u8]) -> Vec<u8> {
    [&[code, index], entry, key.get(1..).unwrap_or_default()].concat()
}

/// Entries in any order: equal sums mean equal entries.
#[derive(Default, PartialEq, Eq)]
struct Sum {
    entries: u64,
    hashes: u128,
}

impl Sum {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.entries += 1;
        let hash = xxhash_rust::xxh3::xxh3_128_with_seed(value, xxhash_rust::xxh3::xxh3_64(key));
        let keyed = xxhash_rust::xxh3::xxh3_128(key);
        self.hashes = self.hashes.wrapping_add(hash ^ keyed.rotate_left(64));
    }
}

/// Compares the entries of the indexes with those that the records ask for; where they differ, names what is missing.
fn verify_indexes(source: Source<'_>, control: &Control, expected: &Sum, report: &mut VerifyReport) -> Result<()> {
    let mut found = Sum::default();
    let mut cursor = source.cursor(Space::Index, &[], None)?;
    while cursor.visit(false, |key, value| found.add(key, value))?.is_some() {
        if found.entries.is_multiple_of(4096) {
            control.check()?;
        }
    }
    report.index_entries = found.entries;
    if source.len(Space::Index)? != found.entries {
        report.find(RECORD_FILE, "the indexes", "the entries are not as many as are counted", REBUILD);
    }
    if found == *expected {
        return Ok(());
    }
    let mut records = source.cursor(Space::Records, &[], None)?;
    while let Some((key, value)) = records.next()? {
        control.check()?;
        let code = key.first().copied().unwrap_or_default();
        let Ok(payload) = envelope::open(&key, code, &value) else { continue };
        let Some(Ok(entries)) = registry::by_code(code).map(|registered| (registered.entries)(payload)) else {
            continue;
        };
        for (index, entry, value) in entries {
            let full = entry_key(code, index, &entry, &key);
            match source.get(Space::Index, &full)? {
                None => report.find(RECORD_FILE, hex(&full), "an index entry of a record is missing", REBUILD),
                Some(found) if found != value => {
                    report.find(
                        RECORD_FILE,
                        hex(&full),
                        "an index entry of a record is not what it should be",
                        REBUILD,
                    );
                }
                Some(_) => {}
            }
        }
    }
    if found.entries > expected.entries {
        let surplus = found.entries - expected.entries;
        report.find(RECORD_FILE, "the indexes", format!("{surplus} entries belong to no record"), REBUILD);
    } else {
        report.find(RECORD_FILE, "the indexes", "the entries are not those of the records", REBUILD);
    }
    Ok(())
}

fn verify_log(source: Source<'_>, control: &Control, report: &mut VerifyReport) -> Result<()> {
    let mut cursor = source.cursor(Space::Log, &[], None)?;
    while let Some((key, value)) = cursor.next()? {
        control.check()?;
        report.log_entries += 1;
        if let Err(error) = crate::session::changes::read_log_row(&key, &value) {
            report.find(RECORD_FILE, hex(&key), error.message(), RESTORE);
        }
    }
    Ok(())
}
