//! Ends all statements when an executor is lost.
//!
//! Ballista runs the stages of a lost executor again in the same job, while other tasks of the job
//! have read what that executor wrote the first time. The answer can then hold rows of both runs.
//! So a job that was running when an executor was lost must not go on.
//!
//! Ballista removes an executor from the state of the cluster first, and then posts the event after
//! which it runs stages again. The events are handled one after the other, so a cancellation posted
//! by [`Executors::remove_executor`] is handled before that event finds the job.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::{BallistaError, Result};
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{ExecutorHeartbeat, ExecutorStoppedParams};
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::LOOK_INTERVAL;

/// A removed executor that is alive asks for work again. It must not get tasks of a new statement
/// before the event of its loss is handled, which would run them twice.
const RETURN_AFTER: Duration = Duration::from_secs(2);

/// Ballista's scheduler.
pub(crate) type Server = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// The executors of a scheduler.
#[derive(Default)]
pub(crate) struct Executors {
    state: InMemoryClusterState,
    /// Absent before the scheduler has started and after it has ended.
    server: RwLock<Option<Server>>,
    removed: Mutex<HashMap<String, Instant>>,
}

impl Executors {
    pub(crate) fn set_server(&self, server: Option<Server>) {
        *self.server.write().unwrap_or_else(PoisonError::into_inner) = server;
    }

    fn server(&self) -> Option<Server> {
        self.server.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn may_return(&self, id: &str) -> bool {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        removed.retain(|_, at| at.elapsed() < RETURN_AFTER);
        !removed.contains_key(id)
    }

    fn note_removed(&self, id: &str) {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        removed.insert(id.into(), Instant::now());
    }
}

#[async_trait]
impl ClusterState for Executors {
    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        self.state.bind_schedulable_tasks(distribution, active_jobs, executors).await
    }

    async fn unbind_tasks(&self, executor_slots: Vec<ExecutorSlot>) -> Result<()> {
        self.state.unbind_tasks(executor_slots).await
    }

    async fn register_executor(
        &self,
        metadata: ExecutorMetadata,
        spec: ExecutorData,
    ) -> Result<()> {
        self.state.register_executor(metadata, spec).await
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        if !self.may_return(&metadata.id) {
            let message = format!("the executor {} was lost a moment ago", metadata.id);
            return Err(BallistaError::General(message));
        }
        self.state.save_executor_metadata(metadata).await
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.state.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.state.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.state.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        self.note_removed(executor_id);
        self.state.remove_executor(executor_id).await?;
        let Some(server) = self.server() else { return Ok(()) };
        for job in server.state.task_manager.get_running_job_cache().keys() {
            server.cancel_job(job.clone()).await?;
        }
        Ok(())
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        self.state.executor_heartbeats()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        self.state.get_executor_heartbeat(executor_id)
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.state.cluster_state_events().await
    }
}

/// Removes executors whose machine refuses connections, because the process is gone. One that does
/// not answer at all is left to the time-out.
pub(crate) async fn watch(executors: &Executors, server: &Server) {
    let mut refused_before = HashSet::new();
    loop {
        sleep(LOOK_INTERVAL).await;
        let mut refused = HashSet::new();
        for executor in executors.registered_executor_metadata().await {
            if !refuses(&executor).await {
                continue;
            }
            // Once can be a full queue of connections.
            if !refused_before.contains(&executor.id) {
                refused.insert(executor.id);
                continue;
            }
            let reason = format!("{}:{} refuses connections", executor.host, executor.port);
            let stopped = ExecutorStoppedParams { executor_id: executor.id, reason };
            if let Err(status) = server.executor_stopped(tonic::Request::new(stopped)).await {
                // The scheduler ends.
                log::warn!("removing an executor: {status}");
            }
        }
        refused_before = refused;
    }
}

async fn refuses(executor: &ExecutorMetadata) -> bool {
    let connected = TcpStream::connect((executor.host.as_str(), executor.port));
    match timeout(LOOK_INTERVAL, connected).await {
        Ok(Err(error)) => error.kind() == io::ErrorKind::ConnectionRefused,
        Ok(Ok(_)) | Err(_) => false,
    }
}
