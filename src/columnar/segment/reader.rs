//! Reads a segment: chosen rows of chosen columns, from pages whose checksums were verified.

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;

use super::checked::{self, CheckedFile};
use super::column::{ColumnChunk, DecodedColumn, FilterOutput, PassingRows, Scratch};
use super::dictionary::Dictionaries;
use super::extreme_rows::ExtremeRows;
use super::same_value::SameValue;
use super::summary::{ColumnSummary, Totals};
use super::summary_file::{Section, SummaryFile};
use super::value_index::{FoundRows, IndexPlace, KeyRange, look_up};
use super::values::Part;
use super::{BLOCK_ROWS, SegmentMeta, data_name, summary_name};
use crate::arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use crate::arrow::buffer::BooleanBuffer;
use crate::arrow::compute::concat;
use crate::columnar::schema::TableSchema;
use crate::disk::{DiskFile, Mode, SharedDisk};
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;
use crate::value::Control;
use crate::value::exact::BlockSums;
use crate::value::ranges::join_near;

/// Page ranges with a smaller gap are read together.
const READ_GAP: u64 = 64 * 1024;

/// Extreme rows with a smaller gap are read together: a system call costs as much as copying these
/// bytes.
const EXTREMES_GAP: u64 = 3 * 1024;
/// Bytes of extreme rows that are read together.
const EXTREMES_TOGETHER: u64 = 64 * 1024;

/// The rows that passed a test of one column.
#[derive(Debug)]
pub struct FilterResult {
    /// Ascending, disjoint ranges of rows; empty when only their number is wanted.
    pub ranges: Vec<Range<usize>>,
    /// Their number.
    pub count: usize,
    /// Their values, if wanted.
    pub values: Option<ArrayRef>,
}

/// An open segment, which is cheap to share. A reader can go on after a merge replaced the segment:
/// its files stay for as long as it is in use.
#[derive(Debug)]
pub struct Segment {
    meta: SegmentMeta,
    schema: Arc<TableSchema>,
    data: Arc<CheckedFile>,
    parquet: ArrowReaderMetadata,
    /// First row of each row group, and the row count at the end.
    group_starts: Vec<usize>,
    summary: SummaryFile,
    columns: Vec<OnceLock<Option<ColumnSummary>>>,
    totals: Vec<OnceLock<Option<Totals>>>,
    /// Sums of the blocks of each column.
    sums: Vec<OnceLock<Option<Vec<BlockSums>>>>,
    dictionaries: Dictionaries,
}

impl Segment {
    /// Opens the files of the segment `meta` in `dir`.
    ///
    /// # Errors
    /// `Corrupt` when a file is missing, has another length, or its footer does not match; `Io`.
    pub fn open(
        disk: &SharedDisk,
        dir: &str,
        meta: SegmentMeta,
        schema: Arc<TableSchema>,
    ) -> Result<Self> {
        Self::open_with(&|name| disk.open(name, Mode::Read), dir, meta, schema)
    }

