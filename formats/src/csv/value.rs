//! What one text of CSV is: null, or a number that keeps all that the text says.

use stationdb::tables::{DataType, readers as cells};

use super::quick;
use crate::options::ImportOptions;

/// Texts that are null in columns of other types than STRING, unless the request names others.
pub(super) const NULL_TEXTS: [&str; 9] =
    ["NA", "N/A", "n/a", "#N/A", "null", "NULL", "Null", "<NA>", "\\N"];

/// Whether a text of a column of this type is null. A quoted empty text is one except in columns of
/// texts: programs that quote every value have no other form for it. So are the texts that a maker
/// of loggers has for no value.
pub(super) fn is_null(
    text: &str,
    is_quoted: bool,
    data_type: DataType,
    options: &ImportOptions,
) -> bool {
    if is_quoted {
        let is_known = || {
            options.quotes_nulls
                && options.null_texts.as_ref().is_some_and(|texts| texts.contains(text))
        };
        return data_type != DataType::String && (text.is_empty() || is_known());
    }
    match &options.null_texts {
        Some(texts) => texts.contains(text),
        None => data_type != DataType::String && NULL_TEXTS.contains(&text.trim()),
    }
}

const SIGNS: [char; 3] = ['+', '-', '\u{2212}'];

/// What older C programs write for numbers that are none, behind a sign.
const OLD_SPELLINGS: [(&str, f64); 5] = [
    ("1.#INF", f64::INFINITY),
    ("1.#IND", f64::NAN),
    ("1.#QNAN", f64::NAN),
    ("1.#SNAN", f64::NAN),
    ("1.#NAN", f64::NAN),
];

/// A number with a decimal point, or a comma; also `nan` and `inf` in any letter case, `∞`, `1.#INF` and
/// the like, and the minus sign of typographers. Blanks may stand between its sign and its digits.
pub(super) fn number(text: &str, comma: bool) -> Option<f64> {
    if let Some(value) = quick::real(text, if comma { b',' } else { b'.' }) {
        return Some(value);
    }
    let text = text.trim();
    if let Some(behind) = text.strip_prefix('\u{2212}') {
        let is_number = |first: char| first.is_ascii_digit() || "., ".contains(first);
        return behind
            .starts_with(is_number)
            .then(|| number(&format!("-{behind}"), comma))
            .flatten();
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.contains('#') {
        let known = |(spelling, _): &&(&str, f64)| unsigned.trim_end_matches('0') == *spelling;
        let (_, value) = OLD_SPELLINGS.iter().find(known)?;
        return Some(if text.starts_with('-') { -value } else { *value });
    }
    // Loggers align their digits behind the sign.
    if unsigned.starts_with(' ') && unsigned.len() < text.len() {
        let sign = if text.starts_with('-') { "-" } else { "" };
        return number(&format!("{sign}{}", unsigned.trim_start()), comma)
            .filter(|_| unsigned.trim_start().starts_with(|first: char| first.is_ascii_digit()));
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if unsigned.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    if unsigned == "∞"
        || unsigned.eq_ignore_ascii_case("inf")
        || unsigned.eq_ignore_ascii_case("infinity")
    {
        return Some(sign * f64::INFINITY);
    }
    if !comma {
        return cells::parse_f64(text);
    }
    if text.contains('.') {
        return None;
    }
    cells::parse_f64(&text.replacen(',', ".", 1))
}

/// As [`number`], rounded once to 32 bits.
pub(super) fn small_number(text: &str, comma: bool) -> Option<f32> {
    let wide = number(text, comma)?;
    if !wide.is_finite() {
        return Some(wide as f32);
    }
    // Its sign may be another one, or stand before a blank.
    let mut text = text.trim().replace('\u{2212}', "-").replace(' ', "");
    if comma {
        text = text.replacen(',', ".", 1);
    }
    cells::parse_f32(&text)
}

/// Whether zeros at the beginning say that a text is a number of a part or a place, not a quantity.
pub(super) fn has_leading_zero(text: &str) -> bool {
    let digits = text.strip_prefix(SIGNS).unwrap_or(text).as_bytes();
    matches!(digits, [b'0', next, ..] if next.is_ascii_digit())
}

/// Whether a number of 64 bits would lose digits of a whole number.
pub(super) fn loses_digits(text: &str) -> bool {
    let digits = text.strip_prefix(SIGNS).unwrap_or(text);
    digits.len() > 15
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<i128>().ok().is_none_or(|whole| {
            let near = whole as f64;
            near as i128 != whole
        })
}

/// What a column of this type of numbers would not keep of a text that is a number.
pub(super) fn lost_of(text: &str, data_type: DataType, comma: bool) -> Option<&'static str> {
    let text = text.trim();
    match data_type {
        DataType::Int64 | DataType::Float64 if has_leading_zero(text) => {
            number(text, comma).map(|_| "begins with a zero, which a number does not keep")
        }
        DataType::Float64 if loses_digits(text) => Some("has more digits than a number keeps"),
        _ => None,
    }
}

/// Whether a text is a number that keeps all that its text says.
pub(super) fn real(text: &str, comma: bool) -> bool {
    let trimmed = text.trim();
    number(text, comma).is_some() && !has_leading_zero(trimmed) && !loses_digits(trimmed)
}
