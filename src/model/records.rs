//! Requests over records of any kind.

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// A kind of record.
    pub enum RecordKind {
        /// Products.
        Product = "PRODUCT" since 6,
        /// Specifications of products.
        Specification = "SPECIFICATION" since 6,
        /// Assets.
        Asset = "ASSET" since 6,
        /// Utilizations of assets.
        AssetUtilization = "ASSET_UTILIZATION" since 6,
        /// Work items.
        WorkItem = "WORK_ITEM" since 6,
        /// Templates of work items.
        WorkItemTemplate = "WORK_ITEM_TEMPLATE" since 6,
        /// Legacy test plans.
        TestPlan = "TEST_PLAN" since 6,
        /// Templates of legacy test plans.
        TestPlanTemplate = "TEST_PLAN_TEMPLATE" since 6,
        /// Metadata of measurement tables.
        Table = "TABLE" since 6,
        /// Metadata of files.
        File = "FILE" since 6,
        /// Package feeds.
        Feed = "FEED" since 6,
        /// Packages in feeds.
        Package = "PACKAGE" since 6,
        /// Registered workspaces.
        Workspace = "WORKSPACE" since 6,
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
