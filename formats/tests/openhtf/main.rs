//! Imports of `OpenHTF` records: those that the package writes, and each rule.

mod mutations;
mod outline;
mod real;
mod rules;

use std::path::PathBuf;

use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest, Step, TestResult};
use stationdb::{Error, Identity, Session, Store};
use stationdb_formats::openhtf::{self, ImportOptions, ImportReport};
use tempfile::TempDir;

/// A store in a directory of its own.
struct Bench {
    session: Session,
    _directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("store")).unwrap();
        Self { session: store.session(Identity::user("ada")), _directory: directory }
    }

    fn import(&self, record: &str) -> Result<ImportReport, Error> {
        openhtf::import(&self.session, record.as_bytes(), &ImportOptions::new())
    }

    /// Imports a record that is right, and returns its result.
    #[track_caller]
    fn result(&self, record: &str) -> TestResult {
        let report = self.import(record).unwrap();
        self.session.get_result(&report.result_id).unwrap()
    }

    /// Imports a record that is right, and returns its steps.
    #[track_caller]
    fn steps(&self, record: &str) -> Vec<Step> {
        let report = self.import(record).unwrap();
        let steps = self.steps_of(&report);
        assert_eq!(steps.len(), report.steps);
        steps
    }

    fn steps_of(&self, report: &ImportReport) -> Vec<Step> {
        let query = QueryStepsRequest::new()
            .filter("resultId == @0")
            .substitutions([report.result_id.as_str()]);
        self.session.query_steps(query).unwrap().steps
    }

    /// Results, tables and files that there are.
    fn counts(&self) -> (usize, usize, usize) {
        let results = self.session.query_results(QueryResultsRequest::new()).unwrap().results;
        let tables = stationdb::tables::QueryTablesRequest::new();
        let tables = self.session.query_tables(tables).unwrap().tables;
        let files = stationdb::files::FileLinqQueryRequest::new();
        let files = self.session.query_files_linq(files).unwrap().available_files;
        (results.len(), tables.len(), files.len())
    }

    /// Tries to import a record, which is refused and changes nothing. Returns the message.
    #[track_caller]
    fn refusal(&self, record: &str) -> String {
        let before = self.counts();
        let error = self.import(record).unwrap_err();
        assert_eq!(self.counts(), before);
        error.message().to_owned()
    }
}

fn records() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/openhtf/records")
}
