//! Whose turn it is to write.
//!
//! A caller queues its plan. Whoever finds no leader leads: it takes what is queued, runs and commits it together, hands every
//! caller its own answer, and then the front of the queue leads. So the plans that arrive during a sync share the next one.
//!
//! What must hold: one leader at a time; every caller gets an answer, also when its leader panics; a group runs in the order in
//! which it was queued; an exclusive turn (an explicit transaction) shares its commit with nobody; the latch is set before the
//! next leader looks at it. `turns_tests` tries interleavings of this file and of the latch.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use super::latch::Latch;
use super::sync::{Arc, AtomicBool, Condvar, Instant, Mutex, MutexGuard, Ordering, ThreadId, current, wait_at_most};
use crate::error::{Error, ErrorKind, Result};
use crate::value::limits;

/// A group that took at least this long was waiting for its disk.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// The longest that a group waits for plans that are on their way.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// A caller in the queue.
struct Job<P, A> {
    /// `None` for an exclusive turn, and once the plan was taken.
    plan: Mutex<Option<P>>,
    exclusive: bool,
    /// When the caller stops waiting.
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

/// One plan of a group, and what became of it.
pub(in crate::session) struct Member<P, A> {
    pub(in crate::session) plan: Option<P>,
    pub(in crate::session) answer: Option<Result<A>>,
}

struct State<P, A> {
    queue: VecDeque<Arc<Job<P, A>>>,
    leader: Option<ThreadId>,
    /// Plans of the last group and of the queue at its end: so many writers are about.
    writers: usize,
    /// How long the last group took.
    taken: Duration,
}

impl<P, A> State<P, A> {
    /// Takes a caller out of the queue; false when a group has taken it along.
    fn withdraw(&mut self, job: &Arc<Job<P, A>>) -> bool {
        let place = self.queue.iter().position(|queued| Arc::ptr_eq(queued, job));
        place.and_then(|place| self.queue.remove(place)).is_some()
    }
}

/// The queue of writers and the turn that one of them holds. `P` is what a caller plans, `A` what it is answered.
pub(in crate::session) struct Turns<P, A> {
    state: Mutex<State<P, A>>,
    /// A plan was queued.
    arrived: Condvar,
    pub(super) latch: Latch,
}

impl<P, A> Default for Turns<P, A> {
    fn default() -> Self {
        let state = State { queue: VecDeque::new(), leader: None, writers: 0, taken: Duration::ZERO };
        Self { state: Mutex::new(state), arrived: Condvar::new(), latch: Latch::default() }
    }
}

/// Ends leadership when dropped, also when the leader panics: whoever waits in front leads next.
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
    /// `run` runs the plans of a group that this thread leads, answers them and commits; it sets its flag just before the commit.
    /// An error of it latches.
    ///
    /// # Errors
    ///
    /// What the plan was refused with; `Latched`; `DeadlineExceeded` when no group had taken it along by then; `OutcomeUnknown`
    /// when the commit failed; what failed before it.
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
        answer.unwrap_or_else(|| Err(Error::new(ErrorKind::OutcomeUnknown, "the writer of the group stopped")))
    }

    /// Holds the turn alone while `f` runs: the frame of an explicit transaction.
    pub(in crate::session) fn exclusive<T>(
        &self,
        deadline: Option<Instant>,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.latch.check()?;
        let own = Job::new(None, deadline);
        let Some(_leadership) = self.enter(&own)? else {
            return Err(Error::new(ErrorKind::OutcomeUnknown, "the turn was answered without being held"));
        };
        // Again, since a group that was waited for may have failed: what is published may then be older than the record file.
        self.latch.check()?;
        f()
    }

    pub(in crate::session) fn queued(&self) -> usize {
        lock(&self.state).queue.len()
    }

    /// Queues `job` and waits until it was answered (`None`), or until its thread leads.
    fn enter(&self, job: &Arc<Job<P, A>>) -> Result<Option<Leadership<'_, P, A>>> {
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
                let left = job.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                if let Some(left) = left.filter(|left| !left.is_zero()) {
                    state = wait_at_most(&job.wake, &self.state, state, left);
                    continue;
                }
                if left.is_some() && state.withdraw(job) {
                    return Err(Error::new(
                        ErrorKind::DeadlineExceeded,
                        "the session's deadline has passed while the call waited for its turn to write; nothing was changed",
                    ));
                }
                // Without a deadline; or a group has taken it along, and its answer is near.
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
                state = wait_at_most(&self.arrived, &self.state, state, left);
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
        Ok(Some(Leadership { turns: self, group, began: Instant::now() }))
    }

    /// Runs the plans of a group and hands out the answers.
    fn lead(&self, group: &[Arc<Job<P, A>>], run: impl FnOnce(&mut [Member<P, A>], &mut bool) -> Result<()>) {
        let mut members: Vec<_> =
            group.iter().map(|job| Member { plan: lock(&job.plan).take(), answer: None }).collect();
        let mut committing = false;
        // Again, since the group before may have failed while these waited.
        let outcome = self.latch.check().and_then(|()| run(&mut members, &mut committing));
        if let Err(error) = &outcome {
            self.latch.set(error);
        }
        let mut accepted = false;
        for (job, member) in group.iter().zip(members) {
            let changed = matches!(member.answer, Some(Ok(_)));
            let answer = match (&outcome, member.answer) {
                (Ok(()), Some(answer)) => answer,
                (Ok(()), None) => Err(Error::new(ErrorKind::OutcomeUnknown, "the plan was not run")),
                // Refused over what is committed, and so refused for good. A plan that saw what others of its group would have
                // changed may have been refused for that.
                (Err(_), Some(Err(refusal))) if !accepted => Err(refusal),
                (Err(error), _) => Err(failed(error, committing)),
            };
            accepted |= changed;
            *lock(&job.answer) = Some(answer);
        }
    }
}

/// The error of every caller of a group that could not be made durable.
fn failed(cause: &Error, committing: bool) -> Error {
    if committing {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
