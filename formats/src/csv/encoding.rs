//! Text in encodings of one byte a character, as older programs save it, read as UTF-8.

use std::io::{self, Cursor, Read};
use std::str::from_utf8;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stationdb::Result;

use super::utf16::{NO_CHARACTER, READ_BYTES};
use crate::instrument_text::windows_1252;
use crate::named::named;
use crate::reading::some;

/// The most bytes of a character of UTF-8.
const CHARACTER_BYTES: usize = 4;

/// The encoding of a text without a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Windows1252,
    Latin1,
}

impl Encoding {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Utf8, "UTF-8"), (Self::Windows1252, "WINDOWS-1252"), (Self::Latin1, "ISO-8859-1")];

    /// The encoding that a request names.
    ///
    /// # Errors
    /// `InvalidArgument` with the member.
    pub(crate) fn named(text: &str) -> Result<Self> {
        named(text, "encoding that is read", Self::ALL, |(_, name)| *name)
            .map(|(encoding, _)| encoding)
            .map_err(|error| error.at_member("encoding"))
    }
}

/// The line from which on a text was read as Windows-1252 although nobody said so.
#[derive(Clone, Debug, Default)]
pub(super) struct Assumed(Arc<AtomicU64>);

impl Assumed {
    fn note(&self, line: u64) {
        self.0.store(line, Ordering::Relaxed);
    }

    /// The line, from 1.
    pub(super) fn line(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|line| *line > 0)
    }
}

/// What is known of a text.
#[derive(Clone, Copy)]
enum State {
    /// All characters so far are ASCII.
    Ascii,
    Utf8,
    Bytes(fn(u8) -> Option<char>),
}

/// The character of a byte in a text that nobody said to be Windows-1252. Controls are signs of a file
/// that is no text, such as a picture.
fn assumed(byte: u8) -> Option<char> {
    let is_control = byte.is_ascii_control() && !b"\t\n\r\x0c".contains(&byte);
    windows_1252(byte).filter(|_| !is_control)
}

/// A text whose encoding its first bytes beyond ASCII tell: UTF-8 if they are that, else
/// Windows-1252.
struct Decoder<R> {
    input: R,
    state: State,
    /// Bytes that were read and not decoded.
    waiting: Vec<u8>,
    text: Cursor<Vec<u8>>,
    /// Line feeds and carriage returns so far.
    ends: [u64; 2],
    assumed: Assumed,
}

/// The text of an input as UTF-8: in this encoding, or in the one that is found.
pub(super) fn decoded<'r>(
    input: impl Read + 'r,
    encoding: Option<Encoding>,
    assumed: Assumed,
) -> Box<dyn Read + 'r> {
    let state = match encoding {
        None => State::Ascii,
        Some(Encoding::Utf8) => return Box::new(input),
        Some(Encoding::Windows1252) => State::Bytes(windows_1252),
        Some(Encoding::Latin1) => State::Bytes(|byte| Some(char::from(byte))),
    };
    let (waiting, text) = (Vec::new(), Cursor::default());
    Box::new(Decoder { input, state, waiting, text, ends: [0; 2], assumed })
}

impl<R: Read> Decoder<R> {
    /// Reads ASCII; what follows it waits.
    fn ascii(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = some(&mut self.input, into)?;
        let read = into.get(..count).unwrap_or_default();
        let first_other = || read.iter().position(|byte| !byte.is_ascii());
        // Whole words are looked at first: most pieces are ASCII.
        let len = if read.is_ascii() { count } else { first_other().unwrap_or(count) };
        let (ascii, rest) = read.split_at_checked(len).unwrap_or((read, &[]));
        for (ends, byte) in self.ends.iter_mut().zip(*b"\n\r") {
            *ends += memchr::memchr_iter(byte, ascii).count() as u64;
        }
        self.waiting = rest.to_vec();
        Ok(len)
    }

    /// Decides by the first bytes beyond ASCII, which wait.
    fn decide(&mut self) -> io::Result<()> {
        let mut more = [0; CHARACTER_BYTES];
        while let Some(room) = CHARACTER_BYTES.checked_sub(self.waiting.len()).filter(|n| *n > 0) {
            let room = more.get_mut(..room).unwrap_or_default();
            let count = some(&mut self.input, room)?;
            if count == 0 {
                break;
            }
            self.waiting.extend_from_slice(more.get(..count).unwrap_or_default());
        }
        let first = self.waiting.get(..CHARACTER_BYTES).unwrap_or(&self.waiting);
        let is_utf8 = from_utf8(first).map_or_else(|error| error.valid_up_to() > 0, |_| true);
        self.state = if is_utf8 {
            State::Utf8
        } else {
            let [feeds, returns] = self.ends;
            self.assumed.note(1 + feeds.max(returns));
            State::Bytes(assumed)
        };
        Ok(())
    }

