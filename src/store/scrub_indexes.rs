//! Compares the indexes with the records: finds entries that are missing, wrong, or of no record.
//!
//! First the sums are compared, for each index of each kind. Only if they differ, the entries are
//! compared one by one, from the records to the index and from the index to the records.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{REBUILD, RESTORE, VerifyReport, checked, kind_name};
use crate::error::{Error, Result};
use crate::model::by_code;
use crate::records::keys::{index_head_of, index_key, record_key, split_index_key};
use crate::records::{ReadSource, Space, Sum, envelope};
use crate::session::{Fillings, guarded};
use crate::value::Control;
use crate::value::id::hex;
use crate::value::key::after_prefix;

/// Compares the entries of the indexes with those that the records require. `suspects` are the
/// kinds with missing records.
pub(super) fn compare(
    source: ReadSource<'_>,
    control: &Control,
    wanted: &BTreeMap<[u8; 2], Sum>,
    suspects: &BTreeSet<u8>,
    fillings: &Fillings,
    report: &mut VerifyReport,
) -> Result<()> {
    let mut indexes =
        Indexes { source, control, suspects, fillings, gone: BTreeSet::new(), report };
    let mut found = BTreeMap::new();
    let mut unread = BTreeSet::new();
    if let Some(error) = indexes.sum(&[], None, &mut found)? {
        found.clear();
        // The readable parts are still compared, one index at a time.
        for head in wanted.keys() {
            if let Some(error) = indexes.sum(head, after_prefix(head).as_deref(), &mut found)? {
                indexes.report.find_in_records(name(*head), error.message(), REBUILD);
                unread.insert(*head);
            }
        }
        if unread.is_empty() {
            indexes.report.find_in_records("the indexes", error.message(), REBUILD);
        }
    }
    let entries: u64 = found.values().map(|sum: &Sum| sum.entries).sum();
    indexes.report.index_entries = entries;
    for head in wanted.keys().chain(found.keys()).copied().collect::<BTreeSet<_>>() {
        if !unread.contains(&head) && found.get(&head) != wanted.get(&head) {
            let told = indexes.tell_missing(head)? + indexes.tell_surplus(head)?;
            if told == 0 {
                indexes.report.find_in_records(
                    name(head),
                    "the entries differ from those of the records",
                    REBUILD,
                );
            }
        }
    }
    let is_counted = guarded("counting the indexes", || source.len(Space::Index))
        .is_ok_and(|len| len == entries);
    if unread.is_empty() && !is_counted {
        indexes.report.find_in_records(
            "the indexes",
            "the number of entries differs from the stored count",
            REBUILD,
        );
    }
    Ok(())
}

fn name([code, index]: [u8; 2]) -> String {
    format!("index {index} of {}", kind_name(code))
}

struct Indexes<'s> {
    source: ReadSource<'s>,
    control: &'s Control,
    suspects: &'s BTreeSet<u8>,
    /// The indexes that are not complete: fewer entries are required of them.
    fillings: &'s Fillings,
    /// Keys of missing records that were reported: each index of the kind refers to them again.
    gone: BTreeSet<Vec<u8>>,
    report: &'s mut VerifyReport,
}

