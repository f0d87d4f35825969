//! The lines of a text in a file, with their places, so that a part can be read again.

use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom};

use memchr::memchr;
use stationdb::tables::readers::foreign;
use stationdb::{Error, Place, Result};

use crate::limits;
use crate::parquet::ReadSeek;

const BUFFER_BYTES: usize = 256 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
    pub(crate) fn new(input: Box<dyn ReadSeek>) -> Result<Self> {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
        let start = filled(&mut input, 1)?;
        let told = start.get(..foreign::START_BYTES).unwrap_or(start);
        if let Some(what) = foreign::known(told) {
            return Err(invalid(1, format!("the file is no text: {what}")));
        }
        // The first line end decides for all of them.
        let end = match start.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            Some(at) if start.get(at) == Some(&b'\r') => match start.get(at + 1) {
                Some(b'\n') | None => b'\n',
                Some(_) => b'\r',
            },
            _ => b'\n',
        };
        let marked = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        input.consume(marked);
        let next = At { byte: marked as u64, line: 1 };
        let (here, text) = (next, Vec::new());
        Ok(Self { input, end, here, next, text, is_ended: true })
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
        if self.text.last() == Some(&b'\r') {
            self.text.pop();
        }
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
