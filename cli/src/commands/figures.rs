//! `yield`, `pareto` and `capability`: the figures of test results, as the library computes them.

use stationdb::prelude::*;
use stationdb::results::{
    CapabilityRequest, FailurePareto, FailureParetoRequest, ParetoBy, ParetoKey, YieldGroup,
    Yields, YieldsRequest,
};
use stationdb::serde_json::{Map, Value, json, to_value};

use super::missing::tell_missing;
use super::paths::{JOINT, path_text};
use crate::args::{Capability, Pareto, Yield};
use crate::desk::Desk;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, OutputFormat, failed};
use crate::pager::paged;
use crate::progress::Bar;

/// Characters of the longest bar of a Pareto.
const BAR: f64 = 30.0;
/// What stands for the key of results without a step that failed.
const NO_STEP: &str = "(no failing step)";
/// What a table shows for a key that results do not have.
const NO_KEY: &str = "(none)";

/// Writes the conditions of `ResultFlags` into a request.
macro_rules! select {
    ($request:expr, $flags:expr) => {{
        let flags = $flags;
        $request.filter.clone_from(&flags.filter);
        $request.product_filter.clone_from(&flags.product_filter);
        $request.retest_scope =
            flags.selection.then_some(stationdb::results::RetestScope::Selection);
    }};
}

/// Writes what `SeriesFlags` choose into a request.
macro_rules! choose {
    ($request:expr, $flags:expr) => {{
        let flags = $flags;
        crate::commands::figures::select!($request, &flags.results);
        $request.path = flags.path.as_deref().map(crate::commands::paths::path_of);
        $request.step_name.clone_from(&flags.step);
        $request.any_path = flags.any_path.then_some(true);
        $request.units.clone_from(&flags.units);
        $request.step_filter.clone_from(&flags.step_filter);
        $request.pass = flags.pass.as_deref().map(str::parse).transpose()?;
        $request.low_limit = flags.low;
        $request.high_limit = flags.high;
    }};
}
pub(super) use {choose, select};

/// What the library says of several paths has them as the store does.
pub(super) fn with_paths(error: &stationdb::Error) -> Failure {
    let mut failure = Failure::of(error);
    failure.message = failure.message.replace("\\n", JOINT);
    for (said, options) in
        [("set anyPath", "--path, --step or --any-path"), ("different units", "--units")]
    {
        if failure.message.contains(said) {
            failure.message.push_str(&format!("; here by {options}"));
        }
    }
    failure
}

/// A fraction for people.
fn percent(fraction: Option<f64>) -> Value {
    fraction.map_or(Value::Null, |fraction| json!(format!("{:.2} %", fraction * 100.0)))
}

fn object(output: Output, desk: &Desk, answer: &Value) -> Outcome {
    paged(output, &desk.interrupt, |out| output.object(out, answer))
}

pub fn yields(desk: &Desk, output: Output, asked: &Yield) -> Outcome {
    let mut request = YieldsRequest::new();
    select!(request, &asked.results);
    request.group_by = Some(asked.by.clone());
    request.time_zone.clone_from(&asked.time_zone);
    request.shift_hours = Some(asked.shift_hours.clone()).filter(|hours| !hours.is_empty());
    let (bar, control) = Bar::new(desk.interrupt.control(), "computing", None);
    let answer = desk.session().yields(request, &control)?;
    drop(bar);
    desk.interrupt.check()?;
    let is_table = output.form == OutputFormat::Table;
    if matches!(output.form, OutputFormat::Json | OutputFormat::JsonLines) {
        return object(output, desk, &to_value(&answer).unwrap_or_default());
    }
    let columns = group_columns(&asked.by, &answer, is_table);
    paged(output, &desk.interrupt, |out| {
        let groups = answer.groups.iter().map(|group| Ok(group_line(&asked.by, group, is_table)));
        output.records(out, &columns, true, &mut groups.into_iter())?;
        let mut rolled = rolled_lines(&answer).peekable();
        if !is_table || rolled.peek().is_none() {
            return Ok(());
        }
        writeln!(out).map_err(failed)?;
        let columns = ["partNumber", "programs", "rolledThroughputYield", "normalizedYield"];
        output.records(out, &columns.map(str::to_owned), true, &mut rolled.map(Ok))
    })
}

