//! Execution of actions of work items.
//!
//! An action that runs nothing is one write. Jobs and notebooks run on the host's runner, outside
//! of every write turn and between two commits: the intent is committed before the call, the result
//! after it. An intent without a result was interrupted by the end of the process. It is found when
//! the store is opened, and becomes an event with an error and equal states.
//!
//! What must hold: the state changes only in the commit that records the event, starting from the
//! state that the item has in that commit. Otherwise concurrent executions could write a history
//! that is not a legal sequence of states.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{ApiError, Error, ErrorKind, Result};
use crate::model::{
    EventType, ExecuteWorkItemResponse, ExecutionDefinition, ExecutionEvent, ExecutionEventBase,
    ExecutionEventDetail, ExecutionResult, Job, JobExecution, JobExecutionResult,
    ManualExecutionResult, NoneExecutionResult, NotebookExecution, NotebookExecutionResult,
    Resource, ScheduleExecutionResult, Stamped as _, UnscheduleExecutionResult, WorkItem,
};
use crate::records::{Space, envelope};
use crate::services::lab::actions::{Runs, Situation, Step, invalid_state, resolve};
use crate::services::lab::placeholders;
use crate::services::service_record::{absent, found};
use crate::session::{Access, Draft, JobRequest, JobRunner, NotebookRequest, Session, What};
use crate::value::wire::record;
use crate::value::{Action, limits};

use super::records::planned_start;

record! {
    /// A call of the runner whose result is not recorded yet.
    pub struct Intent {
        /// The work item.
        pub item_id: String,
        /// Name of the action.
        pub action: String,
        /// Kind of the event that the result becomes.
        pub event: EventType,
        /// Who triggered it.
        pub triggered_by: String,
        /// When it was triggered.
        pub triggered_at: Option<chrono::DateTime<chrono::Utc>>,
    }
}

/// A call of the runner.
enum Call {
    Jobs { system_id: String, jobs: Vec<Job> },
    Notebook { notebook_id: String, parameters: BTreeMap<String, String> },
}

/// The result of a call of the runner.
#[derive(Clone)]
enum Ran {
    Jobs(Vec<String>),
    Notebook(String),
}

enum PreparedAction {
    Done(ExecutionResult),
    Call { key: Vec<u8>, intent: Intent, call: Call },
}

pub(super) fn execute(
    access: &impl Access,
    id: &str,
    action: &str,
) -> Result<ExecuteWorkItemResponse> {
    let in_transaction = access.is_transaction();
    let (item_id, name) = (id.to_owned(), action.to_owned());
    let prepared = access.write(move |draft| prepare(draft, &item_id, &name, in_transaction))?;
    let (key, intent, call) = match prepared {
        PreparedAction::Done(result) => return Ok(answer_of(None, result)),
        PreparedAction::Call { key, intent, call } => (key, intent, call),
    };
    let context = access.context();
    let runner = context.settings().runner.clone();
    let answer = ask(&*runner, &intent, call);
    let recorded = {
        let (intent, answer) = (intent.clone(), answer.clone());
        // A session without the caller's deadline: the runner has done its work, and the result
        // must be recorded.
        let session = Session::new(context.engine.clone(), context.identity().clone());
        session.write(move |draft| record_answer(draft, key, &intent, answer))
    };
    let refused = match recorded {
        Ok(refused) => refused,
        Err(error) => {
            // If the outcome is unknown, the result may be on disk after all, so its jobs must not
            // be cancelled.
            if let (Ok(Ran::Jobs(ids)), false) =
                (&answer, error.kind() == ErrorKind::OutcomeUnknown)
            {
                let _ = guarded(|| runner.cancel(ids));
            }
            return Err(error);
        }
    };
    Ok(match (answer, refused) {
        (Ok(ran), None) => answer_of(None, result_of(Some(ran), intent.event, None)),
        (Ok(ran), Some(error)) => {
            if let Ran::Jobs(ids) = &ran {
                let _ = guarded(|| runner.cancel(ids));
            }
            let error = error.api_error();
            let result = result_of(Some(ran), intent.event, Some(error.clone()));
            answer_of(Some(error), result)
        }
        (Err(failure), _) => {
            let ran = (intent.event == EventType::Job).then_some(Ran::Jobs(failure.cancelled));
            let result = result_of(ran, intent.event, Some((*failure.error).clone()));
            answer_of(Some(*failure.error), result)
        }
    })
}

