//! What one session knows besides the engine: who calls, the default workspace, the deadline and cancel flag.

use std::sync::Arc;
use std::time::Instant;

use super::engine::Engine;
use super::identity::{Identity, Visibility};
use super::options::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Action, Control, Service};

/// Who calls, in which store, with which defaults.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) engine: Arc<Engine>,
    pub(crate) identity: Identity,
    pub(crate) default_workspace: Option<String>,
    /// Deadline and cancel flag of every call; `None` when nobody set any.
    pub(crate) control: Option<Control>,
}

impl Context {
    /// Settings of the open store.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.engine.settings
    }

    /// Who calls.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The user id of the caller.
    #[must_use]
    pub fn user(&self) -> &str {
        self.identity.user_id()
    }

    /// The workspace of what is created without one.
    #[must_use]
    pub fn default_workspace(&self) -> &str {
        self.default_workspace.as_deref().unwrap_or(&self.engine.settings.default_workspace)
    }

    /// Where the caller may do `action`.
    #[must_use]
    pub fn visibility(&self, service: Service, action: Action) -> Visibility {
        self.engine.settings.policy.visible(&self.identity, service, action)
    }

    /// Refuses with `PermissionDenied` when the caller may not do `action` in `workspace`.
    pub fn require(&self, service: Service, action: Action, workspace: &str) -> Result<()> {
        if self.visibility(service, action).allows(workspace) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::PermissionDenied,
            format!("{:?} may not {action:?} {service} in the workspace {workspace:?}", self.user()),
        ))
    }

    /// The caller's control, which also ends when that of the session does.
    #[must_use]
    pub fn control(&self, control: &Control) -> Control {
        self.control.as_ref().map_or_else(|| control.clone(), |outer| control.within(outer))
    }

    /// The deadline of every call.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.control.as_ref().and_then(Control::deadline)
    }

    /// Refuses when the deadline of the session has passed or its calls were cancelled.
    pub fn check_deadline(&self) -> Result<()> {
        self.control.as_ref().map_or(Ok(()), Control::check)
    }
}
