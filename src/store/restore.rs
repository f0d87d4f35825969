//! Restore: makes a store from a backup.
//!
//! The backup is only read, so it may be on a read-only medium. Its files are copied unchanged,
//! under the marker of an incomplete copy. The copy is verified before it is returned.

use std::path::Path;

use super::backup::{
    BackupReport, DIRECTORIES, Kept, copy_files, copy_one, failed, prepare_target,
};
use super::open::{Store, StoreOptions};
use super::{directory, format, lock};
use crate::disk::{Mode, SharedDisk, walk};
use crate::error::{Error, ErrorKind, Result};
use crate::records::{JOURNAL_NAMES, ReadSource, Space};
use crate::session::guarded;
use crate::value::Control;

impl Store {
    /// Makes a store in `to` from the backup in `from`. The target must be missing, empty, or left
    /// by an interrupted restore.
    ///
    /// Any closed store can be restored, not only a backup. Every checksum of the copy is checked.
    /// Damage does not fail the restore but is reported in [`BackupReport::findings`], because the
    /// rest of the store is usable. A file that the records name and the backup lacks is such a
    /// finding.
    ///
    /// # Errors
    /// `NotFound` if there is no directory `from`; `NotAStore` if it is not a complete backup, or
    /// `to` contains something, or either is a file; `Locked` if `from` is open as a store;
    /// `NewerFormat`, `OlderFormat`, `NoSpace`, `Io`; the errors of `control`.
    pub fn restore(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        control: &Control,
    ) -> Result<BackupReport> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let attempt = format!("restoring {} to {}", from.display(), to.display());
        let source: SharedDisk = directory::existing(from, &attempt)?;
        guarded("checking the backup", || check_source(&source))
            .map_err(|error| error.context(attempt.clone()))?;
        let target: SharedDisk = directory::made(to, &attempt)?;
        guarded("restoring", || restore_to(&source, &target, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::restore`], from one disk to another: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::restore`].
    #[cfg(any(test, feature = "faults"))]
    pub fn restore_disk(
        source: &SharedDisk,
        target: &SharedDisk,
        control: &Control,
    ) -> Result<BackupReport> {
        guarded("restoring", || restore_to(source, target, control))
    }
}

fn check_source(source: &SharedDisk) -> Result<()> {
    let is_set = source.exists(format::SET).map_err(failed("reading the backup"))?;
    match format::probe(source) {
        Ok(format::DirectoryKind::Store) => Ok(()),
        Err(error) if is_set || error.kind() != ErrorKind::NotAStore => Err(error),
        _ => Err(Error::new(
            ErrorKind::NotAStore,
            "the source is not a complete backup; back up again and restore the new backup",
        )),
    }
}

/// Copies the backup to `target`, opens the copy and verifies it.
///
/// The order is that of a backup: the marker is durable first; then the record file and the files
/// are copied and synced; then FORMAT is written, and the marker is removed last. So an interrupted
/// restore is never taken for a store. FORMAT is copied unchanged, and the open raises it if the
/// backup has an older format.
pub(super) fn restore_to(
    source: &SharedDisk,
    target: &SharedDisk,
    control: &Control,
) -> Result<BackupReport> {
    check_source(source)?;
    let attempt = failed("restoring");
    check_target(target)?;
    // Kept until the end, so that no process writes what is being copied.
    let _lock = lock::acquire_for_reading(source)?;
    prepare_target(target)?;
    let mut report = BackupReport::default();
    copy_one(&**source, &**target, "records.redb", 0, None, control)?;
    // A store that was killed has commits in its journal. The open below replays the copy, and the
    // close moves them into the record file. A backup that was never opened has no journal.
    for name in JOURNAL_NAMES {
        if source.exists(name).map_err(&attempt)? {
            copy_one(&**source, &**target, name, 0, None, control)?;
        }
    }
    let mut files = Vec::new();
    for directory in DIRECTORIES {
        files.extend(walk(&**source, directory).map_err(&attempt)?);
    }
    // All files are copied, whatever the records name, so that a damaged name loses no file. The
    // verification below finds named files that were not copied, including those that disappear
    // meanwhile.
    copy_files(&**source, &**target, files, &mut Kept::Remains, control, &mut report)?;
    format::copy(source, target)?;
    finish(target, control, report)
}

/// Refuses a target of a restore that contains something else than an interrupted one.
///
/// # Errors
/// `NotAStore`, `Io`.
pub(super) fn check_target(target: &SharedDisk) -> Result<()> {
    let entries = target.list("").map_err(failed("restoring"))?;
    if !entries.is_empty() && entries.iter().all(|entry| entry.name != format::INCOMPLETE) {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the target is not empty; choose an empty directory",
        ));
    }
    Ok(())
}

/// Removes the marker of a restore whose files are all written, opens the store and verifies it.
/// What cannot be opened gets the marker again, so that another restore may take its place.
///
/// # Errors
/// `Corrupt` if the store cannot be opened; `Io`; the errors of `control`.
pub(super) fn finish(
    target: &SharedDisk,
    control: &Control,
    mut report: BackupReport,
) -> Result<BackupReport> {
    target.remove_file(format::INCOMPLETE).map_err(failed("removing the marker of the restore"))?;
    target.sync_dir("").map_err(failed("syncing the restored store"))?;

    let mut store = match StoreOptions::for_check().open_on(target.clone()) {
        Ok(store) => store,
        Err(error) => return Err(marked_again(target, error)),
    };
    {
        let snapshot = store.engine().snapshot();
        report.sequence = snapshot.sequence;
        report.keys = 0;
        for space in Space::ALL {
            report.keys += ReadSource::Snapshot(&snapshot).len(space)?;
        }
    }
    report.findings.extend(store.verify_pages(control)?.findings);
    store.close()?;
    Ok(report)
}

fn marked_again(target: &SharedDisk, error: Error) -> Error {
    let marked = target
        .open(format::INCOMPLETE, Mode::OpenOrCreate)
        .and_then(|marker| marker.sync_all())
        .and_then(|()| target.sync_dir(""));
    match marked {
        Ok(()) => error,
        Err(_) => error.followed_by("; empty the directory before another restore into it"),
    }
}
