//! Texts in which a row is a measurement.

use std::collections::{BTreeMap, HashMap, HashSet};

use stationdb::results::CreateStepRequest;
use stationdb::{Error, Place, Result};

use super::columns::Member;
use super::judge::of_parts;
use super::unit::{Cells, Reading, roll_up, step};
use crate::limits::RESULTS_CSV_GROUPS;
use crate::results::Told;
use crate::results::step::{NewResult, NewStep, Parameter};

/// The keys of a measurement that have a meaning; a column of another meaning has a key of its own.
const KEYS: [&str; 9] = [
    "name",
    "measurement",
    "units",
    "lowLimit",
    "highLimit",
    "nominalValue",
    "comparisonType",
    "status",
    "specId",
];

/// A result in the making.
struct Unit<'t> {
    result: NewResult,
    /// How many steps it has.
    steps: usize,
    /// The path of the step of the row before, and the names of its measurements.
    path: Vec<String>,
    names: HashSet<&'t str>,
    rows: usize,
}

/// The results of the rows: those with one serial number and run, or start, are a unit.
///
/// # Errors
/// As [`Reading::result`] and [`Reading::check`]; `LimitExceeded` for too many groups around a step.
pub(super) fn results(reading: &Reading<'_>, told: &mut Told) -> Result<Vec<NewResult>> {
    let mut places: HashMap<(Option<&str>, Option<String>), usize> = HashMap::new();
    let mut units: Vec<Unit<'_>> = Vec::new();
    reading.marks.tell(reading.columns.get(Member::Value), told);
    for row in 0..reading.texts.len() {
        reading.check(row)?;
        let run = reading.get(row, Member::Run).map(str::to_owned);
        let run = run.or_else(|| reading.start_text(row));
        let key = (reading.get(row, Member::SerialNumber), run);
        let at = match places.get(&key) {
            Some(at) => *at,
            None => {
                let result = reading.result(row, BTreeMap::new(), told)?;
                places.insert(key, units.len());
                let (path, names) = (Vec::new(), HashSet::new());
                units.push(Unit { result, steps: 0, path, names, rows: 0 });
                units.len() - 1
            }
        };
        if let Some(unit) = units.get_mut(at) {
            add(unit, reading, row, told)?;
        }
    }
    if units.len() > 1 && units.iter().all(|unit| unit.rows == 1) {
        let what = "each row is a result of its own, because serial number and start are; if the \
                    start is that of a measurement, map startedAt to no column, or map run";
        told.note(0, what);
    }
    Ok(units
        .into_iter()
        .map(|unit| {
            let mut result = unit.result;
            roll_up(&mut result);
            result
        })
        .collect())
}

/// Adds the measurement of a row.
///
/// # Errors
/// `LimitExceeded` for too many groups around its step.
fn add<'t>(unit: &mut Unit<'t>, reading: &Reading<'t>, row: usize, told: &mut Told) -> Result<()> {
    unit.rows += 1;
    let get = |member| reading.get(row, member);
    let step_name = get(Member::StepName);
    let name = get(Member::Name).or(step_name).unwrap_or_default();
    let cells = Cells {
        value: get(Member::Value),
        units: get(Member::Units),
        low: get(Member::LowLimit),
        high: get(Member::HighLimit),
        nominal: get(Member::NominalValue),
        comparison: get(Member::ComparisonType),
        status: get(Member::MeasurementStatus),
        mark: reading.marks.of(reading.columns.get(Member::Value)),
    };
    let (mut entry, status) = reading.parameter(name, &cells, reading.texts.line(row), told);
    for column in &reading.columns.rest {
        if let (Some(text), Some(key)) =
            (reading.texts.get(row, *column), reading.texts.names().get(*column))
        {
            let is_taken = KEYS.contains(&key.as_str());
            entry.put(&if is_taken { format!("column.{key}") } else { key.clone() }, text);
        }
    }
    let groups = get(Member::StepPath).unwrap_or_default().split('/').map(str::trim);
    let mut path: Vec<String> =
        groups.filter(|group| !group.is_empty()).map(str::to_owned).collect();
    if path.len() > RESULTS_CSV_GROUPS {
        let line = reading.texts.line(row);
        let error = Error::limit(format!(
            "a step is below {} others, more than the {RESULTS_CSV_GROUPS} that are stored",
            path.len()
        ));
        return Err(error.at(Place::Line { line, column: None }));
    }
    path.push(step_name.unwrap_or(name).to_owned());
    // As many groups as the row before has, too.
    let groups = path.len() - 1;
    let before = unit.path.iter().take(unit.path.len().saturating_sub(1));
    let shared =
        before.zip(path.iter().take(groups)).take_while(|(one, other)| one == other).count();
    let is_same = unit.path == path;
    unit.path = path;
    let Unit { result, steps, path, names, .. } = unit;
    let mut level = &mut result.steps;
    for (depth, group) in path.iter().take(groups).enumerate() {
        if depth >= shared || level.is_empty() {
            let request = CreateStepRequest::new()
                .step_id(format!("step-{steps}"))
                .name(group)
                .step_type("Group")
                .data_model("CSV");
            *steps += 1;
            level.push(NewStep { request, ..NewStep::default() });
        }
        let Some(last) = level.last_mut() else { return Ok(()) };
        level = &mut last.children;
    }
    // Several measurements of a step; one with the name of another is of the next iteration.
    if let Some(last) = level.last_mut().filter(|_| is_same && step_name.is_some()) {
        if names.insert(name) {
            let parts = [last.request.status.as_ref(), status.as_ref()];
            let whole = of_parts(parts.into_iter());
            last.request.status = Some(whole);
            last.parameters.push(Parameter::from(entry.finish()));
            return Ok(());
        }
    }
    names.clear();
    names.insert(name);
    let step_name = path.last().map(String::as_str).unwrap_or_default();
    level.push(step(*steps, step_name, get(Member::StepType), entry, status));
    *steps += 1;
    Ok(())
}
