//! Conditions under which a specification applies: numeric or textual values, decoded by their
//! content.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::value::stored::{DecodeResult, EncodeResult, Input, Output, bad};
use crate::value::wire::{record, wire_enum};
use crate::value::{Number, Stored, limits};

wire_enum! {
    /// The type of the value of a condition.
    pub enum ConditionType {
        /// Numbers.
        Numeric = "NUMERIC",
        /// Texts.
        String = "STRING",
    }
}

record! {
    /// A range of a numeric condition; integers and floats keep their type.
    pub struct ConditionRange new() {
        /// Lower end, included; open when absent.
        pub min: Option<Number>,
        /// Upper end, included; open when absent.
        pub max: Option<Number>,
        /// Distance between the points that are measured; does not restrict the values in the
        /// range.
        pub step: Option<Number>,
    }

    /// The value of a numeric condition; `range` and `discrete` may both be present.
    pub struct NumericConditionValue new() {
        /// `NUMERIC`, unless a projection omits it.
        pub condition_type: Option<ConditionType>,
        /// Ranges.
        pub range: Option<Vec<ConditionRange>>,
        /// Single values; null entries are kept.
        pub discrete: Option<Vec<Option<Number>>>,
        /// Unit of all numbers.
        pub unit: Option<String>,
    }

    /// The value of a textual condition.
    pub struct StringConditionValue new() {
        /// `STRING`, unless a projection omits it.
        pub condition_type: Option<ConditionType>,
        /// Texts.
        pub discrete: Option<Vec<String>>,
    }

    /// A condition.
    #[fields(name, unit(get(unit), of(String)), condition_type(get(condition_type)))]
    pub struct Condition new() {
        /// Name, such as `Temperature`.
        pub name: Option<String>,
        /// Value.
        pub value: Option<ConditionValue>,
    }
}

/// The value of a condition.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConditionValue {
    /// Numbers.
    Numeric(NumericConditionValue),
    /// Texts.
    String(StringConditionValue),
    /// Texts that were sent with members that only numbers have, such as a unit. A batch uses them
    /// to return a rejected item unchanged; they are not stored.
    StringAsSent {
        /// The value without these members.
        value: StringConditionValue,
        /// The value as it was sent.
        sent: Value,
    },
    /// A value whose type and entries contradict each other, as it was sent. A batch uses it to
    /// reject one item and return it unchanged; no stored record contains one.
    Contradictory(Value),
}

impl From<NumericConditionValue> for ConditionValue {
    fn from(value: NumericConditionValue) -> Self {
        Self::Numeric(value)
    }
}

impl From<StringConditionValue> for ConditionValue {
    fn from(value: StringConditionValue) -> Self {
        Self::String(value)
    }
}

record! {
    /// A condition value whose entries are not decoded yet.
    wire pub struct UntypedConditionValue {
        /// The type, if the request contains it.
        pub condition_type: Option<ConditionType>,
        /// Ranges.
        pub range: Option<Value>,
        /// Single values.
        pub discrete: Option<Vec<Value>>,
        /// Unit.
        pub unit: Option<String>,
    }
}

impl ConditionValue {
    /// Decodes by the type. Without a type the entries decide: any number, range or unit makes the
    /// value numeric.
    fn decode(value: &Value) -> Option<Self> {
        let untyped = <UntypedConditionValue as Deserialize>::deserialize(value).ok()?;
        let entries = untyped.discrete.iter().flatten();
        let kind = untyped.condition_type.unwrap_or_else(|| {
            let is_numeric = untyped.range.is_some()
                || untyped.unit.is_some()
                || entries.clone().any(Value::is_number);
            if is_numeric { ConditionType::Numeric } else { ConditionType::String }
        });
        match kind {
            ConditionType::Numeric => {
                <NumericConditionValue as Deserialize>::deserialize(value).ok().map(Self::Numeric)
            }
            ConditionType::String => {
                let ranges = untyped
                    .range
                    .as_ref()
                    .is_some_and(|range| range.as_array().is_none_or(|r| !r.is_empty()));
                if ranges {
                    return None;
                }
                let is_more = untyped.range.is_some() || untyped.unit.is_some();
                let texts = <StringConditionValue as Deserialize>::deserialize(value).ok()?;
                Some(if is_more {
                    Self::StringAsSent { value: texts, sent: value.clone() }
                } else {
                    Self::String(texts)
                })
            }
        }
    }

    /// The value, if it consists of texts.
    pub(crate) fn texts(&self) -> Option<&StringConditionValue> {
        match self {
            Self::String(value) | Self::StringAsSent { value, .. } => Some(value),
            Self::Numeric(_) | Self::Contradictory(_) => None,
        }
    }

    fn condition_type(&self) -> ConditionType {
        match self {
            Self::Numeric(_) => ConditionType::Numeric,
            Self::String(_) | Self::StringAsSent { .. } | Self::Contradictory(_) => {
                ConditionType::String
            }
        }
    }
}

impl<'de> Deserialize<'de> for ConditionValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if !value.is_object() {
            return Err(D::Error::custom("a condition value must be an object"));
        }
        Ok(Self::decode(&value).unwrap_or(Self::Contradictory(value)))
    }
}

