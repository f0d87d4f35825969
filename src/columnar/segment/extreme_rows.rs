//! Copies of the rows with the extremes of blocks, stored beside the pages, with the numeric
//! columns only. A decimated read returns just these rows, and finds the values of each in one
//! place instead of one place for every column.
//!
//! After each row group there are, for each numeric column except the index, for each block: the
//! row of the first smallest value, and the row of the first largest. A row has 8 bytes for each
//! numeric column in order (an i64, or the bits of an f32 or f64), then a byte with one bit for
//! each column that has a value, lowest bit first. If no value of a block is usable, its rows are
//! arbitrary.

use std::sync::Arc;

use super::BLOCK_ROWS;
use super::summary::Blocks;
use crate::arrow::array::{
    Array, ArrayRef, AsArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
};
use crate::arrow::buffer::{BooleanBuffer, NullBuffer};
use crate::arrow::datatypes::{DataType as Arrow, Float32Type, Float64Type, Int32Type, Int64Type};
use crate::columnar::schema::TableSchema;
use crate::columnar::ticks;
use crate::model::tables::data::DataType;

/// Tables with more numeric columns have no extreme rows: their size grows with the square of the
/// number.
const COLUMNS_MAX: usize = 8;
const VALUE_BYTES: usize = 8;

/// The layout of extreme rows; the same in all segments of a table.
#[derive(Clone, Debug)]
pub(crate) struct ExtremeRows {
    /// Positions of the numeric columns, ascending.
    columns: Vec<usize>,
    /// The columns whose extremes are stored.
    extremes_of: Vec<usize>,
}

impl ExtremeRows {
    /// The layout for the tables of a schema; `None` if they have no extreme rows.
    #[must_use]
    pub(crate) fn of(schema: &TableSchema) -> Option<Self> {
        let columns: Vec<usize> = (0..schema.len())
            .filter(|&at| {
                schema.columns().get(at).is_some_and(|column| column.data_type.is_numeric())
            })
            .collect();
        let extremes_of: Vec<usize> =
            columns.iter().copied().filter(|&at| at != schema.index()).collect();
        (columns.len() <= COLUMNS_MAX && !extremes_of.is_empty())
            .then_some(Self { columns, extremes_of })
    }

    /// Whether extreme rows contain the values of a column.
    #[must_use]
    pub(crate) fn has(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    /// Bytes of one row.
    #[must_use]
    pub(crate) fn row_bytes(&self) -> usize {
        self.columns.len() * VALUE_BYTES + 1
    }

    /// Offset of the row of an extreme from the end of its row group, which has `blocks` blocks.
    pub(super) fn offset(
        &self,
        column: usize,
        blocks: usize,
        block: usize,
        is_max: bool,
    ) -> Option<usize> {
        let section = self.extremes_of.iter().position(|other| *other == column)?;
        (block < blocks)
            .then_some(((section * blocks + block) * 2 + usize::from(is_max)) * self.row_bytes())
    }

    /// The bytes that are stored after a row group with these rows and summaries.
    pub(super) fn collect(
        &self,
        batches: &[RecordBatch],
        summaries: &[(usize, Blocks)],
    ) -> Vec<u8> {
        let mut starts = Vec::with_capacity(batches.len());
        let mut rows = 0;
        for batch in batches {
            starts.push(rows);
            rows += batch.num_rows();
        }
        let mut out = Vec::new();
        for (_, blocks) in summaries.iter().filter(|(column, _)| self.extremes_of.contains(column))
        {
            for (block, positions) in blocks.positions().into_iter().enumerate() {
                for position in positions {
                    let row = block * BLOCK_ROWS + position;
                    let at = starts.partition_point(|start| *start <= row).saturating_sub(1);
                    if let (Some(batch), Some(start)) = (batches.get(at), starts.get(at)) {
                        self.put(batch, row - start, &mut out);
                    }
                }
            }
        }
        out
    }

    fn put(&self, batch: &RecordBatch, row: usize, out: &mut Vec<u8>) {
        let mut valid = 0u8;
        for (bit, array) in
            self.columns.iter().filter_map(|&at| batch.columns().get(at)).enumerate()
        {
            let is_valid = row < array.len() && array.is_valid(row);
            valid |= u8::from(is_valid) << bit;
            out.extend_from_slice(&if is_valid { value(array, row) } else { 0 }.to_le_bytes());
        }
        out.push(valid);
    }

    /// One column of the rows in `bytes`; `None` if extreme rows do not contain it.
    #[must_use]
    pub(crate) fn array(
        &self,
        bytes: &[u8],
        column: usize,
        data_type: DataType,
    ) -> Option<ArrayRef> {
        let place = self.columns.iter().position(|other| *other == column)?;
        let rows = || bytes.chunks_exact(self.row_bytes());
        let values = || {
            rows().map(|row| {
                let value = row
                    .get(place * VALUE_BYTES..)
                    .and_then(|rest| rest.first_chunk::<VALUE_BYTES>());
                value.map_or(0, |value| u64::from_le_bytes(*value))
            })
        };
        let valid: BooleanBuffer =
            rows().map(|row| row.last().is_some_and(|bits| bits >> place & 1 == 1)).collect();
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        let ints = || values().map(u64::cast_signed);
        Some(match data_type {
            DataType::Int32 => {
                Arc::new(Int32Array::new(ints().map(|value| value as i32).collect(), nulls))
            }
            DataType::Int64 => Arc::new(Int64Array::new(ints().collect(), nulls)),
            DataType::Timestamp | DataType::TimestampMicros | DataType::TimestampNanos => {
                ticks::array_of(data_type, ints().collect(), nulls)
            }
            DataType::Float32 => Arc::new(Float32Array::new(
                values().map(|bits| f32::from_bits(bits as u32)).collect(),
                nulls,
            )),
            DataType::Float64 => {
                Arc::new(Float64Array::new(values().map(f64::from_bits).collect(), nulls))
            }
            DataType::Bool | DataType::String => return None,
        })
    }
}

fn value(array: &dyn Array, row: usize) -> u64 {
    let int = |value: i64| value.cast_unsigned();
    match array.data_type() {
        Arrow::Int32 => array
            .as_primitive::<Int32Type>()
            .values()
            .get(row)
            .map_or(0, |value| int(i64::from(*value))),
        Arrow::Int64 => {
            array.as_primitive::<Int64Type>().values().get(row).map_or(0, |value| int(*value))
        }
        Arrow::Timestamp(..) => ticks::ticks(array).get(row).map_or(0, |value| int(*value)),
        Arrow::Float32 => array
            .as_primitive::<Float32Type>()
            .values()
            .get(row)
            .map_or(0, |value| u64::from(value.to_bits())),
        Arrow::Float64 => {
            array.as_primitive::<Float64Type>().values().get(row).map_or(0, |value| value.to_bits())
        }
        _ => 0,
    }
}
