//! The state of one session besides the engine: identity, default workspace, deadline and cancel
//! flag.

use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};

use super::identity::{Identity, Visibility};
use super::options::Settings;
use super::readers::ReaderHold;
use crate::error::{Error, ErrorKind, Result};
use crate::records::Snapshot;
use crate::session::engine::Engine;
use crate::session::engine::turns::Patience;
use crate::value::budget::CallMemory;
use crate::value::{Action, Control, Service};

/// The engine, the caller, and the caller's defaults.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) identity: Identity,
    pub(crate) default_workspace: Option<String>,
    /// Deadline and cancel flag of every call; `None` if none was set.
    pub(crate) control: Option<Control>,
    /// Whether a batch with a refused item is refused as a whole.
    pub(crate) fails_whole: bool,
    /// The snapshot of every read; `None` for the newest of each call.
    pub(crate) pinned: Option<PinnedSnapshot>,
}

/// A snapshot, and the store's time when it was taken.
#[derive(Clone, Debug)]
pub(crate) struct PinnedSnapshot {
    snapshot: Arc<Snapshot>,
    now: DateTime<Utc>,
    _hold: Arc<ReaderHold>,
}

impl Context {
    /// Settings of the open store.
    #[must_use]
    pub(crate) fn settings(&self) -> &Settings {
        &self.engine.settings
    }

    /// The memory of a call that begins: at most that of a query, and within the store's budget.
    pub(crate) fn call_memory(&self) -> CallMemory {
        CallMemory::new(&self.engine.memory, self.engine.settings.query_memory_bytes)
    }

    /// The caller's identity.
    #[must_use]
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The user id of the caller.
    #[must_use]
    pub(crate) fn user(&self) -> &str {
        self.identity.user_id()
    }

    /// The workspace of a resource that is created without one.
    #[must_use]
    pub(crate) fn default_workspace(&self) -> &str {
        self.default_workspace.as_deref().unwrap_or(&self.engine.settings.default_workspace)
    }

    /// The workspaces in which the caller may do `action`.
    #[must_use]
    pub(crate) fn visibility(&self, service: Service, action: Action) -> Visibility {
        self.engine.settings.policy.visible(&self.identity, service, action)
    }

    /// Returns `PermissionDenied` if the caller may not do `action` in `workspace`.
    pub(crate) fn require(&self, service: Service, action: Action, workspace: &str) -> Result<()> {
        if self.visibility(service, action).allows(workspace) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied,
            format!(
                "{:?} may not {action:?} {service} in the workspace {workspace:?}",
                self.user()
            ),
        ))
    }

    /// Refuses with `PermissionDenied` when the caller may not do `action` in any workspace.
    pub(crate) fn require_anywhere(&self, service: Service, action: Action) -> Result<()> {
        if self.visibility(service, action) != Visibility::None {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("{:?} may not {action:?} {service} in any workspace", self.user()),
        ))
    }

    /// The same context with the newest snapshot for all reads; one that is pinned stays as it is.
    /// The status calls it `what` and its user.
    #[must_use]
    pub(crate) fn pinned(&self, what: &str) -> Self {
        let snapshot = self.snapshot();
        let who = format!("{what} of {:?}", self.user());
        let hold = Arc::new(self.engine.readers.hold(who, snapshot.sequence));
        let pinned = PinnedSnapshot { snapshot, now: self.now(), _hold: hold };
        Self { pinned: Some(pinned), ..self.clone() }
    }

    /// The snapshot of a read that begins now.
    #[must_use]
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let pinned = self.pinned.as_ref().map(|pinned| pinned.snapshot.clone());
        pinned.unwrap_or_else(|| self.engine.snapshot())
    }

    /// The store's time of a read that begins now.
    #[must_use]
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.pinned.as_ref().map_or_else(|| self.engine.now(), |pinned| pinned.now)
    }

    /// Refuses a change through a session over one snapshot.
    ///
    /// # Errors
    /// `Unsupported`.
    pub(crate) fn refuse_pinned(&self, what: &str) -> Result<()> {
        match self.pinned {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(format!(
                "{what} needs the newest state of the store, and this session reads one snapshot; \
                 call it on the session that was pinned"
            ))),
        }
    }

    /// `control`, limited by the deadline and the cancel flag of the session.
    #[must_use]
    pub(crate) fn control(&self, control: &Control) -> Control {
        self.control.as_ref().map_or_else(|| control.clone(), |outer| control.within(outer))
    }

    /// How long a call waits for its turn to write.
    pub(in crate::session) fn patience(&self) -> Patience {
        Patience { deadline: self.deadline(), control: self.control.clone() }
    }

    /// The deadline of every call.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.control.as_ref().and_then(Control::deadline)
    }

    /// Returns an error if the session's deadline has passed or its calls were cancelled.
    pub(crate) fn check_deadline(&self) -> Result<()> {
        self.control.as_ref().map_or(Ok(()), Control::check)
    }
}
