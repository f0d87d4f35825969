//! The queue of writers, and group commit.
//!
//! A caller queues its plan. If there is no leader, it becomes the leader: it takes the queued
//! plans as a group, runs and commits them together, and stores an answer for every caller. Then
//! the caller at the front of the queue leads. So the plans that arrive during a sync share the
//! next one.
//!
//! What must hold:
//! - There is one leader at a time.
//! - Every caller gets an answer, even if its leader panics.
//! - A group runs in the order in which it was queued.
//! - An exclusive turn (an explicit transaction) shares its commit with no other plan.
//! - The latch is set before the next leader checks it. Otherwise that leader would write over a
//!   state that failed.
//!
//! `turns_tests` explores interleavings of this file and of the latch.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use super::latch::Latch;
use super::sync::{
    Arc, AtomicBool, Condvar, Instant, Mutex, MutexGuard, Ordering, ThreadId, current, wait_at_most,
};
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

/// A group that took at least this long waited for its disk.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// The longest time that a leader waits for more plans to arrive.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// A caller in the queue. Its flags are changed only under the lock of `QueueState`.
struct Job<P, A> {
    /// `None` for an exclusive turn, and after the leader took the plan.
    plan: Mutex<Option<P>>,
    exclusive: bool,
    /// When the caller gives up waiting in the queue.
    deadline: Option<Instant>,
    thread: ThreadId,
    answer: Mutex<Option<Result<A>>>,
    done: AtomicBool,
    promoted: AtomicBool,
    wake: Condvar,
}

impl<P, A> Job<P, A> {
    fn new(plan: Option<P>, deadline: Option<Instant>) -> Arc<Self> {
        Arc::new(Self {
            exclusive: plan.is_none(),
            deadline,
            plan: Mutex::new(plan),
            thread: current().id(),
            answer: Mutex::new(None),
            done: AtomicBool::new(false),
            promoted: AtomicBool::new(false),
            wake: Condvar::new(),
        })
    }
}

/// One plan of a group, and its answer.
pub(in crate::session) struct Member<P, A> {
    pub(in crate::session) plan: Option<P>,
    pub(in crate::session) answer: Option<Result<A>>,
}

struct QueueState<P, A> {
    queue: VecDeque<Arc<Job<P, A>>>,
    leader: Option<ThreadId>,
    /// Plans of the last group plus those queued at its end: an estimate of how many writers are
    /// active.
    writers: usize,
    /// How long the last group took.
    taken: Duration,
}

impl<P, A> QueueState<P, A> {
    /// Removes a caller from the queue; returns false if a group has already taken it.
    fn withdraw(&mut self, job: &Arc<Job<P, A>>) -> bool {
        let place = self.queue.iter().position(|queued| Arc::ptr_eq(queued, job));
        place.and_then(|place| self.queue.remove(place)).is_some()
    }
}

/// The queue of writers and the turn that one of them holds. `P` is the type of a plan, `A` that of
/// an answer.
pub(in crate::session) struct Turns<P, A> {
    state: Mutex<QueueState<P, A>>,
    /// Notified when a plan is queued.
    arrived: Condvar,
    pub(super) latch: Latch,
}

impl<P, A> Default for Turns<P, A> {
    fn default() -> Self {
        let state =
            QueueState { queue: VecDeque::new(), leader: None, writers: 0, taken: Duration::ZERO };
        Self { state: Mutex::new(state), arrived: Condvar::new(), latch: Latch::default() }
    }
}

/// Ends leadership when dropped, also when the leader panics: marks the jobs of its group as done,
/// and promotes the job at the front of the queue.
///
/// The successor is named under the same lock that marks the group as done. A gap between the two
/// would let a caller that arrives in it become a second leader.
struct Leadership<'t, P, A> {
    turns: &'t Turns<P, A>,
    group: Vec<Arc<Job<P, A>>>,
    began: Instant,
}

