//! How fast the disk fills: one sample of its free space for each day.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Days over which the rate is taken.
const DAYS: i64 = 30;
/// Days that the samples must span.
const DAYS_MIN: i64 = 3;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The free space of the disk on one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::store) struct Sample {
    /// Days since 1970 UTC.
    pub(in crate::store) day: i64,
    pub(in crate::store) free_bytes: u64,
}

/// The samples of the last days, oldest first.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Trend<'s> {
    pub(in crate::store) samples: &'s [Sample],
}

fn day_of(now: DateTime<Utc>) -> i64 {
    now.timestamp_millis().div_euclid(DAY_MS)
}

impl Trend<'_> {
    /// Whether the day has a sample.
    pub(in crate::store) fn has(&self, now: DateTime<Utc>) -> bool {
        self.samples.last().is_some_and(|last| last.day == day_of(now))
    }

    /// Adds the sample of a day. Drops those that are too old, and those of days to come: the clock
    /// was wrong then.
    pub(in crate::store) fn add(samples: &mut Vec<Sample>, now: DateTime<Utc>, free_bytes: u64) {
        let day = day_of(now);
        samples.retain(|sample| sample.day < day && day.saturating_sub(sample.day) <= DAYS);
        samples.push(Sample { day, free_bytes });
    }

    /// Bytes by which the free space shrinks in a day, if it does and if that is known, and the
    /// days until `spare_bytes` of it are gone.
    ///
    /// The trend begins anew on a day on which more space came back than half of what all other
    /// days took: somebody cleared the disk. Less is what a retention gives back now and then.
    pub(in crate::store) fn shrinking(
        &self,
        now: DateTime<Utc>,
        spare_bytes: u64,
    ) -> Option<(u64, u64)> {
        let today = day_of(now);
        let is_recent =
            |sample: &&Sample| sample.day <= today && today.saturating_sub(sample.day) <= DAYS;
        let recent: Vec<&Sample> = self.samples.iter().filter(is_recent).collect();
        let steps = || recent.iter().zip(recent.iter().skip(1));
        let taken: u64 =
            steps().map(|(one, next)| one.free_bytes.saturating_sub(next.free_bytes)).sum();
        let is_cleared = |(one, next): (&&Sample, &&Sample)| {
            next.free_bytes.saturating_sub(one.free_bytes) > taken / 2
        };
        let begin = steps().collect::<Vec<_>>().into_iter().rposition(is_cleared);
        let first = recent.get(begin.map_or(0, |step| step + 1))?;
        let last = recent.last()?;
        let days = last.day - first.day;
        if days < DAYS_MIN {
            return None;
        }
        let lost = first.free_bytes.checked_sub(last.free_bytes)?;
        let rate = lost / u64::try_from(days).ok()?;
        Some((rate, spare_bytes.checked_div(rate)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn at(day: i64) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(day * DAY_MS + 1).unwrap()
    }

    fn trend(of: &[(i64, u64)]) -> Vec<Sample> {
        let mut samples = Vec::new();
        of.iter().for_each(|(day, free)| Trend::add(&mut samples, at(*day), *free));
        samples
    }

    #[test]
    fn the_rate_needs_three_days_and_is_that_of_the_last_thirty() {
        let shrinking =
            |of: &[(i64, u64)], day, spare| Trend { samples: &trend(of) }.shrinking(at(day), spare);
        assert_eq!(shrinking(&[], 0, GIB), None);
        assert_eq!(shrinking(&[(1, 9 * GIB), (3, 5 * GIB)], 3, 5 * GIB), None);
        assert_eq!(shrinking(&[(1, 9 * GIB), (4, 6 * GIB)], 4, 6 * GIB), Some((GIB, 6)));
        // The day that the disk was cleared is gone after a month.
        let month = [(1, GIB), (5, 90 * GIB), (32, 63 * GIB)];
        assert_eq!(shrinking(&month, 32, 63 * GIB), Some((GIB, 63)));
        assert_eq!(shrinking(&[(1, GIB), (5, 90 * GIB)], 5, GIB), None, "it grows");
        assert_eq!(shrinking(&[(1, GIB), (5, GIB)], 5, GIB), None, "it stays");
        // The disk was cleared a week ago, and fills as before.
        let cleared = [(1, 30 * GIB), (9, 22 * GIB), (10, 90 * GIB), (16, 84 * GIB)];
        assert_eq!(shrinking(&cleared, 16, 84 * GIB), Some((GIB, 84)));
        assert_eq!(shrinking(&cleared[..3], 10, 90 * GIB), None, "not known yet");
        // A retention gives back once a week what six days took.
        let saw = (0..28).map(|day| (day, (50 - day as u64 % 7) * GIB)).collect::<Vec<_>>();
        assert_eq!(shrinking(&saw, 27, 44 * GIB).map(|(rate, _)| rate), Some(6 * GIB / 27));
        // Nobody has looked since.
        assert_eq!(shrinking(&[(1, 9 * GIB), (4, 6 * GIB)], 400, 6 * GIB), None);
    }

    #[test]
    fn a_sample_is_kept_for_a_month_and_days_to_come_are_dropped() {
        let samples = trend(&(0..500).map(|day| (day, 1)).collect::<Vec<_>>());
        assert_eq!(samples.len(), 31);
        let back = trend(&[(5, 1), (20, 2), (6, 3)]);
        assert_eq!(back.iter().map(|sample| sample.day).collect::<Vec<_>>(), [5, 6]);
        assert!(Trend { samples: &back }.has(at(6)) && !Trend { samples: &back }.has(at(7)));
    }
}
