//! The pages of one column chunk of an external Parquet file. All page headers are checked before a
//! page is decoded, and the lengths inside a page before a decoder allocates memory for them.

use std::sync::Arc;

use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::schema::types::ColumnDescriptor;
use stationdb::tables::readers::Stop;
use stationdb::tables::readers::byte_reader::ByteReader;
use stationdb::tables::readers::parquet_pages::{DATA, DATA_V2, DICTIONARY, INDEX, PageHeader};
use stationdb::tables::readers::parquet_runs::{DeltaHeader, Run, next_run};
use stationdb::{Control, Error, Result};

use super::source::ParquetSource;
use crate::limits;

/// What the page headers of a column chunk declare.
#[derive(Clone, Debug, Default)]
pub(super) struct ChunkShape {
    /// Uncompressed bytes of the dictionary.
    pub dictionary_bytes: u64,
    /// Uncompressed bytes of the largest other page.
    pub page_bytes: u64,
    /// Values and uncompressed bytes of each page that has values.
    pages: Vec<(u64, u64)>,
}

impl ChunkShape {
    /// An upper bound of the bytes of the pages that `rows` consecutive rows are in, wherever the
    /// rows begin.
    pub(super) fn window_bytes(&self, rows: u64) -> u64 {
        let (mut most, mut total, mut behind, mut end) = (0, 0, 0, 0);
        for (at, (_, bytes)) in self.pages.iter().enumerate() {
            if end == at {
                (total, end) = (*bytes, at + 1);
            }
            // The first row may be the last one of its page, so only pages after it are sure to
            // have the other rows.
            while let Some((values, bytes)) = self.pages.get(end).filter(|_| behind < rows) {
                behind += values;
                total += bytes;
                end += 1;
            }
            most = most.max(total);
            total -= bytes;
            if let Some((values, _)) = self.pages.get(at + 1).filter(|_| at + 1 < end) {
                behind -= values;
            }
        }
        most
    }
}

fn damaged(why: &str) -> Error {
    Error::invalid(format!("a page is damaged: {why}"))
}

fn read_header(source: &ParquetSource, at: u64, end: u64) -> Result<PageHeader> {
    let mut window = 512u64;
    loop {
        let len = window.min(end.saturating_sub(at));
        match PageHeader::read(&source.read(at, len as usize)?) {
            Ok(header) => return Ok(header),
            Err(Stop::TooShort)
                if len == window && window < limits::IMPORT_PAGE_HEADER_BYTES as u64 =>
            {
                window = (window * 8).min(limits::IMPORT_PAGE_HEADER_BYTES as u64);
            }
            Err(Stop::TooShort) if len == window => {
                return Err(Error::limit(format!(
                    "a page header is longer than the {} bytes that one may take",
                    limits::IMPORT_PAGE_HEADER_BYTES
                )));
            }
            Err(stop) => return Err(stop.into_error("a page header")),
        }
    }
}

fn check_count(pages: usize) -> Result<()> {
    if pages > limits::IMPORT_PAGES {
        return Err(Error::limit(format!(
            "a column has more than the {} pages of an import",
            limits::IMPORT_PAGES
        )));
    }
    Ok(())
}

