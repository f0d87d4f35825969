//! Finds rows by a value index. What is read grows with the rows that are found.

use super::{FoundRows, IndexPlace, KeyRange};
use crate::columnar::segment::checked::CheckedFile;
use crate::error::{Error, Result};
use crate::value::byte_reader::ByteReader;

/// Looking for one range takes about as long as testing so many rows.
const RANGE_ROWS: usize = 512;

/// A block of keys, as the directory tells it.
struct Entry<'a> {
    first_key: &'a [u8],
    keys_at: usize,
    rows_at: usize,
    rows_before: usize,
}

/// The directory of a value index.
struct Directory<'a> {
    entries: &'a [u8],
    offsets: &'a [[u8; 4]],
}

impl<'a> Directory<'a> {
    fn new(bytes: &'a [u8], blocks: usize) -> Option<Self> {
        let at = bytes.len().checked_sub(blocks.checked_mul(4)?)?;
        let (entries, offsets) = bytes.split_at_checked(at)?;
        Some(Self { entries, offsets: offsets.as_chunks::<4>().0 })
    }

    fn entry(&self, at: usize) -> Option<Entry<'a>> {
        let offset = u32::from_le_bytes(*self.offsets.get(at)?) as usize;
        let mut reader = ByteReader::new(self.entries.get(offset..)?);
        let len = reader.number(u16::from_le_bytes)?;
        let first_key = reader.take(usize::from(len))?;
        let mut number = || reader.number(u32::from_le_bytes).map(|number| number as usize);
        let (keys_at, rows_at, rows_before) = (number()?, number()?, number()?);
        Some(Entry { first_key, keys_at, rows_at, rows_before })
    }

    /// The number of blocks, from the first one on, whose first key is before a place.
    fn blocks_before(&self, is_before: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let (mut low, mut high) = (0, self.offsets.len());
        while low < high {
            let middle = low.midpoint(high);
            if is_before(self.entry(middle)?.first_key) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low)
    }
}

/// Lists of rows in the first part of an index: their bytes, and how many there are.
struct Lists {
    offset: usize,
    /// Number of rows and of bytes of each list.
    lists: Vec<(usize, usize)>,
    bytes: usize,
}

/// One value index, its file, and the rows of its row group.
struct Reader<'a> {
    file: &'a CheckedFile,
    place: &'a IndexPlace,
    rows: usize,
}

/// Finds the rows of a row group with `rows` rows whose values are in one of these ranges, which
/// are disjoint and in order. `None` if there are more than `most`, or if testing the rows costs no
/// more.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(in crate::columnar::segment) fn look_up(
    file: &CheckedFile,
    place: &IndexPlace,
    ranges: &[KeyRange],
    rows: usize,
    most: usize,
) -> Result<Option<FoundRows>> {
    if ranges.len() > 1 && ranges.len().saturating_mul(RANGE_ROWS) > rows {
        return Ok(None);
    }
    let reader = Reader { file, place, rows };
    let bytes = reader.part(2, 0, place.directory_bytes as usize)?;
    let directory =
        Directory::new(&bytes, place.blocks as usize).ok_or_else(|| reader.damaged())?;
    let mut wanted = Vec::new();
    let mut left = most;
    for range in ranges {
        let Some(lists) = reader.lists(&directory, range, left)? else { return Ok(None) };
        left -= lists.lists.iter().map(|(rows, _)| rows).sum::<usize>();
        wanted.push(lists);
    }
    let rows = reader.rows_of(&wanted, most - left)?;
    Ok(Some(FoundRows { rows, is_exact: !place.is_cut }))
}

