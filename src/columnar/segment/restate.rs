//! Writes a segment again under another number, with the same pages and without statistics of float
//! columns that hide NaN.
//!
//! Segments of formats 1 to 4 may have such statistics. They are of no use to this library, which
//! prunes by the summary file, but other readers of a copy would skip rows by them.

use std::io::Write;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataWriter,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::writer::TrackedWrite;

use super::encoder::write_error;
use super::reader::{Segment, Source};
use super::summary::ColumnSummary;
use super::writer::create;
use super::{BLOCK_ROWS, SegmentMeta, data_name, summary_name};
use crate::disk::SharedDisk;
use crate::error::{Error, Result};
use crate::value::Control;

/// Bytes that are copied at a time.
const PIECE_BYTES: usize = 1024 * 1024;

/// Row group and column of a column chunk.
type Place = (usize, usize);

fn has_statistics(chunk: &ColumnChunkMetaData) -> bool {
    chunk.statistics().is_some() || chunk.column_index_offset().is_some()
}

/// The end of the pages: the page indexes begin there.
fn end_of_pages(metadata: &ParquetMetaData) -> Option<u64> {
    let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
    let places =
        chunks.flat_map(|chunk| [chunk.column_index_offset(), chunk.offset_index_offset()]);
    places.flatten().min().and_then(|offset| u64::try_from(offset).ok())
}

/// The metadata without the statistics and column indexes of these chunks.
fn stripped(metadata: ParquetMetaData, places: &[Place]) -> Result<ParquetMetaData> {
    let mut builder = metadata.into_builder();
    let (groups, mut index) = (builder.take_row_groups(), builder.take_column_index());
    let mut out = Vec::with_capacity(groups.len());
    for (number, group) in groups.into_iter().enumerate() {
        let mut group = group.into_builder();
        let mut columns = group.take_columns();
        for (_, column) in places.iter().filter(|(of, _)| *of == number) {
            if let Some(chunk) = columns.get_mut(*column) {
                let bare = chunk.clone().into_builder().clear_statistics();
                let bare = bare.set_column_index_offset(None).set_column_index_length(None);
                *chunk = bare.build().map_err(write_error)?;
            }
            let entry = index.as_mut().and_then(|index| index.get_mut(number)?.get_mut(*column));
            if let Some(entry) = entry {
                *entry = ColumnIndexMetaData::NONE;
            }
        }
        out.push(group.set_column_metadata(columns).build().map_err(write_error)?);
    }
    Ok(builder.set_row_groups(out).set_column_index(index).build())
}

impl Segment {
    /// The column chunks with NaN that have statistics or a column index all the same.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn hidden_nan(&self) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        let groups = self.parquet().metadata().row_groups();
        for (column, declared) in self.schema().columns().iter().enumerate() {
            if !declared.data_type.is_float() {
                continue;
            }
            let Some(ColumnSummary::Float(levels)) = self.summary(column)? else { continue };
            for (number, rows) in self.groups().enumerate() {
                let blocks = rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS);
                let blocks = levels.blocks().get(blocks).unwrap_or_default();
                let chunk = groups.get(number).and_then(|group| group.columns().get(column));
                if blocks.iter().any(|block| block.nans > 0) && chunk.is_some_and(has_statistics) {
                    places.push((number, column));
                }
            }
        }
        Ok(places)
    }

    /// Writes the segment to the files of segment `id` in `dir` if statistics hide NaN in it, and
    /// returns the new manifest entry once both files and their directory are synced. `None` if
    /// the segment can stay.
    ///
    /// What must hold: each byte that is copied was compared with its checksum, because the copy
    /// gets new ones.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `NoSpace`; the errors of `control`.
    pub(crate) fn restate(
        &self,
        disk: &SharedDisk,
        dir: &str,
        id: impl FnOnce() -> Result<u64>,
        control: &Control,
    ) -> Result<Option<SegmentMeta>> {
        let places = self.hidden_nan()?;
        if places.is_empty() {
            return Ok(None);
        }
        let id = id()?;
        let source = Source::new(self.data().clone(), Vec::new());
        let options = ArrowReaderOptions::new()
            .with_column_index_policy(PageIndexPolicy::Optional)
            .with_offset_index_policy(PageIndexPolicy::Required);
        let loaded = ArrowReaderMetadata::load(&source, options)
            .map_err(|error| source.error(self.data().name(), error))?;
        let end = end_of_pages(loaded.metadata()).ok_or_else(|| {
            Error::corrupt(
                "the footer of a segment lacks its page positions; restore the table \
                            from a backup",
            )
        })?;
        let metadata = stripped(loaded.metadata().as_ref().clone(), &places)?;

        let io = |error| Error::io("writing a segment again", error);
        let mut file = create(disk, &format!("{dir}/{}", data_name(id)))?;
        let mut out = TrackedWrite::new(&mut file);
        let mut at = 0;
        while at < end {
            control.check()?;
            let len = usize::try_from(end - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
            out.write_all(&self.data().read(at, len)?).map_err(io)?;
            at += len as u64;
        }
        ParquetMetaDataWriter::new_with_tracked(out, &metadata).finish().map_err(write_error)?;
        let data = file.finish()?;

        let mut file = create(disk, &format!("{dir}/{}", summary_name(id)))?;
        let summary_crc =
            self.summary_file().copy(&mut file, self.meta().row_count, &data.crcs, control)?;
        let summary = file.finish()?;
        drop((data.file, summary.file));
        disk.sync_dir(dir)
            .map_err(|error| Error::io(format_args!("syncing the directory {dir}"), error))?;
        Ok(Some(SegmentMeta {
            id,
            data_bytes: data.len,
            data_hash: data.hash,
            summary_bytes: summary.len,
            summary_hash: summary.hash,
            summary_crc,
            shows_nan: true,
            ..self.meta().clone()
        }))
    }
}
