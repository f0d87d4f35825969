//! Splits CSV text into records, with the line of each record, and whether each field was quoted.
//!
//! The form is RFC 4180 in UTF-8, with the separator and the line ends that were found in its first
//! bytes. An empty field is null, `""` is the empty string.

use std::io::Read;

use stationdb::{Error, Place, Result};

use super::head::{READ_BYTES, ReadHead};
use super::sniff::{Dialect, sniff};
use crate::limits;
use crate::options::ImportOptions;

/// One field of a [`Records`] chunk.
#[derive(Clone, Copy, Debug)]
struct Field {
    start: usize,
    end: usize,
    is_quoted: bool,
}

/// Whole records in sequence, with the text of their fields.
#[derive(Debug, Default)]
pub(super) struct Records {
    text: String,
    fields: Vec<Field>,
    /// The line on which each record starts, counted from 1.
    lines: Vec<u64>,
    width: usize,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The text of a field; `None` is null.
    pub(super) fn get(&self, row: usize, column: usize) -> Option<&str> {
        let field = self.fields.get(row * self.width + column)?;
        let text = self.text.get(field.start..field.end)?;
        (field.is_quoted || !text.is_empty()).then_some(text)
    }

    /// Whether a field is quoted.
    pub(super) fn is_quoted(&self, row: usize, column: usize) -> bool {
        self.fields.get(row * self.width + column).is_some_and(|field| field.is_quoted)
    }

    pub(super) fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or_default()
    }

    /// Whether a column has no value.
    pub(super) fn is_null(&self, column: usize) -> bool {
        (0..self.len()).all(|row| self.get(row, column).is_none_or(str::is_empty))
    }

    /// The record of a line, for messages.
    pub(super) fn shown(&self, line: u64, separator: char) -> String {
        let row = self.lines.partition_point(|other| *other < line);
        let fields = (0..self.width).map(|at| self.get(row, at).unwrap_or_default());
        let text = fields.collect::<Vec<_>>().join(&separator.to_string());
        format!("{:?}", text.chars().take(40).collect::<String>())
    }
}

/// A reader of records.
pub(super) struct CsvReader<'r> {
    input: Box<dyn Read + 'r>,
    pub(super) dialect: Dialect,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    is_at_end: bool,
    line: u64,
    /// The current field, and the number of bytes of its record so far.
    field: Vec<u8>,
    record_bytes: usize,
}

/// What ended a field.
#[derive(PartialEq, Eq)]
enum End {
    Separator,
    Line,
    Input,
}

fn at_line(error: Error, line: u64) -> Error {
    error.at(Place::Line { line, column: None })
}

impl<'r> CsvReader<'r> {
    /// Finds the form of the text.
    ///
    /// # Errors
    /// As [`sniff`]; `Io`.
    pub(super) fn new(mut input: Box<dyn Read + 'r>, options: &ImportOptions) -> Result<Self> {
        let head = ReadHead::read(&mut input).map_err(|error| at_line(error, 1))?;
        let dialect = sniff(&head, options)?;
        let (at, line) = (dialect.start, dialect.line);
        let filled = head.bytes.len();
        Ok(Self {
            input,
            dialect,
            buffer: head.bytes,
            at,
            filled,
            is_at_end: head.is_whole,
            line,
            field: Vec::new(),
            record_bytes: 0,
        })
    }

    fn fault(&self, what: &str) -> Error {
        at_line(Error::invalid(what), self.line)
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        while self.at >= self.filled && !self.is_at_end {
            // Filled again for each read.
            self.buffer.resize(READ_BYTES, 0);
            match self.input.read(&mut self.buffer) {
                Ok(count) => {
                    (self.at, self.filled) = (0, count.min(READ_BYTES));
                    self.is_at_end = count == 0;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(at_line(Error::io("reading the CSV text", error), self.line));
                }
            }
        }
        Ok(if self.at < self.filled { self.buffer.get(self.at).copied() } else { None })
    }

    fn push(&mut self, byte: u8) -> Result<()> {
        self.record_bytes += 1;
        if self.record_bytes > limits::IMPORT_RECORD_BYTES {
            return Err(at_line(
                Error::limit(format!(
                    "a line takes more than {} bytes; perhaps a closing quote is missing",
                    limits::IMPORT_RECORD_BYTES
                )),
                self.line,
            ));
        }
        // A text has none; at the end of a file they are what a power cut left of it.
        if byte == 0 {
            return Err(self.fault(
                "a NUL byte, as a file may have after a power cut; write the file again, or \
                     cut it before this line",
            ));
        }
        self.field.push(byte);
        Ok(())
    }

