//! Columns of the table of steps, as passes over them read them.

use crate::arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StringArray,
};
use crate::arrow::datatypes::{Float64Type, Int64Type};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, Shape};
use crate::model::steps::rows::StepColumn;

pub(in crate::services::results) fn damaged() -> Error {
    Error::corrupt("the table of steps is damaged; restore the store from a backup")
}

/// A test of the texts of a column.
pub(in crate::services::results) fn equals(column: StepColumn, value: &str) -> Shape {
    Shape::Compare(column as usize, Comparison::Eq, Constant::Text(value.into()))
}

/// The arrays of the columns that were asked for.
#[derive(Clone, Copy)]
pub(in crate::services::results) struct Arrays<'b> {
    arrays: &'b [ArrayRef],
    columns: Option<&'b [StepColumn]>,
}

impl<'b> Arrays<'b> {
    /// The arrays of these columns.
    pub(in crate::services::results) fn new(
        arrays: &'b [ArrayRef],
        columns: &'b [StepColumn],
    ) -> Self {
        Self { arrays, columns: Some(columns) }
    }

    /// The arrays of all columns.
    pub(super) fn of_all(arrays: &'b [ArrayRef]) -> Self {
        Self { arrays, columns: None }
    }

    /// A column; `None` if it was not asked for.
    pub(super) fn array(&self, column: StepColumn) -> Option<&'b ArrayRef> {
        let at = match self.columns {
            Some(columns) => columns.iter().position(|known| *known == column)?,
            None => column as usize,
        };
        self.arrays.get(at)
    }

    /// A column of integers.
    pub(in crate::services::results) fn ints(&self, column: StepColumn) -> Result<&'b Int64Array> {
        let array = self.array(column).and_then(|array| array.as_primitive_opt::<Int64Type>());
        array.ok_or_else(damaged)
    }

    /// A column of numbers.
    pub(in crate::services::results) fn numbers(
        &self,
        column: StepColumn,
    ) -> Result<&'b Float64Array> {
        let array = self.array(column).and_then(|array| array.as_primitive_opt::<Float64Type>());
        array.ok_or_else(damaged)
    }

    /// A column of texts; `None` if it was not asked for.
    pub(in crate::services::results) fn texts(
        &self,
        column: StepColumn,
    ) -> Result<Option<&'b StringArray>> {
        match self.array(column) {
            None => Ok(None),
            Some(array) => array.as_string_opt::<i32>().map(Some).ok_or_else(damaged),
        }
    }
}

/// The text of a row, if the column was asked for and the row has one.
pub(in crate::services::results) fn text(texts: Option<&StringArray>, row: usize) -> Option<&str> {
    texts.filter(|texts| !texts.is_null(row)).map(|texts| texts.value(row))
}
