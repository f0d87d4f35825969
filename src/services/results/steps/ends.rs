//! Steps that end after the steps within them.

use super::convert::answered;
use super::edits::{change_counts, most_severe, summary, unknown_step};
use super::set::StepSet;
use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::model::results::Step;
use crate::model::steps::stored::{StoredStep, millis};
use crate::model::{Status, StatusType, StatusTypeSummary, TestResult};
use crate::session::{Draft, What};

fn load(draft: &Draft<'_>, result: &TestResult) -> Result<StepSet> {
    let key = result
        .key()
        .ok_or_else(|| Error::corrupt("internal error: a stored result has no key; report it"))?;
    StepSet::load(draft.view(), key, result.steps_created)
}

/// Gives TERMINATED to the RUNNING steps that `is_asked` names. Returns how many these were.
fn terminate(
    set: &mut StepSet,
    now_ms: i64,
    is_asked: impl Fn(&StoredStep) -> bool,
) -> Result<u64> {
    let mut count = 0;
    let running: Vec<usize> = set.in_step_order();
    for at in running {
        let is_running = set.get(at).is_some_and(|step| {
            step.status_type.as_deref() == Some(StatusType::Running.as_str()) && is_asked(step)
        });
        if is_running {
            count += 1;
            set.update(at, None, |step| {
                step.status_type = Some(StatusType::Terminated.as_str().to_owned());
                step.status_name = None;
                step.updated_at_ms = step.updated_at_ms.max(now_ms);
            })?;
        }
    }
    Ok(count)
}

/// Gives TERMINATED to the RUNNING steps of a result, without its record. Returns the new summary,
/// and the status of the most severe step.
pub(in crate::services::results) fn terminate_running(
    draft: &mut Draft<'_>,
    result: &TestResult,
) -> Result<(StatusTypeSummary, Option<Status>)> {
    let mut set = load(draft, result)?;
    terminate(&mut set, millis(draft.now()), |_| true)?;
    let answer = (summary(&set.status_counts()), most_severe(&set));
    set.save(draft)?;
    Ok(answer)
}

/// Ends a step: without a status it gets that of the most severe step below it, and DONE if none
/// has one. RUNNING steps below it become TERMINATED.
///
/// # Errors
/// `NotFound`; `PermissionDenied`.
pub(in crate::services::results) fn end_sequence(
    draft: &mut Draft<'_>,
    result: &TestResult,
    step_id: &str,
    status: Option<Status>,
    seconds: f64,
) -> Result<Step> {
    let now = draft.now();
    let mut set = load(draft, result)?;
    let unknown = || unknown_step(result.id(), step_id);
    let at = set.find(step_id).ok_or_else(unknown)?;
    let is_below = |step: &StoredStep| step.ancestor_ids.iter().any(|id| id == step_id);
    let terminated = terminate(&mut set, millis(now), is_below)?;
    let (status_type, status_name) = match status {
        Some(status) => (status.status_type.as_str().to_owned(), status.status_name),
        None => set
            .most_severe_below(step_id)
            .unwrap_or_else(|| (StatusType::Done.as_str().to_owned(), None)),
    };
    set.update(at, None, |step| {
        step.status_type = Some(status_type);
        step.status_name = status_name;
        step.total_time = seconds;
        step.updated_at_ms = step.updated_at_ms.max(millis(now));
    })?;
    let step = set.get(at).cloned().ok_or_else(unknown)?;
    let answer = answered(set.result(), result.workspace(), step)?;
    let mut after = result.clone();
    after.status_type_summary = Some(summary(&set.status_counts()));
    after.updated_at = after.updated_at.max(Some(now));
    let detail = change_counts(0, 1 + terminated, 0);
    draft.put_changed_with(result.clone(), &after, What::StepsChanged, Some(detail))?;
    set.save(draft)?;
    Ok(answer)
}
