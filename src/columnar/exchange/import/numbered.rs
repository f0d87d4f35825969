//! The index of a file that declares none: the number of each row, so that rows stay in the order
//! of the file.

use std::sync::Arc;

use crate::arrow::array::{ArrayRef, Int64Array};
use crate::error::{Error, Result};
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::value::nearest::did_you_mean;

/// The property of an index column that the import fills with the numbers of rows.
pub(crate) const ROW_NUMBER: &str = "rowNumber";

/// What the report says of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnNote {
    pub(crate) why: String,
    pub(crate) unit: Option<String>,
    pub(crate) zone: Option<String>,
}

/// A column of row numbers with a name that is not among `names`.
pub(super) fn column(names: &[String]) -> Column {
    let is_free = |name: &String| !names.contains(name);
    let others = (1u64..).map(|at| format!("row_{at}"));
    let name = std::iter::once("row".to_owned()).chain(others).find(is_free).unwrap_or_default();
    Column {
        name,
        data_type: DataType::Int64,
        column_type: ColumnType::Index,
        properties: [(ROW_NUMBER.to_owned(), "true".to_owned())].into(),
    }
}

/// Whether an import fills this column when its file does not have it.
pub(crate) fn is_numbered(column: &Column) -> bool {
    column.column_type == ColumnType::Index
        && column.data_type == DataType::Int64
        && column.properties.get(ROW_NUMBER).is_some_and(|value| value == "true")
}

/// What the report says of a column of row numbers.
pub(super) fn told() -> ColumnNote {
    ColumnNote {
        why: "the number of the row, because no index is declared; name one with indexColumn"
            .to_owned(),
        ..ColumnNote::default()
    }
}

/// The numbers of `count` rows from `first`.
pub(super) fn numbers(first: u64, count: usize) -> ArrayRef {
    let first = i64::try_from(first).unwrap_or(i64::MAX);
    Arc::new(Int64Array::from_iter_values((first..).take(count)))
}

/// Position of the column that the caller names as the index.
///
/// # Errors
/// `InvalidArgument` when there is none, or when its values cannot be an index.
pub(super) fn index_position(columns: &[Column], name: &str) -> Result<usize> {
    let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let near = did_you_mean(name, names.iter().map(String::as_str));
        Error::invalid(format!(
            "there is no column {name:?} for the index{near}; the columns are {}",
            super::options::some_of(&names)
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
