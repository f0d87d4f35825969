//! Reading one blob: positioned, verified block by block.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

use super::format::{self, BLOCK_BYTES, CHECK_BYTES, HEADER_BYTES};
use super::own_error::own_error;
use crate::disk::{Disk, DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Control, guarded};

/// An open blob. It reads on when the blob is removed, returns no byte that it has not verified,
/// and touches only the blocks that hold what it returns.
#[derive(Debug)]
pub struct BlobReader {
    file: Box<dyn DiskFile>,
    path: String,
    id: u64,
    len: u64,
    at: u64,
    /// The block that was read last, its content with its checksum behind, and the length of the
    /// content.
    block: Option<u64>,
    buffer: Vec<u8>,
    content_len: usize,
}

impl BlobReader {
    pub(super) fn open(disk: &SharedDisk, id: u64, len: u64) -> Result<Self> {
        let path = format::path(id);
        let disk: &dyn Disk = &**disk;
        let file = disk.open(&path, Mode::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, format!("the content {path} is missing")).with_source(error)
            }
            _ => Error::io(format_args!("opening {path}"), error),
        })?;
        let attempt = |error| Error::io(format_args!("reading {path}"), error);
        let file_len = file.len().map_err(attempt)?;
        if file_len != format::file_len(len) {
            return Err(Error::corrupt(format!(
                "{path} is {file_len} bytes long and should be {}",
                format::file_len(len)
            )));
        }
        let mut header = [0; HEADER_BYTES];
        guarded("reading a content", || file.read_exact_at(&mut header, 0).map_err(attempt))?;
        if header != format::header(id) {
            return Err(Error::corrupt(format!("{path} does not start as the content {id:016x} must")));
        }
        Ok(Self { file, path, id, len, at: 0, block: None, buffer: Vec::new(), content_len: 0 })
    }

    /// Length of the content in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the content is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads content from `offset` into `buffer`; fewer bytes at the end of a block, none behind
    /// the end.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are not what was written, and what the disk fails with.
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        if offset >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let block = offset / BLOCK_BYTES as u64;
        let count = self.block_len(block);
        if offset.is_multiple_of(BLOCK_BYTES as u64)
            && self.block != Some(block)
            && let Some(room) = buffer.get_mut(..count + CHECK_BYTES)
        {
            // With room for the checksum behind it, a block needs no stop on its way.
            self.fetch(block, room)?;
            return Ok(count);
        }
        self.load(block)?;
        let from = usize::try_from(offset % BLOCK_BYTES as u64).unwrap_or(BLOCK_BYTES);
        let available = self.content().get(from..).unwrap_or_default();
        let count = available.len().min(buffer.len());
        if let (Some(target), Some(bytes)) = (buffer.get_mut(..count), available.get(..count)) {
            target.copy_from_slice(bytes);
        }
        Ok(count)
    }

    /// The content of the block that was read last.
    fn content(&self) -> &[u8] {
        self.buffer.get(..self.content_len).unwrap_or_default()
    }

    /// Writes all content to `target` and answers its length; with `hash`, compares the content
    /// with it.
    ///
    /// # Errors
    /// `Corrupt` when a byte is not what was written, what `target` fails with, and `control`'s
    /// refusals.
    pub fn copy_to(&mut self, target: &mut dyn Write, hash: Option<u128>, control: &Control) -> Result<u64> {
        self.copy_part(target, hash, control, Place { before: 0, total: self.len })?;
        Ok(self.len)
    }

    /// As [`BlobReader::copy_to`], for a part of a content: what is reported is the progress of the
    /// whole.
    pub(super) fn copy_part(
        &mut self,
        target: &mut dyn Write,
        hash: Option<u128>,
        control: &Control,
        place: Place,
    ) -> Result<()> {
        let mut hasher = hash.map(|_| Xxh3::new());
        let mut done = place.before;
        for block in 0..self.len.div_ceil(BLOCK_BYTES as u64) {
            control.check()?;
            self.load(block)?;
            if let Some(hasher) = &mut hasher {
                hasher.update(self.content());
            }
            target.write_all(self.content()).map_err(|error| own_error("writing the content to its target", error))?;
            done += self.content_len as u64;
            control.report(done, Some(place.total), "bytes");
        }
        match (hasher, hash) {
            (Some(hasher), Some(hash)) if hasher.digest128() != hash => {
                Err(Error::corrupt(format!("the content of {} does not have the hash that its record says", self.path)))
            }
            _ => Ok(()),
        }
    }

    /// Content bytes of a block.
    fn block_len(&self, block: u64) -> usize {
        let left = self.len.saturating_sub(block.saturating_mul(BLOCK_BYTES as u64));
        usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES)
    }

    /// Makes a block the one that is in the buffer.
    fn load(&mut self, block: u64) -> Result<()> {
        if self.block == Some(block) {
            return Ok(());
        }
        // Forgotten first: after a failed read the buffer holds bytes that nobody verified.
        self.block = None;
        self.content_len = self.block_len(block);
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(self.content_len + CHECK_BYTES, 0);
        let fetched = self.fetch(block, &mut buffer);
        self.buffer = buffer;
        fetched?;
        self.block = Some(block);
        Ok(())
    }

    /// Reads a block and its checksum into `room`, which has their length, and compares them.
    fn fetch(&self, block: u64, room: &mut [u8]) -> Result<()> {
        guarded("reading a content", || {
            let read = self.file.read_exact_at(room, format::block_offset(block));
            read.map_err(|error| Error::io(format_args!("reading {}", self.path), error))
        })?;
        let (content, checksum) = room.split_at(room.len().saturating_sub(CHECK_BYTES));
        if checksum != format::checksum(self.id, block, content) {
            return Err(Error::corrupt(format!(
                "the bytes from {} on of the content in {} are not what was written",
                block * BLOCK_BYTES as u64,
                self.path
            )));
        }
        Ok(())
    }
}

/// Where a blob stands in the content that it is a part of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Content bytes before it.
    pub(super) before: u64,
    /// Content bytes of the whole.
    pub(super) total: u64,
}

impl Read for BlobReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(buffer, self.at).map_err(io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = seek(to, self.at, self.len)?;
        Ok(self.at)
    }
}

/// The position that `to` means; behind the end is allowed, as with files.
pub(super) fn seek(to: SeekFrom, at: u64, len: u64) -> io::Result<u64> {
    let target = match to {
        SeekFrom::Start(offset) => Some(offset),
        SeekFrom::Current(delta) => at.checked_add_signed(delta),
        SeekFrom::End(delta) => len.checked_add_signed(delta),
    };
    target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the position is before the start of the content"))
}
