//! The manifest of a table's segment files.

use std::collections::BTreeMap;

use crate::model::tables::data::Column;
use crate::model::tables::deletion::OrdinalRange;
use crate::model::tables::table::TableId;
use crate::value::wire::record;

record! {
    /// What `export_segments` handed out: the table as it was, and each file. Every row of the
    /// table is in exactly one of the files, and the files contain no other rows.
    wire pub struct SegmentManifest {
        /// Id of the table.
        pub id: Option<TableId>,
        /// Name of the table.
        pub name: Option<String>,
        /// Properties of the table.
        pub properties: BTreeMap<String, String>,
        /// Columns in order of creation, with their properties.
        pub columns: Vec<Column>,
        /// Rows of all files together.
        pub row_count: u64,
        /// Rows that were ever appended and are deleted, so that no file contains them.
        pub deleted_row_count: u64,
        /// The append ordinals of these rows, in order; no two ranges touch.
        pub deleted_ordinals: Vec<OrdinalRange>,
        /// The files, by their smallest index value.
        pub files: Vec<SegmentFileInfo>,
    }

    /// One file of a [`SegmentManifest`].
    wire pub struct SegmentFileInfo {
        /// Name of the file, unique in its table.
        pub name: String,
        /// Number of rows.
        pub row_count: u64,
        /// Number of bytes.
        pub byte_count: u64,
        /// XXH3-128 of the bytes, as 32 hexadecimal digits.
        pub hash: String,
        /// Smallest index value: milliseconds since 1970 for a TIMESTAMP.
        pub min_index: i64,
        /// Largest index value.
        pub max_index: i64,
        /// Append ordinal of the first appended row.
        pub first_ordinal: u64,
    }
}
