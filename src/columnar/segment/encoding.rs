//! Chooses the encoding of each column of a row group from a sample of its rows, by comparing the
//! bytes that an encoding saves with the cost of decoding.
//!
//! Full-precision floats stay plain and uncompressed: general codecs save a tenth of their bytes
//! and cost more than reading them.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use xxhash_rust::xxh3::xxh3_64;

use super::PAGE_ROWS;
use crate::arrow::array::{Array, ArrayRef, RecordBatch};
use crate::columnar::column_slice::ColumnSlice;
use crate::columnar::schema::TableSchema;
use crate::columnar::schema::arrow_type;
use crate::model::tables::data::DataType;

/// Rows of the sample, in slices that are spread over the row group.
const SAMPLE_ROWS: usize = 4096;
const SAMPLE_SLICES: usize = 8;
/// Cells of one row group, which is what one read unit may have in memory.
const GROUP_CELLS: usize = 8 * 1024 * 1024;
const GROUP_ROWS_MAX: usize = 256 * 1024;
/// Bytes in memory of the rows of one row group.
pub(super) const GROUP_BYTES: usize = 128 * 1024 * 1024;
const DICTIONARY_BYTES: usize = 1024 * 1024;

/// The rows of a row group in a table with this many columns.
pub(super) fn group_rows(column_count: usize) -> usize {
    (GROUP_CELLS / column_count.max(1) / PAGE_ROWS * PAGE_ROWS).clamp(PAGE_ROWS, GROUP_ROWS_MAX)
}

enum Choice {
    Dictionary,
    Plain,
    Delta,
    PackedText,
}

/// The properties of a file, and of a row group with these rows.
pub(super) fn properties(schema: &TableSchema, rows: &[RecordBatch]) -> WriterProperties {
    let row_count = rows.iter().map(RecordBatch::num_rows).sum();
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(concat!("stationdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "stationdb.segment".to_owned(),
            "1".to_owned(),
        )]))
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
        .set_dictionary_page_size_limit(DICTIONARY_BYTES);
    for (position, column) in schema.columns().iter().enumerate() {
        let path = ColumnPath::new(vec![column.name.clone()]);
        let sample = sample(rows, position);
        let choice = if position == schema.index() {
            choose_index(column.data_type, &sample, row_count)
        } else {
            choose(column.data_type, &sample, row_count)
        };
        let is_coded = matches!(choice, Choice::Dictionary);
        builder = builder.set_column_dictionary_enabled(path.clone(), is_coded);
        builder = match choice {
            Choice::Dictionary => builder,
            Choice::Plain => builder.set_column_encoding(path, Encoding::PLAIN),
            Choice::Delta => builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            Choice::PackedText => builder
                .set_column_encoding(path.clone(), Encoding::PLAIN)
                .set_column_compression(path, Compression::ZSTD(ZstdLevel::default())),
        };
    }
    builder.build()
}

/// Slices of a column, spread over the rows; the whole column if it is shorter than the sample.
fn sample(rows: &[RecordBatch], position: usize) -> Vec<ArrayRef> {
    let columns = rows.iter().filter_map(|batch| batch.columns().get(position));
    let total: usize = rows.iter().map(RecordBatch::num_rows).sum();
    if total <= SAMPLE_ROWS {
        return columns.cloned().collect();
    }
    let len = SAMPLE_ROWS / SAMPLE_SLICES;
    let mut wanted =
        (0..SAMPLE_SLICES).map(|slice| (total - len) * slice / (SAMPLE_SLICES - 1)).peekable();
    let mut out = Vec::new();
    let mut first = 0;
    for array in columns {
        let end = first + array.len();
        while let Some(at) = wanted.next_if(|at| *at < end) {
            out.push(array.slice(at - first, len.min(end - at)));
        }
        first = end;
    }
    out
}

/// Properties of a column, estimated from a sample.
struct ColumnSample {
    /// Estimated number of distinct values in all rows.
    distinct: usize,
    /// Bytes of one value.
    width: usize,
    /// Bits of the range of differences between adjacent values, for integers.
    delta_bits: usize,
    /// Values that differ from the one before, in so many of the sample.
    changes: usize,
    pairs: usize,
}

