//! What one session knows besides the engine: who calls, the default workspace, the deadline.

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
    pub(crate) deadline: Option<Instant>,
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

    /// The caller's control, with the deadline of the session where it has none.
    #[must_use]
    pub fn control(&self, control: &Control) -> Control {
        match (control.deadline(), self.deadline) {
            (None, Some(deadline)) => control.clone().with_deadline(deadline),
            _ => control.clone(),
        }
    }

    /// Refuses when the deadline of the session has passed.
    pub fn check_deadline(&self) -> Result<()> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => {
                Err(Error::new(ErrorKind::DeadlineExceeded, "the session's deadline has passed"))
            }
            _ => Ok(()),
        }
    }
}
