//! Index values as 64-bit integers, whatever integer type the index column has.

use std::borrow::Cow;

use super::ticks::ticks;
use crate::arrow::array::{Array, AsArray};
use crate::arrow::datatypes::{DataType, Int32Type, Int64Type};
use crate::error::{Error, Result};

/// The values of an index column.
///
/// # Errors
/// `Corrupt` when the array has a type that no index column has.
pub(crate) fn index_values(array: &dyn Array) -> Result<Cow<'_, [i64]>> {
    Ok(match array.data_type() {
        DataType::Int32 => Cow::Owned(
            array.as_primitive::<Int32Type>().values().iter().copied().map(i64::from).collect(),
        ),
        DataType::Int64 => Cow::Borrowed(array.as_primitive::<Int64Type>().values()),
        DataType::Timestamp(..) => Cow::Borrowed(ticks(array)),
        other => {
            return Err(Error::corrupt(format!(
                "an index column has the type {other}, which no index column can have"
            )));
        }
    })
}
