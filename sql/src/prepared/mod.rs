//! Statements that are planned once.
//!
//! What must hold: a call answers as the statement by itself would, over the snapshot that it takes
//! when it begins. A kept plan has no session, no snapshot, no count of bytes and no time of any call;
//! each call puts its own in. A plan whose tables are others than when it was made is made again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::TableProvider;
use datafusion::common::ParamValues;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::{SessionContext, TaskContext};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use stationdb::{Control, Session};

mod held;
mod kept;
mod parameters;
#[cfg(feature = "blocking")]
mod threads;

pub(crate) use held::Held;
use kept::{KeptPlan, Snapshot, is_kept};
#[cfg(feature = "blocking")]
use threads::SharedThreads;
#[cfg(feature = "blocking")]
pub(crate) use threads::begun;

use crate::door::{self, Alarm, Call, StatementPlan};
use crate::errors::external;
use crate::nowhere::NoObjectStores;
use crate::options::{self, runtime};
use crate::{Limits, Options, over};

/// Plans of a statement at most, for values that are a part of the plan.
const PLANS_MAX: usize = 8;
/// Nodes of a plan that is kept. Each call walks over them without a look at its time.
const NODES_MAX: usize = 2_000;
/// Bytes of the values in a plan that is kept.
const VALUE_BYTES_MAX: usize = 256 * 1024;

/// What statements are prepared by: their options and bounds, and the functions and rules of SQL.
///
/// It has no store: each call names the session that reads.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let store = stationdb::Store::open(dir.path())?;
/// # let session = store.session(stationdb::Identity::user("ada"));
/// use stationdb::Control;
/// use stationdb_sql::datafusion::common::{ParamValues, ScalarValue};
/// use stationdb_sql::datafusion::physical_plan::common::collect;
/// use stationdb_sql::{Limits, Options, Sql};
///
/// let sql = Sql::new(Options::default(), Limits::default())?;
/// let of_family = sql.prepare("select count(*) from products where family = $1")?;
/// for family in ["Amplifier", "Sensor"] {
///     let values = ParamValues::from(vec![ScalarValue::from(family)]);
///     let rows = of_family.query(&session, Some(values), &Control::default()).await?;
///     assert_eq!(collect(rows).await?[0].num_rows(), 1);
/// }
/// assert_eq!(of_family.plans_made(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Sql {
    engine: Arc<Engine>,
}

#[derive(Debug)]
struct Engine {
    options: Options,
    limits: Limits,
    /// The functions and rules, without tables.
    state: SessionState,
    #[cfg(feature = "blocking")]
    threads: SharedThreads,
}

impl Sql {
    /// What prepares statements with these options, each call of which has these limits.
    ///
    /// # Errors
    /// `Io` for a spill directory that cannot be used.
    pub fn new(options: Options, limits: Limits) -> stationdb::Result<Self> {
        let context = options::prepared(&options, Arc::new(NoObjectStores))?;
        let engine = Engine {
            options,
            limits,
            state: context.state(),
            #[cfg(feature = "blocking")]
            threads: Default::default(),
        };
        Ok(Self { engine: Arc::new(engine) })
    }

    /// A statement to be asked often. Its text is checked now, and its tables when it is asked.
    ///
    /// # Errors
    /// `ResourcesExhausted` for a text beyond the limits; the errors of parsing.
    pub fn prepare(&self, text: &str) -> Result<Prepared> {
        let statement = door::parsed(&self.engine.state, text, &self.engine.limits)?;
        let inner = Inner {
            engine: self.engine.clone(),
            text: Arc::from(text),
            placeholders: door::placeholders(statement),
            plans: Mutex::default(),
            made: AtomicU64::new(0),
        };
        Ok(Prepared { inner: Arc::new(inner) })
    }
}

