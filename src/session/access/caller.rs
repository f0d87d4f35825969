//! What the services need of whoever calls them.

use std::sync::{Arc, Mutex};

use super::context::Context;
use crate::error::{Error, Result};
use crate::session::lock::lock;
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::session::write::write_path::Plan;

/// What a service needs from its caller's handle.
pub(crate) trait Access {
    /// Runs `f` over one consistent snapshot.
    fn read<T>(&self, f: impl FnOnce(&View<'_>) -> Result<T>) -> Result<T> {
        let (mut f, mut answer) = (Some(f), None);
        self.read_view(&mut |view| answer = f.take().map(|f| f(view)))?;
        answer.unwrap_or_else(|| Err(not_run()))
    }

    /// As [`Self::read`], compiled once for all callers.
    fn read_view(&self, f: &mut dyn FnMut(&View<'_>)) -> Result<()>;

    /// Runs `plan` and applies its draft. For a session, the changes are durable when this returns;
    /// for a transaction, they become part of it. If `plan` fails, nothing is applied.
    fn write<T: Send + 'static>(
        &self,
        plan: impl FnOnce(&mut Draft<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = Arc::new(Mutex::new(None));
        let given = answer.clone();
        let plan = move |draft: &mut Draft<'_>| plan(draft).map(|made| *lock(&given) = Some(made));
        self.write_plan(Box::new(plan))?;
        lock(&answer).take().ok_or_else(not_run)
    }

    /// As [`Self::write`], compiled once for all callers.
    fn write_plan(&self, plan: Plan) -> Result<()>;

    /// The caller's identity, settings and limits.
    fn context(&self) -> &Arc<Context>;

    /// Whether calls are part of one open transaction.
    fn is_transaction(&self) -> bool;

    /// Refuses, inside an explicit transaction, an operation that cannot be undone. Such operations
    /// change the store, so a session over one snapshot refuses them too.
    ///
    /// # Errors
    /// `Unsupported` inside a transaction, and for a session over one snapshot.
    fn refuse_in_transaction(&self, what: &str) -> Result<()> {
        self.context().refuse_pinned(what)?;
        if self.is_transaction() {
            return Err(Error::unsupported(format!(
                "{what} cannot be part of a transaction, because it cannot be undone; call it on \
                 the session"
            )));
        }
        Ok(())
    }
}

#[cold]
fn not_run() -> Error {
    Error::corrupt("internal error: a read or a plan did not run; report it")
}
