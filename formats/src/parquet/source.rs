//! Random access to an external Parquet file. A failed read keeps its error, because the parser
//! passes on only its text.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use stationdb::{Error, Result};

/// The input of a Parquet import: a file, a cursor, or any other reader that can seek.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send + ?Sized> ReadSeek for T {}

/// The file, with random access.
pub(super) struct ParquetSource {
    input: Mutex<Box<dyn ReadSeek>>,
    pub(super) len: u64,
    failure: Mutex<Option<Error>>,
}

impl ParquetSource {
    pub(super) fn new(mut input: Box<dyn ReadSeek>) -> Result<Self> {
        let len = input.seek(SeekFrom::End(0)).map_err(io)?;
        Ok(Self { input: Mutex::new(input), len, failure: Mutex::new(None) })
    }

    /// Reads bytes of the file. A range beyond its end fails before memory is allocated.
    pub(super) fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        if at.checked_add(len as u64).is_none_or(|end| end > self.len) {
            return Err(damaged("it refers to bytes beyond its end"));
        }
        let mut bytes = vec![0; len];
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        input.seek(SeekFrom::Start(at)).and_then(|_| input.read_exact(&mut bytes)).map_err(io)?;
        Ok(bytes)
    }

    /// The error of the input or of a check, if it made the parser fail. Otherwise what the parser
    /// says is the source: it has terms of its code.
    pub(super) fn error(&self, error: impl std::error::Error + Send + Sync + 'static) -> Error {
        let below = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        below.unwrap_or_else(|| {
            let text = error.to_string();
            let known = [("UTF-8", "a text is not UTF-8"), ("NYI", "a page has an unknown form")];
            let told = known.iter().find(|(part, _)| text.contains(part));
            damaged(told.map_or("a page cannot be decoded", |(_, told)| told)).with_source(error)
        })
    }

    pub(super) fn fail(&self, error: Error) -> String {
        let text = error.to_string();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        text
    }
}

pub(super) fn io(error: std::io::Error) -> Error {
    Error::io("reading the Parquet file", error)
}

pub(super) fn damaged(why: &str) -> Error {
    Error::invalid(format!("the bytes are not a readable Parquet file: {why}"))
}

/// Reads sequentially from a position, for the parser of page headers.
pub(super) struct SourceReader {
    source: Arc<ParquetSource>,
    at: u64,
}

impl Read for SourceReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = usize::try_from(self.source.len.saturating_sub(self.at))
            .unwrap_or(usize::MAX)
            .min(out.len());
        let bytes = self
            .source
            .read(self.at, len)
            .map_err(|error| std::io::Error::other(self.source.fail(error)))?;
        if let Some(target) = out.get_mut(..len) {
            target.copy_from_slice(&bytes);
        }
        self.at += len as u64;
        Ok(len)
    }
}

/// The adapter that the parser reads from.
pub(super) struct Chunks(pub(super) Arc<ParquetSource>);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<SourceReader>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(SourceReader { source: self.0.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, len: usize) -> ParquetResult<Bytes> {
        self.0
            .read(start, len)
            .map(Bytes::from)
            .map_err(|error| ParquetError::General(self.0.fail(error)))
    }
}