/// Checks every page header from `start` to `end`.
pub(super) fn check_chunk(
    source: &ParquetSource,
    (start, end): (u64, u64),
    is_compressed: bool,
    value_count: i64,
    page_bytes_max: usize,
    control: &Control,
) -> Result<ChunkShape> {
    let mut shape = ChunkShape::default();
    let mut at = start;
    let mut left = value_count;
    while left > 0 {
        control.check()?;
        if at >= end {
            return Err(damaged("the column ends before its last value"));
        }
        let header = read_header(source, at, end)?;
        let uncompressed =
            usize::try_from(header.uncompressed).map_err(|_| damaged("it has no length"))?;
        let compressed =
            usize::try_from(header.compressed).map_err(|_| damaged("it has no length"))?;
        if uncompressed > page_bytes_max {
            return Err(Error::limit(format!(
                "a page takes {uncompressed} bytes, more than the {page_bytes_max} that one may \
                 take; write the file with smaller pages"
            )));
        }
        // Pages below 1 KiB count as 1 KiB: a small page may have one value only, and a ratio
        // matters only where it costs memory.
        if uncompressed / limits::IMPORT_PAGE_RATIO > compressed.max(1024) {
            return Err(Error::limit(format!(
                "a page of {compressed} bytes would take {uncompressed}, more than {} times as \
                 much",
                limits::IMPORT_PAGE_RATIO
            )));
        }
        if !is_compressed && uncompressed != compressed {
            return Err(damaged("its two lengths differ although it is not compressed"));
        }
        let is_first = at == start;
        at = at.saturating_add(header.len as u64).saturating_add(compressed as u64);
        if at > end {
            return Err(damaged("it extends beyond its column"));
        }
        match header.page_type {
            DICTIONARY if is_first => {
                if !usize::try_from(header.values)
                    .is_ok_and(|values| values <= uncompressed.saturating_mul(8))
                {
                    return Err(damaged("its dictionary has more values than bytes"));
                }
                shape.dictionary_bytes = uncompressed as u64;
            }
            DATA | DATA_V2 => {
                if header.values < 0 || header.values > left {
                    return Err(damaged("the column has more values than its row group has rows"));
                }
                if header.page_type == DATA_V2
                    && header.levels.cast_unsigned() > uncompressed.min(compressed) as u64
                {
                    return Err(damaged("its levels extend beyond it"));
                }
                left -= header.values;
                shape.page_bytes = shape.page_bytes.max(uncompressed as u64);
                if header.values > 0 {
                    shape.pages.push((header.values.cast_unsigned(), uncompressed as u64));
                }
                check_count(shape.pages.len())?;
            }
            INDEX => {}
            _ => {
                return Err(damaged(
                    "it has an unknown type, or is a dictionary after the first page",
                ));
            }
        }
    }
    Ok(shape)
}

/// The length of the longest value in a dictionary of byte arrays.
pub(super) fn longest(dictionary: &[u8]) -> usize {
    let (mut rest, mut longest) = (dictionary, 0);
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        longest = longest.max(len.min(behind.len()));
        rest = behind.get(len..).unwrap_or_default();
    }
    longest
}

/// The pages of a column chunk; each is checked before it is returned.
pub(super) struct CheckedPages {
    inner: Box<dyn PageReader>,
    /// The level of a value that is there, 0 if all are.
    top_level: u16,
    physical: PhysicalType,
    /// Bytes of a value; 0 where values differ in length, or are less than one byte.
    width: usize,
    /// Values of the dictionary, when its page was read.
    dictionary: Option<u32>,
    /// Keeps why a page was refused, in words of this library.
    source: Arc<ParquetSource>,
}

/// Bytes of a value of a column.
fn width(column: &ColumnDescriptor) -> usize {
    match column.physical_type() {
        PhysicalType::INT32 | PhysicalType::FLOAT => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
        PhysicalType::INT96 => 12,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            usize::try_from(column.type_length()).unwrap_or_default()
        }
        PhysicalType::BOOLEAN | PhysicalType::BYTE_ARRAY => 0,
    }
}

impl CheckedPages {
    pub(super) fn new(
        source: Arc<ParquetSource>,
        inner: Box<dyn PageReader>,
        column: &ColumnDescriptor,
    ) -> Self {
        Self {
            inner,
            top_level: column.max_def_level().unsigned_abs(),
            physical: column.physical_type(),
            width: width(column),
            dictionary: None,
            source,
        }
    }

