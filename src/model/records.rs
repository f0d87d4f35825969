//! Requests over records of any kind.

use crate::model::tables::aggregate::Aggregate;
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// A kind of record.
    wire pub enum RecordKind {
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
        /// Test results.
        TestResult = "TEST_RESULT",
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

wire_enum! {
    /// A stretch of the calendar, in UTC.
    wire pub enum TimeBucket {
        /// An hour.
        Hour = "HOUR",
        /// A day.
        Day = "DAY",
        /// A week; it begins on Monday.
        Week = "WEEK",
        /// A month.
        Month = "MONTH",
        /// Three months, from January, April, July or October on.
        Quarter = "QUARTER",
        /// A year.
        Year = "YEAR",
    }
}

record! {
    /// A field by whose values records are grouped.
    wire pub struct AggregateRecordsKey new(field: String) requires(field) {
        /// The field, as filters name it: `partNumber`, or an entry of a map: `properties.lot`.
        pub field: String,
        /// For a time: each stretch of the calendar is a group.
        pub bucket: Option<TimeBucket>,
        /// For a number or a time: the width of buckets, whose boundaries are its multiples;
        /// milliseconds for times. Each value is a group of its own when absent.
        pub width: Option<f64>,
    }

    /// The options of `aggregate_records`.
    wire pub struct AggregateRecordsRequest new(kind: RecordKind) requires(kind) {
        /// The kind of the records.
        pub kind: RecordKind,
        /// What to compute, with the names of fields as columns; at most 10,000. Only the numbers
        /// of records when absent or empty.
        pub aggregates: Option<Vec<Aggregate>>,
        /// Keys of the groups; one group of all records when absent or empty. At most 10,000.
        pub group_by: Option<Vec<AggregateRecordsKey>>,
        /// Filter over the fields of the kind, in the language of its query; everything when absent
        /// or empty.
        pub filter: Option<String>,
        /// The values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
    }

    /// Which records to delete.
    wire pub struct DeleteRecordsRequest new(kind: RecordKind) requires(kind) {
        /// The kind of the records.
        pub kind: RecordKind,
        /// Filter over the fields of the kind, in the language of its query; required.
        pub filter: Option<String>,
        /// The values of `@0`, `@1`, … in the filter.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Maximum number of records; all that match when absent.
        pub take: Option<i64>,
    }

    /// The result of a deletion of records.
    answer pub struct DeleteRecordsResponse {
        /// Records deleted.
        pub deleted_count: i64,
    }
}
