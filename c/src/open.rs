//! An open store, and how it is closed while its sessions and rows are in use.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

use stationdb::{Control, Error, Store};

use crate::failure::{Failure, Outcome};
use crate::lock::lock;

/// How often a call that waits looks at its control.
const GLANCE: Duration = Duration::from_millis(20);

/// What a closing store ends: it drops what it has of the library.
pub trait Held: Send + Sync {
    fn end(&self);
}

/// Which calls may begin.
enum Phase {
    /// All.
    Open(Store),
    /// Those of threads that work already. A call waits for these threads, to have the store alone.
    Draining(Store),
    /// None now: a call has the store alone.
    Alone,
    /// None any more.
    Closed,
}

struct State {
    phase: Phase,
    /// The threads of calls that work now.
    working: Vec<ThreadId>,
    /// Work besides them: that of statements between calls, and ends of handles.
    leases: usize,
    /// Rows, transactions, contents, changes.
    held: Vec<Weak<dyn Held>>,
}

/// An open store, shared by its handles.
///
/// A closing store refuses new calls, waits for those that work, and ends what handles have of the
/// library. So it closes while callers still have handles of sessions and rows. A call that needs
/// the store alone does the same, but new calls wait for it.
pub struct Open {
    state: Mutex<State>,
    /// Told, unless all calls may begin, when calls and leases end and when the phase changes.
    changed: Condvar,
    pub path: String,
}

/// A call that works. The store is not closed before it ends.
pub struct Call {
    // Dropped before the turn, after which a closing store has no other owner.
    pub store: Store,
    _turn: Turn,
}

struct Turn {
    open: Arc<Open>,
    thread: ThreadId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = lock(&self.open.state);
        if let Some(at) = state.working.iter().position(|thread| *thread == self.thread) {
            state.working.swap_remove(at);
        }
        self.open.tell(&state);
    }
}

/// Work besides calls. The store is not closed before it ends.
pub struct Lease(Arc<Open>);

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.leases = state.leases.saturating_sub(1);
        self.0.tell(&state);
    }
}

impl Open {
    pub fn new(store: Store, path: String) -> Arc<Self> {
        let phase = Phase::Open(store);
        let state = State { phase, working: Vec::new(), leases: 0, held: Vec::new() };
        Arc::new(Self { state: Mutex::new(state), changed: Condvar::new(), path })
    }

    fn tell(&self, state: &State) {
        if !matches!(state.phase, Phase::Open(_)) {
            self.changed.notify_all();
        }
    }

    fn closed(&self) -> Failure {
        Failure::closed(format!(
            "the store {} is closed; open it again with sdb_open, and free this handle",
            self.path
        ))
    }

