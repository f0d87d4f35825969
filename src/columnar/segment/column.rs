//! Reads one column of one row group page by page: only the pages with wanted rows, only the wanted
//! bytes of plain pages, and tests on dictionary codes where a page has them.

use std::ops::Range;
use std::sync::Arc;

use parquet::file::page_index::offset_index::PageLocation;

use super::checked::CheckedFile;
use super::decode::{
    DELTA_BINARY_PACKED, PLAIN, PLAIN_DICTIONARY, PageHeader, RLE_DICTIONARY, append_valid, hybrid,
    page_header, validity,
};
use super::dictionary::Dictionaries;
use super::values::{Part, Values};
use crate::arrow::array::{ArrayRef, BooleanBufferBuilder};
use crate::arrow::buffer::{BooleanBuffer, NullBuffer};
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
    /// Every page is plain, so that the last bytes of a page are its values.
    pub is_plain: bool,
    pub data_type: DataType,
}

/// Rows that passed a test.
#[derive(Default)]
pub(super) struct PassingRows<V> {
    pub ranges: Vec<Range<usize>>,
    pub count: usize,
    /// Their values if wanted, and their validity.
    pub values: V,
    pub valid: Option<BooleanBufferBuilder>,
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
struct Stretch<'a, V> {
    first: usize,
    cells: Cells<'a, V>,
    valid: Option<&'a [bool]>,
}

/// What is done with each stretch: once for many rows, so it need not be known when a page is
/// decoded.
type Visit<'v, V> = dyn FnMut(&Stretch<'_, V>) -> Result<()> + 'v;

enum Cells<'a, V> {
    Values(&'a V),
    Codes(&'a [u32], &'a V),
}

impl<V: Values> Stretch<'_, V> {
    /// Appends the values of rows, counted from the first row of the stretch.
    fn copy(&self, rows: Range<usize>, out: &mut V) -> Result<()> {
        match &self.cells {
            Cells::Values(values) => out.copy(values, rows),
            Cells::Codes(codes, dictionary) => codes.get(rows).and_then(|codes| {
                codes
                    .iter()
                    .try_for_each(|&code| out.copy(dictionary, code as usize..code as usize + 1))
            }),
        }
        .ok_or_else(damaged)
    }
}

fn check_codes<V: Values>(codes: &[u32], dictionary: &V) -> Result<()> {
    // Checks the greatest code only: one pass without a branch, after which all look-ups are in
    // bounds.
    let greatest = codes.iter().fold(0, |greatest, code| greatest.max(*code));
    if codes.is_empty() || (greatest as usize) < dictionary.len() { Ok(()) } else { Err(damaged()) }
}

fn damaged() -> Error {
    Error::corrupt("a page of a segment cannot be decoded; restore the table from a backup")
}

struct Scratch<V> {
    bytes: Vec<u8>,
    codes: Vec<u32>,
    values: V,
    spread: V,
    dictionary: Option<Arc<V>>,
}

impl<V: Values> Scratch<V> {
    fn new() -> Self {
        Self {
            bytes: Vec::new(),
            codes: Vec::new(),
            values: V::default(),
            spread: V::default(),
            dictionary: None,
        }
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
    /// visited, too.
    fn visit<V: Values>(&self, ranges: &[Range<usize>], visit: &mut Visit<'_, V>) -> Result<()> {
        let mut scratch = Scratch::new();
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
            (at, done) = match V::WIDTH.filter(|_| is_sparse && self.is_plain && !self.is_nullable)
            {
                Some(width) => {
                    self.visit_plain(width, ranges, at, &rows, &bytes, &mut scratch, visit)?
                }
                None => self.visit_pages(ranges, at, page, &mut scratch, visit)?,
            };
        }
        Ok(())
    }

