//! A session, or one transaction of it.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::de::DeserializeOwned;
use stationdb::arrow::datatypes::SchemaRef;
use stationdb::by_name::{Services, operations};
use stationdb::results::{ScanMeasurementsRequest, ScanStepsRequest, TestResultId};
use stationdb::scans::{RecordStream, ScanRecordsRequest};
use stationdb::{Control, Error, OwnedTransaction, Result, Session};

use crate::errors::{ended, raised};
use crate::json::request;
use crate::long::{self, Signals, Stoppable, Watch, is_main, long, short};
use crate::open::{Call, Held as _, Open, SessionSlot, SessionSpec, TransactionSlot};
use crate::record_view::{RecordView, Wire};
use crate::rows::{RowsCore, Source};
use crate::texts;

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

/// Declares the operations that return a record by its id.
macro_rules! records {
    ($($operation:ident)*) => {
        /// The record with this id, of the operation that reads such records.
        fn record(services: &dyn Services, operation: &str, id: &str) -> Result<Box<dyn Wire>> {
            $(if operation == stringify!($operation) {
                return Ok(Box::new(services.$operation(&id.into())?));
            })*
            Err(Error::unsupported(format!("{operation} returns no record by its id")))
        }
    };
}
records! {
    get_product get_spec get_asset get_work_item get_test_plan get_result get_feed
    get_table_metadata
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
    /// The signals are those that its own checks look for.
    Transaction(Arc<OwnedTransaction>, Signals),
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
            Some(slot) => Handle::Transaction(slot.used_here(py)?, slot.signals.clone()),
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

    /// What ends at the timeout, if there is one.
    pub fn timed(&self, control: Control) -> Control {
        match self.timeout().and_then(|timeout| Instant::now().checked_add(timeout)) {
            Some(end) => control.with_deadline(end),
            None => control,
        }
    }

    /// A call that Ctrl-C ends, on another thread than the main one.
    pub fn long<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&dyn Services, &Control) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (_call, handle) = self.handle(py)?;
        match handle {
            Handle::Session(session) => {
                let watch = Watch { progress, timeout: self.timeout() };
                long(py, watch, |control| work(&session.with_control(control), control))
            }
            // Its writes wait for nobody on the thread that used it last.
            Handle::Transaction(transaction, signals) => {
                let control = signals.reporting(progress);
                signals.run(py, || work(&*transaction, &control))
            }
        }
    }

    /// A read that may be long, on the thread of its caller. Ctrl-C ends it.
    pub fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services, &Control) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.watched(py, work).map(|(done, ..)| done)
    }

    /// Rows of a read, which end with the control that it is given.
    pub fn stream(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services, &Control) -> Result<(SchemaRef, Source)> + Send,
    ) -> PyResult<RowsCore> {
        let ((schema, source), signals, control) = self.watched(py, work)?;
        Ok(RowsCore::new(&self.open, schema, source, signals, control))
    }

    fn watched<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services, &Control) -> Result<T> + Send,
    ) -> PyResult<(T, Signals, Control)> {
        let (_call, handle) = self.handle(py)?;
        let signals = match &handle {
            Handle::Session(_) => Signals::default(),
            Handle::Transaction(_, signals) => signals.clone(),
        };
        let control = signals.control();
        let done = signals.run(py, || match &handle {
            Handle::Session(session) => {
                work(&session.with_control(&self.timed(control.clone())), &control)
            }
            Handle::Transaction(transaction, _) => work(&**transaction, &control),
        })?;
        Ok((done, signals, control))
    }

    /// A write. While another thread has a transaction, a write of the main thread waits for its
    /// turn on another thread, so that Ctrl-C ends it. `work` is told whether it is on the main one.
    pub fn write<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services, bool) -> Result<T> + Send,
    ) -> PyResult<T> {
        if self.may_wait_long(py) {
            return self.long(py, None, |services, _| work(services, false));
        }
        let is_main = is_main(py);
        self.short(py, |services| work(services, is_main))
    }

    /// Whether a write of this thread would wait for the transaction of another one, and Ctrl-C for
    /// the write. One that would wait for its own transaction is refused by the library, which knows
    /// it by its thread.
    pub fn may_wait_long(&self, py: Python<'_>) -> bool {
        self.transaction.is_none() && is_main(py) && self.open.has_transactions_elsewhere()
    }

    /// A call that ends soon, or that has to work on the thread of its caller.
    pub fn short<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (_call, handle) = self.handle(py)?;
        match handle {
            Handle::Transaction(transaction, signals) => signals.run(py, || work(&*transaction)),
            Handle::Session(session) if self.timeout().is_none() => short(py, || work(&*session)),
            Handle::Session(session) => {
                let control = self.timed(Control::default());
                short(py, || work(&session.with_control(&control)))
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
        let answer = |services: &dyn Services| match texts::called(services, operation, arguments) {
            Ok(None) => services.call_by_name(operation, arguments),
            Ok(Some(text)) => Ok(text),
            Err(error) => Err(error),
        };
        if may_be_long(operation) {
            self.caller.read(py, |services, _| answer(services))
        } else {
            self.caller.write(py, |services, _| answer(services))
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
    session.caller.stream(py, |services, control| {
        let stream = scan(services, asked, control)?;
        Ok((stream.schema(), Box::new(stream) as Source))
    })
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

    /// The record with this id, of an operation that [`record`] knows. `spelling` has the wire
    /// spelling of each attribute.
    fn view(
        &self,
        py: Python<'_>,
        operation: &str,
        id: &str,
        spelling: Py<PyDict>,
    ) -> PyResult<RecordView> {
        let found = self.caller.short(py, |services| record(services, operation, id))?;
        Ok(RecordView::new(found, spelling))
    }

    /// A step, which is known by its result too.
    fn view_step(
        &self,
        py: Python<'_>,
        result_id: &str,
        step_id: &str,
        spelling: Py<PyDict>,
    ) -> PyResult<RecordView> {
        let result_id = TestResultId::from(result_id);
        let found = self.caller.short(py, |services| services.get_step(&result_id, step_id))?;
        Ok(RecordView::new(Box::new(found), spelling))
    }

    /// As `view`, with all members as a dict.
    fn get(&self, py: Python<'_>, operation: &str, id: &str) -> PyResult<Py<PyAny>> {
        self.caller.short(py, |services| record(services, operation, id))?.to_dict(py)
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
        let signals = Signals::default();
        let control = self.caller.timed(signals.control());
        let begun = Stoppable::new(&control).run(py, || session.with_control(&control).begin())?;
        let slot = Arc::new(TransactionSlot::new(begun, signals));
        self.caller.open.hold(&slot);
        self.caller.open.note_transaction(&slot);
        let transaction = slot.used_here(py)?;
        short(py, || transaction.use_here())?;
        let Caller { open, slot: session, .. } = &*self.caller;
        let (open, session) = (open.clone(), session.clone());
        Ok(Self { caller: Arc::new(Caller { open, slot: session, transaction: Some(slot) }) })
    }

    /// Commits the transaction.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        let _call = self.caller.open.call(py)?;
        let slot = self.caller.transaction.as_ref();
        let Some((slot, transaction)) = slot.and_then(|slot| Some((slot, slot.take()?))) else {
            return Err(ended(py));
        };
        let Some(transaction) = Arc::into_inner(transaction) else {
            let told = "another call of the transaction works, so it was rolled back; let its \
                        calls end before its block";
            return Err(raised(py, &Error::conflict(told)));
        };
        short(py, || {
            transaction.commit()?;
            slot.note_commit();
            Ok(())
        })
    }

    /// Whether the commit of the transaction took effect.
    #[getter]
    fn is_committed(&self) -> bool {
        self.caller.transaction.as_ref().is_some_and(|slot| slot.is_committed())
    }

    /// Refuses a write that would wait for a transaction of this thread.
    fn check_writable(&self, py: Python<'_>) -> PyResult<()> {
        self.caller.refuse_own_transaction(py)
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

    /// The workspace of new records that name none.
    #[getter]
    fn workspace(&self, py: Python<'_>) -> PyResult<String> {
        let call = self.caller.open.call(py)?;
        let given = self.caller.slot.spec.workspace.clone();
        Ok(given.unwrap_or_else(|| call.store.settings().default_workspace.clone()))
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
