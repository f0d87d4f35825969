//! Figures of test results: what they are told by, and the answers.
//!
//! A figure that is not defined is null. No figure is NaN or infinite.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What a status means for figures.
    wire pub enum FigureClass {
        /// A pass.
        Good = "GOOD",
        /// A failure.
        Bad = "BAD",
        /// Not counted.
        Ignore = "IGNORE",
    }
}

wire_enum! {
    /// Where the first result of a unit is looked for.
    wire pub enum RetestScope {
        /// Among all results that the caller may see: a unit whose first is not selected counts in
        /// no first pass.
        Store = "STORE",
        /// Among the selected results.
        Selection = "SELECTION",
    }
}

wire_enum! {
    /// What results are grouped by. An entry of the properties is written as `properties.name`.
    wire pub enum ResultGroup {
        /// The part number.
        PartNumber = "PART_NUMBER",
        /// The name of the test program.
        ProgramName = "PROGRAM_NAME",
        /// The operator.
        Operator = "OPERATOR",
        /// The system.
        SystemId = "SYSTEM_ID",
        /// The host.
        HostName = "HOST_NAME",
        /// The workspace.
        Workspace = "WORKSPACE",
        /// The family of the product with the part number.
        ProductFamily = "PRODUCT_FAMILY",
        /// The hour of the start.
        Hour = "HOUR",
        /// The day of the start.
        Day = "DAY",
        /// The week of the start; it begins on Monday.
        Week = "WEEK",
        /// The month of the start.
        Month = "MONTH",
        /// The quarter of the start: three months from January, April, July or October on.
        Quarter = "QUARTER",
        /// The year of the start.
        Year = "YEAR",
        /// The shift of the start; `shiftHours` tells when shifts begin.
        Shift = "SHIFT",
    }
}

wire_enum! {
    /// How many of the failing steps of a result are counted.
    wire pub enum ParetoBasis {
        /// The first one in step order.
        First = "FIRST",
        /// Each different key once a result.
        All = "ALL",
    }
}

wire_enum! {
    /// What failing steps are told by.
    wire pub enum ParetoBy {
        /// The path of the step.
        Path = "PATH",
        /// Its name.
        Name = "NAME",
        /// Its type.
        StepType = "STEP_TYPE",
        /// Its path, and its first measurement that failed.
        Measurement = "MEASUREMENT",
    }
}

wire_enum! {
    /// Which results of a unit take part in a series of values.
    wire pub enum SeriesPass {
        /// All, whatever their status.
        All = "ALL",
        /// The first one.
        First = "FIRST",
        /// The last one.
        Last = "LAST",
    }
}

wire_enum! {
    /// How the deviation within subgroups is estimated.
    wire pub enum WithinMethod {
        /// From the differences of consecutive values.
        MovingRange = "MOVING_RANGE",
        /// From the ranges of subgroups.
        Range = "RANGE",
        /// From the deviations from the means of subgroups.
        Pooled = "POOLED",
    }
}

wire_enum! {
    /// A control chart.
    wire pub enum ChartType {
        /// Individual values, and their moving ranges.
        Individuals = "IMR",
        /// Means and ranges of subgroups.
        Means = "XBAR",
    }
}

wire_enum! {
    /// A rule that a point of a control chart breaks.
    wire pub enum ChartRule {
        /// It lies outside of the limits.
        Beyond = "BEYOND",
        /// It is the ninth or a later one of consecutive points on one side of the center.
        Run = "RUN",
    }
}

record! {
    /// The yields of one group of results.
    wire pub struct YieldGroup {
        /// The keys: texts, and of a stretch of time its first instant.
        pub keys: Vec<Option<String>>,
        /// Share of the units whose first result is selected that have a good first result.
        pub first_pass_yield: Option<f64>,
        /// Share of the units with a selected counted result whose last one is good.
        pub final_yield: Option<f64>,
        /// Share of the good results among the counted ones.
        pub result_yield: Option<f64>,
        /// Share of the counted results that are more than one for each unit.
        pub retest_rate: Option<f64>,
        /// Good results.
        pub good: i64,
        /// Bad results.
        pub bad: i64,
        /// Results that are not counted, by status type; types without one are left out.
        pub not_counted: BTreeMap<String, i64>,
        /// Units with a selected counted result, whose last one is in this group.
        pub units: i64,
        /// Units whose first result is selected, and in this group.
        pub first_units: i64,
        /// Counted results that are not the first ones of their units.
        pub retests: i64,
    }

    /// The first-pass yield of a program of one part number.
    wire pub struct ProgramYield {
        /// Name of the program.
        pub program_name: String,
        /// Its first-pass yield.
        pub first_pass_yield: Option<f64>,
    }

