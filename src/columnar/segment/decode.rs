//! The encodings of Parquet that segments use, decoded from checked bytes: page headers, runs of small numbers, deltas.
//!
//! All functions answer `None` for bytes that no writer makes, and never read beyond what they are given.

use arrow::array::BooleanBufferBuilder;

/// What the header of a page says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Bytes of the header itself.
    pub len: usize,
    /// Bytes behind it.
    pub body_len: usize,
    /// Values of the page, nulls included.
    pub values: usize,
    /// Number of the encoding, as Parquet's specification has it.
    pub encoding: i32,
    /// 0 for a data page, 2 for a dictionary.
    pub page_type: i32,
}

pub(super) const PLAIN: i32 = 0;
pub(super) const PLAIN_DICTIONARY: i32 = 2;
pub(super) const DELTA_BINARY_PACKED: i32 = 5;
pub(super) const RLE_DICTIONARY: i32 = 8;

struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let part = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(part)
    }

    /// Skips a value of Thrift's compact protocol.
    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => {
                self.varint()?;
            }
            7 => self.at += 8,
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                self.take(len)?;
            }
            12 if depth > 0 => self.fields(|bytes, _, kind| bytes.skip(kind, depth - 1))?,
            _ => return None,
        }
        Some(())
    }

    /// Calls `field` with the id and kind of every field of a struct.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut id = 0i64;
        loop {
            let byte = self.byte()?;
            if byte == 0 {
                return Some(());
            }
            id = match byte >> 4 {
                0 => self.zigzag()?,
                step => id.checked_add(i64::from(step))?,
            };
            field(self, id, byte & 0x0F)?;
        }
    }
}

/// Reads the header at the start of `bytes`.
pub(super) fn page_header(bytes: &[u8]) -> Option<PageHeader> {
    let mut bytes = Bytes { all: bytes, at: 0 };
    let mut header = PageHeader { page_type: -1, encoding: -1, ..PageHeader::default() };
    bytes.fields(|bytes, id, kind| match (id, kind) {
        (1, 5) => {
            header.page_type = i32::try_from(bytes.zigzag()?).ok()?;
            Some(())
        }
        (3, 5) => {
            header.body_len = usize::try_from(bytes.zigzag()?).ok()?;
            Some(())
        }
        // The headers of data pages and of dictionaries begin alike.
        (5 | 7, 12) => bytes.fields(|bytes, id, kind| match (id, kind) {
            (1, 5) => {
                header.values = usize::try_from(bytes.zigzag()?).ok()?;
                Some(())
            }
            (2, 5) => {
                header.encoding = i32::try_from(bytes.zigzag()?).ok()?;
                Some(())
            }
            _ => bytes.skip(kind, 4),
        }),
        _ => bytes.skip(kind, 4),
    })?;
    header.len = bytes.at;
    Some(header)
}

/// 32 numbers of `WIDTH` bits from `4 * WIDTH` bytes.
fn unpack<const WIDTH: usize>(words: &[u32; 33], out: &mut [u32; 32]) {
    let mask = if WIDTH == 32 { u32::MAX } else { (1 << WIDTH) - 1 };
    for (at, out) in out.iter_mut().enumerate() {
        let bit = at * WIDTH;
        // Two neighbouring words hold every number; the array has one word more, so that no index can be outside.
        let low = words.get(bit / 32).copied().unwrap_or_default();
        let high = words.get(bit / 32 + 1).copied().unwrap_or_default();
        let both = u64::from(low) | u64::from(high) << 32;
        *out = (both >> (bit % 32)) as u32 & mask;
    }
}

