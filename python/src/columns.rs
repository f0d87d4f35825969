//! Columns of Python as a batch of Arrow: arrays of Arrow, buffers of numbers, lists of values.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDate, PyDateTime, PyFloat, PyInt, PyString};
use pyo3_arrow::buffer::AnyBufferProtocol;
use pyo3_arrow::input::AnyArray;
use stationdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, NullArray,
    RecordBatch, RecordBatchOptions, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, new_empty_array,
};
use stationdb::arrow::compute::{concat, take};
use stationdb::arrow::datatypes::{DataType, Field, Schema, UInt8Type};
use stationdb::arrow::error::ArrowError;
use stationdb::chrono::{DateTime, NaiveDate, Utc};
use stationdb::{Error, Place};

use crate::errors::{invalid, raised};

/// A column: its name, how `values` are given, the type of the table's column if it is known, and
/// the values.
type Column<'py> = (String, String, Option<String>, Bound<'py, PyAny>);

/// The batch of these columns.
///
/// # Errors
/// `InvalidArgument` for columns of different lengths, and for a value without a type that a table
/// has, with its place.
pub fn batch(py: Python<'_>, columns: Vec<Column<'_>>) -> PyResult<RecordBatch> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len());
    for (name, form, data_type, values) in columns {
        let array = match form.as_str() {
            "arrow" => arrow(&values)?,
            "numbers" => numbers(&values, &name)?,
            "bools" => bools(&values, &name)?,
            "values" => list(&values, &name, data_type.as_deref())?,
            unit => times(&values, &name, unit)?,
        };
        if let Some(first) = arrays.first()
            && first.len() != array.len()
        {
            return Err(invalid(
                py,
                format!(
                    "column {name:?} has {} values and the columns before it have {}; every column \
                     of an append has the same number",
                    array.len(),
                    first.len()
                ),
            ));
        }
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| invalid(py, format!("the columns are no rows: {error}")))
}

fn arrow(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let reader = values.extract::<AnyArray>()?.into_reader()?;
    let field = reader.field();
    let decoded = |chunk: Result<ArrayRef, ArrowError>| chunk.and_then(|chunk| decoded(&chunk));
    let chunks = values
        .py()
        .detach(|| reader.map(decoded).collect::<Result<Vec<_>, _>>())
        .map_err(|error| invalid(values.py(), error.to_string()))?;
    if let [one] = chunks.as_slice() {
        return Ok(one.clone());
    }
    let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
    if chunks.is_empty() {
        return Ok(new_empty_array(decoded_type(field.data_type())));
    }
    concat(&chunks).map_err(|error| invalid(values.py(), error.to_string()))
}

/// The type of the values of a dictionary that has no texts, as of the categories of pandas. Those
/// with texts are taken by the library, and other types are kept.
pub fn decoded_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) if !is_text(values) => values,
        other => other,
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The values of a dictionary that has no texts; another array as it is.
///
/// # Errors
/// A key that is beyond the values.
pub fn decoded(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) if !is_text(dictionary.values().data_type()) => {
            take(dictionary.values(), dictionary.keys(), None)
        }
        _ => Ok(array.clone()),
    }
}

/// The numbers of an array of one dimension, without a copy. They must not change meanwhile.
pub fn numbers(values: &Bound<'_, PyAny>, name: &str) -> PyResult<ArrayRef> {
    let dimensions: usize = values.getattr(intern!(values.py(), "ndim"))?.extract()?;
    if dimensions != 1 {
        return Err(invalid(
            values.py(),
            format!("column {name:?} has {dimensions} dimensions; give an array of one dimension"),
        ));
    }
    // The memory of an empty array may be nowhere.
    if values.len()? == 0 {
        return Ok(Arc::new(NullArray::new(0)));
    }
    let buffer: AnyBufferProtocol = values.extract().map_err(|_| {
        invalid(
            values.py(),
            format!(
                "column {name:?} is no array of numbers in the order of this machine; give \
                 numpy.ascontiguousarray(values, dtype=float)"
            ),
        )
    })?;
    Ok(buffer.into_arrow_array()?)
}

/// Booleans of numpy, which are bytes.
fn bools(values: &Bound<'_, PyAny>, name: &str) -> PyResult<ArrayRef> {
    let bytes = numbers(values, name)?;
    Ok(match bytes.as_primitive_opt::<UInt8Type>() {
        Some(bytes) => {
            Arc::new(bytes.iter().map(|byte| byte.map(|byte| byte != 0)).collect::<BooleanArray>())
        }
        None => bytes,
    })
}

fn times(values: &Bound<'_, PyAny>, name: &str, unit: &str) -> PyResult<ArrayRef> {
    let counts = numbers(values, name)?;
    let Some(counts) = counts.as_any().downcast_ref::<Int64Array>() else {
        return Ok(counts);
    };
    // numpy's NaT.
    let valid = counts.values().iter().map(|count| (*count != i64::MIN).then_some(*count));
    Ok(match unit {
        "s" => Arc::new(valid.collect::<TimestampSecondArray>()),
        "ms" => Arc::new(valid.collect::<TimestampMillisecondArray>()),
        "us" => Arc::new(valid.collect::<TimestampMicrosecondArray>()),
        "ns" => Arc::new(valid.collect::<TimestampNanosecondArray>()),
        _ => {
            return Err(invalid(
                values.py(),
                format!("column {name:?} has times in {unit:?}; give s, ms, us or ns"),
            ));
        }
    })
}

