//! Decodes the Parquet encodings that segments use, from verified bytes: page headers, runs of
//! small numbers, deltas.
//!
//! All functions return `None` for bytes that no writer makes, and never read beyond their input.

use std::ops::Range;

use crate::arrow::array::BooleanBufferBuilder;
use crate::columnar::parquet_format::runs::{DeltaHeader, Run, next_run};
use crate::value::byte_reader::ByteReader;

/// The numbers of the encodings in the specification of Parquet.
pub(super) const PLAIN: i64 = 0;
pub(super) const PLAIN_DICTIONARY: i64 = 2;
pub(super) const DELTA_BINARY_PACKED: i64 = 5;
pub(super) const RLE_DICTIONARY: i64 = 8;

/// The eight bytes from `from` on as a number. After inlining, length and position are constants,
/// so only a load remains.
#[inline(always)]
fn word(bytes: &[u8], from: usize) -> u64 {
    bytes
        .get(from..)
        .and_then(|bytes| bytes.first_chunk::<8>())
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Where the eight bytes begin that contain the number at `bit`; the last numbers are in the last
/// eight of `bytes` bytes.
const fn word_of(bit: usize, bytes: usize) -> usize {
    if bit / 8 < bytes - 8 { bit / 8 } else { bytes - 8 }
}

/// Unpacks 32 numbers of `WIDTH` bits from `BYTES` = 4 * `WIDTH` bytes, at least 8.
fn unpack<const WIDTH: usize, const BYTES: usize>(bytes: &[u8; BYTES], out: &mut [u32; 32]) {
    let mask = const { u32::MAX >> (32 - WIDTH) };
    macro_rules! each {
        ($($at:literal)*) => {
            // Written out, because the compiler does not unroll a loop of 32.
            *out = [$({
                let from = const { word_of($at * WIDTH, BYTES) };
                let shift = const { ($at * WIDTH - 8 * word_of($at * WIDTH, BYTES)) as u32 };
                (word(bytes, from) >> shift) as u32 & mask
            }),*]
        };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

/// Unpacks 32 numbers of `width` bits. If `bytes` ends early, zeros follow.
fn unpack32(width: usize, bytes: &[u8], out: &mut [u32; 32]) {
    macro_rules! each {
        ($($width:literal)*) => {
            match width {
                $($width => {
                    if let Some(bytes) = bytes.first_chunk::<{ 4 * $width }>() {
                        return unpack::<$width, { 4 * $width }>(bytes, out);
                    }
                    let mut whole = [0; 4 * $width];
                    whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                    unpack::<$width, { 4 * $width }>(&whole, out);
                })*
                1 => {
                    for (at, out) in out.iter_mut().enumerate() {
                        *out = bytes.get(at / 8).map_or(0, |byte| u32::from(byte >> (at % 8) & 1));
                    }
                }
                _ => *out = [0; 32],
            }
        };
    }
    each!(2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// Appends the numbers of `width` bits at the positions `wanted` to `out`.
pub(super) fn hybrid(
    bytes: &[u8],
    width: usize,
    wanted: Range<usize>,
    out: &mut Vec<u32>,
) -> Option<()> {
    if width > 32 {
        return None;
    }
    let end = out.len().checked_add(wanted.len())?;
    if width == 0 {
        out.resize(end, 0);
        return Some(());
    }
    out.reserve(wanted.len());
    let mut bytes = ByteReader::new(bytes);
    // Numbers to skip before the first wanted one.
    let mut skip = wanted.start;
    while out.len() < end {
        match next_run(&mut bytes, width)? {
            Run::Same { count, .. } | Run::Packed { count, .. } if count > 0 && count <= skip => {
                skip -= count;
            }
            Run::Same { value, count } if count > 0 => {
                out.resize(end.min(out.len().saturating_add(count - skip)), value);
                skip = 0;
            }
            Run::Packed { bytes, count } if !bytes.is_empty() => {
                let count = count.min(bytes.len() * 8 / width).checked_sub(skip)?;
                let stop = end.min(out.len().saturating_add(count));
                let mut at = out.len();
                // Grows once, so that the loop does not allocate.
                out.resize(stop, 0);
                // 32 numbers at a time. Whole groups are unpacked in place; a first group with
                // numbers to skip, and a last group with less room, go through a buffer.
                for part in bytes.get(skip / 32 * 4 * width..)?.chunks(4 * width) {
                    let room = out.get_mut(at..)?;
                    if let (Some(room), 0) = (room.first_chunk_mut::<32>(), skip) {
                        unpack32(width, part, room);
                        at += 32;
                    } else {
                        let mut numbers = [0; 32];
                        unpack32(width, part, &mut numbers);
                        let from = skip % 32;
                        skip = 0;
                        let len = (numbers.len() - from).min(room.len());
                        room.iter_mut()
                            .zip(numbers.get(from..from + len)?)
                            .for_each(|(to, from)| *to = *from);
                        at += len;
                    }
                    if at == stop {
                        break;
                    }
                }
                if at < stop {
                    return None;
                }
                skip = 0;
            }
            _ => return None,
        }
    }
    Some(())
}

/// Appends the numbers of `width` bits in the ranges `wanted`, which are ascending and not empty,
/// to `out`. Packed numbers between them are not unpacked, so this pays where few are wanted.
pub(super) fn scattered(
    bytes: &[u8],
    width: usize,
    wanted: &[Range<usize>],
    out: &mut Vec<u32>,
) -> Option<()> {
    let mask = u32::MAX.checked_shr(u32::BITS.checked_sub(u32::try_from(width).ok()?)?);
    let total: usize = wanted.iter().map(ExactSizeIterator::len).sum();
    let Some(mask) = mask else {
        // Numbers of no bits.
        out.resize(out.len().checked_add(total)?, 0);
        return Some(());
    };
    out.reserve(total);
    let mut bytes = ByteReader::new(bytes);
    let mut wanted = wanted.iter().cloned();
    let Some(mut range) = wanted.next() else { return Some(()) };
    // Position of the first number of the run.
    let mut first: usize = 0;
    loop {
        let run = next_run(&mut bytes, width)?;
        let (Run::Same { count, .. } | Run::Packed { count, .. }) = run;
        let end = first.checked_add(count)?;
        if count == 0 {
            return None;
        }
        while range.start < end {
            let to = range.end.min(end);
            match run {
                Run::Same { value, .. } => out.resize(out.len() + (to - range.start), value),
                Run::Packed { bytes, .. } => {
                    for at in range.start..to {
                        out.push(packed(bytes, (at - first) * width, width)? & mask);
                    }
                }
            }
            if to < range.end {
                range.start = to;
                break;
            }
            match wanted.next() {
                Some(next) => range = next,
                None => return Some(()),
            }
        }
        first = end;
    }
}

/// The 32 bits from `bit` on, of which `width` are within `bytes`.
fn packed(bytes: &[u8], bit: usize, width: usize) -> Option<u32> {
    let rest = bytes.get(bit / 8..)?;
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None if rest.len() * 8 < bit % 8 + width => return None,
        None => {
            let mut word = [0; 8];
            word.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        }
    };
    Some((word >> (bit % 8)) as u32)
}

/// Splits a data page of a nullable column into definition levels and values. Returns the validity
/// of the rows, which is `None` if no row is null, and the values.
pub(super) fn validity(body: &[u8], rows: usize) -> Option<(Option<Vec<bool>>, &[u8])> {
    let (len, rest) = body.split_first_chunk::<4>()?;
    let (levels, values) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    let mut bytes = ByteReader::new(levels);
    if let Some(Run::Same { value: 1, count }) = next_run(&mut bytes, 1)
        && count >= rows
    {
        return Some((None, values));
    }
    let mut numbers = Vec::new();
    hybrid(levels, 1, 0..rows, &mut numbers)?;
    let valid: Vec<bool> = numbers.into_iter().map(|level| level == 1).collect();
    let all = valid.iter().all(|valid| *valid);
    Some(((!all).then_some(valid), values))
}

/// Appends the numbers of a delta encoding at the positions `wanted` to `out`, and possibly some
/// before them. Returns the position of the first appended number.
///
/// The header has the first number. Blocks follow: the least delta of the block, the bit widths of
/// its miniblocks, and the packed differences of the deltas from the least one. A number is the
/// first number plus all deltas up to it, so decoding starts at the first number; groups of 32
/// before the wanted positions are only summed. What must hold: `last` is the number at position
/// `at - 1`, and `out` grows once, to its full length, at the group with the first wanted position.
/// Sums wrap around, as the format defines.
pub(super) fn deltas<T: Copy>(
    bytes: &[u8],
    wanted: Range<usize>,
    out: &mut Vec<T>,
    narrow: impl Fn(i64) -> T,
) -> Option<usize> {
    let mut bytes = ByteReader::new(bytes);
    let header = DeltaHeader::read(&mut bytes)?;
    let (in_mini, mut last) = (header.in_mini, header.first);
    if wanted.end > header.count || wanted.start > wanted.end {
        return None;
    }
    if wanted.is_empty() {
        return Some(wanted.start);
    }
    let start = out.len();
    // Position of the next number, and of the first number that is appended.
    let (mut at, mut first) = (1, 0);
    if wanted.start == 0 {
        // Grows once, so that the loop does not allocate.
        out.resize(start + wanted.end, narrow(last));
    }
    let mut numbers = [0; 32];
    while at < wanted.end || out.len() == start {
        let (least, widths) = header.block(&mut bytes)?;
        for &width in widths {
            let width = usize::from(width);
            if at >= wanted.end && out.len() > start {
                break;
            }
            let packed = bytes.take(in_mini.checked_mul(width)? / 8)?;
            for from in (0..in_mini).step_by(32) {
                let number = |number: usize| wide(packed, (from + number) * width, width);
                if out.len() == start && at + 32 > wanted.start {
                    first = at;
                    out.resize(start + wanted.end - at, narrow(last));
                }
                if out.len() > start && at >= wanted.end {
                    break;
                }
                if width > 32 {
                    for position in 0..32 {
                        last =
                            last.wrapping_add(least).wrapping_add(number(position)?.cast_signed());
                        if let Some(room) = out.get_mut(start + at + position - first) {
                            *room = narrow(last);
                        }
                    }
                    at += 32;
                    continue;
                }
                if width > 0 {
                    unpack32(width, packed.get(from / 8 * width..)?, &mut numbers);
                } else {
                    numbers = [0; 32];
                }
                if out.len() == start {
                    // None of these is wanted, only their sum is needed.
                    let sum: u64 = numbers.iter().map(|number| u64::from(*number)).sum();
                    last =
                        last.wrapping_add(least.wrapping_mul(32)).wrapping_add(sum.cast_signed());
                    at += 32;
                    continue;
                }
                let mut next = |number: u32| {
                    last = last.wrapping_add(least).wrapping_add(i64::from(number));
                    narrow(last)
                };
                let room = out.get_mut(start + at - first..)?;
                match room.first_chunk_mut::<32>() {
                    Some(room) => {
                        room.iter_mut().zip(&numbers).for_each(|(to, number)| *to = next(*number));
                    }
                    None => {
                        room.iter_mut().zip(&numbers).for_each(|(to, number)| *to = next(*number));
                    }
                }
                at += 32;
            }
        }
    }
    Some(first)
}

/// Reads a number of 33 to 64 bits.
fn wide(bytes: &[u8], bit: usize, width: usize) -> Option<u64> {
    let mut all = [0; 16];
    let from = bytes.get(bit / 8..)?;
    all.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    let number = u128::from_le_bytes(all) >> (bit % 8);
    Some(number as u64 & (u64::MAX >> (64_usize.checked_sub(width)?)))
}

/// Appends the validity of rows.
pub(super) fn append_valid(
    out: &mut BooleanBufferBuilder,
    valid: Option<&[bool]>,
    range: Range<usize>,
) {
    match valid {
        None => out.append_n(range.len(), true),
        Some(valid) => {
            valid.get(range).unwrap_or_default().iter().for_each(|valid| out.append(*valid));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columnar::parquet_format::format::PageHeader;

    #[test]
    fn damaged_bytes_are_refused_or_read_within_bounds() {
        let mut bytes: Vec<u8> =
            (0..200u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for round in 0..4000usize {
            let at = round * 7 % bytes.len();
            bytes[at] = bytes[at].wrapping_add(round as u8 | 1);
            for from in [0, round % 50] {
                let part = &bytes[from..];
                let mut numbers = Vec::new();
                let wanted = round % 70..round % 70 + round % 300;
                if hybrid(part, round % 34, wanted, &mut numbers).is_some() {
                    assert_eq!(numbers.len(), round % 300);
                }
                let mut values = Vec::new();
                let wanted = round % 90..round % 90 + round % 300;
                if let Some(first) = deltas(part, wanted.clone(), &mut values, |v| v) {
                    assert!(
                        first <= wanted.start
                            && (wanted.is_empty() || values.len() == wanted.end - first)
                    );
                }
                let mut numbers = Vec::new();
                let few: Vec<Range<usize>> =
                    (0..round % 9).map(|at| at * 37 + round % 31..at * 37 + 33).collect();
                if scattered(part, round % 34, &few, &mut numbers).is_some() {
                    assert_eq!(
                        numbers.len(),
                        few.iter().map(ExactSizeIterator::len).sum::<usize>()
                    );
                }
                let _ = (PageHeader::read(part), validity(part, round % 300));
            }
        }
    }

    #[test]
    fn scattered_numbers_are_those_of_a_whole_read() {
        // 5 times 3, 16 packed numbers, 4 times 6, of three bits.
        let mut bytes = vec![5 << 1, 3, 2 << 1 | 1];
        bytes.extend([0x88, 0x58, 0xfa, 0xff, 0x00, 0xff]);
        bytes.extend([4 << 1, 6]);
        let mut whole = Vec::new();
        hybrid(&bytes, 3, 0..25, &mut whole).unwrap();
        assert_eq!(whole[..5], [3; 5]);
        assert_eq!(whole[21..], [6; 4]);
        for from in 0..25 {
            for to in from + 1..=25 {
                for gap in 1..9 {
                    let wanted: Vec<Range<usize>> =
                        (from..to).step_by(gap).map(|at| at..(at + gap / 2 + 1).min(to)).collect();
                    if wanted.windows(2).any(|pair| pair[0].end > pair[1].start) {
                        continue;
                    }
                    let mut out = Vec::new();
                    scattered(&bytes, 3, &wanted, &mut out).unwrap();
                    let expected: Vec<u32> =
                        wanted.iter().flat_map(|range| whole[range.clone()].to_vec()).collect();
                    assert_eq!(out, expected, "{wanted:?}");
                }
            }
        }
        assert_eq!(scattered(&bytes, 3, &[3..4, 24..26], &mut Vec::new()), None);
        assert_eq!(scattered(&bytes, 33, &[0..1, 2..3], &mut Vec::new()), None);
        let mut none = vec![1];
        scattered(&bytes, 0, &[7..9, 30..31], &mut none).unwrap();
        assert_eq!(none, [1, 0, 0, 0]);
    }

    #[test]
    fn packed_numbers_of_every_width_come_back() {
        for width in 1..=32usize {
            let mask = u32::MAX >> (32 - width);
            let numbers: Vec<u32> =
                (0..40u32).map(|at| at.wrapping_mul(2_654_435_761) & mask).collect();
            let mut packed = vec![0u8; 5 * width];
            for (at, number) in numbers.iter().enumerate() {
                for bit in 0..width {
                    packed[(at * width + bit) / 8] |=
                        ((number >> bit & 1) as u8) << ((at * width + bit) % 8);
                }
            }
            let mut bytes = vec![5 << 1 | 1];
            bytes.extend(&packed);
            for wanted in [0..1, 0..31, 0..32, 0..33, 0..40, 5..6, 31..34, 32..40, 39..40] {
                let mut out = vec![9];
                hybrid(&bytes, width, wanted.clone(), &mut out).unwrap();
                assert_eq!(out[1..], numbers[wanted.clone()], "{width}");
                out.truncate(1);
                scattered(&bytes, width, std::slice::from_ref(&wanted), &mut out).unwrap();
                assert_eq!(out[1..], numbers[wanted], "{width}");
            }
        }
    }
}
