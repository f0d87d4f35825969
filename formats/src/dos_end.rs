//! The end of a text of DOS: programs of that time end a file with the byte 0x1A, and fill its last
//! sector with more of them.

use std::io::{self, Read, Seek, SeekFrom};

use crate::reading::{filled, some};

/// The byte of Ctrl-Z.
const MARK: u8 = 0x1a;
/// Marks and line ends that are read before they are taken for the end of the text; more of them are
/// a part of it.
const HELD_MAX: usize = 64 * 1024;

/// Whether a byte may stand behind a mark that ends a text.
fn may_be_behind(byte: u8) -> bool {
    matches!(byte, MARK | b'\r' | b'\n')
}

/// Bytes of the text of an input, from its start, without the marks at its end. The input is at its
/// start afterwards.
pub(crate) fn text_len(input: &mut (impl Read + Seek)) -> io::Result<u64> {
    let len = input.seek(SeekFrom::End(0))?;
    // With one byte more than can be the end, what is before it is known, too.
    let from = len.saturating_sub(HELD_MAX as u64 + 1);
    input.seek(SeekFrom::Start(from))?;
    let mut last = vec![0; usize::try_from(len - from).unwrap_or_default()];
    let count = filled(input, &mut last)?;
    last.truncate(count);
    input.seek(SeekFrom::Start(0))?;
    let other = last.iter().rposition(|byte| !may_be_behind(*byte)).map_or(0, |at| at + 1);
    let behind = last.get(other..).unwrap_or_default();
    let mark = memchr::memchr(MARK, behind).filter(|at| behind.len() - at <= HELD_MAX);
    Ok(mark.map_or(len, |at| from + (other + at) as u64))
}

/// The text of an input without the marks at its end. A mark with anything but line ends and marks
/// behind it stays.
pub(crate) fn without_mark<'r>(input: impl Read + 'r) -> impl Read + 'r {
    Text { input, held: Vec::new(), looked: 0, free: 0 }
}

struct Text<R> {
    input: R,
    /// What was read from a mark on.
    held: Vec<u8>,
    /// How many of these are known to be marks and line ends.
    looked: usize,
    /// How many of these are known to be no end.
    free: usize,
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if self.free > 0 {
                let count = into.len().min(self.free);
                for (to, from) in into.iter_mut().zip(self.held.drain(..count)) {
                    *to = from;
                }
                self.free -= count;
                return Ok(count);
            }
            if self.held.is_empty() {
                let count = some(&mut self.input, into)?;
                let read = into.get(..count).unwrap_or_default();
                let (text, marked) = read
                    .split_at_checked(memchr::memchr(MARK, read).unwrap_or(count))
                    .unwrap_or_default();
                if marked.is_empty() {
                    return Ok(count);
                }
                self.held = marked.to_vec();
                if !text.is_empty() {
                    return Ok(text.len());
                }
            }
            self.look()?;
            if self.held.is_empty() {
                return Ok(0);
            }
        }
    }
}

impl<R: Read> Text<R> {
    /// Finds whether a mark ends the text, and drops it then; reads more where that is unknown.
    fn look(&mut self) -> io::Result<()> {
        let rest = self.held.get(self.looked..).unwrap_or_default();
        let other = rest.iter().position(|byte| !may_be_behind(*byte));
        match other.map(|at| self.looked + at) {
            Some(at) => {
                let behind = self.held.get(at..).unwrap_or_default();
                self.free = at + memchr::memchr(MARK, behind).unwrap_or(behind.len());
                self.looked = 0;
            }
            None if self.held.len() > HELD_MAX => {
                (self.free, self.looked) = (self.held.len(), 0);
            }
            None => {
                let len = self.held.len();
                self.looked = len;
                self.held.resize(len + HELD_MAX, 0);
                let room = self.held.get_mut(len..).unwrap_or_default();
                let read = some(&mut self.input, room);
                self.held.truncate(len + *read.as_ref().unwrap_or(&0));
                if read? == 0 {
                    self.held.clear();
                    self.looked = 0;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Slow;
    use std::io::Cursor;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut found = Vec::new();
        for few in [1, 2, 3, 7, 100_000] {
            let mut text = Vec::new();
            without_mark(Slow(bytes, few)).read_to_end(&mut text).unwrap();
            found.push(text);
        }
        let first = found.pop().unwrap();
        assert_eq!(text_len(&mut Cursor::new(bytes)).unwrap(), first.len() as u64, "{bytes:?}");
        assert!(found.iter().all(|other| *other == first), "{found:?}");
        first
    }

    #[test]
    fn marks_at_the_end_are_no_text() {
        for (bytes, text) in [
            (&b""[..], &b""[..]),
            (b"a,b\n", b"a,b\n"),
            (b"a\n1\n\x1a", b"a\n1\n"),
            (b"a\n1\x1a", b"a\n1"),
            (b"\x1a\x1a", b""),
            (b"a\r\n\x1a\r\n", b"a\r\n"),
            (b"a\n\x1a\x1a\n\x1a\r\n\n", b"a\n"),
            // What has anything behind it stays, with all that is before it.
            (b"a\n\x1ab\n", b"a\n\x1ab\n"),
            (b"a\n\x1a\n\n2\n\x1a", b"a\n\x1a\n\n2\n"),
            (b"\x1a \x1a", b"\x1a "),
            (b"\x1a\0", b"\x1a\0"),
            (b"a\x1ab\x1ac\x1a\nd\x1a\n", b"a\x1ab\x1ac\x1a\nd"),
        ] {
            assert_eq!(read(bytes), text, "{bytes:?}");
        }
        let sector = [&b"a\n"[..], &[MARK; 4096]].concat();
        assert_eq!(read(&sector), b"a\n");
    }

    #[test]
    fn more_marks_than_are_held_stay() {
        for (len, is_end) in [(HELD_MAX, true), (3 * HELD_MAX, false)] {
            let bytes = vec![MARK; len];
            assert_eq!(text_len(&mut Cursor::new(&bytes)).unwrap() == 0, is_end, "{len}");
            let mut text = Vec::new();
            without_mark(&bytes[..]).read_to_end(&mut text).unwrap();
            assert_eq!(text.is_empty(), is_end, "{len}: {}", text.len());
        }
    }
}
