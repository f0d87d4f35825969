//! The state of an open store, and of the handles on it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use stationdb::{Error, ErrorKind, Identity, OwnedTransaction, Session, Store};

use crate::callbacks;
use crate::errors::{closed, ended, raised};
use crate::lock::lock;
use crate::long::Signals;

/// How often a closing main thread looks for signals.
const GLANCE: Duration = Duration::from_millis(20);

/// What a closing store ends: it drops what it has of the library.
pub trait Held: Send + Sync {
    fn end(&self);
}

#[derive(Default)]
struct State {
    store: Option<Store>,
    /// Calls that work now.
    calls: usize,
    /// Sessions, streams of rows, transactions.
    held: Vec<Weak<dyn Held>>,
    transactions: Vec<Weak<TransactionSlot>>,
}

/// An open store, shared by its handles.
///
/// A closing store refuses new calls, waits for those that work, and ends what handles have of the
/// library. So `close` works while Python still has sessions and streams.
pub struct Open {
    state: Mutex<State>,
    idle: Condvar,
    /// The process that opened it.
    process: u32,
    pub path: String,
}

/// A call that works. The store is not closed before it ends.
pub struct Call {
    // Dropped before the turn, after which a closing store has no other owner.
    pub store: Store,
    _turn: Turn,
}

struct Turn(Arc<Open>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.calls = state.calls.saturating_sub(1);
        if state.calls == 0 {
            self.0.idle.notify_all();
        }
    }
}

impl Open {
    pub fn new(store: Store, path: String) -> Arc<Self> {
        let state = State { store: Some(store), ..State::default() };
        Arc::new(Self {
            state: Mutex::new(state),
            idle: Condvar::new(),
            process: std::process::id(),
            path,
        })
    }

