//! Parquet files of the lake: rows that are encoded here, and column chunks of the store's own
//! files that are taken over as they are.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;
use stationdb::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use stationdb::arrow::compute::{cast, concat};
use stationdb::arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use stationdb::tables::StoredRows;
use stationdb::{Error, ErrorKind, Result};

use crate::schema::LakeColumn;

/// Approximate encoded bytes of a row group that is encoded here.
const GROUP_BYTES: usize = 16 * 1024 * 1024;
/// Rows of a row group that is encoded here.
const GROUP_ROWS: usize = 512 * 1024;
/// Bytes of a stored file that is read into memory; a larger one goes through a file.
const SPOOL_BYTES: u64 = 16 * 1024 * 1024;
/// Rows that are encoded at a time.
const BATCH_ROWS: usize = 64 * 1024;

type Written<T> = std::result::Result<T, ParquetError>;

pub(crate) fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, format!("writing a file of the lake: {error}")).with_source(error)
}

/// A stored file that can be read at any place.
#[derive(Clone)]
pub(crate) enum Spool {
    Memory(Bytes),
    File(Arc<File>),
}

impl Spool {
    fn read(byte_count: u64, data: &mut dyn Read) -> Result<Self> {
        let reading = |error| Error::io("reading a segment", error);
        if byte_count <= SPOOL_BYTES {
            let mut bytes = Vec::with_capacity(byte_count as usize);
            data.read_to_end(&mut bytes).map_err(reading)?;
            return Ok(Self::Memory(bytes.into()));
        }
        let spooling = |error| Error::io("copying a segment into a temporary file", error);
        let mut file = tempfile::tempfile().map_err(spooling)?;
        std::io::copy(data, &mut file).map_err(spooling)?;
        file.rewind().map_err(spooling)?;
        Ok(Self::File(Arc::new(file)))
    }
}

impl Length for Spool {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(file) => Length::len(file.as_ref()),
        }
    }
}

impl ChunkReader for Spool {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Written<Self::T> {
        Ok(match self {
            Self::Memory(bytes) => Box::new(bytes.get_read(start)?),
            Self::File(file) => Box::new(file.get_read(start)?),
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Written<Bytes> {
        match self {
            Self::Memory(bytes) => bytes.get_bytes(start, length),
            Self::File(file) => file.get_bytes(start, length),
        }
    }
}

/// A stored file that is open for reading its column chunks.
pub(crate) struct Segment {
    spool: Spool,
    metadata: ArrowReaderMetadata,
}

impl Segment {
    pub(crate) fn open(stored: &mut StoredRows<'_>) -> Result<Self> {
        let spool = Spool::read(stored.file.byte_count, stored.file.data)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = ArrowReaderMetadata::load(&spool, options).map_err(broken)?;
        Ok(Self { spool, metadata })
    }

    /// The rows of each row group.
    pub(crate) fn groups(&self) -> Vec<u64> {
        let groups = self.metadata.metadata().row_groups();
        groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or_default()).collect()
    }

    /// The values of a column in a row group.
    fn column(&self, group: usize, leaf: usize) -> Result<ArrayRef> {
        let schema = self.metadata.parquet_schema();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.spool.clone(),
            self.metadata.clone(),
        );
        let reader = reader
            .with_row_groups(vec![group])
            .with_projection(ProjectionMask::leaves(schema, [leaf]))
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(broken)?;
        let mut parts = Vec::new();
        for batch in reader {
            parts.extend(batch.map_err(broken)?.columns().first().cloned());
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).map_err(broken)
    }

    /// Metadata of a column chunk as of one that was just written.
    fn chunk(&self, group: usize, leaf: usize) -> Option<ColumnCloseResult> {
        let metadata = self.metadata.metadata();
        let rows = metadata.row_groups().get(group)?;
        let chunk = rows.columns().get(leaf)?.clone();
        let index = metadata.column_index().and_then(|index| index.get(group)?.get(leaf));
        let index = index.filter(|index| !matches!(index, ColumnIndexMetaData::NONE));
        let offsets = metadata.offset_index().and_then(|index| index.get(group)?.get(leaf));
        Some(ColumnCloseResult {
            bytes_written: u64::try_from(chunk.compressed_size()).ok()?,
            rows_written: u64::try_from(rows.num_rows()).ok()?,
            metadata: chunk,
            bloom_filter: None,
            column_index: index.cloned(),
            offset_index: offsets.cloned(),
        })
    }
}

/// The values of a lake column.
///
/// # Errors
/// `Io` for values that have none in the lake.
pub(crate) fn lake_values(column: &LakeColumn, values: &ArrayRef) -> Result<ArrayRef> {
    cast(values, column.field.data_type()).map_err(broken)
}

/// Whether one of the values is NaN, also inside of structs and lists.
fn has_nan(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().any(has_nan),
        DataType::List(_) => has_nan(array.as_list::<i32>().values()),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().any(f32::is_nan),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().any(f64::is_nan),
        _ => false,
    }
}

/// A column chunk with NaN has no statistics: Parquet leaves NaN out of the maximum, and SQL counts
/// it as the greatest value, so a reader would skip rows.
fn without_statistics(chunk: &mut ArrowColumnChunk) -> Written<()> {
    let close = chunk.close_mut();
    close.column_index = None;
    close.metadata = close.metadata.clone().into_builder().clear_statistics().build()?;
    Ok(())
}

