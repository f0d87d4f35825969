//! Walks Thrift's compact protocol, in which Parquet stores its metadata.
//!
//! A walk allocates nothing for the lengths that the bytes declare. After it, every declared length
//! was there in full, and nesting and number of structs are within bounds. So a parser that
//! reserves memory by declared lengths reserves at most a small multiple of the bytes.

use super::byte_reader::{ByteReader, VARINT_BYTES_MAX};
use crate::error::{Error, Result};

const DEPTH_MAX: usize = 16;
/// Structs of one message; a file of 10,000 columns and 20 row groups has about as many.
const STRUCTS_MAX: u32 = 1_000_000;

/// Why a walk ended early.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stop {
    /// The bytes end inside the message.
    #[error("it is cut off")]
    TooShort,
    /// The bytes are not a message within the bounds.
    #[error("{0}")]
    Malformed(&'static str),
}

impl Stop {
    pub(super) fn into_error(self, what: &str) -> Error {
        Error::invalid(format!("{what} is damaged: {self}"))
    }
}

type Walked<T> = std::result::Result<T, Stop>;

/// Walks one struct at the start of `bytes`, and calls `number` with the path of field ids of each
/// integer and its value. Returns the bytes of the struct.
pub(super) fn walk(bytes: &[u8], number: impl FnMut(&[i64], i64)) -> Walked<usize> {
    let mut walker = Walker {
        bytes: ByteReader::new(bytes),
        structs: 0,
        path: [0; DEPTH_MAX + 1],
        path_len: 0,
        number,
    };
    walker.structure(0)?;
    Ok(walker.bytes.at)
}

/// [`walk`] for a message that must be complete.
pub(super) fn check(bytes: &[u8], what: &str) -> Result<()> {
    walk(bytes, |_, _| {}).map(|_| ()).map_err(|stop| stop.into_error(what))
}

struct Walker<'b, F> {
    bytes: ByteReader<'b>,
    structs: u32,
    /// The ids of the fields that the walk is inside of; each struct adds one.
    path: [i64; DEPTH_MAX + 1],
    path_len: usize,
    number: F,
}

impl<F: FnMut(&[i64], i64)> Walker<'_, F> {
    fn byte(&mut self) -> Walked<u8> {
        self.bytes.byte().ok_or(Stop::TooShort)
    }

    fn skip(&mut self, count: u64) -> Walked<()> {
        let count = usize::try_from(count).ok();
        count.and_then(|count| self.bytes.take(count)).map(|_| ()).ok_or(Stop::TooShort)
    }

    /// Reads a number with [`ByteReader`].
    fn read<T>(&mut self, read: impl FnOnce(&mut ByteReader<'_>) -> Option<T>) -> Walked<T> {
        let from = self.bytes.at;
        read(&mut self.bytes).ok_or_else(|| match self.bytes.at - from {
            VARINT_BYTES_MAX => Stop::Malformed("a number has too many bytes"),
            _ => Stop::TooShort,
        })
    }

    fn varint(&mut self) -> Walked<u64> {
        self.read(|bytes| bytes.varint())
    }

    fn zigzag(&mut self) -> Walked<i64> {
        self.read(|bytes| bytes.zigzag())
    }

    fn structure(&mut self, depth: usize) -> Walked<()> {
        if depth > DEPTH_MAX {
            return Err(Stop::Malformed("it is nested too deeply"));
        }
        self.structs += 1;
        if self.structs > STRUCTS_MAX {
            return Err(Stop::Malformed("it has too many parts"));
        }
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            if head & 0x0f == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.zigzag()?,
                delta => id.wrapping_add(i64::from(delta)),
            };
            let Some(last) = self.path.get_mut(self.path_len) else {
                return Err(Stop::Malformed("it is nested too deeply"));
            };
            *last = id;
            self.path_len += 1;
            // The type of a boolean field contains its value.
            if !matches!(head & 0x0f, 1 | 2) {
                self.value(head & 0x0f, depth)?;
            }
            self.path_len -= 1;
        }
    }

    fn value(&mut self, of_type: u8, depth: usize) -> Walked<()> {
        match of_type {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.zigzag()?;
                (self.number)(self.path.get(..self.path_len).unwrap_or_default(), value);
                Ok(())
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
                self.repeat(count, &[head & 0x0f], depth)
            }
            11 => match self.varint()? {
                0 => Ok(()),
                count => {
                    let types = self.byte()?;
                    self.repeat(count, &[types >> 4, types & 0x0f], depth)
                }
            },
            12 => self.structure(depth + 1),
            13 => self.skip(16),
            _ => Err(Stop::Malformed("it has a value of an unknown type")),
        }
    }

    fn repeat(&mut self, count: u64, types: &[u8], depth: usize) -> Walked<()> {
        if depth >= DEPTH_MAX {
            return Err(Stop::Malformed("it is nested too deeply"));
        }
        // Every element takes at least one byte.
        if count > self.bytes.left() as u64 {
            return Err(Stop::TooShort);
        }
        for _ in 0..count {
            for of_type in types {
                self.value(*of_type, depth + 1)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Walked<(usize, Vec<(Vec<i64>, i64)>)> {
        let mut found = Vec::new();
        let len = walk(bytes, |path, value| found.push((path.to_vec(), value)))?;
        Ok((len, found))
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
