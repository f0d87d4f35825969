//! The object store, called by blocking threads: retries with back-off, control, and notes of both.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use stationdb::{Control, Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::buffers::Buffers;
use crate::random;

/// How long a call waits before it looks at its control again.
const LOOK: Duration = Duration::from_millis(20);

/// How often a request is repeated, and how long the publisher waits in between.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Backoff {
    /// The wait after the first failure; it doubles with each further one, with jitter.
    pub first: Duration,
    /// The longest wait.
    pub most: Duration,
    /// Tries of one request; at least 1.
    pub attempts: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(200), most: Duration::from_secs(20), attempts: 10 }
    }
}

impl Backoff {
    /// With a wait after the first failure.
    #[must_use]
    pub fn first(mut self, wait: Duration) -> Self {
        self.first = wait;
        self
    }

    /// With a longest wait.
    #[must_use]
    pub fn most(mut self, wait: Duration) -> Self {
        self.most = wait;
        self
    }

    /// With a number of tries of one request.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }
}

/// Something that a publisher did and that its host may want to log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// A request failed and is repeated.
    Retry {
        /// What was attempted.
        attempt: String,
        /// The error.
        error: String,
        /// How long the publisher waits before it tries again.
        after: Duration,
    },
    /// A version of a log was taken by another writer.
    VersionTaken {
        /// The lake table.
        table: String,
        /// The version.
        version: u64,
    },
    /// The change log did not reach back to the position in the lake, so all records are sent.
    FullPass {
        /// Why.
        reason: String,
    },
    /// A commit is in the lake.
    Committed {
        /// The lake table.
        table: String,
        /// Its version.
        version: u64,
        /// Data files of the commit.
        files: usize,
    },
    /// A checkpoint of a log was written, or could not be.
    Checkpoint {
        /// The lake table.
        table: String,
        /// The version that it has the state of.
        version: u64,
        /// Why it was not written; the next is tried after as many versions.
        error: Option<String>,
    },
}

pub(crate) type Listener = Arc<dyn Fn(Note) + Send + Sync>;

/// How a conditional put ended.
#[derive(Debug)]
pub(crate) enum PutOutcome {
    Done,
    Taken,
    /// It failed, and may have been carried out or be carried out later.
    Unknown(StoreError),
}

pub(crate) struct Remote {
    pub(crate) objects: Arc<dyn ObjectStore>,
    runtime: Option<Runtime>,
    pub(crate) backoff: Backoff,
    /// Buffers of uploads, while a call of the publisher is at work.
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) listener: Option<Listener>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("objects", &self.objects).finish_non_exhaustive()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Waiting for threads is not allowed inside of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The error of the object store as one of this crate.
pub(crate) fn failed(attempt: &str, error: StoreError) -> Error {
    let kind = match &error {
        StoreError::NotFound { .. } => ErrorKind::NotFound,
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            ErrorKind::Unsupported
        }
        StoreError::InvalidPath { .. } => ErrorKind::InvalidArgument,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{attempt} in the object store failed: {error}")).with_source(error)
}

/// Whether a repeated request may succeed.
fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Generic { .. } | StoreError::JoinError { .. })
}

