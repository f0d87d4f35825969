//! The one way in for changes: queue, turn, group commit.
//!
//! A caller queues its plan. Whoever finds no leader leads: it takes what is queued, runs the plans one after another in
//! one redb transaction, each over the last commit plus what the plans before it changed, commits with one sync,
//! publishes the snapshot and hands every caller its own answer; then the front of the queue leads. So the operations
//! that arrive during a sync share the next one.
//!
//! What must hold: a refused plan changes nothing; readers see a commit only after its sync; after a failed write the
//! store latches and nobody writes again; an exclusive turn (an explicit transaction) shares its commit with nobody.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::access::{Access, Session};
use super::context::Context;
use super::draft::Draft;
use super::engine::{Engine, guarded, lock};
use super::event::{Event, LogEntry, What};
use super::view::View;
use crate::error::{Error, ErrorKind, Result};
use crate::records::{Change, RecordFile, Source, Space, Turn, envelope};
use crate::value::{limits, stored};

type Answer = Box<dyn Any + Send>;
type Plan = Box<dyn FnOnce(&mut Draft<'_>) -> Result<Answer> + Send>;

struct Job {
    /// `None` for an exclusive turn, and once the plan was taken.
    plan: Mutex<Option<Plan>>,
    exclusive: bool,
    context: Arc<Context>,
    thread: ThreadId,
    answer: Mutex<Option<Result<Answer>>>,
    done: AtomicBool,
    promoted: AtomicBool,
    wake: Condvar,
}

/// A group that took at least this long was waiting for its disk.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// The longest that a group waits for operations that are on their way.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

#[derive(Default)]
struct State {
    queue: VecDeque<Arc<Job>>,
    leader: Option<ThreadId>,
    /// Operations of the last group and of the queue at its end: so many writers are about.
    writers: usize,
    /// How long the last group took.
    taken: Duration,
}

/// The queue of writers and the turn that one of them holds.
#[derive(Default)]
pub(crate) struct WritePath {
    state: Mutex<State>,
    /// An operation was queued.
    arrived: Condvar,
}

impl std::fmt::Debug for WritePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WritePath").field("queued", &lock(&self.state).queue.len()).finish()
    }
}

/// Ends leadership when dropped, also when the leader panics: whoever waits in front leads next.
struct Leadership<'e> {
    path: &'e WritePath,
    group: Vec<Arc<Job>>,
    began: Instant,
}

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.path.state);
        state.writers = self.group.len() + state.queue.len();
        state.taken = self.began.elapsed();
        for job in &self.group {
            job.done.store(true, Ordering::SeqCst);
            job.wake.notify_one();
        }
        match state.queue.front().cloned() {
            Some(next) => {
                next.promoted.store(true, Ordering::SeqCst);
                state.leader = Some(next.thread);
                next.wake.notify_one();
            }
            None => state.leader = None,
        }
    }
}

