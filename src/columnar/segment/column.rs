//! Reads one column of one row group page by page: only the pages with wanted rows, only the wanted
//! bytes of plain pages, and tests on dictionary codes where a page has them.

use std::ops::Range;
use std::sync::Arc;

use parquet::file::page_index::offset_index::PageLocation;

use super::checked::CheckedFile;
use super::decode::{
    DELTA_BINARY_PACKED, PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, append_valid, hybrid, scattered,
    validity,
};
use super::dictionary::Dictionaries;
use super::values::{Cells, Part, Physical, Values, no_values, physical};
use crate::arrow::array::{Array as _, ArrayRef, BooleanBufferBuilder, new_null_array};
use crate::arrow::buffer::{BooleanBuffer, NullBuffer};
use crate::columnar::parquet_format::format::{DATA, DICTIONARY, PageHeader};
use crate::columnar::schema::arrow_type;
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;
use crate::value::ranges::join_near;

/// A gap of at most this many bytes between wanted bytes is read, too: a system call costs as much
/// as copying them.
const GAP: usize = 3 * 1024;
/// This many ranges in one page are too many to be read one by one.
const FEW_RANGES: usize = 4;
/// A gap of at most this many codes between wanted codes is decoded, too.
const GAP_ROWS: usize = 128;
/// Codes and plain values are read one by one if at most one range in so many rows is wanted: that
/// takes as long as decoding about so many.
const SCATTERED_ROWS: usize = 8;
/// Bytes of adjacent pages that are read together.
const TOGETHER: u64 = 64 * 1024;

/// A column of a row group, and where its pages are.
pub(super) struct ColumnChunk<'a> {
    pub file: &'a CheckedFile,
    pub dictionaries: &'a Dictionaries,
    pub group: usize,
    pub column: usize,
    pub pages: &'a [PageLocation],
    /// Rows of the row group.
    pub rows: usize,
    pub dictionary: Option<Range<u64>>,
    pub is_nullable: bool,
    /// Whether a row may be null; statistics tell it.
    pub has_nulls: bool,
    /// Every page is plain, so that the last bytes of a page are its values.
    pub is_plain: bool,
    pub data_type: DataType,
}

/// Decoded cells of a column, with their validity.
pub(super) struct DecodedColumn {
    values: Box<dyn Values>,
    valid: Option<BooleanBufferBuilder>,
    data_type: DataType,
}

impl DecodedColumn {
    /// No cells yet, with room for `rows`.
    pub(super) fn new(data_type: DataType, rows: usize) -> Self {
        let mut values = no_values(data_type);
        values.reserve(rows);
        Self { values, valid: None, data_type }
    }

    fn append(
        &mut self,
        stretch: &Stretch<'_>,
        parts: &[Range<usize>],
        is_nullable: bool,
    ) -> Result<()> {
        if is_nullable {
            let valid = self.valid.get_or_insert_with(|| BooleanBufferBuilder::new(0));
            parts.iter().for_each(|rows| append_valid(valid, stretch.valid, rows.clone()));
        }
        self.values.append(&stretch.cells, parts).ok_or_else(damaged)
    }

    /// The cells as an array, with their validity if one is null.
    pub(super) fn finish(self) -> Result<ArrayRef> {
        let valid = self
            .valid
            .map(|mut valid| NullBuffer::new(valid.finish()))
            .filter(|valid| valid.null_count() > 0);
        self.values.finish(valid, self.data_type)
    }
}

/// Rows that passed a test.
pub(super) struct PassingRows {
    pub ranges: Vec<Range<usize>>,
    pub count: usize,
    /// Their values, if wanted.
    pub cells: DecodedColumn,
}

/// What a filter returns of the rows that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterOutput {
    /// Their number.
    Count,
    /// Their positions.
    Rows,
    /// Their positions and their values.
    Values,
}

/// Decoded rows of one page, from row `first` of the row group on.
struct Stretch<'a> {
    first: usize,
    cells: Cells<'a>,
    valid: Option<&'a [bool]>,
    /// If only the wanted rows were decoded, the row after the last one of them.
    wanted_end: Option<usize>,
}

