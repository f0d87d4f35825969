//! Arrow values as Python objects.

use std::sync::Arc;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::PyList;
use pyo3_arrow::PyScalar;
use stationdb::arrow::array::{Array, ArrayRef, AsArray};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use stationdb::chrono::{DateTime, Utc};

fn primitive<'py, T: ArrowPrimitiveType, O: IntoPyObject<'py>>(
    py: Python<'py>,
    array: &ArrayRef,
    value: impl Fn(T::Native) -> Option<O>,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, array.as_primitive::<T>().iter().map(|cell| cell.and_then(&value)))
}

/// The values as `bool`, `int`, `float`, `str`, and `datetime` in UTC; nanoseconds since 1970 as
/// `int`, which a `datetime` cannot keep. Other types as pyarrow would.
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
