//! Compares the steps with the results that they belong to.
//!
//! What must hold: every step belongs to a result or to what is left of one; no two steps of a
//! result have one number, and each number is below the number of steps that the result has got;
//! the summary of a result counts its steps; and the links of a result are those of its steps.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::edits::summary;
use super::scan::{Selection, Tally, each_step, each_tally};
use super::set::{STATUS_TYPES, StepSet};
use crate::error::Result;
use crate::model::resource::Resource;
use crate::model::steps::links::links_of;
use crate::model::steps::remains::RemainingSteps;
use crate::model::{StatusType, StatusTypeSummary, TestResult};
use crate::session::tables::{each_link, each_linked, replace_links};
use crate::session::{Access, Engine, Session, View, What};
use crate::value::{Control, IdForm, RecordKey};

/// What does not fit about the steps of one result.
#[derive(Clone, Debug, Default, PartialEq)]
struct Difference {
    /// The summary that counts the steps, if the result has another one.
    summary: Option<StatusTypeSummary>,
    /// How many steps the result has got at least, if it says that there were fewer.
    steps_created: Option<u64>,
    /// The links of its steps, if others are stored.
    links: Option<Vec<u64>>,
    /// Whether two steps have one number.
    is_repeated: bool,
    /// Whether there is neither the result nor what is left of it.
    is_unowned: bool,
}

impl Difference {
    fn problem(&self) -> &'static str {
        match self {
            Self { is_unowned: true, .. } => "its steps are there, and it is not",
            Self { is_repeated: true, .. } => "two of its steps have one number",
            Self { steps_created: Some(_), .. } => "it has got fewer steps than are there",
            Self { summary: None, .. } => "its steps are not found by their ids",
            _ => "its status type summary does not count its steps",
        }
    }

    /// Whether the steps and their result fit each other, and only their links do not.
    fn is_of_links(&self) -> bool {
        let others = Self { links: None, ..self.clone() };
        others == Self::default()
    }
}

/// What a comparison found about a result.
struct Compared {
    difference: Difference,
    /// How many steps the summary of the record counts.
    counted: u64,
    is_linked: bool,
}

fn compared(view: &View<'_>, result: RecordKey, tally: Tally) -> Result<Compared> {
    let Tally { steps, mut links } = tally;
    let mut counts = [0; STATUS_TYPES.len()];
    for rank in steps.iter().filter_map(|(_, rank)| *rank) {
        if let Some(count) = counts.get_mut(rank) {
            *count += 1;
        }
    }
    let mut seqs = steps.iter().map(|(seq, _)| *seq);
    let is_repeated = steps.iter().map(|(seq, _)| seq).collect::<BTreeSet<_>>().len() < steps.len();
    let next = seqs.next_back().map_or(0, |seq| seq.saturating_add(1));
    links.sort_unstable();
    links.dedup();
    let stored = stored_links(view, result)?;
    let is_linked = !stored.is_empty();
    let links = Some(links).filter(|links| *links != stored);
    let mut difference = Difference { is_repeated, links, ..Difference::default() };
    let (mut counted, mut created) = (0, None);
    if let Some(record) = view.any_by_key::<TestResult>(result)? {
        let (expected, stored) = (summary(&counts), record.status_type_summary.unwrap_or_default());
        counted = total(&stored);
        created = Some(record.steps_created);
        difference.summary = Some(expected).filter(|expected| *expected != stored);
    } else if let Some(remains) = view.any_by_key::<RemainingSteps>(result)? {
        created = Some(remains.steps_created);
    }
    difference.is_unowned = created.is_none();
    difference.steps_created = Some(next).filter(|next| created.is_some_and(|is| is < *next));
    Ok(Compared { difference, counted, is_linked })
}

fn stored_links(view: &View<'_>, result: RecordKey) -> Result<Vec<u64>> {
    let mut stored = Vec::new();
    each_link(view, result, 0..=u64::MAX, &mut |link| {
        stored.push(link);
        Ok(true)
    })?;
    Ok(stored)
}

fn total(summary: &StatusTypeSummary) -> u64 {
    StatusType::ALL.iter().map(|of| summary.count(*of)).sum()
}

