//! Values of serde as Python objects, and back.

use pyo3::prelude::*;
use pythonize::{depythonize, pythonize};
use serde::de::DeserializeOwned;
use stationdb::from_value_strict;
use stationdb::serde_json::Value;

use crate::errors::{invalid, raised};

/// A value as `dict`, `list`, `str`, `int`, `float`, `bool` and `None`.
pub fn to_python(py: Python<'_>, value: &impl serde::Serialize) -> PyResult<Py<PyAny>> {
    Ok(pythonize(py, value)?.unbind())
}

/// A Python object as JSON, in which NaN and infinities become null: the package refuses them where
/// a value is compared. `what` names the object in errors.
///
/// # Errors
/// `InvalidArgument` for an object that JSON has not, such as a set.
fn from_python(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    depythonize(object).map_err(|error| {
        invalid(
            object.py(),
            format!("{what}: {error}; give dicts with texts as keys, lists, texts, numbers, bools"),
        )
    })
}

/// A request of the library, by its wire form. Members that it does not have are refused.
///
/// # Errors
/// `InvalidArgument` with the path of the member that is wrong or unknown.
pub fn request<T: DeserializeOwned>(object: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let value = from_python(object, what)?;
    from_value_strict(value).map_err(|error| raised(object.py(), &error.context(what)))
}
