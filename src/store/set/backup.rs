//! Makes a backup in a set, while readers and writers continue.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::chunks::{Chunk, Packs};
use super::earlier::Earlier;
use super::layout::{OBJECTS, Set, failed, pack_path};
use super::manifest::Manifest;
use super::marks::Marks;
use super::objects::{Listed, Object, identities, of_bytes, send};
use super::pace::Pace;
use super::pack::{Pack, Part, RowWriter};
use super::rows::FILE;
use super::send::{ArchiveReport, send_archive, sent_after};
use super::sweep::{Manifests, clean, each_file, sync_names};
use crate::disk::{SharedDisk, parent, walk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::archive::DIRECTORY;
use crate::records::{Collection, ReadSource, Snapshot, Space, Sums};
use crate::session::{Engine, FILLING_KEY, guarded};
use crate::store::backup::DIRECTORIES;
use crate::store::findings::{Finding, RESTORE, VerifyReport, checked};
use crate::store::named::{NamedFile, named_files};
use crate::store::open::Store;
use crate::store::readable::each_row;
use crate::store::status::kept::Activity;
use crate::store::{directory, findings, scrub};
use crate::value::Control;

const ARCHIVE_AGAIN: &str = "archive to the set again, or back up again";

/// How a backup in a set is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct SetBackupOptions {
    /// Most bytes that are written in a second; no limit by default.
    pub bytes_per_second: Option<u64>,
    /// Whether a directory without a set is refused instead of made one; false by default.
    pub must_exist: bool,
}

impl SetBackupOptions {
    /// Without a limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes at most this many bytes in a second, so that other programs can use the medium too.
    pub fn bytes_per_second(mut self, limit: u64) -> Self {
        self.bytes_per_second = Some(limit);
        self
    }

    /// Refuses a directory that is missing or has no set, for backups that nobody watches: while a
    /// stick is not there, its directory may be one of the disk of the system.
    pub fn must_exist(mut self) -> Self {
        self.must_exist = true;
        self
    }
}

/// The result of a backup in a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetBackupReport {
    /// Number of the backup.
    pub backup: u64,
    /// What the clock said when the backup began.
    pub taken: DateTime<Utc>,
    /// Sequence number of the commit that was copied.
    pub sequence: u64,
    /// Whether the store may not have made its last commit durable: the backup was made by
    /// [`Store::look`].
    pub is_ahead: bool,
    /// Rows of the record file in the backup.
    pub rows: u64,
    /// Files in the backup.
    pub files: u64,
    /// Files that were copied, because the set did not have them.
    pub files_sent: u64,
    /// Bytes of the files in the backup.
    pub file_bytes: u64,
    /// Bytes that were written to the set, of files and of records.
    pub written_bytes: u64,
    /// What the set got of the archive of commits, if the store has one. Commits of it that are
    /// missing are no findings of the backup.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<ArchiveReport>,
    /// Whether an earlier backup was interrupted: its remains were removed or used.
    pub went_on: bool,
    /// Backups that cannot be read, each with the reason. Nothing of theirs was changed.
    pub unreadable: Vec<String>,
    /// What the store lacks or has damaged, up to a thousand findings. Everything else is in the
    /// backup.
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
}

impl SetBackupReport {
    /// The number of findings, and the first of them or what was written, for the status.
    fn outcome(&self) -> (u64, String) {
        let message = findings::first_or(&self.findings, || {
            let (number, bytes, files) = (self.backup, self.written_bytes, self.files_sent);
            format!("backup {number} of a set: wrote {bytes} bytes, with {files} new files")
        });
        ((self.findings.len() as u64).saturating_add(self.findings_left_out), message)
    }
}

