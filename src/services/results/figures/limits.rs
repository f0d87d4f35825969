//! The limits of a measurement.

use crate::error::{Error, Result};

/// The lower and the upper limit, of which each may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Limits {
    /// The limits that a comparison has, of the numbers that stand beside it. One that is not
    /// finite is there, and no limit.
    pub(crate) fn of_comparison(
        comparison_type: Option<&str>,
        low_limit: Option<f64>,
        high_limit: Option<f64>,
    ) -> Self {
        let finite = |limit: Option<f64>| limit.filter(|limit| limit.is_finite());
        let (low, high) = (finite(low_limit), finite(high_limit));
        match comparison_type {
            Some("GE" | "GT") => Self { low, high: None },
            // Sequencers write the one limit as the lower one.
            Some("LE" | "LT") => Self { low: None, high: finite(high_limit.or(low_limit)) },
            Some("EQ" | "NE" | "LTGT" | "LEGE" | "LEGT" | "LTGE" | "LOG") => Self::default(),
            // Within limits, or whatever limits there are.
            _ => Self { low, high },
        }
    }

    /// The limits of a request; none if it has none.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no number, and for a lower limit above the upper one.
    pub(crate) fn of_request(low: Option<f64>, high: Option<f64>) -> Result<Option<Self>> {
        for (name, limit) in [("lowLimit", low), ("highLimit", high)] {
            if limit.is_some_and(|limit| !limit.is_finite()) {
                return Err(Error::invalid(format!("{name} is no number")).at_member(name));
            }
        }
        let limits = Self { low, high };
        if limits.is_invalid() {
            return Err(Error::invalid("lowLimit exceeds highLimit").at_member("lowLimit"));
        }
        Ok((limits != Self::default()).then_some(limits))
    }

    /// Whether the lower limit exceeds the upper one.
    pub(crate) fn is_invalid(&self) -> bool {
        self.low.zip(self.high).is_some_and(|(low, high)| low > high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_have_their_limits() {
        let (low, high) = (Some(1.0), Some(2.0));
        for (comparison, expected) in [
            (Some("GELE"), (low, high)),
            (Some("GTLT"), (low, high)),
            (Some("GELT"), (low, high)),
            (Some("GTLE"), (low, high)),
            (Some("EQT"), (low, high)),
            (Some("GE"), (low, None)),
            (Some("GT"), (low, None)),
            (Some("LE"), (None, high)),
            (Some("LT"), (None, high)),
            (Some("EQ"), (None, None)),
            (Some("NE"), (None, None)),
            (Some("LTGT"), (None, None)),
            (Some("LEGE"), (None, None)),
            (Some("LEGT"), (None, None)),
            (Some("LTGE"), (None, None)),
            (Some("LOG"), (None, None)),
            (Some("other"), (low, high)),
            (None, (low, high)),
        ] {
            let limits = Limits::of_comparison(comparison, low, high);
            assert_eq!((limits.low, limits.high), expected, "{comparison:?}");
        }
        let one = Limits::of_comparison(Some("LE"), low, None);
        assert_eq!((one.low, one.high), (None, low));
        // An upper limit that is there and bounds nothing is not the lower one.
        for high in [f64::INFINITY, f64::NAN] {
            assert_eq!(Limits::of_comparison(Some("LT"), low, Some(high)), Limits::default());
        }
        let none = Limits::of_comparison(None, Some(f64::NAN), Some(f64::INFINITY));
        assert_eq!(none, Limits::default());
    }

    #[test]
    fn limits_of_requests_are_checked() {
        assert_eq!(Limits::of_request(None, None).unwrap(), None);
        assert!(Limits::of_request(Some(1.0), Some(1.0)).unwrap().is_some());
        assert!(Limits::of_request(None, Some(1.0)).unwrap().is_some());
        assert!(Limits::of_request(Some(1.5), Some(1.0)).is_err());
        assert!(Limits::of_request(Some(f64::NAN), None).is_err());
    }
}
