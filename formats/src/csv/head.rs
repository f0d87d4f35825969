//! The first bytes of a text, read before its form is known.

use std::io::Read;

use stationdb::{Error, Result};

use crate::lines::invalid;

/// Bytes that are read at a time.
pub(super) const READ_BYTES: usize = 64 * 1024;

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
        // The first line end decides for all of them.
        let is_cr = match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) => {
                bytes.get(at) == Some(&b'\r')
                    && !matches!(bytes.get(at + 1), Some(b'\n'))
                    && (at + 1 < bytes.len() || is_whole)
            }
            None => false,
        };
        Self { bytes, is_whole, line: 1, is_cr }
    }

    /// Reads at most [`READ_BYTES`].
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn read(input: &mut dyn Read) -> Result<Self> {
        let mut bytes = Vec::new();
        let is_whole = fill(input, &mut bytes)?;
        Ok(Self::new(bytes, is_whole))
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
                self.is_whole = fill(input, &mut self.bytes)?;
            }
            if self.bytes.is_empty() {
                let what = "skipLines skips all lines of the text; set it to fewer";
                return Err(invalid(self.line.saturating_sub(1).max(1), what));
            }
        }
        Ok(())
    }
}

/// Reads until there are [`READ_BYTES`]; whether the text ends before.
fn fill(input: &mut dyn Read, bytes: &mut Vec<u8>) -> Result<bool> {
    let mut filled = bytes.len();
    bytes.resize(READ_BYTES.max(filled), 0);
    while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
        match input.read(room) {
            Ok(0) => break,
            Ok(count) => filled += count.min(room.len()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("reading the CSV text", error)),
        }
    }
    bytes.truncate(filled);
    Ok(filled < READ_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

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
