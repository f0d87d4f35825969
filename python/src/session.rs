//! A session, or one transaction of it.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use stationdb::by_name::operations;
use stationdb::prelude::*;
use stationdb::results::{ScanMeasurementsRequest, ScanStepsRequest};
use stationdb::scans::{RecordStream, ScanRecordsRequest};
use stationdb::{Control, Error, OwnedTransaction, Result, Session};

use crate::errors::{ended, raised};
use crate::json::request;
use crate::long::{self, Stoppable, Watch, here, long, short};
use crate::open::{Call, Held as _, Open, SessionSlot, SessionSpec, TransactionSlot};
use crate::record_view::RecordView;
use crate::rows::RowsCore;

/// All services of the library, of a session or of a transaction.
pub trait Services:
    ProductService
    + ResultService
    + SpecificationService
    + AssetService
    + WorkItemService
    + TestPlanService
    + TableService
    + FileService
    + FeedService
    + WorkspaceService
    + RecordService
    + SearchService
{
    /// Calls an operation by its name.
    fn by_name(&self, operation: &str, json: &str) -> Result<String>;
}

macro_rules! services {
    ($($handle:ty),*) => {
        $(impl Services for $handle {
            fn by_name(&self, operation: &str, json: &str) -> Result<String> {
                self.call(operation, json)
            }
        })*
    };
}
services! { Session, OwnedTransaction }

/// Whether a call may work for long: a read of more than one record. A write waits for its turn on
/// the thread of its caller, by which the library knows who would wait for itself.
fn may_be_long(operation: &str) -> bool {
    static LONG: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let long = LONG.get_or_init(|| {
        let asks = |name: &&str| matches!(*name, "request" | "query");
        let all = operations().into_iter();
        all.filter(|one| !one.writes && one.arguments.iter().any(asks))
            .map(|one| one.name)
            .collect()
    });
    long.contains(operation)
}

/// What calls of a session need, shared by its tables, files and streams.
pub struct Caller {
    pub open: Arc<Open>,
    pub slot: Arc<SessionSlot>,
    /// The transaction that makes the calls, if one does.
    pub transaction: Option<Arc<TransactionSlot>>,
}

/// Who makes a call.
enum Handle {
    Session(Arc<Session>),
    Transaction(Arc<OwnedTransaction>),
}

impl Caller {
    pub fn begin(&self, py: Python<'_>) -> PyResult<(Call, Arc<Session>)> {
        if self.transaction.is_some() {
            let told = "this is not possible in a transaction; call it on the store or its session";
            return Err(raised(py, &Error::unsupported(told)));
        }
        let call = self.open.call(py)?;
        let session = self.slot.session(&call);
        Ok((call, session))
    }

    fn handle(&self, py: Python<'_>) -> PyResult<(Call, Handle)> {
        let call = self.open.call(py)?;
        let handle = match &self.transaction {
            None => Handle::Session(self.slot.session(&call)),
            Some(slot) => Handle::Transaction(slot.used_here(py)?),
        };
        Ok((call, handle))
    }

    /// Refuses a write that would wait for a transaction of its own thread.
    ///
    /// The library refuses it too, unless the write works on another thread than its caller.
    pub fn refuse_own_transaction(&self, py: Python<'_>) -> PyResult<()> {
        if self.transaction.is_none() && self.open.has_transaction_here() {
            let told = "this thread has an open transaction, which the call would wait for; call \
                        it on the transaction, or after its end";
            return Err(raised(py, &Error::conflict(told)));
        }
        Ok(())
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.slot.spec.timeout
    }

    /// A call that Ctrl-C ends.
    pub fn long<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&dyn Services, &Control) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (_call, handle) = self.handle(py)?;
        let watch = Watch { progress, timeout: self.timeout() };
        match handle {
            Handle::Session(session) => {
                long(py, watch, |control| work(&session.with_control(control), control))
            }
            // Its writes wait for nobody on the thread that used it last.
            Handle::Transaction(transaction) => {
                here(py, watch, |control| work(&*transaction, control))
            }
        }
    }

    /// A call that ends soon, or that has to work on the thread of its caller.
    pub fn short<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (_call, handle) = self.handle(py)?;
        let end = self.timeout().and_then(|timeout| Instant::now().checked_add(timeout));
        match (handle, end) {
            (Handle::Transaction(transaction), _) => short(py, || work(&*transaction)),
            (Handle::Session(session), None) => short(py, || work(&*session)),
            (Handle::Session(session), Some(end)) => {
                short(py, || work(&session.with_deadline(end)))
            }
        }
    }
}

/// A session: a user, and how its calls act.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct SessionCore {
    pub caller: Arc<Caller>,
}

impl SessionCore {
    fn answer(&self, py: Python<'_>, operation: &str, arguments: &str) -> PyResult<String> {
        if may_be_long(operation) {
            self.caller.long(py, None, |services, _| services.by_name(operation, arguments))
        } else {
            self.caller.short(py, |services| services.by_name(operation, arguments))
        }
    }

