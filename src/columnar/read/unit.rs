//! One read unit: prune by summaries, filter on the fewest columns, then decode the other columns
//! for the rows that are left.

use std::cell::RefCell;
use std::ops::Range;

use super::found::narrowed;
use super::view::{Run, RunStorage};
use crate::arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions,
};
use crate::arrow::buffer::BooleanBuffer;
use crate::arrow::compute::filter;
use crate::columnar::keys::index_values;
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::predicate::row_test::RowTest;
use crate::columnar::predicate::verdict::Verdict;
use crate::columnar::schema::TableSchema;
use crate::columnar::segment::{BLOCK_ROWS, FilterOutput, FilterResult, Part};
use crate::error::{Error, Result};
use crate::value::Control;
use crate::value::ranges::join;

/// Rows that passed, and the columns that were decoded for the tests.
pub(in crate::columnar) struct Picked {
    /// Ascending, disjoint ranges of rows of the run.
    pub ranges: Vec<Range<usize>>,
    columns: Vec<(usize, ArrayRef)>,
}

/// About how many rows can be read in a row in the time that reading these ranges takes: where they
/// are short, much time goes into finding them in their pages.
pub(in crate::columnar) fn read_cost(ranges: &[Range<usize>]) -> usize {
    const RANGE_ROWS: usize = 256;
    row_count(ranges).saturating_add(ranges.len().saturating_mul(RANGE_ROWS))
}

pub(in crate::columnar) fn row_count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// What summaries show about each block of `rows`.
pub(in crate::columnar) fn verdicts(
    run: &Run,
    predicates: &Predicates,
    rows: &Range<usize>,
) -> Result<Vec<Verdict>> {
    let first = rows.start / BLOCK_ROWS;
    let count = rows.end.div_ceil(BLOCK_ROWS) - first;
    let mut joined = vec![Verdict::All; count];
    let mut narrow_by = |judged: Option<Vec<Verdict>>| match judged {
        Some(judged) => {
            joined.iter_mut().zip(judged).for_each(|(joined, verdict)| {
                *joined = (*joined).min(verdict);
            });
        }
        None => joined.iter_mut().for_each(|joined| *joined = (*joined).min(Verdict::Some)),
    };
    for test in predicates.tests() {
        narrow_by(test.judge(run, first, count)?);
    }
    Ok(joined)
}

/// What summaries leave of rows.
pub(in crate::columnar) struct Pruned {
    /// The rows that are not deleted and that summaries and value indexes do not exclude.
    pub ranges: Vec<Range<usize>>,
    /// For each test whether it must still be evaluated: not if every row of every remaining block
    /// passes. Empty if no row has to be tested.
    pub needed: Vec<bool>,
    /// Row groups in which a value index found the rows.
    pub indexed_groups: u64,
}

/// What summaries and value indexes leave of `rows`.
pub(in crate::columnar) fn prune(
    run: &Run,
    predicates: &Predicates,
    rows: Range<usize>,
) -> Result<Pruned> {
    if predicates.is_empty() || rows.is_empty() {
        return Ok(Pruned { ranges: run.live(rows), needed: Vec::new(), indexed_groups: 0 });
    }
    let first = rows.start / BLOCK_ROWS;
    let count = rows.end.div_ceil(BLOCK_ROWS) - first;
    let mut open = vec![true; count];
    let mut judged: Vec<Option<Vec<Verdict>>> = Vec::new();
    for test in predicates.tests() {
        judged.push(test.judge(run, first, count)?);
    }
    for verdicts in judged.iter().flatten() {
        for (open, verdict) in open.iter_mut().zip(verdicts) {
            *open &= *verdict != Verdict::None;
        }
    }
    let mut needed: Vec<bool> = judged
        .iter()
        .map(|verdicts| {
            verdicts.as_ref().is_none_or(|verdicts| {
                verdicts.iter().zip(&open).any(|(verdict, open)| *open && *verdict != Verdict::All)
            })
        })
        .collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, _) in open.iter().enumerate().filter(|(_, open)| **open) {
        let from = ((first + at) * BLOCK_ROWS).max(rows.start);
        let to = ((first + at + 1) * BLOCK_ROWS).min(rows.end);
        join(&mut ranges, from..to);
    }
    let mut indexed_groups = 0;
    if needed.contains(&true)
        && let Some(left) = narrowed(run, predicates, &rows, &ranges)?
    {
        ranges = left.ranges;
        indexed_groups = left.groups;
        let settled = left.settled.into_iter();
        needed.iter_mut().zip(settled).for_each(|(needed, settled)| *needed &= !settled);
    }
    if run.has_dead() {
        ranges = ranges.into_iter().flat_map(|range| run.live(range)).collect();
    }
    Ok(Pruned { ranges, needed, indexed_groups })
}

