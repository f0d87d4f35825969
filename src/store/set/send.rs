//! Sends commits of the archive of a store, and the files that they name, into a set.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::Serialize;

use super::chain::{opened, spans};
use super::layout::{NEW, OBJECTS, Set, failed};
use super::manifest::Manifest;
use super::marks::Marks;
use super::objects::{Listed, Object, send};
use super::pace::Pace;
use super::sweep::Manifests;
use crate::blobs::BlobStore;
use crate::disk::{copy_file_as, parent, remove_if_there};
use crate::error::Result;
use crate::records::archive::{ArchiveReader, DIRECTORY, Item, Span};
use crate::records::{Change, Space};
use crate::session::tables::segment_files;
use crate::store::findings::{Finding, VerifyReport, checked};
use crate::store::open::Store;
use crate::value::Control;

const BACK_UP: &str = "back up to the set: the commits after the backup can be restored again";

/// What of an archive of commits a set got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ArchiveReport {
    /// Commits that the set did not have.
    pub commits: u64,
    /// Sequence number of the last commit that the archive has; 0 if it has none.
    pub last: u64,
    /// Files of the store that the commits name and that were copied.
    pub files_sent: u64,
    /// Bytes that were written to the set.
    pub written_bytes: u64,
    /// What could not be sent, up to a thousand findings.
    pub findings: Vec<Finding>,
    /// Number of further findings.
    pub findings_left_out: u64,
}

/// After which commit a set lacks commits of a journal: that of its newest backup, because an
/// earlier call sent those before, and they may be pruned; or that of its oldest one, if the last
/// call was interrupted. `None` without a backup that they could follow.
pub(super) fn sent_after(manifests: &Manifests, journal: u64, went_on: bool) -> Option<u64> {
    let is_of_it = |one: &&Manifest| one.journal == Some(journal) && !one.is_ahead;
    let sequences = manifests.readable.iter().filter(is_of_it).map(|one| one.sequence);
    if went_on { sequences.min() } else { sequences.max() }
}

/// Sends the commits after `after` that the set does not have. What must hold: a file with commits
/// gets its name after each file of the store that they name is durable in the set, if the store
/// has it.
///
/// # Errors
/// Those of the set; the errors of the control of `pace`.
pub(super) fn send_archive(
    store: &Store,
    set: &Set,
    after: u64,
    marks: &mut Marks,
    pace: &mut Pace<'_>,
) -> Result<ArchiveReport> {
    let engine = store.engine();
    let mut lost = VerifyReport::default();
    let mut report = ArchiveReport::default();
    let before = pace.bytes;
    if let Err(error) = engine.archive_all() {
        lost.find(DIRECTORY, "the last commits", error.message(), BACK_UP);
    }
    let present: HashMap<Span, u64> = spans(set)?.into_iter().collect();
    let is_new = |span: &Span| {
        if present.contains_key(span) { marks.have(&span.path()) } else { span.last > after }
    };
    let all = engine.archive_state().spans;
    report.last = all.last().map_or(0, |span| span.last);
    let new: Vec<Span> = all.into_iter().filter(is_new).collect();
    if !new.is_empty() {
        let attempt = failed("preparing the archive of the set");
        set.disk.create_dir_all(DIRECTORY).map_err(&attempt)?;
        set.disk.sync_dir("").map_err(&attempt)?;
    }
    for span in new {
        pace.control.check()?;
        let sent = send_span(store, set, span, marks, pace, &mut lost)?;
        let Some(files) = sent else { continue };
        marks.remove(set, &span.path())?;
        report.files_sent += files;
        report.commits += span.last - span.first + 1;
    }
    report.written_bytes = pace.bytes - before;
    report.findings = lost.findings;
    report.findings_left_out = lost.findings_left_out;
    Ok(report)
}

