//! Due date and status of a calibration, computed from stored dates and a time; neither is stored.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::assets::parts::{CalibrationStatus, ExternalCalibration};
use crate::value::time;

/// The due date that applies: the operator's own date if present, else the calibration date plus
/// the asset's custom interval in months, else the manufacturer's date. `None` without any of them.
///
/// Months are calendar months in UTC. The day is limited to the last day of the month: 31 January
/// plus one month is the last day of February.
#[must_use]
pub(crate) fn resolved_due_date(
    calibration: &ExternalCalibration,
    custom_interval_months: Option<i32>,
) -> Option<DateTime<Utc>> {
    let by_interval =
        || Some(time::add_months(calibration.date?, i64::from(custom_interval_months?)));
    calibration.next_custom_due_date.or_else(by_interval).or(calibration.next_recommended_date)
}

/// The status at `now`. Out for calibration takes precedence over every date. Without a due date
/// the status is OK. At the due date and later it is past due. It is approaching if the due date is
/// at most `warning_days` away.
#[must_use]
pub(crate) fn status_at(
    now: DateTime<Utc>,
    is_out: bool,
    due: Option<DateTime<Utc>>,
    warning_days: u32,
) -> CalibrationStatus {
    let Some(due) = due.filter(|_| !is_out) else {
        return if is_out { CalibrationStatus::OutForCalibration } else { CalibrationStatus::Ok };
    };
    if now >= due {
        CalibrationStatus::PastRecommendedDueDate
    } else if due - now <= TimeDelta::days(i64::from(warning_days)) {
        CalibrationStatus::ApproachingRecommendedDueDate
    } else {
        CalibrationStatus::Ok
    }
}
