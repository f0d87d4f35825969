//! The scrub of the record file. It compares every entry with its checksum and its key, every
//! collection with the sums of the commits, and the indexes with the records in both directions.
//!
//! It reads one snapshot, so it and the writers do not disturb each other. A finding names the
//! collection and the key range. If an entry cannot be read, the scrub continues from the other end
//! of the space.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{REBUILD, RESTORE, VerifyReport, checked, kind_name};
use super::scrub_indexes;
use crate::error::{Error, Result};
use crate::model::by_code;
use crate::records::keys::index_key;
use crate::records::{Collection, ReadSource, Snapshot, Space, Sum, Sums, envelope};
use crate::session::tables::check_deleted_rows;
use crate::session::{Fillings, guarded};
use crate::value::Control;
use crate::value::id::hex;
use crate::value::stored::Format;

/// Number of an index, and key and value of an entry in it.
type RecordEntry = (u8, Vec<u8>, Vec<u8>);

/// Number of entries between two checks of the control.
const STEP: u64 = 1024;

/// Checks all spaces of a snapshot.
///
/// # Errors
/// The errors of `control`; damage is a finding and not an error.
pub(super) fn scrub(
    snapshot: &Snapshot,
    control: &Control,
    report: &mut VerifyReport,
) -> Result<()> {
    let source = ReadSource::Snapshot(snapshot);
    let sums = checked("reading the sums", || snapshot.sums())?.unwrap_or_default();
    if sums.is_none() {
        tell_no_sums(report);
    }
    let fillings = checked("reading the list of incomplete indexes", || Fillings::of(source))?;
    let fillings = report.undamaged(fillings, "the list of incomplete indexes", RESTORE);
    let fillings = fillings.unwrap_or_default();
    report.incomplete_indexes = fillings.names();
    let spaces = || Space::ALL.into_iter().filter(|space| *space != Space::Index);
    // Only for the progress: the walk reports damage here.
    let len = |space| guarded("counting entries", || source.len(space)).unwrap_or(0);
    let total = spaces().map(len).sum();
    let mut scrub = Scrub {
        source,
        control,
        report,
        wanted: BTreeMap::new(),
        fillings,
        suspects: BTreeSet::new(),
        seen: 0,
        total,
    };
    for space in spaces() {
        scrub.space(space, sums.as_ref())?;
    }
    let Scrub { wanted, suspects, fillings, .. } = scrub;
    scrub_indexes::compare(source, control, &wanted, &suspects, &fillings, report)?;
    // A walk reads the leaves in order, but a lookup goes down from the root. A damaged branch can
    // lead a lookup to the wrong leaf.
    let lost = checked("verifying the indexes", || snapshot.lost_index_row())?;
    if let Some(Some(key)) = report.undamaged(lost, "the indexes", REBUILD) {
        let place = format!("the indexes, row {}", hex(&key));
        report.find_in_records(place, "a lookup of its key does not find it", REBUILD);
    }
    Ok(())
}

/// Reports that there are no sums to compare the collections with.
pub(super) fn tell_no_sums(report: &mut VerifyReport) {
    report.find_in_records(
        "the sums of all collections",
        "their row is missing or damaged",
        RESTORE,
    );
}

/// Reports the collections of a copy that differ from what the source's commits wrote.
pub(super) fn compare_sums(written: &Sums, copied: &Sums, report: &mut VerifyReport) {
    for collection in written.collections().chain(copied.collections()).collect::<BTreeSet<_>>() {
        let (written, copied) = (written.get(collection), copied.get(collection));
        if written != copied {
            report.find_in_records(name(collection), difference(copied, written), RESTORE);
        }
    }
}

fn difference(found: Sum, written: Sum) -> String {
    if found.entries == written.entries {
        "the entries differ from those that were written".to_owned()
    } else {
        format!("{} entries were found where {} were written", found.entries, written.entries)
    }
}

fn name(collection: Collection) -> String {
    match collection.space {
        Space::Records => format!("records of {}", kind_name(collection.kind)),
        Space::RecordState => format!("changing parts of {}", kind_name(collection.kind)),
        space => format!("space {}", space.name()),
    }
}