    /// Checks a page. Returns whether it has neither values nor bytes of values.
    fn check(&mut self, page: &Page) -> std::result::Result<bool, &'static str> {
        let is_nullable = self.top_level > 0;
        if self.physical == PhysicalType::FIXED_LEN_BYTE_ARRAY && self.width == 0 {
            return Err("values of no bytes");
        }
        let (buf, count, encoding, levels, from, nulls) = match page {
            Page::DictionaryPage { buf, num_values, .. } => {
                self.dictionary = Some(*num_values);
                // The decoder divides by the number of values.
                if *num_values == 0 && !buf.is_empty() {
                    return Err("a dictionary with bytes and without values");
                }
                return Ok(false);
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                if is_nullable && *def_level_encoding != Encoding::RLE {
                    return Err("levels in a deprecated encoding");
                }
                let levels = match (is_nullable, buf.first_chunk::<4>()) {
                    (false, _) => 0,
                    (true, Some(len)) => 4 + u32::from_le_bytes(*len) as usize,
                    (true, None) => return Err("a page without its levels"),
                };
                (buf, *num_values, *encoding, levels, if is_nullable { 4 } else { 0 }, 0)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let from = *rep_levels_byte_len as usize;
                let levels = *def_levels_byte_len as usize + from;
                (buf, *num_values, *encoding, levels, from, *num_nulls)
            }
        };
        let Some(values) = buf.get(levels..) else {
            return Err("levels that extend beyond their page");
        };
        let levels = buf.get(from..levels).unwrap_or_default();
        let present = if is_nullable {
            check_levels(levels, self.top_level, count)?
        } else {
            u64::from(count)
        };
        // The decoder takes what is no null for the number of values.
        let Some(declared) = count.checked_sub(nulls).filter(|all| u64::from(*all) >= present)
        else {
            return Err("more nulls than its levels have");
        };
        // No values may be encoded as no bytes.
        if present == 0 && values.is_empty() {
            return Ok(true);
        }
        match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                let Some(in_dictionary) = self.dictionary else {
                    return Err("indexes of a dictionary that is not there");
                };
                let (bits, runs) = values.split_first().ok_or("indexes without their bits")?;
                // Not every decoder compares the index with the dictionary.
                let is_fixed = self.physical == PhysicalType::FIXED_LEN_BYTE_ARRAY;
                let most = (is_fixed || *bits > 31).then_some(u64::from(in_dictionary));
                check_runs(runs, *bits, present, most)?;
            }
            Encoding::RLE if self.physical == PhysicalType::BOOLEAN => {
                let (_, runs) = values.split_at_checked(4).ok_or("values without their length")?;
                check_runs(runs, 1, count.into(), None)?;
            }
            Encoding::PLAIN if self.physical == PhysicalType::BYTE_ARRAY => {
                check_texts(values, declared)?;
            }
            Encoding::BYTE_STREAM_SPLIT => {
                let len = present.checked_mul(self.width as u64);
                if self.width == 0 || len != Some(values.len() as u64) {
                    return Err("another length than its values have");
                }
            }
            Encoding::DELTA_BYTE_ARRAY => {
                return Err("the encoding DELTA_BYTE_ARRAY, which is not supported here");
            }
            Encoding::DELTA_BINARY_PACKED | Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                let mut bytes = ByteReader::new(values);
                match DeltaHeader::read(&mut bytes) {
                    None => return Err("a delta encoding without a valid header"),
                    Some(header) if header.count as u64 > u64::from(count) => {
                        return Err("more encoded values than the page has");
                    }
                    Some(header) if (header.count as u64) < present => {
                        return Err("fewer encoded values than the page has");
                    }
                    Some(header) => {
                        let is_long = self.physical == PhysicalType::INT64;
                        check_delta(&header, bytes, if is_long { 64 } else { 32 })?;
                    }
                }
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Checks texts, each behind its length. The decoder divides by the number of those that are left,
/// also when bytes are left behind the last one.
fn check_texts(mut bytes: &[u8], count: u32) -> PageCheck {
    for _ in 0..count {
        let Some((len, behind)) = bytes.split_first_chunk::<4>() else { return Ok(()) };
        // The decoder refuses a length beyond the page.
        let Some(rest) = behind.get(u32::from_le_bytes(*len) as usize..) else { return Ok(()) };
        bytes = rest;
    }
    if bytes.is_empty() { Ok(()) } else { Err("bytes behind its last value") }
}

