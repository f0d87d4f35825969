//! Reads the header of a CSV text and its records.

use std::io::Read;

use stationdb::tables::readers::shortened;
use stationdb::{Error, Result};

use super::blocks::{Block, Blocks};
use super::encoding::{Assumed, decoded};
use super::head::{READ_BYTES, ReadHead};
use super::layout::Named;
use super::records::{Records, Shape, parse, parse_names};
use super::sniff::{Dialect, check_text, sniff};
use super::utf16::utf8;
use crate::dos_end::without_mark;
use crate::lines::at_line;
use crate::options::ImportOptions;

/// A reader of records.
pub(super) struct CsvReader<'r> {
    blocks: Blocks<'r>,
    /// Whether an encoding was assumed.
    pub(super) encoding: Assumed,
    pub(super) dialect: Dialect,
    pub(super) shape: Shape,
    /// The first line that has a quote in a value that does not begin with one.
    odd_quote: Option<u64>,
}

impl<'r> CsvReader<'r> {
    /// Finds the form of the text.
    ///
    /// # Errors
    /// As [`sniff`]; `Io`.
    pub(super) fn new(input: Box<dyn Read + 'r>, options: &ImportOptions) -> Result<Self> {
        let encoding = Assumed::default();
        let (input, is_utf16) =
            utf8(input).map_err(|error| at_line(Error::io("reading the CSV text", error), 1))?;
        let input = without_mark(input);
        let mut input = if is_utf16 {
            Box::new(input)
        } else {
            decoded(input, options.encoding, encoding.clone())
        };
        let mut head = ReadHead::read(&mut input).map_err(|error| at_line(error, 1))?;
        if options.skip_lines > 0 {
            check_text(&head.bytes)?;
            head.skip(&mut input, options.skip_lines)?;
        }
        let dialect = loop {
            match sniff(&head, options)? {
                Some(dialect) => break dialect,
                None => head.grow(&mut input)?,
            }
        };
        let shape = Shape {
            separator: dialect.separator,
            is_cr: head.is_cr,
            is_padded: dialect.is_padded,
            width: 1,
            header_line: dialect.layout.as_ref().map_or(dialect.line, |found| found.names_line),
        };
        let mut waiting = head.bytes;
        waiting.drain(..dialect.start.min(waiting.len()));
        let ends = (if head.is_cr { b'\r' } else { b'\n' }, dialect.separator);
        let footer = options.footer_lines;
        let blocks = Blocks::new(input, waiting, dialect.line, head.is_whole, ends, footer);
        let blocks = blocks.up_to_block(dialect.layout.as_ref().is_some_and(|it| it.has_blocks));
        Ok(Self { blocks, encoding, dialect, shape, odd_quote: None })
    }

    /// The columns of the header, one for each field of a line. One without a name has an empty one.
    pub(super) fn header(&mut self, options: &ImportOptions) -> Result<Vec<Named>> {
        if let Some(layout) = &self.dialect.layout {
            self.shape.width = layout.width;
            let mut columns = vec![Named::default(); layout.from];
            columns.extend(layout.columns.iter().cloned());
            return Ok(columns);
        }
        let is_named = options.header != Some(false);
        let Some(names) = self.names(is_named)? else {
            let error = Error::invalid("the text is empty; its first line must name the columns");
            return Err(at_line(error, 1));
        };
        self.shape.width = names.len();
        let name = |(at, name): (usize, String)| Named {
            name: if is_named { name } else { format!("column_{}", at + 1) },
            ..Named::default()
        };
        let mut columns: Vec<Named> = names.into_iter().enumerate().map(name).collect();
        if options.units_line == Some(true) {
            let units = self.names(true)?.unwrap_or_default();
            for (column, unit) in columns.iter_mut().zip(units) {
                column.unit = Some(unit.trim().to_owned()).filter(|unit| !unit.is_empty());
            }
        }
        Ok(columns)
    }

    /// The fields of the next line, which is a row as well unless it `is_read`.
    fn names(&mut self, is_read: bool) -> Result<Option<Vec<String>>> {
        let Some(block) = self.blocks.next(READ_BYTES)? else { return Ok(None) };
        let row = (!is_read).then(|| (block.bytes.clone(), block.line));
        let ((names, odd_quote), rest) = parse_names(block, &self.shape)?;
        self.note_quote(odd_quote);
        let (rest, line) = row.unwrap_or(rest);
        self.blocks.give_back(rest, line);
        Ok(Some(names))
    }

