//! What of a status needs a person, and what that person does about it.

use chrono::{DateTime, Duration, Utc};

use super::kept::Damage;
use super::report::{
    ActivityStatus, Attention, AttentionCode, Outcome, OutcomeResult, StoreStatus,
};

/// Days after which the lack of a backup is told.
const BACKUP_DAYS: i64 = 30;
/// A disk that will be full in fewer days is told.
const FULL_DAYS: u64 = 14;
/// A reader that holds a state for longer is told.
const READER_MS: u64 = 60 * 60 * 1_000;

const SEE: &str = "see docs/operations.md";

/// What is no part of the status itself.
pub(super) struct Circumstances {
    /// From when the days without a backup that ended well are counted.
    pub(super) backed_up_at: Option<DateTime<Utc>>,
    /// The damage that was found and that nothing took back.
    pub(super) damage: Damage,
    /// The same of the scrub that is under way: the number of findings.
    pub(super) scrubbing_damage: u64,
    pub(super) is_status_lost: bool,
    /// The places of damaged pages that were met since the store was opened.
    pub(super) refused_pages: Vec<u64>,
    pub(super) time_ahead: Option<DateTime<Utc>>,
    pub(super) memory_table_bytes: u64,
}

/// What needs a person, the most urgent first.
pub(super) fn of(status: &StoreStatus, circumstances: &Circumstances) -> Vec<Attention> {
    let mut list = List::default();
    writes(status, &mut list);
    damage(status, circumstances, &mut list);
    disk(status, &mut list);
    activities(status, circumstances, &mut list);
    store(status, circumstances, &mut list);
    list.0
}

#[derive(Default)]
struct List(Vec<Attention>);

impl List {
    fn add(&mut self, code: AttentionCode, problem: impl Into<String>, action: impl Into<String>) {
        self.0.push(Attention { code, problem: problem.into(), action: action.into() });
    }
}

fn writes(status: &StoreStatus, list: &mut List) {
    if let Some(latch) = &status.writes.latch {
        let cause = latch.message.as_deref().unwrap_or("an unknown failure");
        list.add(
            AttentionCode::Latched,
            format!("the store refuses writes because one failed: {cause}"),
            format!(
                "close and reopen the store; if writes fail again, the disk is dying: back up to \
                 another disk at once, {SEE}"
            ),
        );
    }
}

fn damage(status: &StoreStatus, circumstances: &Circumstances, list: &mut List) {
    let action = || {
        format!(
            "run `verify`, which lists what is damaged and what to do; keep the last backup, \
             {SEE}"
        )
    };
    if let Some(first) = circumstances.refused_pages.first() {
        let count = circumstances.refused_pages.len();
        let problem = format!(
            "{count} damaged pages of records.redb were read since the store was opened, the first \
             at byte {first}"
        );
        list.add(AttentionCode::Damage, problem, action());
    }
    let Circumstances { damage, scrubbing_damage, .. } = circumstances;
    let runs =
        [("verification", &damage.verify), ("scrub", &damage.scrub), ("backup", &damage.backup)];
    for (what, found) in runs {
        if let Some(Outcome { findings, message, .. }) = found {
            let problem = format!("a {what} found {findings} damages, the first: {message}");
            list.add(AttentionCode::Damage, problem, action());
        }
    }
    let progress = status.scrubbing.progress.as_ref();
    if let Some(progress) = progress.filter(|_| *scrubbing_damage > 0) {
        // Those that were taken back are the first ones.
        let taken_back = progress.findings.saturating_sub(*scrubbing_damage);
        let first = usize::try_from(taken_back).ok();
        let first = first.and_then(|taken_back| progress.first_findings.get(taken_back));
        let first = first.map(|first| format!(", the first {}: {}", first.file, first.problem));
        let problem = format!(
            "the scrub that is under way has found {scrubbing_damage} damages{}",
            first.unwrap_or_default()
        );
        list.add(AttentionCode::Damage, problem, action());
    }
}

fn disk(status: &StoreStatus, list: &mut List) {
    let disk = &status.disk;
    let action = "delete what is not needed, or free space on the disk; deletes are still taken, \
                  and maintenance gives their space back";
    match (disk.free_bytes, disk.full_in_days) {
        (Some(free), _) if free < disk.reserve_bytes => list.add(
            AttentionCode::DiskFull,
            format!("the disk has {free} bytes left, fewer than the reserve: writes are refused"),
            format!("{action}, {SEE}"),
        ),
        (Some(free), Some(days)) if days < FULL_DAYS => list.add(
            AttentionCode::DiskFilling,
            format!("the disk has {free} bytes left, and is full in {days} days at this rate"),
            format!("{action}; or set a retention, {SEE}"),
        ),
        _ => {}
    }
}

