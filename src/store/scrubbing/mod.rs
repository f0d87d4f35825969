//! The scrub: once in a period, everything that the store has is read and compared with its
//! checksums, a bounded number of bytes a second.
//!
//! A pass of maintenance makes one step: it reads what the rate allows for the time since the step
//! before, at most a second of it. Where a scrub is, is kept over a close; a file that was half
//! read is read again.
//!
//! What must hold:
//! - A step holds no lock that a writer waits for, apart from that of the journal while it reads at
//!   most [`JOURNAL_BYTES`] of it.
//! - A step holds a snapshot only while it reads records, so the pages and files of old commits go
//!   while a long file is read.
//! - A finding counts only if the store still names what was read: files go while they are read.

mod file;
mod parts;
mod rows;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Duration, Utc};

use super::findings::{Finding, MOVE, RECORD_FILE, RESTORE, checked, first_or};
use super::format;
use super::status::kept::{Activity, Keeper};
use super::status::report::ScrubProgress;
use crate::error::Result;
use crate::session::{Engine, Session, checkpoint, lock};
use crate::value::id::hex;
use crate::value::{Control, trace};

use file::OpenFile;
use parts::{FILES, JOURNAL, SEARCH, TABLES, parts, space_of};

/// Most bytes of the journal that are read while writers wait. What is in it beyond goes into the
/// record file first.
const JOURNAL_BYTES: usize = 1 << 20;
/// Steps after which a scrub goes on without the journal, when commits come faster.
const JOURNAL_TRIES: u32 = 10;
/// A step reads at most what the rate allows for this time.
const BURST_MS: i64 = 1_000;
/// Findings of a scrub that are kept; further ones are only counted.
const FINDINGS_KEPT: usize = 20;
/// Bytes of a file that are read at a time.
const PIECE_BYTES: i64 = 256 * 1024;

/// The scrub of an open store.
#[derive(Debug, Default)]
pub(super) struct Scrubber {
    work: Mutex<Work>,
}

/// What a scrub has in memory.
#[derive(Debug, Default)]
struct Work {
    /// Bytes that may be read now. Below zero after a step that read more.
    allowance: i64,
    /// When the last step was made.
    last: Option<DateTime<Utc>>,
    /// The files that are read next; the first may be half read.
    open: VecDeque<OpenFile>,
    /// Steps that found more of the journal than may be read.
    journal_tries: u32,
}

/// A scrub that is under way.
struct Run<'r> {
    engine: &'r Arc<Engine>,
    control: &'r Control,
    work: &'r mut Work,
    progress: ScrubProgress,
}

/// When the next scrub is due, if none is under way; `None` without a period.
pub(super) fn due_at(
    period_days: u32,
    began_at: Option<DateTime<Utc>>,
    since: Option<DateTime<Utc>>,
) -> Option<DateTime<Utc>> {
    if period_days == 0 {
        return None;
    }
    began_at.or(since)?.checked_add_signed(Duration::days(i64::from(period_days)))
}

impl Scrubber {
    /// Makes one step. Returns whether it ended a scrub.
    ///
    /// # Errors
    /// The errors of the disk that are no damage, and those of `control`. The scrub continues with
    /// the next step.
    pub(super) fn step(
        &self,
        engine: &Arc<Engine>,
        keeper: &Keeper,
        control: &Control,
    ) -> Result<bool> {
        let settings = &engine.settings;
        let now = engine.clock_now();
        let mut work = lock(&self.work);
        work.allow(now, settings.scrub_bytes_per_s);
        let Some(progress) = progress(keeper, now, settings.scrub_days) else { return Ok(false) };
        if work.allowance <= 0 {
            return Ok(false);
        }
        let mut run = Run { engine, control, work: &mut work, progress };
        let done = run.advance();
        let progress = run.progress;
        if !matches!(done, Ok(true)) {
            keeper.change(|kept| kept.scrubbing = Some(progress));
            return done;
        }
        work.open.clear();
        keeper.change(|kept| kept.scrubbing = None);
        keeper.record_outcome(Activity::Scrub, now, &Ok(progress), |progress| {
            (progress.findings, outcome_of(progress))
        });
        Ok(true)
    }
}

/// The scrub that is under way, or that begins now because it is due.
fn progress(keeper: &Keeper, now: DateTime<Utc>, period_days: u32) -> Option<ScrubProgress> {
    let kept = keeper.kept();
    if period_days == 0 {
        return None;
    }
    if kept.scrubbing.is_some() {
        return kept.scrubbing;
    }
    let due = due_at(period_days, kept.scrub_began_at, kept.since);
    if due.is_none_or(|due| due > now) {
        return None;
    }
    let part = parts().next().unwrap_or_default();
    let progress = ScrubProgress { began_at: Some(now), part, ..ScrubProgress::default() };
    keeper.change(|kept| {
        kept.scrub_began_at = Some(now);
        kept.scrubbing = Some(progress.clone());
    });
    Some(progress)
}

fn outcome_of(progress: &ScrubProgress) -> String {
    first_or(&progress.first_findings, || {
        let (bytes, files) = (progress.bytes, progress.files);
        format!("no damage found in {bytes} bytes of records and {files} files")
    })
}

