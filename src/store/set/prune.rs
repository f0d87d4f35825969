//! Removes old backups from a set, and what only they needed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use chrono::{DateTime, Datelike as _, Utc};
use serde::Serialize;

use super::chain::Archives;
use super::chunks::{Packs, UnreadChunk};
use super::layout::{BACKUPS, OBJECTS, RECORDS, Set, failed, manifest_path, opened, pack_path};
use super::list::next_after;
use super::manifest::Manifest;
use super::marks::Marks;
use super::send::each_object;
use super::sweep::{Manifests, Removed, clean, each_file, sync_names};
use crate::disk::{Mode, SharedDisk, walk};
use crate::error::{ErrorKind, Result};
use crate::records::archive::{DIRECTORY, Span};
use crate::session::guarded;
use crate::store::open::Store;
use crate::value::Control;

/// Which backups of a set are kept: the last one of each of so many days, weeks and months in
/// which there is one, by the time in UTC. The last backup of all is always kept.
///
/// A backup that is not whole takes the place of none that is: one that the store lacked something
/// for, or whose records are lost or were found damaged. It is kept where its day, week or month
/// has no other, and does not count. The last whole backup is always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct SetRetention {
    /// Days.
    pub daily: u32,
    /// Weeks, which begin on Monday.
    pub weekly: u32,
    /// Months.
    pub monthly: u32,
}

impl SetRetention {
    /// Keeps the last backup of each of so many days, weeks and months.
    pub fn new(daily: u32, weekly: u32, monthly: u32) -> Self {
        Self { daily, weekly, monthly }
    }

    /// The backups that are kept, of which those in `broken` are not whole.
    fn kept(self, backups: &[Manifest], broken: &BTreeSet<u64>) -> BTreeSet<u64> {
        let day = |time: DateTime<Utc>| i64::from(time.num_days_from_ce());
        let week = |time: DateTime<Utc>| (day(time) - 1).div_euclid(7);
        let month = |time: DateTime<Utc>| i64::from(time.year()) * 12 + i64::from(time.month());
        let is_whole = |backup: &&Manifest| !broken.contains(&backup.backup);
        let last = [backups.last(), backups.iter().rfind(is_whole)];
        let mut kept: BTreeSet<u64> =
            last.into_iter().flatten().map(|backup| backup.backup).collect();
        let rules: [(u32, &dyn Fn(DateTime<Utc>) -> i64); 3] =
            [(self.daily, &day), (self.weekly, &week), (self.monthly, &month)];
        for (count, period) in rules {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            let whole = first_of_each(backups.iter().rev().filter(is_whole), period, count);
            let any = first_of_each(backups.iter().rev(), period, count);
            let is_alone = |(period, _): &&(i64, u64)| whole.iter().all(|(has, _)| has != period);
            kept.extend(whole.iter().chain(any.iter().filter(is_alone)).map(|(_, backup)| backup));
        }
        kept
    }
}

/// The first `count` periods of backups, each with its first backup.
fn first_of_each<'m>(
    backups: impl Iterator<Item = &'m Manifest>,
    period: &dyn Fn(DateTime<Utc>) -> i64,
    count: usize,
) -> Vec<(i64, u64)> {
    let mut seen = BTreeSet::new();
    let backups = backups.map(|backup| (period(backup.taken), backup.backup));
    backups.filter(|(period, _)| seen.insert(*period)).take(count).collect()
}

/// The backups that are known not to be whole, without reading them.
fn broken(set: &Set, backups: &[Manifest]) -> Result<BTreeSet<u64>> {
    let present: HashMap<u64, u64> = set.numbered(RECORDS)?.into_iter().collect();
    let marks = Marks::of(set)?;
    let is_broken = |manifest: &&Manifest| {
        manifest.findings > 0
            || manifest.lost_pack(&present).is_some()
            || manifest.packs.iter().any(|pack| marks.have(&pack_path(pack.pack)))
    };
    Ok(backups.iter().filter(is_broken).map(|manifest| manifest.backup).collect())
}

/// The result of a pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PruneReport {
    /// The backups that were kept.
    pub kept: Vec<u64>,
    /// The backups that were removed.
    pub removed: Vec<u64>,
    /// Files of the set that were removed besides.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Why files stayed although they may not be needed: it cannot be read what a kept backup
    /// needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_back: Option<String>,
}

