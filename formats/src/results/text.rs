//! Numbers and bytes as text.

/// The shortest text that reads back as the same finite double.
pub(crate) fn shortest(value: f64) -> String {
    if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// A double as cells of tables and limits have it.
pub(crate) fn cell(value: f64) -> String {
    if value.is_finite() {
        return shortest(value);
    }
    let text = if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    text.to_owned()
}

/// The double that the package writes as this text, because JSON has no number for it.
pub(crate) fn special(text: &str) -> Option<f64> {
    match text {
        "nan" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// Lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        for (value, text) in
            [(12.0, "12"), (-20.5, "-20.5"), (1.5e-7, "1.5e-7"), (0.0, "0"), (1e300, "1e300")]
        {
            assert_eq!(shortest(value), text);
            assert_eq!(cell(value), text);
        }
        let specials = ["nan", "inf", "-inf"].map(|text| special(text).map(cell).unwrap());
        assert_eq!(specials, ["NaN", "Infinity", "-Infinity"]);
        assert_eq!(special("NaN"), None);
        assert_eq!(hex(&[0, 15, 255]), "000fff");
    }
}
