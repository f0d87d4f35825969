//! The engine of queries inside the processes: the same functions in all of them.

use std::sync::Arc;

use ballista_core::extension::{
    ballista_aggregate_functions, ballista_scalar_functions, ballista_window_functions,
};
use ballista_core::optimizer::ballista_default_optimizer_rules;
use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

/// Gives a context the functions that the processes have.
pub(crate) fn register(context: &SessionContext) {
    for function in stationdb_sql::lake_aggregates() {
        context.register_udaf(function);
    }
    for function in stationdb_sql::lake_functions(&[]) {
        context.register_udf(function.as_ref().clone());
    }
}

/// What plans are decoded with, on the scheduler and on executors.
pub(crate) fn state(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> SessionState {
    // The last one of a name counts.
    let mut scalars = ballista_scalar_functions();
    let own = stationdb_sql::lake_functions(&scalars);
    scalars.extend(own);
    let mut aggregates = ballista_aggregate_functions();
    aggregates.extend(stationdb_sql::lake_aggregates().into_iter().map(Arc::new));
    SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_scalar_functions(scalars)
        .with_aggregate_functions(aggregates)
        .with_window_functions(ballista_window_functions())
        .build()
}
