//! Batches of rows from the arrays of a waveform. A place that the column of the axis cannot keep
//! exactly is refused, and not rounded.

use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{Form, NANOS, steps_per_second};
use crate::arrow::array::{Array, AsArray};
use crate::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, RecordBatch,
};
use crate::arrow::datatypes::Int64Type;
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::error::{Error, Result};
use crate::model::tables::data::{Column, DataType};
use crate::model::tables::waveform::{DT, Samples, T0, Waveform, WaveformAxis};

/// Rows of one batch.
const BATCH_ROWS: usize = 64 * 1024;

/// Passes the rows of a waveform to `each`, in batches.
///
/// # Errors
/// `InvalidArgument` for arrays of different lengths, a step that is not above 0, and an axis that
/// the table does not keep; those of `each`.
pub(crate) fn waveform_batches(
    schema: &TableSchema,
    waveform: &Waveform<'_>,
    mut each: impl FnMut(&RecordBatch) -> Result<()>,
) -> Result<()> {
    let count = sample_count(waveform)?;
    let axis = Axis::new(schema, waveform, count)?;
    for from in (0..count).step_by(BATCH_ROWS) {
        let rows = from..count.min(from + BATCH_ROWS);
        let mut columns = axis.columns(rows.clone())?;
        for (name, samples) in &waveform.y {
            columns.push((name, array(samples, rows.clone())));
        }
        let batch = RecordBatch::try_from_iter(columns).map_err(|error| {
            Error::invalid("the samples are no rows of a table").with_source(error)
        })?;
        each(&batch)?;
    }
    Ok(())
}

fn sample_count(waveform: &Waveform<'_>) -> Result<usize> {
    let Some((first, samples)) = waveform.y.first() else {
        return Err(
            Error::invalid("the waveform has no samples; add arrays with `y`").at_member("y")
        );
    };
    for (at, (name, other)) in waveform.y.iter().enumerate() {
        if other.len() != samples.len() {
            return Err(Error::invalid(format!(
                "column {name:?} has {} samples and column {first:?} has {}; a waveform has the \
                 same number in each column",
                other.len(),
                samples.len()
            ))
            .with_args([(*name).to_owned()])
            .at_member(format!("y[{at}]")));
        }
    }
    if samples.is_empty() {
        return Err(Error::invalid("the arrays of the waveform are empty; it needs a sample")
            .at_member("y"));
    }
    Ok(samples.len())
}

fn array(samples: &Samples<'_>, rows: Range<usize>) -> ArrayRef {
    fn part<T: Copy>(values: &[T], rows: Range<usize>) -> Vec<T> {
        values.get(rows).unwrap_or_default().to_vec()
    }
    match samples {
        Samples::Float64(values) => Arc::new(Float64Array::from(part(values, rows))),
        Samples::Float32(values) => Arc::new(Float32Array::from(part(values, rows))),
        Samples::Int64(values) => Arc::new(Int64Array::from(part(values, rows))),
        Samples::Int32(values) => Arc::new(Int32Array::from(part(values, rows))),
        Samples::Int16(values) => Arc::new(Int16Array::from(part(values, rows))),
    }
}

/// The values of the columns that keep the axis.
enum Axis<'s> {
    /// The index column, its first value, and the step to the next.
    Steps { column: &'s Column, start: i64, step: i64 },
    /// The index column and the number of the waveform, and the columns of its axis.
    Numbered { column: &'s Column, number: i64, t0: (&'s Column, Value), dt: Value },
}

/// A value that every row repeats.
enum Value {
    Int(i64),
    Float(f64),
}

impl<'s> Axis<'s> {
    fn new(schema: &'s TableSchema, waveform: &Waveform<'_>, count: usize) -> Result<Self> {
        let column = schema.column(schema.index())?;
        match (Form::of(schema)?, waveform.number) {
            (Form::Samples, None) => {
                let (start, step) = steps(column, waveform.axis)?;
                let last = i64::try_from(count - 1).ok().and_then(|last| step.checked_mul(last));
                if last.and_then(|last| start.checked_add(last)).is_none() {
                    return Err(Error::invalid(format!(
                        "the last of {count} samples lies beyond what column {:?} can keep",
                        column.name
                    ))
                    .at_member("axis.dt"));
                }
                Ok(Self::Steps { column, start, step })
            }
            (Form::Numbered { t0, .. }, Some(number)) => {
                let start = schema.column(t0)?;
                let (t0, dt) = repeated(start, waveform.axis)?;
                Ok(Self::Numbered { column, number, t0: (start, t0), dt })
            }
            (Form::Samples, Some(_)) => Err(Error::invalid(format!(
                "the waveform has a number, but the table has no columns {T0:?} and {DT:?} for its \
                 axis; make one by `CreateTableRequest::of_waveforms`, or leave the number out"
            ))
            .at_member("number")),
            (Form::Numbered { .. }, None) => Err(Error::invalid(
                "the table keeps numbered waveforms; set the number of this one with \
                 `Waveform::number`",
            )
            .at_member("number")),
        }
    }

    /// The columns of the axis for some of the rows.
    fn columns(&self, rows: Range<usize>) -> Result<Vec<(&'s str, ArrayRef)>> {
        let constant = |value: &Value| -> ArrayRef {
            match *value {
                Value::Int(value) => Arc::new(Int64Array::from_value(value, rows.len())),
                Value::Float(value) => Arc::new(Float64Array::from_value(value, rows.len())),
            }
        };
        Ok(match self {
            Self::Steps { column, start, step } => {
                // The last place was found to fit.
                let place = |row: usize| start.wrapping_add(step.wrapping_mul(row as i64));
                let places = Int64Array::from_iter_values(rows.map(place));
                vec![(column.name.as_str(), typed(column, Arc::new(places)))]
            }
            Self::Numbered { column, number, t0: (start, t0), dt } => vec![
                (column.name.as_str(), constant(&Value::Int(*number))),
                (T0, typed(start, constant(t0))),
                (DT, constant(dt)),
            ],
        })
    }
}