/// What a list of Python values becomes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    Time,
    Date,
}

impl Kind {
    fn of_column(data_type: &str) -> Option<Self> {
        Some(match data_type {
            "BOOL" => Self::Bool,
            "INT32" | "INT64" => Self::Int,
            "FLOAT32" | "FLOAT64" => Self::Float,
            "STRING" => Self::Text,
            "TIMESTAMP" | "TIMESTAMP_US" | "TIMESTAMP_NS" => Self::Time,
            _ => return None,
        })
    }

    fn of_value(value: &Bound<'_, PyAny>) -> Option<Self> {
        // A bool is an int, and a datetime a date.
        if value.is_instance_of::<PyBool>() {
            Some(Self::Bool)
        } else if value.is_instance_of::<PyInt>() {
            Some(Self::Int)
        } else if value.is_instance_of::<PyFloat>() {
            Some(Self::Float)
        } else if value.is_instance_of::<PyString>() {
            Some(Self::Text)
        } else if value.is_instance_of::<PyDateTime>() {
            Some(Self::Time)
        } else if value.is_instance_of::<PyDate>() {
            Some(Self::Date)
        } else {
            None
        }
    }

    fn fix(self) -> &'static str {
        match self {
            Self::Bool => "give True or False, as in bool(value)",
            Self::Int => {
                "the column has whole numbers, by its type or by the values of the first append; \
                 give one, or create the table with columns=, and float for this one"
            }
            Self::Float => "give a number, as in float(value)",
            Self::Text => "give a text, as in str(value)",
            Self::Time | Self::Date => "give a datetime with a time zone",
        }
    }
}

/// The error of one value.
fn misfit(value: &Bound<'_, PyAny>, row: usize, column: &str, why: &str) -> PyErr {
    let what = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let text = value.repr().map_or_else(|_| String::new(), |text| format!(" {text}"));
    let place = Place::Cell { row: row as u64, column: column.to_owned() };
    raised(value.py(), &Error::invalid(format!("a value of type {what}{text}: {why}")).at(place))
}

/// The values without the wrapping of numpy, `None` for null.
fn plain<'py>(values: &Bound<'py, PyAny>) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let py = values.py();
    let mut found = Vec::with_capacity(values.len()?);
    for value in values.try_iter()? {
        let value = value?;
        let value = if value.is_none() {
            None
        } else if Kind::of_value(&value).is_none() && value.hasattr(intern!(py, "dtype"))? {
            Some(if is_time64(&value)? {
                value
            } else {
                value.call_method0(intern!(py, "item"))?
            })
        } else {
            Some(value)
        };
        found.push(value);
    }
    Ok(found)
}

/// Whether a scalar of numpy is a time or a span of time, which `item` may make a number.
fn is_time64(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let Some(kind) = value.getattr(intern!(py, "dtype"))?.getattr_opt(intern!(py, "kind"))? else {
        return Ok(false);
    };
    Ok(matches!(kind.extract::<&str>(), Ok("M" | "m")))
}

