//! The policies of the suites.

use stationdb::{AccessPolicy, Action, Identity, Service, Visibility};

/// A policy that is one function.
#[derive(Debug)]
pub(crate) struct Rule(pub(crate) fn(&Identity, Service, Action) -> Visibility);

impl AccessPolicy for Rule {
    fn visible(&self, who: &Identity, service: Service, action: Action) -> Visibility {
        (self.0)(who, service, action)
    }
}

/// Guests read this workspace and change nothing, all others do everything.
#[derive(Debug)]
pub(crate) struct GuestsRead(pub(crate) &'static str);

impl AccessPolicy for GuestsRead {
    fn visible(&self, who: &Identity, _: Service, action: Action) -> Visibility {
        match (who.user_id(), action) {
            ("guest", Action::Read) => Visibility::workspaces([self.0]),
            ("guest", _) => Visibility::None,
            _ => Visibility::All,
        }
    }
}
