//! Positioned reads of one blob, verified block by block.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

use super::format::{self, BLOCK_BYTES, CHECK_BYTES, HEADER_BYTES};
use crate::disk::{Disk, DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Control, guarded};

/// An open blob. It stays readable when the blob is removed, returns only verified bytes, and reads
/// only the blocks that contain the requested range.
#[derive(Debug)]
pub struct BlobReader {
    file: Box<dyn DiskFile>,
    path: String,
    id: u64,
    len: u64,
    at: u64,
    /// The block in `buffer`, which has its content followed by its checksum; `content_len` is the
    /// length of the content.
    block: Option<u64>,
    buffer: Vec<u8>,
    content_len: usize,
}

impl BlobReader {
    pub(super) fn open(disk: &SharedDisk, id: u64, len: u64) -> Result<Self> {
        Self::open_at(&**disk, format::path(id), id, len)
    }

    /// Opens the file at `path`, which has the blob `id` with `len` bytes of content.
    fn open_at(disk: &dyn Disk, path: String, id: u64, len: u64) -> Result<Self> {
        let file = disk.open(&path, Mode::Read).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NotFound, format!("the content {path} is missing"))
                    .with_source(error)
            }
            _ => Error::io(format_args!("opening {path}"), error),
        })?;
        let attempt = |error| Error::io(format_args!("reading {path}"), error);
        let file_len = file.len().map_err(attempt)?;
        if file_len != format::file_len(len) {
            return Err(Error::corrupt(format!(
                "{path} has {file_len} bytes instead of {}; restore it from a backup",
                format::file_len(len)
            )));
        }
        let mut header = [0; HEADER_BYTES];
        guarded("reading a content", || file.read_exact_at(&mut header, 0).map_err(attempt))?;
        if header != format::header(id) {
            return Err(Error::corrupt(format!(
                "{path} does not start with the header of the content {id:016x}; restore it from a \
                 backup"
            )));
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

    /// Reads content from `offset` into `buffer`. Returns fewer bytes at the end of a block, and
    /// none after the end.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match their checksum; errors of the disk.
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
            // If the buffer has room for the checksum too, the block is read into it directly.
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

    /// The content of the loaded block.
    fn content(&self) -> &[u8] {
        self.buffer.get(..self.content_len).unwrap_or_default()
    }

    /// Writes the whole content to `target` and returns its length. With `hash`, the whole content
    /// is compared with it.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match their checksums or the hash; the errors of `target` and
    /// of `control`.
    pub fn copy_to(
        &mut self,
        target: &mut dyn Write,
        hash: Option<u128>,
        control: &Control,
    ) -> Result<u64> {
        self.copy_part(target, hash, control, BlobPosition { before: 0, total: self.len })?;
        Ok(self.len)
    }

    /// As [`BlobReader::copy_to`], for a part of a content; reports the progress of the whole
    /// content.
    pub(super) fn copy_part(
        &mut self,
        target: &mut dyn Write,
        hash: Option<u128>,
        control: &Control,
        place: BlobPosition,
    ) -> Result<()> {
        let mut hasher = hash.map(|_| Xxh3::new());
        let mut done = place.before;
        for block in 0..self.len.div_ceil(BLOCK_BYTES as u64) {
            control.check()?;
            self.load(block)?;
            if let Some(hasher) = &mut hasher {
                hasher.update(self.content());
            }
            target
                .write_all(self.content())
                .map_err(|error| Error::io("writing the content to its target", error))?;
            done += self.content_len as u64;
            control.report(done, Some(place.total), "bytes");
        }
        match (hasher, hash) {
            (Some(hasher), Some(hash)) if hasher.digest128() != hash => {
                Err(Error::corrupt(format!(
                    "the content of {} does not match the hash in its record; restore it from a \
                     backup",
                    self.path
                )))
            }
            _ => Ok(()),
        }
    }

    /// Number of content bytes of a block.
    fn block_len(&self, block: u64) -> usize {
        let left = self.len.saturating_sub(block.saturating_mul(BLOCK_BYTES as u64));
        usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES)
    }

    /// Reads a block into the buffer, unless it is there.
    fn load(&mut self, block: u64) -> Result<()> {
        if self.block == Some(block) {
            return Ok(());
        }
        // Cleared first: after a failed read, the buffer contains unverified bytes.
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

    /// Reads a block and its checksum into `room`, which has exactly their length, and verifies it.
    fn fetch(&self, block: u64, room: &mut [u8]) -> Result<()> {
        guarded("reading a content", || {
            let read = self.file.read_exact_at(room, format::block_offset(block));
            read.map_err(|error| Error::io(format_args!("reading {}", self.path), error))
        })?;
        let (content, checksum) = room.split_at(room.len().saturating_sub(CHECK_BYTES));
        if checksum != format::checksum(self.id, block, content) {
            return Err(Error::corrupt(format!(
                "the block at byte {} of the content in {} does not match its checksum; restore it \
                 from a backup",
                block * BLOCK_BYTES as u64,
                self.path
            )));
        }
        Ok(())
    }
}

/// Checks every byte of the file at `path`: that it has the blob `id`, with `len` bytes of content
/// of which `hash` is the XXH3-128.
///
/// # Errors
/// `Corrupt` if it has not; `NotFound` if it is missing; `Io`; the errors of `control`.
pub(crate) fn check_blob(
    disk: &dyn Disk,
    path: &str,
    id: u64,
    len: u64,
    hash: u128,
    control: &Control,
) -> Result<()> {
    let mut reader = BlobReader::open_at(disk, path.to_owned(), id, len)?;
    reader.copy_to(&mut io::sink(), Some(hash), &control.without_progress()).map(|_| ())
}

/// The position of a blob in the content of which it is a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlobPosition {
    /// Number of content bytes before it.
    pub(super) before: u64,
    /// Number of bytes of the whole content.
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

/// The position that `to` refers to. It may be after the end, as for files.
pub(super) fn seek(to: SeekFrom, at: u64, len: u64) -> io::Result<u64> {
    let target = match to {
        SeekFrom::Start(offset) => Some(offset),
        SeekFrom::Current(delta) => at.checked_add_signed(delta),
        SeekFrom::End(delta) => len.checked_add_signed(delta),
    };
    target.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "the position is before the start of the content",
        )
    })
}
