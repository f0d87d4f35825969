//! Salvage: makes a new store from the undamaged parts of a damaged one.
//!
//! The damaged store is only read, and not by redb, which stops at damage and repairs in place.
//! First the entries of its record file are written into a new one (`records::salvage` describes
//! which entries count), and then the commits of its journal. Then contents and tables are copied,
//! each verified by the checksums in its record. A damaged one is left out together with its
//! record, and reported. Derived data is rebuilt: indexes, text, lost counters.
//!
//! What must hold:
//! - Nothing is written in `from`: a later attempt, or another tool, needs the damaged store as it
//!   is.
//! - `into` has the marker of an incomplete copy until everything is synced.
//! - The new store contains nothing that the last commit did not contain, except entries that are
//!   reported as unproven.

mod commits;
mod contents;
mod facts;
mod judge;
mod names;
mod report;

use std::collections::BTreeSet;
use std::path::Path;

use self::facts::Facts;
pub(in crate::store) use self::judge::check as check_entry;
pub(super) use self::names::key_text;
use self::names::{collection_name, kind_of, range_text};
pub use self::report::{Lost, SalvageReport};
use super::backup::{failed, prepare_target};
use super::findings::RECORD_FILE;
use super::open::{Store, StoreOptions};
use super::scrub_indexes::index_entries;
use super::{directory, format, lock};
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::salvage::{LostEntries, Proof, SalvageResult};
use crate::records::{Change, ReadSource, RecordFile, RecordFileOptions, Space};
use crate::session::guarded;
use crate::session::tables::{LostRows, TableSalvage};
use crate::value::{Control, limits};

impl Store {
    /// Makes a new store in `into` from the undamaged parts of the damaged store in `from`, which
    /// is not changed.
    ///
    /// Every record, row and content of the last commit whose checksum matches is copied. The
    /// report lists what is lost, by id or range. Indexes and text are rebuilt. `into` must be
    /// missing, empty, or left by an interrupted salvage. If there is a backup, compare the two:
    /// the backup is older and complete, the salvaged store is newer and has gaps.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Control, Store};
    ///
    /// Store::open(dir.path().join("damaged"))?.close()?;
    /// let report = Store::salvage(dir.path().join("damaged"), dir.path().join("salvaged"), &Control::default())?;
    /// assert!(report.is_complete(), "{:?}", report.lost);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotAStore` if `from` is not a store or is an incomplete copy, or if `into` contains
    /// something; `Locked` if `from` is open as a store; `InvalidArgument` if `into` is inside
    /// `from`; `NewerFormat`, `OlderFormat`; `NoSpace`, `Io`; the errors of `control`. Damage is
    /// not an error.
    pub fn salvage(
        from: impl AsRef<Path>,
        into: impl AsRef<Path>,
        control: &Control,
    ) -> Result<SalvageReport> {
        let (from, into) = (from.as_ref(), into.as_ref());
        let attempt = format!("salvaging {} to {}", from.display(), into.display());
        let source: SharedDisk = directory::existing(from, &attempt)?;
        directory::check_outside(into, &source, &attempt)?;
        check_source(&source).map_err(|error| error.context(attempt.clone()))?;
        let target: SharedDisk = directory::made(into, &attempt)?;
        guarded("salvaging", || salvage_to(&source, &target, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::salvage`], from one disk to another: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::salvage`].
    #[cfg(feature = "faults")]
    pub fn salvage_disk(
        from: &SharedDisk,
        into: &SharedDisk,
        control: &Control,
    ) -> Result<SalvageReport> {
        guarded("salvaging", || salvage_to(from, into, control))
    }
}

/// Refuses a directory that is not a store, that is an incomplete copy of one, or that a build with
/// another stored form wrote: its bytes could be misread.
fn check_source(source: &SharedDisk) -> Result<()> {
    let entries = source.list("").map_err(failed("listing the damaged store"))?;
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    if has(format::INCOMPLETE) {
        let text = "the source is an incomplete copy; salvage the store that it was copied from";
        return Err(Error::new(ErrorKind::NotAStore, text));
    }
    if !has(RECORD_FILE) && !has(format::NAME) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the source has neither records.redb nor FORMAT; choose the directory of a store",
        ));
    }
    match format::probe(source) {
        Err(error) if error.kind() == ErrorKind::OlderFormat => Err(error.followed_by(
            "; if this build wrote it and FORMAT is damaged, remove FORMAT and salvage again",
        )),
        // A FORMAT that is missing or damaged stops no salvage.
        _ => Ok(()),
    }
}

