//! Kernels of decimation and percentiles: free functions, for the engine and for other arrays.
//!
//! Those over slices return positions, never values, so the caller can keep whole rows. NaN is
//! never an extreme; of equal extremes the first one counts; `-0` and `0` are equal.

use std::ops::Range;

/// A type whose extremes can be computed.
pub trait Sample: Copy + PartialOrd {
    /// No value is less than this one.
    const LEAST: Self;
    /// No value is greater than this one.
    const GREATEST: Self;
}

macro_rules! sample {
    ($($ty:ty, $least:expr, $greatest:expr;)*) => {
        $(impl Sample for $ty {
            const LEAST: Self = $least;
            const GREATEST: Self = $greatest;
        })*
    };
}

sample! {
    i32, i32::MIN, i32::MAX;
    i64, i64::MIN, i64::MAX;
    f32, f32::NEG_INFINITY, f32::INFINITY;
    f64, f64::NEG_INFINITY, f64::INFINITY;
}

/// The extremes of a slice, with their first positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes<T> {
    /// Smallest value.
    pub min: T,
    /// Position of the first smallest value.
    pub min_at: usize,
    /// Largest value.
    pub max: T,
    /// Position of the first largest value.
    pub max_at: usize,
}

const LANES: usize = 16;

/// The extremes of `values`; `None` when there is no value other than NaN.
///
/// One pass computes minimum and maximum in lanes, which the compiler turns into vector
/// instructions; then one search finds each extreme. That is about two reads of the slice, so
/// blocks should fit the first-level cache.
#[must_use]
pub fn extremes<T: Sample>(values: &[T]) -> Option<Extremes<T>> {
    let mut low = [T::GREATEST; LANES];
    let mut high = [T::LEAST; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for ((low, high), &value) in low.iter_mut().zip(&mut high).zip(chunk) {
            *low = if value < *low { value } else { *low };
            *high = if value > *high { value } else { *high };
        }
    }
    let (mut min, mut max) = (T::GREATEST, T::LEAST);
    for &value in low.iter().chain(rest) {
        min = if value < min { value } else { min };
    }
    for &value in high.iter().chain(rest) {
        max = if value > max { value } else { max };
    }
    let min_at = values.iter().position(|value| *value == min)?;
    let max_at = values.iter().position(|value| *value == max)?;
    Some(Extremes { min, min_at, max, max_at })
}

/// As [`extremes`], over the positions for which `is_valid` returns true.
///
/// Costs one branch per element; for slices without nulls use [`extremes`].
#[must_use]
pub fn extremes_where<T: Sample>(
    values: &[T],
    is_valid: impl Fn(usize) -> bool,
) -> Option<Extremes<T>> {
    let mut found: Option<Extremes<T>> = None;
    for (at, &value) in values.iter().enumerate() {
        #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
        let is_nan = value != value;
        if is_nan || !is_valid(at) {
            continue;
        }
        match &mut found {
            None => found = Some(Extremes { min: value, min_at: at, max: value, max_at: at }),
            Some(found) => {
                if value < found.min {
                    (found.min, found.min_at) = (value, at);
                }
                if value > found.max {
                    (found.max, found.max_at) = (value, at);
                }
            }
        }
    }
    found
}

/// The range of rows of interval `number`, when `row_count` rows are divided into `interval_count`
/// intervals. Their sizes differ by at most one, larger ones first. `interval_count` must not
/// exceed `row_count`.
#[must_use]
pub fn interval(row_count: u64, interval_count: u64, number: u64) -> Range<u64> {
    let count = interval_count.max(1);
    let (size, larger) = (row_count / count, row_count % count);
    let start = |number: u64| number * size + number.min(larger);
    start(number)..start(number + 1)
}

