//! Waveforms from rows in the order of the index.

use chrono::{DateTime, Utc};

use super::{Form, NANOS, steps_per_second};
use crate::arrow::array::{Array, AsArray, RecordBatch};
use crate::arrow::datatypes::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type};
use crate::arrow::integers::to_int64;
use crate::columnar::schema::TableSchema;
use crate::error::{Error, Place, Result};
use crate::model::tables::data::{Column, DataType};
use crate::model::tables::waveform::{
    SampleValues, WaveformAxis, WaveformData, WaveformX, WaveformY,
};

/// Collects waveforms from batches of rows.
pub(crate) struct WaveformReader {
    form: Form,
    index: Column,
    /// The column `t0` of numbered waveforms; the index in a table of samples.
    start: Column,
    y: Vec<Column>,
    /// Rows that were read.
    rows: u64,
    done: Vec<WaveformData>,
    open: Option<Open>,
}

/// The waveform whose rows are being read.
struct Open {
    /// Number, t0 and dt as bits; rows of one waveform have the same. All are 0 in a table of
    /// samples.
    key: [i64; 3],
    /// Places on the axis; empty for a numbered waveform, which has them by its axis.
    x: Vec<i64>,
    y: Vec<SampleValues>,
    count: usize,
}

fn is_number(data_type: DataType) -> bool {
    use DataType::{Float32, Float64, Int32, Int64};
    matches!(data_type, Int32 | Int64 | Float32 | Float64)
}

impl WaveformReader {
    /// A reader of the columns of samples `names`; of all columns of numbers if there are none.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown or repeated column, and one that has no numbers or is the
    /// axis.
    pub(crate) fn new(schema: &TableSchema, names: Option<&[String]>) -> Result<Self> {
        let form = Form::of(schema)?;
        let mut axis = vec![schema.index()];
        let mut start = schema.index();
        if let Form::Numbered { t0, dt } = form {
            axis.extend([t0, dt]);
            start = t0;
        }
        let is_all = names.is_none_or(<[String]>::is_empty);
        let mut y = Vec::new();
        for (at, position) in schema.projection(names, "columns")?.into_iter().enumerate() {
            let column = schema.column(position)?;
            if !axis.contains(&position) && is_number(column.data_type) {
                y.push(column.clone());
            } else if !is_all {
                let is = if axis.contains(&position) { "is the axis" } else { "has no numbers" };
                return Err(Error::invalid(format!(
                    "column {:?} of type {} {is}, so it cannot be read as samples",
                    column.name, column.data_type
                ))
                .with_args([column.name.clone()])
                .at_member(format!("columns[{at}]")));
            }
        }
        let index = schema.column(schema.index())?.clone();
        let start = schema.column(start)?.clone();
        Ok(Self { form, index, start, y, rows: 0, done: Vec::new(), open: None })
    }

    /// The columns that the batches must have, in this order.
    pub(crate) fn columns(&self, schema: &TableSchema) -> Result<Vec<String>> {
        let mut names = vec![self.index.name.clone()];
        if let Form::Numbered { t0, dt } = self.form {
            names.extend([schema.column(t0)?.name.clone(), schema.column(dt)?.name.clone()]);
        }
        names.extend(self.y.iter().map(|column| column.name.clone()));
        Ok(names)
    }

