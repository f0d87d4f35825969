//! Contents of files and packages, and file objects of the caller.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use stationdb::feeds::{FeedId, PackageId};
use stationdb::files::{ContentWriter, FileId, UploadFileRequest};
use stationdb::prelude::*;
use stationdb::{ContentReader, Control, Result};

use crate::callbacks;
use crate::errors::{closed, invalid, of_file};
use crate::json::{request, to_python};
use crate::lock::lock;
use crate::long::{Watch, long, short};
use crate::open::Held;
use crate::session::{Caller, SessionCore};

/// The exception of a file object.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// What a call returned, or the exception of the file object that ended it.
pub fn raised_or<T>(raised: &Raised, done: PyResult<T>) -> PyResult<T> {
    match lock(raised).take() {
        Some(exception) => Err(exception),
        None => done,
    }
}

/// Calls a method of a file object.
fn ask<T>(
    raised: &Raised,
    call: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
) -> io::Result<T> {
    let done = callbacks::inside(|| Python::try_attach(call));
    match done {
        Some(Ok(value)) => Ok(value),
        Some(Err(exception)) => {
            let told = exception.to_string();
            lock(raised).get_or_insert(exception);
            Err(io::Error::other(told))
        }
        None => Err(io::Error::other("the interpreter has ended")),
    }
}

/// A path, if the object is one.
fn path_of(object: &Bound<'_, PyAny>) -> Option<PathBuf> {
    // Bytes are a path for `open`, and a content for everybody who uploads them.
    if object.is_instance_of::<PyBytes>() { None } else { object.extract().ok() }
}

/// A file, or an object with `read`.
pub enum FileReader {
    File(File),
    Object { object: Py<PyAny>, raised: Raised },
}

impl FileReader {
    pub fn open(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = source.py();
        if let Some(path) = path_of(source) {
            let file = py.detach(|| File::open(&path)).and_then(|file| {
                // A directory opens, and fails when it is read.
                if file.metadata()?.is_dir() {
                    Err(io::ErrorKind::IsADirectory.into())
                } else {
                    Ok(file)
                }
            });
            let file =
                file.map_err(|error| of_file(py, format!("opening {}", path.display()), error))?;
            return Ok(Self::File(file));
        }
        if source.hasattr(intern!(py, "read"))? {
            return Ok(Self::Object { object: source.clone().unbind(), raised: Raised::default() });
        }
        let told = format!(
            "{} is neither a path nor a file that is open for reading; give open(path, \"rb\")",
            source.get_type().name()?
        );
        Err(invalid(py, told))
    }

    pub fn raised(&self) -> Raised {
        match self {
            Self::File(_) => Raised::default(),
            Self::Object { raised, .. } => raised.clone(),
        }
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object { object, raised } => ask(raised, |py| {
                let bytes = object.call_method1(py, intern!(py, "read"), (buffer.len(),))?;
                let bytes = bytes.into_bound(py);
                let Ok(bytes) = bytes.cast::<PyBytes>() else {
                    let told = format!(
                        "the file object returned {}, and not bytes; open the file with \"rb\"",
                        bytes.get_type().name()?
                    );
                    return Err(invalid(py, told));
                };
                let bytes = bytes.as_bytes();
                let Some(target) = buffer.get_mut(..bytes.len()) else {
                    return Err(invalid(py, "the file object returned more than it was asked for"));
                };
                target.copy_from_slice(bytes);
                Ok(bytes.len())
            }),
        }
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Object { object, raised } => {
                let (offset, whence) = match to {
                    SeekFrom::Start(offset) => (i64::try_from(offset).unwrap_or(i64::MAX), 0),
                    SeekFrom::Current(offset) => (offset, 1),
                    SeekFrom::End(offset) => (offset, 2),
                };
                ask(raised, |py| {
                    object.call_method1(py, intern!(py, "seek"), (offset, whence))?.extract(py)
                })
            }
        }
    }
}

/// A file that is written, or an object with `write`.
pub enum FileWriter {
    File(io::BufWriter<File>, PathBuf),
    Object { object: Py<PyAny>, raised: Raised },
}

impl FileWriter {
    pub fn open(target: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = target.py();
        if let Some(path) = path_of(target) {
            let file = py
                .detach(|| File::create(&path))
                .map_err(|error| of_file(py, format!("creating {}", path.display()), error))?;
            return Ok(Self::File(io::BufWriter::with_capacity(1 << 20, file), path));
        }
        if target.hasattr(intern!(py, "write"))? {
            return Ok(Self::Object { object: target.clone().unbind(), raised: Raised::default() });
        }
        let told = format!(
            "{} is neither a path nor a file that is open for writing; give open(path, \"wb\")",
            target.get_type().name()?
        );
        Err(invalid(py, told))
    }

    /// What the call returned. A file of a call that failed is removed.
    pub fn finish<T>(self, py: Python<'_>, done: PyResult<T>) -> PyResult<T> {
        match self {
            Self::File(mut file, path) => {
                let flushed = py.detach(|| file.flush());
                let done = done.and_then(|value| {
                    let attempt = || format!("writing {}", path.display());
                    flushed.map(|()| value).map_err(|error| of_file(py, attempt(), error))
                });
                if done.is_err() {
                    drop(file);
                    // The first error says more than that of the removal.
                    let _ = std::fs::remove_file(path);
                }
                done
            }
            Self::Object { raised, .. } => raised_or(&raised, done),
        }
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => file.write(bytes),
            Self::Object { object, raised } => ask(raised, |py| {
                let taken =
                    object.call_method1(py, intern!(py, "write"), (PyBytes::new(py, bytes),))?;
                // A raw file tells how much it took, others take all.
                let taken = taken.extract::<usize>(py).unwrap_or(bytes.len());
                Ok(taken.min(bytes.len()))
            }),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file, _) => file.flush(),
            Self::Object { .. } => Ok(()),
        }
    }
}

