//! The texts of cells of all types.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type,
};
use arrow_array::{Array, ArrayRef};
use stationdb::arrow::datatypes::{DataType as Arrow, FieldRef, TimeUnit};
use stationdb::serde_json::{Map, Number, Value};
use stationdb::tables::readers::of_cell;
use stationdb::{Error, Place};

use crate::failure::Outcome;

/// The place of a cell.
pub fn place(row: usize, column: &str) -> Place {
    Place::Cell { row: row as u64, column: column.to_owned() }
}

/// The error for a column that is read as what it is not.
pub fn wrong_type(name: &str, array: &dyn Array, wanted: &str) -> Error {
    Error::invalid(format!(
        "the column {name:?} is of type {}, which cannot be read as {wanted}",
        array.data_type()
    ))
    .with_args([name])
}

/// A float; what JSON has no number for is the text of a cell.
fn float(value: f64) -> Value {
    Number::from_f64(value).map_or_else(
        || {
            Value::from(match value {
                value if value.is_nan() => "NaN",
                value if value > 0.0 => "Infinity",
                _ => "-Infinity",
            })
        },
        Value::Number,
    )
}

fn list(items: &ArrayRef) -> Option<Value> {
    (0..items.len()).map(|at| value(&**items, at)).collect::<Option<Vec<_>>>().map(Value::Array)
}

/// The value of a cell as JSON; `None` for a type that has none.
fn value(array: &dyn Array, row: usize) -> Option<Value> {
    // The cell alone, because which values of a dictionary are null is computed for each.
    let one = array.slice(row, 1);
    let array = &*one;
    if array.logical_null_count() > 0 {
        return Some(Value::Null);
    }
    let text = || of_cell(array, 0);
    Some(match array.data_type() {
        Arrow::Boolean => Value::Bool(array.as_boolean().value(0)),
        whole if whole.is_integer() => Value::Number(text()?.parse().ok()?),
        // The digits of the single value, not those of the nearest double.
        Arrow::Float32 => match array.as_primitive::<Float32Type>().value(0) {
            single if single.is_finite() => Value::Number(single.to_string().parse().ok()?),
            single => float(f64::from(single)),
        },
        Arrow::Float64 => float(array.as_primitive::<Float64Type>().value(0)),
        Arrow::Duration(unit) => {
            let duration = match unit {
                TimeUnit::Second => array.as_primitive::<DurationSecondType>().value_as_duration(0),
                TimeUnit::Millisecond => {
                    array.as_primitive::<DurationMillisecondType>().value_as_duration(0)
                }
                TimeUnit::Microsecond => {
                    array.as_primitive::<DurationMicrosecondType>().value_as_duration(0)
                }
                TimeUnit::Nanosecond => {
                    array.as_primitive::<DurationNanosecondType>().value_as_duration(0)
                }
            };
            Value::from(duration?.to_string())
        }
        Arrow::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys().first().copied()?;
            value(&**dictionary.values(), key)?
        }
        Arrow::List(_) => list(&array.as_list::<i32>().value(0))?,
        Arrow::LargeList(_) => list(&array.as_list::<i64>().value(0))?,
        Arrow::FixedSizeList(..) => list(&array.as_fixed_size_list().value(0))?,
        Arrow::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let member = |(field, column): (&FieldRef, &ArrayRef)| {
                Some((field.name().clone(), value(&**column, 0)?))
            };
            Value::Object(columns.map(member).collect::<Option<Map<_, _>>>()?)
        }
        Arrow::Map(..) => {
            let entries = array.as_map().value(0);
            let (keys, values) = (entries.column(0), entries.column(1));
            let member = |at| Some((plain(value(&**keys, at)?), value(&**values, at)?));
            Value::Object((0..entries.len()).map(member).collect::<Option<Map<_, _>>>()?)
        }
        _ => Value::from(text()?),
    })
}

