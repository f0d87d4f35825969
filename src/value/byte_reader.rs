//! Numbers of variable length, seven bits a byte, the lowest first: of Parquet's encodings, of runs
//! and of the journal. A slice is never read beyond its end.

/// Appends a number.
#[inline]
pub fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads the number at `at`, and moves `at` behind it. `None` when it is cut off or has more than
/// [`VARINT_BYTES_MAX`] bytes; `at` is then after the last byte read.
#[inline]
pub fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..7 * VARINT_BYTES_MAX).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A slice and a position in it.
#[derive(Debug)]
pub struct ByteReader<'a> {
    /// The slice.
    pub all: &'a [u8],
    /// The position.
    pub at: usize,
}

/// Bytes of the longest varint.
pub const VARINT_BYTES_MAX: usize = 10;

impl<'a> ByteReader<'a> {
    /// Begins at the first byte.
    #[must_use]
    pub fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// Bytes after the position.
    #[must_use]
    pub fn left(&self) -> usize {
        self.all.len().saturating_sub(self.at)
    }

    /// The next byte; `None` at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next bytes; `None` if there are fewer.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let part = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(part)
    }

    /// The number in the next bytes.
    pub fn number<T, const N: usize>(&mut self, read: fn([u8; N]) -> T) -> Option<T> {
        self.take(N)?.first_chunk().map(|bytes| read(*bytes))
    }

    /// The next `count` numbers.
    pub fn numbers<T, const N: usize>(
        &mut self,
        count: usize,
        read: fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        let (numbers, _) = self.take(count.checked_mul(N)?)?.as_chunks::<N>();
        Some(numbers.iter().map(|number| read(*number)).collect())
    }

    /// An unsigned number, as [`take_varint`].
    pub fn varint(&mut self) -> Option<u64> {
        take_varint(self.all, &mut self.at)
    }

    /// A signed number as a varint, its sign in the lowest bit.
    pub fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}
