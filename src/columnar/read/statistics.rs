//! What is known of a table's columns without reading sealed rows, for planners of queries.

use std::cmp::Ordering;

use serde::Serialize;

use super::view::{Run, RunStorage, TableView};
use crate::arrow::array::Array;
use crate::columnar::column_slice::{Level, array_extremes, nan_count};
use crate::columnar::kernels::Extremes;
use crate::columnar::segment::Totals;
use crate::error::Result;
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::value::Number;

/// What is known of a table without reading its sealed rows. Exact, for one consistent state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TableStatistics {
    /// Number of rows.
    pub row_count: u64,
    /// Name of the index column, in whose order scans return rows.
    pub index: String,
    /// Number of runs that a scan in the order of the index merges; 0 if it reads them one after
    /// the other.
    pub overlapping_runs: u64,
    /// The columns, in order of creation.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of a column. A member is absent if it is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// Name of the column.
    pub name: String,
    /// Number of nulls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_count: Option<u64>,
    /// Number of NaNs; 0 for columns of other types than floats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nan_count: Option<u64>,
    /// The smallest value that is neither null nor NaN: the count since 1970 in the unit of a time
    /// column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Number>,
    /// The largest value that is neither null nor NaN. Where NaN counts as greater than every
    /// number, as in SQL, it is the maximum only if `nan_count` is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Number>,
}

/// What is known of a column without summaries.
fn unknown(column: &Column) -> ColumnStatistics {
    ColumnStatistics {
        name: column.name.clone(),
        null_count: (column.column_type != ColumnType::Nullable).then_some(0),
        nan_count: (!column.data_type.is_float()).then_some(0),
        ..ColumnStatistics::default()
    }
}

/// What summaries and buffered rows show of a column of numbers. They count the rows that are
/// deleted, too: no deleted row may change what is told.
#[derive(Default)]
struct Known {
    nulls: LiveCount,
    nans: LiveCount,
    min: Option<Bound>,
    max: Option<Bound>,
}

/// A count of rows that are not deleted.
#[derive(Clone, Copy)]
enum LiveCount {
    Count(u64),
    /// Some of the rows that were counted may be deleted.
    Unknown,
}

/// An extreme, and whether a row that is not deleted has it.
type Bound = (Level, bool);

impl Default for LiveCount {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl LiveCount {
    /// Adds the count of a run. Where none is stored, none is left.
    fn add(&mut self, stored: u64, run: &Run) {
        *self = match *self {
            Self::Count(count) if stored == 0 || !run.has_dead() => Self::Count(count + stored),
            _ => Self::Unknown,
        };
    }

    fn count(self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(count),
            Self::Unknown => None,
        }
    }
}

/// The better of two extremes; of equal ones, that of a row that is there.
fn better(known: Option<Bound>, next: Bound, order: Ordering) -> Bound {
    match known {
        Some(known) if known.0 == next.0 => (known.0, known.1 || next.1),
        Some(known) if next.0.partial_cmp(&known.0) != Some(order) => known,
        _ => next,
    }
}

/// The extremes of stored rows of a run.
fn bounds(found: &Extremes<Level>, run: &Run) -> (Bound, Bound) {
    let is_live = |row: usize| !run.live(row..row + 1).is_empty();
    ((found.min, is_live(found.min_at)), (found.max, is_live(found.max_at)))
}

/// The extremes of a column of a segment.
fn segment_bounds(run: &Run, position: usize, totals: &Totals) -> Result<Option<(Bound, Bound)>> {
    if !run.has_dead() {
        return Ok(totals.range.map(|(min, max)| ((min, true), (max, true))));
    }
    let summary = run.summary(position)?;
    let found = summary.and_then(|summary| summary.extremes(0..summary.len()));
    Ok(found.map(|found| bounds(&found, run)))
}

impl Known {
    /// Adds the extremes of the stored rows of a run.
    fn offer(&mut self, (min, max): (Bound, Bound)) {
        self.min = Some(better(self.min, min, Ordering::Less));
        self.max = Some(better(self.max, max, Ordering::Greater));
    }
}

/// The statistics of a column of numbers.
fn numbers(view: &TableView, position: usize, column: &Column) -> Result<ColumnStatistics> {
    let mut known = Known::default();
    for run in view.runs() {
        if run.stored_column(position).is_none() {
            if let LiveCount::Count(count) = &mut known.nulls {
                *count += run.live_count() as u64;
            }
            continue;
        }
        let found = match run.stored() {
            RunStorage::Segment(_) => {
                let Some(totals) = run.totals(position)? else { return Ok(unknown(column)) };
                known.nulls.add(totals.nulls, run);
                known.nans.add(totals.nans, run);
                segment_bounds(run, position, &totals)?
            }
            RunStorage::Memory(memory) => {
                let array = memory.batch().columns().get(position);
                let found = array.and_then(|array| array_extremes(array, 0, array.len()));
                let (Some(array), Some(found)) = (array, found) else {
                    return Ok(unknown(column));
                };
                known.nulls.add(array.null_count() as u64, run);
                known.nans.add(nan_count(array) as u64, run);
                found.map(|found| bounds(&found, run))
            }
        };
        if let Some(found) = found {
            known.offer(found);
        }
    }
    let number = |bound: Option<Bound>| match bound.filter(|(_, is_live)| *is_live)?.0 {
        Level::Int(value) => Some(Number::Int(value)),
        Level::Float(value) => Some(Number::Float(value)),
    };
    Ok(ColumnStatistics {
        name: column.name.clone(),
        null_count: known.nulls.count(),
        nan_count: known.nans.count(),
        min: number(known.min),
        max: number(known.max),
    })
}

/// The statistics of a view.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn statistics(view: &TableView) -> Result<TableStatistics> {
    let columns = view.schema.columns().iter().enumerate();
    let of = |(position, column): (usize, &Column)| match column.data_type {
        DataType::Bool | DataType::String => Ok(unknown(column)),
        _ => numbers(view, position, column),
    };
    Ok(TableStatistics {
        row_count: view.row_count(),
        index: view.schema.column(view.schema.index())?.name.clone(),
        overlapping_runs: view.overlapping_runs() as u64,
        columns: columns.map(of).collect::<Result<_>>()?,
    })
}
