//! What the status keeps over a close: how verifications, scrubs and backups ended, how far the
//! scrub is, and a sample of the free space of each day.
//!
//! It is in the file `STATUS` and not in the record file: a store that is latched, or whose disk is
//! full, can still keep what it found; keeping it is no commit that readers of the feed would see;
//! and a backup has nothing of it, because it is about another disk.
//!
//! What must hold: the file is replaced by one that was synced before, so that a power cut leaves
//! the old one or the new one. Nothing depends on the file: a store without it opens, and begins a
//! new one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::note::{self, Note};
use super::report::{ActivityStatus, Outcome, OutcomeResult, ScrubProgress};
use super::text::{read, write};
use super::trend::{Sample, Trend};
use crate::disk::SharedDisk;
use crate::error::{ErrorKind, Result};
use crate::session::{guarded, lock};
use crate::store::format::{NEW_STATUS, STATUS};

/// Most characters of the message of an outcome.
const MESSAGE_CHARS: usize = 1_000;

/// What a store does as a whole, and tells the outcome of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum Activity {
    Verify,
    Scrub,
    Backup,
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::store) struct Kept {
    /// When the store began to keep this.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub(in crate::store) since: Option<DateTime<Utc>>,
    /// When the last scrub began.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub(in crate::store) scrub_began_at: Option<DateTime<Utc>>,
    /// The scrub that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) scrubbing: Option<ScrubProgress>,
    pub(in crate::store) verify: ActivityStatus,
    pub(in crate::store) scrub: ActivityStatus,
    pub(in crate::store) backup: ActivityStatus,
    /// From when the days without a backup that ended well are counted.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub(in crate::store) backed_up_at: Option<DateTime<Utc>>,
    /// The damage that was found and that nothing took back.
    pub(in crate::store) damage: Damage,
    /// Oldest first.
    pub(in crate::store) samples: Vec<Sample>,
}

/// The last runs that found damage, until one of the same activity finds none, or a verification
/// that began later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::store) struct Damage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) verify: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) scrub: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::store) backup: Option<Outcome>,
    /// How many findings of the scrub that is under way were taken back.
    pub(in crate::store) scrubbing_taken_back: u64,
}

impl Damage {
    fn of(&mut self, activity: Activity) -> &mut Option<Outcome> {
        match activity {
            Activity::Verify => &mut self.verify,
            Activity::Scrub => &mut self.scrub,
            Activity::Backup => &mut self.backup,
        }
    }
}

/// The damage that was known when a verification began. Later damage is not what it looked for.
pub(in crate::store) struct KnownDamage {
    damage: Damage,
    scrubbing: Option<ScrubProgress>,
}

impl Kept {
    /// Moves what lies ahead of the clock to the present: the clock was wrong when it was kept.
    fn begin_anew(&mut self, now: DateTime<Utc>) {
        let progress = self.scrubbing.as_mut().map(|progress| &mut progress.began_at);
        let times = [&mut self.since, &mut self.scrub_began_at, &mut self.backed_up_at];
        for time in times.into_iter().chain(progress).flatten() {
            *time = now.min(*time);
        }
    }

    /// How many findings the scrub that is under way has, apart from those that were taken back.
    pub(in crate::store) fn scrubbing_damage(&self) -> u64 {
        let found = self.scrubbing.as_ref().map_or(0, |progress| progress.findings);
        found.saturating_sub(self.damage.scrubbing_taken_back)
    }

    pub(in crate::store) fn of(&mut self, activity: Activity) -> &mut ActivityStatus {
        match activity {
            Activity::Verify => &mut self.verify,
            Activity::Scrub => &mut self.scrub,
            Activity::Backup => &mut self.backup,
        }
    }
}

/// What an open store keeps, and its file.
#[derive(Debug)]
pub(in crate::store) struct Keeper {
    /// `None` for a view and a copy that is checked, which keep nothing.
    disk: Option<SharedDisk>,
    kept: Mutex<Kept>,
    /// Whether the file lacks something.
    is_dirty: AtomicBool,
    /// Whether there was a file that could not be read.
    is_lost: bool,
    /// One writer at a time.
    writing: Mutex<()>,
    /// Where a view tells its owner of a backup.
    note: Option<Note>,
    pub(in crate::store) opened_at: DateTime<Utc>,
}