/// Calls `f` with each result whose steps do not fit it.
fn each_difference(
    view: &View<'_>,
    control: &Control,
    f: &mut dyn FnMut(RecordKey, Difference) -> Result<()>,
) -> Result<()> {
    let mut counted_with_steps = 0;
    let mut linked = 0_u64;
    each_tally(view, control, &mut |result, tally| {
        let Compared { difference, counted, is_linked } = compared(view, result, tally)?;
        counted_with_steps += counted;
        linked += u64::from(is_linked);
        if difference == Difference::default() { Ok(()) } else { f(result, difference) }
    })?;
    each_without_steps(view, linked, control, f)?;
    // A result that counts steps has some, so all summaries together count what those of the
    // results with steps count. Only where they do not, each is looked at.
    let mut counted = 0;
    view.for_each_of_anyone::<TestResult>(|result| {
        control.check()?;
        counted += result.status_type_summary.as_ref().map_or(0, total);
        Ok(true)
    })?;
    if counted == counted_with_steps {
        return Ok(());
    }
    view.for_each_of_anyone::<TestResult>(|result| {
        control.check()?;
        let claims = result.status_type_summary.as_ref().is_some_and(|summary| total(summary) > 0);
        let Some(key) = result.key().filter(|_| claims) else { return Ok(true) };
        if !has_steps(view, key, control)? {
            let none = Some(StatusTypeSummary::default());
            f(key, Difference { summary: none, ..Difference::default() })?;
        }
        Ok(true)
    })
}

fn has_steps(view: &View<'_>, result: RecordKey, control: &Control) -> Result<bool> {
    let mut has_steps = false;
    let selection = Selection::Of(BTreeSet::from([result]));
    each_step(view, &selection, Vec::new(), None, control, &mut |_, _| {
        has_steps = true;
        Ok(false)
    })?;
    Ok(has_steps)
}

/// Calls `f` with each result that has links and no steps. `linked` results with steps have links.
fn each_without_steps(
    view: &View<'_>,
    linked: u64,
    control: &Control,
    f: &mut dyn FnMut(RecordKey, Difference) -> Result<()>,
) -> Result<()> {
    let mut count = 0;
    each_linked(view, &mut |_| {
        count += 1;
        control.check()
    })?;
    if count == linked {
        return Ok(());
    }
    each_linked(view, &mut |result| {
        if has_steps(view, result, control)? {
            return Ok(());
        }
        f(result, Difference { links: Some(Vec::new()), ..Difference::default() })
    })
}

fn place(result: RecordKey) -> String {
    format!("the steps of the result {}", result.to_id(IdForm::Guid))
}

/// Compares all steps with their results in one state. Calls `found` with the place and the problem
/// of each difference.
///
/// # Errors
/// Those of `control`; `Corrupt` and `Io` for steps that cannot be read.
pub(crate) fn verify(
    engine: &Arc<Engine>,
    control: &Control,
    mut found: impl FnMut(&str, &str),
) -> Result<()> {
    Session::of_store(engine).read(|view| {
        each_difference(view, control, &mut |result, difference| {
            found(&place(result), difference.problem());
            Ok(())
        })
    })
}

/// Makes results and their steps fit each other again, after parts of either were lost: summaries
/// count the steps that are there, a step that is there twice stays as it was changed last, and
/// steps without a result stay in no workspace, where only callers who may see everything reach
/// them. Calls `told` with the place and the problem of each change, but not of links, which follow
/// from the steps.
///
/// # Errors
/// Those of `control`, of reading and of writing.
pub(crate) fn mend(
    engine: &Arc<Engine>,
    control: &Control,
    mut told: impl FnMut(&str, &str),
) -> Result<()> {
    let session = Session::of_store(engine);
    let mut differences = Vec::new();
    session.read(|view| {
        each_difference(view, control, &mut |result, difference| {
            differences.push((result, difference));
            Ok(())
        })
    })?;
    for (key, difference) in differences {
        control.check()?;
        let is_of_links = difference.is_of_links();
        if !is_of_links {
            told(&place(key), difference.problem());
        }
        session.write(move |draft| {
            let mut set = StepSet::load(draft.view(), key, 0)?;
            set.drop_repeated();
            let links: BTreeSet<u64> = set.steps().flat_map(links_of).collect();
            replace_links(draft, key, &Vec::from_iter(links))?;
            let (counts, next_seq) = (set.status_counts(), set.next_seq_of_steps());
            if difference.is_repeated {
                // Of a step that was there twice, the one that is left may be in another chunk.
                set.save_rows_anew(draft)?;
            } else {
                set.save_rows(draft)?;
            }
            if is_of_links {
                return Ok(());
            }
            if let Some(mut result) = draft.view().any_by_key::<TestResult>(key)? {
                result.status_type_summary = Some(summary(&counts));
                result.steps_created = result.steps_created.max(next_seq);
                return draft.put_by_store(&result, What::StepsChanged, None);
            }
            let known = draft.view().any_by_key::<RemainingSteps>(key)?;
            let remains = known.unwrap_or_else(|| RemainingSteps {
                id: Some(key.to_id(IdForm::Guid).as_str().into()),
                workspace: Some(String::new()),
                steps_created: 0,
            });
            let steps_created = remains.steps_created.max(next_seq);
            draft.put_by_store(&RemainingSteps { steps_created, ..remains }, What::Created, None)
        })?;
    }
    Ok(())
}