/// 32 numbers of `width` bits; `bytes` may end early, and then zeros follow.
fn unpack32(width: usize, bytes: &[u8], out: &mut [u32; 32]) {
    let mut words = [0u32; 33];
    let (whole, rest) = bytes.get(..bytes.len().min(4 * width)).unwrap_or_default().as_chunks::<4>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = u32::from_le_bytes(*bytes);
    }
    if !rest.is_empty() {
        let mut last = [0; 4];
        last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        if let Some(word) = words.get_mut(whole.len()) {
            *word = u32::from_le_bytes(last);
        }
    }
    macro_rules! each {
        ($($width:literal)*) => {
            match width {
                $($width => unpack::<$width>(&words, out),)*
                _ => *out = [0; 32],
            }
        };
    }
    each!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
}

/// One run of the hybrid of run lengths and packed bits.
enum Run<'a> {
    Same { value: u32, count: usize },
    Packed { bytes: &'a [u8], count: usize },
}

fn next_run<'a>(bytes: &mut Bytes<'a>, width: usize) -> Option<Run<'a>> {
    let head = usize::try_from(bytes.varint()?).ok()?;
    if head & 1 == 1 {
        let len = (head >> 1).checked_mul(width)?;
        // The last run may be cut behind its last number.
        let len = len.min(bytes.all.len().saturating_sub(bytes.at));
        return Some(Run::Packed { bytes: bytes.take(len)?, count: (head >> 1).checked_mul(8)? });
    }
    let mut value = [0; 4];
    value.iter_mut().zip(bytes.take(width.div_ceil(8))?).for_each(|(to, from)| *to = *from);
    Some(Run::Same { value: u32::from_le_bytes(value), count: head >> 1 })
}