impl Work {
    /// Adds what the rate allows for the time since the last step. A clock that jumps adds at most
    /// a second, and one that was set back nothing.
    fn allow(&mut self, now: DateTime<Utc>, bytes_per_s: u64) {
        let rate = i64::try_from(bytes_per_s.max(1)).unwrap_or(i64::MAX / BURST_MS) / BURST_MS;
        let rate_s = i64::try_from(bytes_per_s.max(1)).unwrap_or(i64::MAX);
        let elapsed = self.last.map_or(0, |last| (now - last).num_milliseconds());
        let elapsed = elapsed.clamp(0, BURST_MS);
        let earned = if elapsed == BURST_MS { rate_s } else { rate.saturating_mul(elapsed) };
        self.allowance = self.allowance.saturating_add(earned).min(rate_s);
        self.last = Some(now);
    }
}

impl Run<'_> {
    /// Reads until the allowance is used. Returns whether the scrub has ended.
    fn advance(&mut self) -> Result<bool> {
        while self.work.allowance > 0 {
            self.control.check()?;
            let part = self.progress.part.clone();
            let is_done = match part.as_str() {
                JOURNAL => self.journal()?,
                TABLES | FILES | SEARCH => self.files(&part)?,
                _ => self.rows(&part)?,
            };
            if !is_done {
                continue;
            }
            // A part that this build does not know is over, and so is the scrub.
            let Some(next) = parts().skip_while(|known| *known != part).nth(1) else {
                return Ok(true);
            };
            self.progress.part = next;
            self.progress.after.clear();
        }
        Ok(false)
    }

    fn read(&mut self, bytes: u64) {
        self.progress.bytes = self.progress.bytes.saturating_add(bytes);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.work.allowance = self.work.allowance.saturating_sub(bytes);
    }

    fn find(&mut self, file: &str, place: &str, problem: &str, action: &str) {
        self.progress.findings += 1;
        if self.progress.first_findings.len() < FINDINGS_KEPT {
            trace::background_damage("scrubbing", file, place, problem);
            self.progress.first_findings.push(Finding {
                file: file.to_owned(),
                place: place.to_owned(),
                problem: problem.to_owned(),
                action: action.to_owned(),
            });
        }
    }

    /// Reads rows of a space, and FORMAT before the first. Returns whether it has no more.
    fn rows(&mut self, part: &str) -> Result<bool> {
        let Some(space) = space_of(part) else { return Ok(true) };
        if self.progress.bytes == 0 {
            let read = checked("reading FORMAT", || {
                format::check_seed(&self.engine.disk, self.engine.seed)
            })?;
            if let Err(error) = read {
                self.find(format::NAME, "the whole file", error.message(), RESTORE);
            }
        }
        let most = u64::try_from(self.work.allowance).unwrap_or_default();
        let walked = rows::walk(self.engine, space, &self.progress.after, most)?;
        self.read(walked.bytes);
        for (place, problem) in walked.findings {
            self.find(RECORD_FILE, &format!("{part}, {place}"), &problem, RESTORE);
        }
        self.progress.after = walked.after;
        Ok(walked.is_done)
    }

    /// Reads the journal. Returns whether it was read.
    fn journal(&mut self) -> Result<bool> {
        if self.engine.snapshot().pending_bytes() > JOURNAL_BYTES {
            checkpoint(&Session::of_store(self.engine).with_control(self.control))?;
        }
        if self.engine.snapshot().pending_bytes() > JOURNAL_BYTES {
            // Commits come faster than this step. What is in the journal now is in the record file
            // soon, so the scrub does not wait for a quiet moment for ever.
            self.work.journal_tries += 1;
            if self.work.journal_tries < JOURNAL_TRIES {
                self.work.allowance = 0;
                return Ok(false);
            }
            self.work.journal_tries = 0;
            return Ok(true);
        }
        self.work.journal_tries = 0;
        for (file, problem) in self.engine.check_journal() {
            self.find(file, "the commits that records.redb lacks", &problem, MOVE);
        }
        self.read(self.engine.health().journal_record_bytes);
        Ok(true)
    }

    /// Reads a piece of a file. Returns whether the part has no more files.
    fn files(&mut self, part: &str) -> Result<bool> {
        if self.work.open.is_empty() {
            let next = file::next(self.engine, part, &self.progress.after)?;
            let Some((after, files)) = next else { return Ok(true) };
            if files.is_empty() {
                self.progress.after = after;
                return Ok(false);
            }
            self.work.open = files.into();
        }
        let most = self.work.allowance.clamp(1, PIECE_BYTES) as usize;
        let Some(mut open) = self.work.open.pop_front() else { return Ok(false) };
        let piece = match open.read(self.engine, most) {
            Ok(piece) => piece,
            // The next step reads it.
            Err(error) => {
                self.work.open.push_front(open);
                return Err(error);
            }
        };
        self.read(piece.bytes);
        if let Some(problem) = &piece.problem
            && open.is_named(self.engine)?
        {
            let path = open.path.clone();
            self.find(&path, "its content", problem, open.action());
        }
        if !piece.is_done {
            self.work.open.push_front(open);
            return Ok(false);
        }
        self.progress.files += 1;
        if self.work.open.is_empty() {
            self.progress.after = hex(&open.key);
        }
        Ok(false)
    }
}