    /// The yield of one part number over its programs.
    wire pub struct RolledYield {
        /// The part number.
        pub part_number: Option<String>,
        /// The programs.
        pub programs: Vec<ProgramYield>,
        /// Product of the first-pass yields; null if one of them is.
        pub rolled_throughput_yield: Option<f64>,
        /// Its root of as many programs.
        pub normalized_yield: Option<f64>,
    }

    /// The answer of `yields`.
    answer pub struct Yields {
        /// The groups in order of their keys, null last; without `groupBy` one of all results.
        pub groups: Vec<YieldGroup>,
        /// The part numbers of the selected results, in order, null last.
        pub rolled_throughput: Vec<RolledYield>,
    }

    /// The key of failures by measurement.
    wire pub struct MeasurementKey {
        /// Path of the failing step.
        pub path: String,
        /// Name of its first measurement that failed; null if none did.
        pub measurement: Option<String>,
    }

    /// The failures with one key.
    wire pub struct ParetoEntry {
        /// The key; null for results without a failing step.
        pub key: Option<ParetoKey>,
        /// How many.
        pub count: i64,
        /// Their share of the total.
        pub fraction: Option<f64>,
        /// The share of these and of all before.
        pub cumulative: Option<f64>,
    }

    /// The failures that `take` cuts off.
    wire pub struct ParetoOthers {
        /// How many keys they have.
        pub keys: i64,
        /// How many.
        pub count: i64,
        /// Their share of the total.
        pub fraction: Option<f64>,
    }

    /// The answer of `failure_pareto`.
    answer pub struct FailurePareto {
        /// The keys: the most frequent first, equally frequent ones in order, null last.
        pub entries: Vec<ParetoEntry>,
        /// What `take` cuts off; null if nothing.
        pub others: Option<ParetoOthers>,
        /// Sum of all counts.
        pub total: i64,
        /// Failing results.
        pub results: i64,
        /// Selected results that are good, and have no failures.
        pub good: i64,
        /// Selected results that are not counted, by status type; types without one are left out.
        pub not_counted: BTreeMap<String, i64>,
        /// Selected bad results that `firstPassOnly` leaves out, because they are not the first
        /// ones of their units.
        pub not_first: i64,
    }
}

/// What failures are counted by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(unreachable_pub)]
pub enum ParetoKey {
    /// A path, a name or a type of steps.
    Text(String),
    /// A step and its measurement.
    Measurement(MeasurementKey),
}

record! {
    /// Which deviations are zero.
    wire pub struct ZeroDeviation {
        /// That within subgroups.
        pub within: bool,
        /// That of all values.
        pub overall: bool,
    }

    /// The answer of `capability`.
    answer pub struct Capability {
        /// Values.
        pub n: i64,
        /// Their mean.
        pub mean: Option<f64>,
        /// The least value.
        pub minimum: Option<f64>,
        /// The greatest value.
        pub maximum: Option<f64>,
        /// Deviation of all values as a sample.
        pub overall_deviation: Option<f64>,
        /// Deviation within subgroups.
        pub within_deviation: Option<f64>,
        /// Distance of the limits over six deviations within subgroups.
        pub cp: Option<f64>,
        /// Distance of the mean from the lower limit over three deviations within subgroups.
        pub cpl: Option<f64>,
        /// Distance of the mean from the upper limit over three deviations within subgroups.
        pub cpu: Option<f64>,
        /// The least of `cpl` and `cpu`.
        pub cpk: Option<f64>,
        /// Distance of the limits over six deviations of all values.
        pub pp: Option<f64>,
        /// Distance of the mean from the lower limit over three deviations of all values.
        pub ppl: Option<f64>,
        /// Distance of the mean from the upper limit over three deviations of all values.
        pub ppu: Option<f64>,
        /// The least of `ppl` and `ppu`.
        pub ppk: Option<f64>,
        /// Which deviations are zero.
        pub zero_deviation: ZeroDeviation,
        /// The lower limit.
        pub low_limit: Option<f64>,
        /// The upper limit.
        pub high_limit: Option<f64>,
        /// Whether the limits are those of the last value, and others differ.
        pub limits_vary: bool,
        /// Whether the lower limit of the last value exceeds its upper one.
        pub limits_invalid: bool,
        /// Values of the last subgroup, if it is not full.
        pub left_over: i64,
        /// Measurements that are no finite numbers, which take no part.
        pub not_numbers: i64,
        /// Measurements of skipped steps, which take no part.
        pub skipped: i64,
    }

    /// One range of a histogram.
    wire pub struct HistogramRange {
        /// Its start, which it contains.
        pub lower: f64,
        /// Its end, which only the last one contains.
        pub upper: f64,
        /// Values in it.
        pub count: i64,
    }

