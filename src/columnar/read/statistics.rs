//! What is known of a table's columns without reading sealed rows, for planners of queries.

use serde::Serialize;

use super::view::{RunStorage, TableView};
use crate::arrow::array::Array;
use crate::columnar::column_slice::{Level, array_extremes, nan_count};
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

/// The statistics of a column of numbers.
fn numbers(view: &TableView, position: usize, column: &Column) -> Result<ColumnStatistics> {
    let (mut nulls, mut nans, mut range) = (0, 0, None);
    for run in view.runs() {
        // Summaries count the rows that are deleted, too.
        if run.has_dead() {
            return Ok(unknown(column));
        }
        if run.stored_column(position).is_none() {
            nulls += run.live_count() as u64;
            continue;
        }
        let found = match run.stored() {
            RunStorage::Segment(_) => {
                let Some(totals) = run.totals(position)? else { return Ok(unknown(column)) };
                nulls += totals.nulls;
                nans += totals.nans;
                totals.range
            }
            RunStorage::Memory(run) => {
                let array = run.batch().columns().get(position);
                let found = array.and_then(|array| array_extremes(array, 0, array.len()));
                let (Some(array), Some(found)) = (array, found) else {
                    return Ok(unknown(column));
                };
                nulls += array.null_count() as u64;
                nans += nan_count(array) as u64;
                found.map(|found| (found.min, found.max))
            }
        };
        if let Some((min, max)) = found {
            let (low, high): (Level, Level) = range.unwrap_or((min, max));
            range = Some((low.least(min), high.greatest(max)));
        }
    }
    let number = |level| match level {
        Level::Int(value) => Number::Int(value),
        Level::Float(value) => Number::Float(value),
    };
    Ok(ColumnStatistics {
        name: column.name.clone(),
        null_count: Some(nulls),
        nan_count: Some(nans),
        min: range.map(|(min, _)| number(min)),
        max: range.map(|(_, max)| number(max)),
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
