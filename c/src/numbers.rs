//! Columns as plain arrays of numbers, and back.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float32Type, Float64Type, Int64Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use stationdb::Error;
use stationdb::arrow::datatypes::{DataType as Arrow, TimeUnit};
use stationdb::tables::DataType;
use stationdb::tables::readers::{of_cell, to_int64};

use crate::cells::{place, wrong_type};
use crate::failure::Outcome;

/// The largest whole number below which a double has every one.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The values of a primitive column as others, nulls as `null`.
fn all<T: ArrowPrimitiveType, V: Copy>(
    array: &dyn Array,
    value: impl Fn(T::Native) -> V,
    null: V,
) -> Vec<V> {
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        return array.values().iter().map(|one| value(*one)).collect();
    }
    array.iter().map(|one| one.map_or(null, &value)).collect()
}

/// The doubles of a column that has no nulls, as they are.
pub fn plain_f64(array: &ArrayRef) -> Option<&[f64]> {
    let array = array.as_primitive_opt::<Float64Type>()?;
    (array.null_count() == 0).then(|| &**array.values())
}

/// A column of numbers, times or bools as doubles. A null is NaN; a number that no double has is
/// the nearest one; a time is a count of its unit since 1970.
#[expect(clippy::cast_precision_loss, reason = "large whole numbers round to the nearest one")]
pub fn to_f64(name: &str, array: &ArrayRef) -> Outcome<Vec<f64>> {
    const NULL: f64 = f64::NAN;
    let array = &**array;
    Ok(match array.data_type() {
        Arrow::Float64 => all::<Float64Type, _>(array, |value| value, NULL),
        Arrow::Float32 => all::<Float32Type, _>(array, f64::from, NULL),
        Arrow::UInt64 => all::<UInt64Type, _>(array, |value| value as f64, NULL),
        Arrow::Decimal128(..) | Arrow::Decimal256(..) => decimals(array),
        _ => match whole(array) {
            Some(values) => all::<Int64Type, _>(&values, |value| value as f64, NULL),
            None => return Err(wrong_type(name, array, "doubles").into()),
        },
    })
}

/// Whole numbers, bools, and the counts of times, dates and durations; `None` for a column of
/// another type.
fn whole(array: &dyn Array) -> Option<Int64Array> {
    fn counts<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array) -> Int64Array {
        array.as_primitive::<T>().reinterpret_cast()
    }
    Some(match array.data_type() {
        Arrow::Boolean => array.as_boolean().iter().map(|one| one.map(i64::from)).collect(),
        Arrow::Null => Int64Array::new_null(array.len()),
        Arrow::Duration(TimeUnit::Second) => counts::<DurationSecondType>(array),
        Arrow::Duration(TimeUnit::Millisecond) => counts::<DurationMillisecondType>(array),
        Arrow::Duration(TimeUnit::Microsecond) => counts::<DurationMicrosecondType>(array),
        Arrow::Duration(TimeUnit::Nanosecond) => counts::<DurationNanosecondType>(array),
        _ => return to_int64(array),
    })
}

/// Decimals as the nearest doubles.
fn decimals(array: &dyn Array) -> Vec<f64> {
    let value = |row| if array.is_null(row) { None } else { of_cell(array, row)?.parse().ok() };
    (0..array.len()).map(|row| value(row).unwrap_or(f64::NAN)).collect()
}

/// A column of whole numbers, bools, times or durations as they are. A null is 0.
pub fn to_i64(name: &str, array: &ArrayRef) -> Outcome<Vec<i64>> {
    if let Arrow::UInt64 = array.data_type() {
        let values = array.as_primitive::<UInt64Type>().iter().enumerate();
        let value = |(row, value): (usize, Option<u64>)| {
            i64::try_from(value.unwrap_or_default()).map_err(|_| {
                let told =
                    format!("the value {} has no room in 64 bits", value.unwrap_or_default());
                Error::invalid(told).at(place(row, name)).into()
            })
        };
        return values.map(value).collect();
    }
    let values = whole(&**array).ok_or_else(|| wrong_type(name, &**array, "whole numbers"))?;
    Ok(all::<Int64Type, _>(&values, |value| value, 0))
}

/// Doubles as they are.
pub fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values.iter().copied()))
}

