//! Files with a CRC-32 for every block of 16 KiB, computed while writing and verified while
//! reading.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use crate::disk::DiskFile;
use crate::error::{Error, Result};
use crate::value::Control;
use crate::value::id::hex;

/// Bytes under one checksum: small enough that reading one page does not require verifying a
/// megabyte.
pub(super) const CRC_BLOCK: usize = 16 * 1024;
const WRITE_BYTES: usize = 1024 * 1024;
/// Bytes that are read before they are verified: few enough to stay in the cache of a processor.
const READ_BYTES: usize = 16 * CRC_BLOCK;

/// Writes a new file sequentially, and computes its checksums.
pub(super) struct HashingFile {
    file: Box<dyn DiskFile>,
    name: String,
    pending: Vec<u8>,
    written: u64,
    hasher: Xxh3,
    crcs: Vec<u32>,
}

/// A completely written file.
pub(super) struct WrittenFile {
    pub len: u64,
    pub hash: String,
    pub crcs: Vec<u32>,
    pub file: Box<dyn DiskFile>,
}

impl HashingFile {
    pub(super) fn new(file: Box<dyn DiskFile>, name: String) -> Self {
        Self {
            file,
            name,
            pending: Vec::with_capacity(WRITE_BYTES),
            written: 0,
            hasher: Xxh3::new(),
            crcs: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.written + self.pending.len() as u64
    }

    fn flush_blocks(&mut self, all: bool) -> io::Result<()> {
        let len = if all { self.pending.len() } else { self.pending.len() / CRC_BLOCK * CRC_BLOCK };
        let (head, rest) = self.pending.split_at(len);
        if head.is_empty() {
            return Ok(());
        }
        self.hasher.update(head);
        self.crcs.extend(head.chunks(CRC_BLOCK).map(crc32fast::hash));
        self.file.write_all_at(head, self.written)?;
        self.written += len as u64;
        let rest = rest.to_vec();
        self.pending.clear();
        self.pending.extend_from_slice(&rest);
        Ok(())
    }

    /// Writes the remaining bytes and syncs the file.
    pub(super) fn finish(mut self) -> Result<WrittenFile> {
        let outcome = self.flush_blocks(true).and_then(|()| self.file.sync_all());
        outcome.map_err(|error| {
            Error::io(format_args!("writing the segment file {}", self.name), error)
        })?;
        Ok(WrittenFile {
            len: self.written,
            hash: hex(&self.hasher.digest128().to_be_bytes()),
            crcs: self.crcs,
            file: self.file,
        })
    }

    /// The checksums of the bytes written so far, as if the file ended here.
    pub(super) fn crcs_so_far(&self) -> Vec<u32> {
        let mut crcs = self.crcs.clone();
        crcs.extend(self.pending.chunks(CRC_BLOCK).map(crc32fast::hash));
        crcs
    }
}

impl Write for HashingFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(data);
        if self.pending.len() >= WRITE_BYTES {
            self.flush_blocks(false)?;
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the checksums of the blocks of a file, after comparing the whole file with its length
/// and its XXH3-128.
///
/// # Errors
/// `Corrupt` when the file is not what was written; `Io`; the errors of `control`.
pub(super) fn crcs_of(
    file: &dyn DiskFile,
    name: &str,
    len: u64,
    hash: &str,
    control: &Control,
) -> Result<Vec<u32>> {
    let attempt = |error| Error::io(format_args!("reading {name}"), error);
    let found = file.len().map_err(attempt)?;
    if found != len {
        return Err(Error::corrupt(format!("{name} has {found} bytes instead of {len}")));
    }
    let (mut hasher, mut crcs, mut block) = (Xxh3::new(), Vec::new(), vec![0; CRC_BLOCK]);
    let mut at = 0;
    while at < len {
        control.check()?;
        let size = usize::try_from(len - at).unwrap_or(CRC_BLOCK).min(CRC_BLOCK);
        let part = block.get_mut(..size).unwrap_or_default();
        file.read_exact_at(part, at).map_err(attempt)?;
        hasher.update(part);
        crcs.push(crc32fast::hash(part));
        at += size as u64;
    }
    if hex(&hasher.digest128().to_be_bytes()) != hash {
        return Err(Error::corrupt(format!("the bytes of {name} are not what was written")));
    }
    Ok(crcs)
}

/// Reads a file whose checksums are known.
#[derive(Debug)]
pub(super) struct CheckedFile {
    file: Box<dyn DiskFile>,
    name: String,
    len: u64,
    crcs: Vec<u32>,
    /// One bit for each block that was verified since the file was opened, and is not verified
    /// again.
    checked: Vec<AtomicU64>,
}

impl CheckedFile {
    pub(super) fn new(
        file: Box<dyn DiskFile>,
        name: String,
        len: u64,
        crcs: Vec<u32>,
    ) -> Result<Self> {
        if crcs.len() as u64 != len.div_ceil(CRC_BLOCK as u64) {
            return Err(Error::corrupt(format!("the checksums of {name} do not cover the file")));
        }
        let checked = (0..crcs.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { file, name, len, crcs, checked })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn is_checked(&self, block: usize) -> bool {
        self.checked
            .get(block / 64)
            .is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1)
    }

    fn fill(&self, buffer: &mut [u8], from: u64) -> Result<()> {
        self.file.read_exact_at(buffer, from).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Error::corrupt(format!("{} is shorter than it was written", self.name))
            }
            _ => Error::io(format_args!("reading {}", self.name), error),
        })
    }

    /// Returns the bytes from `start` on, after verifying their blocks.
    pub(super) fn read(&self, start: u64, len: usize) -> Result<Bytes> {
        let mut buffer = Vec::new();
        let skip = self.read_into(start, len, &mut buffer)?;
        Ok(Bytes::from(buffer).slice(skip..skip + len))
    }

    /// Reads the bytes from `start` on into `buffer`, after verifying their blocks; returns their
    /// offset in it. The other bytes of the buffer have no meaning; the buffer only grows.
    pub(super) fn read_into(&self, start: u64, len: usize, buffer: &mut Vec<u8>) -> Result<usize> {
        let end =
            start.checked_add(len as u64).filter(|&end| end <= self.len).ok_or_else(|| {
                Error::corrupt(format!("{} refers to bytes beyond its end", self.name))
            })?;
        let block = CRC_BLOCK as u64;
        let (first, last) = ((start / block) as usize, end.div_ceil(block) as usize);
        let mut provide = |len: usize| {
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
        };
        if (first..last).all(|block| self.is_checked(block)) {
            provide(len);
            self.fill(buffer.get_mut(..len).unwrap_or_default(), start)?;
            return Ok(0);
        }
        let from = start / block * block;
        let to = end.div_ceil(block).saturating_mul(block).min(self.len);
        let whole = (to - from) as usize;
        provide(whole);
        let bytes = buffer.get_mut(..whole).unwrap_or_default();
        self.fill(bytes, from)?;
        self.verify(first, bytes)?;
        Ok((start - from) as usize)
    }

    /// Verifies the bytes of blocks, from the block `first` on.
    fn verify(&self, first: usize, bytes: &[u8]) -> Result<()> {
        for ((number, crc), chunk) in
            self.crcs.iter().enumerate().skip(first).zip(bytes.chunks(CRC_BLOCK))
        {
            if crc32fast::hash(chunk) != *crc {
                return Err(Error::corrupt(format!(
                    "{} is damaged near byte {}: a checksum does not match; restore the table from \
                     a backup",
                    self.name,
                    number as u64 * CRC_BLOCK as u64
                )));
            }
            if let Some(word) = self.checked.get(number / 64) {
                word.fetch_or(1 << (number % 64), Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Fills `out` with the bytes from `start` on, after verifying their blocks.
    pub(super) fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (start, out);
        while !rest.is_empty() {
            let is_to_end = self.len.checked_sub(at) == Some(rest.len() as u64);
            let whole = if is_to_end { rest.len() } else { rest.len() / CRC_BLOCK * CRC_BLOCK };
            let before = (at % CRC_BLOCK as u64) as usize;
            let is_whole = before == 0 && whole > 0;
            let size =
                if is_whole { whole.min(READ_BYTES) } else { rest.len().min(CRC_BLOCK - before) };
            let (piece, after) = std::mem::take(&mut rest).split_at_mut(size);
            if is_whole {
                // Whole blocks are read to their place.
                self.fill(piece, at)?;
                let first = (at / CRC_BLOCK as u64) as usize;
                if !(first..first + size.div_ceil(CRC_BLOCK)).all(|block| self.is_checked(block)) {
                    self.verify(first, piece)?;
                }
            } else {
                piece.copy_from_slice(&self.read(at, size)?);
            }
            at += size as u64;
            rest = after;
        }
        Ok(())
    }
}
