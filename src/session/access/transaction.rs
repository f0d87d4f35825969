//! Transactions over several calls: a value that its owner commits or drops, and the handle that a
//! closure gets of one.
//!
//! What must hold:
//! - The transaction has the write turn from its begin to its end, and ends it last: nothing of it
//!   is open in the record file any more.
//! - It ends once: by its commit, by its drop, or by whoever finds it overdue.
//! - Its calls are made one after the other.

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use super::caller::Access;
use super::context::Context;
use super::holders::{Hold, Holder as HolderKind};
use crate::error::{Error, ErrorKind, Result};
use crate::session::engine::turns::{Holder, Leadership, outcome_unknown};
use crate::session::engine::{Planned, Room};
use crate::session::feed::event::Event;
use crate::session::lock::lock;
use crate::session::view::View;
use crate::session::write::write_path;
use crate::session::write::write_path::Plan;
use crate::session::write::written::{Ready, Written};

/// An open transaction, which its handles and those who wait for its turn share.
pub(crate) struct OpenTransaction {
    context: Arc<Context>,
    began: Instant,
    /// When others may roll it back.
    until: Option<Instant>,
    /// The operation that was called last.
    operation: Mutex<&'static str>,
    /// Locked for the time of a call.
    stage: Mutex<Stage>,
}

enum Stage {
    Open(Box<TransactionState>),
    /// It was rolled back because it held the turn for too long.
    Overdue(Error),
    Ended,
}

struct TransactionState {
    written: Written,
    events: Vec<Event>,
    /// Bytes that its writes add.
    room: Room,
    changed: bool,
    /// Whether a write failed while it was applied.
    failed: bool,
    /// The first refused write of a transaction that fails as a whole.
    refused: Option<Error>,
    /// The last member, so that the turn ends last.
    turn: Leadership<Planned, ()>,
}

impl TransactionState {
    /// Prepares the commit `sequence`; `None` if nothing was changed. The turn goes on until that
    /// is done.
    fn finish(
        self,
        context: &Context,
        sequence: u64,
    ) -> (Result<Option<Ready>>, Leadership<Planned, ()>) {
        let Self { written, events, changed, failed, refused, turn, .. } = self;
        let engine = &context.engine;
        let prepare = || {
            if failed {
                return Err(Error::new(
                    ErrorKind::Io,
                    "a write of this transaction failed while it was applied, so the transaction \
                     was rolled back; reopen the store and try again",
                ));
            }
            if let Some(refusal) = refused {
                return Err(refusal);
            }
            if !changed {
                return Ok(None);
            }
            // The last point at which the transaction can still end without a change.
            context.check_deadline()?;
            let mut rows = Vec::new();
            if !events.is_empty() {
                rows.push(write_path::log_row(engine, context, sequence, events)?);
            }
            // Last, because it ends the commit.
            rows.push(engine.state_row(sequence));
            engine.check_place()?;
            written.finish(engine, rows).map(Some).inspect_err(|error| engine.set_latch(error))
        };
        (prepare(), turn)
    }
}

impl OpenTransaction {
    fn begin(context: &Arc<Context>) -> Result<Arc<Self>> {
        let turn = write_path::exclusive(context, "a transaction")?;
        let engine = &context.engine;
        engine.count_free_pages()?;
        let began = Instant::now();
        let most = Duration::from_millis(engine.settings.transaction_hold_ms);
        let state = TransactionState {
            written: Written::open(engine),
            events: Vec::new(),
            room: Room::default(),
            changed: false,
            failed: false,
            refused: None,
            turn,
        };
        let open = Arc::new(Self {
            context: context.clone(),
            began,
            until: began.checked_add(most),
            operation: Mutex::new("begin"),
            stage: Mutex::new(Stage::Ended),
        });
        // Weak, because the state has the turn: a circle would keep both.
        let weak = Arc::downgrade(&open);
        state.turn.hold(weak, open.until);
        *lock(&open.stage) = Stage::Open(Box::new(state));
        Ok(open)
    }

    /// Whether its changes are in the record file already.
    #[cfg(test)]
    fn is_in_file(&self) -> bool {
        match &*lock(&self.stage) {
            Stage::Open(state) => matches!(state.written, Written::File(_)),
            _ => false,
        }
    }

    /// Notes the operation that is called, for the errors of those who wait.
    pub(crate) fn calls(&self, operation: &'static str) {
        // An overdue transaction keeps the operation before, which had the time.
        if !self.is_overdue() {
            *lock(&self.operation) = operation;
        }
    }

    fn is_overdue(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }

    fn overdue(&self) -> Error {
        let (user, operation) = (self.context.user().to_owned(), *lock(&self.operation));
        let age = format!("{:.1}", self.began.elapsed().as_secs_f64());
        let most = self.context.settings().transaction_hold_ms;
        Error::new(
            ErrorKind::DeadlineExceeded,
            format!(
                "the transaction of {user:?} was rolled back: {operation} was its last call, and \
                 after {age} s it has held the write turn for longer than the {most} ms of \
                 Settings::transaction_hold_ms; begin it again, with less between its calls"
            ),
        )
        .with_args([user, operation.to_owned(), age])
    }

