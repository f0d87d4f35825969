//! Random access to a file, through blocks that are kept.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

use stationdb::{Error, Result};

use crate::parquet::ReadSeek;

/// Bytes of a block.
const BLOCK: u64 = 128 * 1024;
/// Blocks that are kept, at most and at least.
const BLOCKS: usize = 256;
const BLOCKS_MIN: usize = 8;
/// Bytes from which a read goes past the blocks, and the same where there are more columns than
/// blocks, so that a block would be gone before the next rows of its column are read.
const DIRECT: u64 = 32 * 1024;
const DIRECT_OF_MANY: u64 = 1024;
/// Bytes of a read that goes past the blocks: they stay in the cache of the processor.
const PIECE: u64 = 256 * 1024;
/// Bytes of a read of metadata, at most and at least, unless more are asked for.
const HEAD: u64 = 8 * 1024;
const HEAD_MIN: u64 = 256;
/// Bytes of the largest value.
pub(super) const VALUE_BYTES: usize = 16;

/// An error of the bytes of a file.
pub(super) fn damaged(at: u64, why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("the TDMS file is damaged at byte {at}: {why}"))
}

/// Values that lie at equal steps in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// The first byte of the first value.
    pub(super) at: u64,
    /// Bytes from one value to the next one.
    pub(super) stride: u64,
    /// Bytes of a value, at most [`VALUE_BYTES`].
    pub(super) size: usize,
    /// How many there are.
    pub(super) count: u64,
}

struct Block {
    bytes: Vec<u8>,
    used: u64,
}

/// A file.
pub(super) struct Input {
    file: Box<dyn ReadSeek>,
    pub(super) len: u64,
    blocks: HashMap<u64, Block>,
    kept: usize,
    direct: u64,
    /// Counts the uses of blocks.
    clock: u64,
    head: Vec<u8>,
    head_at: u64,
    /// Bytes of the last read of metadata that were asked for.
    head_used: u64,
    piece: Vec<u8>,
}

