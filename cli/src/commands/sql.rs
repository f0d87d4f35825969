//! `sql`.

use stationdb::arrow::array::{Array, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::serde_json::{Map, Number, Value};
use stationdb_sql::datafusion::arrow::util::display::array_value_to_string;
use stationdb_sql::datafusion::prelude::SessionContext;
use stationdb_sql::{Asked, Limits, Options, Statement};

use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::pager::paged;

/// Answers one statement, over the state of this moment.
pub fn sql(desk: &Desk, output: Output, statement: &str) -> Outcome {
    let session = desk.session();
    let begun = Statement::begin(&session, statement, asked(), &desk.interrupt.control())?;
    drop(session);
    write(&desk.interrupt, output, begun)
}

/// What exceeds the memory goes into files that disappear with the statement.
pub fn options() -> Options {
    Options::default().spill_directory(std::env::temp_dir())
}

fn asked() -> Asked {
    let mut asked = Asked::default();
    asked.options = options();
    // Who asks can interrupt, and may read for long.
    asked.limits = Limits::default().time(None);
    asked
}

/// Answers one statement in a context that has to be made first.
pub fn ask(
    interrupt: &Interrupt,
    output: Output,
    context: impl Future<Output = stationdb::Result<SessionContext>> + Send + 'static,
    statement: &str,
) -> Outcome {
    let begun = Statement::begin_in(context, statement, asked(), &interrupt.control())?;
    write(interrupt, output, begun)
}

/// Writes the rows. A wrong statement was told before the pager starts, and one that fails at its
/// first rows is told here.
fn write(interrupt: &Interrupt, output: Output, statement: Statement) -> Outcome {
    let fields = statement.schema();
    let columns: Vec<String> = fields.fields().iter().map(|field| field.name().clone()).collect();
    let mut statement = Closed(Some(statement));
    let first = statement.next().transpose().map_err(|error| failed(&error))?;
    let mut rows = Rows { columns: columns.clone(), batch: first, row: 0 };
    let mut records = std::iter::from_fn(|| {
        loop {
            if let Some(record) = rows.next() {
                return Some(Ok(record));
            }
            match statement.next()? {
                Ok(batch) => (rows.batch, rows.row) = (Some(batch), 0),
                Err(error) => return Some(Err(failed(&error))),
            }
        }
    });
    paged(output, interrupt, |out| output.records(out, &columns, true, &mut records))
}

/// What ended a statement that was planned: its values, and not how it was written.
fn failed(error: &stationdb::Error) -> Failure {
    let failure = Failure::of(error);
    match failure.code {
        Code::Usage => Failure::new(Code::Failed, failure.message),
        _ => failure,
    }
}

/// A statement that holds the store no longer once this is dropped: the next command may close it.
struct Closed(Option<Statement>);

impl Iterator for Closed {
    type Item = stationdb::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.as_mut()?.next()
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        if let Some(statement) = self.0.take() {
            statement.close();
        }
    }
}

/// The rows of a batch as records.
struct Rows {
    columns: Vec<String>,
    batch: Option<RecordBatch>,
    row: usize,
}

impl Iterator for Rows {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let batch = self.batch.as_ref().filter(|batch| self.row < batch.num_rows())?;
        let cells = self.columns.iter().zip(batch.columns());
        let record: Map<String, Value> =
            cells.map(|(name, array)| (name.clone(), value(array, self.row))).collect();
        self.row += 1;
        Some(Value::Object(record))
    }
}

fn value(array: &dyn Array, row: usize) -> Value {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    if array.is_null(row) {
        return Value::Null;
    }
    let text = || Value::from(array_value_to_string(array, row).unwrap_or_default());
    match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::from(array.as_boolean().value(row)),
        DataType::Int8 => Value::from(of::<Int8Type>(array, row)),
        DataType::Int16 => Value::from(of::<Int16Type>(array, row)),
        DataType::Int32 => Value::from(of::<Int32Type>(array, row)),
        DataType::Int64 => Value::from(of::<Int64Type>(array, row)),
        DataType::UInt8 => Value::from(of::<UInt8Type>(array, row)),
        DataType::UInt16 => Value::from(of::<UInt16Type>(array, row)),
        DataType::UInt32 => Value::from(of::<UInt32Type>(array, row)),
        DataType::UInt64 => Value::from(of::<UInt64Type>(array, row)),
        DataType::Float32 => {
            // The digits of the single value, not those of the nearest double.
            let single = of::<Float32Type>(array, row);
            float(single.to_string().parse().unwrap_or_else(|_| f64::from(single)))
        }
        DataType::Float64 => float(of::<Float64Type>(array, row)),
        DataType::Timestamp(unit, Some(_)) => {
            let (time, digits) = match unit {
                TimeUnit::Second => return text(),
                TimeUnit::Millisecond => (
                    DateTime::from_timestamp_millis(of::<TimestampMillisecondType>(array, row)),
                    SecondsFormat::Millis,
                ),
                TimeUnit::Microsecond => (
                    DateTime::from_timestamp_micros(of::<TimestampMicrosecondType>(array, row)),
                    SecondsFormat::Micros,
                ),
                TimeUnit::Nanosecond => (
                    Some(DateTime::<Utc>::from_timestamp_nanos(of::<TimestampNanosecondType>(
                        array, row,
                    ))),
                    SecondsFormat::Nanos,
                ),
            };
            time.map_or_else(text, |time| Value::from(time.to_rfc3339_opts(digits, true)))
        }
        DataType::List(_) => {
            let inner = array.as_list::<i32>().value(row);
            (0..inner.len()).map(|at| value(&inner, at)).collect()
        }
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            columns.map(|(field, array)| (field.name().clone(), value(array, row))).collect()
        }
        DataType::Map(..) => {
            let inner = array.as_map().value(row);
            let (keys, values) = (inner.column(0), inner.column(1));
            (0..inner.len())
                .map(|at| {
                    let key = array_value_to_string(keys, at).unwrap_or_default();
                    (key, value(values, at))
                })
                .collect()
        }
        _ => text(),
    }
}

/// A number, or the name of what JSON has no number for.
fn float(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => Value::from("NaN"),
        None if value > 0.0 => Value::from("Infinity"),
        None => Value::from("-Infinity"),
    }
}
