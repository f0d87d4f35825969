//! The types of values, and the values of properties.

use stationdb::Result;

use super::fields::Fields;
use super::time::Moment;

/// The type of the values of a channel or property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// No values.
    Void,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    Bool,
    Text,
    Time,
    C32,
    C64,
    /// Extended-precision floats of so many bytes.
    Extended(u8),
}

impl Kind {
    /// The type with this code, if it is read.
    pub(super) fn of_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::Void,
            1 => Self::I8,
            2 => Self::I16,
            3 => Self::I32,
            4 => Self::I64,
            5 => Self::U8,
            6 => Self::U16,
            7 => Self::U32,
            8 => Self::U64,
            9 | 0x19 => Self::F32,
            10 | 0x1a => Self::F64,
            0x20 => Self::Text,
            0x21 => Self::Bool,
            0x44 => Self::Time,
            0x08_000c => Self::C32,
            0x10_000d => Self::C64,
            _ => return None,
        })
    }

    /// The type of a DAQmx scaler with this code.
    pub(super) fn of_scaler(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::U64,
            7 => Self::I64,
            8 => Self::F32,
            9 => Self::F64,
            u32::MAX => Self::Time,
            _ => return None,
        })
    }

    /// Bytes of a value; `None` for texts.
    pub(super) const fn size(self) -> Option<usize> {
        Some(match self {
            Self::Void => 0,
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C32 => 8,
            Self::Time | Self::C64 => 16,
            Self::Extended(size) => size as usize,
            Self::Text => return None,
        })
    }

    /// Whether the values are real numbers, which can be scaled.
    pub(super) const fn is_number(self) -> bool {
        !matches!(self, Self::Void | Self::Bool | Self::Text | Self::Time | Self::C32 | Self::C64)
    }

    /// The name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Void => "no values",
            Self::I8 => "I8",
            Self::I16 => "I16",
            Self::I32 => "I32",
            Self::I64 => "I64",
            Self::U8 => "U8",
            Self::U16 => "U16",
            Self::U32 => "U32",
            Self::U64 => "U64",
            Self::F32 => "SGL",
            Self::F64 => "DBL",
            Self::Bool => "booleans",
            Self::Text => "strings",
            Self::Time => "timestamps",
            Self::C32 => "CSG",
            Self::C64 => "CDB",
            Self::Extended(_) => "EXT",
        }
    }
}

/// The value of a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    Bool(bool),
    Text(String),
    Time(Moment),
    Complex(f64, f64),
}

impl Value {
    /// Reads a value of a type; `None` for no value.
    ///
    /// # Errors
    /// `InvalidArgument` where the metadata ends.
    pub(super) fn read(fields: &mut Fields<'_>, kind: Kind) -> Result<Option<Self>> {
        Ok(Some(match kind {
            Kind::Void => return Ok(None),
            Kind::I8 => Self::Int(i8::from_le_bytes(fields.array()?).into()),
            Kind::I16 => Self::Int(i16::from_le_bytes(fields.array()?).into()),
            Kind::I32 => Self::Int(i32::from_le_bytes(fields.array()?).into()),
            Kind::I64 => Self::Int(i64::from_le_bytes(fields.array()?)),
            Kind::U8 => Self::Int(u8::from_le_bytes(fields.array()?).into()),
            Kind::U16 => Self::Int(u16::from_le_bytes(fields.array()?).into()),
            Kind::U32 => Self::Int(fields.u32()?.into()),
            Kind::U64 => Self::Unsigned(fields.u64()?),
            Kind::F32 => Self::Single(f32::from_le_bytes(fields.array()?)),
            Kind::F64 => Self::Double(f64::from_le_bytes(fields.array()?)),
            Kind::Bool => Self::Bool(fields.array::<1>()? != [0]),
            Kind::Text => Self::Text(String::from_utf8_lossy(fields.text()?).into_owned()),
            // The lowest bytes first, so the fraction comes first in both orders.
            Kind::Time => {
                let all = u128::from_le_bytes(fields.array()?);
                Self::Time(Moment { seconds: (all >> 64) as i64, fraction: all as u64 })
            }
            // Their size is known to who reads them.
            Kind::Extended(_) => return Ok(None),
            Kind::C32 => {
                let parts = [fields.array()?, fields.array()?].map(f32::from_le_bytes);
                Self::Complex(parts[0].into(), parts[1].into())
            }
            Kind::C64 => {
                let parts = [fields.array()?, fields.array()?].map(f64::from_le_bytes);
                Self::Complex(parts[0], parts[1])
            }
        }))
    }

    /// The value as text.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Unsigned(value) => value.to_string(),
            Self::Single(value) => value.to_string(),
            Self::Double(value) => value.to_string(),
            Self::Bool(value) => value.to_string(),
            Self::Text(value) => value.clone(),
            Self::Time(value) => value.text(),
            Self::Complex(re, im) => format!("{re}{}{}i", if *im < 0.0 { "" } else { "+" }, im),
        }
    }

    /// The value as a number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Unsigned(value) => Some(*value as f64),
            Self::Single(value) => Some(f64::from(*value)),
            Self::Double(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) | Self::Time(_) | Self::Complex(..) => None,
        }
    }

    /// The value as a whole number that is not negative, if it is one.
    pub(super) fn whole(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::Unsigned(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as text, if it is one.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(value) => Some(value),
            _ => None,
        }
    }

    /// Memory that the value takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(value) => size_of::<Self>() + value.len(),
            _ => size_of::<Self>(),
        }
    }
}
