//! `show` of a test result: its steps as a tree, with their measurements.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use stationdb::Session;
use stationdb::prelude::*;
use stationdb::results::{QueryStepsRequest, Status, StatusType, Step};
use stationdb::serde_json::{Value, json, to_value};

use crate::desk::Desk;
use crate::failure::Outcome;
use crate::output::{Output, OutputFormat, failed};
use crate::pager::paged;

/// Steps on a page of a query.
const PAGE: i64 = 10_000;
const SHOWN: [&str; 8] =
    ["step", "status", "seconds", "measurement", "value", "units", "limits", "verdict"];
const WRITTEN: [&str; 13] = [
    "depth",
    "stepId",
    "step",
    "stepType",
    "status",
    "seconds",
    "measurement",
    "value",
    "units",
    "lowLimit",
    "highLimit",
    "comparisonType",
    "verdict",
];

type Parameter = BTreeMap<String, String>;

pub fn show(desk: &Desk, output: Output, session: &Session, mut result: Value) -> Outcome {
    let steps = steps_of(session, result["id"].as_str().unwrap_or_default())?;
    let tree = in_order(&steps);
    desk.interrupt.check()?;
    paged(output, &desk.interrupt, |out| match output.form {
        OutputFormat::Table => {
            output.object(out, &result)?;
            if tree.is_empty() {
                return Ok(());
            }
            writeln!(out).map_err(failed)?;
            lines(output, out, &SHOWN, &mut tree.iter().flat_map(shown))
        }
        OutputFormat::Csv => lines(output, out, &WRITTEN, &mut tree.iter().flat_map(written)),
        OutputFormat::Json | OutputFormat::JsonLines => {
            let steps = tree.iter().map(|(_, step)| to_value(step).unwrap_or_default());
            result["steps"] = steps.collect();
            output.object(out, &result)
        }
    })
}

fn lines(
    output: Output,
    out: &mut dyn Write,
    columns: &[&str],
    lines: &mut dyn Iterator<Item = Value>,
) -> Outcome {
    let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    output.records(out, &columns, true, &mut lines.map(Ok))
}

fn steps_of(session: &Session, id: &str) -> Outcome<Vec<Step>> {
    let mut request =
        QueryStepsRequest::new().filter("resultId == @0").substitutions([id]).take(PAGE);
    let mut steps = Vec::new();
    loop {
        let page = session.query_steps(request.clone())?;
        steps.extend(page.steps);
        if page.continuation_token.is_none() {
            return Ok(steps);
        }
        request.continuation_token = page.continuation_token;
    }
}

/// The steps with their depths, in step order: each parent before its children, and these by their
/// start. Steps come in order of creation. A step whose parent is not there stands on the first
/// level.
fn in_order(steps: &[Step]) -> Vec<(usize, &Step)> {
    let ids: HashSet<&str> = steps.iter().filter_map(|step| step.step_id.as_deref()).collect();
    let mut children: HashMap<Option<&str>, Vec<&Step>> = HashMap::new();
    for step in steps {
        let parent = step.parent_id.as_deref().filter(|parent| ids.contains(parent));
        children.entry(parent).or_default().push(step);
    }
    for of_one in children.values_mut() {
        of_one.sort_by_key(|step| step.started_at);
    }
    let mut open: Vec<(usize, &Step)> = Vec::new();
    let first = children.remove(&None);
    open.extend(first.into_iter().flatten().rev().map(|step| (0, step)));
    let mut tree = Vec::with_capacity(steps.len());
    while let Some((depth, step)) = open.pop() {
        tree.push((depth, step));
        let below = step.step_id.as_deref().and_then(|id| children.remove(&Some(id)));
        open.extend(below.into_iter().flatten().rev().map(|step| (depth + 1, step)));
    }
    tree
}

fn measurements(step: &Step) -> Vec<&Parameter> {
    let parameters = step.data.iter().flat_map(|data| data.parameters.iter().flatten());
    let is_measurement = |parameter: &&Parameter| {
        let is_other =
            parameter.get("nitmParameterType").is_some_and(|t| t == "ADDITIONAL_RESULTS");
        parameter.contains_key("name") && parameter.contains_key("measurement") && !is_other
    };
    parameters.filter(is_measurement).collect()
}

fn status_text(status: Option<&Status>) -> Option<String> {
    let status = status?;
    let name = status.status_name.clone().filter(|_| status.status_type == StatusType::Custom);
    Some(name.unwrap_or_else(|| status.status_type.to_string()))
}

