//! The steps of a result that is created with them, and single steps at the end of a result: none
//! of the others is read.

use std::collections::HashSet;

use super::convert::{LATER, answered, new_step_at, new_step_of, within};
use super::edits::{StepEdits, change_counts, counts_of, summary};
use super::save::{counted, save_new};
use super::set::{LEVELS, NewStep, StepSet, severity, status_counts, too_deep};
use crate::error::{Error, Result};
use crate::model::resource::Resource;
use crate::model::results::{CreateStepRequest, Step};
use crate::model::steps::links::links_of;
use crate::model::steps::stored::{StepChunk, StoredStep, generated_seq, millis};
use crate::model::tables::store_table::STEPS;
use crate::model::{StatusTypeSummary, TestResult};
use crate::services::results::attached::Attached;
use crate::session::tables::{ChunkChange, change_chunks, change_links, chunk_at};
use crate::session::{Draft, What};
use crate::value::RecordKey;

/// Checked steps of a result that does not exist yet.
#[derive(Debug)]
pub(in crate::services::results) struct NewSteps {
    trees: Vec<NewStep>,
    count: usize,
    /// Whether ids and parents need no look at the other steps.
    is_plain: bool,
}

/// Steps with their numbers, paths and ancestors, and what their result tells of them.
#[derive(Debug)]
pub(in crate::services::results) struct NumberedSteps {
    steps: Vec<StoredStep>,
    /// The number of the next step.
    pub(in crate::services::results) next_seq: u64,
    /// How many steps have which status.
    pub(in crate::services::results) summary: StatusTypeSummary,
}

impl NewSteps {
    /// Checks the steps that a result is created with.
    ///
    /// # Errors
    /// As [`new_step`](super::convert::new_step), with the place among the steps; `InvalidArgument`
    /// for a step that names a result.
    pub(in crate::services::results) fn checked(steps: &[CreateStepRequest]) -> Result<Self> {
        let tree = |(at, step): (usize, &CreateStepRequest)| {
            let place = |error: Error| within(error, &format!("steps[{at}]"));
            if step.result_id.is_some() {
                let error = Error::invalid(
                    "steps that come with their result have no resultId; leave it out",
                );
                return Err(place(error.at_member("resultId")));
            }
            new_step_of(step, "", LATER).map_err(place)
        };
        let trees = steps.iter().enumerate().map(tree).collect::<Result<Vec<_>>>()?;
        let (mut ids, mut count) = (HashSet::new(), 0);
        let is_plain = trees.iter().all(|tree| is_plain(tree, 1, &mut ids, &mut count));
        if !is_plain {
            // Refused here with any key, so that a refused result draws no id.
            create_all(any_key()?, trees.clone())?;
        }
        Ok(Self { trees, count, is_plain })
    }

    /// Gives the steps their numbers in the result with this key.
    ///
    /// # Errors
    /// `Conflict`, `InvalidArgument` and `LimitExceeded` as in [`StepSet::create`], with the place
    /// among the steps.
    pub(in crate::services::results) fn numbered(
        self,
        result: RecordKey,
        now_ms: i64,
    ) -> Result<NumberedSteps> {
        let mut steps = Vec::with_capacity(self.count);
        if self.is_plain && !self.trees.iter().any(|tree| is_like_generated(tree, result)) {
            for tree in self.trees {
                number(tree, result, None, &mut steps);
            }
        } else {
            steps = create_all(result, self.trees)?.into_steps();
        }
        for step in &mut steps {
            step.updated_at_ms = now_ms;
            if step.started_at_ms == LATER {
                step.started_at_ms = now_ms;
            }
        }
        let (next_seq, counts) = (steps.len() as u64, status_counts(steps.iter()));
        Ok(NumberedSteps { steps, next_seq, summary: summary(&counts) })
    }
}

impl NumberedSteps {
    /// Drafts the steps.
    ///
    /// # Errors
    /// `LimitExceeded` for a step that is too large; those of the disk.
    pub(in crate::services::results) fn save(
        self,
        draft: &mut Draft<'_>,
        result: RecordKey,
    ) -> Result<()> {
        save_new(draft, result, self.steps)
    }
}

