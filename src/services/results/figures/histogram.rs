//! Histograms of values.

use super::numbers::Extremes;
use super::series::Values;
use crate::columnar::{Bins, Edges};
use crate::error::{Error, Result};
use crate::model::results::figures::{Histogram, HistogramRange};
use crate::value::limits;

/// The ranges that a request asks for; what it leaves open follows from the values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WantedBins {
    bins: Option<usize>,
    lower: Option<f64>,
    upper: Option<f64>,
}

impl WantedBins {
    /// # Errors
    /// `InvalidArgument` for what makes no ranges.
    pub(crate) fn new(bins: Option<i64>, lower: Option<f64>, upper: Option<f64>) -> Result<Self> {
        let most = limits::AGGREGATE_BINS;
        let count = |bins: i64| {
            let count = usize::try_from(bins).ok().filter(|count| (1..=most).contains(count));
            count.ok_or_else(|| {
                Error::invalid(format!("a histogram has from 1 to {most} bins")).at_member("bins")
            })
        };
        for (name, end) in [("lower", lower), ("upper", upper)] {
            if end.is_some_and(|end| !end.is_finite()) {
                return Err(Error::invalid(format!("{name} is no number")).at_member(name));
            }
        }
        if let (Some(lower), Some(upper)) = (lower, upper)
            && !(lower < upper && (upper - lower).is_finite())
        {
            return Err(Error::invalid("a histogram needs lower below upper").at_member("lower"));
        }
        Ok(Self { bins: bins.map(count).transpose()?, lower, upper })
    }

    /// The ranges for some values; none for no values.
    pub(crate) fn of(&self, values: Extremes) -> Option<Bins> {
        let (least, greatest) = values.ends?;
        let lower = self.lower.unwrap_or(least);
        let upper = self.upper.unwrap_or(greatest);
        let count = self.bins.unwrap_or_else(|| default_bins(values.n));
        if lower < upper {
            return Some(Bins { lower, upper, count });
        }
        // Values that are all equal, or that lie beyond the end that is given.
        let (lower, upper) = match (self.lower, self.upper) {
            (Some(lower), _) => (lower, above(lower)),
            (None, Some(upper)) => (below(upper), upper),
            (None, None) => (below(lower), above(upper)),
        };
        Some(Bins { lower, upper, count })
    }
}

/// A half more, or the next number where that is the same.
fn above(value: f64) -> f64 {
    (value + 0.5).max(value.next_up()).min(f64::MAX)
}

/// A half less, or the number before where that is the same.
fn below(value: f64) -> f64 {
    (value - 0.5).min(value.next_down()).max(f64::MIN)
}

/// ceil(log2 n) + 1.
fn default_bins(n: u64) -> usize {
    (u64::BITS - n.saturating_sub(1).leading_zeros()) as usize + 1
}

/// Takes values in any order.
#[derive(Debug)]
pub(crate) struct HistogramCounts {
    bins: Bins,
    edges: Edges,
    /// Below, in each range, and above.
    counts: Vec<i64>,
}

impl HistogramCounts {
    pub(crate) fn new(bins: Bins) -> Self {
        Self { bins, edges: Edges::of(bins), counts: vec![0; bins.count + 2] }
    }

    pub(crate) fn add(&mut self, value: f64) {
        if let Some(count) = self.counts.get_mut(self.edges.place(value)) {
            *count += 1;
        }
    }

    /// The ranges of the values that were added.
    pub(crate) fn finish(self) -> Histogram {
        let Self { bins, counts, .. } = self;
        let end = |at: usize| if at == bins.count { bins.upper } else { bins.start(at) };
        let ranges = counts.iter().skip(1).take(bins.count).enumerate().map(|(at, count)| {
            HistogramRange { lower: end(at) + 0.0, upper: end(at + 1) + 0.0, count: *count }
        });
        Histogram {
            ranges: ranges.collect(),
            below: counts.first().copied().unwrap_or_default(),
            above: counts.last().copied().unwrap_or_default(),
            ..Histogram::default()
        }
    }
}

