//! Names of columns, and the units in them, below them and behind numbers.

use crate::csv::quantity::has_prefixes;
use crate::csv::value::number;

/// Units that instruments write.
const UNITS: &[&str] = &[
    "s", "S", "sec", "Sec", "second", "Second", "seconds", "Seconds", "ms", "us", "µs", "μs", "ns",
    "ps", "min", "h", "TS", "V", "VDC", "VAC", "mVDC", "mVAC", "ADC", "AAC", "mADC", "mAAC",
    "volt", "Volt", "VOLT", "volts", "Volts", "mV", "uV", "µV", "μV", "kV", "A", "amp", "Amp",
    "amps", "Amps", "ampere", "Ampere", "AMP", "mA", "uA", "µA", "μA", "nA", "W", "mW", "kW",
    "Watt", "Hz", "kHz", "MHz", "GHz", "dB", "dBm", "dBV", "degC", "DegC", "deg C", "Deg C", "°C",
    "℃", "C", "degF", "Deg F", "°F", "F", "K", "%", "%RH", "ohm", "Ohm", "ohms", "Ohms", "kOhm",
    "MOhm", "Ω", "kΩ", "MΩ", "Pa", "hPa", "kPa", "MPa", "bar", "mbar", "psi", "N", "kN", "Nm",
    "N·m", "g", "kg", "m", "mm", "cm", "µm", "um", "m/s", "m/s2", "m/s^2", "m/s²", "rpm", "deg",
    "°", "rad", "T", "mT", "lx", "ppm", "RN", "Sequence", "NO.", "No.", "#", "1", "-", "bits",
    "unknown",
];

/// A text without the brackets around it.
pub(super) fn unbracketed(text: &str) -> &str {
    let text = text.trim();
    for (open, close) in [('(', ')'), ('[', ']'), ('<', '>'), ('{', '}')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|text| text.strip_suffix(close)) {
            return inner.trim();
        }
    }
    text
}

/// Whether a cell below a name may be its unit.
pub(super) fn is_unit(text: &str) -> bool {
    let text = text.trim();
    unbracketed(text) != text || UNITS.contains(&text)
}

/// Things in units that are no units, but what instruments call their rows.
const NO_UNITS: [&str; 8] = ["TS", "RN", "Sequence", "NO.", "No.", "#", "1", "-"];

/// The units in brackets at the ends of these names. A letter in round brackets is none where another
/// name has one that is no unit: `Rig (A)` and `Rig (B)` are places.
pub(in crate::csv) fn units_in(names: &[String]) -> Vec<Option<String>> {
    let bracketed = |name: &str, open: char| {
        let (rest, unit) = name.trim().split_at(name.trim().rfind(open).filter(|at| *at > 0)?);
        let inner = unbracketed(unit);
        (inner != unit && !rest.trim().is_empty()).then(|| inner.to_owned())
    };
    let is_letter =
        |text: &str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = |unit: &String| UNITS.contains(&unit.as_str()) || has_prefixes(unit);
    let round = |name: &String| bracketed(name, '(');
    let has_places =
        names.iter().filter_map(round).any(|unit| is_letter(&unit) && !is_known(&unit));
    let unit = |name: &String| {
        let unit = round(name).filter(|unit| !(has_places && is_letter(unit)));
        let unit = unit.or_else(|| bracketed(name, '['));
        unit.filter(|unit| is_known(unit) && !NO_UNITS.contains(&unit.as_str()))
    };
    names.iter().map(unit).collect()
}

/// A number, and what is behind it.
pub(in crate::csv) fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_part = |part: char| part.is_ascii_digit() || "+-.,".contains(part);
    text.split_at(text.find(|part| !is_part(part)).unwrap_or(text.len()))
}

/// Whether a text is a number and its unit, such as `5.01 V DC` or `95%`.
pub(in crate::csv) fn has_unit_behind(text: &str) -> bool {
    let (value, rest) = split_unit(text);
    let unit = rest.split_whitespace().next().unwrap_or_default();
    // Without a mark between them, digits and a letter may be the name of a place.
    let is_apart = rest.starts_with(' ') || unit == "%" || value.contains(['.', ',']);
    let is_number = number(value, false).is_some() || number(value, true).is_some();
    is_apart && is_number && (is_unit(unit) || has_prefixes(unit))
}

/// Whether numbers in this unit are times.
fn is_time_unit(unit: &str) -> bool {
    const TIMES: &[&str] =
        &["s", "sec", "second", "seconds", "ms", "us", "µs", "μs", "ns", "ps", "min", "h", "ts"];
    TIMES.contains(&unit.to_lowercase().as_str())
}

