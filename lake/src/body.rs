//! The bytes of a file of the lake before they are uploaded: what was made here is in memory, and
//! what is taken over from a stored file is read when it is sent.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use stationdb::tables::StoredBytes;
use stationdb::{Error, ErrorKind, Result};

/// Bytes of a stored file that are in a file of the lake.
#[derive(Clone, Debug)]
pub(crate) struct SegmentRange {
    pub stored: StoredBytes,
    pub start: u64,
    pub byte_count: u64,
}

#[derive(Debug)]
enum BodyPiece {
    Made(Bytes),
    Taken(SegmentRange),
}

/// The bytes of a file, which can be read as often as it is sent.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// The pieces, each with the place of its first byte.
    pieces: Vec<(u64, BodyPiece)>,
    byte_count: u64,
    cost: Cost,
}

/// What a file holds until it is uploaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Bytes in memory.
    pub made: u64,
    /// Pieces of stored files, which stay open.
    pub taken: usize,
}

impl Body {
    pub(crate) fn byte_count(&self) -> u64 {
        self.byte_count
    }

    pub(crate) fn cost(&self) -> Cost {
        self.cost
    }

    fn push(&mut self, piece: BodyPiece) {
        let count = match &piece {
            BodyPiece::Made(bytes) => {
                self.cost.made += bytes.len() as u64;
                bytes.len() as u64
            }
            BodyPiece::Taken(extent) => {
                self.cost.taken += 1;
                extent.byte_count
            }
        };
        self.pieces.push((self.byte_count, piece));
        self.byte_count += count;
    }

    /// Fills `out` with the bytes from `start` on.
    ///
    /// # Errors
    /// `Corrupt` and `Io` of the stored files.
    pub(crate) fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let first = self.pieces.partition_point(|(at, _)| *at <= start).saturating_sub(1);
        let (mut at, mut rest) = (start, out);
        for (from, piece) in self.pieces.iter().skip(first) {
            let skip = at - from;
            let left = match piece {
                BodyPiece::Made(bytes) => (bytes.len() as u64).saturating_sub(skip),
                BodyPiece::Taken(extent) => extent.byte_count.saturating_sub(skip),
            };
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
            let (target, after) = rest.split_at_mut(count);
            match piece {
                BodyPiece::Made(bytes) => {
                    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
                    let source = bytes.get(skip..).and_then(|bytes| bytes.get(..count));
                    target.copy_from_slice(source.ok_or_else(ended)?);
                }
                BodyPiece::Taken(extent) => extent.stored.read_at(extent.start + skip, target)?,
            }
            at += count as u64;
            rest = after;
            if rest.is_empty() {
                return Ok(());
            }
        }
        if rest.is_empty() { Ok(()) } else { Err(ended()) }
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Io, "a file of the lake has fewer bytes than it should have")
}

#[derive(Debug, Default)]
struct BodyBuilder {
    body: Body,
    /// What was written after the last piece.
    made: Vec<u8>,
    /// What is taken over, by the place of its first byte in the file.
    promised: VecDeque<(u64, SegmentRange)>,
    written: u64,
}

/// What the writer of a file writes to. The writer computes where each chunk is, so chunks that are
/// taken over go through it too, as zeros: [`Sink::promise`] says what stands in their place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sink(Arc<Mutex<BodyBuilder>>);

impl Sink {
    fn growing(&self) -> MutexGuard<'_, BodyBuilder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that are written from the place `at` of the file on are those of `extent`. Places
    /// ascend, and are not before what was written.
    pub(crate) fn promise(&self, at: u64, extent: SegmentRange) {
        self.growing().promised.push_back((at, extent));
    }

    /// What was written so far.
    pub(crate) fn cost(&self) -> Cost {
        let growing = self.growing();
        let Cost { made, taken } = growing.body.cost;
        Cost { made: made + growing.made.len() as u64, taken: taken + growing.promised.len() }
    }

    /// What was written.
    ///
    /// # Errors
    /// `Io` if not all that was promised was written.
    pub(crate) fn finish(self) -> Result<Body> {
        let mut growing = std::mem::take(&mut *self.growing());
        if !growing.promised.is_empty() {
            return Err(ended());
        }
        growing.end_made();
        Ok(growing.body)
    }
}

impl BodyBuilder {
    fn end_made(&mut self) {
        if !self.made.is_empty() {
            self.body.push(BodyPiece::Made(std::mem::take(&mut self.made).into()));
        }
    }
}

impl Write for Sink {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        let mut growing = self.growing();
        let at = growing.written;
        let next = growing.promised.front().map(|(from, extent)| (*from, extent.byte_count));
        let count = match next {
            Some((from, byte_count)) if from <= at => {
                let end = from + byte_count;
                let count = usize::try_from(end - at).unwrap_or(usize::MAX).min(data.len());
                if at + count as u64 == end {
                    growing.end_made();
                    if let Some((_, extent)) = growing.promised.pop_front() {
                        growing.body.push(BodyPiece::Taken(extent));
                    }
                }
                count
            }
            next => {
                let before = next.map_or(u64::MAX, |(from, _)| from - at);
                let count = usize::try_from(before).unwrap_or(usize::MAX).min(data.len());
                growing.made.extend_from_slice(data.get(..count).unwrap_or_default());
                count
            }
        };
        growing.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// As many zeros as are asked for.
pub(crate) struct Zeros;

/// Reads zeros into buffers that have them, which a buffer of a copy has: writing them again would
/// take time.
pub(crate) struct ZeroReader;

impl Read for ZeroReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        Ok(out.len())
    }
}

impl Length for Zeros {
    fn len(&self) -> u64 {
        u64::MAX
    }
}

impl ChunkReader for Zeros {
    type T = ZeroReader;

    fn get_read(&self, _start: u64) -> std::result::Result<Self::T, ParquetError> {
        Ok(ZeroReader)
    }

    fn get_bytes(&self, _start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        Ok(vec![0; length].into())
    }
}
