//! The extremes of a column, interval by interval, made in one pass with bounded memory.
//!
//! An interval is a number of rows beside each other in the order of x. It keeps its lowest and its
//! highest value with their places, so that whatever is drawn of it is a row. When there are more
//! intervals than [`Bounds::intervals_max`], each two become one.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use stationdb::tables::DataType;

use crate::number::{exact, exact_single};

/// A value that has extremes.
pub(crate) trait Sample: Copy + PartialOrd {
    /// Whether it can be drawn.
    fn is_drawn(self) -> bool;
    /// As the nearest double.
    fn to_f64(self) -> f64;
    /// Compares it with a limit, to the last digit.
    fn compare(self, limit: f64) -> Option<Ordering>;
    /// With all its digits as a value of a column of the type, and none besides.
    fn text(self, data_type: DataType) -> String;
}

impl Sample for f64 {
    fn is_drawn(self) -> bool {
        self.is_finite()
    }

    fn to_f64(self) -> f64 {
        self
    }

    fn compare(self, limit: f64) -> Option<Ordering> {
        self.partial_cmp(&limit)
    }

    fn text(self, data_type: DataType) -> String {
        if data_type == DataType::Float32 { exact_single(self as f32) } else { exact(self) }
    }
}

impl Sample for i64 {
    fn is_drawn(self) -> bool {
        true
    }

    fn to_f64(self) -> f64 {
        self as f64
    }

    fn compare(self, limit: f64) -> Option<Ordering> {
        // Of equal doubles, one that is no whole number is small enough to be exact.
        let of_doubles = (self as f64).partial_cmp(&limit)?;
        Some(of_doubles.then_with(|| i128::from(self).cmp(&(limit as i128))))
    }

    fn text(self, _: DataType) -> String {
        self.to_string()
    }
}

/// The place of a row: its number, and x as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub row: u64,
    pub x: i64,
}

/// A value and where it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point<T> {
    pub value: T,
    pub at: Place,
}

/// The lowest and the highest value of some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extremes<T> {
    pub low: Point<T>,
    pub high: Point<T>,
}

impl<T: Sample> Extremes<T> {
    /// The extremes of both; of equal values the first row stays.
    fn with(self, later: Self) -> Self {
        Self {
            low: if later.low.value < self.low.value { later.low } else { self.low },
            high: if later.high.value > self.high.value { later.high } else { self.high },
        }
    }
}

/// What values are allowed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allowed {
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Whether a value at a limit is a violation.
    pub is_strict: bool,
}

impl Allowed {
    fn is_broken<T: Sample>(&self, value: T) -> bool {
        let breaks = |limit: Option<f64>, side: Ordering| {
            let found = limit.and_then(|limit| value.compare(limit));
            found == Some(side) || self.is_strict && found == Some(Ordering::Equal)
        };
        breaks(self.low, Ordering::Less) || breaks(self.high, Ordering::Greater)
    }

    /// How far the value is beyond the limit that it breaks.
    fn excess(&self, value: f64) -> f64 {
        let below = self.low.map_or(f64::NEG_INFINITY, |low| low - value);
        let above = self.high.map_or(f64::NEG_INFINITY, |high| value - high);
        below.max(above)
    }
}

/// Rows beside each other that break a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Violation<T> {
    pub first: Place,
    pub last: Place,
    pub rows: u64,
    /// The value that is farthest beyond its limit.
    pub worst: Point<T>,
}

/// How much a pyramid keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub intervals_max: usize,
    pub violations_max: usize,
    /// Values of all columns together.
    pub values_max: u64,
}

/// The pyramid of one column.
pub(crate) struct Pyramid<T> {
    bounds: Bounds,
    /// Rows of an interval.
    pub rows_each: u64,
    pub intervals: Vec<Option<Extremes<T>>>,
    /// Rows that came.
    pub rows: u64,
    pub nulls: u64,
    /// Values that are infinite or NaN.
    pub undrawn: u64,
    allowed: Vec<Allowed>,
    /// Rows that break a limit.
    pub violating: u64,
    /// Groups of rows beside each other that break a limit, those that are not kept too.
    pub violation_count: u64,
    /// The first of these groups.
    pub violations: Vec<Violation<T>>,
    /// The last row that broke a limit.
    last_violating: Option<u64>,
}

