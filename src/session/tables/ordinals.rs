//! Reads rows by their append ordinals.

use std::ops::Range;
use std::sync::Arc;

use super::handout::{Handout, SegmentFile};
use super::open::open_table;
use crate::arrow::array::RecordBatch;
use crate::columnar::{RunStorage, Segment, TableView, in_append_order};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::session::view::View;
use crate::value::{Control, guarded};

/// Rows with consecutive append ordinals.
#[derive(Debug)]
#[non_exhaustive]
pub struct RowsPart<'a> {
    /// The first ordinal.
    pub first_ordinal: u64,
    /// Number of rows.
    pub row_count: u64,
    /// The rows.
    pub rows: PartRows<'a>,
}

/// The rows of a [`RowsPart`].
#[derive(Debug)]
#[non_exhaustive]
pub enum PartRows<'a> {
    /// Rows in order of their ordinals, with all columns.
    Batch(RecordBatch),
    /// All rows of a stored file, in the order of the index.
    Segment(StoredRows<'a>),
}

/// A stored file whose rows are all wanted.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoredRows<'a> {
    /// The file.
    pub file: SegmentFile<'a>,
    segment: Arc<Segment>,
}

/// The bytes of a stored file, which can be read at any place and by several threads, also after
/// [`TableService::export_rows`](crate::tables::TableService::export_rows) has returned.
#[derive(Clone, Debug)]
pub struct StoredBytes {
    segment: Arc<Segment>,
}

impl StoredBytes {
    /// Number of bytes.
    #[must_use]
    pub fn byte_count(&self) -> u64 {
        self.segment.meta().data_bytes
    }

    /// Fills `out` with the bytes from `start` on. Their checksums are verified.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that the file does not have; `Corrupt`, `Io`.
    pub fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let end = start.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.byte_count()) {
            return Err(Error::invalid(format!(
                "{} bytes from byte {start} on were asked for, of a file with {}",
                out.len(),
                self.byte_count()
            )));
        }
        guarded("reading a segment", || self.segment.read_at(start, out))
    }
}

impl StoredRows<'_> {
    /// The bytes of the file, to read at any place what [`StoredRows::file`] has from start to end.
    #[must_use]
    pub fn bytes(&self) -> StoredBytes {
        StoredBytes { segment: self.segment.clone() }
    }

    /// Whether the rows of the file are in order of their ordinals.
    #[must_use]
    pub fn is_in_append_order(&self) -> bool {
        self.segment.is_append_ordered()
    }

    /// The ordinals of these rows of the file, which are counted from 0.
    ///
    /// # Errors
    /// `InvalidArgument` for rows that the file does not have; `Corrupt`, `Io`.
    pub fn ordinals(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        if rows.start > rows.end || rows.end > self.file.row_count {
            return Err(Error::invalid(format!(
                "the rows {} to {} were asked for, of a file with {}",
                rows.start, rows.end, self.file.row_count
            )));
        }
        let first = self.segment.meta().first_ordinal;
        let offsets = guarded("reading ordinals", || {
            self.segment.ordinals(rows.start as usize..rows.end as usize)
        })?;
        Ok(offsets.into_iter().map(|offset| first + u64::from(offset)).collect())
    }
}

/// The rows of a table in one snapshot, to read by their append ordinals.
pub(crate) struct OrdinalScan {
    rows: Arc<TableView>,
    files: Handout,
}

impl OrdinalScan {
    pub(crate) fn open(view: &View<'_>, table: &TableMetadata) -> Result<Self> {
        Ok(Self { rows: open_table(view, table)?, files: Handout::of_all(view, table.id())? })
    }

    /// Passes the parts to `each` by ascending ordinal, and returns the number of rows.
    pub(crate) fn pass(
        &self,
        ordinals: &Range<u64>,
        each: &mut dyn FnMut(RowsPart<'_>) -> Result<()>,
        control: &Control,
    ) -> Result<u64> {
        let mut passed = 0;
        for (at, run) in self.rows.runs().iter().enumerate() {
            control.check()?;
            let own = run.ordinal_range();
            let wanted = own.start.max(ordinals.start)..own.end.min(ordinals.end);
            if wanted.is_empty() {
                continue;
            }
            // No row of the run is deleted, neither with nor without its place in the file, and the
            // file has the columns of the table.
            let is_whole = wanted == own
                && own.end - own.start == run.live_count() as u64
                && run.has_columns_of_table();
            match run.stored() {
                RunStorage::Segment(segment) if is_whole => {
                    passed += self.pass_file(own.start, segment, each)?;
                }
                _ => {
                    let batch = &mut |first_ordinal, batch: RecordBatch| {
                        let row_count = batch.num_rows() as u64;
                        passed += row_count;
                        each(RowsPart { first_ordinal, row_count, rows: PartRows::Batch(batch) })
                    };
                    in_append_order(&self.rows, at, wanted, control, batch)?;
                }
            }
        }
        Ok(passed)
    }

    /// Passes a stored file, and returns the number of its rows.
    fn pass_file(
        &self,
        first_ordinal: u64,
        segment: &Arc<Segment>,
        each: &mut dyn FnMut(RowsPart<'_>) -> Result<()>,
    ) -> Result<u64> {
        let meta = segment.meta();
        let mut reader = guarded("opening a segment", || self.files.open(meta))?;
        let (name, row_count) = (reader.name(), meta.row_count);
        let file =
            SegmentFile { name: &name, row_count, byte_count: meta.data_bytes, data: &mut reader };
        let rows = PartRows::Segment(StoredRows { file, segment: segment.clone() });
        each(RowsPart { first_ordinal, row_count, rows })?;
        Ok(row_count)
    }
}
