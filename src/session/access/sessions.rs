//! The handles through which services reach the store: a session, in which each call is its own
//! transaction, or one open transaction.

use std::sync::Arc;
use std::time::Instant;

pub(crate) use super::caller::Access;
use super::context::Context;
use super::holders::{Hold, Holder};
use super::identity::Identity;
use super::transaction::{OpenTransaction, OwnedTransaction, Transaction};
use crate::error::Result;
use crate::session::engine::Engine;
use crate::session::view::View;
use crate::session::write::write_path;
use crate::session::write::write_path::Plan;
use crate::value::{Control, guarded};

/// The user id under which the store itself writes.
pub(crate) const STORE_USER: &str = "stationdb";

/// Either handle. The services are implemented for this one type, so their code is compiled once,
/// in this crate. The macro `service!` implements each service trait for [`Session`],
/// [`Transaction`] and [`OwnedTransaction`].
pub(crate) enum Handle<'h> {
    Session(&'h Session),
    Transaction(&'h OpenTransaction),
}

/// What has a handle.
pub(crate) trait HasHandle {
    /// The handle for a call of this operation.
    fn handle(&self, operation: &'static str) -> Handle<'_>;
}

impl HasHandle for Session {
    fn handle(&self, _: &'static str) -> Handle<'_> {
        Handle::Session(self)
    }
}

impl HasHandle for Transaction<'_> {
    fn handle(&self, operation: &'static str) -> Handle<'_> {
        Handle::of_transaction(self.open(), operation)
    }
}

impl HasHandle for OwnedTransaction {
    fn handle(&self, operation: &'static str) -> Handle<'_> {
        Handle::of_transaction(self.open(), operation)
    }
}

impl<'h> Handle<'h> {
    fn of_transaction(open: &'h OpenTransaction, operation: &'static str) -> Self {
        open.calls(operation);
        Self::Transaction(open)
    }
}

impl Access for Handle<'_> {
    fn read_view(&self, f: &mut dyn FnMut(&View<'_>)) -> Result<()> {
        match self {
            Self::Session(session) => session.read_view(f),
            Self::Transaction(transaction) => transaction.read_view(f),
        }
    }

    fn write_plan(&self, plan: Plan) -> Result<()> {
        match self {
            Self::Session(session) => session.write_plan(plan),
            Self::Transaction(transaction) => transaction.write_plan(plan),
        }
    }

    fn context(&self) -> &Arc<Context> {
        match self {
            Self::Session(session) => session.context(),
            Self::Transaction(transaction) => transaction.context(),
        }
    }

    fn is_transaction(&self) -> bool {
        matches!(self, Self::Transaction(_))
    }
}

/// A handle with an identity. It implements every service trait; each call is its own transaction.
///
/// Cheap to clone, and safe to use from many threads at once.
#[derive(Clone, Debug)]
pub struct Session {
    context: Arc<Context>,
    hold: Hold,
}

impl Session {
    /// A session in which the store itself acts, under its own name.
    pub(crate) fn of_store(engine: &Arc<Engine>) -> Self {
        Self::new(engine.clone(), Identity::user(STORE_USER))
    }

    /// A session in which the store acts for a caller, for the time of one call.
    pub(crate) fn new(engine: Arc<Engine>, identity: Identity) -> Self {
        Self::held_by(engine, identity, Holder::Store)
    }

    /// A session of a caller, which counts as `holder`.
    pub(crate) fn held_by(engine: Arc<Engine>, identity: Identity, holder: Holder) -> Self {
        let context = Context {
            engine,
            identity,
            default_workspace: None,
            control: None,
            pinned: None,
            fails_whole: false,
        };
        Self::of_context(Arc::new(context), holder)
    }

    /// A session of the same caller with the same settings.
    pub(crate) fn of_context(context: Arc<Context>, holder: Holder) -> Self {
        let hold = Hold::new(context.engine.holders.clone(), holder);
        Self { context, hold }
    }

    /// The same session with another context.
    fn with_context(&self, context: Context) -> Self {
        Self { context: Arc::new(context), hold: self.hold.clone() }
    }

    /// The same session, whose batches fail as a whole: when an item is refused, nothing of the
    /// batch is changed, and the call returns the error of the first refused item, with its
    /// position and an inner error for each refused item.
    ///
    /// In a transaction of such a session, a refused write fails the transaction, also if the
    /// closure ignores its error.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// use stationdb::prelude::*;
    /// use stationdb::Identity;
    /// use stationdb::products::{CreateProductRequest, QueryProductsRequest};
    ///
    /// let session = store.session(Identity::user("ada")).all_or_nothing();
    /// let products = vec![CreateProductRequest::new("A"), CreateProductRequest::new("")];
    /// let error = session.create_products(products).unwrap_err();
    /// assert!(error.message().starts_with("item 2 of 2 "), "{error}");
    /// let products = session.query_products(QueryProductsRequest::new())?.products;
    /// assert_eq!(products, []);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    #[must_use]
    pub fn all_or_nothing(&self) -> Self {
        self.with_context(Context { fails_whole: true, ..(*self.context).clone() })
    }

    /// The same session with another default workspace for new resources.
    #[must_use]
    pub fn with_default_workspace(&self, workspace: impl Into<String>) -> Self {
        let context =
            Context { default_workspace: Some(workspace.into()), ..(*self.context).clone() };
        self.with_context(context)
    }

    /// The same session, whose calls fail with `DeadlineExceeded` after `deadline`, also while they
    /// wait for their turn to write. A call whose commit has begun returns the outcome of the
    /// commit.
    #[must_use]
    pub fn with_deadline(&self, deadline: Instant) -> Self {
        let control =
            Some(self.context.control.clone().unwrap_or_default().with_deadline(deadline));
        self.with_context(Context { control, ..(*self.context).clone() })
    }

    /// The same session, whose calls end at the deadline of `control`, and with `Cancelled` after
    /// [`Control::cancel`]. Reads check both while they work; a write checks them before it begins.
    /// A call that waits for its turn to write leaves the queue, unless a commit has taken it.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::prelude::*;
    /// use stationdb::{Control, ErrorKind, Identity, Store};
    /// use stationdb::products::QueryProductsRequest;
    ///
    /// let store = Store::open(dir.path())?;
    /// let control = Control::default();
    /// let session = store.session(Identity::user("ada")).with_control(&control);
    /// session.query_products(QueryProductsRequest::default())?;
    /// control.cancel(); // usually from another thread, while a call works
    /// let error = session.query_products(QueryProductsRequest::default()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_control(&self, control: &Control) -> Self {
        let mut control = control.without_progress();
        if let (None, Some(deadline)) = (control.deadline(), self.context.deadline()) {
            control = control.with_deadline(deadline);
        }
        self.with_context(Context { control: Some(control), ..(*self.context).clone() })
    }

    /// The same session over one snapshot: every read, of all services, sees the state of the store
    /// at this call, however long the session lives. The access policy is asked at each call.
    ///
    /// Writes are refused (`Unsupported`), and so is what writes on the way, as
    /// [`export_segments`](crate::tables::TableService::export_segments). The change feed
    /// follows the store. Full-text search works as long as the change log reaches back to the
    /// snapshot, then it fails with `Conflict`. Files and pages that the snapshot needs stay on the
    /// disk until the last clone of the session is dropped.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::prelude::*;
    /// use stationdb::products::{CreateProductRequest, QueryProductsRequest};
    /// use stationdb::{Identity, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let before = session.pinned();
    /// session.create_products(vec![CreateProductRequest::new("P-1")])?.require_all()?;
    /// assert_eq!(session.query_products(QueryProductsRequest::new())?.products.len(), 1);
    /// assert_eq!(before.query_products(QueryProductsRequest::new())?.products.len(), 0);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn pinned(&self) -> Self {
        self.pinned_as("a pinned session")
    }

    /// As [`Session::pinned`]; the status calls it `what`.
    pub(crate) fn pinned_as(&self, what: &str) -> Self {
        self.with_context(self.context.pinned(what))
    }

    /// The identity that this session acts for.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        self.context.identity()
    }

    /// Runs `f` in one atomic commit over all services. `f` sees its own writes at once; all others
    /// see them after this returns `Ok`.
    ///
    /// If `f` fails or panics, none of its writes are kept. The transaction holds the write turn,
    /// for as long as [`Settings::transaction_hold_ms`](crate::Settings::transaction_hold_ms)
    /// allows: see [`OwnedTransaction`], of which this is the form that ends with a closure.
    ///
    /// # Errors
    /// The error that `f` returned, and those of [`Session::begin`] and
    /// [`OwnedTransaction::commit`].
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
    /// use stationdb::{Identity, Store};
    ///
    /// let store = Store::open(dir.path())?;
    /// let session = store.session(Identity::user("ada"));
    /// let answer = session.transaction(|_tx| Ok(42))?;
    /// assert_eq!(answer, 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction<T>(&self, f: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let transaction = self.begin()?;
        // The closure is the host's code and runs in no guard, so its panic reaches the host
        // unchanged, and drops the transaction on its way.
        let value = f(&transaction.borrowed())?;
        transaction.commit().map(|()| value)
    }

    /// Begins a transaction that ends when its owner commits or drops it. It waits for the write
    /// turn, as a write does.
    ///
    /// [`OwnedTransaction`] has an example, and says what the transaction holds back.
    ///
    /// # Errors
    /// `Conflict` when this thread has a transaction already; `DeadlineExceeded` and `Cancelled`
    /// when the session ends before the turn comes; `Latched`; `Unsupported` for a session over one
    /// snapshot.
    pub fn begin(&self) -> Result<OwnedTransaction> {
        OwnedTransaction::begin(&self.context)
    }
}

impl Access for Session {
    fn read_view(&self, f: &mut dyn FnMut(&View<'_>)) -> Result<()> {
        self.context.check_deadline()?;
        let snapshot = self.context.snapshot();
        guarded("reading", || {
            f(&View::of(&snapshot, &self.context));
            Ok(())
        })
    }

    fn write_plan(&self, plan: Plan) -> Result<()> {
        write_path::submit(&self.context, plan)
    }

    fn context(&self) -> &Arc<Context> {
        &self.context
    }

    fn is_transaction(&self) -> bool {
        false
    }
}
