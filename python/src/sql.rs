//! Statements of SQL. Each has threads of its own, which end with it.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyDict, PyFloat, PyInt, PyString};
use stationdb::chrono::{DateTime, Utc};
use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
use stationdb_sql::{Asked, Limits, Options, Statement};

use crate::errors::invalid;
use crate::long::Signals;
use crate::rows::RowsCore;
use crate::session::SessionCore;

fn scalar(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    // A bool is an int.
    if value.is_none() {
        Ok(ScalarValue::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(ScalarValue::Boolean(Some(value.extract()?)))
    } else if value.is_instance_of::<PyInt>() {
        Ok(ScalarValue::Int64(Some(value.extract().map_err(|_| {
            invalid(value.py(), format!("the parameter {name} does not fit in 64 bits"))
        })?)))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(ScalarValue::Float64(Some(value.extract()?)))
    } else if value.is_instance_of::<PyString>() {
        Ok(ScalarValue::Utf8(Some(value.extract()?)))
    } else if value.is_instance_of::<PyDateTime>() {
        let utc = value.py().import("datetime")?.getattr("timezone")?.getattr("utc")?;
        if value.getattr("tzinfo")?.is_none() {
            let told = format!(
                "the parameter {name} has no time zone; give datetime.now(timezone.utc), or \
                 value.astimezone()"
            );
            return Err(invalid(value.py(), told));
        }
        let time: DateTime<Utc> = value.call_method1("astimezone", (utc,))?.extract()?;
        Ok(ScalarValue::TimestampMicrosecond(Some(time.timestamp_micros()), Some("UTC".into())))
    } else {
        let told = format!(
            "the parameter {name} is of type {}; give None, bool, int, float, str or datetime",
            value.get_type().name()?
        );
        Err(invalid(value.py(), told))
    }
}

/// The rows of a statement that only reads.
#[pyfunction]
pub fn sql(
    py: Python<'_>,
    session: &SessionCore,
    statement: String,
    values: &Bound<'_, PyDict>,
) -> PyResult<RowsCore> {
    let mut given = Vec::new();
    for (name, value) in values {
        let name: String = name.extract()?;
        let value = scalar(&name, &value)?;
        given.push((name, value));
    }
    let mut asked = Asked::default();
    asked.values = (!given.is_empty()).then(|| ParamValues::from(given));
    // What exceeds the memory goes into files that disappear with the statement.
    asked.options = Options::default().spill_directory(std::env::temp_dir());
    // Who asks can interrupt, and may read for long.
    asked.limits = Limits::default().time(None);
    let (call, handle) = session.caller.begin(py)?;
    // A closing store waits until the threads of the statement have ended.
    asked.kept = Some(Box::new(call));
    let signals = Signals::default();
    let control = signals.control();
    let rows = signals.run(py, || Statement::begin(&handle, &statement, asked, &control))?;
    Ok(RowsCore::new(&session.caller.open, rows.schema(), Box::new(rows), signals, control))
}
