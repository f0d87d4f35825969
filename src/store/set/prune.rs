//! Removes old backups from a set, and what only they needed.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use chrono::{DateTime, Datelike as _, Utc};
use serde::Serialize;

use super::chunks::Packs;
use super::layout::{BACKUPS, OBJECTS, Set, failed, manifest_path, opened};
use super::manifest::Manifest;
use super::sweep::{Manifests, Removed, clean, each_file, sync_names};
use crate::disk::{SharedDisk, walk};
use crate::error::Result;
use crate::session::guarded;
use crate::store::open::Store;
use crate::value::Control;

/// Which backups of a set are kept: the last one of each of so many days, weeks and months in
/// which there is one, by the time in UTC. The last backup of all is always kept.
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

    /// The backups that are kept.
    fn kept(self, backups: &[Manifest]) -> BTreeSet<u64> {
        let day = |time: DateTime<Utc>| i64::from(time.num_days_from_ce());
        let week = |time: DateTime<Utc>| (day(time) - 1).div_euclid(7);
        let month = |time: DateTime<Utc>| i64::from(time.year()) * 12 + i64::from(time.month());
        let mut kept: BTreeSet<u64> = backups.last().map(|last| last.backup).into_iter().collect();
        let rules: [(u32, &dyn Fn(DateTime<Utc>) -> i64); 3] =
            [(self.daily, &day), (self.weekly, &week), (self.monthly, &month)];
        for (count, period) in rules {
            let mut periods = BTreeSet::new();
            for backup in backups.iter().rev() {
                if periods.len() as u64 >= u64::from(count) {
                    break;
                }
                if periods.insert(period(backup.taken)) {
                    kept.insert(backup.backup);
                }
            }
        }
        kept
    }
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
    /// Removes the backups of a set that `retention` does not keep, and then the files that no kept
    /// backup needs. Backups that cannot be read stay, and so does everything that they may need.
    ///
    /// # Errors
    /// `NotFound` if there is no directory; `NotAStore` if it has no set; `Locked` while another
    /// call works on it; `NewerFormat`, `Corrupt` if `SET` is damaged, `Io`; the errors of
    /// `control`. An interrupted call leaves every backup either whole or removed.
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
    let kept = retention.kept(&manifests.readable);
    let mut report = PruneReport { kept: kept.iter().copied().collect(), ..Default::default() };
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
        None => match needed_objects(&set, &manifests.readable, control) {
            Err(error) if error.is_damage() => Err(error.message().to_owned()),
            needed => Ok(needed?),
        },
    };
    match needed {
        Ok(needed) => {
            let removed = remove_objects(&set, &needed, control)?;
            report.files += removed.files;
            report.bytes += removed.bytes;
        }
        Err(reason) => report.held_back = Some(reason),
    }
    set.finish()?;
    Ok(report)
}

/// The paths of the objects that these backups need.
fn needed_objects(set: &Set, backups: &[Manifest], control: &Control) -> Result<HashSet<String>> {
    let mut packs = Packs::new(&set.disk);
    let mut seen = HashSet::new();
    let mut needed = HashSet::new();
    for manifest in backups {
        each_file(&mut packs, manifest, &mut seen, control, &mut |_, object| {
            needed.extend(object.map(|object| object.path()));
            Ok(())
        })?;
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
            SetRetention::new(daily, weekly, monthly).kept(&backups).into_iter().collect()
        };
        assert_eq!(kept(0, 0, 0), [6]);
        assert_eq!(kept(3, 0, 0), [4, 5, 6]);
        assert_eq!(kept(0, 3, 0), [2, 4, 6]);
        assert_eq!(kept(0, 0, 12), [1, 6]);
        assert_eq!(kept(100, 0, 0), [1, 2, 4, 5, 6]);
        assert_eq!(kept(1, 2, 1), [4, 6]);
    }
}
