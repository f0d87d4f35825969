//! The fields of metadata: numbers and texts, one after the other.

use stationdb::{Error, Result};

use super::input::damaged;

/// Bytes of metadata, and a position in them.
pub(super) struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
    /// The position of the bytes in the file.
    base: u64,
    is_big: bool,
}

impl<'b> Fields<'b> {
    pub(super) fn new(bytes: &'b [u8], base: u64, is_big: bool) -> Self {
        Self { bytes, at: 0, base, is_big }
    }

    /// The position in the file.
    pub(super) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// An error at the position.
    pub(super) fn error(&self, why: impl std::fmt::Display) -> Error {
        damaged(self.position(), why)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'b [u8]> {
        let end = self.at.checked_add(len);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.error("the metadata ends within a field"))?;
        self.at += len;
        Ok(taken)
    }

    /// The bytes of a number, the lowest first.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        if self.is_big {
            out.reverse();
        }
        Ok(out)
    }

    /// The bytes of a number of a size that metadata do not have, the lowest first.
    pub(super) fn ordered(&mut self, len: usize) -> Result<Vec<u8>> {
        let mut out = self.take(len)?.to_vec();
        if self.is_big {
            out.reverse();
        }
        Ok(out)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bytes of a text.
    pub(super) fn text(&mut self) -> Result<&'b [u8]> {
        let len = self.u32()?;
        self.take(len as usize)
    }

    /// A number of entries, each of which has at least `size` bytes.
    pub(super) fn count(&mut self, size: usize, what: &str) -> Result<usize> {
        let count = self.u32()? as usize;
        let left = self.bytes.len().saturating_sub(self.at);
        if count > left / size {
            return Err(self.error(format_args!("{left} bytes cannot have {count} {what}")));
        }
        Ok(count)
    }
}
