//! Statements of SQL with their values. Each has threads of its own, which end with it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDate, PyDateTime, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString,
};
use stationdb::chrono::NaiveDate;
use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
use stationdb_sql::{Asked, Limits, Options, Sql, Statement};

use crate::errors::invalid;
use crate::lock::lock;
use crate::long::Signals;
use crate::rows::RowsCore;
use crate::session::SessionCore;

/// A value of Python as one of SQL. `name` is that of its place.
fn scalar(name: &str, value: &Bound<'_, PyAny>) -> PyResult<ScalarValue> {
    let py = value.py();
    // A bool is an int, and a datetime is a date.
    if value.is_none() {
        Ok(ScalarValue::Null)
    } else if value.is_instance_of::<PyBool>() {
        Ok(ScalarValue::Boolean(Some(value.extract()?)))
    } else if value.is_instance_of::<PyInt>() {
        Ok(ScalarValue::Int64(Some(
            value.extract().map_err(|_| {
                invalid(py, format!("the parameter {name} does not fit in 64 bits"))
            })?,
        )))
    } else if value.is_instance_of::<PyFloat>() {
        Ok(ScalarValue::Float64(Some(value.extract()?)))
    } else if value.is_instance_of::<PyString>() {
        Ok(ScalarValue::Utf8(Some(value.extract()?)))
    } else if let Some(nanos) = nanoseconds(name, value)? {
        moment(nanos).ok_or_else(|| {
            invalid(py, format!("the parameter {name} is a time that is too far away"))
        })
    } else if value.is_instance_of::<PyDate>() {
        let date: NaiveDate = value.extract()?;
        let days = date.signed_duration_since(NaiveDate::default()).num_days();
        let days = i32::try_from(days).map_err(|_| {
            invalid(py, format!("the parameter {name} is a day that is too far away"))
        })?;
        Ok(ScalarValue::Date32(Some(days)))
    } else if let Some(own) = of_numpy(value)? {
        scalar(name, &own)
    } else {
        let told = format!(
            "the parameter {name} is of type {}; give None, bool, int, float, str, date or datetime",
            value.get_type().name()?
        );
        Err(invalid(py, told))
    }
}

/// Nanoseconds since 1970 of a time of Python, pandas or numpy; `None` for another value.
fn nanoseconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    let py = value.py();
    if !value.is_instance_of::<PyDateTime>() && value.get_type().module()? != "numpy" {
        return Ok(None);
    }
    let axis = py.import(intern!(py, "stationdb._axis"))?;
    let told = format!("the parameter {name}");
    axis.call_method1(intern!(py, "moment"), (value, told))?.extract()
}

/// A time in microseconds, or in nanoseconds where it has some.
fn moment(nanos: i128) -> Option<ScalarValue> {
    let zone = Some("UTC".into());
    Some(if nanos % 1_000 == 0 {
        ScalarValue::TimestampMicrosecond(Some(i64::try_from(nanos / 1_000).ok()?), zone)
    } else {
        ScalarValue::TimestampNanosecond(Some(i64::try_from(nanos).ok()?), zone)
    })
}

/// A number, text or bool of numpy as one of Python.
fn of_numpy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let kind = value.get_type();
    if kind.module()? != "numpy" || !value.hasattr("item")? {
        return Ok(None);
    }
    let known = ["bool", "bool_", "int", "uint", "float"];
    let name = kind.name()?;
    let is_known = known.iter().any(|known| name.to_string_lossy().starts_with(known));
    if is_known { value.call_method0("item").map(Some) } else { Ok(None) }
}

