//! What an import of test results tells.

use stationdb::files::FileId;
use stationdb::results::TestResultId;
use stationdb::tables::TableId;

use crate::result_format::ResultFormat;

/// What an import of test results created.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResultsReport {
    /// The format of the file.
    pub format: ResultFormat,
    /// The results, in the order of the file.
    pub results: Vec<TestResultId>,
    /// How many steps they have, on all levels.
    pub steps: usize,
    /// How many measurements the steps have.
    pub measurements: usize,
    /// The tables that belong to the results.
    pub tables: Vec<TableId>,
    /// The files that belong to the results.
    pub files: Vec<FileId>,
    /// What the caller should look at, because it may not be what the file means, with the place
    /// that says so.
    pub warnings: Vec<String>,
}

impl ResultsReport {
    /// The report of an import that created nothing yet.
    pub(crate) fn new(format: ResultFormat) -> Self {
        Self {
            format,
            results: Vec::new(),
            steps: 0,
            measurements: 0,
            tables: Vec::new(),
            files: Vec::new(),
            warnings: Vec::new(),
        }
    }
}
