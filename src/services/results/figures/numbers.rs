//! Numbers that figures have in common: exact sums of some values, shares, and what is no figure.

use crate::value::exact::{Exact, FloatSums, Sums};

/// The share of a part in a whole; none of nothing.
pub(super) fn share(part: i64, whole: i64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}

/// A figure, which is finite, and no negative zero.
pub(super) fn figure(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

/// The quotient as a figure; none of a division by zero.
pub(super) fn ratio(value: f64, divisor: f64) -> Option<f64> {
    figure(value / divisor)
}

/// How many values there are, the least and the greatest one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extremes {
    pub n: u64,
    pub ends: Option<(f64, f64)>,
}

impl Extremes {
    /// Adds a value, which is finite.
    pub(crate) fn add(&mut self, value: f64) {
        self.n += 1;
        let (least, greatest) = self.ends.unwrap_or((value, value));
        self.ends = Some((least.min(value), greatest.max(value)));
    }

    pub(super) fn least(&self) -> Option<f64> {
        self.ends.and_then(|(least, _)| figure(least))
    }

    pub(super) fn greatest(&self) -> Option<f64> {
        self.ends.and_then(|(_, greatest)| figure(greatest))
    }

    /// The greatest value minus the least one.
    pub(super) fn range(&self) -> Option<f64> {
        self.ends.and_then(|(least, greatest)| figure(greatest - least))
    }
}

/// Exact sums of values and of their squares.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) count: u64,
    sums: FloatSums,
}

impl Total {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sums.add::<true>(value);
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sums.merge(other.sums);
    }

    pub(super) fn exact(&self) -> Exact {
        self.sums.clone().exact(self.count)
    }

    /// The mean, rounded once; none of no values.
    pub(super) fn mean(&self) -> Option<f64> {
        self.exact().mean().and_then(figure)
    }

    /// The deviation from the mean, of the values as a sample; none of less than two.
    pub(super) fn deviation(&self) -> Option<f64> {
        self.exact().deviation(true).and_then(figure)
    }
}