impl Serialize for ConditionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Numeric(value) => Serialize::serialize(value, serializer),
            Self::String(value) => Serialize::serialize(value, serializer),
            Self::StringAsSent { sent: value, .. } | Self::Contradictory(value) => {
                value.serialize(serializer)
            }
        }
    }
}

impl Stored for ConditionValue {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        match self {
            Self::Numeric(value) => {
                0u8.put(out)?;
                value.put(out)
            }
            Self::String(value) | Self::StringAsSent { value, .. } => {
                1u8.put(out)?;
                value.put(out)
            }
            Self::Contradictory(value) => {
                2u8.put(out)?;
                value.put(out)
            }
        }
    }

    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        match u8::take(input)? {
            0 => NumericConditionValue::take(input).map(Self::Numeric),
            1 => StringConditionValue::take(input).map(Self::String),
            2 => <Value as Stored>::take(input).map(Self::Contradictory),
            _ => Err(bad("condition value")),
        }
    }
}

impl Condition {
    fn unit(&self) -> Option<&str> {
        match &self.value {
            Some(ConditionValue::Numeric(value)) => value.unit.as_deref(),
            _ => None,
        }
    }

    fn condition_type(&self) -> Option<ConditionType> {
        self.value.as_ref().map(ConditionValue::condition_type)
    }
}

/// Rejects numbers that no response could contain.
///
/// # Errors
/// `InvalidArgument` if `number` is not finite or beyond [`limits::SPECIFICATION_MAGNITUDE`].
pub(crate) fn check_magnitude(number: f64, member: &str) -> Result<()> {
    if number.is_finite() && number.abs() <= limits::SPECIFICATION_MAGNITUDE {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{number} is not between -{max:e} and {max:e}",
        max = limits::SPECIFICATION_MAGNITUDE
    ))
    .at_member(member))
}

impl Condition {
    /// The condition as it is stored, with its type.
    ///
    /// # Errors
    /// `InvalidArgument` if its type contradicts its entries, or a number is out of range.
    pub(crate) fn checked(mut self) -> Result<Self> {
        if let Some(ConditionValue::StringAsSent { value, .. }) = self.value {
            self.value = Some(value.into());
        }
        match &mut self.value {
            None => {}
            Some(ConditionValue::Numeric(value)) => {
                if value.condition_type == Some(ConditionType::String) {
                    return Err(self.contradiction());
                }
                value.condition_type = Some(ConditionType::Numeric);
                let ranges = value
                    .range
                    .iter()
                    .flatten()
                    .flat_map(|range| [range.min, range.max, range.step]);
                for number in ranges.chain(value.discrete.iter().flatten().copied()).flatten() {
                    check_magnitude(number.as_f64(), "conditions")?;
                }
            }
            Some(ConditionValue::String(value)) => {
                if value.condition_type == Some(ConditionType::Numeric) {
                    return Err(self.contradiction());
                }
                value.condition_type = Some(ConditionType::String);
            }
            Some(ConditionValue::StringAsSent { .. } | ConditionValue::Contradictory(_)) => {
                return Err(self.contradiction());
            }
        }
        Ok(self)
    }

    fn contradiction(&self) -> Error {
        Error::invalid(format!(
            "the value of the condition {:?} does not have the form of its type: NUMERIC takes \
             ranges and numbers, STRING takes texts",
            self.name.as_deref().unwrap_or_default()
        ))
        .at_member("conditions")
    }
}

fn number_text(number: Number) -> String {
    match number {
        Number::Int(value) => value.to_string(),
        Number::Float(value) => value.to_string(),
    }
}

