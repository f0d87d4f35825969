//! Backup while writers continue, and compaction.
//!
//! A backup is a store directory: the records of one snapshot in a new record file, and each file
//! that the snapshot names. A new directory contains a marker until everything is synced, so an
//! interrupted backup can be told from a complete one.
//!
//! What must hold:
//! - A backup without one of the named files keeps its marker and returns an error. Otherwise it
//!   would open as a store that lost data.
//! - A complete earlier backup stays complete until the new one is, whatever fails or ends before
//!   that. It may be the only copy of what the store lost. So the new record file is written beside
//!   the old one, and replaces it by one rename when all files are there. The name of a file is a
//!   number that is given once, except where a store was restored and gives the numbers of a newer
//!   backup to other files: only for the renames of those the directory gets the marker.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use serde::Serialize;

use super::findings::{Finding, RECORD_FILE, VerifyReport, first_or};
use super::named::{self, NamedFile};
use super::open::Store;
use super::scrub;
use super::scrub_indexes::index_entries;
use super::status::kept::Activity;
use super::{directory, format, lock};
use crate::blobs;
use crate::columnar::{DATA_SUFFIX, SUMMARY_SUFFIX};
use crate::disk::{Disk, DiskFile, Mode, SharedDisk, copy_file_as, parent, remove_if_there, walk};
use crate::error::{ApiError, Error, ErrorKind, Result};
use crate::records::{
    Change, Collection, JOURNAL_NAMES, ReadSource, RecordFile, RecordFileOptions, Snapshot, Space,
};
use crate::session::FILLING_KEY;
use crate::session::{Engine, Fillings, guarded};
use crate::value::{Control, limits};

/// The directories whose files a backup copies. The text index is not copied; it is rebuilt.
pub(super) const DIRECTORIES: [&str; 2] = ["tables", "files"];

/// The result of a backup or a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BackupReport {
    /// Sequence number of the commit that was copied.
    pub sequence: u64,
    /// Keys copied from the record file.
    pub keys: u64,
    /// Files copied.
    pub files: u64,
    /// Files that an earlier backup had already copied.
    pub files_kept: u64,
    /// Bytes of the files copied.
    pub file_bytes: u64,
    /// Damage that was found: by a backup in the records that it copied, by a restore in its copy.
    /// For a restore, a named file that is missing is damage too. Everything else was copied and
    /// can be read.
    pub findings: Vec<Finding>,
}

impl BackupReport {
    /// The number of findings, and the first of them or what was copied, for the status.
    fn outcome(&self) -> (u64, String) {
        let message = first_or(&self.findings, || {
            format!("copied {} keys and {} files", self.keys, self.files)
        });
        (self.findings.len() as u64, message)
    }
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CompactReport {
    /// Length of the record file before, in bytes.
    pub bytes_before: u64,
    /// Length of the record file after, in bytes.
    pub bytes_after: u64,
}

pub(super) fn failed(attempt: &str) -> impl Fn(std::io::Error) -> Error + '_ {
    move |error| Error::io(attempt, error)
}

impl Store {
    /// Copies the last commit into `directory`, while readers and writers continue.
    ///
    /// The directory must be missing, empty, or an earlier backup of this store. Files that it
    /// already has with the same checksums are kept. The copy is a store that can be opened, and
    /// has each file that the records of this commit name.
    ///
    /// # Errors
    /// `Corrupt` if the store lacks such a file, or has it with another length.
    /// [`Error::api_error`] then has an inner error for each such file, whose first argument is the
    /// path. In a new directory the other files were copied, and the marker stays.
    ///
    /// `InvalidArgument` if the directory is that of the store, or inside of it; `NotAStore` if it
    /// is a file, contains something else, or another store; `Locked` if it is open as a store;
    /// `NoSpace`, `Io`; the errors of `control`. The store is never changed. After an error, an
    /// earlier backup in the directory is as it was, or is replaced by the new one as a whole; a
    /// new directory keeps its marker until it is complete.
    pub fn backup(&self, directory: impl AsRef<Path>, control: &Control) -> Result<BackupReport> {
        let path = directory.as_ref();
        let attempt = format!("backing up to {}", path.display());
        let target = || -> Result<SharedDisk> {
            directory::check_outside(path, &self.engine().disk, &attempt)?;
            let target: SharedDisk = directory::made(path, &attempt)?;
            Ok(target)
        };
        let done = target().and_then(|target| {
            let done = guarded("backing up", || self.backup_to(&target, control));
            done.map_err(|error| error.context(&attempt))
        });
        self.record_outcome(Activity::Backup, &done, BackupReport::outcome);
        done
    }

