//! Chunks in packs: where they are, and how they are read.

use std::collections::HashMap;
use std::io::ErrorKind as IoKind;

use xxhash_rust::xxh3::xxh3_128;
use zstd::bulk::{Compressor, Decompressor};

use super::layout::pack_path;
use super::rows::CHUNK_BYTES_MAX;
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::value::byte_reader::ByteReader;

/// The first byte of a list of chunks.
const LIST: u8 = b'L';
/// Level of the compression.
const LEVEL: i32 = 3;
/// Packs that are open at a time.
const OPEN_MAX: usize = 64;
/// Entries after which a list ends in any case.
const LIST_ENTRIES_MAX: usize = 4_096;

/// Where the bytes of a chunk are, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) pack: u64,
    pub(super) offset: u64,
    /// Bytes in the pack.
    pub(super) stored: u32,
    /// Bytes before the compression.
    pub(super) raw: u32,
    /// XXH3-128 of the bytes before the compression.
    pub(super) hash: u128,
}

/// A chunk, and the one that it was compressed against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chunk {
    pub(super) at: Place,
    pub(super) base: Option<Place>,
}

impl Chunk {
    /// The chunk itself and its base.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        std::iter::once(self.at).chain(self.base)
    }
}

impl Place {
    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.pack.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.stored.to_le_bytes());
        out.extend_from_slice(&self.raw.to_le_bytes());
        out.extend_from_slice(&self.hash.to_le_bytes());
    }

    fn take(reader: &mut ByteReader<'_>) -> Option<Self> {
        Some(Self {
            pack: reader.number(u64::from_le_bytes)?,
            offset: reader.number(u64::from_le_bytes)?,
            stored: reader.number(u32::from_le_bytes)?,
            raw: reader.number(u32::from_le_bytes)?,
            hash: reader.number(u128::from_le_bytes)?,
        })
    }

    /// The place as the words of a line of a manifest.
    pub(super) fn words(&self) -> String {
        let Self { pack, offset, stored, raw, hash } = self;
        format!("{hash:032x} {raw} {pack:016x} {offset} {stored}")
    }

    /// Reads what [`Self::words`] made.
    pub(super) fn from_words<'t>(words: &mut impl Iterator<Item = &'t str>) -> Option<Self> {
        Some(Self {
            hash: u128::from_str_radix(words.next()?, 16).ok()?,
            raw: words.next()?.parse().ok()?,
            pack: u64::from_str_radix(words.next()?, 16).ok()?,
            offset: words.next()?.parse().ok()?,
            stored: words.next()?.parse().ok()?,
        })
    }
}

/// Cuts a sequence of chunks into lists.
pub(super) struct ListCutter {
    bytes: Vec<u8>,
    entries: usize,
}

impl ListCutter {
    pub(super) fn new() -> Self {
        Self { bytes: vec![LIST], entries: 0 }
    }

    /// Adds a chunk; returns the list that it completes.
    pub(super) fn add(&mut self, chunk: &Chunk) -> Option<Vec<u8>> {
        self.bytes.push(u8::from(chunk.base.is_some()));
        chunk.places().for_each(|place| place.push(&mut self.bytes));
        self.entries += 1;
        let is_end = chunk.at.hash.is_multiple_of(256) || self.entries >= LIST_ENTRIES_MAX;
        is_end.then(|| self.take())
    }

    /// The last list, if any chunk is left.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        (self.entries > 0).then(|| self.take())
    }

    fn take(&mut self) -> Vec<u8> {
        self.entries = 0;
        std::mem::replace(&mut self.bytes, vec![LIST])
    }
}

/// The chunks of a list.
///
/// # Errors
/// `Corrupt` if the bytes are no list.
fn list_entries(bytes: &[u8]) -> Result<Vec<Chunk>> {
    let entries = || {
        let mut reader = ByteReader::new(bytes);
        let mut chunks = Vec::new();
        if reader.byte()? != LIST {
            return None;
        }
        while let Some(flag) = reader.byte() {
            let at = Place::take(&mut reader)?;
            let base = match flag {
                0 => None,
                1 => Some(Place::take(&mut reader)?),
                _ => return None,
            };
            chunks.push(Chunk { at, base });
        }
        Some(chunks)
    };
    entries().ok_or_else(|| Error::corrupt("a list of the backup has no chunks"))
}

