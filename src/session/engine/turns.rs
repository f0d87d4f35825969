//! The queue of writers, and group commit.
//!
//! A caller queues its plan. If there is no leader, it becomes the leader: it gets the queued plans
//! as a group, runs and commits them together, and answers every caller. Then the caller at the
//! front of the queue leads. So the plans that arrive during a sync share the
//! next one.
//!
//! What must hold:
//! - There is one leader at a time.
//! - Every caller gets an answer, even if its leader panics.
//! - A group runs in the order in which it was queued.
//! - An exclusive turn (an explicit transaction) shares its commit with no other plan.
//! - A transaction that has the turn for longer than it may is rolled back by whoever waits for it:
//!   the thread that began it may never come back.
//! - Nobody waits for itself: the thread that used the turn last is refused.
//! - The latch is set before the next leader checks it. Otherwise that leader would write over a
//!   state that failed.
//!
//! `turns_tests` explores interleavings of this file and of the latch.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

use super::latch::Latch;
use super::sync::{
    Arc, AtomicBool, Condvar, Instant, Mutex, MutexGuard, Ordering, ThreadId, Weak, current,
    wait_at_most,
};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Control, limits};

/// A group that took at least this long waited for its disk.
const SLOW_COMMIT: Duration = Duration::from_millis(1);
/// The longest time that a leader waits for more plans to arrive.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

/// How often a caller looks whether it was cancelled, and whether a transaction that is overdue has
/// ended its call.
const LOOK: Duration = Duration::from_millis(20);

/// How long a caller waits for its turn.
#[derive(Clone, Default)]
pub(in crate::session) struct Patience {
    pub(in crate::session) deadline: Option<Instant>,
    /// Whose cancel flag ends the wait.
    pub(in crate::session) control: Option<Control>,
}

/// A transaction that has the turn, as those see it who wait for the turn.
pub(in crate::session) trait Holder: Send + Sync {
    /// Which one it is.
    fn describe(&self) -> String;

    /// Rolls it back, which ends its turn, if it is overdue and no call works on it.
    fn take_back(&self);
}

/// Who leads, and since when.
struct Leader {
    /// The thread that used the turn last.
    thread: ThreadId,
    began: Instant,
    what: &'static str,
    /// The transaction that has the turn, and until when it may have it.
    held: Option<(Weak<dyn Holder>, Option<Instant>)>,
}

impl Leader {
    fn of<P, A>(job: &Job<P, A>) -> Self {
        Self { thread: job.thread, began: Instant::now(), what: job.what, held: None }
    }

    /// How long it may go on; `None` without a bound.
    fn left(&self) -> Option<Duration> {
        let until = self.held.as_ref()?.1.as_ref()?;
        Some(until.saturating_duration_since(Instant::now()))
    }
}

/// A caller in the queue. Its flags are changed only under the lock of `QueueState`.
struct Job<P, A> {
    /// `None` for an exclusive turn, and after the leader took the plan.
    plan: Mutex<Option<P>>,
    exclusive: bool,
    /// What the caller does, in the errors of others.
    what: &'static str,
    patience: Patience,
    thread: ThreadId,
    answer: Mutex<Option<Result<A>>>,
    done: AtomicBool,
    promoted: AtomicBool,
    wake: Condvar,
}

impl<P, A> Job<P, A> {
    fn new(plan: Option<P>, what: &'static str, patience: Patience) -> Arc<Self> {
        Arc::new(Self {
            exclusive: plan.is_none(),
            what,
            patience,
            plan: Mutex::new(plan),
            thread: current().id(),
            answer: Mutex::new(None),
            done: AtomicBool::new(false),
            promoted: AtomicBool::new(false),
            wake: Condvar::new(),
        })
    }

    /// Whether its wait is over.
    fn is_called(&self) -> bool {
        self.done.load(Ordering::SeqCst) || self.promoted.load(Ordering::SeqCst)
    }

    fn take_answer(&self) -> Result<A> {
        lock(&self.answer).take().unwrap_or_else(|| Err(unanswered()))
    }
}

/// One plan of a group, and its answer.
pub(in crate::session) struct Member<P, A> {
    pub(in crate::session) plan: Option<P>,
    pub(in crate::session) answer: Option<Result<A>>,
}

struct QueueState<P, A> {
    queue: VecDeque<Arc<Job<P, A>>>,
    leader: Option<Leader>,
    /// Plans of the last group plus those queued at its end: an estimate of how many writers are
    /// active.
    writers: usize,
    /// How long the last group took.
    taken: Duration,
}

impl<P, A> QueueState<P, A> {
    /// Whether the turn is that of this thread.
    fn is_own(&self) -> bool {
        self.leader.as_ref().is_some_and(|leader| leader.thread == current().id())
    }

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

impl<P, A> std::fmt::Debug for Turns<P, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turns").field("queued", &self.queued()).finish()
    }
}

impl<P, A> Default for Turns<P, A> {
    fn default() -> Self {
        let state =
            QueueState { queue: VecDeque::new(), leader: None, writers: 0, taken: Duration::ZERO };
        Self { state: Mutex::new(state), arrived: Condvar::new(), latch: Latch::default() }
    }
}

