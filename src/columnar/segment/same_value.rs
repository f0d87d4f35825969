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
                let bits = if value {
                    BooleanBuffer::new_set(rows)
                } else {
                    BooleanBuffer::new_unset(rows)
                };
                Some(Arc::new(BooleanArray::new(bits, None)))
            }
            Self::Int(value) if data_type == DataType::Int32 => i32::try_from(value)
                .ok()
                .and_then(|value| array_of(data_type, Buffer::from_vec(vec![value; rows]), None)),
            Self::Int(value) => array_of(data_type, Buffer::from_vec(vec![value; rows]), None),
            Self::Text(text) => {
                let bytes = text.len().checked_mul(rows);
                let fits = bytes.is_some_and(|bytes| i32::try_from(bytes).is_ok());
                fits.then(|| Arc::new(StringArray::new_repeated(text, rows)) as ArrayRef)
            }
        };
        array.ok_or_else(|| Error::corrupt("a segment has statistics that do not fit its columns"))
    }
}

fn same<'s, T: PartialEq + ?Sized>(least: &'s T, greatest: &'s T) -> Option<&'s T> {
    (least == greatest).then_some(least)
}

#[cfg(test)]
mod tests {
    use parquet::data_type::ByteArray;
    use parquet::file::statistics::ValueStatistics;

    use super::*;
    use crate::arrow::array::{Array as _, AsArray as _};
    use crate::arrow::datatypes::{Int32Type, TimestampMillisecondType};

    fn ints(least: i64, greatest: i64, nulls: Option<u64>) -> Statistics {
        Statistics::int64(Some(least), Some(greatest), None, nulls, false)
    }

    fn text(text: &str) -> Option<ByteArray> {
        Some(ByteArray::from(text))
    }

    #[test]
    fn one_value_is_told_only_by_statistics_that_leave_no_other() {
        let same = |statistics: &Statistics, data_type| {
            SameValue::of(statistics, data_type, 9).map(|same| format!("{same:?}"))
        };
        let none = None::<String>;
        let int = DataType::Int64;
        assert_eq!(same(&ints(5, 5, Some(0)), int), Some("Int(5)".to_owned()));
        assert_eq!(same(&ints(5, 5, Some(0)), DataType::Timestamp), Some("Int(5)".to_owned()));
        assert_eq!(same(&ints(5, 6, Some(0)), int), none);
        assert_eq!(same(&ints(5, 5, Some(1)), int), none);
        assert_eq!(same(&ints(5, 5, None), int), none);
        assert_eq!(same(&ints(5, 6, Some(9)), int), Some("Null".to_owned()));
        let bools =
            |greatest| Statistics::boolean(Some(false), Some(greatest), None, Some(0), false);
        assert_eq!(same(&bools(false), DataType::Bool), Some("Bool(false)".to_owned()));
        assert_eq!(same(&bools(true), DataType::Bool), none);
        let texts = |least, greatest| Statistics::byte_array(least, greatest, None, Some(0), false);
        let string = DataType::String;
        assert_eq!(same(&texts(text("ä"), text("ä")), string), Some("Text(\"ä\")".to_owned()));
        assert_eq!(same(&texts(text("a"), text("ab")), string), none);
        let cut = ValueStatistics::new(text("a"), text("a"), None, Some(0), false);
        let cut = Statistics::ByteArray(cut.with_max_is_exact(false));
        assert_eq!(same(&cut, string), none);
        // The rows may have NaN, and both zeros.
        let floats = Statistics::double(Some(0.0), Some(0.0), None, Some(0), false);
        assert_eq!(same(&floats, DataType::Float64), none);
    }

    #[test]
    fn arrays_have_the_value_in_each_row() {
        let times = SameValue::Int(7).array(DataType::Timestamp, 3).unwrap();
        assert_eq!(times.as_primitive::<TimestampMillisecondType>().values(), &[7, 7, 7]);
        let ints = SameValue::Int(-7).array(DataType::Int32, 2).unwrap();
        assert_eq!(ints.as_primitive::<Int32Type>().values(), &[-7, -7]);
        let texts = SameValue::Text("ä").array(DataType::String, 2).unwrap();
        assert_eq!(texts.as_string::<i32>(), &StringArray::from(vec!["ä", "ä"]));
        let bools = SameValue::Bool(true).array(DataType::Bool, 2).unwrap();
        assert_eq!(bools.as_boolean(), &BooleanArray::from(vec![true, true]));
        let nulls = SameValue::Null.array(DataType::String, 2).unwrap();
        assert_eq!((nulls.len(), nulls.null_count()), (2, 2));
        assert!(SameValue::Int(1).array(DataType::String, 1).is_err());
        assert!(SameValue::Int(i64::MAX).array(DataType::Int32, 1).is_err());
    }
}
