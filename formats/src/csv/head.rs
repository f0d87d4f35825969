//! The first bytes of a text, read before its form is known.

use std::io::Read;

use stationdb::{Error, Result};

use crate::limits;
use crate::lines::{at_line, ends_with_cr, invalid};
use crate::reading::filled;

/// Bytes that are read at a time.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// A blank, which may stand around quotes, unless it separates values.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The lines that end in these bytes.
pub(super) fn line_count(bytes: &[u8], line_end: u8) -> u64 {
    memchr::memchr_iter(line_end, bytes).count() as u64
}

/// The first bytes of a text, or those behind lines that are skipped.
#[derive(Debug, Default)]
pub(super) struct ReadHead {
    pub(super) bytes: Vec<u8>,
    /// Whether the text ends with them.
    pub(super) is_whole: bool,
    /// The line of the first byte, from 1.
    pub(super) line: u64,
    /// Whether lines end with a carriage return alone.
    pub(super) is_cr: bool,
}

impl ReadHead {
    /// The first bytes of a text, which may be all.
    pub(super) fn new(bytes: Vec<u8>, is_whole: bool) -> Self {
        let is_cr = ends_with_cr(&bytes, is_whole);
        Self { bytes, is_whole, line: 1, is_cr }
    }

    /// Reads at most [`READ_BYTES`].
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn read(input: &mut dyn Read) -> Result<Self> {
        let mut bytes = Vec::new();
        let is_whole = fill(input, &mut bytes, READ_BYTES)?;
        Ok(Self::new(bytes, is_whole))
    }

    /// Whether more bytes may be read, as a long header may go on behind these.
    pub(super) fn may_grow(&self) -> bool {
        !self.is_whole && self.bytes.len() < limits::HEADER_BYTES
    }

    /// Reads until there are four times as many bytes, or as many as a header may have.
    ///
    /// # Errors
    /// `Io`, with the line.
    pub(super) fn grow(&mut self, input: &mut dyn Read) -> Result<()> {
        let len = (4 * self.bytes.len()).clamp(READ_BYTES, limits::HEADER_BYTES);
        let end = if self.is_cr { b'\r' } else { b'\n' };
        let read = fill(input, &mut self.bytes, len);
        self.is_whole =
            read.map_err(|error| at_line(error, self.line + line_count(&self.bytes, end)))?;
        Ok(())
    }

    /// Leaves lines out, and reads as many bytes behind them.
    ///
    /// # Errors
    /// `InvalidArgument` if the text has no more lines; `Io`.
    pub(super) fn skip(&mut self, input: &mut dyn Read, lines: u64) -> Result<()> {
        let end = if self.is_cr { b'\r' } else { b'\n' };
        let mut left = lines;
        while left > 0 {
            let at = usize::try_from(left - 1).ok();
            let found = at.and_then(|at| memchr::memchr_iter(end, &self.bytes).nth(at));
            match found {
                Some(at) => {
                    self.bytes.drain(..=at);
                    (self.line, left) = (self.line + left, 0);
                }
                None => {
                    let count = line_count(&self.bytes, end);
                    (self.line, left) = (self.line + count, left - count);
                    self.bytes.clear();
                }
            }
            if !self.is_whole {
                self.is_whole = fill(input, &mut self.bytes, READ_BYTES)?;
            }
            if self.bytes.is_empty() {
                let what = "skipLines skips all lines of the text; set it to fewer";
                return Err(invalid(self.line.saturating_sub(1).max(1), what));
            }
        }
        Ok(())
    }
}

/// Reads until there are so many bytes; whether the text ends before.
fn fill(input: &mut dyn Read, bytes: &mut Vec<u8>, len: usize) -> Result<bool> {
    let before = bytes.len();
    bytes.resize(len.max(before), 0);
    let count = filled(input, bytes.get_mut(before..).unwrap_or_default())
        .map_err(|error| Error::io("reading the CSV text", error))?;
    bytes.truncate(before + count);
    Ok(bytes.len() < len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Slow;

    #[test]
    fn a_head_grows_up_to_the_bytes_of_a_header() {
        for (len, whole) in [(10, true), (300_000, true), (limits::HEADER_BYTES + 1, false)] {
            let text = b"ab\n".repeat(len / 3 + 1);
            let text = text.get(..len).unwrap();
            let mut input = Slow(text, 50_000);
            let mut head = ReadHead::read(&mut input).unwrap();
            while head.may_grow() {
                let before = head.bytes.len();
                head.grow(&mut input).unwrap();
                assert!(head.bytes.len() > before || head.is_whole);
            }
            assert_eq!(head.is_whole, whole);
            assert!(text.starts_with(&head.bytes));
            assert_eq!(head.bytes.len(), len.min(limits::HEADER_BYTES));
        }
    }

    #[test]
    fn the_first_line_end_decides_for_all() {
        for (text, is_whole, is_cr) in [
            ("a\nb", true, false),
            ("a\r\nb", true, false),
            ("a\r\r\nb", true, false),
            ("a\r\r\r\nb\r", true, false),
            ("a\rb\n", true, true),
            ("a\r\rb", true, true),
            ("a\r", true, true),
            ("a\r\r", false, false),
            ("a", true, false),
        ] {
            let head = ReadHead::new(text.as_bytes().to_vec(), is_whole);
            assert_eq!(head.is_cr, is_cr, "{text:?}");
        }
    }

    #[test]
    fn lines_are_skipped_beyond_what_was_read() {
        let note = "a note of some length, with a comma\n";
        for count in [1, 10, 6_000, 20_000] {
            let text = note.repeat(count) + "t,v\n1,2\n";
            let mut input = text.as_bytes();
            let mut head = ReadHead::read(&mut input).unwrap();
            head.skip(&mut input, count as u64).unwrap();
            assert_eq!(head.bytes, b"t,v\n1,2\n", "{count}");
            assert!(head.is_whole && head.line == count as u64 + 1, "{count}");
            let mut input = text.as_bytes();
            let mut head = ReadHead::read(&mut input).unwrap();
            assert!(head.skip(&mut input, count as u64 + 1).is_ok());
            assert!(head.skip(&mut input, 1).is_err(), "{count}");
        }
    }
}
