//! Requests over records of any kind.

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// A kind of record.
    pub enum RecordKind {
        /// Products.
        Product = "PRODUCT",
        /// Specifications of products.
        Specification = "SPECIFICATION",
        /// Assets.
        Asset = "ASSET",
        /// Utilizations of assets.
        AssetUtilization = "ASSET_UTILIZATION",
        /// Work items.
        WorkItem = "WORK_ITEM",
        /// Templates of work items.
        WorkItemTemplate = "WORK_ITEM_TEMPLATE",
        /// Legacy test plans.
        TestPlan = "TEST_PLAN",
        /// Templates of legacy test plans.
        TestPlanTemplate = "TEST_PLAN_TEMPLATE",
        /// Metadata of measurement tables.
        Table = "TABLE",
        /// Metadata of files.
        File = "FILE",
        /// Package feeds.
        Feed = "FEED",
        /// Packages in feeds.
        Package = "PACKAGE",
        /// Registered workspaces.
        Workspace = "WORKSPACE",
    }
}

record! {
    /// The options of `scan_records`.
    wire pub struct ScanRecordsRequest new(kind: RecordKind) requires(kind) {
        /// The kind of the records.
        pub kind: RecordKind,
        /// Columns to return, in this order; repeated ones have no effect. All when absent or
        /// empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Filter over the fields of the kind, in the language of its query.
        pub filter: Option<String>,
        /// The values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Maximum number of records; all when absent.
        pub take: Option<i64>,
    }
}