    pub fn new(open: &Arc<Open>, spec: SessionSpec) -> Self {
        let slot = Arc::new(SessionSlot::new(spec));
        open.hold(&slot);
        Self { caller: Arc::new(Caller { open: open.clone(), slot, transaction: None }) }
    }
}

/// What a scan of records finds, as rows.
fn scanned<T: DeserializeOwned + Send>(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
    scan: impl FnOnce(&dyn Services, T, &Control) -> Result<RecordStream> + Send,
) -> PyResult<RowsCore> {
    let asked: T = request(asked, "rows")?;
    let control = Control::default();
    let caller = &session.caller;
    let stream = caller.long(py, None, |services, _| scan(services, asked, &control))?;
    let schema = stream.schema();
    Ok(RowsCore::new(&caller.open, schema, Box::new(stream), control))
}

/// Records of a kind as rows.
#[pyfunction]
pub fn scan_records(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
) -> PyResult<RowsCore> {
    scanned(py, session, asked, |services, asked: ScanRecordsRequest, control| {
        services.scan_records(asked, control)
    })
}

/// Steps as rows.
#[pyfunction]
pub fn scan_steps(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
) -> PyResult<RowsCore> {
    scanned(py, session, asked, |services, asked: ScanStepsRequest, control| {
        services.scan_steps(asked, control)
    })
}

/// Measurements of steps as rows.
#[pyfunction]
pub fn scan_measurements(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
) -> PyResult<RowsCore> {
    scanned(py, session, asked, |services, asked: ScanMeasurementsRequest, control| {
        services.scan_measurements(asked, control)
    })
}

#[pymethods]
impl SessionCore {
    /// Calls an operation by its name, with JSON as text, and returns its answer as such.
    fn call(&self, py: Python<'_>, operation: &str, arguments: &str) -> PyResult<String> {
        self.answer(py, operation, arguments)
    }

    /// Calls an operation that returns a record.
    fn view(&self, py: Python<'_>, operation: &str, arguments: &str) -> PyResult<RecordView> {
        Ok(RecordView::new(self.answer(py, operation, arguments)?))
    }

    /// Another session of the same store.
    #[pyo3(signature = (user, workspace, all_or_nothing, timeout))]
    fn session(
        &self,
        py: Python<'_>,
        user: Option<String>,
        workspace: Option<String>,
        all_or_nothing: bool,
        timeout: Option<f64>,
    ) -> PyResult<Self> {
        drop(self.caller.begin(py)?);
        let user = user.unwrap_or_else(|| self.caller.slot.spec.user.clone());
        let timeout = timeout.map(|timeout| long::seconds(py, "timeout", timeout)).transpose()?;
        Ok(Self::new(&self.caller.open, SessionSpec { user, workspace, all_or_nothing, timeout }))
    }

    /// Begins a transaction: a session whose calls are one commit.
    fn begin(&self, py: Python<'_>) -> PyResult<Self> {
        self.caller.refuse_own_transaction(py)?;
        let (_call, session) = self.caller.begin(py)?;
        // Its wait for the turn to write may be long, and Ctrl-C ends it.
        let control = Control::default();
        let begun = Stoppable::new(&control).run(py, || match self.caller.timeout() {
            None => session.with_control(&control).begin(),
            Some(timeout) => {
                let control = match Instant::now().checked_add(timeout) {
                    Some(end) => control.clone().with_deadline(end),
                    None => control.clone(),
                };
                session.with_control(&control).begin()
            }
        })?;
        let slot = Arc::new(TransactionSlot::new(begun));
        self.caller.open.hold(&slot);
        self.caller.open.note_transaction(&slot);
        let transaction = slot.used_here(py)?;
        // So that this thread counts as the one that used it last.
        let nobody = "00000000-0000-4000-8000-000000000000".to_owned();
        let _ = py.detach(|| transaction.get_product(&nobody.into()));
        let Caller { open, slot: session, .. } = &*self.caller;
        let (open, session) = (open.clone(), session.clone());
        Ok(Self { caller: Arc::new(Caller { open, slot: session, transaction: Some(slot) }) })
    }

    /// Commits the transaction.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let _call = self.caller.open.call(py)?;
        let slot = self.caller.transaction.as_ref();
        match slot.and_then(|slot| slot.take()) {
            None => Err(ended(py)),
            Some(transaction) => match Arc::into_inner(transaction) {
                Some(transaction) => short(py, || transaction.commit()),
                None => Err(raised(
                    py,
                    &Error::conflict(
                        "another call of the transaction works, so it was rolled back; let its \
                         calls end before its block",
                    ),
                )),
            },
        }
    }

    /// Takes the transaction back. Does nothing if it has ended.
    fn rollback(&self, py: Python<'_>) {
        if let Some(slot) = &self.caller.transaction {
            py.detach(|| slot.end());
        }
    }

    #[getter]
    fn user(&self) -> &str {
        &self.caller.slot.spec.user
    }

    #[getter]
    fn path(&self) -> &str {
        &self.caller.open.path
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.caller.open.is_open()
    }
}