    /// The first `rows_max` records, or those in `bytes_max` bytes of text.
    ///
    /// # Errors
    /// As [`parse`]; `Io`.
    pub(super) fn first(&mut self, rows_max: usize, bytes_max: usize) -> Result<Records> {
        let mut size = READ_BYTES.min(bytes_max);
        loop {
            let Some(block) = self.blocks.next(size)? else { return Ok(Records::default()) };
            let (line, is_last, len) = (block.line, block.is_last, block.bytes.len());
            let (records, rest) = parse(block, &self.shape, rows_max)?;
            if records.len() == rows_max || is_last || size >= bytes_max {
                self.blocks.give_back(rest.0, rest.1);
                // Blank lines may fill a block.
                if records.len() == 0 && !is_last {
                    continue;
                }
                return Ok(records);
            }
            self.blocks.give_back(records.into_text(len), line);
            size = (2 * size.max(len)).min(bytes_max);
        }
    }

    /// Notes the line of a quote in a value of these rows that does not begin with one.
    pub(super) fn note_quote(&mut self, line: Option<u64>) {
        self.odd_quote = self.odd_quote.or(line);
    }

    /// What the report says of quotes in values that do not begin with one.
    pub(super) fn quote_told(&self) -> Option<String> {
        let line = self.odd_quote?;
        Some(format!(
            "line {line} has a quote in a value that does not begin with one; such quotes are kept as \
             they are"
        ))
    }

    /// What the report says of where the text that was read ends.
    pub(super) fn end_told(&self) -> Option<String> {
        if let Some((line, text)) = &self.blocks.next_block {
            return Some(format!(
                "line {line} ({:?}) begins another block, which is not read, and neither are those \
                 behind it; put it into a file of its own, with the lines above the first block",
                shortened(text)
            ));
        }
        let line = self.blocks.unended?;
        Some(format!("line {line} has no line end, so its last value may be cut off"))
    }

    /// The next records, of about `size` bytes; `None` at the end.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn next(&mut self, size: usize) -> Result<Option<Block>> {
        self.blocks.next(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::Encoding;
    use crate::limits;
    use stationdb::Place;

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
        let options = ImportOptions {
            separator: Some(b','),
            encoding: Some(Encoding::Utf8),
            ..ImportOptions::default()
        };
        let mut reader = CsvReader::new(Box::new(input), &options)?;
        let columns = reader.header(&options)?;
        let names: Vec<String> = columns.into_iter().map(|column| column.name).collect();
        let mut rows = Vec::new();
        let mut push = |records: &Records| {
            rows.extend((0..records.len()).map(|row| {
                let cells = (0..names.len())
                    .map(|column| records.get(row, column).map(str::to_owned))
                    .collect();
                (records.line(row), cells)
            }));
        };
        push(&reader.first(2, 1000)?);
        while let Some(block) = reader.next(if by_byte { 1 } else { 1000 })? {
            push(&parse(block, &reader.shape, usize::MAX)?.0);
        }
        Ok((names, rows))
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

    /// Blanks may stand around quotes, and a value that does not begin with a quote keeps those in it.
    #[test]
    fn quotes_are_read_as_other_programs_read_them() {
        let text =
            b"\"a\", \"b\"\n\"1\" ,3.5\" probe\n=\"007\",\t\"x\"\"\ny\"  \n \" z \"\t,\"\"\n";
        let cell = |text: &str| Some(text.to_owned());
        for by_byte in [false, true] {
            let (names, rows) = read(text, by_byte).unwrap();
            assert_eq!(names, ["a", "b"]);
            let expected = [
                (2, vec![cell("1"), cell("3.5\" probe")]),
                (3, vec![cell("=\"007\""), cell("x\"\ny")]),
                (5, vec![cell(" z "), cell("")]),
            ];
            assert_eq!(rows, expected);
        }
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
        // A quote that is never closed is told with its own line, not with the last one.
        let open = format!("a,b\n1,\"{}", "x\n".repeat(limits::IMPORT_RECORD_BYTES));
        let error = read(open.as_bytes(), false).unwrap_err();
        assert_eq!(error.place(), Some(&Place::Line { line: 2, column: None }), "{error}");
    }

    #[test]
    fn what_is_no_csv_is_refused_with_its_line() {
        for (text, line) in [
            (&b""[..], 1),
            (b"a,b\n1,2\n3\n", 3),
            (b"a,b\n1,2,3\n", 2),
            (b"a,b\n\"1\n2", 2),
            (b"a,b\n\"x\n\"y,2\n", 3),
            (b"a,b\n\"x\" y,2\n", 2),
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
