//! The text by which a number is shown: scaled, with the prefix of its unit, and in the form that a
//! format string of C asks for.

use crate::results::text::cell;

/// Digits after the point that a format may ask for.
const PRECISION_MAX: usize = 40;

/// The prefix of the unit of a number that is multiplied by 10 to this power.
fn prefix(scale: i64) -> Option<&'static str> {
    Some(match scale {
        15 => "f",
        12 => "p",
        9 => "n",
        6 => "u",
        3 => "m",
        2 => "%",
        0 => "",
        -3 => "K",
        -6 => "M",
        -9 => "G",
        -12 => "T",
        _ => return None,
    })
}

/// A number as the tester shows it, such as `1.250 mV`. A scale without a prefix is none.
pub(super) fn shown(value: f32, scale: i64, format: &str, unit: &str) -> String {
    let (scale, prefix) = prefix(scale).map_or((0, ""), |prefix| (scale, prefix));
    let power = i32::try_from(scale).unwrap_or(0);
    let scaled = f64::from(value) * 10f64.powi(power);
    let number = Format::read(format).map_or_else(|| short(scaled), |format| format.text(scaled));
    let unit = format!("{prefix}{unit}");
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// As many digits as a number of four bytes has.
#[expect(clippy::cast_possible_truncation, reason = "the value comes from four bytes")]
fn short(value: f64) -> String {
    let single = value as f32;
    if !single.is_finite() || single == 0.0 {
        return cell(value);
    }
    if (1e-5..1e16).contains(&single.abs()) { single.to_string() } else { format!("{single:e}") }
}

/// A conversion of a format string.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Format {
    precision: usize,
    conversion: char,
}

impl Format {
    /// Reads `%7.3f`: flags, a width, a precision, and one of f, e, g, d, i, u. The width is not
    /// used.
    fn read(format: &str) -> Option<Self> {
        let rest = format.trim().strip_prefix('%')?;
        let rest = rest.trim_start_matches(['-', '+', ' ', '#', '0']);
        let rest = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(rest) => {
                let conversion = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
                let digits = rest.strip_suffix(conversion)?;
                let precision = if digits.is_empty() { 0 } else { digits.parse().ok()? };
                (Some(precision), conversion)
            }
            None => (None, rest),
        };
        let conversion = rest.trim_start_matches(['l', 'h', 'L']);
        let mut letters = conversion.chars();
        let (letter, None) = (letters.next()?, letters.next()) else { return None };
        let precision = precision.unwrap_or(6);
        let is_known = matches!(letter, 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'd' | 'i' | 'u');
        (is_known && precision <= PRECISION_MAX)
            .then_some(Self { precision, conversion: letter.to_ascii_lowercase() })
    }

    fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return cell(value);
        }
        match self.conversion {
            'f' => format!("{value:.*}", self.precision),
            'e' => exponent(value, self.precision),
            'g' => general(value, self.precision.max(1)),
            _ => format!("{value:.0}"),
        }
    }
}

/// As C's `%e`: an exponent of at least two digits, with its sign.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let Some((digits, power)) = text.split_once('e') else { return text };
    let (sign, power) = match power.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', power),
    };
    format!("{digits}e{sign}{power:0>2}")
}

/// As C's `%g`: with or without an exponent, without zeros at the end.
fn general(value: f64, precision: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = precision - 1;
    let rounded = format!("{value:.digits$e}");
    let power = rounded.split_once('e').and_then(|(_, power)| power.parse::<i32>().ok());
    let (power, wanted) = (power.unwrap_or(0), i32::try_from(precision).unwrap_or(i32::MAX));
    if power < -4 || power >= wanted {
        let text = exponent(value, digits);
        let Some((number, power)) = text.split_once('e') else { return text };
        return format!("{}e{power}", without_zeros(number));
    }
    let places = usize::try_from(wanted - 1 - power).unwrap_or(0);
    without_zeros(&format!("{value:.places$}")).to_owned()
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_the_scale_and_the_format() {
        for (value, scale, format, unit, text) in [
            (0.00125, 3, "%7.3f", "V", "1.250 mV"),
            (0.00125, 3, "", "V", "1.25 mV"),
            (0.1, 0, "", "", "0.1"),
            (1.5e-9, 9, "%.2f", "A", "1.50 nA"),
            (2.5e6, -6, "%5.1f", "Hz", "2.5 MHz"),
            (0.125, 2, "%.1f", "", "12.5 %"),
            (0.125, 7, "%.3f", "V", "0.125 V"),
            (12.6, 0, "%d", "", "13"),
            (12.6, 0, "%x", "", "12.6"),
            (12.6, 0, "12.6", "", "12.6"),
            (f32::NAN, 3, "%.1f", "V", "NaN mV"),
            (f32::NEG_INFINITY, 0, "", "V", "-Infinity V"),
            (1e-30, 0, "", "", "1e-30"),
            (0.0, 3, "", "V", "0 mV"),
        ] {
            assert_eq!(shown(value, scale, format, unit), text, "{value} {scale} {format:?}");
        }
    }

    /// The texts that C writes.
    #[test]
    fn formats_are_those_of_c() {
        for (value, format, text) in [
            (1234.5678, "%e", "1.234568e+03"),
            (1234.5678, "%.2E", "1.23e+03"),
            (1234.5678, "%g", "1234.57"),
            (1234.5678, "%.2g", "1.2e+03"),
            (0.000012345, "%g", "1.2345e-05"),
            (0.00012345, "%g", "0.00012345"),
            (999999.6, "%g", "1e+06"),
            (100.0, "%g", "100"),
            (0.0, "%g", "0"),
            (-0.5, "%+9.1f", "-0.5"),
            (1e120, "%.0e", "1e+120"),
            (2.0, "%.0f", "2"),
            (2.0, "%.f", "2"),
            (2.0, "%08.2lf", "2.00"),
        ] {
            assert_eq!(Format::read(format).unwrap().text(value), text, "{value} {format}");
        }
        for format in ["", "%", "%s", "%.99f", "%.99999999999999999999f", "%5", "%ff", "V%f"] {
            assert_eq!(Format::read(format), None, "{format}");
        }
    }
}