    /// Takes the next rows.
    ///
    /// # Errors
    /// `InvalidArgument` for a null.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let index = self.bits(batch, 0)?;
        let axis = match self.form {
            Form::Samples => None,
            Form::Numbered { .. } => Some((self.bits(batch, 1)?, self.bits(batch, 2)?)),
        };
        let key = |row: usize| match &axis {
            None => Some([0; 3]),
            Some((t0, dt)) => Some([*index.get(row)?, *t0.get(row)?, *dt.get(row)?]),
        };
        let mut from = 0;
        while let Some(first) = key(from).filter(|_| from < index.len()) {
            let same = (from..index.len()).take_while(|&row| key(row) == Some(first)).count();
            let rows = from..from + same;
            if self.open.as_ref().is_some_and(|open| open.key != first) {
                self.close()?;
            }
            let mut open = match self.open.take() {
                Some(open) => open,
                None => Open { key: first, x: Vec::new(), y: self.empty(), count: 0 },
            };
            if axis.is_none() {
                open.x.extend(index.get(rows.clone()).unwrap_or_default());
            }
            let first_y = batch.num_columns().saturating_sub(self.y.len());
            for (at, values) in open.y.iter_mut().enumerate() {
                let array = batch.column(first_y + at).slice(rows.start, rows.len());
                self.check_nulls(batch, first_y + at)?;
                extend(values, &array)?;
            }
            open.count += rows.len();
            self.open = Some(open);
            from = rows.end;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Memory of the waveforms so far.
    pub(crate) fn bytes(&self) -> u64 {
        let row = size_of::<DateTime<Utc>>() + 8 * self.y.len();
        let named = |column: &Column| {
            let unit = column.properties.get(Column::UNIT).map_or(0, String::len);
            size_of::<WaveformY>() + column.name.len() + unit
        };
        let waveform = size_of::<WaveformData>() + self.y.iter().map(named).sum::<usize>();
        let waveforms = (self.done.len() + 1).saturating_mul(waveform) as u64;
        self.rows.saturating_mul(row as u64).saturating_add(waveforms)
    }

    /// The waveforms of all rows.
    ///
    /// # Errors
    /// `InvalidArgument` for an axis that no waveform has.
    pub(crate) fn finish(mut self) -> Result<Vec<WaveformData>> {
        self.close()?;
        Ok(self.done)
    }

    fn empty(&self) -> Vec<SampleValues> {
        let empty = |column: &Column| match column.data_type {
            DataType::Int32 => SampleValues::Int32(Vec::new()),
            DataType::Int64 => SampleValues::Int64(Vec::new()),
            DataType::Float32 => SampleValues::Float32(Vec::new()),
            _ => SampleValues::Float64(Vec::new()),
        };
        self.y.iter().map(empty).collect()
    }

    fn check_nulls(&self, batch: &RecordBatch, at: usize) -> Result<()> {
        let array = batch.column(at);
        let Some(row) = (array.null_count() > 0)
            .then(|| (0..array.len()).find(|&row| array.is_null(row)))
            .flatten()
        else {
            return Ok(());
        };
        let column = batch.schema_ref().field(at).name().clone();
        Err(Error::invalid(format!(
            "column {column:?} has a null, which no waveform has; read the rows with `scan`"
        ))
        .at(Place::Cell { row: self.rows + row as u64, column }))
    }

    /// The values of a column of the axis: integers and times as they are, other numbers as bits.
    fn bits(&self, batch: &RecordBatch, at: usize) -> Result<Vec<i64>> {
        self.check_nulls(batch, at)?;
        let array = batch.column(at);
        if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
            return Ok(floats.values().iter().map(|value| value.to_bits().cast_signed()).collect());
        }
        let ints = to_int64(array).ok_or_else(|| {
            Error::invalid(format!(
                "column {:?} cannot be the axis of a waveform",
                batch.schema_ref().field(at).name()
            ))
        })?;
        Ok(ints.values().to_vec())
    }

    /// Ends the waveform that is being read.
    fn close(&mut self) -> Result<()> {
        let Some(Open { key: [number, t0, dt], x, y, count }) = self.open.take() else {
            return Ok(());
        };
        let (number, axis, x) = match self.form {
            Form::Samples => {
                let (axis, x) = self.found(x);
                (None, axis, x)
            }
            Form::Numbered { .. } => {
                let axis = self.stored(t0, dt)?;
                (Some(number), Some(axis), places(axis, count)?)
            }
        };
        let y = self.y.iter().zip(y).map(|(column, samples)| WaveformY {
            column: column.name.clone(),
            unit: column.properties.get(Column::UNIT).cloned(),
            samples,
        });
        let unit = self.start.properties.get(Column::UNIT).cloned();
        self.done.push(WaveformData { number, axis, unit, x, y: y.collect() });
        Ok(())
    }

