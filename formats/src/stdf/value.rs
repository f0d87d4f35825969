//! The values of fields.

use std::borrow::Cow;

use super::fields::Item;

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// The value of a field. Texts, bits and lists are in the bytes of their record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value<'r> {
    /// The record ends before the field.
    #[default]
    Missing,
    /// `U*1` to `U*8`, `B*1` and `N*1`.
    Unsigned(u64),
    /// `I*1` to `I*4`.
    Signed(i64),
    /// `R*4`.
    Single(f32),
    /// `R*8`.
    Double(f64),
    /// `C*1`, `C*n` and `S*n`. The standard asks for ASCII, and files have anything.
    Text(&'r [u8]),
    /// `B*n` and `D*n`.
    Bits(Bits<'r>),
    /// `kxTYPE` and `V*n`.
    List(List<'r>),
}

impl<'r> Value<'r> {
    /// An unsigned number.
    #[must_use]
    pub fn unsigned(self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(number),
            _ => None,
        }
    }

    /// A whole number.
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        match self {
            Self::Unsigned(number) => i64::try_from(number).ok(),
            Self::Signed(number) => Some(number),
            _ => None,
        }
    }

    /// A number of four bytes with a point.
    #[must_use]
    pub fn single(self) -> Option<f32> {
        match self {
            Self::Single(number) => Some(number),
            _ => None,
        }
    }

    /// A text: UTF-8, else each byte is a character of Latin-1.
    #[must_use]
    pub fn text(self) -> Option<Cow<'r, str>> {
        match self {
            Self::Text(bytes) => Some(text(bytes)),
            _ => None,
        }
    }

    /// A text that is not blank.
    #[must_use]
    pub fn given(self) -> Option<Cow<'r, str>> {
        self.text().filter(|text| !text.trim_matches(['\0', ' ']).trim().is_empty())
    }

    /// The values of a list; none for any other value.
    pub fn items(self) -> impl Iterator<Item = Value<'r>> {
        let list = match self {
            Self::List(list) => Some(list),
            _ => None,
        };
        list.into_iter().flat_map(List::iter)
    }

    /// Which bits are set, from 0.
    pub fn set_bits(self) -> impl Iterator<Item = usize> {
        let bits = match self {
            Self::Bits(bits) => Some(bits),
            _ => None,
        };
        bits.into_iter().flat_map(Bits::set)
    }
}

/// UTF-8, else Latin-1.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(
        |_| Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Cow::Borrowed,
    )
}

/// A field of bits, the lowest bit of the first byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits<'r> {
    /// How many bits there are.
    pub count: usize,
    /// Their bytes. Bits behind the count mean nothing.
    pub bytes: &'r [u8],
}

impl<'r> Bits<'r> {
    /// Which bits are set, from 0.
    pub fn set(self) -> impl Iterator<Item = usize> + use<'r> {
        let bytes = self.bytes.iter().enumerate();
        bytes
            .flat_map(|(at, byte)| {
                (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| at * 8 + bit)
            })
            .take_while(move |at| *at < self.count)
    }
}

/// A list of values, read as it is gone through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct List<'r> {
    pub(super) item: Item,
    /// The bytes of each value, for types whose size another field says.
    pub(super) size: usize,
    pub(super) count: usize,
    pub(super) bytes: &'r [u8],
    pub(super) order: ByteOrder,
}

impl<'r> List<'r> {
    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
