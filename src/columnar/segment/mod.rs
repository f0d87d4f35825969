//! Sealed rows: one Parquet file sorted by the index column, and a summary file beside it.
//!
//! What must hold: a segment is written once and never changed. Its manifest entry exists only
//! after both files were synced. Every byte that is read is verified first, by checksums that the
//! manifest entry protects.

mod checked;
mod column;
mod decode;
mod dictionary;
mod encoder;
mod encoding;
mod extreme_rows;
mod mend;
mod meta;
mod reader;
mod same_value;
mod summary;
mod summary_file;
mod value_index;
mod values;
mod writer;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
#[cfg(test)]
mod nan_tests;
#[cfg(test)]
mod tests;

pub(crate) use column::FilterOutput;
pub(super) use column::bits;
pub(crate) use extreme_rows::ExtremeRows;
pub(crate) use mend::{Patch, wrong_bits};
pub(crate) use meta::SegmentMeta;
pub(crate) use reader::{FilterResult, Segment};
pub(crate) use summary::{Block, ColumnSummary, Levels, Totals};
#[cfg(test)]
pub(crate) use summary_file::VERSION as SUMMARY_VERSION;
pub(crate) use value_index::{KeyRange, common, disjoint};
pub(crate) use values::Part;
pub(crate) use writer::SegmentWriter;

/// Rows of one summary block.
pub(crate) const BLOCK_ROWS: usize = 1024;
/// Rows of one Parquet page.
pub(crate) const PAGE_ROWS: usize = 4096;

/// Suffix of the data file of a segment.
pub(crate) const DATA_SUFFIX: &str = ".parquet";
/// Suffix of its summary file.
pub(crate) const SUMMARY_SUFFIX: &str = ".summary";

/// Name of the Parquet file of a segment.
#[must_use]
pub(crate) fn data_name(id: u64) -> String {
    format!("{id:016x}{DATA_SUFFIX}")
}

/// Name of the summary file of a segment.
#[must_use]
pub(crate) fn summary_name(id: u64) -> String {
    format!("{id:016x}{SUMMARY_SUFFIX}")
}
