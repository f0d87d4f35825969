//! The axis of a plot: the places of values on it.

/// The range of an axis, over which places are parts from 0 to 1. What an axis computes with stays
/// finite whatever its ends are.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    pub fn new((from, to): (f64, f64)) -> Self {
        Self { from, to }
    }

    /// Where a value is.
    pub fn part(self, value: f64) -> f64 {
        let Self { from, to } = self;
        if (to - from).is_finite() {
            (value - from) / (to - from)
        } else {
            (value / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0)
        }
    }

    /// The value at a place.
    pub fn at(self, part: f64) -> f64 {
        let Self { from, to } = self;
        let value = if (to - from).is_finite() {
            from + (to - from) * part
        } else {
            (from / 2.0 + (to / 2.0 - from / 2.0) * part) * 2.0
        };
        // The margin of a picture may lie beyond the doubles.
        value.clamp(f64::MIN, f64::MAX)
    }

    /// Whether steps of a tenth, a hundredth and so on of the range can be counted: each is greater
    /// than the distance of neighbouring doubles, and none is below the smallest normal one.
    pub fn has_steps(self) -> bool {
        let span = self.to - self.from;
        (1e-290..1e300).contains(&span) && span > self.from.abs().max(self.to.abs()) * 1e-9
    }
}

/// Doubles whose ranges are hard: neighbours, and the ends of the type.
#[cfg(test)]
pub const EXTREMES: [f64; 19] = [
    f64::MIN,
    -1e300,
    -1e17,
    -1.0,
    -f64::MIN_POSITIVE,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1e-323,
    f64::MIN_POSITIVE,
    1e-290,
    1.0,
    1.0 + f64::EPSILON,
    99_999_999_999_999_984.0,
    1e17,
    100_000_000_000_000_016.0,
    1e300,
    f64::MAX,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::scale::range;

    #[test]
    fn ranges_are_never_empty_and_places_are_finite() {
        for low in EXTREMES {
            for high in EXTREMES {
                let (from, to) = range([low, high].into_iter());
                assert!(from < to && from.is_finite() && to.is_finite(), "{low:e} {high:e}");
                let axis = Axis::new((from, to));
                assert_eq!((axis.part(from), axis.part(to)), (0.0, 1.0), "{low:e} {high:e}");
                assert_eq!(axis.at(0.0), from, "{low:e} {high:e}");
                for part in [-0.05, 0.5, 1.0, 1.05] {
                    let at = axis.at(part);
                    assert!(at.is_finite(), "{low:e} {high:e} {part}");
                }
                let middle = axis.at(0.5);
                assert!(from <= middle && middle <= to, "{low:e} {high:e}");
            }
        }
    }
}