/// What a statement is asked with: values by their places, or by their names.
enum Given<'py> {
    Places(Vec<Bound<'py, PyAny>>),
    Names(Vec<(String, Bound<'py, PyAny>)>),
}

impl<'py> Given<'py> {
    fn new(values: &Bound<'py, PyAny>, named: &Bound<'py, PyDict>) -> PyResult<Self> {
        let py = values.py();
        let pairs = |items: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>| {
            let pair = |(name, value): (Bound<'py, PyAny>, _)| match name.extract::<String>() {
                Ok(name) => Ok((name, value)),
                Err(_) => Err(invalid(
                    py,
                    format!("the parameter {} has no text as its name", name.repr()?),
                )),
            };
            items.into_iter().map(pair).collect::<PyResult<Vec<_>>>().map(Self::Names)
        };
        if values.is_none() {
            return pairs(named.iter().collect());
        }
        if !named.is_empty() {
            let told = "a statement has values for its places or for its names; give a tuple for ?, \
                        or name=… for $name";
            return Err(invalid(py, told));
        }
        if let Ok(mapping) = values.cast::<PyMapping>() {
            let items = mapping.items()?.iter().map(|item| item.extract());
            return pairs(items.collect::<PyResult<_>>()?);
        }
        match values.cast::<PySequence>() {
            Ok(places) if !values.is_instance_of::<PyString>() => {
                places.try_iter()?.collect::<PyResult<_>>().map(Self::Places)
            }
            _ => Err(invalid(
                py,
                format!(
                    "the values of the statement are {}; give a tuple of them, as ({},)",
                    values.repr()?,
                    values.repr()?
                ),
            )),
        }
    }

    /// The values, if they are those of the statement, no more and no fewer.
    fn values(self, py: Python<'_>, asked: &BTreeSet<String>) -> PyResult<Option<ParamValues>> {
        let name = |place: &str| place.get(1..).unwrap_or_default().to_owned();
        let places: Vec<usize> = asked.iter().filter_map(|one| name(one).parse().ok()).collect();
        let is_by_place = !asked.is_empty() && places.len() == asked.len();
        match self {
            Self::Names(given) if given.is_empty() && asked.is_empty() => Ok(None),
            Self::Names(given) if given.is_empty() && is_by_place => {
                Err(not_so_many(py, places.into_iter().max().unwrap_or_default(), 0))
            }
            Self::Names(given) => {
                for (given, _) in &given {
                    if !asked.iter().any(|one| name(one) == *given) {
                        let told = format!(
                            "the statement has no ${given}, for which a value is given; write \
                             ${given} where the value belongs"
                        );
                        return Err(invalid(py, told));
                    }
                }
                let missing = asked.iter().find(|one| !given.iter().any(|it| it.0 == name(one)));
                if let Some(missing) = missing {
                    let told = format!(
                        "the statement has {missing}, for which no value is given; give {}=…",
                        name(missing)
                    );
                    return Err(invalid(py, told));
                }
                let values = given.into_iter().map(|(name, value)| {
                    let value = scalar(&name, &value)?;
                    Ok((name, value))
                });
                Ok(Some(ParamValues::from(values.collect::<PyResult<Vec<_>>>()?)))
            }
            Self::Places(given) => {
                if let Some(named) = asked.iter().find(|one| name(one).parse::<usize>().is_err()) {
                    let told = format!(
                        "the statement has {named}, and values are given by their places; give \
                         {}=…, or write ? for {named}",
                        name(named)
                    );
                    return Err(invalid(py, told));
                }
                let wanted = places.into_iter().max().unwrap_or_default();
                if wanted != given.len() {
                    return Err(not_so_many(py, wanted, given.len()));
                }
                let values =
                    given.iter().zip(1..).map(|(value, at)| scalar(&format!("{at}"), value));
                let values = values.collect::<PyResult<Vec<_>>>()?;
                Ok((!values.is_empty()).then(|| ParamValues::from(values)))
            }
        }
    }
}

fn not_so_many(py: Python<'_>, wanted: usize, given: usize) -> PyErr {
    let told = format!(
        "the statement has ? or $1 for {wanted} values, and {given} are given; give a tuple of \
         {wanted}, as db.sql(statement, (value,)) for one"
    );
    invalid(py, told)
}

/// What stands for values in a statement.
fn placeholders(statement: &str, limits: &Limits) -> stationdb::Result<BTreeSet<String>> {
    static READER: Mutex<Option<Sql>> = Mutex::new(None);
    let mut reader = lock(&READER);
    let reader = match &mut *reader {
        Some(known) => known,
        none => none.insert(Sql::new(Options::default(), limits.clone())?),
    };
    Ok(reader.prepared(statement)?.placeholders().clone())
}

/// The rows of a statement that only reads.
#[pyfunction]
pub fn sql(
    py: Python<'_>,
    session: &SessionCore,
    statement: &str,
    values: &Bound<'_, PyAny>,
    named: &Bound<'_, PyDict>,
) -> PyResult<RowsCore> {
    let given = Given::new(values, named)?;
    let (call, handle) = session.caller.begin(py)?;
    let signals = Signals::default();
    let limits = Limits::default().time(None);
    let placeholders = signals.run(py, || placeholders(statement, &limits))?;
    let mut asked = Asked::default();
    asked.values = given.values(py, &placeholders)?;
    // What exceeds the memory goes into files that disappear with the statement.
    asked.options = Options::default().spill_directory(std::env::temp_dir());
    // Who asks can interrupt, and may read for long.
    asked.limits = limits;
    // A closing store waits until the threads of the statement have ended.
    asked.kept = Some(Box::new(call));
    let control = session.caller.timed(signals.control());
    let rows = signals.run(py, || Statement::begin(&handle, statement, asked, &control))?;
    Ok(RowsCore::new(&session.caller.open, rows.schema(), Box::new(rows), signals, control))
}
