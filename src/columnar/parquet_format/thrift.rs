//! Walks Thrift's compact protocol, in which Parquet stores its metadata.
//!
//! A walk allocates nothing for the lengths that the bytes declare. After it, every declared length
//! was there in full, and nesting and number of structs are within bounds. So a parser that
//! reserves memory by declared lengths reserves at most a small multiple of the bytes.
//!
//! What must hold: the parser reads the same message that was walked. It takes the type of a known
//! field for granted, so a field that declares another one would make it read other lengths. The
//! walk therefore compares the types of the fields that it is given, see [`Kind`].

use crate::error::Error;
use crate::value::byte_reader::{ByteReader, VARINT_BYTES_MAX};

const DEPTH_MAX: usize = 16;
/// Structs of one message; a file of 10,000 columns and 20 row groups has about as many.
const STRUCTS_MAX: u32 = 1_000_000;

/// Why a walk ended early.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The bytes end inside the message.
    #[error("it is cut off")]
    TooShort,
    /// The bytes are not a message within the bounds.
    #[error("{0}")]
    Malformed(&'static str),
    /// What the message describes is beyond a bound.
    #[error("{0}")]
    Beyond(String),
}

impl Stop {
    /// The error of what was walked.
    #[must_use]
    pub fn into_error(self, what: &str) -> Error {
        match self {
            Self::Beyond(bound) => Error::limit(format!("{what} {bound}")),
            other => Error::invalid(format!("{what} is damaged: {other}")),
        }
    }
}

pub(in crate::columnar) type WalkResult<T> = std::result::Result<T, Stop>;

/// The type that the format gives to a field or to the elements of a list.
#[derive(Clone, Copy, Debug)]
pub(in crate::columnar) enum Kind {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List(&'static Kind),
    Struct(Fields),
    /// The format has no field with this id.
    Unknown,
}

/// The types of the fields of a struct; the first one has the id 1.
pub(in crate::columnar) type Fields = &'static [Kind];

impl Kind {
    fn is(&self, of_type: u8) -> bool {
        match self {
            Self::Bool => matches!(of_type, 1 | 2),
            Self::Byte => of_type == 3,
            Self::I16 => of_type == 4,
            Self::I32 => of_type == 5,
            Self::I64 => of_type == 6,
            Self::Double => of_type == 7,
            Self::Binary => of_type == 8,
            Self::List(_) => of_type == 9,
            Self::Struct(_) => of_type == 12,
            Self::Unknown => true,
        }
    }
}

/// What a walk passes on, with the path of field ids that leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::columnar) enum Part {
    Number(i64),
    /// A struct ends.
    End,
}

/// Walks one struct at the start of `bytes`, which has these fields and others, and passes its
/// parts on. Returns the bytes of the struct.
pub(in crate::columnar) fn walk(
    bytes: &[u8],
    fields: Fields,
    each: &mut Each<'_>,
) -> WalkResult<usize> {
    let mut walker = Walker {
        bytes: ByteReader::new(bytes),
        structs: 0,
        path: [0; DEPTH_MAX + 1],
        path_len: 0,
        each,
    };
    walker.structure(0, fields)?;
    Ok(walker.bytes.at)
}

/// What takes the parts of a walk.
type Each<'e> = dyn FnMut(&[i16], Part) -> WalkResult<()> + 'e;

struct Walker<'b, 'e> {
    bytes: ByteReader<'b>,
    structs: u32,
    /// The ids of the fields that the walk is inside of; each struct adds one.
    path: [i16; DEPTH_MAX + 1],
    path_len: usize,
    each: &'e mut Each<'e>,
}

impl Walker<'_, '_> {
    fn pass(&mut self, part: Part) -> WalkResult<()> {
        (self.each)(self.path.get(..self.path_len).unwrap_or_default(), part)
    }

    fn byte(&mut self) -> WalkResult<u8> {
        self.bytes.byte().ok_or(Stop::TooShort)
    }

    fn skip(&mut self, count: u64) -> WalkResult<()> {
        let count = usize::try_from(count).ok();
        count.and_then(|count| self.bytes.take(count)).map(|_| ()).ok_or(Stop::TooShort)
    }

