//! Requests for figures of test results.

use std::collections::BTreeMap;

use super::StatusType;
use super::figures::{
    ChartType, FigureClass, ParetoBasis, ParetoBy, RetestScope, SeriesPass, WithinMethod,
};
use crate::value::wire::record;

/// The results that a request selects, and what their statuses mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultSelection<'r> {
    pub filter: Option<&'r str>,
    pub substitutions: Option<&'r [serde_json::Value]>,
    pub product_filter: Option<&'r str>,
    pub product_substitutions: Option<&'r [serde_json::Value]>,
    pub retest_scope: RetestScope,
    pub good: Option<&'r [StatusType]>,
    pub bad: Option<&'r [StatusType]>,
    pub custom: Option<&'r BTreeMap<String, FigureClass>>,
}

/// The values that a request selects among those of its results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeriesSelection<'r> {
    pub results: ResultSelection<'r>,
    pub name: &'r str,
    pub path: Option<&'r str>,
    pub step_name: Option<&'r str>,
    pub units: Option<&'r str>,
    pub any_path: bool,
    pub step_filter: Option<&'r str>,
    pub step_substitutions: Option<&'r [serde_json::Value]>,
    pub pass: SeriesPass,
    pub low_limit: Option<f64>,
    pub high_limit: Option<f64>,
}

impl SeriesSelection<'_> {
    /// Whether the values may have several paths: the caller says so, or names one or a step.
    pub(crate) fn takes_any_path(&self) -> bool {
        self.any_path || self.path.is_some() || self.step_name.is_some()
    }
}

/// Declares requests over results, with the members that select them.
macro_rules! result_requests {
    ($($(#[$meta:meta])* pub struct $name:ident new($($arg:ident: $arg_ty:ty),*)
       $(requires($($required:ident),+))? { $($own:tt)* })*) => {
        record! {
            $($(#[$meta])* wire pub struct $name new($($arg: $arg_ty),*)
            $(requires($($required),+))? {
                $($own)*
                /// Filter of the results; all when absent or empty.
                pub filter: Option<String>,
                /// The values of `@0`, `@1`, … in the filter.
                pub substitutions: Option<Vec<serde_json::Value>>,
                /// Filter over products: keeps the results whose part number is that of a product
                /// that matches.
                pub product_filter: Option<String>,
                /// The values of `@0`, `@1`, … in the product filter.
                pub product_substitutions: Option<Vec<serde_json::Value>>,
                /// Where the first result of a unit is looked for; all visible results when absent.
                pub retest_scope: Option<RetestScope>,
                /// Status types that are good; `PASSED` when absent.
                pub good: Option<Vec<StatusType>>,
                /// Status types that are bad; `FAILED`, `ERRORED`, `TERMINATED` and `TIMED_OUT`
                /// when absent.
                pub bad: Option<Vec<StatusType>>,
                /// What the names of `CUSTOM` statuses mean.
                pub custom: Option<BTreeMap<String, FigureClass>>,
            })*
        }

        $(impl $name {
            /// The results that the request selects.
            pub(crate) fn selection(&self) -> ResultSelection<'_> {
                ResultSelection {
                    filter: self.filter.as_deref(),
                    substitutions: self.substitutions.as_deref(),
                    product_filter: self.product_filter.as_deref(),
                    product_substitutions: self.product_substitutions.as_deref(),
                    retest_scope: self.retest_scope.unwrap_or_default(),
                    good: self.good.as_deref(),
                    bad: self.bad.as_deref(),
                    custom: self.custom.as_ref(),
                }
            }
        })*
    };
}

/// Declares requests over the values of one measurement.
macro_rules! series_requests {
    ($($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* })*) => {
        result_requests! {
            $($(#[$meta])* pub struct $name new(name: String) requires(name) {
                /// Name of the measurement.
                pub name: String,
                /// Path of its step.
                pub path: Option<String>,
                /// Name of its step.
                pub step_name: Option<String>,
                /// Its units; empty for values without. Values of several units need it.
                pub units: Option<String>,
                /// Whether the values may have several paths.
                pub any_path: Option<bool>,
                /// Filter of the steps; all when absent or empty.
                pub step_filter: Option<String>,
                /// The values of `@0`, `@1`, … in the filter of steps.
                pub step_substitutions: Option<Vec<serde_json::Value>>,
                /// Which results of a unit take part; all when absent.
                pub pass: Option<SeriesPass>,
                /// Lower limit. When the request has no limit, both are those of the last value.
                pub low_limit: Option<f64>,
                /// Upper limit.
                pub high_limit: Option<f64>,
                $($own)*
            })*
        }

        $(impl $name {
            /// The values that the request selects.
            pub(crate) fn series(&self) -> SeriesSelection<'_> {
                SeriesSelection {
                    results: self.selection(),
                    name: &self.name,
                    path: self.path.as_deref(),
                    step_name: self.step_name.as_deref(),
                    units: self.units.as_deref(),
                    any_path: self.any_path.unwrap_or_default(),
                    step_filter: self.step_filter.as_deref(),
                    step_substitutions: self.step_substitutions.as_deref(),
                    pass: self.pass.unwrap_or_default(),
                    low_limit: self.low_limit,
                    high_limit: self.high_limit,
                }
            }
        })*
    };
}

