//! Numbers that keep the form in which they were written: an integer stays an integer.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Val;
use super::field::FieldType;
use super::part::{Part, Typed};
use super::stored::{DecodeResult, EncodeResult, Input, Output, Stored};

/// The shortest text that reads back as an equal finite double: that of -0 is that of 0.
#[must_use]
pub(crate) fn shortest(value: f64) -> String {
    let value = value + 0.0;
    if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// An integer or a float, as the caller wrote it.
///
/// `1` and `1.0` compare equal, but each is written back in its own form.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Written without fraction or exponent.
    Int(i64),
    /// Everything else.
    Float(f64),
}

impl Number {
    /// The value as a double.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "the services calculate with doubles")]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The value, when it was written as an integer.
    #[must_use]
    pub const fn as_integer(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

impl Default for Number {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            _ => self.as_f64() == other.as_f64(),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl Part for Number {
    type Of = Self;

    fn part(&self) -> Option<&Self> {
        Some(self)
    }
}

/// Filters see a double.
impl Typed for Number {
    const TYPE: FieldType = FieldType::Double;
}

impl From<&Number> for Val<'_> {
    fn from(number: &Number) -> Self {
        number.as_f64().into()
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        match number.as_i64() {
            Some(value) => Ok(Self::Int(value)),
            None => number
                .as_f64()
                .map(Self::Float)
                .ok_or_else(|| serde::de::Error::custom("the number does not fit in a double")),
        }
    }
}

impl Stored for Number {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        match self {
            Self::Int(value) => {
                0u8.put(out)?;
                value.put(out)
            }
            Self::Float(value) => {
                1u8.put(out)?;
                value.put(out)
            }
        }
    }

    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        match u8::take(input)? {
            0 => Ok(Self::Int(i64::take(input)?)),
            1 => Ok(Self::Float(f64::take(input)?)),
            _ => Err(super::stored::bad("number")),
        }
    }
}
