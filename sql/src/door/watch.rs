//! The time of a statement: planning looks at it before each rule, and running between batches.

use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use stationdb::Control;

use super::limits::late;
use crate::errors::external;

/// The end of a statement's time, for its rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanDeadline(pub Option<Instant>);

/// A rule that is not begun after that time.
#[derive(Debug)]
struct DeadlineRule<R: ?Sized> {
    watch: PlanDeadline,
    rule: Arc<R>,
}

impl PlanDeadline {
    pub(super) fn check(self) -> Result<()> {
        match self.0 {
            Some(until) if Instant::now() >= until => late(),
            _ => Ok(()),
        }
    }

    pub(super) fn analyzers(
        self,
        rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>>,
    ) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
        let watched = |rule| {
            Arc::new(DeadlineRule { watch: self, rule }) as Arc<dyn AnalyzerRule + Send + Sync>
        };
        rules.into_iter().map(watched).collect()
    }

    pub(super) fn optimizers(
        self,
        rules: &[Arc<dyn OptimizerRule + Send + Sync>],
    ) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
        let watched = |rule| {
            Arc::new(DeadlineRule { watch: self, rule }) as Arc<dyn OptimizerRule + Send + Sync>
        };
        rules.iter().cloned().map(watched).collect()
    }

    pub(super) fn physical(
        self,
        rules: &[Arc<dyn PhysicalOptimizerRule + Send + Sync>],
    ) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        let watched = |rule| {
            Arc::new(DeadlineRule { watch: self, rule })
                as Arc<dyn PhysicalOptimizerRule + Send + Sync>
        };
        rules.iter().cloned().map(watched).collect()
    }
}

impl AnalyzerRule for DeadlineRule<dyn AnalyzerRule + Send + Sync> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        self.watch.check()?;
        self.rule.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }
}

impl OptimizerRule for DeadlineRule<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    // For each node of a plan: one rule may work on many.
    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        self.watch.check()?;
        self.rule.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for DeadlineRule<dyn PhysicalOptimizerRule + Send + Sync> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.watch.check()?;
        self.rule.optimize(plan, config)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// Wakes a statement that waits when its time is over.
///
/// A thread, and no timer of the runtime: a runtime may have none.
#[derive(Clone, Debug)]
pub(crate) struct Alarm {
    watch: PlanDeadline,
    /// Ends the statement too. It is looked at when the statement goes on.
    control: Option<Control>,
    bell: Option<Arc<AlarmThread>>,
}

#[derive(Debug)]
struct AlarmThread {
    inside: Arc<AlarmState>,
    thread: Thread,
}

#[derive(Debug, Default)]
struct AlarmState {
    waiting: Mutex<Option<Waker>>,
    is_over: AtomicBool,
}

impl Drop for AlarmThread {
    fn drop(&mut self) {
        self.inside.is_over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Bytes of the stack of a thread that only waits.
const STACK_BYTES: usize = 64 * 1024;
/// How often is looked whether a control is cancelled.
const GLANCE: Duration = Duration::from_millis(20);

impl Alarm {
    pub(crate) fn new(until: Option<Instant>) -> Self {
        let mut alarm = Self::silent(until, None);
        if until.is_some() {
            alarm.bell = alarm.wound_up();
        }
        alarm
    }

    /// With a control that ends the statement, too.
    pub(crate) fn with_control(until: Option<Instant>, control: &Control) -> Self {
        let mut alarm = Self::silent(until, Some(control));
        alarm.bell = alarm.wound_up();
        alarm
    }

    /// Looks when the statement goes on, and wakes nobody.
    pub(crate) fn silent(until: Option<Instant>, control: Option<&Control>) -> Self {
        Self { watch: PlanDeadline(until), control: control.cloned(), bell: None }
    }

    /// The thread that wakes the statement. Without one the time is looked at when the statement goes
    /// on by itself.
    fn wound_up(&self) -> Option<Arc<AlarmThread>> {
        let inside = Arc::new(AlarmState::default());
        let (held, until, control) = (inside.clone(), self.watch.0, self.control.clone());
        let wait = move || {
            while !held.is_over.load(Ordering::Acquire) {
                let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                let is_late = left.is_some_and(|left| left.is_zero());
                if is_late || control.as_ref().is_some_and(|control| control.check().is_err()) {
                    let waker = held.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(waker) = waker.as_ref() {
                        waker.wake_by_ref();
                    }
                    break;
                }
                // A control tells nobody that it is cancelled.
                let glance = control.is_some().then_some(GLANCE);
                match left.into_iter().chain(glance).min() {
                    Some(pause) => thread::park_timeout(pause),
                    None => thread::park(),
                }
            }
        };
        let thread = thread::Builder::new().name("sql-time".to_owned()).stack_size(STACK_BYTES);
        let thread = thread.spawn(wait).ok()?.thread().clone();
        Some(Arc::new(AlarmThread { inside, thread }))
    }

    /// Checks the time, and is woken when it is over.
    fn look(&self, waker: &Waker) -> Result<()> {
        if let Some(bell) = &self.bell {
            let mut waiting = bell.inside.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            *waiting = Some(waker.clone());
        }
        if let Some(control) = &self.control {
            control.check().map_err(external)?;
        }
        self.watch.check()
    }

    pub(crate) async fn future<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut work = Box::pin(work);
        poll_fn(|task| match self.look(task.waker()) {
            Ok(()) => work.as_mut().poll(task),
            Err(error) => Poll::Ready(Err(error)),
        })
        .await
    }

    pub(crate) fn stream(self, mut rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let schema = rows.schema();
        let mut is_late = false;
        let rows = stream::poll_fn(move |task| {
            if is_late {
                return Poll::Ready(None);
            }
            match self.look(task.waker()) {
                Ok(()) => rows.poll_next_unpin(task),
                Err(error) => {
                    is_late = true;
                    Poll::Ready(Some(Err(error)))
                }
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}