/// The conditions as text, one line each: `condition_<name>` with the unit in parentheses, and the
/// ranges and single values.
///
/// Conditions without a name or a value are omitted.
///
/// ```
/// use stationdb::specifications::{Condition, condition_summary};
///
/// let conditions: Vec<Condition> = serde_json::from_str(
///     r#"[{"name": "Temperature", "value": {"range": [{"min": -25, "max": 85, "step": 20}], "unit": "C"}}]"#,
/// )?;
/// assert_eq!(condition_summary(&conditions)["condition_Temperature(C)"], "[min: -25; max: 85; step: 20]");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn condition_summary(conditions: &[Condition]) -> BTreeMap<String, String> {
    let mut summary = BTreeMap::new();
    for condition in conditions {
        let (Some(name), Some(value)) = (&condition.name, &condition.value) else { continue };
        let (unit, entries) = match value {
            ConditionValue::Numeric(value) => {
                let ranges = value.range.iter().flatten().map(|range| {
                    let parts = [("min", range.min), ("max", range.max), ("step", range.step)];
                    let parts: Vec<String> = parts
                        .iter()
                        .filter_map(|(part, number)| {
                            number.map(|n| format!("{part}: {}", number_text(n)))
                        })
                        .collect();
                    format!("[{}]", parts.join("; "))
                });
                let discrete =
                    value.discrete.iter().flatten().flatten().map(|number| number_text(*number));
                (value.unit.as_deref(), ranges.chain(discrete).collect::<Vec<_>>())
            }
            ConditionValue::String(value) | ConditionValue::StringAsSent { value, .. } => {
                (None, value.discrete.clone().unwrap_or_default())
            }
            ConditionValue::Contradictory(_) => continue,
        };
        let unit = unit.map(|unit| format!("({unit})")).unwrap_or_default();
        summary.insert(format!("condition_{name}{unit}"), entries.join(", "));
    }
    summary
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::value::stored;

    fn decode(value: Value) -> ConditionValue {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn values_are_decoded_by_type_and_without_one_by_entries() {
        for numeric in [
            json!({"conditionType": "NUMERIC", "discrete": [1, 2.0, null]}),
            json!({"condition_type": "numeric", "range": [{"min": 0}]}),
            json!({"conditionType": "NUMERIC"}),
            json!({"discrete": [1]}),
            json!({"range": []}),
            json!({"unit": "V"}),
        ] {
            assert!(matches!(decode(numeric.clone()), ConditionValue::Numeric(_)), "{numeric}");
        }
        for text in [
            json!({"conditionType": "STRING", "discrete": ["1"]}),
            json!({"discrete": ["1"]}),
            json!({"discrete": []}),
            json!({}),
        ] {
            assert!(matches!(decode(text.clone()), ConditionValue::String(_)), "{text}");
        }
        for more in [
            json!({"conditionType": "STRING", "discrete": ["a"], "range": [], "unit": "V"}),
            json!({"conditionType": "STRING", "discrete": [], "unit": ""}),
            json!({"conditionType": "STRING", "range": []}),
        ] {
            let value = decode(more.clone());
            assert_eq!(serde_json::to_value(&value).unwrap(), more, "returned as it was sent");
            let texts = ConditionValue::String(value.texts().unwrap().clone());
            let stored = |value: &ConditionValue| stored::to_bytes(value).unwrap();
            assert_eq!(stored(&value), stored(&texts));
            let condition = Condition { name: Some("c".into()), value: Some(value) };
            assert_eq!(condition.checked().unwrap().value, Some(texts));
        }
        for contradiction in [
            json!({"conditionType": "NUMERIC", "discrete": ["1"]}),
            json!({"conditionType": "STRING", "discrete": [1]}),
            json!({"conditionType": "STRING", "discrete": ["a", null]}),
            json!({"conditionType": "STRING", "range": [{"min": 0}]}),
            json!({"discrete": [1, "a"]}),
            json!({"conditionType": "COMPLEX"}),
            json!({"range": 7}),
        ] {
            let value = decode(contradiction.clone());
            assert_eq!(value, ConditionValue::Contradictory(contradiction.clone()));
            assert_eq!(
                serde_json::to_value(&value).unwrap(),
                contradiction,
                "returned as it was sent"
            );
            let condition = Condition { name: Some("c".into()), value: Some(value) };
            assert_eq!(
                condition.clone().checked().unwrap_err().kind(),
                crate::ErrorKind::InvalidArgument
            );
        }
        assert!(serde_json::from_value::<ConditionValue>(json!([1])).is_err());
    }

    #[test]
    fn integers_and_floats_come_back_as_they_came() {
        let text = r#"{"name":"Supply","value":{"conditionType":"NUMERIC","range":[{"min":1,"max":1.0,"step":0.5}],"discrete":[1,2.0,null],"unit":"V"}}"#;
        let condition: Condition = serde_json::from_str(text).unwrap();
        let condition = condition.checked().unwrap();
        let read: Condition = stored::from_bytes(&stored::to_bytes(&condition).unwrap()).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn numbers_beyond_the_magnitude_are_refused() {
        for (number, is_good) in [(7.9e28, true), (-7.9e28, true), (8e28, false), (-8e28, false)] {
            for value in [json!({"discrete": [number]}), json!({"range": [{"step": number}]})] {
                let condition = Condition { name: None, value: Some(decode(value)) };
                assert_eq!(condition.checked().is_ok(), is_good, "{number}");
            }
        }
        let infinite = NumericConditionValue {
            discrete: Some(vec![Some(f64::NAN.into())]),
            ..Default::default()
        };
        assert!(Condition { name: None, value: Some(infinite.into()) }.checked().is_err());
    }

    #[test]
    fn summaries_leave_out_what_is_null() {
        let conditions: Vec<Condition> = serde_json::from_value(json!([
            {"name": "T", "value": {"range": [{"min": 1, "step": 2.5}, {"max": 3}], "discrete": [7], "unit": "C"}},
            {"name": "Mode", "value": {"discrete": ["a", "b"]}},
            {"name": "no value"}, {"value": {"discrete": ["no name"]}},
        ]))
        .unwrap();
        assert_eq!(
            condition_summary(&conditions),
            BTreeMap::from([
                ("condition_T(C)".to_owned(), "[min: 1; step: 2.5], [max: 3], 7".to_owned()),
                ("condition_Mode".to_owned(), "a, b".to_owned()),
            ])
        );
    }
}
