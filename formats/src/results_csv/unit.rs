//! The result of a unit, from its first row, and the reading of cells.

use std::collections::BTreeMap;

use stationdb::chrono::{DateTime, Utc};
use stationdb::results::{CreateResultRequest, CreateStepRequest, Status};
use stationdb::{Control, Error, Place, Result};

use super::ImportOptions;
use super::columns::{Columns, Member};
use super::judge::{judge, of_parts, status};
use super::marks::{Mark, Marks, looks_like_number};
use crate::csv::Texts;
use crate::results::parameter::{Entry, number};
use crate::results::step::{NewResult, NewStep, Parameter};
use crate::results::{Clock, LimitTexts, Told, limit_entries};

const DATA_MODEL: &str = "CSV";
/// The name of a test without one.
const PROGRAM: &str = "CSV";

/// A text and how it is read.
pub(super) struct Reading<'r> {
    pub(super) texts: &'r Texts,
    pub(super) columns: &'r Columns,
    pub(super) options: &'r ImportOptions,
    pub(super) control: &'r Control,
    pub(super) clock: Clock,
    pub(super) marks: Marks,
}

/// A measurement as the cells of a text have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells<'t> {
    pub(super) value: Option<&'t str>,
    pub(super) units: Option<&'t str>,
    pub(super) low: Option<&'t str>,
    pub(super) high: Option<&'t str>,
    pub(super) nominal: Option<&'t str>,
    pub(super) comparison: Option<&'t str>,
    pub(super) status: Option<&'t str>,
    /// The decimal mark of the value and its limits.
    pub(super) mark: Mark,
}

/// Texts that are no value.
const NO_VALUES: [&str; 6] = ["na", "n/a", "-", "--", "null", "none"];

pub(super) fn is_no_value(text: &str) -> bool {
    NO_VALUES.iter().any(|none| text.eq_ignore_ascii_case(none))
}

/// The name of a comparison, for which there may be a sign.
fn comparison(text: &str) -> String {
    match text.trim() {
        ">=" | "=>" | "\u{2265}" => "GE".to_owned(),
        ">" => "GT".to_owned(),
        "<=" | "=<" | "\u{2264}" => "LE".to_owned(),
        "<" => "LT".to_owned(),
        "=" | "==" => "EQ".to_owned(),
        "!=" | "<>" | "\u{2260}" => "NE".to_owned(),
        other => other.to_ascii_uppercase(),
    }
}

/// Rows between two looks at whether the import is to stop.
const CHECK_ROWS: usize = 1024;

impl<'r> Reading<'r> {
    /// Refuses to go on with a row if the import is to stop.
    ///
    /// # Errors
    /// Those of the control.
    pub(super) fn check(&self, row: usize) -> Result<()> {
        if row.is_multiple_of(CHECK_ROWS) { self.control.check() } else { Ok(()) }
    }

