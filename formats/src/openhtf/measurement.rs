//! Measurements as parameters of a step.

use std::collections::BTreeMap;

use stationdb::Result;

use super::json::{At, Json};
use super::table::table_of;
use super::validators;
use crate::results::step::Parameter;

/// What the package calls the unit of a value that has none.
const NO_DIMENSION: &str = "No dimension";

/// The parameter of a measurement with this name, of a phase.
///
/// # Errors
/// `InvalidArgument` at what is no measurement.
pub(super) fn parameter(phase: &str, name: &str, measurement: &At<'_>) -> Result<Parameter> {
    let mut entry = BTreeMap::new();
    let mut put = |key: &str, text: &str| entry.insert(key.to_owned(), text.to_owned());
    put("name", name);
    let unit = unit_of(measurement)?;
    if let Some(unit) = unit {
        put("units", unit);
    }
    if let Some(text) = measurement.text("docstring")? {
        put("docstring", text);
    }
    if let Some(status) = status_of(measurement)? {
        put("status", status);
    }
    let validators = measurement.list("validators")?;
    let validators: Vec<&str> = validators.iter().map(At::as_text).collect::<Result<_>>()?;
    for (key, text) in validators::entries(&validators) {
        put(key, &text);
    }
    let value = measurement.member("measured_value")?;
    let dimensions = measurement
        .member("dimensions")?
        .filter(|dimensions| !matches!(dimensions.json, Json::List(items) if items.is_empty()));
    let table = match (dimensions, value) {
        (Some(dimensions), Some(values)) => {
            Some(table_of(format!("{phase}.{name}"), &dimensions, unit, &values)?)
        }
        (None, Some(value)) => {
            put("measurement", &value.json.text().unwrap_or_default());
            None
        }
        (_, None) => None,
    };
    Ok(Parameter { entry, table })
}

fn unit_of<'j>(measurement: &At<'j>) -> Result<Option<&'j str>> {
    let Some(units) = measurement.member("units")? else { return Ok(None) };
    if let Json::Text(text) = units.json {
        return Ok(Some(text));
    }
    let unit = units.text("suffix")?.or(units.text("name")?);
    Ok(unit.filter(|unit| *unit != NO_DIMENSION))
}

fn status_of(measurement: &At<'_>) -> Result<Option<&'static str>> {
    let Some(outcome) = measurement.member("outcome")? else { return Ok(None) };
    Ok(Some(match outcome.as_text()? {
        "PASS" => "Passed",
        "FAIL" => "Failed",
        "SKIPPED" => "Skipped",
        "UNSET" | "PARTIALLY_SET" => "Errored",
        other => {
            let known = "PASS, FAIL, SKIPPED, UNSET, PARTIALLY_SET";
            return Err(outcome.error(format_args!("{other:?} is not one of {known}")));
        }
    }))
}