/// A statement with the plans that were made for it. Any number of threads may ask it.
///
/// A value that a column is compared with may differ from call to call of one plan, as in `t >= $1`,
/// `t between $1 and $2` and `state in ($1, $2)`. Other values are a part of the plan, as are nulls,
/// zeros of floats and NaN, and so are those that are no values of the column's type: each
/// combination is planned when it comes for the first time, and the last 8 plans are kept.
///
/// Statements that answer by the time of the call, as `now()`, that read `information_schema`, that
/// are recursive, or that have more than 2,000 nodes or 256 KiB of such values are planned for each
/// call.
#[derive(Clone, Debug)]
pub struct Prepared {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: Arc<Engine>,
    text: Arc<str>,
    placeholders: BTreeSet<String>,
    /// The last one that was used is at the end.
    plans: Mutex<Vec<Arc<KeptPlan>>>,
    made: AtomicU64,
}

/// A plan and its tables in a snapshot.
type Opened = (Arc<KeptPlan>, Vec<Arc<dyn TableProvider>>);

/// A statement that was planned for a call.
struct Planned {
    /// The plan for later calls, if there is one.
    kept: Option<Arc<KeptPlan>>,
    /// The plan of this call, not optimised.
    plan: LogicalPlan,
    state: SessionState,
}

impl Prepared {
    /// The text of the statement.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// What stands for values in the statement, as `$part` and `$1`. Each `?` has the number of its
    /// place.
    #[must_use]
    pub fn placeholders(&self) -> &BTreeSet<String> {
        &self.inner.placeholders
    }

    /// How often the statement was parsed, planned and optimised.
    #[must_use]
    pub fn plans_made(&self) -> u64 {
        self.inner.made.load(Ordering::Relaxed)
    }

    /// The rows of the statement over what `session` sees now, with values for its placeholders:
    /// `?` and `$1` by their place, `$name` by name.
    ///
    /// The access policy is asked for `session`. The call has the limits of the [`Sql`] and memory of
    /// its own, and ends at the deadline of `control`. A cancellation of `control` stops its reads;
    /// so does dropping the stream.
    ///
    /// # Errors
    /// As [`query_with`](crate::query_with); `Cancelled` and `DeadlineExceeded` by `control`.
    pub async fn query(
        &self,
        session: &Session,
        values: Option<ParamValues>,
        control: &Control,
    ) -> Result<SendableRecordBatchStream> {
        self.ask(session, values, control, None).await
    }

    /// [`query`](Self::query) for work that drops `held` when it has ended.
    pub(crate) async fn ask(
        &self,
        session: &Session,
        values: Option<ParamValues>,
        control: &Control,
        held: Option<Arc<Held>>,
    ) -> Result<SendableRecordBatchStream> {
        let time = Call::new(&self.inner.engine.limits, control.deadline());
        let call = Asking { held, session: session.with_control(control), values, time };
        let until = call.time.until;
        let alarm = match call.held {
            // Who waits for blocking work looks at both by himself.
            Some(_) => Alarm::silent(until, Some(control)),
            None => Alarm::with_control(until, control),
        };
        let rows = alarm.future(self.inner.begun(&call)).await?;
        Ok(alarm.stream(rows))
    }

    /// The time that a call may take.
    #[cfg(feature = "blocking")]
    pub(crate) fn time(&self) -> Option<std::time::Duration> {
        self.inner.engine.limits.time
    }

    /// The threads of statements that block.
    #[cfg(feature = "blocking")]
    pub(crate) fn threads(&self) -> &SharedThreads {
        &self.inner.engine.threads
    }
}

/// One call.
struct Asking {
    session: Session,
    values: Option<ParamValues>,
    time: Call,
    held: Option<Arc<Held>>,
}

impl Inner {
    async fn begun(&self, call: &Asking) -> Result<SendableRecordBatchStream> {
        let values = call.values.as_ref();
        let fit = |plan: &&Arc<KeptPlan>| plan.parameters.fit(values);
        let fitting: Vec<_> = self.plans().iter().rev().filter(fit).cloned().collect();
        let session = call.session.clone();
        let (mut snapshot, found) = call
            .blocking(move || {
                let mut snapshot = Snapshot::new(&session);
                let found = open(&mut snapshot, fitting)?;
                Ok((snapshot, found))
            })
            .await?;
        if let Some(rows) = self.answered(found, call).await? {
            return Ok(rows);
        }
        let options = self.engine.options.clone();
        let (mut snapshot, context) = call
            .blocking(move || {
                let names = snapshot.names().map_err(external)?;
                let context = over(snapshot.session.clone(), names, &options).map_err(external)?;
                Ok((snapshot, context))
            })
            .await?;
        let Planned { kept, plan, state } = self.planned(&context, call).await?;
        if let Some(kept) = kept {
            let found = call.blocking(move || open(&mut snapshot, vec![kept])).await?;
            if let Some(rows) = self.answered(found, call).await? {
                return Ok(rows);
            }
        }
        let mut state = state;
        call.hold(state.config_mut());
        let context = SessionContext::new_with_state(state);
        context.execute_logical_plan(plan).await?.execute_stream().await
    }

