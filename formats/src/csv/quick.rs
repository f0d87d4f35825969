//! Values in the spellings that most programs write, read without the general parsers.
//!
//! What must hold: a value that is returned is the one that the general parser returns, which also
//! keeps all that the text says. For every other text there is none; the general parser decides.

/// The powers of ten that a double has exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// Whole numbers up to this one are doubles.
const EXACT: u64 = 1 << 53;
/// Bytes of a number with a point, without its sign, from which on most have more digits than that.
const LONG: usize = 18;

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    }
}

/// The value of eight digits; `None` if a byte is none.
fn eight_digits(word: [u8; 8]) -> Option<u64> {
    let digits = u64::from_le_bytes(word).wrapping_sub(0x3030_3030_3030_3030);
    let above = digits.wrapping_add(0x7676_7676_7676_7676);
    if (digits | above) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    // Neighbours become pairs, pairs fours, fours the number: the first digit is the lowest byte.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xffff_ffff)
}

/// Appends the digits that a text begins with to a number; returns what follows them, and `None`
/// for a number of more than 64 bits.
fn digits(mut text: &[u8], mut number: u64) -> Option<(u64, &[u8])> {
    while let Some((word, rest)) = text.split_first_chunk::<8>() {
        let Some(value) = eight_digits(*word) else { break };
        number = number.checked_mul(100_000_000)?.checked_add(value)?;
        text = rest;
    }
    while let [digit @ b'0'..=b'9', rest @ ..] = text {
        number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        text = rest;
    }
    Some((number, text))
}

/// Whether a zero stands before other digits: a number does not keep it.
fn has_leading_zero(text: &[u8]) -> bool {
    matches!(text, [b'0', b'0'..=b'9', ..])
}

/// A whole number of at most 18 digits.
pub(super) fn whole(text: &str) -> Option<i64> {
    let (is_negative, text) = signed(text.as_bytes());
    if text.is_empty() || text.len() > 18 || has_leading_zero(text) {
        return None;
    }
    let (number, rest) = digits(text, 0)?;
    let number = i64::try_from(number).ok().filter(|_| rest.is_empty())?;
    Some(if is_negative { -number } else { number })
}

/// A number with a point, by the standard parser, which is exact for all numbers.
fn standard(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A number with this decimal mark, as the nearest double.
pub(super) fn real(text: &str, mark: u8) -> Option<f64> {
    let (is_negative, unsigned) = signed(text.as_bytes());
    if has_leading_zero(unsigned) {
        return None;
    }
    if mark == b'.'
        && unsigned.len() >= LONG
        && unsigned.first().is_some_and(u8::is_ascii_digit)
        && memchr::memchr(mark, unsigned).is_some()
    {
        return standard(text);
    }
    let (mut mantissa, mut rest) = digits(unsigned, 0)?;
    let whole_len = unsigned.len() - rest.len();
    if whole_len == 0 {
        return None;
    }
    let mut decimals = 0;
    if let [first, behind @ ..] = rest
        && *first == mark
    {
        let len = behind.len();
        (mantissa, rest) = digits(behind, mantissa)?;
        decimals = len - rest.len();
    } else if rest.is_empty() && whole_len > 15 {
        return None;
    }
    let mut exponent = 0;
    if let [b'e' | b'E', behind @ ..] = rest {
        let (is_small, behind) = match behind {
            [b'+', behind @ ..] => (false, behind),
            _ => signed(behind),
        };
        let (value, after) = digits(behind, 0)?;
        if behind.is_empty() || value > 999 {
            return None;
        }
        exponent = if is_small { -(value as i32) } else { value as i32 };
        rest = after;
    }
    if !rest.is_empty() {
        return None;
    }
    let power = exponent.checked_sub(i32::try_from(decimals).ok()?)?;
    let scale = POWERS.get(power.unsigned_abs() as usize).filter(|_| mantissa <= EXACT);
    let Some(scale) = scale else {
        return standard(text).filter(|_| mark == b'.');
    };
    // Mantissa and power are exact, so their product or quotient is rounded once.
    let value = mantissa as f64;
    let value = if power < 0 { value / scale } else { value * scale };
    Some(if is_negative { -value } else { value })
}

/// A time of the form of ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    /// Seconds since 1970, as if the time were UTC.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// Whether the text says that it is UTC.
    pub(super) is_utc: bool,
}