struct Scrub<'s> {
    source: ReadSource<'s>,
    control: &'s Control,
    report: &'s mut VerifyReport,
    /// The sums of the index entries that the records require, by kind and index.
    wanted: BTreeMap<[u8; 2], Sum>,
    /// The indexes that are not complete.
    fillings: Fillings,
    /// Kinds with records that are missing or differ from what was written.
    suspects: BTreeSet<u8>,
    seen: u64,
    total: u64,
}

/// What a walk found of a collection.
#[derive(Default)]
struct CollectionCount {
    sum: Sum,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Where damage stopped a walk.
struct WalkStop {
    /// The last key that was read.
    at: Option<Vec<u8>>,
    error: Error,
}

impl Scrub<'_> {
    /// Checks one space: walks it, then compares each collection with its sum.
    ///
    /// If damage stops the forward walk, a second walk runs backward from the end to the same
    /// place. So every readable entry is checked once, and the gap is bounded by a key on each
    /// side. A collection in the gap is not compared with its sum: its damage is already reported.
    /// The stored number of rows is compared only if nothing else was found.
    fn space(&mut self, space: Space, sums: Option<&Sums>) -> Result<()> {
        let mut seen = BTreeMap::new();
        let mut gap = None;
        if let Some(stop) = self.walk(space, None, &mut seen)? {
            let behind =
                self.walk(space, Some(stop.at.as_deref().unwrap_or_default()), &mut seen)?;
            let behind = behind.and_then(|stop| stop.at);
            let bound =
                |key: &Option<Vec<u8>>| key.as_deref().map_or_else(|| "its end".to_owned(), hex);
            let place = format!(
                "space {}, keys between {} and {}",
                space.name(),
                bound(&stop.at),
                bound(&behind)
            );
            self.report.find_in_records(place, stop.error.message(), RESTORE);
            let kind = |key: &Option<Vec<u8>>, end: u8| {
                key.as_deref().map_or(end, |key| kind_of(space, key))
            };
            gap = Some(kind(&stop.at, 0)..=kind(&behind, u8::MAX));
        }
        if let (Space::Records, Some(gap)) = (space, &gap) {
            self.suspects.extend(gap.clone());
        }
        let Some(sums) = sums else { return Ok(()) };
        let known: BTreeSet<Collection> = sums
            .collections()
            .filter(|known| known.space == space)
            .chain(seen.keys().copied())
            .collect();
        let mut differs = false;
        for collection in known {
            // Damage in the gap was already reported.
            if gap.as_ref().is_some_and(|gap| gap.contains(&collection.kind)) {
                continue;
            }
            let (found, written) =
                (seen.remove(&collection).unwrap_or_default(), sums.get(collection));
            if found.sum != written {
                differs = true;
                self.tell_difference(collection, &found, written);
            }
        }
        let counted = self.source.len(space)?;
        let found = sums
            .collections()
            .filter(|known| known.space == space)
            .map(|known| sums.get(known).entries);
        // The row with the sums has no sum.
        let found = found.fold(u64::from(space == Space::Meta), u64::wrapping_add);
        if !differs && gap.is_none() && counted != found {
            let problem = format!("the sums count {found} entries and the tables {counted}");
            self.report.find_in_records(format!("space {}", space.name()), problem, RESTORE);
        }
        Ok(())
    }

    fn tell_difference(&mut self, collection: Collection, found: &CollectionCount, written: Sum) {
        if collection.space == Space::Records {
            self.suspects.insert(collection.kind);
        }
        let range = match found.sum.entries {
            0 => "no key".to_owned(),
            _ => format!("keys {} to {}", hex(&found.first), hex(&found.last)),
        };
        let problem = difference(found.sum, written);
        self.report.find_in_records(format!("{}, {range}", name(collection)), problem, RESTORE);
    }

