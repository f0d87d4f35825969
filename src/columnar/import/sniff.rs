//! Finds the form of a CSV text from its first bytes: byte order mark, lines before the header,
//! separator, line ends.

use super::head::ReadHead;
use super::options::ImportOptions;
use crate::error::{Error, Place, Result};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Separators that are looked for, in the order in which they win a tie.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records whose fields are counted.
const RECORDS: usize = 20;
/// What the header of a measurement file of LabVIEW ends with.
const END_OF_HEADER: &[u8] = b"***End_of_Header***";

/// The form of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    /// Where the header begins, and the number of its line.
    pub(super) start: usize,
    pub(super) line: u64,
    /// Whether lines end with a carriage return alone.
    pub(super) is_cr: bool,
    /// Whether decimals have a comma, if the text says so.
    pub(super) decimal_comma: Option<bool>,
    /// Whether the last values of a line may be missing.
    pub(super) is_padded: bool,
}

fn invalid(line: u64, what: &str) -> Error {
    Error::invalid(what).at(Place::Line { line, column: None })
}

/// A position at the start of a line.
#[derive(Clone, Copy)]
struct At {
    byte: usize,
    line: u64,
}

struct Lines<'h> {
    head: &'h [u8],
    is_cr: bool,
}

impl<'h> Lines<'h> {
    /// The line at a position without its end, and the position after it; `None` at the end.
    fn next(&self, at: At) -> Option<(&'h [u8], At)> {
        let rest = self.head.get(at.byte..).filter(|rest| !rest.is_empty())?;
        let end = if self.is_cr { b'\r' } else { b'\n' };
        let len = memchr::memchr(end, rest).unwrap_or(rest.len());
        let line = rest.get(..len)?;
        let next = At { byte: at.byte + (len + 1).min(rest.len()), line: at.line + 1 };
        Some((line.strip_suffix(b"\r").unwrap_or(line), next))
    }

    /// The numbers of fields of the first records; the last one only if it is whole.
    fn widths(&self, at: At, separator: u8, is_whole: bool) -> Vec<usize> {
        let rest = self.head.get(at.byte..).unwrap_or_default();
        let end = if self.is_cr { b'\r' } else { b'\n' };
        let (mut out, mut width, mut len) = (Vec::new(), 1, 0);
        let (mut is_start, mut is_quoted, mut is_closed) = (true, false, false);
        for &byte in rest {
            len += 1;
            match byte {
                b'"' if is_quoted => (is_quoted, is_closed) = (false, true),
                // A second quote inside of a quoted value opens it again.
                b'"' if is_start || is_closed => is_quoted = true,
                _ if is_quoted => {}
                byte if byte == end => {
                    if len > 1 {
                        out.push(width);
                    }
                    if out.len() == RECORDS {
                        return out;
                    }
                    (width, len, is_start, is_closed) = (1, 0, true, false);
                    continue;
                }
                byte if byte == separator => {
                    (width, is_start, is_closed) = (width + 1, true, false);
                    continue;
                }
                b'\r' => {
                    len -= 1;
                    continue;
                }
                _ => is_closed = false,
            }
            is_start = false;
        }
        if len > 0 && is_whole && !is_quoted {
            out.push(width);
        }
        out
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
}

/// The separator with which all records have the most fields; the comma if there is none.
fn separator_of(lines: &Lines<'_>, at: At, is_whole: bool) -> u8 {
    let mut best = (1, b',');
    let mut loose = (1, b',');
    for separator in SEPARATORS {
        let widths = lines.widths(at, separator, is_whole);
        let Some(&first) = widths.first() else { continue };
        if widths.iter().all(|width| *width == first) && first > best.0 {
            best = (first, separator);
        }
        if first > loose.0 {
            loose = (first, separator);
        }
    }
    // Records of different lengths are refused later, with their line.
    if best.0 > 1 { best.1 } else { loose.1 }
}

/// Whether a field is a number or begins like a time: no name of a column.
fn is_value(field: &str) -> bool {
    let field = field.trim().trim_matches('"');
    let number = field.replace(',', ".");
    (!field.is_empty() && number.parse::<f64>().is_ok())
        || super::moment::parse(field, Some(Default::default())).is_some()
}

fn fields(line: &[u8], separator: u8) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    text.split(char::from(separator)).map(|field| field.trim().to_owned()).collect()
}

/// Whether a line has values only, so it is no header.
pub(super) fn has_values_only<'n>(names: impl IntoIterator<Item = &'n String>) -> bool {
    let mut any = false;
    names.into_iter().all(|name| {
        any = true;
        is_value(name)
    }) && any
}

/// Skips the header of a measurement file of LabVIEW, and reads its separators.
fn labview(lines: &Lines<'_>, at: At, found: &mut Dialect) -> Option<At> {
    let (first, mut next) = lines.next(at)?;
    if !first.starts_with(b"LabVIEW Measurement") {
        return None;
    }
    let mut after = None;
    found.separator = b'\t';
    while let Some((line, following)) = lines.next(next) {
        next = following;
        if line.starts_with(END_OF_HEADER) {
            after = Some(next);
            // The channels may have a header of their own after a blank line.
            let mut ahead = next;
            while let Some((_, following)) = lines.next(ahead).filter(|(line, _)| is_blank(line)) {
                ahead = following;
            }
            match lines.next(ahead) {
                Some((line, _)) if line.starts_with(b"Channels") => next = ahead,
                _ => break,
            }
        } else if let Some(name) = line.strip_prefix(b"Separator") {
            if name.trim_ascii().eq_ignore_ascii_case(b"comma") {
                found.separator = b',';
            }
        } else if let Some(mark) = line.strip_prefix(b"Decimal_Separator") {
            found.decimal_comma = Some(mark.trim_ascii_end().ends_with(b","));
        }
    }
    after
}

