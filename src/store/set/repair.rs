//! Takes what a store has damaged from a set, while the store is open.

use std::path::Path;

use serde::Serialize;

use super::layout::{Set, opened};
use super::mend::{Mended, mend_records};
use super::objects::{Object, identities};
use crate::disk::{Disk, SharedDisk, copy_file_as, parent, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::session::guarded;
use crate::session::tables::TEMPORARY_DIR;
use crate::store::findings::{Finding, RESTORE, VerifyReport, checked};
use crate::store::named::named_files;
use crate::store::open::Store;
use crate::value::Control;

const NOWHERE: &str = "name a set with a backup from before the damage, or delete the records that \
                       name the file";

const UNLISTED: &str = "the records of files, so that no file was checked";

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RepairReport {
    /// Files of the store that were checked.
    pub files: u64,
    /// Bytes of those files.
    pub file_bytes: u64,
    /// Files that were damaged or missing and are whole again, by their paths.
    pub repaired: Vec<String>,
    /// Pages of the record file that were damaged and are whole again, by the byte where each
    /// begins.
    pub repaired_pages: Vec<u64>,
    /// Bytes of the repaired files and pages.
    pub repaired_bytes: u64,
    /// Whether the store has to be closed and opened again before it reads the repaired pages: a
    /// reader needed its view of the record file all the time.
    pub needs_reopen: bool,
    /// Files and pages that stay as they are, up to a thousand, each with the reason.
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
}

impl Store {
    /// Checks every page of the records and every byte of the segments and contents of this store,
    /// and takes what is damaged or missing from the set in `directory`: exactly the same rows and
    /// files, as the checksums of the store prove. Readers and writers continue. Damaged files stay
    /// until the repaired ones are durable. What the set does not have, or has only older, is a
    /// finding, and nothing else is put in its place.
    ///
    /// A page of the record file is made again from the rows of a backup, and from those of its own
    /// rows that have their checksums. Pages of indexes, and pages that name other pages, are in no
    /// backup: they are findings, and [`Store::restore_from_set`] makes a store from a backup.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set, or one of another store;
    /// `Locked` while a backup writes to the set; `Conflict` while another repair of this store is
    /// under way; `NoSpace` if a file has no room beside the reserve; `Unsupported` for a store
    /// that was opened to look into it; `Latched` if the files of the store were moved or replaced;
    /// `NewerFormat`, `Io`; the errors of `control`. What was repaired before an error is whole.
    pub fn repair(&self, directory: impl AsRef<Path>, control: &Control) -> Result<RepairReport> {
        let path = directory.as_ref();
        let attempt = format!("repairing the store from {}", path.display());
        let disk = opened(path, &attempt)?;
        guarded("repairing the store", || repair(self, disk, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::repair`], from a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::repair`].
    #[cfg(any(test, feature = "faults"))]
    pub fn repair_disk(&self, set: &SharedDisk, control: &Control) -> Result<RepairReport> {
        guarded("repairing the store", || repair(self, set.clone(), control))
    }
}

fn repair(store: &Store, disk: SharedDisk, control: &Control) -> Result<RepairReport> {
    if store.is_view() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the store was opened to look into it, so nothing can be repaired; close it, and open \
             the store with Store::open",
        ));
    }
    let Some(_alone) = store.upkeep().try_repair() else {
        return Err(Error::conflict(
            "another repair of the store is under way; repair again when it has ended",
        ));
    };
    let engine = store.engine();
    engine.check_place()?;
    let set = Set::shared(disk)?;
    if set.seed != engine.seed {
        return Err(Error::new(
            ErrorKind::NotAStore,
            "the set has the backups of another store; name a set of this one",
        ));
    }
    let mut report = RepairReport::default();
    let mut left = VerifyReport::default();
    // First, because the records name the files.
    let Mended { pages, bytes, needs_reopen } = mend_records(engine, &set, control, &mut left)?;
    report.repaired_pages = pages;
    report.repaired_bytes = bytes;
    report.needs_reopen = needs_reopen;
    // Kept until the end: while the snapshot is alive, no file that it names is removed.
    let snapshot = engine.snapshot();
    let _hold = engine.readers.hold("a repair".to_owned(), snapshot.sequence);
    let listed =
        checked("listing the files", || Ok((identities(&snapshot)?, named_files(&snapshot)?)))?;
    let (known, files) = left.undamaged(listed, UNLISTED, RESTORE).unwrap_or_default();
    for named in files {
        let (Some(&(blob, hash)), Some(len)) = (known.get(&named.path), named.len) else {
            left.find(&named.path, "its name", "its record is damaged as well", NOWHERE);
            continue;
        };
        let object = Object { blob, len, hash };
        report.files += 1;
        report.file_bytes += len;
        control.report(report.file_bytes, None, "bytes");
        let Err(damage) = object.check(&*engine.disk, &named.path, control) else { continue };
        if !damage.is_damage() {
            return Err(damage);
        }
        let from = object.path();
        match object.check(&*set.disk, &from, control) {
            Ok(()) => {}
            Err(error) if error.is_damage() => {
                let problem = format!("{}; in the set: {}", damage.message(), error.message());
                left.find(&named.path, "its content", problem, NOWHERE);
                continue;
            }
            Err(error) => return Err(error),
        }
        engine.check_place()?;
        engine.check_space(len)?;
        replace(&*engine.disk, &named.path, &set, &object, control)?;
        engine.tables.forget(&named.path);
        report.repaired.push(named.path);
        report.repaired_bytes += len;
    }
    report.findings = left.findings;
    report.findings_left_out = left.findings_left_out;
    Ok(report)
}

/// Puts an object in the place of a damaged file. After an error, no copy is left.
fn replace(
    disk: &dyn Disk,
    path: &str,
    set: &Set,
    object: &Object,
    control: &Control,
) -> Result<()> {
    // What an interruption leaves there is removed when the store is opened.
    let copy = format!("{TEMPORARY_DIR}/repair");
    replace_by(disk, path, set, object, &copy, control).inspect_err(|_| {
        let _ = remove_if_there(disk, &copy);
    })
}

/// As [`replace`], with the path of the copy. What must hold: the copy is durable and was checked
/// before the name leads to it.
fn replace_by(
    disk: &dyn Disk,
    path: &str,
    set: &Set,
    object: &Object,
    copy: &str,
    control: &Control,
) -> Result<()> {
    let attempt = |error| Error::io(format!("repairing {path}"), error);
    disk.create_dir_all(TEMPORARY_DIR).map_err(attempt)?;
    remove_if_there(disk, copy).map_err(attempt)?;
    copy_file_as(&*set.disk, &object.path(), disk, copy, |_| control.check())?;
    object.check(disk, copy, control).map_err(|error| {
        error.context(format!("the copy for {path} differs from what was written"))
    })?;
    let directory = parent(path);
    disk.create_dir_all(directory).map_err(attempt)?;
    disk.rename(copy, path).map_err(attempt)?;
    // The directories may have been lost as well.
    let mut directory = directory;
    while !directory.is_empty() {
        disk.sync_dir(directory).map_err(attempt)?;
        directory = parent(directory);
    }
    disk.sync_dir("").map_err(attempt)
}
