//! Writes a segment from sorted rows, and returns its manifest entry once both files are on disk.

use std::io::Write;
use std::sync::Arc;

use super::checked::HashingFile;
use super::encoder::{EncodedFile, Encoder};
use super::encoding::{GROUP_BYTES, group_rows};
use super::summary_file;
use super::{BLOCK_ROWS, SegmentMeta, data_name, summary_name};
use crate::arrow::array::RecordBatch;
use crate::columnar::keys::index_values;
use crate::columnar::schema::TableSchema;
use crate::columnar::write::buffer::batch_bytes;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};

const ORDINALS_STEP: u32 = 64 * 1024;

/// A segment that is being written.
///
/// If it is dropped before [`SegmentWriter::finish`], it leaves files that no manifest names; the
/// next open removes them.
pub(crate) struct SegmentWriter {
    schema: Arc<TableSchema>,
    disk: SharedDisk,
    dir: String,
    id: u64,
    first_ordinal: u64,
    data: Option<Encoder>,
    summary: HashingFile,
    /// Rows of the next row group, their number, and their approximate bytes.
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    pending_bytes: usize,
    row_count: u64,
    has_ordinals: bool,
    index_range: Option<(i64, i64)>,
}

pub(super) fn create(disk: &SharedDisk, path: &str) -> Result<HashingFile> {
    let file = disk
        .open(path, Mode::CreateNew)
        .map_err(|error| Error::io(format_args!("creating the segment file {path}"), error))?;
    Ok(HashingFile::new(file, path.to_owned()))
}

impl SegmentWriter {
    /// Creates the files of segment `id` in `dir`, which must exist. The rows have the ordinals
    /// from `first_ordinal` on.
    ///
    /// # Errors
    /// `Io` and `NoSpace`.
    pub(crate) fn new(
        disk: SharedDisk,
        dir: &str,
        id: u64,
        schema: Arc<TableSchema>,
        first_ordinal: u64,
    ) -> Result<Self> {
        let summary = create(&disk, &format!("{dir}/{}", summary_name(id)))?;
        Ok(Self {
            schema,
            disk,
            dir: dir.to_owned(),
            id,
            first_ordinal,
            data: None,
            summary,
            pending: Vec::new(),
            pending_rows: 0,
            pending_bytes: 0,
            row_count: 0,
            has_ordinals: false,
            index_range: None,
        })
    }

    /// Rows written so far.
    #[must_use]
    pub(crate) fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Adds rows that follow the earlier ones in index order; rows with equal index values are in
    /// order of their ordinals. `ordinals` are offsets from the first ordinal; `None` if they
    /// continue those of the earlier rows.
    ///
    /// # Errors
    /// `Io` and `NoSpace`; `InvalidArgument` when the rows are out of order, which is a defect of
    /// the caller.
    pub(crate) fn write(&mut self, batch: &RecordBatch, ordinals: Option<&[u32]>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let values = index_values(batch.column(self.schema.index()))?;
        let first = values.first().copied().unwrap_or_default();
        let last = values.last().copied().unwrap_or_default();
        if self.index_range.is_some_and(|(_, before)| before > first) || !values.is_sorted() {
            return Err(Error::invalid(
                "internal error: rows were written to a segment out of index order; report it",
            ));
        }
        self.index_range = Some((self.index_range.map_or(first, |(min, _)| min), last));
        self.write_ordinals(batch.num_rows(), ordinals)?;
        self.row_count += batch.num_rows() as u64;
        let group_rows = group_rows(self.schema.len());
        let mut rest = batch.clone();
        while self.pending_rows + rest.num_rows() >= group_rows {
            let head = rest.slice(0, group_rows - self.pending_rows);
            rest = rest.slice(head.num_rows(), rest.num_rows() - head.num_rows());
            self.hold(head);
            self.put_group(group_rows, false)?;
        }
        if rest.num_rows() > 0 {
            self.hold(rest);
        }
        // Blocks of the summary do not continue from one row group to the next, so a row group that
        // is cut early has whole blocks only.
        let whole = self.pending_rows / BLOCK_ROWS * BLOCK_ROWS;
        if self.pending_bytes >= GROUP_BYTES && whole > 0 {
            self.put_group(whole, false)?;
        }
        Ok(())
    }

