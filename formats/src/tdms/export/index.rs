//! The index of a table as the axis of its channels.

use std::collections::BTreeMap;

use stationdb::arrow::array::{Array, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{Int32Type, Int64Type};
use stationdb::tables::readers::{is_numbered, ticks};
use stationdb::tables::{
    Column, ColumnType, DataType, ScanRequest, TableId, TableMetadata, TableService,
};
use stationdb::{Control, Error, Result};

use crate::tdms::axis::{INCREMENT, START_OFFSET, START_TIME, Waveform, X_NAME, X_UNIT};
use crate::tdms::contents::Properties;
use crate::tdms::time::Moment;
use crate::tdms::types::Value;

/// Seconds from 1904 to 1970.
const TO_1970: i64 = 2_082_844_800;
const NANOS: i64 = 1_000_000_000;

/// What the index becomes.
enum Form {
    /// A channel, or nothing if it is not read.
    Channel,
    /// Nothing: it numbers the rows from 0.
    Numbers,
    /// The axis of the channels.
    Axis(Waveform),
}

/// The index of the rows that are exported.
pub(super) struct Index {
    name: String,
    form: Form,
    /// Nanoseconds of a count of the index; 1 for numbers of rows.
    per_count: i64,
    /// The rows that had the form, and those that were checked again.
    rows: u64,
    checked: u64,
}

impl Index {
    /// Reads the index, if it may be an axis.
    ///
    /// # Errors
    /// Those of the scan.
    pub(super) fn find<S: TableService + ?Sized>(
        session: &S,
        id: &TableId,
        table: &TableMetadata,
        request: &ScanRequest,
        control: &Control,
    ) -> Result<Self> {
        let columns = table.columns.as_deref().unwrap_or_default();
        let index = columns.iter().find(|column| column.column_type == ColumnType::Index);
        let mut found = Self {
            name: index.map(|column| column.name.clone()).unwrap_or_default(),
            form: Form::Channel,
            per_count: 1,
            rows: 0,
            checked: 0,
        };
        let Some(index) = index else { return Ok(found) };
        let listed = request.columns.as_deref().unwrap_or_default();
        let is_read = listed.is_empty() || listed.contains(&index.name);
        let is_number = is_numbered(index);
        let per_count = if is_number { Some(1) } else { nanos_per_count(index) };
        let (true, Some(per_count)) = (is_read, per_count) else { return Ok(found) };
        let mut candidates = if is_number { Vec::new() } else { told(columns, index) };
        let mut numbers = is_number;
        let mut scan = request.clone();
        scan.columns = Some(vec![index.name.clone()]);
        let mut first: Option<i64> = None;
        for batch in session.scan(id, scan, control)? {
            control.check()?;
            let Some(places) = places(&batch?, &index.name, per_count) else { return Ok(found) };
            if found.rows == 0 && !is_number {
                candidates.extend(equal_steps(index, &places));
            }
            first = first.or(places.first().copied());
            if is_number {
                let expected = (found.rows as i64..).take(places.len());
                numbers &= places.iter().copied().eq(expected);
            }
            candidates.retain(|waveform| fits(waveform, found.rows, &places));
            found.rows += places.len() as u64;
            if candidates.is_empty() && !numbers {
                found.rows = 0;
                return Ok(found);
            }
        }
        if found.rows == 0 {
            return Ok(found);
        }
        found.per_count = per_count;
        found.form = match candidates.into_iter().next() {
            Some(waveform) => Form::Axis(waveform),
            None if numbers => Form::Numbers,
            None => Form::Channel,
        };
        Ok(found)
    }

    /// Whether a column is the index, and no channel.
    pub(super) fn replaces(&self, name: &str) -> bool {
        name == self.name && !matches!(self.form, Form::Channel)
    }

    /// The waveform properties of a column, in place of those that it has.
    pub(super) fn properties(&self, column: &Column) -> Properties {
        let mut properties = Properties::new();
        match &self.form {
            Form::Axis(waveform) => {
                properties.insert(INCREMENT.to_owned(), Value::Double(waveform.increment));
                properties.insert(START_OFFSET.to_owned(), Value::Double(waveform.offset));
                if let Some(start) = waveform.start {
                    properties.insert(START_TIME.to_owned(), Value::Time(start));
                }
                properties.insert(X_NAME.to_owned(), Value::Text(self.name.clone()));
                properties.insert(X_UNIT.to_owned(), Value::Text("s".to_owned()));
            }
            // An axis that was imported as numbers beside those of the rows.
            Form::Numbers => {
                for (name, value) in &column.properties {
                    let value = match name.as_str() {
                        INCREMENT | START_OFFSET => value.parse().ok().map(Value::Double),
                        START_TIME => Moment::parse(value).map(Value::Time),
                        X_NAME | X_UNIT => Some(Value::Text(value.clone())),
                        _ => None,
                    };
                    properties.extend(value.map(|value| (name.clone(), value)));
                }
            }
            Form::Channel => {}
        }
        properties
    }

    /// Checks that the next rows are those of the axis.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check(&mut self, batch: &RecordBatch) -> Result<()> {
        if matches!(self.form, Form::Channel) {
            return Ok(());
        }
        let places = places(batch, &self.name, self.per_count).ok_or_else(changed)?;
        let is_same = match &self.form {
            Form::Axis(waveform) => fits(waveform, self.checked, &places),
            _ => places.iter().copied().eq((self.checked as i64..).take(places.len())),
        };
        self.checked += places.len() as u64;
        if is_same { Ok(()) } else { Err(changed()) }
    }

    /// Checks the number of rows.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn check_end(&self, rows: u64) -> Result<()> {
        let is_same = matches!(self.form, Form::Channel) || self.rows == rows;
        if is_same { Ok(()) } else { Err(changed()) }
    }
}

