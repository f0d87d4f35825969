//! Makes a backup in a set, while readers and writers continue.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::chunks::Chunk;
use super::earlier::Earlier;
use super::layout::{OBJECTS, Set, failed, pack_path};
use super::manifest::Manifest;
use super::objects::{Listed, Object, identities, of_bytes, send};
use super::pace::Pace;
use super::pack::{Pack, Part, RowWriter};
use super::rows::FILE;
use super::sweep::{Manifests, clean, sync_names};
use crate::disk::{SharedDisk, parent};
use crate::error::{ErrorKind, Result};
use crate::records::{Collection, ReadSource, Snapshot, Space, Sums};
use crate::session::{FILLING_KEY, guarded};
use crate::store::findings::{Finding, VerifyReport};
use crate::store::named::named_files;
use crate::store::open::Store;
use crate::store::status::kept::Activity;
use crate::store::{directory, findings, scrub};
use crate::value::Control;

/// How a backup in a set is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct SetBackupOptions {
    /// Most bytes that are written in a second; no limit by default.
    pub bytes_per_second: Option<u64>,
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
}

/// The result of a backup in a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetBackupReport {
    /// Number of the backup.
    pub backup: u64,
    /// Time of the store when the backup began.
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
    /// Damage does not fail the backup but is a finding: all else is in the backup, and earlier
    /// backups keep what they have. An interrupted backup leaves the others as they are, and the
    /// next one goes on with the files that it has sent.
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
    /// `InvalidArgument` if the directory is that of the store, or inside of it; `NotAStore` if it
    /// is a file, contains something else, or backups of another store; `Locked` while another call
    /// works on the set; `Corrupt` if the records cannot be read; `NewerFormat`, `NoSpace`, `Io`;
    /// the errors of `control`.
    pub fn backup_to_set(
        &self,
        directory: impl AsRef<Path>,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<SetBackupReport> {
        let path = directory.as_ref();
        let attempt = format!("backing up to the set {}", path.display());
        directory::check_outside(path, &self.engine().disk, &attempt)?;
        let disk: SharedDisk = directory::made(path, &attempt)?;
        self.backup_to_set_on(disk, options, control).map_err(|error| error.context(attempt))
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
        self.backup_to_set_on(set.clone(), options, control)
    }

    fn backup_to_set_on(
        &self,
        disk: SharedDisk,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<SetBackupReport> {
        let done = guarded("backing up", || {
            let set = Set::made(disk, self.engine().seed)?;
            back_up(self, &set, options, control)
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
    let taken = engine.now();
    let went_on = set.begin()?;
    if went_on {
        sync_names(set)?;
    }
    let manifests = Manifests::of(set)?;
    clean(set, &manifests)?;
    let backup = manifests.next(set)?;
    let mut earlier = Earlier::of(set, manifests.readable.last())?;
    let mut pack = Pack::new(set, backup, Pace::new(options.bytes_per_second, control));
    let mut report = VerifyReport::default();
    let written = write(store, set, &snapshot, &mut pack, &mut earlier, &mut report);
    let Written { rows, row_lists, files, file_lists, file_bytes, files_sent } = match written {
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
    let findings = report.findings.len() as u64 + report.findings_left_out;
    let manifest = Manifest {
        backup,
        taken,
        sequence: snapshot.sequence,
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
    set.finish()?;
    let unreadable = manifests.unreadable.iter();
    Ok(SetBackupReport {
        backup,
        taken,
        sequence: manifest.sequence,
        is_ahead: manifest.is_ahead,
        rows,
        files,
        files_sent,
        file_bytes,
        written_bytes: pack.pace.bytes,
        went_on,
        unreadable: unreadable.map(|(_, error)| error.message().to_owned()).collect(),
        findings: report.findings,
        findings_left_out: report.findings_left_out,
    })
}

/// What was written of a backup before its manifest.
struct Written {
    rows: u64,
    row_lists: Vec<Chunk>,
    files: u64,
    file_lists: Vec<Chunk>,
    file_bytes: u64,
    files_sent: u64,
}

fn write(
    store: &Store,
    set: &Set,
    snapshot: &Snapshot,
    pack: &mut Pack<'_, '_>,
    earlier: &mut Earlier,
    report: &mut VerifyReport,
) -> Result<Written> {
    let (rows, row_lists) = write_rows(snapshot, pack, earlier, report)?;
    let disk = &*store.engine().disk;
    let known = identities(snapshot)?;
    let mut writer = RowWriter::new(Part::Files);
    let mut listed = Listed::default();
    let mut directories = BTreeSet::new();
    let (mut files, mut file_bytes, mut files_sent) = (0, 0, 0);
    for named in named_files(snapshot)? {
        pack.pace.control.check()?;
        let object = match (known.get(&named.path), named.len) {
            (Some(&(blob, hash)), Some(len)) => Ok(Object { blob, len, hash }),
            _ => of_bytes(disk, &named.path, pack.pace.control),
        };
        let sent = object.and_then(|object| {
            if listed.has(set, &object)? {
                return Ok(object);
            }
            let sent = send(disk, &named.path, set, &object, &mut pack.pace);
            sent.inspect(|()| {
                files_sent += 1;
                listed.add(&object);
                directories.insert(parent(&object.path()).to_owned());
            })?;
            Ok(object)
        });
        let object = match sent {
            Ok(object) => Some(object),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                report.find(&named.path, "its content", error.message(), findings::RESTORE);
                None
            }
            Err(error) => return Err(error),
        };
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
    Ok(Written { rows, row_lists, files, file_lists, file_bytes, files_sent })
}

/// Writes the rows of the records, and compares them with the sums of the commits.
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
        let mut cursor = source.cursor(space, &[], None)?;
        loop {
            let next = cursor.visit(false, |key, value| {
                // The restored store has its own sums.
                if Collection::of(space, key).is_none() {
                    return Ok(());
                }
                found.add(space, key, value);
                // The indexes of the restored store are complete.
                if space == Space::Meta && key == FILLING_KEY {
                    return Ok(());
                }
                rows += 1;
                writer.add(space.number(), key, value, pack, earlier)
            })?;
            match next {
                Some(added) => added?,
                None => break,
            }
            if rows.is_multiple_of(1024) {
                pack.pace.control.check()?;
            }
        }
    }
    match snapshot.sums()? {
        Some(written) => scrub::compare_sums(&written, &found, report),
        None => scrub::tell_no_sums(report),
    }
    Ok((rows, writer.finish(pack, earlier)?))
}