impl Store {
    /// Adds a backup of the last commit to the set in `directory`, while readers and writers
    /// continue. The directory must be missing, empty, or a set of this store.
    ///
    /// What an earlier backup of the set has is not written again: files are recognised by their
    /// names without being read, and of the records only what changed is written. A file that the
    /// store lost is taken from an earlier backup, if the set has the same one.
    ///
    /// Damage does not fail the backup but is a finding, and so is what the disk of the store
    /// cannot read: all else is in the backup, and earlier backups keep what they have. An
    /// interrupted backup leaves the others as they are, and the next one goes on with the files
    /// that it has sent.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Control, RestorePoint, SetBackupOptions, Store};
    ///
    /// let control = Control::default();
    /// let store = Store::open(dir.path().join("bench-7"))?;
    /// let stick = dir.path().join("stick");
    /// let report = store.backup_to_set(&stick, &SetBackupOptions::new(), &control)?;
    /// assert_eq!(report.backup, 1);
    /// let again = dir.path().join("again");
    /// Store::restore_from_set(&stick, RestorePoint::Latest, &again, &control)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the directory is that of the store, or inside of it; `NotFound` if it
    /// is missing and the set must exist; `NotAStore` if it is a file, contains something else, no
    /// set that must exist, or backups of another store; `Locked` while another call works on the
    /// set; `Corrupt` if `SET` is damaged, the set lost the manifests of its backups, or the rows
    /// of the state of the store cannot be read; `Latched` if the files of the store were moved or
    /// replaced; `NewerFormat`, `NoSpace`, `Io`; the errors of `control`.
    pub fn backup_to_set(
        &self,
        directory: impl AsRef<Path>,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<SetBackupReport> {
        let path = directory.as_ref();
        let attempt = format!("backing up to the set {}", path.display());
        let opened = || -> Result<SharedDisk> {
            directory::check_outside(path, &self.engine().disk, &attempt)?;
            let disk: SharedDisk = if options.must_exist {
                directory::existing(path, &attempt)?
            } else {
                directory::made(path, &attempt)?
            };
            Ok(disk)
        };
        self.back_up_to(opened, options, control, |error| error.context(&attempt))
    }

    /// As [`Store::backup_to_set`], onto a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::backup_to_set`].
    #[cfg(any(test, feature = "faults"))]
    pub fn backup_to_set_disk(
        &self,
        set: &SharedDisk,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<SetBackupReport> {
        self.back_up_to(|| Ok(set.clone()), options, control, |error| error)
    }

    /// Makes a backup, and keeps for the status how it ended, wherever it failed.
    fn back_up_to(
        &self,
        opened: impl FnOnce() -> Result<SharedDisk>,
        options: &SetBackupOptions,
        control: &Control,
        in_context: impl FnOnce(Error) -> Error,
    ) -> Result<SetBackupReport> {
        let disk = opened();
        let done = disk.and_then(|disk| {
            let done = guarded("backing up", || {
                if options.must_exist {
                    Set::seen(disk.clone())?;
                }
                let set = Set::made(disk, self.engine().seed)?;
                back_up(self, &set, options, control)
            });
            done.map_err(in_context)
        });
        self.record_outcome(Activity::Backup, &done, SetBackupReport::outcome);
        done
    }
}

/// Makes a backup. What must hold, in this order:
///
/// - The mark of the set is durable before anything else is written.
/// - The pack and the objects are durable, with their names, before the manifest gets its name.
/// - The mark goes last: while it is there, names in the set may not be durable.
fn back_up(
    store: &Store,
    set: &Set,
    options: &SetBackupOptions,
    control: &Control,
) -> Result<SetBackupReport> {
    let engine = store.engine();
    // Kept until the end: while the snapshot is alive, no file that it names is removed.
    let snapshot = engine.snapshot();
    let _hold = engine.readers.hold("a backup".to_owned(), snapshot.sequence);
    // The time of the store never goes back: after a clock that was ahead, all backups would be of
    // one day.
    let taken = engine.clock_now();
    let went_on = set.begin()?;
    if went_on {
        sync_names(set)?;
    }
    let manifests = Manifests::of(set)?;
    clean(set, &manifests)?;
    let mut marks = Marks::of(set)?;
    marks.sweep(set)?;
    let backup = manifests.next(set)?;
    let mut earlier = Earlier::of(set, manifests.readable.last(), &marks)?;
    let mut pack = Pack::new(set, backup, Pace::new(options.bytes_per_second, control));
    let mut report = VerifyReport::default();
    let source = Source { engine, snapshot: &snapshot, newest: manifests.readable.last() };
    let written = write(&source, set, &mut pack, &mut earlier, &marks, &mut report);
    let Written { rows, row_lists, files, file_lists, file_bytes, sent } = match written {
        Ok(written) => written,
        Err(error) => {
            // Gives the space back, if that is possible; the next backup does otherwise.
            let path = pack_path(backup);
            drop(pack);
            let _ = set.disk.remove_file(&path);
            return Err(error);
        }
    };
    let packs = pack.finish()?;
    for path in &sent {
        marks.remove(set, path)?;
    }
    let findings = report.findings.len() as u64 + report.findings_left_out;
    let manifest = Manifest {
        backup,
        taken,
        sequence: snapshot.sequence,
        journal: Some(engine.journal_id()),
        is_ahead: store.is_view(),
        rows,
        files,
        file_bytes,
        findings,
        packs,
        row_lists,
        file_lists,
    };
    manifest.write(set)?;
    let mut pace = pack.pace;
    let after = sent_after(&manifests, engine.journal_id(), went_on).unwrap_or(manifest.sequence);
    let has_archive = !store.is_view() && engine.has_archive();
    let archived = has_archive.then(|| send_archive(store, set, after, &mut marks, &mut pace));
    let archived = match archived {
        // The backup is there; the mark stays for what was being written.
        Some(Err(error)) => {
            report.find(DIRECTORY, "commits before the backup", error.message(), ARCHIVE_AGAIN);
            None
        }
        archived => {
            set.finish()?;
            archived.and_then(Result::ok)
        }
    };
    let unreadable = manifests.unreadable.iter();
    Ok(SetBackupReport {
        backup,
        taken,
        sequence: manifest.sequence,
        is_ahead: manifest.is_ahead,
        rows,
        files,
        files_sent: sent.len() as u64,
        file_bytes,
        written_bytes: pace.bytes,
        archived,
        went_on,
        unreadable: unreadable.map(|(_, error)| error.message().to_owned()).collect(),
        findings: report.findings,
        findings_left_out: report.findings_left_out,
    })
}

/// What a backup reads.
struct Source<'b> {
    engine: &'b Arc<Engine>,
    snapshot: &'b Snapshot,
    /// The newest backup of the set that can be read.
    newest: Option<&'b Manifest>,
}

/// What was written of a backup before its manifest.
struct Written {
    rows: u64,
    row_lists: Vec<Chunk>,
    files: u64,
    file_lists: Vec<Chunk>,
    file_bytes: u64,
    /// The objects that were sent.
    sent: Vec<String>,
}

fn write(
    source: &Source<'_>,
    set: &Set,
    pack: &mut Pack<'_, '_>,
    earlier: &mut Earlier,
    marks: &Marks,
    report: &mut VerifyReport,
) -> Result<Written> {
    let (rows, row_lists) = write_rows(source.snapshot, pack, earlier, report)?;
    let disk = &*source.engine.disk;
    let control = pack.pace.control;
    let mut known = Known::of(source, report)?;
    let mut writer = RowWriter::new(Part::Files);
    let mut listed = Listed::new(marks);
    let mut directories = BTreeSet::new();
    let mut sent = Vec::new();
    let (mut files, mut file_bytes) = (0, 0);
    for named in files_of(source, report)? {
        control.check()?;
        let mut object = known.object(&named, set, control)?;
        if let Ok(found) = object
            && !listed.has(set, &found)?
        {
            match send(disk, &named.path, set, &found, &mut pack.pace)? {
                Ok(()) => {
                    listed.add(&found);
                    directories.insert(parent(&found.path()).to_owned());
                    sent.push(found.path());
                }
                Err(lost) => object = Err(lost),
            }
        }
        let object = object.inspect_err(|lost| {
            report.find(&named.path, "its content", lost.message(), RESTORE);
        });
        if matches!(&object, Err(lost) if lost.kind() == ErrorKind::Io) {
            // Without the store, no file could be read.
            source.engine.check_place()?;
        }
        let object = object.ok();
        files += 1;
        file_bytes += object.map_or(0, |object| object.len);
        let row = Object::row(object.as_ref());
        writer.add(FILE, named.path.as_bytes(), &row, pack, earlier)?;
    }
    let file_lists = writer.finish(pack, earlier)?;
    let attempt = failed("syncing the objects of the backup");
    for directory in &directories {
        set.disk.sync_dir(directory).map_err(&attempt)?;
    }
    set.disk.sync_dir(OBJECTS).map_err(&attempt)?;
    Ok(Written { rows, row_lists, files, file_lists, file_bytes, sent })
}

/// The files that the records name, in the order of their paths. If these records are damaged, they
/// are all files that the store has: a restored store removes those that no record names.
fn files_of(source: &Source<'_>, report: &mut VerifyReport) -> Result<Vec<NamedFile>> {
    let named = checked("listing the files", || named_files(source.snapshot))?;
    let place = "the records of files, so that the backup has all that are there";
    if let Some(named) = report.undamaged(named, place, RESTORE) {
        return Ok(named);
    }
    let mut found = Vec::new();
    for directory in DIRECTORIES {
        let walked = walk(&*source.engine.disk, directory);
        let walked = walked.map_err(|error| Error::io(format!("listing {directory}"), error))?;
        // Those without bytes are for contents to come.
        found.extend(walked.into_iter().filter(|(_, len)| *len > 0));
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(path, len)| NamedFile { path, len: Some(len) }).collect())
}