    /// Reads one field into `self.field`; returns what ended it and whether it was quoted.
    fn read_field(&mut self) -> Result<(End, bool)> {
        self.field.clear();
        let is_quoted = self.peek()? == Some(b'"');
        if is_quoted {
            self.at += 1;
            let opened_at = self.line;
            loop {
                match self.peek()? {
                    None => {
                        return Err(at_line(
                            Error::invalid("a quoted value is not closed before the end"),
                            opened_at,
                        ));
                    }
                    Some(b'"') => {
                        self.at += 1;
                        if self.peek()? != Some(b'"') {
                            break;
                        }
                        self.at += 1;
                        self.push(b'"')?;
                    }
                    Some(byte) => {
                        self.at += 1;
                        self.line +=
                            u64::from(byte == if self.dialect.is_cr { b'\r' } else { b'\n' });
                        self.push(byte)?;
                    }
                }
            }
        }
        loop {
            match self.peek()? {
                None => return Ok((End::Input, is_quoted)),
                Some(b'\r') if self.dialect.is_cr => {
                    self.at += 1;
                    return Ok((End::Line, is_quoted));
                }
                Some(b'\n') if self.dialect.is_cr => {
                    return Err(self.fault(
                        "a line feed in a text whose first line ends with a carriage return; \
                             quote values that contain one",
                    ));
                }
                Some(b'\n') => {
                    self.at += 1;
                    return Ok((End::Line, is_quoted));
                }
                Some(b'\r') => {
                    self.at += 1;
                    if self.peek()? != Some(b'\n') {
                        return Err(self.fault(
                            "a carriage return without a line feed; quote values that contain \
                                 one",
                        ));
                    }
                }
                Some(byte) if byte == self.dialect.separator => {
                    self.at += 1;
                    return Ok((End::Separator, is_quoted));
                }
                Some(_) if is_quoted => {
                    return Err(
                        self.fault("text after a closing quote; double the quotes inside a value")
                    );
                }
                Some(b'"') => {
                    return Err(self.fault(
                        "a quote inside of an unquoted value; quote the value, and double the \
                             quote",
                    ));
                }
                Some(byte) => {
                    self.at += 1;
                    self.push(byte)?;
                }
            }
        }
    }

    /// The names in the header.
    pub(super) fn header(&mut self) -> Result<Vec<String>> {
        if self.peek()?.is_none() {
            return Err(at_line(
                Error::invalid("the text is empty; its first line must name the columns"),
                1,
            ));
        }
        let mut names = Vec::new();
        self.record_bytes = 0;
        loop {
            let (end, _) = self.read_field()?;
            names.push(self.take_text()?.to_owned());
            if names.len() > limits::IMPORT_COLUMNS {
                return Err(at_line(
                    Error::limit(format!(
                        "there are more than the {} columns of an import",
                        limits::IMPORT_COLUMNS
                    )),
                    self.dialect.line,
                ));
            }
            if end != End::Separator {
                self.line += u64::from(end == End::Line);
                return Ok(names);
            }
        }
    }

    fn take_text(&self) -> Result<&str> {
        std::str::from_utf8(&self.field).map_err(|error| {
            let what = "a value is not UTF-8; save the text as UTF-8 (in spreadsheets: CSV UTF-8)";
            at_line(Error::invalid(what).with_source(error), self.line)
        })
    }