/// The files of the damaged store that are kept open and locked until everything was read.
struct HeldFiles {
    /// LOCK, if it exists.
    _lock: Option<Box<dyn DiskFile>>,
    /// The record file. It is locked and read through the same handle, as some platforms require.
    records: std::io::Result<Box<dyn DiskFile>>,
}

/// Prevents other processes from opening the store. A process that has it open has locked LOCK and
/// the record file. LOCK may be missing. Both are opened read-only.
fn hold_source(source: &SharedDisk) -> Result<HeldFiles> {
    let lock = source.open(lock::NAME, Mode::Read).ok();
    let records = source.open(RECORD_FILE, Mode::Read);
    for file in lock.iter().chain(records.as_ref().ok()) {
        lock::take(source, &**file)?;
    }
    Ok(HeldFiles { _lock: lock, records })
}

/// Empties a target that an interrupted salvage left, and marks it as incomplete.
fn prepare(target: &SharedDisk) -> Result<()> {
    let attempt = failed("preparing the target of the salvage");
    let entries = target.list("").map_err(&attempt)?;
    if !entries.is_empty() && entries.iter().all(|entry| entry.name != format::INCOMPLETE) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the target is not empty; choose an empty directory",
        ));
    }
    prepare_target(target)?;
    for entry in entries.iter().filter(|entry| entry.is_dir) {
        target.remove_dir_all(&entry.name).map_err(&attempt)?;
    }
    for directory in ["tables", "files"] {
        target.create_dir_all(directory).map_err(&attempt)?;
    }
    target.sync_dir("").map_err(&attempt)
}

/// Salvages `source` to `target`. What must hold, in this order:
///
/// - Records come first: they name the contents and the tables. Those of the journal follow those
///   of the record file, which they replace.
/// - Lost counters are replaced before contents and tables are copied, because new segments need
///   numbers that were never assigned.
/// - The facts are written last, when the number of the next segment is known.
/// - The source stays locked until everything was read.
/// - FORMAT is written, and the marker removed, only after all files and names are durable.
pub(super) fn salvage_to(
    source: &SharedDisk,
    target: &SharedDisk,
    control: &Control,
) -> Result<SalvageReport> {
    check_source(source)?;
    let held = hold_source(source)?;
    prepare(target)?;
    let mut report = SalvageReport::default();
    let options = RecordFileOptions { cache_bytes: limits::RECORD_CACHE_BYTES, quick_repair: true };
    RecordFile::create(target, options, &[])?;
    let seed = {
        let mut records = RecordFile::open(target, options)?;
        let (mut salvaged, mut facts) =
            read_records(source, &held.records, &records, control, &mut report)?;
        commits::replay(source, &records, &mut salvaged, &mut facts, control, &mut report)?;
        facts.complete(source, &records, &salvaged, &mut report)?;
        contents::salvage(source, target, &records, control, &mut report)?;
        tables(source, target, &records, &mut facts, control, &mut report)?;
        facts.write(&records, &salvaged, &mut report)?;
        report.records = records
            .snapshot(0)
            .and_then(|snapshot| ReadSource::Snapshot(&snapshot).len(Space::Records))?;
        // No other code uses the new file yet, so all its pages can be read once more from the
        // medium.
        if !records.check_pages()? {
            return Err(Error::corrupt(
                "records.redb of the salvaged store differs from what was written; use another \
                 medium",
            ));
        }
        facts.seed()
    };
    drop(held);
    sync_directories(target)?;
    format::write(target, seed)?;
    target.remove_file(format::INCOMPLETE).map_err(failed("removing the marker of the salvage"))?;
    target.sync_dir("").map_err(failed("syncing the salvaged store"))?;

    let mut store = StoreOptions::for_check().open_on(target.clone())?;
    crate::services::mend_steps(store.engine(), control, |place, problem| {
        report.doubt("TestStep", place.to_owned(), RECORD_FILE, problem);
    })?;
    let findings = store.verify_pages(control)?.findings;
    store.close()?;
    match findings.first() {
        None => Ok(report),
        Some(finding) => Err(Error::corrupt(format!(
            "the salvaged store is damaged ({finding}); use another medium"
        ))),
    }
}

/// Makes the names of all files durable.
fn sync_directories(target: &SharedDisk) -> Result<()> {
    let attempt = failed("syncing the salvaged store");
    for root in ["tables", "files"] {
        for entry in target.list(root).map_err(&attempt)?.into_iter().filter(|entry| entry.is_dir) {
            target.sync_dir(&format!("{root}/{}", entry.name)).map_err(&attempt)?;
        }
        target.sync_dir(root).map_err(&attempt)?;
    }
    target.sync_dir("").map_err(&attempt)
}