    /// Visits the wanted rows of a plain page without nulls. Returns the first range that extends
    /// beyond the page, and the end of the page.
    #[expect(clippy::too_many_arguments, reason = "the inside of one loop")]
    fn visit_plain<V: Values>(
        &self,
        width: usize,
        ranges: &[Range<usize>],
        first: usize,
        page: &Range<usize>,
        bytes: &Range<u64>,
        scratch: &mut Scratch<V>,
        visit: &mut Visit<'_, V>,
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
                cells: Cells::Values(&scratch.values),
                valid: None,
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
    fn visit_pages<V: Values>(
        &self,
        ranges: &[Range<usize>],
        first: usize,
        first_page: usize,
        scratch: &mut Scratch<V>,
        visit: &mut Visit<'_, V>,
    ) -> Result<(usize, usize)> {
        // Pages with their wanted rows, counted from the first row of the page; ranges that are
        // close together are joined.
        let mut pages: Vec<(Range<usize>, Range<u64>, Vec<Range<usize>>)> = Vec::new();
        let mut at = first;
        let mut page = first_page;
        while let Some((rows, bytes)) = self.page(page) {
            let begin = pages.first().map_or(bytes.start, |(_, bytes, _)| bytes.start);
            if !pages.is_empty() && bytes.end - begin > TOGETHER {
                break;
            }
            let mut wanted: Vec<Range<usize>> = Vec::new();
            while let Some(range) = ranges.get(at).filter(|range| range.start < rows.end) {
                let part =
                    range.start.max(rows.start) - rows.start..range.end.min(rows.end) - rows.start;
                join_near(&mut wanted, part, GAP_ROWS);
                if range.end > rows.end {
                    break;
                }
                at += 1;
            }
            if wanted.is_empty() {
                break;
            }
            pages.push((rows, bytes, wanted));
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
            self.visit_page(page, rows, wanted, scratch, visit)?;
        }
        scratch.bytes = buffer;
        Ok((at, end))
    }

    /// Decodes the wanted rows of a page, and the rows before them if the encoding has no other
    /// way.
    fn visit_page<V: Values>(
        &self,
        page: &[u8],
        rows: &Range<usize>,
        wanted: &[Range<usize>],
        scratch: &mut Scratch<V>,
        visit: &mut Visit<'_, V>,
    ) -> Result<()> {
        let header =
            page_header(page).filter(|header| header.page_type == 0 && header.values == rows.len());
        let PageHeader { len, body_len, encoding, .. } = header.ok_or_else(damaged)?;
        let body = page.get(len..).filter(|body| body.len() == body_len).ok_or_else(damaged)?;
        let (valid, body) = if self.is_nullable {
            validity(body, rows.len()).ok_or_else(damaged)?
        } else {
            (None, body)
        };
        let is_coded = encoding == RLE_DICTIONARY || encoding == PLAIN_DICTIONARY;
        if is_coded && valid.is_none() {
            let (&width, body) = body.split_first().ok_or_else(damaged)?;
            let dictionary = self.dictionary_of(&mut scratch.dictionary)?;
            for wanted in wanted {
                scratch.codes.clear();
                hybrid(body, usize::from(width), wanted.clone(), &mut scratch.codes)
                    .ok_or_else(damaged)?;
                check_codes(&scratch.codes, &**dictionary)?;
                let cells = Cells::Codes(&scratch.codes, &**dictionary);
                visit(&Stretch { first: rows.start + wanted.start, cells, valid: None })?;
            }
            return Ok(());
        }
        let before = wanted.first().map_or(0, |wanted| wanted.start);
        let wanted = wanted.last().map_or(0, |wanted| wanted.end);
        let valid =
            valid.as_deref().map(|valid| valid.get(..wanted).ok_or_else(damaged)).transpose()?;
        // Nulls have no stored value.
        let count = valid.map_or(wanted, |valid| valid.iter().filter(|valid| **valid).count());
        scratch.values.clear();
        scratch.codes.clear();
        let mut first = 0;
        match encoding {
            PLAIN => {
                // Values of fixed width can be skipped.
                let body = match V::WIDTH.filter(|_| valid.is_none()) {
                    Some(width) => {
                        first = before;
                        body.get(before * width..).ok_or_else(damaged)?
                    }
                    None => body,
                };
                scratch.values.plain(body, count - first).ok_or_else(damaged)?;
            }
            DELTA_BINARY_PACKED => {
                let before = if valid.is_none() { before } else { 0 };
                first = scratch.values.packed_deltas(body, before..count).ok_or_else(damaged)?;
            }
            _ if is_coded => {
                let (&width, body) = body.split_first().ok_or_else(damaged)?;
                hybrid(body, usize::from(width), 0..count, &mut scratch.codes)
                    .ok_or_else(damaged)?;
                check_codes(&scratch.codes, &**self.dictionary_of(&mut scratch.dictionary)?)?;
            }
            _ => return Err(damaged()),
        }
        let none = V::default();
        let dictionary = scratch.dictionary.as_deref().unwrap_or(&none);
        let dense = Stretch {
            first: rows.start + first,
            cells: if is_coded {
                Cells::Codes(&scratch.codes, dictionary)
            } else {
                Cells::Values(&scratch.values)
            },
            valid: None,
        };
        // With nulls, the values were decoded from the start of the page. They are spread over the
        // rows, with a blank for each null.
        let Some(valid) = valid else { return visit(&dense) };
        scratch.spread.clear();
        let mut from = 0;
        for valid in valid {
            if *valid {
                dense.copy(from..from + 1, &mut scratch.spread)?;
                from += 1;
            } else {
                scratch.spread.blank();
            }
        }
        visit(&Stretch {
            first: rows.start,
            cells: Cells::Values(&scratch.spread),
            valid: Some(valid),
        })
    }

    fn dictionary_of<'d, V: Values>(&self, known: &'d mut Option<Arc<V>>) -> Result<&'d Arc<V>> {
        if known.is_none() {
            *known = Some(self.dictionaries.get(self.group, self.column, || {
                let place = self.dictionary.clone().ok_or_else(damaged)?;
                let mut bytes = Vec::new();
                let len = (place.end - place.start) as usize;
                let skip = self.file.read_into(place.start, len, &mut bytes)?;
                let page = bytes.get(skip..skip + len).ok_or_else(damaged)?;
                let header =
                    page_header(page).filter(|header| header.page_type == 2).ok_or_else(damaged)?;
                let mut values = V::default();
                page.get(header.len..)
                    .and_then(|body| values.plain(body, header.values))
                    .ok_or_else(damaged)?;
                Ok(values)
            })?);
        }
        known.as_ref().ok_or_else(damaged)
    }

    /// Appends the values of the rows of `ranges`, which are ascending and do not overlap.
    pub(super) fn read<V: Values>(
        &self,
        ranges: &[Range<usize>],
        out: &mut V,
        valid: &mut Option<BooleanBufferBuilder>,
    ) -> Result<()> {
        let mut at = 0;
        self.visit::<V>(ranges, &mut |stretch| {
            let end = stretch_end(stretch);
            for_parts(ranges, &mut at, stretch.first..end, |rows| {
                if self.is_nullable {
                    let builder =
                        valid.get_or_insert_with(|| BooleanBufferBuilder::new(rows.len()));
                    append_valid(builder, stretch.valid, rows.clone());
                }
                stretch.copy(rows, out)
            })
        })
    }

    /// Finds the rows of `ranges` that pass a test; `offset` is added to their positions.
    pub(super) fn filter<V: Values>(
        &self,
        ranges: &[Range<usize>],
        test: &dyn Fn(Part<'_>) -> BooleanBuffer,
        wanted: FilterOutput,
        offset: usize,
        out: &mut PassingRows<V>,
    ) -> Result<()> {
        let mut at = 0;
        // The result of the test for each dictionary entry, and the entry that passes if it is the
        // only one.
        let mut by_code: Option<(Vec<bool>, Option<u32>)> = None;
        self.visit::<V>(ranges, &mut |stretch| {
            let end = stretch_end(stretch);
            for_parts(ranges, &mut at, stretch.first..end, |rows| {
                let mask = match (&stretch.cells, stretch.valid) {
                    (Cells::Codes(codes, dictionary), _) => {
                        if by_code.is_none() {
                            let mask = test(dictionary.part(0..dictionary.len(), self.data_type)?);
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
                    (Cells::Values(values), None) => {
                        test(values.part(rows.clone(), self.data_type)?)
                    }
                    (Cells::Values(values), Some(valid)) => {
                        let mut part = V::default();
                        part.copy(values, rows.clone()).ok_or_else(damaged)?;
                        let valid = valid.get(rows.clone()).ok_or_else(damaged)?;
                        test(Part::Array(
                            part.finish(Some(NullBuffer::from(valid)), self.data_type)?,
                        ))
                    }
                };
                if wanted == FilterOutput::Count {
                    out.count += mask.count_set_bits();
                    return Ok(());
                }
                let base = offset + stretch.first + rows.start;
                for (from, to) in mask.set_slices() {
                    out.count += to - from;
                    match out.ranges.last_mut() {
                        Some(last) if last.end == base + from => last.end = base + to,
                        _ => out.ranges.push(base + from..base + to),
                    }
                    if wanted == FilterOutput::Values {
                        let rows = rows.start + from..rows.start + to;
                        if self.is_nullable {
                            let builder = out
                                .valid
                                .get_or_insert_with(|| BooleanBufferBuilder::new(rows.len()));
                            append_valid(builder, stretch.valid, rows.clone());
                        }
                        stretch.copy(rows, &mut out.values)?;
                    }
                }
                Ok(())
            })
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

fn stretch_end<V: Values>(stretch: &Stretch<'_, V>) -> usize {
    stretch.first
        + match &stretch.cells {
            Cells::Values(values) => values.len(),
            Cells::Codes(codes, _) => codes.len(),
        }
}

/// Calls `part` with the parts of `ranges` inside `rows`, counted from the start of `rows`. Moves
/// `at` past the ranges that are finished.
fn for_parts(
    ranges: &[Range<usize>],
    at: &mut usize,
    rows: Range<usize>,
    mut part: impl FnMut(Range<usize>) -> Result<()>,
) -> Result<()> {
    while let Some(range) = ranges.get(*at).filter(|range| range.start < rows.end) {
        let from = range.start.max(rows.start);
        let to = range.end.min(rows.end);
        if from < to {
            part(from - rows.start..to - rows.start)?;
        }
        if range.end > rows.end {
            break;
        }
        *at += 1;
    }
    Ok(())
}

/// Makes an array of the values, with their validity if one is null.
pub(super) fn to_array<V: Values>(
    values: V,
    valid: Option<BooleanBufferBuilder>,
    data_type: DataType,
) -> Result<ArrayRef> {
    let valid = valid
        .map(|mut valid| NullBuffer::new(valid.finish()))
        .filter(|valid| valid.null_count() > 0);
    values.finish(valid, data_type)
}