/// The parts of `ranges` that a mask over their rows selects.
fn narrow(ranges: &[Range<usize>], mask: &BooleanBuffer) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut ranges = ranges.iter();
    let mut current = ranges.next();
    let mut base = 0;
    for (from, to) in mask.set_slices() {
        let mut from = from;
        while from < to {
            let Some(range) = current else { return out };
            if from >= base + range.len() {
                base += range.len();
                current = ranges.next();
                continue;
            }
            let end = to.min(base + range.len());
            out.push(range.start + (from - base)..range.start + (end - base));
            from = end;
        }
    }
    out
}

/// Which elements of `ranges` are in `narrower`, whose ranges are inside of `ranges`.
fn mask_of(ranges: &[Range<usize>], narrower: &[Range<usize>]) -> BooleanBuffer {
    let mut mask = BooleanBufferBuilder::new(row_count(ranges));
    let mut narrower = narrower.iter().peekable();
    for range in ranges {
        let mut from = range.start;
        while let Some(next) = narrower.peek().filter(|next| next.start < range.end) {
            let (start, end) = (next.start.max(from), next.end.min(range.end));
            mask.append_n(start - from, false);
            mask.append_n(end - start, true);
            from = end;
            if next.end > range.end {
                break;
            }
            narrower.next();
        }
        mask.append_n(range.end - from, false);
    }
    mask.finish()
}

/// The tests that must still be evaluated: those of one column by column, cheap columns first, and
/// those of several columns or of none.
type Open<'p> = (Vec<(usize, Vec<&'p RowTest>)>, Vec<&'p RowTest>);

fn open<'p>(predicates: &'p Predicates, needed: &[bool]) -> Open<'p> {
    let (mut by_column, mut joint): Open<'p> = (Vec::new(), Vec::new());
    for (test, _) in predicates.tests().iter().zip(needed).filter(|(_, needed)| **needed) {
        match test.only_column() {
            None => joint.push(&**test),
            Some((column, _)) => match by_column.iter_mut().find(|(known, _)| *known == column) {
                Some((_, tests)) => tests.push(&**test),
                None => by_column.push((column, vec![&**test])),
            },
        }
    }
    (by_column, joint)
}

/// Evaluates tests on decoded values. Between two tests it stops if the control says so: there may
/// be thousands of them, on long texts.
fn passes(tests: &[&RowTest], part: &Part<'_>, control: &Control) -> Result<BooleanBuffer> {
    let mut all: Option<BooleanBuffer> = None;
    for test in tests {
        if all.is_some() {
            control.check()?;
        }
        let mask = test.evaluate_part(part, control)?;
        all = Some(match all {
            Some(known) => &known & &mask,
            None => mask,
        });
    }
    Ok(all.unwrap_or_else(|| BooleanBuffer::new_set(0)))
}

