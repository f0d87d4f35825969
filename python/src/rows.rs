//! Rows as a stream of Arrow batches.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::ffi::to_schema_pycapsule;
use stationdb::Result;
use stationdb::arrow::array::{RecordBatch, RecordBatchReader};
use stationdb::arrow::datatypes::{DataType, SchemaRef};
use stationdb::arrow::error::ArrowError;
use stationdb::{Control, Error};

use crate::batch::{Batch, numpy_type};
use crate::callbacks;
use crate::errors::raised;
use crate::lock::lock;
use crate::long::Signals;
use crate::open::{Held, Open};

/// Where rows come from.
pub type Source = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

enum State {
    Open(Source),
    /// The source has no more, or reading it failed.
    Done,
    /// The store was closed.
    Ended,
}

struct Stream {
    state: State,
    /// Batches that were looked at.
    ready: VecDeque<RecordBatch>,
}

struct Shared {
    schema: SchemaRef,
    control: Control,
    signals: Signals,
    stream: Mutex<Stream>,
    /// Whether another reader has the rows, or a reader met their end. A look at them does not.
    is_read: AtomicBool,
    /// What ended the rows for a reader that can only say so in words.
    raised: Mutex<Option<PyErr>>,
}

impl Held for Shared {
    fn end(&self) {
        self.control.cancel();
        let mut stream = lock(&self.stream);
        stream.ready.clear();
        if !matches!(stream.state, State::Done) {
            stream.state = State::Ended;
        }
    }
}

impl Shared {
    /// The stream, for a read. A handler of signals may run inside of another one.
    fn stream(&self) -> Result<MutexGuard<'_, Stream>> {
        if !callbacks::is_inside() {
            return Ok(lock(&self.stream));
        }
        match self.stream.try_lock() {
            Ok(stream) => Ok(stream),
            Err(TryLockError::Poisoned(stream)) => Ok(PoisonError::into_inner(stream)),
            Err(TryLockError::WouldBlock) => Err(Error::conflict(
                "these rows are being read; read them when that call has ended",
            )),
        }
    }

    /// The next batch of the source. The store has to be open.
    fn read(&self) -> Result<Option<RecordBatch>> {
        let mut stream = self.stream()?;
        if let Some(batch) = stream.ready.pop_front() {
            return Ok(Some(batch));
        }
        let next = self.fetch(&mut stream)?;
        if next.is_none() {
            self.is_read.store(true, Ordering::Relaxed);
        }
        Ok(next)
    }

    fn fetch(&self, stream: &mut Stream) -> Result<Option<RecordBatch>> {
        let next = match &mut stream.state {
            State::Open(source) => source.next(),
            State::Done => None,
            State::Ended => {
                return Err(Error::conflict(
                    "the store was closed or compacted while these rows were read; ask again",
                ));
            }
        };
        if !matches!(next, Some(Ok(_))) {
            // What it holds of the store is free again.
            stream.state = State::Done;
            if next.is_some() {
                self.is_read.store(true, Ordering::Relaxed);
            }
        }
        next.transpose()
    }

    fn next(self: &Arc<Self>, open: &Arc<Open>, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let _call = open.call(py)?;
        self.signals.run(py, || self.read())
    }
}

/// Rows of a table or of a statement. They are read once.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct RowsCore {
    open: Arc<Open>,
    shared: Arc<Shared>,
}

impl RowsCore {
    /// Rows of a source whose checks ask `control`, which is one of `signals`.
    pub fn new(
        open: &Arc<Open>,
        schema: SchemaRef,
        source: Source,
        signals: Signals,
        control: Control,
    ) -> Self {
        let stream = Stream { state: State::Open(source), ready: VecDeque::new() };
        let shared = Arc::new(Shared {
            schema,
            control,
            signals,
            stream: Mutex::new(stream),
            is_read: AtomicBool::new(false),
            raised: Mutex::new(None),
        });
        open.hold(&shared);
        Self { open: open.clone(), shared }
    }
}

#[pymethods]
impl RowsCore {
    /// The next batch; `None` after the last one.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        Ok(self.shared.next(&self.open, py)?.map(Batch::new))
    }

    /// Batches with at least `count` rows, if there are as many. They are read again later.
    fn peek(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Batch>> {
        let _call = self.open.call(py)?;
        let batches = self.shared.signals.run(py, || {
            let mut stream = self.shared.stream()?;
            let rows =
                |stream: &Stream| -> usize { stream.ready.iter().map(RecordBatch::num_rows).sum() };
            while rows(&stream) < count {
                let Some(batch) = self.shared.fetch(&mut stream)? else { break };
                stream.ready.push_back(batch);
            }
            Ok(stream.ready.iter().cloned().collect::<Vec<_>>())
        })?;
        Ok(batches.into_iter().map(Batch::new).collect())
    }

    /// Whether all rows were read, or given to another reader.
    #[getter]
    fn is_read(&self) -> bool {
        self.shared.is_read.load(Ordering::Relaxed)
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.shared.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn column_types(&self) -> Vec<String> {
        self.shared.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// What numpy calls the values of each column.
    #[getter]
    fn numpy_types(&self) -> Vec<&'static str> {
        let fields = self.shared.schema.fields().iter();
        fields
            .map(|field| match field.data_type() {
                DataType::Boolean => "bool",
                other => numpy_type(other).unwrap_or("object"),
            })
            .collect()
    }

    /// The rows as a stream of the Arrow C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        drop(self.open.call(py)?);
        let was_read = self.shared.is_read.swap(true, Ordering::Relaxed);
        if was_read {
            return Err(raised(
                py,
                &Error::conflict(
                    "these rows were read already: a stream is read once; ask for the rows again, \
                     or keep what to_arrow(), to_pandas() or to_polars() returned",
                ),
            ));
        }
        let reader = Reader { open: self.open.clone(), shared: self.shared.clone() };
        let reader = PyRecordBatchReader::new(Box::new(reader)).into_pyobject(py)?;
        reader.into_any().call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.shared.schema.as_ref())?)
    }

    /// Takes the exception that ended the rows for a reader of the stream.
    fn take_raised(&self) -> Option<Py<PyAny>> {
        let raised = lock(&self.shared.raised).take()?;
        Python::attach(|py| Some(raised.into_value(py).into_any()))
    }

    /// Ends the rows. Does nothing if they ended.
    fn close(&self, py: Python<'_>) {
        self.shared.control.cancel();
        self.shared.is_read.store(true, Ordering::Relaxed);
        py.detach(|| {
            // A read that a handler of signals interrupted ends by the control.
            let Ok(mut stream) = self.shared.stream() else { return };
            stream.ready.clear();
            stream.state = State::Done;
        });
    }
}

/// The rows for a reader of the Arrow C data interface.
struct Reader {
    open: Arc<Open>,
    shared: Arc<Shared>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = Python::try_attach(|py| self.shared.next(&self.open, py));
        match next {
            Some(Ok(batch)) => batch.map(Ok),
            Some(Err(exception)) => {
                let told = exception.to_string();
                lock(&self.shared.raised).get_or_insert(exception);
                Some(Err(ArrowError::ExternalError(told.into())))
            }
            None => Some(Err(ArrowError::ExternalError("the interpreter has ended".into()))),
        }
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.shared.schema.clone()
    }
}
