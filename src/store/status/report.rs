//! The records of the status, with their wire form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::error::ApiError;
use crate::store::archive::ArchiveStatus;
use crate::store::findings::Finding;
use crate::store::maintenance_report::MaintenanceStatus;
use crate::value::LatencyStatus;
use crate::value::wire::wire_enum;

/// How a store is: what it does, what it holds, and what needs a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoreStatus {
    /// What needs a person, the most urgent first. Empty for a store that is well.
    pub attention: Vec<Attention>,
    /// When this was read, by the clock of the store.
    #[serde(with = "crate::value::time::required")]
    pub time: DateTime<Utc>,
    /// When the store was opened, by the clock of the store.
    #[serde(with = "crate::value::time::required")]
    pub opened_at: DateTime<Utc>,
    /// Id of the store.
    pub id: String,
    /// Whether this is a view of a store that another process may have open: see
    /// [`Store::look`](crate::Store::look).
    pub is_view: bool,
    /// What wrote the store, and what reads it.
    pub versions: VersionStatus,
    /// Whether writes are taken, and how long they take.
    pub writes: WriteStatus,
    /// The journal, and the commits that a checkpoint has not moved yet.
    pub journal: JournalStatus,
    /// The oldest state that a reader holds; absent if all readers have the newest one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_reader: Option<ReaderStatus>,
    /// The indexes.
    pub indexes: IndexStatus,
    /// The space of the disk.
    pub disk: DiskStatus,
    /// The parts of the memory that have a bound.
    pub memory: Vec<MemoryStatus>,
    /// The maintenance thread.
    pub maintenance: MaintenanceStatus,
    /// Verifications with checksums. Kept over a close.
    pub verify: ActivityStatus,
    /// Backups. Kept over a close.
    pub backup: ActivityStatus,
    /// The archive of commits; absent while it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<ArchiveStatus>,
    /// Scrubs that ended. Kept over a close.
    pub scrub: ActivityStatus,
    /// The scrub that is under way, and when the next one is due. Kept over a close.
    pub scrubbing: ScrubStatus,
}

/// Something that needs a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Attention {
    /// What it is.
    pub code: AttentionCode,
    /// What is wrong, with the figures.
    pub problem: String,
    /// What to do.
    pub action: String,
}

wire_enum! {
    /// What needs a person.
    wire pub enum AttentionCode {
        /// Writes are refused until the store is reopened.
        Latched = "LATCHED",
        /// Stored bytes are damaged.
        Damage = "DAMAGE",
        /// The disk has less than the reserve left: writes are refused.
        DiskFull = "DISK_FULL",
        /// The disk will soon be full.
        DiskFilling = "DISK_FILLING",
        /// The last pass of maintenance failed.
        MaintenanceFailed = "MAINTENANCE_FAILED",
        /// The last backup failed.
        BackupFailed = "BACKUP_FAILED",
        /// No backup ended well for thirty days.
        BackupOverdue = "BACKUP_OVERDUE",
        /// Commits could not be archived lately.
        ArchiveFailed = "ARCHIVE_FAILED",
        /// The last verification could not be carried out.
        VerifyFailed = "VERIFY_FAILED",
        /// A scrub takes longer than its period.
        ScrubLate = "SCRUB_LATE",
        /// The clock was once far ahead of what it says now.
        ClockAhead = "CLOCK_AHEAD",
        /// Subscribers of the change feed are about to lose their positions.
        SubscribersAtRisk = "SUBSCRIBERS_AT_RISK",
        /// A reader holds an old state for more than an hour.
        OldReader = "OLD_READER",
        /// Checkpoints cannot follow the commits.
        CheckpointBehind = "CHECKPOINT_BEHIND",
        /// What the status keeps over a close was lost.
        StatusLost = "STATUS_LOST",
    }
}

/// The versions of the library and of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct VersionStatus {
    /// Version of the library, and the commit that it was built from if that is known.
    pub build: String,
    /// Number of the newest format that the library reads, which is the one that it writes.
    pub format: u32,
    /// The stored form: only builds with the same one read the store.
    pub fingerprint: String,
}