/// The turn of the caller that leads.
///
/// It ends when dropped, also when the leader panics: that marks the jobs of its group as done, and
/// promotes the job at the front of the queue. The successor is named under the same lock that
/// marks the group as done. A gap between the two would let a caller that arrives in it become a
/// second leader.
pub(in crate::session) struct Leadership<P, A> {
    turns: Arc<Turns<P, A>>,
    jobs: Vec<Arc<Job<P, A>>>,
    began: Instant,
    /// The plans of the group, in the order of the queue. The first is this thread's own.
    pub(in crate::session) members: Vec<Member<P, A>>,
    /// Set just before the commit, so that an error can say whether the outcome is known.
    pub(in crate::session) is_committing: bool,
}

/// What becomes of a plan that was queued.
pub(in crate::session) enum Queued<P, A> {
    /// Another thread led its group and answered it.
    Answered(Result<A>),
    /// This thread leads: it runs the plans, commits them and settles the group.
    Leads(Leadership<P, A>),
}

impl<P, A> Drop for Leadership<P, A> {
    fn drop(&mut self) {
        let mut state = lock(&self.turns.state);
        state.writers = self.jobs.len() + state.queue.len();
        state.taken = self.began.elapsed();
        for job in &self.jobs {
            job.done.store(true, Ordering::SeqCst);
            job.wake.notify_one();
        }
        match state.queue.front().cloned() {
            Some(next) => {
                next.promoted.store(true, Ordering::SeqCst);
                state.leader = Some(Leader::of(&next));
                next.wake.notify_one();
            }
            None => state.leader = None,
        }
    }
}

impl<P, A> Turns<P, A> {
    /// Queues a plan for the next group, and waits until it was answered or this thread leads.
    ///
    /// # Errors
    /// `Latched`; `DeadlineExceeded` and `Cancelled` when no group had taken the plan by then;
    /// `Conflict` for a thread that holds the turn.
    pub(in crate::session) fn enter(
        self: &Arc<Self>,
        plan: P,
        patience: Patience,
    ) -> Result<Queued<P, A>> {
        self.latch.check()?;
        let own = Job::new(Some(plan), "a write", patience);
        Ok(self.wait(&own)?.map_or_else(|| Queued::Answered(own.take_answer()), Queued::Leads))
    }

    /// Waits for the turn, which this caller then holds alone, for `what`.
    pub(in crate::session) fn exclusive(
        self: &Arc<Self>,
        what: &'static str,
        patience: Patience,
    ) -> Result<Leadership<P, A>> {
        self.latch.check()?;
        let Some(leadership) = self.wait(&Job::new(None, what, patience))? else {
            return Err(Error::new(
                ErrorKind::OutcomeUnknown,
                "internal error: an exclusive turn was answered as a plan of a group",
            ));
        };
        leadership.check_latch()?;
        Ok(leadership)
    }

    /// Refuses the thread that holds the turn.
    ///
    /// # Errors
    /// `Conflict`.
    #[cfg_attr(test, allow(dead_code, reason = "the tests of the queue alone have no maintenance"))]
    pub(super) fn refuse_leader(&self) -> Result<()> {
        let state = self.take_back(lock(&self.state));
        if state.is_own() { Err(self.own_turn(state)) } else { Ok(()) }
    }

    pub(in crate::session) fn queued(&self) -> usize {
        lock(&self.state).queue.len()
    }

