//! The buffered rows of a table as one sorted run in memory.

use std::ops::Range;

use crate::arrow::array::{RecordBatch, UInt32Array};
use crate::arrow::compute::{concat_batches, take_record_batch};
use crate::columnar::keys::index_values;
use crate::columnar::schema::TableSchema;
use crate::error::{Error, Result};

/// Rows with consecutive append ordinals, sorted by the index column; equal values are in append
/// order.
#[derive(Debug)]
pub struct MemoryRun {
    batch: RecordBatch,
    index: Vec<i64>,
    /// Offsets from the first ordinal; `None` when the rows are in append order.
    ordinals: Option<Vec<u32>>,
    first_ordinal: u64,
}

impl MemoryRun {
    /// Sorts batches of whole rows. The first row has the append ordinal `first_ordinal`, the
    /// others follow.
    ///
    /// # Errors
    /// `Corrupt` when a batch does not fit the table, or the texts of a column do not fit in one
    /// array; `LimitExceeded` when there are more rows than 32 bits can count.
    pub fn new(schema: &TableSchema, batches: &[RecordBatch], first_ordinal: u64) -> Result<Self> {
        let misfit = |error| {
            Error::corrupt("the buffered rows do not fit their table, or are too many")
                .with_source(error)
        };
        let batch = match batches {
            [one] => one.clone(),
            _ => concat_batches(schema.arrow(), batches).map_err(misfit)?,
        };
        let row_count = u32::try_from(batch.num_rows())
            .map_err(|_| Error::limit("too many rows are buffered"))?;
        let index = index_values(batch.column(schema.index()))?.into_owned();
        if index.is_sorted() {
            return Ok(Self { batch, index, ordinals: None, first_ordinal });
        }
        let mut order: Vec<u32> = (0..row_count).collect();
        order.sort_by_key(|&row| index.get(row as usize).copied());
        let sorted =
            take_record_batch(&batch, &UInt32Array::from(order.clone())).map_err(misfit)?;
        let index = index_values(sorted.column(schema.index()))?.into_owned();
        Ok(Self { batch: sorted, index, ordinals: Some(order), first_ordinal })
    }

    /// The sorted rows.
    #[must_use]
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// The index values of the rows.
    #[must_use]
    pub fn index(&self) -> &[i64] {
        &self.index
    }

    /// Append ordinal of the first appended row.
    #[must_use]
    pub fn first_ordinal(&self) -> u64 {
        self.first_ordinal
    }

    /// Offsets of the append ordinals, when they are not in order.
    #[must_use]
    pub fn ordinals(&self) -> Option<&[u32]> {
        self.ordinals.as_deref()
    }

    /// The rows of these ascending ranges with these columns.
    pub(in crate::columnar) fn read(
        &self,
        schema: &TableSchema,
        columns: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<RecordBatch> {
        let misfit =
            |error| Error::corrupt("the buffered rows do not fit their table").with_source(error);
        let projected = self.batch.project(columns).map_err(misfit)?;
        let projected = projected.with_schema(schema.project(columns)).map_err(misfit)?;
        if let [range] = ranges {
            return Ok(projected.slice(range.start, range.len()));
        }
        let rows: UInt32Array =
            ranges.iter().flat_map(|range| range.start as u32..range.end as u32).collect();
        take_record_batch(&projected, &rows).map_err(misfit)
    }
}
