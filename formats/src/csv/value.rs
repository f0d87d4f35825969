//! What one text of CSV is: null, or a number that keeps all that the text says.

use std::collections::HashSet;

use stationdb::tables::{DataType, readers as cells};

use super::quick;
use crate::options::ImportOptions;

/// Texts that are null in columns of other types than STRING, unless the request names others.
pub(super) const NULL_TEXTS: [&str; 9] =
    ["NA", "N/A", "n/a", "#N/A", "null", "NULL", "Null", "<NA>", "\\N"];

/// The numbers that instruments of SCPI write instead of a value: an overload of either sign, and what
/// is no number.
const SCPI_NONE: [f64; 3] = [9.9e37, -9.9e37, 9.91e37];

/// Whether a text is one of the numbers that instruments of SCPI write instead of a value.
pub(super) fn is_scpi_none(text: &str, comma: bool) -> bool {
    // Most numbers are others by their digits.
    text.contains("37") && number(text, comma).is_some_and(|value| SCPI_NONE.contains(&value))
}

/// Whether a text of a column of this type is null. A quoted empty text is one except in columns of
/// texts: programs that quote every value have no other form for it. So are the texts and numbers that
/// a maker has for no value. Blanks around a text do not count.
pub(super) fn is_null(
    text: &str,
    is_quoted: bool,
    data_type: DataType,
    options: &ImportOptions,
) -> bool {
    let is_text = data_type == DataType::String;
    let trimmed = text.trim();
    let is_listed = |texts: &HashSet<String>| {
        texts.contains(trimmed) || trimmed.len() < text.len() && texts.contains(text)
    };
    // Also in a column of texts, which is one of numbers that has no value in the first rows.
    if options.has_scpi_nulls && (is_scpi_none(text, false) || is_scpi_none(text, true)) {
        return true;
    }
    if is_quoted {
        let is_known =
            || options.quotes_nulls && options.null_texts.as_ref().is_some_and(is_listed);
        return !is_text && (text.is_empty() || is_known());
    }
    match &options.null_texts {
        Some(texts) => is_listed(texts),
        None => !is_text && NULL_TEXTS.contains(&trimmed),
    }
}

const SIGNS: [char; 3] = ['+', '-', '\u{2212}'];

/// What older C programs write behind `1.` for numbers that are none. The second ones of a line have two
/// and three places: the letters are rounded as if they were digits.
const OLD_SPELLINGS: [(&str, f64); 12] = [
    ("#INF", f64::INFINITY),
    ("#J", f64::INFINITY),
    ("#IO", f64::INFINITY),
    ("#IND", f64::NAN),
    ("#QNAN", f64::NAN),
    ("#R", f64::NAN),
    ("#QO", f64::NAN),
    ("#QNB", f64::NAN),
    ("#SNAN", f64::NAN),
    ("#T", f64::NAN),
    ("#SO", f64::NAN),
    ("#NAN", f64::NAN),
];

/// The number of a text such as `1.#INF000` behind its sign.
fn old_spelling(unsigned: &str, is_negative: bool, comma: bool) -> Option<f64> {
    let point = if comma { unsigned.strip_prefix("1,") } else { None };
    let letters = point.or_else(|| unsigned.strip_prefix("1."))?.trim_end_matches('0');
    let (_, value) = OLD_SPELLINGS.iter().find(|(known, _)| *known == letters)?;
    match letters {
        // With few places, -1.#INF and -1.#IND are the same.
        "#J" | "#IO" if is_negative => Some(f64::NAN),
        _ if is_negative => Some(-value),
        _ => Some(*value),
    }
}

/// Whether a text behind its sign is `nan`, or that with its kind in brackets, such as `nan(ind)`.
fn is_nan(unsigned: &str) -> bool {
    let Some((name, kind)) = unsigned.split_at_checked(3) else { return false };
    let is_kind = |kind: &str| kind.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'_');
    name.eq_ignore_ascii_case("nan")
        && (kind.is_empty()
            || kind.strip_prefix('(').and_then(|kind| kind.strip_suffix(')')).is_some_and(is_kind))
}

/// A number with a decimal point, or a comma; also `nan`, `nan(ind)` and `inf` in any letter case, `∞`,
/// `1.#INF` and the like, and the minus sign of typographers. Blanks may stand between its sign and its
/// digits.
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
        return old_spelling(unsigned, text.starts_with('-'), comma);
    }
    // Loggers align their digits behind the sign.
    if unsigned.starts_with(' ') && unsigned.len() < text.len() {
        let sign = if text.starts_with('-') { "-" } else { "" };
        return number(&format!("{sign}{}", unsigned.trim_start()), comma)
            .filter(|_| unsigned.trim_start().starts_with(|first: char| first.is_ascii_digit()));
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if is_nan(unsigned) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_none_have_many_spellings() {
        let shown = |text: &str, comma: bool| number(text, comma).map(|value| value.to_string());
        for (text, comma, expected) in [
            ("-nan(ind)", false, Some("NaN")),
            ("nan(snan)", false, Some("NaN")),
            ("NaN(0x7ff)", false, Some("NaN")),
            ("+nan()", false, Some("NaN")),
            ("nan(a b)", false, None),
            ("nan(", false, None),
            ("nano", false, None),
            ("n\u{e4}n", false, None),
            ("1.#QNAN0", false, Some("NaN")),
            ("1,#QNAN0", true, Some("NaN")),
            ("1,#QNAN0", false, None),
            ("-1,#IND", true, Some("NaN")),
            ("1.#INF", true, Some("inf")),
            ("-1,#INF00", true, Some("-inf")),
            ("1.#J", false, Some("inf")),
            ("-1.#J", false, Some("NaN")),
            ("1.#IO", false, Some("inf")),
            ("-1.#IO", false, Some("NaN")),
            ("1.#R", false, Some("NaN")),
            ("1.#QO", false, Some("NaN")),
            ("2.#INF", false, None),
            ("1.#", false, None),
            ("#INF", false, None),
        ] {
            assert_eq!(shown(text, comma).as_deref(), expected, "{text:?} {comma}");
        }
    }

    #[test]
    fn blanks_around_a_null_do_not_count() {
        let listed = |quotes_nulls: bool| ImportOptions {
            null_texts: Some(["BURNOUT", " x"].map(str::to_owned).into()),
            quotes_nulls,
            ..ImportOptions::default()
        };
        for data_type in [DataType::Float64, DataType::String] {
            for text in ["BURNOUT", " BURNOUT", "\tBURNOUT  ", " x"] {
                assert!(is_null(text, false, data_type, &listed(false)), "{text:?}");
                let is_quoted_null = data_type == DataType::Float64;
                assert_eq!(is_null(text, true, data_type, &listed(true)), is_quoted_null);
                assert!(!is_null(text, true, data_type, &listed(false)), "{text:?}");
            }
            assert!(!is_null("x", false, data_type, &listed(false)));
        }
    }

    #[test]
    fn numbers_of_scpi_for_no_value() {
        for text in ["9.9E37", " +9.90000000E+37", "-9.9e+37", "9.91E+37", "99E36.", "990E35"] {
            assert_eq!(is_scpi_none(text, false), text.contains("37"), "{text}");
        }
        assert!(is_scpi_none("9,91E+37", true) && !is_scpi_none("9,91E+37", false));
        for text in ["9.8E+37", "9.9E+36", "9.9E+137", "37", "37 x", ""] {
            assert!(!is_scpi_none(text, false), "{text}");
        }
    }
}
