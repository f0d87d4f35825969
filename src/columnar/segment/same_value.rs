//! Columns with one value in all rows of a row group, which the statistics in the footer tell. No
//! page of them has to be read.
//!
//! What must hold: only statistics that leave no other value are used. Those of floats leave out
//! NaN, and do not tell the two zeros apart.

use std::sync::Arc;

use parquet::file::statistics::Statistics;

use crate::arrow::array::{ArrayRef, BooleanArray, StringArray, new_null_array};
use crate::arrow::buffer::{BooleanBuffer, Buffer};
use crate::columnar::column_slice::array_of;
use crate::columnar::schema::arrow_type;
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;

/// The value of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SameValue<'s> {
    Null,
    Bool(bool),
    Int(i64),
    Text(&'s str),
}

impl<'s> SameValue<'s> {
    /// The value of `rows` rows with these statistics, if they have only one.
    pub(super) fn of(statistics: &'s Statistics, data_type: DataType, rows: u64) -> Option<Self> {
        let nulls = statistics.null_count_opt()?;
        if nulls == rows {
            return Some(Self::Null);
        }
        if nulls != 0 || !statistics.min_is_exact() || !statistics.max_is_exact() {
            return None;
        }
        match (statistics, data_type) {
            (Statistics::Boolean(of), DataType::Bool) => {
                same(of.min_opt()?, of.max_opt()?).map(|value| Self::Bool(*value))
            }
            (Statistics::Int32(of), DataType::Int32) => {
                same(of.min_opt()?, of.max_opt()?).map(|value| Self::Int(i64::from(*value)))
            }
            (Statistics::Int64(of), data_type) if data_type.can_be_index() => {
                same(of.min_opt()?, of.max_opt()?).map(|value| Self::Int(*value))
            }
            (Statistics::ByteArray(of), DataType::String) => {
                let text = same(of.min_bytes_opt()?, of.max_bytes_opt()?)?;
                std::str::from_utf8(text).ok().map(Self::Text)
            }
            _ => None,
        }
    }

    /// An array of so many rows.
    ///
    /// # Errors
    /// `Corrupt` for a value of another type.
    pub(super) fn array(self, data_type: DataType, rows: usize) -> Result<ArrayRef> {
        let array: Option<ArrayRef> = match self {
            Self::Null => Some(new_null_array(&arrow_type(data_type), rows)),
            Self::Bool(value) => {
                let bits = match value {
                    true => BooleanBuffer::new_set(rows),
                    false => BooleanBuffer::new_unset(rows),
                };
                Some(Arc::new(BooleanArray::new(bits, None)))
            }
            Self::Int(value) if data_type == DataType::Int32 => i32::try_from(value)
                .ok()
                .and_then(|value| array_of(data_type, Buffer::from_vec(vec![value; rows]), None)),
            Self::Int(value) => array_of(data_type, Buffer::from_vec(vec![value; rows]), None),
            Self::Text(text) => {
                Some(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, rows))))
            }
        };
        array.ok_or_else(|| {
            Error::corrupt("a segment has statistics of other types than its columns")
        })
    }
}

fn same<'s, T: PartialEq + ?Sized>(least: &'s T, greatest: &'s T) -> Option<&'s T> {
    (least == greatest).then_some(least)
}
