//! Ranges of equal width, in which values are counted.

use std::cmp::Ordering;

use crate::columnar::column_slice::Scale;

/// The ranges of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bins {
    /// Start of the first.
    pub lower: f64,
    /// End of the last.
    pub upper: f64,
    /// How many.
    pub count: usize,
}

impl Bins {
    /// Where a range begins.
    pub(crate) fn start(&self, at: usize) -> f64 {
        let share = at as f64 / self.count as f64;
        let width = self.upper - self.lower;
        // The width of the greatest ranges is no number.
        if width.is_finite() {
            self.lower + width * share
        } else {
            self.lower * (1.0 - share) + self.upper * share
        }
    }

    /// The place of a value among the counts: 0 below, then the ranges, then above. A range has its
    /// start, and the last one its end, too.
    pub(crate) fn place<T: Scale>(&self, value: T) -> usize {
        let is_below = |edge: f64| value.order(edge) == Some(Ordering::Less);
        if is_below(self.lower) {
            return 0;
        }
        if value.order(self.upper) == Some(Ordering::Greater) {
            return self.count + 1;
        }
        let width = self.upper - self.lower;
        let last = self.count.saturating_sub(1);
        let mut at = ((value.nearest() - self.lower) / width * self.count as f64) as usize;
        at = at.min(last);
        // The quotient may be rounded over an edge.
        while at > 0 && is_below(self.start(at)) {
            at -= 1;
        }
        while at < last && !is_below(self.start(at + 1)) {
            at += 1;
        }
        at + 1
    }
}

/// Ranges of which the start of each is known, for many values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edges {
    bins: Bins,
    starts: Vec<f64>,
}

impl Edges {
    pub(crate) fn of(bins: Bins) -> Self {
        let starts = (0..bins.count).map(|at| bins.start(at)).collect();
        Self { bins, starts }
    }

    /// As [`Bins::place`].
    pub(crate) fn place(&self, value: f64) -> usize {
        let Bins { lower, upper, .. } = self.bins;
        if value < lower {
            return 0;
        }
        if value > upper {
            return self.bins.count + 1;
        }
        let last = self.starts.len().saturating_sub(1);
        let begins = |at: usize| self.starts.get(at).copied().unwrap_or(f64::NAN);
        let mut at = ((value - lower) / (upper - lower) * self.bins.count as f64) as usize;
        at = at.min(last);
        while at > 0 && value < begins(at) {
            at -= 1;
        }
        while at < last && value >= begins(at + 1) {
            at += 1;
        }
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn known_starts_give_the_same_places(
            lower in prop_oneof![-2.0..2.0f64, Just(f64::MIN), Just(0.0)],
            width in prop_oneof![1e-300..1e300f64, 0.1..3.0f64, Just(f64::INFINITY)],
            count in 1..50usize,
            shares in proptest::collection::vec(-0.1..1.1f64, 20),
        ) {
            let bins = Bins { lower, upper: (lower + width).min(f64::MAX), count };
            prop_assume!(bins.lower < bins.upper);
            let edges = Edges::of(bins);
            let starts = (0..=count).map(|at| bins.start(at));
            let around = starts.flat_map(|start| [start.next_down(), start, start.next_up()]);
            let within = shares.iter().map(|share| lower * (1.0 - share) + bins.upper * share);
            for value in around.chain(within).chain([0.0, -0.0, f64::MIN, f64::MAX]) {
                prop_assert_eq!(edges.place(value), bins.place(value), "{}", value);
            }
        }
    }
}