    pub fn is_open(&self) -> bool {
        self.process == std::process::id() && lock(&self.state).store.is_some()
    }

    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(raised(
            py,
            &Error::new(
                ErrorKind::Locked,
                format!(
                    "the store {} was opened before this process was forked; open it in one \
                     process alone, start others with the method \"spawn\", and read from them with \
                     stationdb.look",
                    self.path
                ),
            ),
        ))
    }

    /// Begins a call.
    ///
    /// # Errors
    /// A closed store, and one that another process opened.
    pub fn call(self: &Arc<Self>, py: Python<'_>) -> PyResult<Call> {
        self.check_process(py)?;
        let mut state = lock(&self.state);
        let Some(store) = state.store.clone() else {
            drop(state);
            return Err(closed(
                py,
                &format!("the store {} is closed; open it again with stationdb.open", self.path),
            ));
        };
        state.calls += 1;
        Ok(Call { store, _turn: Turn(self.clone()) })
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

    /// Remembers a transaction, for those that would wait for it on its own thread.
    pub fn note_transaction(&self, slot: &Arc<TransactionSlot>) {
        let mut state = lock(&self.state);
        state.transactions.retain(|one| one.upgrade().is_some_and(|one| one.is_open()));
        state.transactions.push(Arc::downgrade(slot));
    }

    /// Whether another thread has an open transaction, and this one has none.
    pub fn has_transactions_elsewhere(&self) -> bool {
        let all = lock(&self.state).transactions.clone();
        let mut open =
            all.iter().filter_map(Weak::upgrade).filter(|slot| slot.is_open()).peekable();
        open.peek().is_some() && open.all(|slot| !slot.is_of_this_thread())
    }

    /// Whether this thread has an open transaction.
    pub fn has_transaction_here(&self) -> bool {
        let all = lock(&self.state).transactions.clone();
        all.iter().filter_map(Weak::upgrade).any(|slot| slot.is_open() && slot.is_of_this_thread())
    }

    /// Takes the store from all handles, for good or for a while. `None` if it is closed.
    ///
    /// # Errors
    /// A call from inside another one; the exception of a handler of signals, after which the store
    /// is as before.
    pub fn take(&self, py: Python<'_>, what: &str) -> PyResult<Option<Store>> {
        self.check_process(py)?;
        if callbacks::is_inside() {
            let told =
                format!("{what} inside of a call, which it would wait for; let it end first");
            return Err(raised(py, &Error::conflict(told)));
        }
        let Some(store) = lock(&self.state).store.take() else { return Ok(None) };
        // Streams first, because their work may be a call; a call that worked meanwhile may have
        // begun another one.
        loop {
            let is_idle = py.detach(|| {
                self.end_held();
                self.wait()
            });
            if is_idle {
                break;
            }
            if let Err(exception) = py.check_signals() {
                self.put(store);
                return Err(exception);
            }
        }
        py.detach(|| self.end_held());
        Ok(Some(store))
    }

    fn end_held(&self) {
        let held: Vec<_> = lock(&self.state).held.iter().filter_map(Weak::upgrade).collect();
        held.iter().for_each(|held| held.end());
    }

    /// Puts back what [`Self::take`] took.
    pub fn put(&self, store: Store) {
        lock(&self.state).store = Some(store);
    }

    /// Waits a while; returns whether no call works.
    fn wait(&self) -> bool {
        let state = lock(&self.state);
        let waited = self.idle.wait_timeout_while(state, GLANCE, |state| state.calls > 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.calls == 0
    }
}

/// How a session acts, and the session itself once it is used.
pub struct SessionSlot {
    pub spec: SessionSpec,
    session: Mutex<Option<Arc<Session>>>,
}

/// How a session acts.
#[derive(Clone)]
pub struct SessionSpec {
    pub user: String,
    pub workspace: Option<String>,
    pub all_or_nothing: bool,
    pub timeout: Option<Duration>,
}

impl SessionSlot {
    pub fn new(spec: SessionSpec) -> Self {
        Self { spec, session: Mutex::new(None) }
    }

    /// The session, made if it is used for the first time, or after a compaction.
    pub fn session(&self, call: &Call) -> Arc<Session> {
        let mut slot = lock(&self.session);
        let made = slot.get_or_insert_with(|| {
            let mut session = call.store.session(Identity::user(self.spec.user.clone()));
            if let Some(workspace) = &self.spec.workspace {
                session = session.with_default_workspace(workspace.clone());
            }
            if self.spec.all_or_nothing {
                session = session.all_or_nothing();
            }
            Arc::new(session)
        });
        made.clone()
    }
}

impl Held for SessionSlot {
    fn end(&self) {
        *lock(&self.session) = None;
    }
}

/// An open transaction, and the thread that used it last.
pub struct TransactionSlot {
    /// What its checks look for.
    pub signals: Signals,
    transaction: Mutex<Option<Arc<OwnedTransaction>>>,
    thread: Mutex<ThreadId>,
    is_committed: AtomicBool,
}

impl TransactionSlot {
    pub fn new(transaction: OwnedTransaction, signals: Signals) -> Self {
        Self {
            signals,
            transaction: Mutex::new(Some(Arc::new(transaction))),
            thread: Mutex::new(thread::current().id()),
            is_committed: AtomicBool::new(false),
        }
    }

    /// Remembers that its commit took effect.
    pub fn note_commit(&self) {
        self.is_committed.store(true, Ordering::Relaxed);
    }

    pub fn is_committed(&self) -> bool {
        self.is_committed.load(Ordering::Relaxed)
    }

    /// The transaction, for a call of this thread.
    ///
    /// # Errors
    /// A transaction that has ended.
    pub fn used_here(&self, py: Python<'_>) -> PyResult<Arc<OwnedTransaction>> {
        *lock(&self.thread) = thread::current().id();
        lock(&self.transaction).clone().ok_or_else(|| ended(py))
    }

    pub fn take(&self) -> Option<Arc<OwnedTransaction>> {
        lock(&self.transaction).take()
    }

    pub fn is_open(&self) -> bool {
        lock(&self.transaction).is_some()
    }

    fn is_of_this_thread(&self) -> bool {
        *lock(&self.thread) == thread::current().id()
    }
}

impl Held for TransactionSlot {
    fn end(&self) {
        drop(self.take());
    }
}
