//! Splits CSV text into records, with the line of each record, and whether each field was quoted.
//!
//! The form is RFC 4180 in UTF-8, with the separator and the line ends that were found in its first
//! bytes, and with what other programs read, too: blanks before and behind quotes, and quotes in fields
//! that do not begin with one. An empty field is null, `""` is the empty string.

use stationdb::{Error, Result};

use super::blocks::Block;
use super::head::{is_blank, line_count};
use crate::limits;
use crate::lines::at_line;

/// How records are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) separator: u8,
    /// Whether lines end with a carriage return alone.
    pub(super) is_cr: bool,
    /// Whether the last values of a line may be missing.
    pub(super) is_padded: bool,
    /// The number of columns, and the line that names them.
    pub(super) width: usize,
    pub(super) header_line: u64,
}

/// One field of [`Records`]: where its text begins, and twice its length, with 1 if it was quoted.
#[derive(Clone, Copy, Debug, Default)]
struct Field {
    start: u32,
    size: u32,
}

impl Field {
    /// Texts are much shorter than half of the numbers of 32 bits, see [`Scan::new`].
    fn new(start: usize, len: usize, is_quoted: bool) -> Self {
        Self { start: start as u32, size: (len as u32) << 1 | u32::from(is_quoted) }
    }

    fn len(self) -> usize {
        (self.size >> 1) as usize
    }

    fn is_quoted(self) -> bool {
        self.size & 1 == 1
    }
}

/// Whole records in sequence, with the text of their fields.
#[derive(Debug, Default)]
pub(super) struct Records {
    text: String,
    fields: Vec<Field>,
    /// The line on which each record starts, counted from 1.
    lines: Vec<u64>,
    width: usize,
    /// The first line that has a quote in a field that does not begin with one.
    odd_quote: Option<u64>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    fn field(&self, row: usize, column: usize) -> Field {
        self.fields.get(row * self.width + column).copied().unwrap_or_default()
    }

    /// The text of a field; `None` is null.
    pub(super) fn get(&self, row: usize, column: usize) -> Option<&str> {
        let field = self.field(row, column);
        let start = field.start as usize;
        let text = self.text.get(start..start + field.len())?;
        (field.size > 0).then_some(text)
    }

    /// Whether a field is quoted.
    pub(super) fn is_quoted(&self, row: usize, column: usize) -> bool {
        self.field(row, column).is_quoted()
    }

    /// Bytes of the texts of a column.
    pub(super) fn bytes(&self, column: usize) -> usize {
        (0..self.len()).map(|row| self.field(row, column).len()).sum()
    }

    pub(super) fn line(&self, row: usize) -> u64 {
        self.lines.get(row).copied().unwrap_or_default()
    }

    /// Whether a column has no value.
    pub(super) fn is_null(&self, column: usize) -> bool {
        (0..self.len()).all(|row| self.get(row, column).is_none_or(str::is_empty))
    }

    /// The first line that has a quote in a field that does not begin with one.
    pub(super) fn odd_quote(&self) -> Option<u64> {
        self.odd_quote
    }

    /// The bytes that were parsed, which are the first `len` of the text.
    pub(super) fn into_text(self, len: usize) -> Vec<u8> {
        let mut text = self.text.into_bytes();
        text.truncate(len);
        text
    }

    /// The record of a line, for messages.
    pub(super) fn shown(&self, line: u64, separator: char) -> String {
        let row = self.lines.partition_point(|other| *other < line);
        let fields = (0..self.width).map(|at| self.get(row, at).unwrap_or_default());
        let text = fields.collect::<Vec<_>>().join(&separator.to_string());
        format!("{:?}", text.chars().take(40).collect::<String>())
    }
}

/// What ended a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Separator,
    Line,
    Input,
}

