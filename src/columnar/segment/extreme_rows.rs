//! Copies of the rows with the extremes of blocks, stored beside the pages, with the numeric
//! columns only. A decimated read returns just these rows, and finds the values of each in one
//! place instead of one place for every column.
//!
//! After each row group there are, for each numeric column except the index, for each block: the
//! row of the first smallest value, and the row of the first largest. A row has 8 bytes for each
//! numeric column in order (an i64, or the bits of an f32 or f64), then a byte with one bit for
//! each column that has a value, lowest bit first. If no value of a block is usable, its rows are
//! arbitrary.

use super::BLOCK_ROWS;
use super::summary::Blocks;
use crate::arrow::array::{Array, ArrayRef, RecordBatch};
use crate::arrow::buffer::{BooleanBuffer, NullBuffer};
use crate::columnar::column_slice::{ColumnSlice, array_of_words};
use crate::columnar::schema::TableSchema;
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
            let word = ColumnSlice::of(array).filter(|_| is_valid).map_or(0, |all| all.word(row));
            out.extend_from_slice(&word.to_le_bytes());
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
        let words = rows().map(|row| {
            let word =
                row.get(place * VALUE_BYTES..).and_then(|rest| rest.first_chunk::<VALUE_BYTES>());
            word.map_or(0, |word| u64::from_le_bytes(*word))
        });
        let valid: BooleanBuffer =
            rows().map(|row| row.last().is_some_and(|bits| bits >> place & 1 == 1)).collect();
        let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
        array_of_words(data_type, words.collect(), nulls)
    }
}