impl<P, A> Drop for Leadership<'_, P, A> {
    fn drop(&mut self) {
        let mut state = lock(&self.turns.state);
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

impl<P, A> Turns<P, A> {
    /// Runs `plan` in the next group and returns its answer after the group's commit.
    ///
    /// `run` runs the plans of the group that this thread leads, answers them and commits. It sets
    /// its flag just before the commit, so that an error can say whether the outcome is known. An
    /// error of `run` sets the latch.
    ///
    /// # Errors
    ///
    /// The refusal of the plan; `Latched`; `DeadlineExceeded` when no group had taken the plan by
    /// then; `OutcomeUnknown` when the commit failed; the error of a step before the commit.
    pub(in crate::session) fn submit(
        &self,
        plan: P,
        deadline: Option<Instant>,
        run: impl FnOnce(&mut [Member<P, A>], &mut bool) -> Result<()>,
    ) -> Result<A> {
        self.latch.check()?;
        let own = Job::new(Some(plan), deadline);
        if let Some(leadership) = self.enter(&own)? {
            self.lead(&leadership.group, run);
        }
        let answer = lock(&own.answer).take();
        answer.unwrap_or_else(|| {
            Err(Error::new(
                ErrorKind::OutcomeUnknown,
                "the thread that led the group of this write panicked; read the data to see \
                 whether it took effect",
            ))
        })
    }

    /// Holds the turn alone while `f` runs. Explicit transactions use it.
    pub(in crate::session) fn exclusive<T>(
        &self,
        deadline: Option<Instant>,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.latch.check()?;
        let own = Job::new(None, deadline);
        let Some(_leadership) = self.enter(&own)? else {
            return Err(Error::new(
                ErrorKind::OutcomeUnknown,
                "internal error: an exclusive turn was answered as a plan of a group",
            ));
        };
        // Checked again: a group may have failed during the wait, and the published snapshot may
        // then be older than the record file.
        self.latch.check()?;
        f()
    }

    /// Refuses the thread that holds the turn.
    ///
    /// # Errors
    /// `Conflict`.
    #[cfg_attr(test, allow(dead_code, reason = "the tests of the queue alone have no maintenance"))]
    pub(super) fn refuse_leader(&self) -> Result<()> {
        let state = lock(&self.state);
        if state.leader == Some(current().id()) { Err(in_transaction()) } else { Ok(()) }
    }

    pub(in crate::session) fn queued(&self) -> usize {
        lock(&self.state).queue.len()
    }

    /// Queues `job`, and waits until it was answered (`None`) or until its thread leads.
    fn enter(&self, job: &Arc<Job<P, A>>) -> Result<Option<Leadership<'_, P, A>>> {
        let mut state = lock(&self.state);
        if state.leader == Some(job.thread) {
            return Err(in_transaction());
        }
        state.queue.push_back(job.clone());
        self.arrived.notify_one();
        if state.leader.is_some() {
            while !job.done.load(Ordering::SeqCst) && !job.promoted.load(Ordering::SeqCst) {
                let left =
                    job.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if let Some(left) = left.filter(|left| !left.is_zero()) {
                    state = wait_at_most(&job.wake, &self.state, state, left);
                    continue;
                }
                if left.is_some() && state.withdraw(job) {
                    return Err(Error::new(
                        ErrorKind::DeadlineExceeded,
                        "the session's deadline has passed while the call waited for its turn to \
                         write; nothing was changed",
                    ));
                }
                // There is no deadline, or a group has already taken the plan: it may commit, so
                // only its answer says what happened. Wait for it.
                state = job.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if job.done.load(Ordering::SeqCst) {
                return Ok(None);
            }
        } else {
            state.leader = Some(job.thread);
        }
        // Callers that were just answered usually write again at once. If a sync takes long, a
        // short wait for them roughly doubles the plans of a commit. Without the wait, the callers
        // of the last group miss this commit and wait for two syncs.
        if !job.exclusive && state.taken >= SLOW_COMMIT {
            let until = Instant::now() + (state.taken / 8).min(LONGEST_WAIT);
            while state.queue.len() < state.writers.min(limits::GROUP_OPERATIONS) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                state = wait_at_most(&self.arrived, &self.state, state, left);
            }
        }
        // The leader's own job is at the front. The group takes the jobs after it, up to the next
        // exclusive one.
        let mut group = Vec::new();
        while let Some(front) = state.queue.front() {
            if !group.is_empty()
                && (job.exclusive || front.exclusive || group.len() >= limits::GROUP_OPERATIONS)
            {
                break;
            }
            group.extend(state.queue.pop_front());
        }
        Ok(Some(Leadership { turns: self, group, began: Instant::now() }))
    }

    /// Runs the plans of a group and stores their answers.
    fn lead(
        &self,
        group: &[Arc<Job<P, A>>],
        run: impl FnOnce(&mut [Member<P, A>], &mut bool) -> Result<()>,
    ) {
        let mut members: Vec<_> =
            group.iter().map(|job| Member { plan: lock(&job.plan).take(), answer: None }).collect();
        let mut committing = false;
        // Checked again: the previous group may have failed while these callers waited.
        let outcome = self.latch.check().and_then(|()| run(&mut members, &mut committing));
        if let Err(error) = &outcome {
            self.latch.set(error);
        }
        let mut accepted = false;
        for (job, member) in group.iter().zip(members) {
            let changed = matches!(member.answer, Some(Ok(_)));
            let answer = match (&outcome, member.answer) {
                (Ok(()), Some(answer)) => answer,
                (Ok(()), None) => Err(Error::new(
                    ErrorKind::OutcomeUnknown,
                    "internal error: the group ended without an answer to this write",
                )),
                // A refusal is final if no plan of the group was accepted before it: then the plan
                // saw only committed data. Otherwise it may have been refused because of changes
                // that are now lost, so its caller gets the error of the group.
                (Err(_), Some(Err(refusal))) if !accepted => Err(refusal),
                (Err(error), _) => Err(failed(error, committing)),
            };
            accepted |= changed;
            *lock(&job.answer) = Some(answer);
        }
    }
}

fn in_transaction() -> Error {
    Error::conflict(
        "this thread has an open transaction; write through the transaction's own handle inside it",
    )
}

/// The error of a commit that failed: what it was to make durable may be on the disk.
pub(in crate::session) fn outcome_unknown(cause: &Error, what: &str) -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        format!(
            "the disk failed during the commit ({}); reopen the store and read the data to see \
             whether {what} took effect",
            cause.message()
        ),
    )
    .with_source(cause.clone())
}

/// The error that every caller of a failed group gets.
fn failed(cause: &Error, committing: bool) -> Error {
    if committing {
        outcome_unknown(cause, "the write")
    } else {
        cause.clone().context("nothing was changed")
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
