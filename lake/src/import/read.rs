//! Rows of data files, read by ranges: a file is never in memory as a whole.

use std::io::{Error as IoError, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use stationdb::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use stationdb::arrow::compute::cast;
use stationdb::arrow::datatypes::{DataType, Int64Type};
use stationdb::{Control, Error, ErrorKind, Result};

use super::files::DataFile;
use crate::remote::Remote;

/// Bytes of a request of a reader that goes on.
const AHEAD_BYTES: u64 = 1024 * 1024;
/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1_024;

/// A data file behind requests of ranges.
#[derive(Clone)]
struct Ranges {
    remote: Arc<Remote>,
    file: DataFile,
    control: Control,
}

impl Ranges {
    fn get(&self, from: u64, len: u64) -> ParquetResult<Bytes> {
        let end = from.saturating_add(len).min(self.file.size);
        let bytes = self.remote.get_range(&self.file.path, from..end, &self.control);
        bytes.map_err(|error| ParquetError::External(Box::new(error)))
    }
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.file.size
    }
}

/// Reads on from a place, a piece at a time.
struct Ahead {
    ranges: Ranges,
    at: u64,
    piece: Bytes,
}

impl Read for Ahead {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.piece.is_empty() && self.at < self.ranges.file.size {
            self.piece = self.ranges.get(self.at, AHEAD_BYTES).map_err(IoError::other)?;
            self.at += self.piece.len() as u64;
        }
        let count = into.len().min(self.piece.len());
        if let Some(into) = into.get_mut(..count) {
            self.piece.copy_to_slice(into);
        }
        Ok(count)
    }
}

impl ChunkReader for Ranges {
    type T = Ahead;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(Ahead { ranges: self.clone(), at: start, piece: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.get(start, length as u64)?;
        match bytes.len() == length {
            true => Ok(bytes),
            false => Err(ParquetError::EOF(format!("{} is cut", self.file.path))),
        }
    }
}

/// The error of a request inside of the decoder, or what the decoder says of the file.
fn unread(file: &DataFile, error: ParquetError) -> Error {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = source {
        if let Some(own) = inner.downcast_ref::<Error>() {
            return own.clone();
        }
        source = match inner.downcast_ref::<IoError>() {
            Some(io) => io.get_ref().map(|inner| inner as &(dyn std::error::Error + 'static)),
            None => inner.source(),
        };
    }
    Error::corrupt(format!("the data file {} of the lake cannot be read", file.path))
        .with_source(error)
}

/// A column of rows: texts or whole numbers.
pub(super) enum Column {
    Texts(StringArray),
    Numbers(Int64Array),
}

impl Column {
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(texts) if row < texts.len() && texts.is_valid(row) => {
                Some(texts.value(row))
            }
            _ => None,
        }
    }

    pub(super) fn number(&self, row: usize) -> Option<u64> {
        match self {
            Self::Numbers(numbers) if row < numbers.len() && numbers.is_valid(row) => {
                u64::try_from(numbers.value(row)).ok()
            }
            _ => None,
        }
    }
}

/// Passes on the rows of a file, some at a time, with the columns in the order of `names`.
///
/// # Errors
/// `NotFound` when the file is gone; `Corrupt` for one that cannot be decoded, or lacks a column;
/// errors of the object store, of the control and of `each`.
pub(super) fn rows(
    remote: &Arc<Remote>,
    file: &DataFile,
    names: &[&str],
    control: &Control,
    each: &mut dyn FnMut(usize, &[Column]) -> Result<()>,
) -> Result<()> {
    let failed = |error| unread(file, error);
    let ranges = Ranges { remote: remote.clone(), file: file.clone(), control: control.clone() };
    let builder = ParquetRecordBatchReaderBuilder::try_new(ranges).map_err(failed)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    let reader =
        builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(failed)?;
    for batch in reader {
        control.check()?;
        let batch = batch.map_err(|error| failed(ParquetError::ArrowError(error.to_string())))?;
        let column = |name: &&str| {
            let values = batch.column_by_name(name).ok_or_else(|| {
                let what = format!("the data file {} of the lake has no {name}", file.path);
                Error::new(ErrorKind::Corrupt, what)
            })?;
            column_of(file, values)
        };
        let columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
        each(batch.num_rows(), &columns)?;
    }
    Ok(())
}

fn column_of(file: &DataFile, values: &ArrayRef) -> Result<Column> {
    let is_number = values.data_type().is_integer();
    let wanted = if is_number { DataType::Int64 } else { DataType::Utf8 };
    let values = cast(values, &wanted).map_err(|error| {
        Error::corrupt(format!("the data file {} has a column of another type", file.path))
            .with_source(error)
    })?;
    let values: Arc<dyn Array> = values;
    Ok(match is_number {
        true => Column::Numbers(values.as_primitive::<Int64Type>().clone()),
        false => Column::Texts(values.as_string::<i32>().clone()),
    })
}