impl Reader<'_> {
    fn damaged(&self) -> Error {
        Error::corrupt(format!(
            "{}: the value index at byte {} cannot be decoded; restore the table from a backup",
            self.file.name(),
            self.place.offset
        ))
    }

    /// Bytes of a part: of rows (0), keys (1) or the directory (2).
    fn part(&self, part: usize, from: usize, len: usize) -> Result<bytes::Bytes> {
        let IndexPlace { offset, rows_bytes, keys_bytes, directory_bytes, .. } = *self.place;
        let sizes = [rows_bytes, keys_bytes, directory_bytes];
        let before: u64 = sizes.iter().take(part).copied().map(u64::from).sum();
        let size = sizes.get(part).copied().unwrap_or_default() as usize;
        if from.checked_add(len).is_none_or(|end| end > size) {
            return Err(self.damaged());
        }
        self.file.read(offset.saturating_add(before).saturating_add(from as u64), len)
    }

    /// The lists of the keys of a range; `None` if they have more than `most` rows.
    fn lists(
        &self,
        directory: &Directory<'_>,
        range: &KeyRange,
        most: usize,
    ) -> Result<Option<Lists>> {
        let damaged = || self.damaged();
        let from = range.first_key(self.place.is_cut);
        let blocks = self.place.blocks as usize;
        // The block before the first one that begins after the first key may have it.
        let first = directory.blocks_before(|key| key <= from).ok_or_else(damaged)?;
        let first = first.saturating_sub(1);
        let end = directory.blocks_before(|key| !range.ends_before(key)).ok_or_else(damaged)?;
        let mut lists = Lists { offset: 0, lists: Vec::new(), bytes: 0 };
        if first >= end {
            return Ok(Some(lists));
        }
        let begin = directory.entry(first).ok_or_else(damaged)?;
        if end - first > 2 {
            let second = directory.entry(first + 1).ok_or_else(damaged)?;
            let last = directory.entry(end - 1).ok_or_else(damaged)?;
            if last.rows_before.saturating_sub(second.rows_before) > most {
                return Ok(None);
            }
        }
        let keys_end = if end < blocks {
            directory.entry(end).ok_or_else(damaged)?.keys_at
        } else {
            self.place.keys_bytes as usize
        };
        let len = keys_end.checked_sub(begin.keys_at).ok_or_else(damaged)?;
        let bytes = self.part(1, begin.keys_at, len)?;
        let mut keys = ByteReader::new(&bytes);
        let (mut key, mut rows_at, mut left) = (Vec::new(), begin.rows_at, most);
        while keys.left() > 0 {
            let (rows, bytes) = next_key(&mut keys, &mut key).ok_or_else(damaged)?;
            if range.ends_before(&key) {
                break;
            }
            if key.as_slice() >= from {
                let Some(fewer) = left.checked_sub(rows) else { return Ok(None) };
                left = fewer;
                if lists.lists.is_empty() {
                    lists.offset = rows_at;
                }
                lists.lists.push((rows, bytes));
                lists.bytes = lists.bytes.checked_add(bytes).ok_or_else(damaged)?;
            }
            rows_at = rows_at.checked_add(bytes).ok_or_else(damaged)?;
        }
        Ok(Some(lists))
    }

    /// The `count` rows of lists, in order.
    fn rows_of(&self, wanted: &[Lists], count: usize) -> Result<Vec<u32>> {
        let mut rows = Vec::with_capacity(count.min(self.rows));
        let mut has_several = false;
        for lists in wanted {
            let bytes = self.part(0, lists.offset, lists.bytes)?;
            let mut rest = &bytes[..];
            for (count, len) in &lists.lists {
                let (list, after) = rest.split_at_checked(*len).ok_or_else(|| self.damaged())?;
                has_several |= !rows.is_empty();
                take_rows(list, *count, self.rows, &mut rows).ok_or_else(|| self.damaged())?;
                rest = after;
            }
        }
        if has_several {
            return self.in_order(&rows);
        }
        Ok(rows)
    }

    /// Rows in order, each once: by a bit for each row of the row group, which is faster than
    /// sorting. A row is there twice only if the values of two ranges have one key, which was cut.
    fn in_order(&self, rows: &[u32]) -> Result<Vec<u32>> {
        let mut bits = vec![0u64; self.rows.div_ceil(64)];
        for row in rows {
            if let Some(word) = bits.get_mut(*row as usize / 64) {
                *word |= 1 << (row % 64);
            }
        }
        let mut sorted = Vec::with_capacity(rows.len());
        for (at, word) in (0u32..).zip(bits) {
            let mut rest = word;
            while rest != 0 {
                sorted.push(at * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        if sorted.len() == rows.len() || self.place.is_cut {
            Ok(sorted)
        } else {
            Err(self.damaged())
        }
    }
}

/// Reads the next key of a block or of several, which replaces the one before. Returns the number
/// of its rows, and that of their bytes.
fn next_key(keys: &mut ByteReader<'_>, key: &mut Vec<u8>) -> Option<(usize, usize)> {
    let shared = usize::try_from(keys.varint()?).ok().filter(|shared| *shared <= key.len())?;
    let len = usize::try_from(keys.varint()?).ok()?;
    key.truncate(shared);
    key.extend_from_slice(keys.take(len)?);
    let rows = usize::try_from(keys.varint()?).ok()?;
    Some((rows, usize::try_from(keys.varint()?).ok()?))
}

/// Appends the `count` rows of a list; `None` if it has another number of them, or one beyond
/// the `rows` of the row group.
fn take_rows(list: &[u8], count: usize, rows: usize, out: &mut Vec<u32>) -> Option<()> {
    let mut reader = ByteReader::new(list);
    let (mut end, mut left) = (0usize, count);
    while reader.left() > 0 {
        let word = reader.varint()?;
        let first = end.checked_add(usize::try_from(word >> 1).ok()?)?;
        let len = if word & 1 == 0 {
            1
        } else {
            usize::try_from(reader.varint()?).ok()?.checked_add(2)?
        };
        end = first.checked_add(len).filter(|end| *end <= rows)?;
        left = left.checked_sub(len)?;
        out.extend(first as u32..end as u32);
    }
    (left == 0).then_some(())
}
