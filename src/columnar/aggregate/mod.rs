//! Aggregates of rows, by group: from the summaries of blocks where they suffice, else from the
//! values.
//!
//! What must hold: the answer does not depend on how the rows lie in runs. Sums are exact until
//! the end, of first and last rows the one with the lesser or greater position in index order
//! counts, and groups are in order of their keys.

mod bins;
mod column;
mod finish;
mod grouped;
mod groups;
mod ints;
mod needs;
mod parts;
mod request;
mod served;
mod state;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::predicate::predicates::Predicates;
use super::predicate::verdict::Verdict;
use super::read::count::{all_units, in_parallel};
use super::read::unit;
use super::read::view::{Run, TableView};
use super::segment::BLOCK_ROWS;
use crate::error::Result;
use crate::model::tables::aggregate::AggregateGroup;
use crate::value::{Control, ranges};

pub(crate) use bins::{Bins, Edges};
use grouped::GroupedRows;
pub(crate) use groups::{Key, Width};
use needs::Needs;
pub(crate) use parts::PartAggregates;
pub(crate) use request::{Aggregation, Bounds, ColumnAggregate, Term};
use served::RunSummaries;

/// The aggregates of rows.
#[derive(Debug)]
pub(crate) struct AggregateAnswer {
    /// The groups in order of their keys.
    pub groups: Vec<AggregateGroup>,
    /// Rows of which only summaries were used.
    pub summarized_rows: u64,
}

/// Computes aggregates. Returns the groups in order of their keys; without keys there is one group,
/// also of no rows.
///
/// # Errors
/// `LimitExceeded` for too many groups, and for groups and values of percentiles that need more
/// memory than a query may use; `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the
/// control.
pub(crate) fn aggregate(
    view: &TableView,
    aggregation: &Aggregation<'_>,
    control: &Control,
) -> Result<AggregateAnswer> {
    let needs = Needs::of(&view.schema, aggregation)?;
    let whole = Mutex::new(GroupedRows::default());
    let units = all_units(view, aggregation.predicates);
    in_parallel(&units, view.row_count() as usize, control, |(run, rows)| {
        let part = of_unit(view, *run, rows.clone(), aggregation, &needs, control)?;
        whole.lock().unwrap_or_else(PoisonError::into_inner).merge(part, aggregation.bounds)
    })?;
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    let summarized_rows = whole.summarized;
    let groups = finish::groups(whole, &view.schema, aggregation, &needs)?;
    Ok(AggregateAnswer { groups, summarized_rows })
}

/// Splits rows into ranges of which every row passes, as summaries show, and ranges that must be
/// tested.
fn split(
    run: &Run,
    predicates: &Predicates,
    rows: &Range<usize>,
) -> Result<(Vec<Range<usize>>, Vec<Range<usize>>)> {
    if predicates.is_empty() {
        return Ok((vec![rows.clone()], Vec::new()));
    }
    let (mut whole, mut open) = (Vec::new(), Vec::new());
    for (at, verdict) in unit::verdicts(run, predicates, rows)?.into_iter().enumerate() {
        let block = rows.start / BLOCK_ROWS + at;
        let range = (block * BLOCK_ROWS).max(rows.start)..((block + 1) * BLOCK_ROWS).min(rows.end);
        match verdict {
            Verdict::None => {}
            Verdict::Some => ranges::join(&mut open, range),
            Verdict::All => ranges::join(&mut whole, range),
        }
    }
    Ok((whole, open))
}

fn of_unit(
    view: &TableView,
    at: usize,
    rows: Range<usize>,
    aggregation: &Aggregation<'_>,
    needs: &Needs,
    control: &Control,
) -> Result<GroupedRows> {
    let (run, schema) = (view.run(at)?, &view.schema);
    let mut part = GroupedRows::default();
    let (whole, mut open) = split(run, aggregation.predicates, &rows)?;
    match RunSummaries::of(run, aggregation, needs)? {
        Some(served) => {
            for range in whole {
                served.fold(range, &mut part, &mut open, aggregation.bounds)?;
            }
        }
        None => open.extend(whole),
    }
    open.sort_unstable_by_key(|range: &Range<usize>| range.start);
    let mut read: Vec<Range<usize>> = Vec::new();
    let mut joined = Vec::with_capacity(open.len());
    open.into_iter().for_each(|range| ranges::join(&mut joined, range));
    for range in joined {
        // The one way to the rows that count, so that every mask over them is respected.
        let picked = unit::pick(run, schema, aggregation.predicates, range, &[], control)?;
        read.extend(picked.ranges);
    }
    if unit::row_count(&read) > 0 {
        part.take((run, at), schema, &read, (aggregation, needs), control)?;
    }
    Ok(part)
}