fn activities(status: &StoreStatus, circumstances: &Circumstances, list: &mut List) {
    if let Some(error) = status.maintenance.last_errors.first() {
        let cause = error.message.as_deref().unwrap_or_default();
        list.add(
            AttentionCode::MaintenanceFailed,
            format!("the last pass of maintenance failed: {cause}"),
            "follow the message; the next pass tries again, and until then space is not given back",
        );
    }
    let failed = |run: &ActivityStatus| {
        let last = run.last.as_ref().filter(|last| last.result == OutcomeResult::Failed);
        last.map(|last| last.message.clone())
    };
    if let Some(cause) = failed(&status.backup) {
        list.add(
            AttentionCode::BackupFailed,
            format!("the last backup failed: {cause}"),
            format!("follow the message and back up again, {SEE}"),
        );
    }
    if let Some(cause) = failed(&status.verify) {
        list.add(
            AttentionCode::VerifyFailed,
            format!("the last verification could not be carried out: {cause}"),
            "follow the message and verify again",
        );
    }
    let base = circumstances.backed_up_at;
    let is_overdue = base.is_some_and(|base| status.time - base > Duration::days(BACKUP_DAYS));
    if is_overdue && !status.is_view {
        let since = match status.backup.last_success {
            Some(last) => format!("since {}", crate::value::time::format(last)),
            None => "yet".to_owned(),
        };
        list.add(
            AttentionCode::BackupOverdue,
            format!("no backup ended well {since}"),
            format!("run `backup` to another disk, {SEE}"),
        );
    }
    let scrubbing = &status.scrubbing;
    let began_at = scrubbing.progress.as_ref().and_then(|progress| progress.began_at);
    let period = Duration::days(i64::from(scrubbing.period_days));
    if began_at.is_some_and(|began_at| status.time - began_at > period) {
        list.add(
            AttentionCode::ScrubLate,
            "the scrub that is under way takes longer than its period",
            "raise scrub_bytes_per_s or scrub_days",
        );
    }
}

fn store(status: &StoreStatus, circumstances: &Circumstances, list: &mut List) {
    if let Some(time) = circumstances.time_ahead {
        list.add(
            AttentionCode::ClockAhead,
            format!(
                "the clock once said {}: new records get that time, and rows do not age until then",
                crate::value::time::format(time)
            ),
            format!("set the clock right, then run `compact --present-clock`, {SEE}"),
        );
    }
    let archive = status.archive.as_ref();
    if let Some(problem) = archive.and_then(|archive| archive.problem.as_ref()) {
        list.add(
            AttentionCode::ArchiveFailed,
            format!("commits could not be archived: {problem}"),
            "see to the disk, and back up to the set: restores can end between later backups",
        );
    }
    let at_risk = status.maintenance.last_report.subscribers_at_risk;
    if at_risk > 0 {
        list.add(
            AttentionCode::SubscribersAtRisk,
            format!("{at_risk} subscribers of the change feed used most of what they may hold"),
            "start what reads their changes, or unregister them; `Store::subscribers` lists them",
        );
    }
    if let Some(reader) = &status.oldest_reader
        && let Some(age_ms) = reader.age_ms.filter(|age_ms| *age_ms > READER_MS)
    {
        list.add(
            AttentionCode::OldReader,
            format!(
                "{} holds the state of {} commits ago for {} minutes",
                reader.who,
                reader.lag_commits,
                age_ms / 60_000
            ),
            "end it: the space of what was deleted since is not given back before",
        );
    }
    let bound = circumstances.memory_table_bytes;
    if bound > 0 && status.journal.lag_bytes > bound.saturating_mul(2) {
        list.add(
            AttentionCode::CheckpointBehind,
            format!(
                "checkpoints are behind: {} bytes of commits wait, and the bound is {bound}",
                status.journal.lag_bytes
            ),
            "writers wait for the disk: write less at a time, or use a faster disk",
        );
    }
    if circumstances.is_status_lost {
        list.add(
            AttentionCode::StatusLost,
            "the file STATUS was damaged when the store was opened: earlier outcomes of backups, \
             verifications and scrubs are not known",
            "run `verify`: the disk may have damaged other files too",
        );
    }
}