fn answer_of(error: Option<ApiError>, result: ExecutionResult) -> ExecuteWorkItemResponse {
    ExecuteWorkItemResponse { error, result: Some(result), refused: None }
}

/// Resolves the action, and executes it completely unless it needs a runner.
fn prepare(
    draft: &mut Draft<'_>,
    id: &str,
    name: &str,
    in_transaction: bool,
) -> Result<PreparedAction> {
    let mut item = found(id, draft.get::<WorkItem>(id)?)?;
    draft.context().require(WorkItem::KIND.service, Action::Execute, item.workspace())?;
    let step = step(&item, name).map_err(|error| error.with_resource(WorkItem::KIND.name, id))?;
    let (definition, result) = match &step.runs {
        Runs::Defined(definition) => (Some(definition), None),
        Runs::Manual => (None, Some(ExecutionResult::Manual(ManualExecutionResult::default()))),
        Runs::Schedule => {
            (None, Some(ExecutionResult::Schedule(ScheduleExecutionResult::default())))
        }
        Runs::Unschedule => {
            (None, Some(ExecutionResult::Unschedule(UnscheduleExecutionResult::default())))
        }
    };
    let (event, call) = match definition {
        None => (None, None),
        Some(ExecutionDefinition::None(_)) => {
            return Ok(PreparedAction::Done(ExecutionResult::None(NoneExecutionResult::default())));
        }
        Some(ExecutionDefinition::Manual(_)) => (None, None),
        Some(ExecutionDefinition::Job(job)) => (Some(EventType::Job), Some(job_call(&item, job)?)),
        Some(ExecutionDefinition::Notebook(notebook)) => {
            (Some(EventType::Notebook), Some(notebook_call(&item, notebook)))
        }
    };
    let base = ExecutionEventBase {
        action: Some(name.to_owned()),
        triggered_at: Some(draft.now()),
        triggered_by: Some(draft.user().to_owned()),
        ..ExecutionEventBase::default()
    };
    let (Some(event), Some(call)) = (event, call) else {
        let event = ExecutionEvent { base, detail: ExecutionEventDetail::Manual };
        let result =
            result.unwrap_or_else(|| ExecutionResult::Manual(ManualExecutionResult::default()));
        apply(draft, &mut item, Some(&step), event, result.type_name())?;
        return Ok(PreparedAction::Done(result));
    };
    if in_transaction {
        return Err(Error::unsupported(format!(
            "the {event} action {name:?} cannot be part of a transaction, because its effects \
             cannot be rolled back; execute it on the session"
        ))
        .with_resource(WorkItem::KIND.name, id));
    }
    let key = draft.counter("intent", 1)?.to_be_bytes().to_vec();
    let intent = Intent {
        item_id: item.id().to_owned(),
        action: name.to_owned(),
        event,
        triggered_by: draft.user().to_owned(),
        triggered_at: Some(draft.now()),
    };
    let row = envelope::to_row(&key, &intent)?;
    draft.put_raw(Space::Intents, key.clone(), row);
    Ok(PreparedAction::Call { key, intent, call })
}

fn step(item: &WorkItem, name: &str) -> Result<Step> {
    let situation = Situation {
        state: item.state.unwrap_or_default(),
        definitions: item.execution_actions.as_deref().unwrap_or_default(),
        has_planned_start: planned_start(item).is_some(),
    };
    resolve(situation, name)
}

fn job_call(item: &WorkItem, definition: &JobExecution) -> Result<Call> {
    let selected = || {
        let systems = item.resources.as_ref().and_then(|resources| resources.systems.as_ref());
        systems.and_then(|group| {
            group.selections.as_ref()?.iter().find_map(|selection| selection.id.clone())
        })
    };
    let system_id = definition.system_id.clone().or_else(selected).ok_or_else(|| {
        invalid_state(
            "the jobs have no system to run on; give the action a systemId or reserve a system",
        )
        .with_resource(WorkItem::KIND.name, item.id())
    })?;
    let fill = |job: &Job| Job {
        functions: job.functions.clone(),
        arguments: job
            .arguments
            .iter()
            .map(|list| {
                list.iter().map(|argument| placeholders::fill_json(argument, item)).collect()
            })
            .collect(),
        metadata: job.metadata.clone(),
        ..Job::default()
    };
    Ok(Call::Jobs { system_id, jobs: definition.jobs.iter().flatten().map(fill).collect() })
}