impl<T: Sample> Pyramid<T> {
    pub(crate) fn new(bounds: Bounds, allowed: Vec<Allowed>) -> Self {
        Self {
            bounds,
            rows_each: 1,
            intervals: Vec::new(),
            rows: 0,
            nulls: 0,
            undrawn: 0,
            allowed,
            violating: 0,
            violation_count: 0,
            violations: Vec::new(),
            last_violating: None,
        }
    }

    /// Whether there are limits that a value may break.
    pub(crate) fn is_judged(&self) -> bool {
        !self.allowed.is_empty()
    }

    /// Takes the next rows: the value of each, if it has one, and its x.
    pub(crate) fn extend(&mut self, xs: &[i64], values: &[T], is_null: impl Fn(usize) -> bool) {
        let count = values.len().min(xs.len());
        let mut from = 0;
        while from < count {
            let mut interval = self.rows / self.rows_each;
            if interval >= self.bounds.intervals_max as u64 {
                self.halve();
                interval = self.rows / self.rows_each;
            }
            let end_row = (interval + 1) * self.rows_each;
            let left = usize::try_from(end_row - self.rows).unwrap_or(usize::MAX);
            let to = count.min(from.saturating_add(left));
            self.add(interval as usize, xs, values, from..to, &is_null);
            self.rows += (to - from) as u64;
            from = to;
        }
    }

    fn add(
        &mut self,
        interval: usize,
        xs: &[i64],
        values: &[T],
        range: std::ops::Range<usize>,
        is_null: &impl Fn(usize) -> bool,
    ) {
        let mut found: Option<(usize, usize)> = None;
        for at in range.clone() {
            if is_null(at) {
                self.nulls += 1;
                continue;
            }
            if !values[at].is_drawn() {
                self.undrawn += 1;
                continue;
            }
            match &mut found {
                None => found = Some((at, at)),
                Some((low, high)) => {
                    if values[at] < values[*low] {
                        *low = at;
                    } else if values[at] > values[*high] {
                        *high = at;
                    }
                }
            }
        }
        let (first_row, start) = (self.rows, range.start);
        let point = |at: usize| Point {
            value: values[at],
            at: Place { row: first_row + (at - start) as u64, x: xs[at] },
        };
        let extremes = found.map(|(low, high)| Extremes { low: point(low), high: point(high) });
        if self.intervals.len() <= interval {
            self.intervals.resize(interval + 1, None);
        }
        let kept = &mut self.intervals[interval];
        *kept = match (*kept, extremes) {
            (Some(kept), Some(new)) => Some(kept.with(new)),
            (kept, new) => kept.or(new),
        };
        let Some(extremes) = extremes else { return };
        let breaks = |value: T| self.allowed.iter().any(|limit| limit.is_broken(value));
        if breaks(extremes.low.value) || breaks(extremes.high.value) {
            for at in range {
                if !is_null(at) && values[at].is_drawn() {
                    self.check(point(at));
                }
            }
        }
    }

    /// Notes the row if it breaks a limit.
    fn check(&mut self, point: Point<T>) {
        let excess = |value: T| {
            let broken = self.allowed.iter().filter(|limit| limit.is_broken(value));
            broken.map(|limit| limit.excess(value.to_f64())).fold(f64::NEG_INFINITY, f64::max)
        };
        let by = excess(point.value);
        if by == f64::NEG_INFINITY {
            return;
        }
        self.violating += 1;
        let goes_on = self.last_violating == Some(point.at.row.wrapping_sub(1));
        self.last_violating = Some(point.at.row);
        if !goes_on {
            self.violation_count += 1;
            if self.violations.len() < self.bounds.violations_max {
                let group = Violation { first: point.at, last: point.at, rows: 1, worst: point };
                self.violations.push(group);
            }
            return;
        }
        if self.violation_count > self.violations.len() as u64 {
            return;
        }
        let is_worse = self.violations.last().is_some_and(|group| by > excess(group.worst.value));
        if let Some(group) = self.violations.last_mut() {
            group.last = point.at;
            group.rows += 1;
            if is_worse {
                group.worst = point;
            }
        }
    }