struct Group {
    /// The writer of each leaf, and whether it got NaN.
    columns: Vec<(ArrowColumnWriter, bool)>,
    rows: usize,
}

fn encode(writer: &mut (ArrowColumnWriter, bool), field: &Field, values: &ArrayRef) -> Written<()> {
    writer.1 = writer.1 || has_nan(values);
    for leaf in compute_leaves(field, values)? {
        writer.0.write(&leaf)?;
    }
    Ok(())
}

fn encoded((writer, nan): (ArrowColumnWriter, bool)) -> Written<ArrowColumnChunk> {
    let mut chunk = writer.close()?;
    if nan {
        without_statistics(&mut chunk)?;
    }
    Ok(chunk)
}

/// A file of the lake, in memory until it is uploaded.
pub(crate) struct LakeFile {
    schema: SchemaRef,
    file: SerializedFileWriter<Vec<u8>>,
    groups: ArrowRowGroupWriterFactory,
    open: Option<Group>,
    pub rows: u64,
}

impl LakeFile {
    pub(crate) fn new(fields: Vec<Field>) -> Result<Self> {
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("stationdb-lake ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties));
        let (file, groups) =
            writer.and_then(ArrowWriter::into_serialized_writer).map_err(broken)?;
        Ok(Self { schema, file, groups, open: None, rows: 0 })
    }

    /// Approximate bytes.
    pub(crate) fn size(&self) -> usize {
        self.file.bytes_written() + self.open_size()
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

    fn write_batch(&mut self, batch: &RecordBatch) -> Written<()> {
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
        if is_full || self.open_size() >= GROUP_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Written<()> {
        let Some(group) = self.open.take() else { return Ok(()) };
        let mut out = self.file.next_row_group()?;
        for writer in group.columns {
            encoded(writer)?.append_to_row_group(&mut out)?;
        }
        out.close().map(drop)
    }

    /// Adds a row group of a stored file: `identity` and the columns whose form differs in the lake
    /// are encoded, all others are taken over as bytes. Returns how many bytes were taken over.
    pub(crate) fn splice(
        &mut self,
        segment: &Segment,
        group: usize,
        identity: &[ArrayRef],
        columns: &[LakeColumn],
        stored: &Schema,
    ) -> Result<u64> {
        self.flush().map_err(broken)?;
        let number = self.file.flushed_row_groups().len();
        let writers = self.groups.create_column_writers(number).map_err(broken)?;
        let mut pieces = Vec::with_capacity(writers.len());
        let mut taken = 0;
        for (at, (writer, field)) in writers.into_iter().zip(self.schema.fields()).enumerate() {
            let mut writer = (writer, false);
            let column = at.checked_sub(identity.len()).and_then(|at| columns.get(at));
            let values = match column {
                None => identity.get(at).cloned().ok_or_else(|| broken(short()))?,
                Some(column) => {
                    let name = stored.fields().get(column.from).ok_or_else(|| broken(short()))?;
                    let leaf = segment.metadata.schema().index_of(name.name()).map_err(broken)?;
                    if let Some(close) = self.as_it_is(segment, group, leaf, at, column, name) {
                        taken += close.bytes_written;
                        pieces.push(Piece::Taken(Box::new(close)));
                        continue;
                    }
                    lake_values(column, &segment.column(group, leaf)?)?
                }
            };
            encode(&mut writer, field, &values).map_err(broken)?;
            pieces.push(Piece::Encoded(Box::new(encoded(writer).map_err(broken)?)));
        }
        let mut out = self.file.next_row_group().map_err(broken)?;
        for piece in pieces {
            match piece {
                Piece::Encoded(chunk) => chunk.append_to_row_group(&mut out),
                Piece::Taken(close) => out.append_column(&segment.spool, *close),
            }
            .map_err(broken)?;
        }
        out.close().map_err(broken)?;
        self.rows += segment.groups().get(group).copied().unwrap_or_default();
        Ok(taken)
    }

    /// The chunk of a column that has the same form at the station and in the lake.
    fn as_it_is(
        &self,
        segment: &Segment,
        group: usize,
        leaf: usize,
        at: usize,
        column: &LakeColumn,
        stored: &Field,
    ) -> Option<ColumnCloseResult> {
        let is_same = stored.data_type() == column.field.data_type();
        let close = segment.chunk(group, leaf).filter(|_| is_same)?;
        let descriptor = self.file.schema_descr().columns().get(at)?.clone();
        (close.metadata.column_descr() == descriptor.as_ref()).then_some(close)
    }

    /// Ends the file, and returns its bytes.
    pub(crate) fn finish(mut self) -> Result<Bytes> {
        self.flush().map_err(broken)?;
        let mut bytes = self.file.into_inner().map_err(broken)?;
        bytes.flush().map_err(|error| Error::io("writing a file of the lake", error))?;
        Ok(bytes.into())
    }
}

enum Piece {
    Encoded(Box<ArrowColumnChunk>),
    Taken(Box<ColumnCloseResult>),
}

fn short() -> ParquetError {
    ParquetError::General("a segment has other columns than its table".to_owned())
}