    /// The text of a member in a row.
    pub(super) fn get(&self, row: usize, member: Member) -> Option<&'r str> {
        self.texts.get(row, self.columns.get(member)?)
    }

    /// The text of the start in a row, with the time of day if it has a column of its own.
    pub(super) fn start_text(&self, row: usize) -> Option<String> {
        let start = self.get(row, Member::StartedAt)?;
        Some(match self.get(row, Member::TimeOfDay) {
            Some(time) => format!("{start} {time}"),
            None => start.to_owned(),
        })
    }

    /// The result of a unit whose first row this is, without steps.
    ///
    /// # Errors
    /// `InvalidArgument` with line and column for a start that is no time.
    pub(super) fn result(
        &self,
        row: usize,
        mut properties: BTreeMap<String, String>,
        told: &mut Told,
    ) -> Result<NewResult> {
        let line = self.texts.line(row);
        let started_at = match self.start_text(row) {
            None => None,
            Some(text) => {
                let wrong = |error: Error| {
                    let column = self.columns.get(Member::StartedAt);
                    let column = column.and_then(|at| self.texts.names().get(at)).cloned();
                    error.at(Place::Line { line, column })
                };
                let found = self.clock.read(&text).map_err(wrong)?.ok_or_else(|| {
                    wrong(Error::invalid(format!(
                        "{text:?} is no time of a form that is read; if it is day/month or \
                         month/day, set dateOrder; if it is no start, map startedAt to no column"
                    )))
                })?;
                if found.is_assumed {
                    told.note(line, "a time without a zone was taken as UTC; name the zone");
                }
                Some(found.at)
            }
        };
        let of_total = self.marks.of(self.columns.get(Member::TotalTime));
        let total = self.get(row, Member::TotalTime).and_then(|text| {
            let seconds = of_total.number(text).filter(|one| one.is_finite() && *one >= 0.0);
            if seconds.is_none() {
                told.note(line, "a total time is no number of seconds, and is a property");
                properties.insert("totalTime".to_owned(), text.to_owned());
            }
            seconds
        });
        if let Some(run) = self.get(row, Member::Run) {
            properties.insert("run".to_owned(), run.to_owned());
        }
        let text = |member| self.get(row, member).map(str::to_owned);
        let program = text(Member::ProgramName).or_else(|| self.options.program_name.clone());
        let request = CreateResultRequest::new()
            .program_name(program.unwrap_or_else(|| PROGRAM.to_owned()))
            .total_time_in_seconds(total.unwrap_or_default())
            .properties(properties)
            .maybe_status(self.get(row, Member::Status).and_then(status))
            .maybe_serial_number(text(Member::SerialNumber))
            .maybe_part_number(
                self.options.part_number.clone().or_else(|| text(Member::PartNumber)),
            )
            .maybe_operator(text(Member::Operator))
            .maybe_host_name(text(Member::HostName))
            .maybe_system_id(text(Member::SystemId))
            .maybe_started_at(started_at);
        Ok(NewResult { request, steps: Vec::new() })
    }

    /// The parameter of a measurement, and its status.
    pub(super) fn parameter(
        &self,
        name: &str,
        cells: &Cells<'_>,
        line: u64,
        told: &mut Told,
    ) -> (Entry, Option<Status>) {
        let mut entry = Entry::new(name);
        let value = cells.value.filter(|text| !is_no_value(text));
        if let Some(value) = value {
            if cells.mark != Mark::Unknown
                && cells.mark.number(value).is_none()
                && looks_like_number(value)
            {
                told.note(
                    line,
                    "a value has another decimal mark than others of its column, or marks between \
                     thousands, and is kept as a text",
                );
            }
            entry.set("measurement", cells.mark.canonical(value));
        }
        entry.put("units", cells.units.unwrap_or_default());
        let text = |text: Option<&str>| {
            text.filter(|text| !is_no_value(text)).map(|text| cells.mark.canonical(text))
        };
        let (low, high, nominal) = (text(cells.low), text(cells.high), text(cells.nominal));
        let comparison = comparison(cells.comparison.unwrap_or_default());
        let texts = LimitTexts {
            low: low.as_deref(),
            high: high.as_deref(),
            nominal: nominal.as_deref(),
            threshold_type: None,
        };
        let limits = limit_entries(&comparison, texts);
        let limit = |key: &str| {
            let text = limits.iter().find(|(known, _)| *known == key).map(|(_, text)| text);
            text.and_then(|text| number(text))
        };
        let is_read = |text: &&str| is_no_value(text) || cells.mark.number(text).is_some();
        let verdict = || {
            let value = cells.mark.number(value?)?;
            if ![cells.low, cells.high].iter().flatten().all(is_read) {
                return None;
            }
            judge(value, &comparison, limit("lowLimit"), limit("highLimit"))
        };
        let has_limits = low.is_some() || high.is_some();
        let found = match cells.status {
            Some(text) => status(text).map(|status| (status, Some(text))),
            None => match verdict() {
                Some(is_good) => {
                    told.note(line, "a measurement without a status was judged by its limits");
                    let text = if is_good { "Passed" } else { "Failed" };
                    Some((status(text).unwrap_or_default(), Some(text)))
                }
                None if value.is_some() && has_limits && comparison != "LOG" => {
                    told.note(
                        line,
                        "a measurement with limits and without a status was not judged, as its \
                         value, its limits or its comparison are not known",
                    );
                    None
                }
                None => None,
            },
        };
        entry.extend(limits);
        let Some((status, text)) = found else { return (entry, None) };
        let text = match status.status_type.as_str() {
            "PASSED" => "Passed",
            "FAILED" => "Failed",
            _ => text.unwrap_or_default(),
        };
        entry.put("status", text);
        (entry, Some(status))
    }
}

/// A step of a result with this number, with one measurement.
pub(super) fn step(
    number: usize,
    name: &str,
    step_type: Option<&str>,
    entry: Entry,
    status: Option<Status>,
) -> NewStep {
    let request = CreateStepRequest::new()
        .step_id(format!("step-{number}"))
        .name(name)
        .data_model(DATA_MODEL)
        .maybe_step_type(step_type.map(str::to_owned))
        .status(status.unwrap_or_else(|| of_parts(std::iter::empty())));
    let parameters = vec![Parameter::from(entry.finish())];
    NewStep { request, parameters, ..NewStep::default() }
}

/// Gives a result, and the steps around others, the status of their parts where the text has none,
/// and the steps the start of their result.
pub(super) fn roll_up(result: &mut NewResult) {
    fn of(step: &mut NewStep, start: Option<DateTime<Utc>>) {
        step.request.started_at = start;
        step.children.iter_mut().for_each(|child| of(child, start));
        if step.request.status.is_none() {
            let parts = step.children.iter().map(|child| child.request.status.as_ref());
            step.request.status = Some(of_parts(parts));
        }
    }
    let start = result.request.started_at;
    result.steps.iter_mut().for_each(|step| of(step, start));
    if result.request.status.is_none() {
        let parts = result.steps.iter().map(|step| step.request.status.as_ref());
        result.request.status = Some(of_parts(parts));
    }
}
