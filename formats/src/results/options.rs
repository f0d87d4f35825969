//! What an import of results is told, and what it tells.

use stationdb::files::FileId;
use stationdb::results::TestResultId;
use stationdb::tables::TableId;

/// How a file of results is imported.
///
/// ```
/// use stationdb_formats::results::ImportOptions;
///
/// let options = ImportOptions::new().part_number("PN-7").time_zone("+02:00").again(true);
/// assert_eq!(options.part_number.as_deref(), Some("PN-7"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The part number of the results, instead of that of the file.
    pub part_number: Option<String>,
    /// The workspace of everything that is created; the session's default when absent.
    pub workspace: Option<String>,
    /// Whether a file is imported although results came from it.
    pub again: bool,
    /// The zone of times without one, such as `+02:00` or `Europe/Berlin`; UTC when absent.
    /// `REFUSE` refuses them. Names need the feature `zones`.
    pub time_zone: Option<String>,
    /// The name of the file that is attached. When absent it is made of the serial number and the
    /// start of the first result, or is that of the imported file.
    pub file_name: Option<String>,
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

    /// Sets [`time_zone`](Self::time_zone).
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<String>) -> Self {
        self.time_zone = Some(time_zone.into());
        self
    }

    /// Sets [`file_name`](Self::file_name).
    #[must_use]
    pub fn file_name(mut self, file_name: impl Into<String>) -> Self {
        self.file_name = Some(file_name.into());
        self
    }
}

/// What an import of a file created.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportReport {
    /// The results, in the order of the file.
    pub result_ids: Vec<TestResultId>,
    /// How many steps they have, on all levels.
    pub steps: usize,
    /// How many measurements the steps have.
    pub measurements: usize,
    /// The tables of measurements with many values.
    pub tables: Vec<TableId>,
    /// The files: what the results attached, and last the imported file.
    pub files: Vec<FileId>,
    /// What was left out or doubtful, each with the number of times and the first line.
    pub warnings: Vec<String>,
}
