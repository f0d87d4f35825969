//! Finds the form of a CSV text from its first bytes: byte order mark, lines before the header,
//! separator, line ends.

use stationdb::Result;
use stationdb::tables::readers::foreign;
use stationdb::tables::{DataType, readers as cells};

use super::head::{self, ReadHead};
use super::layout::{self, Layout, Line};
use super::value::{is_null, real};
use crate::lines::{invalid, without_cr};
use crate::moment;
use crate::options::ImportOptions;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Separators that are looked for, in the order in which they win a tie.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records that decide the separator.
const RECORDS: usize = 100;
/// What the header of a measurement file of LabVIEW ends with.
const END_OF_HEADER: &[u8] = b"***End_of_Header***";

/// The form of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dialect {
    pub(super) separator: u8,
    /// Where the header begins, and the number of its line.
    pub(super) start: usize,
    pub(super) line: u64,
    /// Whether decimals have a comma, if the text says so.
    pub(super) decimal_comma: Option<bool>,
    /// Whether the last values of a line may be missing.
    pub(super) is_padded: bool,
    /// The line of the last comment, and the number of its parts.
    pub(super) comment: Option<(u64, usize)>,
    /// What the first lines rather are than a table with this separator, with the line that says
    /// so.
    pub(super) doubt: Option<(u64, String)>,
    /// The header of an instrument or logger, behind which the text begins.
    pub(super) layout: Option<Layout>,
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
        Some((without_cr(line), next))
    }

    /// The lines from a position on; the last one only if it is whole.
    fn whole(&self, mut at: At, is_whole: bool) -> Vec<Line<'h>> {
        let mut out = Vec::new();
        while let Some((text, next)) = self.next(at) {
            out.push(Line { number: at.line, byte: at.byte, text });
            at = next;
        }
        if !is_whole {
            out.pop();
        }
        out
    }

    /// The first records; the last one only if it is whole.
    fn records(&self, at: At, separator: u8, is_whole: bool) -> Vec<Record> {
        let rest = self.head.get(at.byte..).unwrap_or_default();
        let end = if self.is_cr { b'\r' } else { b'\n' };
        let (mut out, mut record, mut field) = (Vec::new(), Record::at(at.line), Vec::new());
        let (mut line, mut len) = (at.line, 0);
        let (mut is_start, mut is_quoted, mut is_closed, mut was_quoted) =
            (true, false, false, false);
        for &byte in rest {
            len += 1;
            match byte {
                b'"' if is_quoted => (is_quoted, is_closed) = (false, true),
                // Blanks may stand before an opening quote, and behind a closing one.
                byte if !is_quoted
                    && byte != separator
                    && (is_start || was_quoted)
                    && head::is_blank(byte) =>
                {
                    is_closed = false;
                    if !was_quoted {
                        field.push(byte);
                    }
                    continue;
                }
                // A second quote inside of a quoted value opens it again.
                b'"' if is_start || is_closed => {
                    if is_closed {
                        field.push(byte);
                    } else {
                        field.clear();
                    }
                    (is_quoted, was_quoted) = (true, true);
                }
                byte if is_quoted => {
                    line += u64::from(byte == end);
                    field.push(byte);
                }
                byte if byte == end || byte == separator => {
                    record.push(&mut field, was_quoted);
                    (is_start, is_closed, was_quoted) = (true, false, false);
                    if byte == separator {
                        continue;
                    }
                    line += 1;
                    let whole = std::mem::replace(&mut record, Record::at(line));
                    if len > 1 {
                        out.push(whole);
                    }
                    if out.len() == RECORDS {
                        return out;
                    }
                    len = 0;
                    continue;
                }
                b'\r' => {
                    len -= 1;
                    continue;
                }
                byte => {
                    is_closed = false;
                    field.push(byte);
                }
            }
            is_start = false;
        }
        if len > 0 && is_whole && !is_quoted {
            record.push(&mut field, was_quoted);
            out.push(record);
        }
        out
    }
}

/// A record of the first bytes.
struct Record {
    line: u64,
    /// The texts of the fields, and whether they are quoted.
    fields: Vec<(String, bool)>,
}

impl Record {
    fn at(line: u64) -> Self {
        Self { line, fields: Vec::new() }
    }

    fn push(&mut self, field: &mut Vec<u8>, is_quoted: bool) {
        self.fields.push((String::from_utf8_lossy(field).into_owned(), is_quoted));
        field.clear();
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0x0b)
}

/// What the columns are that a separator makes.
#[derive(Debug, Default, PartialEq)]
struct Columns {
    width: usize,
    /// Columns of numbers, times, or true and false.
    typed: usize,
    /// Other columns that have values.
    texts: usize,
    /// Columns of texts that all have another separator inside.
    mixed: usize,
    /// Columns whose names begin with a blank: a comma and a blank are prose.
    prose: usize,
}

