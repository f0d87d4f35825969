//! A record whose members become objects of Python when they are asked for.

use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use serde::Serialize;

use crate::json::to_python;
use crate::members::{member, names};

/// A record of the library in its wire form.
pub trait Wire: Send + Sync {
    /// A member as an object of Python; `None` if the record does not have it.
    fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>>;

    /// The names of the members that it has.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>>;

    /// All members as a dict.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl<T: Serialize + Send + Sync> Wire for T {
    fn member(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        member(py, self, name)
    }

    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        names(py, self)
    }

    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_python(py, self)
    }
}

/// A record in its wire form, whose members are attributes in the spelling of Python too.
#[pyclass(frozen, mapping, module = "stationdb._stationdb")]
pub struct RecordView {
    record: Box<dyn Wire>,
    /// The wire spelling of each attribute.
    spelling: Py<PyDict>,
}

impl RecordView {
    pub fn new(record: Box<dyn Wire>, spelling: Py<PyDict>) -> Self {
        Self { record, spelling }
    }
}

#[pymethods]
impl RecordView {
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        match self.record.member(py, name)? {
            Some(value) => Ok(value),
            None => {
                let known = self.record.names(py)?.join(", ");
                let told = format!("the record has no member {name:?}, but {known}");
                Err(PyKeyError::new_err(told))
            }
        }
    }

    /// A member by its spelling in Python; `None` if the record does not have it.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        match self.spelling.bind(py).get_item(name)? {
            Some(wire) => {
                let found = self.record.member(py, wire.extract()?)?;
                Ok(found.unwrap_or_else(|| py.None()))
            }
            None => {
                let known = self.spelling.bind(py).keys().str()?;
                let told = format!("the record has no member {name:?}, but {known}");
                Err(PyAttributeError::new_err(told))
            }
        }
    }

    #[pyo3(signature = (name, default = None))]
    fn get(&self, py: Python<'_>, name: &str, default: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let found = self.record.member(py, name)?;
        Ok(found.or(default).unwrap_or_else(|| py.None()))
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.record.names(py)?.iter().any(|known| known == name))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.record.names(py)?.len())
    }

    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.record.names(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.record.names(py)?)?.try_iter()
    }

    /// All members as a dict.
    fn to_dict(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.record.to_dict(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let all = self.record.to_dict(py)?;
        let mut told = "<RecordView".to_owned();
        for (name, value) in all.bind(py).cast::<PyDict>()? {
            told.push_str(&format!(" {name}={}", value.repr()?));
        }
        told.push('>');
        Ok(told)
    }
}
