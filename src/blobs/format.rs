//! The bytes of a blob's file.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic `SDBLOB2` and a line feed |
//! | 8 | the blob's id, little-endian |
//! | up to 65,536 | the first block of the content |
//! | 4 for each piece of 4,096 bytes of the block | CRC-32 of the piece plus a hash of its place |
//! | … | further blocks, each full but the last, each with its checksums |
//!
//! So the position of a piece follows from its number, a ranged read verifies what it returns and
//! reads little more, and a misplaced piece or file is detected. Empty content has no block. The
//! record that names the blob contains the length, which determines the length of the file.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

/// The directory of all blobs.
pub(super) const ROOT: &str = "files";

/// Number of content bytes of one block.
pub(super) const BLOCK_BYTES: usize = 64 * 1024;
/// Number of content bytes that one checksum is of; a part of a block.
pub(super) const PIECE_BYTES: usize = 4 * 1024;
/// Number of bytes of a checksum.
pub(super) const CHECK_BYTES: usize = 4;
/// Number of bytes of the checksums of a full block.
pub(super) const CHECKS_BYTES: usize = BLOCK_BYTES / PIECE_BYTES * CHECK_BYTES;
/// Number of bytes before the first block.
pub(super) const HEADER_BYTES: usize = 16;

pub(crate) const MAGIC: [u8; 8] = *b"SDBLOB2\n";

pub(super) fn header(id: u64) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    let (magic, number) = out.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    number.copy_from_slice(&id.to_le_bytes());
    out
}

/// The checksums of the pieces of `content`, which is the content from the piece `first` on. The
/// place of a piece is part of its checksum, so that a misplaced piece does not match.
pub(super) fn checksums(
    id: u64,
    first: u64,
    content: &[u8],
) -> impl Iterator<Item = [u8; CHECK_BYTES]> {
    (first..).zip(content.chunks(PIECE_BYTES)).map(move |(number, piece)| {
        let mut place = [0; 16];
        let (left, right) = place.split_at_mut(8);
        left.copy_from_slice(&id.to_le_bytes());
        right.copy_from_slice(&number.to_le_bytes());
        let [a, b, c, d, ..] = xxh3_64(&place).to_le_bytes();
        let place = u32::from_le_bytes([a, b, c, d]);
        crc32fast::hash(piece).wrapping_add(place).to_le_bytes()
    })
}

/// Length of the checksums of `len` bytes of a block that start with a piece.
pub(super) fn checks_len(len: usize) -> usize {
    len.div_ceil(PIECE_BYTES) * CHECK_BYTES
}

/// Position of a block in the file.
pub(super) fn block_offset(block: u64) -> u64 {
    (HEADER_BYTES as u64).saturating_add(block.saturating_mul((BLOCK_BYTES + CHECKS_BYTES) as u64))
}

/// Length of the file of a blob with `len` bytes of content.
pub(super) fn file_len(len: u64) -> u64 {
    (HEADER_BYTES as u64)
        .saturating_add(len)
        .saturating_add(len.div_ceil(PIECE_BYTES as u64).saturating_mul(CHECK_BYTES as u64))
}

/// Length of the content of a blob whose file has this length; `None` for a length that no file of
/// a blob has.
pub(super) fn content_len(len: u64) -> Option<u64> {
    let body = len.checked_sub(HEADER_BYTES as u64)?;
    let pieces = body.div_ceil((PIECE_BYTES + CHECK_BYTES) as u64);
    let content = body.checked_sub(pieces * CHECK_BYTES as u64)?;
    (file_len(content) == len).then_some(content)
}

/// Positions of the checksums in a blob's file of this length.
pub(crate) fn check_ranges(file_len: u64) -> impl Iterator<Item = Range<u64>> {
    let stride = (BLOCK_BYTES + CHECKS_BYTES) as u64;
    let blocks = file_len.saturating_sub(HEADER_BYTES as u64).div_ceil(stride);
    (0..blocks).map(move |block| {
        let start = block_offset(block);
        let end = block_offset(block + 1).min(file_len);
        let pieces = (end - start).div_ceil((PIECE_BYTES + CHECK_BYTES) as u64);
        end.saturating_sub(pieces * CHECK_BYTES as u64).max(start)..end
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
