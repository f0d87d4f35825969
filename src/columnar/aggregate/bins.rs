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