impl Keeper {
    /// Reads the file of a store. A file that cannot be read counts as lost.
    pub(in crate::store) fn open(
        disk: &SharedDisk,
        keeps_nothing: bool,
        now: DateTime<Utc>,
    ) -> Self {
        let (kept, is_lost) = match guarded("reading STATUS", || read(disk, STATUS)) {
            Ok(kept) => (kept.unwrap_or_default(), false),
            Err(_) => (Kept::default(), true),
        };
        Self {
            disk: (!keeps_nothing).then(|| disk.clone()),
            kept: Mutex::new(kept),
            is_dirty: AtomicBool::new(false),
            is_lost,
            writing: Mutex::new(()),
            note: if keeps_nothing { Note::of_view(disk) } else { None },
            opened_at: now,
        }
    }

    pub(in crate::store) fn is_view(&self) -> bool {
        self.disk.is_none()
    }

    pub(in crate::store) fn is_lost(&self) -> bool {
        self.is_lost
    }

    pub(in crate::store) fn kept(&self) -> Kept {
        lock(&self.kept).clone()
    }

    /// Changes what is kept. [`Keeper::save`] makes it durable.
    pub(in crate::store) fn change<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        let mut kept = lock(&self.kept);
        self.is_dirty.store(true, Ordering::SeqCst);
        f(&mut kept)
    }

    /// Begins to keep outcomes, if that has not begun. A period that began ahead of the clock
    /// begins anew.
    pub(in crate::store) fn begin(&self, now: DateTime<Utc>) {
        let mut begun = self.kept();
        begun.since.get_or_insert(now);
        begun.begin_anew(now);
        if begun != self.kept() {
            self.change(|kept| {
                kept.since.get_or_insert(now);
                kept.begin_anew(now);
            });
        }
    }

    /// The damage that is known now, for a verification that begins.
    pub(in crate::store) fn known_damage(&self) -> KnownDamage {
        let kept = self.kept();
        KnownDamage { damage: kept.damage, scrubbing: kept.scrubbing }
    }

    /// Takes back the damage that was known when a verification began, which found none.
    pub(in crate::store) fn take_back(&self, known: &KnownDamage) {
        self.change(|kept| {
            let KnownDamage { damage, scrubbing } = known;
            for (found, known) in [
                (&mut kept.damage.verify, &damage.verify),
                (&mut kept.damage.scrub, &damage.scrub),
                (&mut kept.damage.backup, &damage.backup),
            ] {
                if *found == *known {
                    *found = None;
                }
            }
            if let (Some(now), Some(known)) = (&kept.scrubbing, scrubbing)
                && now.began_at == known.began_at
            {
                kept.damage.scrubbing_taken_back = known.findings;
            }
        });
    }

    /// Keeps how a run of an activity ended. A failure to write the file is no error of the run:
    /// the next pass of maintenance writes it, or the close.
    pub(in crate::store) fn record_outcome<T>(
        &self,
        activity: Activity,
        now: DateTime<Utc>,
        done: &Result<T>,
        told: impl FnOnce(&T) -> (u64, String),
    ) {
        let (result, findings, message) = match done {
            Ok(report) => {
                let (findings, message) = told(report);
                let is_sound = findings == 0;
                let result =
                    if is_sound { OutcomeResult::Succeeded } else { OutcomeResult::Damaged };
                (result, findings, message)
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                (OutcomeResult::Cancelled, 0, error.message().to_owned())
            }
            Err(error) => (OutcomeResult::Failed, 0, error.message().to_owned()),
        };
        let message = message.chars().take(MESSAGE_CHARS).collect();
        let outcome = Outcome { result, ended_at: Some(now), findings, message };
        match &self.note {
            // A view keeps nothing, and its owner does not know of it.
            Some(note) if activity == Activity::Backup => {
                let _ = guarded("leaving a note", || note.leave(&outcome));
            }
            _ => {}
        }
        self.keep(activity, outcome, now);
    }

    /// Keeps how a run ended.
    fn keep(&self, activity: Activity, outcome: Outcome, now: DateTime<Utc>) {
        self.change(|kept| {
            kept.since.get_or_insert(now);
            let status = kept.of(activity);
            status.last = Some(outcome.clone());
            let is_success = outcome.result == OutcomeResult::Succeeded;
            if is_success {
                status.last_success = outcome.ended_at;
            }
            if is_success && activity == Activity::Backup {
                kept.backed_up_at = outcome.ended_at;
            }
            let is_taken_back = match activity {
                Activity::Scrub => {
                    let taken_back = std::mem::take(&mut kept.damage.scrubbing_taken_back);
                    taken_back >= outcome.findings
                }
                Activity::Verify | Activity::Backup => false,
            };
            match outcome.result {
                OutcomeResult::Damaged if !is_taken_back => {
                    *kept.damage.of(activity) = Some(outcome);
                }
                OutcomeResult::Succeeded => *kept.damage.of(activity) = None,
                _ => {}
            }
        });
        let _ = self.save();
    }

    /// Keeps the outcome of a backup that another process made by looking into the store.
    pub(in crate::store) fn take_note(&self, now: DateTime<Utc>) {
        let Some(disk) = &self.disk else { return };
        // A note that cannot be read is of no use.
        let Ok(Some(outcome)) = guarded("taking a note", || note::take(disk)) else { return };
        // The owner may have made a backup since. A time ahead of the clock tells nothing.
        let last = self.kept().backup.last.and_then(|last| last.ended_at);
        let is_old = last.is_some_and(|last| last <= now && outcome.ended_at <= Some(last));
        if !is_old {
            self.keep(Activity::Backup, outcome, now);
        }
    }

    /// Keeps the free space of today; returns whether it is the first sample of the day.
    pub(in crate::store) fn sample(&self, now: DateTime<Utc>, free_bytes: u64) -> bool {
        let has_sample = Trend { samples: &self.kept().samples }.has(now);
        if !has_sample {
            self.change(|kept| Trend::add(&mut kept.samples, now, free_bytes));
        }
        !has_sample
    }

    /// Makes durable what is kept, if the file lacks something.
    ///
    /// # Errors
    /// `Io`, `NoSpace`: the file is then the old one.
    pub(in crate::store) fn save(&self) -> Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let _writing = lock(&self.writing);
        if !self.is_dirty.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let kept = self.kept();
        guarded("writing STATUS", || write(disk, STATUS, NEW_STATUS, &kept))
            .inspect_err(|_| self.is_dirty.store(true, Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::MemoryDisk;

    /// A backup of a process that looks, which the owner hears of late, takes back nothing that the
    /// owner found since.
    #[test]
    fn an_old_note_tells_nothing() {
        let disk: SharedDisk = Arc::new(MemoryDisk::default());
        disk.create_dir_all("views").unwrap();
        let at = |day: i64| DateTime::from_timestamp(day * 86_400, 0).unwrap();
        let note = |day| {
            let outcome = Outcome {
                result: OutcomeResult::Succeeded,
                ended_at: Some(at(day)),
                findings: 0,
                message: String::new(),
            };
            write(&disk, "views/backup-outcome", "views/backup-outcome.new", &outcome).unwrap();
        };
        let keeper = Keeper::open(&disk, false, at(1));
        keeper.record_outcome(Activity::Backup, at(3), &Ok(()), |()| (1, "damage".to_owned()));
        note(2);
        keeper.take_note(at(4));
        let kept = keeper.kept();
        assert!(kept.damage.backup.is_some() && kept.backed_up_at.is_none(), "{kept:?}");
        note(4);
        keeper.take_note(at(5));
        let kept = keeper.kept();
        assert!(kept.damage.backup.is_none() && kept.backed_up_at == Some(at(4)), "{kept:?}");
    }
}