/// Compresses bytes, alone or against a base.
pub(super) fn compress(raw: &[u8], base: Option<&[u8]>) -> Result<Vec<u8>> {
    let compressor = match base {
        Some(base) => Compressor::with_dictionary(LEVEL, base),
        None => Compressor::new(LEVEL),
    };
    compressor
        .and_then(|mut compressor| compressor.compress(raw))
        .map_err(|error| Error::io("compressing a chunk of the backup", error))
}

/// Why a chunk cannot be read, and the pack that is the reason: its own, or that of its base.
#[derive(Debug)]
pub(super) struct UnreadChunk {
    pub(super) pack: u64,
    pub(super) error: Error,
}

impl From<UnreadChunk> for Error {
    fn from(unread: UnreadChunk) -> Self {
        unread.error
    }
}

/// Reads chunks from the packs of a set.
pub(super) struct Packs {
    disk: SharedDisk,
    open: HashMap<u64, Box<dyn DiskFile>>,
}

impl Packs {
    pub(super) fn new(disk: &SharedDisk) -> Self {
        Self { disk: disk.clone(), open: HashMap::new() }
    }

    /// The bytes of a chunk, as they were before the compression.
    ///
    /// # Errors
    /// `Corrupt` if a pack is missing or too short, or the bytes are not those that were written;
    /// `Io`.
    pub(super) fn read(&mut self, chunk: &Chunk) -> Result<Vec<u8>, UnreadChunk> {
        let base = chunk.base.map(|base| self.read_one(&base, None)).transpose()?;
        self.read_one(&chunk.at, base.as_deref())
    }

    /// The chunks of a list.
    ///
    /// # Errors
    /// As [`Self::read`]; `Corrupt` if the chunk is no list.
    pub(super) fn read_list(&mut self, list: &Chunk) -> Result<Vec<Chunk>, UnreadChunk> {
        let bytes = self.read(list)?;
        list_entries(&bytes).map_err(|error| UnreadChunk { pack: list.at.pack, error })
    }

    fn read_one(&mut self, place: &Place, base: Option<&[u8]>) -> Result<Vec<u8>, UnreadChunk> {
        let bytes = self.bytes_of(place, base);
        bytes.map_err(|error| UnreadChunk { pack: place.pack, error })
    }

    fn bytes_of(&mut self, place: &Place, base: Option<&[u8]>) -> Result<Vec<u8>> {
        let path = pack_path(place.pack);
        let damaged = |problem: &str| {
            Error::corrupt(format!("{path}, the chunk at byte {}: {problem}", place.offset))
        };
        let (stored, raw) = (place.stored as usize, place.raw as usize);
        if stored > CHUNK_BYTES_MAX || raw > CHUNK_BYTES_MAX {
            return Err(damaged("it is larger than a chunk may be"));
        }
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(&place.pack) {
            self.open.clear();
        }
        let lost = |error: std::io::Error| match error.kind() {
            IoKind::NotFound => damaged("the file is missing").with_source(error),
            IoKind::UnexpectedEof => damaged("the file ends before it").with_source(error),
            _ => Error::io(format!("reading {path}"), error),
        };
        let file = match self.open.entry(place.pack) {
            std::collections::hash_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(self.disk.open(&path, Mode::Read).map_err(&lost)?)
            }
        };
        // Checked before the memory is taken: a damaged length does not decide how much that is.
        let end = place.offset.checked_add(u64::from(place.stored));
        if end.is_none_or(|end| file.len().is_ok_and(|len| len < end)) {
            return Err(damaged("the file ends before it"));
        }
        let mut bytes = vec![0; stored];
        file.read_exact_at(&mut bytes, place.offset).map_err(&lost)?;
        let mut decompressor = match base {
            Some(base) => Decompressor::with_dictionary(base),
            None => Decompressor::new(),
        }
        .map_err(|error| Error::io("preparing to decompress a chunk", error))?;
        let chunk = decompressor
            .decompress(&bytes, raw)
            .map_err(|error| damaged("it cannot be decompressed").with_source(error))?;
        if chunk.len() != raw || xxh3_128(&chunk) != place.hash {
            return Err(damaged("it does not match its checksum"));
        }
        Ok(chunk)
    }
}