/// Writes of a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct WriteStatus {
    /// Whether the store takes writes.
    pub are_taken: bool,
    /// Why the store refuses every write until it is reopened: the first failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latch: Option<ApiError>,
    /// Sequence number of the last commit.
    pub sequence: u64,
    /// Writes and commits of transactions that succeeded, from the call to the answer.
    pub commit_latency: LatencyStatus,
    /// Syncs of the journal.
    pub sync_latency: LatencyStatus,
}

/// The journal and its checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JournalStatus {
    /// Bytes of both files.
    pub file_bytes: u64,
    /// Bytes of the records of the newest pass.
    pub record_bytes: u64,
    /// Commits that the record file lacks.
    pub lag_commits: u64,
    /// Bytes of memory of the commits that the record file lacks.
    pub lag_bytes: u64,
    /// Whether a checkpoint is under way.
    pub is_moving: bool,
}

/// A reader of an old state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReaderStatus {
    /// Who holds the state.
    pub who: String,
    /// Sequence number of the commit whose state it is.
    pub sequence: u64,
    /// Commits after that one.
    pub lag_commits: u64,
    /// For how many milliseconds the state is held; absent for a call that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
}

/// The indexes of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct IndexStatus {
    /// Commits that the text index lacks. A search catches up before it answers.
    pub text_lag_commits: u64,
    /// Commits that the durable text index lacks: as many are read again after a power cut.
    pub text_unsaved_commits: u64,
    /// Indexes that maintenance is still filling, as `index 6 of file`.
    pub incomplete: Vec<String>,
}

/// The disk of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiskStatus {
    /// Free bytes; absent if the disk does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Free bytes below which writes are refused.
    pub reserve_bytes: u64,
    /// Bytes by which the free space shrank in a day, over the last 30 days, or since much of it
    /// was freed. Absent under three days of samples, and if it did not shrink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinks_by_bytes_a_day: Option<u64>,
    /// Days until writes are refused at this rate. Absent as the rate is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_in_days: Option<u64>,
}

/// A part of the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MemoryStatus {
    /// What the memory is for.
    pub part: String,
    /// Most bytes.
    pub bound_bytes: u64,
    /// Bytes in use; absent if that is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<u64>,
    /// Most bytes that were in use since the store was opened; absent if that is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
}

/// How the runs of an activity ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ActivityStatus {
    /// The last run; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Outcome>,
    /// When the last run ended that succeeded.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub last_success: Option<DateTime<Utc>>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub result: OutcomeResult,
    /// When it ended, by the clock of the store.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
    /// Number of damages that were found.
    pub findings: u64,
    /// The first damage, or the error, or what was done.
    pub message: String,
}

wire_enum! {
    /// How a run ended.
    wire pub enum OutcomeResult {
        /// It ended, and found no damage.
        Succeeded = "SUCCEEDED",
        /// It ended, and found damage.
        Damaged = "DAMAGED",
        /// It ended with an error.
        Failed = "FAILED",
        /// Its caller cancelled it.
        Cancelled = "CANCELLED",
    }
}

/// A scrub that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ScrubStatus {
    /// Days from the begin of one scrub to that of the next; 0 for never.
    pub period_days: u32,
    /// Most bytes that a scrub reads in a second.
    pub bytes_per_s: u64,
    /// When the next scrub begins; absent while one is under way, and without a period.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<DateTime<Utc>>,
    /// How far the scrub is that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ScrubProgress>,
}

/// How far a scrub is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ScrubProgress {
    /// When it began, by the clock of the store.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub began_at: Option<DateTime<Utc>>,
    /// The part that is read: `space NAME` of the record file, `journal`, `tables`, `files` or
    /// `search`.
    pub part: String,
    /// The last key of the part that was read, as hexadecimal digits.
    pub after: String,
    /// Bytes that were read.
    pub bytes: u64,
    /// Files that were read, apart from the record file.
    pub files: u64,
    /// Damages that were found.
    pub findings: u64,
    /// The first twenty of them.
    pub first_findings: Vec<Finding>,
}