/// A column of the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::csv) struct Named {
    /// Empty for a column without a name.
    pub(in crate::csv) name: String,
    pub(in crate::csv) unit: Option<String>,
    /// What other lines of the header say of it.
    pub(in crate::csv) properties: Vec<(String, String)>,
}

impl Named {
    /// A name such as `Time (s)`, `CH1[V]` or `C1 in V`, and the unit in it.
    pub(super) fn with_unit(text: &str) -> Self {
        let text = text.trim();
        if let Some(unit) = text.strip_prefix("in ") {
            let name = if is_time_unit(unit.trim()) { "time" } else { text };
            return Self {
                name: name.to_owned(),
                unit: Some(unit.trim().to_owned()),
                ..Self::default()
            };
        }
        let open = text.rfind(['(', '[']).filter(|at| *at > 0);
        let split = match open.map(|at| text.split_at(at)) {
            Some((name, unit)) if unbracketed(unit) != unit => Some((name, unbracketed(unit))),
            _ => text.rsplit_once(" in ").filter(|(_, unit)| is_unit(unit)),
        };
        match split {
            Some((name, unit)) if !unit.is_empty() && !name.trim().is_empty() => Self {
                name: name.trim().to_owned(),
                unit: Some(unit.trim().to_owned()),
                ..Self::default()
            },
            _ => Self { name: text.to_owned(), ..Self::default() },
        }
    }

    /// Whether the column has the time of its row, or its frequency.
    pub(super) fn is_axis(&self) -> bool {
        let name = self.name.to_lowercase();
        let starts = ["time", "date", "second", "x-axis", "freq"];
        self.unit.as_deref().is_some_and(is_time_unit)
            || starts.iter().any(|start| name.starts_with(start))
            || name == "t"
    }
}

/// Numbers names that repeat, and returns those that did.
pub(in crate::csv) fn number_repeated(columns: &mut [Named]) -> Vec<String> {
    let (mut seen, mut repeated) = (std::collections::HashSet::new(), Vec::new());
    let all: std::collections::HashSet<String> =
        columns.iter().map(|column| column.name.clone()).collect();
    for column in columns.iter_mut().filter(|column| !column.name.is_empty()) {
        if seen.insert(column.name.clone()) {
            continue;
        }
        repeated.push(column.name.clone());
        let numbered = (2u32..).map(|at| format!("{}_{at}", column.name));
        let mut free = numbered.filter(|name| !all.contains(name) && !seen.contains(name));
        column.name = free.next().unwrap_or_default();
        seen.insert(column.name.clone());
    }
    repeated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_found_in_names() {
        for (text, name, unit) in [
            ("Time (s)", "Time", Some("s")),
            ("CH1-1[V]", "CH1-1", Some("V")),
            ("Channel 1 (V)", "Channel 1", Some("V")),
            ("C1 in V", "C1", Some("V")),
            ("in s", "time", Some("s")),
            ("101 <Oven> (C)", "101 <Oven>", Some("C")),
            ("(V)", "(V)", None),
            ("CH1", "CH1", None),
            ("rise in time", "rise in time", None),
            ("f()", "f()", None),
        ] {
            let found = Named::with_unit(text);
            assert_eq!((found.name.as_str(), found.unit.as_deref()), (name, unit), "{text}");
        }
    }

    #[test]
    fn units_of_plain_names_are_those_that_are_known() {
        let units = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let units = units_in(&names).into_iter();
            units.map(|unit| unit.unwrap_or_else(|| "~".to_owned())).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(units(&["Time [s]", "CH1 [V]", "CH2[mA] ", "T (\u{b0}C)"]), "s V mA \u{b0}C");
        assert_eq!(units(&["I (A)", "U (V)", "t"]), "A V ~");
        assert_eq!(units(&["Rig (A)", "Rig (B)", "U [V]", "t (ms)"]), "~ ~ V ms");
        assert_eq!(
            units(&["data[0]", "part (1)", "rise (slow)", "(V)", "f()", "x [#]"]),
            "~ ~ ~ ~ ~ ~"
        );
    }

    #[test]
    fn names_that_repeat_are_numbered() {
        let names = ["t", "v", "", "t", "v", "t_2", "t"];
        let mut columns: Vec<Named> = names.iter().map(|name| Named::with_unit(name)).collect();
        assert_eq!(number_repeated(&mut columns), ["t", "v", "t"]);
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["t", "v", "", "t_3", "v_2", "t_2", "t_4"]);
    }
}
