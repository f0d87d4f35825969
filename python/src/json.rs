//! Values of serde as Python objects, and back.

use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use stationdb::serde_json::Value;

use crate::errors::invalid;

/// A value as `dict`, `list`, `str`, `int`, `float`, `bool` and `None`.
pub fn to_python(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<Py<PyAny>> {
    Ok(pythonize(py, value)?.unbind())
}

/// A Python object as JSON. `what` names it in errors.
///
/// # Errors
/// `InvalidArgument` for an object that JSON has not, such as `NaN` or a set.
pub fn from_python(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    depythonize(object).map_err(|error| {
        invalid(
            object.py(),
            format!("{what}: {error}; give dicts with texts as keys, lists, texts, numbers, bools"),
        )
    })
}

/// A request of the library, by its wire form.
///
/// # Errors
/// `InvalidArgument` with the path of the member that is wrong.
pub fn request<T: serde::de::DeserializeOwned>(object: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let value = from_python(object, what)?;
    stationdb::serde_json::from_value(value)
        .map_err(|error| invalid(object.py(), format!("{what}: {error}")))
}