/// Why bytes are refused.
type PageCheck = std::result::Result<(), &'static str>;

const BAD_RUN: &str = "a run that is cut, or that is longer than its page";

/// Numbers that a decoder of indexes reads at a time, also beyond those that it needs.
const READ_AHEAD: u64 = 1024;

/// Checks the runs of `count` numbers of `bits` each, as far as there are bytes. All are below
/// `most`, if it is given.
fn check_runs(bytes: &[u8], bits: u8, count: u64, most: Option<u64>) -> PageCheck {
    if bits > 32 {
        return Err("numbers of more than 32 bits");
    }
    let (mut bytes, mut seen) = (ByteReader::new(bytes), 0u64);
    let is_good = |number: u64| most.is_none_or(|most| number < most);
    while seen < count.next_multiple_of(READ_AHEAD) && bytes.left() > 0 {
        let used = count.saturating_sub(seen);
        let (len, is_good) = match next_run(&mut bytes, usize::from(bits)).ok_or(BAD_RUN)? {
            // The decoder ends here.
            Run::Same { count: 0, .. } => break,
            Run::Same { value, count } => (count as u64, used == 0 || is_good(value.into())),
            Run::Packed { bytes: packed, count } => {
                let len = count as u64;
                let compared = if most.is_some() { len.min(used) } else { 0 };
                (len, (0..compared).all(|at| is_good(packed_number(packed, at, bits))))
            }
        };
        if !is_good {
            return Err("an index beyond the dictionary");
        }
        seen += len;
    }
    Ok(())
}

/// The number at a place of a packed run; bytes that writers left out are zero.
fn packed_number(packed: &[u8], at: u64, bits: u8) -> u64 {
    let bit = |at: u64| {
        let byte = usize::try_from(at / 8).ok().and_then(|at| packed.get(at));
        byte.map_or(0, |byte| u64::from(byte >> (at % 8) & 1))
    };
    let bits = u64::from(bits);
    (0..bits).fold(0, |all, place| all | bit(at * bits + place) << place)
}

/// Checks the levels of `count` values, and returns how many values are there. The decoder takes
/// all packed levels from the bytes of their run without a look at its end.
fn check_levels(bytes: &[u8], top: u16, count: u32) -> std::result::Result<u64, &'static str> {
    const CUT: &str = "levels that are cut";
    let bits = (u16::BITS - top.leading_zeros()) as u8;
    let (mut bytes, mut left, mut present) = (ByteReader::new(bytes), count as usize, 0);
    while left > 0 {
        match next_run(&mut bytes, usize::from(bits)).ok_or(BAD_RUN)? {
            Run::Same { count: 0, .. } => return Err(CUT),
            Run::Same { value, count } => {
                let len = count.min(left);
                // With one bit, the decoder takes any number for a value that is there.
                let is_there = value == u32::from(top) || bits == 1 && value > 0;
                present += if is_there { len } else { 0 };
                left -= len;
            }
            Run::Packed { bytes: packed, count } => {
                let len = count.min(left);
                if len == 0 || (len * usize::from(bits)).div_ceil(8) > packed.len() {
                    return Err(CUT);
                }
                let level = |at: usize| packed_number(packed, at as u64, bits);
                present += (0..len).filter(|at| level(*at) == u64::from(top)).count();
                left -= len;
            }
        }
    }
    Ok(present as u64)
}

/// Checks the blocks of a delta encoding whose numbers have `bits` each: no difference has more.
fn check_delta(header: &DeltaHeader, mut bytes: ByteReader<'_>, bits: u8) -> PageCheck {
    let mut left = header.count.saturating_sub(1);
    while left > 0 && bytes.left() > 0 {
        let (_, widths) = header.block(&mut bytes).ok_or("a delta encoding that is cut")?;
        for width in widths {
            // The widths behind the last value may be anything.
            if left == 0 {
                break;
            }
            if *width > bits {
                return Err("differences of more bits than their numbers");
            }
            let packed = header.in_mini.saturating_mul(usize::from(*width)) / 8;
            bytes.take(packed.min(bytes.left()));
            left = left.saturating_sub(header.in_mini);
        }
    }
    Ok(())
}

