//! The steps of results: created, changed, deleted and read by their ids.
//!
//! `set` has the steps of one result in memory, `edits` those of the results that one call changes,
//! `convert` knows both forms of a step.

mod arrays;
mod changes;
pub(super) mod check;
mod chunk_test;
mod convert;
mod csv;
mod edits;
mod ends;
mod fetch;
mod filter;
mod find;
mod measurements;
mod new;
pub(super) mod paths;
mod query;
mod save;
mod scan;
mod set;
#[cfg(test)]
mod set_tests;
mod stream;
mod top;

use std::ops::Range;

use crate::error::Result;
use crate::model::answer::Outcome;
use crate::model::resource::Resource;
use crate::model::results::{CreateStepRequest, Step, StepIdResultIdPair, UpdateStepRequest};
use crate::model::steps::remains::RemainingSteps;
use crate::model::tables::store_table::STEPS;
use crate::model::{Status, TestResult, places};
use crate::services::batch;
use crate::services::service_record::ServiceRecord;
use crate::session::tables::{delete_sealed, drop_chunks, drop_links};
use crate::session::{Access, Draft, View, What};
use crate::value::ranges::RangeSet;
use crate::value::{Control, RecordKey, Stored as _};

pub(super) use arrays::{Arrays, damaged, equals, text};
use changes::StepChanges;
pub(super) use chunk_test::{ChunkTest, members};
pub(super) use convert::{Replace, number as number_of, number_text, within};
pub(super) use csv::{csv_page, export};
pub(super) use edits::change_counts;
use edits::{StepEdits, StepPlace, key_of, most_severe, unknown_step};
pub(super) use ends::{end_sequence, terminate_running};
#[cfg(test)]
pub(in crate::services) use filter::FIELDS as STEP_FIELDS;
pub(super) use filter::StepFilter;
use find::find;
pub(super) use measurements::scan as scan_measurements;
pub(super) use new::{NewSteps, append_one};
#[cfg(test)]
pub(in crate::services) use paths::FIELDS as PATH_FIELDS;
pub(super) use query::{Workspaces, explain, page, values};
pub(super) use scan::{Selection, each_part, each_step};
use set::StepSet;
pub(super) use set::severity;
pub(super) use stream::scan as scan_steps;

/// The kind of steps in errors.
const STEP: &str = "TestStep";

/// Creates steps with their children.
pub(super) fn create(
    draft: &mut Draft<'_>,
    steps: Vec<CreateStepRequest>,
    update_total_time: bool,
) -> Result<Outcome<Step, CreateStepRequest>> {
    let mut edits = StepEdits::default();
    let outcome = batch::run(draft, TestResult::UMBRELLA, steps, |draft, position, request| {
        let name = request.step_id.clone().or_else(|| request.name.clone());
        edits.create(draft, request).map_err(batch::about_unnamed(STEP, name, position))
    })?;
    settle(draft, edits, outcome, update_total_time)
}

/// Changes steps, each by itself.
///
/// # Errors
/// As [`batch::run`].
pub(super) fn update(
    draft: &mut Draft<'_>,
    steps: Vec<UpdateStepRequest>,
    update_total_time: bool,
    replace: Replace,
) -> Result<Outcome<Step, UpdateStepRequest>> {
    let mut edits = StepEdits::default();
    let changes = StepChanges::new(steps);
    let all = (0..changes.len()).collect();
    let place = |at| changes.place(at);
    let outcome =
        batch::run_at(draft, TestResult::UMBRELLA, all, &place, |draft, position, at| {
            let request = changes.request(at);
            let name = request.step_id.clone();
            let place = edits.update(draft, request, replace);
            place.map(|place| vec![place]).map_err(batch::about_unnamed(STEP, name, position))
        })?;
    let Outcome { succeeded, failed, mut error } =
        settle(draft, edits, outcome, update_total_time)?;
    let failed = changes.into_sent(&failed, error.as_mut());
    Ok(Outcome { succeeded, failed, error })
}

/// Answers a batch and drafts what it changed.
fn settle<R>(
    draft: &mut Draft<'_>,
    edits: StepEdits,
    outcome: Outcome<Vec<StepPlace>, R>,
    update_total_time: bool,
) -> Result<Outcome<Step, R>> {
    let Outcome { succeeded, failed, error } = outcome;
    let places: Vec<StepPlace> = succeeded.into_iter().flatten().collect();
    let succeeded = edits.answers(&places)?;
    edits.save(draft, update_total_time)?;
    Ok(Outcome { succeeded, failed, error })
}