fn notebook_call(item: &WorkItem, definition: &NotebookExecution) -> Call {
    let fill = |(name, text): (&String, &String)| (name.clone(), placeholders::fill(text, item));
    Call::Notebook {
        notebook_id: definition.notebook_id.clone(),
        parameters: definition.parameters.iter().flatten().map(fill).collect(),
    }
}

/// The runner failed, and the jobs that it had queued are cancelled.
#[derive(Clone)]
struct Failure {
    error: Box<ApiError>,
    cancelled: Vec<String>,
}

fn ask(runner: &dyn JobRunner, intent: &Intent, call: Call) -> Result<Ran, Failure> {
    match call {
        Call::Notebook { notebook_id, parameters } => {
            let request = NotebookRequest {
                work_item_id: &intent.item_id,
                action: &intent.action,
                notebook_id: &notebook_id,
                parameters: &parameters,
            };
            guarded(|| runner.run_notebook(&request)).map(Ran::Notebook).map_err(|error| Failure {
                error: Box::new(error.api_error()),
                cancelled: Vec::new(),
            })
        }
        Call::Jobs { system_id, jobs } => {
            let request = JobRequest {
                work_item_id: &intent.item_id,
                action: &intent.action,
                system_id: &system_id,
                jobs: &jobs,
            };
            guarded(|| runner.queue(&request)).map(Ran::Jobs).map_err(|failure| {
                let mut error = failure.error.api_error();
                let cancelled = if failure.queued.is_empty() {
                    Ok(())
                } else {
                    guarded(|| runner.cancel(&failure.queued))
                };
                if let Err(also) = cancelled {
                    error.inner_errors.push(also.api_error());
                }
                Failure { error: Box::new(error), cancelled: failure.queued }
            })
        }
    }
}

/// Calls the host. Returns a panic of the host as an error.
fn guarded<T, E: From<Error>>(call: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let error = Error::new(ErrorKind::Io, "the job runner of the host panicked");
        Err(error.with_name("StationDb.JobRunnerFailed", None).into())
    })
}

/// Commits the result of the runner. Returns the reason if the item could not change its state
/// accordingly.
fn record_answer(
    draft: &mut Draft<'_>,
    key: Vec<u8>,
    intent: &Intent,
    answer: Result<Ran, Failure>,
) -> Result<Option<Error>> {
    draft.delete_raw(Space::Intents, key);
    let Some(mut item) = draft.get::<WorkItem>(&intent.item_id)? else {
        return Ok(Some(absent::<WorkItem>(&intent.item_id)));
    };
    let (step, refused, error, ids) = match answer {
        Err(failure) => (None, None, Some(*failure.error), Some(Ran::Jobs(failure.cancelled))),
        // Others may have moved or changed the item during the call: its present state decides.
        Ok(ran) => match step(&item, &intent.action) {
            Ok(step) => (Some(step), None, None, Some(ran)),
            Err(error) => {
                let error = error.with_resource(WorkItem::KIND.name, item.id());
                (None, Some(error.clone()), Some(error.api_error()), Some(ran))
            }
        },
    };
    let event = event_of(intent, ids, error);
    apply(draft, &mut item, step.as_ref(), event, intent.event.as_str())?;
    Ok(refused)
}

fn event_of(intent: &Intent, ran: Option<Ran>, error: Option<ApiError>) -> ExecutionEvent {
    let (job_ids, execution_id) = match ran {
        Some(Ran::Jobs(ids)) => (Some(ids), None),
        Some(Ran::Notebook(id)) => (None, Some(id)),
        None => (None, None),
    };
    ExecutionEvent {
        base: ExecutionEventBase {
            action: Some(intent.action.clone()),
            triggered_at: intent.triggered_at,
            triggered_by: Some(intent.triggered_by.clone()),
            error,
            ..ExecutionEventBase::default()
        },
        detail: match intent.event {
            EventType::Manual => ExecutionEventDetail::Manual,
            EventType::Job => ExecutionEventDetail::Job { job_ids },
            EventType::Notebook => ExecutionEventDetail::Notebook { execution_id },
        },
    }
}

