//! The content of a file: bytes from the record file, or a sequence of blobs.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::xxh3_128;

use super::read::{BlobPosition, BlobReader, seek};
use super::store::BlobHold;
use super::{BlobInfo, BlobStore};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Control;

/// A blob that is one part of a content.
pub(crate) type Part = BlobInfo;

/// Verified content as a `Read + Seek` handle.
///
/// It reads what the record named when it was opened, to the end, even if the record is changed or
/// deleted meanwhile.
#[derive(Debug)]
pub struct ContentReader {
    source: ContentSource,
    len: u64,
    at: u64,
}

#[derive(Debug)]
enum ContentSource {
    Small(Vec<u8>),
    Parts(Box<Parts>),
}

/// A sequence of blobs. One of them is open at a time, since a content may have more parts than a
/// process may have open files. The others are held, so that none is removed before it is read.
#[derive(Debug)]
struct Parts {
    blobs: BlobStore,
    rows: Vec<Row>,
    open: Option<(usize, BlobReader)>,
    /// `None` for a single part, which stays open.
    _held: Option<BlobHold>,
}

#[derive(Debug)]
struct Row {
    start: u64,
    part: Part,
}

impl Parts {
    /// Opens the part at `index`.
    fn open(&mut self, index: usize) -> Result<&mut BlobReader> {
        let reader = match self.open.take() {
            Some((open, reader)) if open == index => reader,
            other => {
                drop(other);
                let row = self.rows.get(index).ok_or_else(|| {
                    Error::corrupt(
                        "internal error: a content has fewer parts than its record lists",
                    )
                })?;
                self.blobs.read(row.part.id, row.part.len).map_err(|error| match error.kind() {
                    // A record names this blob, so its absence is damage, not an unknown id.
                    ErrorKind::NotFound => {
                        Error::corrupt(error.message().to_owned()).with_source(error)
                    }
                    _ => error,
                })?
            }
        };
        Ok(&mut self.open.insert((index, reader)).1)
    }
}

impl ContentReader {
    /// A content that is stored in the record file.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match this hash.
    pub fn small(bytes: Vec<u8>, hash: u128) -> Result<Self> {
        if xxh3_128(&bytes) != hash {
            return Err(Error::corrupt(
                "records.redb: the content of a small file does not match its hash; restore it \
                 from a backup",
            ));
        }
        Ok(Self { len: bytes.len() as u64, source: ContentSource::Small(bytes), at: 0 })
    }

    /// A content that is stored in blobs. Their removal does not disturb this reader.
    ///
    /// # Errors
    /// `Corrupt` if a part is missing or has another length; `Io` if one cannot be read.
    pub fn parts(blobs: &BlobStore, parts: &[Part]) -> Result<Self> {
        let mut rows = Vec::with_capacity(parts.len());
        let mut len = 0;
        for part in parts {
            rows.push(Row { start: len, part: *part });
            len += part.len;
        }
        let held =
            (parts.len() > 1).then(|| blobs.hold(parts.iter().map(|part| part.id).collect()));
        let mut parts = Parts { blobs: blobs.clone(), rows, open: None, _held: held };
        // Every part is opened once now, so that a missing one is reported before the first byte is
        // read. The first one stays open.
        for index in (0..parts.rows.len()).rev() {
            parts.open(index)?;
        }
        Ok(Self { source: ContentSource::Parts(Box::new(parts)), len, at: 0 })
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

    /// Reads from `offset` into `buffer`. Returns fewer bytes at the end of a block, and none after
    /// the end.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match their checksum; errors of the disk.
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        match &mut self.source {
            ContentSource::Small(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let available = bytes.get(from..).unwrap_or_default();
                let count = available.len().min(buffer.len());
                if let (Some(target), Some(now)) = (buffer.get_mut(..count), available.get(..count))
                {
                    target.copy_from_slice(now);
                }
                Ok(count)
            }
            ContentSource::Parts(parts) => {
                let behind = parts.rows.partition_point(|row| row.start <= offset);
                let Some(index) = behind.checked_sub(1) else { return Ok(0) };
                let start = parts.rows.get(index).map_or(0, |row| row.start);
                parts.open(index)?.read_at(buffer, offset - start)
            }
        }
    }

    /// Writes the whole content to `target`, independent of the current position. Each byte is
    /// verified before it is written.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match their checksums; the errors of `target` and of
    /// `control`.
    pub fn copy_to(&mut self, target: &mut dyn Write, control: &Control) -> Result<u64> {
        self.copy(target, control, false)
    }

    /// Reads the whole content, and verifies the checksum of each piece and the hash of the whole.
    ///
    /// # Errors
    /// `Corrupt` if the bytes do not match; the errors of `control`.
    pub fn verify(&mut self, control: &Control) -> Result<()> {
        self.copy(&mut io::sink(), control, true).map(|_| ())
    }

    fn copy(&mut self, target: &mut dyn Write, control: &Control, whole: bool) -> Result<u64> {
        control.check()?;
        match &mut self.source {
            ContentSource::Small(bytes) => {
                target
                    .write_all(bytes)
                    .map_err(|error| Error::io("writing the content to its target", error))?;
                control.report(self.len, Some(self.len), "bytes");
            }
            ContentSource::Parts(parts) => {
                for index in 0..parts.rows.len() {
                    let Some(Row { start, part }) = parts.rows.get(index) else { break };
                    let (hash, place) = (
                        whole.then_some(part.hash),
                        BlobPosition { before: *start, total: self.len },
                    );
                    parts.open(index)?.copy_part(target, hash, control, place)?;
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
