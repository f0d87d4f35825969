//! What an import tells.

use stationdb::results::TestResultId;
use stationdb::work_items::WorkItemId;

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
