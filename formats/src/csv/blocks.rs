//! Cuts a text into blocks of whole records, which can be parsed beside each other.

use std::io::Read;

use stationdb::{Error, Place, Result};

use super::head::{READ_BYTES, is_blank, line_count};
use crate::limits;

/// Bytes that a record can have at most: its values with each quote doubled, and what is between
/// them.
const RECORD_BYTES: usize = 2 * limits::IMPORT_RECORD_BYTES + 4 * limits::IMPORT_COLUMNS;

/// Whole records of a text.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    /// The line of its first byte, from 1.
    pub(super) line: u64,
    /// Whether the text ends with it. The records of another block end with a line, unless they
    /// are too long.
    pub(super) is_last: bool,
}

/// The text behind what was read of it.
pub(super) struct Blocks<'r> {
    input: Box<dyn Read + 'r>,
    waiting: Vec<u8>,
    /// The line of the first byte that waits.
    line: u64,
    is_at_end: bool,
    /// The bytes that end lines and separate values.
    line_end: u8,
    separator: u8,
    /// Lines at the end that are not returned.
    footer: u64,
    /// Whether a line that begins with a letter ends the text.
    has_blocks: bool,
    /// That line, with its number.
    pub(super) next_block: Option<(u64, String)>,
    /// The last line, if it has no end.
    pub(super) unended: Option<u64>,
}

/// The length of the records that end in these bytes, which begin with one.
///
/// What must hold: a quote begins a value where it does for the parser, behind a separator or the start
/// of a line and blanks, and a quote right behind a closing one opens the value again. The parser refuses
/// a text in which something else follows a closing quote, and all records before that one are whole.
fn whole_records(bytes: &[u8], line_end: u8, separator: u8) -> usize {
    if memchr::memchr(b'"', bytes).is_none() {
        return memchr::memrchr(line_end, bytes).map_or(0, |at| at + 1);
    }
    let (mut whole, mut is_quoted) = (0, false);
    // What follows the last quote of the line, and whether that one closed a value.
    let (mut behind, mut is_closed) = (0, false);
    for at in memchr::memchr2_iter(b'"', line_end, bytes) {
        if bytes.get(at) == Some(&line_end) {
            if !is_quoted {
                (whole, behind, is_closed) = (at + 1, at + 1, false);
            }
            continue;
        }
        if is_quoted {
            (is_quoted, is_closed) = (false, true);
        } else {
            let before = bytes.get(behind..at).unwrap_or_default();
            is_quoted = match before.iter().rfind(|byte| **byte == separator || !is_blank(**byte)) {
                Some(byte) => *byte == separator,
                None => behind == whole || is_closed && before.is_empty(),
            };
            is_closed = false;
        }
        behind = at + 1;
    }
    whole
}

impl<'r> Blocks<'r> {
    /// The text that begins with `waiting`, in this line, and goes on with `input`.
    pub(super) fn new(
        input: Box<dyn Read + 'r>,
        waiting: Vec<u8>,
        line: u64,
        is_at_end: bool,
        (line_end, separator): (u8, u8),
        footer: u64,
    ) -> Self {
        Self {
            input,
            waiting,
            line,
            is_at_end,
            line_end,
            separator,
            footer,
            has_blocks: false,
            next_block: None,
            unended: None,
        }
    }

    /// The same text up to the first line that begins with a letter.
    pub(super) fn up_to_block(self, has_blocks: bool) -> Self {
        Self { has_blocks, ..self }
    }

    /// Cuts whole records off where a line begins with a letter, and ends the text there; whether
    /// there is one.
    fn cut_block(&mut self, bytes: &mut Vec<u8>, line: u64) -> bool {
        let starts = memchr::memchr_iter(self.line_end, bytes).map(|at| at + 1);
        let is_letter = |at: &usize| bytes.get(*at).is_some_and(u8::is_ascii_alphabetic);
        let Some(at) = std::iter::once(0).chain(starts).find(is_letter) else { return false };
        let other = bytes.split_off(at);
        let text = other.split(|byte| *byte == self.line_end).next().unwrap_or_default();
        let text = String::from_utf8_lossy(text).trim().to_owned();
        self.next_block = Some((line + line_count(bytes, self.line_end), text));
        (self.is_at_end, self.footer) = (true, 0);
        self.waiting.clear();
        true
    }

