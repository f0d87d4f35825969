//! The rows of a backup, as bytes, and where they are cut into chunks.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::value::byte_reader::{ByteReader, push_varint};
use crate::value::limits;

/// In place of a space: the row describes a file.
pub(super) const FILE: u8 = 255;
/// The first byte of a chunk of rows.
const ROWS: u8 = b'R';
/// Average bytes of a chunk before the compression.
const CHUNK_BYTES: u64 = 16 * 1024;
/// A chunk ends when it has this many.
const FULL_BYTES: usize = 128 * 1024;
/// No chunk is larger: one row passes [`FULL_BYTES`].
pub(super) const CHUNK_BYTES_MAX: usize = 2 * limits::BATCH_BYTES;

/// Cuts rows into chunks.
pub(super) struct Cutter {
    bytes: Vec<u8>,
}

impl Cutter {
    pub(super) fn new() -> Self {
        Self { bytes: vec![ROWS] }
    }

    /// Adds a row; returns the chunk that it completes.
    ///
    /// # Errors
    /// `LimitExceeded` for a row that is larger than a chunk may be.
    pub(super) fn add(&mut self, tag: u8, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        let before = self.bytes.len();
        self.bytes.push(tag);
        push_varint(&mut self.bytes, key.len() as u64);
        self.bytes.extend_from_slice(key);
        push_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
        if self.bytes.len() > CHUNK_BYTES_MAX {
            return Err(Error::new(
                crate::error::ErrorKind::LimitExceeded,
                format!(
                    "a row of {} bytes is larger than a chunk of a backup may be ({} bytes)",
                    value.len(),
                    CHUNK_BYTES_MAX
                ),
            ));
        }
        let len = (self.bytes.len() - before) as u64;
        let is_end = (xxh3_64(key) >> 32).saturating_mul(CHUNK_BYTES) < len << 32;
        let is_full = self.bytes.len() >= FULL_BYTES;
        Ok((is_end || is_full).then(|| self.take()))
    }

    /// The last chunk, if any row is left.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        (self.bytes.len() > 1).then(|| self.take())
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.bytes, vec![ROWS])
    }
}

/// Calls `f` with tag, key and value of each row of a chunk.
///
/// # Errors
/// `Corrupt` if the bytes are no rows; the errors of `f`.
pub(super) fn each_row(
    chunk: &[u8],
    f: &mut dyn FnMut(u8, &[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let damaged = || Error::corrupt("a chunk of the backup has no rows where they should be");
    let mut reader = ByteReader::new(chunk);
    if reader.byte() != Some(ROWS) {
        return Err(damaged());
    }
    let part = |reader: &mut ByteReader<'_>| {
        let len = usize::try_from(reader.varint()?).ok()?;
        let from = reader.at;
        reader.take(len)?;
        Some(from..from + len)
    };
    while let Some(tag) = reader.byte() {
        let key = part(&mut reader).ok_or_else(damaged)?;
        let value = part(&mut reader).ok_or_else(damaged)?;
        f(tag, chunk.get(key).unwrap_or_default(), chunk.get(value).unwrap_or_default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::Random;

    fn cut(rows: &[(u64, Vec<u8>)]) -> Vec<Vec<u8>> {
        let mut cutter = Cutter::new();
        let mut chunks = Vec::new();
        for (key, value) in rows {
            chunks.extend(cutter.add(3, &key.to_be_bytes(), value).unwrap());
        }
        chunks.extend(cutter.rest());
        chunks
    }

    /// The chunks have all rows, and a change touches the chunks beside it alone.
    #[test]
    fn a_change_of_a_row_changes_its_chunk_alone() {
        let mut random = Random::new(1);
        let mut rows: Vec<(u64, Vec<u8>)> = (0..20_000)
            .map(|key| (key * 2, vec![key as u8; 50 + random.below(100) as usize]))
            .collect();
        let before = cut(&rows);
        let mut read = Vec::new();
        for chunk in &before {
            each_row(chunk, &mut |tag, key, value| {
                assert_eq!(tag, 3);
                read.push((u64::from_be_bytes(key.try_into().unwrap()), value.to_vec()));
                Ok(())
            })
            .unwrap();
            assert!(chunk.len() < FULL_BYTES + 200);
        }
        assert_eq!(read, rows);
        assert!((60..250).contains(&before.len()), "{}", before.len());
        rows[9_000].1 = vec![7; 60];
        rows.insert(15_000, (29_999, vec![9; 70]));
        rows.remove(3);
        let after = cut(&rows);
        let new = after.iter().filter(|chunk| !before.contains(chunk)).count();
        assert!((1..=6).contains(&new), "{new}");
    }

    #[test]
    fn bytes_that_are_no_rows_are_refused() {
        let whole = cut(&[(1, vec![1; 10]), (2, vec![2; 200])]).concat();
        let none = &mut |_: u8, _: &[u8], _: &[u8]| Ok(());
        assert!(each_row(&whole, none).is_ok());
        let mut refused = 0;
        for len in 0..whole.len() {
            refused += usize::from(each_row(&whole[..len], none).is_err());
        }
        // A cut between two rows leaves rows.
        assert_eq!(refused, whole.len() - 2);
        assert!(
            each_row(&[b'R', 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], none).is_err()
        );
    }
}