    /// As [`Store::backup`], onto a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::backup`].
    #[cfg(any(test, feature = "faults"))]
    pub fn backup_disk(&self, target: &SharedDisk, control: &Control) -> Result<BackupReport> {
        let done = guarded("backing up", || self.backup_to(target, control));
        self.record_outcome(Activity::Backup, &done, BackupReport::outcome);
        done
    }

    /// Copies the last commit into `target`. What must hold, in this order:
    ///
    /// - Missing files are found before the target is changed. So an earlier backup survives a
    ///   store that lost files.
    /// - The marker of a new backup is durable before anything else is written. Otherwise an
    ///   interrupted backup would look complete.
    /// - The files and their names are durable before the record file that names them gets its name,
    ///   and that and FORMAT before the marker is removed. Otherwise a power cut could leave a backup
    ///   that opens and lacks a file.
    pub(crate) fn backup_to(&self, target: &SharedDisk, control: &Control) -> Result<BackupReport> {
        let engine = self.engine();
        // Kept until the end: while the snapshot is alive, no file that it names is removed.
        let snapshot = engine.snapshot();
        let _hold = engine.readers.hold("a backup".to_owned(), snapshot.sequence);
        let (_lock, is_backup) = hold_target(target, engine.seed)?;
        let named = named::named_files(&snapshot)?;
        let mut lacking = VerifyReport::default();
        let files = named::present(&*engine.disk, &named, control, &mut lacking)?;
        if is_backup && !lacking.is_sound() {
            return Err(incomplete(&lacking, KEPT));
        }
        let kept = if is_backup {
            Kept::Backup(Vec::new())
        } else if prepare_target(target)? {
            Kept::Nothing
        } else {
            Kept::Remains
        };
        let mut copy = Copy { engine, snapshot: &snapshot, target, kept, control };
        let report = match copy.write(files, lacking) {
            Ok(report) => report,
            Err(error) if is_backup => {
                copy.discard();
                return Err(error.followed_by(format_args!("; {KEPT}")));
            }
            Err(error) => return Err(error),
        };
        copy.take_effect()?;
        if report.findings.is_empty() {
            // If rows of the records are lost, names of files may be lost too. Then no file of the
            // earlier backup is removed.
            remove_unnamed(&**target, &named)?;
        }
        format::write(target, engine.seed)?;
        remove_if_there(&**target, format::INCOMPLETE)
            .map_err(failed("removing the marker of the backup"))?;
        target.sync_dir("").map_err(failed("syncing the backup"))?;
        Ok(report)
    }

    /// Returns unused space of the record file and of the journal to the file system. A record file
    /// whose pages are badly filled is copied, if the disk has room for that.
    ///
    /// # Errors
    /// `Corrupt` if the record file is damaged; `Latched` after a failed write; `NoSpace`, `Io`;
    /// `Conflict` while other clones of the store or sessions exist, because no reader may exist
    /// meanwhile.
    pub fn compact(&mut self) -> Result<CompactReport> {
        // Nothing is written before the store is known to be alone, and in its own process.
        self.engine().check_place()?;
        self.without_threads(|store| {
            store.engine_mut()?;
            // Before the rest, because the commit of it would make the file grow again when the
            // store is closed: redb doubles a file that has no free page. A failure is harmless, as
            // at a close.
            let _ = store.save_text();
            let engine = store.engine_mut()?;
            guarded("compacting", || compact(engine))
        })
    }
}

/// What an error says about an earlier backup.
const KEPT: &str = "the earlier backup was left as it was";

/// What the target of a copy has before.
pub(super) enum Kept {
    /// A complete backup, which stays one. The paths are those of its files that the new backup has
    /// other contents of; these lie beside them under a temporary name.
    Backup(Vec<String>),
    /// Nothing.
    Nothing,
    /// What an interrupted copy left: a file may have the length but not the bytes.
    Remains,
}

/// What the temporary name of a file ends with.
const NEW_SUFFIX: &str = ".new";

