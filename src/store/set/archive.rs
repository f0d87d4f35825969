//! The call that sends the archive of commits of a store into a set.

use std::path::Path;

use super::backup::SetBackupOptions;
use super::layout::Set;
use super::marks::Marks;
use super::pace::Pace;
use super::send::{ArchiveReport, send_archive, sent_after};
use super::sweep::{Manifests, clean, sync_names};
use crate::disk::SharedDisk;
use crate::error::{Error, ErrorKind, Result};
use crate::session::guarded;
use crate::store::directory;
use crate::store::open::Store;
use crate::value::Control;

impl Store {
    /// Sends the commits that the archive of this store has to the set in `directory`, which must
    /// have a backup of it, while readers and writers continue. Then
    /// [`restore_from_set`](Store::restore_from_set) can restore each of the commits after a
    /// backup, as far as no commit between is missing. [`Store::backup_to_set`] does it, too.
    ///
    /// A store archives while [`archive_bytes`](crate::StoreOptions::archive_bytes) is not 0. The
    /// commits stay in the archive until they are the oldest of more bytes than that, so that
    /// several sets get them.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Control, Identity, RestorePoint, SetBackupOptions, Store};
    ///
    /// let options = Store::options().archive_bytes(Some(1 << 30));
    /// let store = options.open(dir.path().join("bench-7"))?;
    /// let (stick, set) = (dir.path().join("stick"), SetBackupOptions::new());
    /// let control = Control::default();
    /// let backup = store.backup_to_set(&stick, &set, &control)?;
    /// # use stationdb::prelude::*;
    /// # let made = stationdb::products::CreateProductRequest::new("P-1");
    /// # store.session(Identity::user("ada")).create_products(vec![made])?.into_result()?;
    /// // Work, and then:
    /// let report = store.archive_to_set(&stick, &set, &control)?;
    /// assert!(report.last >= backup.sequence);
    /// let point = RestorePoint::Sequence(report.last);
    /// Store::restore_from_set(&stick, point, dir.path().join("again"), &control)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Unsupported` for a store that does not archive, or that was opened by [`Store::look`];
    /// `NotFound` if there is no directory, or the set has no backup; `NotAStore` if there is no
    /// set, or one of another store; `Locked` while another call works on the set; `Corrupt` if
    /// `SET` is damaged, or the set lost the manifests of its backups; `NewerFormat`, `NoSpace`,
    /// `Io`; the errors of `control`.
    pub fn archive_to_set(
        &self,
        directory: impl AsRef<Path>,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<ArchiveReport> {
        let path = directory.as_ref();
        let attempt = format!("archiving commits to the set {}", path.display());
        directory::check_outside(path, &self.engine().disk, &attempt)?;
        let disk: SharedDisk = directory::existing(path, &attempt)?;
        guarded("archiving commits", || archive(self, disk, options, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::archive_to_set`], onto a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::archive_to_set`].
    #[cfg(any(test, feature = "faults"))]
    pub fn archive_to_set_disk(
        &self,
        set: &SharedDisk,
        options: &SetBackupOptions,
        control: &Control,
    ) -> Result<ArchiveReport> {
        guarded("archiving commits", || archive(self, set.clone(), options, control))
    }
}

fn archive(
    store: &Store,
    disk: SharedDisk,
    options: &SetBackupOptions,
    control: &Control,
) -> Result<ArchiveReport> {
    if store.is_view() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "a store that was opened to look into it archives nothing; call it in the process that \
             has the store open, or back up",
        ));
    }
    if !store.engine().has_archive() {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the store archives no commits; open it with archive_bytes, and back up to the set",
        ));
    }
    Set::seen(disk.clone())?;
    let set = Set::made(disk, store.engine().seed)?;
    let manifests = Manifests::of(&set)?;
    let Some(newest) = sent_after(&manifests, store.engine().journal_id(), false) else {
        return Err(Error::new(
            ErrorKind::NotFound,
            "the set has no backup that the commits of this store follow; back up to it first",
        ));
    };
    let went_on = set.begin()?;
    if went_on {
        sync_names(&set)?;
    }
    let after = sent_after(&manifests, store.engine().journal_id(), went_on).unwrap_or(newest);
    clean(&set, &manifests)?;
    let mut marks = Marks::of(&set)?;
    marks.sweep(&set)?;
    let mut pace = Pace::new(options.bytes_per_second, control);
    let report = send_archive(store, &set, after, &mut marks, &mut pace)?;
    set.finish()?;
    Ok(report)
}
