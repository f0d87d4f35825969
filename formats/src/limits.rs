//! The bounds of the readers.

pub(crate) use stationdb::tables::readers::{
    IMPORT_COLUMNS, IMPORT_METADATA_BYTES, IMPORT_OPEN_BYTES,
};

/// Bytes of one record of a CSV text.
pub(crate) const IMPORT_RECORD_BYTES: usize = 16 * 1024 * 1024;
/// Threads that parse one CSV text.
pub(crate) const IMPORT_THREADS: usize = 4;
/// Bytes of a CSV text that are read ahead of the rows that are stored.
pub(crate) const IMPORT_AHEAD_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the header of an instrument, which may list the triggers of many segments.
pub(crate) const HEADER_BYTES: usize = 4 * 1024 * 1024;
/// Properties of a table that the header of an instrument makes.
pub(crate) const HEADER_PROPERTIES: usize = 200;
/// Characters of the key and of the value of one of them.
pub(crate) const HEADER_TEXT_CHARS: usize = 1000;
/// Lines at the end of a CSV text that are no rows.
pub(crate) const FOOTER_LINES: u64 = 1000;
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
/// Segments of one measurement file of LabVIEW.
pub(crate) const LVM_SEGMENTS: usize = 1_000_000;
/// Objects of a TDMS file.
pub(crate) const TDMS_OBJECTS: usize = 100_000;
/// Bytes of all properties of a TDMS file.
pub(crate) const TDMS_PROPERTY_BYTES: usize = 64 * 1024 * 1024;
/// Segments of a TDMS file that differ from the ones before them.
pub(crate) const TDMS_RUNS: usize = 4_000_000;
/// Places of channels in the segments of a TDMS file, of segments that differ.
pub(crate) const TDMS_PLACES: usize = 1_000_000;
/// Files of one directory that is imported, with those of the directories below it; also how many
/// directories there are below it.
pub(crate) const DIRECTORY_FILES: usize = 10_000;
/// Levels of directories below one that is imported.
pub(crate) const DIRECTORY_DEPTH: usize = 16;
/// Bytes from which on decompressed ones may not be too many times the compressed ones.
pub(crate) const UNPACKED_BYTES: u64 = 16 * 1024 * 1024;
/// How many times the compressed bytes of a file of test results become.
pub(crate) const UNPACKED_RATIO: u64 = 500;
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