/// A backup in progress.
struct Copy<'a> {
    engine: &'a Engine,
    snapshot: &'a Snapshot,
    target: &'a SharedDisk,
    kept: Kept,
    control: &'a Control,
}

impl Copy<'_> {
    /// Writes the record file under its temporary name, and the files.
    fn write(
        &mut self,
        files: Vec<(String, u64)>,
        mut lacking: VerifyReport,
    ) -> Result<BackupReport> {
        let Self { engine, snapshot, target, control, .. } = *self;
        let mut report = BackupReport { sequence: snapshot.sequence, ..BackupReport::default() };
        let options =
            RecordFileOptions { cache_bytes: limits::RECORD_CACHE_BYTES, quick_repair: true };
        {
            let mut copy = RecordFile::create_beside(target, options)?;
            // The index entries of the copy are made from the records, so they are correct even if
            // those of the source are damaged.
            for space in Space::ALL.into_iter().filter(|space| *space != Space::Index) {
                copy_space(ReadSource::Snapshot(snapshot), &copy, space, control, &mut report)?;
            }
            report.findings = differences(snapshot, &copy)?;
            // The indexes of the copy are complete.
            if !Fillings::of(ReadSource::Snapshot(snapshot))?.names().is_empty() {
                copy.write(|turn| {
                    turn.apply([Change::Delete { space: Space::Meta, key: FILLING_KEY.to_vec() }])
                })?;
            }
            // No other code uses the copy yet, so all its pages can be read once more from the
            // medium.
            if !copy.check_pages()? {
                return Err(Error::corrupt(
                    "records.redb of the backup differs from what was written; use another medium",
                ));
            }
        }
        // A file that disappeared since `present` was removed by another program: the store removes
        // no file that a live snapshot names.
        let kept = &mut self.kept;
        for path in copy_files(&*engine.disk, &**target, files, kept, control, &mut report)? {
            named::tell_missing(&path, &mut lacking);
        }
        if lacking.is_sound() {
            return Ok(report);
        }
        lacking.findings.append(&mut report.findings);
        Err(incomplete(
            &lacking,
            match self.kept {
                Kept::Backup(_) => "some of them were removed during the backup",
                Kept::Nothing | Kept::Remains => {
                    "the other files are copied, and the copy stays marked as incomplete"
                }
            },
        ))
    }

    /// Removes what was written beside an earlier backup, except new files that are complete, which
    /// the next backup takes. Failures are harmless: a store that is opened removes the rest.
    fn discard(&self) {
        let _ = RecordFile::sweep(self.target);
        for directory in DIRECTORIES {
            for (path, _) in walk(&**self.target, directory).unwrap_or_default() {
                if path.ends_with(NEW_SUFFIX) {
                    let _ = self.target.remove_file(&path);
                }
            }
        }
    }

    /// Makes the copy the backup.
    fn take_effect(&self) -> Result<()> {
        let Self { target, kept, .. } = self;
        let attempt = failed("replacing the earlier backup");
        if let Kept::Backup(replaced) = kept
            && !replaced.is_empty()
        {
            mark(target)?;
            for path in replaced {
                target.rename(&format!("{path}{NEW_SUFFIX}"), path).map_err(&attempt)?;
                target.sync_dir(parent(path)).map_err(&attempt)?;
            }
        }
        RecordFile::name_new(target)?;
        remove_rest(target)
    }
}

fn compact(engine: &mut Engine) -> Result<CompactReport> {
    let len = |disk: &dyn Disk| {
        let file = disk.open(RECORD_FILE, Mode::Read).map_err(failed("opening records.redb"))?;
        file.len().map_err(failed("reading the length of records.redb"))
    };
    let bytes_before = len(&*engine.disk)?;
    engine.compact()?;
    Ok(CompactReport { bytes_before, bytes_after: len(&*engine.disk)? })
}

/// The error of a backup that would be incomplete.
fn incomplete(lacking: &VerifyReport, outcome: &str) -> Error {
    /// Number of files that the message names; the inner errors name all of them.
    const NAMED: usize = 3;
    let count = lacking.findings.len() as u64 + lacking.findings_left_out;
    let mut text = String::new();
    for finding in lacking.findings.iter().take(NAMED) {
        text.push_str(&format!("{}: {}; ", finding.file, finding.problem));
    }
    let inner = lacking.findings.iter().map(|finding| ApiError {
        message: Some(finding.to_string()),
        args: vec![
            finding.file.clone(),
            finding.place.clone(),
            finding.problem.clone(),
            finding.action.clone(),
        ],
        ..Error::corrupt("").api_error()
    });
    Error::corrupt(format!(
        "the store lacks files that its records name: {count} findings ({text}see the inner \
         errors); {outcome}; repair the store from a backup set, restore a backup, or delete the \
         records that name them, then back up again"
    ))
    .with_inner(inner.collect())
}

