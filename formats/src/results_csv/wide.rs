//! Texts in which a row is a unit, and a column a measurement.

use std::collections::{BTreeMap, HashSet};

use stationdb::Result;
use stationdb::tables::readers::shortened;

use super::columns::{plain, position};
use super::marks::looks_like_number;
use super::unit::{Cells, Reading, is_no_value, roll_up, step};
use crate::results::Told;
use crate::results::step::NewResult;

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
/// `InvalidArgument` for a measurement that is no column; as [`Reading::result`] and
/// [`Reading::check`].
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
    let measured = measured(reading, first, told)?;
    let are_measured: HashSet<usize> = measured.iter().copied().collect();
    let rest = reading.columns.rest.iter();
    let others: Vec<usize> = rest.copied().filter(|at| !are_measured.contains(at)).collect();
    let mut results = Vec::new();
    for row in first..texts.len() {
        reading.check(row)?;
        let mut properties = BTreeMap::new();
        for column in &others {
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
                mark: reading.marks.of(Some(*column)),
            };
            let (entry, status) = reading.parameter(name, &cells, texts.line(row), told);
            result.steps.push(step(result.steps.len(), name, None, entry, status));
        }
        roll_up(&mut result);
        results.push(result);
    }
    Ok(results)
}

/// The values of a column.
#[derive(Default)]
struct Count<'t> {
    all: usize,
    numbers: usize,
    /// Those that people read as numbers.
    like_numbers: usize,
    /// The first one that is no number, with its line.
    other: Option<(u64, &'t str)>,
    /// Whether one has zeros at the beginning, as numbers of parts have.
    has_codes: bool,
}

fn count<'t>(reading: &Reading<'t>, first: usize, column: usize) -> Count<'t> {
    let (texts, mark) = (reading.texts, reading.marks.of(Some(column)));
    let mut count = Count::default();
    for row in first..texts.len() {
        let Some(text) = texts.get(row, column).filter(|text| !is_no_value(text)) else { continue };
        count.all += 1;
        count.like_numbers += usize::from(looks_like_number(text));
        let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
        count.has_codes |= matches!(digits, [b'0', next, ..] if next.is_ascii_digit());
        if mark.number(text).is_some() {
            count.numbers += 1;
        } else if count.other.is_none() {
            count.other = Some((texts.line(row), text));
        }
    }
    count
}

/// The columns of measurements: those that the options name, or those of which at least half of the
/// values are numbers.
fn measured(reading: &Reading<'_>, first: usize, told: &mut Told) -> Result<Vec<usize>> {
    let names = reading.texts.names();
    if let Some(named) = &reading.options.measurements {
        let at = named.iter().map(|name| position(names, name));
        let at = at.collect::<Result<Vec<usize>>>();
        let at = at.map_err(|error| error.at_member("measurements"))?;
        at.iter().for_each(|column| reading.marks.tell(Some(*column), told));
        return Ok(at);
    }
    let mut measured = Vec::new();
    for column in &reading.columns.rest {
        let Count { all, numbers, like_numbers, other, has_codes } = count(reading, first, *column);
        let name = names.get(*column).map(String::as_str).unwrap_or_default();
        if has_codes || all == 0 || 2 * like_numbers < all {
            continue;
        }
        reading.marks.tell(Some(*column), told);
        let is_measured = numbers > 0 && 2 * numbers >= all;
        if is_measured {
            measured.push(*column);
        }
        if let Some((line, text)) = other {
            let what = if is_measured {
                "are measurements, that one with its text"
            } else {
                "are properties"
            };
            let text = shortened(text);
            told.note(
                line,
                format!(
                    "column {name:?}: {text:?} is no number that is read, and {numbers} of {all} \
                     values are; all {what}; measurements names other columns"
                ),
            );
        }
    }
    Ok(measured)
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
