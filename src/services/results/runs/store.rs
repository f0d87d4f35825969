//! What a run drafts: each function is the plan of one commit.

use super::measurement::Measurement;
use crate::error::{Error, Result};
use crate::model::results::{CreateStepRequest, Step};
use crate::model::specifications::{ConditionPoint, Specification};
use crate::model::{
    CreateTableRequest, Product, Resource, Status, StatusType, TableId, TestResult,
};
use crate::services::results::attached::Attached;
use crate::services::results::steps::{self, severity};
use crate::services::service_record::found;
use crate::services::tables;
use crate::session::{Draft, View, What};
use crate::value::key;

/// The property of a result that a run began and that no run has ended.
pub(super) const RUN: &str = "stationdb.run";
/// Its value.
pub(super) const IN_PROGRESS: &str = "in progress";

/// A step that a test program has carried out.
#[derive(Debug)]
pub(super) struct FinishedStep {
    pub(super) request: CreateStepRequest,
    pub(super) parent_id: Option<String>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) conditions: Vec<(String, ConditionPoint)>,
    pub(super) attached: Attached,
}

/// Whether a run began the result, and none has ended it.
pub(super) fn is_in_progress(result: &TestResult) -> bool {
    result.properties.as_ref().is_some_and(|properties| properties.contains_key(RUN))
}

/// Keeps the property of a run in progress: only the end of the run takes it away.
pub(super) fn keep_in_progress(before: &TestResult, after: &mut TestResult) {
    let stored = before.properties.as_ref().and_then(|properties| properties.get(RUN));
    if let Some(value) = stored {
        let properties = after.properties.get_or_insert_default();
        properties.entry(RUN.to_owned()).or_insert_with(|| value.clone());
    }
}

/// The result of a run that nobody has ended.
///
/// # Errors
/// `NotFound`; `Conflict` for one that is no run in progress.
pub(super) fn in_progress(id: &str, result: Option<TestResult>) -> Result<TestResult> {
    let result = found(id, result)?;
    if is_in_progress(&result) {
        return Ok(result);
    }
    Err(Error::conflict(
        "the result is no run in progress: it was finished or marked as terminated meanwhile, or \
         no run began it; begin a new run",
    )
    .with_resource(TestResult::KIND.name, id))
}

/// Stores a step of a run.
pub(super) fn store_step(draft: &mut Draft<'_>, id: &str, step: FinishedStep) -> Result<Step> {
    let FinishedStep { mut request, parent_id, measurements, conditions, attached } = step;
    let result = in_progress(id, draft.get::<TestResult>(id)?)?;
    let conditions: Vec<(&str, ConditionPoint)> =
        conditions.iter().map(|(name, point)| (name.as_str(), point.clone())).collect();
    let mut worst: Option<StatusType> = None;
    for measurement in measurements {
        let specification = match measurement.spec_id() {
            Some(spec_id) => Some(specification(draft, &result, spec_id)?),
            None => None,
        };
        let judged = measurement.judge(specification.as_ref(), &conditions)?;
        let data = request.data.get_or_insert_default();
        data.parameters.get_or_insert_default().push(judged.entry);
        worst = Some(worst.map_or(judged.status, |worst| more_severe(worst, judged.status)));
    }
    request.status.get_or_insert_with(|| worst.unwrap_or(StatusType::Done).into());
    steps::append_one(draft, result, parent_id.as_deref(), request, attached)
}

fn more_severe(one: StatusType, other: StatusType) -> StatusType {
    let rank = |status: StatusType| severity(status.as_str());
    if rank(other) > rank(one) { other } else { one }
}

/// The specification with this `specId` of the product of a result: the one in the workspace of the
/// result, or else another one that the caller may see.
///
/// # Errors
/// `NotFound`.
fn specification(draft: &Draft<'_>, result: &TestResult, spec_id: &str) -> Result<Specification> {
    let part_number = result.part_number.as_deref().unwrap_or_default();
    let unknown = |why: &str| {
        Error::not_found("specification", spec_id).context(format!(
            "judging by the specification {spec_id:?} of the product {part_number:?}{why}"
        ))
    };
    let product = draft.find::<Product>(Product::BY_PART_NUMBER, &key::of_str(part_number))?;
    let product = product.ok_or_else(|| unknown(", which is not there"))?.to_id(Product::KIND.id);
    let mut other = None;
    for key in draft.index_keys::<Specification>(Specification::BY_SPEC, &key::of_str(&product))? {
        let Some(found) = draft.by_key::<Specification>(key)? else { continue };
        if found.spec_id.as_deref() != Some(spec_id) {
            continue;
        }
        if found.workspace() == result.workspace() {
            return Ok(found);
        }
        other = other.or(Some(found));
    }
    if let Some(other) = other {
        return Ok(other);
    }
    // A specification names its product by id, which is easily taken for the part number.
    let misnamed = !draft
        .index_keys::<Specification>(Specification::BY_SPEC, &key::of_str(part_number))?
        .is_empty();
    Err(unknown(if misnamed {
        " (specifications have this part number as their productId, which has to be the id of the \
         product)"
    } else {
        ""
    }))
}

