//! Files with test results.

use stationdb::serde_json::{Value, json};
use stationdb_formats::{ResultOptions, ResultsReport};

use crate::args::Import;
use crate::failure::{Failure, Outcome};

/// Whether an option of test results alone is given.
pub fn is_asked(import: &Import) -> bool {
    import.again || import.part_number.is_some() || !import.map.is_empty()
}

pub fn options(import: &Import) -> Outcome<ResultOptions> {
    let mut options = ResultOptions::new().again(import.again);
    options.part_number.clone_from(&import.part_number);
    options.workspace.clone_from(&import.workspace);
    options.time_zone.clone_from(&import.reading.time_zone);
    for pair in &import.map {
        let Some((member, column)) = pair.split_once('=') else {
            return Err(Failure::usage(format!(
                "{pair:?} is not a member and its column; write it as serialNumber=UUT"
            )));
        };
        options = options.map(member, column);
    }
    Ok(options)
}

pub fn line(file: &str, report: &ResultsReport) -> String {
    let results = match report.results.as_slice() {
        [id] => format!("the result {id}"),
        results => format!("{} results", results.len()),
    };
    format!(
        "imported {file} as {results} with {} steps, {} measurements, {} tables and {} files",
        report.steps,
        report.measurements,
        report.tables.len(),
        report.files.len()
    )
}

pub fn object(file: &str, report: &ResultsReport) -> Value {
    let results: Vec<String> = report.results.iter().map(ToString::to_string).collect();
    json!({
        "file": file,
        "format": report.format.as_str(),
        "results": results,
        "steps": report.steps,
        "measurements": report.measurements,
        "tables": report.tables.len(),
        "files": report.files.len(),
        "warnings": report.warnings,
    })
}