/// Stores a file from a path or a file object. Returns its id.
#[pyfunction]
#[pyo3(signature = (session, source, asked, progress))]
pub fn upload_file(
    py: Python<'_>,
    session: &SessionCore,
    source: &Bound<'_, PyAny>,
    asked: &Bound<'_, PyAny>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    session.caller.refuse_own_transaction(py)?;
    let asked: UploadFileRequest = request(asked, "upload")?;
    let mut input = FileReader::open(source)?;
    let raised = input.raised();
    let done = session.caller.long(py, progress, move |services, control| {
        services.upload_file(&mut input, asked, control)
    });
    Ok(raised_or(&raised, done)?.as_str().to_owned())
}

/// Stores a package of a feed from a path or a file object.
#[pyfunction]
#[pyo3(signature = (session, feed, source, name, overwrite, progress))]
pub fn upload_package(
    py: Python<'_>,
    session: &SessionCore,
    feed: String,
    source: &Bound<'_, PyAny>,
    name: Option<String>,
    overwrite: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    session.caller.refuse_own_transaction(py)?;
    let path = path_of(source);
    let mut input = FileReader::open(source)?;
    let (raised, feed) = (input.raised(), FeedId::from(feed));
    let done = session.caller.long(py, progress, move |services, control| match (path, &name) {
        (Some(path), None) => services.upload_package(&feed, &path, overwrite, control),
        (_, name) => {
            services.upload_package_content(&feed, &mut input, name.as_deref(), overwrite, control)
        }
    });
    to_python(py, &raised_or(&raised, done)?)
}

struct Slot<T>(Mutex<Option<T>>);

impl<T: Send> Held for Slot<T> {
    fn end(&self) {
        *lock(&self.0) = None;
    }
}

/// The content of a file or package, for ranged reads.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct ReaderCore {
    caller: Arc<Caller>,
    slot: Arc<Slot<ContentReader>>,
    len: u64,
}

#[pymethods]
impl ReaderCore {
    /// Opens the content of a file, or of a package.
    #[new]
    fn new(py: Python<'_>, session: &SessionCore, id: String, is_package: bool) -> PyResult<Self> {
        let reader = session.caller.short(py, |services| {
            if is_package {
                services.open_package(&PackageId::from(id))
            } else {
                services.open_file(&FileId::from(id))
            }
        })?;
        let len = reader.len();
        let slot = Arc::new(Slot(Mutex::new(Some(reader))));
        session.caller.open.hold(&slot);
        Ok(Self { caller: session.caller.clone(), slot, len })
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    /// Bytes from a place on; fewer at the end.
    fn read_at<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let _call = self.caller.open.call(py)?;
        let left = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let bytes = short(py, || {
            let mut slot = lock(&self.slot.0);
            let Some(reader) = slot.as_mut() else { return Ok(None) };
            let mut bytes = vec![0; count.min(left)];
            let mut at = 0;
            while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
                match reader.read_at(rest, offset + at as u64)? {
                    0 => break,
                    read => at += read,
                }
            }
            bytes.truncate(at);
            Ok(Some(bytes))
        })?;
        match bytes {
            Some(bytes) => Ok(PyBytes::new(py, &bytes)),
            None => Err(closed(py, "the file is closed; open it again")),
        }
    }

    fn close(&self) {
        self.slot.end();
    }
}

/// Content that is written before the file that has it.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct WriterCore {
    caller: Arc<Caller>,
    slot: Arc<Slot<ContentWriter>>,
}

#[pymethods]
impl WriterCore {
    #[new]
    fn new(py: Python<'_>, session: &SessionCore) -> PyResult<Self> {
        let control = Control::default();
        let writer = session.caller.short(py, |services| services.write_file(&control))?;
        let slot = Arc::new(Slot(Mutex::new(Some(writer))));
        session.caller.open.hold(&slot);
        Ok(Self { caller: session.caller.clone(), slot })
    }

    fn write(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<usize> {
        let _call = self.caller.open.call(py)?;
        let written = short(py, || -> Result<Option<usize>> {
            let mut slot = lock(&self.slot.0);
            let Some(writer) = slot.as_mut() else { return Ok(None) };
            writer.write_all(bytes)?;
            Ok(Some(bytes.len()))
        })?;
        written.ok_or_else(|| closed(py, "the file was stored already, or given up"))
    }

    /// Makes the file. Returns its id.
    fn commit(&self, py: Python<'_>, asked: &Bound<'_, PyAny>) -> PyResult<String> {
        self.caller.refuse_own_transaction(py)?;
        let asked: UploadFileRequest = request(asked, "the file")?;
        let (_call, session) = self.caller.begin(py)?;
        let Some(writer) = lock(&self.slot.0).take() else {
            return Err(closed(py, "the file was stored already, or given up"));
        };
        let id = long(py, Watch::new(self.caller.timeout()), |control| {
            session.with_control(control).commit_file(writer, asked)
        })?;
        Ok(id.as_str().to_owned())
    }

    /// Drops what was written.
    fn discard(&self) {
        self.slot.end();
    }
}
