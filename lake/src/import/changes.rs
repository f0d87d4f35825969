//! What a station published of a kind of record between two batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use object_store::path::Path;
use serde_json::Value;
use stationdb::scans::{ImportRecord, RecordKind};
use stationdb::{Control, Error, Result};

use super::files::{self, DataFile};
use super::read::rows;
use crate::names::{BATCHES, table_of};
use crate::records::PASS;
use crate::remote::Remote;
use crate::source::DELETED;

/// Records of one import.
const RECORDS: usize = 100_000;
/// Bytes of the JSON of the records of one import.
const RECORD_BYTES: usize = 48 * 1024 * 1024;

/// A station in a lake.
#[derive(Clone, Copy)]
pub(super) struct LakeSource<'a> {
    pub remote: &'a Arc<Remote>,
    pub root: &'a Path,
    pub station: &'a str,
    pub control: &'a Control,
}

/// The last change of a record, and the file that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LastChange {
    batch: u64,
    sequence: u64,
    is_deleted: bool,
    file: usize,
}

/// The changes of a kind, without the records.
pub(super) struct ChangeReader {
    kind: RecordKind,
    files: Vec<DataFile>,
    /// The last batch with which all of the kind was sent again.
    pass: Option<u64>,
    /// All changes of each record, in order.
    all: BTreeMap<String, Vec<LastChange>>,
}

impl LakeSource<'_> {
    /// The numbers of the complete batches of the station, in order.
    pub(super) fn batches(&self) -> Result<Vec<u64>> {
        let table = self.root.clone().join(BATCHES);
        let found = files::of_station(self.remote, &table, self.station, self.control)?;
        let mut batches = Vec::new();
        for file in found.unwrap_or_default() {
            match file.batch {
                Some(batch) => batches.push(batch),
                None => self.each(&file, &["_station", "_batch"], &mut |columns, row| {
                    batches.extend(columns.get(1).and_then(|batch| batch.number(row)));
                    Ok(())
                })?,
            }
        }
        batches.sort_unstable();
        batches.dedup();
        Ok(batches)
    }

    /// Passes on the rows of the station; `_station` is the first of the columns.
    fn each(
        &self,
        file: &DataFile,
        names: &[&str],
        each: &mut dyn FnMut(&[super::read::Column], usize) -> Result<()>,
    ) -> Result<()> {
        rows(self.remote, file, names, self.control, &mut |count, columns| {
            let station = columns.first();
            for row in 0..count {
                if station.and_then(|station| station.text(row)) == Some(self.station) {
                    each(columns, row)?;
                }
            }
            Ok(())
        })
    }

    /// The changes of a kind after a batch and up to another one; `None` if the lake has no table
    /// of the kind.
    pub(super) fn changes(
        &self,
        kind: RecordKind,
        after: Option<u64>,
        until: u64,
    ) -> Result<Option<ChangeReader>> {
        let table = self.root.clone().join(table_of(kind));
        let found = files::of_station(self.remote, &table, self.station, self.control)?;
        let Some(mut files) = found else { return Ok(None) };
        let is_wanted = |batch: u64| batch <= until && after.is_none_or(|after| batch > after);
        files.retain(|file| file.batch.is_none_or(is_wanted));
        let mut changes = ChangeReader { kind, files, pass: None, all: BTreeMap::new() };
        let names = ["_station", "_batch", "_sequence", "_what", "_id"];
        for (at, file) in changes.files.iter().enumerate() {
            self.each(file, &names, &mut |columns, row| {
                let [_, batch, sequence, what, id] = columns else { return Ok(()) };
                let (Some(batch), Some(id)) = (batch.number(row), id.text(row)) else {
                    return Ok(());
                };
                if !is_wanted(batch) {
                    return Ok(());
                }
                let what = what.text(row).unwrap_or_default();
                if what == PASS {
                    changes.pass = changes.pass.max(Some(batch));
                    return Ok(());
                }
                let sequence = sequence.number(row).unwrap_or_default();
                let last = LastChange { batch, sequence, is_deleted: what == DELETED, file: at };
                changes.all.entry(id.to_owned()).or_default().push(last);
                Ok(())
            })?;
        }
        let pass = changes.pass;
        changes.all.retain(|_, all| {
            all.retain(|last| Some(last.batch) >= pass);
            all.sort_unstable();
            !all.is_empty()
        });
        Ok(Some(changes))
    }
}

impl ChangeReader {
    pub(super) fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Whether all records of the kind were sent again.
    pub(super) fn has_pass(&self) -> bool {
        self.pass.is_some()
    }

    /// The first batch at which the changes can be cut: before it a pass is not complete.
    pub(super) fn first_cut(&self) -> u64 {
        self.pass.unwrap_or_default()
    }

    /// The states of the records up to a batch, added to `into`. Returns whether all have room.
    pub(super) fn records(
        &self,
        published: &LakeSource<'_>,
        until: u64,
        bytes: &mut usize,
        into: &mut Vec<ImportRecord>,
    ) -> Result<bool> {
        let mut wanted: BTreeMap<usize, BTreeMap<&str, (u64, u64)>> = BTreeMap::new();
        for (id, all) in &self.all {
            let Some(last) = all.iter().rfind(|last| last.batch <= until) else { continue };
            if last.is_deleted {
                into.push(ImportRecord::new(self.kind, id));
            } else {
                let of_file = wanted.entry(last.file).or_default();
                of_file.insert(id, (last.batch, last.sequence));
            }
        }
        let count: usize = wanted.values().map(BTreeMap::len).sum();
        if into.len() + count > RECORDS {
            return Ok(false);
        }
        let names = ["_station", "_batch", "_sequence", "_id", "record"];
        let mut has_room = true;
        for (at, mut wanted) in wanted {
            let Some(file) = self.files.get(at) else { continue };
            published.each(file, &names, &mut |columns, row| {
                let [_, batch, sequence, id, record] = columns else { return Ok(()) };
                let (Some(id), Some(record)) = (id.text(row), record.text(row)) else {
                    return Ok(());
                };
                let place = (batch.number(row), sequence.number(row));
                let is_last = wanted
                    .get(id)
                    .is_some_and(|(batch, sequence)| place == (Some(*batch), Some(*sequence)));
                if !is_last || !has_room {
                    return Ok(());
                }
                wanted.remove(id);
                *bytes += record.len();
                has_room = *bytes <= RECORD_BYTES;
                let record: BTreeMap<String, Value> =
                    serde_json::from_str(record).map_err(|error| {
                        Error::corrupt(format!("the record {id} in {} is not JSON", file.path))
                            .with_source(error)
                    })?;
                into.push(ImportRecord::new(self.kind, id).record(record));
                Ok(())
            })?;
            if !has_room {
                return Ok(false);
            }
            if let Some(id) = wanted.keys().next() {
                return Err(Error::corrupt(format!(
                    "the data file {} has lost the record {id}",
                    file.path
                )));
            }
        }
        Ok(true)
    }
}
