//! Units with prefixes: numbers of one become numbers of another by a power of ten.

/// Units that instruments write with prefixes.
const BASES: [&str; 18] = [
    "V", "VDC", "VAC", "A", "ADC", "AAC", "Ohm", "ohm", "Ohms", "ohms", "\u{3a9}", "\u{2126}", "F",
    "H", "Hz", "S", "W", "VA",
];

const PREFIXES: [(&str, i32); 9] = [
    ("p", -12),
    ("n", -9),
    ("u", -6),
    ("\u{b5}", -6),
    ("\u{3bc}", -6),
    ("m", -3),
    ("k", 3),
    ("M", 6),
    ("G", 9),
];

/// A unit such as `mV DC` without its prefix, and the power of ten that the prefix is.
fn split_prefix(unit: &str) -> Option<(i32, &str)> {
    let is_base =
        |unit: &str| unit.split_whitespace().next().is_some_and(|first| BASES.contains(&first));
    let prefixed = |(prefix, power): &(&str, i32)| {
        let base = unit.strip_prefix(prefix).filter(|base| is_base(base))?;
        Some((*power, base))
    };
    if is_base(unit) { Some((0, unit)) } else { PREFIXES.iter().find_map(prefixed) }
}

/// Whether a unit may have another prefix.
pub(super) fn has_prefixes(unit: &str) -> bool {
    split_prefix(unit).is_some()
}

/// The power of ten by which numbers of one unit are multiplied to be those of another one.
pub(super) fn power(of: &str, to: &str) -> Option<i32> {
    if of == to {
        return Some(0);
    }
    let ((of_power, of_base), (to_power, to_base)) = split_prefix(of).zip(split_prefix(to))?;
    (of_base == to_base).then_some(of_power - to_power)
}

/// The unit of numbers that have these: theirs if they have one, else that without a prefix.
pub(super) fn common(units: &[&str]) -> Option<String> {
    let first = units.first()?;
    if units.iter().all(|unit| unit == first) {
        return Some((*first).to_owned());
    }
    let (_, base) = split_prefix(first)?;
    units.iter().all(|unit| power(unit, base).is_some()).then(|| base.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_powers_of_ten() {
        for (of, to, expected) in [
            ("V", "V", Some(0)),
            ("mV", "V", Some(-3)),
            ("V", "mV", Some(3)),
            ("mV DC", "V DC", Some(-3)),
            ("\u{b5}A", "mA", Some(-3)),
            ("uA", "\u{3bc}A", Some(0)),
            ("M\u{3a9}", "k\u{3a9}", Some(3)),
            ("nF", "pF", Some(3)),
            ("GHz", "Hz", Some(9)),
            ("mVDC", "VDC", Some(-3)),
            ("mVDC", "VAC", None),
            ("mV DC", "V AC", None),
            ("V", "A", None),
            ("m", "V", None),
            ("\u{b0}C", "\u{b0}F", None),
            ("\u{b0}C", "\u{b0}C", Some(0)),
            ("", "V", None),
        ] {
            assert_eq!(power(of, to), expected, "{of:?} {to:?}");
        }
        assert_eq!(common(&["mV", "mV"]).as_deref(), Some("mV"));
        assert_eq!(common(&["mV", "V", "\u{b5}V"]).as_deref(), Some("V"));
        assert_eq!(common(&["mV", "A"]), None);
        assert_eq!(common(&["s", "min"]), None);
        assert_eq!(common(&[]), None);
    }
}
