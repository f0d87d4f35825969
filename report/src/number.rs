//! Numbers as text.

/// The shortest text that is read as the same number again: all digits, and none besides.
pub(crate) fn exact(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-5..1e21).contains(&size) || !value.is_finite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// The same of a number of single precision, which has fewer digits.
pub(crate) fn exact_single(value: f32) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-5..1e21).contains(&size) || !value.is_finite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// The number, or a dash where there is none.
pub(crate) fn exact_or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), exact)
}

/// A whole number with commas between groups of three digits.
///
/// ```
/// assert_eq!(stationdb_report::grouped(20_000_000), "20,000,000");
/// ```
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Round numbers in a range, about `count` of them.
pub(crate) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let span = high - low;
    if !span.is_finite() || span <= 0.0 || count == 0 {
        return Vec::new();
    }
    let rough = span / count as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|&step| step >= rough).unwrap_or(power * 10.0);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let steps = (last - first).max(-1.0) as usize;
    if last < first || steps > 10 * count {
        return Vec::new();
    }
    // Multiples of a power of ten below one are not exact; a short text of them is.
    let rounded = |at: usize| {
        let value = (first + at as f64) * step;
        format!("{value:.12e}").parse().unwrap_or(value)
    };
    (0..=steps).map(rounded).collect()
}

/// Characters beside an axis.
const LABEL_CHARS: usize = 11;

/// Round numbers in a range and their texts; where there are none, those of its ends. A text that is too
/// long for its place has fewer digits.
pub(crate) fn labels(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let mut found = ticks(low, high, count);
    if found.is_empty() {
        found = vec![low, high];
        found.dedup();
    }
    let text = |value: f64| {
        let text = exact(value);
        if text.len() <= LABEL_CHARS { text } else { exact_of_short(value) }
    };
    found.retain(|value| value.is_finite());
    let mut texts: Vec<String> = found.iter().map(|&value| text(value)).collect();
    let grouped: Vec<String> = texts.iter().map(|text| with_commas(text)).collect();
    // All texts of an axis have one form.
    if grouped.iter().all(|text| text.len() <= LABEL_CHARS) {
        texts = grouped;
    }
    found.into_iter().zip(texts).collect()
}

/// A number with commas between groups of three digits before its point.
fn with_commas(text: &str) -> String {
    let whole = text.split('.').next().unwrap_or_default();
    match whole.trim_start_matches('-').parse() {
        Ok(number) if !text.contains('e') => {
            text.replacen(whole.trim_start_matches('-'), &grouped(number), 1)
        }
        _ => text.to_owned(),
    }
}

fn exact_of_short(value: f64) -> String {
    let short: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    // The largest doubles are rounded to none.
    let short = if short.is_finite() { short } else { value };
    let text = exact(short);
    if text.len() <= LABEL_CHARS { text } else { format!("{value:.4e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_exact() {
        for (value, text) in [
            (0.1, "0.1"),
            (3.0, "3"),
            (-0.0, "-0"),
            (1e300, "1e300"),
            (1.234_567_890_123_456_6e-9, "1.2345678901234566e-9"),
            (0.1 + 0.2, "0.30000000000000004"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(exact(value), text);
            let back: f64 = exact(value).parse().unwrap();
            assert!(back.to_bits() == value.to_bits() || value.is_nan());
        }
        for (value, text) in [(0.1, "0.1"), (1e30, "1e30"), (-3.4e-9, "-3.4e-9"), (7.0, "7")] {
            assert_eq!(exact_single(value), text);
        }
        assert_eq!(exact_or_none(None), "–");
        assert_eq!(grouped(20_000_000), "20,000,000");
        assert_eq!(grouped(999), "999");
    }

    #[test]
    fn each_axis_has_labels_that_fit() {
        let texts = |low, high| -> Vec<String> {
            labels(low, high, 4).into_iter().map(|label| label.1).collect()
        };
        assert_eq!(texts(0.0, 3.0), ["0", "1", "2", "3"]);
        assert_eq!(texts(-5e4, 2_000.0), ["-40,000", "-20,000", "0"]);
        assert_eq!(texts(12_345.5, 12_345.5), ["12,345.5"]);
        assert_eq!(texts(0.0, 1e8).last().unwrap(), "100,000,000");
        assert_eq!(texts(0.0, 1e9), ["0", "500000000", "1000000000"]);
        assert_eq!(texts(-7.0, -7.0), ["-7"]);
        assert_eq!(texts(0.1 + 0.2, 0.1 + 0.2), ["0.3"]);
        assert_eq!(texts(-f64::MAX, f64::MAX), ["-1.7977e308", "1.7977e308"]);
        assert_eq!(texts(f64::INFINITY, f64::NEG_INFINITY), [""; 0]);
        assert!(texts(1e15, 1e15 + 0.25).iter().all(|text| text == "1.0000e15"));
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(ticks(-7.0, 12.0, 4), [-5.0, 0.0, 5.0, 10.0]);
        assert_eq!(ticks(1.0, 1.0, 4), [0.0; 0]);
        assert_eq!(ticks(f64::NEG_INFINITY, 1.0, 4), [0.0; 0]);
        assert!(ticks(-f64::MAX, f64::MAX, 4).is_empty());
        assert!(ticks(1e15, 1e15 + 0.25, 4).len() < 8);
    }
}