    /// Takes the state out of an overdue transaction, which is rolled back where that is dropped.
    fn take_overdue(&self, stage: &mut Stage) -> Option<Stage> {
        if !self.is_overdue() || !matches!(stage, Stage::Open(_)) {
            return None;
        }
        Some(std::mem::replace(stage, Stage::Overdue(self.overdue())))
    }

    /// Runs a part of a call on the state.
    fn with_state<T>(&self, f: impl FnOnce(&mut TransactionState) -> Result<T>) -> Result<T> {
        let mut stage = match self.stage.try_lock() {
            Ok(stage) => stage,
            Err(TryLockError::Poisoned(stage)) => stage.into_inner(),
            // Another thread may be about to take it back.
            Err(TryLockError::WouldBlock) if self.is_overdue() => return Err(self.overdue()),
            Err(TryLockError::WouldBlock) => return Err(nested()),
        };
        if let Some(overdue) = self.take_overdue(&mut stage) {
            drop(overdue);
        }
        match &mut *stage {
            Stage::Open(state) => {
                state.turn.used_here();
                f(state)
            }
            Stage::Overdue(error) => Err(error.clone()),
            Stage::Ended => Err(Error::conflict("the transaction has ended")),
        }
    }

    /// Makes the changes durable. It has ended, whatever this returns.
    fn commit(&self) -> Result<()> {
        self.with_state(|_| Ok(()))?;
        // From here on nobody takes it back.
        let stage = std::mem::replace(&mut *lock(&self.stage), Stage::Ended);
        let state = match stage {
            Stage::Open(state) => *state,
            Stage::Overdue(error) => return Err(error),
            Stage::Ended => return Err(Error::conflict("the transaction has ended")),
        };
        let engine = &self.context.engine;
        let begun = Instant::now();
        let sequence = engine.sequence() + 1;
        let (ready, turn) = state.finish(&self.context, sequence);
        let committed = ready.and_then(|ready| {
            let committed = ready.map_or(Ok(()), |ready| ready.commit(engine, sequence));
            committed.map_err(|error| outcome_unknown(&error, "the transaction"))
        });
        drop(turn);
        if committed.is_ok() {
            engine.commit_latency.add(begun.elapsed());
        }
        committed
    }

    /// Ends it without a change, if it has not ended.
    fn roll_back(&self) {
        let stage = std::mem::replace(&mut *lock(&self.stage), Stage::Ended);
        drop(stage);
    }
}

impl Holder for OpenTransaction {
    fn describe(&self) -> String {
        let operation = *lock(&self.operation);
        format!("the transaction of {:?}, whose last call was {operation}", self.context.user())
    }

    fn take_back(&self) {
        let taken = match self.stage.try_lock() {
            Ok(mut stage) => self.take_overdue(&mut stage),
            Err(TryLockError::Poisoned(stage)) => self.take_overdue(&mut stage.into_inner()),
            // A call works on it, or it is about to end.
            Err(TryLockError::WouldBlock) => None,
        };
        drop(taken);
    }
}

impl fmt::Debug for OpenTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("context", &self.context)
            .field("age", &self.began.elapsed())
            .finish_non_exhaustive()
    }
}

fn nested() -> Error {
    Error::conflict(
        "a call inside another call of the same transaction is refused; make the calls one after \
         the other",
    )
}

impl Access for OpenTransaction {
    fn read_view(&self, f: &mut dyn FnMut(&View<'_>)) -> Result<()> {
        self.context.check_deadline()?;
        self.with_state(|state| {
            let TransactionState { written, events, .. } = state;
            written.read("reading", |source| {
                f(&View::new(source, &self.context, events));
                Ok(())
            })
        })
    }

    fn write_plan(&self, plan: Plan) -> Result<()> {
        let engine = &self.context.engine;
        engine.check_process()?;
        self.context.check_deadline()?;
        self.with_state(|state| {
            let TransactionState { written, room, .. } = state;
            let planned = written.read("planning a write", |source| {
                write_path::plan_over(source, &self.context, room, plan)
            });
            let (changes, events) = planned.inspect_err(|error| {
                if self.context.fails_whole {
                    state.refused.get_or_insert_with(|| error.clone());
                }
            })?;
            if changes.is_empty() {
                return Ok(());
            }
            state.written.apply(engine, changes).inspect_err(|error| {
                state.failed = true;
                engine.set_latch(error);
            })?;
            state.events.extend(events);
            state.changed = true;
            Ok(())
        })
    }

    fn context(&self) -> &Arc<Context> {
        &self.context
    }

    fn is_transaction(&self) -> bool {
        true
    }
}

/// A handle inside [`Session::transaction`](crate::Session::transaction). It implements every
/// service trait, and reads its own writes.
#[derive(Debug)]
pub struct Transaction<'t> {
    open: &'t OpenTransaction,
}

