//! Reading a file of an archive.

use xxhash_rust::xxh3::xxh3_128;
use zstd::bulk::Decompressor;

use super::{END, HEAD, Head, PART_HEAD, PartHead, Span};
use crate::disk::{Disk, DiskFile, Mode};
use crate::error::{Error, Result};
use crate::records::{Change, journal};
use crate::value::byte_reader::ByteReader;

/// What a part of a file has.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A change of the next commit.
    Change(Change),
    /// The end of a commit.
    End {
        /// Its sequence.
        sequence: u64,
        /// Its time in milliseconds since 1970 UTC.
        time_ms: i64,
    },
}

/// A file that is read from its begin to its end.
pub(crate) struct ArchiveReader {
    path: String,
    file: Box<dyn DiskFile>,
    /// What the file says about itself.
    pub(crate) head: Head,
    at: u64,
    /// The commit that ended last.
    last: u64,
}

impl ArchiveReader {
    /// Opens the file with these commits, and checks its head.
    ///
    /// # Errors
    /// `Corrupt` if the head is damaged, or the file has another length; `Io`, also if there is
    /// none.
    pub(crate) fn open(disk: &dyn Disk, span: Span) -> Result<Self> {
        let path = span.path();
        let failed = |error| Error::io(format!("reading {path}"), error);
        let file = disk.open(&path, Mode::Read).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let mut bytes = [0; HEAD];
        if len >= HEAD as u64 {
            file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        }
        let head = Head::from_bytes(&bytes).filter(|head| head.span == span);
        let head = head.ok_or_else(|| Error::corrupt(format!("{path}: its head is damaged")))?;
        if head.bytes != len {
            let wanted = head.bytes;
            return Err(Error::corrupt(format!("{path} has {len} bytes instead of {wanted}")));
        }
        let last = span.first.saturating_sub(1);
        Ok(Self { path, file, head, at: HEAD as u64, last })
    }

    /// The items of the next part; `None` at the end of the file.
    ///
    /// # Errors
    /// `Corrupt` if the part is damaged, `Io`.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Item>>> {
        if self.at >= self.head.bytes {
            let is_whole = self.last == self.head.span.last;
            return if is_whole { Ok(None) } else { Err(self.damaged()) };
        }
        let mut bytes = [0; PART_HEAD];
        self.read(&mut bytes, self.at)?;
        let part = PartHead::from_bytes(&bytes, self.at).ok_or_else(|| self.damaged())?;
        let begin = self.at.saturating_add(PART_HEAD as u64);
        let end = begin.saturating_add(u64::from(part.stored));
        if end > self.head.bytes {
            return Err(self.damaged());
        }
        let mut frame = vec![0; part.stored as usize];
        self.read(&mut frame, begin)?;
        if xxh3_128(&frame) != part.hash {
            return Err(self.damaged());
        }
        let raw = Decompressor::new()
            .and_then(|mut frames| frames.decompress(&frame, part.raw as usize))
            .map_err(|_| self.damaged())?;
        let items = self.items(&raw)?;
        self.at = end;
        Ok(Some(items))
    }

    fn items(&mut self, raw: &[u8]) -> Result<Vec<Item>> {
        let mut reader = ByteReader::new(raw);
        let mut items = Vec::new();
        while reader.left() > 0 {
            if raw.get(reader.at) != Some(&END) {
                let change = journal::decode_next(&mut reader).ok_or_else(|| self.damaged())?;
                items.push(Item::Change(change));
                continue;
            }
            reader.byte();
            let sequence = reader.number(u64::from_le_bytes).ok_or_else(|| self.damaged())?;
            let time_ms = reader.number(i64::from_le_bytes).ok_or_else(|| self.damaged())?;
            if sequence != self.last.saturating_add(1) {
                return Err(self.damaged());
            }
            self.last = sequence;
            items.push(Item::End { sequence, time_ms });
        }
        Ok(items)
    }

    fn read(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => self.damaged(),
            _ => Error::io(format!("reading {}", self.path), error),
        };
        self.file.read_exact_at(buffer, at).map_err(failed)
    }

    fn damaged(&self) -> Error {
        let (path, last) = (&self.path, self.last);
        Error::corrupt(format!("{path} is damaged after the commit {last}"))
    }
}
