//! Statements for programs without an async runtime. Each has threads of its own, which end with it.

use std::any::Any;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use stationdb::{Control, Error, ErrorKind, Result, Session};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{Limits, Options, context_with, query_with};

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

type Sent = std::result::Result<Part, DataFusionError>;

/// Makes the context of a statement, on a thread of the statement.
type Preparation = Pin<Box<dyn Future<Output = Result<SessionContext>> + Send>>;

/// Where the parts go, and the thread that waits for them. It waits without the timer of the
/// runtime: a statement that computes may keep all of the runtime's threads busy for seconds.
struct Out {
    sender: Sender<Sent>,
    waiter: Arc<Mutex<Thread>>,
}

fn lock(waiter: &Mutex<Thread>) -> MutexGuard<'_, Thread> {
    waiter.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Out {
    /// Returns false if nobody wants more.
    async fn send(&self, part: Sent) -> bool {
        let is_sent = self.sender.send(part).await.is_ok();
        lock(&self.waiter).unpark();
        is_sent
    }
}

/// What one statement is asked with.
#[derive(Default)]
#[non_exhaustive]
pub struct Asked {
    /// What the statement may use.
    pub options: Options,
    /// What it may ask for.
    pub limits: Limits,
    /// The values of its placeholders.
    pub values: Option<ParamValues>,
    /// Dropped when the threads of the statement have ended, and hold the store no longer.
    pub kept: Option<Box<dyn Any + Send>>,
}

/// The rows of a statement, as an iterator that blocks. Dropping it ends the work.
///
/// It may be read from any thread. The second column of a name, as `id`, is named `id_2`.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir()?;
/// # let store = stationdb::Store::open(dir.path())?;
/// # let session = store.session(stationdb::Identity::user("ada"));
/// use stationdb::Control;
/// use stationdb_sql::{Asked, Statement};
///
/// let sql = "select count(*) as products from products";
/// let mut rows = Statement::begin(&session, sql, Asked::default(), &Control::default())?;
/// assert_eq!(rows.schema().field(0).name(), "products");
/// assert_eq!(rows.next().unwrap()?.num_rows(), 1);
/// # Ok(())
/// # }
/// ```
pub struct Statement {
    runtime: Option<Runtime>,
    parts: Receiver<Sent>,
    waiter: Arc<Mutex<Thread>>,
    control: Control,
    schema: SchemaRef,
    is_done: bool,
    kept: Option<Box<dyn Any + Send>>,
}

impl Statement {
    /// Begins a statement over what `session` sees now, and waits for its columns. `control` ends
    /// it at its deadline, or when it is cancelled.
    ///
    /// # Errors
    /// `InvalidArgument` for a statement that is wrong or does not only read; `LimitExceeded` for
    /// one beyond its limits; `Cancelled` and `DeadlineExceeded` by `control`; those of a read.
    pub fn begin(
        session: &Session,
        statement: &str,
        asked: Asked,
        control: &Control,
    ) -> Result<Self> {
        let control = part_of(control);
        let (session, options) = (session.with_control(&control), asked.options.clone());
        let context = Box::pin(async move { context_with(&session, &options) });
        Self::start(context, statement, asked, control)
    }

    /// Begins a statement in a context that may have to be made first, as the one of a lake, and
    /// waits for its columns. The context has its own options; those of `asked` are not used.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and those of making the context.
    pub fn begin_in(
        context: impl Future<Output = Result<SessionContext>> + Send + 'static,
        statement: &str,
        asked: Asked,
        control: &Control,
    ) -> Result<Self> {
        Self::start(Box::pin(context), statement, asked, part_of(control))
    }

    fn start(
        context: Preparation,
        statement: &str,
        asked: Asked,
        control: Control,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread().enable_time().build();
        let runtime = runtime.map_err(|error| Error::io("starting the threads of SQL", error))?;
        let (sender, parts) = channel(WAITING);
        let waiter = Arc::new(Mutex::new(thread::current()));
        let out = Out { sender, waiter: waiter.clone() };
        let Asked { limits, values, kept, .. } = asked;
        let text = statement.to_owned();
        runtime.spawn(async move {
            if let Err(error) = answer(context, limits, &text, values, &out).await {
                // Nobody waits after a cancellation.
                out.send(Err(error)).await;
            }
        });
        let mut statement = Self {
            runtime: Some(runtime),
            parts,
            waiter,
            control,
            schema: Arc::new(Schema::empty()),
            is_done: false,
            kept,
        };
        match statement.part()? {
            Some(Part::Schema(schema)) => statement.schema = schema,
            _ => {
                return Err(Error::invalid("the statement has no columns; only reads are allowed"));
            }
        }
        Ok(statement)
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Ends the work, and waits until its threads have ended, ten seconds at most. The statement
    /// then holds the store no longer. Dropping it ends the work without waiting.
    pub fn close(mut self) {
        if let Some(end) = self.end() {
            end();
        }
    }

    /// Ends the work; returns what waits for its threads.
    fn end(&mut self) -> Option<impl FnOnce() + Send + use<>> {
        self.control.cancel();
        self.parts.close();
        let (runtime, kept) = (self.runtime.take()?, self.kept.take());
        Some(move || {
            runtime.shutdown_timeout(PATIENCE);
            drop(kept);
        })
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
                    return Err(Error::corrupt(
                        "internal error: the engine of SQL ended before the statement did; report \
                         it",
                    ));
                }
            }
        }
    }
}

impl Iterator for Statement {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.part() {
            Ok(Some(Part::Rows(batch))) => return Some(Ok(batch)),
            Ok(None) => None,
            Ok(Some(_)) => {
                Some(Err(Error::corrupt("internal error: a statement answered twice; report it")))
            }
            Err(error) => Some(Err(error)),
        };
        self.is_done = true;
        next
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        if let Some(end) = self.end() {
            // Whoever drops rows does not wait for that.
            let _ = thread::Builder::new().name("stationdb sql end".to_owned()).spawn(end);
        }
    }
}

/// A control that ends with `whole`, and can be cancelled alone.
fn part_of(whole: &Control) -> Control {
    let outer = whole.clone();
    let is_cancelled =
        move || outer.check().is_err_and(|error| error.kind() == ErrorKind::Cancelled);
    let part = Control::default().with_poll(is_cancelled);
    match whole.deadline() {
        Some(deadline) => part.with_deadline(deadline),
        None => part,
    }
}

async fn answer(
    context: Preparation,
    limits: Limits,
    statement: &str,
    values: Option<ParamValues>,
    out: &Out,
) -> std::result::Result<(), DataFusionError> {
    let context = context.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
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

/// The second `id` becomes `id_2`: readers of rows have each name once.
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

/// The error of the store that ended a statement, or the engine's as one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_get_numbers() {
        let names = ["id", "id", "id_2", "id"];
        let field =
            |name: &str| Field::new(name, datafusion::arrow::datatypes::DataType::Int64, true);
        let schema = unique(&Arc::new(Schema::new(names.map(field).to_vec())));
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["id", "id_2", "id_2_2", "id_3"]);
    }
}
