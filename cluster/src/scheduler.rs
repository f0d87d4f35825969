//! The process that divides statements into tasks.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use ballista_core::ConfigProducer;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::utils::default_config_producer;
use ballista_scheduler::SessionBuilder;
use ballista_scheduler::cluster::memory::InMemoryJobState;
use ballista_scheduler::cluster::{BallistaCluster, ClusterStateEvent};
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use futures::StreamExt;
use tokio::net::TcpListener;

use crate::lost::{self, Executors, Server};
use crate::{Error, LOOK_INTERVAL, LakeLocation, Result, SILENCE_MAX, engine};

/// Takes statements from contexts and gives tasks to executors.
///
/// It keeps everything in memory: statements that run when it ends have to be sent again.
pub struct Scheduler {
    listener: TcpListener,
    address: SocketAddr,
    server: Server,
    executors: Arc<Executors>,
}

impl Scheduler {
    /// Listens at `address`; with port 0 at any free port, which [`Scheduler::address`] tells.
    /// `work_directory` has room for what planning exceeds the memory with.
    ///
    /// # Errors
    /// [`Error::Address`] when nothing can listen there, [`Error::WorkDirectory`].
    pub async fn bind(
        address: SocketAddr,
        place: &LakeLocation,
        work_directory: PathBuf,
    ) -> Result<Self> {
        crate::executor::prepare_directory(&work_directory)?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| Error::Address { address, source })?;
        let address = listener.local_addr().map_err(|source| Error::Address { address, source })?;
        let config = config(address);
        let runtime = place.runtime(&work_directory)?;
        let sessions: SessionBuilder =
            Arc::new(move |config| Ok(engine::state(config, runtime.clone())));
        let settings: ConfigProducer = Arc::new(default_config_producer);
        let executors = Arc::new(Executors::default());
        let jobs = InMemoryJobState::new(config.scheduler_id.clone(), sessions, settings);
        let cluster = BallistaCluster::new(executors.clone(), Arc::new(jobs));
        let server = create_scheduler(cluster, Arc::new(config)).await?;
        executors.set_server(Some(server.clone()));
        Ok(Self { listener, address, server, executors })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `end` is ready. `tell` gets a line when an executor comes or is lost.
    ///
    /// # Errors
    /// [`Error::Service`] when connections can no longer be accepted.
    pub async fn run(
        self,
        end: impl Future<Output = ()>,
        mut tell: impl FnMut(&str),
    ) -> Result<()> {
        let Self { listener, server, executors, .. } = self;
        let mut events = server.cluster_state_events().await?;
        let told = async {
            while let Some(event) = events.next().await {
                match event {
                    ClusterStateEvent::RegisteredExecutor { executor_id } => {
                        tell(&format!("executor {executor_id} has come"));
                    }
                    ClusterStateEvent::RemovedExecutor { executor_id } => {
                        tell(&format!("executor {executor_id} is lost; statements are sent again"));
                    }
                }
            }
        };
        let served = tokio::select! {
            served = start_grpc_service_with_listener(listener, server.clone()) => served,
            () = lost::watch(&executors, &server) => Ok(()),
            () = told => Ok(()),
            () = end => Ok(()),
        };
        // It holds the executors.
        executors.set_server(None);
        Ok(served?)
    }
}

fn config(address: SocketAddr) -> SchedulerConfig {
    SchedulerConfig {
        external_host: address.ip().to_string(),
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: SILENCE_MAX.as_secs(),
        no_executors_grace_period_seconds: SILENCE_MAX.as_secs(),
        expire_dead_executor_interval_seconds: LOOK_INTERVAL.as_secs(),
        // No task runs twice in one job; see `lost`.
        task_max_failures: 1,
        stage_max_failures: 1,
        finished_job_data_clean_up_interval_seconds: 60,
        finished_job_state_clean_up_interval_seconds: 300,
        ..SchedulerConfig::default()
    }
}
