//! A test that is being run: its result is stored when it begins, and each step when it is
//! finished.
//!
//! What must hold: a step whose call returned is there after a crash; a run that was not ended has
//! the property [`store::RUN`] and is RUNNING; and each call is one commit.

mod measurement;
mod sequence;
mod start;
mod step;
mod store;

use std::time::Instant;

use chrono::{DateTime, Utc};

pub use measurement::Measured;
pub use sequence::RunSequence;
pub use start::RunStart;
pub use step::RunStep;

use crate::error::Result;
use crate::model::results::{QueryStepsRequest, Step, TestResult, TestResultId};
use crate::model::{CreateTableRequest, FileId, Status, StatusType, TableId};
use crate::services::results::attached::Attached;
use crate::services::results::steps;
use crate::services::service_record::get;
use crate::session::{Access, Session, View};
use store::FinishedStep;

/// A test that is being run.
///
/// [`Run::begin`] stores the result as RUNNING. Each finished step is one durable commit.
/// [`finish`](Run::finish) gives the result its status and its total time. A run that is dropped
/// without it stays RUNNING, as after a crash:
/// [`unfinished_runs`](crate::results::ResultService::unfinished_runs) lists it, and [`Run::resume`] carries it on.
/// Until it is ended, its result has the property `stationdb.run`, by which it is told from results
/// that other clients store as RUNNING.
///
/// ```
/// # fn main() -> stationdb::Result<()> {
/// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
/// use stationdb::prelude::*;
/// use stationdb::results::StatusType;
/// use stationdb::{Identity, Store};
///
/// let store = Store::open(dir.path())?;
/// let session = store.session(Identity::user("ada"));
///
/// let run = Run::begin("156502A-11L", "SN-1", "Gain").operator("ada").start(&session)?;
/// run.step("Power").measure("VOUT", 12.01, "V").limits(11.8, 12.2).finish()?;
/// let gain = run.sequence("Gain")?;
/// gain.step("1 kHz").measure("Gain", 19.2, "dB").at_least(20.0).finish()?;
/// gain.step("Relay").measure_bool("closed", true).equals(true).finish()?;
/// gain.finish()?;
/// let result = run.finish()?;
///
/// assert_eq!(result.status, Some(StatusType::Failed.into()));
/// let summary = result.status_type_summary.unwrap_or_default();
/// assert_eq!((summary.passed, summary.failed), (2, 2));
/// assert!(session.unfinished_runs()?.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a run stays RUNNING until `finish`"]
pub struct Run {
    session: Session,
    id: TestResultId,
    /// The time of the store at `from`.
    base: DateTime<Utc>,
    from: Instant,
    /// Seconds of the run before `from`.
    before_s: f64,
}

fn seconds_between(from: Option<DateTime<Utc>>, to: DateTime<Utc>) -> f64 {
    let between = from.map(|from| (to - from).to_std().unwrap_or_default());
    between.unwrap_or_default().as_secs_f64()
}

