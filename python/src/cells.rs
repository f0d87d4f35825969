//! Arrow values as Python objects.

use std::sync::Arc;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::PyScalar;
use stationdb::Error;
use stationdb::arrow::array::{Array, ArrayRef, AsArray};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Float64Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use stationdb::chrono::{DateTime, Utc};

use crate::errors::raised;

fn primitive<'py, T: ArrowPrimitiveType, O: IntoPyObject<'py>>(
    py: Python<'py>,
    array: &ArrayRef,
    value: impl Fn(T::Native) -> Option<O>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, array.as_primitive::<T>().iter().map(|cell| cell.and_then(&value)))
}

/// A list of each row, of the rows of `entries` that belong to it.
fn nested<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    part: impl Fn(usize) -> ArrayRef,
) -> PyResult<Bound<'py, PyList>> {
    let cells = PyList::empty(py);
    for row in 0..array.len() {
        if array.is_null(row) {
            cells.append(py.None())?;
        } else {
            cells.append(to_list(py, &part(row))?)?;
        }
    }
    Ok(cells)
}

/// A dict of each row of a struct.
fn structs<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let found = array.as_struct();
    let columns: Vec<_> =
        found.columns().iter().map(|column| to_list(py, column)).collect::<PyResult<_>>()?;
    let cells = PyList::empty(py);
    for row in 0..array.len() {
        if array.is_null(row) {
            cells.append(py.None())?;
            continue;
        }
        let cell = PyDict::new(py);
        for (field, column) in found.fields().iter().zip(&columns) {
            cell.set_item(field.name(), column.get_item(row)?)?;
        }
        cells.append(cell)?;
    }
    Ok(cells)
}

/// A dict of each row of a map.
fn maps<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let found = array.as_map();
    let (keys, values) = (to_list(py, found.keys())?, to_list(py, found.values())?);
    let cells = PyList::empty(py);
    for (row, ends) in found.offsets().windows(2).enumerate() {
        let &[from, to] = ends else { continue };
        if array.is_null(row) {
            cells.append(py.None())?;
            continue;
        }
        let cell = PyDict::new(py);
        for at in from.cast_unsigned() as usize..to.cast_unsigned() as usize {
            cell.set_item(keys.get_item(at)?, values.get_item(at)?)?;
        }
        cells.append(cell)?;
    }
    Ok(cells)
}

/// A tuple of months, days and nanoseconds of each row.
fn intervals<'py, T: ArrowPrimitiveType>(
    py: Python<'py>,
    array: &ArrayRef,
    parts: impl Fn(T::Native) -> (i32, i32, i64),
) -> PyResult<Bound<'py, PyList>> {
    primitive::<T, _>(py, array, |cell| Some(parts(cell)))
}

/// The value of each row of a dictionary.
fn dictionary<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let found = array.as_any_dictionary();
    let values = to_list(py, found.values())?;
    let cells = PyList::empty(py);
    for (row, key) in found.normalized_keys().into_iter().enumerate() {
        if array.is_null(row) {
            cells.append(py.None())?;
        } else {
            cells.append(values.get_item(key)?)?;
        }
    }
    Ok(cells)
}

fn refused(py: Python<'_>, array: &ArrayRef) -> PyErr {
    let told = format!(
        "a column of the Arrow type {} has no values of Python; read it with to_arrow(), or cast it in \
         the statement",
        array.data_type()
    );
    raised(py, &Error::unsupported(told))
}

/// The values as `bool`, `int`, `float`, `str`, and `datetime` in UTC; nanoseconds since 1970 as
/// `int`, which a `datetime` cannot keep; lists, and dicts of structs and maps; an interval as a tuple
/// of months, days and nanoseconds. Other types as pyarrow would.
pub fn to_list<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::Boolean => PyList::new(py, array.as_boolean().iter()),
        DataType::Int32 => primitive::<Int32Type, _>(py, array, Some),
        DataType::Int64 => primitive::<Int64Type, _>(py, array, Some),
        DataType::Float32 => primitive::<Float32Type, _>(py, array, Some),
        DataType::Float64 => primitive::<Float64Type, _>(py, array, Some),
        DataType::Utf8 => PyList::new(py, array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => PyList::new(py, array.as_string::<i64>().iter()),
        DataType::Utf8View => PyList::new(py, array.as_string_view().iter()),
        DataType::Timestamp(TimeUnit::Millisecond, _) => primitive::<TimestampMillisecondType, _>(
            py,
            array,
            DateTime::<Utc>::from_timestamp_millis,
        ),
        DataType::Timestamp(TimeUnit::Microsecond, _) => primitive::<TimestampMicrosecondType, _>(
            py,
            array,
            DateTime::<Utc>::from_timestamp_micros,
        ),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType, _>(py, array, Some)
        }
        DataType::List(_) => nested(py, array, |row| array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => nested(py, array, |row| array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => {
            nested(py, array, |row| array.as_fixed_size_list().value(row))
        }
        DataType::Struct(_) => structs(py, array),
        DataType::Map(..) => maps(py, array),
        DataType::Interval(unit) => match unit {
            IntervalUnit::YearMonth => {
                intervals::<IntervalYearMonthType>(py, array, |months| (months, 0, 0))
            }
            IntervalUnit::DayTime => intervals::<IntervalDayTimeType>(py, array, |cell| {
                (0, cell.days, i64::from(cell.milliseconds) * 1_000_000)
            }),
            IntervalUnit::MonthDayNano => {
                intervals::<IntervalMonthDayNanoType>(py, array, |cell| {
                    (cell.months, cell.days, cell.nanoseconds)
                })
            }
        },
        DataType::ListView(_) => nested(py, array, |row| array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => {
            nested(py, array, |row| array.as_list_view::<i64>().value(row))
        }
        DataType::Dictionary(..) => dictionary(py, array),
        DataType::RunEndEncoded(..) | DataType::Union(..) => Err(refused(py, array)),
        _ => {
            let field = Arc::new(Field::new("", array.data_type().clone(), true));
            let cells = PyList::empty(py);
            for row in 0..array.len() {
                let scalar = PyScalar::try_new(array.slice(row, 1), field.clone())?;
                let scalar = scalar.into_bound_py_any(py)?;
                cells.append(scalar.call_method0("as_py")?)?;
            }
            Ok(cells)
        }
    }
}