/// Sends a file with commits and what they name; returns how many files of the store. `None` if it
/// cannot be read.
fn send_span(
    store: &Store,
    set: &Set,
    span: Span,
    marks: &mut Marks,
    pace: &mut Pace<'_>,
    lost: &mut VerifyReport,
) -> Result<Option<u64>> {
    let (source, path) = (&*store.engine().disk, span.path());
    let named = checked("reading the archive of commits", || {
        let mut named = HashSet::new();
        let mut reader = ArchiveReader::open(source, span)?;
        while let Some(items) = reader.next()? {
            for item in items {
                if let Item::Change(Change::Put { space, key, value }) = item {
                    named.extend(objects_of_row(space, &key, &value));
                }
            }
        }
        Ok(named)
    });
    let named = match named? {
        Ok(named) => named,
        Err(error) => {
            lost.find(&path, "its commits", error.message(), BACK_UP);
            return Ok(None);
        }
    };
    let mut sent = Vec::new();
    let mut directories = BTreeSet::new();
    let mut listed = Listed::new(marks);
    for (file, object) in named {
        pace.control.check()?;
        if listed.has(set, &object)? {
            continue;
        }
        match send(source, &file, set, &object, pace)? {
            Ok(()) => {
                listed.add(&object);
                directories.insert(parent(&object.path()).to_owned());
                sent.push(object.path());
            }
            Err(error) => {
                let place = format!("needed by commits from {} to {}", span.first, span.last);
                lost.find(&file, place, error.message(), BACK_UP);
            }
        }
    }
    let attempt = failed("syncing the objects of the archive");
    for directory in &directories {
        set.disk.sync_dir(directory).map_err(&attempt)?;
    }
    if !directories.is_empty() {
        set.disk.sync_dir(OBJECTS).map_err(&attempt)?;
    }
    for object in &sent {
        marks.remove(set, object)?;
    }
    let new = format!("{path}{NEW}");
    let attempt = failed("copying the archive of commits");
    remove_if_there(&*set.disk, &new).map_err(&attempt)?;
    if let Err(error) = copy_file_as(source, &path, &*set.disk, &new, |step| pace.wrote(step)) {
        if source.exists(&path).unwrap_or(true) {
            return Err(error);
        }
        // The store gave it up meanwhile.
        remove_if_there(&*set.disk, &new).map_err(&attempt)?;
        lost.find(&path, "its commits", error.message(), BACK_UP);
        return Ok(None);
    }
    set.disk.rename(&new, &path).map_err(&attempt)?;
    set.disk.sync_dir(DIRECTORY).map_err(&attempt)?;
    Ok(Some(sent.len() as u64))
}

/// Calls `f` with each object that the commits in a file of a set name.
///
/// # Errors
/// As [`opened`]; those of `f` and of `control`.
pub(super) fn each_object(
    set: &Set,
    span: Span,
    control: &Control,
    f: &mut dyn FnMut(Object) -> Result<()>,
) -> Result<()> {
    let mut reader = opened(set, span)?;
    while let Some(items) = reader.next()? {
        control.check()?;
        for item in items {
            if let Item::Change(Change::Put { space, key, value }) = item {
                let objects = objects_of_row(space, &key, &value);
                objects.into_iter().try_for_each(|(_, object)| f(object))?;
            }
        }
    }
    Ok(())
}

/// The files of the store that a row names, with their paths in it; none if it is damaged.
fn objects_of_row(space: Space, key: &[u8], value: &[u8]) -> Vec<(String, Object)> {
    if space == Space::Segments {
        let files = segment_files(key, value).into_iter().flatten();
        let object = |(path, len, hash): (String, u64, String)| {
            let hash = u128::from_str_radix(&hash, 16).ok()?;
            Some((path, Object { blob: None, len, hash }))
        };
        return files.filter_map(object).collect();
    }
    let blobs = crate::services::blobs_of_row(space, key, value).into_iter();
    let object = |blob: crate::services::NamedBlob| {
        let (len, hash) = (BlobStore::file_len(blob.len), blob.hash);
        (crate::blobs::path(blob.id), Object { blob: Some(blob.id), len, hash })
    };
    blobs.map(object).collect()
}
