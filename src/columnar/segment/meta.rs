//! The manifest entry of a segment.

use std::ops::Range;

use crate::value::wire::record;

record! {
    /// A sealed segment. Only the segment writer makes it, after both files were written and
    /// synced.
    pub struct SegmentMeta {
        /// Number of the segment, never used again in the same store.
        pub id: u64,
        /// Rows.
        pub row_count: u64,
        /// The first of the ordinals that only this segment can have, see [`Self::ordinals`].
        pub first_ordinal: u64,
        /// Smallest index value.
        pub min_index: i64,
        /// Largest index value.
        pub max_index: i64,
        /// Length of the Parquet file.
        pub data_bytes: u64,
        /// XXH3-128 of the Parquet file, as 32 hexadecimal digits.
        pub data_hash: String,
        /// Length of the summary file.
        pub summary_bytes: u64,
        /// XXH3-128 of the summary file.
        pub summary_hash: String,
        /// CRC-32 of the summary file's footer, which contains the checksums of all other bytes.
        pub summary_crc: u32,
        /// Number of ordinals from the first one on that only this segment can have. There are
        /// more of them than rows when deleted rows were left out.
        pub ordinal_count: u64,
        /// The revision of the table's columns with which it was written.
        pub columns_revision: u64,
        /// Positions of the columns that have value indexes, ascending.
        pub indexed: Vec<u32>,
    }
}

impl SegmentMeta {
    /// The ordinals that only this segment can have.
    pub(crate) fn ordinals(&self) -> Range<u64> {
        self.first_ordinal..self.first_ordinal.saturating_add(self.ordinal_count)
    }
}
