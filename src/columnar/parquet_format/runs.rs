//! The frames of two encodings of Parquet: runs of small numbers, and blocks of deltas. The decoder
//! of segments reads values by them, and imports check foreign pages by them.

use crate::value::byte_reader::ByteReader;

/// One run of Parquet's hybrid encoding of run lengths and packed bits.
#[derive(Debug)]
pub enum Run<'a> {
    /// The same number several times.
    Same {
        /// The number.
        value: u32,
        /// How often.
        count: usize,
    },
    /// Numbers of the bits that all have.
    Packed {
        /// The packed bits.
        bytes: &'a [u8],
        /// The numbers in them, also those that the bytes end before.
        count: usize,
    },
}

/// The next run of numbers of `width` bits, at most 32.
///
/// `None` for a run that is cut off or that has more numbers than a page can have. The last packed
/// run may end after its last number. A run of no numbers has no value.
pub fn next_run<'a>(bytes: &mut ByteReader<'a>, width: usize) -> Option<Run<'a>> {
    let head = bytes.varint()?;
    let count = usize::try_from(head >> 1).ok().filter(|count| *count <= u32::MAX as usize / 8)?;
    if head & 1 == 1 {
        let len = count.checked_mul(width)?.min(bytes.left());
        return Some(Run::Packed { bytes: bytes.take(len)?, count: count * 8 });
    }
    let mut value = [0; 4];
    if count > 0 {
        value.iter_mut().zip(bytes.take(width.div_ceil(8))?).for_each(|(to, from)| *to = *from);
    }
    Some(Run::Same { value: u32::from_le_bytes(value), count })
}

/// The header of a delta encoding.
#[derive(Debug)]
pub struct DeltaHeader {
    /// Miniblocks of a block.
    minis: usize,
    /// Numbers of a miniblock, a multiple of 32.
    pub in_mini: usize,
    /// Numbers of the page.
    pub count: usize,
    /// The first number.
    pub first: i64,
}

impl DeltaHeader {
    /// The header at the start of a page; `None` if it is cut off, or if no blocks have such
    /// lengths.
    pub fn read(bytes: &mut ByteReader<'_>) -> Option<Self> {
        let block = usize::try_from(bytes.varint()?).ok()?;
        let minis = usize::try_from(bytes.varint()?).ok()?;
        let count = usize::try_from(bytes.varint()?).ok()?;
        let in_mini = block.checked_div(minis)?;
        let is_whole = block % 128 == 0 && block % minis == 0 && in_mini % 32 == 0;
        (is_whole && in_mini > 0).then_some(())?;
        Some(Self { minis, in_mini, count, first: bytes.zigzag()? })
    }

    /// The least delta of the next block, and the bits of the numbers of its miniblocks.
    pub fn block<'a>(&self, bytes: &mut ByteReader<'a>) -> Option<(i64, &'a [u8])> {
        Some((bytes.zigzag()?, bytes.take(self.minis)?))
    }
}
