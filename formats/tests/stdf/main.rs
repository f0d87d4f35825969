//! Imports of STDF files: those of other packages, and each rule.

mod builder;
mod damaged;
mod files;
mod outline;
mod packed;
mod parts;
mod peers;
#[path = "../../../tests/common/python.rs"]
mod python;
mod records;
#[path = "../../../tests/common/sizes.rs"]
mod sizes;
mod steps;
mod tables;

use std::path::PathBuf;

use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, QueryStepsRequest, TestResult};
use stationdb::work_items::{QueryWorkItemsRequest, WorkItem};
use stationdb::{Control, Error, Identity, Session, Store};
use stationdb_formats::stdf::{self, ImportOptions, ImportReport};
use tempfile::TempDir;

use builder::File;

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

    fn import_with(&self, bytes: &[u8], options: &ImportOptions) -> Result<ImportReport, Error> {
        stdf::import(&self.session, &mut &*bytes, options, &Control::default())
    }

    fn import(&self, file: &File) -> Result<ImportReport, Error> {
        self.import_with(&file.bytes, &ImportOptions::new())
    }

    /// The lines of the results of a report. `retestOf` is the place of the earlier result.
    fn results(&self, report: &ImportReport) -> Vec<String> {
        let lines = report.results.iter().map(|id| {
            let result = self.session.get_result(id).unwrap();
            let work_item = result.properties.as_ref().and_then(|all| all.get("workItemId"));
            let work_item = work_item.cloned().flatten();
            assert_eq!(work_item.as_deref(), Some(report.work_item_id.as_str()));
            let mut line = outline::result(&result);
            for (place, id) in report.results.iter().enumerate() {
                line = line.replace(id.as_str(), &format!("#{place}"));
            }
            line
        });
        lines.collect()
    }

    /// The first result.
    fn session_result(&self, report: &ImportReport) -> TestResult {
        self.session.get_result(&report.results[0]).unwrap()
    }

    /// The lines of the steps of a result.
    fn steps(&self, report: &ImportReport, at: usize) -> Vec<String> {
        let query = QueryStepsRequest::new()
            .filter("resultId == @0")
            .substitutions([report.results[at].as_str()]);
        self.session.query_steps(query).unwrap().steps.iter().map(outline::step).collect()
    }

    fn work_item(&self, report: &ImportReport) -> WorkItem {
        self.session.get_work_item(&report.work_item_id).unwrap()
    }

    /// Results and work items that there are.
    fn counts(&self) -> (usize, usize) {
        let results = self.session.query_results(QueryResultsRequest::new()).unwrap().results;
        let items = self.session.query_work_items(QueryWorkItemsRequest::new()).unwrap();
        (results.len(), items.work_items.len())
    }

    /// Tries to import a file, which is refused and changes nothing.
    #[track_caller]
    fn refusal(&self, bytes: &[u8]) -> Error {
        let before = self.counts();
        let error = self.import_with(bytes, &ImportOptions::new()).unwrap_err();
        assert_eq!(self.counts(), before);
        error
    }
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stdf/files")
}
