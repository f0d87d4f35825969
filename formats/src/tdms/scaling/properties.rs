//! The properties that describe scales.

use crate::tdms::contents::Properties;
use crate::tdms::types::Value;

/// Coefficients of a polynomial, and points of a table.
const VALUES: u64 = 65_536;

/// The properties of a channel, a group or a file.
#[derive(Clone, Copy)]
pub(super) struct ScaleProperties<'p>(pub(super) &'p Properties);

impl ScaleProperties<'_> {
    /// The number of scales.
    pub(super) fn count(self) -> u64 {
        let counted = self.0.get("NI_Number_Of_Scales");
        if let Some(count) = counted.and_then(Value::number) {
            return if count >= 1.0 { count as u64 } else { 0 };
        }
        let number = |name: &String| -> Option<u64> {
            let rest = name.strip_prefix("NI_Scale[")?;
            rest.strip_suffix("]_Scale_Type")?.parse().ok()
        };
        let last = self.0.keys().filter_map(number).max();
        last.map_or(0, |last| last.saturating_add(1))
    }

    /// The type of a scale.
    pub(super) fn scale_type(&self, at: u64) -> Option<&str> {
        self.0.get(&format!("NI_Scale[{at}]_Scale_Type")).and_then(Value::as_text)
    }

    fn value(&self, at: u64, name: &str) -> Option<&Value> {
        self.0.get(&format!("NI_Scale[{at}]_{name}"))
    }

    /// The scale that a member names.
    pub(super) fn source(self, at: u64, name: &str) -> Option<u64> {
        self.value(at, name).and_then(Value::whole)
    }

    /// The message for a member that is missing.
    pub(super) fn lacks(self, at: u64, name: &str) -> String {
        format!("it has no number NI_Scale[{at}]_{name}")
    }

    pub(super) fn number(self, at: u64, name: &str) -> Result<f64, String> {
        let number = self.value(at, name).and_then(Value::number);
        number.ok_or_else(|| self.lacks(at, name))
    }

    /// A member that is a code, with its value where it is absent.
    pub(super) fn code_or(self, at: u64, name: &str, absent: u64) -> u64 {
        self.source(at, name).unwrap_or(absent)
    }

    fn all(self, at: u64, name: &str, count: u64) -> Result<Vec<f64>, String> {
        if count > VALUES {
            return Err(format!("NI_Scale[{at}]_{name} has {count} values, more than {VALUES}"));
        }
        (0..count).map(|item| self.number(at, &format!("{name}[{item}]"))).collect()
    }

    pub(super) fn coefficients(self, at: u64) -> Result<Vec<f64>, String> {
        let count = self.code_or(at, "Polynomial_Coefficients_Size", 4);
        self.all(at, "Polynomial_Coefficients", count)
    }

    /// The points of a table, in the order of their inputs.
    pub(super) fn table(self, at: u64) -> Result<Vec<(f64, f64)>, String> {
        let size = |name: &str| self.source(at, name).ok_or_else(|| self.lacks(at, name));
        let count = size("Table_Pre_Scaled_Values_Size")?;
        if size("Table_Scaled_Values_Size")? != count {
            return Err(format!("the table of the scale {at} has unequal numbers of values"));
        }
        let inputs = self.all(at, "Table_Pre_Scaled_Values", count)?;
        let outputs = self.all(at, "Table_Scaled_Values", count)?;
        let mut points: Vec<(f64, f64)> = inputs.into_iter().zip(outputs).collect();
        let rises = |points: &[(f64, f64)]| points.is_sorted_by(|one, two| one.0 < two.0);
        if !rises(&points) {
            points.reverse();
        }
        if points.is_empty() || !rises(&points) {
            return Err(format!("the inputs of the table of the scale {at} neither rise nor fall"));
        }
        Ok(points)
    }
}
