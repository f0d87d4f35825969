//! Aggregates of rows, by group: from the summaries of blocks where they suffice, else from the
//! values.
//!
//! What must hold: the answer does not depend on how the rows lie in runs. Sums are exact until
//! the end, of first and last rows the one with the lesser or greater position in index order
//! counts, and groups are in order of their keys.

mod finish;
mod groups;
mod ints;
mod states;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::count::{all_units, in_parallel};
use super::predicate::{Predicates, Verdict};
use super::segment::{BLOCK_ROWS, ColumnSummary};
use super::unit;
use super::view::{Run, TableView};
use crate::error::Result;
use crate::model::tables::aggregate::AggregateGroup;
use crate::value::Control;

pub(crate) use groups::{Key, Width};
use groups::{KeyCell, bucket};
use states::{Grouped, Needs};

/// What to compute of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Want {
    /// Cells that are not null; rows without a column.
    Count,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The standard deviation: of a sample or of the population.
    Deviation {
        /// Whether the rows are a sample.
        is_sample: bool,
    },
    /// The value below which a fraction of the values lies.
    Percentile {
        /// From 0 to 1.
        fraction: f64,
        /// Whether it lies between two values; else it is the nearest rank.
        is_linear: bool,
    },
    /// Numbers of values in ranges of equal width.
    Histogram(Bins),
    /// The cell of the first row in index order.
    First,
    /// The cell of the last row in index order.
    Last,
}

/// The ranges of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bins {
    /// Start of the first.
    pub lower: f64,
    /// End of the last.
    pub upper: f64,
    /// How many.
    pub count: usize,
}

/// One aggregate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// What to compute.
    pub want: Want,
    /// Of which column; the rows themselves if none.
    pub column: Option<usize>,
}

/// What to aggregate.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation<'a> {
    /// The groups.
    pub keys: Vec<Key>,
    /// The aggregates of each.
    pub terms: Vec<Term>,
    /// The rows.
    pub predicates: &'a Predicates,
    /// Memory for the values of percentiles.
    pub memory_bytes: usize,
    /// The greatest number of groups.
    pub groups_max: usize,
}

/// Computes aggregates. Returns the groups in order of their keys; without keys there is one group,
/// also of no rows.
///
/// # Errors
/// `LimitExceeded` for too many groups, and for percentiles of more values than the memory holds;
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn aggregate(
    view: &TableView,
    aggregation: &Aggregation<'_>,
    control: &Control,
) -> Result<Vec<AggregateGroup>> {
    let needs = Needs::of(&view.schema, aggregation)?;
    let whole = Mutex::new(Grouped::new(&needs));
    let units = all_units(view);
    in_parallel(&units, view.row_count() as usize, control, |(run, rows)| {
        let part = of_unit(view, *run, rows.clone(), aggregation, &needs, control)?;
        whole.lock().unwrap_or_else(PoisonError::into_inner).merge(
            part,
            aggregation.groups_max,
            aggregation.memory_bytes,
        )
    })?;
    let whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    finish::groups(whole, &view.schema, aggregation, &needs)
}

/// Whether the summaries of a run describe exactly the rows that it has. The only place that
/// decides it: a run with deleted rows must answer no.
fn has_exact_summaries(run: &Run) -> bool {
    matches!(run, Run::Segment(_))
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
            Verdict::Some => join(&mut open, range),
            Verdict::All => join(&mut whole, range),
        }
    }
    Ok((whole, open))
}

/// Appends a range, joined with the last one if it continues it.
fn join(ranges: &mut Vec<Range<usize>>, range: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => ranges.push(range),
    }
}

fn of_unit(
    view: &TableView,
    at: usize,
    rows: Range<usize>,
    aggregation: &Aggregation<'_>,
    needs: &Needs,
    control: &Control,
) -> Result<Grouped> {
    let (run, schema) = (view.run(at)?, &view.schema);
    let mut part = Grouped::new(needs);
    let (whole, open) = split(run, aggregation.predicates, &rows)?;
    let mut read = Vec::new();
    let served = Served::of(run, aggregation, needs)?;
    for range in whole {
        match &served {
            Some(served) => served.fold(range, &mut part, &mut read)?,
            None => join(&mut read, range),
        }
    }
    for range in open {
        let picked = unit::pick(run, schema, aggregation.predicates, range, &[], control)?;
        read.extend(picked.ranges);
    }
    read.sort_unstable_by_key(|range: &Range<usize>| range.start);
    if !read.is_empty() {
        control.check()?;
        part.take(run, at, schema, &read, aggregation, needs)?;
    }
    Ok(part)
}

/// The summaries of a run that serve an aggregation.
struct Served<'a> {
    keys: Vec<(&'a ColumnSummary, Option<Width>)>,
    columns: Vec<Option<&'a ColumnSummary>>,
}

impl<'a> Served<'a> {
    fn of(run: &'a Run, aggregation: &Aggregation<'_>, needs: &Needs) -> Result<Option<Self>> {
        if !has_exact_summaries(run) || !needs.are_in_summaries() {
            return Ok(None);
        }
        let (mut keys, mut columns) = (Vec::new(), Vec::new());
        for key in &aggregation.keys {
            let Some(summary) = run.summary(key.column)? else { return Ok(None) };
            keys.push((summary, key.width));
        }
        for column in needs.columns() {
            let Some(summary) = run.summary(column)? else { return Ok(None) };
            columns.push(Some(summary));
        }
        Ok(Some(Self { keys, columns }))
    }

    /// The keys of a block, if all of its rows have the same.
    fn keys_of(&self, block: usize) -> Option<Vec<KeyCell>> {
        self.keys
            .iter()
            .map(|(summary, width)| match summary {
                ColumnSummary::Int(levels) => {
                    let block = levels.blocks().get(block)?;
                    let is_full = block.nulls == 0 && block.rows > 0;
                    let (low, high) = (bucket(block.min, *width)?, bucket(block.max, *width)?);
                    (is_full && low == high).then_some(KeyCell::Int(low))
                }
                ColumnSummary::Float(_) => None,
            })
            .collect()
    }

    /// Folds the blocks of rows that all count into their groups; the others are to be read.
    fn fold(
        &self,
        rows: Range<usize>,
        part: &mut Grouped,
        read: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        for block in rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS) {
            let range =
                (block * BLOCK_ROWS).max(rows.start)..((block + 1) * BLOCK_ROWS).min(rows.end);
            match self.keys_of(block) {
                Some(keys) if part.fold(keys, range.len(), block, &self.columns) => {}
                _ => join(read, range),
            }
        }
        Ok(())
    }
}
