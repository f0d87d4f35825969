//! Who calls, and what the access policy lets them see.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::value::{Action, Service};

/// Who calls: the user id that goes into `createdBy`, `updatedBy` and `triggeredBy`.
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

/// The workspaces in which an identity may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// Everywhere.
    All,
    /// Nowhere.
    None,
    /// In these workspaces.
    Workspaces(Arc<BTreeSet<String>>),
}

impl Visibility {
    /// In the given workspaces.
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
/// Asked once for each call and kind of resource; the answer is part of every plan and every write. No answer depends on
/// records that the caller may not read: for that, plans (`explain_…`) of a caller that sees a part of the records tell no
/// counts, and scores of its searches use fixed statistics. Subscribers of the change feed belong to the
/// user that registered them, see [`Service::CHANGES`]: the policy has to know users by the same id for
/// as long as their subscribers live.
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
    /// Where `who` may do `action` with the resources of `service`.
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
