//! Content as its record describes it: bytes from the record file, or a row of blobs one behind the other.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::xxh3_128;

use super::read::{BlobReader, seek};
use super::store::own_error;
use super::{BlobInfo, BlobStore};
use crate::error::{Error, Result};
use crate::value::Control;

/// A blob that is one part of a content.
pub type Part = BlobInfo;

/// Verified content as a `Read + Seek` handle.
///
/// It was opened on what the record named at that moment, and reads that to its end whatever happens to the record.
#[derive(Debug)]
pub struct ContentReader {
    source: Source,
    len: u64,
    at: u64,
}

#[derive(Debug)]
enum Source {
    Small(Vec<u8>),
    Parts(Vec<OpenPart>),
}

#[derive(Debug)]
struct OpenPart {
    start: u64,
    hash: u128,
    reader: BlobReader,
}

impl ContentReader {
    /// Content that lives in the record file.
    ///
    /// # Errors
    /// `Corrupt` when the bytes do not have this hash.
    pub fn small(bytes: Vec<u8>, hash: u128) -> Result<Self> {
        if xxh3_128(&bytes) != hash {
            return Err(Error::corrupt("a small content does not have the hash that its record says"));
        }
        Ok(Self { len: bytes.len() as u64, source: Source::Small(bytes), at: 0 })
    }

    /// Content that lives in blobs. All are opened now, so that their removal does not disturb the reader.
    ///
    /// # Errors
    /// `Corrupt` when the stored description of the content is damaged; `Io` when the file cannot be read.
    pub fn parts(blobs: &BlobStore, parts: &[Part]) -> Result<Self> {
        let mut open = Vec::with_capacity(parts.len());
        let mut len = 0;
        for part in parts {
            open.push(OpenPart { start: len, hash: part.hash, reader: blobs.read(part.id, part.len)? });
            len += part.len;
        }
        Ok(Self { source: Source::Parts(open), len, at: 0 })
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

    /// Reads from `offset` into `buffer`; fewer bytes at the end of a block, none behind the end.
    ///
    /// # Errors
    /// `Corrupt` when the bytes are not what was written, and what the disk fails with.
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        match &mut self.source {
            Source::Small(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let available = bytes.get(from..).unwrap_or_default();
                let count = available.len().min(buffer.len());
                if let (Some(target), Some(now)) = (buffer.get_mut(..count), available.get(..count)) {
                    target.copy_from_slice(now);
                }
                Ok(count)
            }
            Source::Parts(parts) => {
                let index = parts.partition_point(|part| part.start <= offset);
                match index.checked_sub(1).and_then(|index| parts.get_mut(index)) {
                    Some(part) => part.reader.read_at(buffer, offset - part.start),
                    None => Ok(0),
                }
            }
        }
    }

    /// Writes all content to `target`, whatever the position; each byte was verified before it is written.
    ///
    /// # Errors
    /// `Corrupt` when a byte is not what was written, what `target` fails with, and `control`'s refusals.
    pub fn copy_to(&mut self, target: &mut dyn Write, control: &Control) -> Result<u64> {
        self.copy(target, control, false)
    }

    /// Reads all content and compares it with its hashes as well: of each block, and of the whole.
    ///
    /// # Errors
    /// `Corrupt` when a byte is not what was written, and `control`'s refusals.
    pub fn verify(&mut self, control: &Control) -> Result<()> {
        self.copy(&mut io::sink(), control, true).map(|_| ())
    }

    fn copy(&mut self, target: &mut dyn Write, control: &Control, whole: bool) -> Result<u64> {
        control.check()?;
        match &mut self.source {
            Source::Small(bytes) => {
                target.write_all(bytes).map_err(|error| own_error("writing the content to its target", error))?;
                control.report(self.len, Some(self.len), "bytes");
            }
            Source::Parts(parts) => {
                for part in parts {
                    part.reader.copy_to(target, whole.then_some(part.hash), control)?;
                }
            }
        }
        Ok(self.len)
    }
}

impl Read for ContentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read_at(buffer, self.at).map_err(io::Error::other)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for ContentReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = seek(to, self.at, self.len)?;
        Ok(self.at)
    }
}
