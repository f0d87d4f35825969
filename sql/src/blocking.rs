//! Statements for programs without an async runtime. Each has threads of its own, which end with it;
//! those that are prepared share the threads of their [`Sql`](crate::Sql).

use std::any::Any;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::prelude::SessionContext;
use futures::StreamExt as _;
use stationdb::{Control, Error, ErrorKind, Result, Session};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::AbortHandle;

use crate::prepared::{Held, begun};
use crate::{Limits, Options, Prepared, Sql, context_with, query_with};

/// Batches that wait for their reader at most.
const WAITING: usize = 2;
/// How often a reader looks whether it was cancelled.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the work of a statement may need to see that it has ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether it has.
const PAUSE: Duration = Duration::from_millis(1);
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

/// Makes the rows of a statement, on a thread of the statement.
type Work = Pin<
    Box<
        dyn Future<Output = std::result::Result<SendableRecordBatchStream, DataFusionError>> + Send,
    >,
>;

/// Who works on a statement.
enum Threads {
    Own(Runtime, Option<Box<dyn Any + Send>>),
    /// What is held drops when the work has ended.
    Shared(AbortHandle, Weak<Held>),
}

impl Threads {
    /// Ends the work. What is kept drops when the work has ended, however long that takes: a statement
    /// that computes looks for its end between two steps. Waits for that, `patience` at most.
    fn end(self, patience: Duration) {
        match self {
            Self::Own(runtime, kept) => {
                let (sender, ended) = std::sync::mpsc::channel();
                let end = move || {
                    drop(runtime);
                    drop(kept);
                    // Nobody may wait any more.
                    let _ = sender.send(());
                };
                let thread = thread::Builder::new().name("stationdb sql end".to_owned());
                if thread.spawn(end).is_ok() {
                    let _ = ended.recv_timeout(patience);
                }
            }
            Self::Shared(work, held) => {
                work.abort();
                let until = Instant::now() + patience;
                while held.strong_count() > 0 && Instant::now() < until {
                    thread::sleep(PAUSE);
                }
            }
        }
    }
}

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
    threads: Option<Threads>,
    parts: Receiver<Sent>,
    waiter: Arc<Mutex<Thread>>,
    control: Control,
    schema: SchemaRef,
    is_done: bool,
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
        let control = control.part().without_progress();
        let (session, options) = (session.with_control(&control), asked.options.clone());
        let context = async move { context_with(&session, &options) };
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
        Self::start(context, statement, asked, control.part().without_progress())
    }

    fn start(
        context: impl Future<Output = Result<SessionContext>> + Send + 'static,
        statement: &str,
        asked: Asked,
        control: Control,
    ) -> Result<Self> {
        let Asked { limits, values, kept, .. } = asked;
        let text = statement.to_owned();
        let work: Work = Box::pin(async move {
            let context =
                context.await.map_err(|error| DataFusionError::External(Box::new(error)))?;
            query_with(&context, &text, values, &limits).await
        });
        let runtime = begun()?;
        Self::of(control, |out| {
            runtime.spawn(worked(work, out));
            Ok(Threads::Own(runtime, kept))
        })
    }

    /// The rows of work that `begin` begins, when its columns are there.
    fn of(control: Control, begin: impl FnOnce(Out) -> Result<Threads>) -> Result<Self> {
        let (sender, parts) = channel(WAITING);
        let waiter = Arc::new(Mutex::new(thread::current()));
        let threads = Some(begin(Out { sender, waiter: waiter.clone() })?);
        let (schema, is_done) = (Arc::new(Schema::empty()), false);
        let mut statement = Self { threads, parts, waiter, control, schema, is_done };
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
    /// then holds the store no longer. Dropping it ends the work without waiting. What is kept for
    /// the statement drops when the work has ended, whoever waits.
    pub fn close(mut self) {
        if let Some(threads) = self.end() {
            threads.end(PATIENCE);
        }
    }

    fn end(&mut self) -> Option<Threads> {
        self.control.cancel();
        self.parts.close();
        self.threads.take()
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
        // Whoever drops rows does not wait for that.
        if let Some(threads) = self.end() {
            threads.end(Duration::ZERO);
        }
    }
}