fn any_key() -> Result<RecordKey> {
    RecordKey::from_bytes(TestResult::KIND.id, &[0; 16])
        .ok_or_else(|| Error::corrupt("internal error: 16 bytes are no key; report it"))
}

fn create_all(result: RecordKey, trees: Vec<NewStep>) -> Result<StepSet> {
    let mut set = StepSet::empty(result, 0);
    for (at, tree) in trees.into_iter().enumerate() {
        set.create(tree).map_err(|error| within(error, &format!("steps[{at}]")))?;
    }
    Ok(set)
}

/// Whether a tree names no parents, repeats no id and is not too deep. `ids` has the chosen ids of
/// the trees before.
fn is_plain<'s>(
    tree: &'s NewStep,
    level: usize,
    ids: &mut HashSet<&'s str>,
    count: &mut usize,
) -> bool {
    *count += 1;
    level <= LEVELS
        && tree.step.parent_id.is_none()
        && tree.step.step_id.as_deref().is_none_or(|id| ids.insert(id))
        && tree.children.iter().all(|child| is_plain(child, level + 1, ids, count))
}

/// Whether a chosen id looks like a generated one of the result.
fn is_like_generated(tree: &NewStep, result: RecordKey) -> bool {
    tree.step.step_id.as_deref().is_some_and(|id| generated_seq(result, id).is_some())
        || tree.children.iter().any(|child| is_like_generated(child, result))
}

/// Adds the steps of a tree, depth first.
fn number(tree: NewStep, result: RecordKey, parent: Option<usize>, steps: &mut Vec<StoredStep>) {
    let NewStep { mut step, children } = tree;
    let at = steps.len();
    step.seq = at as u64;
    step.has_children = !children.is_empty();
    let parent = parent.and_then(|parent| steps.get(parent));
    step.parent_id = parent.map(|parent| parent.id(result)).or(step.parent_id);
    step.place_below(parent, result);
    steps.push(step);
    for child in children {
        number(child, result, Some(at), steps);
    }
}

/// Drafts one step with a generated id at the end of a result, below the step `parent_id` if there
/// is one, and what the result names with it. Of the other steps only the chunk of the parent is
/// read, as long as it is not sealed.
///
/// # Errors
/// `InvalidArgument` and `LimitExceeded` for the request; `PermissionDenied`; those of the disk.
pub(in crate::services::results) fn append_one(
    draft: &mut Draft<'_>,
    result: TestResult,
    parent_id: Option<&str>,
    mut request: CreateStepRequest,
    attached: Attached,
) -> Result<Step> {
    let Some(key) = result.key() else {
        return Err(Error::corrupt("internal error: a stored result has no key; report it"));
    };
    let mut changes = Vec::new();
    let below = match parent_id {
        Some(id) => parent_in_chunk(draft, key, id, &mut changes)?,
        None => None,
    };
    if parent_id.is_some() && below.is_none() {
        // The parent is sealed, or gone.
        let id = key.to_id(TestResult::KIND.id);
        request.result_id = Some(id.clone());
        request.parent_id = parent_id.map(str::to_owned);
        let mut edits = StepEdits::default();
        let places = edits.create(draft, request)?;
        let step = edits.answers(&places)?.into_iter().next().unwrap_or_default();
        edits.save(draft, false)?;
        let before = draft.by_key::<TestResult>(key)?.unwrap_or(result);
        let mut after = before.clone();
        if attached.add_to(&mut after) {
            draft.put_changed(before, &after, What::Updated)?;
        }
        return Ok(step);
    }
    if below.as_ref().is_some_and(|parent| parent.ancestor_ids.len() + 1 >= LEVELS) {
        return Err(too_deep("parentId"));
    }
    let mut step = new_step_at(request, "", millis(draft.now()))?.step;
    step.seq = result.steps_created;
    step.parent_id = below.as_ref().map(|parent| parent.id(key)).or(step.parent_id);
    step.place_below(below.as_ref(), key);
    let mut after = result.clone();
    after.steps_created += 1;
    let is_attached = attached.add_to(&mut after);
    let rank = step.status_type.as_deref().and_then(severity);
    if is_attached || rank.is_some() {
        after.updated_at = after.updated_at.max(Some(draft.now()));
    }
    if let Some(at) = rank {
        let mut counts = counts_of(&after.status_type_summary.take().unwrap_or_default());
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
        after.status_type_summary = Some(summary(&counts));
    }
    let answer = answered(key, after.workspace(), step.clone())?;
    let first = step.seq;
    change_links(draft, key, [], links_of(&step))?;
    changes.push(ChunkChange { first, before: (0, 0), after: Some(counted(vec![step])) });
    draft.put_changed_with(result, &after, What::StepsChanged, Some(change_counts(1, 0, 0)))?;
    change_chunks(draft, &STEPS, key, changes)?;
    Ok(answer)
}

