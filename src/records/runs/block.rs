//! A block of a run: sorted entries with shared prefixes, in groups that can be decoded
//! independently.
//!
//! `docs/format.md`, "Sorted runs", describes the layout. The block's checksum covers every byte of
//! the row.

use super::{Mark, damaged};
use crate::error::Result;
use crate::value::byte_reader::{push_varint, take_varint};

/// Target size of a block with its key, so that a row fills a page of redb.
const TARGET: usize = 3_900;
/// Entries of a group. The first one stores its whole key; each other one stores the length of the
/// prefix that it shares with the entry before, and the rest.
const GROUP: usize = 16;
const HEADER: usize = 16;

/// Collects sorted entries into blocks.
#[derive(Default)]
pub(super) struct Builder {
    entries: Vec<u8>,
    values: Vec<u8>,
    /// Hashes of the values of this block, and their offsets.
    known: Vec<(u64, u32)>,
    groups: Vec<u32>,
    last: Vec<u8>,
    count: u32,
    net: i32,
}

fn checksum(row_key: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(row_key);
    hasher.update(body);
    hasher.finalize()
}

impl Builder {
    /// Appends an entry, whose key is greater than all before. If the block is full, returns it,
    /// without the entry, together with its last key.
    ///
    /// The first entry of a group shares no prefix. Otherwise a group could not be decoded without
    /// the one before it, and `group_before` could not read the first keys of groups.
    pub(super) fn push(
        &mut self,
        key: &[u8],
        mark: Mark,
        value: &[u8],
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        let size = HEADER
            + self.groups.len() * 4
            + self.values.len()
            + self.entries.len()
            + 2 * key.len()
            + value.len();
        let full = (size > TARGET && self.count > 0).then(|| self.finish()).flatten();
        let at = if mark.after { self.value(value) } else { 0 };
        let is_first = (self.count as usize).is_multiple_of(GROUP);
        let shared = if is_first {
            0
        } else {
            self.last.iter().zip(key).take_while(|(one, other)| one == other).count()
        };
        if is_first {
            self.groups.push(self.entries.len() as u32);
        }
        let rest = key.get(shared..).unwrap_or_default();
        push_varint(&mut self.entries, shared as u64);
        push_varint(&mut self.entries, rest.len() as u64);
        push_varint(&mut self.entries, u64::from(at) << 2 | mark.bits());
        self.entries.extend_from_slice(rest);
        self.last.clear();
        self.last.extend_from_slice(key);
        self.count += 1;
        self.net += mark.net() as i32;
        full
    }

    /// Returns the offset of a value in the block; each distinct value is stored once.
    fn value(&mut self, value: &[u8]) -> u32 {
        let hash = xxhash_rust::xxh3::xxh3_64(value);
        if let Some((_, at)) = self.known.iter().find(|(known, at)| {
            *known == hash
                && value_at(&self.values, *at as usize).is_some_and(|known| known == value)
        }) {
            return *at;
        }
        let at = self.values.len() as u32;
        push_varint(&mut self.values, value.len() as u64);
        self.values.extend_from_slice(value);
        self.known.push((hash, at));
        at
    }

    /// Returns the block of the entries since the last one, together with its last key. [`seal`]
    /// sets its checksum.
    pub(super) fn finish(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        if self.count == 0 {
            return None;
        }
        let mut bytes = Vec::with_capacity(
            HEADER + self.groups.len() * 4 + self.values.len() + self.entries.len(),
        );
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.net.to_le_bytes());
        bytes.extend_from_slice(&self.count.to_le_bytes());
        bytes.extend_from_slice(&(self.values.len() as u32).to_le_bytes());
        self.groups.iter().for_each(|group| bytes.extend_from_slice(&group.to_le_bytes()));
        bytes.extend_from_slice(&self.values);
        bytes.extend_from_slice(&self.entries);
        self.entries.clear();
        self.values.clear();
        self.known.clear();
        self.groups.clear();
        self.count = 0;
        self.net = 0;
        Some((std::mem::take(&mut self.last), bytes))
    }
}

