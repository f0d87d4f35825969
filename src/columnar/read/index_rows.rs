//! The rows with one index value.

use std::ops::Range;

use super::view::{Run, TableView};
use crate::arrow::array::{ArrayRef, RecordBatch};
use crate::columnar::schema::TableSchema;
use crate::columnar::segment::{BLOCK_ROWS, ColumnSummary};
use crate::error::Result;
use crate::value::ranges::{join, of_numbers};

/// Rows with one index value, from one run.
#[derive(Debug)]
pub(crate) struct IndexRows {
    /// The rows.
    pub batch: RecordBatch,
    /// Their append ordinals.
    pub ordinals: Vec<u64>,
}

/// The rows whose index has this value, with these columns or with all, run by run in order of
/// append.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn index_rows(
    view: &TableView,
    value: i64,
    columns: Option<&[usize]>,
) -> Result<Vec<IndexRows>> {
    let schema = &view.schema;
    let all: Vec<usize> = (0..schema.len()).collect();
    let columns = columns.unwrap_or(&all);
    let mut found = Vec::new();
    for run in view.runs() {
        let ranges = live_rows(run, schema, value, None)?;
        if !ranges.is_empty() {
            let batch = run.read(schema, columns, &ranges)?;
            found.push(IndexRows { batch, ordinals: run.ordinals(&ranges)? });
        }
    }
    Ok(found)
}

/// A number, and a column that the wanted rows have it in.
pub(crate) type Narrow = (usize, i64);

/// The rows of a run whose index has this value. Blocks of rows that cannot have the number of
/// `narrow` are left out.
fn live_rows(
    run: &Run,
    schema: &TableSchema,
    value: i64,
    narrow: Option<Narrow>,
) -> Result<Vec<Range<usize>>> {
    let (least, greatest) = run.index_range();
    if value < least || greatest < value {
        return Ok(Vec::new());
    }
    let rows = run.rows_equal(schema, value)?;
    let Some((column, number)) = narrow else { return Ok(run.live(rows)) };
    let Some(ColumnSummary::Int(levels)) = run.summary(column)? else { return Ok(run.live(rows)) };
    let mut parts = Vec::new();
    let mut from = rows.start;
    while from < rows.end {
        let at = from / BLOCK_ROWS;
        let to = rows.end.min((at + 1) * BLOCK_ROWS);
        let block = levels.blocks().get(at);
        if block.is_none_or(|block| block.min <= number && number <= block.max) {
            join(&mut parts, from..to);
        }
        from = to;
    }
    Ok(parts.into_iter().flat_map(|part| run.live(part)).collect())
}

/// Picks rows that follow each other, by some of their columns.
pub(crate) type IndexPick<'p> = dyn Fn(&[ArrayRef]) -> Result<Option<Range<usize>>> + 'p;

/// Rows that were picked.
#[derive(Debug)]
pub(crate) struct PickedRows {
    /// All columns of the rows.
    pub arrays: Vec<ArrayRef>,
    /// Their append ordinals.
    pub ordinals: Vec<u64>,
}

/// The rows, with all columns, that `pick` picks by these columns from those whose index has this
/// value; of the first run of which it picks any. The first row that it picks has the number of
/// `narrow`.
///
/// # Errors
/// Those of `pick`; `Corrupt`, `Io`.
pub(crate) fn picked_rows(
    view: &TableView,
    value: i64,
    narrow: Narrow,
    columns: &[usize],
    pick: &IndexPick<'_>,
) -> Result<Option<PickedRows>> {
    let schema = &view.schema;
    for run in view.runs() {
        let ranges = live_rows(run, schema, value, Some(narrow))?;
        if ranges.is_empty() {
            continue;
        }
        let looked_at = run.read_arrays(schema, columns, &ranges)?;
        let Some(picked) = pick(&looked_at)? else { continue };
        let rows = ranges.into_iter().flatten().skip(picked.start).take(picked.len());
        let ranges = of_numbers(rows);
        let count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if count == 0 {
            continue;
        }
        let others: Vec<usize> = (0..schema.len()).filter(|at| !columns.contains(at)).collect();
        let mut rest = run.read_arrays(schema, &others, &ranges)?.into_iter();
        let array = |column: usize| match columns.iter().position(|other| *other == column) {
            Some(at) => looked_at.get(at).map(|array| array.slice(picked.start, count)),
            None => rest.next(),
        };
        let arrays = (0..schema.len()).filter_map(array).collect();
        return Ok(Some(PickedRows { arrays, ordinals: run.ordinals(&ranges)? }));
    }
    Ok(None)
}
