//! Reads the numbers of Parquet encodings from a slice, never beyond its end.

/// A slice and a position in it.
pub(super) struct ByteReader<'a> {
    pub all: &'a [u8],
    pub at: usize,
}

/// Bytes of the longest varint.
pub(super) const VARINT_BYTES_MAX: usize = 10;

impl<'a> ByteReader<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    /// Bytes after the position.
    pub(super) fn left(&self) -> usize {
        self.all.len().saturating_sub(self.at)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let part = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(part)
    }

    /// An unsigned number, seven bits a byte, the lowest first. `None` when it is cut off or has
    /// more than [`VARINT_BYTES_MAX`] bytes; the position is then after the last byte read.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..7 * VARINT_BYTES_MAX).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number as a varint, its sign in the lowest bit.
    pub(super) fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}
