//! One read unit: prune by summaries, filter on the fewest columns, then decode the other columns
//! for the rows that are left.

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, RecordBatchOptions};
use arrow::buffer::BooleanBuffer;
use arrow::compute::filter;

use super::predicate::{Predicate, Predicates, Verdict};
use super::schema::TableSchema;
use super::segment::{BLOCK_ROWS, ColumnSummary, Filtered, Part, Wanted};
use super::view::{Run, Stored};
use crate::error::{Error, Result};
use crate::value::Control;

/// Rows that passed, and the columns that were decoded for the tests.
pub(super) struct Picked {
    /// Ascending, disjoint ranges of rows of the run.
    pub ranges: Vec<Range<usize>>,
    columns: Vec<(usize, ArrayRef)>,
}

pub(super) fn row_count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

/// The ranges of `rows` that are not deleted and that summaries do not exclude, and for each
/// predicate whether it must still be evaluated: not if every row of every remaining block passes.
pub(super) fn prune(
    run: &Run,
    predicates: &Predicates,
    rows: Range<usize>,
) -> Result<(Vec<Range<usize>>, Vec<bool>)> {
    let first = rows.start / BLOCK_ROWS;
    let count = rows.end.div_ceil(BLOCK_ROWS) - first;
    let mut open = vec![true; count];
    let mut judged: Vec<Option<Vec<Verdict>>> = Vec::new();
    for predicate in predicates.iter() {
        let verdicts: Option<Vec<Verdict>> = match run.summary(predicate.column)? {
            None => None,
            Some(ColumnSummary::Int(levels)) => levels
                .blocks()
                .get(first..first + count)
                .map(|blocks| blocks.iter().map(|block| predicate.judge_int(block)).collect()),
            Some(ColumnSummary::Float(levels)) => levels
                .blocks()
                .get(first..first + count)
                .map(|blocks| blocks.iter().map(|block| predicate.judge_float(block)).collect()),
        };
        for (open, verdict) in open.iter_mut().zip(verdicts.iter().flatten()) {
            *open &= *verdict != Verdict::None;
        }
        judged.push(verdicts);
    }
    let needed = judged
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
        match ranges.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ => ranges.push(from..to),
        }
    }
    if run.has_dead() {
        ranges = ranges.into_iter().flat_map(|range| run.live(range)).collect();
    }
    Ok((ranges, needed))
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

/// The tests that must still be evaluated, by column, cheap columns first.
fn by_column(predicates: &Predicates, needed: Vec<bool>) -> Vec<(usize, Vec<&Predicate>)> {
    let mut out: Vec<(usize, Vec<&Predicate>)> = Vec::new();
    for (predicate, _) in predicates.iter().zip(needed).filter(|(_, needed)| *needed) {
        match out.iter_mut().find(|(column, _)| *column == predicate.column) {
            Some((_, tests)) => tests.push(predicate),
            None => out.push((predicate.column, vec![predicate])),
        }
    }
    out
}

/// Evaluates tests on decoded values. Between two tests it stops if the control says so: there may
/// be thousands of them, on long texts. The mask is then meaningless, so the caller must check the
/// control again.
fn passes(tests: &[&Predicate], part: &Part<'_>, control: &Control) -> BooleanBuffer {
    let mut all: Option<BooleanBuffer> = None;
    for test in tests {
        if all.is_some() && control.check().is_err() {
            break;
        }
        let mask = test.evaluate_part(part);
        all = Some(match all {
            Some(known) => &known & &mask,
            None => mask,
        });
    }
    all.unwrap_or_else(|| BooleanBuffer::new_set(0))
}

/// Evaluates the tests of one column on the rows of `ranges`.
fn test_column(
    run: &Run,
    schema: &TableSchema,
    column: usize,
    tests: &[&Predicate],
    ranges: &[Range<usize>],
    wanted: Wanted,
    control: &Control,
) -> Result<Filtered> {
    if let Stored::Segment(segment) = run.stored()
        && let Some(stored) = run.stored_column(column)
        && let Some(found) =
            segment.filter(stored, ranges, &|part| passes(tests, &part, control), wanted)?
    {
        control.check()?;
        return Ok(found);
    }
    let batch = run.read(schema, &[column], ranges)?;
    let array = batch.column(0);
    let mask = passes(tests, &Part::Array(array.clone()), control);
    control.check()?;
    let count = mask.count_set_bits();
    if wanted == Wanted::Count {
        return Ok(Filtered { ranges: Vec::new(), count, values: None });
    }
    let narrower = if count == mask.len() { ranges.to_vec() } else { narrow(ranges, &mask) };
    let values = match wanted {
        Wanted::Values => Some(filter(array, &BooleanArray::new(mask, None)).map_err(misfit)?),
        _ => None,
    };
    Ok(Filtered { ranges: narrower, count, values })
}

fn misfit(error: arrow::error::ArrowError) -> Error {
    Error::corrupt("internal error: a filter does not fit its column; report it").with_source(error)
}

/// Finds the rows of `rows` that pass, and keeps the values of the `wanted` columns that the tests
/// decode. The control is checked between tests.
pub(super) fn pick(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    rows: Range<usize>,
    wanted: &[usize],
    control: &Control,
) -> Result<Picked> {
    if predicates.is_empty() || rows.is_empty() {
        return Ok(Picked { ranges: run.live(rows), columns: Vec::new() });
    }
    let (mut ranges, needed) = prune(run, predicates, rows)?;
    let mut columns: Vec<(usize, ArrayRef)> = Vec::new();
    for (column, tests) in by_column(predicates, needed) {
        if ranges.is_empty() {
            break;
        }
        let kept = if wanted.contains(&column) { Wanted::Values } else { Wanted::Rows };
        let found = test_column(run, schema, column, &tests, &ranges, kept, control)?;
        // The columns kept so far are narrowed to the rows that pass this test, too.
        if !columns.is_empty() && found.count < row_count(&ranges) {
            let mask = BooleanArray::new(mask_of(&ranges, &found.ranges), None);
            for (_, array) in &mut columns {
                *array = filter(array, &mask).map_err(misfit)?;
            }
        }
        ranges = found.ranges;
        columns.extend(found.values.map(|values| (column, values)));
    }
    Ok(Picked { ranges, columns })
}

/// Counts the rows of `rows` that pass, and decodes no more than the tests need.
pub(super) fn count(
    run: &Run,
    schema: &TableSchema,
    predicates: &Predicates,
    rows: Range<usize>,
    control: &Control,
) -> Result<usize> {
    if predicates.is_empty() || rows.is_empty() {
        return Ok(row_count(&run.live(rows)));
    }
    let (mut ranges, needed) = prune(run, predicates, rows)?;
    let mut columns = by_column(predicates, needed);
    let Some((last, last_tests)) = columns.pop() else { return Ok(row_count(&ranges)) };
    for (column, tests) in columns {
        ranges = test_column(run, schema, column, &tests, &ranges, Wanted::Rows, control)?.ranges;
    }
    Ok(test_column(run, schema, last, &last_tests, &ranges, Wanted::Count, control)?.count)
}

/// Returns these columns of the picked rows; decodes those that the tests did not decode.
pub(super) fn materialise(
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