/// What the files of the store contain.
struct Known<'b> {
    source: &'b Source<'b>,
    /// What the records say.
    records: HashMap<String, (Option<u64>, u128)>,
    /// What the newest backup says; read for the first file of which the records say nothing.
    newest: Option<HashMap<String, Object>>,
}

impl<'b> Known<'b> {
    fn of(source: &'b Source<'b>, report: &mut VerifyReport) -> Result<Self> {
        let records = checked("reading the checksums", || identities(source.snapshot))?;
        let place = "the checksums of files, so that the files were read instead";
        let records = report.undamaged(records, place, RESTORE).unwrap_or_default();
        Ok(Self { source, records, newest: None })
    }

    /// What a file is; the error inside is that of a file that cannot be read.
    ///
    /// # Errors
    /// Those of `control`.
    fn object(
        &mut self,
        named: &NamedFile,
        set: &Set,
        control: &Control,
    ) -> Result<Result<Object>> {
        let Source { engine, newest, .. } = self.source;
        if let (Some(&(blob, hash)), Some(len)) = (self.records.get(&named.path), named.len) {
            return Ok(Ok(Object { blob, len, hash }));
        }
        let before = match &mut self.newest {
            Some(before) => before,
            none => none.insert(files_before(*newest, set, control)?),
        };
        if let Some(object) = before.get(&named.path)
            && checked("checking a file", || object.check(&*engine.disk, &named.path, control))?
                .is_ok()
        {
            return Ok(Ok(*object));
        }
        // Its bytes name it.
        checked("reading a file", || of_bytes(&*engine.disk, &named.path, control))
    }
}