/// Copies the entries of the damaged record file into a new one.
fn read_records(
    source: &SharedDisk,
    damaged: &std::io::Result<Box<dyn DiskFile>>,
    records: &RecordFile,
    control: &Control,
    report: &mut SalvageReport,
) -> Result<(SalvageResult, Facts)> {
    let mut facts = Facts::new(source);
    let mut writer = Writer { records, batch: Vec::new(), bytes: 0, keys: 0, control };
    let mut undecoded = Vec::new();
    let salvaged = match damaged {
        Ok(file) => crate::records::salvage::read(
            &**file,
            &judge::check,
            control,
            &mut |space, key, value, proof| {
                if facts.take(space, key, value, proof) {
                    return Ok(());
                }
                if space == Space::Records && !judge::is_decoded(key, value) {
                    undecoded.push(key.to_vec());
                    return Ok(());
                }
                let has_checksum = !matches!(space, Space::SmallBlobs | Space::Segments);
                if proof == Proof::Unproven && has_checksum {
                    let reason = "its page is damaged, but its own checksum matches: it may be an \
                                  earlier version";
                    report.doubt(&kind_of(space, key), key_text(space, key), RECORD_FILE, reason);
                }
                writer.put(space, key, value)
            },
        )?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            report.lose("records", "all of them", RECORD_FILE, "the file is missing");
            SalvageResult { damaged: Space::ALL.into_iter().collect(), ..SalvageResult::default() }
        }
        Err(error) => {
            return Err(Error::new(
                ErrorKind::Io,
                format!("opening the damaged records.redb: {error}"),
            ));
        }
    };
    writer.flush()?;
    if let Some(doubt) = salvaged.doubt {
        report.lose(
            "commits",
            "those after the sequence of this report, if there were any",
            RECORD_FILE,
            doubt,
        );
    }
    for key in undecoded {
        let text = "its checksum matches, but builds of this format cannot decode it";
        report.lose(
            &kind_of(Space::Records, &key),
            key_text(Space::Records, &key),
            RECORD_FILE,
            text,
        );
    }
    let snapshot = records.snapshot(0)?;
    for lost in salvaged.lost.iter().filter(|lost| is_told(lost)) {
        let (place, reason) = range_text(lost, ReadSource::Snapshot(&snapshot))?;
        report.lose(&collection_name(lost.collection), place, RECORD_FILE, reason);
    }
    Ok((salvaged, facts))
}

/// Whether lost entries of the collection are reported. Collections that are rebuilt lose nothing.
fn is_told(lost: &LostEntries) -> bool {
    !matches!(
        lost.collection.space,
        Space::Blobs | Space::PendingDelete | Space::TableState | Space::StepLinks | Space::Index
    )
}

/// Writes entries into a record file, many in one commit.
struct Writer<'w> {
    records: &'w RecordFile,
    batch: Vec<Change>,
    bytes: usize,
    keys: u64,
    control: &'w Control,
}

impl Writer<'_> {
    fn put(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<()> {
        if space == Space::Records {
            for (key, value) in index_entries(key, value) {
                self.bytes += key.len() + value.len();
                self.batch.push(Change::Put { space: Space::Index, key, value });
            }
        }
        self.bytes += key.len() + value.len();
        self.keys += 1;
        self.batch.push(Change::Put { space, key: key.to_vec(), value: value.to_vec() });
        if self.bytes < limits::BATCH_BYTES / 4 { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.control.check()?;
        self.control.report(self.keys, None, "keys");
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.records.write(|turn| turn.apply(batch))
    }
}

fn tables(
    source: &SharedDisk,
    target: &SharedDisk,
    records: &RecordFile,
    facts: &mut Facts,
    control: &Control,
    report: &mut SalvageReport,
) -> Result<()> {
    let mut lost = |lost: LostRows| {
        let place =
            format!("table {}, rows {} to {}", lost.table, lost.ordinals.start, lost.ordinals.end);
        report.lose("rows", place, &lost.file, lost.reason);
    };
    let unproven: BTreeSet<Vec<u8>> = std::mem::take(&mut facts.unproven_segments);
    let retentions = std::mem::take(&mut facts.retentions);
    let mut salvage = TableSalvage {
        from: source,
        into: target,
        records,
        unproven: &unproven,
        retentions: &retentions,
        next_segment: facts.next_segment,
        control,
        lost: &mut lost,
        deleted: crate::value::ranges::RangeSet::default(),
    };
    let done = salvage.run()?;
    facts.next_segment = salvage.next_segment;
    report.rows = done.rows;
    report.bytes += done.bytes;
    Ok(())
}
