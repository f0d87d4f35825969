//! Calls that may take long: Ctrl-C ends them, and they report progress.
//!
//! Python runs the handlers of signals on its main thread alone. A read of the main thread works
//! there, and looks for signals when it checks its control ([`Signals`]). What may wait for others or
//! copies much works on another thread, which is kept for the next call, and the main thread waits
//! and looks for signals ([`long`]). Calls of other threads work where they are.

use std::cell::OnceCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use stationdb::{Control, Error, ErrorKind, Result};

use crate::callbacks;
use crate::errors::{internal, raised};
use crate::lock::lock;

/// How often a waiting main thread looks for signals.
const GLANCE: Duration = Duration::from_millis(20);
/// How often progress is reported.
const REPORT: Duration = Duration::from_millis(50);

/// What Python calls the main thread; 0 before the module is initialised.
static MAIN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_MAIN: OnceCell<bool> = const { OnceCell::new() };
}

fn ident(py: Python<'_>) -> PyResult<u64> {
    py.import("threading")?.call_method0("get_ident")?.extract()
}

/// Remembers which thread runs the handlers of signals.
pub fn note_main_thread(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?.getattr("ident")?;
    MAIN.store(main.extract().unwrap_or(0), Ordering::Relaxed);
    Ok(())
}

/// Whether this is the thread that runs the handlers of signals.
pub fn is_main(py: Python<'_>) -> bool {
    IS_MAIN.with(|known| {
        *known.get_or_init(|| ident(py).is_ok_and(|ident| ident == MAIN.load(Ordering::Relaxed)))
    })
}

/// How long a call may work, and whom it tells how far it is.
#[derive(Default)]
pub struct Watch {
    /// Called with the units done, their total if it is known, and their name.
    pub progress: Option<Py<PyAny>>,
    /// From the beginning of the call.
    pub timeout: Option<Duration>,
}

impl Watch {
    pub fn new(timeout: Option<Duration>) -> Self {
        Self { progress: None, timeout }
    }
}

/// The exception that ended a call from inside: of a handler of signals, or of a callback.
type Raised = Arc<Mutex<Option<PyErr>>>;

fn set(raised: &Raised, exception: PyErr) {
    lock(raised).get_or_insert(exception);
}

fn reporting(control: Control, progress: Py<PyAny>, raised: &Raised) -> Control {
    let (raised, ended) = (raised.clone(), control.clone());
    let last = Mutex::new(None::<Instant>);
    control.with_progress(move |progressed| {
        let mut last = lock(&last);
        let is_end = progressed.total == Some(progressed.done);
        if ended.is_cancelled() || !is_end && last.is_some_and(|last| last.elapsed() < REPORT) {
            return;
        }
        *last = Some(Instant::now());
        drop(last);
        callbacks::inside(|| {
            Python::attach(|py| {
                let told = (progressed.done, progressed.total, progressed.unit);
                if let Err(exception) = progress.call1(py, told) {
                    set(&raised, exception);
                    ended.cancel();
                }
            });
        });
    })
}

/// Looks for signals on the main thread, when a control asks it.
///
/// A handler runs inside of the call. No lock that a thread with the GIL could wait for may be held
/// where the library checks a control.
#[derive(Clone, Default)]
pub struct Signals(Arc<Glances>);

#[derive(Default)]
struct Glances {
    raised: Raised,
    last: Mutex<Option<Instant>>,
}

impl Signals {
    /// The control of calls on this thread. Its checks look for signals, and cancel after an
    /// exception.
    pub fn control(&self) -> Control {
        let signals = self.clone();
        Control::default().with_poll(move || signals.is_interrupted())
    }

    /// As [`control`](Self::control), which reports progress.
    pub fn reporting(&self, progress: Option<Py<PyAny>>) -> Control {
        match progress {
            None => self.control(),
            Some(progress) => reporting(self.control(), progress, &self.0.raised),
        }
    }

    fn is_interrupted(&self) -> bool {
        // Without the GIL only those threads are known that have begun a call.
        let is_main = IS_MAIN.with(|known| known.get().copied().unwrap_or_default());
        if !is_main || callbacks::is_inside() {
            return false;
        }
        if lock(&self.0.raised).is_some() {
            return true;
        }
        let now = Instant::now();
        let mut last = lock(&self.0.last);
        if now.duration_since(*last.get_or_insert(now)) < GLANCE {
            return false;
        }
        *last = Some(now);
        // A handler may make a call whose checks come here.
        drop(last);
        let looked = callbacks::inside(|| Python::attach(|py| py.check_signals()));
        looked.map_err(|exception| set(&self.0.raised, exception)).is_err()
    }

