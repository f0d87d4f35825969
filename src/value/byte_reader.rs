//! Numbers of variable length, seven bits a byte, the lowest first: of Parquet's encodings, of runs
//! and of the journal. A slice is never read beyond its end.

/// Appends a number.
#[inline]
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads the number at `at`, and moves `at` behind it. `None` when it is cut off or has more than
/// [`VARINT_BYTES_MAX`] bytes; `at` is then after the last byte read.
#[inline]
pub(crate) fn take_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
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
pub(crate) struct ByteReader<'a> {
    pub all: &'a [u8],
    pub at: usize,
}

/// Bytes of the longest varint.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

impl<'a> ByteReader<'a> {
    pub(crate) fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// Bytes after the position.
    pub(crate) fn left(&self) -> usize {
        self.all.len().saturating_sub(self.at)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let part = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(part)
    }

    /// The number in the next bytes.
    pub(crate) fn number<T, const N: usize>(&mut self, read: fn([u8; N]) -> T) -> Option<T> {
        self.take(N)?.first_chunk().map(|bytes| read(*bytes))
    }

    /// The next `count` numbers.
    pub(crate) fn numbers<T, const N: usize>(
        &mut self,
        count: usize,
        read: fn([u8; N]) -> T,
    ) -> Option<Vec<T>> {
        let (numbers, _) = self.take(count.checked_mul(N)?)?.as_chunks::<N>();
        Some(numbers.iter().map(|number| read(*number)).collect())
    }

    /// An unsigned number, as [`take_varint`].
    pub(crate) fn varint(&mut self) -> Option<u64> {
        take_varint(self.all, &mut self.at)
    }

    /// A signed number as a varint, its sign in the lowest bit.
    pub(crate) fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}