    /// Waits for a change, a moment at most if there is a control.
    ///
    /// # Errors
    /// Those of the control.
    fn wait<'s>(
        &self,
        state: MutexGuard<'s, State>,
        control: Option<&Control>,
    ) -> Outcome<MutexGuard<'s, State>> {
        let Some(control) = control else {
            return Ok(self.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
        };
        control.check()?;
        let waited = self.changed.wait_timeout(state, GLANCE);
        Ok(waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Begins a call. While another one has the store alone, it waits; `control` ends the wait.
    ///
    /// # Errors
    /// A closed store; those of the control.
    pub fn call(self: &Arc<Self>, control: Option<&Control>) -> Outcome<Call> {
        let thread = thread::current().id();
        let mut state = lock(&self.state);
        let store = loop {
            match &state.phase {
                Phase::Open(store) => break store.clone(),
                Phase::Draining(store) if state.working.contains(&thread) => break store.clone(),
                Phase::Draining(_) | Phase::Alone => state = self.wait(state, control)?,
                Phase::Closed => return Err(self.closed()),
            }
        };
        state.working.push(thread);
        Ok(Call { store, _turn: Turn { open: self.clone(), thread } })
    }

    /// Begins work besides calls: what a call leaves to others, or the end of what a handle has.
    /// It may begin in every phase: before a call has the store alone, it has ended all that
    /// handles have.
    pub fn lease(self: &Arc<Self>) -> Lease {
        lock(&self.state).leases += 1;
        Lease(self.clone())
    }

    /// Has `held` ended when the store closes.
    pub fn hold(&self, held: &Arc<impl Held + 'static>) {
        let mut state = lock(&self.state);
        if state.held.len() >= 64 && state.held.len().is_power_of_two() {
            state.held.retain(|held| held.strong_count() > 0);
        }
        let held: Arc<dyn Held> = held.clone();
        state.held.push(Arc::downgrade(&held));
    }

    /// Refuses what would wait for a call of its own thread.
    pub fn refuse_inside(&self, what: &str) -> Outcome<()> {
        if lock(&self.state).working.contains(&thread::current().id()) {
            let told = format!("{what} inside of a call of its own thread; let that end first");
            return Err(Error::conflict(told).into());
        }
        Ok(())
    }

    /// Takes the store, once nobody has it alone, and goes on to the phase `next`.
    fn take(&self, next: impl Fn(&Store) -> Phase, control: Option<&Control>) -> Outcome<Store> {
        let mut state = lock(&self.state);
        loop {
            match &state.phase {
                Phase::Open(store) => {
                    let store = store.clone();
                    state.phase = next(&store);
                    return Ok(store);
                }
                Phase::Draining(_) | Phase::Alone => state = self.wait(state, control)?,
                Phase::Closed => return Err(self.closed()),
            }
        }
    }

    fn go_on_to(&self, phase: Phase) {
        let before = mem::replace(&mut lock(&self.state).phase, phase);
        drop(before);
        self.changed.notify_all();
    }

    fn wait_while(
        &self,
        control: Option<&Control>,
        is_busy: impl Fn(&State) -> bool,
    ) -> Outcome<()> {
        let mut state = lock(&self.state);
        while is_busy(&state) {
            state = self.wait(state, control)?;
        }
        Ok(())
    }

    /// Waits for what works, and ends what handles have.
    fn drain(&self, control: Option<&Control>) -> Outcome<()> {
        // Before the wait, because calls that read rows end sooner then.
        self.end_held();
        self.wait_while(control, |state| !state.working.is_empty())?;
        // What those calls have begun.
        self.end_held();
        self.wait_while(control, |state| state.leases > 0)
    }

    fn end_held(&self) {
        let held: Vec<_> = lock(&self.state).held.iter().filter_map(Weak::upgrade).collect();
        held.iter().for_each(|held| held.end());
    }

    /// Does what needs the store alone. Rows and transactions end; sessions go on afterwards.
    ///
    /// # Errors
    /// A closed store; a call of the same thread that works, as one that reads a stream of the
    /// caller; those of `control` during the wait for other calls; those of the work.
    pub fn alone<T>(
        &self,
        what: &str,
        control: Option<&Control>,
        work: impl FnOnce(&mut Store) -> stationdb::Result<T>,
    ) -> Outcome<T> {
        self.refuse_inside(what)?;
        let mut store = self.take(|store| Phase::Draining(store.clone()), control)?;
        if let Err(failure) = self.drain(control) {
            self.go_on_to(Phase::Open(store));
            return Err(failure);
        }
        self.go_on_to(Phase::Alone);
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut store)));
        self.go_on_to(Phase::Open(store));
        done.unwrap_or_else(|panic| resume_unwind(panic)).map_err(Failure::from)
    }

    /// Closes the store. Waits for a call that has it alone.
    ///
    /// # Errors
    /// A closed store; a call of the same thread that works; those of [`Store::close`].
    pub fn close(&self) -> Outcome<()> {
        self.refuse_inside("a store cannot be closed")?;
        let store = self.take(|_| Phase::Closed, None)?;
        self.drain(None)?;
        store.close().map_err(Failure::from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Instant;

    use super::*;
    use crate::failure::{CLOSED, code_of};

    const WAIT: Duration = Duration::from_secs(60);

    fn opened(dir: &tempfile::TempDir) -> Arc<Open> {
        let store = Store::options().maintenance_thread(false).open(dir.path()).unwrap();
        Open::new(store, "s".to_owned())
    }

    fn code<T>(outcome: Outcome<T>) -> i32 {
        outcome.err().map_or(0, |failure| failure.code)
    }

    /// Has the store alone on another thread, until the sender is dropped.
    fn compacting(open: &Arc<Open>) -> (thread::JoinHandle<i32>, Sender<()>) {
        let (begun, begins) = channel();
        let (ends, end): (_, Receiver<()>) = channel();
        let open = open.clone();
        let work = move |_: &mut Store| {
            begun.send(()).unwrap();
            let _ = end.recv();
            Ok(())
        };
        let thread = thread::spawn(move || code(open.alone("w", None, work)));
        begins.recv_timeout(WAIT).unwrap();
        (thread, ends)
    }

    #[test]
    fn calls_wait_while_another_has_the_store_alone() {
        let dir = tempfile::tempdir().unwrap();
        let open = opened(&dir);
        let (alone, end) = compacting(&open);
        // A control ends the wait of a call, and that of another one for the store.
        let cancelled = Control::default();
        cancelled.cancel();
        let late = Control::default().with_deadline(Instant::now() + Duration::from_millis(50));
        assert_eq!(code(open.call(Some(&cancelled))), 9);
        assert_eq!(code(open.call(Some(&late))), 8);
        assert_eq!(code(open.alone("w", Some(&cancelled), |_| Ok(()))), 9);
        let (waiting, is_done) = (open.clone(), Arc::new(AtomicBool::new(false)));
        let told = is_done.clone();
        let call = thread::spawn(move || {
            let found = code(waiting.call(None));
            told.store(true, Ordering::SeqCst);
            found
        });
        thread::sleep(Duration::from_millis(100));
        assert!(!is_done.load(Ordering::SeqCst));
        drop(end);
        assert_eq!((call.join().unwrap(), alone.join().unwrap()), (0, 0));
        assert_eq!(code(open.close()), 0);
        assert_eq!(code(open.call(None)), CLOSED);
    }

    #[test]
    fn a_close_waits_for_whoever_has_the_store_alone() {
        let dir = tempfile::tempdir().unwrap();
        let open = opened(&dir);
        let (alone, end) = compacting(&open);
        let closing = open.clone();
        let close = thread::spawn(move || code(closing.close()));
        thread::sleep(Duration::from_millis(50));
        drop(end);
        assert_eq!((close.join().unwrap(), alone.join().unwrap()), (0, 0));
        assert_eq!(code(open.call(None)), CLOSED);
        // Nobody has the directory.
        drop(opened(&dir));
    }

    #[test]
    fn a_thread_that_works_goes_on_while_others_wait_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let open = opened(&dir);
        let outer = open.call(None).unwrap();
        let waiting = open.clone();
        let alone = thread::spawn(move || code(waiting.alone("w", None, |_| Ok(()))));
        while matches!(lock(&open.state).phase, Phase::Open(_)) {
            thread::yield_now();
        }
        // As a stream of the caller does, which the outer call reads.
        drop(open.call(None).unwrap());
        assert_eq!(
            code(open.alone("w", None, |_| Ok(()))),
            code_of(stationdb::ErrorKind::Conflict)
        );
        drop(outer);
        assert_eq!(alone.join().unwrap(), 0);
        // Whoever waits in vain leaves the store as it was.
        let outer = open.call(None).unwrap();
        let waiting = open.clone();
        let late = Control::default().with_deadline(Instant::now() + Duration::from_millis(20));
        let alone = thread::spawn(move || code(waiting.alone("w", Some(&late), |_| Ok(()))));
        assert_eq!(alone.join().unwrap(), 8);
        drop((open.call(None).unwrap(), outer));
        assert_eq!(code(open.close()), 0);
    }

    #[test]
    fn a_panic_leaves_the_store_open() {
        let dir = tempfile::tempdir().unwrap();
        let open = opened(&dir);
        let panics = || open.alone("w", None, |_| -> stationdb::Result<()> { panic!("planned") });
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!((code(open.call(None)), code(open.close())), (0, 0));
    }

    #[test]
    fn a_close_waits_for_leases() {
        let dir = tempfile::tempdir().unwrap();
        let open = opened(&dir);
        let lease = open.lease();
        let closing = open.clone();
        let close = thread::spawn(move || code(closing.close()));
        while !matches!(lock(&open.state).phase, Phase::Closed) {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
        assert!(!close.is_finished());
        drop(lease);
        assert_eq!(close.join().unwrap(), 0);
    }
}
