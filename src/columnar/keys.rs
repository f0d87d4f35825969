//! Index values as 64-bit integers, whatever integer type the index column has.

use std::borrow::Cow;

use super::column_slice::{ColumnSlice, WideNumbers};
use crate::arrow::array::Array;
use crate::error::{Error, Result};

/// The values of an index column.
///
/// # Errors
/// `Corrupt` when the array has a type that no index column has.
pub(crate) fn index_values(array: &dyn Array) -> Result<Cow<'_, [i64]>> {
    match ColumnSlice::of(array).and_then(|slice| slice.wide()) {
        Some(WideNumbers::Ints(values)) => Ok(values),
        _ => Err(Error::corrupt(format!(
            "an index column has the type {}, which no index column can have",
            array.data_type()
        ))),
    }
}