/// Gives whole numbers the type of a column of times.
fn typed(column: &Column, values: ArrayRef) -> ArrayRef {
    if !column.data_type.is_time() {
        return values;
    }
    let counts = values.as_primitive::<Int64Type>();
    ticks::array_of(column.data_type, counts.values().clone(), counts.nulls().cloned())
}

/// The first value of an index column that is the axis, and the step.
fn steps(column: &Column, axis: WaveformAxis) -> Result<(i64, i64)> {
    let is_time = column.data_type.is_time();
    let per_second = || {
        steps_per_second(column).ok_or_else(|| {
            Error::invalid(format!(
                "column {:?} has no unit of time; set its property `unit` to s, ms, us or ns, or \
                 use `WaveformAxis::Count`",
                column.name
            ))
            .at_member("axis")
        })
    };
    let (start, step) = match axis {
        WaveformAxis::Count { t0, dt } if !is_time => (t0, dt),
        WaveformAxis::Time { t0, dt } => {
            let per_second = per_second()?;
            positive(dt)?;
            (instant(column, t0, per_second)?, whole(column, dt, per_second, "dt")?)
        }
        WaveformAxis::Seconds { t0, dt } if !is_time => {
            let per_second = per_second()?;
            positive(dt)?;
            (whole(column, t0, per_second, "t0")?, whole(column, dt, per_second, "dt")?)
        }
        _ => return Err(other_axis(column)),
    };
    if step < 1 {
        return Err(
            Error::invalid(format!("dt is {step}; it must be above 0")).at_member("axis.dt")
        );
    }
    Ok((start, step))
}

/// The values of the columns `t0` and `dt`.
fn repeated(column: &Column, axis: WaveformAxis) -> Result<(Value, Value)> {
    match (column.data_type, axis) {
        (data_type, WaveformAxis::Time { t0, dt }) if data_type.is_time() => {
            positive(dt)?;
            let per_second = steps_per_second(column).unwrap_or(NANOS);
            Ok((Value::Int(instant(column, t0, per_second)?), Value::Float(dt)))
        }
        (DataType::Float64, WaveformAxis::Seconds { t0, dt }) => {
            positive(dt)?;
            if !t0.is_finite() {
                return Err(
                    Error::invalid(format!("t0 is {t0}; it must be finite")).at_member("axis.t0")
                );
            }
            Ok((Value::Float(t0), Value::Float(dt)))
        }
        (DataType::Int64, WaveformAxis::Count { t0, dt }) if dt > 0 => {
            Ok((Value::Int(t0), Value::Int(dt)))
        }
        (DataType::Int64, WaveformAxis::Count { dt, .. }) => {
            Err(Error::invalid(format!("dt is {dt}; it must be above 0")).at_member("axis.dt"))
        }
        _ => Err(other_axis(column)),
    }
}

fn other_axis(column: &Column) -> Error {
    let wanted = match column.data_type {
        data_type if data_type.is_time() => "`WaveformAxis::Time`",
        DataType::Int64 | DataType::Int32 => "`WaveformAxis::Count`",
        DataType::Float64 => "`WaveformAxis::Seconds`",
        _ => "no axis; it must be a time, FLOAT64 or INT64",
    };
    Error::invalid(format!("column {:?} of type {} takes {wanted}", column.name, column.data_type))
        .with_args([column.name.clone()])
        .at_member("axis")
}

fn positive(dt: f64) -> Result<()> {
    if dt.is_finite() && dt > 0.0 {
        Ok(())
    } else {
        Err(Error::invalid(format!("dt is {dt}; it must be above 0 and finite"))
            .at_member("axis.dt"))
    }
}

/// An instant in the steps of a column.
fn instant(column: &Column, t0: DateTime<Utc>, per_second: i64) -> Result<i64> {
    let nanos =
        i128::from(t0.timestamp()) * i128::from(NANOS) + i128::from(t0.timestamp_subsec_nanos());
    let step = i128::from((NANOS / per_second).max(1));
    match i64::try_from(nanos / step) {
        Ok(start) if nanos % step == 0 => Ok(start),
        _ => Err(Error::invalid(format!(
            "t0 is {t0:?}, which column {:?} with {per_second} steps in a second does not keep \
             exactly; round it, or use a column of another unit",
            column.name
        ))
        .at_member("axis.t0")),
    }
}

/// Seconds in the steps of a column. The decimal fractions that are written for whole numbers of
/// steps, such as 0.003 for 3 ms, are not exact, so the last bits of a number do not count.
fn whole(column: &Column, seconds: f64, per_second: i64, member: &str) -> Result<i64> {
    /// 2^63.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let steps = seconds * per_second as f64;
    let rounded = steps.round();
    let is_whole = (steps - rounded).abs() <= 4.0 * f64::EPSILON * steps.abs();
    if !is_whole || rounded.abs() >= BEYOND {
        return Err(Error::invalid(format!(
            "{member} of {seconds} s is {steps} steps of column {:?}, and must be a whole number; \
             use a column of a finer unit, or a table of numbered waveforms \
             (`CreateTableRequest::of_waveforms`)",
            column.name
        ))
        .at_member(format!("axis.{member}")));
    }
    Ok(rounded as i64)
}
