//! Aggregates of rows: what to compute, and the groups of an answer.

use super::data::ColumnFilter;
use crate::value::wire::{record, wire_enum};

wire_enum! {
    /// What an [`Aggregate`] computes. Nulls take no part. NaN is counted, and takes part in
    /// nothing else but `FIRST` and `LAST`.
    wire pub enum AggregateFunction {
        /// Cells that are not null; rows without a column.
        Count = "COUNT",
        /// Least value.
        Min = "MIN",
        /// Greatest value.
        Max = "MAX",
        /// Sum: exact of integers, correctly rounded of floats.
        Sum = "SUM",
        /// Mean, a double.
        Mean = "MEAN",
        /// Standard deviation of the rows as a sample, a double.
        Deviation = "DEVIATION",
        /// Standard deviation of the rows as the whole population, a double.
        PopulationDeviation = "POPULATION_DEVIATION",
        /// Percentile by nearest rank: the least value that `percentile` percent of the values do
        /// not exceed.
        PercentileNearest = "PERCENTILE_NEAREST",
        /// Percentile between the two values beside rank `percentile / 100 * (n - 1)`, a double.
        PercentileLinear = "PERCENTILE_LINEAR",
        /// Numbers of values in `bins` ranges of equal width from `lower` to `upper`. A range
        /// contains its start, the last one its end, too.
        Histogram = "HISTOGRAM",
        /// Cell of the first row in the order of the index, also if it is null.
        First = "FIRST",
        /// Cell of the last row in the order of the index, also if it is null.
        Last = "LAST",
    }
}

record! {
    /// One value to compute for each group.
    wire pub struct Aggregate new(function: AggregateFunction) requires(function) {
        /// What to compute.
        pub function: AggregateFunction,
        /// Of which column; only `COUNT` may be without, and then counts rows.
        pub column: Option<String>,
        /// For percentiles: from 0 to 100.
        pub percentile: Option<f64>,
        /// For histograms: start of the first range, which contains it.
        pub lower: Option<f64>,
        /// For histograms: end of the last range, which contains it.
        pub upper: Option<f64>,
        /// For histograms: number of ranges, at most 10,000.
        pub bins: Option<i64>,
    }

    /// A column by whose values rows are grouped.
    wire pub struct AggregateKey new(column: String) requires(column) {
        /// The column.
        pub column: String,
        /// Width of the buckets, whose boundaries are its multiples, in the unit of the column; a
        /// whole number for integers. Each value is a group of its own when absent.
        pub width: Option<f64>,
    }

    /// The options of `aggregate_table_data`.
    wire pub struct AggregateTableDataRequest new() {
        /// What to compute; at most 10,000. Only the numbers of rows when absent or empty.
        pub aggregates: Option<Vec<Aggregate>>,
        /// Keys of the groups; one group of all rows when absent or empty. At most 10,000.
        pub group_by: Option<Vec<AggregateKey>>,
        /// Filters that a row must all match to take part; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a row must match it as well.
        /// Everything when absent or empty.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
    }

    /// A computed value.
    wire pub struct AggregateValue {
        /// The value, written like a cell; null if there is none.
        pub value: Option<String>,
        /// Of a histogram: the values below, in each range, and above.
        pub counts: Option<Vec<i64>>,
    }

    /// The rows or records with the same keys.
    wire pub struct AggregateGroup {
        /// The keys, written like cells: of a bucket its start.
        pub keys: Vec<Option<String>>,
        /// Number of rows, or of records.
        pub rows: i64,
        /// The values in the order of the aggregates.
        pub values: Vec<AggregateValue>,
    }

    /// The answer of `aggregate_table_data` and `aggregate_records`.
    answer pub struct TableAggregates {
        /// The groups in the order of their keys, null last.
        pub groups: Vec<AggregateGroup>,
        /// Of a table: rows that were answered from summaries of segments, without reading them.
        pub summarized_rows: Option<i64>,
    }
}
