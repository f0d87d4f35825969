//! The steps that one call changes, result by result.
//!
//! What must hold: an item of a batch that is refused leaves the steps as they were; what the items
//! before it changed is seen by it; and everything is drafted together at the end, with one event
//! for each result.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Value, json};

use super::convert::{self, Replace, StepChange};
use super::set::{STATUS_TYPES, StepSet};
use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::model::results::{CreateStepRequest, Step, UpdateStepRequest};
use crate::model::steps::remains::RemainingSteps;
use crate::model::steps::stored::generated_seq;
use crate::model::{Status, StatusType, StatusTypeSummary, TestResult};
use crate::services::service_record::absent;
use crate::session::{Draft, What};
use crate::value::{Action, RecordKey};

/// How many steps an event tells of.
pub(in crate::services::results) fn change_counts(
    created: u64,
    updated: u64,
    deleted: u64,
) -> Value {
    json!({ "created": created, "updated": updated, "deleted": deleted })
}

/// What the steps belong to.
#[derive(Debug)]
enum Owner {
    Result(Box<TestResult>),
    /// The result was deleted.
    Remains(RemainingSteps),
}

impl Owner {
    fn workspace(&self) -> &str {
        match self {
            Self::Result(result) => result.workspace(),
            Self::Remains(remains) => remains.workspace(),
        }
    }

    fn steps_created(&self) -> u64 {
        match self {
            Self::Result(result) => result.steps_created,
            Self::Remains(remains) => remains.steps_created,
        }
    }
}

/// The changes of the steps of one result.
#[derive(Debug)]
struct Edit {
    owner: Owner,
    set: StepSet,
    created: u64,
    updated: u64,
    deleted: u64,
}

impl Edit {
    fn is_empty(&self) -> bool {
        self.created + self.updated + self.deleted == 0
    }
}

/// The steps that one call changes.
#[derive(Debug, Default)]
pub(super) struct StepEdits {
    edits: BTreeMap<RecordKey, Edit>,
}

/// A step by its result and its position there.
pub(super) type StepPlace = (RecordKey, usize);

/// The error about a pair of ids of no step that the caller may see.
pub(super) fn unknown_step(result_id: &str, step_id: &str) -> Error {
    Error::not_found("TestStep", step_id)
        .with_name("TestMonitor.InvalidResultOrStepId", None)
        .with_args([result_id, step_id])
}

/// Generated ids have numbers below this one.
const SEQ_MAX: u64 = 1 << 40;

/// Refuses an id that the store will generate for a later step: it would name another one then.
fn check_unused(id: Option<&str>, result: RecordKey, next_seq: u64, member: &str) -> Result<()> {
    let seq = id.and_then(|id| generated_seq(result, id));
    if seq.is_some_and(|seq| (next_seq..SEQ_MAX).contains(&seq)) {
        return Err(Error::invalid(
            "the id is one that the store generates for a later step of the result; choose another",
        )
        .at_member(member));
    }
    Ok(())
}

fn check_unused_ids(request: &CreateStepRequest, result: RecordKey, next_seq: u64) -> Result<()> {
    check_unused(request.step_id.as_deref(), result, next_seq, "stepId")?;
    check_unused(request.parent_id.as_deref(), result, next_seq, "parentId")?;
    request
        .children
        .iter()
        .flatten()
        .try_for_each(|child| check_unused_ids(child, result, next_seq))
}

/// The key of a result from its id.
pub(super) fn key_of(result_id: &str) -> Option<RecordKey> {
    RecordKey::parse(TestResult::KIND.id, result_id)
}

impl StepEdits {
    /// The steps of a result, or what is left of one, if the caller may see it and change it. Of a
    /// result none is read yet.
    fn open(&mut self, draft: &Draft<'_>, result_id: &str) -> Result<Option<&mut Edit>> {
        let Some(key) = key_of(result_id) else { return Ok(None) };
        if let Entry::Vacant(vacant) = self.edits.entry(key) {
            let owner = match draft.get::<TestResult>(result_id)? {
                Some(result) => Owner::Result(Box::new(result)),
                None => match draft.get::<RemainingSteps>(result_id)? {
                    Some(remains) => Owner::Remains(remains),
                    None => return Ok(None),
                },
            };
            let service = TestResult::KIND.service;
            draft.context().require(service, Action::Update, owner.workspace())?;
            let next_seq = owner.steps_created();
            let set = match &owner {
                // A result that never had a step has none to read.
                Owner::Result(_) if next_seq == 0 => StepSet::empty(key, 0),
                Owner::Result(result) => {
                    let counts = result.status_type_summary.clone().unwrap_or_default();
                    StepSet::unread(key, next_seq, counts_of(&counts))
                }
                // It goes with its last step, and nothing counts them.
                Owner::Remains(_) => StepSet::load(draft.view(), key, next_seq)?,
            };
            vacant.insert(Edit { owner, set, created: 0, updated: 0, deleted: 0 });
        }
        Ok(self.edits.get_mut(&key))
    }

    /// Creates a step with its children.
    ///
    /// # Errors
    /// `NotFound` for an unknown result; `InvalidArgument`, `Conflict`, `LimitExceeded` and
    /// `PermissionDenied` for the request.
    pub(super) fn create(
        &mut self,
        draft: &Draft<'_>,
        request: CreateStepRequest,
    ) -> Result<Vec<StepPlace>> {
        let result_id = request.result_id.clone().ok_or_else(|| {
            Error::invalid("a step needs the id of its result").at_member("resultId")
        })?;
        let edit = self
            .open(draft, &result_id)?
            .filter(|edit| matches!(edit.owner, Owner::Result(_)))
            .ok_or_else(|| absent::<TestResult>(&result_id))?;
        check_unused_ids(&request, edit.set.result(), edit.set.next_seq())?;
        let step = convert::new_step(request, &result_id, draft.now())?;
        edit.set.fetch_for_creation(draft.view(), &step)?;
        let made = edit.set.create(step)?;
        edit.created += made.len() as u64;
        let key = edit.set.result();
        Ok(made.into_iter().map(|at| (key, at)).collect())
    }

