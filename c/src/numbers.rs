//! Columns as plain arrays of numbers, and back.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use stationdb::arrow::datatypes::{DataType as Arrow, TimeUnit};
use stationdb::tables::DataType;
use stationdb::{Error, Place};

use crate::failure::Outcome;

/// The largest whole number below which a double has every one.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

fn wrong_type(name: &str, array: &dyn Array, wanted: &str) -> Error {
    Error::invalid(format!(
        "the column {name:?} is of type {}, which cannot be read as {wanted}",
        array.data_type()
    ))
    .with_args([name])
}

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

/// A column of numbers, times or bools as doubles. A null is NaN; a whole number beyond 2^53 is the
/// nearest double; a time is a count of its unit since 1970.
#[expect(clippy::cast_precision_loss, reason = "large whole numbers round to the nearest one")]
pub fn to_f64(name: &str, array: &ArrayRef) -> Outcome<Vec<f64>> {
    const NULL: f64 = f64::NAN;
    let array = &**array;
    Ok(match array.data_type() {
        Arrow::Float64 => all::<Float64Type, _>(array, |value| value, NULL),
        Arrow::Float32 => all::<Float32Type, _>(array, f64::from, NULL),
        Arrow::Int8 => all::<Int8Type, _>(array, f64::from, NULL),
        Arrow::Int16 => all::<Int16Type, _>(array, f64::from, NULL),
        Arrow::Int32 => all::<Int32Type, _>(array, f64::from, NULL),
        Arrow::UInt8 => all::<UInt8Type, _>(array, f64::from, NULL),
        Arrow::UInt16 => all::<UInt16Type, _>(array, f64::from, NULL),
        Arrow::UInt32 => all::<UInt32Type, _>(array, f64::from, NULL),
        Arrow::UInt64 => all::<UInt64Type, _>(array, |value| value as f64, NULL),
        Arrow::Boolean => {
            let one = |value: Option<bool>| value.map_or(NULL, |value| f64::from(u8::from(value)));
            array.as_boolean().iter().map(one).collect()
        }
        Arrow::Null => vec![NULL; array.len()],
        _ => match whole(array) {
            Some(values) => {
                values.into_iter().map(|one| one.map_or(NULL, |it| it as f64)).collect()
            }
            None => return Err(wrong_type(name, array, "doubles").into()),
        },
    })
}

/// Whole numbers, times and bools; `None` for a column of another type.
fn whole(array: &dyn Array) -> Option<Vec<Option<i64>>> {
    fn wide<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &dyn Array) -> Vec<Option<i64>> {
        all::<T, _>(array, |value| Some(value.into()), None)
    }
    Some(match array.data_type() {
        Arrow::Int8 => wide::<Int8Type>(array),
        Arrow::Int16 => wide::<Int16Type>(array),
        Arrow::Int32 => wide::<Int32Type>(array),
        Arrow::Int64 => wide::<Int64Type>(array),
        Arrow::UInt8 => wide::<UInt8Type>(array),
        Arrow::UInt16 => wide::<UInt16Type>(array),
        Arrow::UInt32 => wide::<UInt32Type>(array),
        Arrow::Timestamp(TimeUnit::Second, _) => wide::<TimestampSecondType>(array),
        Arrow::Timestamp(TimeUnit::Millisecond, _) => wide::<TimestampMillisecondType>(array),
        Arrow::Timestamp(TimeUnit::Microsecond, _) => wide::<TimestampMicrosecondType>(array),
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => wide::<TimestampNanosecondType>(array),
        Arrow::Boolean => array.as_boolean().iter().map(|one| one.map(i64::from)).collect(),
        _ => return None,
    })
}

/// A column of whole numbers, times or bools as they are. A null is 0.
pub fn to_i64(name: &str, array: &ArrayRef) -> Outcome<Vec<i64>> {
    if let Arrow::UInt64 = array.data_type() {
        let values = array.as_primitive::<UInt64Type>().iter().enumerate();
        let value = |(row, value): (usize, Option<u64>)| {
            i64::try_from(value.unwrap_or_default()).map_err(|_| {
                let told =
                    format!("the value {} has no room in 64 bits", value.unwrap_or_default());
                Error::invalid(told).at(cell(row, name)).into()
            })
        };
        return values.map(value).collect();
    }
    let values = whole(&**array).ok_or_else(|| wrong_type(name, &**array, "whole numbers"))?;
    Ok(values.into_iter().map(Option::unwrap_or_default).collect())
}

/// The text of a cell; `None` for a null.
pub fn to_text(name: &str, array: &ArrayRef, row: usize) -> Outcome<Option<String>> {
    if row >= array.len() {
        return Err(
            Error::invalid(format!("there is no row {row}; there are {}", array.len())).into()
        );
    }
    if array.is_null(row) {
        return Ok(None);
    }
    let text = match array.data_type() {
        Arrow::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        Arrow::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        Arrow::Utf8View => array.as_string_view().value(row).to_owned(),
        Arrow::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys().get(row).copied().unwrap_or(usize::MAX);
            return to_text(name, dictionary.values(), key);
        }
        _ => return Err(wrong_type(name, &**array, "texts").into()),
    };
    Ok(Some(text))
}

/// The place of a cell.
pub fn cell(row: usize, column: &str) -> Place {
    Place::Cell { row: row as u64, column: column.to_owned() }
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
            .at(cell(row, name))
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
    use arrow_array::{DictionaryArray, Int32Array, StringArray, UInt64Array};

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
    }

    #[test]
    fn texts_of_every_layout() {
        let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        assert_eq!(to_text("s", &plain, 0).unwrap().as_deref(), Some("a"));
        assert_eq!(to_text("s", &plain, 1).unwrap(), None);
        assert!(to_text("s", &plain, 2).is_err());
        let dictionary: DictionaryArray<Int32Type> = [Some("x"), None].into_iter().collect();
        let dictionary: ArrayRef = Arc::new(dictionary);
        assert_eq!(to_text("s", &dictionary, 0).unwrap().as_deref(), Some("x"));
        assert_eq!(to_text("s", &dictionary, 1).unwrap(), None);
        assert!(to_text("s", &doubles(&[1.0]), 0).is_err());
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
            assert_eq!(failure.error.place(), Some(&cell(1, "c")), "{wrong}");
        }
        assert!(of_f64("s", DataType::String, false, &[1.0]).is_err());
    }
}