    /// The rows of a kept plan, unless it does not answer over these tables.
    async fn answered(
        &self,
        found: Option<Opened>,
        call: &Asking,
    ) -> Result<Option<SendableRecordBatchStream>> {
        let Some((plan, tables)) = found else { return Ok(None) };
        let meter = call.time.meter(&self.engine.state);
        let bound = plan.bound(&tables, call.values.as_ref(), &meter)?;
        let Some(bound) = bound else { return Ok(None) };
        self.used(plan);
        self.run(&bound, call).await.map(Some)
    }

    async fn planned(&self, context: &SessionContext, call: &Asking) -> Result<Planned> {
        let (values, call) = (call.values.as_ref(), &call.time);
        self.made.fetch_add(1, Ordering::Relaxed);
        let limits = &self.engine.limits;
        let read = door::read(&context.state(), &self.text, values, limits, call).await?;
        let StatementPlan { state, plan, written } = read;
        let (open, parameters) = parameters::bind(plan.clone(), written, values)?;
        let plan = match values {
            Some(values) => plan.with_param_values(values.clone())?,
            None => plan,
        };
        let nodes = door::check(&plan, limits, call)?;
        let mut kept = None;
        let is_small = nodes <= NODES_MAX && parameters.bytes() <= VALUE_BYTES_MAX;
        if is_small && is_kept(&plan)? {
            let optimised = state.optimize(&open)?;
            kept = Some(Arc::new(KeptPlan::new(optimised, parameters)?));
        }
        Ok(Planned { kept, plan, state })
    }

    /// Runs an optimised plan with memory of its own.
    async fn run(&self, plan: &LogicalPlan, call: &Asking) -> Result<SendableRecordBatchStream> {
        let state = &self.engine.state;
        let physical = state.query_planner().create_physical_plan(plan, state).await?;
        let runtime = runtime(&self.engine.options, Arc::new(NoObjectStores)).map_err(external)?;
        let (id, mut config) = (state.session_id().to_owned(), state.config().clone());
        call.hold(&mut config);
        // Only plans that come from elsewhere look functions up.
        let (scalar, higher, aggregate, window) = Default::default();
        let task = TaskContext::new(None, id, config, scalar, higher, aggregate, window, runtime);
        execute_stream(physical, Arc::new(task))
    }

    fn plans(&self) -> MutexGuard<'_, Vec<Arc<KeptPlan>>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a plan at the end. Those of other schemas stay until there are too many: callers may see
    /// different tables of one name.
    fn used(&self, plan: Arc<KeptPlan>) {
        let mut plans = self.plans();
        plans.retain(|known| !Arc::ptr_eq(known, &plan));
        plans.push(plan);
        let surplus = plans.len().saturating_sub(PLANS_MAX);
        plans.drain(..surplus);
    }
}

/// The first of these plans whose tables the snapshot has.
fn open(snapshot: &mut Snapshot, plans: Vec<Arc<KeptPlan>>) -> Result<Option<Opened>> {
    for plan in plans {
        if let Some(tables) = plan.open(snapshot)? {
            return Ok(Some((plan, tables)));
        }
    }
    Ok(None)
}

impl Asking {
    /// Reads the store on a thread for blocking work.
    async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        // Behind what was read, which nobody may be there to take.
        let held = self.held.clone();
        let done = tokio::task::spawn_blocking(move || (read(), held)).await;
        done.map_err(|error| DataFusionError::External(Box::new(error)))?.0
    }

    /// Lets the reads of a plan hold what the call does.
    fn hold(&self, config: &mut SessionConfig) {
        if let Some(held) = &self.held {
            config.set_extension(held.clone());
        }
    }
}
