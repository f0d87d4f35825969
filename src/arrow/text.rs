//! Single values of arrays as text, for messages and for conversions that keep every digit.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type,
    Float64Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, NaiveTime};

use super::integers::to_int64;

/// Seconds and nanoseconds of a count.
fn parts(count: i64, unit: TimeUnit) -> (i64, u32) {
    let per_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let nanos = count.rem_euclid(per_second) * (1_000_000_000 / per_second);
    // Below a billion, so it fits.
    (count.div_euclid(per_second), nanos as u32)
}

/// The value in `row` as text, empty for null; `None` for nested types, times that chrono cannot
/// show, and rows that the array does not have.
///
/// Times are shown in UTC, whatever their zone is: Arrow knows zones by name only where another
/// crate of the program has turned them on.
#[must_use]
pub fn of_cell(array: &dyn Array, row: usize) -> Option<String> {
    if row >= array.len() {
        return None;
    }
    if array.is_null(row) {
        return Some(String::new());
    }
    fn decimal<T: DecimalType + ArrowPrimitiveType>(array: &dyn Array, row: usize) -> String {
        let numbers = array.as_primitive::<T>();
        T::format_decimal(numbers.value(row), numbers.precision(), numbers.scale())
    }
    let one = || array.slice(row, 1);
    let count = || Some(to_int64(&one())?.value(0));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float16 => {
            format!("{:?}", f32::from(array.as_primitive::<Float16Type>().value(row)))
        }
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(..) => decimal::<Decimal128Type>(array, row),
        DataType::Decimal256(..) => decimal::<Decimal256Type>(array, row),
        DataType::Binary => hex(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => hex(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => hex(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => {
            let days = i64::from(array.as_primitive::<Date32Type>().value(row));
            DateTime::from_timestamp(days.checked_mul(86_400)?, 0)?.format("%F").to_string()
        }
        DataType::Date64 => {
            let millis = array.as_primitive::<Date64Type>().value(row);
            DateTime::from_timestamp_millis(millis)?.format("%FT%T").to_string()
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let (seconds, nanos) = parts(count()?, *unit);
            let seconds = u32::try_from(seconds).ok()?;
            NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos)?.to_string()
        }
        DataType::Timestamp(unit, _) => {
            let (seconds, nanos) = parts(count()?, *unit);
            let time = DateTime::from_timestamp(seconds, nanos)?;
            time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let key = to_int64(&dictionary.keys().slice(row, 1))?.value(0);
            return of_cell(dictionary.values(), usize::try_from(key).ok()?);
        }
        _ => count()?.to_string(),
    })
}
