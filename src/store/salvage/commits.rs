//! The commits in the journal of a damaged store, which its record file lacks.

use std::collections::BTreeMap;

use super::facts::Facts;
use super::judge::is_decoded;
use super::names::{key_text, kind_of};
use super::report::SalvageReport;
use crate::disk::SharedDisk;
use crate::error::Result;
use crate::records::salvage::{LostEntries, Proof, SalvageResult};
use crate::records::{
    Change, Collection, Entries, JOURNAL_NAMES, LostCommits, ReadSource, RecordFile, Space, rescue,
};
use crate::store::scrub_indexes::index_entries;
use crate::value::{Control, limits};

/// What follows from lost commits.
const EARLIER: &str = "what they changed is missing or in an earlier state";

/// Applies the commits of the journal to the rows that were copied from the record file, which are
/// older.
pub(super) fn replay(
    source: &SharedDisk,
    records: &RecordFile,
    salvaged: &mut SalvageResult,
    facts: &mut Facts,
    control: &Control,
    report: &mut SalvageReport,
) -> Result<()> {
    let rescued = rescue(source, salvaged.link, facts.sequence());
    for lost in rescued.lost {
        tell(lost, salvaged, facts, report);
    }
    // The last change of a key counts.
    let mut newest: BTreeMap<(Space, Vec<u8>), Option<Vec<u8>>> = BTreeMap::new();
    for change in rescued.changes {
        match change {
            Change::Put { space, key, value } => newest.insert((space, key), Some(value)),
            Change::Delete { space, key } => newest.insert((space, key), None),
            // They follow from the records.
            Change::Entries(_) => None,
        };
    }
    let mut writer = Writer { records, batch: Vec::new(), entries: Entries::default(), bytes: 0 };
    let snapshot = records.snapshot(0)?;
    for ((space, key), value) in newest {
        control.check()?;
        let mut value = value;
        if value.as_ref().is_some_and(|value| space == Space::Records && !is_decoded(&key, value)) {
            let text = "its checksum matches, but builds of this format cannot decode it";
            let file = JOURNAL_NAMES.first().copied().unwrap_or_default();
            report.lose(&kind_of(space, &key), key_text(space, &key), file, text);
            value = None;
        }
        if space == Space::Segments {
            facts.unproven_segments.remove(&key);
        }
        if value.as_ref().is_some_and(|value| facts.take(space, &key, value, Proof::Proven)) {
            continue;
        }
        let old = ReadSource::Snapshot(&snapshot).get(space, &key)?;
        writer.write(space, key, old.as_deref(), value)?;
    }
    writer.flush()
}

/// Reports lost commits. Their entries of the change log are lost too, and they may have assigned
/// numbers.
fn tell(
    lost: LostCommits,
    salvaged: &mut SalvageResult,
    facts: &mut Facts,
    report: &mut SalvageReport,
) {
    let place = match lost.commits {
        Some((first, last)) => format!("{first} to {last}"),
        None => "those that the file had, if there were any".to_owned(),
    };
    report.lose("commits", place, lost.file, format!("{}: {EARLIER}", lost.reason));
    facts.has_lost_commits = true;
    if let Some((first, last)) = lost.commits {
        let key = |sequence: u64| Some(sequence.to_be_bytes().to_vec());
        salvaged.lost.push(LostEntries {
            collection: Collection { space: Space::Log, kind: 0 },
            after: key(first.saturating_sub(1)),
            upto: key(last),
            entries: None,
            reason: "its commit is lost",
        });
    }
}

/// Writes rows, and the index entries that follow from them, many in one commit.
struct Writer<'w> {
    records: &'w RecordFile,
    batch: Vec<Change>,
    entries: Entries,
    bytes: usize,
}

impl Writer<'_> {
    /// Replaces the row `old` of a key.
    fn write(
        &mut self,
        space: Space,
        key: Vec<u8>,
        old: Option<&[u8]>,
        value: Option<Vec<u8>>,
    ) -> Result<()> {
        if space == Space::Records {
            let of = |row: Option<&[u8]>| -> BTreeMap<Vec<u8>, Vec<u8>> {
                row.map(|row| index_entries(&key, row).into_iter().collect()).unwrap_or_default()
            };
            let (before, after) = (of(old), of(value.as_deref()));
            for entry in before.keys().filter(|entry| !after.contains_key(*entry)) {
                self.bytes += entry.len();
                self.entries.change_key(entry, true, None);
            }
            for (entry, held) in
                after.iter().filter(|(entry, held)| before.get(*entry) != Some(*held))
            {
                self.bytes += entry.len() + held.len();
                self.entries.change_key(entry, before.contains_key(entry), Some(held));
            }
        }
        match value {
            Some(value) => self.batch.push(Change::Put { space, key, value }),
            None if old.is_some() => self.batch.push(Change::Delete { space, key }),
            None => {}
        }
        self.bytes += self.batch.last().map_or(0, Change::len);
        if self.bytes < limits::BATCH_BYTES / 4 { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let entries = std::mem::take(&mut self.entries).into_sorted();
        let batch = std::mem::take(&mut self.batch).into_iter().chain([Change::Entries(entries)]);
        self.records.write(|turn| turn.apply(batch))
    }
}
