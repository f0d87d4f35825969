//! `import --openhtf`.

use std::io::{self, Write as _};

use stationdb::serde_json::json;
use stationdb_formats::openhtf::{ImportOptions, ImportReport, import_file};

use crate::args::Import;
use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::output::{Output, OutputFormat, failed, printable};

/// Imports each record in a commit of its own. One that is refused does not keep the others out.
pub fn import(desk: &Desk, output: Output, import: &Import) -> Outcome {
    let session = desk.session();
    let mut options = ImportOptions::new().again(import.again);
    options.part_number.clone_from(&import.part_number);
    options.workspace.clone_from(&import.workspace);
    let (mut imported, mut failures) = (Vec::new(), Vec::new());
    for path in &import.files {
        let file = path.display().to_string();
        match import_file(&session, path, &options) {
            Ok(report) => {
                if output.form == OutputFormat::Table {
                    writeln!(io::stdout().lock(), "{}", printable(&line(&file, &report)))
                        .map_err(failed)?;
                }
                imported.push(json!({
                    "file": file,
                    "result": report.result_id.to_string(),
                    "steps": report.steps,
                    "measurements": report.measurements,
                    "tables": report.tables.len(),
                    "files": report.files.len(),
                }));
            }
            Err(error) => {
                let failure = Failure::of(&error);
                if failure.code == Code::Interrupted || import.files.len() == 1 {
                    return Err(failure);
                }
                let _ = writeln!(io::stderr(), "stationdb: {failure}");
                failures.push((file, failure));
            }
        }
    }
    if output.form != OutputFormat::Table {
        let refused = failures.iter();
        let refused = refused.map(|(file, why)| json!({ "file": file, "error": why.message }));
        let refused: Vec<_> = refused.collect();
        output.report("", &json!({ "imported": imported, "failed": refused }))?;
    }
    match failures.first() {
        None => Ok(()),
        Some((_, first)) => Err(Failure::new(
            first.code,
            format!("{} of {} records were not imported", failures.len(), import.files.len()),
        )),
    }
}

fn line(file: &str, report: &ImportReport) -> String {
    format!(
        "imported {file} as the result {} with {} steps, {} measurements, {} tables and {} files",
        report.result_id,
        report.steps,
        report.measurements,
        report.tables.len(),
        report.files.len()
    )
}