    /// Does `work`, whose checks ask the control, without the GIL on this thread.
    ///
    /// # Errors
    /// The exception of a handler of signals; the error of `work`.
    pub fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        is_main(py);
        let done = py.detach(work);
        let taken = lock(&self.0.raised).take();
        match taken {
            Some(exception) => Err(exception),
            None => done.map_err(|error| raised(py, &error)),
        }
    }
}

/// Does `work` without the GIL, on another thread if this is the main one. Ctrl-C cancels it.
///
/// # Errors
/// The exception of a handler of signals or of the progress callback; the error of `work`.
pub fn long<T: Send>(
    py: Python<'_>,
    watch: Watch,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> PyResult<T> {
    long_as(py, watch, raised, work)
}

/// As [`long`], with another exception for an error.
pub fn long_as<T: Send>(
    py: Python<'_>,
    watch: Watch,
    exception: fn(Python<'_>, &Error) -> PyErr,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> PyResult<T> {
    let raised = Raised::default();
    let mut control = Control::default();
    if let Some(end) = watch.timeout.and_then(|timeout| Instant::now().checked_add(timeout)) {
        control = control.with_deadline(end);
    }
    if let Some(progress) = watch.progress {
        control = reporting(control, progress, &raised);
    }
    Stoppable { control: &control, raised, exception }.run(py, || work(&control))
}

/// Work that the cancel flag of a control stops.
pub struct Stoppable<'c> {
    control: &'c Control,
    raised: Raised,
    exception: fn(Python<'_>, &Error) -> PyErr,
}

impl<'c> Stoppable<'c> {
    pub fn new(control: &'c Control) -> Self {
        Self { control, raised: Raised::default(), exception: raised }
    }

    /// As [`long`].
    pub fn run<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> PyResult<T> {
        let done = if is_main(py) && !callbacks::is_inside() {
            py.detach(|| watched(self.control, &self.raised, work))
        } else {
            py.detach(work)
        };
        let taken = lock(&self.raised).take();
        match taken {
            Some(exception) => Err(exception),
            None => done.map_err(|error| (self.exception)(py, &error)),
        }
    }
}

/// The thread on which calls of the main thread work.
struct Worker {
    /// The process that started it. A process that was forked has no such thread.
    process: u32,
    thread: ThreadPool,
}

/// The worker that is free. A call inside of a handler of signals finds none, and starts another one.
static WORKER: Mutex<Option<Worker>> = Mutex::new(None);

impl Worker {
    fn take() -> Result<Self> {
        let process = std::process::id();
        match lock(&WORKER).take() {
            Some(worker) if worker.process == process => return Ok(worker),
            // Its end would wait for locks that a thread of the other process may have held.
            Some(worker) => {
                let _leaked = ManuallyDrop::new(worker);
            }
            None => {}
        }
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let thread =
            builder.thread_name(|_| "stationdb call".to_owned()).build().map_err(|error| {
                Error::io("starting the thread of a call", std::io::Error::other(error))
            })?;
        Ok(Self { process, thread })
    }

    fn put_back(self) {
        *lock(&WORKER) = Some(self);
    }
}

fn watched<T: Send>(
    control: &Control,
    raised: &Raised,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let worker = Worker::take()?;
    let (sender, receiver) = sync_channel(1);
    let done = worker.thread.in_place_scope(|scope| {
        scope.spawn(move |_| {
            // The receiver waits until this is sent.
            let _ = sender.send(work());
        });
        loop {
            match receiver.recv_timeout(GLANCE) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) if control.is_cancelled() => {}
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(exception) = Python::attach(|py| py.check_signals()) {
                        set(raised, exception);
                        control.cancel();
                    }
                }
                // The library catches its panics, so this one has no other witness.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(internal("a call ended without an answer"));
                }
            }
        }
    });
    worker.put_back();
    done
}

/// Does `work` without the GIL, on this thread: for calls that end soon.
pub fn short<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| raised(py, &error))
}

/// Seconds of Python as a duration.
///
/// # Errors
/// `InvalidArgument` for a number that is negative, not finite, or too large.
pub fn seconds(py: Python<'_>, what: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        let told = format!("{what} is {value}; give a number of seconds that is not negative");
        raised(py, &Error::new(ErrorKind::InvalidArgument, told))
    })
}
