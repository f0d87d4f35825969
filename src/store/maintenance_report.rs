//! What maintenance tells: of one pass, and of all passes since the store was opened.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::error::{ApiError, Error};

/// The result of one pass of maintenance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MaintenanceReport {
    /// Files removed because no record names them any more, or none ever did.
    pub files_removed: u64,
    /// Upload sessions that expired.
    pub upload_sessions_expired: u64,
    /// Segments of tables written: sealed buffers, and merges of overlapping segments.
    pub segments_written: u64,
    /// Rows of tables deleted because their retention does not keep them.
    pub rows_deleted: u64,
    /// Test results deleted because the retention of the store does not keep them.
    pub results_deleted: u64,
    /// Deleted rows of tables whose space this pass gave back, as far as writers deleted no others
    /// meanwhile.
    pub deleted_rows_removed: u64,
    /// Entries dropped from the change log.
    pub log_entries_dropped: u64,
    /// Subscribers that lost their positions with these entries: they need a full pass.
    pub subscribers_lost: u64,
    /// Subscribers that used at least 80 % of a bound of their hold, or all of it, while the log is
    /// about as long as the store keeps it for everybody. Others may lose no position soon.
    pub subscribers_at_risk: u64,
    /// Entries added to indexes that a later format than the store's added.
    pub index_entries_added: u64,
    /// Bytes by which a rewrite made the record file smaller.
    pub record_file_bytes_returned: u64,
    /// The time of the store, if it is ahead of the clock by more than a minute: the clock was once
    /// set to it, and ages of rows do not advance before the clock is there again.
    /// [`Store::take_present_time`](crate::Store::take_present_time) ends that.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub time_ahead: Option<DateTime<Utc>>,
}

/// What the maintenance thread has done since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct MaintenanceStatus {
    /// Whether the store has a maintenance thread.
    pub is_enabled: bool,
    /// Passes that ended.
    pub passes: u64,
    /// Passes with an error.
    pub failed_passes: u64,
    /// End of the last pass, by the clock of the store.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub last_pass: Option<DateTime<Utc>>,
    /// What the last pass did, also when steps of it failed.
    pub last_report: MaintenanceReport,
    /// The errors of the last pass: one for each step that failed. Empty when all succeeded.
    pub last_errors: Vec<ApiError>,
    /// The last error of any pass, which later passes do not clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_error: Option<ApiError>,
}

impl MaintenanceStatus {
    /// Adds a pass that ended.
    pub(super) fn add(&mut self, now: DateTime<Utc>, report: MaintenanceReport, errors: &[Error]) {
        let errors: Vec<ApiError> = errors.iter().map(Error::api_error).collect();
        self.passes += 1;
        self.failed_passes += u64::from(!errors.is_empty());
        self.last_pass = Some(now);
        self.last_report = report;
        if let Some(error) = errors.last() {
            self.newest_error = Some(error.clone());
        }
        self.last_errors = errors;
    }
}