    /// Notes the last line if it has no end, unless a quote ends its last value.
    fn note_end(&mut self, block: &Block) {
        let text = block.bytes.trim_ascii_end();
        let behind = block.bytes.get(text.len()..).unwrap_or_default();
        let is_ended = memchr::memchr(self.line_end, behind).is_some() || text.ends_with(b"\"");
        if !text.is_empty() && !is_ended {
            self.unended = Some(block.line + line_count(text, self.line_end));
        }
    }

    /// Where the last lines begin that may be those of the footer; cuts them off at the end.
    fn footer_start(&mut self) -> usize {
        if self.footer == 0 {
            return self.waiting.len();
        }
        let mut start = self.waiting.len();
        for _ in 0..self.footer {
            let before = self.waiting.get(..start).unwrap_or_default();
            let before = before.strip_suffix(&[self.line_end]).unwrap_or(before);
            start = memchr::memrchr(self.line_end, before).map_or(0, |at| at + 1);
        }
        if self.is_at_end {
            self.waiting.truncate(start);
            self.footer = 0;
        }
        start
    }

    /// Reads until so many bytes wait, or the text ends.
    fn fill(&mut self, size: usize) -> Result<()> {
        while self.waiting.len() < size && !self.is_at_end {
            let filled = self.waiting.len();
            // What is read is zeros before, and a pipe gives little at once.
            let room = (size - filled).clamp(READ_BYTES, 4 * READ_BYTES);
            self.waiting.resize(filled + room, 0);
            let room = self.waiting.get_mut(filled..).unwrap_or_default();
            let read = self.input.read(room).map(|count| count.min(room.len()));
            self.waiting.truncate(filled + read.as_ref().map_or(0, |count| *count));
            match read {
                Ok(count) => self.is_at_end = count == 0,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let line = self.line + line_count(&self.waiting, self.line_end);
                    let error = Error::io("reading the CSV text", error);
                    return Err(error.at(Place::Line { line, column: None }));
                }
            }
        }
        Ok(())
    }

    /// The next records, of about `size` bytes; `None` at the end of the text.
    ///
    /// # Errors
    /// `Io`, with the line.
    pub(super) fn next(&mut self, size: usize) -> Result<Option<Block>> {
        let mut size = size.max(1);
        loop {
            self.fill(size)?;
            let end = self.footer_start();
            let looked = self.waiting.get(..size.min(end)).unwrap_or(&self.waiting);
            if looked.is_empty() && self.is_at_end {
                return Ok(None);
            }
            let is_last = self.is_at_end && looked.len() == self.waiting.len();
            let len = match whole_records(looked, self.line_end, self.separator) {
                _ if is_last => looked.len(),
                // The parser tells what is wrong with a record that is too long.
                0 if looked.len() >= RECORD_BYTES => looked.len(),
                whole => whole,
            };
            if len == 0 {
                size *= 2;
                continue;
            }
            let rest = self.waiting.split_off(len);
            let mut bytes = std::mem::replace(&mut self.waiting, rest);
            let line = self.line;
            let is_cut = self.has_blocks && self.cut_block(&mut bytes, line);
            self.line += line_count(&bytes, self.line_end);
            let block = Block { bytes, line, is_last: is_last || is_cut };
            if block.is_last {
                self.note_end(&block);
            }
            return Ok(Some(block).filter(|block| !is_cut || !block.bytes.is_empty()));
        }
    }

    /// Gives back what was not parsed of the last block.
    pub(super) fn give_back(&mut self, mut bytes: Vec<u8>, line: u64) {
        bytes.append(&mut self.waiting);
        (self.waiting, self.line) = (bytes, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_between_records() {
        let text = "a,b\n1,\"x\n\"\"y\n\"\n\n2,\"\"\n3,4";
        for size in 1..40 {
            let input = Box::new(text.as_bytes());
            let mut blocks = Blocks::new(input, Vec::new(), 1, false, (b'\n', b','), 0);
            let (mut whole, mut starts) = (String::new(), Vec::new());
            while let Some(block) = blocks.next(size).unwrap() {
                assert_eq!(block.line, 1 + whole.matches('\n').count() as u64);
                starts.push(block.line);
                whole += std::str::from_utf8(&block.bytes).unwrap();
                assert_eq!(block.is_last, whole.len() == text.len(), "{size}");
            }
            assert_eq!(whole, text);
            // Lines 3 and 4 are inside of a value.
            assert!(starts.iter().all(|line| [1, 2, 5, 6, 7].contains(line)), "{size}: {starts:?}");
            assert!(size > 1 || starts == [1, 2, 6, 7], "{starts:?}");
        }
    }

    /// Blocks are cut as records are parsed, whatever quotes a text has.
    #[test]
    fn blocks_end_between_records_of_any_quotes() {
        let lines = [
            ("1,3.5\" probe\n", true),
            ("2, \"x\ny\" ,\"\"\n", true),
            ("3,a \"b\" c,\t\"d\"\"\n\"\n", true),
            ("4,=\"007\"\n", true),
            ("\"5\"\"\", \n", true),
            ("6,\"\"\"\n,\"\"\"\n", true),
            ("7,\"a\n", false),
        ];
        for separator in [b',', b'\t', b' '] {
            let changed =
                |text: &str| text.replace(',', std::str::from_utf8(&[separator]).unwrap());
            for skipped in 0..lines.len() {
                let (mut text, mut whole) = (String::new(), vec![0]);
                for (line, is_whole) in lines.iter().skip(skipped) {
                    text += &changed(line);
                    whole.extend(is_whole.then_some(text.len()));
                }
                for len in 0..=text.len() {
                    let found = whole_records(&text.as_bytes()[..len], b'\n', separator);
                    let expected = whole.iter().rfind(|end| **end <= len);
                    assert_eq!(Some(&found), expected, "{separator} {len} {:?}", &text[..len]);
                }
            }
        }
    }

    #[test]
    fn what_was_not_parsed_comes_again() {
        let mut blocks =
            Blocks::new(Box::new(&b"a\nb\nc\n"[..]), Vec::new(), 1, false, (b'\n', b','), 0);
        let block = blocks.next(4).unwrap().unwrap();
        assert_eq!(block.bytes, b"a\nb\n");
        blocks.give_back(b"b\n".to_vec(), 2);
        let block = blocks.next(100).unwrap().unwrap();
        assert_eq!((&block.bytes[..], block.line, block.is_last), (&b"b\nc\n"[..], 2, true));
        assert!(blocks.next(100).unwrap().is_none());
    }

    #[test]
    fn a_line_that_begins_with_a_letter_ends_the_text() {
        for (text, expected, line) in [
            ("1,2\n3,4\nTrace,2\n5,6\n", "1,2\n3,4\n", Some(3)),
            ("\t1\n\t2\nCURVE2\n\t3\n", "\t1\n\t2\n", Some(3)),
            ("1,x\n2,y\n", "1,x\n2,y\n", None),
        ] {
            for size in 1..30 {
                let input = Box::new(text.as_bytes());
                let mut blocks = Blocks::new(input, Vec::new(), 1, false, (b'\n', b','), 0);
                blocks = blocks.up_to_block(true);
                let mut whole = Vec::new();
                while let Some(mut block) = blocks.next(size).unwrap() {
                    whole.append(&mut block.bytes);
                }
                assert_eq!(std::str::from_utf8(&whole), Ok(expected), "{text:?} {size}");
                assert_eq!(blocks.next_block.as_ref().map(|(line, _)| *line), line);
            }
        }
    }

    #[test]
    fn a_last_line_without_an_end_is_noted() {
        for (text, expected) in [
            ("a,b\n1,6.", Some(2)),
            ("a,b\n1,6.\n", None),
            ("a,b\n1,6.\n\n  ", None),
            ("a,b\n1,\"6.\"", None),
            ("a,b\n1,6. ", Some(2)),
            ("a,b\r\n1,6.\r\n", None),
        ] {
            let mut blocks =
                Blocks::new(Box::new(text.as_bytes()), Vec::new(), 1, false, (b'\n', b','), 0);
            while blocks.next(3).unwrap().is_some() {}
            assert_eq!(blocks.unended, expected, "{text:?}");
        }
    }

    #[test]
    fn the_lines_of_a_footer_are_not_returned() {
        for (text, footer, expected) in [
            ("a\nb\nc\n", 1, "a\nb\n"),
            ("a\nb\nc", 1, "a\nb\n"),
            ("a\nb\n\nend\n", 2, "a\nb\n"),
            ("a\nb\n", 2, ""),
            ("a\nb\n", 9, ""),
            ("a\nb\nc\nd\ne\n", 3, "a\nb\n"),
        ] {
            for size in 1..12 {
                let input = Box::new(text.as_bytes());
                let mut blocks = Blocks::new(input, Vec::new(), 1, false, (b'\n', b','), footer);
                let mut whole = Vec::new();
                while let Some(mut block) = blocks.next(size).unwrap() {
                    whole.append(&mut block.bytes);
                }
                assert_eq!(std::str::from_utf8(&whole), Ok(expected), "{text:?} {footer} {size}");
            }
        }
    }
}
