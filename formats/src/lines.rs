//! The lines of a text in a file, with their places, so that a part can be read again.

use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom};

use memchr::memchr;
use stationdb::tables::readers::foreign;
use stationdb::{Error, Place, Result};

use crate::dos_end::text_len;
use crate::limits;
use crate::parquet::ReadSeek;

const BUFFER_BYTES: usize = 256 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether lines end with a carriage return alone, which the first line end of a text decides for all of
/// them. A run of carriage returns before a line feed is one line end: programs that write CR LF into a
/// file that makes CR LF of each LF leave CR CR LF. `is_whole` says that the text ends with these bytes.
pub(crate) fn ends_with_cr(start: &[u8], is_whole: bool) -> bool {
    let Some(at) = start.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return false;
    };
    let rest = start.get(at..).unwrap_or_default();
    let run = rest.iter().take_while(|byte| **byte == b'\r').count();
    match rest.get(run) {
        Some(behind) => run > 0 && *behind != b'\n',
        None => is_whole,
    }
}

/// A line without the carriage returns at its end.
pub(crate) fn without_cr(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r'] = line {
        line = rest;
    }
    line
}

/// The start of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct At {
    /// Bytes before it.
    pub(crate) byte: u64,
    /// Its number, from 1.
    pub(crate) line: u64,
}

/// An error at a line.
pub(crate) fn at_line(error: Error, line: u64) -> Error {
    error.at(Place::Line { line, column: None })
}

/// The error of what a line has.
pub(crate) fn invalid(line: u64, what: impl Into<String>) -> Error {
    at_line(Error::invalid(what), line)
}

/// A reader of lines.
pub(crate) struct Lines {
    input: BufReader<Box<dyn ReadSeek>>,
    /// Bytes of the text, without marks of DOS at its end.
    len: u64,
    /// What ends a line.
    end: u8,
    /// The line that was read, and the one behind it.
    pub(crate) here: At,
    pub(crate) next: At,
    text: Vec<u8>,
    /// Whether the line that was read has an end.
    pub(crate) is_ended: bool,
}

impl Lines {
    /// Looks at the start of a text.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes of another known format; `Io`.
    pub(crate) fn new(mut input: Box<dyn ReadSeek>) -> Result<Self> {
        let failed = |error| at_line(Error::io("reading the text", error), 1);
        let len = text_len(&mut input).map_err(failed)?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
        let start = filled(&mut input, 1)?;
        let told = start.get(..foreign::START_BYTES).unwrap_or(start);
        if let Some(what) = foreign::known(told) {
            return Err(invalid(1, format!("the file is no text: {what}")));
        }
        let end = if ends_with_cr(start, false) { b'\r' } else { b'\n' };
        let marked = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        input.consume(marked);
        let next = At { byte: marked as u64, line: 1 };
        let (here, text) = (next, Vec::new());
        Ok(Self { input, len, end, here, next, text, is_ended: true })
    }

    /// Goes to the start of a line.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn seek(&mut self, to: At) -> Result<()> {
        if to != self.next {
            let failed = |error| at_line(Error::io("reading the text", error), to.line);
            self.input.seek(SeekFrom::Start(to.byte)).map_err(failed)?;
            self.next = to;
        }
        Ok(())
    }

    /// Reads the next line; `false` at the end. [`text`](Self::text) has it.
    ///
    /// # Errors
    /// `InvalidArgument` for a NUL byte; `LimitExceeded` for a long line; `Io`.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.here = self.next;
        self.text.clear();
        loop {
            let bytes = filled(&mut self.input, self.here.line)?;
            let left = usize::try_from(self.len.saturating_sub(self.next.byte));
            let bytes = bytes.get(..left.unwrap_or(usize::MAX)).unwrap_or(bytes);
            if bytes.is_empty() {
                if self.next == self.here {
                    return Ok(false);
                }
                self.is_ended = false;
                break;
            }
            let end = memchr(self.end, bytes);
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if self.text.len() + part.len() > limits::IMPORT_RECORD_BYTES {
                return Err(at_line(
                    Error::limit(format!(
                        "a line takes more than {} bytes",
                        limits::IMPORT_RECORD_BYTES
                    )),
                    self.here.line,
                ));
            }
            self.text.extend_from_slice(part);
            let count = part.len() + usize::from(end.is_some());
            self.input.consume(count);
            self.next.byte += count as u64;
            if end.is_some() {
                self.next.line += 1;
                self.is_ended = true;
                break;
            }
        }
        let len = without_cr(&self.text).len();
        self.text.truncate(len);
        if memchr(0, &self.text).is_some() {
            return Err(at_line(
                Error::invalid(
                    "a NUL byte, as a file may have after a power cut; write the file again, or \
                     cut it before this line",
                ),
                self.here.line,
            ));
        }
        Ok(true)
    }

    /// The line that was read, without its end.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// An error at the line that was read.
    pub(crate) fn fault(&self, what: impl Into<String>) -> Error {
        invalid(self.here.line, what)
    }
}

