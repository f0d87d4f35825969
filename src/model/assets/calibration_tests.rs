//! All combinations of entry type, intervals, custom date, out flag and distance from the due date.

use chrono::{DateTime, TimeDelta, Utc};

use super::calibration::*;
use crate::model::assets::parts::{CalibrationMode, CalibrationStatus, ExternalCalibration};
use crate::value::time;

const DAY_MS: i64 = 86_400_000;

fn at(text: &str) -> DateTime<Utc> {
    time::parse(text).unwrap()
}

#[test]
fn due_dates_over_months_leap_days_and_daylight_saving() {
    for (date, months, due) in [
        ("2023-01-31T10:00:00Z", 1, "2023-02-28T10:00:00Z"),
        ("2024-01-31T10:00:00Z", 1, "2024-02-29T10:00:00Z"),
        ("2024-02-29T00:00:00Z", 12, "2025-02-28T00:00:00Z"),
        ("2024-02-29T00:00:00Z", 48, "2028-02-29T00:00:00Z"),
        ("2096-02-29T23:59:59.999Z", 48, "2100-02-28T23:59:59.999Z"),
        ("2023-12-31T23:59:59Z", 6, "2024-06-30T23:59:59Z"),
        // Daylight saving time starts in Europe and the United States between the dates; UTC has
        // none.
        ("2024-03-30T01:30:00Z", 1, "2024-04-30T01:30:00Z"),
        ("2024-09-27T01:30:00+02:00", 1, "2024-10-26T23:30:00Z"),
        ("2024-03-09T02:30:00-08:00", 1, "2024-04-09T10:30:00Z"),
        ("2024-05-31T00:00:00Z", 0, "2024-05-31T00:00:00Z"),
        ("9999-12-01T00:00:00Z", 12, "9999-12-31T23:59:59.999Z"),
    ] {
        let calibration = ExternalCalibration { date: Some(at(date)), ..Default::default() };
        assert_eq!(
            resolved_due_date(&calibration, Some(months)),
            Some(at(due)),
            "{date} + {months}"
        );
    }
}

#[test]
fn the_whole_cross() {
    let mut cases = 0;
    let now = at("2024-02-29T12:00:00Z");
    // Distances from now to a date, with the status that they give for a warning window of 30 days.
    let distances = [
        (-400 * DAY_MS, CalibrationStatus::PastRecommendedDueDate),
        (-1, CalibrationStatus::PastRecommendedDueDate),
        (0, CalibrationStatus::PastRecommendedDueDate),
        (1, CalibrationStatus::ApproachingRecommendedDueDate),
        (30 * DAY_MS - 1, CalibrationStatus::ApproachingRecommendedDueDate),
        (30 * DAY_MS, CalibrationStatus::ApproachingRecommendedDueDate),
        (30 * DAY_MS + 1, CalibrationStatus::Ok),
        (4000 * DAY_MS, CalibrationStatus::Ok),
    ];
    let dates: Vec<Option<(i64, CalibrationStatus)>> =
        std::iter::once(None).chain(distances.into_iter().map(Some)).collect();
    for entry_type in [None, Some(CalibrationMode::Automatic), Some(CalibrationMode::Manual)] {
        for custom_date in &dates {
            for custom_interval in [None, Some(1), Some(12), Some(24)] {
                // A calibration date for which the custom due date is `distance` from now, if the
                // day exists in both months.
                for by_interval in &distances {
                    for recommended in &dates {
                        for is_out in [false, true] {
                            let shift = |ms: i64| now + TimeDelta::milliseconds(ms);
                            let months = i64::from(custom_interval.unwrap_or(0));
                            let date = time::add_months(shift(by_interval.0), -months);
                            let interval_due = time::add_months(date, months);
                            let calibration = ExternalCalibration {
                                date: Some(date),
                                recommended_interval: Some(12),
                                next_recommended_date: recommended.map(|(ms, _)| shift(ms)),
                                next_custom_due_date: custom_date.map(|(ms, _)| shift(ms)),
                                resolved_due_date: Some(at("1999-01-01T00:00:00Z")),
                                entry_type,
                                ..Default::default()
                            };
                            let due = resolved_due_date(&calibration, custom_interval);
                            let (expected_due, expected) =
                                match (custom_date, custom_interval, recommended) {
                                    (Some((ms, status)), ..) => (Some(shift(*ms)), *status),
                                    (None, Some(_), _) if interval_due == shift(by_interval.0) => {
                                        (Some(interval_due), by_interval.1)
                                    }
                                    (None, Some(_), _) => {
                                        (Some(interval_due), status_at(now, false, due, 30))
                                    }
                                    (None, None, Some((ms, status))) => (Some(shift(*ms)), *status),
                                    (None, None, None) => (None, CalibrationStatus::Ok),
                                };
                            assert_eq!(due, expected_due);
                            let expected = if is_out {
                                CalibrationStatus::OutForCalibration
                            } else {
                                expected
                            };
                            assert_eq!(
                                status_at(now, is_out, due, 30),
                                expected,
                                "{calibration:?}"
                            );
                            cases += 1;
                        }
                    }
                }
            }
        }
    }
    assert_eq!(cases, 3 * 9 * 4 * 8 * 9 * 2);
}

#[test]
fn the_window_is_an_option() {
    let now = at("2024-02-29T12:00:00Z");
    let due = Some(now + TimeDelta::days(7));
    assert_eq!(status_at(now, false, due, 6), CalibrationStatus::Ok);
    assert_eq!(status_at(now, false, due, 7), CalibrationStatus::ApproachingRecommendedDueDate);
    assert_eq!(
        status_at(now, false, Some(now + TimeDelta::milliseconds(1)), 0),
        CalibrationStatus::Ok
    );
    assert_eq!(
        status_at(now, false, due, u32::MAX),
        CalibrationStatus::ApproachingRecommendedDueDate
    );
}