    /// The axis of samples at `x`, if they lie at equal steps.
    fn found(&self, x: Vec<i64>) -> (Option<WaveformAxis>, WaveformX) {
        let mut pairs = x.windows(2).map(|pair| match pair {
            [before, after] => after.checked_sub(*before),
            _ => None,
        });
        let step = pairs.next().flatten().filter(|step| *step > 0);
        let step = step.filter(|step| pairs.all(|other| other == Some(*step)));
        if !self.index.data_type.is_time() {
            let axis = step.zip(x.first()).map(|(dt, &t0)| WaveformAxis::Count { t0, dt });
            return (axis, WaveformX::Counts(x));
        }
        let per_second = steps_per_second(&self.index).unwrap_or(NANOS);
        // Stored times are in the range of instants.
        let times: Vec<DateTime<Utc>> =
            x.iter().map(|&x| instant_of(x, per_second).unwrap_or_default()).collect();
        let axis = step
            .zip(times.first())
            .map(|(step, &t0)| WaveformAxis::Time { t0, dt: step as f64 / per_second as f64 });
        (axis, WaveformX::Times(times))
    }

    /// The axis that the columns of a numbered waveform have.
    fn stored(&self, t0: i64, dt: i64) -> Result<WaveformAxis> {
        let float = |bits: i64| f64::from_bits(bits.cast_unsigned());
        let axis = match self.start.data_type {
            data_type if data_type.is_time() => {
                instant_of(t0, steps_per_second(&self.start).unwrap_or(NANOS))
                    .map(|t0| WaveformAxis::Time { t0, dt: float(dt) })
            }
            DataType::Float64 => Some(WaveformAxis::Seconds { t0: float(t0), dt: float(dt) }),
            _ => Some(WaveformAxis::Count { t0, dt }),
        };
        axis.ok_or_else(|| Error::invalid("t0 of a waveform is no instant").at_member("t0"))
    }
}

/// The instant that is `steps` after the start of 1970.
fn instant_of(steps: i64, per_second: i64) -> Option<DateTime<Utc>> {
    let rest = steps.rem_euclid(per_second) * (NANOS / per_second);
    DateTime::from_timestamp(steps.div_euclid(per_second), u32::try_from(rest).ok()?)
}

/// The first `count` places of an axis.
fn places(axis: WaveformAxis, count: usize) -> Result<WaveformX> {
    let beyond = || {
        Error::invalid(format!(
            "the axis {axis:?} leaves the range of its type within the waveform"
        ))
    };
    Ok(match axis {
        WaveformAxis::Time { t0, dt } => {
            let whole = i128::from(t0.timestamp()) * i128::from(NANOS)
                + i128::from(t0.timestamp_subsec_nanos());
            let instant = |at: usize| {
                let after = (at as f64 * dt * NANOS as f64).round();
                let nanos = whole.checked_add(after as i128).filter(|_| after.is_finite())?;
                let second = i64::try_from(nanos.div_euclid(i128::from(NANOS))).ok()?;
                let rest = u32::try_from(nanos.rem_euclid(i128::from(NANOS))).ok()?;
                DateTime::from_timestamp(second, rest)
            };
            let times: Option<Vec<_>> = (0..count).map(instant).collect();
            WaveformX::Times(times.ok_or_else(beyond)?)
        }
        WaveformAxis::Seconds { t0, dt } => {
            WaveformX::Seconds((0..count).map(|at| t0 + at as f64 * dt).collect())
        }
        WaveformAxis::Count { t0, dt } => {
            let count_at = |at: usize| t0.checked_add(dt.checked_mul(i64::try_from(at).ok()?)?);
            let counts: Option<Vec<_>> = (0..count).map(count_at).collect();
            WaveformX::Counts(counts.ok_or_else(beyond)?)
        }
    })
}

fn values<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<&[T::Native]> {
    array
        .as_primitive_opt::<T>()
        .map(|array| &**array.values())
        .ok_or_else(|| Error::corrupt("a column of samples has another type than its table says"))
}

fn extend(samples: &mut SampleValues, array: &dyn Array) -> Result<()> {
    match samples {
        SampleValues::Float64(samples) => samples.extend_from_slice(values::<Float64Type>(array)?),
        SampleValues::Float32(samples) => samples.extend_from_slice(values::<Float32Type>(array)?),
        SampleValues::Int64(samples) => samples.extend_from_slice(values::<Int64Type>(array)?),
        SampleValues::Int32(samples) => samples.extend_from_slice(values::<Int32Type>(array)?),
    }
    Ok(())
}