    /// Reads the next records of `width` fields each: at most `rows_max` records, of about
    /// `bytes_max` bytes of text. Returns none at the end.
    pub(super) fn records(
        &mut self,
        width: usize,
        rows_max: usize,
        bytes_max: usize,
    ) -> Result<Records> {
        let mut out = Records { width, ..Records::default() };
        while out.len() < rows_max && out.text.len() < bytes_max {
            if self.peek()?.is_none() {
                break;
            }
            let line = self.line;
            self.record_bytes = 0;
            let mut count = 0;
            loop {
                let (end, is_quoted) = self.read_field()?;
                // A blank line is skipped. With one column it is a row that has a null.
                if count == 0
                    && width > 1
                    && !is_quoted
                    && self.field.is_empty()
                    && end != End::Separator
                {
                    self.line += u64::from(end == End::Line);
                    break;
                }
                count += 1;
                if count > width {
                    return Err(at_line(
                        Error::invalid(format!(
                            "there are more than {width} values, the number of names in line {}; \
                             if lines come before the names, skip them with skipLines; if the \
                             separator is not {:?}, name it",
                            self.dialect.line,
                            char::from(self.dialect.separator)
                        )),
                        line,
                    ));
                }
                let start = out.text.len();
                out.text.push_str(self.take_text()?);
                out.fields.push(Field { start, end: out.text.len(), is_quoted });
                if end == End::Separator {
                    continue;
                }
                if count < width && self.dialect.is_padded {
                    let end = out.text.len();
                    let missing = Field { start: end, end, is_quoted: false };
                    out.fields.extend(std::iter::repeat_n(missing, width - count));
                } else if count < width {
                    return Err(at_line(
                        Error::invalid(format!(
                            "there are {count} values for the {width} columns of line {}",
                            self.dialect.line
                        )),
                        line,
                    ));
                }
                out.lines.push(line);
                self.line += u64::from(end == End::Line);
                break;
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that returns one byte at a time.
    struct Drop<'a>(&'a [u8]);

    impl Read for Drop<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let (Some(target), Some((byte, rest))) = (out.first_mut(), self.0.split_first()) else {
                return Ok(0);
            };
            *target = *byte;
            self.0 = rest;
            Ok(1)
        }
    }

    type Rows = Vec<(u64, Vec<Option<String>>)>;

    fn read(text: &[u8], by_byte: bool) -> Result<(Vec<String>, Rows)> {
        let (mut whole, mut slow) = (text, Drop(text));
        let input: &mut dyn Read = if by_byte { &mut slow } else { &mut whole };
        let options = ImportOptions { separator: Some(b','), ..ImportOptions::default() };
        let mut reader = CsvReader::new(Box::new(input), &options)?;
        let names = reader.header()?;
        let mut rows = Vec::new();
        loop {
            let records = reader.records(names.len(), 2, 1000)?;
            if records.len() == 0 {
                return Ok((names, rows));
            }
            rows.extend((0..records.len()).map(|row| {
                let cells = (0..names.len())
                    .map(|column| records.get(row, column).map(str::to_owned))
                    .collect();
                (records.line(row), cells)
            }));
        }
    }

    #[test]
    fn records_have_their_lines_and_tell_null_from_empty() {
        let text =
            "\u{feff}a,\"b \"\"x\"\"\"\r\n1,\n\n\"\",\"two\nlines, \"\"quoted\"\"\"\nä,é\n,x";
        for by_byte in [false, true] {
            let (names, rows) = read(text.as_bytes(), by_byte).unwrap();
            assert_eq!(names, ["a", "b \"x\""]);
            let cell = |text: &str| Some(text.to_owned());
            let expected = [
                (2, vec![cell("1"), None]),
                (4, vec![cell(""), cell("two\nlines, \"quoted\"")]),
                (6, vec![cell("ä"), cell("é")]),
                (7, vec![None, cell("x")]),
            ];
            assert_eq!(rows, expected);
        }
        let (_, rows) = read(b"a\n\n1\n", false).unwrap();
        assert_eq!(
            rows,
            [(2, vec![None]), (3, vec![Some("1".to_owned())])],
            "one column: a blank line is a null"
        );
    }

    #[test]
    fn bounds_are_kept() {
        let header =
            |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
        let above = stationdb::ErrorKind::LimitExceeded;
        limits::holds_at(limits::IMPORT_COLUMNS, above, |count| {
            read(header(count).as_bytes(), false)
        });
        let record = |len: usize| format!("a,b\n{},y\n", "x".repeat(len - 1));
        limits::holds_at(limits::IMPORT_RECORD_BYTES, above, |len| {
            read(record(len).as_bytes(), false)
        });
    }

    #[test]
    fn what_is_no_csv_is_refused_with_its_line() {
        for (text, line) in [
            (&b""[..], 1),
            (b"a,b\n1,2\n3\n", 3),
            (b"a,b\n1,2,3\n", 2),
            (b"a,b\n\"1\n2", 2),
            (b"a,b\n\"x\n\"y,2\n", 3),
            (b"a,b\n1,x\"y\n", 2),
            (b"a,b\n1,\xff\n", 2),
            (b"a,b\n1\r,2\n", 2),
            (b"\xef\xbbx,b\n", 1),
            // Parts of one character in two fields are not UTF-8.
            (b"a,b\n\xc3,\xa9\n", 2),
        ] {
            for by_byte in [false, true] {
                let error = read(text, by_byte).unwrap_err();
                assert_eq!(
                    error.place(),
                    Some(&Place::Line { line, column: None }),
                    "{text:?}: {error}"
                );
            }
        }
    }
}