/// The bytes that are read and not used; none at the end.
fn filled(input: &mut BufReader<Box<dyn ReadSeek>>, line: u64) -> Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(at_line(Error::io("reading the text", error), line)),
        }
    }
    Ok(input.buffer())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn lines(text: &[u8]) -> Result<Lines> {
        Lines::new(Box::new(Cursor::new(text.to_vec())))
    }

    fn read(text: &[u8]) -> Result<Vec<(u64, u64, String)>> {
        let (mut lines, mut out) = (lines(text)?, Vec::new());
        while lines.advance()? {
            let text = String::from_utf8_lossy(lines.text()).into_owned();
            out.push((lines.here.line, lines.here.byte, text));
        }
        Ok(out)
    }

    #[test]
    fn lines_end_in_each_way_and_have_their_places() {
        let cases: &[(&[u8], &[(u64, u64, &str)])] = &[
            (b"", &[]),
            (b"a\nb", &[(1, 0, "a"), (2, 2, "b")]),
            (b"a\r\n\r\nb\r\n", &[(1, 0, "a"), (2, 3, ""), (3, 5, "b")]),
            (b"a\rb\r", &[(1, 0, "a"), (2, 2, "b")]),
            (b"a\r\r\nb\r\r\n", &[(1, 0, "a"), (2, 4, "b")]),
            (b"a\r\rb\r", &[(1, 0, "a"), (2, 2, ""), (3, 3, "b")]),
            (b"a\nb\n\x1a", &[(1, 0, "a"), (2, 2, "b")]),
            (b"a\nb\x1a\x1a\r\n\x1a", &[(1, 0, "a"), (2, 2, "b")]),
            (b"a\x1a\nb\n", &[(1, 0, "a\u{1a}"), (2, 3, "b")]),
            (b"\x1a", &[]),
            (b"\xef\xbb\xbfa\nb\n", &[(1, 3, "a"), (2, 5, "b")]),
        ];
        for (text, expected) in cases {
            let read = read(text).unwrap();
            let found: Vec<(u64, u64, &str)> =
                read.iter().map(|(line, byte, text)| (*line, *byte, text.as_str())).collect();
            assert_eq!(found, *expected, "{text:?}");
        }
    }

    #[test]
    fn a_part_is_read_again() {
        let mut lines = lines(b"a\nbb\nc\n").unwrap();
        assert!(lines.advance().unwrap() && lines.advance().unwrap());
        let second = lines.here;
        assert!(lines.advance().unwrap());
        lines.seek(second).unwrap();
        assert!(lines.advance().unwrap());
        assert_eq!((lines.text(), lines.here.line, lines.is_ended), (&b"bb"[..], 2, true));
    }

    #[test]
    fn bounds_are_kept_and_damage_has_its_line() {
        let above = stationdb::ErrorKind::LimitExceeded;
        limits::holds_at(limits::IMPORT_RECORD_BYTES, above, |len| {
            read(&[b"x".repeat(len), b"\n".to_vec()].concat())
        });
        let long = [b"a\n".repeat(1000), b"b\0\n".to_vec()].concat();
        let error = read(&long).unwrap_err();
        assert_eq!(error.place(), Some(&Place::Line { line: 1001, column: None }), "{error}");
        let error = read(b"\xff\xfea\0").unwrap_err();
        assert!(error.message().contains("UTF-16"), "{error}");
    }
}
