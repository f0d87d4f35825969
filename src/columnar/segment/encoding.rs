//! How each column of a segment is encoded: chosen from its first rows, by what an encoding saves against what decoding
//! costs.
//!
//! Full-precision floats stay plain and uncompressed: general codecs save a tenth on them and cost more than the read.

use std::collections::HashSet;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::PAGE_ROWS;
use crate::columnar::schema::TableSchema;
use crate::model::table_data::DataType;

const SAMPLE_ROWS: usize = 8192;
/// Cells of one row group: what one unit of reading may hold in memory.
const GROUP_CELLS: usize = 8 * 1024 * 1024;
const GROUP_ROWS_MAX: usize = 256 * 1024;
const GROUP_BYTES: usize = 128 * 1024 * 1024;
const DICTIONARY_BYTES: usize = 1024 * 1024;

/// Rows of a row group of a table with this many columns.
pub(super) fn group_rows(column_count: usize) -> usize {
    (GROUP_CELLS / column_count.max(1) / PAGE_ROWS * PAGE_ROWS).clamp(PAGE_ROWS, GROUP_ROWS_MAX)
}

enum Choice {
    Dictionary,
    Plain,
    Delta,
    PackedText,
}

pub(super) fn properties(schema: &TableSchema, sample: &RecordBatch) -> WriterProperties {
    let sample = sample.slice(0, sample.num_rows().min(SAMPLE_ROWS));
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("stationdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new("stationdb.segment".to_owned(), "1".to_owned())]))
        .set_sorting_columns(Some(vec![SortingColumn {
            column_idx: schema.index() as i32,
            descending: false,
            nulls_first: false,
        }]))
        .set_compression(Compression::UNCOMPRESSED)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_write_page_header_statistics(false)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_max_row_group_row_count(Some(group_rows(schema.len())))
        .set_max_row_group_bytes(Some(GROUP_BYTES));
    for (position, column) in schema.columns().iter().enumerate() {
        let path = ColumnPath::new(vec![column.name.clone()]);
        let choice = match sample.columns().get(position) {
            _ if position == schema.index() => Choice::Delta,
            Some(array) => choose(column.data_type, array),
            None => Choice::Plain,
        };
        builder = match choice {
            Choice::Dictionary => builder.set_column_dictionary_enabled(path, true),
            Choice::Plain => {
                builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, Encoding::PLAIN)
            }
            Choice::Delta => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Choice::PackedText => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), Encoding::PLAIN)
                .set_column_compression(path, Compression::ZSTD(ZstdLevel::default())),
        };
    }
    builder.build()
}

fn choose(data_type: DataType, array: &dyn Array) -> Choice {
    let rows = array.len();
    let distinct = match data_type {
        DataType::Bool => return Choice::Plain,
        DataType::Float32 => count(array.as_primitive::<Float32Type>().values().iter().map(|v| v.to_bits())),
        DataType::Float64 => count(array.as_primitive::<Float64Type>().values().iter().map(|v| v.to_bits())),
        DataType::Int32 => count(array.as_primitive::<Int32Type>().values().iter()),
        DataType::Int64 => count(array.as_primitive::<Int64Type>().values().iter()),
        DataType::Timestamp => count(array.as_primitive::<TimestampMillisecondType>().values().iter()),
        DataType::String => count(array.as_string::<i32>().iter()),
    };
    match data_type {
        _ if distinct <= rows / 4 => Choice::Dictionary,
        DataType::Float32 | DataType::Float64 | DataType::Bool => Choice::Plain,
        DataType::Int32 | DataType::Int64 | DataType::Timestamp => Choice::Delta,
        DataType::String => Choice::PackedText,
    }
}

fn count<T: std::hash::Hash + Eq>(values: impl Iterator<Item = T>) -> usize {
    values.collect::<HashSet<_>>().len()
}