    fn hold(&mut self, batch: RecordBatch) {
        self.pending_rows += batch.num_rows();
        self.pending_bytes += batch_bytes(&batch);
        self.pending.push(batch);
    }

    /// Passes the first `rows` pending rows on as a row group.
    fn put_group(&mut self, rows: usize, is_last: bool) -> Result<()> {
        let mut group = Vec::new();
        let mut left = rows;
        let mut rest = Vec::new();
        for batch in std::mem::take(&mut self.pending) {
            let count = batch.num_rows().min(left);
            if count > 0 {
                group.push(batch.slice(0, count));
            }
            if count < batch.num_rows() {
                rest.push(batch.slice(count, batch.num_rows() - count));
            }
            left -= count;
        }
        (self.pending_rows, self.pending_bytes) = (0, 0);
        rest.into_iter().for_each(|batch| self.hold(batch));
        let encoder = match &mut self.data {
            Some(encoder) => encoder,
            None => {
                let file = create(&self.disk, &format!("{}/{}", self.dir, data_name(self.id)))?;
                self.data.insert(Encoder::new(file, &self.schema)?)
            }
        };
        encoder.put(group, is_last)
    }

    fn write_ordinals(&mut self, rows: usize, ordinals: Option<&[u32]>) -> Result<()> {
        let start = u32::try_from(self.row_count)
            .ok()
            .filter(|start| start.checked_add(rows as u32).is_some())
            .ok_or_else(|| Error::limit("a segment can have at most 4,294,967,295 rows"))?;
        let in_order =
            ordinals.is_none_or(|ordinals| ordinals.iter().zip(start..).all(|(a, b)| *a == b));
        if in_order && !self.has_ordinals {
            return Ok(());
        }
        let io = |error| Error::io("writing a segment's summary", error);
        let mut bytes = Vec::new();
        let mut put = |file: &mut HashingFile, values: &mut dyn Iterator<Item = u32>| {
            bytes.clear();
            values.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            file.write_all(&bytes).map_err(io)
        };
        // The first rows that are out of order: the ordinals of all rows before them must be
        // written first.
        if !self.has_ordinals {
            self.has_ordinals = true;
            for from in (0..start).step_by(ORDINALS_STEP as usize) {
                put(&mut self.summary, &mut (from..start.min(from.saturating_add(ORDINALS_STEP))))?;
            }
        }
        match ordinals {
            Some(ordinals) => put(&mut self.summary, &mut ordinals.iter().copied()),
            None => put(&mut self.summary, &mut (start..start + rows as u32)),
        }
    }

    /// Completes and syncs both files, then syncs their directory. Only then may a manifest name
    /// the segment: a commit that names it must not survive a power cut that removes its files.
    ///
    /// # Errors
    /// `Io` and `NoSpace`; `InvalidArgument` when no row was written.
    pub(crate) fn finish(mut self) -> Result<SegmentMeta> {
        if self.pending_rows > 0 {
            self.put_group(self.pending_rows, true)?;
        }
        let (Some(encoder), Some((min_index, max_index))) = (self.data.take(), self.index_range)
        else {
            return Err(Error::invalid(
                "internal error: a segment without rows cannot be finished; report it",
            ));
        };
        let EncodedFile { file, summaries, extreme_rows, indexes } = encoder.finish()?;
        let data = file.finish()?;
        let rest = summary_file::SummaryBody {
            has_ordinals: self.has_ordinals,
            row_count: self.row_count,
            columns: &summaries,
            extreme_rows: &extreme_rows,
            indexes: &indexes,
            data_crcs: &data.crcs,
        };
        let summary_crc = summary_file::write_rest(&mut self.summary, &rest)
            .map_err(|error| Error::io("writing a segment's summary", error))?;
        let summary = self.summary.finish()?;
        drop((data.file, summary.file));
        self.disk.sync_dir(&self.dir).map_err(|error| {
            Error::io(format_args!("syncing the directory {}", self.dir), error)
        })?;
        Ok(SegmentMeta {
            id: self.id,
            row_count: self.row_count,
            first_ordinal: self.first_ordinal,
            min_index,
            max_index,
            data_bytes: data.len,
            data_hash: data.hash,
            summary_bytes: summary.len,
            summary_hash: summary.hash,
            summary_crc,
            ordinal_count: self.row_count,
            columns_revision: self.schema.revision(),
            indexed: self.schema.indexed().map(|column| column as u32).collect(),
        })
    }
}
