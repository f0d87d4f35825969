//! What became of each of several files.

use std::io::{self, Write as _};
use std::path::Path;

use stationdb::serde_json::{Value, json};
use stationdb_formats::Imported;

use super::{results, table};
use crate::failure::{Code, Failure, Outcome};
use crate::output::{Output, OutputFormat, failed, printable};

/// The list of the files, which people see while it grows and programs get at its end.
pub struct Listing {
    output: Output,
    imported: Vec<Value>,
    refused: Vec<Value>,
    files: usize,
    /// The exit code of the first file that was refused.
    code: Option<Code>,
}

/// The failure of a file, with its name.
pub fn of_file(path: &Path, failure: Failure) -> Failure {
    match failure.code {
        Code::Interrupted | Code::BrokenPipe => failure,
        code => {
            let message = table::with_options(&failure.message);
            Failure::new(code, format!("importing {}: {message}", path.display()))
        }
    }
}

impl Listing {
    pub fn new(output: Output) -> Self {
        Self { output, imported: Vec::new(), refused: Vec::new(), files: 0, code: None }
    }

    /// Adds a file. One that is refused does not keep the others out; an interrupt does.
    pub fn add(&mut self, path: &Path, outcome: Outcome<Imported>) -> Outcome {
        let file = path.display().to_string();
        self.files += 1;
        match outcome {
            Ok(Imported::Tables(tables)) => {
                for answer in &tables {
                    table::warn(Some(&file), answer);
                    self.line(&table::line(&file, answer))?;
                    self.imported.push(table::object(Some(&file), answer));
                }
            }
            Ok(Imported::Results(report)) => {
                for warning in &report.warnings {
                    let warning = table::with_options(warning);
                    let told = format!("stationdb: warning: {file}: {warning}");
                    let _ = writeln!(io::stderr(), "{}", printable(&told));
                }
                self.line(&results::line(&file, &report))?;
                self.imported.push(results::object(&file, &report));
            }
            Err(failure) => {
                let failure = of_file(path, failure);
                if matches!(failure.code, Code::Interrupted | Code::BrokenPipe) {
                    return Err(failure);
                }
                let _ = writeln!(io::stderr(), "{failure}");
                self.refused.push(json!({ "file": file, "error": failure.message }));
                self.code = self.code.or(Some(failure.code));
            }
        }
        Ok(())
    }

    fn line(&self, line: &str) -> Outcome {
        if self.output.form == OutputFormat::Table {
            writeln!(io::stdout().lock(), "{}", printable(line)).map_err(failed)?;
        }
        Ok(())
    }

    /// Writes the list for programs. The code of the failure is that of the first refused file.
    pub fn finish(self) -> Outcome {
        let refused = self.refused.len();
        if self.output.form != OutputFormat::Table {
            let object = json!({ "imported": self.imported, "refused": self.refused });
            self.output.report("", &object)?;
        }
        match self.code {
            None if self.files == 0 => Err(Failure::usage("there is no file to import")),
            None => Ok(()),
            Some(code) => Err(Failure::new(
                code,
                format!("{refused} of {} files were not imported", self.files),
            )),
        }
    }
}