/// Doubles as the values of a column of another type than FLOAT64. In a column that may be null,
/// NaN is a null where the type has no NaN.
///
/// # Errors
/// `InvalidArgument` with the cell, for a number that the type does not have.
pub fn of_f64(
    name: &str,
    data_type: DataType,
    may_be_null: bool,
    values: &[f64],
) -> Outcome<ArrayRef> {
    if data_type.is_float() {
        // The table rounds to FLOAT32 itself.
        return Ok(doubles(values));
    }
    let wrong = |row: usize, value: f64| {
        Error::invalid(format!("the value {value} does not fit the type {}", data_type.as_str()))
            .at(place(row, name))
    };
    let mut whole = Vec::with_capacity(values.len());
    for (row, &value) in values.iter().enumerate() {
        if value.is_nan() && may_be_null {
            whole.push(None);
        } else if value.fract() == 0.0 && value.abs() <= WHOLE_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and in the range")]
            whole.push(Some(value as i64));
        } else {
            return Err(wrong(row, value).into());
        }
    }
    if data_type == DataType::Bool {
        let bools: Vec<Option<bool>> = whole
            .iter()
            .enumerate()
            .map(|(row, value)| match value {
                None => Ok(None),
                Some(0) => Ok(Some(false)),
                Some(1) => Ok(Some(true)),
                #[expect(clippy::cast_precision_loss, reason = "it was a double before")]
                Some(other) => Err(wrong(row, *other as f64)),
            })
            .collect::<Result<_, _>>()?;
        return Ok(Arc::new(BooleanArray::from(bools)));
    }
    of_whole(name, data_type, whole)
}

/// Whole numbers as the values of a column: of INT32 and INT64, or of a time in its unit.
pub fn of_whole(name: &str, data_type: DataType, values: Vec<Option<i64>>) -> Outcome<ArrayRef> {
    const UTC: &str = "UTC";
    Ok(match data_type {
        // The table narrows to INT32 itself.
        DataType::Int32 | DataType::Int64 => Arc::new(Int64Array::from(values)),
        DataType::Timestamp => Arc::new(TimestampMillisecondArray::from(values).with_timezone(UTC)),
        DataType::TimestampMicros => {
            Arc::new(TimestampMicrosecondArray::from(values).with_timezone(UTC))
        }
        DataType::TimestampNanos => {
            Arc::new(TimestampNanosecondArray::from(values).with_timezone(UTC))
        }
        other => {
            return Err(Error::invalid(format!(
                "the column {name:?} is of type {}, which whole numbers do not fill; use \
                 sdb_append_ipc or sdb_append_stream",
                other.as_str()
            ))
            .with_args([name])
            .into());
        }
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{
        Date32Array, Decimal128Array, DurationSecondArray, Int32Array, NullArray, StringArray,
        UInt64Array,
    };

    use super::*;

    #[test]
    fn nulls_times_and_large_numbers() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let values = to_f64("a", &array).unwrap();
        assert!(values[0] == 1.0 && values[1].is_nan());
        assert_eq!(to_i64("a", &array).unwrap(), [1, 0]);
        let array = of_whole("t", DataType::TimestampNanos, vec![Some(1 << 60)]).unwrap();
        assert_eq!(to_i64("t", &array).unwrap(), [1 << 60]);
        let array: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert!(to_i64("u", &array).is_err());
        assert_eq!(to_f64("u", &array).unwrap(), [u64::MAX as f64]);
        let array: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        assert!(to_f64("s", &array).is_err() && to_i64("s", &array).is_err());
        assert!(plain_f64(&array).is_none());
        let array: ArrayRef = Arc::new(NullArray::new(2));
        assert_eq!(to_i64("n", &array).unwrap(), [0, 0]);
        assert!(to_f64("n", &array).unwrap().iter().all(|value| value.is_nan()));
        let array: ArrayRef = Arc::new(Date32Array::from(vec![Some(-3), None]));
        assert_eq!(to_i64("d", &array).unwrap(), [-3, 0]);
        let array: ArrayRef = Arc::new(DurationSecondArray::from(vec![90]));
        assert_eq!(to_f64("d", &array).unwrap(), [90.0]);
        let decimals = Decimal128Array::from(vec![Some(-1_250), None]);
        let array: ArrayRef = Arc::new(decimals.with_precision_and_scale(10, 2).unwrap());
        let values = to_f64("d", &array).unwrap();
        assert!(values[0] == -12.5 && values[1].is_nan() && to_i64("d", &array).is_err());
    }

    #[test]
    fn doubles_fill_columns_of_other_types() {
        let ints = of_f64("i", DataType::Int64, true, &[1.0, f64::NAN, -9e15]).unwrap();
        assert_eq!(to_i64("i", &ints).unwrap(), [1, 0, -9_000_000_000_000_000]);
        assert!(ints.is_null(1));
        let bools = of_f64("b", DataType::Bool, false, &[0.0, 1.0]).unwrap();
        assert_eq!(to_i64("b", &bools).unwrap(), [0, 1]);
        for (data_type, wrong) in [
            (DataType::Int64, 0.5),
            (DataType::Int64, f64::NAN),
            (DataType::Int64, 1e16),
            (DataType::Timestamp, f64::INFINITY),
            (DataType::Bool, 2.0),
        ] {
            let failure = of_f64("c", data_type, false, &[0.0, wrong]).unwrap_err();
            assert_eq!(failure.error.place(), Some(&place(1, "c")), "{wrong}");
        }
        assert!(of_f64("s", DataType::String, false, &[1.0]).is_err());
    }
}