    /// The answer of `histogram`.
    answer pub struct Histogram {
        /// Values.
        pub n: i64,
        /// The ranges in order; none without values.
        pub ranges: Vec<HistogramRange>,
        /// Values below the first range.
        pub below: i64,
        /// Values above the last range.
        pub above: i64,
        /// The least value.
        pub minimum: Option<f64>,
        /// The greatest value.
        pub maximum: Option<f64>,
        /// Measurements that are no finite numbers, which take no part.
        pub not_numbers: i64,
        /// Measurements of skipped steps, which take no part.
        pub skipped: i64,
    }

    /// The center and the limits of one part of a control chart.
    wire pub struct ControlLimits {
        /// The center.
        pub center: Option<f64>,
        /// The lower limit.
        pub lower: Option<f64>,
        /// The upper limit.
        pub upper: Option<f64>,
    }

    /// A point of a control chart: a value, or a subgroup.
    wire pub struct ChartPoint {
        /// Its number, from 0.
        pub index: i64,
        /// The value, or the mean of the subgroup.
        pub value: f64,
        /// The distance from the value before, or the range of the subgroup.
        pub range: Option<f64>,
        /// Start of the result of the value, or of the first one of the subgroup.
        pub started_at: DateTime<Utc>,
        /// Id of that result.
        pub result_id: String,
        /// Id of the step.
        pub step_id: String,
        /// The rules that the value or the range breaks.
        pub rules: Vec<ChartRule>,
        /// The rules that the range breaks.
        pub range_rules: Vec<ChartRule>,
    }

    /// The answer of `control_chart`.
    answer pub struct ControlChart {
        /// Values.
        pub n: i64,
        /// Center and limits of the values, or of the means of subgroups.
        pub limits: ControlLimits,
        /// Center and limits of the ranges.
        pub range_limits: ControlLimits,
        /// The points of the page.
        pub points: Vec<ChartPoint>,
        /// The token of the next page; absent on the last one.
        pub continuation_token: Option<String>,
        /// Values of the last subgroup, if it is not full.
        pub left_over: i64,
        /// Measurements that are no finite numbers, which take no part.
        pub not_numbers: i64,
        /// Measurements of skipped steps, which take no part.
        pub skipped: i64,
    }

    /// The answer of `gage`. Deviations are of the values; parts are serial numbers.
    answer pub struct GageStudy also("gageRr" = "gageRR") {
        /// Values.
        pub n: i64,
        /// Parts.
        pub part_count: i64,
        /// Operators.
        pub operator_count: i64,
        /// Values of each part by each operator.
        pub trials: i64,
        /// Deviation of the same part by the same operator.
        pub repeatability: Option<f64>,
        /// Deviation by the operators' different treatment of parts.
        pub interaction: Option<f64>,
        /// Deviation by the operators.
        pub operators: Option<f64>,
        /// Deviation by the parts.
        pub parts: Option<f64>,
        /// Deviation by the gage: all but the parts.
        #[serde(rename = "gageRR")]
        pub gage_rr: Option<f64>,
        /// Deviation of all.
        pub total: Option<f64>,
        /// Percentage of the gage in the total.
        pub percent_study: Option<f64>,
        /// Categories of parts that the gage tells apart; null when its deviation is 0.
        pub distinct_categories: Option<i64>,
        /// Values without a serial number or an operator, which take no part.
        pub unassigned: i64,
        /// Measurements that are no finite numbers, which take no part.
        pub not_numbers: i64,
        /// Measurements of skipped steps, which take no part.
        pub skipped: i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_names_of_the_figures() {
        let study =
            GageStudy { gage_rr: Some(0.5), distinct_categories: Some(3), ..GageStudy::default() };
        let json = serde_json::to_value(&study).unwrap();
        assert_eq!((&json["gageRR"], &json["distinctCategories"]), (&0.5.into(), &3.into()));
        let capability = Capability { overall_deviation: Some(0.25), ..Capability::default() };
        let json = serde_json::to_value(&capability).unwrap();
        assert_eq!(json["overallDeviation"], 0.25);
        assert_eq!(json["zeroDeviation"]["within"], false);
    }

    #[test]
    fn keys_of_failures_are_texts_or_have_members() {
        let key = MeasurementKey { path: "a".to_owned(), measurement: Some("x".to_owned()) };
        for (key, json) in [
            (Some(ParetoKey::Text("a".to_owned())), serde_json::json!("a")),
            (
                Some(ParetoKey::Measurement(key)),
                serde_json::json!({"path": "a", "measurement": "x"}),
            ),
        ] {
            let entry = ParetoEntry { key, count: 1, ..ParetoEntry::default() };
            let written = serde_json::to_value(&entry).unwrap();
            assert_eq!(written["key"], json);
            assert_eq!(serde_json::from_value::<ParetoEntry>(written).unwrap(), entry);
        }
        let none = serde_json::to_value(ParetoEntry::default()).unwrap();
        assert!(none.get("key").is_none_or(serde_json::Value::is_null));
    }
}
