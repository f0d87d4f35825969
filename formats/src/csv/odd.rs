//! Texts that people read as numbers or as times of a day, and that are not read as such here: a column
//! of them is text, which the report tells with the reason.

use super::value::number;
use crate::moment;

/// What is behind the number of a text in a spelling that is not read.
pub(super) fn spelling(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let between = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    if between('(', ')').is_some_and(is_number) {
        return Some("is in brackets, in which accountants write negative numbers");
    }
    if between('\'', '\'').is_some_and(is_number) {
        return Some("is in single quotes");
    }
    if text.strip_suffix(['-', '\u{2212}']).is_some_and(is_number) {
        return Some("has its sign behind it");
    }
    let digits = text.trim_start_matches(|first: char| "+-\u{2212} ".contains(first));
    if digits.strip_prefix(['$', '\u{20ac}', '\u{a3}', '\u{a5}']).is_some_and(is_number) {
        return Some("has the sign of a currency");
    }
    if has_prefix_of_unit(digits) {
        return Some("has a letter behind it, such as the one of a unit or its prefix");
    }
    let is_digit = |found: char| found.is_numeric() && !found.is_ascii();
    (digits.contains(is_digit)
        && digits.chars().all(|found| is_digit(found) || "., ".contains(found)))
    .then_some("has digits of another script")
}

fn is_number(text: &str) -> bool {
    number(text, false).is_some() || number(text, true).is_some()
}

/// Whether one letter is behind a number, as in `4.7k`.
fn has_prefix_of_unit(text: &str) -> bool {
    const PREFIXES: &str = "pnu\u{b5}\u{3bc}mkKMGT";
    text.strip_suffix(|last: char| PREFIXES.contains(last)).is_some_and(is_number)
}

/// Whether a text is the time of a day without a date.
pub(super) fn is_time_of_day(text: &str) -> bool {
    text.contains(':') && moment::parse(&format!("2000-01-01T{}", text.trim()), None).is_some()
}

/// Whether a number has an exponent and neither a mark nor a sign, as `12E4` has: it may as well be the
/// code of a part.
pub(super) fn may_be_code(text: &str) -> bool {
    let text = text.trim();
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(['e', 'E']).is_some_and(|(digits, power)| is_digits(digits) && is_digits(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_told_from_texts() {
        for text in [
            "(5.00)",
            "(1,5)",
            "5.00-",
            "'2.5'",
            "$5.00",
            "-\u{20ac}5,00",
            "4.7k",
            "10u",
            "5m",
            "\u{661}\u{662}",
            "12\u{2212}",
        ] {
            assert!(spelling(text).is_some(), "{text}");
        }
        for text in [
            "", "SN-0093", "(n/a)", "A5", "0x1F", "1.2.3", "12-34", "5 apples", "R1", "-", "()",
            "''", "5.0", "\u{b2}x",
        ] {
            assert_eq!(spelling(text), None, "{text}");
        }
        assert!(is_time_of_day("10:00:00.5") && is_time_of_day("9:05 PM"));
        assert!(!is_time_of_day("a:b") && !is_time_of_day("2024-01-01") && !is_time_of_day("5"));
        assert!(may_be_code("12E4") && may_be_code("1e5"));
        assert!(
            !may_be_code("1.2E4")
                && !may_be_code("12E-4")
                && !may_be_code("1E")
                && !may_be_code("E4")
        );
    }
}
