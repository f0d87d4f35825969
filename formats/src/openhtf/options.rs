//! What an import is told, and what it tells.

use stationdb::files::FileId;
use stationdb::results::TestResultId;
use stationdb::tables::TableId;

/// How a record is imported.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The part number of the result, instead of that of the record.
    pub part_number: Option<String>,
    /// The workspace of everything that is created; the session's default when absent.
    pub workspace: Option<String>,
    /// Whether a record is imported although a result came from it.
    pub again: bool,
}

impl ImportOptions {
    /// The options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`part_number`](Self::part_number).
    #[must_use]
    pub fn part_number(mut self, part_number: impl Into<String>) -> Self {
        self.part_number = Some(part_number.into());
        self
    }

    /// Sets [`workspace`](Self::workspace).
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Sets [`again`](Self::again).
    #[must_use]
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }
}

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
