//! How long calls took: a histogram of fixed size.
//!
//! The buckets are log-linear: sixteen for each power of two of microseconds. So a percentile is at
//! most a sixteenth above the true one, and counting a call allocates nothing and takes no lock.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

/// Buckets of a power of two, as bits.
const PART_BITS: u32 = 4;
/// Durations from here on share the last bucket: 2^32 µs are 71 minutes.
const MOST_US: u64 = (1 << 32) - 1;
const BUCKETS: usize = bucket_of(MOST_US) + 1;

/// Durations that were counted since the store was opened.
pub(crate) struct Latencies {
    buckets: [AtomicU64; BUCKETS],
    max_us: AtomicU64,
}

/// Percentiles of the durations of calls since the store was opened, in microseconds. Each is at
/// most a sixteenth above the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LatencyStatus {
    /// Number of calls.
    pub count: u64,
    /// Half of the calls took at most this.
    pub p50_us: u64,
    /// 99 % of the calls took at most this.
    pub p99_us: u64,
    /// 99.99 % of the calls took at most this.
    pub p9999_us: u64,
    /// The longest call.
    pub max_us: u64,
}

const fn bucket_of(us: u64) -> usize {
    if us < 1 << PART_BITS {
        return us as usize;
    }
    let power = u64::BITS - 1 - us.leading_zeros();
    let part = (us >> (power - PART_BITS)) as usize;
    // `part` has its highest bit, so a power begins where the one before it ends.
    ((power - PART_BITS) as usize) * (1 << PART_BITS) + part
}

/// The longest duration of a bucket.
fn end_of(bucket: usize) -> u64 {
    let parts = 1 << PART_BITS;
    let power = (bucket / parts).saturating_sub(1) as u32;
    let part = (bucket - power as usize * parts) as u64;
    ((part + 1) << power) - 1
}

impl Default for Latencies {
    fn default() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BUCKETS], max_us: AtomicU64::new(0) }
    }
}

impl Latencies {
    /// Counts a call.
    pub(crate) fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get(bucket_of(us.min(MOST_US))) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.max_us.fetch_max(us, Ordering::Relaxed);
    }

    /// The percentiles of what was counted so far.
    pub(crate) fn status(&self) -> LatencyStatus {
        let counts: Vec<u64> =
            self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let count: u64 = counts.iter().sum();
        let max_us = self.max_us.load(Ordering::Relaxed);
        // `part` is in hundredths of a percent.
        let percentile = |part: u64| {
            let wanted = count.saturating_mul(part).div_ceil(10_000).max(1);
            let mut seen = 0;
            let bucket = counts.iter().position(|count| {
                seen += count;
                seen >= wanted
            });
            bucket.map_or(0, |bucket| end_of(bucket).min(max_us))
        };
        LatencyStatus {
            count,
            p50_us: percentile(5_000),
            p99_us: percentile(9_900),
            p9999_us: percentile(9_999),
            max_us,
        }
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latencies").field(&self.status()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        let mut from = 0;
        for bucket in 0..BUCKETS {
            let end = end_of(bucket);
            assert_eq!((bucket_of(from), bucket_of(end)), (bucket, bucket), "{from} to {end}");
            assert!(end - from <= from / 16, "{from} to {end}");
            from = end + 1;
        }
        assert_eq!(from, MOST_US + 1);
    }

    #[test]
    fn percentiles_are_at_most_a_sixteenth_too_high() {
        let latencies = Latencies::default();
        assert_eq!(latencies.status(), LatencyStatus::default());
        (1..=100_000).for_each(|us| latencies.add(Duration::from_micros(us)));
        let LatencyStatus { count, p50_us, p99_us, p9999_us, max_us } = latencies.status();
        assert_eq!((count, max_us), (100_000, 100_000));
        for (found, exact) in [(p50_us, 50_000), (p99_us, 99_000), (p9999_us, 99_990)] {
            assert!((exact..=exact + exact / 16).contains(&found), "{found} for {exact}");
        }
        // One in a hundred thousand is not in the 99.99 %, but it is the longest.
        let rare = Latencies::default();
        (0..99_999).for_each(|_| rare.add(Duration::from_micros(7)));
        rare.add(Duration::from_secs(100_000));
        let status = rare.status();
        assert_eq!((status.p9999_us, status.max_us), (7, 100_000_000_000));
    }
}