/// Sets the checksum of a block for the row that it is stored in.
pub(super) fn seal(row_key: &[u8], block: &mut [u8]) {
    let sum = checksum(row_key, block.get(4..).unwrap_or_default());
    if let Some(place) = block.first_chunk_mut::<4>() {
        *place = sum.to_le_bytes();
    }
}

fn value_at(values: &[u8], mut at: usize) -> Option<&[u8]> {
    let len = usize::try_from(take_varint(values, &mut at)?).ok()?;
    values.get(at..at.checked_add(len)?)
}

/// An entry of the decoded group.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    end: usize,
    mark: Mark,
    value: usize,
}

/// A block that was read, positioned at one of its entries.
#[derive(Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    groups: usize,
    values: usize,
    entries: usize,
    /// Whether every entry adds a key.
    only_adds: bool,
    /// The keys of the decoded group, one after the other.
    keys: Vec<u8>,
    group: Vec<Entry>,
    group_number: usize,
    at: usize,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The number of keys that a block adds, after a check of its checksum.
pub(super) fn net(row_key: &[u8], bytes: &[u8]) -> Result<i64> {
    let stored = u32_at(bytes, 0).ok_or_else(|| damaged("a block"))?;
    if bytes.len() < HEADER || stored != checksum(row_key, bytes.get(4..).unwrap_or_default()) {
        return Err(damaged("a block"));
    }
    Ok(i64::from(u32_at(bytes, 4).unwrap_or_default().cast_signed()))
}

impl Block {
    /// Reads another block and checks it. The position is undefined until a seek.
    pub(super) fn load(&mut self, row_key: &[u8], bytes: &[u8]) -> Result<()> {
        let net = net(row_key, bytes)?;
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        let count = u32_at(bytes, 8).unwrap_or_default() as usize;
        self.groups = count.div_ceil(GROUP);
        self.only_adds = i64::try_from(count).is_ok_and(|count| count == net);
        self.values = HEADER + self.groups * 4;
        self.entries = self.values + u32_at(bytes, 12).unwrap_or_default() as usize;
        if count == 0 || self.entries > bytes.len() {
            return Err(damaged("a block"));
        }
        self.group.clear();
        self.at = 0;
        Ok(())
    }

    fn read_group(&mut self, number: usize) -> Result<()> {
        self.try_group(number).ok_or_else(|| damaged("a block"))
    }

    /// Decodes all keys of a group into `keys`; `None` if the bytes are not a group.
    ///
    /// Each key is the prefix of the key before it and the rest that is stored, so a group is
    /// always decoded from its start. A prefix must not be longer than the key before it, and for
    /// the first key it must be empty. The checksum has matched, so other bytes come from a defect
    /// or from forged data; they must not cause a panic.
    fn try_group(&mut self, number: usize) -> Option<()> {
        self.keys.clear();
        self.group.clear();
        self.group_number = number;
        let entries = self.bytes.get(self.entries..)?;
        let mut at = u32_at(&self.bytes, HEADER + number * 4)? as usize;
        let end = if number + 1 < self.groups {
            u32_at(&self.bytes, HEADER + (number + 1) * 4)? as usize
        } else {
            entries.len()
        };
        let mut before = 0..0_usize;
        while at < end {
            let shared = usize::try_from(take_varint(entries, &mut at)?).ok()?;
            let rest = usize::try_from(take_varint(entries, &mut at)?).ok()?;
            let packed = take_varint(entries, &mut at)?;
            let suffix = entries.get(at..at.checked_add(rest)?)?;
            at += rest;
            let start = self.keys.len();
            let prefix =
                before.start..before.start.checked_add(shared).filter(|end| *end <= before.end)?;
            self.keys.extend_from_within(prefix);
            self.keys.extend_from_slice(suffix);
            before = start..self.keys.len();
            let value = usize::try_from(packed >> 2).ok()?;
            self.group.push(Entry { start, end: before.end, mark: Mark::from_bits(packed), value });
        }
        (!self.group.is_empty()).then_some(())
    }

