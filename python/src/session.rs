//! A session, or one transaction of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use stationdb::prelude::*;
use stationdb::{Control, Result, Session};

use crate::long::{self, Watch, long, short};
use crate::open::{Call, Open, SessionSlot, SessionSpec};

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
    pub fn new(open: &Arc<Open>, spec: SessionSpec) -> Self {
        let slot = Arc::new(SessionSlot::new(spec));
        open.hold(&slot);
        Self { caller: Arc::new(Caller { open: open.clone(), slot }) }
    }
}

#[pymethods]
impl SessionCore {
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