impl Store {
    /// Removes the backups of a set that `retention` does not keep, with the archived commits that
    /// follow them up to the next backup, and then the files that nothing kept needs. Backups that
    /// cannot be read stay, and so does everything that they may need.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set; `Locked` while another
    /// call works on it; `Corrupt` if `SET` is damaged, or the set lost the manifests of its
    /// backups; `NewerFormat`, `Io`; the errors of `control`. An interrupted call leaves every
    /// backup either whole or removed.
    pub fn prune_set(
        directory: impl AsRef<Path>,
        retention: SetRetention,
        control: &Control,
    ) -> Result<PruneReport> {
        let path = directory.as_ref();
        let attempt = format!("pruning the backups in {}", path.display());
        let disk = opened(path, &attempt)?;
        guarded("pruning the backups", || prune(disk, retention, control))
            .map_err(|error| error.context(attempt))
    }

    /// As [`Store::prune_set`], on a disk: for tests on the simulated disk.
    ///
    /// # Errors
    /// As [`Store::prune_set`].
    #[cfg(any(test, feature = "faults"))]
    pub fn prune_set_disk(
        set: &SharedDisk,
        retention: SetRetention,
        control: &Control,
    ) -> Result<PruneReport> {
        guarded("pruning the backups", || prune(set.clone(), retention, control))
    }
}

/// What must hold: the removal of the manifests is durable before a file goes that only they
/// needed. Otherwise a power cut could leave a backup that lacks it.
fn prune(disk: SharedDisk, retention: SetRetention, control: &Control) -> Result<PruneReport> {
    let set = Set::held(disk)?;
    let attempt = failed("removing backups of the set");
    if set.begin()? {
        sync_names(&set)?;
    }
    let mut manifests = Manifests::of(&set)?;
    let kept = retention.kept(&manifests.readable, &broken(&set, &manifests.readable)?);
    let mut report = PruneReport { kept: kept.iter().copied().collect(), ..Default::default() };
    let archives = Archives::of(&set)?;
    let follows_kept = |span: &Span| {
        let mut backups = manifests.readable.iter().filter(|one| kept.contains(&one.backup));
        backups.any(|backup| follows(span, backup, &manifests.readable))
    };
    let (archived, unneeded): (Vec<Span>, Vec<Span>) =
        archives.spans().iter().copied().partition(follows_kept);
    for manifest in &manifests.readable {
        if !kept.contains(&manifest.backup) {
            control.check()?;
            set.disk.remove_file(&manifest_path(manifest.backup)).map_err(&attempt)?;
            report.removed.push(manifest.backup);
        }
    }
    set.disk.sync_dir(BACKUPS).map_err(&attempt)?;
    manifests.readable.retain(|manifest| kept.contains(&manifest.backup));
    let removed = clean(&set, &manifests)?;
    report.files += removed.files;
    report.bytes += removed.bytes;
    let needed = match manifests.unreadable.first() {
        Some((_, error)) => Err(error.message().to_owned()),
        None => match needed_objects(&set, &manifests.readable, &archived, control) {
            Err(error) if error.is_damage() => Err(error.message().to_owned()),
            needed => Ok(needed?),
        },
    };
    match needed {
        Ok(needed) => {
            let archived = remove_archived(&set, &unneeded)?;
            let removed = remove_objects(&set, &needed, control)?;
            report.files += archived.files + removed.files;
            report.bytes += archived.bytes + removed.bytes;
        }
        Err(reason) => report.held_back = Some(reason),
    }
    Marks::of(&set)?.sweep(&set)?;
    set.finish()?;
    Ok(report)
}

/// Whether a file has commits after a backup and before the next one.
fn follows(span: &Span, backup: &Manifest, all: &[Manifest]) -> bool {
    let is_before_next = next_after(backup, all).is_none_or(|next| span.first <= next);
    let is_of_it = backup.journal == Some(span.journal) && !backup.is_ahead;
    is_of_it && span.last > backup.sequence && is_before_next
}

/// Removes files with commits.
fn remove_archived(set: &Set, spans: &[Span]) -> Result<Removed> {
    let attempt = failed("removing archived commits of the set");
    let mut removed = Removed::default();
    for span in spans {
        let file = set.disk.open(&span.path(), Mode::Read).map_err(&attempt)?;
        let len = file.len().map_err(&attempt)?;
        drop(file);
        set.disk.remove_file(&span.path()).map_err(&attempt)?;
        removed.files += 1;
        removed.bytes += len;
    }
    if !spans.is_empty() {
        set.disk.sync_dir(DIRECTORY).map_err(&attempt)?;
    }
    Ok(removed)
}

