//! Requests for steps and measurements as columns.

use crate::value::wire::record;

record! {
    /// The options of `scan_steps`.
    wire pub struct ScanStepsRequest new() {
        /// Columns to return, in this order; repeated ones have no effect. All when absent or
        /// empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Filter of the steps; all when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Filter over results: keeps the steps of the results that match.
        pub result_filter: Option<String>,
        /// Values of `@0`, `@1`, … in the result filter.
        pub result_substitutions: Option<Vec<serde_json::Value>>,
        /// Maximum number of steps; all when absent.
        pub take: Option<i64>,
    }

    /// The options of `scan_measurements`.
    wire pub struct ScanMeasurementsRequest new() {
        /// Columns to return, in this order; repeated ones have no effect. All when absent or
        /// empty. At most 10,000 entries.
        pub columns: Option<Vec<String>>,
        /// Name of the measurements; all when absent.
        pub name: Option<String>,
        /// Path of their steps; all when absent.
        pub path: Option<String>,
        /// Filter of the steps; all when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in the filter: texts, integers, numbers, Booleans or null.
        pub substitutions: Option<Vec<serde_json::Value>>,
        /// Filter over results: keeps the measurements of the results that match.
        pub result_filter: Option<String>,
        /// Values of `@0`, `@1`, … in the result filter.
        pub result_substitutions: Option<Vec<serde_json::Value>>,
        /// Maximum number of measurements; all when absent.
        pub take: Option<i64>,
    }
}
