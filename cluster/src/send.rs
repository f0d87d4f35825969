//! Sends a statement again when the cluster could not end it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::error::BallistaError;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;

/// How many times a statement is sent at most.
pub const SENDS_MAX: usize = 6;

/// A plan whose answer is complete before its first batch is passed on, so that no answer has
/// batches of two attempts.
#[derive(Debug)]
pub(crate) struct SendExec {
    plan: Arc<dyn ExecutionPlan>,
    /// Of the scheduler.
    url: String,
}

impl SendExec {
    pub(crate) fn new(plan: Arc<dyn ExecutionPlan>, url: String) -> Self {
        Self { plan, url }
    }
}

impl DisplayAs for SendExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Send: url={}, sends_max={SENDS_MAX}", self.url)
    }
}

impl ExecutionPlan for SendExec {
    fn name(&self) -> &'static str {
        "Send"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(plan), true) => Ok(Arc::new(Self::new(plan, self.url.clone()))),
            _ => Err(DataFusionError::Internal("a statement is one plan".into())),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let (plan, url) = (self.plan.clone(), self.url.clone());
        let memory = MemoryConsumer::new("answer of the cluster").register(context.memory_pool());
        let batches = async move {
            let batches = answer(&plan, &url, partition, &context, &memory).await?;
            // The memory is held for as long as the batches are.
            Ok::<_, DataFusionError>(stream::iter(batches).map(move |batch| {
                let _ = &memory;
                Ok(batch)
            }))
        };
        let stream = stream::once(batches).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.plan.schema(), stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.plan.metrics()
    }
}

async fn answer(
    plan: &Arc<dyn ExecutionPlan>,
    url: &str,
    partition: usize,
    context: &Arc<TaskContext>,
    memory: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    let mut sends = 1;
    loop {
        let error = match attempt(plan, partition, context, memory).await {
            Ok(batches) => return Ok(batches),
            Err(error) => error,
        };
        if !is_of_the_cluster(&error) {
            return Err(error);
        }
        if sends == SENDS_MAX {
            let tried = format!("the cluster of {url} ended no one of {SENDS_MAX} attempts");
            return Err(error.context(tried));
        }
        log::warn!("a statement is sent again, because the cluster could not end it: {error}");
        sleep(Duration::from_millis(200) * sends as u32).await;
        sends += 1;
    }
}

/// The whole answer of one attempt.
async fn attempt(
    plan: &Arc<dyn ExecutionPlan>,
    partition: usize,
    context: &Arc<TaskContext>,
    memory: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    memory.free();
    let mut batches = Vec::new();
    let mut stream = plan.execute(partition, context.clone())?;
    while let Some(batch) = stream.try_next().await? {
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok(batches)
}

/// Whether an error is one of the processes and their connections, after which the same statement
/// can succeed. Errors of tasks arrive as texts.
fn is_of_the_cluster(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(source) => match source.downcast_ref::<BallistaError>() {
            Some(BallistaError::DataFusionError(error)) => is_of_the_cluster(error),
            Some(BallistaError::Configuration(_) | BallistaError::NotImplemented(_)) => false,
            Some(_) => true,
            None => is_lost_connection(&source.to_string()),
        },
        DataFusionError::IoError(_) => true,
        other => is_lost_connection(&other.to_string()),
    }
}

fn is_lost_connection(text: &str) -> bool {
    const MARKS: [&str; 11] = [
        // A job that the scheduler has ended, because an executor is lost.
        "failed: Cancelled",
        // A job of which a task could not read from another executor, or an object store.
        "most recent failure reason:",
        "task could not be prepared or was rejected by executor",
        "Stream closed without job completing",
        "FetchFailed(",
        "GrpcConnectionError(",
        "GrpcActionError(",
        // The other end was gone in the middle of an answer.
        "h2 protocol error",
        "hyper::Error(",
        "transport error",
        "tonic::transport::Error",
    ];
    MARKS.iter().any(|mark| text.contains(mark))
}
