//! Measurements of a step and their verdicts. The store never judges: what is judged here is stored
//! as the caller's verdict.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::model::StatusType;
use crate::model::specifications::{ConditionPoint, Specification, Verdict};
use crate::services::results::steps::number_text;
use crate::value::Number;

/// What a step measures, and what a measurement has to equal.
///
/// ```
/// use stationdb::results::Measured;
///
/// assert_eq!(Measured::from(true), Measured::Boolean(true));
/// assert_eq!(Measured::from(3), Measured::Number(3.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A number; NaN if there is none.
    Number(f64),
    /// A text.
    Text(String),
    /// A Boolean.
    Boolean(bool),
}

macro_rules! from {
    ($($ty:ty => |$value:ident| $into:expr;)*) => {
        $(impl From<$ty> for Measured {
            fn from($value: $ty) -> Self {
                $into
            }
        })*
    };
}

from! {
    f64 => |value| Self::Number(value);
    f32 => |value| Self::Number(value.into());
    i32 => |value| Self::Number(value.into());
    u32 => |value| Self::Number(value.into());
    bool => |value| Self::Boolean(value);
    &str => |value| Self::Text(value.to_owned());
    String => |value| Self::Text(value);
}

impl Measured {
    fn text(&self) -> String {
        match self {
            Self::Number(value) => number_text(*value),
            Self::Text(text) => text.clone(),
            Self::Boolean(value) => value.to_string(),
        }
    }

    fn is_missing(&self) -> bool {
        matches!(self, Self::Number(value) if value.is_nan())
    }
}

/// How a measurement is judged.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// Not at all.
    Log,
    /// By limits, which are inside.
    Range { low: Option<f64>, high: Option<f64> },
    /// By equality.
    Equals(Measured),
    /// By the specification with this `specId` of the product of the result.
    Specification(String),
}

/// One measurement of a step.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) name: String,
    pub(super) value: Measured,
    pub(super) units: Option<String>,
    pub(super) rule: Rule,
}

/// A measurement with its verdict.
#[derive(Debug, PartialEq)]
pub(super) struct Judged {
    /// The parameter of the step.
    pub(super) entry: BTreeMap<String, String>,
    /// What it means for the step.
    pub(super) status: StatusType,
}

impl Measurement {
    /// The `specId` of the specification that judges it.
    pub(super) fn spec_id(&self) -> Option<&str> {
        match &self.rule {
            Rule::Specification(id) => Some(id),
            _ => None,
        }
    }

    fn invalid(&self, message: &str) -> Error {
        Error::invalid(format!("the measurement {:?} {message}", self.name))
            .at_member("data.parameters")
    }

