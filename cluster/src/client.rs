//! Contexts whose statements run on a cluster.

use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use ballista_core::planner::BallistaQueryPlanner;
use datafusion::catalog::Session;
use datafusion::error::DataFusionError;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;

use crate::Result;
use crate::executor::split;
use crate::send::SendExec;
use crate::sendable::sendable;

/// A context with the tables of `context` whose statements run on the cluster of the scheduler at
/// `scheduler_url`, such as `http://127.0.0.1:50050`.
///
/// The tables have to be files of the lake that the cluster reads, under the same URLs, or views
/// over such. The answer of a statement is held in the context's memory before its first batch is
/// passed on, so that it can be sent again when an executor is lost. `information_schema` is
/// answered in this process.
///
/// # Errors
/// [`Error::Scheduler`](crate::Error::Scheduler) for a text that is no URL of a scheduler. Whether
/// one answers there shows at the first statement.
pub fn distributed(context: &SessionContext, scheduler_url: &str) -> Result<SessionContext> {
    let (host, port) = split(scheduler_url)?;
    let url = format!("http://{host}:{port}");
    let state = context.state();
    let config = settings(state.config().clone().upgrade_for_ballista());
    let inner = BallistaQueryPlanner::new(url.clone(), config.ballista_config());
    let planner = Planner { inner, url: url.clone() };
    let config = config.with_ballista_query_planner(Arc::new(planner));
    let state = SessionStateBuilder::new_from_existing(state).with_config(config).build();
    Ok(SessionContext::new_with_state(state.upgrade_for_ballista(url)?))
}

/// A lost executor shows soon, because connections are not tried again for long.
fn settings(config: SessionConfig) -> SessionConfig {
    config
        .set_usize("ballista.client.io_retries_times", 1)
        .set_usize("ballista.client.io_retry_wait_time_ms", 200)
        .with_ballista_adaptive_query_planner(false)
        // The catalogs are those of the caller's context, and a new one would replace its own.
        .with_create_default_catalog_and_schema(false)
}

/// Plans as Ballista does, and sends again what the cluster could not end.
#[derive(Debug)]
struct Planner {
    inner: BallistaQueryPlanner<LogicalPlanNode>,
    url: String,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let sent = sendable(logical_plan.clone())?;
        let plan = self.inner.create_physical_plan(&sent, session).await?;
        if plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>().is_some() {
            return Ok(Arc::new(SendExec::new(plan, self.url.clone())));
        }
        Ok(plan)
    }
}
