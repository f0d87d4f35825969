//! The registry of workspaces as writes see it.
//!
//! While the registry is in force, nothing is created in, or moved into, a workspace that it does
//! not have. It is in force when it has a workspace, or when the options say so. The default
//! workspace of the store always counts as registered. Records that are in a workspace stay and can
//! be changed after the workspace was deleted.

use super::draft::Draft;
use crate::error::{Error, Result};
use crate::model::Resource as _;
use crate::model::workspaces::Workspace;
use crate::records::Space;
use crate::session::access::options::Settings;
use crate::session::view::View;
use crate::value::key;

/// The prefix of the keys of all registered workspaces.
const RECORDS: [u8; 1] = [Workspace::KIND.code];

/// The rule, over whatever state the registry is read from.
fn require(
    settings: &Settings,
    id: &str,
    has_any: impl FnOnce() -> Result<bool>,
    is_registered: impl FnOnce() -> Result<bool>,
) -> Result<()> {
    let is_in_force = settings.require_registered_workspaces || has_any()?;
    if !is_in_force || id == settings.default_workspace || is_registered()? {
        return Ok(());
    }
    let shown: String = id.chars().take(100).collect();
    Err(Error::invalid(format!(
        "there is no workspace {shown:?}; register it (create_workspace), or name another"
    ))
    .with_name("Workspaces.InvalidWorkspace", None)
    .with_args([shown])
    .at_member("workspace"))
}

impl View<'_> {
    /// Refuses a workspace that new records may not name.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn require_workspace(&self, id: &str) -> Result<()> {
        let has_any = || Ok(self.cursor(Space::Records, &RECORDS)?.next()?.is_some());
        let is_registered =
            || Ok(!self.index_keys::<Workspace>(Workspace::BY_ID, &key::of_str(id))?.is_empty());
        require(self.context().settings(), id, has_any, is_registered)
    }
}

impl Draft<'_> {
    /// [`View::require_workspace`]. A plan that changes the registry puts no other records, so what
    /// this draft has changed does not count.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(in crate::session) fn require_workspace(&self, id: &str) -> Result<()> {
        if self.required_workspaces.borrow().contains(id) {
            return Ok(());
        }
        self.view().require_workspace(id)?;
        self.required_workspaces.borrow_mut().insert(id.to_owned());
        Ok(())
    }
}