/// A byte, eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The position of the next byte from `from` that is the separator or below `#`, as quotes, line
/// ends and NUL are; the length of the text if there is none.
fn next_mark(bytes: &[u8], from: usize, separators: u64) -> usize {
    let (mut at, mut rest) = (from, bytes.get(from..).unwrap_or_default());
    while let Some((word, others)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let other = word ^ separators;
        // Where a subtraction borrows, a byte below is found already, and the lowest one counts.
        let found = word.wrapping_sub(eight(b'#')) & !word | other.wrapping_sub(eight(1)) & !other;
        let found = found & eight(0x80);
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        (at, rest) = (at + 8, others);
    }
    let separator = separators as u8;
    let found = rest.iter().position(|byte| *byte < b'#' || *byte == separator);
    at + found.unwrap_or(rest.len())
}

/// Text whose fields are found one after the other.
struct Scan {
    text: String,
    /// What follows the text, from a byte on that is not UTF-8.
    broken: Vec<u8>,
    is_last: bool,
    shape: Shape,
    separators: u64,
    at: usize,
    line: u64,
    /// The texts of quoted fields that have quotes, which follow `text` in the end.
    escaped: String,
    odd_quote: Option<u64>,
}

impl Scan {
    /// What must hold: positions in the text, and in what follows it, take 31 bits. A block has a
    /// few MiB, or a record that is too long by a few.
    fn new(block: Block, shape: &Shape) -> Result<Self> {
        let Block { bytes, line, is_last } = block;
        if bytes.len() > i32::MAX as usize / 2 {
            return Err(too_long(line));
        }
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, Vec::new()),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                let broken = bytes.split_off(valid);
                (String::from_utf8(bytes).unwrap_or_default(), broken)
            }
        };
        let (shape, separators) = (*shape, eight(shape.separator));
        let (escaped, odd_quote) = (String::new(), None);
        Ok(Self { text, broken, is_last, shape, separators, at: 0, line, escaped, odd_quote })
    }

    fn fault(&self, what: &str) -> Error {
        at_line(Error::invalid(what), self.line)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether the text ends here.
    fn is_at_end(&self) -> bool {
        self.at >= self.text.len() && self.broken.is_empty()
    }

    fn line_end(&self) -> u8 {
        if self.shape.is_cr { b'\r' } else { b'\n' }
    }

    /// The end of a field at this byte, which is no part of it; `None` for another byte.
    fn end(&mut self) -> Result<Option<End>> {
        let shape = self.shape;
        let (end, len) = match self.peek() {
            None if !self.broken.is_empty() => {
                return Err(self.fault(
                    "a value is not in the encoding of the text; save it as UTF-8 (in spreadsheets: \
                     CSV UTF-8), or name its encoding",
                ));
            }
            None => (End::Input, 0),
            Some(b' ' | b'\t') if shape.separator == b' ' => return self.blanks().map(Some),
            Some(byte) if byte == shape.separator => (End::Separator, 1),
            Some(b'\r') if shape.is_cr => (End::Line, 1),
            Some(b'\n') if shape.is_cr => {
                return Err(self.fault(
                    "a line feed in a text whose first line ends with a carriage return; quote \
                     values that contain one",
                ));
            }
            Some(b'\n') => (End::Line, 1),
            Some(b'\r') => match self.carriage_returns() {
                Some(len) => (End::Line, len + 1),
                None => {
                    return Err(self.fault(
                        "a carriage return without a line feed; quote values that contain one",
                    ));
                }
            },
            Some(_) => return Ok(None),
        };
        self.at += len;
        Ok(Some(end))
    }

    /// The carriage returns here, if a line feed is behind them.
    fn carriage_returns(&self) -> Option<usize> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let len = rest.iter().position(|byte| *byte != b'\r')?;
        (rest.get(len) == Some(&b'\n')).then_some(len)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// The end of a field at blanks: any number of them separates two fields, and those before the
    /// end of a line separate nothing.
    fn blanks(&mut self) -> Result<End> {
        self.skip_blanks();
        Ok(self.end()?.unwrap_or(End::Separator))
    }

    fn nul(&self) -> Error {
        // A text has none; at the end of a file they are what a power cut left of it.
        self.fault(
            "a NUL byte, as a file may have after a power cut; write the file again, or cut it \
             before this line",
        )
    }

    /// The next field, and what ended it.
    fn field(&mut self) -> Result<(Field, End)> {
        if self.peek() == Some(b'"') {
            return self.quoted();
        }
        let start = self.at;
        loop {
            let at = next_mark(self.text.as_bytes(), self.at, self.separators);
            self.at = at;
            if let Some(end) = self.end()? {
                return Ok((Field::new(start, at - start, false), end));
            }
            match self.peek() {
                Some(b'"') if self.are_blanks(start) => return self.quoted(),
                Some(b'"') => {
                    self.odd_quote.get_or_insert(self.line);
                    self.at += 1;
                }
                Some(0) => return Err(self.nul()),
                _ => self.at += 1,
            }
        }
    }

    /// Whether blanks alone stand between a position and this one.
    fn are_blanks(&self, from: usize) -> bool {
        let before = self.text.as_bytes().get(from..self.at).unwrap_or_default();
        before.iter().all(|byte| is_blank(*byte))
    }

    fn quoted(&mut self) -> Result<(Field, End)> {
        let opened_at = self.line;
        self.at += 1;
        let (mut from, escaped) = (self.at, self.escaped.len());
        let field = loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            let close = memchr::memchr(b'"', rest);
            let part = rest.get(..close.unwrap_or(rest.len())).unwrap_or_default();
            if let Some(at) = memchr::memchr(0, part) {
                self.line += line_count(part.get(..at).unwrap_or_default(), self.line_end());
                return Err(self.nul());
            }
            self.line += line_count(part, self.line_end());
            let Some(close) = close.map(|len| self.at + len) else {
                if rest.len() > limits::IMPORT_RECORD_BYTES || !self.is_last {
                    return Err(too_long(opened_at));
                }
                self.at = self.text.len();
                self.end()?;
                let what = "a quoted value is not closed before the end";
                return Err(at_line(Error::invalid(what), opened_at));
            };
            self.at = close + 1;
            let is_doubled = self.peek() == Some(b'"');
            if is_doubled {
                self.escaped.push_str(self.text.get(from..self.at).unwrap_or_default());
                self.at += 1;
                from = self.at;
                continue;
            }
            if self.escaped.len() == escaped {
                break Field::new(from, close - from, true);
            }
            self.escaped.push_str(self.text.get(from..close).unwrap_or_default());
            let len = self.escaped.len() - escaped;
            break Field::new(self.text.len() + escaped, len, true);
        };
        loop {
            if let Some(end) = self.end()? {
                return Ok((field, end));
            }
            if !self.peek().is_some_and(is_blank) {
                let what = "text after a closing quote; double the quotes inside a value";
                return Err(self.fault(what));
            }
            self.at += 1;
        }
    }

    /// Refuses a record that is too long.
    fn check_length(&self, begun: usize, fields: &[Field], end: End, line: u64) -> Result<()> {
        let is_cut = end == End::Input && !self.is_last;
        if self.at - begun <= limits::IMPORT_RECORD_BYTES && !is_cut {
            return Ok(());
        }
        let bytes: usize = fields.iter().map(|field| field.len()).sum();
        if bytes > limits::IMPORT_RECORD_BYTES || is_cut { Err(too_long(line)) } else { Ok(()) }
    }

    /// Appends the fields of the next record; `false` for a blank line, which has none.
    fn record(&mut self, fields: &mut Vec<Field>) -> Result<bool> {
        if self.shape.separator == b' ' {
            self.skip_blanks();
        }
        let (line, begun, first) = (self.line, self.at, fields.len());
        let Shape { width, header_line, separator, .. } = self.shape;
        let mut count = 0;
        let end = loop {
            let (field, end) = self.field()?;
            // A blank line is skipped. With one column it is a row that has a null.
            if count == 0 && width > 1 && field.size == 0 && end != End::Separator {
                self.line += u64::from(end == End::Line);
                return Ok(false);
            }
            if count == width {
                return Err(at_line(
                    Error::invalid(format!(
                        "there are more than {width} values, the number of names in line \
                         {header_line}; if lines come before the names, skip them with skipLines, \
                         or set preset to INSTRUMENT, which keeps them; if lines at the end are no \
                         rows, count them in footerLines; if the separator is not {:?}, name it",
                        char::from(separator)
                    )),
                    line,
                ));
            }
            count += 1;
            fields.push(field);
            if end != End::Separator {
                break end;
            }
        };
        self.check_length(begun, fields.get(first..).unwrap_or_default(), end, line)?;
        let text = |field: &Field| {
            let start = field.start as usize;
            self.text.get(start..start + field.len()).unwrap_or_default()
        };
        let is_mark = |field: &Field| text(field).starts_with('\u{1a}');
        if count < width && fields.get(first).is_some_and(is_mark) {
            return Err(at_line(
                Error::invalid(
                    "the line begins with the byte 0x1A, which ends a text of DOS, and the text goes \
                     on; cut the file before this line, or remove the byte",
                ),
                line,
            ));
        }
        if count < width && !self.shape.is_padded {
            return Err(at_line(
                Error::invalid(format!(
                    "there are {count} values for the {width} columns of line {header_line}; if \
                     the last values of a line may be missing, set shortRows; if lines at the end \
                     are no rows, count them in footerLines"
                )),
                line,
            ));
        }
        fields.resize(first + width, Field::default());
        self.line += u64::from(end == End::Line);
        Ok(true)
    }

    /// The records of these fields and lines, and what follows them.
    fn finish(self, fields: Vec<Field>, lines: Vec<u64>) -> (Records, Rest) {
        let Self { mut text, mut broken, at, line, escaped, shape, odd_quote, .. } = self;
        let mut rest = text.as_bytes().get(at..).unwrap_or_default().to_vec();
        rest.append(&mut broken);
        text.push_str(&escaped);
        (Records { text, fields, lines, width: shape.width, odd_quote }, (rest, line))
    }
}

