//! One door for statements of others: bounds of what a statement may ask for.

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::{ParamValues, plan_err};
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::SessionStateBuilder;
#[cfg(feature = "lake")]
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::prelude::{SQLOptions, SessionContext};
use datafusion::sql::sqlparser::dialect::dialect_from_str;

mod arguments;
mod bounded;
mod growth;
mod limits;
mod measure;
mod tokens;
mod types;
mod watch;
mod weight;

use bounded::Meter;
pub(crate) use bounded::{operate, rewritten};
pub use limits::Limits;
use watch::{Alarm, PlanDeadline};

/// Allows nothing but reads, in [`SessionContext::sql_with_options`].
///
/// Whatever a statement is, the store stays as it is. But with [`SessionContext::sql`], `SET`
/// changes what [`Options`](crate::Options) has bounded, and `CREATE DATABASE` makes room for
/// tables in memory. These options bound neither the statement nor what its expressions make:
/// [`query`] does, and a program that answers statements of others calls that.
#[must_use]
pub fn reads() -> SQLOptions {
    SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false)
}

/// The rows of a statement that only reads, within bounds.
///
/// Works with every context: of a store, of a lake, of a cluster. The text is bounded before a tree
/// is built of it, the plan before it is optimised, and each expression before it makes a large
/// value. Functions whose results have no bound are refused.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let store = stationdb::Store::open(dir.path())?;
/// # let session = store.session(stationdb::Identity::user("ada"));
/// use stationdb_sql::datafusion::physical_plan::common::collect;
/// use stationdb_sql::{Limits, query};
///
/// let sql = stationdb_sql::context(&session)?;
/// let rows = query(&sql, "select count(*) from products", &Limits::default()).await?;
/// assert_eq!(collect(rows).await?[0].num_rows(), 1);
/// // A call that would make two gigabytes is refused when the rows are asked for.
/// let large = query(&sql, "select lpad('x', 2000000000, 'y')", &Limits::default()).await?;
/// assert!(collect(large).await.is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `ResourcesExhausted` for what exceeds a bound; the errors of parsing, planning and reading. The
/// stream has the errors of running, among them that of a time that is over.
pub async fn query(
    context: &SessionContext,
    text: &str,
    limits: &Limits,
) -> Result<SendableRecordBatchStream> {
    query_with(context, text, None, limits).await
}

/// [`query`] with values for the placeholders of the statement, `$1` or `$name`. They are values
/// wherever they stand, and never a part of the text.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let store = stationdb::Store::open(dir.path())?;
/// # let session = store.session(stationdb::Identity::user("ada"));
/// use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
/// use stationdb_sql::datafusion::physical_plan::common::collect;
/// use stationdb_sql::{Limits, query_with};
///
/// let sql = stationdb_sql::context(&session)?;
/// let values = ParamValues::from(vec![("name", ScalarValue::from("it's; --"))]);
/// let text = "select length($name) as n";
/// let rows = query_with(&sql, text, Some(values), &Limits::default()).await?;
/// assert_eq!(collect(rows).await?[0].num_rows(), 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`query`]; `Plan` for a placeholder without a value.
pub async fn query_with(
    context: &SessionContext,
    text: &str,
    values: Option<ParamValues>,
    limits: &Limits,
) -> Result<SendableRecordBatchStream> {
    let until = limits.time.and_then(|time| Instant::now().checked_add(time));
    let state = context.state();
    {
        // A dialect does not go to other threads, and the work on a statement does.
        let dialect = state.config_options().sql_parser.dialect;
        let Some(parsed) = dialect_from_str(dialect) else {
            return plan_err!("unknown dialect of SQL: {dialect}");
        };
        // Planning gives the results of such calls a name with the text of the call.
        let is_second_name = |name: &str| {
            state.scalar_functions().get(name).is_some_and(|function| function.name() != name)
                || state
                    .higher_order_functions()
                    .get(name)
                    .is_some_and(|function| function.name() != name)
        };
        tokens::check(text, parsed.as_ref(), limits, is_second_name)?;
    }
    let partitions = state.config().target_partitions().max(1);
    let rows = state.config().batch_size().max(1);
    let meter = Arc::new(Meter::new(limits.expression_bytes / partitions, rows, until));
    let mut analyzers = state.analyzer().rules.clone();
    analyzers.push(Arc::new(bounded::BoundInsertion(meter.clone())));
    let watch = PlanDeadline(until);
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(bounded::Literals(meter.clone()))];
    planners.extend(state.expr_planners().iter().cloned());
    let mut bounded = SessionStateBuilder::new_from_existing(state.clone())
        .with_expr_planners(planners)
        .with_analyzer_rules(watch.analyzers(analyzers))
        .with_optimizer_rules(watch.optimizers(state.optimizers()))
        .with_physical_optimizer_rules(watch.physical(state.physical_optimizers()))
        .build();
    bounded::bound_types(&mut bounded, &meter)?;
    let planned = async {
        let dialect = bounded.config_options().sql_parser.dialect;
        let mut statement = bounded.sql_to_statement(text, &dialect)?;
        if let Some(values) = &values {
            arguments::bind(&mut statement, values)?;
        }
        let is_aggregate = |name: &str| state.aggregate_functions().contains_key(name);
        let plan = bounded.statement_to_plan(statement).await;
        let mut plan = plan.map_err(|error| types::told(error, is_aggregate))?;
        if let Some(values) = values {
            plan = plan.with_param_values(values)?;
        }
        watch.check()?;
        weight::check(&plan, limits)?;
        reads().verify_plan(&plan)?;
        let context = SessionContext::new_with_state(bounded);
        context.execute_logical_plan(plan).await?.execute_stream().await
    };
    let alarm = Alarm::new(until);
    let rows = alarm.future(planned).await?;
    Ok(alarm.stream(rows))
}

/// The functions in processes that run plans of others: each with a bound that holds there.
#[cfg(feature = "lake")]
pub(crate) fn elsewhere(known: &[Arc<ScalarUDF>]) -> Vec<Arc<ScalarUDF>> {
    let meter = Meter::elsewhere();
    let mut all: Vec<_> =
        known.iter().filter_map(|function| bounded::bounded(function, &meter)).collect();
    all.push(Arc::new(bounded::joined(&meter)));
    all.push(Arc::new(bounded::measured(&meter)));
    all
}
