//! The texts of files of instruments: their encoding, and numbers.

use std::borrow::Cow;

use stationdb::tables::readers::parse_f64;

/// The characters of Windows-1252 from 0x80 to 0x9F, with controls for those that it does not define.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The character of a byte in Windows-1252, if it defines one.
pub(crate) fn windows_1252(byte: u8) -> Option<char> {
    let special = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
    let character = special.copied().unwrap_or_else(|| char::from(byte));
    Some(character).filter(|_| !matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d))
}

/// The text of a line: UTF-8, or else Windows-1252, which the flag says.
pub(crate) fn decode(bytes: &[u8]) -> (Cow<'_, str>, bool) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return (Cow::Borrowed(text), false);
    }
    // What it does not define are controls.
    let character = |byte: &u8| windows_1252(*byte).unwrap_or_else(|| char::from(*byte));
    (Cow::Owned(bytes.iter().map(character).collect()), true)
}

/// A number as [`number`] with a decimal point, without blanks.
pub(crate) fn with_point(text: &str, comma: bool) -> Cow<'_, str> {
    let text = text.trim();
    if comma && text.contains(',') && !text.contains('.') {
        return Cow::Owned(text.replacen(',', ".", 1));
    }
    Cow::Borrowed(text)
}

/// A number: with a decimal point, or also with a comma in a file of commas, because LabVIEW mixes
/// them there; `NaN` and `Inf` in any letter case.
pub(crate) fn number(text: &str, comma: bool) -> Option<f64> {
    let text = with_point(text, comma);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if unsigned.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Some(sign * f64::INFINITY);
    }
    parse_f64(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_utf_8_or_else_windows_1252() {
        assert_eq!(decode("µV ü".as_bytes()), (Cow::Borrowed("µV ü"), false));
        assert_eq!(decode(b"\xb5V \x80 \x9f \xe9"), (Cow::Owned("µV € Ÿ é".to_owned()), true));
    }

    #[test]
    fn numbers_have_a_point_or_a_comma_in_files_of_commas() {
        for (text, comma, expected) in [
            ("0,023437", true, Some(0.023_437)),
            ("1.5", true, Some(1.5)),
            (" -1,500000E-7 ", true, Some(-1.5e-7)),
            ("+.5", false, Some(0.5)),
            ("-Inf", false, Some(f64::NEG_INFINITY)),
            ("infinity", false, Some(f64::INFINITY)),
            ("1,5", false, None),
            ("1,5,5", true, None),
            ("1.5,5", true, None),
            ("1e400", false, None),
            ("--1", false, None),
            ("2.5V", false, None),
            ("", false, None),
        ] {
            assert_eq!(number(text, comma), expected, "{text:?}");
        }
        assert!(number("NaN", false).is_some_and(f64::is_nan));
    }
}