/// The lines of a step for people: the first measurement stands beside the step, and the others
/// below it.
fn shown((depth, step): &(usize, &Step)) -> Vec<Value> {
    let mut line = json!({
        "step": format!("{}{}", "  ".repeat(*depth), step.name.as_deref().unwrap_or_default()),
        "status": status_text(step.status.as_ref()),
        "seconds": step.total_time_in_seconds,
    });
    let mut lines = Vec::new();
    for parameter in measurements(step) {
        for (column, key) in [
            ("measurement", "name"),
            ("value", "measurement"),
            ("units", "units"),
            ("verdict", "status"),
        ] {
            line[column] = json!(parameter.get(key));
        }
        line["limits"] = json!(limits(parameter));
        lines.push(std::mem::replace(&mut line, json!({})));
    }
    if lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The lines of a step for programs: one for each measurement, or one without.
fn written((depth, step): &(usize, &Step)) -> Vec<Value> {
    let own = json!({
        "depth": depth,
        "stepId": step.step_id,
        "step": step.name,
        "stepType": step.step_type,
        "status": status_text(step.status.as_ref()),
        "seconds": step.total_time_in_seconds,
    });
    let of_measurement = |parameter: &Parameter| {
        let mut line = own.clone();
        for (column, key) in [
            ("measurement", "name"),
            ("value", "measurement"),
            ("units", "units"),
            ("lowLimit", "lowLimit"),
            ("highLimit", "highLimit"),
            ("comparisonType", "comparisonType"),
            ("verdict", "status"),
        ] {
            line[column] = json!(parameter.get(key));
        }
        line
    };
    match &measurements(step)[..] {
        [] => vec![own],
        all => all.iter().map(|parameter| of_measurement(parameter)).collect(),
    }
}

/// The limits of a measurement as a condition on x.
fn limits(parameter: &Parameter) -> String {
    let text = |key: &str| parameter.get(key).map(|text| text.trim()).filter(|t| !t.is_empty());
    let (low, high) = (text("lowLimit"), text("highLimit"));
    let side = |sign: &str, limit: Option<&str>| {
        limit.map(|limit| format!("x {sign} {limit}")).unwrap_or_default()
    };
    let between = |from: &str, to: &str| match (low, high) {
        (Some(low), Some(high)) => format!("{low} {from} x {to} {high}"),
        (Some(_), None) => side(&from.replace('<', ">"), low),
        (None, high) => side(to, high),
    };
    let outside = |below: &str, above: &str| match (low, high) {
        (Some(low), Some(high)) => format!("x {below} {low} or x {above} {high}"),
        _ => String::new(),
    };
    let comparison = text("comparisonType").unwrap_or_default().to_ascii_uppercase();
    match comparison.as_str() {
        "GTLT" => between("<", "<"),
        "GELT" => between("<=", "<"),
        "GTLE" => between("<", "<="),
        "GE" => side(">=", low),
        "GT" => side(">", low),
        "LE" => side("<=", high.or(low)),
        "LT" => side("<", high.or(low)),
        "EQ" => side("=", low),
        "NE" => side("!=", low),
        "LTGT" => outside("<", ">"),
        "LEGE" => outside("<=", ">="),
        "LEGT" => outside("<=", ">"),
        "LTGE" => outside("<", ">="),
        "LOG" => String::new(),
        _ => between("<=", "<="),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, parent: Option<&str>, at: i64) -> Step {
        let mut step = Step::default();
        step.step_id = Some(id.to_owned());
        step.parent_id = parent.map(str::to_owned);
        step.started_at = stationdb::chrono::DateTime::from_timestamp_millis(at);
        step
    }

    #[test]
    fn steps_come_in_step_order() {
        let steps = [
            step("late", None, 9),
            step("b", Some("a"), 3),
            step("a", None, 1),
            step("c", Some("a"), 2),
            step("orphan", Some("gone"), 4),
            step("d", Some("b"), 1),
            step("e", Some("a"), 3),
        ];
        let tree = in_order(&steps);
        let tree: Vec<(usize, &str)> =
            tree.iter().map(|(depth, step)| (*depth, step.step_id.as_deref().unwrap())).collect();
        let expected =
            [(0, "a"), (1, "c"), (1, "b"), (2, "d"), (1, "e"), (0, "orphan"), (0, "late")];
        assert_eq!(tree, expected);
    }

    #[test]
    fn limits_are_a_condition() {
        for (comparison, low, high, text) in [
            ("GELE", Some("1"), Some("2"), "1 <= x <= 2"),
            ("gtlt", Some("1"), Some("2"), "1 < x < 2"),
            ("GELT", Some("1"), Some("2"), "1 <= x < 2"),
            ("GTLE", Some("1"), Some("2"), "1 < x <= 2"),
            ("GTLE", Some("1"), None, "x > 1"),
            ("GE", Some("1"), None, "x >= 1"),
            ("GT", Some("1"), Some("2"), "x > 1"),
            ("LE", Some("1"), None, "x <= 1"),
            ("LT", Some("1"), Some("2"), "x < 2"),
            ("EQ", Some("true"), None, "x = true"),
            ("NE", Some("1"), None, "x != 1"),
            ("LTGT", Some("1"), Some("2"), "x < 1 or x > 2"),
            ("LEGE", Some("1"), Some("2"), "x <= 1 or x >= 2"),
            ("LOG", Some("1"), Some("2"), ""),
            ("", None, Some(" 2 "), "x <= 2"),
            ("", None, None, ""),
        ] {
            let mut parameter = Parameter::new();
            parameter.insert("comparisonType".to_owned(), comparison.to_owned());
            for (key, limit) in [("lowLimit", low), ("highLimit", high)] {
                limit.map(|limit| parameter.insert(key.to_owned(), limit.to_owned()));
            }
            assert_eq!(limits(&parameter), text, "{comparison} {low:?} {high:?}");
        }
    }
}
