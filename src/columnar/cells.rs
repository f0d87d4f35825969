//! Cells as text: the accepted spellings, and the canonical spelling that is written.

use std::fmt::Write as _;

use super::column_slice::Stored;
use super::ticks;
use crate::model::tables::data::DataType;

/// A boolean in any letter case.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// A decimal integer with an optional sign.
pub(crate) fn parse_i32(text: &str) -> Option<i32> {
    text.parse().ok()
}

/// A decimal integer with an optional sign.
#[must_use]
pub fn parse_i64(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn is_decimal(text: &str) -> bool {
    // The standard parser also accepts `inf`, `nan` and `infinity`, which the service does not.
    !text.is_empty()
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
}

/// A decimal number that does not overflow, or exactly `NaN`, `Infinity` or `-Infinity`.
#[must_use]
pub fn parse_f64(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if is_decimal(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

/// As [`parse_f64`], rounded once to the nearest 32-bit value.
#[must_use]
pub fn parse_f32(text: &str) -> Option<f32> {
    match text {
        "NaN" => Some(f32::NAN),
        "Infinity" => Some(f32::INFINITY),
        "-Infinity" => Some(f32::NEG_INFINITY),
        _ if is_decimal(text) => text.parse().ok().filter(|value: &f32| value.is_finite()),
        _ => None,
    }
}

/// The word of a cell of a column of this type, as [`Word`](super::readers::Word); `None` for a text that is none,
/// and for a column of texts.
#[must_use]
pub fn parse_word(data_type: DataType, text: &str) -> Option<u64> {
    match data_type {
        DataType::Bool => parse_bool(text).map(u64::from),
        DataType::Int32 => parse_i32(text).map(Stored::word),
        DataType::Int64 => parse_i64(text).map(Stored::word),
        DataType::Float32 => parse_f32(text).map(Stored::word),
        DataType::Float64 => parse_f64(text).map(Stored::word),
        DataType::String => None,
        time => ticks::parse(time, text).map(Stored::word),
    }
}

/// Appends `true` or `false`.
pub(crate) fn write_bool(value: bool, out: &mut String) {
    out.push_str(if value { "true" } else { "false" });
}

/// Appends an integer.
pub(crate) fn write_int(value: i64, out: &mut String) {
    let _ = write!(out, "{value}");
}

macro_rules! write_float {
    ($($name:ident, $float:ty;)*) => {
        $(/// Appends the shortest text that reads back as the same value.
        pub(crate) fn $name(value: $float, out: &mut String) {
            let size = value.abs();
            let _ = if value.is_nan() {
                out.write_str("NaN")
            } else if value.is_infinite() {
                out.write_str(if value > 0.0 { "Infinity" } else { "-Infinity" })
            } else if size != 0.0 && !(1e-5..1e16).contains(&size) {
                write!(out, "{value:e}")
            } else {
                write!(out, "{value}")
            };
        })*
    };
}

write_float! {
    write_f64, f64;
    write_f32, f32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_stated_spellings_are_read() {
        assert_eq!(
            (parse_bool("TRUE"), parse_bool("False"), parse_bool("1"), parse_bool("")),
            (Some(true), Some(false), None, None)
        );
        for bad in ["", "1.0", "1e3", " 1", "1 ", "2147483648", "-2147483649", "0x1", "+", "-"] {
            assert_eq!(parse_i32(bad), None, "{bad:?}");
        }
        for (text, value) in
            [("+007", 7), ("-0", 0), ("-2147483648", i32::MIN), ("2147483647", i32::MAX)]
        {
            assert_eq!(parse_i32(text), Some(value));
        }
        for bad in [
            "nan",
            "inf",
            "NAN",
            "infinity",
            "+Infinity",
            "1,5",
            "1e309",
            "",
            " 1",
            "1_0",
            "e",
            ".",
        ] {
            assert_eq!(parse_f64(bad), None, "{bad:?}");
        }
        assert_eq!(parse_f32("3.4028236e38"), None);
        assert_eq!(parse_f32("3.40282347E+38"), Some(f32::MAX));
        assert_eq!(parse_f64("1.7976931348623157E+308"), Some(f64::MAX));
        assert_eq!(parse_f64("-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
    }

    proptest! {
        #[test]
        fn floats_round_trip(bits: u64, small: u32) {
            let (wide, narrow) = (f64::from_bits(bits), f32::from_bits(small));
            let mut text = String::new();
            write_f64(wide, &mut text);
            let back = parse_f64(&text).unwrap();
            prop_assert!(back.to_bits() == bits || (back.is_nan() && wide.is_nan()), "{text}");
            text.clear();
            write_f32(narrow, &mut text);
            let back = parse_f32(&text).unwrap();
            prop_assert!(back.to_bits() == small || (back.is_nan() && narrow.is_nan()), "{text}");
        }
    }
}