/// The paths of the objects that these backups and commits need. What a damaged file with commits
/// does not tell, nothing that can be restored needs.
fn needed_objects(
    set: &Set,
    backups: &[Manifest],
    archived: &[Span],
    control: &Control,
) -> Result<HashSet<String>> {
    let mut packs = Packs::new(&set.disk);
    let mut seen = HashSet::new();
    let mut needed = HashSet::new();
    for manifest in backups {
        let mut lost = |unread: UnreadChunk| Err(unread.error);
        each_file(&mut packs, manifest, &mut seen, control, &mut lost, &mut |_, object| {
            needed.extend(object.map(|object| object.path()));
            Ok(())
        })?;
    }
    for span in archived {
        let read = each_object(set, *span, control, &mut |object| {
            needed.insert(object.path());
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            read => read?,
        }
    }
    Ok(needed)
}

fn remove_objects(set: &Set, needed: &HashSet<String>, control: &Control) -> Result<Removed> {
    let attempt = failed("removing objects of the set");
    let mut removed = Removed::default();
    for (path, len) in walk(&*set.disk, OBJECTS).map_err(&attempt)? {
        control.check()?;
        if !needed.contains(&path) {
            set.disk.remove_file(&path).map_err(&attempt)?;
            removed.files += 1;
            removed.bytes += len;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::time;

    fn backups(times: &[&str]) -> Vec<Manifest> {
        let manifest = |(at, taken): (usize, &&str)| Manifest {
            backup: at as u64 + 1,
            taken: time::parse(taken).unwrap(),
            sequence: 0,
            journal: None,
            is_ahead: false,
            rows: 0,
            files: 0,
            file_bytes: 0,
            findings: 0,
            packs: Vec::new(),
            row_lists: Vec::new(),
            file_lists: Vec::new(),
        };
        times.iter().enumerate().map(manifest).collect()
    }

    #[test]
    fn the_last_backup_of_each_period_is_kept() {
        let backups = backups(&[
            "2026-01-31T10:00:00Z", // 1
            "2026-02-01T10:00:00Z", // 2, a Sunday
            "2026-02-02T10:00:00Z", // 3, a Monday
            "2026-02-02T11:00:00Z", // 4
            "2026-02-09T10:00:00Z", // 5
            "2026-02-10T10:00:00Z", // 6
        ]);
        let kept = |daily, weekly, monthly| -> Vec<u64> {
            let retention = SetRetention::new(daily, weekly, monthly);
            retention.kept(&backups, &BTreeSet::new()).into_iter().collect()
        };
        assert_eq!(kept(0, 0, 0), [6]);
        assert_eq!(kept(3, 0, 0), [4, 5, 6]);
        assert_eq!(kept(0, 3, 0), [2, 4, 6]);
        assert_eq!(kept(0, 0, 12), [1, 6]);
        assert_eq!(kept(100, 0, 0), [1, 2, 4, 5, 6]);
        assert_eq!(kept(1, 2, 1), [4, 6]);
    }

    /// A backup that is not whole takes the place of none that is.
    #[test]
    fn a_broken_backup_replaces_no_whole_one() {
        let backups = backups(&[
            "2026-03-01T10:00:00Z", // 1
            "2026-03-02T10:00:00Z", // 2
            "2026-03-02T11:00:00Z", // 3
            "2026-03-03T10:00:00Z", // 4
            "2026-03-04T10:00:00Z", // 5
            "2026-03-04T11:00:00Z", // 6
        ]);
        let kept = |daily, broken: &[u64]| -> Vec<u64> {
            let broken = broken.iter().copied().collect();
            SetRetention::new(daily, 0, 0).kept(&backups, &broken).into_iter().collect()
        };
        assert_eq!(kept(2, &[]), [4, 6]);
        // The last one of all stays beside the whole one of its day.
        assert_eq!(kept(2, &[6]), [4, 5, 6]);
        assert_eq!(kept(0, &[6]), [5, 6]);
        // A day of broken ones keeps one of them, and takes no day from the whole ones.
        assert_eq!(kept(2, &[5, 6]), [3, 4, 6]);
        assert_eq!(kept(2, &[4, 5, 6]), [1, 3, 4, 6]);
        assert_eq!(kept(3, &[3, 4, 5, 6]), [1, 2, 4, 6]);
        // The last whole one stays, however old it is.
        assert_eq!(kept(1, &[2, 3, 4, 5, 6]), [1, 6]);
        assert_eq!(kept(2, &[1, 2, 3, 4, 5, 6]), [4, 6]);
    }
}