/// Finds the form of the text that begins with `head`.
///
/// # Errors
/// `InvalidArgument` for a text in UTF-16, and for lines to skip that are not there.
pub(super) fn sniff(head: &ReadHead, options: &ImportOptions) -> Result<Dialect> {
    let bytes = &head.bytes[..];
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
        return Err(invalid(
            1,
            "the text is not UTF-8, but perhaps UTF-16; save it as UTF-8 (in spreadsheets: CSV \
             UTF-8)",
        ));
    }
    let start = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    // The first line end decides for all of them.
    let is_cr = match bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(at) => {
            bytes.get(at) == Some(&b'\r')
                && !matches!(bytes.get(at + 1), Some(b'\n'))
                && (at + 1 < bytes.len() || head.is_whole)
        }
        None => false,
    };
    let lines = Lines { head: bytes, is_cr };
    let mut at = At { byte: start, line: 1 };
    let mut found =
        Dialect { separator: 0, start, line: 1, is_cr, decimal_comma: None, is_padded: false };
    for _ in 0..options.skip_lines {
        let Some((_, next)) = lines.next(at).filter(|(_, next)| next.byte < bytes.len()) else {
            return Err(invalid(
                at.line,
                "skipLines skips more than the beginning of the text has; the header must come in \
                 its first 64 KiB",
            ));
        };
        at = next;
    }
    if let Some((line, next)) = lines.next(at)
        && let [b's', b'e', b'p', b'=', separator] = line
        && SEPARATORS.contains(separator)
    {
        found.separator = *separator;
        at = next;
    } else if let Some(next) = labview(&lines, at, &mut found) {
        found.is_padded = true;
        at = next;
    }
    let prefix = options.comment.as_deref().unwrap_or("#").as_bytes();
    let mut comment = None;
    while let Some((line, next)) = lines.next(at) {
        let is_comment = !prefix.is_empty() && line.starts_with(prefix);
        if !(is_comment || is_blank(line) && next.byte < bytes.len()) {
            break;
        }
        if next.byte >= bytes.len() && is_comment {
            // Only comments: the last one is the header.
            break;
        }
        comment = is_comment.then_some((at, line));
        at = next;
    }
    if let Some(separator) = options.separator {
        found.separator = separator;
    }
    if found.separator == 0 {
        found.separator = separator_of(&lines, at, head.is_whole);
    }
    // NumPy writes the names into the last comment.
    if let (Some((above, line)), Some((first, _))) = (comment, lines.next(at)) {
        let names = fields(line.get(prefix.len()..).unwrap_or_default(), found.separator);
        let values = fields(first, found.separator);
        if names.len() == values.len()
            && values.iter().any(|value| is_value(value))
            && !names.iter().any(|name| name.is_empty() || is_value(name))
        {
            at = At { byte: above.byte + prefix.len(), line: above.line };
        }
    }
    (found.start, found.line) = (at.byte, at.line);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (char, u64, String) {
        let head = ReadHead { bytes: text.as_bytes().to_vec(), is_whole: true };
        let dialect = sniff(&head, &ImportOptions::default()).unwrap();
        let rest = text.get(dialect.start..).unwrap();
        let header = rest.split(['\n', '\r']).next().unwrap();
        (char::from(dialect.separator), dialect.line, header.to_owned())
    }

    #[test]
    fn separators_and_lines_before_the_header_are_found() {
        for (text, separator, line, header) in [
            ("a,b\n1,2\n", ',', 1, "a,b"),
            ("a;b\n1,5;2,5\n", ';', 1, "a;b"),
            ("a\tb\r\n1,5\t2\r\n", '\t', 1, "a\tb"),
            ("a|b\n1|2\n", '|', 1, "a|b"),
            ("a\n1\n", ',', 1, "a"),
            ("\u{feff}a;b\n1;2\n", ';', 1, "a;b"),
            ("\"x,y\";b\n\"1,2\";2\n", ';', 1, "\"x,y\";b"),
            ("\"x\"\"y\",b\n\"1\n;\",2\n", ',', 1, "\"x\"\"y\",b"),
            ("# rig 3\n# at, noon\n\na,b\n1,2\n", ',', 4, "a,b"),
            ("# t,v\n1,2\n", ',', 1, " t,v"),
            ("sep=;\na;b\n1;2\n", ';', 2, "a;b"),
            ("a;b\r1;2\r", ';', 1, "a;b"),
            ("\n\na,b\n1,2", ',', 3, "a,b"),
            ("", ',', 1, ""),
            ("\n", ',', 1, ""),
            ("#", ',', 1, "#"),
        ] {
            assert_eq!(found(text), (separator, line, header.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn the_header_of_labview_is_skipped() {
        let text = "LabVIEW Measurement\t\r\nSeparator\tTab\r\nDecimal_Separator\t,\r\n\
                    ***End_of_Header***\t\r\n\t\r\nChannels\t1\r\nX0\t0,0\r\n\
                    ***End_of_Header***\t\t\r\nX_Value\tVoltage\tComment\r\n0,0\t1,5\r\n";
        assert_eq!(found(text), ('\t', 9, "X_Value\tVoltage\tComment".to_owned()));
    }

    #[test]
    fn utf_16_is_refused_with_its_fix() {
        for bytes in [&b"\xff\xfea\0,\0b\0"[..], b"a\0,\0"] {
            let head = ReadHead { bytes: bytes.to_vec(), is_whole: true };
            let error = sniff(&head, &ImportOptions::default()).unwrap_err();
            assert!(error.message().contains("save it as UTF-8"), "{error}");
        }
    }
}
