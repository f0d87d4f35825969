//! Columns of the table of steps, as passes over them read them.

use crate::arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, StringArray,
    TimestampMillisecondArray,
};
use crate::arrow::datatypes::{Float64Type, Int64Type};
use crate::error::{Error, Result};
use crate::filter::{Comparison, Constant, Shape};
use crate::model::steps::rows::StepColumn;
use crate::model::steps::stored::StoredStep;

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

    /// A column of times, in milliseconds since 1970 UTC.
    fn times(&self, column: StepColumn) -> Result<&'b TimestampMillisecondArray> {
        let array = self.array(column);
        array.and_then(|array| array.as_primitive_opt()).ok_or_else(damaged)
    }

    /// Reads the member of a step that is in a column.
    ///
    /// # Errors
    /// `Corrupt` for a column that was not asked for, or that is no member.
    pub(super) fn read_member(
        &self,
        column: StepColumn,
        row: usize,
        step: &mut StoredStep,
    ) -> Result<()> {
        use StepColumn as Of;
        let some = |texts| text(texts, row).ok_or_else(damaged);
        let owned = |texts| text(texts, row).map(str::to_owned);
        match column {
            Of::Name => some(self.texts(column)?)?.clone_into(&mut step.name),
            Of::Path => some(self.texts(column)?)?.clone_into(&mut step.path),
            Of::StepId => step.step_id = owned(self.texts(column)?),
            Of::ParentId => step.parent_id = owned(self.texts(column)?),
            Of::StepType => step.step_type = owned(self.texts(column)?),
            Of::StatusType => step.status_type = owned(self.texts(column)?),
            Of::StatusName => step.status_name = owned(self.texts(column)?),
            Of::DataModel => step.data_model = owned(self.texts(column)?),
            Of::StartedAt => step.started_at_ms = self.times(column)?.value(row),
            Of::UpdatedAt => step.updated_at_ms = self.times(column)?.value(row),
            Of::TotalTime => step.total_time = self.numbers(column)?.value(row),
            _ => return Err(damaged()),
        }
        Ok(())
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
