//! What an import is told, and what it tells.

use stationdb::results::TestResultId;
use stationdb::work_items::WorkItemId;

/// How a file is imported.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ImportOptions {
    /// The part number of the results, instead of `PART_TYP`.
    pub part_number: Option<String>,
    /// The workspace of everything that is created; the session's default when absent.
    pub workspace: Option<String>,
    /// The zone of the times in the file: `UTC` (when absent), an offset such as `+02:00`, or with
    /// the feature `zones` a name such as `Europe/Berlin`. The standard has local times without a
    /// zone.
    pub time_zone: Option<String>,
    /// Whether a file is imported although there is a work item of it.
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

    /// Sets [`time_zone`](Self::time_zone).
    #[must_use]
    pub fn time_zone(mut self, time_zone: impl Into<String>) -> Self {
        self.time_zone = Some(time_zone.into());
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
    /// The work item of the lot.
    pub work_item_id: WorkItemId,
    /// The results, in the order in which their parts were finished.
    pub results: Vec<TestResultId>,
    /// How many steps they have.
    pub steps: usize,
    /// How many measurements the steps have.
    pub measurements: usize,
    /// How many commits it took: one, but for large files.
    pub commits: usize,
    /// What the caller should look at: where the file was cut, and what it counts otherwise than it
    /// was read.
    pub warnings: Vec<String>,
}