impl Stretch<'_> {
    /// Makes `parts` the parts of `ranges` inside of this stretch, counted from its first row.
    /// Moves `at` past the ranges that are finished.
    fn parts(&self, ranges: &[Range<usize>], at: &mut usize, parts: &mut Vec<Range<usize>>) {
        let (first, end) = (self.first, self.first + self.cells.len());
        parts.clear();
        if let Some(end) = self.wanted_end {
            parts.push(0..self.cells.len());
            *at += ranges.iter().skip(*at).take_while(|range| range.end <= end).count();
            return;
        }
        while let Some(range) = ranges.get(*at).filter(|range| range.start < end) {
            let (from, to) = (range.start.max(first), range.end.min(end));
            if from < to {
                parts.push(from - first..to - first);
            }
            if range.end > end {
                break;
            }
            *at += 1;
        }
    }
}

/// What is done with each stretch: once for many rows, so it need not be known when a page is
/// decoded.
type Visit<'v> = dyn FnMut(&Stretch<'_>) -> Result<()> + 'v;

fn check_codes(codes: &[u32], dictionary: &dyn Values) -> Result<()> {
    // Checks the greatest code only: one pass without a branch, after which all look-ups are in
    // bounds.
    let greatest = codes.iter().fold(0, |greatest, code| greatest.max(*code));
    if codes.is_empty() || (greatest as usize) < dictionary.len() { Ok(()) } else { Err(damaged()) }
}

fn damaged() -> Error {
    Error::corrupt("a page of a segment cannot be decoded; restore the table from a backup")
}

/// Buffers that the columns of one read share.
pub(super) struct Scratch {
    bytes: Vec<u8>,
    /// The wanted rows of the pages that are read together.
    wanted: Vec<Range<usize>>,
    codes: Vec<u32>,
    physical: Physical,
    /// Values of a page, and values spread over rows with nulls.
    values: Box<dyn Values>,
    spread: Box<dyn Values>,
    /// The buffers of the other types.
    others: Vec<(Physical, Box<dyn Values>, Box<dyn Values>)>,
    dictionary: Option<Arc<dyn Values>>,
    /// Whether the wanted rows of a page may be visited alone.
    gathers: bool,
    /// Nulls that were made, for columns without values.
    nulls: Vec<ArrayRef>,
}

impl Scratch {
    /// Buffers for columns of this type first.
    pub(super) fn new(data_type: DataType) -> Self {
        Self {
            bytes: Vec::new(),
            wanted: Vec::new(),
            codes: Vec::new(),
            physical: physical(data_type),
            values: no_values(data_type),
            spread: no_values(data_type),
            others: Vec::new(),
            dictionary: None,
            gathers: false,
            nulls: Vec::new(),
        }
    }

    /// So many nulls, which columns of one type share.
    pub(super) fn nulls(&mut self, data_type: DataType, rows: usize) -> ArrayRef {
        let of = arrow_type(data_type);
        let is_same = |nulls: &&ArrayRef| nulls.len() == rows && *nulls.data_type() == of;
        if let Some(known) = self.nulls.iter().find(is_same) {
            return known.clone();
        }
        let made = new_null_array(&of, rows);
        self.nulls.push(made.clone());
        made
    }

    /// Turns to the next column.
    fn begin(&mut self, data_type: DataType) {
        self.dictionary = None;
        let next = physical(data_type);
        if next == self.physical {
            return;
        }
        let kept = self.others.iter().position(|(known, ..)| *known == next);
        let (_, values, spread) = match kept {
            Some(at) => self.others.swap_remove(at),
            None => (next, no_values(data_type), no_values(data_type)),
        };
        self.others.push((
            std::mem::replace(&mut self.physical, next),
            std::mem::replace(&mut self.values, values),
            std::mem::replace(&mut self.spread, spread),
        ));
    }
}

