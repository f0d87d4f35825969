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
mod summary;
mod summary_file;
mod values;
mod writer;

#[cfg(test)]
mod tests;

pub use column::Wanted;
pub(super) use column::bits;
pub use extreme_rows::ExtremeRows;
pub use mend::{Patch, wrong_bits};
pub use meta::SegmentMeta;
pub use reader::{Filtered, Segment};
pub use summary::{Block, ColumnSummary};
pub use values::Part;
pub use writer::SegmentWriter;

/// Rows of one summary block.
pub const BLOCK_ROWS: usize = 1024;
/// Rows of one Parquet page.
pub const PAGE_ROWS: usize = 4096;

/// Suffix of the data file of a segment.
pub const DATA_SUFFIX: &str = ".parquet";
/// Suffix of its summary file.
pub const SUMMARY_SUFFIX: &str = ".summary";

/// Name of the Parquet file of a segment.
#[must_use]
pub fn data_name(id: u64) -> String {
    format!("{id:016x}{DATA_SUFFIX}")
}

/// Name of the summary file of a segment.
#[must_use]
pub fn summary_name(id: u64) -> String {
    format!("{id:016x}{SUMMARY_SUFFIX}")
}