impl Remote {
    pub(crate) fn new(objects: Arc<dyn ObjectStore>) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("stationdb-lake")
            .enable_all()
            .build()
            .map_err(|error| Error::io("starting the threads of a publisher", error))?;
        Ok(Self {
            objects,
            runtime: Some(runtime),
            backoff: Backoff::default(),
            buffers: Arc::default(),
            listener: None,
        })
    }

    pub(crate) fn note(&self, note: Note) {
        if let Some(listener) = &self.listener {
            listener(note);
        }
    }

    /// Starts a request on the publisher's own threads. It ends when what is returned is dropped.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Result<JoinSet<T>> {
        let runtime = self.runtime.as_ref().ok_or_else(|| Error::conflict("no threads"))?;
        let mut started = JoinSet::new();
        started.spawn_on(request, runtime.handle());
        Ok(started)
    }

    /// Runs a request on the publisher's own threads, so that the caller may be on any thread.
    fn run<T: Send + 'static>(
        &self,
        control: &Control,
        request: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let runtime = self.runtime.as_ref().ok_or_else(|| Error::conflict("no threads"))?;
        control.check()?;
        let (sender, receiver) = channel();
        let task = runtime.spawn(async move {
            // The receiver is gone when the caller was cancelled.
            let _ = sender.send(request.await);
        });
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(stopped) = control.check() {
                        task.abort();
                        return Err(stopped);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::io(
                        "calling the object store",
                        std::io::Error::other("the object store panicked"),
                    ));
                }
            }
        }
    }

    /// Waits, in pieces, so that a cancelled publisher stops at once.
    pub(crate) fn wait(&self, control: &Control, time: Duration) -> Result<()> {
        let began = Instant::now();
        loop {
            control.check()?;
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
    }

    /// The wait after this many failures: between a half and the whole of the doubled time.
    pub(crate) fn delay(&self, failures: u32) -> Duration {
        let whole = self.backoff.first.saturating_mul(1 << failures.min(16)).min(self.backoff.most);
        let half = whole / 2;
        half + half.mul_f64((random() % 1000) as f64 / 1000.0)
    }

    pub(crate) fn back_off(
        &self,
        control: &Control,
        failures: u32,
        attempt: &str,
        error: &StoreError,
    ) -> Result<()> {
        let after = self.delay(failures);
        self.note(Note::Retry { attempt: attempt.to_owned(), error: error.to_string(), after });
        self.wait(control, after)
    }

    /// Repeats a request while its error may pass.
    pub(crate) fn retried<T: Send + 'static, F>(
        &self,
        control: &Control,
        attempt: &str,
        mut request: impl FnMut() -> F,
    ) -> Result<std::result::Result<T, StoreError>>
    where
        F: Future<Output = std::result::Result<T, StoreError>> + Send + 'static,
    {
        let mut failures = 0;
        loop {
            match self.run(control, request())? {
                Err(error) if is_passing(&error) && failures + 1 < self.backoff.attempts => {
                    self.back_off(control, failures, attempt, &error)?;
                    failures += 1;
                }
                answer => return Ok(answer),
            }
        }
    }

    /// The bytes of an object; `None` if there is none.
    pub(crate) fn get(&self, path: &Path, control: &Control) -> Result<Option<Bytes>> {
        let attempt = format!("reading {path}");
        let answer = self.retried(control, &attempt, || {
            let (objects, path) = (self.objects.clone(), path.clone());
            async move { objects.get(&path).await?.bytes().await }
        })?;
        match answer {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(&attempt, error)),
        }
    }

    /// Bytes of an object.
    ///
    /// # Errors
    /// `NotFound` when there is none; errors of the object store and of the control.
    pub(crate) fn get_range(
        &self,
        path: &Path,
        range: Range<u64>,
        control: &Control,
    ) -> Result<Bytes> {
        let attempt = format!("reading {path}");
        let answer = self.retried(control, &attempt, || {
            let (objects, path, range) = (self.objects.clone(), path.clone(), range.clone());
            async move { objects.get_range(&path, range).await }
        })?;
        answer.map_err(|error| failed(&attempt, error))
    }

    /// The bytes of these objects, in order, up to the first that is missing or cannot be read.
    pub(crate) fn get_run(&self, paths: Vec<Path>, control: &Control) -> Result<Vec<Bytes>> {
        let objects = self.objects.clone();
        self.run(control, async move {
            let read = |path: Path| {
                let objects = objects.clone();
                async move { objects.get(&path).await?.bytes().await }
            };
            let mut reads = futures::stream::iter(paths.into_iter().map(read)).buffered(8);
            let mut found = Vec::new();
            while let Some(Ok(bytes)) = reads.next().await {
                found.push(bytes);
            }
            found
        })
    }

    /// The size of an object; `None` if there is none.
    pub(crate) fn size(&self, path: &Path, control: &Control) -> Result<Option<u64>> {
        let attempt = format!("looking at {path}");
        let answer = self.retried(control, &attempt, || {
            let (objects, path) = (self.objects.clone(), path.clone());
            async move { objects.head(&path).await }
        })?;
        match answer {
            Ok(meta) => Ok(Some(meta.size)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed(&attempt, error)),
        }
    }

    /// The names of the objects in a directory, of those after `after` alone if it is there.
    pub(crate) fn names_after(
        &self,
        directory: &Path,
        after: Option<Path>,
        control: &Control,
    ) -> Result<Vec<String>> {
        let attempt = format!("listing {directory}");
        let answer = self.retried(control, &attempt, || {
            let (objects, directory) = (self.objects.clone(), directory.clone());
            let after = after.clone();
            async move {
                let found = match &after {
                    Some(after) => objects.list_with_offset(Some(&directory), after),
                    None => objects.list(Some(&directory)),
                };
                found.try_collect::<Vec<_>>().await
            }
        })?;
        let found = match answer {
            Err(StoreError::NotFound { .. }) => Vec::new(),
            answer => answer.map_err(|error| failed(&attempt, error))?,
        };
        Ok(found.iter().filter_map(|it| it.location.filename().map(str::to_owned)).collect())
    }

    /// The names of the directories and objects directly below a path.
    pub(crate) fn names(&self, path: &Path, control: &Control) -> Result<Vec<String>> {
        let attempt = format!("listing {path}");
        let answer = self.retried(control, &attempt, || {
            let (objects, path) = (self.objects.clone(), path.clone());
            async move { objects.list_with_delimiter(Some(&path)).await }
        })?;
        let listed = match answer {
            Ok(listed) => listed,
            Err(StoreError::NotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(failed(&attempt, error)),
        };
        let objects = listed.objects.into_iter().map(|object| object.location);
        let all = listed.common_prefixes.into_iter().chain(objects);
        Ok(all.filter_map(|path| path.filename().map(str::to_owned)).collect())
    }

    /// Puts an object that must not exist.
    pub(crate) fn create(
        &self,
        path: &Path,
        bytes: Bytes,
        control: &Control,
    ) -> Result<PutOutcome> {
        let (objects, to) = (self.objects.clone(), path.clone());
        let mode = if crate::checks::is_off(crate::checks::Check::PutIfAbsent) {
            PutMode::Overwrite
        } else {
            PutMode::Create
        };
        let answer = self.run(control, async move {
            objects.put_opts(&to, PutPayload::from(bytes), PutOptions::from(mode)).await
        })?;
        match answer {
            Ok(_) => Ok(PutOutcome::Done),
            Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => {
                Ok(PutOutcome::Taken)
            }
            Err(error) if is_passing(&error) => Ok(PutOutcome::Unknown(error)),
            Err(error) => Err(failed(&format!("creating {path}"), error)),
        }
    }

    /// Puts an object unless it is there; whoever puts it puts the same.
    pub(crate) fn create_any(&self, path: &Path, bytes: Bytes, control: &Control) -> Result<()> {
        let mut failures = 0;
        loop {
            match self.create(path, bytes.clone(), control)? {
                PutOutcome::Done | PutOutcome::Taken => return Ok(()),
                PutOutcome::Unknown(error) => {
                    failures += 1;
                    let attempt = format!("creating {path}");
                    if failures >= self.backoff.attempts {
                        return Err(failed(&attempt, error));
                    }
                    self.back_off(control, failures, &attempt, &error)?;
                }
            }
        }
    }

    /// Puts an object in the place of the one that is there.
    pub(crate) fn replace(&self, path: &Path, bytes: Bytes, control: &Control) -> Result<()> {
        let attempt = format!("writing {path}");
        let answer = self.retried(control, &attempt, || {
            let (objects, path, bytes) = (self.objects.clone(), path.clone(), bytes.clone());
            async move { objects.put(&path, PutPayload::from(bytes)).await }
        })?;
        answer.map(drop).map_err(|error| failed(&attempt, error))
    }
}