/// Names files and tables in the result of a run.
pub(super) fn attach(draft: &mut Draft<'_>, id: &str, attached: Attached) -> Result<()> {
    let result = in_progress(id, draft.get::<TestResult>(id)?)?;
    let mut after = result.clone();
    attached.add_to(&mut after);
    after.updated_at = after.updated_at.max(Some(draft.now()));
    draft.put_changed(result, &after, What::Updated)
}

/// Creates a table of a run, and names it in the result.
pub(super) fn create_table(
    draft: &mut Draft<'_>,
    id: &str,
    mut request: CreateTableRequest,
) -> Result<TableId> {
    let result = in_progress(id, draft.get::<TestResult>(id)?)?;
    draft.require(Some(&result), &result, What::Updated)?;
    request.test_result_id = Some(id.to_owned());
    request.workspace.get_or_insert_with(|| result.workspace().to_owned());
    let table = tables::create_table(draft, request)?;
    let attached = Attached { data_table_ids: vec![table.to_string()], ..Attached::default() };
    attach(draft, id, attached)?;
    Ok(table)
}

/// Ends a sequence of a run: sequences within it that were not ended are TERMINATED.
pub(super) fn end_sequence(
    draft: &mut Draft<'_>,
    id: &str,
    step_id: &str,
    status: Option<Status>,
    seconds: f64,
) -> Result<Step> {
    let result = in_progress(id, draft.get::<TestResult>(id)?)?;
    steps::end_sequence(draft, &result, step_id, status, seconds)
}

/// Ends a run. Steps that are still RUNNING are TERMINATED. Without a status it is that of the most
/// severe step, and DONE if no step has one.
pub(super) fn end(
    draft: &mut Draft<'_>,
    id: &str,
    status: Option<Status>,
    seconds: f64,
) -> Result<TestResult> {
    let result = in_progress(id, draft.get::<TestResult>(id)?)?;
    draft.require(Some(&result), &result, What::Updated)?;
    let (mut after, terminated) = (result.clone(), result_running(&result));
    let mut of_steps = None;
    let has_names = after.status_type_summary.as_ref().is_some_and(|summary| summary.custom > 0);
    if terminated > 0 || (status.is_none() && has_names) {
        let (summary, worst) = steps::terminate_running(draft, &result)?;
        after.status_type_summary = Some(summary);
        of_steps = worst;
    }
    let summary = after.status_type_summary.clone().unwrap_or_default();
    let worst = StatusType::ALL.iter().rev().find(|status| summary.count(**status) > 0);
    let rolled_up = of_steps.or(worst.map(|worst| Status::from(*worst)));
    after.status = Some(status.or(rolled_up).unwrap_or_else(|| StatusType::Done.into()));
    after.total_time_in_seconds = Some(seconds);
    if let Some(properties) = &mut after.properties {
        properties.remove(RUN);
    }
    after.updated_at = after.updated_at.max(Some(draft.now()));
    draft.put_changed(result, &after, What::Updated)?;
    if terminated > 0 {
        let detail = steps::change_counts(0, terminated, 0);
        draft.log(&after, What::StepsChanged, None, Some(detail));
    }
    Ok(after.answered())
}

fn result_running(result: &TestResult) -> u64 {
    result.status_type_summary.as_ref().map_or(0, |summary| summary.running)
}

/// The results of runs that nobody has ended, in the order of their start.
pub(super) fn unfinished(view: &View<'_>) -> Result<Vec<TestResult>> {
    let query = crate::session::Query {
        filter: Some("status.statusType == \"RUNNING\""),
        ..crate::session::Query::default()
    };
    let mut found = Vec::new();
    view.for_each_match::<TestResult>(&query, |result| {
        if is_in_progress(&result) {
            found.push(result.answered());
        }
    })?;
    found.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    Ok(found)
}