    /// The first key of a group, without decoding the group.
    fn first_key(&self, number: usize) -> Option<&[u8]> {
        let entries = self.bytes.get(self.entries..)?;
        let mut at = u32_at(&self.bytes, HEADER + number * 4)? as usize;
        take_varint(entries, &mut at)?;
        let len = usize::try_from(take_varint(entries, &mut at)?).ok()?;
        take_varint(entries, &mut at)?;
        entries.get(at..at.checked_add(len)?)
    }

    /// The last group whose first key is less than `key`, or the first group.
    fn group_before(&self, key: &[u8]) -> Result<usize> {
        let (mut low, mut high) = (0, self.groups);
        while low + 1 < high {
            let middle = low.midpoint(high);
            if self.first_key(middle).ok_or_else(|| damaged("a block"))? < key {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Whether every entry adds a key. Then counting entries gives the number of keys, without
    /// their marks.
    pub(super) fn only_adds(&self) -> bool {
        self.only_adds
    }

    /// The number of entries before `key`.
    pub(super) fn rank(&mut self, key: &[u8]) -> Result<usize> {
        let number = self.group_before(key)?;
        self.read_group(number)?;
        let is_before =
            |entry: &Entry| self.keys.get(entry.start..entry.end).is_some_and(|known| known < key);
        Ok(number * GROUP + self.group.partition_point(is_before))
    }

    /// Moves to the first entry that is not before `from`, or to the first entry; returns whether
    /// there is one.
    pub(super) fn seek_forward(&mut self, from: Option<&[u8]>) -> Result<bool> {
        let Some(from) = from else {
            self.read_group(0)?;
            self.at = 0;
            return Ok(true);
        };
        self.read_group(self.group_before(from)?)?;
        self.at = 0;
        while self.key() < from {
            if !self.forward()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves to the last entry before `to`, or to the last entry; returns whether there is one.
    pub(super) fn seek_back(&mut self, to: Option<&[u8]>) -> Result<bool> {
        let Some(to) = to else {
            self.read_group(self.groups.saturating_sub(1))?;
            self.at = self.group.len().saturating_sub(1);
            return Ok(true);
        };
        self.read_group(self.group_before(to)?)?;
        self.at = self.group.len().saturating_sub(1);
        while self.key() >= to {
            if !self.back()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves to the next entry; at the end, returns false and does not move.
    pub(super) fn forward(&mut self) -> Result<bool> {
        if self.at + 1 < self.group.len() {
            self.at += 1;
        } else if self.group_number + 1 < self.groups {
            self.read_group(self.group_number + 1)?;
            self.at = 0;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Moves to the previous entry; at the start, returns false and does not move.
    pub(super) fn back(&mut self) -> Result<bool> {
        if self.at > 0 {
            self.at -= 1;
        } else if self.group_number > 0 {
            self.read_group(self.group_number - 1)?;
            self.at = self.group.len().saturating_sub(1);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The key of the current entry.
    pub(super) fn key(&self) -> &[u8] {
        self.group
            .get(self.at)
            .and_then(|entry| self.keys.get(entry.start..entry.end))
            .unwrap_or_default()
    }

    /// The mark of the current entry.
    pub(super) fn mark(&self) -> Mark {
        self.group.get(self.at).map_or(Mark { before: false, after: false }, |entry| entry.mark)
    }

    /// The value of the current entry; empty if the key was removed.
    pub(super) fn value(&self) -> Result<&[u8]> {
        let Some(entry) = self.group.get(self.at).filter(|entry| entry.mark.after) else {
            return Ok(&[]);
        };
        let values = self.bytes.get(self.values..self.entries).unwrap_or_default();
        value_at(values, entry.value).ok_or_else(|| damaged("a block"))
    }
}