/// A text as it is, all else as JSON.
fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The text of a cell of the column `name`; `None` for a null. Texts are as they are, numbers and
/// nested values as in JSON, times in UTC, decimals with all digits, and bytes in hexadecimal.
///
/// # Errors
/// `InvalidArgument` for a row that is not there, and a type that has no text.
pub fn to_text(name: &str, array: &ArrayRef, row: usize) -> Outcome<Option<String>> {
    if row >= array.len() {
        return Err(
            Error::invalid(format!("there is no row {row}; there are {}", array.len())).into()
        );
    }
    match value(&**array, row) {
        Some(Value::Null) => Ok(None),
        Some(found) => Ok(Some(plain(found))),
        None => Err(wrong_type(name, &**array, "a text").at(place(row, name)).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::{
        Date32Array, Decimal128Array, DictionaryArray, DurationMillisecondArray, Float32Array,
        Float64Array, Int32Array, Int64Array, NullArray, StringArray, StructArray,
        TimestampMicrosecondArray, types::Int32Type,
    };
    use stationdb::arrow::datatypes::Field;

    use super::*;

    fn text(array: impl Array + 'static, row: usize) -> Option<String> {
        let array: ArrayRef = Arc::new(array);
        to_text("c", &array, row).unwrap()
    }

    #[test]
    fn texts_of_every_layout() {
        let plain = StringArray::from(vec![Some("a"), None]);
        assert_eq!(text(plain.clone(), 0).as_deref(), Some("a"));
        assert_eq!(text(plain.clone(), 1), None);
        let plain: ArrayRef = Arc::new(plain);
        assert!(to_text("s", &plain, 2).is_err());
        let dictionary: DictionaryArray<Int32Type> = [Some("x"), None].into_iter().collect();
        assert_eq!(text(dictionary.clone(), 0).as_deref(), Some("x"));
        assert_eq!(text(dictionary, 1), None);
        // A null that only the values of a dictionary have.
        let keys = Int32Array::from(vec![1, 0]);
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("y"), None]));
        let dictionary = DictionaryArray::new(keys, values);
        assert_eq!((text(dictionary.clone(), 0), text(dictionary, 1)), (None, Some("y".into())));
        assert_eq!(text(NullArray::new(1), 0), None);
    }

    #[test]
    fn texts_of_values_that_are_none() {
        let decimal = Decimal128Array::from(vec![-1_250]).with_precision_and_scale(10, 2).unwrap();
        let time = TimestampMicrosecondArray::from(vec![1_500_000]).with_timezone("UTC");
        for (found, wanted) in [
            (text(Int64Array::from(vec![i64::MIN]), 0), "-9223372036854775808"),
            (text(Float64Array::from(vec![0.5]), 0), "0.5"),
            (text(Float64Array::from(vec![f64::NEG_INFINITY]), 0), "-Infinity"),
            (text(Float32Array::from(vec![0.1]), 0), "0.1"),
            (text(Date32Array::from(vec![1]), 0), "1970-01-02"),
            (text(decimal, 0), "-12.50"),
            (text(DurationMillisecondArray::from(vec![90_500]), 0), "PT90.5S"),
            (text(time, 0), "1970-01-01T00:00:01.500Z"),
        ] {
            assert_eq!(found.as_deref(), Some(wanted));
        }
    }

    #[test]
    fn nested_values_are_json() {
        let mut lists = ListBuilder::new(Int64Builder::new());
        lists.append_value([Some(3), None]);
        lists.append_null();
        let lists = lists.finish();
        assert_eq!(text(lists.clone(), 0).as_deref(), Some("[3,null]"));
        assert_eq!(text(lists.clone(), 1), None);
        let field = Arc::new(Field::new("counts", lists.data_type().clone(), true));
        let nested = StructArray::from(vec![(field, Arc::new(lists) as ArrayRef)]);
        assert_eq!(text(nested, 0).as_deref(), Some(r#"{"counts":[3,null]}"#));
    }
}
