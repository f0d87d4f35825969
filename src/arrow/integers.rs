//! Whole numbers of every width as INT64, with the counts of times and dates.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, Int64Array};
use arrow_schema::{DataType, TimeUnit};

/// Whole numbers, and the counts of times and dates, as INT64. A number above its range becomes
/// null. `None` for an array of another type.
#[must_use]
pub fn to_int64(array: &dyn Array) -> Option<Int64Array> {
    fn widen<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Int64Array {
        array.as_primitive::<T>().unary(Into::into)
    }
    fn counts<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Int64Array {
        array.as_primitive::<T>().reinterpret_cast()
    }
    Some(match array.data_type() {
        DataType::Int8 => widen::<Int8Type>(array),
        DataType::Int16 => widen::<Int16Type>(array),
        DataType::Int32 => widen::<Int32Type>(array),
        DataType::UInt8 => widen::<UInt8Type>(array),
        DataType::UInt16 => widen::<UInt16Type>(array),
        DataType::UInt32 => widen::<UInt32Type>(array),
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().unary_opt(|value| i64::try_from(value).ok())
        }
        DataType::Int64 => array.as_primitive::<Int64Type>().clone(),
        DataType::Date32 => widen::<Date32Type>(array),
        DataType::Date64 => counts::<Date64Type>(array),
        DataType::Time32(TimeUnit::Second) => widen::<Time32SecondType>(array),
        DataType::Time32(_) => widen::<Time32MillisecondType>(array),
        DataType::Time64(TimeUnit::Microsecond) => counts::<Time64MicrosecondType>(array),
        DataType::Time64(_) => counts::<Time64NanosecondType>(array),
        DataType::Timestamp(TimeUnit::Second, _) => counts::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => counts::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => counts::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => counts::<TimestampNanosecondType>(array),
        _ => return None,
    })
}