    /// As [`Segment::open`], with files that `open` opens for reading.
    pub(crate) fn open_with(
        open: &dyn Fn(&str) -> std::io::Result<Box<dyn DiskFile>>,
        dir: &str,
        meta: SegmentMeta,
        schema: Arc<TableSchema>,
    ) -> Result<Self> {
        let open = |name: &str| {
            open(name).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Error::corrupt(format!(
                    "the segment file {name} is missing; restore the table from a backup"
                )),
                _ => Error::io(format_args!("opening the segment file {name}"), error),
            })
        };
        let summary_path = format!("{dir}/{}", summary_name(meta.id));
        let mut summary = SummaryFile::open(open(&summary_path)?, summary_path, &meta)?;
        let data_path = format!("{dir}/{}", data_name(meta.id));
        let file = open(&data_path)?;
        let len =
            file.len().map_err(|error| Error::io(format_args!("reading {data_path}"), error))?;
        if len != meta.data_bytes {
            return Err(Error::corrupt(format!(
                "{data_path} has {len} bytes instead of {}; restore the table from a backup",
                meta.data_bytes
            )));
        }
        let crcs = std::mem::take(&mut summary.data_crcs);
        let data = CheckedFile::new(file, data_path, len, crcs)?;
        Self::with_parts(meta, schema, data, summary)
    }

    /// Opens the Parquet file of the segment `meta` in `dir` without its summary file, which is
    /// damaged. Reads the whole file first and compares it with its hash. The rows count as
    /// appended in the order in which they are stored, and no column has a summary.
    ///
    /// # Errors
    /// `Corrupt` when the file is missing or is not what was written; `Io`; the errors of
    /// `control`.
    pub fn open_data(
        disk: &SharedDisk,
        dir: &str,
        meta: SegmentMeta,
        schema: Arc<TableSchema>,
        control: &Control,
    ) -> Result<Self> {
        let path = format!("{dir}/{}", data_name(meta.id));
        let open = || {
            let opened = disk.open(&path, Mode::Read);
            opened
                .map_err(|error| Error::io(format_args!("opening the segment file {path}"), error))
        };
        let crcs = checked::crcs_of(&*open()?, &path, meta.data_bytes, &meta.data_hash, control)?;
        let data = CheckedFile::new(open()?, path.clone(), meta.data_bytes, crcs)?;
        let summary = SummaryFile::none(CheckedFile::new(open()?, path, 0, Vec::new())?);
        Self::with_parts(meta, schema, data, summary)
    }

    fn with_parts(
        meta: SegmentMeta,
        schema: Arc<TableSchema>,
        data: CheckedFile,
        summary: SummaryFile,
    ) -> Result<Self> {
        let data_path = data.name().to_owned();
        let data = Arc::new(data);
        let source = VerifiedSource::new(data.clone(), Vec::new());
        let options = ArrowReaderOptions::new()
            .with_schema(schema.arrow().clone())
            .with_column_index_policy(PageIndexPolicy::Skip)
            .with_offset_index_policy(PageIndexPolicy::Required);
        let parquet = ArrowReaderMetadata::load(&source, options)
            .map_err(|error| source.error(&data_path, error))?;
        let mut group_starts = vec![0];
        let mut row_count = 0;
        for group in parquet.metadata().row_groups() {
            row_count += usize::try_from(group.num_rows()).unwrap_or_default();
            group_starts.push(row_count);
        }
        if row_count as u64 != meta.row_count {
            return Err(Error::corrupt(format!(
                "{data_path} does not have as many rows as its manifest entry"
            )));
        }
        if !summary.extreme_rows.is_empty() && summary.extreme_rows.len() + 1 != group_starts.len()
        {
            return Err(Error::corrupt(format!(
                "{data_path} does not have as many row groups as its summary"
            )));
        }
        let columns = (0..schema.len()).map(|_| OnceLock::new()).collect();
        let totals = (0..schema.len()).map(|_| OnceLock::new()).collect();
        let sums = (0..schema.len()).map(|_| OnceLock::new()).collect();
        let dictionaries = Dictionaries::new();
        Ok(Self {
            meta,
            schema,
            data,
            parquet,
            group_starts,
            summary,
            columns,
            totals,
            sums,
            dictionaries,
        })
    }

    /// The manifest entry.
    #[must_use]
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// Fills `out` with the bytes of the Parquet file from `start` on, which are verified.
    ///
    /// # Errors
    /// `Corrupt`, also for bytes beyond the end; `Io`.
    pub fn read_at(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.data.read_at(start, out)
    }

    #[cfg(test)]
    pub(super) fn parquet(&self) -> &ArrowReaderMetadata {
        &self.parquet
    }

    #[cfg(test)]
    pub(super) fn keeps_summary(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|kept| kept.get().is_some())
    }

    /// The columns of its table.
    #[cfg(test)]
    pub(super) fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// The row groups as ranges of rows.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.group_starts.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(*from..*to),
            _ => None,
        })
    }

    /// The row group of a row, and its rows.
    pub(crate) fn group_at(&self, row: usize) -> Option<(usize, Range<usize>)> {
        let group = self.group_starts.partition_point(|start| *start <= row).checked_sub(1)?;
        let start = *self.group_starts.get(group)?;
        Some((group, start..*self.group_starts.get(group + 1)?))
    }

    /// Finds the rows of a row group whose values in a column are in one of these ranges, which are
    /// disjoint and in order, by the value index of the column. `None` if it has none, if more than
    /// `most` rows are found, or if testing the rows costs no more.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn find(
        &self,
        (group, column): (usize, usize),
        ranges: &[KeyRange],
        most: usize,
    ) -> Result<Option<FoundRows>> {
        let indexes = &self.summary.indexes;
        let place = |place: &IndexPlace| (place.group as usize, place.column as usize);
        let found = indexes.binary_search_by_key(&(group, column), place);
        match found.ok().and_then(|at| indexes.get(at)) {
            Some(place) => look_up(&self.data, place, ranges, self.group_rows(group), most),
            None => Ok(None),
        }
    }

    /// Whether the rows are stored in order of their append ordinals.
    #[must_use]
    pub fn is_append_ordered(&self) -> bool {
        !self.summary.has_ordinals
    }

    /// Offsets of the append ordinals of these rows from the segment's first ordinal.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ordinals(&self, rows: Range<usize>) -> Result<Vec<u32>> {
        if self.summary.has_ordinals {
            self.summary.ordinals(rows.start, rows.len())
        } else {
            Ok((rows.start as u32..rows.end as u32).collect())
        }
    }

    /// The summary of a column; `None` for BOOL and STRING.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn summary(&self, column: usize) -> Result<Option<&ColumnSummary>> {
        read_once(self.columns.get(column), || {
            self.section(column).map(|section| self.summary.column(section)).transpose()
        })
    }

    /// What the summary of a column tells of all stored rows; `None` for BOOL and STRING. Does not
    /// keep a summary that nobody else has asked for.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(in crate::columnar) fn totals(&self, column: usize) -> Result<Option<Totals>> {
        let found = read_once(self.totals.get(column), || {
            if let Some(kept) = self.columns.get(column).and_then(OnceLock::get) {
                return Ok(kept.as_ref().map(ColumnSummary::totals));
            }
            let read = self.section(column).map(|section| self.summary.column(section));
            Ok(read.transpose()?.map(|summary| summary.totals()))
        })?;
        Ok(found.copied())
    }

    /// The sums of the blocks of a column; `None` if the segment does not have them.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn sums(&self, column: usize) -> Result<Option<&[BlockSums]>> {
        let found = read_once(self.sums.get(column), || {
            let sums = self.section(column).map(|section| self.summary.sums(section));
            Ok(sums.transpose()?.flatten())
        })?;
        Ok(found.map(Vec::as_slice))
    }

    fn section(&self, column: usize) -> Option<&Section> {
        self.summary.sections.iter().find(|section| section.position == column)
    }

    /// Whether copies of extreme rows are stored beside the pages.
    #[must_use]
    pub fn has_extreme_rows(&self) -> bool {
        !self.summary.extreme_rows.is_empty()
    }

    /// Appends extreme rows of a column to `out`, in the form of [`ExtremeRows`]: for each of these
    /// blocks, which are ascending, the row of the first smallest or of the first largest value.
    ///
    /// # Errors
    /// `Corrupt`, also when the segment has no such rows; `Io`.
    pub fn read_extreme_rows(
        &self,
        column: usize,
        wanted: &[(usize, bool)],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let missing = || {
            Error::corrupt(
                "a segment lacks the extreme rows that it should have; restore the table from a \
                 backup",
            )
        };
        let layout = ExtremeRows::of(&self.schema).ok_or_else(missing)?;
        let place = |&(block, is_max): &(usize, bool)| -> Option<u64> {
            let row = block * BLOCK_ROWS;
            let group = self.group_starts.partition_point(|start| *start <= row).checked_sub(1)?;
            let first = self.group_starts.get(group)? / BLOCK_ROWS;
            let blocks = self.group_rows(group).div_ceil(BLOCK_ROWS);
            let offset = layout.offset(column, blocks, block.checked_sub(first)?, is_max)?;
            self.summary.extreme_rows.get(group)?.checked_add(offset as u64)
        };
        let places = wanted.iter().map(place).collect::<Option<Vec<u64>>>().ok_or_else(missing)?;
        let len = layout.row_bytes();
        let mut buffer = Vec::new();
        let mut rest = &places[..];
        while let Some(&start) = rest.first() {
            let near = |pair: &[u64]| match pair {
                [before, after] => {
                    after.saturating_sub(*before) <= EXTREMES_GAP
                        && after.saturating_sub(start) <= EXTREMES_TOGETHER
                }
                _ => false,
            };
            let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
            let (together, later) = rest.split_at_checked(count).ok_or_else(missing)?;
            let last = together.last().copied().unwrap_or(start);
            let whole = usize::try_from(last - start).map_err(|_| missing())? + len;
            let skip = self.data.read_into(start, whole, &mut buffer)?;
            for at in together {
                let from = skip + (at - start) as usize;
                out.extend_from_slice(buffer.get(from..from + len).ok_or_else(missing)?);
            }
            rest = later;
        }
        Ok(())
    }

    /// The pages of a column of a row group, if this crate decodes them itself; `None` if the
    /// Parquet library must: for compressed pages, BOOL, and rare encodings.
    fn chunk(&self, group: usize, column: usize) -> Option<ColumnChunk<'_>> {
        let metadata = self.parquet.metadata();
        let data_type = self.schema.columns().get(column)?.data_type;
        let chunk = metadata.row_groups().get(group)?.columns().get(column)?;
        let is_known = |encoding| match encoding {
            Encoding::PLAIN
            | Encoding::RLE
            | Encoding::RLE_DICTIONARY
            | Encoding::PLAIN_DICTIONARY => true,
            Encoding::DELTA_BINARY_PACKED => data_type.can_be_index(),
            _ => false,
        };
        let is_ours = chunk.compression() == Compression::UNCOMPRESSED
            && data_type != DataType::Bool
            && chunk.encodings().all(is_known);
        if !is_ours {
            return None;
        }
        let pages = metadata.offset_index()?.get(group)?.get(column)?.page_locations();
        let first_page = u64::try_from(pages.first()?.offset).ok()?;
        let (start, _) = chunk.byte_range();
        let is_plain = chunk.dictionary_page_offset().is_none()
            && chunk
                .encodings()
                .all(|encoding| matches!(encoding, Encoding::PLAIN | Encoding::RLE));
        let is_nullable = chunk.column_descr().max_def_level() > 0;
        let nulls = chunk.statistics().and_then(Statistics::null_count_opt);
        Some(ColumnChunk {
            file: &self.data,
            dictionaries: &self.dictionaries,
            group,
            column,
            pages,
            rows: self.group_rows(group),
            dictionary: chunk.dictionary_page_offset().map(|_| start..first_page),
            is_nullable,
            has_nulls: is_nullable && nulls != Some(0),
            is_plain,
            data_type,
        })
    }

    /// The value that all rows of a column of a row group have, if its statistics tell it.
    fn same_value(&self, group: usize, column: usize) -> Option<SameValue<'_>> {
        let metadata = self.parquet.metadata();
        let chunk = metadata.row_groups().get(group)?.columns().get(column)?;
        let data_type = self.schema.columns().get(column)?.data_type;
        SameValue::of(chunk.statistics()?, data_type, self.group_rows(group) as u64)
    }

    fn group_rows(&self, group: usize) -> usize {
        match (self.group_starts.get(group), self.group_starts.get(group + 1)) {
            (Some(from), Some(to)) => to - from,
            _ => 0,
        }
    }

    /// Splits ascending ranges of rows by row group: the group, its first row, and the ranges
    /// counted from that row.
    fn by_group(&self, ranges: &[Range<usize>]) -> Vec<(usize, usize, Vec<Range<usize>>)> {
        let mut out: Vec<(usize, usize, Vec<Range<usize>>)> = Vec::new();
        for range in ranges {
            let mut from = range.start;
            while from < range.end {
                let group = match out.last() {
                    Some((group, start, _)) if from < start + self.group_rows(*group) => *group,
                    _ => {
                        self.group_starts.partition_point(|start| *start <= from).saturating_sub(1)
                    }
                };
                let Some(start) = self.group_starts.get(group).copied() else { return out };
                let end = start + self.group_rows(group);
                if end <= from {
                    return out;
                }
                let part = from - start..range.end.min(end) - start;
                from = start + part.end;
                match out.last_mut() {
                    Some((last, _, parts)) if *last == group => parts.push(part),
                    _ => out.push((group, start, vec![part])),
                }
            }
        }
        out
    }

    /// Returns the rows of these ascending, disjoint ranges, with the columns at these positions,
    /// in this order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn read(&self, columns: &[usize], ranges: &[Range<usize>]) -> Result<RecordBatch> {
        let schema = self.schema.project(columns);
        let row_count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        if row_count == 0 {
            return Ok(RecordBatch::new_empty(schema));
        }
        let arrays = self.read_arrays(columns, ranges)?;
        RecordBatch::try_new_with_options(schema, arrays, &options).map_err(bad_batch)
    }

    /// The values of [`Segment::read`], for a reader that takes no batch. Of a few rows the schema
    /// of a batch costs as much as they do. There is at least one row.
    ///
    /// # Errors
    /// As [`Segment::read`].
    pub fn read_arrays(&self, columns: &[usize], ranges: &[Range<usize>]) -> Result<Vec<ArrayRef>> {
        let by_group = self.by_group(ranges);
        let row_count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let mut scratch = Scratch::new(DataType::Int64);
        let mut read = |&column: &usize| {
            let array = self.read_column(column, &by_group, &mut scratch)?;
            if array.len() == row_count {
                return Ok(array);
            }
            let (has, of) = (array.len(), row_count);
            Err(Error::corrupt(format!("a column of a segment has {has} values for {of} rows")))
        };
        columns.iter().map(&mut read).collect()
    }

    fn read_column(
        &self,
        column: usize,
        by_group: &[(usize, usize, Vec<Range<usize>>)],
        scratch: &mut Scratch,
    ) -> Result<ArrayRef> {
        let data_type = self.schema.column(column)?.data_type;
        let row_count =
            by_group.iter().flat_map(|(_, _, ranges)| ranges).map(ExactSizeIterator::len).sum();
        let first = by_group.first().and_then(|(group, ..)| self.same_value(*group, column));
        if let Some(same) = first
            && by_group.iter().skip(1).all(|(group, ..)| self.same_value(*group, column) == first)
        {
            return match same {
                SameValue::Null => Ok(scratch.nulls(data_type, row_count)),
                same => same.array(data_type, row_count),
            };
        }
        let chunks: Option<Vec<ColumnChunk<'_>>> =
            by_group.iter().map(|(group, ..)| self.chunk(*group, column)).collect();
        let Some(chunks) = chunks else {
            let mut parts = Vec::new();
            for (group, _, ranges) in by_group {
                self.read_group(*group, column, ranges, &mut parts)?;
            }
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            return concat(&parts).map_err(bad_batch);
        };
        let mut cells = DecodedColumn::new(data_type, row_count);
        for (chunk, (_, _, ranges)) in chunks.iter().zip(by_group) {
            chunk.read(ranges, scratch, &mut cells)?;
        }
        cells.finish()
    }

    /// Finds the rows of these ascending, disjoint ranges that pass a test of one column, without
    /// building an array of the whole column; `None` if the Parquet library must decode its pages.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn filter(
        &self,
        column: usize,
        ranges: &[Range<usize>],
        test: &dyn Fn(Part<'_>) -> BooleanBuffer,
        wanted: FilterOutput,
    ) -> Result<Option<FilterResult>> {
        let by_group = self.by_group(ranges);
        let chunks: Option<Vec<ColumnChunk<'_>>> =
            by_group.iter().map(|(group, ..)| self.chunk(*group, column)).collect();
        let Some(chunks) = chunks else { return Ok(None) };
        let cells = DecodedColumn::new(self.schema.column(column)?.data_type, 0);
        let mut out = PassingRows { ranges: Vec::new(), count: 0, cells };
        for (chunk, (_, start, ranges)) in chunks.iter().zip(&by_group) {
            chunk.filter(ranges, test, wanted, *start, &mut out)?;
        }
        let values = (wanted == FilterOutput::Values).then(|| out.cells.finish()).transpose()?;
        Ok(Some(FilterResult { ranges: out.ranges, count: out.count, values }))
    }

    /// Reads a column of a row group through the Parquet library.
    fn read_group(
        &self,
        group: usize,
        column: usize,
        selected: &[Range<usize>],
        out: &mut Vec<ArrayRef>,
    ) -> Result<()> {
        let group_rows = self.group_rows(group);
        let row_count: usize = selected.iter().map(ExactSizeIterator::len).sum();
        let selection = (row_count < group_rows)
            .then(|| RowSelection::from_consecutive_ranges(selected.iter().cloned(), group_rows));
        let source = VerifiedSource::new(
            self.data.clone(),
            self.prefetch(group, &[column], selection.as_ref())?,
        );
        let mask = ProjectionMask::roots(self.parquet.parquet_schema(), [column]);
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            source.clone(),
            self.parquet.clone(),
        )
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(row_count);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let name = "a segment";
        let reader = builder.build().map_err(|error| source.error(name, error))?;
        for batch in reader {
            let batch = batch.map_err(|error| source.error(name, error.into()))?;
            out.extend(batch.columns().first().cloned());
        }
        Ok(())
    }

    /// Reads the bytes of the pages that a selection needs; adjacent pages together.
    fn prefetch(
        &self,
        group: usize,
        columns: &[usize],
        selection: Option<&RowSelection>,
    ) -> Result<Vec<(u64, Bytes)>> {
        let metadata = self.parquet.metadata();
        let damaged = || Error::corrupt("the footer of a segment lacks its page positions");
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for &column in columns {
            let chunk = metadata
                .row_groups()
                .get(group)
                .and_then(|g| g.columns().get(column))
                .ok_or_else(damaged)?;
            let (start, len) = chunk.byte_range();
            let Some(selection) = selection else {
                ranges.push(start..start + len);
                continue;
            };
            let pages = metadata
                .offset_index()
                .and_then(|index| index.get(group))
                .and_then(|index| index.get(column))
                .ok_or_else(damaged)?
                .page_locations();
            let first_page = pages.first().map_or(start, |page| page.offset.cast_unsigned());
            if first_page > start {
                ranges.push(start..first_page);
            }
            ranges.extend(selection.scan_ranges(pages));
        }
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        ranges.into_iter().for_each(|range| join_near(&mut joined, range, READ_GAP));
        joined
            .into_iter()
            .map(|range| {
                Ok((range.start, self.data.read(range.start, (range.end - range.start) as usize)?))
            })
            .collect()
    }
}

