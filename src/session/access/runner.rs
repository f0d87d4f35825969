//! The interface to the host's runner of jobs and notebooks. It is called outside every write turn.

use std::fmt;

use crate::error::{Error, ErrorKind, Result};
use crate::model::lab::execution::Job;

/// The jobs of one executed action.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobRequest<'r> {
    /// The work item whose action was executed.
    pub work_item_id: &'r str,
    /// Name of the action.
    pub action: &'r str,
    /// The system on which the jobs run.
    pub system_id: &'r str,
    /// The jobs, in order, with their placeholders filled in.
    pub jobs: &'r [Job],
}

/// The notebook of one executed action.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotebookRequest<'r> {
    /// The work item whose action was executed.
    pub work_item_id: &'r str,
    /// Name of the action.
    pub action: &'r str,
    /// The notebook.
    pub notebook_id: &'r str,
    /// Its parameters, with their placeholders filled in.
    pub parameters: &'r std::collections::BTreeMap<String, String>,
}

/// The error of a runner that could not queue every job.
#[derive(Clone, Debug)]
pub struct QueueFailure {
    /// What went wrong.
    pub error: Error,
    /// Ids of the jobs that were queued before the failure; they are cancelled.
    pub queued: Vec<String>,
}

impl From<Error> for QueueFailure {
    fn from(error: Error) -> Self {
        Self { error, queued: Vec::new() }
    }
}

/// The station's runner of jobs and notebooks.
///
/// It is called between two commits: the intent is durable before the call, the result after it. If
/// the process dies before the result is committed, the history of the work item lists the call as
/// a failed execution. Calls may come from many threads. Methods may be added until 1.0, with
/// defaults.
pub trait JobRunner: Send + Sync + fmt::Debug + 'static {
    /// Queues jobs, in order, and returns one id for each.
    ///
    /// # Errors
    /// The reason why a job could not be queued, with the ids of the jobs that were queued before
    /// it.
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure>;

    /// Cancels queued jobs. Best effort: its errors are reported along with the error that made it
    /// necessary.
    ///
    /// # Errors
    /// The reason why a job could not be cancelled.
    fn cancel(&self, job_ids: &[String]) -> Result<()>;

    /// Starts a notebook and returns the id of the execution.
    ///
    /// # Errors
    /// The reason why it could not be started.
    fn run_notebook(&self, request: &NotebookRequest<'_>) -> Result<String>;
}

/// The runner of a store that was opened without one: runs nothing, and answers with fresh ids.
#[derive(Clone, Copy, Debug, Default)]
pub struct FreshIdRunner;

impl JobRunner for FreshIdRunner {
    fn queue(&self, request: &JobRequest<'_>) -> Result<Vec<String>, QueueFailure> {
        request.jobs.iter().map(|_| fresh_id().map_err(QueueFailure::from)).collect()
    }

    fn cancel(&self, _job_ids: &[String]) -> Result<()> {
        Ok(())
    }

    fn run_notebook(&self, _request: &NotebookRequest<'_>) -> Result<String> {
        fresh_id()
    }
}

/// A random UUID (version 4).
fn fresh_id() -> Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Io, format!("drawing a random id from the operating system: {error}"))
    })?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let key = crate::value::RecordKey::from_bytes(crate::value::IdForm::Guid, &bytes);
    Ok(key.map(|key| key.to_id(crate::value::IdForm::Guid)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_runner_answers_with_one_fresh_uuid_a_job() {
        let jobs = vec![Job::default(), Job::default()];
        let request =
            JobRequest { work_item_id: "1000", action: "START", system_id: "s", jobs: &jobs };
        let ids = FreshIdRunner.queue(&request).unwrap();
        assert_eq!(ids.len(), 2);
        assert_ne!(ids[0], ids[1]);
        assert_eq!((ids[0].len(), &ids[0][14..15]), (36, "4"));
    }
}
