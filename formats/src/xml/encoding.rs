//! The encodings in which report generators write.

use std::borrow::Cow;

use stationdb::{Error, Result};

/// The characters of windows-1252 at 0x80 to 0x9f.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];
/// The bytes in which a declaration names its encoding.
const DECLARATION_BYTES: usize = 256;

/// The text of a document: UTF-8, UTF-16 with its mark or a declaration, or one of the encodings of
/// a byte that its declaration names.
///
/// # Errors
/// `InvalidArgument` for bytes that the encoding does not have; `Unsupported` for another encoding.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return utf8(rest).map(Cow::Borrowed);
    }
    match bytes {
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        [b'<', 0, b'?', 0, ..] => return utf16(bytes, u16::from_le_bytes),
        [0, b'<', 0, b'?', ..] => return utf16(bytes, u16::from_be_bytes),
        _ => {}
    }
    let declared = declared(bytes);
    match declared.as_deref() {
        // A declaration that can be read byte by byte is not UTF-16, whatever it says.
        None | Some("utf-8" | "utf8" | "us-ascii" | "ascii" | "utf-16" | "utf16" | "unicode") => {
            utf8(bytes).map(Cow::Borrowed)
        }
        Some("iso-8859-1" | "latin1" | "windows-1252" | "cp1252") => {
            Ok(Cow::Owned(bytes.iter().map(|byte| windows(*byte)).collect()))
        }
        Some(other) => Err(Error::unsupported(format!(
            "the document is declared as {other:?}; documents are read in UTF-8, UTF-16, \
             ISO-8859-1 and windows-1252, so write it again as one of these"
        ))),
    }
}

/// Whether bytes are the start of XML, in whatever encoding, that `holds` of its letters of ASCII.
pub(crate) fn begins(start: &[u8], holds: impl Fn(&str) -> bool) -> bool {
    let letters = start.iter().filter(|byte| byte.is_ascii() && **byte != 0);
    let text: String = letters.map(|byte| char::from(*byte)).collect();
    text.trim_start().starts_with('<') && holds(&text)
}

/// The encoding that the declaration names, in lower case.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(DECLARATION_BYTES))?;
    let head = head.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(head, b"?>")?;
    let head = String::from_utf8_lossy(head.get(..end)?).into_owned();
    let (_, rest) = head.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let (name, _) = rest.get(1..)?.split_once(quote)?;
    Some(name.trim().to_ascii_lowercase())
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        Error::invalid(format!(
            "byte {} is not UTF-8; if the document has another encoding, its declaration has to \
             name it",
            error.valid_up_to()
        ))
        .with_source(error)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return Err(Error::invalid(
            "the document is UTF-16 with an odd number of bytes, so it was cut; write it again",
        ));
    }
    let units = pairs.filter_map(|pair| <[u8; 2]>::try_from(pair).ok()).map(unit);
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.map(Cow::Owned).map_err(|error| {
        Error::invalid("the document is UTF-16 with half of a character").with_source(error)
    })
}

fn windows(byte: u8) -> char {
    let high = byte.checked_sub(0x80).and_then(|at| WINDOWS.get(usize::from(at)));
    high.copied().unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use stationdb::ErrorKind;

    use super::*;

    #[test]
    fn encodings() {
        let with = |name: &str, rest: &[u8]| {
            [format!("<?xml version='1.0' encoding='{name}'?>").as_bytes(), rest].concat()
        };
        for (bytes, text) in [
            ("<a>ü</a>".as_bytes().to_vec(), "<a>ü</a>"),
            (b"\xef\xbb\xbf<a/>".to_vec(), "<a/>"),
            (b"\xff\xfe<\0\xac\x20".to_vec(), "<€"),
            (b"\xfe\xff\0<\xd8\x3d\xde\0".to_vec(), "<😀"),
            (b"<\0?\0".to_vec(), "<?"),
            (b"\0<\0?".to_vec(), "<?"),
        ] {
            assert_eq!(decode(&bytes).unwrap(), text);
        }
        assert!(decode(&with("ISO-8859-1", b"\xb0\x80")).unwrap().ends_with("°€"));
        assert!(decode(&with("Windows-1252", b"\x96")).unwrap().ends_with('–'));
        assert!(decode(&with("UTF-16", b"x")).unwrap().ends_with('x'));
    }

    #[test]
    fn other_encodings_are_refused() {
        for (bytes, kind) in [
            (&b"<a>\xff</a>"[..], ErrorKind::InvalidArgument),
            (b"\xff\xfe<", ErrorKind::InvalidArgument),
            (b"\xff\xfe\0\xd8", ErrorKind::InvalidArgument),
            (b"<?xml version=\"1.0\" encoding=\"Shift_JIS\"?>", ErrorKind::Unsupported),
        ] {
            assert_eq!(decode(bytes).unwrap_err().kind(), kind, "{bytes:?}");
        }
    }
}
