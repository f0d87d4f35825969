//! What an import tells.

use stationdb::files::FileId;
use stationdb::results::TestResultId;
use stationdb::tables::TableId;

/// What an import created.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The result.
    pub result_id: TestResultId,
    /// How many steps it has, on all levels.
    pub steps: usize,
    /// How many measurements the steps have.
    pub measurements: usize,
    /// The tables of measurements with dimensions.
    pub tables: Vec<TableId>,
    /// The files: the attachments, and last the record.
    pub files: Vec<FileId>,
}