    /// Changes a step, without its children.
    ///
    /// # Errors
    /// `NotFound` for an unknown pair of ids; `InvalidArgument`, `LimitExceeded` and
    /// `PermissionDenied` for the request.
    pub(super) fn update(
        &mut self,
        draft: &Draft<'_>,
        request: UpdateStepRequest,
        replace: Replace,
    ) -> Result<StepPlace> {
        let required = |id: &Option<String>, member: &str| {
            id.clone().filter(|id| !id.is_empty()).ok_or_else(|| {
                Error::invalid(format!("the change of a step needs its {member}")).at_member(member)
            })
        };
        let step_id = required(&request.step_id, "stepId")?;
        let result_id = required(&request.result_id, "resultId")?;
        let unknown = || unknown_step(&result_id, &step_id);
        let edit = self.open(draft, &result_id)?.ok_or_else(unknown)?;
        edit.set.fetch(draft.view(), &step_id)?;
        let at = edit.set.find(&step_id).ok_or_else(unknown)?;
        let change = StepChange::new(request)?;
        let mut after = edit.set.get(at).cloned().ok_or_else(unknown)?;
        let parent_id = change.parent_id();
        edit.set.fetch_for_update(draft.view(), &step_id, parent_id.as_deref())?;
        check_unused(parent_id.as_deref(), edit.set.result(), edit.set.next_seq(), "parentId")?;
        change.apply(&mut after, replace, draft.now());
        convert::check_size(&after)?;
        edit.set.update(at, parent_id, |step| {
            // Members that follow from the parents stay those of the set.
            after.parent_id = step.parent_id.take();
            *step = after;
        })?;
        edit.updated += 1;
        Ok((edit.set.result(), at))
    }

    /// Deletes a step; its children stay.
    ///
    /// # Errors
    /// `NotFound` for an unknown pair of ids; `PermissionDenied`.
    pub(super) fn delete(
        &mut self,
        draft: &Draft<'_>,
        result_id: &str,
        step_id: &str,
    ) -> Result<()> {
        let unknown = || unknown_step(result_id, step_id);
        let edit = self.open(draft, result_id)?.ok_or_else(unknown)?;
        edit.set.fetch_for_deletion(draft.view(), step_id)?;
        if !edit.set.delete(step_id) {
            return Err(unknown());
        }
        edit.deleted += 1;
        Ok(())
    }

    /// The steps as the service answers with them.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn answers(&self, places: &[StepPlace]) -> Result<Vec<Step>> {
        let mut steps = Vec::with_capacity(places.len());
        for (key, at) in places {
            let Some(edit) = self.edits.get(key) else { continue };
            let Some(step) = edit.set.get(*at) else { continue };
            steps.push(convert::answered(*key, edit.owner.workspace(), step.clone())?);
        }
        Ok(steps)
    }

    /// Drafts all changes. With `update_total_time` the results get the times of their steps.
    ///
    /// # Errors
    /// `LimitExceeded` for too many changes; those of the disk.
    pub(super) fn save(self, draft: &mut Draft<'_>, update_total_time: bool) -> Result<()> {
        for edit in self.edits.into_values().filter(|edit| !edit.is_empty()) {
            let Edit { owner, mut set, created, updated, deleted } = edit;
            if update_total_time {
                set.read(draft.view())?;
            }
            let detail = change_counts(created, updated, deleted);
            match owner {
                Owner::Result(result) => {
                    let mut after = result.clone();
                    after.steps_created = set.next_seq();
                    after.status_type_summary = Some(summary(&set.status_counts()));
                    if update_total_time {
                        after.total_time_in_seconds = Some(set.total_time());
                    }
                    let is_changed = after.status_type_summary != result.status_type_summary
                        || after.total_time_in_seconds != result.total_time_in_seconds;
                    if is_changed {
                        after.updated_at = after.updated_at.max(Some(draft.now()));
                    }
                    set.save(draft)?;
                    draft.put_with(&*after, What::StepsChanged, Some(detail))?;
                }
                Owner::Remains(remains) => {
                    let (key, is_gone) = (set.result(), set.len() == 0);
                    set.save(draft)?;
                    if is_gone {
                        draft.delete_by_store::<RemainingSteps>(key)?;
                    } else {
                        draft.put_with(&remains, What::Updated, Some(detail))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The summary of counts in the order of [`STATUS_TYPES`].
pub(super) fn summary(counts: &[u64; STATUS_TYPES.len()]) -> StatusTypeSummary {
    let [
        looping,
        skipped,
        custom,
        done,
        passed,
        failed,
        running,
        waiting,
        terminated,
        errored,
        timed_out,
    ] = *counts;
    StatusTypeSummary {
        looping,
        skipped,
        custom,
        done,
        passed,
        failed,
        running,
        waiting,
        terminated,
        errored,
        timed_out,
    }
}

/// The counts of a summary, in the order of [`STATUS_TYPES`].
pub(super) fn counts_of(summary: &StatusTypeSummary) -> [u64; STATUS_TYPES.len()] {
    STATUS_TYPES.map(|of| of.parse().map_or(0, |of: StatusType| summary.count(of)))
}

/// The status of the most severe step of a set.
pub(super) fn most_severe(set: &StepSet) -> Option<Status> {
    let (status_type, status_name) = set.most_severe_status()?;
    Some(Status {
        status_name,
        ..Status::new(status_type.parse::<crate::model::StatusType>().ok()?)
    })
}
