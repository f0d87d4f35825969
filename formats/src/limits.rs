//! The bounds of the readers.

pub(crate) use stationdb::tables::readers::{
    IMPORT_COLUMNS, IMPORT_METADATA_BYTES, IMPORT_OPEN_BYTES,
};

/// Bytes of one record of a CSV text.
pub(crate) const IMPORT_RECORD_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of one uncompressed page of a Parquet file.
pub(crate) const IMPORT_PAGE_BYTES: usize = 64 * 1024 * 1024;
/// Maximum ratio of uncompressed to compressed bytes of a page of a Parquet file.
pub(crate) const IMPORT_PAGE_RATIO: usize = 1000;
/// Pages of one column chunk of a Parquet file.
pub(crate) const IMPORT_PAGES: usize = 1_000_000;
/// Bytes of one page header of a Parquet file.
pub(crate) const IMPORT_PAGE_HEADER_BYTES: usize = 1024 * 1024;
/// Objects of a TDMS file.
pub(crate) const TDMS_OBJECTS: usize = 100_000;
/// Bytes of all properties of a TDMS file.
pub(crate) const TDMS_PROPERTY_BYTES: usize = 64 * 1024 * 1024;
/// Segments of a TDMS file that differ from the ones before them.
pub(crate) const TDMS_RUNS: usize = 4_000_000;
/// Places of channels in the segments of a TDMS file, of segments that differ.
pub(crate) const TDMS_PLACES: usize = 1_000_000;
/// Files of one directory that is imported, with those of the directories below it.
pub(crate) const DIRECTORY_FILES: usize = 10_000;
/// Levels of directories below one that is imported.
pub(crate) const DIRECTORY_DEPTH: usize = 16;

#[cfg(test)]
#[path = "../../tests/common/holds_at.rs"]
mod holds_at;
#[cfg(test)]
pub(crate) use holds_at::holds_at;
