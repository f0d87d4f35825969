//! Statistics of float columns in Parquet files.
//!
//! Parquet leaves NaN out of minimum and maximum, and SQL counts NaN as greater than every number.
//! A reader that skips by the maximum would skip rows with NaN. So a column chunk with NaN has
//! neither statistics nor a column index.

use crate::columnar::column_slice::nan_count;
use std::io::Write;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use crate::arrow::array::RecordBatch;
use crate::arrow::datatypes::SchemaRef;

type WriteResult<T> = std::result::Result<T, ParquetError>;

/// Rows of a row group at most, as many as the library takes for one.
const GROUP_ROWS: usize = 1024 * 1024;

/// Removes statistics and column index of an encoded column chunk.
pub(in crate::columnar) fn leave_out(chunk: &mut ArrowColumnChunk) -> WriteResult<()> {
    let close = chunk.close_mut();
    close.column_index = None;
    close.metadata = close.metadata.clone().into_builder().clear_statistics().build()?;
    Ok(())
}

/// Writes batches to a Parquet file like the library's [`ArrowWriter`], but leaves out statistics
/// that hide NaN.
pub(in crate::columnar) struct BatchWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    groups: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    open: Option<OpenGroup>,
}

/// The row group that is being written.
struct OpenGroup {
    /// The writer of each column, and whether it got NaN.
    columns: Vec<(ArrowColumnWriter, bool)>,
    rows: usize,
}

impl<W: Write + Send> BatchWriter<W> {
    pub(in crate::columnar) fn try_new(
        out: W,
        schema: SchemaRef,
        properties: Option<WriterProperties>,
    ) -> WriteResult<Self> {
        let writer = ArrowWriter::try_new(out, schema.clone(), properties)?;
        let (file, groups) = writer.into_serialized_writer()?;
        Ok(Self { file, groups, schema, open: None })
    }

    /// Adds rows, which must have the columns of the schema.
    pub(in crate::columnar) fn write(&mut self, batch: &RecordBatch) -> WriteResult<()> {
        let mut at = 0;
        while at < batch.num_rows() {
            let group = match &mut self.open {
                Some(group) => group,
                None => {
                    let number = self.file.flushed_row_groups().len();
                    let writers = self.groups.create_column_writers(number)?;
                    let columns = writers.into_iter().map(|writer| (writer, false)).collect();
                    self.open.insert(OpenGroup { columns, rows: 0 })
                }
            };
            let rows = (GROUP_ROWS - group.rows).min(batch.num_rows() - at);
            let part = batch.slice(at, rows);
            for (((writer, nan), field), array) in
                group.columns.iter_mut().zip(self.schema.fields()).zip(part.columns())
            {
                *nan = *nan || nan_count(array) > 0;
                for leaf in compute_leaves(field, array)? {
                    writer.write(&leaf)?;
                }
            }
            group.rows += rows;
            at += rows;
            if group.rows == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Approximate encoded bytes of the row group that is being written.
    pub(in crate::columnar) fn in_progress_size(&self) -> usize {
        let columns = self.open.iter().flat_map(|group| &group.columns);
        columns.map(|(writer, _)| writer.get_estimated_total_bytes()).sum()
    }

    /// Ends the row group that is being written.
    pub(in crate::columnar) fn flush(&mut self) -> WriteResult<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let mut out = self.file.next_row_group()?;
        for (writer, nan) in group.columns {
            let mut chunk = writer.close()?;
            if nan {
                leave_out(&mut chunk)?;
            }
            chunk.append_to_row_group(&mut out)?;
        }
        out.close().map(|_| ())
    }

    /// Ends the file.
    pub(in crate::columnar) fn close(mut self) -> WriteResult<()> {
        self.flush()?;
        self.file.close().map(|_| ())
    }
}