    /// Ends the turn of a transaction that is overdue, unless a call works on it.
    fn take_back<'s>(
        &'s self,
        state: MutexGuard<'s, QueueState<P, A>>,
    ) -> MutexGuard<'s, QueueState<P, A>> {
        let is_overdue = |leader: &&Leader| leader.left() == Some(Duration::ZERO);
        let held = state.leader.as_ref().filter(is_overdue).and_then(|leader| leader.held.as_ref());
        let Some(holder) = held.and_then(|(holder, _)| holder.upgrade()) else { return state };
        // The end of a turn takes the lock.
        drop(state);
        holder.take_back();
        lock(&self.state)
    }

    /// Who has the turn, and for how long. Others may have ended it meanwhile.
    fn leader_text(&self, state: MutexGuard<'_, QueueState<P, A>>) -> String {
        let Some(leader) = &state.leader else { return "another call".to_owned() };
        let held = leader.held.as_ref().and_then(|(holder, _)| holder.upgrade());
        let (what, age) = (leader.what, leader.began.elapsed());
        // A holder has locks of its own.
        drop(state);
        let what = held.map_or_else(|| what.to_owned(), |holder| holder.describe());
        format!("{what}, which began {:.1} s ago", age.as_secs_f64())
    }

    /// The error for a thread that would wait for itself.
    fn own_turn(&self, state: MutexGuard<'_, QueueState<P, A>>) -> Error {
        let holder = self.leader_text(state);
        Error::conflict(format!(
            "this thread has an open transaction: {holder}; write through the handle of the \
             transaction, or end it first"
        ))
        .with_args([holder])
    }

    /// The error for a caller whose deadline has passed.
    fn too_late(&self, state: MutexGuard<'_, QueueState<P, A>>) -> Error {
        let holder = self.leader_text(state);
        Error::new(
            ErrorKind::DeadlineExceeded,
            format!(
                "the session's deadline has passed while the call waited for its turn to write, \
                 which is held by {holder}; nothing was changed"
            ),
        )
        .with_args([holder])
    }

    /// Queues `job`, and waits until it was answered (`None`) or until its caller leads.
    fn wait(self: &Arc<Self>, job: &Arc<Job<P, A>>) -> Result<Option<Leadership<P, A>>> {
        let mut state = self.take_back(lock(&self.state));
        if state.is_own() {
            return Err(self.own_turn(state));
        }
        state.queue.push_back(job.clone());
        self.arrived.notify_one();
        if state.leader.is_some() {
            while !job.is_called() {
                let deadline = job.patience.deadline.as_ref();
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                let control = job.patience.control.as_ref();
                let is_late = left.is_some_and(|left| left.is_zero());
                if is_late || control.is_some_and(Control::is_cancelled) {
                    if state.withdraw(job) {
                        // A check of a control that is not cancelled polls its host, which may wait
                        // for a thread that waits for this lock.
                        return Err(match control.filter(|_| !is_late).map(Control::check) {
                            Some(Err(error)) => error,
                            _ => self.too_late(state),
                        });
                    }
                    // A group has already taken the plan: it may commit, so only its answer says
                    // what happened.
                    state = job.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
                state = self.take_back(state);
                if job.is_called() {
                    break;
                }
                let bound = state.leader.as_ref().and_then(Leader::left).map(|left| left.max(LOOK));
                let look = control.map(|_| LOOK);
                state = match [left, bound, look].into_iter().flatten().min() {
                    Some(most) => wait_at_most(&job.wake, &self.state, state, most),
                    None => job.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                };
            }
            if job.done.load(Ordering::SeqCst) {
                return Ok(None);
            }
        } else {
            state.leader = Some(Leader::of(job));
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
        let mut jobs = Vec::new();
        while let Some(front) = state.queue.front() {
            if !jobs.is_empty()
                && (job.exclusive || front.exclusive || jobs.len() >= limits::GROUP_OPERATIONS)
            {
                break;
            }
            jobs.extend(state.queue.pop_front());
        }
        drop(state);
        let member = |job: &Arc<Job<P, A>>| Member { plan: lock(&job.plan).take(), answer: None };
        let members = jobs.iter().map(member).collect();
        let began = Instant::now();
        let turns = self.clone();
        Ok(Some(Leadership { turns, jobs, began, members, is_committing: false }))
    }
}

impl<P, A> Leadership<P, A> {
    /// Hands the turn to a transaction, which may have it until `until`.
    pub(in crate::session) fn hold(&self, holder: Weak<dyn Holder>, until: Option<Instant>) {
        let mut state = lock(&self.turns.state);
        if let Some(leader) = &mut state.leader {
            leader.held = Some((holder, until));
        }
        // Who waits already has to look for the bound.
        for job in &state.queue {
            job.wake.notify_one();
        }
    }

    /// Makes this thread the one that would wait for itself.
    pub(in crate::session) fn used_here(&self) {
        let mut state = lock(&self.turns.state);
        if let Some(leader) = &mut state.leader {
            leader.thread = current().id();
        }
    }

    /// Refuses to write when a group has failed while this one waited: the published snapshot may
    /// then be older than the record file.
    pub(in crate::session) fn check_latch(&self) -> Result<()> {
        self.turns.latch.check()
    }

    /// Answers the plans of the group after its commit, and returns the answer of this thread's
    /// own. An error of `outcome` sets the latch.
    ///
    /// # Errors
    /// The refusal of the plan; `OutcomeUnknown` when the commit failed; the error of a step before
    /// the commit.
    pub(in crate::session) fn settle(mut self, outcome: Result<()>) -> Result<A> {
        if let Err(error) = &outcome {
            self.turns.latch.set(error);
        }
        let mut accepted = false;
        for (job, member) in self.jobs.iter().zip(std::mem::take(&mut self.members)) {
            let changed = matches!(member.answer, Some(Ok(_)));
            let answer = match (&outcome, member.answer) {
                (Ok(()), answer) => answer,
                // A refusal is final if no plan of the group was accepted before it: then the plan
                // saw only committed data. Otherwise it may have been refused because of changes
                // that are now lost, so its caller gets the error of the group.
                (Err(_), Some(Err(refusal))) if !accepted => Some(Err(refusal)),
                (Err(error), _) => Some(Err(failed(error, self.is_committing))),
            };
            accepted |= changed;
            *lock(&job.answer) = answer;
        }
        self.jobs.first().map_or_else(|| Err(unanswered()), |own| own.take_answer())
    }
}

fn unanswered() -> Error {
    Error::new(
        ErrorKind::OutcomeUnknown,
        "the thread that led the group of this write panicked; read the data to see whether it \
         took effect",
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