    /// Walks a space forward, or backward down to `until`; returns where damage stopped the walk.
    fn walk(
        &mut self,
        space: Space,
        until: Option<&[u8]>,
        seen: &mut BTreeMap<Collection, CollectionCount>,
    ) -> Result<Option<WalkStop>> {
        let mut at: Option<Vec<u8>> = None;
        let walked = checked("verifying the records", || {
            let mut cursor = self.source.cursor(space, &[], None)?;
            while let Some((key, value)) =
                cursor.visit(until.is_some(), |key, value| (key.to_vec(), value.to_vec()))?
            {
                if until.is_some_and(|until| key.as_slice() <= until) {
                    break;
                }
                let is_ordered = at
                    .as_ref()
                    .is_none_or(|at| if until.is_some() { key < *at } else { key > *at });
                if !is_ordered {
                    return Err(Error::corrupt(format!("the key {} is out of order", hex(&key))));
                }
                self.look(space, &key, &value, seen)?;
                at = Some(key);
            }
            Ok(())
        })?;
        Ok(walked.err().map(|error| WalkStop { at, error }))
    }

    /// Checks one entry.
    fn look(
        &mut self,
        space: Space,
        key: &[u8],
        value: &[u8],
        seen: &mut BTreeMap<Collection, CollectionCount>,
    ) -> Result<()> {
        if self.seen.is_multiple_of(STEP) {
            self.control.check()?;
            self.control.report(self.seen, Some(self.total), "entries");
        }
        self.seen += 1;
        let Some(collection) = Collection::of(space, key) else { return Ok(()) };
        let part = seen.entry(collection).or_default();
        if part.first.is_empty() || key < part.first.as_slice() {
            part.first = key.to_vec();
        }
        if key > part.last.as_slice() {
            part.last = key.to_vec();
        }
        part.sum.add(key, value);
        // A walk reads the leaves in order, but a reader goes down from the root: both must find
        // the entry.
        let problem = match checked("looking up a key", || self.source.get(space, key))? {
            Ok(Some(found)) if found == value => self.problem(space, key, value),
            Ok(_) => Some("a lookup of its key does not find it".to_owned()),
            Err(error) => Some(error.message().to_owned()),
        };
        if let Some(problem) = problem {
            self.report.find_in_records(
                format!("{}, key {}", name(collection), hex(key)),
                problem,
                RESTORE,
            );
        }
        Ok(())
    }

    /// The problem of an entry by itself, if there is one.
    fn problem(&mut self, space: Space, key: &[u8], value: &[u8]) -> Option<String> {
        let checked = match space {
            Space::Records => {
                self.report.records += 1;
                self.record(key, value)
            }
            space => {
                self.report.log_entries += u64::from(space == Space::Log);
                check_row(space, key, value)
            }
        };
        checked.err().map(|error| error.message().to_owned())
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let code = kind_of(Space::Records, key);
        let (format, entries) = read_record(key, value)?;
        if format < Format::current() {
            self.report.older_records += 1;
        }
        for (index, entry, value) in
            entries.into_iter().filter(|(index, ..)| self.fillings.has(code, *index, key))
        {
            self.wanted
                .entry([code, index])
                .or_default()
                .add(&index_key(code, index, &entry, key), &value);
        }
        Ok(())
    }
}

/// Checks a row by itself.
///
/// # Errors
/// `Corrupt` if its bytes are not those that were written.
pub(super) fn check_row(space: Space, key: &[u8], value: &[u8]) -> Result<()> {
    match space {
        Space::Records => read_record(key, value).map(drop),
        Space::RecordState => envelope::open(key, kind_of(space, key), value).map(drop),
        Space::Segments
        | Space::TableState
        | Space::Intents
        | Space::ColumnHistory
        | Space::Imports
        | Space::RowChunks
        | Space::StepLinks
        | Space::UploadChunks => envelope::open(key, 0, value).map(drop),
        Space::DeletedRows => check_deleted_rows(key, value),
        Space::TableBuffer => crate::columnar::check_batch(value),
        Space::Log => crate::session::feed::changes::read_log_row(key, value).map(drop),
        _ => Ok(()),
    }
}

/// The format of a record, and the index entries that it requires.
fn read_record(key: &[u8], value: &[u8]) -> Result<(Format, Vec<RecordEntry>)> {
    let code = kind_of(Space::Records, key);
    let payload = envelope::open(key, code, value)?;
    let registered = by_code(code).ok_or_else(|| Error::corrupt("its kind is unknown"))?;
    let format = payload.format;
    Ok((format, (registered.entries)(payload)?))
}

fn kind_of(space: Space, key: &[u8]) -> u8 {
    Collection::of(space, key).map_or(0, |collection| collection.kind)
}
