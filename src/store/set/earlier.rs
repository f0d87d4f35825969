//! The chunks of the backup before, which a new one takes over or writes differences against.

use std::collections::{HashMap, HashSet};

use super::chunks::{Chunk, Packs};
use super::layout::{RECORDS, Set, pack_path};
use super::manifest::{Manifest, NeededPack};
use super::marks::Marks;
use crate::disk::Mode;
use crate::error::{Error, Result};

/// A backup that needs more packs writes again what the smallest of them have.
const PACKS_MAX: usize = 32;
/// So many packs stay then.
const PACKS_KEPT: usize = 16;
/// A pack of fewer bytes is not worth a look at how many of them are needed.
const SMALL_PACK_BYTES: u64 = 64 * 1024;
/// A pack is written again when less than one in so many of its bytes is needed.
const NEEDED_SHARE: u64 = 4;

/// A sequence of chunks of the backup before.
#[derive(Default)]
pub(super) struct Sequence {
    chunks: Vec<Chunk>,
    places: HashMap<u128, usize>,
    /// The chunk that comes after the last one that was found.
    next: usize,
}

impl Sequence {
    fn new(chunks: Vec<Chunk>) -> Self {
        let places = chunks.iter().enumerate().map(|(at, chunk)| (chunk.at.hash, at)).collect();
        Self { chunks, places, next: 0 }
    }

    /// The chunk with these bytes.
    pub(super) fn same(&mut self, hash: u128, len: usize) -> Option<Chunk> {
        let at = *self.places.get(&hash)?;
        let chunk = *self.chunks.get(at)?;
        self.next = at + 1;
        (chunk.at.raw as usize == len).then_some(chunk)
    }

    /// The chunk that is at this place of the sequence, if no equal one is.
    ///
    /// Ends of chunks follow from keys. So, between two chunks that are equal in both backups, a
    /// changed chunk mostly has the keys of the one at its place.
    pub(super) fn similar(&mut self) -> Option<Chunk> {
        let chunk = self.chunks.get(self.next).copied();
        self.next += 1;
        chunk
    }
}

/// What a new backup may take over.
#[derive(Default)]
pub(super) struct Earlier {
    pub(super) rows: Sequence,
    pub(super) row_lists: Sequence,
    pub(super) files: Sequence,
    pub(super) file_lists: Sequence,
    /// The packs that the new backup must not need.
    pub(super) dissolved: HashSet<u64>,
}

impl Earlier {
    /// What the newest readable backup has. The lists are read, the chunks with rows are not.
    ///
    /// # Errors
    /// `Io`. A damaged list is none: then everything is written again.
    pub(super) fn of(set: &Set, manifest: Option<&Manifest>, marks: &Marks) -> Result<Self> {
        let Some(manifest) = manifest else { return Ok(Self::default()) };
        let mut packs = Packs::new(&set.disk);
        let mut entries = |lists: &[Chunk]| -> Result<Vec<Chunk>> {
            let mut chunks = Vec::new();
            for list in lists {
                chunks.extend(packs.read_list(list)?);
            }
            Ok(chunks)
        };
        let read = entries(&manifest.row_lists)
            .and_then(|rows| Ok((rows, entries(&manifest.file_lists)?)));
        let (rows, files) = match read {
            Err(error) if error.is_damage() => return Ok(Self::default()),
            read => read?,
        };
        Ok(Self {
            rows: Sequence::new(rows),
            row_lists: Sequence::new(manifest.row_lists.clone()),
            files: Sequence::new(files),
            file_lists: Sequence::new(manifest.file_lists.clone()),
            dissolved: dissolved(set, &manifest.packs, marks)?,
        })
    }
}

/// The packs whose chunks are written again: those that are lost, cut off or marked as damaged,
/// mostly unused ones, and small ones when there are many.
pub(super) fn dissolved(set: &Set, needed: &[NeededPack], marks: &Marks) -> Result<HashSet<u64>> {
    let present: HashMap<u64, u64> = set.numbered(RECORDS)?.into_iter().collect();
    let is_worn = |pack: &NeededPack| {
        present.get(&pack.pack) != Some(&pack.bytes)
            || marks.have(&pack_path(pack.pack))
            || (pack.bytes > SMALL_PACK_BYTES
                && pack.needed.saturating_mul(NEEDED_SHARE) < pack.bytes)
    };
    let mut dissolved: HashSet<u64> =
        needed.iter().filter(|pack| is_worn(pack)).map(|pack| pack.pack).collect();
    let mut kept: Vec<&NeededPack> = needed.iter().filter(|pack| !is_worn(pack)).collect();
    if kept.len() > PACKS_MAX {
        kept.sort_unstable_by_key(|pack| std::cmp::Reverse(pack.needed));
        dissolved.extend(kept.iter().skip(PACKS_KEPT).map(|pack| pack.pack));
    }
    Ok(dissolved)
}

/// The length of a pack.
pub(super) fn pack_bytes(set: &Set, pack: u64) -> Result<u64> {
    let path = pack_path(pack);
    let attempt = |error| Error::io(format!("reading {path}"), error);
    let file = set.disk.open(&path, Mode::Read).map_err(attempt)?;
    file.len().map_err(attempt)
}