fn group_columns(by: &[String], answer: &Yields, is_table: bool) -> Vec<String> {
    let figures = [
        "firstPassYield",
        "finalYield",
        "resultYield",
        "retestRate",
        "units",
        "firstUnits",
        "good",
        "bad",
        "retests",
    ];
    let has_others = !is_table || answer.groups.iter().any(|group| !group.not_counted.is_empty());
    let others = has_others.then_some("notCounted");
    by.iter().map(String::as_str).chain(figures).chain(others).map(str::to_owned).collect()
}

fn group_line(by: &[String], group: &YieldGroup, is_table: bool) -> Value {
    let mut line = match to_value(group) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    };
    if is_table {
        for (name, fraction) in [
            ("firstPassYield", group.first_pass_yield),
            ("finalYield", group.final_yield),
            ("resultYield", group.result_yield),
            ("retestRate", group.retest_rate),
        ] {
            line.insert(name.to_owned(), percent(fraction));
        }
        let others = group.not_counted.iter().map(|(status, count)| format!("{status} {count}"));
        line.insert("notCounted".to_owned(), json!(others.collect::<Vec<_>>().join(", ")));
    }
    for (name, key) in by.iter().zip(&group.keys) {
        // Days and weeks of UTC begin with the day.
        let day = |key: &String| key.strip_suffix("T00:00:00.000Z").map(str::to_owned);
        let key = key.as_ref().map(|key| day(key).filter(|_| is_table).unwrap_or(key.clone()));
        let key = key.or_else(|| is_table.then(|| NO_KEY.to_owned()));
        line.insert(name.clone(), json!(key));
    }
    Value::Object(line)
}

/// The yields over the programs of the part numbers that have several.
fn rolled_lines(answer: &Yields) -> impl Iterator<Item = Value> {
    let several = answer.rolled_throughput.iter().filter(|rolled| rolled.programs.len() > 1);
    several.map(|rolled| {
        json!({
            "partNumber": rolled.part_number.as_deref().unwrap_or(NO_KEY),
            "programs": rolled.programs.len(),
            "rolledThroughputYield": percent(rolled.rolled_throughput_yield),
            "normalizedYield": percent(rolled.normalized_yield),
        })
    })
}

/// The request without what failures are told by, and with all keys.
fn pareto_request(asked: &Pareto) -> Outcome<FailureParetoRequest> {
    let mut request = FailureParetoRequest::new();
    select!(request, &asked.results);
    request.basis = asked.basis.as_deref().map(str::parse).transpose()?;
    request.first_pass_only = asked.first_pass.then_some(true);
    Ok(request)
}

/// What the failures without a key are. A step that failed may have no type, and a result no step
/// that failed; how many results are the latter is known from the names, which every step has.
fn without_key(desk: &Desk, asked: &Pareto, answer: &FailurePareto) -> Outcome<String> {
    let nulls = |answer: &FailurePareto| {
        let without = answer.entries.iter().find(|entry| entry.key.is_none());
        without.map_or(0, |entry| entry.count)
    };
    let by: Option<ParetoBy> = asked.by.as_deref().map(str::parse).transpose()?;
    let told = nulls(answer);
    if by != Some(ParetoBy::StepType) || told == 0 {
        return Ok(NO_STEP.to_owned());
    }
    let mut request = pareto_request(asked)?;
    request.by = Some(ParetoBy::Name);
    let (bar, control) = Bar::new(desk.interrupt.control(), "computing", None);
    let by_name = desk.session().failure_pareto(request, &control);
    drop(bar);
    desk.interrupt.check()?;
    let no_step = match by_name {
        Ok(by_name) => nulls(&by_name),
        // More names than a figure has keys.
        Err(error) if error.kind() == stationdb::ErrorKind::LimitExceeded => {
            return Ok("(step without a type, or no failing step)".to_owned());
        }
        Err(error) => return Err(error.into()),
    };
    Ok(match (told - no_step, no_step) {
        (_, 0) => "(step without a type)".to_owned(),
        (0, _) => NO_STEP.to_owned(),
        (untyped, none) => {
            format!("({untyped} of a step without a type, {none} without a failing step)")
        }
    })
}

