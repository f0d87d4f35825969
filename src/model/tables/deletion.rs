//! Requests to delete rows, and the list of what was deleted. They are native to this crate and
//! have no wire form.

use std::ops::Range;

use crate::model::tables::data::ColumnFilter;
use crate::value::wire::record;

record! {
    /// Which rows of a table to delete: those that satisfy all of its members.
    wire pub struct DeleteRowsRequest new() {
        /// Least index value of a deleted row; no bound when absent.
        pub index_from: Option<String>,
        /// Index value before which deleted rows are; no bound when absent.
        pub index_before: Option<String>,
        /// Filters that a deleted row must all match; at most 10,000.
        pub filters: Option<Vec<ColumnFilter>>,
        /// Filter in the filter language, whose names are columns; a deleted row must match it as
        /// well.
        pub filter: Option<String>,
        /// Values of `@0`, `@1`, … in `filter`.
        pub substitutions: Option<Vec<serde_json::Value>>,
    }

    /// The result of a deletion of rows.
    answer pub struct DeleteRowsResponse {
        /// Rows deleted.
        pub row_count: i64,
    }

    /// Which deleted rows to list.
    wire pub struct ListDeletedRowsRequest new() {
        /// The least append ordinal of interest; 0 when absent.
        pub from: Option<i64>,
        /// Number of ranges of the answer; 1,000 when absent, at most 10,000.
        pub take: Option<i64>,
        /// True for rows that no caller deleted alone, false for the others alone; both when
        /// absent.
        pub retention: Option<bool>,
    }

    /// Consecutive append ordinals.
    wire pub struct OrdinalRange {
        /// The first one. The first row that was ever appended to a table has the ordinal 0.
        pub first: i64,
        /// The last one.
        pub last: i64,
    }

    /// Consecutive append ordinals of rows that were deleted for the same cause.
    wire pub struct DeletedRange {
        /// The first one. The first row that was ever appended to a table has the ordinal 0.
        pub first: i64,
        /// The last one.
        pub last: i64,
        /// True when the rows went by the retention of the table, or were lost in a salvage; absent
        /// when a caller deleted them.
        pub retention: Option<bool>,
    }

    /// The append ordinals of deleted rows, in order.
    answer pub struct DeletedRows {
        /// The ranges; no two of them with the same cause touch.
        pub ranges: Vec<DeletedRange>,
        /// Rows of the table that were ever deleted, for any cause.
        pub total_row_count: i64,
        /// The `from` of the next part of the list; absent at its end.
        pub next: Option<i64>,
    }
}

impl OrdinalRange {
    /// The range of ordinals that a set has. Ordinals are less than the greatest row count, so
    /// each fits.
    pub(crate) fn of(range: &Range<u64>) -> Self {
        let number = |ordinal: u64| i64::try_from(ordinal).unwrap_or(i64::MAX);
        Self { first: number(range.start), last: number(range.end.saturating_sub(1)) }
    }
}

impl DeletedRange {
    /// The range of ordinals that a set has.
    pub(crate) fn of(range: &Range<u64>, is_retention: bool) -> Self {
        let OrdinalRange { first, last } = OrdinalRange::of(range);
        Self { first, last, retention: is_retention.then_some(true) }
    }
}