/// What is kept in a slot; read and put there when it is asked for first.
fn read_once<T>(
    slot: Option<&OnceLock<Option<T>>>,
    read: impl FnOnce() -> Result<Option<T>>,
) -> Result<Option<&T>> {
    let Some(slot) = slot else { return Ok(None) };
    if let Some(known) = slot.get() {
        return Ok(known.as_ref());
    }
    let found = read()?;
    Ok(slot.get_or_init(|| found).as_ref())
}

fn bad_batch(error: crate::arrow::error::ArrowError) -> Error {
    Error::corrupt("a segment does not have the columns of its table").with_source(error)
}

/// The input of the Parquet parser: verified bytes only.
#[derive(Clone)]
pub(super) struct VerifiedSource(Arc<SourceInner>);

struct SourceInner {
    file: Arc<CheckedFile>,
    /// Bytes that were read ahead, ascending by position.
    ready: Vec<(u64, Bytes)>,
    failure: Mutex<Option<Error>>,
}

impl VerifiedSource {
    pub(super) fn new(file: Arc<CheckedFile>, ready: Vec<(u64, Bytes)>) -> Self {
        Self(Arc::new(SourceInner { file, ready, failure: Mutex::new(None) }))
    }

    /// The error of the file, if it made the parser fail; otherwise the parser's error.
    pub(super) fn error(&self, name: &str, error: ParquetError) -> Error {
        let below = self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        below.unwrap_or_else(|| {
            Error::corrupt(format!("{name} cannot be decoded")).with_source(error)
        })
    }
}

impl Length for VerifiedSource {
    fn len(&self) -> u64 {
        self.0.file.len()
    }
}

impl ChunkReader for VerifiedSource {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let rest = self.0.file.len().saturating_sub(start);
        self.get_bytes(start, rest as usize).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, len: usize) -> Result<Bytes, ParquetError> {
        let at = self.0.ready.partition_point(|(from, _)| *from <= start);
        if let Some((from, bytes)) = at.checked_sub(1).and_then(|at| self.0.ready.get(at)) {
            let skip = (start - from) as usize;
            if skip + len <= bytes.len() {
                return Ok(bytes.slice(skip..skip + len));
            }
        }
        self.0.file.read(start, len).map_err(|error| {
            let text = error.to_string();
            *self.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ParquetError::General(text)
        })
    }
}
