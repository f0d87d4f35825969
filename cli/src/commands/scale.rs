//! The scale of plots: the range of an axis, and the numbers on it. The example `station_day` has
//! this file too.

/// The range of values on an axis. It is never empty.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values = values.filter(|value| value.is_finite());
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low < high {
        (low, high)
    } else if low == high {
        // At this size a half is lost.
        let pad = if low.abs() < 1e12 { 0.5 } else { low.abs() * 1e-12 };
        ((low - pad).max(f64::MIN), (high + pad).min(f64::MAX))
    } else {
        (0.0, 1.0)
    }
}

/// A number for an axis: short, and never more exact than the eye.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.2e}")
    } else if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_axes_are_short() {
        let cases = [
            (0.0, "0"),
            (-2.5, "-2.5"),
            (1000.0, "1000"),
            (0.1234, "0.123"),
            (12_345_678.0, "1.23e7"),
            (0.000_01, "1.00e-5"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