/// The positions that LOSSY keeps of `row_count` rows: at most `interval_count`, evenly spread from
/// the first row to the last. One interval keeps the first row only.
#[must_use]
pub fn lossy(row_count: u64, interval_count: u64) -> Vec<u64> {
    let kept = interval_count.min(row_count);
    match kept {
        0 => Vec::new(),
        1 => vec![0],
        _ => (0..kept)
            .map(|i| (u128::from(i) * u128::from(row_count - 1) / u128::from(kept - 1)) as u64)
            .collect(),
    }
}

/// The positions that MAX_MIN keeps of `values`, which are in order of x. They are ascending and
/// distinct.
///
/// Cost: two reads of the slice.
///
/// ```
/// assert_eq!(stationdb::tables::kernels::max_min(&[1.0, 5.0, f64::NAN, 2.0, 2.0], 2), vec![0, 1, 3]);
/// ```
#[must_use]
pub fn max_min<T: Sample>(values: &[T], interval_count: u64) -> Vec<u64> {
    keep(values, interval_count, false)
}

/// The positions that ENTRY_EXIT keeps: those of [`max_min`], and the first and last of each
/// interval.
#[must_use]
pub fn entry_exit<T: Sample>(values: &[T], interval_count: u64) -> Vec<u64> {
    keep(values, interval_count, true)
}

fn keep<T: Sample>(values: &[T], interval_count: u64, ends: bool) -> Vec<u64> {
    let rows = values.len() as u64;
    let count = interval_count.min(rows);
    let mut kept = Vec::new();
    for number in 0..count {
        let range = interval(rows, count, number);
        let found = values.get(range.start as usize..range.end as usize).and_then(extremes);
        let mut positions = Vec::with_capacity(4);
        if ends {
            positions.extend([range.start, range.end - 1]);
        }
        if let Some(found) = found {
            positions
                .extend([range.start + found.min_at as u64, range.start + found.max_at as u64]);
        }
        positions.sort_unstable();
        positions.dedup();
        kept.append(&mut positions);
    }
    kept
}

/// The number at a share of the way from `low` to `high`, which is not less: linear percentiles lie
/// there between two neighbours.
///
/// It is never outside of the two, also where their distance is beyond the greatest double. Beside
/// one infinity it is that infinity, unless the share is 0. Between both infinities it is NaN.
///
/// ```
/// use stationdb::tables::kernels::between;
///
/// assert_eq!(between(1.0, 2.0, 0.25), 1.25);
/// assert_eq!(between(-1.7e308, 1.7e308, 0.5), 0.0);
/// assert_eq!(between(f64::NEG_INFINITY, 1.0, 0.5), f64::NEG_INFINITY);
/// ```
#[must_use]
pub fn between(low: f64, high: f64, share: f64) -> f64 {
    if share == 0.0 || low == high || (low.is_infinite() && high.is_finite()) {
        return low;
    }
    let width = high - low;
    if !high.is_finite() || low.is_infinite() {
        return low + width * share;
    }
    let found =
        if width.is_finite() { low + width * share } else { low * (1.0 - share) + high * share };
    found.max(low).min(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lanes_and_scalar_agree(values in proptest::collection::vec(
            prop_oneof![Just(f64::NAN), Just(-0.0), Just(0.0), Just(f64::INFINITY), -3.0..3.0f64], 0..80)) {
            prop_assert_eq!(extremes(&values), extremes_where(&values, |_| true));
        }

        #[test]
        fn intervals_cover_all_rows_once(rows in 1u64..500, count in 1u64..500) {
            let count = count.min(rows);
            let mut next = 0;
            for number in 0..count {
                let range = interval(rows, count, number);
                prop_assert_eq!(range.start, next);
                prop_assert!(range.end - range.start >= rows / count);
                next = range.end;
            }
            prop_assert_eq!(next, rows);
            let kept = lossy(rows, count);
            prop_assert_eq!(kept.len() as u64, count);
            prop_assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(kept.last().copied(), Some(if count == 1 { 0 } else { rows - 1 }));
        }
    }
}
