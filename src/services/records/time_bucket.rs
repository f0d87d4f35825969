//! Buckets of times by the calendar, in UTC.

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use crate::model::TimeBucket;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const WEEK_MS: i64 = 7 * DAY_MS;
/// The first Monday of 1970 UTC.
const MONDAY_MS: i64 = 4 * DAY_MS;

fn floor(time_ms: i64, width: i64, origin: i64) -> Option<i64> {
    time_ms.checked_sub(origin)?.div_euclid(width).checked_mul(width)?.checked_add(origin)
}

/// The start of the bucket of a time, both in milliseconds since 1970 UTC; none for a time outside
/// of the calendar.
pub(in crate::services) fn start_of(time_ms: i64, bucket: TimeBucket) -> Option<i64> {
    let first = |month: &dyn Fn(u32) -> u32| {
        let date = DateTime::<Utc>::from_timestamp_millis(time_ms)?.date_naive();
        let start = NaiveDate::from_ymd_opt(date.year(), month(date.month()), 1)?;
        Some(start.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
    };
    match bucket {
        TimeBucket::Hour => floor(time_ms, HOUR_MS, 0),
        TimeBucket::Day => floor(time_ms, DAY_MS, 0),
        TimeBucket::Week => floor(time_ms, WEEK_MS, MONDAY_MS),
        TimeBucket::Month => first(&|month| month),
        TimeBucket::Quarter => first(&|month| (month - 1) / 3 * 3 + 1),
        TimeBucket::Year => first(&|_| 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_where_the_calendar_says() {
        let ms = |text: &str| text.parse::<DateTime<Utc>>().unwrap().timestamp_millis();
        let days = [
            // A Sunday, the Monday after it, the last moment of a leap day, and times before 1970.
            ("2024-03-03T23:59:59.999Z", "2024-03-03", "2024-02-26", "2024-03-01", "2024-01-01"),
            ("2024-03-04T00:00:00Z", "2024-03-04", "2024-03-04", "2024-03-01", "2024-01-01"),
            ("2024-02-29T23:59:59.999Z", "2024-02-29", "2024-02-26", "2024-02-01", "2024-01-01"),
            ("2023-12-31T12:00:00Z", "2023-12-31", "2023-12-25", "2023-12-01", "2023-10-01"),
            ("1970-01-01T00:00:00Z", "1970-01-01", "1969-12-29", "1970-01-01", "1970-01-01"),
            ("1969-05-31T01:00:00Z", "1969-05-31", "1969-05-26", "1969-05-01", "1969-04-01"),
        ];
        for (time, day, week, month, quarter) in days {
            let at = ms(time);
            let start = |bucket| start_of(at, bucket);
            let midnight = |day: &str| Some(ms(&format!("{day}T00:00:00Z")));
            assert_eq!(start(TimeBucket::Day), midnight(day), "{time}");
            assert_eq!(start(TimeBucket::Week), midnight(week), "{time}");
            assert_eq!(start(TimeBucket::Month), midnight(month), "{time}");
            assert_eq!(start(TimeBucket::Quarter), midnight(quarter), "{time}");
            assert_eq!(start(TimeBucket::Year), midnight(&format!("{}-01-01", &time[..4])));
            let hour = start(TimeBucket::Hour).unwrap();
            assert!(hour <= at && at - hour < HOUR_MS && hour % HOUR_MS == 0, "{time}");
        }
        for bucket in TimeBucket::ALL {
            // Outside of the calendar, or where the start is no number of milliseconds any more.
            let start = start_of(i64::MIN, *bucket);
            assert!(start.is_none(), "{bucket} {start:?}");
        }
    }
}
