//! Writes the pack of a backup: the chunks that the backup before does not have.

use std::collections::{BTreeMap, HashSet};

use xxhash_rust::xxh3::xxh3_128;

use super::chunks::{Chunk, ListCutter, Packs, Place, compress};
use super::earlier::{Earlier, Sequence, pack_bytes};
use super::layout::{RECORDS, Set, failed, pack_path};
use super::manifest::NeededPack;
use super::pace::Pace;
use super::rows::Cutter;
use crate::disk::{DiskFile, Mode};
use crate::error::Result;

const MAGIC: [u8; 8] = *b"SDPACK1\n";
/// Bytes that are written at once.
const WRITE_BYTES: usize = 1024 * 1024;

/// The pack of the backup that is being made.
pub(super) struct Pack<'s, 'c> {
    set: &'s Set,
    backup: u64,
    file: Option<Box<dyn DiskFile>>,
    /// Bytes written, and those that wait in `buffer`.
    len: u64,
    buffer: Vec<u8>,
    packs: Packs,
    /// The bytes of each pack that are needed.
    needed: BTreeMap<u64, u64>,
    counted: HashSet<(u64, u64)>,
    pub(super) pace: Pace<'c>,
}

impl<'s, 'c> Pack<'s, 'c> {
    pub(super) fn new(set: &'s Set, backup: u64, pace: Pace<'c>) -> Self {
        Self {
            set,
            backup,
            file: None,
            len: 0,
            buffer: Vec::new(),
            packs: Packs::new(&set.disk),
            needed: BTreeMap::new(),
            counted: HashSet::new(),
            pace,
        }
    }

    /// The chunk with these bytes: the one of the backup before, or a new one. Nothing in the packs
    /// `dissolved` may be needed.
    fn put(
        &mut self,
        raw: &[u8],
        earlier: &mut Sequence,
        dissolved: &HashSet<u64>,
    ) -> Result<Chunk> {
        let may_need = |chunk: &Chunk| chunk.places().all(|place| !dissolved.contains(&place.pack));
        let hash = xxh3_128(raw);
        let mut base = None;
        match earlier.same(hash, raw.len()) {
            Some(chunk) if may_need(&chunk) => {
                self.count(&chunk);
                return Ok(chunk);
            }
            Some(_) => {}
            None => base = earlier.similar(),
        }
        let base = base.map(|chunk| Chunk { at: chunk.base.unwrap_or(chunk.at), base: None });
        let base = base.filter(may_need);
        // A base that cannot be read is none.
        let base = base.and_then(|base| Some((base.at, self.packs.read(&base).ok()?)));
        let mut stored = None;
        if let Some((place, bytes)) = &base {
            let difference = compress(raw, Some(bytes))?;
            if difference.len() as u64 * 2 <= u64::from(place.stored) {
                stored = Some((difference, Some(*place)));
            }
        }
        let (bytes, base) = match stored {
            Some(stored) => stored,
            None => (compress(raw, None)?, None),
        };
        let at = Place {
            pack: self.backup,
            offset: self.append(&bytes)?,
            stored: length(bytes.len())?,
            raw: length(raw.len())?,
            hash,
        };
        let chunk = Chunk { at, base };
        self.count(&chunk);
        Ok(chunk)
    }

    fn count(&mut self, chunk: &Chunk) {
        for place in chunk.places() {
            if self.counted.insert((place.pack, place.offset)) {
                *self.needed.entry(place.pack).or_default() += u64::from(place.stored);
            }
        }
    }

    /// Appends bytes to the pack; returns where they are.
    fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        if self.file.is_none() {
            let path = pack_path(self.backup);
            let created = self.set.disk.open(&path, Mode::CreateNew);
            self.file = Some(created.map_err(failed("creating the pack of the backup"))?);
            self.buffer.extend_from_slice(&MAGIC);
            self.buffer.extend_from_slice(&self.backup.to_le_bytes());
            self.len = self.buffer.len() as u64;
        }
        let at = self.len;
        self.buffer.extend_from_slice(bytes);
        self.len += bytes.len() as u64;
        if self.buffer.len() >= WRITE_BYTES {
            self.flush()?;
        }
        Ok(at)
    }

    fn flush(&mut self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let at = self.len - self.buffer.len() as u64;
        file.write_all_at(&self.buffer, at).map_err(failed("writing the pack of the backup"))?;
        let written = self.buffer.len() as u64;
        self.buffer.clear();
        self.pace.wrote(written)
    }

    /// Makes the pack durable, and its name. Returns the packs that the backup needs.
    pub(super) fn finish(&mut self) -> Result<Vec<NeededPack>> {
        let attempt = failed("syncing the pack of the backup");
        self.flush()?;
        if let Some(file) = self.file.take() {
            file.sync_all().map_err(&attempt)?;
        }
        self.set.disk.sync_dir(RECORDS).map_err(&attempt)?;
        let packs = self.needed.iter().map(|(&pack, &needed)| {
            Ok(NeededPack { pack, needed, bytes: pack_bytes(self.set, pack)? })
        });
        packs.collect()
    }
}

fn length(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| {
        crate::error::Error::new(
            crate::error::ErrorKind::LimitExceeded,
            format!("a chunk of {len} bytes is larger than a backup may have"),
        )
    })
}

/// One of the two sequences of rows of a backup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The rows of the records.
    Rows,
    /// The rows that describe files.
    Files,
}

/// Cuts rows into chunks, chunks into lists, and puts both into a pack.
pub(super) struct RowWriter {
    part: Part,
    rows: Cutter,
    chunks: ListCutter,
    lists: Vec<Chunk>,
}

impl RowWriter {
    pub(super) fn new(part: Part) -> Self {
        Self { part, rows: Cutter::new(), chunks: ListCutter::new(), lists: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn add(
        &mut self,
        tag: u8,
        key: &[u8],
        value: &[u8],
        pack: &mut Pack<'_, '_>,
        earlier: &mut Earlier,
    ) -> Result<()> {
        match self.rows.add(tag, key, value)? {
            Some(chunk) => self.put(&chunk, pack, earlier),
            None => Ok(()),
        }
    }

    /// The lists of all chunks.
    pub(super) fn finish(
        mut self,
        pack: &mut Pack<'_, '_>,
        earlier: &mut Earlier,
    ) -> Result<Vec<Chunk>> {
        if let Some(chunk) = self.rows.rest() {
            self.put(&chunk, pack, earlier)?;
        }
        if let Some(list) = self.chunks.rest() {
            self.put_list(&list, pack, earlier)?;
        }
        Ok(self.lists)
    }

    fn put(&mut self, chunk: &[u8], pack: &mut Pack<'_, '_>, earlier: &mut Earlier) -> Result<()> {
        let sequence = match self.part {
            Part::Rows => &mut earlier.rows,
            Part::Files => &mut earlier.files,
        };
        let chunk = pack.put(chunk, sequence, &earlier.dissolved)?;
        match self.chunks.add(&chunk) {
            Some(list) => self.put_list(&list, pack, earlier),
            None => Ok(()),
        }
    }

    fn put_list(
        &mut self,
        list: &[u8],
        pack: &mut Pack<'_, '_>,
        earlier: &mut Earlier,
    ) -> Result<()> {
        let sequence = match self.part {
            Part::Rows => &mut earlier.row_lists,
            Part::Files => &mut earlier.file_lists,
        };
        self.lists.push(pack.put(list, sequence, &earlier.dissolved)?);
        Ok(())
    }
}
