//! A record whose members become objects of Python when they are asked for.

use std::sync::OnceLock;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use stationdb::serde_json::{Map, Value, from_str};

use crate::json::to_python;

/// A record in its wire form.
#[pyclass(frozen, mapping, module = "stationdb._stationdb")]
pub struct RecordView {
    json: String,
    /// The members, once one of them was asked for.
    members: OnceLock<Map<String, Value>>,
}

impl RecordView {
    pub fn new(json: String) -> Self {
        Self { json, members: OnceLock::new() }
    }

    fn members(&self) -> &Map<String, Value> {
        // What the library wrote is JSON.
        self.members.get_or_init(|| from_str(&self.json).unwrap_or_default())
    }
}

#[pymethods]
impl RecordView {
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        match self.members().get(name) {
            Some(value) => to_python(py, value),
            None => {
                let known: Vec<&str> = self.members().keys().map(String::as_str).collect();
                let told = format!("the record has no member {name:?}, but {}", known.join(", "));
                Err(PyKeyError::new_err(told))
            }
        }
    }

    #[pyo3(signature = (name, default = None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        match self.members().get(name) {
            Some(value) => to_python(py, value),
            None => Ok(default.unwrap_or_else(|| py.None())),
        }
    }

    fn __contains__(&self, name: &str) -> bool {
        self.members().contains_key(name)
    }

    fn __len__(&self) -> usize {
        self.members().len()
    }

    fn keys(&self) -> Vec<&str> {
        self.members().keys().map(String::as_str).collect()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.keys())?.try_iter()
    }

    /// All members as a dict.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, self.members())
    }

    fn __repr__(&self) -> String {
        let members: Vec<String> =
            self.members().iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("<RecordView {}>", members.join(" "))
    }
}
