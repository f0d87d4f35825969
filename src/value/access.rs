//! Services and actions: what the access policy is asked about.

use std::fmt;

/// A service of the store, as the access policy sees it.
///
/// A name rather than an enumeration, so that a new resource type needs no change here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service(pub &'static str);

impl Service {
    /// Work items and their templates.
    pub const WORK_ITEMS: Self = Self("workItems");
    /// Legacy test plans and their templates.
    pub const TEST_PLANS: Self = Self("testPlans");
    /// Assets and their utilization.
    pub const ASSETS: Self = Self("assets");
    /// Products.
    pub const PRODUCTS: Self = Self("products");
    /// Test results and their steps.
    pub const RESULTS: Self = Self("results");
    /// Specifications.
    pub const SPECIFICATIONS: Self = Self("specifications");
    /// Feeds and their packages.
    pub const FEEDS: Self = Self("feeds");
    /// Tables and their rows.
    pub const TABLES: Self = Self("tables");
    /// Files.
    pub const FILES: Self = Self("files");
    /// The registry of workspaces. The workspace of a registered workspace is itself.
    pub const WORKSPACES: Self = Self("workspaces");
    /// Subscribers of the change feed. The policy is asked whether the caller may create, update,
    /// delete or list its own subscribers. Subscribers have no workspace, so any answer other than
    /// [`Visibility::All`](crate::Visibility::All) refuses the call. A caller that may also read
    /// every service in all workspaces may use the subscribers of others.
    pub const CHANGES: Self = Self("changes");
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a caller wants to do with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Action {
    /// Get, query, search, download, read the change feed.
    Read,
    /// Create; also asked for the target of a move between workspaces.
    Create,
    /// Change what exists.
    Update,
    /// Remove; also asked for the source of a move between workspaces.
    Delete,
    /// Execute an action of a work item.
    Execute,
}