impl Iterator for CheckedPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let mut page = self.inner.get_next_page()?;
        if let Some(page) = &mut page {
            let is_empty = self
                .check(page)
                .map_err(|why| ParquetError::General(self.source.fail(damaged(why))))?;
            if let Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. } = page
                && is_empty
            {
                // Not every decoder takes no bytes.
                *encoding = Encoding::PLAIN;
            }
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        self.inner.at_record_boundary()
    }
}

/// The one column chunk of a row group.
pub(super) struct OneChunk(pub Option<ParquetResult<Box<dyn PageReader>>>);

impl Iterator for OneChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take()
    }
}

impl PageIterator for OneChunk {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Cursor;

    use stationdb::tables::readers::byte_reader::push_varint;

    /// A column with one page of one value, of which only the header is there.
    fn page(
        uncompressed: usize,
        compressed: usize,
        header_bytes: Option<usize>,
    ) -> Result<ChunkShape> {
        fn number(value: usize, out: &mut Vec<u8>) {
            push_varint(out, (value << 1) as u64);
        }
        let mut bytes = Vec::new();
        for value in [0, uncompressed, compressed] {
            bytes.push(0x15);
            number(value, &mut bytes);
        }
        // The data page header with one value. Then a field that no reader uses, which makes the
        // header long.
        bytes.extend([0x2c, 0x15, 2, 0]);
        if let Some(total) = header_bytes {
            let len = total - bytes.len() - 1 - 3 - 1;
            bytes.push(0x48);
            push_varint(&mut bytes, len as u64);
            bytes.resize(total - 1, 0);
        }
        bytes.push(0);
        assert!(header_bytes.is_none_or(|total| total == bytes.len()));
        bytes.resize(bytes.len() + 4 * limits::IMPORT_PAGE_HEADER_BYTES, 0);
        let source = ParquetSource::new(Box::new(Cursor::new(bytes))).unwrap();
        check_chunk(
            &source,
            (0, u64::MAX / 2),
            true,
            1,
            limits::IMPORT_PAGE_BYTES,
            &Control::default(),
        )
    }

    #[test]
    fn pages_hold_at_the_limit_and_not_above() {
        let above = stationdb::ErrorKind::LimitExceeded;
        limits::holds_at(limits::IMPORT_PAGE_BYTES, above, |bytes| page(bytes, 100_000, None));
        limits::holds_at(limits::IMPORT_PAGE_RATIO, above, |ratio| page(2048 * ratio, 2048, None));
        limits::holds_at(limits::IMPORT_PAGE_HEADER_BYTES, above, |bytes| {
            page(10, 10, Some(bytes))
        });
        // A million headers are too many for a test, so only their count is tested.
        limits::holds_at(limits::IMPORT_PAGES, above, check_count);
        assert!(page(10, 10, None).is_ok() && page(10, 10, Some(1000)).is_ok());
    }

    proptest! {
        #[test]
        fn windows_are_those_of_all_starts(
            pages in proptest::collection::vec((1u64..6, 0u64..50), 0..12),
            rows in 1u64..12,
        ) {
            let owners: Vec<usize> =
                pages.iter().enumerate().flat_map(|(at, (values, _))| std::iter::repeat_n(at, *values as usize)).collect();
            let expected = owners
                .windows((rows as usize + 1).min(owners.len()).max(1))
                .map(|window| (window[0]..=window[window.len() - 1]).map(|at| pages[at].1).sum::<u64>())
                .max()
                .unwrap_or_default();
            let shape = ChunkShape { pages, ..ChunkShape::default() };
            prop_assert_eq!(shape.window_bytes(rows), expected);
        }
    }
}
