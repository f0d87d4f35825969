//! Text in UTF-16 with its mark, as spreadsheets save it, read as UTF-8.

use std::io::{self, Cursor, Read};

use crate::reading::{filled, some};

/// Bytes that are read at a time.
pub(super) const READ_BYTES: usize = 64 * 1024;
/// A byte that no UTF-8 has: it stands for what is no character, so that its line is told.
pub(super) const NO_CHARACTER: u8 = 0xff;

/// The text of an input as UTF-8, and whether it had a mark. One without a mark stays as it is.
///
/// # Errors
/// Those of the input.
pub(super) fn utf8<'r>(mut input: impl Read + 'r) -> io::Result<(Box<dyn Read + 'r>, bool)> {
    let mut mark = vec![0; 2];
    let len = filled(&mut input, &mut mark)?;
    mark.truncate(len);
    let unit = match mark[..] {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return Ok((Box::new(Cursor::new(mark).chain(input)), false)),
    };
    let (bytes, text) = (Vec::new(), Cursor::default());
    Ok((Box::new(Utf16 { input, unit, bytes, text }), true))
}

/// A text in UTF-16 behind its mark.
struct Utf16<R> {
    input: R,
    unit: fn([u8; 2]) -> u16,
    /// Bytes that are not decoded: the beginning of a character.
    bytes: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Utf16<R> {
    /// Decodes the next bytes. Returns whether there were any.
    fn fill(&mut self) -> io::Result<bool> {
        let before = self.bytes.len();
        self.bytes.resize(before + READ_BYTES, 0);
        let count = some(&mut self.input, self.bytes.get_mut(before..).unwrap_or_default());
        self.bytes.truncate(before + *count.as_ref().unwrap_or(&0));
        let is_end = count? == 0;
        let mut len = self.bytes.len() & !1;
        let units = |bytes: &[u8]| -> Vec<u16> {
            let pairs = bytes.chunks_exact(2);
            pairs.filter_map(|pair| pair.try_into().ok()).map(self.unit).collect()
        };
        let mut units = units(self.bytes.get(..len).unwrap_or_default());
        // The second half of the last character may come with the next bytes.
        if !is_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
            len -= 2;
        }
        let mut text = Vec::with_capacity(units.len() * 3 / 2);
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => {
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Err(_) => text.push(NO_CHARACTER),
            }
        }
        self.bytes.drain(..len);
        if is_end && !self.bytes.is_empty() {
            self.bytes.clear();
            text.push(NO_CHARACTER);
        }
        let is_any = !text.is_empty() || !is_end;
        self.text = Cursor::new(text);
        Ok(is_any)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(into)?;
            if count > 0 || into.is_empty() || !self.fill()? {
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Slow;

    fn read(bytes: &[u8]) -> Vec<u8> {
        let few = if bytes.len() < 100 { 1 } else { 997 };
        let mut text = Vec::new();
        utf8(Slow(bytes, few)).unwrap().0.read_to_end(&mut text).unwrap();
        text
    }

    fn encoded(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{feff}"
            .chars()
            .chain(text.chars())
            .collect::<String>()
            .encode_utf16()
            .flat_map(bytes)
            .collect()
    }

    #[test]
    fn a_text_with_a_mark_becomes_utf_8_and_others_stay() {
        // Characters of two halves at all places of the blocks that are read.
        let long: String = "a".repeat(READ_BYTES / 2 - 1) + &"😀ü".repeat(READ_BYTES);
        for text in ["", "a", "t\tµ\r\n1\t2\r\n", "😀", &long] {
            assert_eq!(read(&encoded(text, u16::to_le_bytes)), text.as_bytes());
            assert_eq!(read(&encoded(text, u16::to_be_bytes)), text.as_bytes());
            assert_eq!(read(text.as_bytes()), text.as_bytes());
        }
        assert_eq!(read(b"\xff"), b"\xff");
        assert_eq!(read(b"\xef\xbb\xbfa"), b"\xef\xbb\xbfa");
    }

    #[test]
    fn what_is_no_character_stays_none() {
        assert_eq!(read(b"\xff\xfea\0\0\xd8b\0"), b"a\xffb");
        assert_eq!(read(b"\xff\xfea\0\0\xd8"), b"a\xff");
        assert_eq!(read(b"\xff\xfea\0b"), b"a\xff");
    }
}