/// Locks the target of a backup, and refuses a directory that belongs to another store. Returns
/// whether it is a complete backup.
///
/// A process that has the target open, even this very store, would continue to write to a record
/// file that is removed. The files of another store have the same names and lengths, but not the
/// same bytes.
fn hold_target(target: &SharedDisk, seed: u64) -> Result<(Option<Box<dyn DiskFile>>, bool)> {
    let attempt = failed("preparing the target of the backup");
    // The remains of an interrupted backup have no FORMAT; their files are compared byte by byte.
    let is_marked = target.exists(format::INCOMPLETE).map_err(&attempt)?;
    let is_store = !is_marked && format::probe(target)? == format::DirectoryKind::Store;
    let lock = if target.exists(lock::NAME).map_err(&attempt)? {
        Some(lock::acquire(target, false)?)
    } else {
        None
    };
    if is_store {
        format::check_seed(target, seed).map_err(|error| match error.kind() {
            ErrorKind::Corrupt => Error::new(
                ErrorKind::NotAStore,
                "the directory contains another store; choose an empty directory, or an earlier \
                 backup of this store",
            )
            .with_source(error),
            _ => error,
        })?;
    }
    Ok((lock, is_store))
}

/// Marks the target as incomplete and removes what is that of a store in it, except its files.
/// Returns whether it had no marker before, so that its files are durable.
///
/// The marker and its name are synced before FORMAT and the record file are removed. From then on,
/// `probe` refuses the directory as a store until the copy is complete.
pub(super) fn prepare_target(target: &SharedDisk) -> Result<bool> {
    let attempt = failed("preparing the target of the backup");
    let marked = target.exists(format::INCOMPLETE).map_err(&attempt)?;
    if !marked {
        format::probe(target)?;
        mark(target)?;
    }
    for name in [format::NAME, RECORD_FILE] {
        remove_if_there(&**target, name).map_err(&attempt)?;
    }
    remove_rest(target)?;
    Ok(!marked)
}

/// Marks the target as incomplete, durably.
fn mark(target: &SharedDisk) -> Result<()> {
    let attempt = failed("marking the target of the backup");
    let marker = target.open(format::INCOMPLETE, Mode::CreateNew).map_err(&attempt)?;
    marker.sync_all().map_err(&attempt)?;
    target.sync_dir("").map_err(&attempt)
}

/// Removes what belongs to an earlier record file. The status of a backup that was opened as a
/// store is not that of its owner.
fn remove_rest(target: &SharedDisk) -> Result<()> {
    let attempt = failed("preparing the target of the backup");
    for name in JOURNAL_NAMES.into_iter().chain([format::STATUS, format::NEW_STATUS]) {
        remove_if_there(&**target, name).map_err(&attempt)?;
    }
    target.sync_dir("").map_err(&attempt)
}

/// Copies the rows of a space.
fn copy_space(
    source: ReadSource<'_>,
    copy: &RecordFile,
    space: Space,
    control: &Control,
    report: &mut BackupReport,
) -> Result<()> {
    let mut cursor = source.cursor(space, &[], None)?;
    let mut rows = RowCopy::new(copy, control, report.keys);
    while let Some((key, value)) = cursor.next()? {
        rows.add(space, key, value)?;
    }
    report.keys = rows.finish()?;
    Ok(())
}

/// Writes rows to the record file of a copy, with the index entries that follow from them.
pub(super) struct RowCopy<'c> {
    copy: &'c RecordFile,
    control: &'c Control,
    batch: Vec<Change>,
    bytes: usize,
    keys: u64,
}

impl<'c> RowCopy<'c> {
    /// `keys` were written before.
    pub(super) fn new(copy: &'c RecordFile, control: &'c Control, keys: u64) -> Self {
        Self { copy, control, batch: Vec::new(), bytes: 0, keys }
    }