impl Sql {
    /// As [`prepare`](Self::prepare), with an error of the library.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is no statement; `LimitExceeded` for one beyond the limits.
    pub fn prepared(&self, text: &str) -> Result<Prepared> {
        self.prepare(text).map_err(|error| failure(&error))
    }
}

impl Prepared {
    /// Begins the statement over what `session` sees now, and waits for its columns: as
    /// [`query`](Self::query), for programs without an async runtime. `kept` is dropped when the work
    /// has ended, and holds the store no longer.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(dir.path())?;
    /// # let session = store.session(stationdb::Identity::user("ada"));
    /// use stationdb::Control;
    /// use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
    /// use stationdb_sql::{Limits, Options, Sql};
    ///
    /// let sql = Sql::new(Options::default(), Limits::default())?;
    /// let prepared = sql.prepared("select id from products where part_number = $part")?;
    /// assert!(prepared.placeholders().contains("$part"));
    /// let values = ParamValues::from(vec![("part", ScalarValue::from("P-1"))]);
    /// let mut rows = prepared.begin(&session, Some(values), None, &Control::default())?;
    /// assert_eq!(rows.schema().field(0).name(), "id");
    /// assert!(rows.next().is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Statement::begin`]; `DeadlineExceeded` also for the time of the limits.
    pub fn begin(
        &self,
        session: &Session,
        values: Option<ParamValues>,
        kept: Option<Box<dyn Any + Send>>,
        control: &Control,
    ) -> Result<Statement> {
        let mut control = control.part().without_progress();
        let own = self.time().and_then(|time| Instant::now().checked_add(time));
        if let Some(until) = own.into_iter().chain(control.deadline()).min() {
            control = control.with_deadline(until);
        }
        let held = Arc::new(Held::new(kept));
        let (prepared, session, own) = (self.clone(), session.clone(), control.clone());
        let (weak, whole) = (Arc::downgrade(&held), held.clone());
        let work: Work =
            Box::pin(async move { prepared.ask(&session, values, &own, Some(held)).await });
        Statement::of(control, |out| {
            let work = async move {
                worked(work, out).await;
                // Behind the plan, which has the session.
                drop(whole);
            };
            Ok(Threads::Shared(self.threads().spawn(work)?, weak))
        })
    }
}

/// Passes on what the work makes, and its error.
async fn worked(work: Work, out: Out) {
    if let Err(error) = answer(work, &out).await {
        // Nobody waits after a cancellation.
        out.send(Err(error)).await;
    }
}

async fn answer(work: Work, out: &Out) -> std::result::Result<(), DataFusionError> {
    let mut batches = work.await?;
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

    /// A closing store waits for what is kept. Work that is in the middle of a step still has sessions.
    #[test]
    fn what_is_kept_drops_when_the_work_has_ended() {
        let (begins, begun_step) = std::sync::mpsc::channel();
        let (goes_on, step) = std::sync::mpsc::channel::<()>();
        let runtime = begun().unwrap();
        runtime.spawn(async move {
            begins.send(()).unwrap();
            let _ = step.recv();
        });
        begun_step.recv().unwrap();
        let kept = Arc::new(());
        Threads::Own(runtime, Some(Box::new(kept.clone()))).end(Duration::from_millis(50));
        assert_eq!(Arc::strong_count(&kept), 2, "the step has not ended");
        drop(goes_on);
        let until = Instant::now() + PATIENCE;
        while Arc::strong_count(&kept) > 1 {
            assert!(Instant::now() < until, "the step has ended");
            thread::sleep(PAUSE);
        }
    }
}
