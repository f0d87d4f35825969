//! Who makes a call: a session, or one transaction of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stationdb::by_name::Services;
use stationdb::{Control, Error, Identity, OwnedTransaction, Session, Store};

use crate::control::{Watch, part_of, until};
use crate::failure::{Failure, Outcome};
use crate::lock::lock;
use crate::open::{Call, Held, Open};

/// How a session acts.
#[derive(Clone, Default)]
pub struct Spec {
    pub user: String,
    pub workspace: Option<String>,
    pub all_or_nothing: bool,
    pub timeout: Option<Duration>,
}

impl Spec {
    /// A session for one call. None is kept, so none is left when the store closes.
    fn session(&self, store: &Store) -> Session {
        let mut session = store.session(Identity::user(self.user.clone()));
        if let Some(workspace) = &self.workspace {
            session = session.with_default_workspace(workspace.clone());
        }
        if self.all_or_nothing {
            session = session.all_or_nothing();
        }
        session
    }
}

/// An open transaction. Once it has ended, its calls are refused.
pub struct TransactionSlot(Mutex<Option<Arc<OwnedTransaction>>>);

impl TransactionSlot {
    fn used(&self) -> Outcome<Arc<OwnedTransaction>> {
        lock(&self.0).clone().ok_or_else(ended)
    }

    fn take(&self) -> Outcome<Arc<OwnedTransaction>> {
        lock(&self.0).take().ok_or_else(ended)
    }
}

impl Held for TransactionSlot {
    fn end(&self) {
        let taken = lock(&self.0).take();
        drop(taken);
    }
}

fn ended() -> Failure {
    Failure::closed("the transaction has ended; begin another one with sdb_begin")
}

/// Who makes calls: what the handle of a session or of a transaction has.
pub struct Caller {
    pub open: Arc<Open>,
    spec: Arc<Spec>,
    /// The transaction that makes the calls, if one does.
    transaction: Option<Arc<TransactionSlot>>,
}

/// The services of one call.
enum Handle {
    Session(Session),
    Transaction(Arc<OwnedTransaction>),
}

/// A call that works, with the services that it may use.
pub struct Begun {
    // Dropped before the call, after which a closing store has no other owner.
    handle: Handle,
    /// For the services' methods that take one.
    pub control: Control,
    _call: Call,
}

impl Begun {
    pub fn services(&self) -> &dyn Services {
        match &self.handle {
            Handle::Session(session) => session,
            Handle::Transaction(transaction) => &**transaction,
        }
    }

    /// The session that makes the call.
    ///
    /// # Errors
    /// `Unsupported` for a transaction.
    pub fn session(&self) -> Outcome<&Session> {
        match &self.handle {
            Handle::Session(session) => Ok(session),
            Handle::Transaction(_) => Err(Error::unsupported(
                "this is not possible in a transaction; pass the handle of its session",
            )
            .into()),
        }
    }
}

impl Caller {
    pub fn new(open: &Arc<Open>, spec: Spec) -> Self {
        Self { open: open.clone(), spec: Arc::new(spec), transaction: None }
    }

    /// Begins a call of methods that take its control.
    pub fn begin(&self, watch: Option<&Watch>) -> Outcome<Begun> {
        let mut control = part_of(watch);
        if let Some(slot) = &self.transaction {
            let call = self.open.call(watch.map(|_| &control))?;
            // The time of its session is over for a transaction as a whole.
            return Ok(Begun { handle: Handle::Transaction(slot.used()?), control, _call: call });
        }
        if control.deadline().is_none() {
            control = until(control, self.spec.timeout);
        }
        let own = (watch.is_some() || self.spec.timeout.is_some()).then_some(&control);
        let call = self.open.call(own)?;
        let mut session = self.spec.session(&call.store);
        if let Some(control) = own {
            session = session.with_control(control);
        }
        Ok(Begun { handle: Handle::Session(session), control, _call: call })
    }

    /// Begins a call of methods that take no control: that of the session ends them.
    ///
    /// # Errors
    /// `InvalidArgument` for a control in a transaction, which has that of its begin.
    pub fn begin_by_session(&self, watch: Option<&Watch>) -> Outcome<Begun> {
        if watch.is_some() && self.transaction.is_some() {
            return Err(Error::invalid(
                "this call takes no control in a transaction: that of sdb_begin is for all its \
                 calls; pass 0",
            )
            .into());
        }
        self.begin(watch)
    }

    /// The caller of a transaction that this session has begun.
    pub fn within(&self, begun: OwnedTransaction) -> Self {
        let slot = Arc::new(TransactionSlot(Mutex::new(Some(Arc::new(begun)))));
        self.open.hold(&slot);
        Self { open: self.open.clone(), spec: self.spec.clone(), transaction: Some(slot) }
    }

    /// Makes the changes of a transaction durable, and ends it whatever becomes of that.
    ///
    /// # Errors
    /// A transaction that has ended; another call that works in it; those of the commit.
    pub fn commit(&self) -> Outcome<()> {
        let done = self.commit_alone();
        self.end();
        done
    }

    fn commit_alone(&self) -> Outcome<()> {
        let _call = self.open.call(None)?;
        let Some(slot) = &self.transaction else {
            return Err(Failure::internal("a transaction without its slot"));
        };
        match Arc::into_inner(slot.take()?) {
            Some(transaction) => transaction.commit().map_err(Failure::from),
            None => Err(Error::conflict(
                "another call of the transaction works, so it was rolled back; let its calls end \
                 before sdb_commit",
            )
            .into()),
        }
    }

    /// Takes a transaction back, if this is one that has not ended.
    pub fn end(&self) {
        if let Some(slot) = &self.transaction {
            // A store that closes meanwhile waits for this.
            let _lease = self.open.lease();
            slot.end();
        }
    }
}