fn changed() -> Error {
    Error::conflict("the rows of the table were changed while they were exported; export it again")
}

/// Nanoseconds of a count of an index of times, by its type or its unit.
fn nanos_per_count(index: &Column) -> Option<i64> {
    let unit = match index.data_type {
        DataType::Timestamp => "ms",
        DataType::TimestampMicros => "us",
        DataType::TimestampNanos => "ns",
        _ => index.properties.get(Column::UNIT)?.as_str(),
    };
    match unit {
        "s" => Some(NANOS),
        "ms" => Some(1_000_000),
        "us" | "µs" | "μs" => Some(1_000),
        "ns" => Some(1),
        _ => None,
    }
}

/// The nanoseconds of the index of a batch, or the numbers of its rows.
fn places(batch: &RecordBatch, name: &str, per_count: i64) -> Option<Vec<i64>> {
    let array = batch.column_by_name(name)?;
    let counts: Vec<i64> = if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        array.values().to_vec()
    } else if let Some(array) = array.as_primitive_opt::<Int32Type>() {
        array.values().iter().map(|value| i64::from(*value)).collect()
    } else {
        ticks::ticks(array).to_vec()
    };
    if counts.len() != array.len() {
        return None;
    }
    counts.into_iter().map(|count| count.checked_mul(per_count)).collect()
}

fn fits(waveform: &Waveform, row: u64, places: &[i64]) -> bool {
    let axis = waveform.axis(row + places.len() as u64);
    axis.nanos(row, places.len()) == places
}

/// The axis that the properties of columns tell, as an import keeps it.
fn told(columns: &[Column], index: &Column) -> Vec<Waveform> {
    let of = |column: &Column| {
        let number = |name: &str| column.properties.get(name)?.parse().ok();
        let start = column.properties.get(START_TIME).and_then(|text| Moment::parse(text));
        Some(Waveform {
            start: start.filter(|_| index.data_type.is_time()),
            offset: number(START_OFFSET).unwrap_or_default(),
            increment: number(INCREMENT)?,
            unit: None,
            name: None,
        })
    };
    columns.iter().find_map(of).into_iter().collect()
}

/// The axis of the first two places, and of one place alone.
fn equal_steps(index: &Column, places: &[i64]) -> Option<Waveform> {
    let (first, second) = (*places.first()?, *places.get(1)?);
    let step = second.checked_sub(first).filter(|step| *step > 0)?;
    let fraction =
        (u128::from(first.rem_euclid(NANOS).unsigned_abs()) << 64).div_ceil(NANOS as u128);
    let start = Moment { seconds: first.div_euclid(NANOS) + TO_1970, fraction: fraction as u64 };
    let is_time = index.data_type.is_time();
    Some(Waveform {
        start: is_time.then_some(start),
        offset: if is_time { 0.0 } else { first as f64 / NANOS as f64 },
        increment: step as f64 / NANOS as f64,
        unit: None,
        name: None,
    })
}

/// The properties of a column that waveforms have.
pub(super) fn is_waveform(name: &str) -> bool {
    matches!(name, INCREMENT | START_OFFSET | START_TIME | X_NAME | X_UNIT)
}

/// The properties of a column as those of a channel.
pub(super) fn of_column(column: &Column, waveform: Properties) -> BTreeMap<String, Value> {
    let mut properties = waveform;
    for (name, value) in &column.properties {
        if is_waveform(name) {
            continue;
        }
        let name = if name == Column::UNIT { crate::tdms::axis::UNIT } else { name };
        properties.insert(name.to_owned(), Value::Text(value.clone()));
    }
    // Readers would scale the values once more.
    if properties.keys().any(|name| name.starts_with("NI_Scale[") || name == "NI_Number_Of_Scales")
    {
        let scaled = Value::Text("scaled".to_owned());
        properties.insert("NI_Scaling_Status".to_owned(), scaled);
    }
    properties
}
