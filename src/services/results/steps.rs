//! What results need of their steps.

use crate::error::Result;
use crate::model::{Status, TestResult};
use crate::session::Draft;

/// The status of the most severe of the steps of a result; `None` if none of them has a status.
pub(super) fn status_of(_draft: &Draft<'_>, _result: &TestResult) -> Result<Option<Status>> {
    // No store of steps yet: no result has any.
    Ok(None)
}

/// Drafts the deletion of the steps of a deleted result.
pub(super) fn delete_of(_draft: &mut Draft<'_>, _result: &TestResult) -> Result<()> {
    // No store of steps yet: no result has any.
    Ok(())
}
