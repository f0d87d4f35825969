//! Stored files, and what of them the lake takes over.

use std::fs::File;
use std::io::{Read, Seek};
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescPtr;
use stationdb::arrow::array::{Array, ArrayRef};
use stationdb::arrow::compute::concat;
use stationdb::arrow::datatypes::{DataType, Field, TimeUnit};
use stationdb::tables::StoredRows;
use stationdb::{Error, Result};

use crate::chunk::{Chunk, Written, changed, of_column};
use crate::file::broken;
use crate::schema::LakeColumn;
use crate::splice::GroupRows;

/// Bytes of a stored file that is read into memory; a larger one goes through a file.
const SPOOL_BYTES: u64 = 16 * 1024 * 1024;
/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 64 * 1024;

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
    pub spool: Spool,
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

    /// Whether several threads may read the file at the same time.
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.spool, Spool::Memory(_))
    }

    /// The place of a column in the file.
    pub(crate) fn leaf(&self, name: &str) -> Result<usize> {
        self.metadata.schema().index_of(name).map_err(broken)
    }

    /// The values of a column in a row group.
    pub(crate) fn column(&self, group: usize, leaf: usize) -> Result<ArrayRef> {
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

    fn metadata_of(&self, group: usize, leaf: usize) -> Option<&ColumnChunkMetaData> {
        self.metadata.metadata().row_groups().get(group)?.columns().get(leaf)
    }

    /// The metadata of a column chunk that has the same bytes in the lake, as of one that was just
    /// written. The names of columns and the logical types of numbers are not in chunks.
    pub(crate) fn taken(
        &self,
        group: usize,
        leaf: usize,
        column: &ColumnDescPtr,
        lake: &LakeColumn,
        from: &Field,
    ) -> Option<ColumnCloseResult> {
        let (from, to) = (from.data_type(), lake.field.data_type());
        let is_count = matches!(from, DataType::Timestamp(..)) && *to == DataType::Int64;
        let chunk = self.metadata_of(group, leaf).filter(|_| from == to || is_count)?;
        let own = chunk.column_descr();
        let is_same = own.physical_type() == column.physical_type()
            && own.max_def_level() == column.max_def_level()
            && own.max_rep_level() == column.max_rep_level();
        let metadata = self.metadata.metadata();
        let index = metadata.column_index().and_then(|index| index.get(group)?.get(leaf));
        let index = index.filter(|index| !matches!(index, ColumnIndexMetaData::NONE));
        let offsets = metadata.offset_index().and_then(|index| index.get(group)?.get(leaf));
        let rows = metadata.row_groups().get(group)?.num_rows();
        Some(ColumnCloseResult {
            bytes_written: u64::try_from(chunk.compressed_size()).ok()?,
            rows_written: u64::try_from(rows).ok()?,
            metadata: is_same.then(|| of_column(chunk, column).ok())??,
            bloom_filter: None,
            column_index: index.cloned(),
            offset_index: offsets.cloned(),
        })
    }

    /// A column of milliseconds as one of microseconds.
    pub(crate) fn rescaled(
        &self,
        rows: &GroupRows,
        leaf: usize,
        column: &ColumnDescPtr,
        lake: &LakeColumn,
        from: &Field,
    ) -> Result<Option<Chunk>> {
        use TimeUnit::{Microsecond, Millisecond};
        let (DataType::Timestamp(Millisecond, _), DataType::Timestamp(Microsecond, _)) =
            (from.data_type(), lake.field.data_type())
        else {
            return Ok(None);
        };
        let Some(chunk) = self.metadata_of(rows.group, leaf) else { return Ok(None) };
        let row_count = usize::try_from(rows.row_count).unwrap_or(usize::MAX);
        changed(&self.spool, chunk, row_count, column, |time| time.checked_mul(1000))
            .map_err(broken)
    }
}
