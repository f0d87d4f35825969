//! Reports as results.

use std::collections::BTreeMap;

use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateResultRequest, StatusType};
use stationdb::{Error, Result};

use super::json::texts;
use super::prop::Prop;
use super::step::{Steps, seconds, text_of};
use crate::results::parameter::number;
use crate::results::step::NewResult;
use crate::results::{Clock, ResultOptions, Told, file, sequencer_status};
use crate::xml::{self, Element};

/// The name of a test without one.
const PROGRAM: &str = "TestStand";
/// Members of a unit and of a station that are members of the result.
const MEMBERS: [&str; 4] =
    ["UUT.SerialNumber", "UUT.PartNumber", "StationInfo.StationID", "StationInfo.LoginName"];

/// The results of the reports of a document.
///
/// # Errors
/// `InvalidArgument` with the line of what cannot be read; the errors of reading XML.
pub(super) fn read(bytes: &[u8], options: &ResultOptions) -> Result<(Vec<NewResult>, Told)> {
    let clock = Clock::new(options.time_zone.as_deref())?;
    let document = xml::read(bytes).map_err(|error| error.context("reading a TestStand report"))?;
    let root = document.root();
    let reports: Vec<Element<'_>> = match root.name() {
        "Reports" => root.children().collect(),
        "Report" => vec![root],
        other => {
            return Err(root.wrong(Error::invalid(format!(
                "reading a TestStand report: the outermost element is {other:?} and not Reports \
                 or Report; give a report that TestStand wrote as XML"
            ))));
        }
    };
    let mut told = Told::default();
    let mut results = Vec::new();
    for report in reports {
        let kind = report.attribute("Type").unwrap_or("UUT");
        match report.name() {
            "Report" if kind == "UUT" => {
                results.push(result(report, options, &clock, &mut told)?);
            }
            "Report" => {
                let what = format!("a report of the type {kind:?} has no steps and is left out");
                told.note(report.line(), what);
            }
            name => told.note(report.line(), format!("the element {name:?} is not read")),
        }
    }
    if results.is_empty() {
        return Err(root.wrong(Error::invalid(
            "reading a TestStand report: there is no report of a unit (Type='UUT')",
        )));
    }
    Ok((results, told))
}

fn result(
    report: Element<'_>,
    options: &ResultOptions,
    clock: &Clock,
    told: &mut Told,
) -> Result<NewResult> {
    let props = Prop::inside(report, told);
    let get = |name: &str| props.iter().copied().find(|prop| prop.name() == name);
    let text = |[outer, inner]: [&str; 2]| {
        let found = get(outer).and_then(|prop| prop.text_of(inner));
        found.map(|text| text.trim().to_owned())
    };
    let main =
        get("TEResult").or_else(|| props.iter().copied().find(|prop| prop.is_of("TEResult")));
    let mut properties: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in report.attributes().filter(|(name, _)| *name != "Type") {
        properties.insert(format!("Report.{name}"), value.to_owned());
    }
    let started_at = match (get("StartDate"), get("StartTime")) {
        (Some(date), time) => start(date, time, clock, told)?,
        (None, _) => None,
    };
    for prop in &props {
        let is_main = main.is_some_and(|main| main.element().is(prop.element()));
        let is_start = matches!(prop.name(), "StartDate" | "StartTime") && started_at.is_some();
        if !is_main && !is_start {
            properties.extend(texts(*prop, prop.name(), told));
        }
    }
    properties.retain(|key, _| !MEMBERS.contains(&key.as_str()));
    let ts = main.and_then(|main| main.get("TS"));
    let of_ts = |name: &str| ts.and_then(|ts| ts.text_of(name));
    let sequence = main.and_then(|main| main.below(&["TS", "SequenceCall"]));
    let sequence_file = sequence.and_then(|sequence| sequence.text_of("SequenceFile"));
    if let Some(sequence) = sequence {
        for inner in sequence.props(told).into_iter().filter(|one| one.name() != "ResultList") {
            let path = format!("SequenceCall.{}", inner.name());
            properties.extend(texts(inner, &path, told));
        }
    }
    if let Some(text) = main.and_then(text_of) {
        properties.insert("TEResult.text".to_owned(), text);
    }
    let status = main.and_then(|main| main.text_of("Status"));
    let status = status.or(report.attribute("UUTResult")).and_then(sequencer_status);
    if status.is_none() {
        told.note(report.line(), "a report says no result of its unit, which is RUNNING");
    }
    let zero = of_ts("StartTime").and_then(number);
    let mut steps = Steps { told, start: started_at.zip(zero), count: 0 };
    let steps = main.map(|main| steps.below(main, started_at)).unwrap_or_default();
    let program =
        sequence_file.map(|path| file::base_name(path).trim()).filter(|name| !name.is_empty());
    let part_number = options.part_number.clone().or_else(|| text(["UUT", "PartNumber"]));
    let request = CreateResultRequest::new()
        .program_name(program.unwrap_or(PROGRAM))
        .status(status.unwrap_or_else(|| StatusType::Running.into()))
        .total_time_in_seconds(seconds(of_ts("TotalTime")))
        .properties(properties)
        .maybe_serial_number(text(["UUT", "SerialNumber"]))
        .maybe_part_number(part_number)
        .maybe_host_name(text(["StationInfo", "StationID"]))
        .maybe_operator(text(["StationInfo", "LoginName"]))
        .maybe_started_at(started_at);
    Ok(NewResult { request, steps })
}

/// The start of a report: its parts are numbers, or texts of a form that says the order of day and
/// month. `None` is told.
///
/// # Errors
/// `InvalidArgument` for a time that its zone does not have.
fn start(
    date: Prop<'_>,
    time: Option<Prop<'_>>,
    clock: &Clock,
    told: &mut Told,
) -> Result<Option<DateTime<Utc>>> {
    let part = |of: Option<Prop<'_>>, names: &[&str]| {
        let text = names.iter().find_map(|name| of?.text_of(name))?;
        number(text).filter(|part| *part >= 0.0 && *part < 1e4 && part.fract() == 0.0)
    };
    let parts = [
        part(Some(date), &["Year"]),
        part(Some(date), &["Month"]),
        part(Some(date), &["MonthDay", "Day"]),
    ];
    let day = match parts {
        [Some(year), Some(month), Some(day)] => Some(format!("{year:04}-{month:02}-{day:02}")),
        _ => ["ShortText", "Text", "LongText"]
            .iter()
            .find_map(|name| date.text_of(name))
            .map(str::to_owned),
    };
    let parts = [
        part(time, &["Hours", "Hour"]),
        part(time, &["Minutes", "Minute"]),
        part(time, &["Seconds", "Second"]),
    ];
    let of_day = match parts {
        [Some(hours), Some(minutes), Some(seconds)] => {
            let millis = part(time, &["Milliseconds"]).unwrap_or_default();
            Some(format!("{hours:02}:{minutes:02}:{seconds:02}.{millis:03}"))
        }
        _ => time.and_then(|time| time.text_of("Text")).map(str::to_owned),
    };
    let Some(day) = day else {
        told.note(date.line(), "a start without a date is a property");
        return Ok(None);
    };
    let text = format!("{} {}", day.trim(), of_day.as_deref().unwrap_or_default().trim());
    let found = clock.read(text.trim()).map_err(|error| date.element().wrong(error))?;
    match found {
        Some(time) if time.is_assumed => {
            told.note(date.line(), "a time without a zone was taken as UTC; name the zone");
        }
        Some(_) => {}
        None => {
            told.note(date.line(), format!("the start {text:?} is not read, and is a property"));
        }
    }
    Ok(found.map(|time| time.at))
}
