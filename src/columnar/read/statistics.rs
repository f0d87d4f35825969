//! What is known of a table's columns without reading sealed rows, for planners of queries.

use serde::Serialize;

use super::view::{RunStorage, TableView};
use crate::arrow::array::{Array, ArrayRef, AsArray};
use crate::arrow::datatypes::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type};
use crate::columnar::kernels::{Sample, extremes_where};
use crate::columnar::segment::{ColumnSummary, Levels, Scale};
use crate::columnar::ticks::ticks;
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

/// The sums over the runs of one column.
struct Sums<T> {
    nulls: u64,
    nans: u64,
    range: Option<(T, T)>,
}

impl<T: Scale> Sums<T> {
    fn new() -> Self {
        Self { nulls: 0, nans: 0, range: None }
    }

    fn add_range(&mut self, min: T, max: T) {
        self.range = Some(match self.range {
            None => (min, max),
            Some((low, high)) => {
                (if min < low { min } else { low }, if max > high { max } else { high })
            }
        });
    }

    fn add_levels(&mut self, levels: &Levels<T>) {
        for block in levels.blocks() {
            self.nulls += u64::from(block.nulls);
            self.nans += u64::from(block.nans);
        }
        if let Some(found) = levels.extremes(0..levels.blocks().len()) {
            self.add_range(found.min, found.max);
        }
    }

    fn add_array<P>(&mut self, array: &ArrayRef, widen: impl Fn(P::Native) -> T)
    where
        P: ArrowPrimitiveType,
        P::Native: Sample,
    {
        let values = array.as_primitive::<P>();
        self.nulls += values.null_count() as u64;
        #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
        let nans = values.iter().flatten().filter(|value| *value != *value).count();
        self.nans += nans as u64;
        if let Some(found) = extremes_where(values.values(), |at| values.is_valid(at)) {
            self.add_range(widen(found.min), widen(found.max));
        }
    }

    fn add_ticks(&mut self, array: &ArrayRef)
    where
        T: From<i64>,
    {
        self.nulls += array.null_count() as u64;
        if let Some(found) = extremes_where(ticks(array), |at| array.is_valid(at)) {
            self.add_range(found.min.into(), found.max.into());
        }
    }

    fn finish(self, column: &Column) -> ColumnStatistics
    where
        Number: From<T>,
    {
        ColumnStatistics {
            name: column.name.clone(),
            null_count: Some(self.nulls),
            nan_count: Some(self.nans),
            min: self.range.map(|(min, _)| min.into()),
            max: self.range.map(|(_, max)| max.into()),
        }
    }
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

/// The statistics of a column of numbers. `levels` takes the summary of a segment, `add` the values
/// of buffered rows.
fn numbers<T: Scale>(
    view: &TableView,
    position: usize,
    column: &Column,
    levels: fn(&ColumnSummary) -> Option<&Levels<T>>,
    add: impl Fn(&mut Sums<T>, &ArrayRef),
) -> Result<ColumnStatistics>
where
    Number: From<T>,
{
    let mut sums = Sums::new();
    for run in view.runs() {
        // Summaries count the rows that are deleted, too.
        if run.has_dead() {
            return Ok(unknown(column));
        }
        if run.stored_column(position).is_none() {
            sums.nulls += run.live_count() as u64;
            continue;
        }
        match run.stored() {
            RunStorage::Segment(_) => match run.summary(position)?.and_then(levels) {
                Some(levels) => sums.add_levels(levels),
                None => return Ok(unknown(column)),
            },
            RunStorage::Memory(run) => match run.batch().columns().get(position) {
                Some(array) => add(&mut sums, array),
                None => return Ok(unknown(column)),
            },
        }
    }
    Ok(sums.finish(column))
}

fn ints(summary: &ColumnSummary) -> Option<&Levels<i64>> {
    match summary {
        ColumnSummary::Int(levels) => Some(levels),
        ColumnSummary::Float(_) => None,
    }
}

fn doubles(summary: &ColumnSummary) -> Option<&Levels<f64>> {
    match summary {
        ColumnSummary::Float(levels) => Some(levels),
        ColumnSummary::Int(_) => None,
    }
}

fn integers(view: &TableView, position: usize, column: &Column) -> Result<ColumnStatistics> {
    numbers(view, position, column, ints, |sums, array| match column.data_type {
        DataType::Int32 => sums.add_array::<Int32Type>(array, i64::from),
        DataType::Int64 => sums.add_array::<Int64Type>(array, |value| value),
        _ => sums.add_ticks(array),
    })
}

fn floats(view: &TableView, position: usize, column: &Column) -> Result<ColumnStatistics> {
    numbers(view, position, column, doubles, |sums, array| match column.data_type {
        DataType::Float32 => sums.add_array::<Float32Type>(array, f64::from),
        _ => sums.add_array::<Float64Type>(array, |value| value),
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
        DataType::Float32 | DataType::Float64 => floats(view, position, column),
        _ => integers(view, position, column),
    };
    Ok(TableStatistics {
        row_count: view.row_count(),
        index: view.schema.column(view.schema.index())?.name.clone(),
        overlapping_runs: view.overlapping_runs() as u64,
        columns: columns.map(of).collect::<Result<_>>()?,
    })
}