impl Input {
    /// # Errors
    /// `Io`.
    pub(super) fn new(mut file: Box<dyn ReadSeek>) -> Result<Self> {
        let len = file.seek(SeekFrom::End(0)).map_err(io)?;
        let (blocks, head, piece) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Self {
            file,
            len,
            blocks,
            kept: BLOCKS,
            direct: DIRECT,
            clock: 0,
            head,
            head_at: 0,
            head_used: HEAD,
            piece,
        })
    }

    /// Keeps the blocks that have so many bytes, and one for each column, as far as the bound goes.
    /// Fewer blocks stay in the cache of the processor.
    pub(super) fn keep(&mut self, bytes: u64, columns: u64) {
        let blocks = bytes.div_ceil(BLOCK).max(columns + 1);
        self.kept = usize::try_from(blocks).unwrap_or(BLOCKS).clamp(BLOCKS_MIN, BLOCKS);
        self.direct = if columns < BLOCKS as u64 { DIRECT } else { DIRECT_OF_MANY };
        self.blocks.clear();
    }

    /// # Errors
    /// `InvalidArgument` beyond the end of the file.
    fn check(&self, at: u64, len: u64) -> Result<()> {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(damaged(at, "it refers to bytes beyond its end"));
        }
        Ok(())
    }

    fn fill(&mut self, at: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        self.check(at, len)?;
        out.resize(len as usize, 0);
        self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(out)).map_err(io)
    }

    /// Reads bytes into `out`.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` beyond the end of the file.
    pub(super) fn copy(&mut self, mut at: u64, mut out: &mut [u8]) -> Result<()> {
        if out.len() as u64 >= self.direct {
            self.check(at, out.len() as u64)?;
            let read = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.read_exact(out));
            return read.map_err(io);
        }
        while !out.is_empty() {
            let bytes = self.block(at)?;
            let (taken, rest) = out.split_at_mut(bytes.len().min(out.len()));
            taken.copy_from_slice(bytes.get(..taken.len()).unwrap_or_default());
            at += taken.len() as u64;
            out = rest;
        }
        Ok(())
    }

    /// Bytes of metadata, which are read once in the order of the file. What is next to them is
    /// read with them.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` beyond the end of the file.
    pub(super) fn head(&mut self, at: u64, len: u64) -> Result<&[u8]> {
        let kept = |at: u64| usize::try_from(at.checked_sub(self.head_at)?).ok();
        let is_kept = kept(at)
            .and_then(|from| from.checked_add(len as usize))
            .is_some_and(|end| end <= self.head.len());
        if !is_kept {
            // As much as the segment before needed: small segments have small metadata.
            let ahead = self.head_used.next_multiple_of(HEAD_MIN).min(HEAD);
            let ahead = len.max(ahead.min(self.len.saturating_sub(at)));
            let mut head = std::mem::take(&mut self.head);
            self.fill(at, ahead, &mut head)?;
            (self.head, self.head_at, self.head_used) = (head, at, 0);
        }
        let from = (at - self.head_at) as usize;
        self.head_used = self.head_used.max(from as u64 + len);
        self.head
            .get(from..from + len as usize)
            .ok_or_else(|| damaged(at, "it refers to bytes beyond its end"))
    }

    /// The kept bytes from a position to the end of its block.
    fn block(&mut self, at: u64) -> Result<&[u8]> {
        let number = at / BLOCK;
        self.clock += 1;
        if !self.blocks.contains_key(&number) {
            let mut bytes = Vec::new();
            if self.blocks.len() >= self.kept {
                let oldest = self.blocks.iter().min_by_key(|(_, block)| block.used);
                if let Some(oldest) = oldest.map(|(number, _)| *number) {
                    bytes =
                        self.blocks.remove(&oldest).map(|block| block.bytes).unwrap_or_default();
                }
            }
            let start = number * BLOCK;
            let len = BLOCK.min(self.len.saturating_sub(start));
            self.fill(start, len, &mut bytes)?;
            self.blocks.insert(number, Block { bytes, used: 0 });
        }
        let block = self.blocks.get_mut(&number);
        let beyond = || damaged(at, "it refers to bytes beyond its end");
        let block = block.ok_or_else(beyond)?;
        block.used = self.clock;
        let from = (at % BLOCK) as usize;
        block.bytes.get(from..).filter(|bytes| !bytes.is_empty()).ok_or_else(beyond)
    }

    /// Appends bytes to `out`.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` beyond the end of the file.
    pub(super) fn read(&mut self, mut at: u64, mut len: u64, out: &mut Vec<u8>) -> Result<()> {
        while len > 0 {
            let bytes = self.block(at)?;
            let taken = bytes.get(..len.min(bytes.len() as u64) as usize).unwrap_or(bytes);
            out.extend_from_slice(taken);
            (at, len) = (at + taken.len() as u64, len - taken.len() as u64);
        }
        Ok(())
    }

    /// Passes values to `each`, several at a time, in slices that begin with a value and whose
    /// values lie at the stride of the spread.
    ///
    /// # Errors
    /// `Io`; `InvalidArgument` beyond the end of the file; those of `each`.
    pub(super) fn values(
        &mut self,
        spread: Spread,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Spread { mut at, stride, size, mut count } = spread;
        let width = size as u64;
        if stride == width && count.saturating_mul(width) >= self.direct {
            let mut piece = std::mem::take(&mut self.piece);
            while count > 0 {
                let taken = count.min(PIECE / width);
                self.fill(at, taken * width, &mut piece)?;
                each(&piece)?;
                (at, count) = (at + taken * width, count - taken);
            }
            self.piece = piece;
            return Ok(());
        }
        while count > 0 {
            let bytes = self.block(at)?;
            let whole = (bytes.len() as u64).checked_sub(width).map_or(0, |rest| rest / stride + 1);
            let taken = whole.min(count);
            if taken == 0 {
                // The value lies across two blocks.
                let mut value = Vec::with_capacity(VALUE_BYTES);
                self.read(at, width, &mut value)?;
                each(&value)?;
                (at, count) = (at + stride, count - 1);
                continue;
            }
            let end = ((taken - 1) * stride + width) as usize;
            each(bytes.get(..end).unwrap_or(bytes))?;
            (at, count) = (at + taken * stride, count - taken);
        }
        Ok(())
    }
}

fn io(error: std::io::Error) -> Error {
    Error::io("reading the TDMS file", error)
}
