//! A Parquet file in an object store, read by ranges: it is never in memory as a whole.

use std::io::{Error as IoError, Read};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use object_store::path::Path;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use stationdb::{Control, Error};

use crate::remote::Remote;

/// Bytes of a request of a reader that goes on.
const AHEAD_BYTES: u64 = 1024 * 1024;

/// A data file behind requests of ranges.
#[derive(Clone)]
pub(crate) struct Ranges {
    pub remote: Arc<Remote>,
    pub path: Path,
    pub size: u64,
    pub control: Control,
}

impl Ranges {
    fn get(&self, from: u64, len: u64) -> ParquetResult<Bytes> {
        let end = from.saturating_add(len).min(self.size);
        let bytes = self.remote.get_range(&self.path, from..end, &self.control);
        bytes.map_err(|error| ParquetError::External(Box::new(error)))
    }
}

impl Length for Ranges {
    fn len(&self) -> u64 {
        self.size
    }
}

/// Reads on from a place, a piece at a time.
pub(crate) struct RangeReader {
    ranges: Ranges,
    at: u64,
    piece: Bytes,
}

impl Read for RangeReader {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.piece.is_empty() && self.at < self.ranges.size {
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
    type T = RangeReader;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(RangeReader { ranges: self.clone(), at: start, piece: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.get(start, length as u64)?;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(ParquetError::EOF(format!("{} is cut", self.path)))
        }
    }
}

/// The error of a request inside of the decoder, or what the decoder says of the file.
pub(crate) fn unread(path: &Path, error: ParquetError) -> Error {
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
    Error::corrupt(format!("the data file {path} of the lake cannot be read")).with_source(error)
}
