//! Texts in which a row is a unit, and a column a measurement.

use std::collections::BTreeMap;

use stationdb::Result;

use super::columns::{Columns, plain, position};
use super::unit::{Cells, Reading, roll_up, step};
use crate::results::Told;
use crate::results::parameter::number;
use crate::results::step::NewResult;

/// Texts that are no value.
const NO_VALUES: [&str; 6] = ["na", "n/a", "-", "--", "null", "none"];

/// What a row above those of units says of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Head {
    Units,
    Low,
    High,
    Nominal,
    Comparison,
}

/// The row of a text.
fn head(text: &str) -> Option<Head> {
    let known: [(Head, &[&str]); 5] = [
        (Head::Units, &["unit", "units", "uom"]),
        (
            Head::Low,
            &["lowlimit", "lowerlimit", "lowlimits", "lsl", "low", "lower", "min", "minimum"],
        ),
        (
            Head::High,
            &["highlimit", "upperlimit", "highlimits", "usl", "high", "upper", "max", "maximum"],
        ),
        (Head::Nominal, &["nominal", "nominalvalue", "target"]),
        (Head::Comparison, &["comparison", "comparisontype", "comp"]),
    ];
    let text = plain(text);
    known.iter().find(|(_, names)| names.contains(&text.as_str())).map(|(head, _)| *head)
}

/// The results of the rows.
///
/// # Errors
/// `InvalidArgument` for a measurement that is no column; as [`Reading::result`].
pub(super) fn results(reading: &Reading<'_>, told: &mut Told) -> Result<Vec<NewResult>> {
    let (texts, names) = (reading.texts, reading.texts.names());
    let mut heads: BTreeMap<Head, usize> = BTreeMap::new();
    let mut first = 0;
    while first < texts.len() {
        let label = (0..names.len()).find_map(|column| texts.get(first, column));
        let Some(head) = label.and_then(head) else { break };
        heads.insert(head, first);
        first += 1;
    }
    let measured = measured(reading, first)?;
    let mut results = Vec::new();
    for row in first..texts.len() {
        let mut properties = BTreeMap::new();
        for column in reading.columns.rest.iter().filter(|column| !measured.contains(column)) {
            if let (Some(text), Some(name)) = (texts.get(row, *column), names.get(*column)) {
                properties.insert(name.clone(), text.to_owned());
            }
        }
        let mut result = reading.result(row, properties, told)?;
        for column in &measured {
            let value = texts.get(row, *column).filter(|text| !is_no_value(text));
            let (Some(value), Some(name)) = (value, names.get(*column)) else { continue };
            let (name, unit) = name_and_unit(name);
            let head = |head: Head| texts.get(*heads.get(&head)?, *column);
            let cells = Cells {
                value: Some(value),
                units: head(Head::Units).or(unit),
                low: head(Head::Low),
                high: head(Head::High),
                nominal: head(Head::Nominal),
                comparison: head(Head::Comparison),
                status: None,
            };
            let (entry, status) = reading.parameter(name, &cells, texts.line(row), told);
            result.steps.push(step(result.steps.len(), name, None, entry, status));
        }
        roll_up(&mut result);
        results.push(result);
    }
    Ok(results)
}

/// The columns of measurements: those that the options name, or those of numbers alone.
fn measured(reading: &Reading<'_>, first: usize) -> Result<Vec<usize>> {
    let Columns { rest, .. } = reading.columns;
    if let Some(named) = &reading.options.measurements {
        let at = named.iter().map(|name| position(reading.texts.names(), name));
        return at.collect::<Result<_>>().map_err(|error| error.at_member("measurements"));
    }
    let is_measured = |column: &&usize| {
        let mut has_number = false;
        for text in (first..reading.texts.len()).filter_map(|row| reading.texts.get(row, **column))
        {
            if is_no_value(text) {
                continue;
            }
            // Zeros at the beginning are those of a number of a part.
            let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
            let is_code = matches!(digits, [b'0', next, ..] if next.is_ascii_digit());
            if is_code || number(&reading.canonical(text)).is_none() {
                return false;
            }
            has_number = true;
        }
        has_number
    };
    Ok(rest.iter().filter(is_measured).copied().collect())
}

fn is_no_value(text: &str) -> bool {
    NO_VALUES.iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// `vout` and `V` of `vout [V]` or `vout (V)`.
fn name_and_unit(name: &str) -> (&str, Option<&str>) {
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some((before, unit)) =
            name.strip_suffix(close).and_then(|rest| rest.rsplit_once(open))
            && !before.trim().is_empty()
            && !unit.trim().is_empty()
        {
            return (before.trim(), Some(unit.trim()));
        }
    }
    (name, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_in_names() {
        assert_eq!(name_and_unit("vout [V]"), ("vout", Some("V")));
        assert_eq!(name_and_unit("i out(mA)"), ("i out", Some("mA")));
        for name in ["vout", "[V]", "a []", "(a) b", "a [V"] {
            assert_eq!(name_and_unit(name), (name, None));
        }
    }
}