impl WritePath {
    /// Queues `job` and waits until it was answered (`None`), or until its thread leads.
    fn enter(&self, job: &Arc<Job>) -> Result<Option<Leadership<'_>>> {
        let mut state = lock(&self.state);
        if state.leader == Some(job.thread) {
            return Err(Error::conflict(
                "this thread has an open transaction; write through the transaction's own handle inside it",
            ));
        }
        state.queue.push_back(job.clone());
        self.arrived.notify_one();
        if state.leader.is_some() {
            while !job.done.load(Ordering::SeqCst) && !job.promoted.load(Ordering::SeqCst) {
                state = job.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if job.done.load(Ordering::SeqCst) {
                return Ok(None);
            }
        } else {
            state.leader = Some(job.thread);
        }
        // Whoever was answered just now comes back at once. Where a sync takes long, waiting for them for a fraction of it
        // doubles what a commit carries: without, those of the last group miss this one and wait for two.
        if !job.exclusive && state.taken >= SLOW_COMMIT {
            let until = Instant::now() + (state.taken / 8).min(LONGEST_WAIT);
            while state.queue.len() < state.writers.min(limits::GROUP_OPERATIONS) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        // The leader's own job stands in front. It takes the jobs behind it along, up to the next exclusive one.
        let mut group = Vec::new();
        while let Some(front) = state.queue.front() {
            if !group.is_empty() && (job.exclusive || front.exclusive || group.len() >= limits::GROUP_OPERATIONS) {
                break;
            }
            group.extend(state.queue.pop_front());
        }
        Ok(Some(Leadership { path: self, group, began: Instant::now() }))
    }
}

fn job(context: &Arc<Context>, plan: Option<Plan>) -> Arc<Job> {
    Arc::new(Job {
        exclusive: plan.is_none(),
        plan: Mutex::new(plan),
        context: context.clone(),
        thread: std::thread::current().id(),
        answer: Mutex::new(None),
        done: AtomicBool::new(false),
        promoted: AtomicBool::new(false),
        wake: Condvar::new(),
    })
}

/// Runs `plan` in the next group and returns its answer after the sync.
pub(super) fn submit<T: Send + 'static>(
    context: &Arc<Context>,
    plan: impl FnOnce(&mut Draft<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    context.check_deadline()?;
    context.engine.check_latch()?;
    let boxed: Plan = Box::new(move |draft| plan(draft).map(|value| Box::new(value) as Answer));
    let own = job(context, Some(boxed));
    if let Some(leadership) = context.engine.write_path.enter(&own)? {
        lead(&context.engine, &leadership.group);
    }
    let answer = lock(&own.answer).take();
    let answer =
        answer.unwrap_or_else(|| Err(Error::new(ErrorKind::OutcomeUnknown, "the writer of the group stopped")))?;
    answer.downcast::<T>().map(|value| *value).map_err(|_| Error::corrupt("a write answered with another type"))
}

/// Runs the plans of a group and commits them together.
fn lead(engine: &Engine, group: &[Arc<Job>]) {
    let mut answers: Vec<Option<Result<Answer>>> = group.iter().map(|_| None).collect();
    let mut began = false;
    let outcome = guarded("writing", || run_group(engine, group, &mut answers, &mut began));
    if let Err(error) = &outcome {
        engine.set_latch(error);
    }
    for (job, answer) in group.iter().zip(answers) {
        let answer = match (&outcome, answer) {
            // A plan that was refused stays refused, whatever happened to the others.
            (_, Some(Err(refusal))) => Err(refusal),
            (Ok(()), Some(answer)) => answer,
            (Ok(()), None) => Err(Error::new(ErrorKind::OutcomeUnknown, "the plan was not run")),
            (Err(error), _) => Err(failed(error, began)),
        };
        *lock(&job.answer) = Some(answer);
    }
}

/// The error of every caller of a group that could not be made durable.
fn failed(cause: &Error, began: bool) -> Error {
    if began {
        Error::new(
            ErrorKind::OutcomeUnknown,
            format!(
                "the disk failed during the commit ({}); reopen the store and look whether it took effect",
                cause.message()
            ),
        )
        .with_source(cause.clone())
    } else {
        cause.clone().context("nothing was changed")
    }
}

fn run_group(
    engine: &Engine,
    group: &[Arc<Job>],
    answers: &mut [Option<Result<Answer>>],
    began: &mut bool,
) -> Result<()> {
    engine.check_latch()?;
    let transaction = engine.records.begin()?;
    let mut sequence = engine.sequence();
    let mut brought = 0;
    let finished = {
        let mut turn = Turn::open(&transaction, engine.snapshot());
        for (job, answer) in group.iter().zip(answers.iter_mut()) {
            let Some(plan) = lock(&job.plan).take() else { continue };
            let planned = guarded("planning a write", || plan_over(&turn, &job.context, &mut brought, plan));
            *answer = Some(match planned {
                Ok((value, changes, events)) => {
                    if !changes.is_empty() {
                        apply(engine, &mut turn, &job.context, &mut sequence, changes, events)?;
                    }
                    Ok(value)
                }
                Err(refusal) => Err(refusal),
            });
        }
        if sequence != engine.sequence() {
            turn.apply([engine.state_row(sequence)])?;
        }
        if sequence == engine.sequence() {
            // Nothing changed: no sync is owed.
            return Ok(());
        }
        turn.finish()?
    };
    *began = true;
    RecordFile::commit(transaction, finished)?;
    engine.set_sequence(sequence);
    engine.publish()
}

/// Runs one plan over the turn's state; nothing is written. `brought` are the bytes that accepted plans of the same commit
/// bring, of which the disk does not know yet.
pub(super) fn plan_over<T>(
    turn: &Turn<'_>,
    context: &Arc<Context>,
    brought: &mut u64,
    plan: impl FnOnce(&mut Draft<'_>) -> Result<T>,
) -> Result<(T, Vec<Change>, Vec<Event>)> {
    let view = View::new(Source::Turn(turn), context, &[]);
    let mut draft = Draft::new(view);
    let value = plan(&mut draft)?;
    let (changes, events) = draft.finish()?;
    // What only deletes, or tells nobody anything (positions, swept files), may use the reserve.
    if events.iter().any(|event| event.what != What::Deleted) {
        let bytes: usize = changes.iter().map(Change::len).sum();
        let together = brought.saturating_add(bytes as u64);
        context.engine.check_space(together)?;
        *brought = together;
    }
    Ok((value, changes, events))
}

fn apply(
    engine: &Engine,
    turn: &mut Turn<'_>,
    context: &Context,
    sequence: &mut u64,
    changes: Vec<Change>,
    events: Vec<Event>,
) -> Result<()> {
    turn.apply(changes)?;
    *sequence += 1;
    // What concerns no resource (positions, checkpoints, swept files) is a commit, but nothing that a subscriber is told.
    if events.is_empty() {
        return Ok(());
    }
    turn.apply([log_row(engine, context, *sequence, events)?])
}

/// The change log's row of one commit.
pub(super) fn log_row(engine: &Engine, context: &Context, sequence: u64, events: Vec<Event>) -> Result<Change> {
    /// About what an event takes.
    const EVENT_BYTES: usize = 96;
    let key = sequence.to_be_bytes();
    let entry = LogEntry { time_ms: engine.now().timestamp_millis(), who: context.user().to_owned(), events };
    let value = envelope::seal_with(&key, 0, entry.events.len() * EVENT_BYTES, |out| stored::append(&entry, out))?;
    Ok(Change::Put { space: Space::Log, key: key.to_vec(), value })
}

/// Holds the turn alone while `f` runs: the frame of an explicit transaction.
pub(super) fn exclusive<T>(context: &Arc<Context>, f: impl FnOnce() -> Result<T>) -> Result<T> {
    context.check_deadline()?;
    context.engine.check_latch()?;
    let own = job(context, None);
    let Some(_leadership) = context.engine.write_path.enter(&own)? else {
        return Err(Error::new(ErrorKind::OutcomeUnknown, "the turn was answered without being held"));
    };
    // Again, since a group that was waited for may have failed: what is published may then be older than the record file.
    context.engine.check_latch()?;
    f()
}

/// Goes on merging the runs of the indexes in a turn of its own, `entries` of them at each level; whether there is more.
pub(crate) fn settle_indexes(session: &Session, entries: u64) -> Result<bool> {
    /// More than an entry takes in a run.
    const ENTRY_BYTES: u64 = 64;
    let context = session.context();
    let engine = &context.engine;
    if engine.check_space(entries.saturating_mul(ENTRY_BYTES)).is_err() {
        // It can wait, and deletes cannot.
        return Ok(false);
    }
    exclusive(context, || {
        let transaction = engine.records.begin()?;
        let finished = {
            let mut turn = Turn::open(&transaction, engine.snapshot());
            if !guarded("merging index entries", || turn.settle_indexes(entries))? {
                return Ok(false);
            }
            turn.finish()?
        };
        if let Err(error) = guarded("committing merged index entries", || RecordFile::commit(transaction, finished)) {
            engine.set_latch(&error);
            return Err(error);
        }
        engine.publish()?;
        Ok(true)
    })
}