/// The step with a generated id, if it is in a chunk that begins with it. The change that it has a
/// child from now on goes to `changes`.
fn parent_in_chunk(
    draft: &Draft<'_>,
    key: RecordKey,
    id: &str,
    changes: &mut Vec<ChunkChange<StepChunk>>,
) -> Result<Option<StoredStep>> {
    let Some(seq) = generated_seq(key, id) else { return Ok(None) };
    let Some(chunk) = chunk_at(draft, &STEPS, key, seq)? else { return Ok(None) };
    let mut stored = chunk.value::<StepChunk>()?;
    let before = (stored.row_count(), chunk.row.len() as u64);
    let Some(parent) = stored.steps.iter_mut().find(|step| step.has_id(key, id)) else {
        return Ok(None);
    };
    let was_leaf = !std::mem::replace(&mut parent.has_children, true);
    let found = parent.clone();
    if was_leaf {
        // Its rows are as many as before.
        changes.push(ChunkChange { first: chunk.first, before, after: Some((before.0, stored)) });
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::IdForm;

    fn key() -> RecordKey {
        RecordKey::from_bytes(IdForm::Guid, &[7; 16]).unwrap()
    }

    /// Trees of steps; an id may repeat, and a step may name any other as its parent.
    fn trees() -> impl Strategy<Value = Vec<CreateStepRequest>> {
        let id = prop_oneof![3 => Just(None), 1 => (0..12_u8).prop_map(|id| Some(id.to_string()))];
        let parent =
            prop_oneof![9 => Just(None), 1 => (0..12_u8).prop_map(|id| Some(id.to_string()))];
        let status = prop::option::of(prop::sample::select(vec!["PASSED", "FAILED", "DONE"]));
        let leaf = (id, parent, status).prop_map(|(id, parent, status)| {
            let mut step = CreateStepRequest::new().name("n");
            step.step_id = id;
            step.parent_id = parent;
            step.status =
                status.map(|status| status.parse::<crate::model::StatusType>().unwrap().into());
            step
        });
        let tree = leaf.prop_recursive(3, 12, 3, |inner| {
            prop::collection::vec(inner, 1..4)
                .prop_map(|children| CreateStepRequest::new().name("p").children(children))
        });
        prop::collection::vec(tree, 0..6)
    }

    proptest! {
        #[test]
        fn new_steps_are_what_a_set_makes_of_them(trees in trees()) {
            let mut set = StepSet::empty(key(), 0);
            let mut refused = None;
            for tree in &trees {
                let tree = new_step_at(tree.clone(), "", 5).unwrap();
                if let Err(error) = set.create(tree) {
                    refused = Some(error.kind());
                    break;
                }
            }
            match NewSteps::checked(&trees).and_then(|new| new.numbered(key(), 5)) {
                Err(error) => prop_assert_eq!(Some(error.kind()), refused),
                Ok(numbered) => {
                    prop_assert_eq!(None, refused);
                    prop_assert_eq!(numbered.next_seq, set.next_seq());
                    prop_assert_eq!(&numbered.summary, &summary(&set.status_counts()));
                    let (steps, of_set) = (numbered.steps, set.into_steps());
                    prop_assert_eq!(format!("{steps:?}"), format!("{of_set:?}"));
                }
            }
        }
    }
}