/// Appends `count` numbers of at most `width` bits to `out`.
pub(super) fn hybrid(bytes: &[u8], width: usize, count: usize, out: &mut Vec<u32>) -> Option<()> {
    if width > 32 {
        return None;
    }
    let end = out.len().checked_add(count)?;
    if width == 0 {
        out.resize(end, 0);
        return Some(());
    }
    out.reserve(count);
    let mut bytes = Bytes { all: bytes, at: 0 };
    while out.len() < end {
        match next_run(&mut bytes, width)? {
            Run::Same { value, count } if count > 0 => out.resize(end.min(out.len().saturating_add(count)), value),
            Run::Packed { bytes, count } if !bytes.is_empty() => {
                let stop = end.min(out.len().saturating_add(count).min(out.len() + bytes.len() * 8 / width));
                let mut numbers = [0; 32];
                for part in bytes.chunks(4 * width) {
                    unpack32(width, part, &mut numbers);
                    let wanted = numbers.len().min(stop - out.len());
                    out.extend_from_slice(numbers.get(..wanted)?);
                    if out.len() == stop {
                        break;
                    }
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// Splits the definition levels from a data page whose values may be null: the validity of its rows, when one is null,
/// and the rest.
pub(super) fn validity(body: &[u8], rows: usize) -> Option<(Option<Vec<bool>>, &[u8])> {
    let (len, rest) = body.split_first_chunk::<4>()?;
    let (levels, values) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    let mut bytes = Bytes { all: levels, at: 0 };
    if let Some(Run::Same { value: 1, count }) = next_run(&mut bytes, 1)
        && count >= rows
    {
        return Some((None, values));
    }
    let mut numbers = Vec::new();
    hybrid(levels, 1, rows, &mut numbers)?;
    let valid: Vec<bool> = numbers.into_iter().map(|level| level == 1).collect();
    let all = valid.iter().all(|valid| *valid);
    Some(((!all).then_some(valid), values))
}

/// Appends the first `wanted` numbers of a block of deltas to `out`.
pub(super) fn deltas<T: Copy>(bytes: &[u8], wanted: usize, out: &mut Vec<T>, narrow: impl Fn(i64) -> T) -> Option<()> {
    let mut bytes = Bytes { all: bytes, at: 0 };
    let block = usize::try_from(bytes.varint()?).ok()?;
    let minis = usize::try_from(bytes.varint()?).ok()?;
    let total = usize::try_from(bytes.varint()?).ok()?;
    let mut last = bytes.zigzag()?;
    let in_mini = block.checked_div(minis)?;
    if wanted > total || in_mini == 0 || in_mini % 32 != 0 {
        return None;
    }
    if wanted == 0 {
        return Some(());
    }
    out.reserve(wanted);
    out.push(narrow(last));
    let mut left = wanted - 1;
    while left > 0 {
        let least = bytes.zigzag()?;
        let widths = bytes.take(minis)?;
        for &width in widths {
            if left == 0 {
                break;
            }
            let width = usize::from(width);
            // Checked below 33 because the fast path knows no more; wider numbers are rare.
            let packed = bytes.take(in_mini.checked_mul(width)? / 8)?;
            if width > 32 {
                for at in 0..in_mini.min(left) {
                    last = last.wrapping_add(least).wrapping_add(wide(packed, at * width, width)?.cast_signed());
                    out.push(narrow(last));
                }
                left -= in_mini.min(left);
                continue;
            }
            let mut numbers = [0; 32];
            for at in (0..in_mini).step_by(32) {
                if left == 0 {
                    break;
                }
                if width > 0 {
                    unpack32(width, packed.get(at / 8 * width..)?, &mut numbers);
                }
                // Whole arrays, so that nothing is checked or grown inside the loop.
                let values = numbers.map(|number| {
                    last = last.wrapping_add(least).wrapping_add(i64::from(number));
                    narrow(last)
                });
                let count = left.min(32);
                out.extend_from_slice(values.get(..count)?);
                left -= count;
            }
        }
    }
    Some(())
}

/// A number of 33 to 64 bits.
fn wide(bytes: &[u8], bit: usize, width: usize) -> Option<u64> {
    let mut all = [0; 16];
    let from = bytes.get(bit / 8..)?;
    all.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    let number = u128::from_le_bytes(all) >> (bit % 8);
    Some(number as u64 & (u64::MAX >> (64_usize.checked_sub(width)?)))
}

/// Appends a validity of rows.
pub(super) fn append_valid(out: &mut BooleanBufferBuilder, valid: Option<&[bool]>, range: std::ops::Range<usize>) {
    match valid {
        None => out.append_n(range.len(), true),
        Some(valid) => valid.get(range).unwrap_or_default().iter().for_each(|valid| out.append(*valid)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_refused_or_read_within_bounds() {
        let mut bytes: Vec<u8> = (0..200u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for round in 0..4000usize {
            let at = round * 7 % bytes.len();
            bytes[at] = bytes[at].wrapping_add(round as u8 | 1);
            for from in [0, round % 50] {
                let part = &bytes[from..];
                let mut numbers = Vec::new();
                if hybrid(part, round % 34, round % 300, &mut numbers).is_some() {
                    assert_eq!(numbers.len(), round % 300);
                }
                let mut values = Vec::new();
                if deltas(part, round % 300, &mut values, |v| v).is_some() {
                    assert_eq!(values.len(), round % 300);
                }
                let _ = (page_header(part), validity(part, round % 300));
            }
        }
    }

    #[test]
    fn packed_numbers_of_every_width_come_back() {
        for width in 1..=32usize {
            let mask = u32::MAX >> (32 - width);
            let numbers: Vec<u32> = (0..40u32).map(|at| at.wrapping_mul(2_654_435_761) & mask).collect();
            let mut packed = vec![0u8; 5 * width];
            for (at, number) in numbers.iter().enumerate() {
                for bit in 0..width {
                    packed[(at * width + bit) / 8] |= ((number >> bit & 1) as u8) << ((at * width + bit) % 8);
                }
            }
            let mut bytes = vec![5 << 1 | 1];
            bytes.extend(&packed);
            for count in [1, 31, 32, 33, 40] {
                let mut out = vec![9];
                hybrid(&bytes, width, count, &mut out).unwrap();
                assert_eq!(out[1..], numbers[..count], "{width}");
            }
        }
    }
}
