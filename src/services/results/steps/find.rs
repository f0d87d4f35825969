//! Where a step is stored, by its ids.

use super::chunk_test::members;
use crate::arrow::array::ArrayRef;
use crate::error::Result;
use crate::model::steps::links::{Link, seq_of};
use crate::model::steps::rows::{StepColumn, TOLD_BY, rows_of_step, steps_in};
use crate::model::steps::stored::{StoredStep, generated_seq};
use crate::model::tables::store_table::STEPS;
use crate::session::View;
use crate::session::tables::{RowChunk, chunk_around, each_link, sealed_pick};
use crate::value::RecordKey;
use crate::value::stored::{self, Payload};

/// Calls `f` with the numbers of the steps that may have this id, until it returns false.
///
/// # Errors
/// Those of `f`; `Corrupt`, `Io`.
pub(super) fn each_candidate(
    view: &View<'_>,
    result: RecordKey,
    id: &str,
    f: &mut dyn FnMut(u64) -> Result<bool>,
) -> Result<()> {
    if let Some(seq) = generated_seq(result, id)
        && !f(seq)?
    {
        return Ok(());
    }
    each_link(view, result, Link::Own.all(id), &mut |link| f(seq_of(link)))
}

/// Calls `f` with the stored bytes of the step with this number, if it is in the chunk. Returns
/// whether it is.
///
/// # Errors
/// Those of `f`; `Corrupt`.
pub(super) fn in_chunk(
    chunk: &RowChunk,
    seq: u64,
    f: &mut dyn FnMut(Payload<'_>) -> Result<()>,
) -> Result<bool> {
    let (mut step, wanted) = (StoredStep::default(), members(&["seq"]));
    let mut is_there = false;
    stored::each_listed::<StoredStep>(chunk.payload()?, &mut |stored| {
        stored::fill(&mut step, stored, wanted)?;
        is_there = step.seq == seq;
        if is_there {
            f(stored)?;
        }
        Ok(!is_there)
    })?;
    Ok(is_there)
}

/// The sealed step of a result with this number, and the ordinals of its rows.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn sealed_step(
    view: &View<'_>,
    result: RecordKey,
    seq: u64,
) -> Result<Option<(StoredStep, Vec<u64>)>> {
    let pick = |rows: &[ArrayRef]| rows_of_step(rows, result, seq);
    let narrow = (StepColumn::Seq as usize, seq.cast_signed());
    let Some(rows) = sealed_pick(view, &STEPS, result, narrow, &TOLD_BY, &pick)? else {
        return Ok(None);
    };
    let step = steps_in(&rows.arrays)?.pop();
    Ok(step.map(|(_, step)| (step, rows.ordinals)))
}

/// The step of a result with this id.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn find(view: &View<'_>, result: RecordKey, id: &str) -> Result<Option<StoredStep>> {
    let mut found = None;
    each_candidate(view, result, id, &mut |seq| {
        let mut step = None;
        if let Some(chunk) = chunk_around(view, &STEPS, result, seq)? {
            in_chunk(&chunk, seq, &mut |stored| {
                step = Some(stored::read::<StoredStep>(stored)?);
                Ok(())
            })?;
        }
        if step.is_none() {
            step = sealed_step(view, result, seq)?.map(|(step, _)| step);
        }
        found = step.filter(|step| step.has_id(result, id));
        Ok(found.is_none())
    })?;
    Ok(found)
}
