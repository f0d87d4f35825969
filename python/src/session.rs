//! A session, or one transaction of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use stationdb::prelude::*;
use stationdb::scans::ScanRecordsRequest;
use stationdb::serde_json::Value;
use stationdb::{Control, Result, Session};

use crate::json::{from_python, request, to_python};
use crate::long::{self, Watch, long, short};
use crate::open::{Call, Open, SessionSlot, SessionSpec};
use crate::record_view::RecordView;
use crate::rows::{RowsCore, Source};

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
}

impl Services for Session {}

/// What calls of a session need, shared by its tables, files and streams.
pub struct Caller {
    pub open: Arc<Open>,
    pub slot: Arc<SessionSlot>,
}

impl Caller {
    pub fn begin(&self, py: Python<'_>) -> PyResult<(Call, Arc<Session>)> {
        let call = self.open.call(py)?;
        let session = self.slot.session(&call);
        Ok((call, session))
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
        let (_call, session) = self.begin(py)?;
        long(py, Watch { progress, timeout: self.timeout() }, |control| {
            work(&session.with_control(control), control)
        })
    }

    /// A call that ends soon, or that has to work on the thread of its caller.
    pub fn short<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&dyn Services) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (_call, session) = self.begin(py)?;
        match self.timeout().and_then(|timeout| Instant::now().checked_add(timeout)) {
            None => short(py, || work(&*session)),
            Some(end) => short(py, || work(&session.with_deadline(end))),
        }
    }
}

/// A session: a user, and how its calls act.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct SessionCore {
    pub caller: Arc<Caller>,
}

impl SessionCore {
    fn answer(&self, py: Python<'_>, operation: &str, arguments: Value) -> PyResult<Value> {
        let (_call, session) = self.caller.begin(py)?;
        let list = arguments.as_object().map(|all| all.values().cloned().collect::<Vec<_>>());
        let list = Value::Array(list.unwrap_or_default());
        short(py, || crate::interim::call(&session, operation, &list))
    }

    pub fn new(open: &Arc<Open>, spec: SessionSpec) -> Self {
        let slot = Arc::new(SessionSlot::new(spec));
        open.hold(&slot);
        Self { caller: Arc::new(Caller { open: open.clone(), slot }) }
    }
}

/// Records of a kind as rows.
#[pyfunction]
pub fn scan_records(
    py: Python<'_>,
    session: &SessionCore,
    asked: &Bound<'_, PyAny>,
) -> PyResult<RowsCore> {
    let asked: ScanRecordsRequest = request(asked, "rows")?;
    let control = Control::default();
    let caller = &session.caller;
    let stream = caller.long(py, None, |services, _| services.scan_records(asked, &control))?;
    let schema = stream.schema();
    Ok(RowsCore::new(&caller.open, schema, Source::Records(Box::new(stream)), control))
}

#[pymethods]
impl SessionCore {
    /// Calls an operation by its name.
    fn call(
        &self,
        py: Python<'_>,
        operation: &str,
        arguments: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let arguments = from_python(arguments, operation)?;
        let answer = self.answer(py, operation, arguments)?;
        to_python(py, &answer)
    }

    /// Calls an operation that returns a record.
    fn view(
        &self,
        py: Python<'_>,
        operation: &str,
        arguments: &Bound<'_, PyAny>,
    ) -> PyResult<RecordView> {
        let arguments = from_python(arguments, operation)?;
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
        Ok(Self::new(
            &self.caller.open,
            SessionSpec { user, workspace, all_or_nothing, timeout },
        ))
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
