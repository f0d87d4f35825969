//! Columns of integers in another unit, without decoding them: a page of deltas holds the first
//! value, and of each block the least delta and what the others are above it. All of these are
//! multiplied, and packed again in as many halves of bytes as they then may need.

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

use crate::encoding::{ParquetResult, general, varint, zigzag};

/// Bits of a number that, from any bit of a byte on, is in 8 bytes.
const BITS: usize = 57;
/// Bits of half a byte.
const HALF_BYTE: usize = 4;

/// The pages of a column whose numbers were multiplied.
pub(crate) struct ScaledDeltas {
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
) -> ParquetResult<Option<ScaledDeltas>> {
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
    Ok(Some(ScaledDeltas { pages: out, least, greatest, null_count: bounds.null_count_opt() }))
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
    // Whole words are read behind the last number.
    let mut packed = vec![0; length * BITS / 8 + 8];
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
            left = left.saturating_sub(length);
            if width == 0 {
                continue;
            }
            let bytes = input.take(width * length / 8)?;
            let to = width_of_products(width, factor.cast_unsigned())?;
            *out.get_mut(at + part)? = u8::try_from(to).ok()?;
            packed.get_mut(..bytes.len())?.copy_from_slice(bytes);
            repack(&packed, width, length, factor.cast_unsigned(), to, out)?;
        }
    }
    Some(())
}

/// Bits of the products of numbers of `width` bits, in whole halves of bytes: pages of such numbers
/// compress faster and better, because equal numbers are equal bytes. `None` if they are too many.
fn width_of_products(width: usize, factor: u64) -> Option<usize> {
    let most = (1_u64.checked_shl(u32::try_from(width).ok()?)? - 1).checked_mul(factor)?;
    let bits = (u64::BITS - most.leading_zeros()) as usize;
    let bits = bits.next_multiple_of(HALF_BYTE);
    (width <= BITS && bits <= BITS).then_some(bits)
}

/// Adds `count` numbers of `width` bits, multiplied, as numbers of `to` bits, which is a multiple of
/// four. `packed` has 8 bytes more than the numbers, and `count` is a multiple of 8.
///
/// Numbers that are next to each other are put together in a word and written at once: bit by bit,
/// each number would wait for the one before.
fn repack(
    packed: &[u8],
    width: usize,
    count: usize,
    factor: u64,
    to: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mask = (1 << width) - 1;
    let word = |bit: usize| {
        let bytes = packed.get(bit / 8..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes) >> (bit % 8))
    };
    let start = out.len();
    let end = start + count * to / 8;
    // The last words reach beyond the last number.
    out.resize(end + 16, 0);
    let target = out.get_mut(start..)?;
    let mut at = 0;
    if width <= 7 && to <= 16 {
        for group in 0..count / 8 {
            let numbers = word(group * 8 * width)?;
            let number = |at: usize| (numbers >> (at * width) & mask) * factor;
            let four = |at| {
                number(at)
                    | number(at + 1) << to
                    | number(at + 2) << (2 * to)
                    | number(at + 3) << (3 * to)
            };
            let eight = u128::from(four(0)) | u128::from(four(4)) << (4 * to);
            *target.get_mut(at..)?.first_chunk_mut::<16>()? = eight.to_le_bytes();
            at += to;
        }
    } else {
        for pair in 0..count / 2 {
            let number = |at: usize| Some((word((2 * pair + at) * width)? & mask) * factor);
            let two = u128::from(number(0)?) | u128::from(number(1)?) << to;
            *target.get_mut(at..)?.first_chunk_mut::<16>()? = two.to_le_bytes();
            at += to / 4;
        }
    }
    out.truncate(end);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: usize = 32;

    /// Numbers of `width` bits, the lowest first.
    fn pack(numbers: &[u64], width: usize) -> Vec<u8> {
        let mut out = vec![0; width * PART / 8];
        for (at, number) in numbers.iter().enumerate() {
            for bit in 0..width {
                let place = at * width + bit;
                out[place / 8] |= ((number >> bit & 1) as u8) << (place % 8);
            }
        }
        out
    }

    fn unpack(bytes: &[u8], width: usize, numbers: &mut [u64]) {
        for (at, number) in numbers.iter_mut().enumerate() {
            let bit = |bit: usize| {
                let place = at * width + bit;
                u64::from(bytes[place / 8] >> (place % 8) & 1) << bit
            };
            *number = (0..width).map(bit).sum();
        }
    }

    fn packed(values: &[i64], widen: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [4 * PART as u64, 4, values.len() as u64, zigzag(values[0])] {
            varint(number, &mut out);
        }
        let deltas: Vec<i64> =
            values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for block in deltas.chunks(4 * PART) {
            let least = *block.iter().min().unwrap();
            varint(zigzag(least), &mut out);
            let above: Vec<Vec<u64>> = block
                .chunks(PART)
                .map(|part| part.iter().map(|d| d.wrapping_sub(least).cast_unsigned()).collect())
                .collect();
            let width = |part: &Vec<u64>| {
                let all = part.iter().fold(0, |all, number| all | number);
                if all == 0 { 0 } else { (u64::BITS - all.leading_zeros()) as usize + widen }
            };
            for part in 0..4 {
                out.push(above.get(part).map_or(0, |part| width(part) as u8));
            }
            for part in &above {
                let width = width(part);
                out.extend(pack(part, width));
            }
        }
        out
    }

    fn values(bytes: &[u8]) -> Vec<i64> {
        let mut input = Input(bytes);
        let head: Vec<u64> = (0..3).map(|_| input.varint().unwrap()).collect();
        let mut values = vec![input.signed().unwrap()];
        while values.len() < head[2] as usize {
            let least = input.signed().unwrap();
            for width in input.take(4).unwrap() {
                let own = PART.min(head[2] as usize - values.len());
                if own == 0 {
                    break;
                }
                let mut numbers = vec![0; own];
                if *width > 0 {
                    let bytes = input.take(usize::from(*width) * PART / 8).unwrap();
                    unpack(bytes, usize::from(*width), &mut numbers);
                }
                for number in numbers {
                    let delta = least.wrapping_add(number.cast_signed());
                    values.push(values.last().unwrap().wrapping_add(delta));
                }
            }
        }
        assert!(input.0.is_empty());
        values
    }

    fn multiplied_by_1000(bytes: &[u8]) -> Option<Vec<i64>> {
        let mut out = Vec::new();
        multiply(&mut Input(bytes), 1000, &mut out)?;
        Some(values(&out))
    }

    #[test]
    fn deltas_of_every_width_and_length_are_multiplied() {
        for count in [1, 2, 31, 32, 33, 34, 127, 128, 129, 130, 256, 257, 258, 400] {
            for bits in 0..40 {
                let noise =
                    |at: i64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> (63 - bits);
                let own: Vec<i64> = (0..count).map(noise).collect();
                let expected: Vec<i64> = own.iter().map(|value| value * 1000).collect();
                for widen in [0, 3] {
                    let found = multiplied_by_1000(&packed(&own, widen)).unwrap();
                    assert_eq!(found, expected, "{count} values of {bits} bits");
                }
            }
        }
    }

    #[test]
    fn too_wide_and_cut_pages_are_left_to_the_reader() {
        let wide: Vec<i64> = (0..40).map(|at| (at % 2) << 50).collect();
        assert_eq!(multiplied_by_1000(&packed(&wide, 0)), None);
        let whole = packed(&(0..300).map(|at| at * at).collect::<Vec<i64>>(), 0);
        assert!(multiplied_by_1000(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(multiplied_by_1000(&whole[..length]), None, "{length} bytes");
        }
    }
}
