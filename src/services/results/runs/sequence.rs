//! A step of a run that has steps within it.

use std::time::Instant;

use super::step::RunStep;
use super::store::{self, FinishedStep};
use super::{Run, seconds_between, step_of};
use crate::error::{Error, Result};
use crate::model::results::{CreateStepRequest, Step};
use crate::model::{Status, StatusType};
use crate::services::results::attached::Attached;
use crate::session::Access;

/// A step of a [`Run`] with steps within it. It is stored as RUNNING when it begins, and
/// [`finish`](RunSequence::finish) gives it its status and its total time. One that is dropped
/// without it stays RUNNING, and is TERMINATED when the run ends.
#[derive(Debug)]
#[must_use = "a sequence stays RUNNING until `finish`"]
pub struct RunSequence<'r> {
    run: &'r Run,
    id: String,
    from: Instant,
    /// Seconds of the sequence before `from`.
    before_s: f64,
}

impl<'r> RunSequence<'r> {
    pub(super) fn begin(run: &'r Run, name: String, parent_id: Option<String>) -> Result<Self> {
        let request =
            CreateStepRequest::new().name(name).started_at(run.now()).status(StatusType::Running);
        let step = run.store(FinishedStep {
            request,
            parent_id,
            measurements: Vec::new(),
            conditions: Vec::new(),
            attached: Attached::default(),
        })?;
        let id = step.step_id.unwrap_or_default();
        Ok(Self { run, id, from: Instant::now(), before_s: 0.0 })
    }

    pub(super) fn resume(run: &'r Run, step_id: &str) -> Result<Self> {
        let step = step_of(run, step_id)?;
        if step.status.as_ref().map(|status| status.status_type) != Some(StatusType::Running) {
            return Err(Error::conflict(
                "the step is not RUNNING, so no sequence is carried on there; begin a new one",
            )
            .with_resource("TestStep", step_id));
        }
        let before_s = seconds_between(step.started_at, run.now());
        Ok(Self { run, id: step_id.to_owned(), from: Instant::now(), before_s })
    }

    /// The id of the step.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Begins a step within this one. [`RunStep::finish`] stores it.
    pub fn step(&self, name: impl Into<String>) -> RunStep<'r> {
        RunStep::new(self.run, name.into(), Some(self.id.clone()))
    }

    /// Begins a sequence within this one, and stores it as RUNNING.
    ///
    /// # Errors
    /// As [`Run::sequence`].
    pub fn sequence(&self, name: impl Into<String>) -> Result<RunSequence<'r>> {
        Self::begin(self.run, name.into(), Some(self.id.clone()))
    }

    fn end(self, status: Option<Status>) -> Result<Step> {
        let seconds = self.before_s + self.from.elapsed().as_secs_f64();
        let (id, step_id) = (self.run.id().clone(), self.id);
        self.run
            .session
            .write(move |draft| store::end_sequence(draft, &id, &step_id, status, seconds))
    }

    /// Ends the sequence. Its status is that of the most severe step within it, on all levels, and
    /// DONE if none has one. A sequence within it that was not ended is TERMINATED.
    ///
    /// # Errors
    /// As [`RunStep::finish`].
    pub fn finish(self) -> Result<Step> {
        self.end(None)
    }

    /// Ends the sequence with this status, whatever the steps within it say.
    ///
    /// # Errors
    /// As [`RunStep::finish`].
    pub fn finish_as(self, status: impl Into<Status>) -> Result<Step> {
        self.end(Some(status.into()))
    }
}
