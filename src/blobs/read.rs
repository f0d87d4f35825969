//! Positioned reads of one blob, verified block by block.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

use super::format::{self, BLOCK_BYTES, CHECKS_BYTES, HEADER_BYTES, PIECE_BYTES};
use crate::disk::{Disk, DiskFile, Mode, SharedDisk};
use crate::error::{Error, ErrorKind, Result};
use crate::value::{Control, guarded};

/// An open blob. It stays readable when the blob is removed, and returns only verified bytes. Reads
/// that follow each other read whole blocks, others only the pieces that contain the range.
#[derive(Debug)]
pub struct BlobReader {
    file: Box<dyn DiskFile>,
    path: String,
    id: u64,
    len: u64,
    at: u64,
    /// The end of what was read last.
    read_end: u64,
    /// Position in the content of the first `held_len` bytes of `buffer`, which are verified and
    /// start with a piece.
    held: u64,
    held_len: usize,
    buffer: Vec<u8>,
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
        let (at, read_end, held, held_len) = (0, 0, 0, 0);
        Ok(Self { file, path, id, len, at, read_end, held, held_len, buffer: Vec::new() })
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
        let in_block = usize::try_from(offset % BLOCK_BYTES as u64).unwrap_or_default();
        let left = self.block_len(block).saturating_sub(in_block);
        let count = left.min(buffer.len());
        let target = buffer.get_mut(..count).unwrap_or_default();
        if self.held(offset).is_empty() && in_block == 0 && count == left {
            // A whole block is read without a copy.
            self.fetch(offset, count, target)?;
            self.read_end = offset + count as u64;
            return Ok(count);
        }
        if self.held(offset).is_empty() {
            let before = in_block % PIECE_BYTES;
            // Of reads that follow each other the rest of the block is wanted next.
            let wanted = if offset == self.read_end { left } else { count };
            let pieces = (before + wanted).next_multiple_of(PIECE_BYTES).min(before + left);
            self.load(offset - before as u64, pieces)?;
        }
        let held = self.held(offset);
        let count = held.len().min(target.len());
        if let (Some(target), Some(bytes)) = (target.get_mut(..count), held.get(..count)) {
            target.copy_from_slice(bytes);
        }
        self.read_end = offset + count as u64;
        Ok(count)
    }

    /// The bytes from `offset` on that are in the buffer.
    fn held(&self, offset: u64) -> &[u8] {
        let held = self.buffer.get(..self.held_len).unwrap_or_default();
        let from = offset.checked_sub(self.held).and_then(|from| usize::try_from(from).ok());
        from.and_then(|from| held.get(from..)).unwrap_or_default()
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
            let offset = block * BLOCK_BYTES as u64;
            let len = self.block_len(block);
            if (self.held, self.held_len) != (offset, len) {
                self.load(offset, len)?;
            }
            let content = self.held(offset);
            if let Some(hasher) = &mut hasher {
                hasher.update(content);
            }
            target
                .write_all(content)
                .map_err(|error| Error::io("writing the content to its target", error))?;
            done += len as u64;
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

    /// Reads `len` bytes from `offset` on, pieces of one block, into the buffer.
    fn load(&mut self, offset: u64, len: usize) -> Result<()> {
        // Emptied first: after a failed read, the buffer contains unverified bytes.
        self.held_len = 0;
        let mut buffer = std::mem::take(&mut self.buffer);
        // With room for the checksums, which follow the content of a whole block.
        if buffer.len() < len + CHECKS_BYTES {
            buffer.resize(len + CHECKS_BYTES, 0);
        }
        let fetched = self.fetch(offset, len, &mut buffer);
        self.buffer = buffer;
        fetched?;
        (self.held, self.held_len) = (offset, len);
        Ok(())
    }

    /// Reads `len` bytes from `offset` on into the start of `room`, and verifies them. They are
    /// whole pieces of one block, up to the end of the content.
    fn fetch(&self, offset: u64, len: usize, room: &mut [u8]) -> Result<()> {
        let block = offset / BLOCK_BYTES as u64;
        let from = usize::try_from(offset % BLOCK_BYTES as u64).unwrap_or_default();
        let start = format::block_offset(block);
        let checks_len = format::checks_len(len);
        let read = |room: &mut [u8], at: u64| {
            guarded("reading a content", || {
                let read = self.file.read_exact_at(room, at);
                read.map_err(|error| Error::io(format_args!("reading {}", self.path), error))
            })
        };
        let mut apart = [0; CHECKS_BYTES];
        let (content, checks): (&[u8], &[u8]) = if from == 0
            && len == self.block_len(block)
            && let Some(room) = room.get_mut(..len + checks_len)
        {
            read(room, start)?;
            room.split_at(len)
        } else {
            let content = room.get_mut(..len).unwrap_or_default();
            let checks = apart.get_mut(..checks_len).unwrap_or_default();
            let checks_start = self.block_len(block) + format::checks_len(from);
            read(content, start + from as u64)?;
            read(checks, start + checks_start as u64)?;
            (content, checks)
        };
        let (checks, _) = checks.as_chunks::<{ format::CHECK_BYTES }>();
        let first = offset / PIECE_BYTES as u64;
        // Compared with their number: nothing is returned that has no checksum.
        if checks.iter().copied().eq(format::checksums(self.id, first, content)) {
            return Ok(());
        }
        let found = format::checksums(self.id, first, content);
        let sound = checks.iter().zip(found).take_while(|(check, found)| *check == found).count();
        Err(Error::corrupt(format!(
            "the piece at byte {} of the content in {} does not match its checksum; restore it \
             from a backup",
            offset + (sound * PIECE_BYTES) as u64,
            self.path
        )))
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