    /// Decodes the next bytes. Returns whether there were any.
    fn fill(&mut self, character: fn(u8) -> Option<char>) -> io::Result<bool> {
        if self.waiting.is_empty() {
            self.waiting.resize(READ_BYTES, 0);
            let count = some(&mut self.input, &mut self.waiting);
            self.waiting.truncate(*count.as_ref().unwrap_or(&0));
            count?;
        }
        let mut text = Vec::with_capacity(self.waiting.len() * 2);
        for byte in self.waiting.drain(..) {
            match character(byte) {
                Some(found) => {
                    text.extend_from_slice(found.encode_utf8(&mut [0; CHARACTER_BYTES]).as_bytes());
                }
                None => text.push(NO_CHARACTER),
            }
        }
        let is_any = !text.is_empty();
        self.text = Cursor::new(text);
        Ok(is_any)
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::Ascii if self.waiting.is_empty() => {
                    let count = self.ascii(into)?;
                    if count > 0 || self.waiting.is_empty() {
                        return Ok(count);
                    }
                }
                State::Ascii => self.decide()?,
                State::Utf8 if self.waiting.is_empty() => return some(&mut self.input, into),
                State::Utf8 => {
                    let count = into.len().min(self.waiting.len());
                    for (to, from) in into.iter_mut().zip(self.waiting.drain(..count)) {
                        *to = from;
                    }
                    return Ok(count);
                }
                State::Bytes(character) => {
                    let count = self.text.read(into)?;
                    if count > 0 || !self.fill(character)? {
                        return Ok(count);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Slow;

    fn read(bytes: &[u8], encoding: Option<Encoding>) -> (Vec<u8>, Option<u64>) {
        let mut found = Vec::new();
        for few in [1, 2, 3, 5, READ_BYTES] {
            let (assumed, mut text) = (Assumed::default(), Vec::new());
            let mut input = decoded(Slow(bytes, few), encoding, assumed.clone());
            input.read_to_end(&mut text).unwrap();
            found.push((text, assumed.line()));
        }
        let first = found.pop().unwrap();
        assert!(found.iter().all(|other| *other == first), "{found:?}");
        first
    }

    #[test]
    fn the_first_bytes_beyond_ascii_tell_the_encoding() {
        let cases: &[(&[u8], &[u8], Option<u64>)] = &[
            (b"", b"", None),
            (b"a,b\n1,2\n", b"a,b\n1,2\n", None),
            ("t\n\u{b0}C \u{20ac}".as_bytes(), "t\n\u{b0}C \u{20ac}".as_bytes(), None),
            (b"t\n\xb0C", "t\n\u{b0}C".as_bytes(), Some(2)),
            (b"t\r\n1\r\n\xb5V", "t\r\n1\r\n\u{b5}V".as_bytes(), Some(3)),
            (b"t\r1\r\xfcx\x80", "t\r1\r\u{fc}x\u{20ac}".as_bytes(), Some(3)),
            (b"\xdcber", "\u{dc}ber".as_bytes(), Some(1)),
            (b"a\xe4", "a\u{e4}".as_bytes(), Some(1)),
            // A text of UTF-8 that is damaged behind its first characters stays so.
            ("\u{fc}".as_bytes(), "\u{fc}".as_bytes(), None),
            (b"\xc3\xbc\n\xfc", b"\xc3\xbc\n\xfc", None),
            (b"\xef\xbb\xbfa\n\xfc", b"\xef\xbb\xbfa\n\xfc", None),
            // What Windows-1252 does not define is no character.
            (b"\xe4\x81b", b"\xc3\xa4\xffb", Some(1)),
            (b"\xe4\t\x1a\x00", b"\xc3\xa4\t\xff\xff", Some(1)),
        ];
        for (bytes, text, line) in cases {
            assert_eq!(read(bytes, None), (text.to_vec(), *line), "{bytes:?}");
        }
    }

    #[test]
    fn a_request_says_the_encoding() {
        assert_eq!(read(b"\xc3\xbc", Some(Encoding::Latin1)).0, "\u{c3}\u{bc}".as_bytes());
        assert_eq!(read(b"\x80", Some(Encoding::Windows1252)), ("\u{20ac}".into(), None));
        assert_eq!(read(b"\x80", Some(Encoding::Latin1)), ("\u{80}".into(), None));
        assert_eq!(read(b"\xfc", Some(Encoding::Utf8)), (b"\xfc".to_vec(), None));
        assert_eq!(Encoding::named("windows-1252").unwrap(), Encoding::Windows1252);
        let error = Encoding::named("cp437").unwrap_err();
        assert!(error.message().contains("UTF-8, WINDOWS-1252, ISO-8859-1"), "{error}");
    }
}