    /// Judges the measurement. `specification` is the one of [`Self::spec_id`].
    ///
    /// # Errors
    /// `InvalidArgument` for limits that are none or in the wrong order, for limits and
    /// specifications of something that is no number, and for another unit than that of the
    /// specification.
    pub(super) fn judge(
        self,
        specification: Option<&Specification>,
        conditions: &[(&str, ConditionPoint)],
    ) -> Result<Judged> {
        let mut entry = BTreeMap::new();
        let mut set = |key: &str, text: String| entry.insert(key.to_owned(), text);
        set("name", self.name.clone());
        set("measurement", self.value.text());
        let mut units = self.units.clone();
        let verdict = match &self.rule {
            Rule::Log => None,
            Rule::Range { low, high } => {
                let value = self.number("limits")?;
                self.check_limits(*low, *high)?;
                set("comparisonType", inclusive(low.is_some(), high.is_some()).to_owned());
                for (key, limit) in [("lowLimit", low), ("highLimit", high)] {
                    limit.map(|limit| set(key, number_text(limit)));
                }
                let is_inside =
                    low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high);
                Some(passed_if(is_inside))
            }
            Rule::Equals(expected) => {
                // A value that is missing has no type.
                let is_of_another_type =
                    std::mem::discriminant(expected) != std::mem::discriminant(&self.value);
                if is_of_another_type && !self.value.is_missing() {
                    return Err(self.invalid(
                        "is compared with another type; give the expected value in its type",
                    ));
                }
                set("comparisonType", "EQ".to_owned());
                match expected {
                    Measured::Number(_) => {
                        set("lowLimit", expected.text());
                        set("highLimit", expected.text());
                    }
                    Measured::Text(_) | Measured::Boolean(_) => {
                        set("expected", expected.text());
                    }
                }
                Some(passed_if(*expected == self.value))
            }
            Rule::Specification(id) => {
                let value = self.number("a specification")?;
                let Some(specification) = specification else {
                    return Err(Error::not_found("specification", id));
                };
                if let Some(unit) = specification.unit.as_ref().filter(|unit| !unit.is_empty()) {
                    if units.as_ref().is_some_and(|own| !own.is_empty() && own != unit) {
                        return Err(self.invalid(&format!(
                            "is in {:?}, and its specification {id:?} in {unit:?}; convert the \
                             value",
                            self.units.as_deref().unwrap_or_default()
                        )));
                    }
                    units = Some(unit.clone());
                }
                set("specId", id.clone());
                let limit = specification.limit.clone().unwrap_or_default();
                set(
                    "comparisonType",
                    exclusive(limit.min.is_some(), limit.max.is_some()).to_owned(),
                );
                for (key, limit) in [
                    ("lowLimit", limit.min),
                    ("highLimit", limit.max),
                    ("nominalValue", limit.typical),
                ] {
                    limit.map(|limit| set(key, exact_text(limit)));
                }
                Some(match specification.check(value, conditions) {
                    Verdict::Inside { .. } => StatusType::Passed,
                    Verdict::Outside { .. } => StatusType::Failed,
                    Verdict::NotMeasured => StatusType::Errored,
                    Verdict::NotApplicable => StatusType::Skipped,
                })
            }
        };
        if let Some(units) = units.filter(|units| !units.is_empty()) {
            set("units", units);
        }
        // A specification that does not apply says so of a missing value, too.
        let is_missing = self.value.is_missing() && verdict != Some(StatusType::Skipped);
        let verdict = if is_missing { Some(StatusType::Errored) } else { verdict };
        if let Some(text) = verdict.map(status_text) {
            set("status", text.to_owned());
        }
        Ok(Judged { entry, status: verdict.unwrap_or(StatusType::Done) })
    }

    fn number(&self, by: &str) -> Result<f64> {
        match self.value {
            Measured::Number(value) => Ok(value),
            _ => Err(self.invalid(&format!("is no number, and {by} judge numbers; use equals"))),
        }
    }

    fn check_limits(&self, low: Option<f64>, high: Option<f64>) -> Result<()> {
        if low.is_some_and(f64::is_nan) || high.is_some_and(f64::is_nan) {
            return Err(self.invalid("has a limit that is no number"));
        }
        match (low, high) {
            (Some(low), Some(high)) if low > high => Err(self.invalid(&format!(
                "has the low limit {low}, which is above its high limit {high}"
            ))),
            _ => Ok(()),
        }
    }
}

fn inclusive(has_low: bool, has_high: bool) -> &'static str {
    match (has_low, has_high) {
        (true, true) => "GELE",
        (true, false) => "GE",
        (false, true) => "LE",
        (false, false) => "LOG",
    }
}

fn exclusive(has_low: bool, has_high: bool) -> &'static str {
    match (has_low, has_high) {
        (true, true) => "GTLT",
        (true, false) => "GT",
        (false, true) => "LT",
        (false, false) => "LOG",
    }
}

fn passed_if(is_passed: bool) -> StatusType {
    if is_passed { StatusType::Passed } else { StatusType::Failed }
}

/// The status of a measurement as text.
fn status_text(status: StatusType) -> &'static str {
    match status {
        StatusType::Passed => "Passed",
        StatusType::Failed => "Failed",
        StatusType::Skipped => "Skipped",
        _ => "Errored",
    }
}

