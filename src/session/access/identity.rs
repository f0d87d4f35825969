//! The caller's identity, and what the access policy lets it see.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::value::{Action, Service};

/// The caller: the user id that goes into `createdBy`, `updatedBy` and `triggeredBy`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    user: String,
}

impl Identity {
    /// The identity of a user.
    pub fn user(user: impl Into<String>) -> Self {
        Self { user: user.into() }
    }

    /// The user id.
    #[must_use]
    pub fn user_id(&self) -> &str {
        &self.user
    }
}

/// The workspaces in which an identity may perform an action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// All workspaces.
    All,
    /// No workspace.
    None,
    /// These workspaces.
    Workspaces(Arc<BTreeSet<String>>),
}

impl Visibility {
    /// The given workspaces.
    pub fn workspaces<S: Into<String>>(ids: impl IntoIterator<Item = S>) -> Self {
        Self::Workspaces(Arc::new(ids.into_iter().map(Into::into).collect()))
    }

    /// Whether `workspace` is among them.
    #[must_use]
    pub fn allows(&self, workspace: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::Workspaces(ids) => ids.contains(workspace),
        }
    }
}

/// Decides who may do what in which workspace.
///
/// It is asked once for each call and kind of resource, and its answer is part of every plan and
/// every write.
///
/// No answer of the store depends on records that the caller may not read. So the plans
/// (`explain_…`) of a caller that sees only a part of the records contain no counts, and the scores
/// of its searches use fixed statistics.
///
/// A subscriber of the change feed belongs to the user that registered it, see
/// [`Service::CHANGES`]: the policy must know users by the same id for as long as their subscribers
/// exist.
///
/// ```
/// use stationdb::{AccessPolicy, Action, Identity, Service, Visibility};
///
/// #[derive(Debug)]
/// struct GuestsReadLabOne;
///
/// impl AccessPolicy for GuestsReadLabOne {
///     fn visible(&self, who: &Identity, _service: Service, action: Action) -> Visibility {
///         match (who.user_id(), action) {
///             ("guest", Action::Read) => Visibility::workspaces(["lab-1"]),
///             ("guest", _) => Visibility::None,
///             _ => Visibility::All,
///         }
///     }
/// }
/// # let _ = GuestsReadLabOne.visible(&Identity::user("guest"), Service::FILES, Action::Read);
/// ```
pub trait AccessPolicy: Send + Sync + fmt::Debug + 'static {
    /// The workspaces in which `who` may do `action` with the resources of `service`.
    fn visible(&self, who: &Identity, service: Service, action: Action) -> Visibility;
}

/// The default policy: everybody may do everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl AccessPolicy for AllowAll {
    fn visible(&self, _who: &Identity, _service: Service, _action: Action) -> Visibility {
        Visibility::All
    }
}