/// The rows of `ranges` that a mask over them selects, and their values if `values` is given.
fn selected(
    ranges: &[Range<usize>],
    mask: BooleanBuffer,
    wanted: FilterOutput,
    values: Option<&ArrayRef>,
) -> Result<FilterResult> {
    let count = mask.count_set_bits();
    if wanted == FilterOutput::Count {
        return Ok(FilterResult { ranges: Vec::new(), count, values: None });
    }
    let narrower = if count == mask.len() { ranges.to_vec() } else { narrow(ranges, &mask) };
    let values = values
        .map(|array| filter(array, &BooleanArray::new(mask, None)).map_err(misfit))
        .transpose()?;
    Ok(FilterResult { ranges: narrower, count, values })
}

/// Evaluates the tests of one column on the rows of `ranges`.
fn test_column(
    run: &Run,
    schema: &TableSchema,
    column: usize,
    tests: &[&RowTest],
    ranges: &[Range<usize>],
    wanted: FilterOutput,
    control: &Control,
) -> Result<FilterResult> {
    if let RunStorage::Segment(segment) = run.stored()
        && let Some(stored) = run.stored_column(column)
    {
        // The reader of pages takes a mask; the first error is kept aside.
        let failed = RefCell::new(None);
        let test = |part: Part<'_>| {
            passes(tests, &part, control).unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                BooleanBuffer::new_unset(part.len())
            })
        };
        let found = segment.filter(stored, ranges, &test, wanted)?;
        if let Some(error) = failed.take() {
            return Err(error);
        }
        control.check()?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    let batch = run.read(schema, &[column], ranges)?;
    let array = batch.column(0);
    let mask = passes(tests, &Part::Array(array.clone()), control)?;
    control.check()?;
    selected(ranges, mask, wanted, (wanted == FilterOutput::Values).then_some(array))
}

/// Evaluates a test of several columns on the rows of `ranges`.
fn test_joint(
    run: &Run,
    schema: &TableSchema,
    test: &RowTest,
    ranges: &[Range<usize>],
    wanted: FilterOutput,
    control: &Control,
) -> Result<FilterResult> {
    let batch = run.read(schema, &test.columns(), ranges)?;
    let mask = test.evaluate(batch.columns(), row_count(ranges), control)?;
    control.check()?;
    selected(ranges, mask, wanted, None)
}

fn misfit(error: crate::arrow::error::ArrowError) -> Error {
    Error::corrupt("internal error: a filter does not fit its column; report it").with_source(error)
}

/// Narrows the columns kept so far to the rows that pass another test, too.
fn keep_passed(
    columns: &mut [(usize, ArrayRef)],
    ranges: &[Range<usize>],
    found: &FilterResult,
) -> Result<()> {
    if !columns.is_empty() && found.count < row_count(ranges) {
        let mask = BooleanArray::new(mask_of(ranges, &found.ranges), None);
        for (_, array) in columns {
            *array = filter(array, &mask).map_err(misfit)?;
        }
    }
    Ok(())
}

/// Finds the rows of `rows` that pass, and keeps the values of the `wanted` columns that the tests
/// decode. The control is checked between tests.
pub(in crate::columnar) fn pick(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    rows: Range<usize>,
    wanted: &[usize],
    control: &Control,
) -> Result<Picked> {
    pick_pruned(run, schema, predicates, &prune(run, predicates, rows)?, wanted, control)
}

/// [`pick`] of the rows that summaries leave.
pub(in crate::columnar) fn pick_pruned(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    pruned: &Pruned,
    wanted: &[usize],
    control: &Control,
) -> Result<Picked> {
    let Pruned { ranges, needed, .. } = pruned;
    let mut ranges = ranges.clone();
    let mut columns: Vec<(usize, ArrayRef)> = Vec::new();
    let (by_column, joint) = open(predicates, needed);
    for (column, tests) in by_column {
        if ranges.is_empty() {
            break;
        }
        let kept = if wanted.contains(&column) { FilterOutput::Values } else { FilterOutput::Rows };
        let found = test_column(run, schema, column, &tests, &ranges, kept, control)?;
        keep_passed(&mut columns, &ranges, &found)?;
        ranges = found.ranges;
        columns.extend(found.values.map(|values| (column, values)));
    }
    for test in joint {
        if ranges.is_empty() {
            break;
        }
        let found = test_joint(run, schema, test, &ranges, FilterOutput::Rows, control)?;
        keep_passed(&mut columns, &ranges, &found)?;
        ranges = found.ranges;
    }
    Ok(Picked { ranges, columns })
}

