//! The dashboard of a work item, a test plan or a template of either.

use std::collections::BTreeMap;

use crate::value::wire::record;

record! {
    /// A dashboard and the values of its variables.
    #[patch(DashboardPatch = "An update of a dashboard.")]
    #[patch(DashboardPatch(
        id,
        variables = "Values of its variables: merged or replaced like properties."
    ))]
    #[patch(DashboardPatch(url = "Ignored."))]
    pub struct Dashboard new() {
        /// Id of the dashboard.
        pub id: Option<String>,
        /// Values of its variables.
        pub variables: Option<BTreeMap<String, String>>,
        /// Relative URL, computed for work items and test plans when they are read; ignored in
        /// requests.
        pub url: Option<String>,
    }
}
