//! An open store, and how it is closed while its sessions and rows are in use.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, ThreadId};

use stationdb::{Error, Store};

use crate::failure::{Failure, Outcome};
use crate::lock::lock;

/// What a closing store ends: it drops what it has of the library.
pub trait Held: Send + Sync {
    fn end(&self);
}

#[derive(Default)]
struct State {
    store: Option<Store>,
    /// The threads of calls that work now.
    working: Vec<ThreadId>,
    /// Work that goes on between calls, as that of a statement.
    leases: usize,
    /// Sessions, rows, transactions, contents, changes.
    held: Vec<Weak<dyn Held>>,
}

/// An open store, shared by its handles.
///
/// A closing store refuses new calls, waits for those that work, and ends what handles have of the
/// library. So it closes while callers still have handles of sessions and rows.
pub struct Open {
    state: Mutex<State>,
    idle: Condvar,
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

/// Work that goes on between calls. The store is not closed before it ends.
#[cfg_attr(not(feature = "sql"), allow(dead_code, reason = "statements have them"))]
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
        let state = State { store: Some(store), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), idle: Condvar::new(), path })
    }

    fn tell(&self, state: &State) {
        if state.working.is_empty() && state.leases == 0 {
            self.idle.notify_all();
        }
    }

    fn closed(&self) -> Failure {
        Failure::closed(format!(
            "the store {} is closed; open it again with sdb_open, and free this handle",
            self.path
        ))
    }

    /// Begins a call.
    ///
    /// # Errors
    /// A closed store.
    pub fn call(self: &Arc<Self>) -> Outcome<Call> {
        let thread = thread::current().id();
        let mut state = lock(&self.state);
        let store = state.store.clone().ok_or_else(|| self.closed())?;
        state.working.push(thread);
        Ok(Call { store, _turn: Turn { open: self.clone(), thread } })
    }

    /// Begins work that goes on between calls.
    ///
    /// # Errors
    /// A closed store.
    #[cfg_attr(not(feature = "sql"), allow(dead_code, reason = "statements have them"))]
    pub fn lease(self: &Arc<Self>) -> Outcome<Lease> {
        let mut state = lock(&self.state);
        if state.store.is_none() {
            return Err(self.closed());
        }
        state.leases += 1;
        Ok(Lease(self.clone()))
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

    /// Takes the store from all handles, for good or for a while.
    ///
    /// # Errors
    /// A closed store; a call of the same thread that works, as one that reads a stream of the
    /// caller. Then the store is as before.
    pub fn take(&self, what: &str) -> Outcome<Store> {
        self.refuse_inside(what)?;
        let store = lock(&self.state).store.take().ok_or_else(|| self.closed())?;
        // Rows first, because their work may be a lease; a call that worked meanwhile may have
        // begun others.
        self.end_held();
        let state = lock(&self.state);
        let is_busy = |state: &mut State| !state.working.is_empty() || state.leases > 0;
        drop(self.idle.wait_while(state, is_busy).unwrap_or_else(PoisonError::into_inner));
        self.end_held();
        self.wait_for_leases();
        Ok(store)
    }

    /// Waits for work that ended with the last handles.
    fn wait_for_leases(&self) {
        let state = lock(&self.state);
        let is_busy = |state: &mut State| state.leases > 0;
        drop(self.idle.wait_while(state, is_busy).unwrap_or_else(PoisonError::into_inner));
    }

    fn end_held(&self) {
        let held: Vec<_> = lock(&self.state).held.iter().filter_map(Weak::upgrade).collect();
        held.iter().for_each(|held| held.end());
    }

    /// Puts back what [`Self::take`] took.
    pub fn put(&self, store: Store) {
        lock(&self.state).store = Some(store);
    }

    /// Closes the store. Does nothing if it is closed.
    ///
    /// # Errors
    /// A call of the same thread that works; those of [`Store::close`].
    pub fn close(&self) -> Outcome<()> {
        self.refuse_inside("a store cannot be closed")?;
        if lock(&self.state).store.is_none() {
            return Ok(());
        }
        self.take("a store cannot be closed")?.close().map_err(Failure::from)
    }
}
