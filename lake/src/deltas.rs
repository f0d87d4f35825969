//! Columns of integers in another unit, without decoding them: a page of deltas holds the first
//! value, and of each block the least delta and what the others are above it. All of these are
//! multiplied, and packed again in as many bits as they then need.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

use crate::chunk::{Written, general, varint, zigzag};

/// Bits of a number that, from any bit of a byte on, is in 8 bytes.
const BITS: usize = 57;

/// The pages of a column whose numbers were multiplied.
pub(crate) struct Multiplied {
    pub pages: Vec<Page>,
    pub least: i64,
    pub greatest: i64,
    pub null_count: Option<u64>,
}

/// The pages of a column of integers, multiplied by `factor`. `None` if its pages have another form
/// than a writer of stored files gives to integers that grow, or if a product is too large.
///
/// Products are computed without a look at their size: the largest ones are those of the statistics.
pub(crate) fn multiplied(
    pages: &mut dyn PageReader,
    chunk: &ColumnChunkMetaData,
    factor: i64,
) -> Written<Option<Multiplied>> {
    let Some(Statistics::Int64(bounds)) = chunk.statistics() else { return Ok(None) };
    let product = |bound: Option<&i64>| bound.and_then(|bound| bound.checked_mul(factor));
    let (Some(least), Some(greatest)) = (product(bounds.min_opt()), product(bounds.max_opt()))
    else {
        return Ok(None);
    };
    let has_levels = chunk.column_descr().max_def_level() > 0;
    let mut out = Vec::new();
    while let Some(page) = pages.get_next_page()? {
        let Page::DataPage { buf, num_values, encoding: Encoding::DELTA_BINARY_PACKED, .. } = page
        else {
            return Ok(None);
        };
        let levels = match buf.first_chunk::<4>() {
            Some(length) if has_levels => 4 + u32::from_le_bytes(*length) as usize,
            _ => 0,
        };
        let mut bytes = Vec::with_capacity(buf.len().saturating_mul(2));
        bytes.extend_from_slice(buf.get(..levels).ok_or_else(|| general("a page is cut"))?);
        let deltas = buf.get(levels..).unwrap_or_default();
        if multiply(&mut Input(deltas), factor, &mut bytes).is_none() {
            return Ok(None);
        }
        out.push(Page::DataPage {
            buf: bytes.into(),
            num_values,
            encoding: Encoding::DELTA_BINARY_PACKED,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        });
    }
    Ok(Some(Multiplied { pages: out, least, greatest, null_count: bounds.null_count_opt() }))
}

/// The rest of a page.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.take(1)? else { return None };
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

/// Multiplies deltas, as wrapping numbers, of which the values are sums: the sums are right when the
/// values are in range. `None` for another form, and for deltas that are too large to be packed.
fn multiply(input: &mut Input<'_>, factor: i64, out: &mut Vec<u8>) -> Option<()> {
    let (block, parts, count) = (input.varint()?, input.varint()?, input.varint()?);
    let first = input.signed()?;
    for number in [block, parts, count, zigzag(first.wrapping_mul(factor))] {
        varint(number, out);
    }
    let parts = usize::try_from(parts).ok().filter(|parts| (1..=64).contains(parts))?;
    let length = usize::try_from(block).ok().filter(|block| *block <= 1 << 16)? / parts;
    if length == 0 || !length.is_multiple_of(32) {
        return None;
    }
    let mut left = usize::try_from(count).ok()?.saturating_sub(1);
    let mut numbers = vec![0; length];
    let mut packed = vec![0; length * 8 + 8];
    while left > 0 {
        let least = input.signed()?;
        varint(zigzag(least.wrapping_mul(factor)), out);
        let widths = input.take(parts)?;
        let at = out.len();
        out.resize(at + parts, 0);
        for (part, width) in widths.iter().map(|width| usize::from(*width)).enumerate() {
            if left == 0 {
                break;
            }
            let own = left.min(length);
            left -= own;
            if width == 0 {
                continue;
            }
            let bytes = input.take(width * length / 8)?;
            let most = unpack(bytes, width, factor.cast_unsigned(), numbers.get_mut(..own)?)?;
            let width = (u64::BITS - most.leading_zeros()) as usize;
            *out.get_mut(at + part)? = u8::try_from(width).ok()?;
            let bytes = packed.get_mut(..width * length / 8 + 8)?;
            pack(numbers.get(..own)?, width, bytes)?;
            out.extend_from_slice(bytes.get(..width * length / 8)?);
        }
    }
    Some(())
}

/// Unpacks numbers of `width` bits and multiplies them. Returns a number with all of their bits.
fn unpack(bytes: &[u8], width: usize, factor: u64, numbers: &mut [u64]) -> Option<u64> {
    let factor_bits = (u64::BITS - factor.leading_zeros()) as usize;
    if width + factor_bits > BITS {
        return None;
    }
    let mask = (1 << width) - 1;
    let mut all = 0;
    let mut last = [0; 8];
    for (at, number) in numbers.iter_mut().enumerate() {
        let (byte, bit) = (at * width / 8, at * width % 8);
        let word = match bytes.get(byte..).and_then(<[u8]>::first_chunk::<8>) {
            Some(word) => word,
            None => {
                let rest = bytes.get(byte..)?;
                last.fill(0);
                last.get_mut(..rest.len())?.copy_from_slice(rest);
                &last
            }
        };
        *number = (u64::from_le_bytes(*word) >> bit & mask) * factor;
        all |= *number;
    }
    Some(all)
}

/// Packs numbers of at most `width` bits, of which there are at most [`BITS`]. `out` has 8 bytes more
/// than they need.
fn pack(numbers: &[u64], width: usize, out: &mut [u8]) -> Option<()> {
    out.fill(0);
    for (at, number) in numbers.iter().enumerate() {
        let (byte, bit) = (at * width / 8, at * width % 8);
        let place = out.get_mut(byte..)?.first_chunk_mut::<8>()?;
        *place = (u64::from_le_bytes(*place) | number << bit).to_le_bytes();
    }
    Some(())
}
