//! The result of a test as a parameter of its step.

use stationdb::results::NamedValue;

use super::datum::{Datum, Kind, json};
use crate::results::parameter::Entry;
use crate::results::step::Parameter;
use crate::results::{LimitTexts, Told, limit_entries, outcome_status};
use crate::xml::{Element, flatten};

/// The names that a sequencer gives to the only result of a step; the step's own says more.
const ONLY: [&str; 4] = ["Numeric", "String", "PassFail", "Boolean"];

/// Attributes of a datum that are its value and its unit, or say how it is written.
const OF_DATUM: [&str; 7] =
    ["value", "type", "unit", "nonStandardUnit", "real", "imaginary", "flags"];

/// What a test result becomes.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) parameter: Option<Parameter>,
    pub(super) output: Option<NamedValue>,
}

/// The parameter of a test result of a step, and an output if its value is more than a datum.
pub(super) fn measured(result: Element<'_>, step: &str, told: &mut Told) -> Measured {
    let name = result.attribute("name").filter(|name| !ONLY.contains(name)).unwrap_or(step);
    let mut entry = Entry::new(name);
    let mut found = Measured::default();
    let mut is_text = false;
    let mut has_entry = false;
    for child in result.children() {
        match child.name() {
            "Outcome" => {
                has_entry = true;
                status(&mut entry, child);
            }
            "TestData" => match child.child("Datum") {
                Some(element) => {
                    has_entry = true;
                    let datum = Datum::of(element);
                    is_text = datum.kind == Kind::Text;
                    entry.put("units", datum.unit.as_deref().unwrap_or_default());
                    entry.set("measurement", datum.text);
                    for (key, text) in element.attributes() {
                        if !OF_DATUM.contains(&key) && !key.starts_with("xmlns") {
                            entry.put(key, text);
                        }
                    }
                    for inner in element.children().filter(|inner| inner.name() != "Value") {
                        flat(inner, inner.name(), &mut entry, told);
                    }
                }
                None => {
                    let value = json(child, told);
                    found.output = value.map(|value| NamedValue::new(name, value));
                }
            },
            "TestLimits" | "Limits" => {}
            other => flat(child, other, &mut entry, told),
        }
    }
    for of in result.children().filter(|child| matches!(child.name(), "TestLimits" | "Limits")) {
        has_entry = true;
        let inside = if of.name() == "Limits" { of } else { of.child("Limits").unwrap_or(of) };
        limits(inside, is_text, &mut entry, told);
    }
    found.parameter = has_entry.then(|| Parameter::from(entry.finish()));
    found
}

fn status(entry: &mut Entry, outcome: Element<'_>) {
    let qualifier = outcome.attribute("qualifier");
    let value = outcome.attribute("value").unwrap_or_default();
    let text = match outcome_status(value, qualifier).status_type.as_str() {
        "PASSED" => "Passed",
        "FAILED" => "Failed",
        "DONE" => "Done",
        "SKIPPED" => "Skipped",
        "ERRORED" => "Errored",
        "TERMINATED" => "Terminated",
        _ => qualifier.unwrap_or(value),
    };
    entry.put("status", text);
}

/// Keys of an element that has none of its own.
fn flat(element: Element<'_>, path: &str, entry: &mut Entry, told: &mut Told) {
    if !flatten(element, path, &mut |path, text| entry.put(&path, text)) {
        told.note(element.line(), "values with long paths are left out");
    }
}

/// A limit: what it compares, and with what.
struct Bound {
    comparator: String,
    datum: Datum,
}

fn bound(element: Element<'_>) -> Option<Bound> {
    let comparator = element.attribute("comparator").unwrap_or("EQ").trim().to_ascii_uppercase();
    let datum = Datum::of(element.child("Datum")?);
    Some(Bound { comparator, datum })
}

/// The keys of the first limit; others, and forms that have no keys, are kept by their paths.
fn limits(of: Element<'_>, is_text: bool, entry: &mut Entry, told: &mut Told) {
    let mut has_limit = entry.has("comparisonType");
    for element in of.children() {
        let is_read = !has_limit
            && match element.name() {
                "LimitPair" => pair(element, entry, told),
                "SingleLimit" | "Expected" | "Limit" => single(element, is_text, entry, told),
                _ => false,
            };
        if is_read {
            has_limit = true;
            continue;
        }
        let line = element.line();
        told.note(line, format!("limits in the form {:?} are kept as texts", element.name()));
        flat(element, &format!("Limits.{}", element.name()), entry, told);
    }
}

/// A range, or what is outside of one.
fn pair(pair: Element<'_>, entry: &mut Entry, told: &mut Told) -> bool {
    let bounds = pair.children().filter(|child| child.name() == "Limit").map(bound);
    let Some(bounds) = bounds.collect::<Option<Vec<Bound>>>() else { return false };
    let [one, other] = bounds.as_slice() else { return false };
    let is_or = pair.attribute("operator").is_some_and(|text| text.eq_ignore_ascii_case("OR"));
    let is_lower = |bound: &Bound| matches!(bound.comparator.as_str(), "GE" | "GT");
    let is_upper = |bound: &Bound| matches!(bound.comparator.as_str(), "LE" | "LT");
    // Inside, values are above the lower limit; outside, they are below it.
    let (low, high) = match (is_lower(one) && is_upper(other), is_upper(one) && is_lower(other)) {
        (true, _) if !is_or => (one, other),
        (true, _) => (other, one),
        (_, true) if !is_or => (other, one),
        (_, true) => (one, other),
        _ => return false,
    };
    let comparison = format!("{}{}", low.comparator, high.comparator);
    let nominal = pair
        .child("Nominal")
        .map(|nominal| Datum::of(nominal.child("Datum").unwrap_or(nominal)).text);
    let texts = LimitTexts {
        low: Some(&low.datum.text),
        high: Some(&high.datum.text),
        nominal: nominal.as_deref(),
        threshold_type: None,
    };
    entry.extend(limit_entries(&comparison, texts));
    unit(&[&low.datum, &high.datum], pair.line(), entry, told);
    true
}

/// The unit of a measurement, if only its limits have one; another unit of limits is kept beside it.
fn unit(limits: &[&Datum], line: u64, entry: &mut Entry, told: &mut Told) {
    let of_limits = limits.iter().filter_map(|datum| datum.unit.as_deref());
    for of_limit in of_limits.filter(|unit| !unit.is_empty()) {
        entry.put("units", of_limit);
        let Some(unit) = entry.get("units").filter(|unit| *unit != of_limit) else { continue };
        told.note(
            line,
            format!(
                "a limit has the unit {of_limit:?}, and its value {unit:?}: numbers are kept as they \
                 are, with the unit of the limit as limitUnits"
            ),
        );
        entry.put("limitUnits", of_limit);
    }
}

/// A limit on one side, or what is expected.
fn single(element: Element<'_>, is_text: bool, entry: &mut Entry, told: &mut Told) -> bool {
    let Some(Bound { comparator, datum }) = bound(element) else { return false };
    let is_case = matches!(comparator.as_str(), "CIEQ" | "CINE");
    if is_text || datum.kind != Kind::Number || is_case {
        let comparison = match comparator.as_str() {
            "EQ" if is_text => "CaseSensitive",
            "CIEQ" => "IgnoreCase",
            other => other,
        };
        entry.put("comparisonType", comparison);
        entry.set("expected", datum.text);
        return true;
    }
    let text = Some(datum.text.as_str());
    entry.extend(limit_entries(&comparator, LimitTexts { low: text, ..LimitTexts::default() }));
    unit(&[&datum], element.line(), entry, told);
    true
}