    /// Writes a row, soon.
    ///
    /// # Errors
    /// Those of the disk and of the control.
    pub(super) fn add(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) -> Result<()> {
        // The row of the sums is not copied: the copy's sums are computed from the entries that are
        // written to it.
        if Collection::of(space, &key).is_none() {
            return Ok(());
        }
        self.bytes += key.len() + value.len();
        if space == Space::Records {
            for (key, value) in index_entries(&key, &value) {
                self.bytes += key.len() + value.len();
                self.batch.push(Change::Put { space: Space::Index, key, value });
            }
        }
        self.batch.push(Change::Put { space, key, value });
        if self.bytes >= limits::BATCH_BYTES / 4 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.control.check()?;
        self.keys += self.batch.len() as u64;
        self.control.report(self.keys, None, "keys");
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        self.copy.write(|turn| turn.apply(batch))
    }

    /// Writes the rest; returns the number of all keys.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.keys)
    }
}

/// The differences between the entries of the copy and the sums that the commits of the source
/// wrote.
fn differences(source: &Snapshot, copy: &RecordFile) -> Result<Vec<Finding>> {
    let mut report = VerifyReport::default();
    match (source.sums()?, copy.snapshot(0)?.sums()?) {
        (Some(written), Some(copied)) => scrub::compare_sums(&written, &copied, &mut report),
        (None, _) => scrub::tell_no_sums(&mut report),
        (_, None) => {
            return Err(Error::corrupt("the records of the backup have no sums; back up again"));
        }
    }
    Ok(report.findings)
}

/// Copies files and makes them durable. `files` has path and length, sorted by path. Returns the
/// paths of the files that the source did not have.
///
/// A file of a complete backup keeps its bytes: another one with its path is written beside it.
pub(super) fn copy_files(
    source: &dyn Disk,
    target: &dyn Disk,
    files: Vec<(String, u64)>,
    kept: &mut Kept,
    control: &Control,
    report: &mut BackupReport,
) -> Result<Vec<String>> {
    let attempt = failed("copying the files of the backup");
    let mut missing = Vec::new();
    let total: u64 = files.iter().map(|(_, len)| len).sum();
    let mut done = 0;
    let mut directories = std::collections::BTreeSet::new();
    // The files of the current directory; the files of a directory are adjacent in `files`.
    let mut present: HashMap<String, u64> = HashMap::new();
    for (path, len) in files {
        let directory = parent(&path).to_owned();
        if directories.insert(directory.clone()) {
            target.create_dir_all(&directory).map_err(&attempt)?;
            let listed = target.list(&directory).map_err(&attempt)?;
            present = listed
                .into_iter()
                .map(|entry| (format!("{directory}/{}", entry.name), entry.len))
                .collect();
        }
        let has_len = present.get(&path) == Some(&len);
        let is_same = |kept: &Kept, path| match kept {
            Kept::Backup(_) | Kept::Nothing => has_same_checksums(source, target, path, control),
            Kept::Remains => is_durable_copy(source, target, path, len, control),
        };
        let mut copy = || -> Result<()> {
            if has_len && is_same(kept, &path)? {
                report.files_kept += 1;
                return Ok(());
            }
            let total = Some(total);
            match kept {
                Kept::Backup(replaced) => {
                    let new = format!("{path}{NEW_SUFFIX}");
                    remove_if_there(target, &new).map_err(&attempt)?;
                    let names = (path.as_str(), new.as_str());
                    done = copy_one_as(source, target, names, done, total, control)?;
                    if present.contains_key(&path) {
                        replaced.push(path.clone());
                    } else {
                        target.rename(&new, &path).map_err(&attempt)?;
                    }
                }
                Kept::Nothing | Kept::Remains => {
                    // The source is opened before the target's file is removed, which may be the
                    // last copy.
                    let source_file = source.open(&path, Mode::Read).map_err(&attempt)?;
                    remove_if_there(target, &path).map_err(&attempt)?;
                    drop(source_file);
                    done = copy_one(source, target, &path, done, total, control)?;
                }
            }
            report.files += 1;
            report.file_bytes += len;
            Ok(())
        };
        match copy() {
            Err(error)
                if error.kind() == ErrorKind::Io && !source.exists(&path).map_err(&attempt)? =>
            {
                missing.push(path);
            }
            copied => copied?,
        }
    }
    let mut parents: Vec<String> =
        directories.iter().map(|directory| parent(directory).to_owned()).collect();
    parents.extend(directories);
    parents.sort_unstable();
    parents.dedup();
    parents.iter().rev().try_for_each(|directory| target.sync_dir(directory).map_err(&attempt))?;
    Ok(missing)
}

