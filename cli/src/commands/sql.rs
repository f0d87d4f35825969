//! `sql`.

use std::error::Error;
use std::thread::{self, Thread};
use std::time::Duration;

use futures::StreamExt as _;
use stationdb::arrow::array::{Array, AsArray, RecordBatch};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::serde_json::{Map, Number, Value};
use stationdb_sql::datafusion::arrow::util::display::array_value_to_string;
use stationdb_sql::datafusion::error::DataFusionError;
use stationdb_sql::datafusion::prelude::SessionContext;
use stationdb_sql::{Limits, Options, context_with, query};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::desk::Desk;
use crate::failure::{Code, Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::pager::paged;

/// Batches that wait for the output at most.
const WAITING: usize = 2;
/// How often it is looked whether Ctrl-C was pressed.
const GLANCE: Duration = Duration::from_millis(50);
/// How long the work of a statement may need to see that it has ended.
const PATIENCE: Duration = Duration::from_secs(10);

/// What helps where a table is not found.
const NAMES: &str = "information_schema.tables lists all, and names with capitals or spaces need \
                     quotes, as rows.\"Loop 1\"";

/// What the work on a statement passes on.
enum AnswerPart {
    Columns(Vec<String>),
    Rows(RecordBatch),
    /// Nothing follows. Without it the work has died.
    End,
}

/// Where the parts go, and the thread that waits for them.
///
/// It waits without the timer of the runtime: a statement that computes may keep all of the
/// runtime's threads busy for seconds.
struct AnswerSender {
    sender: Sender<Result<AnswerPart, DataFusionError>>,
    waiter: Thread,
}

impl AnswerSender {
    /// Passes a part on; returns false if nobody wants it any more.
    async fn send(&self, part: Result<AnswerPart, DataFusionError>) -> bool {
        let is_sent = self.sender.send(part).await.is_ok();
        self.waiter.unpark();
        is_sent
    }
}

/// Answers one statement, over the state of this moment.
pub fn sql(desk: &Desk, output: Output, statement: &str) -> Outcome {
    let session = desk.session();
    let context = context_with(&session, &options())?;
    drop(session);
    ask(&desk.interrupt, output, std::future::ready(Ok(context)), statement)
}

/// What exceeds the memory goes into files that disappear with the statement.
pub fn options() -> Options {
    Options::default().spill_directory(std::env::temp_dir())
}

/// Answers one statement in a context, which may have to be made first.
pub fn ask(
    interrupt: &Interrupt,
    output: Output,
    context: impl Future<Output = stationdb::Result<SessionContext>> + Send + 'static,
    statement: &str,
) -> Outcome {
    let mut work = StatementTask::begin(interrupt, context, statement.to_owned())?;
    // A wrong statement is told before the pager starts.
    let Some(AnswerPart::Columns(columns)) = work.next()? else {
        return Err(Failure::new(Code::Failed, "the statement has no columns"));
    };
    let first = work.next()?;
    let mut waiting = first.into_iter();
    let mut rows = Rows { columns: columns.clone(), batch: None, row: 0 };
    let mut records = std::iter::from_fn(|| {
        loop {
            if let Some(record) = rows.next() {
                return Some(Ok(record));
            }
            match waiting.next().map_or_else(|| work.next(), |part| Ok(Some(part))) {
                Ok(Some(AnswerPart::Rows(batch))) => (rows.batch, rows.row) = (Some(batch), 0),
                Ok(_) => return None,
                Err(failure) => return Some(Err(failure)),
            }
        }
    });
    paged(output, interrupt, |out| output.records(out, &columns, true, &mut records))
}

/// The work on a statement. It ends when this is dropped, and then holds the store no longer.
struct StatementTask<'d> {
    interrupt: &'d Interrupt,
    runtime: Option<Runtime>,
    parts: Receiver<Result<AnswerPart, DataFusionError>>,
    is_done: bool,
}

impl<'d> StatementTask<'d> {
    fn begin(
        interrupt: &'d Interrupt,
        context: impl Future<Output = stationdb::Result<SessionContext>> + Send + 'static,
        statement: String,
    ) -> Outcome<Self> {
        let runtime = Builder::new_multi_thread().enable_time().build();
        let runtime = runtime.map_err(|error| Failure::io("starting threads for SQL", &error))?;
        let (sender, parts) = channel(WAITING);
        let out = AnswerSender { sender, waiter: thread::current() };
        runtime.spawn(async move {
            if let Err(error) = answer(context, &statement, &out).await {
                // Nobody waits after an interrupt.
                out.send(Err(error)).await;
            }
        });
        Ok(Self { interrupt, runtime: Some(runtime), parts, is_done: false })
    }

    fn next(&mut self) -> Outcome<Option<AnswerPart>> {
        if self.is_done {
            return Ok(None);
        }
        loop {
            self.interrupt.check()?;
            let part = match self.parts.try_recv() {
                Ok(part) => part.map_err(|error| failure(&error))?,
                Err(TryRecvError::Empty) => {
                    thread::park_timeout(GLANCE);
                    continue;
                }
                Err(TryRecvError::Disconnected) => {
                    let told = "the engine of SQL ended before the statement did";
                    return Err(Failure::new(Code::Failed, told));
                }
            };
            self.is_done = matches!(part, AnswerPart::End);
            return Ok(Some(part).filter(|_| !self.is_done));
        }
    }
}

impl Drop for StatementTask<'_> {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(PATIENCE);
        }
    }
}

async fn answer(
    context: impl Future<Output = stationdb::Result<SessionContext>>,
    statement: &str,
    out: &AnswerSender,
) -> Result<(), DataFusionError> {
    let context = context.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
    // A receiver that is gone wants nothing more.
    // Who asks can interrupt, and may read for long.
    let limits = Limits::default().time(None);
    let mut batches = query(&context, statement, &limits).await?;
    let schema = batches.schema();
    let columns = unique(schema.fields().iter().map(|field| field.name().clone()).collect());
    if !out.send(Ok(AnswerPart::Columns(columns))).await {
        return Ok(());
    }
    while let Some(batch) = batches.next().await {
        if !out.send(Ok(AnswerPart::Rows(batch?))).await {
            return Ok(());
        }
    }
    out.send(Ok(AnswerPart::End)).await;
    Ok(())
}

/// Names of columns, the second `id` as `id_2`: a record has each member once.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut chosen = name.clone();
        let mut number = 2;
        while out.contains(&chosen) {
            chosen = format!("{name}_{number}");
            number += 1;
        }
        out.push(chosen);
    }
    out
}

fn failure(error: &DataFusionError) -> Failure {
    let mut chain = std::iter::successors(Error::source(error), |&error| error.source());
    if let Some(own) = chain.find_map(|error| error.downcast_ref::<stationdb::Error>()) {
        return Failure::of(own);
    }
    let root = error.find_root();
    let code = match root {
        DataFusionError::SQL(..)
        | DataFusionError::Plan(_)
        | DataFusionError::SchemaError(..)
        | DataFusionError::Configuration(_)
        | DataFusionError::NotImplemented(_) => Code::Usage,
        _ => Code::Failed,
    };
    let message = match root {
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::Plan(message) if message.ends_with("' not found") => {
            format!("{message}; {NAMES}")
        }
        DataFusionError::Plan(message) => message.clone(),
        _ => root.strip_backtrace(),
    };
    Failure::new(code, message)
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