impl Columns {
    /// The columns below the names in the first of these records; `None` unless all of them have
    /// as many fields.
    fn of(records: &[Record], separator: u8, options: &ImportOptions) -> Option<Self> {
        let (names, rows) = records.split_first()?;
        let width = names.fields.len();
        if records.iter().any(|record| record.fields.len() != width) {
            return None;
        }
        let is_comma = separator != b',' && options.decimal_comma != Some(false);
        let is_value = |text: &str| {
            real(text, false)
                || is_comma && real(text, true)
                || moment::is_time(text)
                || cells::parse_bool(text.trim()).is_some()
        };
        let has_other = |text: &str| {
            SEPARATORS.iter().any(|other| *other != separator && text.contains(char::from(*other)))
        };
        let mut out = Self { width, ..Self::default() };
        for at in 0..width {
            let name = names.fields.get(at).map(|(name, _)| name.as_str()).unwrap_or_default();
            out.prose += usize::from(name.starts_with(' '));
            let texts: Vec<&str> = rows
                .iter()
                .filter_map(|record| record.fields.get(at))
                .filter(|(text, quoted)| {
                    !text.is_empty() && !is_null(text, *quoted, DataType::Float64, options)
                })
                .map(|(text, _)| text.as_str())
                .collect();
            if texts.is_empty() {
                continue;
            }
            // The first row may have the units.
            let is_typed = |texts: &[&str]| texts.iter().all(|text| is_value(text));
            if is_typed(&texts)
                || texts.len() > 2 && texts.split_first().is_some_and(|(_, rest)| is_typed(rest))
            {
                out.typed += 1;
            } else {
                out.texts += 1;
                out.mixed += usize::from(texts.iter().all(|text| has_other(text)));
            }
        }
        Some(out)
    }

    /// Whether these columns are more likely than others.
    fn are_likelier(&self, than: &Self) -> bool {
        let of = |columns: &Self| (columns.typed + columns.texts).max(1);
        let order = (self.typed * of(than)).cmp(&(than.typed * of(self)));
        let order = order.then(than.mixed.cmp(&self.mixed));
        order.then(than.prose.cmp(&self.prose)).then(self.width.cmp(&than.width)).is_gt()
    }
}

fn shown_separator(separator: u8) -> String {
    match separator {
        b'\t' => "a tab".to_owned(),
        other => format!("{:?}", char::from(other)),
    }
}

/// The separator that makes the most columns of one type; if none makes columns of equal lengths,
/// one that the first record has, with what the lines rather are.
fn separator_of(
    lines: &Lines<'_>,
    at: At,
    is_whole: bool,
    options: &ImportOptions,
) -> (u8, Option<(u64, String)>) {
    let mut best: Option<(Columns, u8)> = None;
    let mut loose = (1, b',');
    let mut doubt: Option<(Columns, (u64, String))> = None;
    for separator in SEPARATORS {
        let records = lines.records(at, separator, is_whole);
        let width_of = |record: &Record| record.fields.len();
        let Some(first) = records.first().map(width_of) else { continue };
        if first > loose.0 {
            loose = (first, separator);
        }
        if let Some(columns) = Columns::of(&records, separator, options) {
            let is_best = best.as_ref().is_none_or(|(other, _)| columns.are_likelier(other));
            if columns.width > 1 && is_best {
                best = Some((columns, separator));
            }
            continue;
        }
        // A table may begin below lines that have other things.
        let Some(last) = records.last().map(width_of) else { continue };
        let from = records.iter().rposition(|record| width_of(record) != last).unwrap_or_default();
        let table = records.get(from + 1..).unwrap_or_default();
        let (Some(names), Some(columns)) =
            (table.first(), Columns::of(table, separator, options).filter(|_| last > 1))
        else {
            continue;
        };
        if columns.typed > 0
            && table.len() > 1
            && doubt.as_ref().is_none_or(|(other, _)| columns.are_likelier(other))
        {
            let line = names.line;
            let what = format!(
                "from line {line} on, each line has {last} values with {} between them, which \
                 line {} has not; if line {line} has the names, set skipLines to {}, or preset to \
                 INSTRUMENT, which keeps the lines before; if the last values of a line may be \
                 missing, set shortRows; if not, set separator",
                shown_separator(separator),
                at.line,
                line - 1
            );
            doubt = Some((columns, (line, what)));
        }
    }
    match best {
        Some((_, separator)) => (separator, None),
        // Records of different lengths are refused later, with their line.
        None => {
            let doubt = doubt.map(|(_, doubt)| doubt);
            (loose.1, doubt.or_else(|| blanks(lines, at, is_whole, options)))
        }
    }
}

