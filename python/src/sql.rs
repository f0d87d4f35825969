//! Statements of SQL. Each has threads of its own, which end with it.

use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::Duration;

use futures::StreamExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyDict, PyFloat, PyInt, PyString};
use stationdb::arrow::array::RecordBatch;
use stationdb::arrow::datatypes::{Field, Schema, SchemaRef};
use stationdb::chrono::{DateTime, Utc};
use stationdb::{Control, Error, ErrorKind, Result, Session};
use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
use stationdb_sql::datafusion::error::DataFusionError;
use stationdb_sql::{Limits, Options, context_with, query_with};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::errors::{internal, invalid};
use crate::lock::lock;
use crate::long::Signals;
use crate::open::Call;
use crate::rows::RowsCore;
use crate::session::SessionCore;

/// Batches that wait for their reader at most.
const WAITING: usize = 2;
/// How often a reader looks whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the work of a statement may need to see that it has ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// What helps where a table is not found.
const NAMES: &str = "information_schema.tables lists all, and names with capitals or spaces need \
                     quotes, as rows.\"Loop 1\"";

/// What the work on a statement passes on.
enum Part {
    Schema(SchemaRef),
    Rows(RecordBatch),
    /// Nothing follows. Without it the work has died.
    End,
}

/// Where the parts go, and the thread that waits for them. It waits without the timer of the
/// runtime: a statement that computes may keep all of the runtime's threads busy for seconds.
struct Out {
    sender: Sender<Result<Part, DataFusionError>>,
    waiter: Arc<Mutex<Thread>>,
}

impl Out {
    /// Returns false if nobody wants more.
    async fn send(&self, part: Result<Part, DataFusionError>) -> bool {
        let is_sent = self.sender.send(part).await.is_ok();
        lock(&self.waiter).unpark();
        is_sent
    }
}

/// The work on a statement. Its threads end when this is dropped, and then hold the store no longer.
struct Answer {
    runtime: Option<Runtime>,
    parts: Receiver<Result<Part, DataFusionError>>,
    waiter: Arc<Mutex<Thread>>,
    control: Control,
    is_done: bool,
    /// Keeps a closing store waiting until the threads have ended.
    call: Option<Call>,
}

impl Answer {
    fn begin(
        session: Session,
        statement: String,
        values: Option<ParamValues>,
        control: Control,
        call: Call,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread().enable_time().build();
        let runtime = runtime.map_err(|error| Error::io("starting the threads of SQL", error))?;
        let (sender, parts) = channel(WAITING);
        let waiter = Arc::new(Mutex::new(thread::current()));
        let out = Out { sender, waiter: waiter.clone() };
        let within = session.with_control(&control);
        drop(session);
        runtime.spawn(async move {
            if let Err(error) = answer(within, &statement, values, &out).await {
                // Nobody waits after a cancellation.
                out.send(Err(error)).await;
            }
        });
        let (runtime, call) = (Some(runtime), Some(call));
        Ok(Self { runtime, parts, waiter, control, is_done: false, call })
    }

    fn part(&mut self) -> Result<Option<Part>> {
        if self.is_done {
            return Ok(None);
        }
        *lock(&self.waiter) = thread::current();
        loop {
            self.control.check()?;
            match self.parts.try_recv() {
                Ok(Ok(Part::End)) => {
                    self.is_done = true;
                    return Ok(None);
                }
                Ok(part) => return part.map(Some).map_err(|error| failure(&error)),
                Err(TryRecvError::Empty) => thread::park_timeout(GLANCE),
                Err(TryRecvError::Disconnected) => {
                    return Err(internal("the engine of SQL ended before the statement did"));
                }
            }
        }
    }
}

impl Iterator for Answer {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.part() {
            Ok(Some(Part::Rows(batch))) => Some(Ok(batch)),
            Ok(Some(_)) => Some(Err(internal("a statement answered twice"))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.control.cancel();
        self.parts.close();
        let (Some(runtime), call) = (self.runtime.take(), self.call.take()) else { return };
        let end = move || {
            runtime.shutdown_timeout(PATIENCE);
            drop(call);
        };
        // Python drops rows wherever it likes, also with the GIL.
        let _ = thread::Builder::new().name("stationdb sql end".to_owned()).spawn(end);
    }
}

async fn answer(
    session: Session,
    statement: &str,
    values: Option<ParamValues>,
    out: &Out,
) -> Result<(), DataFusionError> {
    // What exceeds the memory goes into files that disappear with the statement.
    let options = Options::default().spill_directory(std::env::temp_dir());
    let context = context_with(&session, &options);
    drop(session);
    let context = context.map_err(|error| DataFusionError::External(Box::new(error)))?;
    // Who asks can interrupt, and may read for long.
    let limits = Limits::default().time(None);
    let mut batches = query_with(&context, statement, values, &limits).await?;
    let schema = unique(&batches.schema());
    if !out.send(Ok(Part::Schema(schema.clone()))).await {
        return Ok(());
    }
    while let Some(batch) = batches.next().await {
        let batch = RecordBatch::try_new(schema.clone(), batch?.columns().to_vec())?;
        if !out.send(Ok(Part::Rows(batch))).await {
            return Ok(());
        }
    }
    out.send(Ok(Part::End)).await;
    Ok(())
}

/// The second `id` becomes `id_2`: data frames have each name once.
fn unique(schema: &SchemaRef) -> SchemaRef {
    let mut fields: Vec<Field> = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let mut chosen = field.name().clone();
        let mut number = 2;
        while fields.iter().any(|field| *field.name() == chosen) {
            chosen = format!("{}_{number}", field.name());
            number += 1;
        }
        fields.push(field.as_ref().clone().with_name(chosen));
    }
    Arc::new(Schema::new(fields))
}

fn failure(error: &DataFusionError) -> Error {
    let first = std::error::Error::source(error);
    let mut chain = std::iter::successors(first, |&error| error.source());
    if let Some(own) = chain.find_map(|error| error.downcast_ref::<Error>()) {
        return own.clone();
    }
    let root = error.find_root();
    if let DataFusionError::External(inner) = root
        && let Some(own) = inner.downcast_ref::<Error>()
    {
        return own.clone();
    }
    let kind = match root {
        DataFusionError::ResourcesExhausted(_) => ErrorKind::LimitExceeded,
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::IoError(_) => ErrorKind::Io,
        DataFusionError::Internal(_) => ErrorKind::Corrupt,
        _ => ErrorKind::InvalidArgument,
    };
    let message = match root {
        DataFusionError::SQL(error, _) => error.to_string(),
        DataFusionError::Plan(message) if message.ends_with("' not found") => {
            format!("{message}; {NAMES}")
        }
        DataFusionError::Plan(message) => message.clone(),
        _ => root.strip_backtrace(),
    };
    Error::new(kind, message)
}

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
    let values = (!given.is_empty()).then(|| ParamValues::from(given));
    let (call, handle) = session.caller.begin(py)?;
    let signals = Signals::default();
    let control = signals.control();
    let (answer, schema) = signals.run(py, || {
        let handle = handle.as_ref().clone();
        let mut answer = Answer::begin(handle, statement, values, control.clone(), call)?;
        match answer.part()? {
            Some(Part::Schema(schema)) => Ok((answer, schema)),
            _ => Err(Error::invalid("the statement has no columns; only reads are allowed")),
        }
    })?;
    Ok(RowsCore::new(&session.caller.open, schema, Box::new(answer), signals, control))
}