result_requests! {
    /// The options of `yields`.
    pub struct YieldsRequest new() {
        /// What results are grouped by: texts of [`ResultGroup`](super::figures::ResultGroup), and
        /// `properties.name`. One group of all results when absent or empty.
        pub group_by: Option<Vec<String>>,
        /// The zone of hours, days, weeks, months, quarters, years and shifts: `UTC`, an offset
        /// such as `+02:00`, or a name such as `Europe/Berlin` (feature `zones`). UTC when absent.
        pub time_zone: Option<String>,
        /// Hours of the day, from 0 to 23, where shifts begin.
        pub shift_hours: Option<Vec<i64>>,
        /// Programs of the rolled throughput yield, in their order; all of a part number, in order
        /// of their names, when absent or empty.
        pub programs: Option<Vec<String>>,
    }

    /// The options of `failure_pareto`.
    pub struct FailureParetoRequest new() {
        /// Whether only the first results of units take part.
        pub first_pass_only: Option<bool>,
        /// How many failing steps of a result are counted; the first one when absent.
        pub basis: Option<ParetoBasis>,
        /// What failing steps are told by; their paths when absent.
        pub by: Option<ParetoBy>,
        /// Maximum number of keys; all when absent or negative.
        pub take: Option<i64>,
    }
}

series_requests! {
    /// The options of `capability`.
    pub struct CapabilityRequest {
        /// How the deviation within subgroups is estimated; from moving ranges when absent.
        pub within_method: Option<WithinMethod>,
        /// Values of a subgroup, from 2 to 25; `RANGE` and `POOLED` need it.
        pub subgroup_size: Option<i64>,
    }

    /// The options of `histogram`.
    pub struct HistogramRequest {
        /// Number of ranges, from 1 to 10,000; one more than the binary logarithm of the number of
        /// values, rounded up, when absent.
        pub bins: Option<i64>,
        /// Start of the first range; the least value when absent.
        pub lower: Option<f64>,
        /// End of the last range; the greatest value when absent.
        pub upper: Option<f64>,
    }

    /// The options of `control_chart`.
    pub struct ControlChartRequest {
        /// The chart; of individual values when absent.
        pub chart: Option<ChartType>,
        /// Values of a subgroup, from 2 to 25; `XBAR` needs it.
        pub subgroup_size: Option<i64>,
        /// Number of the first points that make the limits; all when absent.
        pub baseline_count: Option<i64>,
        /// Maximum number of points; 1000 when absent or negative.
        pub take: Option<i64>,
        /// The token of the previous page.
        pub continuation_token: Option<String>,
    }

    /// The options of `gage`.
    pub struct GageRequest {
    }
}