/// Removes files that an earlier backup copied and that the snapshot does not name any more.
fn remove_unnamed(target: &dyn Disk, named: &[NamedFile]) -> Result<()> {
    let attempt = failed("removing files of an earlier backup");
    for directory in DIRECTORIES {
        for (path, _) in walk(target, directory).map_err(&attempt)? {
            if !named::is_named(named, &path) {
                target.remove_file(&path).map_err(&attempt)?;
            }
        }
    }
    Ok(())
}

/// Copies one file and syncs it. `done` is the number of bytes copied before; returns that after
/// it.
pub(super) fn copy_one(
    source: &dyn Disk,
    target: &dyn Disk,
    path: &str,
    done: u64,
    total: Option<u64>,
    control: &Control,
) -> Result<u64> {
    copy_one_as(source, target, (path, path), done, total, control)
}

/// As [`copy_one`], from the first path to the second.
fn copy_one_as(
    source: &dyn Disk,
    target: &dyn Disk,
    (path, new_path): (&str, &str),
    mut done: u64,
    total: Option<u64>,
    control: &Control,
) -> Result<u64> {
    let copied = copy_file_as(source, path, target, new_path, |step| {
        control.check()?;
        done += step;
        control.report(done, total, "bytes");
        Ok(())
    });
    copied.map(|_| done)
}

/// Whether the target's file has the source's bytes. If so, they are durable on return.
fn is_durable_copy(
    source: &dyn Disk,
    target: &dyn Disk,
    path: &str,
    len: u64,
    control: &Control,
) -> Result<bool> {
    let is_equal = has_same_bytes(source, target, path, std::iter::once(0..len), control)?;
    if is_equal {
        let attempt = failed("syncing a file of an interrupted backup");
        target.open(path, Mode::ReadWrite).and_then(|copy| copy.sync_all()).map_err(attempt)?;
    }
    Ok(is_equal)
}

/// Whether a file of a complete backup is the source's file, by the checksums stored in both files.
///
/// Name and length are not enough: a store that was restored from an older backup assigns file
/// numbers again that a newer backup has with other contents.
fn has_same_checksums(
    source: &dyn Disk,
    target: &dyn Disk,
    path: &str,
    control: &Control,
) -> Result<bool> {
    let len = |disk: &dyn Disk, path: &str| disk.open(path, Mode::Read).and_then(|file| file.len());
    // The checksums of a segment are in its summary.
    let summary = path.strip_suffix(DATA_SUFFIX).map(|stem| format!("{stem}{SUMMARY_SUFFIX}"));
    let path = summary.as_deref().unwrap_or(path);
    let attempt = failed("comparing a file of an earlier backup");
    if !target.exists(path).map_err(&attempt)? {
        return Ok(false);
    }
    let source_len = len(source, path).map_err(&attempt)?;
    if len(target, path).map_err(&attempt)? != source_len {
        return Ok(false);
    }
    if path.ends_with(SUMMARY_SUFFIX) {
        has_same_bytes(source, target, path, std::iter::once(0..source_len), control)
    } else {
        has_same_bytes(source, target, path, blobs::check_ranges(source_len), control)
    }
}

fn has_same_bytes(
    source: &dyn Disk,
    target: &dyn Disk,
    path: &str,
    ranges: impl Iterator<Item = Range<u64>>,
    control: &Control,
) -> Result<bool> {
    const STEP_BYTES: u64 = 1024 * 1024;
    let attempt = failed("comparing a file of an earlier backup");
    let [original, copy] =
        [source, target].map(|disk| disk.open(path, Mode::Read).map_err(&attempt));
    let (original, copy) = (original?, copy?);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for range in ranges {
        let mut at = range.start;
        while at < range.end {
            control.check()?;
            let step = (range.end - at).min(STEP_BYTES);
            for (file, bytes) in [(&original, &mut left), (&copy, &mut right)] {
                bytes.resize(step as usize, 0);
                file.read_exact_at(bytes, at).map_err(&attempt)?;
            }
            if left != right {
                return Ok(false);
            }
            at += step;
        }
    }
    Ok(true)
}