/// The histogram of the values of a series.
pub(crate) fn histogram<S>(values: &Values<S>, wanted: &WantedBins) -> Histogram {
    let mut extremes = Extremes::default();
    values.numbers().for_each(|value| extremes.add(value));
    let mut histogram = Histogram::default();
    if let Some(bins) = wanted.of(extremes) {
        let mut counts = HistogramCounts::new(bins);
        values.numbers().for_each(|value| counts.add(value));
        histogram = counts.finish();
    }
    Histogram {
        n: extremes.n.cast_signed(),
        minimum: extremes.least(),
        maximum: extremes.greatest(),
        not_numbers: values.not_numbers,
        skipped: values.skipped,
        ..histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::results::figures::random::Random;
    use crate::services::results::figures::series_tests::values;

    fn of(numbers: &[f64], bins: Option<i64>, lower: Option<f64>, upper: Option<f64>) -> Histogram {
        let wanted = WantedBins::new(bins, lower, upper).unwrap();
        histogram(&values(numbers), &wanted)
    }

    fn counts(histogram: &Histogram) -> Vec<i64> {
        histogram.ranges.iter().map(|range| range.count).collect()
    }

    const EXAMPLE: [f64; 8] = [10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 9.9];

    #[test]
    fn the_example_with_four_bins() {
        for bins in [Some(4), None] {
            let histogram = of(&EXAMPLE, bins, None, None);
            assert_eq!(counts(&histogram), [1, 2, 2, 3]);
            assert_eq!((histogram.below, histogram.above, histogram.n), (0, 0, 8));
            let ends = (histogram.ranges[0].lower, histogram.ranges[3].upper);
            assert_eq!(ends, (9.8, 10.2));
            assert_eq!((histogram.minimum, histogram.maximum), (Some(9.8), Some(10.2)));
        }
    }

    #[test]
    fn bins_grow_with_the_logarithm() {
        let expected = [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (8, 4), (9, 5), (1024, 11)];
        for (n, bins) in expected {
            assert_eq!(default_bins(n), bins, "{n}");
        }
    }

    #[test]
    fn equal_values_lie_in_the_middle_and_none_have_no_ranges() {
        let equal = of(&[3.3; 6], Some(2), None, None);
        assert_eq!((equal.ranges[0].lower, equal.ranges[1].upper), (2.8, 3.8));
        assert_eq!(counts(&equal), [0, 6]);
        let none = of(&[], Some(3), None, None);
        assert_eq!(none, Histogram::default());
        assert_eq!(of(&[], None, Some(1.0), Some(2.0)).ranges, []);
        for value in [1e300, f64::MAX, -f64::MAX, 1e17] {
            let huge = of(&[value; 3], None, None, None);
            assert_eq!(counts(&huge).iter().sum::<i64>(), 3, "{value}");
            assert!(huge.ranges.iter().all(|range| range.lower <= range.upper));
        }
    }

    #[test]
    fn ends_that_are_given_count_what_lies_outside() {
        let histogram = of(&EXAMPLE, Some(2), Some(9.9), Some(10.1));
        assert_eq!((histogram.below, histogram.above), (1, 1));
        assert_eq!(counts(&histogram), [2, 4]);
        // One end beyond all values.
        let above = of(&EXAMPLE, Some(2), Some(20.0), None);
        assert_eq!((above.below, above.ranges[1].upper), (8, 20.5));
        let below = of(&EXAMPLE, Some(2), None, Some(9.8));
        assert_eq!((below.above, counts(&below)), (7, vec![0, 1]));
        for (bins, lower, upper) in [
            (Some(0), None, None),
            (Some(10_001), None, None),
            (None, Some(1.0), Some(1.0)),
            (None, Some(2.0), Some(1.0)),
            (None, Some(f64::NAN), None),
            (None, None, Some(f64::INFINITY)),
            (None, Some(-1e308), Some(1e308)),
        ] {
            assert!(WantedBins::new(bins, lower, upper).is_err());
        }
    }

    #[test]
    fn the_greatest_ranges_are_numbers() {
        let wide = of(&[-f64::MAX, 0.0, 1.0, f64::MAX], Some(4), None, None);
        assert_eq!(counts(&wide), [1, 0, 2, 1]);
        assert!(wide.ranges.iter().all(|range| range.lower.is_finite() && range.upper.is_finite()));
    }

    #[test]
    fn each_value_is_in_the_range_that_contains_it() {
        let mut random = Random::new(9);
        for round in 0..200 {
            let step = random.of(&[0.1, 1.0, 1e-7, 1e9]);
            let numbers: Vec<f64> =
                (0..random.below(40)).map(|_| random.below(20) as f64 * step - 3.0).collect();
            let bins = (random.below(3) > 0).then(|| random.below(12) as i64 + 1);
            let histogram = of(&numbers, bins, None, None);
            let last = histogram.ranges.len().saturating_sub(1);
            for (at, range) in histogram.ranges.iter().enumerate() {
                let is_in = |value: &&f64| {
                    **value >= range.lower
                        && (**value < range.upper || (at == last && **value <= range.upper))
                };
                assert_eq!(range.count, numbers.iter().filter(is_in).count() as i64, "{round}");
                if at > 0 {
                    assert_eq!(histogram.ranges[at - 1].upper, range.lower);
                }
            }
            assert_eq!(counts(&histogram).iter().sum::<i64>(), numbers.len() as i64);
        }
    }
}