pub fn pareto(desk: &Desk, output: Output, asked: &Pareto) -> Outcome {
    let by: Option<ParetoBy> = asked.by.as_deref().map(str::parse).transpose()?;
    let mut request = pareto_request(asked)?;
    request.by = by;
    request.take = asked.take.map(i64::from);
    let (bar, control) = Bar::new(desk.interrupt.control(), "computing", None);
    let answer = desk.session().failure_pareto(request, &control)?;
    drop(bar);
    desk.interrupt.check()?;
    let columns: &[&str] = match (output.form, by) {
        (OutputFormat::Json | OutputFormat::JsonLines, _) => {
            return object(output, desk, &to_value(&answer).unwrap_or_default());
        }
        (OutputFormat::Table, _) => &["key", "count", "fraction", "cumulative", "bar"],
        (OutputFormat::Csv, Some(ParetoBy::Measurement)) => {
            &["key.path", "key.measurement", "count", "fraction", "cumulative"]
        }
        (OutputFormat::Csv, _) => &["key", "count", "fraction", "cumulative"],
    };
    let columns: Vec<String> = columns.iter().map(|&name| name.to_owned()).collect();
    let is_table = output.form == OutputFormat::Table;
    let without_key = if is_table { without_key(desk, asked, &answer)? } else { String::new() };
    paged(output, &desk.interrupt, |out| {
        let lines =
            if is_table { pareto_lines(&answer, &without_key) } else { pareto_records(&answer) };
        output.records(out, &columns, true, &mut lines.into_iter().map(Ok))?;
        if !is_table {
            return Ok(());
        }
        let (total, results) = (answer.total, answer.results);
        writeln!(out, "{total} failures of {results} results").map_err(failed)
    })
}

fn pareto_records(answer: &FailurePareto) -> Vec<Value> {
    answer.entries.iter().map(|entry| to_value(entry).unwrap_or_default()).collect()
}

fn pareto_lines(answer: &FailurePareto, without_key: &str) -> Vec<Value> {
    let longest = answer.entries.iter().map(|entry| entry.count).max().unwrap_or(1).max(1) as f64;
    let bar = |count: i64| "█".repeat((count as f64 / longest * BAR).ceil() as usize);
    let entries = answer.entries.iter().map(|entry| {
        let key = match &entry.key {
            None => without_key.to_owned(),
            Some(ParetoKey::Text(text)) => path_text(text),
            Some(ParetoKey::Measurement(key)) => match &key.measurement {
                Some(name) => format!("{}: {name}", path_text(&key.path)),
                None => path_text(&key.path),
            },
        };
        json!({"key": key, "count": entry.count, "fraction": percent(entry.fraction),
            "cumulative": percent(entry.cumulative), "bar": bar(entry.count)})
    });
    let others = answer.others.iter().map(|others| {
        json!({"key": format!("({} others)", others.keys), "count": others.count,
            "fraction": percent(others.fraction), "cumulative": percent(Some(1.0))})
    });
    entries.chain(others).collect()
}

pub fn capability(desk: &Desk, output: Output, asked: &Capability) -> Outcome {
    let mut request = CapabilityRequest::new(asked.name.as_str());
    choose!(request, &asked.series);
    request.within_method = asked.within.as_deref().map(str::parse).transpose()?;
    request.subgroup_size = asked.subgroup;
    let (bar, control) = Bar::new(desk.interrupt.control(), "computing", None);
    let answer = desk.session().capability(request, &control);
    drop(bar);
    desk.interrupt.check()?;
    let answer = answer.map_err(|error| with_paths(&error))?;
    if answer.n + answer.not_numbers + answer.skipped == 0 {
        tell_missing(&desk.session(), output, &asked.name, &asked.series)?;
    }
    object(output, desk, &to_value(&answer).unwrap_or_default())
}