fn exact_text(limit: Number) -> String {
    match limit.as_integer() {
        Some(integer) => integer.to_string(),
        None => number_text(limit.as_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::specifications::{SpecificationLimit, SpecificationType};

    fn judged(value: impl Into<Measured>, rule: Rule) -> Judged {
        let measurement = Measurement { name: "m".into(), value: value.into(), units: None, rule };
        measurement.judge(None, &[]).unwrap()
    }

    #[test]
    fn limits_are_inside_and_stand_in_the_entry() {
        use StatusType::{Done, Errored, Failed, Passed};
        let range = |low, high| Rule::Range { low, high };
        for (value, low, high, comparison, status) in [
            (1.0, Some(1.0), Some(2.0), "GELE", Passed),
            (2.0, Some(1.0), Some(2.0), "GELE", Passed),
            (2.0_f64.next_up(), Some(1.0), Some(2.0), "GELE", Failed),
            (1.0_f64.next_down(), Some(1.0), None, "GE", Failed),
            (f64::INFINITY, Some(1.0), None, "GE", Passed),
            (2.0, None, Some(2.0), "LE", Passed),
            (f64::NAN, None, Some(2.0), "LE", Errored),
        ] {
            let judged = judged(value, range(low, high));
            assert_eq!(
                (judged.status, judged.entry["comparisonType"].as_str()),
                (status, comparison)
            );
            assert_eq!(judged.entry["status"], status_text(status));
            assert_eq!(judged.entry.contains_key("lowLimit"), low.is_some());
            assert_eq!(judged.entry.contains_key("highLimit"), high.is_some());
        }
        let logged = judged(5.0, Rule::Log);
        assert_eq!((logged.status, logged.entry.get("status")), (Done, None));
        assert_eq!(judged(f64::NAN, Rule::Log).status, Errored);
    }

    #[test]
    fn equality_is_of_one_type() {
        for (value, expected, is_passed) in [
            (Measured::from("a"), Measured::from("a"), true),
            (Measured::from("a"), Measured::from("A"), false),
            (Measured::from(true), Measured::from(false), false),
            (Measured::from(0.1 + 0.2), Measured::from(0.3), false),
            (Measured::from(3), Measured::from(3.0), true),
        ] {
            let judged = judged(value, Rule::Equals(expected));
            assert_eq!(judged.status, passed_if(is_passed));
            assert_eq!(judged.entry["comparisonType"], "EQ");
        }
        let mixed = Measurement {
            name: "m".into(),
            value: Measured::from("1"),
            units: None,
            rule: Rule::Equals(Measured::from(1)),
        };
        assert!(mixed.judge(None, &[]).is_err());
    }

    #[test]
    fn a_missing_value_has_no_type() {
        for (expected, key) in
            [(Measured::from("a"), "expected"), (true.into(), "expected"), (1.into(), "lowLimit")]
        {
            let judged = judged(f64::NAN, Rule::Equals(expected.clone()));
            assert_eq!(judged.status, StatusType::Errored);
            assert_eq!(judged.entry[key], expected.text());
        }
    }

    #[test]
    fn limits_that_are_none_are_refused() {
        for (value, low, high) in [
            (Measured::from(1), Some(2.0), Some(1.0)),
            (Measured::from(1), Some(f64::NAN), None),
            (Measured::from("1"), Some(0.0), None),
        ] {
            let rule = Rule::Range { low, high };
            let measurement = Measurement { name: "m".into(), value, units: None, rule };
            assert!(measurement.judge(None, &[]).is_err(), "{low:?} {high:?}");
        }
    }

    #[test]
    fn a_specification_gives_exclusive_limits_and_its_unit() {
        use StatusType::{Errored, Failed, Passed};
        let spec = |min: Option<f64>, max: Option<f64>| {
            let mut limit = SpecificationLimit::new();
            limit.min = min.map(Into::into);
            limit.max = max.map(Into::into);
            Specification {
                unit: Some("V".into()),
                r#type: Some(SpecificationType::Parametric),
                limit: Some(limit),
                ..Specification::default()
            }
        };
        let of = |value: f64, units: Option<&str>, spec: &Specification| {
            let units = units.map(str::to_owned);
            let rule = Rule::Specification("S".into());
            let measurement = Measurement { name: "m".into(), value: value.into(), units, rule };
            measurement.judge(Some(spec), &[])
        };
        for (value, min, max, comparison, status) in [
            (1.0, Some(1.0), Some(2.0), "GTLT", Failed),
            (1.5, Some(1.0), Some(2.0), "GTLT", Passed),
            (2.0, None, Some(2.0), "LT", Failed),
            (2.5, Some(2.0), None, "GT", Passed),
            (f64::NAN, Some(2.0), None, "GT", Errored),
        ] {
            let judged = of(value, None, &spec(min, max)).unwrap();
            assert_eq!(judged.status, status, "{value}");
            assert_eq!(judged.entry["comparisonType"], comparison);
            assert_eq!(
                (judged.entry["specId"].as_str(), judged.entry["units"].as_str()),
                ("S", "V")
            );
        }
        assert!(of(1.5, Some("V"), &spec(Some(1.0), None)).is_ok());
        assert!(of(1.5, Some("mV"), &spec(Some(1.0), None)).is_err());
    }
}
