//! Imports of results: reports of `TestStand`, documents of ATML, and CSV.

mod atml;
mod csv;
mod figures;
mod hostile;
mod outline;
mod samples;
mod teststand;

use std::path::PathBuf;

use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest, Step, TestResult};
use stationdb::{Error, Identity, Session, Store};
use stationdb_formats::{ResultOptions, ResultsReport};
use stationdb_formats::{atml as atml_import, results_csv, teststand as teststand_import};
use tempfile::TempDir;

/// A store in a directory of its own.
struct Bench {
    session: Session,
    _directory: TempDir,
}

/// The three imports.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    TestStand,
    Atml,
    Csv,
}

impl Format {
    /// The format of a sample, by its name.
    fn of(name: &str) -> Self {
        match name.split('_').next() {
            Some("teststand") => Self::TestStand,
            Some("atml5" | "atml6") => Self::Atml,
            _ => Self::Csv,
        }
    }
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        Self { session: store.session(Identity::user("ada")), _directory: directory }
    }

    fn import(
        &self,
        format: Format,
        bytes: &[u8],
        options: &ResultOptions,
    ) -> Result<ResultsReport, Error> {
        match format {
            Format::TestStand => teststand_import::import(&self.session, bytes, options),
            Format::Atml => atml_import::import(&self.session, bytes, options),
            Format::Csv => results_csv::import(&self.session, bytes, options),
        }
    }

    /// Imports what is right and has one result; returns it with its steps and the warnings.
    #[track_caller]
    fn one(&self, format: Format, text: &str) -> (TestResult, Vec<Step>, Vec<String>) {
        let report = self.import(format, text.as_bytes(), &ResultOptions::new()).unwrap();
        assert_eq!(report.results.len(), 1);
        let result = self.session.get_result(&report.results[0]).unwrap();
        let steps = self.steps_of(report.results[0].as_str());
        assert_eq!(steps.len(), report.steps);
        (result, steps, report.warnings)
    }

    fn steps_of(&self, result: &str) -> Vec<Step> {
        let query = QueryStepsRequest::new().filter("resultId == @0").substitutions([result]);
        self.session.query_steps(query).unwrap().steps
    }

    /// Results and files that there are.
    fn counts(&self) -> (usize, usize) {
        let results = self.session.query_results(QueryResultsRequest::new()).unwrap().results;
        let files = stationdb::files::FileLinqQueryRequest::new();
        let files = self.session.query_files_linq(files).unwrap().available_files;
        (results.len(), files.len())
    }

    /// Tries to import what is refused and changes nothing.
    #[track_caller]
    fn refusal(&self, format: Format, bytes: &[u8]) -> Error {
        let before = self.counts();
        let error = self.import(format, bytes, &ResultOptions::new()).unwrap_err();
        assert_eq!(self.counts(), before);
        error
    }
}

/// The entry of a parameter, sorted by its keys.
fn entry(step: &Step, at: usize) -> String {
    let parameters = step.data.clone().unwrap_or_default().parameters.unwrap_or_default();
    let pairs = parameters[at].iter().map(|(key, text)| format!("{key}={text}"));
    pairs.collect::<Vec<_>>().join(" ")
}

fn files() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/results/files")
}

/// The samples and their bytes, in the order of their names.
fn samples() -> Vec<(String, Vec<u8>)> {
    let paths = std::fs::read_dir(files()).unwrap().map(|entry| entry.unwrap().path());
    let mut samples: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending != "txt"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        })
        .collect();
    samples.sort();
    assert!(samples.len() >= 15, "{}", samples.len());
    samples
}