impl ColumnSample {
    /// Whether a dictionary with runs of codes takes a quarter of packed deltas at most. The values
    /// are in order.
    fn pays_as_runs(&self, rows: usize) -> bool {
        // What a run takes, about: its length, and a code.
        const RUN_BYTES: usize = 5;
        // A shorter run is packed.
        const LEAST_RUN: usize = 8;
        // In order, each value has one run.
        let runs = rows.saturating_mul(self.changes) / self.pairs.max(1) + 1;
        let dictionary_bytes = runs.saturating_mul(self.width);
        let coded = dictionary_bytes.saturating_add(runs.saturating_mul(RUN_BYTES));
        self.pairs > 0
            && self.changes.saturating_mul(LEAST_RUN) <= self.pairs
            && dictionary_bytes <= DICTIONARY_BYTES / 2
            && coded.saturating_mul(4) <= rows.saturating_mul(self.delta_bits) / 8
    }
}

/// An index is a dictionary if each value stands on many rows in a row: a run of codes takes a few
/// bytes, and packed deltas take the width of the largest one in 32.
fn choose_index(data_type: DataType, sample: &[ArrayRef], rows: usize) -> Choice {
    match look(data_type, sample, rows) {
        Some(seen) if seen.pays_as_runs(rows) => Choice::Dictionary,
        _ => Choice::Delta,
    }
}

fn choose(data_type: DataType, sample: &[ArrayRef], rows: usize) -> Choice {
    let Some(seen) = look(data_type, sample, rows) else { return Choice::Plain };
    let bits = usize::BITS as usize - seen.distinct.leading_zeros() as usize;
    let dictionary_bytes = seen.distinct.saturating_mul(seen.width);
    let coded = dictionary_bytes.saturating_add(rows * bits / 8);
    let plain = rows * seen.width;
    // Codes are the fastest to filter; deltas must be added up from the start of their page.
    let pays = dictionary_bytes <= DICTIONARY_BYTES / 2 && coded <= plain / 2;
    match data_type {
        DataType::Bool | DataType::Float32 | DataType::Float64 if !pays => Choice::Plain,
        data_type
            if data_type.can_be_index() && (!pays || coded > rows * (seen.delta_bits + 2) / 8) =>
        {
            Choice::Delta
        }
        DataType::String if !pays => Choice::PackedText,
        _ => Choice::Dictionary,
    }
}

fn look(data_type: DataType, sample: &[ArrayRef], rows: usize) -> Option<ColumnSample> {
    let mut values: Vec<u64> = Vec::with_capacity(SAMPLE_ROWS);
    let (mut text_bytes, mut least, mut greatest) = (0, i64::MAX, i64::MIN);
    let (mut changes, mut pairs) = (0, 0);
    for array in sample {
        let from = values.len();
        match ColumnSlice::of(array)? {
            ColumnSlice::Bool(_) => return None,
            ColumnSlice::Text(texts) => {
                text_bytes += texts.iter().flatten().map(str::len).sum::<usize>();
                values.extend(
                    texts.iter().map(|text| text.map_or(0, |text| xxh3_64(text.as_bytes()))),
                );
            }
            numbers => numbers.push_words(&mut values),
        }
        for pair in values.get(from..).unwrap_or_default().windows(2) {
            if let [before, after] = pair {
                let delta = after.wrapping_sub(*before).cast_signed();
                (least, greatest) = (least.min(delta), greatest.max(delta));
                changes += usize::from(delta != 0);
                pairs += 1;
            }
        }
    }
    let count = values.len();
    values.sort_unstable();
    let (mut distinct, mut once, mut twice) = (0, 0, 0);
    for same in values.chunk_by(|a, b| a == b) {
        distinct += 1;
        once += usize::from(same.len() == 1);
        twice += usize::from(same.len() == 2);
    }
    if count < rows {
        // Chao's estimate of the distinct values that the sample missed.
        distinct += once * once / (2 * twice).max(1);
    }
    Some(ColumnSample {
        distinct: distinct.min(rows),
        width: match arrow_type(data_type).primitive_width() {
            Some(width) => width,
            None => 4 + text_bytes.div_ceil(count.max(1)),
        },
        delta_bits: 64 - greatest.wrapping_sub(least).cast_unsigned().leading_zeros() as usize,
        changes,
        pairs,
    })
}