/// Deletes steps; their children stay.
pub(super) fn delete(
    draft: &mut Draft<'_>,
    steps: Vec<StepIdResultIdPair>,
    update_total_time: bool,
) -> Result<Outcome<StepIdResultIdPair, StepIdResultIdPair>> {
    let mut edits = StepEdits::default();
    let mut seen = std::collections::HashSet::new();
    let mut distinct = steps;
    distinct.retain(|pair| seen.insert((pair.result_id.clone(), pair.step_id.clone())));
    let outcome = batch::run(draft, TestResult::UMBRELLA, distinct, |draft, position, pair| {
        let name = Some(pair.step_id.clone());
        let deleted = edits.delete(draft, &pair.result_id, &pair.step_id);
        deleted.map(|()| pair).map_err(batch::about_unnamed(STEP, name, position))
    })?;
    edits.save(draft, update_total_time)?;
    Ok(outcome)
}

/// Deletes one step.
///
/// # Errors
/// `NotFound` for a pair of ids of no step that the caller may see.
pub(super) fn delete_one(
    draft: &mut Draft<'_>,
    result_id: &str,
    step_id: &str,
    update_total_time: bool,
) -> Result<()> {
    let mut edits = StepEdits::default();
    edits.delete(draft, result_id, step_id)?;
    edits.save(draft, update_total_time)
}

/// The workspace of a result, or of what is left of one, if the caller may see it.
pub(super) fn workspace_of(view: &View<'_>, key: RecordKey) -> Result<Option<String>> {
    let wanted = places(TestResult::members(), &mut std::iter::once(Some("workspace")));
    if let Some(result) = view.part_by_key::<TestResult>(key, wanted)?
        && view.visibility(TestResult::KIND).allows(result.workspace())
    {
        return Ok(Some(result.workspace().to_owned()));
    }
    Ok(view.by_key::<RemainingSteps>(key)?.map(|remains| remains.workspace().to_owned()))
}

/// The step with these ids.
///
/// # Errors
/// `NotFound` if there is none that the caller may see.
pub(super) fn get(access: &impl Access, result_id: &str, step_id: &str) -> Result<Step> {
    access.read(|view| {
        let unknown = || unknown_step(result_id, step_id);
        let key = key_of(result_id).ok_or_else(unknown)?;
        let workspace = workspace_of(view, key)?.ok_or_else(unknown)?;
        let step = find(view, key, step_id)?.ok_or_else(unknown)?;
        convert::answered(key, &workspace, step)
    })
}

/// The status of the most severe of the steps of a result; `None` if none of them has a status.
pub(super) fn status_of(draft: &Draft<'_>, result: &TestResult) -> Result<Option<Status>> {
    let Some(key) = result.key().filter(|_| result.steps_created > 0) else { return Ok(None) };
    Ok(most_severe(&StepSet::load(draft.view(), key, result.steps_created)?))
}

/// The sealed steps of deleted results. They are deleted together, because each deletion reads and
/// writes the list of all that are deleted and still stored.
#[derive(Debug, Default)]
pub(super) struct DeletedSteps {
    ordinals: Vec<Range<u64>>,
}

impl DeletedSteps {
    /// Drafts the deletion of the steps of a deleted result that are not sealed, and adds the
    /// others.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn add(&mut self, draft: &mut Draft<'_>, result: &TestResult) -> Result<()> {
        if let Some(key) = result.key().filter(|_| result.steps_created > 0) {
            drop_links(draft, key)?;
            self.ordinals.append(&mut drop_chunks(draft, &STEPS, key)?);
        }
        Ok(())
    }

    /// Drafts the deletion of the sealed steps.
    ///
    /// # Errors
    /// As [`delete_sealed`].
    pub(super) fn save(self, draft: &mut Draft<'_>) -> Result<()> {
        delete_sealed(draft, &STEPS, &RangeSet::new(self.ordinals))
    }
}

/// Drafts the deletion of the steps of a deleted result.
///
/// # Errors
/// As [`DeletedSteps::save`].
pub(super) fn delete_of(draft: &mut Draft<'_>, result: &TestResult) -> Result<()> {
    let mut steps = DeletedSteps::default();
    steps.add(draft, result)?;
    steps.save(draft)
}

/// Drafts that the steps of a deleted result stay, with its last workspace. What is left of a
/// result goes with its last step, so none is left of one without steps.
pub(super) fn keep_of(draft: &mut Draft<'_>, result: &TestResult) -> Result<()> {
    let Some(key) = result.key().filter(|_| result.steps_created > 0) else { return Ok(()) };
    let (selection, mut has_steps) = (Selection::Of([key].into()), false);
    let control = draft.context().control(&Control::default());
    each_step(draft.view(), &selection, Vec::new(), None, &control, &mut |_, _| {
        has_steps = true;
        Ok(false)
    })?;
    if !has_steps {
        return Ok(());
    }
    let remains = RemainingSteps {
        id: result.id.as_ref().map(|id| id.as_str().into()),
        workspace: Some(result.workspace().to_owned()),
        steps_created: result.steps_created,
    };
    draft.put_by_store(&remains, What::Created, None)
}
