//! Parquet files of the lake: rows that are encoded here, and row groups of stored files.

use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use stationdb::Result;
use stationdb::arrow::array::{ArrayRef, RecordBatch};
use stationdb::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::body::{Body, Cost, Sink, Zeros};
use crate::checks::bound;
use crate::encoding::{ParquetResult, broken, encoded, general, has_nan};
use crate::segment::Segment;
use crate::splice::{ColumnPiece, GroupTarget, PreparedGroup};

/// Approximate encoded bytes of a row group that is encoded here.
const GROUP_BYTES: usize = 16 * 1024 * 1024;
/// Rows of a row group that is encoded here.
const GROUP_ROWS: usize = 512 * 1024;

struct Group {
    /// The writer of each leaf, and whether it got NaN.
    columns: Vec<(ArrowColumnWriter, bool)>,
    rows: usize,
}

/// A file of the lake, until it is uploaded.
pub(crate) struct LakeFile {
    schema: SchemaRef,
    sink: Sink,
    file: SerializedFileWriter<Sink>,
    groups: ArrowRowGroupWriterFactory,
    open: Option<Group>,
    pub rows: u64,
}

impl LakeFile {
    pub(crate) fn new(fields: Vec<Field>) -> Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("stationdb-lake ", env!("CARGO_PKG_VERSION")).to_owned());
        // Numbers that mostly grow: a dictionary of them would be dropped when it is full.
        let is_growing = |field: &Field| {
            matches!(field.data_type(), DataType::Timestamp(..)) || field.name() == "_row"
        };
        for field in schema.fields().iter().filter(|field| is_growing(field)) {
            let path = ColumnPath::new(vec![field.name().clone()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let properties = properties.build();
        let sink = Sink::default();
        let writer = ArrowWriter::try_new(sink.clone(), schema.clone(), Some(properties));
        let (file, groups) =
            writer.and_then(ArrowWriter::into_serialized_writer).map_err(broken)?;
        Ok(Self { schema, sink, file, groups, open: None, rows: 0 })
    }

    /// Approximate bytes.
    pub(crate) fn size(&self) -> usize {
        self.file.bytes_written() + self.open_size()
    }

    /// What the row groups that are complete hold.
    pub(crate) fn cost(&self) -> Cost {
        self.sink.cost()
    }

    fn open_size(&self) -> usize {
        let columns = self.open.iter().flat_map(|group| &group.columns);
        columns.map(|(writer, _)| writer.get_estimated_total_bytes()).sum()
    }

    /// Adds rows, with one array for each column.
    ///
    /// # Errors
    /// `Io` for arrays of another type.
    pub(crate) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(broken)?;
        self.rows += batch.num_rows() as u64;
        self.write_batch(&batch).map_err(broken)
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> ParquetResult<()> {
        let mut group = match self.open.take() {
            Some(group) => group,
            None => {
                let number = self.file.flushed_row_groups().len();
                let writers = self.groups.create_column_writers(number)?;
                Group {
                    columns: writers.into_iter().map(|writer| (writer, false)).collect(),
                    rows: 0,
                }
            }
        };
        let mut writers = group.columns.iter_mut();
        for (field, values) in self.schema.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, values)? {
                let writer = writers.next().ok_or_else(|| {
                    ParquetError::General("a column has more leaves than its type".to_owned())
                })?;
                writer.1 = writer.1 || has_nan(values);
                writer.0.write(&leaf)?;
            }
        }
        group.rows += batch.num_rows();
        let is_full = group.rows >= GROUP_ROWS;
        self.open = Some(group);
        if is_full || self.open_size() >= bound(GROUP_BYTES) {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> ParquetResult<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let mut out = self.file.next_row_group()?;
        for writer in group.columns {
            encoded(writer)?.append_to_row_group(&mut out)?;
        }
        out.close().map(drop)
    }

    /// What row groups of stored files are made for.
    pub(crate) fn form(&self) -> GroupTarget<'_> {
        GroupTarget {
            schema: &self.schema,
            columns: self.file.schema_descr().columns(),
            groups: &self.groups,
            number: self.file.flushed_row_groups().len(),
        }
    }

    /// Adds a row group of a stored file. Returns how many bytes were taken over.
    pub(crate) fn splice(&mut self, segment: &Segment, prepared: PreparedGroup) -> Result<u64> {
        self.flush().map_err(broken)?;
        // Chunks follow each other from here on, and nothing is between them.
        let mut at = self.file.bytes_written() as u64;
        let mut out = self.file.next_row_group().map_err(broken)?;
        let mut taken = 0;
        for piece in prepared.pieces {
            at += match piece {
                ColumnPiece::Encoded(chunk) => {
                    let byte_count = chunk.close().metadata.compressed_size().cast_unsigned();
                    chunk.append_to_row_group(&mut out).map(|()| byte_count)
                }
                ColumnPiece::Made(chunk) => {
                    let byte_count = chunk.bytes.len() as u64;
                    out.append_column(&chunk.bytes, chunk.close).map(|()| byte_count)
                }
                ColumnPiece::Taken(close) => {
                    let byte_count = close.bytes_written;
                    taken += byte_count;
                    let appended = match segment.extent(&close.metadata) {
                        Some(extent) => {
                            self.sink.promise(at, extent);
                            out.append_column(&Zeros, *close)
                        }
                        None => out.append_column(segment.stored(), *close),
                    };
                    appended.map(|()| byte_count)
                }
            }
            .map_err(broken)?;
        }
        out.close().map_err(broken)?;
        self.rows += prepared.row_count;
        Ok(taken)
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<Body> {
        self.flush().map_err(broken)?;
        self.file.finish().map_err(broken)?;
        let byte_count = self.file.bytes_written() as u64;
        let body = self.sink.finish()?;
        if body.byte_count() != byte_count {
            return Err(broken(general("a file has not the bytes that it should have")));
        }
        Ok(body)
    }
}
