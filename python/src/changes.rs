//! The change feed.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stationdb::{ChangeEvent, ChangeStream, Position};

use crate::errors::closed;
use crate::json::to_python;
use crate::lock::lock;
use crate::long::{seconds, short};
use crate::open::Held;
use crate::session::{Caller, SessionCore};

/// How long a wait for a change may go on without a look for signals.
const GLANCE: Duration = Duration::from_millis(50);

struct Slot(Mutex<Option<ChangeStream>>);

impl Held for Slot {
    fn end(&self) {
        *lock(&self.0) = None;
    }
}

/// The changes after a position.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct ChangesCore {
    caller: Arc<Caller>,
    slot: Arc<Slot>,
}

fn event(py: Python<'_>, event: &ChangeEvent) -> PyResult<Py<PyAny>> {
    let found = PyDict::new(py);
    found.set_item("sequence", event.sequence)?;
    found.set_item("time", event.time)?;
    found.set_item("who", &event.who)?;
    found.set_item("kind", event.kind)?;
    found.set_item("id", &event.id)?;
    found.set_item("name", &event.name)?;
    found.set_item("workspace", &event.workspace)?;
    found.set_item("moved_from", &event.moved_from)?;
    found.set_item("what", to_python(py, &event.what)?)?;
    let detail = event.detail.as_ref().map(|detail| to_python(py, detail)).transpose()?;
    found.set_item("detail", detail)?;
    Ok(found.into_any().unbind())
}

#[pymethods]
impl ChangesCore {
    /// Changes after `since`; from now on without it.
    #[new]
    #[pyo3(signature = (session, since))]
    fn new(py: Python<'_>, session: &SessionCore, since: Option<u64>) -> PyResult<Self> {
        let (_call, handle) = session.caller.begin(py)?;
        let from = since.map_or_else(|| handle.position(), Position);
        let slot = Arc::new(Slot(Mutex::new(Some(handle.changes(from)))));
        session.caller.open.hold(&slot);
        Ok(Self { caller: session.caller.clone(), slot })
    }

    /// The next change as a dict. Waits for it, `timeout` seconds at most, or for good without it.
    #[pyo3(signature = (timeout))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        let timeout = timeout.map(|timeout| seconds(py, "timeout", timeout)).transpose()?;
        let began = Instant::now();
        loop {
            let left = timeout.map_or(GLANCE, |all| all.saturating_sub(began.elapsed()));
            // A call of its own for each glance: a store can be closed while others wait.
            let call = self.caller.open.call(py)?;
            let found = short(py, || {
                let mut slot = lock(&self.slot.0);
                let Some(stream) = slot.as_mut() else { return Ok(None) };
                stream.next(left.min(GLANCE)).map(Some)
            })?;
            drop(call);
            match found {
                None => return Err(closed(py, "these changes are closed; ask for them again")),
                Some(Some(change)) => return event(py, &change).map(Some),
                Some(None) => {}
            }
            if timeout.is_some_and(|all| began.elapsed() >= all) {
                return Ok(None);
            }
            py.check_signals()?;
        }
    }

    /// Where to go on later: after the changes that were returned.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        let position = py.detach(|| lock(&self.slot.0).as_ref().map(ChangeStream::position));
        let position = position.ok_or_else(|| closed(py, "these changes are closed"))?;
        Ok(position.0)
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.slot.end());
    }
}

/// The position of the last change of the store.
#[pyfunction]
pub fn position(py: Python<'_>, session: &SessionCore) -> PyResult<u64> {
    let (_call, handle) = session.caller.begin(py)?;
    Ok(handle.position().0)
}

/// Registers a subscriber, or returns where it is.
#[pyfunction]
pub fn register_subscriber(py: Python<'_>, session: &SessionCore, name: &str) -> PyResult<u64> {
    let (_call, handle) = session.caller.begin(py)?;
    Ok(short(py, || handle.register_subscriber(name))?.0)
}

/// Moves a subscriber forward.
#[pyfunction]
pub fn advance_subscriber(
    py: Python<'_>,
    session: &SessionCore,
    name: &str,
    position: u64,
) -> PyResult<()> {
    let (_call, handle) = session.caller.begin(py)?;
    short(py, || handle.advance_subscriber(name, Position(position)))
}

/// Removes a subscriber.
#[pyfunction]
pub fn remove_subscriber(py: Python<'_>, session: &SessionCore, name: &str) -> PyResult<()> {
    let (_call, handle) = session.caller.begin(py)?;
    short(py, || handle.remove_subscriber(name))
}
