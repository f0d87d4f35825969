//! The bytes of a blob's file.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `SDBLOB1` and a line feed |
//! | 8 | the blob's id, little-endian |
//! | up to 65,536 | the first block of the content |
//! | 8 | XXH3-64 of the block, seeded by the blob's id and the block's number, little-endian |
//! | … | further blocks, each full but the last, each with its checksum |
//!
//! So the position of a block follows from its number, a ranged read verifies what it returns, and
//! a misplaced block or file is detected. Empty content has no block. The record that names the
//! blob contains the length, which determines the length of the file.

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The directory of all blobs.
pub(super) const ROOT: &str = "files";

/// Number of content bytes of one block.
pub(super) const BLOCK_BYTES: usize = 64 * 1024;
/// Number of bytes of a checksum.
pub(super) const CHECK_BYTES: usize = 8;
/// Number of bytes before the first block.
pub(super) const HEADER_BYTES: usize = 16;

pub(crate) const MAGIC: [u8; 8] = *b"SDBLOB1\n";

pub(super) fn header(id: u64) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    let (magic, number) = out.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    number.copy_from_slice(&id.to_le_bytes());
    out
}

/// The checksum of a block. The seed binds it to its position, so that a misplaced block does not
/// match.
pub(super) fn checksum(id: u64, block: u64, content: &[u8]) -> [u8; CHECK_BYTES] {
    let mut place = [0; 16];
    let (left, right) = place.split_at_mut(8);
    left.copy_from_slice(&id.to_le_bytes());
    right.copy_from_slice(&block.to_le_bytes());
    xxh3_64_with_seed(content, xxh3_64(&place)).to_le_bytes()
}

/// Position of a block in the file.
pub(super) fn block_offset(block: u64) -> u64 {
    (HEADER_BYTES as u64).saturating_add(block.saturating_mul((BLOCK_BYTES + CHECK_BYTES) as u64))
}

/// Length of the file of a blob with `len` bytes of content.
pub(super) fn file_len(len: u64) -> u64 {
    (HEADER_BYTES as u64)
        .saturating_add(len)
        .saturating_add(len.div_ceil(BLOCK_BYTES as u64).saturating_mul(CHECK_BYTES as u64))
}

/// Length of the content of a blob whose file has this length; `None` for a length that no file of
/// a blob has.
pub(super) fn content_len(len: u64) -> Option<u64> {
    let blocks = len.checked_sub(HEADER_BYTES as u64)?.div_ceil((BLOCK_BYTES + CHECK_BYTES) as u64);
    let content = len.checked_sub(HEADER_BYTES as u64 + blocks * CHECK_BYTES as u64)?;
    (file_len(content) == len).then_some(content)
}

/// Positions of the checksums in a blob's file of this length.
pub(crate) fn check_ranges(file_len: u64) -> impl Iterator<Item = Range<u64>> {
    let stride = (BLOCK_BYTES + CHECK_BYTES) as u64;
    let blocks = file_len.saturating_sub(HEADER_BYTES as u64).div_ceil(stride);
    (1..=blocks).map(move |block| {
        let end = block_offset(block).min(file_len);
        end.saturating_sub(CHECK_BYTES as u64)..end
    })
}

/// Directory of a blob. 256 consecutive ids share one, so that a new directory is rarely needed.
pub(super) fn directory(id: u64) -> String {
    format!("{}/{:02x}", ROOT, (id >> 8) & 0xff)
}

/// Path of a blob on the disk of its store.
pub(crate) fn path(id: u64) -> String {
    format!("{}/{id:016x}", directory(id))
}

/// The id in a file name; `None` for a name that no blob has.
pub(super) fn parse_name(name: &str) -> Option<u64> {
    let is_id = name.len() == 16
        && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    is_id.then(|| u64::from_str_radix(name, 16).ok()).flatten()
}
