//! What an import made, as lines of text.

use std::fmt::Write as _;

use stationdb::prelude::*;
use stationdb::results::{Step, TestResult};
use stationdb::tables::{GetTableDataRequest, TableId};
use stationdb_formats::openhtf::ImportReport;

use super::Bench;

/// A result with its steps, tables and files. Ids that the store generates are numbers.
pub fn outline(bench: &Bench, report: &ImportReport) -> String {
    let mut text = String::new();
    let result = bench.session.get_result(&report.result_id).unwrap();
    result_lines(&result, &mut text);
    for step in bench.steps_of(report) {
        step_lines(&step, &mut text);
    }
    let ids: Vec<TableId> =
        result.data_table_ids.unwrap_or_default().iter().map(TableId::from).collect();
    assert_eq!(ids, report.tables);
    for (number, id) in report.tables.iter().enumerate() {
        table_lines(bench, number, id, &mut text);
        text = text.replace(id.as_str(), &format!("(table {number})"));
    }
    let ids: Vec<String> = report.files.iter().map(ToString::to_string).collect();
    assert_eq!(result.file_ids.unwrap_or_default(), ids);
    for (number, id) in report.files.iter().enumerate() {
        let content = bench.session.open_file(id).unwrap();
        let query = stationdb::files::GetFilesRequest::new().ids([id.to_string()]);
        let file = bench.session.get_files(query).unwrap().available_files.remove(0);
        let properties = file.properties;
        let _ = writeln!(text, "file {number} {properties:?} {} bytes", content.len());
        text = text.replace(&id.to_string(), &format!("(file {number})"));
    }
    text
}

fn result_lines(result: &TestResult, text: &mut String) {
    let status = result.status.as_ref().map(|status| status.status_type.as_str());
    let started = result.started_at.map(|at| at.timestamp_millis());
    let _ = writeln!(
        text,
        "result {:?} {status:?} part {:?} serial {:?} operator {:?} host {:?} at {started:?} for {:?}",
        result.program_name,
        result.part_number,
        result.serial_number,
        result.operator,
        result.host_name,
        result.total_time_in_seconds
    );
    for (key, value) in result.properties.iter().flatten() {
        let _ = writeln!(text, "  {key} = {}", value.as_deref().unwrap_or("null"));
    }
}

fn step_lines(step: &Step, text: &mut String) {
    let ids = step.path_ids.as_ref().map(|ids| ids.join("/")).unwrap_or_default();
    let status = step.status.as_ref().map_or("none", |status| status.status_type.as_str());
    let _ = writeln!(
        text,
        "step {ids} {} {} {status} {} at {:?} for {:?}",
        step.name.as_deref().unwrap_or("none"),
        step.step_type.as_deref().unwrap_or("none"),
        step.data_model.as_deref().unwrap_or("none"),
        step.started_at.map(|at| at.timestamp_millis()),
        step.total_time_in_seconds
    );
    for (key, value) in step.properties.iter().flatten() {
        let _ = writeln!(text, "  property {key} = {value}");
    }
    let data = step.data.clone().unwrap_or_default();
    if let Some(what) = data.text {
        let _ = writeln!(text, "  text {what}");
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

fn table_lines(bench: &Bench, number: usize, id: &TableId, text: &mut String) {
    let metadata = bench.session.get_table_metadata(id).unwrap();
    assert!(metadata.test_result_id.is_some());
    let _ = writeln!(text, "table {number} {:?}", metadata.name);
    for column in metadata.columns.iter().flatten() {
        let (data_type, role) = (column.data_type.as_str(), column.column_type.as_str());
        let _ = writeln!(text, "  {} {data_type} {role} {:?}", column.name, column.properties);
    }
    let rows = bench.session.get_table_data(id, GetTableDataRequest::new()).unwrap();
    for row in rows.frame.to_data_frame().data {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("null")).collect();
        let _ = writeln!(text, "  {}", cells.join(", "));
    }
}
