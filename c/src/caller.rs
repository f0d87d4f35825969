//! Who makes a call: a session, or one transaction of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use stationdb::by_name::Services;
use stationdb::{Control, Error, Identity, OwnedTransaction, Session};

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

/// A session, made when it is used for the first time, or after a compaction.
pub struct SessionSlot {
    spec: Spec,
    session: Mutex<Option<Arc<Session>>>,
}

impl SessionSlot {
    fn session(&self, call: &Call) -> Arc<Session> {
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

/// An open transaction. Once it has ended, its calls are refused.
pub struct TransactionSlot(Mutex<Option<Arc<OwnedTransaction>>>);

impl TransactionSlot {
    fn used(&self) -> Outcome<Arc<OwnedTransaction>> {
        lock(&self.0).clone().ok_or_else(ended)
    }

    pub fn take(&self) -> Outcome<Arc<OwnedTransaction>> {
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

/// What calls of a session need, shared by its rows and contents.
pub struct Caller {
    pub open: Arc<Open>,
    slot: Arc<SessionSlot>,
    /// The transaction that makes the calls, if one does.
    pub transaction: Option<Arc<TransactionSlot>>,
}

/// The services of one call.
pub enum Handle {
    Session(Arc<Session>),
    /// With a control or a deadline of this call.
    Within(Session),
    Transaction(Arc<OwnedTransaction>),
}

impl Handle {
    pub fn services(&self) -> &dyn Services {
        match self {
            Self::Session(session) => &**session,
            Self::Within(session) => session,
            Self::Transaction(transaction) => &**transaction,
        }
    }
}

impl Caller {
    pub fn new(open: &Arc<Open>, spec: Spec) -> Self {
        let slot = Arc::new(SessionSlot { spec, session: Mutex::new(None) });
        open.hold(&slot);
        Self { open: open.clone(), slot, transaction: None }
    }

    /// Begins a call on the services. The control is for those of their methods that take one.
    pub fn begin(&self, watch: Option<&Watch>) -> Outcome<(Call, Handle, Control)> {
        let call = self.open.call()?;
        let timeout = self.slot.spec.timeout;
        if let Some(slot) = &self.transaction {
            return Ok((call, Handle::Transaction(slot.used()?), until(part_of(watch), timeout)));
        }
        let session = self.slot.session(&call);
        if watch.is_none() && timeout.is_none() {
            return Ok((call, Handle::Session(session), Control::default()));
        }
        let mut control = part_of(watch);
        if control.deadline().is_none() {
            control = until(control, timeout);
        }
        Ok((call, Handle::Within(session.with_control(&control)), control))
    }

    /// Begins a call on the session.
    ///
    /// # Errors
    /// `Unsupported` for a transaction.
    pub fn begin_session(&self, watch: Option<&Watch>) -> Outcome<(Call, Session, Control)> {
        match self.begin(watch)? {
            (call, Handle::Session(session), control) => Ok((call, (*session).clone(), control)),
            (call, Handle::Within(session), control) => Ok((call, session, control)),
            (_, Handle::Transaction(_), _) => Err(Error::unsupported(
                "this is not possible in a transaction; pass the handle of its session",
            )
            .into()),
        }
    }

    /// The caller of a transaction that this session has begun.
    pub fn within(&self, begun: OwnedTransaction) -> Self {
        let slot = Arc::new(TransactionSlot(Mutex::new(Some(Arc::new(begun)))));
        self.open.hold(&slot);
        Self { open: self.open.clone(), slot: self.slot.clone(), transaction: Some(slot) }
    }
}