    /// Makes one interval of each two.
    fn halve(&mut self) {
        self.intervals = merged(&self.intervals, 2);
        self.rows_each *= 2;
    }

    /// The extremes of all rows.
    pub(crate) fn all(&self) -> Option<Extremes<T>> {
        merged(&self.intervals, self.intervals.len().max(1)).into_iter().next().flatten()
    }

    /// The rows of the lowest and the highest values, of different intervals.
    pub(crate) fn worst(&self, count: usize) -> BTreeSet<Place> {
        let mut known: Vec<&Extremes<T>> = self.intervals.iter().flatten().collect();
        let mut places = BTreeSet::new();
        let order = |a: T, b: T| a.partial_cmp(&b).unwrap_or(Ordering::Equal);
        known.sort_by(|a, b| order(a.low.value, b.low.value));
        places.extend(known.iter().take(count).map(|extremes| extremes.low.at));
        known.sort_by(|a, b| order(b.high.value, a.high.value));
        places.extend(known.iter().take(count).map(|extremes| extremes.high.at));
        places
    }
}

/// The intervals with `factor` of them made one.
pub(crate) fn merged<T: Sample>(
    intervals: &[Option<Extremes<T>>],
    factor: usize,
) -> Vec<Option<Extremes<T>>> {
    let both = |a: Option<Extremes<T>>, b: Option<Extremes<T>>| match (a, b) {
        (Some(a), Some(b)) => Some(a.with(b)),
        (a, b) => a.or(b),
    };
    let chunks = intervals.chunks(factor.max(1));
    chunks.map(|chunk| chunk.iter().copied().fold(None, both)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { intervals_max: 8, violations_max: 3, values_max: u64::MAX };

    fn place(row: u64) -> Place {
        Place { row, x: row as i64 * 10 }
    }

    /// The pyramid of values that come in pieces of `piece` rows.
    fn pyramid(values: &[f64], piece: usize, allowed: Vec<Allowed>) -> Pyramid<f64> {
        let mut pyramid = Pyramid::new(BOUNDS, allowed);
        let xs: Vec<i64> = (0..values.len() as i64).map(|row| row * 10).collect();
        for (xs, values) in xs.chunks(piece).zip(values.chunks(piece)) {
            pyramid.extend(xs, values, |at| values[at] == 99.0);
        }
        pyramid
    }

    fn wave(count: u32) -> Vec<f64> {
        (0..count).map(|at| f64::from(at * 7919 % 1009)).collect()
    }

    /// Whatever the pieces, each interval has the extremes of its rows, and the rows where they are.
    #[test]
    fn intervals_have_the_extremes_of_their_rows() {
        for count in [0, 1, 7, 8, 9, 16, 17, 100, 1000] {
            let mut values = wave(count);
            for at in (3..values.len()).step_by(11) {
                values[at] = [99.0, f64::NAN, f64::INFINITY][at % 3];
            }
            for piece in [1, 3, 8, 64, 1000] {
                let made = pyramid(&values, piece, Vec::new());
                assert!(made.intervals.len() <= 8, "{count} {piece}");
                assert_eq!(made.rows, u64::from(count));
                let each = made.rows_each as usize;
                assert!(each == 1 || made.intervals.len() > 4, "{count}: {each}");
                for (chunk, (at, known)) in
                    values.chunks(each).zip(made.intervals.iter().enumerate())
                {
                    let drawn = || chunk.iter().filter(|v| v.is_finite() && **v != 99.0);
                    let low = drawn().copied().fold(f64::INFINITY, f64::min);
                    let high = drawn().copied().fold(f64::NEG_INFINITY, f64::max);
                    let Some(known) = known else {
                        assert_eq!(drawn().count(), 0);
                        continue;
                    };
                    assert_eq!((known.low.value, known.high.value), (low, high));
                    for point in [known.low, known.high] {
                        let row = point.at.row as usize;
                        assert!((at * each..(at + 1) * each).contains(&row), "{row}");
                        assert_eq!(values[row], point.value);
                        assert_eq!(point.at, place(row as u64));
                    }
                }
                let is = |f: &dyn Fn(f64) -> bool| values.iter().filter(|v| f(**v)).count() as u64;
                assert_eq!(
                    (made.nulls, made.undrawn),
                    (is(&|v| v == 99.0), is(&|v| !v.is_finite()))
                );
            }
        }
    }

    #[test]
    fn violations_are_groups_of_rows() {
        let allowed = |is_strict| vec![Allowed { low: Some(-1.0), high: Some(5.0), is_strict }];
        let values = [0.0, 6.0, 8.0, 7.0, 0.0, -4.0, 5.0, 0.0, 9.0, 0.0, 9.5, 9.0];
        for piece in [1, 2, 5, 12] {
            let made = pyramid(&values, piece, allowed(false));
            assert_eq!((made.violating, made.violation_count), (7, 4));
            let found: Vec<_> = made
                .violations
                .iter()
                .map(|v| (v.first.row, v.last.row, v.rows, v.worst.value))
                .collect();
            assert_eq!(found, [(1, 3, 3, 8.0), (5, 5, 1, -4.0), (8, 8, 1, 9.0)]);
            assert_eq!(made.violations[0].worst.at, place(2));
            // At the limit; and a null between two does not join them.
            let strict = pyramid(&values, piece, allowed(true));
            assert_eq!((strict.violating, strict.violation_count), (8, 4));
            assert_eq!(strict.violations[1].last, place(6));
        }
        let made = pyramid(&[6.0, 99.0, 6.0], 2, allowed(false));
        assert_eq!((made.violating, made.violation_count), (2, 2));
    }

    /// Whole numbers beside a limit that are the same double.
    #[test]
    fn whole_numbers_are_judged_to_the_last_digit() {
        const LIMIT: i64 = 1 << 53;
        for (value, at, expected) in [
            (LIMIT + 1, LIMIT as f64, Ordering::Greater),
            (LIMIT, LIMIT as f64, Ordering::Equal),
            (-LIMIT - 1, -LIMIT as f64, Ordering::Less),
            (i64::MAX, i64::MAX as f64, Ordering::Less),
            (i64::MIN, i64::MIN as f64, Ordering::Equal),
            (3, 2.5, Ordering::Greater),
            (2, 2.5, Ordering::Less),
            (-2, -2.5, Ordering::Greater),
            (0, f64::INFINITY, Ordering::Less),
        ] {
            assert_eq!(value.compare(at), Some(expected), "{value} {at}");
        }
        assert_eq!(1_i64.compare(f64::NAN), None);
        let allowed = vec![Allowed { low: None, high: Some(LIMIT as f64), is_strict: false }];
        let mut pyramid = Pyramid::new(BOUNDS, allowed);
        pyramid.extend(&[0, 1], &[LIMIT, LIMIT + 1], |_| false);
        assert_eq!(pyramid.violating, 1);
        assert_eq!(pyramid.violations[0].worst.value, LIMIT + 1);
    }

    #[test]
    fn the_worst_are_of_different_intervals() {
        let mut values = wave(1000);
        values[500] = 5000.0;
        values[501] = 4999.0;
        values[900] = -3.0;
        let made = pyramid(&values, 64, Vec::new());
        assert_eq!(made.worst(1), BTreeSet::from([place(500), place(900)]));
        assert_eq!(made.worst(3).len(), 6);
        assert_eq!(made.all().unwrap().high.at, place(500));
        assert_eq!(pyramid(&[], 1, Vec::new()).all(), None);
    }
}
