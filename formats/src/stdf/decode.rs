//! From the bytes of a record to values.
//!
//! What must hold: the length in the header is right, whatever the fields say. A record may end
//! before a field, never within one.

use stationdb::{Error, Result};

use super::fields::{Form, Item, RecordType};
use super::value::{Bits, ByteOrder, List, Value};

/// The bytes of a record that are not read yet.
#[derive(Clone, Copy)]
struct Rest<'r> {
    bytes: &'r [u8],
    order: ByteOrder,
}

impl<'r> Rest<'r> {
    fn take(&mut self, count: usize) -> Option<&'r [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        let mut array = *taken;
        if self.order == ByteOrder::Big {
            array.reverse();
        }
        Some(array)
    }

    fn byte(&mut self) -> Option<usize> {
        self.array::<1>().map(|[byte]| usize::from(byte))
    }

    fn short(&mut self) -> Option<usize> {
        self.array().map(|bytes| usize::from(u16::from_le_bytes(bytes)))
    }

    /// An unsigned number of 1, 2, 4 or 8 bytes.
    fn unsigned(&mut self, size: usize) -> Option<u64> {
        Some(match size {
            1 => self.array::<1>().map(|[byte]| u64::from(byte))?,
            2 => u64::from(u16::from_le_bytes(self.array()?)),
            4 => u64::from(u32::from_le_bytes(self.array()?)),
            8 => u64::from_le_bytes(self.array()?),
            _ => return None,
        })
    }

    /// A value; `None` if the bytes end within it. A nibble has none of its own.
    fn item(&mut self, item: Item, size: usize) -> Option<Value<'r>> {
        Some(match item {
            Item::U1 | Item::B1 => Value::Unsigned(self.unsigned(1)?),
            Item::U2 => Value::Unsigned(self.unsigned(2)?),
            Item::U4 => Value::Unsigned(self.unsigned(4)?),
            Item::U8 => Value::Unsigned(self.unsigned(8)?),
            Item::Uf => Value::Unsigned(self.unsigned(size)?),
            Item::I1 => Value::Signed(i64::from(i8::from_le_bytes(self.array()?))),
            Item::I2 => Value::Signed(i64::from(i16::from_le_bytes(self.array()?))),
            Item::I4 => Value::Signed(i64::from(i32::from_le_bytes(self.array()?))),
            Item::R4 => Value::Single(f32::from_le_bytes(self.array()?)),
            Item::R8 => Value::Double(f64::from_le_bytes(self.array()?)),
            Item::C1 => Value::Text(self.take(1)?),
            Item::Cf => Value::Text(self.take(size)?),
            Item::Cn => {
                let count = self.byte()?;
                Value::Text(self.take(count)?)
            }
            Item::Sn => {
                let count = self.short()?;
                Value::Text(self.take(count)?)
            }
            Item::Bn => {
                let count = self.byte()?;
                Value::Bits(Bits { count: 8 * count, bytes: self.take(count)? })
            }
            Item::Dn => {
                let count = self.short()?;
                Value::Bits(Bits { count, bytes: self.take(count.div_ceil(8))? })
            }
            Item::Vn => {
                let count = self.short()?;
                self.list(Item::Vn, count, 0)?
            }
            Item::N1 => return None,
        })
    }

    /// A value behind the number of its type, in `V*n`.
    fn typed(&mut self) -> Option<Value<'r>> {
        let item = match self.byte()? {
            // Fills up to an even place.
            0 => return Some(Value::Missing),
            1 => Item::U1,
            2 => Item::U2,
            3 => Item::U4,
            4 => Item::I1,
            5 => Item::I2,
            6 => Item::I4,
            7 => Item::R4,
            8 => Item::R8,
            10 => Item::Cn,
            11 => Item::Bn,
            12 => Item::Dn,
            // A nibble in a byte.
            13 => Item::U1,
            _ => return None,
        };
        self.item(item, 0)
    }

    /// The next value of a list. Nibbles are read by [`List::iter`].
    fn member(&mut self, item: Item, size: usize) -> Option<Value<'r>> {
        match item {
            Item::Vn => self.typed(),
            item => self.item(item, size),
        }
    }

    fn list(&mut self, item: Item, count: usize, size: usize) -> Option<Value<'r>> {
        let fixed = match item {
            Item::N1 => Some(count.div_ceil(2)),
            Item::U1 | Item::I1 | Item::B1 | Item::C1 => Some(count),
            Item::U2 | Item::I2 => Some(2 * count),
            Item::U4 | Item::I4 | Item::R4 => Some(4 * count),
            Item::U8 | Item::R8 => Some(8 * count),
            Item::Uf if !matches!(size, 1 | 2 | 4 | 8) && count > 0 => return None,
            Item::Uf | Item::Cf => Some(size * count),
            Item::Cn | Item::Sn | Item::Bn | Item::Dn | Item::Vn => None,
        };
        let length = match fixed {
            Some(length) => length,
            None => {
                let mut ahead = *self;
                for _ in 0..count {
                    ahead.member(item, size)?;
                }
                self.bytes.len() - ahead.bytes.len()
            }
        };
        let bytes = self.take(length)?;
        Some(Value::List(List { item, size, count, bytes, order: self.order }))
    }
}

impl<'r> List<'r> {
    /// The values.
    pub fn iter(self) -> impl Iterator<Item = Value<'r>> {
        let mut rest = Rest { bytes: self.bytes, order: self.order };
        (0..self.count).map_while(move |at| match self.item {
            Item::N1 => {
                let byte = *self.bytes.get(at / 2)?;
                Some(Value::Unsigned(u64::from(byte >> (4 * (at % 2)) & 15)))
            }
            item => rest.member(item, self.size),
        })
    }
}

/// What the fields of one record have.
pub(super) struct Decoder<'r> {
    record: &'static RecordType,
    rest: Rest<'r>,
    /// Where the record is in the file.
    position: u64,
}

impl<'r> Decoder<'r> {
    pub(super) fn new(
        record: &'static RecordType,
        bytes: &'r [u8],
        order: ByteOrder,
        position: u64,
    ) -> Self {
        Self { record, rest: Rest { bytes, order }, position }
    }

    /// Reads into `values`, which has a place for each field or for the first ones.
    ///
    /// # Errors
    /// `InvalidArgument` for a record that ends within a field.
    pub(super) fn read(mut self, values: &mut [Value<'r>]) -> Result<()> {
        for (at, field) in self.record.fields.iter().enumerate().take(values.len()) {
            let number = |at: usize| {
                let value = values.get(at).and_then(|value| value.unsigned());
                value.and_then(|count| usize::try_from(count).ok())
            };
            let (item, count, size) = match field.form {
                Form::One(item) => (item, None, 0),
                Form::List(item, count) => (item, number(count), 0),
                Form::Sized(item, count, size) => (item, number(count), number(size).unwrap_or(0)),
            };
            let is_one = matches!(field.form, Form::One(_));
            // A list without values has no bytes, so it is there wherever its count is.
            if self.rest.bytes.is_empty() && (is_one || count != Some(0)) {
                continue;
            }
            let value = if is_one {
                self.rest.item(item, size)
            } else {
                self.rest.list(item, count.unwrap_or(0), size)
            };
            let value = value.ok_or_else(|| {
                let (record, at, name) = (self.record.name, self.position, field.name);
                Error::invalid(format!(
                    "reading STDF: the {record} at byte {at} ends within its field {name}: the \
                     file is damaged, so import it from where it was written"
                ))
            })?;
            if let Some(place) = values.get_mut(at) {
                *place = value;
            }
        }
        Ok(())
    }
}
