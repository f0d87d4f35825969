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
use xxhash_rust::xxh3::xxh3_64;

use super::report::{ActivityStatus, Outcome, OutcomeResult, ScrubProgress};
use super::trend::{Sample, Trend};
use crate::disk::{Mode, SharedDisk, remove_if_there};
use crate::error::{Error, ErrorKind, Result};
use crate::session::{guarded, lock};
use crate::store::format::{NEW_STATUS, STATUS};

const MAGIC: &str = "stationdb status 1";
/// A longer file is none of ours.
const BYTES_MAX: u64 = 256 * 1024;
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
    /// Oldest first.
    pub(in crate::store) samples: Vec<Sample>,
}

impl Kept {
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
    pub(in crate::store) opened_at: DateTime<Utc>,
}

impl Keeper {
    /// Reads the file of a store. A file that cannot be read counts as lost.
    pub(in crate::store) fn open(
        disk: &SharedDisk,
        keeps_nothing: bool,
        now: DateTime<Utc>,
    ) -> Self {
        let (kept, is_lost) = match guarded("reading STATUS", || read(disk)) {
            Ok(kept) => (kept.unwrap_or_default(), false),
            Err(_) => (Kept::default(), true),
        };
        Self {
            disk: (!keeps_nothing).then(|| disk.clone()),
            kept: Mutex::new(kept),
            is_dirty: AtomicBool::new(false),
            is_lost,
            writing: Mutex::new(()),
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

    /// Begins to keep outcomes, if that has not begun.
    pub(in crate::store) fn begin(&self, now: DateTime<Utc>) {
        if self.kept().since.is_none() {
            self.change(|kept| kept.since = Some(now));
        }
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
        self.change(|kept| {
            kept.since.get_or_insert(now);
            let status = kept.of(activity);
            status.last = Some(Outcome { result, ended_at: Some(now), findings, message });
            if result == OutcomeResult::Succeeded {
                status.last_success = Some(now);
            }
        });
        let _ = self.save();
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
        guarded("writing STATUS", || write(disk, &kept))
            .inspect_err(|_| self.is_dirty.store(true, Ordering::SeqCst))
    }
}

fn failed(attempt: &str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(format!("{attempt} {STATUS}"), error)
}

/// Reads the file; `None` if there is none.
///
/// # Errors
/// `Io`; `Corrupt` if its bytes are not those that were written.
fn read(disk: &SharedDisk) -> Result<Option<Kept>> {
    let failed = failed("reading");
    let file = match disk.open(STATUS, Mode::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(&failed)?,
    };
    let len = file.len().map_err(&failed)?;
    let damaged = || Error::corrupt(format!("{STATUS} is damaged; it is begun again"));
    if len > BYTES_MAX {
        return Err(damaged());
    }
    let mut bytes = vec![0; usize::try_from(len).unwrap_or_default()];
    file.read_exact_at(&mut bytes, 0).map_err(&failed)?;
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let parts = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix("\nsum "));
    let (sum, json) = parts.and_then(|rest| rest.split_once('\n')).ok_or_else(damaged)?;
    if sum != format!("{:016x}", xxh3_64(json.as_bytes())) {
        return Err(damaged());
    }
    serde_json::from_str(json).map(Some).map_err(|_| damaged())
}

/// Replaces the file.
fn write(disk: &SharedDisk, kept: &Kept) -> Result<()> {
    let failed = failed("writing");
    let json = serde_json::to_string_pretty(kept)
        .map_err(|error| Error::conflict(format!("internal error: {STATUS}: {error}")))?;
    let text = format!("{MAGIC}\nsum {:016x}\n{json}", xxh3_64(json.as_bytes()));
    remove_if_there(&**disk, NEW_STATUS).map_err(&failed)?;
    let file = disk.open(NEW_STATUS, Mode::CreateNew).map_err(&failed)?;
    file.write_all_at(text.as_bytes(), 0).map_err(&failed)?;
    file.sync_all().map_err(&failed)?;
    drop(file);
    disk.rename(NEW_STATUS, STATUS).map_err(&failed)?;
    disk.sync_dir("").map_err(&failed)
}