    /// Reads a number with [`ByteReader`].
    fn read<T>(&mut self, read: fn(&mut ByteReader<'_>) -> Option<T>) -> WalkResult<T> {
        let from = self.bytes.at;
        read(&mut self.bytes).ok_or_else(|| match self.bytes.at - from {
            VARINT_BYTES_MAX => Stop::Malformed("a number has too many bytes"),
            _ => Stop::TooShort,
        })
    }

    fn varint(&mut self) -> WalkResult<u64> {
        self.read(|bytes| bytes.varint())
    }

    fn zigzag(&mut self) -> WalkResult<i64> {
        self.read(|bytes| bytes.zigzag())
    }

    fn structure(&mut self, depth: usize, fields: Fields) -> WalkResult<()> {
        if depth > DEPTH_MAX {
            return Err(Stop::Malformed("it is nested too deeply"));
        }
        self.structs += 1;
        if self.structs > STRUCTS_MAX {
            return Err(Stop::Malformed("it has too many parts"));
        }
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return self.pass(Part::End);
            }
            let next = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok(),
                delta => id.checked_add(i16::from(delta)),
            };
            id = next.ok_or(Stop::Malformed("a field has too large a number"))?;
            let place = usize::try_from(i32::from(id) - 1);
            let known = place.ok().and_then(|place| fields.get(place));
            if known.is_some_and(|kind| !kind.is(head & 0x0f)) {
                return Err(Stop::Malformed("a field has another type than the format gives it"));
            }
            let Some(last) = self.path.get_mut(self.path_len) else {
                return Err(Stop::Malformed("it is nested too deeply"));
            };
            *last = id;
            self.path_len += 1;
            // The type of a boolean field contains its value.
            if !matches!(head & 0x0f, 1 | 2) {
                self.value(head & 0x0f, known, depth)?;
            }
            self.path_len -= 1;
        }
    }

    fn value(&mut self, of_type: u8, known: Option<&'static Kind>, depth: usize) -> WalkResult<()> {
        match of_type {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.zigzag()?;
                let fits = match of_type {
                    4 => i16::try_from(value).is_ok(),
                    5 => i32::try_from(value).is_ok(),
                    _ => true,
                };
                if !fits {
                    return Err(Stop::Malformed("a number is larger than its type"));
                }
                self.pass(Part::Number(value))
            }
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.varint()?,
                    count => u64::from(count),
                };
                let element = match known {
                    Some(Kind::List(element)) => Some(*element),
                    _ => None,
                };
                if count > 0 && element.is_some_and(|kind| !kind.is(head & 0x0f)) {
                    return Err(Stop::Malformed(
                        "a list has elements of another type than the format gives it",
                    ));
                }
                self.repeat(count, &[head & 0x0f], element, depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                count => {
                    let types = self.byte()?;
                    self.repeat(count, &[types >> 4, types & 0x0f], None, depth)
                }
            },
            12 => {
                let fields = match known {
                    Some(Kind::Struct(fields)) => *fields,
                    _ => &[],
                };
                self.structure(depth + 1, fields)
            }
            13 => self.skip(16),
            _ => Err(Stop::Malformed("it has a value of an unknown type")),
        }
    }

    fn repeat(
        &mut self,
        count: u64,
        types: &[u8],
        known: Option<&'static Kind>,
        depth: usize,
    ) -> WalkResult<()> {
        if depth >= DEPTH_MAX {
            return Err(Stop::Malformed("it is nested too deeply"));
        }
        // Every element takes at least one byte.
        if count > self.bytes.left() as u64 {
            return Err(Stop::TooShort);
        }
        // Parsers do not agree on the bytes of booleans in lists that they skip.
        if count > 0 && types.iter().any(|of_type| matches!(of_type, 1 | 2)) {
            return Err(Stop::Malformed("it has a list of an unknown kind"));
        }
        for _ in 0..count {
            for of_type in types {
                self.value(*of_type, known, depth + 1)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Numbers = Vec<(Vec<i16>, i64)>;

    fn numbers_of(bytes: &[u8], fields: Fields) -> WalkResult<(usize, Numbers)> {
        let mut found = Vec::new();
        let len = walk(bytes, fields, &mut |path, part| {
            if let Part::Number(value) = part {
                found.push((path.to_vec(), value));
            }
            Ok(())
        })?;
        Ok((len, found))
    }

    fn numbers(bytes: &[u8]) -> WalkResult<(usize, Numbers)> {
        numbers_of(bytes, &[])
    }

    /// A parser that takes the types of fields for granted would read another message.
    #[test]
    fn a_known_field_has_the_type_that_the_format_gives_it() {
        const INNER: Fields = &[Kind::I64];
        const FIELDS: Fields =
            &[Kind::I32, Kind::Bool, Kind::Binary, Kind::List(&Kind::I32), Kind::Struct(INNER)];
        let good = [
            0x15, 5, 0x11, 0x18, 1, b'a', 0x19, 0x25, 2, 4, 0x1c, 0x16, 0x80, 1, 0, 0x07, 42, 0, 0,
            0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(numbers_of(&good, FIELDS).unwrap().0, good.len());
        // An empty list may have elements of no type.
        assert!(numbers_of(&[0x49, 0, 0], FIELDS).is_ok());
        for (at, byte) in [(0, 0x16), (0, 0x18), (2, 0x15), (3, 0x19), (7, 0x26), (11, 0x15)] {
            let mut bad = good;
            bad[at] = byte;
            let stop = numbers_of(&bad, FIELDS).unwrap_err();
            assert!(matches!(stop, Stop::Malformed(_)), "byte {at}: {stop}");
        }
        let is_malformed = |bytes: &[u8]| matches!(numbers(bytes), Err(Stop::Malformed(_)));
        // A number of a field, a number of 32 bits and one of 16, each one too large.
        for bytes in [&[0x05, 0x80, 0x80, 4, 2, 0][..], &[0x15, 0x80, 0x80, 0x80, 0x80, 0x10, 0]] {
            assert!(is_malformed(bytes), "{bytes:?}");
        }
        assert!(is_malformed(&[0x14, 0x80, 0x80, 4, 0]) && is_malformed(&[0x19, 0x11, 1, 0]));
        assert!(numbers(&[0x05, 0xfe, 0xff, 3, 2, 0]).is_ok());
        assert!(is_malformed(&[0x05, 0xfe, 0xff, 3, 2, 0x15, 2, 0]), "one above the last field");
    }

    #[test]
    fn structs_are_walked_to_their_end() {
        // 1: i32 -3, 2: true, 3: "ab", 4: list of i32 [1, 2], 5: { 1: i64 64 }, 21: double.
        let bytes = [
            0x15, 5, 0x11, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x16, 0x80, 1, 0, 0x07, 42,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 99,
        ];
        let (len, found) = numbers(&bytes).unwrap();
        assert_eq!(len, bytes.len() - 1);
        assert_eq!(found, [(vec![1], -3), (vec![4], 1), (vec![4], 2), (vec![5, 1], 64)]);
        for end in 0..len {
            assert_eq!(numbers(&bytes[..end]).unwrap_err(), Stop::TooShort, "{end}");
        }
    }

    #[test]
    fn bounds_are_kept() {
        let is_malformed = |bytes: &[u8]| matches!(numbers(bytes), Err(Stop::Malformed(_)));
        assert!(is_malformed(&[0x1c; 100]), "nested structs");
        assert!(is_malformed(&[0x19; 101]), "nested lists");
        assert!(is_malformed(&[0x1e, 0]), "an unknown type");
        assert!(is_malformed(&[&[0x15][..], &[0xff; 11]].concat()), "an endless number");
        assert_eq!(numbers(&[0x18, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]).unwrap_err(), Stop::TooShort);
        assert_eq!(
            numbers(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x7f, 0]).unwrap_err(),
            Stop::TooShort
        );
        // A list of more empty structs than are allowed.
        let many = STRUCTS_MAX;
        let mut bytes = vec![
            0x19,
            0xfc,
            (many & 0x7f) as u8 | 0x80,
            (many >> 7 & 0x7f) as u8 | 0x80,
            (many >> 14) as u8,
        ];
        bytes.resize(many as usize + 10, 0);
        assert!(is_malformed(&bytes));
    }
}