fn too_long(line: u64) -> Error {
    at_line(
        Error::limit(format!(
            "a line takes more than {} bytes; perhaps a closing quote is missing",
            limits::IMPORT_RECORD_BYTES
        )),
        line,
    )
}

/// What follows the records that were parsed: its bytes, and the line of the first one.
pub(super) type Rest = (Vec<u8>, u64);

/// Parses the records of a block, at most `rows_max`, and returns them with the rest of the block.
///
/// # Errors
/// `InvalidArgument` with the line for what is no CSV, and for a record with more or fewer values
/// than columns; `LimitExceeded` for a record that is too long.
pub(super) fn parse(block: Block, shape: &Shape, rows_max: usize) -> Result<(Records, Rest)> {
    let mut scan = Scan::new(block, shape)?;
    let (mut fields, mut lines) = (Vec::new(), Vec::new());
    while lines.len() < rows_max && !scan.is_at_end() {
        let line = scan.line;
        if scan.record(&mut fields)? {
            lines.push(line);
        }
    }
    Ok(scan.finish(fields, lines))
}

/// Names, and the line if one of them has a quote that it does not begin with.
pub(super) type Names = (Vec<String>, Option<u64>);

/// Parses the names that a block begins with, and returns them with the rest of the block.
///
/// # Errors
/// `InvalidArgument` with the line for what is no CSV; `LimitExceeded` for more columns than those
/// of an import, and for a record that is too long.
pub(super) fn parse_names(block: Block, shape: &Shape) -> Result<(Names, Rest)> {
    let mut scan = Scan::new(block, shape)?;
    if shape.separator == b' ' {
        scan.skip_blanks();
    }
    let mut fields = Vec::new();
    loop {
        let (field, end) = scan.field()?;
        fields.push(field);
        if fields.len() > limits::IMPORT_COLUMNS {
            return Err(at_line(
                Error::limit(format!(
                    "there are more than the {} columns of an import",
                    limits::IMPORT_COLUMNS
                )),
                shape.header_line,
            ));
        }
        if end != End::Separator {
            scan.check_length(0, &fields, end, shape.header_line)?;
            scan.line += u64::from(end == End::Line);
            break;
        }
    }
    let (width, line) = (fields.len(), scan.line);
    scan.shape.width = width;
    let (records, rest) = scan.finish(fields, vec![line]);
    let names = (0..width).map(|at| records.get(0, at).unwrap_or_default().to_owned());
    Ok(((names.collect(), records.odd_quote), rest))
}