impl ColumnChunk<'_> {
    fn page(&self, at: usize) -> Option<(Range<usize>, Range<u64>)> {
        let page = self.pages.get(at)?;
        let from = usize::try_from(page.first_row_index).ok()?;
        let to = match self.pages.get(at + 1) {
            Some(next) => usize::try_from(next.first_row_index).ok()?,
            None => self.rows,
        };
        let start = u64::try_from(page.offset).ok()?;
        let len = u64::try_from(page.compressed_page_size).ok()?;
        (from < to).then_some((from..to, start..start.checked_add(len)?))
    }

    /// Visits decoded rows that cover all of `ranges`, in order. Rows between the ranges may be
    /// visited, too; with `gathers`, the wanted rows of a page may be visited alone.
    fn visit(
        &self,
        ranges: &[Range<usize>],
        gathers: bool,
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scratch.begin(self.data_type);
        scratch.gathers = gathers;
        let width = scratch.values.width().filter(|_| self.is_plain && !self.has_nulls);
        // The first range that is not finished, and the row before which all rows were visited.
        let (mut at, mut done) = (0, 0);
        while let Some(first) = ranges.get(at) {
            let row = first.start.max(done);
            let page = self.pages.partition_point(|page| page.first_row_index <= row as i64);
            let page = page.checked_sub(1).ok_or_else(damaged)?;
            let (rows, bytes) =
                self.page(page).filter(|(rows, _)| rows.contains(&row)).ok_or_else(damaged)?;
            // If much of a page is wanted, it is read whole, and other pages with it.
            let in_page = ranges
                .iter()
                .skip(at)
                .take(FEW_RANGES)
                .take_while(|range| range.start < rows.end)
                .count();
            let is_sparse = in_page < FEW_RANGES && !(row == rows.start && first.end >= rows.end);
            (at, done) = match width.filter(|_| is_sparse) {
                Some(width) => {
                    self.visit_plain(width, ranges, at, &rows, &bytes, scratch, visit)?
                }
                None => self.visit_pages(ranges, at, page, scratch, visit)?,
            };
        }
        Ok(())
    }

    /// Visits the wanted rows of a plain page without nulls. Returns the first range that extends
    /// beyond the page, and the end of the page.
    #[expect(clippy::too_many_arguments, reason = "the inside of one loop")]
    fn visit_plain(
        &self,
        width: usize,
        ranges: &[Range<usize>],
        first: usize,
        page: &Range<usize>,
        bytes: &Range<u64>,
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<(usize, usize)> {
        let values_len = (page.len() * width) as u64;
        let values_at = bytes
            .end
            .checked_sub(values_len)
            .filter(|at| *at >= bytes.start)
            .ok_or_else(damaged)?;
        let mut at = first;
        let within = |range: &Range<usize>| range.start.max(page.start)..range.end.min(page.end);
        while let Some(range) = ranges.get(at).filter(|range| range.start < page.end) {
            let mut span = within(range);
            at += usize::from(range.end <= page.end);
            while span.end < page.end
                && let Some(next) = ranges.get(at).filter(|next| next.start < page.end)
                && (next.start - span.end) * width <= GAP
            {
                span.end = within(next).end;
                at += usize::from(next.end <= page.end);
            }
            let start = values_at + ((span.start - page.start) * width) as u64;
            let skip = self.file.read_into(start, span.len() * width, &mut scratch.bytes)?;
            scratch.values.clear();
            scratch
                .bytes
                .get(skip..)
                .and_then(|bytes| scratch.values.plain(bytes, span.len()))
                .ok_or_else(damaged)?;
            visit(&Stretch {
                first: span.start,
                cells: Cells::Values(&*scratch.values),
                valid: None,
                wanted_end: None,
            })?;
            // A range that extends beyond this page continues in the next one.
            if span.end == page.end {
                break;
            }
        }
        Ok((at, page.end))
    }

    /// Visits wanted pages that are close together. Returns the first range that extends beyond
    /// them, and their end.
    fn visit_pages(
        &self,
        ranges: &[Range<usize>],
        first: usize,
        first_page: usize,
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<(usize, usize)> {
        // Pages, and where their wanted rows are, which are counted from the first row of the page.
        let mut pages: Vec<(Range<usize>, Range<u64>, Range<usize>)> = Vec::new();
        let mut all_wanted = std::mem::take(&mut scratch.wanted);
        all_wanted.clear();
        let mut at = first;
        let mut page = first_page;
        while let Some((rows, bytes)) = self.page(page) {
            let begin = pages.first().map_or(bytes.start, |(_, bytes, _)| bytes.start);
            if !pages.is_empty() && bytes.end - begin > TOGETHER {
                break;
            }
            let rest = ranges.get(at..).unwrap_or_default();
            let count = rest.partition_point(|range| range.start < rows.end);
            let within = rest.get(..count).unwrap_or_default();
            let Some(last) = within.last() else { break };
            let first = all_wanted.len();
            all_wanted.extend(within.iter().map(|range| {
                range.start.max(rows.start) - rows.start..range.end.min(rows.end) - rows.start
            }));
            // A range that extends beyond this page continues in the next one.
            at += count - usize::from(last.end > rows.end);
            pages.push((rows, bytes, first..all_wanted.len()));
            page += 1;
        }
        let (Some((_, from, _)), Some((_, to, _))) = (pages.first(), pages.last()) else {
            return Err(damaged());
        };
        let (start, len) = (from.start, (to.end - from.start) as usize);
        let end = pages.last().map_or(0, |(rows, ..)| rows.end);
        let mut buffer = std::mem::take(&mut scratch.bytes);
        let skip = self.file.read_into(start, len, &mut buffer)?;
        for (rows, bytes, wanted) in &pages {
            let from = skip + (bytes.start - start) as usize;
            let page =
                buffer.get(from..from + (bytes.end - bytes.start) as usize).ok_or_else(damaged)?;
            let wanted = all_wanted.get(wanted.clone()).ok_or_else(damaged)?;
            self.visit_page(page, rows, wanted, scratch, visit)?;
        }
        scratch.bytes = buffer;
        scratch.wanted = all_wanted;
        Ok((at, end))
    }

    /// Decodes the wanted rows of a page, and the rows before them if the encoding has no other
    /// way.
    fn visit_page(
        &self,
        page: &[u8],
        rows: &Range<usize>,
        wanted: &[Range<usize>],
        scratch: &mut Scratch,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let PageHeader { len, compressed, encoding, .. } = PageHeader::read(page)
            .ok()
            .filter(|header| header.page_type == DATA && header.values == rows.len() as i64)
            .ok_or_else(damaged)?;
        let is_whole = |body: &&[u8]| body.len() as i64 == compressed;
        let body = page.get(len..).filter(is_whole).ok_or_else(damaged)?;
        let (valid, body) = if self.is_nullable {
            validity(body, rows.len()).ok_or_else(damaged)?
        } else {
            (None, body)
        };
        let is_coded = encoding == RLE_DICTIONARY || encoding == PLAIN_DICTIONARY;
        let start = wanted.first().map_or(0, |first| first.start);
        let end = wanted.last().map_or(start, |last| last.end);
        let covered: usize = wanted.iter().map(ExactSizeIterator::len).sum();
        let is_scattered = scratch.gathers
            && valid.is_none()
            && (covered + wanted.len()).saturating_mul(SCATTERED_ROWS) <= end - start;
        let (first, wanted_end) = (rows.start + start, Some(rows.start + end));
        if is_scattered
            && encoding == PLAIN
            && let Some(width) = scratch.values.width()
        {
            scratch.values.clear();
            for range in wanted {
                let bytes = body.get(range.start * width..).ok_or_else(damaged)?;
                scratch.values.plain(bytes, range.len()).ok_or_else(damaged)?;
            }
            let cells = Cells::Values(&*scratch.values);
            return visit(&Stretch { first, cells, valid: None, wanted_end });
        }
        if is_coded && valid.is_none() {
            let (&width, body) = body.split_first().ok_or_else(damaged)?;
            let dictionary = self.dictionary_of(&mut scratch.dictionary)?;
            if is_scattered {
                scratch.codes.clear();
                scattered(body, usize::from(width), wanted, &mut scratch.codes)
                    .ok_or_else(damaged)?;
                check_codes(&scratch.codes, &**dictionary)?;
                let cells = Cells::Codes(&scratch.codes, &**dictionary);
                return visit(&Stretch { first, cells, valid: None, wanted_end });
            }
            // Ranges that are close together are decoded together.
            let mut joined = Vec::new();
            wanted.iter().for_each(|range| join_near(&mut joined, range.clone(), GAP_ROWS));
            for wanted in joined {
                scratch.codes.clear();
                let first = rows.start + wanted.start;
                hybrid(body, usize::from(width), wanted, &mut scratch.codes).ok_or_else(damaged)?;
                check_codes(&scratch.codes, &**dictionary)?;
                let cells = Cells::Codes(&scratch.codes, &**dictionary);
                visit(&Stretch { first, cells, valid: None, wanted_end: None })?;
            }
            return Ok(());
        }
        let (before, wanted) = (start, end);
        let valid =
            valid.as_deref().map(|valid| valid.get(..wanted).ok_or_else(damaged)).transpose()?;
        // Nulls have no stored value.
        let stored_before = |row: usize| {
            let valid = valid.map(|valid| valid.get(..row).unwrap_or(valid));
            valid.map_or(row, |valid| valid.iter().filter(|valid| **valid).count())
        };
        let count = stored_before(wanted);
        scratch.values.clear();
        scratch.codes.clear();
        // The first row that is decoded: the first wanted one, if the encoding can skip values.
        let mut first = 0;
        match encoding {
            PLAIN => {
                let body = match scratch.values.width() {
                    Some(width) => {
                        first = before;
                        body.get(stored_before(first) * width..).ok_or_else(damaged)?
                    }
                    None => body,
                };
                let count = count - stored_before(first);
                scratch.values.plain(body, count).ok_or_else(damaged)?;
            }
            DELTA_BINARY_PACKED => {
                let before = if valid.is_none() { before } else { 0 };
                first = scratch.values.packed_deltas(body, before..count).ok_or_else(damaged)?;
            }
            _ if is_coded => {
                first = before;
                let (&width, body) = body.split_first().ok_or_else(damaged)?;
                hybrid(body, usize::from(width), stored_before(first)..count, &mut scratch.codes)
                    .ok_or_else(damaged)?;
                check_codes(&scratch.codes, &**self.dictionary_of(&mut scratch.dictionary)?)?;
            }
            _ => return Err(damaged()),
        }
        let mut cells = Cells::Values(&*scratch.values);
        if is_coded {
            let dictionary = scratch.dictionary.as_deref().ok_or_else(damaged)?;
            cells = Cells::Codes(&scratch.codes, dictionary);
        }
        // Without nulls there is one value for each row.
        let Some(valid) = valid else {
            let first = rows.start + first;
            return visit(&Stretch { first, cells, valid: None, wanted_end: None });
        };
        let valid = valid.get(first..).ok_or_else(damaged)?;
        scratch.spread.clear();
        scratch.spread.spread(&cells, valid).ok_or_else(damaged)?;
        visit(&Stretch {
            first: rows.start + first,
            cells: Cells::Values(&*scratch.spread),
            valid: Some(valid),
            wanted_end: None,
        })
    }

    fn dictionary_of<'d>(
        &self,
        known: &'d mut Option<Arc<dyn Values>>,
    ) -> Result<&'d Arc<dyn Values>> {
        if known.is_none() {
            *known = Some(self.dictionaries.get(self.group, self.column, || {
                let place = self.dictionary.clone().ok_or_else(damaged)?;
                let mut bytes = Vec::new();
                let len = (place.end - place.start) as usize;
                let skip = self.file.read_into(place.start, len, &mut bytes)?;
                let page = bytes.get(skip..skip + len).ok_or_else(damaged)?;
                let header = PageHeader::read(page).ok();
                let header = header.filter(|header| header.page_type == DICTIONARY);
                let header = header.ok_or_else(damaged)?;
                let mut values = no_values(self.data_type);
                page.get(header.len..)
                    .zip(usize::try_from(header.values).ok())
                    .and_then(|(body, count)| values.plain(body, count))
                    .ok_or_else(damaged)?;
                Ok(values)
            })?);
        }
        known.as_ref().ok_or_else(damaged)
    }

    /// Appends the values of the rows of `ranges`, which are ascending and do not overlap.
    pub(super) fn read(
        &self,
        ranges: &[Range<usize>],
        scratch: &mut Scratch,
        out: &mut DecodedColumn,
    ) -> Result<()> {
        let (mut at, mut parts) = (0, Vec::new());
        self.visit(ranges, true, scratch, &mut |stretch| {
            stretch.parts(ranges, &mut at, &mut parts);
            out.append(stretch, &parts, self.is_nullable)
        })
    }

    /// Finds the rows of `ranges` that pass a test; `offset` is added to their positions.
    pub(super) fn filter(
        &self,
        ranges: &[Range<usize>],
        test: &dyn Fn(Part<'_>) -> BooleanBuffer,
        wanted: FilterOutput,
        offset: usize,
        out: &mut PassingRows,
    ) -> Result<()> {
        let (mut at, mut parts, mut passing) = (0, Vec::new(), Vec::new());
        // The result of the test for each dictionary entry, and the entry that passes if it is the
        // only one.
        let mut by_code: Option<(Vec<bool>, Option<u32>)> = None;
        self.visit(ranges, false, &mut Scratch::new(self.data_type), &mut |stretch| {
            passing.clear();
            stretch.parts(ranges, &mut at, &mut parts);
            for rows in parts.iter().cloned() {
                let mask = match (stretch.cells, stretch.valid) {
                    (Cells::Codes(codes, dictionary), _) => {
                        if by_code.is_none() {
                            let mask = test(dictionary.part(0..dictionary.len())?);
                            let mut passing = mask.set_indices();
                            let only = match (passing.next(), passing.next()) {
                                (Some(only), None) => Some(only as u32),
                                _ => None,
                            };
                            by_code = Some((mask.iter().collect(), only));
                        }
                        let codes = codes.get(rows.clone()).ok_or_else(damaged)?;
                        match &by_code {
                            Some((_, Some(only))) => bits(codes, |code| code == only),
                            Some((passes, None)) => bits(codes, |code| {
                                passes.get(*code as usize).is_some_and(|passes| *passes)
                            }),
                            None => return Err(damaged()),
                        }
                    }
                    (Cells::Values(values), None) => test(values.part(rows.clone())?),
                    (_, Some(_)) => {
                        let mut part = DecodedColumn::new(self.data_type, rows.len());
                        part.append(stretch, std::slice::from_ref(&rows), true)?;
                        test(Part::Array(part.finish()?))
                    }
                };
                if wanted == FilterOutput::Count {
                    out.count += mask.count_set_bits();
                    continue;
                }
                let base = offset + stretch.first;
                for (from, to) in mask.set_slices() {
                    let (from, to) = (rows.start + from, rows.start + to);
                    out.count += to - from;
                    match out.ranges.last_mut() {
                        Some(last) if last.end == base + from => last.end = base + to,
                        _ => out.ranges.push(base + from..base + to),
                    }
                    if wanted == FilterOutput::Values {
                        passing.push(from..to);
                    }
                }
            }
            if passing.is_empty() {
                return Ok(());
            }
            out.cells.append(stretch, &passing, self.is_nullable)
        })
    }
}

/// The results of `test` as bits, one for each value.
pub(in crate::columnar) fn bits<T>(values: &[T], test: impl Fn(&T) -> bool) -> BooleanBuffer {
    let mut bytes = Vec::with_capacity(values.len().div_ceil(8));
    let (chunks, rest) = values.as_chunks::<8>();
    // Computes eight results before it packs them into a byte, so that the compiler vectorises the
    // tests.
    bytes.extend(chunks.iter().map(|chunk| {
        let answers: [u8; 8] = std::array::from_fn(|at| chunk.get(at).is_some_and(&test).into());
        let (mut byte, mut bit) = (0, 1u8);
        for answer in answers {
            byte |= answer.wrapping_mul(bit);
            bit = bit.wrapping_shl(1);
        }
        byte
    }));
    if !rest.is_empty() {
        bytes.push(
            rest.iter().enumerate().fold(0, |byte, (at, value)| byte | u8::from(test(value)) << at),
        );
    }
    BooleanBuffer::new(bytes.into(), 0, values.len())
}