fn result_of(ran: Option<Ran>, event: EventType, error: Option<ApiError>) -> ExecutionResult {
    match (event, ran) {
        (EventType::Job, Some(Ran::Jobs(ids))) => {
            JobExecutionResult { error, job_ids: Some(ids) }.into()
        }
        (EventType::Job, _) => JobExecutionResult { error, job_ids: None }.into(),
        (EventType::Notebook, Some(Ran::Notebook(id))) => {
            NotebookExecutionResult { error, execution_id: Some(id) }.into()
        }
        (EventType::Notebook, _) => NotebookExecutionResult { error, execution_id: None }.into(),
        (EventType::Manual, _) => ManualExecutionResult { error }.into(),
    }
}

/// Moves the item, adds the event to its history and to the change feed; `runs` is the kind's name
/// on the wire.
fn apply(
    draft: &mut Draft<'_>,
    item: &mut WorkItem,
    step: Option<&Step>,
    event: ExecutionEvent,
    runs: &'static str,
) -> Result<()> {
    let event = follow(item, step, event, draft.user(), draft.now());
    let detail = detail_of(&event, runs);
    // The three kinds of events cannot express scheduling, so the history omits it. The change feed
    // contains it.
    if !matches!(runs, "SCHEDULE" | "UNSCHEDULE") {
        push(item, event);
    }
    draft.put_with(item, What::Executed, Some(detail))
}

/// Moves the item, and fills in the states before and after in the event.
fn follow(
    item: &mut WorkItem,
    step: Option<&Step>,
    mut event: ExecutionEvent,
    user: &str,
    now: chrono::DateTime<chrono::Utc>,
) -> ExecutionEvent {
    event.base.previous_state = item.state;
    event.base.previous_substate.clone_from(&item.substate);
    if let Some(target) = step.and_then(|step| step.target) {
        let moves =
            item.state != Some(target.state) || item.substate.as_deref() != Some(target.substate);
        if moves {
            item.state = Some(target.state);
            item.substate = Some(target.substate.to_owned());
            item.stamp().update(user, now);
        }
        if target.clears_schedule {
            item.schedule = None;
        }
    }
    event.base.new_state = item.state;
    event.base.new_substate.clone_from(&item.substate);
    event
}

fn push(item: &mut WorkItem, event: ExecutionEvent) {
    let history = item.execution_history.get_or_insert_default();
    history.push(event);
    let over = history.len().saturating_sub(limits::EXECUTION_HISTORY);
    history.drain(..over);
}

fn detail_of(event: &ExecutionEvent, runs: &str) -> serde_json::Value {
    let mut detail = serde_json::to_value(event).unwrap_or_default();
    if let Some(members) = detail.as_object_mut() {
        members.insert("type".to_owned(), runs.into());
    }
    detail
}

/// Turns intents without a result into events with an error and equal states. Called when the store
/// is opened, before any action can be executed. Returns the number of intents.
pub(crate) fn recover_intents(draft: &mut Draft<'_>) -> Result<usize> {
    let intents = draft.raw_prefix(Space::Intents, &[])?;
    for (key, value) in &intents {
        let intent: Intent = envelope::from_row(key, value)?;
        draft.delete_raw(Space::Intents, key.clone());
        let Some(record_key) = crate::value::RecordKey::parse(WorkItem::KIND.id, &intent.item_id)
        else {
            continue;
        };
        let Some(mut item) = draft.any_by_key::<WorkItem>(record_key)? else { continue };
        let error = Error::new(
            ErrorKind::OutcomeUnknown,
            format!(
                "the store was closed while the action {:?} ran, so it is not known what the \
                 runner did; check the runner",
                intent.action
            ),
        )
        .with_name("StationDb.ExecutionInterrupted", None)
        .with_resource(WorkItem::KIND.name, item.id());
        let event = event_of(&intent, None, Some(error.api_error()));
        let event = follow(&mut item, None, event, &intent.triggered_by, draft.now());
        let detail = detail_of(&event, intent.event.as_str());
        push(&mut item, event);
        draft.put_by_store(&item, What::Executed, Some(detail))?;
    }
    Ok(intents.len())
}
