//! Makes a store from a backup of a set.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use super::chunks::{Packs, UnreadChunk};
use super::layout::{Set, opened, pack_path};
use super::objects::{Object, identities};
use super::point::{RestorePoint, Target};
use super::replay::Replay;
use super::rows::each_row;
use super::sweep::{each_chunk, each_file};
use super::unread::Unread;
use crate::disk::{SharedDisk, copy_file_as, parent, remove_if_there};
use crate::error::{Error, Result};
use crate::records::{RecordFile, RecordFileOptions, Space};
use crate::session::guarded;
use crate::store::backup::{BackupReport, RowCopy, failed, prepare_target};
use crate::store::findings::{VerifyReport, checked};
use crate::store::named::{is_named, named_files};
use crate::store::open::Store;
use crate::store::restore::{check_target, finish};
use crate::store::{directory, format};
use crate::value::{Control, limits};

const LOST: &str = "restore another backup of the set";
const AGAIN: &str = "restore again into the same directory";

impl Store {
    /// Makes a store in `target` as it was at `at`, from the set in `set`. The target must be
    /// missing, empty, or left by an interrupted restore. The set is only read.
    ///
    /// Every checksum is checked. Damage of the backup does not fail the restore but is reported
    /// in [`BackupReport::findings`], because the rest of the store is usable. What the medium of
    /// the set cannot read is damage, too, unless nothing of it can be read any more. A target in
    /// which no store opens after an error is left as by an interrupted restore.
    ///
    /// # Errors
    /// `NotFound` if there is no directory `set`, or no such point in it: the message has the
    /// nearest ones; `NotAStore` if there is no set, or the target contains something; `Locked`
    /// while a backup writes to the set; `Corrupt` if the manifest of the backup, or so much of its
    /// records is damaged that the store cannot be opened; `NewerFormat`, `OlderFormat`, `NoSpace`;
    /// `Io`, also if the medium of the set is gone; the errors of `control`.
    pub fn restore_from_set(
        set: impl AsRef<Path>,
        at: RestorePoint,
        target: impl AsRef<Path>,
        control: &Control,
    ) -> Result<BackupReport> {
        let (from, to) = (set.as_ref(), target.as_ref());
        let attempt = format!("restoring {} from the set {}", to.display(), from.display());
        let set = opened(from, &attempt)?;
        let found = guarded("reading the backup set", || Found::at(set, at, control))
            .map_err(|error| error.context(&attempt))?;
        let target: SharedDisk = directory::made(to, &attempt)?;
        guarded("restoring", || restore(&found, &target, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::restore_from_set`], from one disk to another: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::restore_from_set`].
    #[cfg(any(test, feature = "faults"))]
    pub fn restore_from_set_disk(
        set: &SharedDisk,
        at: RestorePoint,
        target: &SharedDisk,
        control: &Control,
    ) -> Result<BackupReport> {
        guarded("restoring", || restore(&Found::at(set.clone(), at, control)?, target, control))
    }
}

/// A point of an open set.
struct Found {
    set: Set,
    target: Target,
}

impl Found {
    fn at(disk: SharedDisk, at: RestorePoint, control: &Control) -> Result<Self> {
        let set = Set::shared(disk)?;
        let target = at.find(&set, control)?;
        Ok(Self { set, target })
    }
}

/// What a restore could not read of a set. Without most of its rows, what is restored from a medium
/// that is gone would be no store.
struct Lost {
    unread: Unread,
    report: VerifyReport,
}

impl Lost {
    /// Adds the finding of a read that failed.
    ///
    /// # Errors
    /// As [`Unread::lost`].
    fn find(&mut self, file: &str, place: &str, error: Error) -> Result<()> {
        let error = self.unread.lost(error)?;
        self.report.find(file, place, error.message(), LOST);
        Ok(())
    }
}

/// Writes the store. The order is that of a restore of a whole backup: the marker is durable first,
/// then all files, then FORMAT, and the marker goes last.
fn restore(found: &Found, target: &SharedDisk, control: &Control) -> Result<BackupReport> {
    let Found { set, target: point } = found;
    check_target(target)?;
    prepare_target(target)?;
    let mut lost = Lost { unread: Unread::new(set, AGAIN), report: VerifyReport::default() };
    let records = write_records(set, point, target, control, &mut lost)?;
    let files = listed_files(set, point, &records, control, &mut lost)?;
    drop(records);
    let mut report = BackupReport::default();
    let total_bytes = files.values().map(|object| object.len).sum();
    write_files(set, files, total_bytes, target, control, &mut lost, &mut report)?;
    let Lost { unread, report: lost } = lost;
    unread.end()?;
    let first = lost.findings.first().map(|found| format!("{}: {}", found.file, found.problem));
    report.findings = lost.findings;
    format::write(target, set.seed)?;
    finish(target, control, report).map_err(|error| match first {
        Some(first) if error.is_damage() => {
            error.followed_by(format_args!("; the set has damage, first in {first}"))
        }
        _ => error,
    })
}

/// Writes the record file, and returns it open.
fn write_records(
    set: &Set,
    point: &Target,
    target: &SharedDisk,
    control: &Control,
    lost: &mut Lost,
) -> Result<RecordFile> {
    let options = RecordFileOptions { cache_bytes: limits::RECORD_CACHE_BYTES, quick_repair: true };
    RecordFile::create(target, options, &[])?;
    let mut copy = RecordFile::open(target, options)?;
    let mut rows = RowCopy::new(&copy, control, 0);
    let mut packs = Packs::new(&set.disk);
    let lost = RefCell::new(lost);
    let tell = |UnreadChunk { pack, error }| {
        lost.borrow_mut().find(&pack_path(pack), "rows of the records", error)
    };
    each_chunk(
        &mut packs,
        &point.manifest.row_lists,
        &mut |unread| tell(unread),
        &mut |packs, chunk| {
            control.check()?;
            let bytes = match packs.read(chunk) {
                Err(unread) => return tell(unread),
                Ok(bytes) => bytes,
            };
            lost.borrow_mut().unread.succeeded();
            each_row(&bytes, &mut |tag, key, value| match Space::from_number(tag) {
                Some(space) => rows.add(space, key.to_vec(), value.to_vec()),
                None => Err(Error::corrupt(format!("the backup has rows of the space {tag}"))),
            })
        },
    )?;
    rows.finish()?;
    let mut replay = Replay::new(&copy, control);
    point.chain.each(set, point.until, control, &mut |item| replay.add(item))?;
    replay.finish()?;
    // Nothing else uses the copy yet, so all its pages can be read from the medium.
    if !copy.check_pages()? {
        return Err(Error::corrupt(
            "records.redb of the restored store differs from what was written; use another medium",
        ));
    }
    Ok(copy)
}

/// The files of a point. Those in a part of the list of the backup that cannot be read, and those
/// of commits after it, are found by what the restored records say of them.
fn listed_files(
    set: &Set,
    point: &Target,
    records: &RecordFile,
    control: &Control,
    lost: &mut Lost,
) -> Result<BTreeMap<String, Object>> {
    let mut files = BTreeMap::new();
    let mut packs = Packs::new(&set.disk);
    let mut is_whole = true;
    each_file(
        &mut packs,
        &point.manifest,
        &mut HashSet::new(),
        control,
        &mut |UnreadChunk { pack, error }| {
            is_whole = false;
            lost.find(&pack_path(pack), "the list of files", error)
        },
        &mut |path, file| {
            files.extend(file.map(|object| (path, object)));
            Ok(())
        },
    )?;
    let is_backup = point.until == point.manifest.sequence;
    if is_whole && is_backup {
        return Ok(files);
    }
    let named = checked("listing the files", || {
        let snapshot = records.snapshot(0)?;
        Ok((identities(&snapshot)?, named_files(&snapshot)?))
    })?;
    // What is damaged of these rows was told above.
    let Ok((known, named)) = named else { return Ok(files) };
    if !is_backup {
        // The commits after the backup may have removed others.
        files.retain(|path, _| is_named(&named, path));
    }
    for named in named {
        if let (Some(&(blob, hash)), Some(len)) = (known.get(&named.path), named.len) {
            files.entry(named.path).or_insert(Object { blob, len, hash });
        }
    }
    Ok(files)
}

/// Copies the files. What is missing in the set, damaged or unreadable there, is found when the
/// store is verified, because the records name it.
fn write_files(
    set: &Set,
    files: BTreeMap<String, Object>,
    total_bytes: u64,
    target: &SharedDisk,
    control: &Control,
    lost: &mut Lost,
    report: &mut BackupReport,
) -> Result<()> {
    let attempt = failed("copying the files of the backup");
    let mut directories = BTreeSet::new();
    let mut done = 0;
    let mut progress = |step| {
        control.check()?;
        done += step;
        control.report(done, Some(total_bytes), "bytes");
        Ok(())
    };
    for (path, object) in files {
        let from = object.path();
        if !set.disk.exists(&from).map_err(&attempt)? {
            continue;
        }
        let directory = parent(&path).to_owned();
        target.create_dir_all(&directory).map_err(&attempt)?;
        let mut copied = copy_new(set, &from, target, &path, &mut progress);
        if copied.is_err() {
            // A failure of the set shows in a read of it alone. What can be read now failed once.
            if let Err(of_set) = object.check(&*set.disk, &from, control) {
                lost.find(&from, "its content", of_set)?;
                remove_if_there(&**target, &path).map_err(removing)?;
                continue;
            }
            copied = copy_new(set, &from, target, &path, &mut progress);
        }
        copied?;
        lost.unread.succeeded();
        directories.insert(parent(&directory).to_owned());
        directories.insert(directory);
        report.files += 1;
        report.file_bytes += object.len;
    }
    directories.iter().rev().try_for_each(|directory| target.sync_dir(directory).map_err(&attempt))
}

fn removing(error: std::io::Error) -> Error {
    Error::io("removing what an interrupted restore left", error)
}

/// Copies a file in the place of what an interrupted restore has left there.
fn copy_new(
    set: &Set,
    from: &str,
    target: &SharedDisk,
    path: &str,
    progress: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    remove_if_there(&**target, path).map_err(removing)?;
    copy_file_as(&*set.disk, from, &**target, path, progress).map(drop)
}
