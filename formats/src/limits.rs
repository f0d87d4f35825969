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
/// Bytes of a file that is read as a whole, such as a record of OpenHTF.
pub(crate) const WHOLE_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// Files of one directory that is imported, with those of the directories below it; also how many
/// directories there are below it.
pub(crate) const DIRECTORY_FILES: usize = 10_000;
/// Levels of directories below one that is imported.
pub(crate) const DIRECTORY_DEPTH: usize = 16;
/// Bytes of a CSV text of results.
pub(crate) const RESULTS_CSV_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of an XML document.
pub(crate) const XML_BYTES: usize = 256 * 1024 * 1024;
/// Elements of an XML document.
pub(crate) const XML_ELEMENTS: usize = 4_000_000;
/// Levels of elements of an XML document. A report of `TestStand` has six for a level of steps, of
/// which a result has 100.
pub(crate) const XML_DEPTH: usize = 700;
/// Attributes of one element of an XML document.
pub(crate) const XML_ATTRIBUTES: usize = 256;
/// Levels of one value that becomes JSON.
pub(crate) const VALUE_DEPTH: usize = 64;
/// Bytes of the path of a value that has no member.
pub(crate) const PATH_BYTES: usize = 1_024;
/// Groups around a step of a CSV text of results. A result has 100 levels of steps.
pub(crate) const RESULTS_CSV_GROUPS: usize = 99;
/// Values of a CSV text of results.
pub(crate) const RESULTS_CSV_VALUES: usize = 16_000_000;
/// Different warnings of an import of results; more are counted.
pub(crate) const RESULTS_WARNINGS: usize = 1_000;

#[cfg(test)]
#[path = "../../tests/common/holds_at.rs"]
mod holds_at;
#[cfg(test)]
pub(crate) use holds_at::holds_at;
