//! Responses with rows: Arrow in memory, a string-encoded data frame on the wire.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::arrow::array::RecordBatch;
use crate::columnar::{TableStatistics, Touched, batch_rows};
use crate::model::{Answer, DataFrame, SegmentManifest};

/// Rows as Arrow batches. Serializes as a data frame.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rows {
    /// The rows.
    pub batches: Vec<RecordBatch>,
    /// Names of the columns, in order.
    pub columns: Vec<String>,
}

impl Rows {
    pub(in crate::services) fn new(batch: RecordBatch) -> Self {
        let columns =
            batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
        Self { batches: vec![batch], columns }
    }

    /// Number of rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The rows as text, every cell in its canonical form.
    #[must_use]
    pub fn to_data_frame(&self) -> DataFrame {
        DataFrame {
            columns: Some(self.columns.clone()),
            data: self.batches.iter().flat_map(batch_rows).collect(),
        }
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Serialize::serialize(&self.to_data_frame(), serializer)
    }
}

/// A page of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PagedTableRows {
    /// The rows.
    pub frame: Rows,
    /// Number of matching rows over all pages.
    pub total_row_count: u64,
    /// The token of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuation_token: Option<String>,
}

/// Rows of a decimated read.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TableRows {
    /// The rows.
    pub frame: Rows,
}

/// How rows are found, and what is read for that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TablePlan {
    /// How the order is produced: `in the order of the index`, `merged from 3 overlapping runs`,
    /// `first 501 by v`.
    pub order: String,
    /// What is read.
    #[serde(flatten)]
    pub touched: Touched,
}

impl Answer for PagedTableRows {}
impl Answer for TablePlan {}
impl Answer for TableRows {}
impl Answer for TableStatistics {}
impl Answer for SegmentManifest {}

impl fmt::Display for TablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = &self.touched;
        let indexed = match t.row_groups_indexed {
            0 => String::new(),
            groups => format!(" ({groups} by an index of values)"),
        };
        write!(
            f,
            "{}; {} of {} segments, {} of {} row groups{indexed}, {} of {} \
             pages, {} buffered rows; {} rows touched, {} passed",
            self.order,
            t.segments - t.segments_pruned,
            t.segments,
            t.row_groups - t.row_groups_pruned,
            t.row_groups,
            t.pages - t.pages_pruned,
            t.pages,
            t.buffered_rows,
            t.rows_touched,
            t.rows_passed
        )
    }
}
