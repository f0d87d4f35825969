//! What the report says of a column that may be meant otherwise than it was read.

use stationdb::tables::DataType;

use super::form::{Mark, first_other, may_be_thousands, shown, values, whole};
use super::odd;
use super::records::Records;
use super::value::{is_scpi_none, number, real};
use crate::moment;
use crate::options::ImportOptions;

/// What the report says of a column of texts of which at least half are numbers or times: the first
/// one that is neither.
pub(super) fn rare_text(
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<String> {
    let texts = values(records, column, DataType::Float64, options);
    let is_value = |text: &str| real(text, mark.is_comma) || moment::is_time(text);
    let value_count = texts.iter().filter(|(_, text)| is_value(text)).count();
    let other = first_other(&texts, is_value)?;
    (2 * value_count >= texts.len()).then(|| {
        format!(
            "{} is no number, and {value_count} of the first {} values are; if the text means \
             null, name it in nullTexts; if the line is no row, remove it",
            shown(other),
            texts.len()
        )
    })
}

/// What the report says of a column of floats that others may read otherwise: the points of all of
/// its values may separate thousands, and nothing in the file decides; or a value has digits that
/// no float keeps.
pub(super) fn doubtful_float(
    records: &Records,
    column: usize,
    mark: &Mark,
    separator: u8,
    options: &ImportOptions,
) -> Option<String> {
    let texts = values(records, column, DataType::Float64, options);
    let is_decided = mark.is_comma
        || mark.point.is_some()
        || separator == b','
        || options.decimal_comma.is_some();
    if !is_decided
        && let Some(point) = texts.iter().find(|(_, text)| may_be_thousands(text, '.')).copied()
        && first_other(&texts, |text| whole(text) || may_be_thousands(text, '.')).is_none()
    {
        return Some(format!(
            "the point of {} was read as a decimal mark, and may separate thousands; name the \
             decimal mark with decimalSeparator",
            shown(point)
        ));
    }
    if let Some(code) = texts.first()
        && first_other(&texts, odd::may_be_code).is_none()
    {
        return Some(format!(
            "{} was read as a number with an exponent; if it is a code, such as that of a part, keep \
             the texts with columnTypes",
            shown(*code)
        ));
    }
    let long = first_other(&texts, |text| {
        text.len() <= FLOAT_DIGITS || significant_digits(text) <= FLOAT_DIGITS
    })?;
    Some(format!("{} has more digits than a float keeps", shown(long)))
}

/// What the report says of a column of floats with a number that instruments write instead of a value.
pub(super) fn scpi_number(
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<String> {
    let texts = values(records, column, DataType::Float64, options);
    let found = first_other(&texts, |text| !is_scpi_none(text, mark.is_comma))?;
    Some(format!(
        "{} is what instruments of SCPI write for an overload, or for no number; if it means null, \
         name it in nullTexts",
        shown(found)
    ))
}

/// A double has the digits of any decimal number of as many.
const FLOAT_DIGITS: usize = 17;

/// The digits of a number from the first that is not zero, without zeros at the end.
fn significant_digits(text: &str) -> usize {
    let mantissa = text.trim().split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0');
    digits.enumerate().filter(|(_, digit)| *digit != b'0').last().map_or(0, |(at, _)| at + 1)
}

/// The row of a column of texts behind which all values are numbers or times, and how many of them
/// are before and behind it. `None` if fewer than two are behind it.
pub(super) fn last_text(
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<LastText> {
    let texts = values(records, column, DataType::Float64, options);
    let is_value = |text: &str| real(text, mark.is_comma) || moment::is_time(text);
    let at = texts.iter().rposition(|(_, text)| !is_value(text))?;
    let (line, text) = texts.get(at)?;
    let (before, behind) = (at + 1, texts.len() - at - 1);
    (behind >= 2).then(|| LastText { line: *line, shown: shown((*line, text)), before, behind })
}

/// A text that is no number, behind which all values of its column are.
#[derive(Debug)]
pub(super) struct LastText {
    pub(super) line: u64,
    pub(super) shown: String,
    pub(super) before: usize,
    pub(super) behind: usize,
}

/// The days of most dates in spreadsheets: from 1954 to 2119, or four years later where they begin with
/// 1904.
const SERIALS: std::ops::RangeInclusive<f64> = 20_000.0..=80_000.0;

/// What the report says of a column of floats that may be dates of a spreadsheet.
pub(super) fn serial_dates(
    name: &str,
    records: &Records,
    column: usize,
    mark: &Mark,
    options: &ImportOptions,
) -> Option<String> {
    const WORDS: [&str; 5] = ["date", "time", "datum", "zeit", "fecha"];
    let lower = name.to_lowercase();
    // A unit says what the numbers are.
    if lower.ends_with([')', ']']) || !WORDS.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let texts = values(records, column, DataType::Float64, options);
    let days = |text: &str| number(text, mark.is_comma).filter(|days| SERIALS.contains(days));
    let first = texts.first().copied()?;
    let has_fraction = |(_, text): &(u64, &str)| days(text).is_some_and(|days| days.fract() != 0.0);
    (first_other(&texts, |text| days(text).is_some()).is_none() && texts.iter().any(has_fraction))
        .then(|| {
            format!(
                "{} may be a date and time of a spreadsheet, which counts days; to read such numbers \
                 as times, set preset to SPREADSHEET, or to SPREADSHEET_1904 if they count from \
                 1904, and columnTypes to {{{name:?}: \"TIMESTAMP\"}}",
                shown(first)
            )
        })
}
