//! Files with test results.

use stationdb::serde_json::{Value, json};
use stationdb_formats::{ResultOptions, ResultsReport};

use super::table;
use crate::args::Import;
use crate::failure::{Failure, Outcome};

/// Whether an option of test results alone is given.
pub fn is_asked(import: &Import) -> bool {
    import.again
        || import.part_number.is_some()
        || !import.map.is_empty()
        || !import.measurement.is_empty()
        || import.program_name.is_some()
}

pub fn options(import: &Import) -> Outcome<ResultOptions> {
    let mut options = ResultOptions::new().again(import.again);
    options.part_number.clone_from(&import.part_number);
    options.workspace.clone_from(&import.workspace);
    let reading = &import.reading;
    options.time_zone.clone_from(&reading.time_zone);
    options.program_name.clone_from(&import.program_name);
    options.measurements = (!import.measurement.is_empty()).then(|| import.measurement.clone());
    options.separator = reading.separator.as_deref().map(one_character).transpose()?;
    options.decimal_comma = reading.decimal.as_deref().map(|mark| mark == ",");
    options.date_order = table::parsed(reading.date_order.as_ref())?;
    options.skip_lines = reading.skip_lines.map_or(0, u64::from);
    options.short_rows = reading.short_rows.then_some(true);
    options.footer_lines = reading.footer_lines.map_or(0, u64::from);
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

fn one_character(text: &str) -> Outcome<char> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Failure::usage(format!("the separator {text:?} is not one character"))),
    }
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