/// The files of a backup, as far as its list can be read.
fn files_before(
    backup: Option<&Manifest>,
    set: &Set,
    control: &Control,
) -> Result<HashMap<String, Object>> {
    let mut files = HashMap::new();
    let Some(backup) = backup else { return Ok(files) };
    let mut packs = Packs::new(&set.disk);
    let mut seen = HashSet::new();
    each_file(&mut packs, backup, &mut seen, control, &mut |_| Ok(()), &mut |path, object| {
        files.extend(object.map(|object| (path, object)));
        Ok(())
    })?;
    Ok(files)
}

/// Writes the rows of the records that can be read, and compares them with the sums of the commits.
fn write_rows(
    snapshot: &Snapshot,
    pack: &mut Pack<'_, '_>,
    earlier: &mut Earlier,
    report: &mut VerifyReport,
) -> Result<(u64, Vec<Chunk>)> {
    let source = ReadSource::Snapshot(snapshot);
    let mut writer = RowWriter::new(Part::Rows);
    let mut found = Sums::default();
    let mut rows = 0u64;
    // The indexes are made anew from the records by a restore.
    for space in Space::ALL.into_iter().filter(|space| *space != Space::Index) {
        let mut add = |key: &[u8], value: &[u8]| {
            // The restored store has its own sums.
            if Collection::of(space, key).is_none() {
                return Ok(true);
            }
            found.add(space, key, value);
            // The indexes of the restored store are complete.
            if space == Space::Meta && key == FILLING_KEY {
                return Ok(true);
            }
            rows += 1;
            if rows.is_multiple_of(1024) {
                pack.pace.control.check()?;
            }
            writer.add(space.number(), key, value, pack, earlier).map(|()| true)
        };
        each_row(source, space, None, &mut add, &mut |gap| {
            // Without these rows no store opens, or it would give ids again.
            if matches!(space, Space::Meta | Space::Counters) {
                return Err(gap.error);
            }
            let place = format!("space {}, {}", space.name(), gap.place());
            report.find_in_records(place, gap.error.message(), RESTORE);
            Ok(())
        })?;
    }
    let sums = checked("reading the sums", || snapshot.sums())?;
    match sums.unwrap_or_default() {
        Some(written) => scrub::compare_sums(&written, &found, report),
        None => scrub::tell_no_sums(report),
    }
    Ok((rows, writer.finish(pack, earlier)?))
}