/// What a text of one column rather is, if blanks separate numbers in all of its values.
fn blanks(
    lines: &Lines<'_>,
    at: At,
    is_whole: bool,
    options: &ImportOptions,
) -> Option<(u64, String)> {
    let records = lines.records(at, 0, is_whole);
    let (names, rows) = records.split_first()?;
    let values = |record: &Record| -> Vec<(String, bool)> {
        let (text, _) = record.fields.first().cloned().unwrap_or_default();
        text.split_ascii_whitespace().map(|part| (part.to_owned(), false)).collect()
    };
    let split: Vec<Record> =
        rows.iter().map(|record| Record { line: record.line, fields: values(record) }).collect();
    let width = split.first()?.fields.len();
    // The rows alone: names may have blanks. The first one stands for them.
    let mut table = vec![Record { line: names.line, fields: vec![Default::default(); width] }];
    table.extend(split);
    let columns = Columns::of(&table, b' ', options)?;
    let is_one = Columns::of(&records, 0, options).is_some_and(|columns| columns.typed > 0);
    let names_width = values(names).len();
    // Words in a row are prose, unless the names have as many, and most of them are numbers or
    // times in all rows.
    let is_prose = columns.texts > 0 && (columns.typed < 2 || names_width != width);
    if width < 2 || is_prose || is_one {
        return None;
    }
    let advice = if names_width == width {
        "set separator to \" \""
    } else {
        "put one separator, such as a comma, between them and between the names"
    };
    let what = format!(
        "each line behind line {} has {width} values with blanks between them, and blanks do not \
         separate values by themselves; {advice}, or set another separator to import the lines as texts",
        names.line
    );
    Some((names.line, what))
}

/// Whether a field is a number or begins like a time: no name of a column.
fn is_value(field: &str) -> bool {
    let field = field.trim().trim_matches('"');
    let number = field.replace(',', ".");
    (!field.is_empty() && number.parse::<f64>().is_ok())
        || moment::parse(field, Some(Default::default())).is_some()
}

fn fields(line: &[u8], separator: u8) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    if separator == b' ' {
        return text.split_ascii_whitespace().map(str::to_owned).collect();
    }
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

/// Refuses the first bytes of a file that is known to be no text.
///
/// # Errors
/// `InvalidArgument`.
pub(super) fn check_text(start: &[u8]) -> Result<()> {
    match foreign::known(start) {
        Some(what) => Err(invalid(1, format!("the file is no CSV text: {what}"))),
        None => Ok(()),
    }
}

/// Finds the form of the text that begins with `head`; `None` if it is the header of an instrument that
/// may go on behind these bytes.
///
/// # Errors
/// `InvalidArgument` for a text in UTF-16 without its mark, and for a header of an instrument that is
/// not found.
pub(super) fn sniff(head: &ReadHead, options: &ImportOptions) -> Result<Option<Dialect>> {
    let bytes = &head.bytes[..];
    check_text(bytes)?;
    let start = if head.line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
        BYTE_ORDER_MARK.len()
    } else {
        0
    };
    let lines = Lines { head: bytes, is_cr: head.is_cr };
    let mut at = At { byte: start, line: head.line };
    let mut found = Dialect {
        separator: 0,
        start,
        line: head.line,
        decimal_comma: None,
        is_padded: false,
        comment: None,
        doubt: None,
        layout: None,
    };
    let mut is_labview = false;
    if let Some((line, next)) = lines.next(at)
        && let [b's', b'e', b'p', b'=', separator] = line
        && SEPARATORS.contains(separator)
    {
        found.separator = *separator;
        at = next;
    } else if let Some(next) = labview(&lines, at, &mut found) {
        (found.is_padded, is_labview) = (true, true);
        at = next;
    }
    if !is_labview {
        let whole = lines.whole(at, head.is_whole);
        if let Some(preset) = layout::preset(&whole, options)? {
            let named = options.separator.or((found.separator != 0).then_some(found.separator));
            let layout = layout::find(&whole, preset, named, options)?;
            // The last line alone may as well be one of the header.
            let last = whole.last().map(|line| line.byte);
            if head.may_grow() && layout.as_ref().is_none_or(|found| last == Some(found.start)) {
                return Ok(None);
            }
            let layout = layout.ok_or_else(|| layout::no_rows(&whole, preset))?;
            (found.start, found.line) = (layout.start, layout.line);
            found.separator = layout.separator;
            found.is_padded = options.short_rows.unwrap_or(true);
            found.layout = Some(layout);
            return Ok(Some(found));
        }
    }
    found.is_padded = options.short_rows.unwrap_or(found.is_padded);
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
        (found.separator, found.doubt) = separator_of(&lines, at, head.is_whole, options);
    }
    if options.short_rows == Some(true) {
        found.doubt = None;
    }
    // NumPy writes the names into the last comment.
    if let (Some((above, line)), Some((first, _))) = (comment, lines.next(at)) {
        let names = fields(line.get(prefix.len()..).unwrap_or_default(), found.separator);
        let values = fields(first, found.separator);
        found.comment = Some((above.line, names.len()));
        if names.len() == values.len()
            && values.iter().any(|value| is_value(value))
            && !names.iter().any(|name| name.is_empty() || is_value(name))
        {
            at = At { byte: above.byte + prefix.len(), line: above.line };
            (found.comment, found.doubt) = (None, None);
        }
    }
    (found.start, found.line) = (at.byte, at.line);
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (char, u64, String) {
        let head = ReadHead::new(text.as_bytes().to_vec(), true);
        let dialect = sniff(&head, &ImportOptions::default()).unwrap().unwrap();
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
            let head = ReadHead::new(bytes.to_vec(), true);
            let error = sniff(&head, &ImportOptions::default()).unwrap_err();
            assert!(error.message().contains("save it as UTF-8"), "{error}");
        }
    }
}
