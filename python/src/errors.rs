//! Errors of the library as exceptions. Their classes derive from two bases each, so they are made
//! in Python, in `stationdb.errors`.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use pythonize::pythonize;
use stationdb::{Error, ErrorKind, Place};

/// The kind of an error, as the package names it.
fn kind_name(kind: ErrorKind) -> String {
    format!("{kind:?}")
}

fn place(py: Python<'_>, place: &Place) -> PyResult<Py<PyDict>> {
    let found = PyDict::new(py);
    match place {
        Place::Member(member) => found.set_item("member", member)?,
        Place::Offset(offset) => found.set_item("offset", offset)?,
        Place::Cell { row, column } => {
            found.set_item("row", row)?;
            found.set_item("column", column)?;
        }
        Place::Line { line, column } => {
            found.set_item("line", line)?;
            found.set_item("column", column)?;
        }
        Place::RowGroup { row_group, row, column } => {
            found.set_item("row_group", row_group)?;
            found.set_item("row", row)?;
            found.set_item("column", column)?;
        }
        _ => {}
    }
    Ok(found.unbind())
}

static MAKER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn made(py: Python<'_>, kind: &str, error: &Error) -> PyResult<PyErr> {
    let maker = MAKER.get_or_try_init(py, || {
        py.import("stationdb.errors")?.getattr("_made").map(Bound::unbind)
    })?;
    let place = error.place().map(|found| place(py, found)).transpose()?;
    let api = pythonize(py, &error.api_error())?;
    let exception = maker.bind(py).call1((kind, error.to_string(), place, api))?;
    Ok(PyErr::from_value(exception))
}

/// The exception of an error of the library.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raised_as(py, &kind_name(error.kind()), error)
}

/// The exception of an error under a kind that the library has not.
fn raised_as(py: Python<'_>, kind: &str, error: &Error) -> PyErr {
    // Only a package whose files are missing has no exceptions.
    made(py, kind, error).unwrap_or_else(|_| PyRuntimeError::new_err(error.to_string()))
}

/// The exception of a handle that was closed.
pub fn closed(py: Python<'_>, what: &str) -> PyErr {
    raised_as(py, "Closed", &Error::invalid(what))
}

/// The exception of a transaction that has ended.
pub fn ended(py: Python<'_>) -> PyErr {
    closed(
        py,
        "the transaction has ended: its block is over, or the store was closed; begin another one \
         with store.transaction()",
    )
}

/// The exception of a file of the caller.
pub fn of_file(py: Python<'_>, attempt: String, error: std::io::Error) -> PyErr {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let error = Error::io(attempt, error);
    if is_missing { raised_as(py, "PathNotFound", &error) } else { raised(py, &error) }
}

/// The exception of an error, of a path where `NotFound` can only mean that.
pub fn of_path(py: Python<'_>, error: &Error) -> PyErr {
    let kind = match error.kind() {
        ErrorKind::NotFound => "PathNotFound".to_owned(),
        kind => kind_name(kind),
    };
    raised_as(py, &kind, error)
}

/// The exception of an argument that is wrong.
pub fn invalid(py: Python<'_>, what: impl Into<String>) -> PyErr {
    raised(py, &Error::invalid(what))
}

/// The error of what must not happen.
pub fn internal(what: &str) -> Error {
    Error::corrupt(format!("internal error: {what}; report it"))
}
