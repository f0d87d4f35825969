//! Measured rows: schema, cells, the append buffer, sorted Parquet segments with summaries, scans,
//! decimation, import and export.
//!
//! This module knows rows and files, but no records, services or filter text. What must hold: rows
//! are immutable, and each has an append ordinal that never changes and is never used again. A run
//! (a segment, or the buffer) contains the rows of a contiguous range of ordinals that are not
//! deleted, sorted by the index column; rows with equal index values are in append order. A run may
//! still contain deleted rows, which no read returns. Stored rows know the revision of the columns
//! with which they were written, and no read matches columns by name. No byte of a segment reaches
//! the Parquet parser before its checksum was verified.

mod after;
mod aggregate;
mod append_order;
mod buffer;
mod cells;
mod coerce;
mod count;
mod decimate;
mod explain;
mod export;
mod export_metadata;
mod fetch;
mod foreign;
mod frame;
mod guard;
pub(crate) mod import;
mod ipc;
mod ipc_check;
pub mod kernels;
mod keys;
mod layouts;
mod matching;
mod memory_run;
mod nan_statistics;
mod order;
mod parquet_format;
mod parquet_runs;
mod predicate;
mod record_batches;
mod row_leaf;
mod row_query;
mod row_test;
mod rows;
mod scan;
mod schema;
mod segment;
mod sort_key;
mod spill;
mod statistics;
mod thrift;
pub(crate) mod ticks;
mod unit;
mod verdict;
mod view;
mod waveform;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod ipc_tests;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;

pub(crate) use after::After;
pub(crate) use aggregate::{
    Aggregated, AggregatedParts, Aggregation, Bins, Bounds, Key, Term, Want, Width, aggregate,
};
pub(crate) use append_order::in_append_order;
#[cfg(test)]
pub(crate) use buffer::VERSION as BUFFER_VERSION;
pub(crate) use buffer::{
    batch_bytes, batch_revision, batch_row_count, check_batch, decode_batch, encode_batch,
};
pub(crate) use coerce::{CUT, FINER_TIMES, coerce_batch};
pub(crate) use count::count_rows;
pub(crate) use decimate::{Decimation, decimate};
pub use explain::Touched;
pub(crate) use explain::touched;
pub(crate) use export::{export_csv, export_ipc, export_parquet};
pub(crate) use export_metadata::{comment_lines, with_metadata};
pub(crate) use frame::{batch_rows, frame_to_batch};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use guard::{is_guarded, unguarded};
pub use import::ReadSeek;
pub(crate) use import::{CsvImport, ImportOptions, ParquetImport, Told, is_numbered};
pub(crate) use ipc::read_stream;
pub(crate) use keys::index_values;
pub(crate) use layouts::{ColumnLife, Layouts};
pub(crate) use matching::matching;
pub(crate) use memory_run::MemoryRun;
pub use parquet_format::check_parquet_metadata;
pub(crate) use predicate::Predicates;
pub use record_batches::RecordBatches;
pub(crate) use row_query::{RowQuery, SpillPlace};
pub use rows::RowStream;
pub(crate) use rows::read_page;
pub(crate) use scan::MergedScan;
pub(crate) use schema::TableSchema;
#[cfg(test)]
pub(crate) use segment::SUMMARY_VERSION;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use segment::fuzz as segment_fuzz;
pub(crate) use segment::{
    DATA_SUFFIX, Patch, SUMMARY_SUFFIX, Segment, SegmentMeta, SegmentWriter, data_name,
    summary_name, wrong_bits,
};
pub(crate) use sort_key::OrderColumn;
pub(crate) use statistics::statistics;
pub use statistics::{ColumnStatistics, TableStatistics};
pub(crate) use view::{Run, Stored, TableView};
pub(crate) use waveform::{WaveformReader, waveform_batches};