/// A transaction as a value, from [`Session::begin`](crate::Session::begin): all its calls are one
/// atomic commit over all services. It implements every service trait, and reads its own writes;
/// all others see them after [`OwnedTransaction::commit`]. Dropping it takes them back.
///
/// It holds the write turn of the store, as the closure of
/// [`Session::transaction`](crate::Session::transaction) does:
///
/// - A write through another handle is refused as a `Conflict` on the thread that used the
///   transaction last, because it would wait for itself. This includes `begin` and maintenance.
/// - Writes of other threads wait, at most until the deadline of their session; the error then
///   names this transaction, its last call and its age. Reads do not wait.
/// - After [`Settings::transaction_hold_ms`](crate::Settings::transaction_hold_ms) it is rolled
///   back: its next call, or its commit, is refused with `DeadlineExceeded`, and whoever waits for
///   the turn gets it, also if the thread that began the transaction never comes back. Work on the
///   records that has begun is not interrupted; a call may be refused before its next part.
///
/// It may be moved to another thread. Its calls are made one after the other: a call during another
/// is a `Conflict`. It keeps the store open; [`Store::close`](crate::Store::close) names it.
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
/// let transaction = session.begin()?;
/// transaction.create_products(vec![CreateProductRequest::new("P-1")])?.require_all()?;
/// // Only the transaction sees it.
/// assert_eq!(transaction.query_products(QueryProductsRequest::new())?.products.len(), 1);
/// assert_eq!(session.query_products(QueryProductsRequest::new())?.products.len(), 0);
/// transaction.commit()?;
/// assert_eq!(session.query_products(QueryProductsRequest::new())?.products.len(), 1);
///
/// let taken_back = session.begin()?;
/// taken_back.create_products(vec![CreateProductRequest::new("P-2")])?.require_all()?;
/// drop(taken_back);
/// assert_eq!(session.query_products(QueryProductsRequest::new())?.products.len(), 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping a transaction takes back what it wrote"]
pub struct OwnedTransaction {
    open: Arc<OpenTransaction>,
    _hold: Hold,
}

impl fmt::Debug for OwnedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.open.fmt(f)
    }
}

impl Drop for OwnedTransaction {
    fn drop(&mut self) {
        self.open.roll_back();
    }
}

impl OwnedTransaction {
    pub(super) fn begin(context: &Arc<Context>) -> Result<Self> {
        let open = OpenTransaction::begin(context)?;
        let hold = Hold::new(context.engine.holders.clone(), HolderKind::Transaction);
        Ok(Self { open, _hold: hold })
    }

    /// The handle for a closure.
    pub(super) fn borrowed(&self) -> Transaction<'_> {
        Transaction { open: &self.open }
    }

    /// Makes the calling thread the one that used the transaction last, as a call would: for a
    /// transaction that was begun on another thread.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let store = stationdb::Store::open(directory.path())?;
    /// use stationdb::prelude::*;
    /// use stationdb::{ErrorKind, Identity};
    /// use stationdb::products::CreateProductRequest;
    ///
    /// let session = store.session(Identity::user("ada"));
    /// let transaction = std::thread::scope(|scope| scope.spawn(|| session.begin()).join()).unwrap()?;
    /// transaction.use_here()?;
    /// // Without it this write would wait for the transaction of its own thread.
    /// let products = vec![CreateProductRequest::new("P-1")];
    /// assert_eq!(session.create_products(products).unwrap_err().kind(), ErrorKind::Conflict);
    /// # Ok::<(), stationdb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `DeadlineExceeded` when it held the write turn for too long; `Conflict` during another call.
    pub fn use_here(&self) -> Result<()> {
        self.open.with_state(|_| Ok(()))
    }

    /// Makes all its writes durable in one commit, which others see when this returns `Ok`.
    ///
    /// # Errors
    /// `DeadlineExceeded` when it held the write turn for too long, or when the deadline of its
    /// session has passed; the first refusal of a transaction of
    /// [`Session::all_or_nothing`](crate::Session::all_or_nothing); `Latched` or `NoSpace`; then
    /// nothing was changed. `OutcomeUnknown` when the disk failed during the commit.
    pub fn commit(self) -> Result<()> {
        self.open.commit()
    }
}

/// For tests of this room, which have no services.
#[cfg(test)]
impl Access for Transaction<'_> {
    fn read_view(&self, f: &mut dyn FnMut(&View<'_>)) -> Result<()> {
        self.open.read_view(f)
    }

    fn write_plan(&self, plan: Plan) -> Result<()> {
        self.open.write_plan(plan)
    }

    fn context(&self) -> &Arc<Context> {
        self.open.context()
    }

    fn is_transaction(&self) -> bool {
        true
    }
}

impl Transaction<'_> {
    pub(crate) fn open(&self) -> &OpenTransaction {
        self.open
    }

    /// Whether its changes are in the record file already.
    #[cfg(test)]
    pub(crate) fn is_in_file(&self) -> bool {
        self.open.is_in_file()
    }
}

impl OwnedTransaction {
    pub(crate) fn open(&self) -> &OpenTransaction {
        &self.open
    }
}
