//! Stored files, and what of them the lake takes over.

use std::io::{BufReader, Read};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescPtr;
use stationdb::arrow::array::{Array, ArrayRef};
use stationdb::arrow::compute::concat;
use stationdb::arrow::datatypes::{DataType, Field, TimeUnit};
use stationdb::tables::StoredBytes;
use stationdb::{Error, Result};

use crate::body::SegmentRange;
use crate::chunk::{Chunk, multiplied, of_column};
use crate::encoding::{ParquetResult, broken};
use crate::schema::LakeColumn;

/// Bytes of a stored file that is read as a whole, and of a chunk that is read when it is sent: a file
/// of the lake has so few of these that as many files can be open.
pub(crate) const SMALL_BYTES: u64 = 256 * 1024;
/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 64 * 1024;

/// The ordinals of rows.
#[derive(Clone, Debug)]
pub(crate) enum RowOrdinals {
    /// This one and those after it.
    From(u64),
    Each(Vec<u64>),
}

/// A row group of a stored file, and the ordinals of its rows.
#[derive(Clone, Debug)]
pub(crate) struct GroupRows {
    pub group: usize,
    pub row_count: u64,
    pub ordinals: RowOrdinals,
}

/// A stored file as the reader of Parquet takes it.
#[derive(Clone, Debug)]
pub(crate) enum SegmentBytes {
    Whole(Bytes),
    Open(StoredBytes),
}

impl SegmentBytes {
    fn open(stored: StoredBytes) -> Result<Self> {
        if stored.byte_count() > SMALL_BYTES {
            return Ok(Self::Open(stored));
        }
        let mut bytes = vec![0; usize::try_from(stored.byte_count()).unwrap_or_default()];
        stored.read_at(0, &mut bytes)?;
        Ok(Self::Whole(bytes.into()))
    }
}

impl Length for SegmentBytes {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Open(stored) => stored.byte_count(),
        }
    }
}

/// Reads a stored file from a place on.
struct SegmentReader {
    stored: StoredBytes,
    at: u64,
}

impl Read for SegmentReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.stored.byte_count().saturating_sub(self.at);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
        let target = out.get_mut(..count).unwrap_or_default();
        self.stored.read_at(self.at, target).map_err(std::io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl ChunkReader for SegmentBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(match self {
            Self::Whole(bytes) => Box::new(bytes.get_read(start)?),
            Self::Open(stored) => {
                Box::new(BufReader::new(SegmentReader { stored: stored.clone(), at: start }))
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        match self {
            Self::Whole(bytes) => bytes.get_bytes(start, length),
            Self::Open(stored) => {
                let mut bytes = vec![0; length];
                let read = stored.read_at(start, &mut bytes);
                read.map_err(|error| ParquetError::External(Box::new(error)))?;
                Ok(bytes.into())
            }
        }
    }
}

/// The error of a stored file, or of what is in it.
fn unread(error: ParquetError) -> Error {
    let ParquetError::External(cause) = error else { return broken(error) };
    let own = cause.downcast::<Error>().map(|own| *own);
    own.unwrap_or_else(|other| broken(ParquetError::External(other)))
}

/// A stored file that is open for reading its column chunks.
pub(crate) struct Segment {
    stored: SegmentBytes,
    metadata: ArrowReaderMetadata,
}

impl Segment {
    pub(crate) fn open(stored: StoredBytes) -> Result<Self> {
        let stored = SegmentBytes::open(stored)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = ArrowReaderMetadata::load(&stored, options).map_err(unread)?;
        Ok(Self { stored, metadata })
    }

    /// The rows of each row group.
    pub(crate) fn groups(&self) -> Vec<u64> {
        let groups = self.metadata.metadata().row_groups();
        groups.iter().map(|group| u64::try_from(group.num_rows()).unwrap_or_default()).collect()
    }

    /// The place of a column in the file.
    pub(crate) fn leaf(&self, name: &str) -> Result<usize> {
        self.metadata.schema().index_of(name).map_err(broken)
    }

    /// The values of a column in a row group.
    pub(crate) fn column(&self, group: usize, leaf: usize) -> Result<ArrayRef> {
        let schema = self.metadata.parquet_schema();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.stored.clone(),
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

    /// The file as the reader of Parquet takes it.
    pub(crate) fn stored(&self) -> &SegmentBytes {
        &self.stored
    }

    /// The bytes of a chunk, if they are read when they are sent.
    pub(crate) fn extent(&self, chunk: &ColumnChunkMetaData) -> Option<SegmentRange> {
        let SegmentBytes::Open(stored) = &self.stored else { return None };
        let (start, byte_count) = chunk.byte_range();
        let is_large = byte_count > SMALL_BYTES;
        is_large.then(|| SegmentRange { stored: stored.clone(), start, byte_count })
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
        let index = self.metadata.metadata().column_index();
        let index = index.and_then(|index| index.get(rows.group)?.get(leaf));
        multiplied(&self.stored, chunk, index, row_count, column, 1000).map_err(unread)
    }
}
