//! What an import made, as lines of text.

use std::fmt::Write as _;

use stationdb::chrono::{DateTime, Datelike as _, Utc};
use stationdb::prelude::*;
use stationdb::results::{Status, Step, TestResult};
use stationdb_formats::ResultsReport;

use super::Bench;

/// Results with their steps and files, and the warnings. Ids that the store generates are numbers.
pub fn outline(bench: &Bench, report: &ResultsReport) -> String {
    let mut text = String::new();
    for id in &report.results {
        let result = bench.session.get_result(id).unwrap();
        result_lines(&result, &mut text);
        for step in bench.steps_of(id.as_str()) {
            step_lines(&step, &mut text);
        }
        let ids: Vec<String> = report.files.iter().map(ToString::to_string).collect();
        assert_eq!(result.file_ids.unwrap_or_default(), ids);
    }
    for id in &report.files {
        let content = bench.session.open_file(id).unwrap();
        let query = stationdb::files::GetFilesRequest::new().ids([id.to_string()]);
        let file = bench.session.get_files(query).unwrap().available_files.remove(0);
        let _ = writeln!(text, "file {:?} {} bytes", file.properties, content.len());
    }
    let _ = writeln!(text, "{} steps, {} measurements", report.steps, report.measurements);
    for warning in &report.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    text
}

/// Whether a time is one of the file, and not that of the import: all samples are of one year.
fn is_of_file(at: &DateTime<Utc>) -> bool {
    at.year() == 2024
}

fn status_text(status: Option<&Status>) -> String {
    let Some(status) = status else { return "none".to_owned() };
    let name = status.status_name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    format!("{}{name}", status.status_type.as_str())
}

fn result_lines(result: &TestResult, text: &mut String) {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    let started = result.started_at.filter(is_of_file).map(|at| at.to_rfc3339());
    let _ = writeln!(
        text,
        "result {} {} part {} serial {} operator {} host {} at {} for {:?}",
        or_none(&result.program_name),
        status_text(result.status.as_ref()),
        or_none(&result.part_number),
        or_none(&result.serial_number),
        or_none(&result.operator),
        or_none(&result.host_name),
        started.unwrap_or_else(|| "the import".to_owned()),
        result.total_time_in_seconds.unwrap_or(-1.0)
    );
    for (key, value) in result.properties.iter().flatten() {
        if !key.ends_with(".sha256") {
            let _ = writeln!(text, "  {key} = {}", value.as_deref().unwrap_or("null"));
        }
    }
}

fn step_lines(step: &Step, text: &mut String) {
    let ids = step.path_ids.as_ref().map(|ids| ids.join("/")).unwrap_or_default();
    let _ = writeln!(
        text,
        "step {ids} {:?} {} {} {} at {} for {:?}",
        step.name.as_deref().unwrap_or("none"),
        step.step_type.as_deref().unwrap_or("none"),
        step.data_model.as_deref().unwrap_or("none"),
        status_text(step.status.as_ref()),
        step.started_at
            .filter(is_of_file)
            .map_or("the import".to_owned(), |at| at.format("%T%.3f").to_string()),
        step.total_time_in_seconds.unwrap_or(-1.0)
    );
    for (key, value) in step.properties.iter().flatten() {
        let _ = writeln!(text, "  property {key} = {value}");
    }
    for input in step.inputs.iter().flatten() {
        let _ = writeln!(text, "  input {} = {}", input.name, input.value);
    }
    let data = step.data.clone().unwrap_or_default();
    if let Some(what) = data.text {
        let _ = writeln!(text, "  text {what:?}");
    }
    for parameter in data.parameters.iter().flatten() {
        let pairs: Vec<String> =
            parameter.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
        let _ = writeln!(text, "  {}", pairs.join(" "));
    }
    for output in step.outputs.iter().flatten() {
        let _ = writeln!(text, "  output {} = {}", output.name, output.value);
    }
}
