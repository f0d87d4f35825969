//! The index of a file that declares none: the number of each row, so that rows stay in the order
//! of the file.

use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Int64Array};
use stationdb::tables::readers::{ROW_NUMBER, did_you_mean};
use stationdb::tables::{Column, ColumnNote, ColumnType, DataType};
use stationdb::{Error, Result};

/// A column of row numbers with a name that is not among `names`.
pub(crate) fn column(names: &[String]) -> Column {
    let is_free = |name: &String| !names.contains(name);
    let others = (1u64..).map(|at| format!("row_{at}"));
    let name = std::iter::once("row".to_owned()).chain(others).find(is_free).unwrap_or_default();
    let mut column = Column::new(name, DataType::Int64).column_type(ColumnType::Index);
    column.properties.insert(ROW_NUMBER.to_owned(), "true".to_owned());
    column
}

/// What the report says of a column of row numbers.
pub(crate) fn told() -> ColumnNote {
    ColumnNote::new(
        "the number of the row, because no index is declared; name one with indexColumn",
    )
}

/// The numbers of `count` rows from `first`.
pub(crate) fn numbers(first: u64, count: usize) -> ArrayRef {
    let first = i64::try_from(first).unwrap_or(i64::MAX);
    Arc::new(Int64Array::from_iter_values((first..).take(count)))
}

/// Position of the column that the caller names as the index.
///
/// # Errors
/// `InvalidArgument` when there is none, or when its values cannot be an index.
pub(crate) fn index_position(columns: &[Column], name: &str) -> Result<usize> {
    let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let near = did_you_mean(name, names.iter().map(String::as_str));
        Error::invalid(format!(
            "there is no column {name:?} for the index{near}; the columns are {}",
            crate::options::some_of(&names)
        ))
        .at_member("indexColumn")
    })?;
    match columns.get(position) {
        Some(column) if column.data_type.can_be_index() => Ok(position),
        _ => Err(Error::invalid(format!(
            "column {name:?} cannot be the index: its values are neither whole numbers nor times"
        ))
        .at_member("indexColumn")),
    }
}