impl Indexes<'_> {
    /// Sums the entries of a range by kind and index; returns the damage that stopped it.
    fn sum(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        found: &mut BTreeMap<[u8; 2], Sum>,
    ) -> Result<Option<Error>> {
        let walked = checked("verifying the indexes", || {
            let mut cursor = self.source.cursor(Space::Index, from, to)?;
            let mut entries = 0u64;
            let mut add = |key: &[u8], value: &[u8]| {
                let head = index_head_of(key);
                found.entry(head).or_default().add(key, value);
            };
            while cursor.visit(false, &mut add)?.is_some() {
                entries += 1;
                if entries.is_multiple_of(4096) {
                    self.control.check()?;
                }
            }
            Ok(())
        })?;
        Ok(walked.err())
    }

    /// Runs a walk that may meet damage which was already reported.
    fn walk(&mut self, f: impl FnOnce(&mut Self) -> Result<u64>) -> Result<u64> {
        Ok(checked("verifying the indexes", || f(self))?.unwrap_or(0))
    }

    /// Reports required entries that are missing or wrong.
    fn tell_missing(&mut self, head: [u8; 2]) -> Result<u64> {
        self.walk(|this| {
            let [code, wanted] = head;
            let mut told = 0;
            let mut records =
                this.source.cursor(Space::Records, &[code], after_prefix(&[code]).as_deref())?;
            while let Some((key, value)) = records.next()? {
                this.control.check()?;
                if !this.fillings.has(code, wanted, &key) {
                    continue;
                }
                let Some(entries) = entries(&key, &value) else { continue };
                for (index, entry, value) in
                    entries.into_iter().filter(|(index, ..)| *index == wanted)
                {
                    let full = index_key(code, index, &entry, &key);
                    let problem = match this.source.get(Space::Index, &full)? {
                        None => "an index entry of a record is missing",
                        Some(found) if found != value => {
                            "an index entry of a record has a wrong value"
                        }
                        Some(_) => continue,
                    };
                    told += 1;
                    this.report.find_in_records(
                        format!("{}, entry {}", name(head), hex(&full)),
                        problem,
                        REBUILD,
                    );
                }
            }
            Ok(told)
        })
    }

    /// Reports entries that no record requires; if the record is missing, reports that.
    fn tell_surplus(&mut self, head: [u8; 2]) -> Result<u64> {
        let Some(kind) = by_code(head[0]).map(|registered| registered.kind) else { return Ok(0) };
        self.walk(|this| {
            let mut told = 0;
            let mut cursor =
                this.source.cursor(Space::Index, &head, after_prefix(&head).as_deref())?;
            while let Some((full, _)) = cursor.next()? {
                this.control.check()?;
                let Some((_, key)) = split_index_key(kind, &full) else { continue };
                let key = record_key(kind, key);
                let is_wanted = match this.source.get(Space::Records, &key)? {
                    // An unreadable record was already reported.
                    Some(value) => entries(&key, &value).is_none_or(|entries| {
                        let mut keys = entries.iter().filter(|(index, ..)| *index == head[1]);
                        keys.any(|(index, entry, _)| {
                            index_key(head[0], *index, entry, &key) == full
                        })
                    }),
                    None if this.suspects.contains(&head[0]) => {
                        told += 1;
                        if this.gone.insert(key.clone()) {
                            let place =
                                format!("records of {}, key {}", kind_name(head[0]), hex(&key));
                            let problem = format!(
                                "the record is missing: {} has an entry for it",
                                name(head)
                            );
                            this.report.find_in_records(place, problem, RESTORE);
                        }
                        true
                    }
                    None => false,
                };
                if !is_wanted {
                    told += 1;
                    let place = format!("{}, entry {}", name(head), hex(&full));
                    this.report.find_in_records(
                        place,
                        "an index entry belongs to no record",
                        REBUILD,
                    );
                }
            }
            Ok(told)
        })
    }
}

/// Keys and values of the index entries that the record in a row requires; empty if it cannot be
/// read.
pub(super) fn index_entries(key: &[u8], value: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let code = key.first().copied().unwrap_or_default();
    let keyed = |(index, entry, value): (u8, Vec<u8>, Vec<u8>)| {
        (index_key(code, index, &entry, key), value)
    };
    entries(key, value).unwrap_or_default().into_iter().map(keyed).collect()
}

/// The index entries of the record in a row; `None` if it cannot be read.
fn entries(key: &[u8], value: &[u8]) -> Option<Vec<(u8, Vec<u8>, Vec<u8>)>> {
    let code = key.first().copied()?;
    let payload = envelope::open(key, code, value).ok()?;
    (by_code(code)?.entries)(payload).ok()
}