fn two(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

/// The days from 1970-01-01 to a date of the Gregorian calendar; the year is above 0.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    const LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let len = LENGTHS.get(month.checked_sub(1)? as usize)? + u32::from(is_leap && month == 2);
    if day == 0 || day > len || year == 0 {
        return None;
    }
    // Years that begin with March, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = (153 * month + 2) / 5 + day - 1;
    Some(i64::from(year * 365 + year / 4 - year / 100 + year / 400 + before) - 719_468)
}

/// A time such as `2024-01-31T14:05:10.25Z`, with a blank for the `T`, or without the `Z`.
pub(super) fn time(text: &str) -> Option<Time> {
    let [c0, c1, y0, y1, b'-', m0, m1, b'-', d0, d1, b'T' | b' ', rest @ ..] = text.as_bytes()
    else {
        return None;
    };
    let [h0, h1, b':', i0, i1, b':', s0, s1, rest @ ..] = rest else { return None };
    let year = two(*c0, *c1)? * 100 + two(*y0, *y1)?;
    let (hour, minute, second) = (two(*h0, *h1)?, two(*i0, *i1)?, two(*s0, *s1)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (mut nanos, mut rest) = (0, rest);
    if let [b'.', behind @ ..] = rest {
        let (value, after) = digits(behind, 0)?;
        let count = behind.len() - after.len();
        if !(1..=9).contains(&count) {
            return None;
        }
        nanos = u32::try_from(value).ok()? * 10u32.pow(9 - count as u32);
        rest = after;
    }
    let is_utc = rest == b"Z";
    if !is_utc && !rest.is_empty() {
        return None;
    }
    let days = days(year, two(*m0, *m1)?, two(*d0, *d1)?)?;
    let of_day = i64::from(hour * 3600 + minute * 60 + second);
    Some(Time { seconds: days * 86_400 + of_day, nanos, is_utc })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::moment;
    use crate::zone::Zone;
    use stationdb::tables::{DataType, readers as cells};

    fn check_real(text: &str, is_common: bool) {
        let point = text.replace(',', ".");
        let slow = cells::parse_f64(&point);
        for (text, mark) in [(point.clone(), b'.'), (point.replace('.', ","), b',')] {
            let found = real(&text, mark);
            if let Some(value) = found {
                assert_eq!(slow.map(f64::to_bits), Some(value.to_bits()), "{text}");
                let unsigned = text.trim_start_matches('-');
                assert!(!has_leading_zero(unsigned.as_bytes()), "{text}");
                let is_whole = unsigned.bytes().all(|byte| byte.is_ascii_digit());
                assert!(!is_whole || unsigned.len() <= 15, "{text}");
            }
            assert!(!is_common || found.is_some(), "{text}");
        }
    }

    #[test]
    fn numbers_are_read_or_left_to_the_general_parser() {
        for text in [
            "0",
            "-0",
            "1",
            "-1.5",
            "0.001",
            "123456789012345",
            "900719925474099.2",
            "1e22",
            "1E-5",
            "1.",
            "2e+3",
            "0.1",
            "123456.789",
            "123456789012345.6e-21",
            "0.0",
        ] {
            check_real(text, true);
        }
        for text in [
            "",
            "-",
            ".",
            ".5",
            "+1",
            "00",
            "01",
            "1.2.3",
            "1e",
            "1e+",
            "1e1.5",
            "1e-",
            "nan",
            "inf",
            "1234567890123456",
            "1e999",
            "1e9999999",
            "99999999999999999999",
            "1 ",
            " 1",
            "1,5,6",
            "0x1",
            "1_0",
            "--1",
            "-+1",
            "1:5",
            "1/5",
        ] {
            check_real(text, false);
            assert_eq!(real(text, b'.'), None, "{text:?}");
        }
        // Read by the standard parser, which is exact for all numbers.
        for text in ["9007199254740993.0", "1e23", "1e-23", "0.062790519529313371", "1e-999"] {
            check_real(text, false);
            assert!(real(text, b'.').is_some() && real(text, b',').is_none(), "{text:?}");
        }
        for (text, value) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("-12", Some(-12)),
            ("12345678", Some(12_345_678)),
            ("999999999999999999", Some(999_999_999_999_999_999)),
            ("1000000000000000000", None),
            ("", None),
            ("-", None),
            ("01", None),
            ("1.0", None),
            ("+1", None),
            ("1234567:", None),
            ("1234567/", None),
            ("123456789a", None),
        ] {
            assert_eq!(whole(text), value, "{text:?}");
        }
    }

    fn check_time(text: &str) {
        let Some(found) = time(text) else { return };
        let moment = moment::parse(text, None).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(moment.offset, found.is_utc.then_some(0), "{text}");
        for (data_type, step) in [
            (DataType::Timestamp, 1_000_000),
            (DataType::TimestampMicros, 1000),
            (DataType::TimestampNanos, 1),
        ] {
            let per_second = 1_000_000_000 / i128::from(step);
            let count =
                i128::from(found.seconds) * per_second + i128::from(found.nanos / step as u32);
            // The general parser refuses what no count of nanoseconds is.
            if let Ok(slow) = moment.count(data_type, Zone::Utc, true) {
                assert_eq!(i128::from(slow), count, "{text}");
            } else {
                assert!(i64::try_from(count).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn times_are_read_or_left_to_the_general_parser() {
        for text in [
            "1970-01-01T00:00:00Z",
            "2024-02-29 23:59:59",
            "0001-01-01T00:00:00.000000001Z",
            "9999-12-31T23:59:59.999999999Z",
            "1900-03-01 00:00:00.5",
            "2000-02-29T00:00:00Z",
        ] {
            assert!(time(text).is_some(), "{text}");
            check_time(text);
        }
        for text in [
            "",
            "0000-01-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-32T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.1234567890Z",
            "2024-01-01T00:00:00z",
            "2024-01-01T00:00:00+00:00",
            "2024-01-01",
            "2024-1-01T00:00:00",
            "2024/01/01T00:00:00Z",
            "2024-01-01T00:00:00ZZ",
            "2o24-01-01T00:00:00Z",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
        // Every day of three leap cycles.
        for day in 0..150_000i64 {
            let at = chrono::DateTime::from_timestamp((day - 60_000) * 86_400, 0).unwrap();
            let text = at.format("%FT%TZ").to_string();
            assert_eq!(time(&text).map(|time| time.seconds), Some(at.timestamp()), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_number_is_that_of_the_general_parser(
            text in "-?[0-9]{0,20}[.,]?[0-9]{0,20}([eE][+-]?[0-9]{0,3})?", bits: u64,
            digits in 0u64..1 << 53, power in 0i32..=21,
        ) {
            check_real(&text, false);
            let value = f64::from_bits(bits);
            check_real(&format!("{value}"), false);
            check_real(&format!("{value:e}"), false);
            check_real(&format!("{digits}.0e-{power}"), digits < EXACT / 10);
            if let Some(found) = whole(&text) {
                prop_assert_eq!(text.parse::<i64>(), Ok(found));
            }
        }

        #[test]
        fn any_time_is_that_of_the_general_parser(
            text in
                "[0-9]{4}-[01][0-9]-[0-3][0-9][T ][0-2][0-9](:[0-6][0-9]){2}(\\.[0-9]{0,10})?Z?",
        ) {
            check_time(&text);
        }
    }
}