fn inferred(values: &[Option<Bound<'_, PyAny>>], name: &str) -> PyResult<Option<Kind>> {
    let mut kind = None;
    for (row, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        let Some(found) = Kind::of_value(value) else {
            let why = match is_time64(value) {
                Ok(true) => "a time of numpy among other values; give an array of datetime64",
                _ => "a table keeps bool, int, float, str and datetime; convert it",
            };
            return Err(misfit(value, row, name, why));
        };
        kind = match (kind, found) {
            (None, found) => Some(found),
            (Some(Kind::Int | Kind::Float), Kind::Float) | (Some(Kind::Float), Kind::Int) => {
                Some(Kind::Float)
            }
            (Some(kind), found) if kind == found => Some(kind),
            (Some(kind), _) => {
                let why = format!("the values before it have another type; {}", kind.fix());
                return Err(misfit(value, row, name, &why));
            }
        };
    }
    Ok(kind)
}

fn list(values: &Bound<'_, PyAny>, name: &str, data_type: Option<&str>) -> PyResult<ArrayRef> {
    let values = plain(values)?;
    let kind = match data_type.and_then(Kind::of_column) {
        Some(kind) => Some(kind),
        None => inferred(&values, name)?,
    };
    let Some(kind) = kind else { return Ok(Arc::new(NullArray::new(values.len()))) };
    Ok(match kind {
        Kind::Bool => Arc::new(
            cells(&values, name, kind, |value| {
                value.is_instance_of::<PyBool>().then(|| value.extract::<bool>()).transpose()
            })?
            .into_iter()
            .collect::<BooleanArray>(),
        ),
        Kind::Int => Arc::new(
            cells(&values, name, kind, |value| {
                let is_int = Kind::of_value(value) == Some(Kind::Int);
                is_int.then(|| value.extract::<i64>()).transpose()
            })?
            .into_iter()
            .collect::<Int64Array>(),
        ),
        Kind::Float => Arc::new(
            cells(&values, name, kind, |value| match Kind::of_value(value) {
                Some(Kind::Int) => whole(value, data_type == Some("FLOAT32")).map(Some),
                Some(Kind::Float) => value.extract().map(Some),
                _ => Ok(None),
            })?
            .into_iter()
            .collect::<Float64Array>(),
        ),
        Kind::Text => Arc::new(
            cells(&values, name, kind, |value| {
                value.is_instance_of::<PyString>().then(|| value.extract::<String>()).transpose()
            })?
            .into_iter()
            .collect::<StringArray>(),
        ),
        Kind::Date => Arc::new(
            cells(&values, name, kind, |value| {
                let is_date = Kind::of_value(value) == Some(Kind::Date);
                is_date.then(|| value.extract::<NaiveDate>().map(days)).transpose()
            })?
            .into_iter()
            .collect::<Date32Array>(),
        ),
        Kind::Time => moments(&values, name)?,
    })
}

/// A whole number as the float that equals it.
fn whole(value: &Bound<'_, PyAny>, is_short: bool) -> PyResult<f64> {
    let exact = value.extract::<i64>().ok().filter(|whole| {
        let float = *whole as f64;
        let float = if is_short { f64::from(float as f32) } else { float };
        float as i128 == i128::from(*whole)
    });
    exact.map(|whole| whole as f64).ok_or_else(|| {
        let kind = if is_short { "FLOAT32" } else { "FLOAT64" };
        let told = format!("no {kind} equals the whole number; give float(value), which rounds it");
        invalid(value.py(), told)
    })
}

/// Days since 1970.
fn days(date: NaiveDate) -> i32 {
    let since = date.signed_duration_since(NaiveDate::default()).num_days();
    i32::try_from(since).unwrap_or(i32::MAX)
}

/// The beginning of a day in UTC, in microseconds since 1970.
fn midnight(date: NaiveDate) -> i64 {
    i64::from(days(date)).saturating_mul(86_400_000_000)
}

fn cells<'py, T>(
    values: &[Option<Bound<'py, PyAny>>],
    name: &str,
    kind: Kind,
    convert: impl Fn(&Bound<'py, PyAny>) -> PyResult<Option<T>>,
) -> PyResult<Vec<Option<T>>> {
    let cell = |(row, value): (usize, &Option<Bound<'py, PyAny>>)| {
        let Some(value) = value else { return Ok(None) };
        match convert(value) {
            Ok(Some(cell)) => Ok(Some(cell)),
            Ok(None) => Err(misfit(value, row, name, kind.fix())),
            Err(error) => Err(misfit(value, row, name, &error.to_string())),
        }
    };
    values.iter().enumerate().map(cell).collect()
}

/// Times as microseconds, or as nanoseconds where a value of pandas has some.
fn moments(values: &[Option<Bound<'_, PyAny>>], name: &str) -> PyResult<ArrayRef> {
    let mut is_nanos = false;
    let micros = cells(values, name, Kind::Time, |value| {
        if !value.is_instance_of::<PyDateTime>() {
            let is_date = value.is_instance_of::<PyDate>();
            return is_date.then(|| value.extract().map(midnight)).transpose();
        }
        let py = value.py();
        if value.getattr(intern!(py, "tzinfo"))?.is_none() {
            return Err(invalid(
                py,
                "it has no time zone, so the moment is not known; give \
                 datetime.now(timezone.utc), or value.astimezone()",
            ));
        }
        let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
        let moment: DateTime<Utc> = value.call_method1("astimezone", (utc,))?.extract()?;
        Ok(Some(moment.timestamp_micros()))
    })?;
    let mut extra = vec![0; values.len()];
    for (value, extra) in values.iter().zip(&mut extra) {
        let Some(value) = value else { continue };
        // pandas keeps them beside the microseconds.
        if let Ok(nanos) = value.getattr("nanosecond").and_then(|nanos| nanos.extract::<i64>()) {
            *extra = nanos;
            is_nanos |= nanos != 0;
        }
    }
    if !is_nanos {
        let micros: TimestampMicrosecondArray = micros.into_iter().collect();
        return Ok(Arc::new(micros));
    }
    let mut nanos = Vec::with_capacity(micros.len());
    for (row, (micros, extra)) in micros.into_iter().zip(extra).enumerate() {
        let Some(micros) = micros else {
            nanos.push(None);
            continue;
        };
        let exact = micros.checked_mul(1_000).and_then(|nanos| nanos.checked_add(extra));
        match (exact, values.get(row).and_then(Option::as_ref)) {
            (None, Some(value)) => {
                return Err(misfit(value, row, name, "nanoseconds keep the years 1677 to 2262"));
            }
            (exact, _) => nanos.push(exact),
        }
    }
    Ok(Arc::new(nanos.into_iter().collect::<TimestampNanosecondArray>()))
}
