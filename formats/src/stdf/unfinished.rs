//! Imports of large files that ended before their last commit, such as by a power cut.

use stationdb::prelude::*;
use stationdb::results::{QueryResultsRequest, ResultProjection, TestResultId};
use stationdb::work_items::{QueryWorkItemsRequest, WorkItemField, WorkItemId};
use stationdb::{Result, Session};

/// The property of a work item whose import goes on.
pub(super) const PROPERTY: &str = "stdf.unfinished";
/// The property of a result that names the work item of its lot.
pub(super) const WORK_ITEM: &str = "workItemId";
/// Results that one commit deletes.
const DELETED: usize = 100;

/// Deletes what imports left that ended before their last commit, and returns how many these were.
///
/// An import of a file that needs one commit leaves nothing. One of a larger file deletes what it
/// committed when it is refused. Only when the process ends meanwhile, that is left to do here.
/// Imports in progress are among them, so a station calls it before it begins any.
///
/// # Errors
/// Those of queries and deletions of results and work items.
///
/// ```
/// # use stationdb::{Identity, Store};
/// # use stationdb_formats::stdf;
/// # let directory = tempfile::tempdir()?;
/// # let store = Store::open(directory.path().join("store"))?;
/// # let session = store.session(Identity::user("ada"));
/// assert_eq!(stdf::remove_unfinished(&session)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove_unfinished(session: &Session) -> Result<usize> {
    let mut count = 0;
    loop {
        let query = QueryWorkItemsRequest::new()
            .filter(format!("properties[\"{PROPERTY}\"] == \"true\""))
            .projection([WorkItemField::Id])
            .take(1);
        let found = session.query_work_items(query)?.work_items.into_iter().next();
        let Some(id) = found.and_then(|found| found.id) else { return Ok(count) };
        loop {
            let query = QueryResultsRequest::new()
                .filter(format!("properties[\"{WORK_ITEM}\"] == @0"))
                .substitutions([id.as_str()])
                .projection([ResultProjection::Id])
                .take(10_000);
            let results = session.query_results(query)?.results;
            if results.is_empty() {
                break;
            }
            delete_results(session, results.into_iter().filter_map(|result| result.id).collect())?;
        }
        delete(session, &id, Vec::new())?;
        count += 1;
    }
}

/// Deletes results with their steps, and then their work item.
pub(super) fn delete(
    session: &Session,
    work_item: &WorkItemId,
    results: Vec<TestResultId>,
) -> Result<()> {
    delete_results(session, results)?;
    let answer = session.delete_work_items(vec![work_item.clone()])?;
    answer.require_all()
}

fn delete_results(session: &Session, mut results: Vec<TestResultId>) -> Result<()> {
    while !results.is_empty() {
        let rest = results.split_off(results.len().min(DELETED));
        session.delete_results(results, true)?.require_all()?;
        results = rest;
    }
    Ok(())
}
