//! The process that runs tasks.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::RuntimeProducer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::utils::{create_grpc_server, default_config_producer};
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::flight_service::BallistaFlightService;
use futures::Stream;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::{Error, LakeLocation, Result, engine};

/// Time for the scheduler to begin to listen.
const SCHEDULER_WAIT: Duration = Duration::from_secs(10);
/// Time for running tasks after the end is asked for.
const DRAIN_MAX: Duration = Duration::from_secs(5);
/// Bytes of a message between processes at most.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What an executor is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// The scheduler, as `http://HOST:PORT`.
    pub scheduler: String,
    /// Where other processes fetch results; port 0 for any free one.
    pub bind: SocketAddr,
    /// The name or address that others find this machine by; when absent, the address that the
    /// scheduler sees.
    pub host: Option<String>,
    /// An existing or new directory for intermediate data.
    pub work_directory: PathBuf,
    /// Number of tasks at a time; that of the processors when absent.
    pub tasks: Option<usize>,
    /// Bytes for sorts, joins and groups, divided among the tasks; 70 % of the machine's memory
    /// when absent.
    pub memory_bytes: Option<u64>,
}

impl ExecutorOptions {
    /// An executor of this scheduler, with all processors and 70 % of the memory.
    #[must_use]
    pub fn new(
        scheduler: impl Into<String>,
        bind: SocketAddr,
        work_directory: impl Into<PathBuf>,
    ) -> Self {
        Self {
            scheduler: scheduler.into(),
            bind,
            host: None,
            work_directory: work_directory.into(),
            tasks: None,
            memory_bytes: None,
        }
    }

    /// With the name or address that others find this machine by.
    #[must_use]
    pub fn host(mut self, host: impl Into<Option<String>>) -> Self {
        self.host = host.into();
        self
    }

    /// With a number of tasks at a time.
    #[must_use]
    pub fn tasks(mut self, tasks: impl Into<Option<usize>>) -> Self {
        self.tasks = tasks.into();
        self
    }

    /// With bytes for sorts, joins and groups, divided among the tasks.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.memory_bytes = bytes.into();
        self
    }
}

/// Runs tasks over the lake at `place` until Ctrl-C or SIGTERM. `listening` gets the address once
/// it is known.
///
/// # Errors
/// [`Error::Address`], [`Error::WorkDirectory`], and [`Error::Scheduler`] when none answers within
/// 10 s.
pub async fn run_executor(
    place: &LakeLocation,
    options: ExecutorOptions,
    listening: impl FnOnce(SocketAddr),
) -> Result<()> {
    prepare_directory(&options.work_directory)?;
    let (scheduler_host, scheduler_port) = split(&options.scheduler)?;
    let address = options.bind;
    let listener =
        TcpListener::bind(address).await.map_err(|source| Error::Address { address, source })?;
    let address = listener.local_addr().map_err(|source| Error::Address { address, source })?;
    await_scheduler(&scheduler_host, scheduler_port, &options.scheduler).await?;

    let directory = options.work_directory.display().to_string();
    let runtime = place.runtime(&options.work_directory)?;
    let functions = engine::state(default_config_producer(), runtime.clone());
    let runtimes: RuntimeProducer = Arc::new(move |_| Ok(runtime.clone()));
    let mut config = ExecutorProcessConfig {
        bind_host: address.ip().to_string(),
        external_host: options.host,
        port: address.port(),
        // Nothing listens for commands: the executor asks for work.
        grpc_port: address.port(),
        scheduler_host,
        scheduler_port,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(directory),
        job_data_ttl_seconds: 3600,
        job_data_clean_up_interval_seconds: 600,
        memory_pool_size: options.memory_bytes,
        override_function_registry: Some(Arc::new((&functions).into())),
        override_runtime_producer: Some(runtimes),
        override_arrow_flight_service: Some(flight(listener)),
        ..ExecutorProcessConfig::default()
    };
    if let Some(tasks) = options.tasks {
        config.vcores = tasks.max(1);
    }
    listening(address);
    let process = start_executor_process(Arc::new(config));
    tokio::pin!(process);
    tokio::select! {
        ended = &mut process => return Ok(ended?),
        () = end_is_asked_for() => {}
    }
    // It has the signal too, tells the scheduler, and waits for its tasks; those of statements that
    // were ended take as long as they take.
    match timeout(DRAIN_MAX, process).await {
        Ok(ended) => Ok(ended?),
        Err(_) => Ok(()),
    }
}

/// Ready at Ctrl-C and SIGTERM.
pub async fn end_is_asked_for() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

pub(crate) fn prepare_directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(|source| Error::WorkDirectory {
        directory: directory.display().to_string(),
        source,
    })
}

/// The host and the port of `http://HOST:PORT`.
pub(crate) fn split(scheduler: &str) -> Result<(String, u16)> {
    let error = |problem: &str| Error::Scheduler { url: scheduler.into(), problem: problem.into() };
    let url = Url::parse(scheduler).map_err(|_| error("write it as http://HOST:PORT"))?;
    match (url.scheme(), url.host_str(), url.port()) {
        ("http", Some(host), Some(port)) => Ok((host.into(), port)),
        _ => Err(error("write it as http://HOST:PORT")),
    }
}

async fn await_scheduler(host: &str, port: u16, url: &str) -> Result<()> {
    let began = Instant::now();
    loop {
        let connected = TcpStream::connect((host.trim_matches(['[', ']']), port));
        let problem = match timeout(SCHEDULER_WAIT, connected).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".into(),
        };
        if began.elapsed() >= SCHEDULER_WAIT {
            let problem = format!("{problem}; start it by `stationdb-cluster scheduler`");
            return Err(Error::Scheduler { url: url.into(), problem });
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Serves results at a listener that exists, so that no other process can take the port first.
fn flight(listener: TcpListener) -> Arc<ArrowFlightServerProvider> {
    let listener = Mutex::new(Some(listener));
    Arc::new(move |directory, _, mut shutdown, config| {
        let listener = listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        tokio::spawn(async move {
            let Some(listener) = listener else {
                return Err(BallistaError::General("results are served already".into()));
            };
            let service = FlightServiceServer::new(BallistaFlightService::new(directory))
                .max_decoding_message_size(MESSAGE_BYTES_MAX)
                .max_encoding_message_size(MESSAGE_BYTES_MAX);
            create_grpc_server(&config)
                .add_service(service)
                .serve_with_incoming_shutdown(ConnectionStream(listener), shutdown.recv())
                .await
                .map_err(BallistaError::TonicError)
        })
    })
}

/// The connections that a listener accepts.
struct ConnectionStream(TcpListener);

impl Stream for ConnectionStream {
    type Item = std::io::Result<TcpStream>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_accept(context).map(|accepted| {
            Some(accepted.and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(stream)
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_are_http_urls_with_a_port() {
        assert_eq!(split("http://127.0.0.1:50050").unwrap(), ("127.0.0.1".into(), 50050));
        assert_eq!(split("http://centre.example:1/").unwrap(), ("centre.example".into(), 1));
        for wrong in ["127.0.0.1:50050", "http://centre.example", "https://h:1", "", "http://:1"] {
            let error = split(wrong).unwrap_err();
            assert!(error.to_string().contains("http://HOST:PORT"), "{wrong}: {error}");
        }
    }
}
