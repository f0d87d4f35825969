//! One door for statements of others: bounds of what a statement may ask for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use datafusion::common::{ParamValues, plan_err};
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
#[cfg(feature = "lake")]
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::prelude::{SQLOptions, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::dialect::dialect_from_str;

mod arguments;
mod bounded;
mod clauses;
mod growth;
mod limits;
mod measure;
mod tokens;
mod types;
mod watch;
mod weight;

pub(crate) use arguments::placeholders;
pub(crate) use bounded::{Meter, again, operate, rewritten};
pub use limits::Limits;
pub(crate) use watch::Alarm;
use watch::PlanDeadline;

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

/// [`query`] with values for the placeholders of the statement, `?`, `$1` or `$name`. They are
/// values wherever they stand, and never a part of the text.
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
    let call = Call::new(limits, None);
    let state = context.state();
    let planned = async {
        let StatementPlan { state, mut plan, .. } =
            read(&state, text, values.as_ref(), limits, &call).await?;
        if let Some(values) = values {
            plan = plan.with_param_values(values)?;
        }
        check(&plan, limits, &call)?;
        let context = SessionContext::new_with_state(state);
        context.execute_logical_plan(plan).await?.execute_stream().await
    };
    let alarm = Alarm::new(call.until);
    let rows = alarm.future(planned).await?;
    Ok(alarm.stream(rows))
}

/// What one call of a statement may use.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The end of its time.
    pub until: Option<Instant>,
    share: usize,
}

impl Call {
    /// A call that begins now, and ends with `deadline`, too.
    pub(crate) fn new(limits: &Limits, deadline: Option<Instant>) -> Self {
        let own = limits.time.and_then(|time| Instant::now().checked_add(time));
        let until = own.into_iter().chain(deadline).min();
        Self { until, share: limits.expression_bytes }
    }

    /// What counts the bytes of its expressions, in plans that such a state makes.
    pub(crate) fn meter(&self, state: &SessionState) -> Arc<Meter> {
        let partitions = state.config().target_partitions().max(1);
        let rows = state.config().batch_size().max(1);
        Arc::new(Meter::new(self.share / partitions, rows, self.until))
    }
}

/// The plan of a statement, before values are bound.
pub(crate) struct StatementPlan {
    /// Whose rules bound the plan, and look at the time.
    pub state: SessionState,
    pub plan: LogicalPlan,
    /// The placeholders whose values the plan has already.
    pub written: BTreeSet<String>,
}

/// Checks the tokens and the form of a statement.
pub(crate) fn parsed(state: &SessionState, text: &str, limits: &Limits) -> Result<Statement> {
    let dialect = state.config_options().sql_parser.dialect;
    let Some(known) = dialect_from_str(dialect) else {
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
    tokens::check(text, known.as_ref(), limits, is_second_name)?;
    let mut statement = state.sql_to_statement(text, &dialect)?;
    clauses::check(&mut statement)?;
    arguments::number(&mut statement)?;
    Ok(statement)
}

/// Reads a statement within bounds. Its plan is not optimised, and not checked.
pub(crate) async fn read(
    state: &SessionState,
    text: &str,
    values: Option<&ParamValues>,
    limits: &Limits,
    call: &Call,
) -> Result<StatementPlan> {
    let mut statement = parsed(state, text, limits)?;
    let meter = call.meter(state);
    let mut analyzers = state.analyzer().rules.clone();
    analyzers.push(Arc::new(bounded::BoundInsertion(meter.clone())));
    let watch = PlanDeadline(call.until);
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(bounded::Literals(meter.clone()))];
    planners.extend(state.expr_planners().iter().cloned());
    let mut bounded = SessionStateBuilder::new_from_existing(state.clone())
        .with_expr_planners(planners)
        .with_analyzer_rules(watch.analyzers(analyzers))
        .with_optimizer_rules(watch.optimizers(state.optimizers()))
        .with_physical_optimizer_rules(watch.physical(state.physical_optimizers()))
        .build();
    bounded::bound_types(&mut bounded, &meter)?;
    let written = match values {
        Some(values) => arguments::bind(&mut statement, values)?,
        None => BTreeSet::new(),
    };
    let is_aggregate = |name: &str| state.aggregate_functions().contains_key(name);
    let plan = bounded.statement_to_plan(statement).await;
    let plan = plan.map_err(|error| types::told(error, is_aggregate))?;
    Ok(StatementPlan { state: bounded, plan, written })
}

/// Checks a plan whose values are bound. Returns the number of its nodes, each name in it replaced
/// by what it stands for.
pub(crate) fn check(plan: &LogicalPlan, limits: &Limits, call: &Call) -> Result<usize> {
    PlanDeadline(call.until).check()?;
    let nodes = weight::check(plan, limits)?;
    reads().verify_plan(plan)?;
    Ok(nodes)
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
