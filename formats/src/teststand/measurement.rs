//! What a step measured, as parameters.

use std::collections::BTreeMap;

use super::json::texts;
use super::prop::Prop;
use crate::results::parameter::{Entry, number_text};
use crate::results::{LimitTexts, Told, limit_entries};

/// The members of a measurement that are read by name.
const READ: [&str; 6] = ["Data", "Limits", "Units", "Status", "Comp", "String"];
/// The members of limits that are read by name.
const OF_LIMITS: [&str; 5] = ["Low", "High", "Nominal", "ThresholdType", "String"];

/// The members of a step's result that [`of_step`] reads.
pub(super) const OF_STEP: [&str; 7] =
    ["Numeric", "PassFail", "String", "Limits", "Comp", "Units", "Measurement"];

/// The parameters of a step with this name and this text as status: a number, a string, a verdict,
/// or each of several measurements.
pub(super) fn of_step(
    result: Prop<'_>,
    name: &str,
    status: Option<&str>,
    told: &mut Told,
) -> Vec<BTreeMap<String, String>> {
    let mut all = Vec::new();
    if let Some(value) = result.get("Numeric") {
        let mut entry = Entry::new(name);
        number(&mut entry, value, told);
        limits(&mut entry, result, told);
        entry.put("status", status.unwrap_or_default());
        all.push(entry.finish());
    }
    // A step of strings or verdicts has no number; one of numbers has no string that is measured.
    if all.is_empty()
        && let Some(value) = result.get("String").and_then(Prop::value)
    {
        let mut entry = Entry::new(name);
        entry.set("measurement", value);
        text_limits(&mut entry, result);
        entry.put("status", status.unwrap_or_default());
        all.push(entry.finish());
    }
    if let Some(value) = result.text_of("PassFail") {
        let mut entry = Entry::new(name);
        entry.set("measurement", value.trim().to_ascii_lowercase());
        entry.put("status", status.unwrap_or_default());
        all.push(entry.finish());
    }
    if let Some(several) = result.get("Measurement") {
        for (at, one) in several.prop_items().enumerate() {
            all.push(of_several(one, at, told));
        }
    }
    all
}

/// One of several measurements of a step.
fn of_several(one: Prop<'_>, at: usize, told: &mut Told) -> BTreeMap<String, String> {
    let position = format!("Measurement {at}");
    let mut entry = Entry::new(if one.name().is_empty() { &position } else { one.name() });
    if let Some(value) = one.get("Data") {
        number(&mut entry, value, told);
    }
    limits(&mut entry, one, told);
    entry.put("status", one.text_of("Status").unwrap_or_default());
    for other in one.props(told).into_iter().filter(|other| !READ.contains(&other.name())) {
        for (path, text) in texts(other, other.name(), told) {
            entry.put(&path, text);
        }
    }
    entry.finish()
}

fn number(entry: &mut Entry, value: Prop<'_>, told: &mut Told) {
    let text = value.value().unwrap_or_default();
    if !text.trim().is_empty() && crate::results::parameter::number(text).is_none() {
        told.note(value.line(), "a measured value is no number, and is kept as its text");
    }
    entry.set("measurement", number_text(text));
}

/// The limits, the comparison and the unit of what has them.
fn limits(entry: &mut Entry, of: Prop<'_>, told: &mut Told) {
    entry.put("units", of.text_of("Units").unwrap_or_default());
    let limits = of.get("Limits");
    let text = |name: &str| limits.and_then(|limits| limits.text_of(name));
    let texts_of = LimitTexts {
        low: text("Low"),
        high: text("High"),
        nominal: text("Nominal"),
        threshold_type: text("ThresholdType"),
    };
    entry.extend(limit_entries(of.text_of("Comp").unwrap_or_default(), texts_of));
    let inner = limits.map(|limits| limits.props(told)).unwrap_or_default();
    for other in inner.into_iter().filter(|other| !OF_LIMITS.contains(&other.name())) {
        for (path, text) in texts(other, &format!("Limits.{}", other.name()), told) {
            entry.put(&path, text);
        }
    }
}

/// What a string is compared with, and how.
fn text_limits(entry: &mut Entry, of: Prop<'_>) {
    let limit = of.get("Limits").and_then(|limits| limits.get("String")).and_then(Prop::value);
    if let Some(limit) = limit {
        entry.set("expected", limit);
    }
    entry.put("comparisonType", of.text_of("Comp").unwrap_or_default());
}
