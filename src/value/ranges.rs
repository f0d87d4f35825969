//! Sets of numbers as ranges: append ordinals, rows, bytes of a file.

use std::ops::{Add, Range};

/// A number that ranges have as their bounds.
pub(crate) trait Bound: Copy + Ord + Add<Output = Self> + From<u8> {}

impl<N: Copy + Ord + Add<Output = Self> + From<u8>> Bound for N {}

/// Appends a range that does not begin before the last one; joined with it unless more than `gap`
/// numbers are between them.
pub(crate) fn join_near<N: Bound>(ranges: &mut Vec<Range<N>>, range: Range<N>, gap: N) {
    match ranges.last_mut() {
        Some(last) if range.start <= last.end + gap => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

/// Appends a range that does not begin before the last one; joined with it if they touch.
pub(crate) fn join<N: Bound>(ranges: &mut Vec<Range<N>>, range: Range<N>) {
    join_near(ranges, range, N::from(0));
}

/// Ascending numbers as ranges.
pub(crate) fn of_numbers<N: Bound>(numbers: impl IntoIterator<Item = N>) -> Vec<Range<N>> {
    let mut ranges = Vec::new();
    for number in numbers {
        join(&mut ranges, number..number + N::from(1));
    }
    ranges
}

/// Appends the parts of `range` that none of the ascending ranges `taken` has.
pub(crate) fn push_rest<N: Bound>(
    out: &mut Vec<Range<N>>,
    range: Range<N>,
    taken: impl Iterator<Item = Range<N>>,
) {
    let mut from = range.start;
    for taken in taken {
        if from < taken.start {
            out.push(from..taken.start);
        }
        from = taken.end;
    }
    if from < range.end {
        out.push(from..range.end);
    }
}

/// A set of numbers.
///
/// What must hold: the ranges are ascending and not empty, and no two of them touch. So a set has
/// one form, and two sets are equal when their ranges are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet(Vec<Range<u64>>);

impl RangeSet {
    /// The numbers of these ranges, which may be in any order and may overlap.
    pub(crate) fn new(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.retain(|range| range.start < range.end);
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        ranges.into_iter().for_each(|range| join(&mut joined, range));
        Self(joined)
    }

    /// One range.
    pub(crate) fn of_range(range: Range<u64>) -> Self {
        Self::new(std::iter::once(range).collect())
    }

    /// The ranges, in order.
    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many numbers the set has.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Whether the set has this number.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let at = self.0.partition_point(|range| range.end <= number);
        self.0.get(at).is_some_and(|range| range.start <= number)
    }

    /// The first number from this one on that the set does not have.
    pub(crate) fn first_missing(&self, from: u64) -> u64 {
        self.within(from..u64::MAX)
            .next()
            .filter(|range| range.start == from)
            .map_or(from, |r| r.end)
    }

    /// Whether a range has a number in common with the set, or is empty and inside of it.
    pub(crate) fn meets(&self, range: &Range<u64>) -> bool {
        let at = self.0.partition_point(|other| other.end <= range.start);
        self.0.get(at).is_some_and(|other| other.start < range.end)
    }

    /// The part of the set inside of `within`, as ranges in order.
    pub(crate) fn within(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let at = self.0.partition_point(|range| range.end <= within.start);
        let end = within.end;
        self.0
            .iter()
            .skip(at)
            .take_while(move |range| range.start < end)
            .map(move |range| range.start.max(within.start)..range.end.min(within.end))
            .filter(|range| range.start < range.end)
    }

    /// How many numbers the set has inside of `within`.
    pub(crate) fn count_within(&self, within: Range<u64>) -> u64 {
        self.within(within).map(|range| range.end - range.start).sum()
    }

    /// Whether the set has every number of `range`.
    pub(crate) fn covers(&self, range: Range<u64>) -> bool {
        let len = range.end.saturating_sub(range.start);
        self.count_within(range) == len
    }

    /// The numbers of both sets.
    pub(crate) fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// The numbers of this set that `other` does not have.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        for range in &self.0 {
            push_rest(&mut left, range.clone(), other.within(range.clone()));
        }
        Self(left)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn naive(ranges: &[Range<u64>]) -> BTreeSet<u64> {
        ranges.iter().flat_map(Clone::clone).collect()
    }

    fn some() -> impl Strategy<Value = Vec<Range<u64>>> {
        proptest::collection::vec((0..60u64, 0..9u64), 0..9)
            .prop_map(|pairs| pairs.into_iter().map(|(at, len)| at..at + len).collect())
    }

    proptest! {
        #[test]
        fn a_set_of_ranges_is_a_set_of_numbers(a in some(), b in some(), from in 0..70u64, len in 0..30u64) {
            let (x, y) = (RangeSet::new(a.clone()), RangeSet::new(b.clone()));
            let (p, q) = (naive(&a), naive(&b));
            let whole = |set: &RangeSet| -> BTreeSet<u64> { naive(set.ranges()) };
            prop_assert_eq!(whole(&x), p.clone());
            prop_assert!(x.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(x.count(), p.len() as u64);
            prop_assert_eq!(x.is_empty(), p.is_empty());
            prop_assert_eq!(whole(&x.union(&y)), p.union(&q).copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(whole(&x.minus(&y)), p.difference(&q).copied().collect::<BTreeSet<_>>());
            let window = from..from + len;
            let inside: BTreeSet<u64> = p.range(window.clone()).copied().collect();
            prop_assert_eq!(x.count_within(window.clone()), inside.len() as u64);
            prop_assert_eq!(x.within(window.clone()).flatten().collect::<BTreeSet<u64>>(), inside.clone());
            prop_assert_eq!(x.covers(window.clone()), inside.len() as u64 == len);
            prop_assert_eq!(of_numbers(p.iter().copied()), x.ranges().to_vec());
            prop_assert_eq!(x.meets(&window) && len > 0, !inside.is_empty());
            prop_assert_eq!(x.contains(from), p.contains(&from));
            prop_assert_eq!(x.first_missing(from), (from..).find(|at| !p.contains(at)).unwrap());
            prop_assert_eq!(x.union(&y), RangeSet::new(a.into_iter().chain(b).collect()));
        }
    }
}
