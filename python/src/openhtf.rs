//! Records of OpenHTF.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stationdb_formats::openhtf::{ImportOptions, import};

use crate::long::{Watch, long};
use crate::session::SessionCore;

/// Stores a record of OpenHTF, which is its JSON, in one commit.
#[pyfunction]
#[pyo3(signature = (session, record, part_number, workspace, again))]
pub fn import_openhtf(
    py: Python<'_>,
    session: &SessionCore,
    record: &[u8],
    part_number: Option<String>,
    workspace: Option<String>,
    again: bool,
) -> PyResult<Py<PyAny>> {
    session.caller.refuse_own_transaction(py)?;
    let mut options = ImportOptions::new().again(again);
    (options.part_number, options.workspace) = (part_number, workspace);
    let (_call, handle) = session.caller.begin(py)?;
    let report = long(py, Watch::new(session.caller.timeout()), |control| {
        import(&handle.with_control(control), record, &options)
    })?;
    let found = PyDict::new(py);
    found.set_item("result_id", report.result_id.as_str())?;
    found.set_item("steps", report.steps)?;
    found.set_item("measurements", report.measurements)?;
    let tables: Vec<&str> = report.tables.iter().map(|id| id.as_str()).collect();
    let files: Vec<&str> = report.files.iter().map(|id| id.as_str()).collect();
    found.set_item("tables", tables)?;
    found.set_item("files", files)?;
    Ok(found.into_any().unbind())
}