/// Counts the rows that pass of those that summaries leave, and decodes no more than the tests
/// need.
pub(in crate::columnar) fn count(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    pruned: &Pruned,
    control: &Control,
) -> Result<usize> {
    let Pruned { ranges, needed, .. } = pruned;
    let mut ranges = ranges.clone();
    let (mut columns, mut joint) = open(predicates, needed);
    // The last test only counts.
    let last_joint = joint.pop();
    let last = if last_joint.is_none() { columns.pop() } else { None };
    for (column, tests) in columns {
        ranges =
            test_column(run, schema, column, &tests, &ranges, FilterOutput::Rows, control)?.ranges;
    }
    for test in joint {
        ranges = test_joint(run, schema, test, &ranges, FilterOutput::Rows, control)?.ranges;
    }
    let found = match (last, last_joint) {
        (Some((column, tests)), _) => {
            test_column(run, schema, column, &tests, &ranges, FilterOutput::Count, control)?
        }
        (None, Some(test)) => test_joint(run, schema, test, &ranges, FilterOutput::Count, control)?,
        (None, None) => return Ok(row_count(&ranges)),
    };
    Ok(found.count)
}

/// Rows with these columns, their index values, and the ranges that they are in.
pub(in crate::columnar) type KeyedRows = (RecordBatch, Vec<i64>, Vec<Range<usize>>);

/// Reads the rows that pass of those that summaries leave; `None` if there are none.
pub(in crate::columnar) fn read_keyed(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    pruned: &Pruned,
    columns: &[usize],
    control: &Control,
) -> Result<Option<KeyedRows>> {
    let mut wanted = columns.to_vec();
    let key_at = columns.iter().position(|&column| column == schema.index()).unwrap_or_else(|| {
        wanted.push(schema.index());
        columns.len()
    });
    let picked = pick_pruned(run, schema, predicates, pruned, &wanted, control)?;
    if row_count(&picked.ranges) == 0 {
        return Ok(None);
    }
    let whole = materialise(run, schema, &picked, &wanted)?;
    let keys = index_values(whole.column(key_at))?.into_owned();
    let batch = whole.project(&(0..columns.len()).collect::<Vec<_>>()).map_err(|error| {
        Error::corrupt("internal error: a projection of columns failed; report it")
            .with_source(error)
    })?;
    Ok(Some((batch, keys, picked.ranges)))
}

/// Returns these columns of the picked rows; decodes those that the tests did not decode.
pub(in crate::columnar) fn materialise(
    run: &Run,
    schema: &TableSchema,
    picked: &Picked,
    columns: &[usize],
) -> Result<RecordBatch> {
    let missing: Vec<usize> = columns
        .iter()
        .copied()
        .filter(|column| picked.columns.iter().all(|(known, _)| known != column))
        .collect();
    if missing.len() == columns.len() {
        return run.read(schema, columns, &picked.ranges);
    }
    let read =
        if missing.is_empty() { None } else { Some(run.read(schema, &missing, &picked.ranges)?) };
    let arrays = columns
        .iter()
        .filter_map(|column| {
            let known = picked
                .columns
                .iter()
                .find(|(known, _)| known == column)
                .map(|(_, array)| array.clone());
            known.or_else(|| {
                let at = missing.iter().position(|other| other == column)?;
                read.as_ref()?.columns().get(at).cloned()
            })
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(row_count(&picked.ranges)));
    RecordBatch::try_new_with_options(schema.project(columns), arrays, &options).map_err(|error| {
        Error::corrupt("the columns of a table do not fit together").with_source(error)
    })
}