impl Run {
    /// Begins a run of a test program on a unit. [`RunStart::start`] stores it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(run.result()?.status, Some(StatusType::Running.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn begin(
        part_number: impl Into<String>,
        serial_number: impl Into<String>,
        program_name: impl Into<String>,
    ) -> RunStart {
        RunStart::new(part_number.into(), serial_number.into(), program_name.into())
    }

    /// Carries on a run that was not ended, for example after a crash. Its finished steps are
    /// there. Sequences that were not ended are [`open_sequences`](Run::open_sequences).
    ///
    /// # Errors
    /// `NotFound`; `Conflict` for a result that is no run in progress.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// run.step("Power").finish()?;
    /// drop(run); // as a crash does
    /// for left in session.unfinished_runs()? {
    ///     Run::resume(&session, &left.id.unwrap_or_default())?.terminate()?;
    /// }
    /// assert!(session.unfinished_runs()?.is_empty());
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn resume(session: &Session, id: &TestResultId) -> Result<Self> {
        let (result, base) = session
            .read(|view| Ok((store::in_progress(id, view.get::<TestResult>(id)?)?, view.now())))?;
        Ok(Self::of(session, &result, base))
    }

    fn of(session: &Session, result: &TestResult, base: DateTime<Utc>) -> Self {
        let before_s = seconds_between(result.started_at, base);
        let id = result.id.clone().unwrap_or_default();
        Self { session: session.clone(), id, base, from: Instant::now(), before_s }
    }

    /// The time of the store, as far as the clock of this process tells it.
    fn now(&self) -> DateTime<Utc> {
        let elapsed = chrono::TimeDelta::from_std(self.from.elapsed()).unwrap_or_default();
        self.base.checked_add_signed(elapsed).unwrap_or(self.base)
    }

    /// The id of the result.
    #[must_use]
    pub fn id(&self) -> &TestResultId {
        &self.id
    }

    /// The result as it is now.
    ///
    /// # Errors
    /// `NotFound` if it was deleted.
    pub fn result(&self) -> Result<TestResult> {
        get(&self.session, &self.id)
    }

    /// Begins a step. [`RunStep::finish`] stores it.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let step = run.step("Power").measure("VOUT", 12.01, "V").limits(11.8, 12.2).finish()?;
    /// assert_eq!(step.path.as_deref(), Some("Power"));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn step(&self, name: impl Into<String>) -> RunStep<'_> {
        RunStep::new(self, name.into(), None)
    }

    /// Begins a step that has steps within it, and stores it as RUNNING.
    ///
    /// # Errors
    /// As [`RunStep::finish`].
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let supply = run.sequence("Supply")?;
    /// let step = supply.step("Power").finish()?;
    /// assert_eq!(step.path.as_deref(), Some("Supply\nPower"));
    /// supply.finish()?;
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn sequence(&self, name: impl Into<String>) -> Result<RunSequence<'_>> {
        RunSequence::begin(self, name.into(), None)
    }

    /// The steps that are RUNNING: sequences that were not ended, in the order of their creation.
    ///
    /// # Errors
    /// `LimitExceeded` for more than a query may hold in memory.
    pub fn open_sequences(&self) -> Result<Vec<Step>> {
        let query = QueryStepsRequest::new()
            .filter("resultId == @0 && status.statusType == \"RUNNING\"")
            .substitutions([self.id.as_str()])
            .take(100_000);
        Ok(self.session.read(|view| steps::page(view, &query))?.items)
    }

    /// Carries on a sequence that was not ended.
    ///
    /// # Errors
    /// `NotFound` for a step that the run does not have; `Conflict` for one that is not RUNNING.
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// run.sequence("Supply")?; // dropped, as a crash does
    /// let open = run.open_sequences()?;
    /// let supply = run.resume_sequence(open[0].step_id.as_deref().unwrap_or_default())?;
    /// supply.step("Power").finish()?;
    /// assert_eq!(supply.finish()?.status, Some(StatusType::Done.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn resume_sequence(&self, step_id: &str) -> Result<RunSequence<'_>> {
        RunSequence::resume(self, step_id)
    }

    /// Names a file in the result, in one commit.
    ///
    /// # Errors
    /// `NotFound` and `Conflict` as [`RunStep::finish`]; `PermissionDenied`.
    pub fn attach_file(&self, id: &FileId) -> Result<()> {
        self.attach(Attached { file_ids: vec![id.to_string()], ..Attached::default() })
    }

    /// Names a table in the result, in one commit.
    ///
    /// # Errors
    /// As [`attach_file`](Run::attach_file).
    pub fn attach_table(&self, id: &TableId) -> Result<()> {
        self.attach(Attached { data_table_ids: vec![id.to_string()], ..Attached::default() })
    }

    fn attach(&self, attached: Attached) -> Result<()> {
        let id = self.id.clone();
        self.session.write(move |draft| store::attach(draft, &id, attached))
    }

    /// Creates a table of the run: it names the result, and the result names it, in one commit.
    ///
    /// # Errors
    /// As [`attach_file`](Run::attach_file), and those of
    /// [`create_table`](crate::tables::TableService::create_table).
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// use stationdb::tables::{Column, ColumnType, CreateTableRequest, DataType};
    ///
    /// let columns = [Column::new("t", DataType::Int64).column_type(ColumnType::Index)];
    /// let table = run.create_table(CreateTableRequest::new(columns))?;
    /// assert_eq!(run.result()?.data_table_ids, Some(vec![table.to_string()]));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn create_table(&self, request: CreateTableRequest) -> Result<TableId> {
        let id = self.id.clone();
        self.session.write(move |draft| store::create_table(draft, &id, request))
    }

    fn store(&self, step: FinishedStep) -> Result<Step> {
        let id = self.id.clone();
        self.session.write(move |draft| store::store_step(draft, &id, step))
    }

    fn end(self, status: Option<Status>) -> Result<TestResult> {
        let seconds = self.before_s + self.from.elapsed().as_secs_f64();
        let id = self.id.clone();
        self.session.write(move |draft| store::end(draft, &id, status, seconds))
    }

    /// Ends the run. The status of the result is that of its most severe step, on all levels, and
    /// DONE if no step has one; the total time is that since the start. A sequence that was not
    /// ended is TERMINATED.
    ///
    /// # Errors
    /// `NotFound` for a run that was deleted; `Conflict` for one that was ended meanwhile;
    /// `PermissionDenied`. The run stays as it is, and can be [resumed](Run::resume).
    pub fn finish(self) -> Result<TestResult> {
        self.end(None)
    }

    /// Ends the run with this status, whatever its steps say.
    ///
    /// # Errors
    /// As [`finish`](Run::finish).
    ///
    /// ```
    #[doc = include_str!("example.txt")]
    /// let result = run.finish_as(StatusType::TimedOut)?;
    /// assert_eq!(result.status, Some(StatusType::TimedOut.into()));
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    pub fn finish_as(self, status: impl Into<Status>) -> Result<TestResult> {
        self.end(Some(status.into()))
    }

    /// Ends the run as TERMINATED: it was stopped while it ran.
    ///
    /// # Errors
    /// As [`finish`](Run::finish).
    pub fn terminate(self) -> Result<TestResult> {
        self.end(Some(StatusType::Terminated.into()))
    }
}

/// The results of runs that nobody has ended.
pub(super) fn unfinished(view: &View<'_>) -> Result<Vec<TestResult>> {
    store::unfinished(view)
}

/// Keeps what tells a run in progress, whatever an update made of the properties.
pub(super) fn keep_in_progress(before: &TestResult, after: &mut TestResult) {
    store::keep_in_progress(before, after);
}

/// The step of a run.
fn step_of(run: &Run, step_id: &str) -> Result<Step> {
    run.session.read(|view| store::in_progress(&run.id, view.get::<TestResult>(&run.id)?))?;
    steps::get(&run.session, &run.id, step_id)
}
