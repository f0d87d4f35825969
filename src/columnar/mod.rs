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

mod aggregate;
mod cells;
mod column_slice;
mod decimate;
pub(crate) mod exchange;
mod guard;
pub mod kernels;
mod keys;
mod layouts;
mod order;
mod parquet_format;
mod predicate;
mod read;
pub mod readers;
mod schema;
mod segment;
pub mod ticks;
mod write;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod tests;

pub(crate) use aggregate::{
    AggregateAnswer, Aggregation, Bins, Bounds, ColumnAggregate, Edges, Key, PartAggregates, Term,
    Width, aggregate,
};
pub(crate) use cells::{parse_f64, write_f64};
pub(crate) use decimate::{Decimation, decimate};
pub(crate) use exchange::export::{export_csv, export_ipc, export_parquet};
pub(crate) use exchange::export_metadata::{comment_lines, with_metadata};
pub(crate) use exchange::frame::{batch_rows, frame_to_batch};
pub(crate) use exchange::ipc::read_stream;
pub(crate) use exchange::source::is_numbered;
pub use exchange::source::{ColumnNote, RowSource, SourceForm, SourceTable, TableSource};
pub(crate) use exchange::waveform::{WaveformReader, waveform_batches};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use guard::is_guarded;
#[cfg(any(test, feature = "fuzzing"))]
pub use guard::unguarded;
pub(crate) use keys::index_values;
pub(crate) use layouts::{ColumnLife, Layout, Layouts};
pub(crate) use order::after::After;
pub(crate) use order::sort_key::OrderColumn;
pub use parquet_format::format::check_parquet_metadata;
pub(crate) use predicate::predicates::Predicates;
pub(crate) use read::append_order::in_append_order;
pub(crate) use read::count::count_rows;
pub use read::explain::Touched;
pub(crate) use read::explain::touched;
pub(crate) use read::fetch::{Locator, fetch_rows};
pub(crate) use read::index_rows::{
    IndexPick, IndexRows, Narrow, PickedRows, index_rows, picked_rows,
};
pub(crate) use read::matching::matching;
pub use read::record_batches::RecordBatches;
pub(crate) use read::row_query::{RowQuery, SpillPlace};
pub use read::rows::RowStream;
pub(crate) use read::rows::read_page;
pub(crate) use read::scan::MergedScan;
pub(crate) use read::statistics::statistics;
pub use read::statistics::{ColumnStatistics, TableStatistics};
pub(crate) use read::view::{Run, RunStorage, TableView};
pub use schema::TableSchema;
pub(crate) use schema::check_indexed;
#[cfg(test)]
pub(crate) use segment::SUMMARY_VERSION;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use segment::fuzz as segment_fuzz;
pub(crate) use segment::{
    DATA_SUFFIX, Patch, SUMMARY_SUFFIX, Segment, SegmentMeta, SegmentWriter, data_name,
    summary_name, wrong_bits,
};
#[cfg(test)]
pub(crate) use write::buffer::VERSION as BUFFER_VERSION;
pub(crate) use write::buffer::{
    batch_bytes, batch_revision, batch_row_count, check_batch, decode_batch, encode_batch,
};
pub(crate) use write::coerce::{CUT, FINER_TIMES, coerce_batch, fit_batch};
pub(crate) use write::memory_run::MemoryRun;
