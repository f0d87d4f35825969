//! The dashboard that a work item, a test plan or a template of either points to.

use std::collections::BTreeMap;

use crate::value::Patch;
use crate::value::wire::record;

record! {
    /// A dashboard and the values of its variables.
    pub struct Dashboard new() {
        /// Id of the dashboard.
        pub id: Option<String>,
        /// Values of its variables.
        pub variables: Option<BTreeMap<String, String>>,
        /// Relative address, computed for work items and test plans when they are read; ignored on input.
        pub url: Option<String>,
    }

    /// What an update changes in a dashboard.
    patch pub struct DashboardPatch new() {
        /// Id of the dashboard.
        pub id: Patch<String>,
        /// Values of its variables: merged or replaced, as properties are.
        pub variables: Patch<BTreeMap<String, String>>,
        /// Ignored.
        pub url: Patch<String>,
    }
}

impl From<Dashboard> for DashboardPatch {
    fn from(dashboard: Dashboard) -> Self {
        Self {
            id: dashboard.id.map_or(Patch::Absent, Patch::Value),
            variables: dashboard.variables.map_or(Patch::Absent, Patch::Value),
            url: dashboard.url.map_or(Patch::Absent, Patch::Value),
        }
    }
}
