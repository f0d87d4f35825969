//! Reads a segment: chosen rows of chosen columns, from pages whose checksums were verified.

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};

use super::checked::CheckedFile;
use super::summary::ColumnSummary;
use super::summary_file::SummaryFile;
use super::{SegmentMeta, data_name, summary_name};
use crate::columnar::schema::TableSchema;
use crate::disk::{Mode, SharedDisk};
use crate::error::{Error, Result};

/// Page ranges closer than this are read in one go.
const READ_GAP: u64 = 64 * 1024;

/// An open segment. Cheap to share; holds its file handles, so that a reader outlives a merge that replaces it.
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
}

impl Segment {
    /// Opens the files that `meta` names in `dir`.
    ///
    /// # Errors
    /// `Corrupt` when a file is missing, has another length, or its footer does not match; `Io`.
    pub fn open(disk: &SharedDisk, dir: &str, meta: SegmentMeta, schema: Arc<TableSchema>) -> Result<Self> {
        let open = |name: &str| {
            disk.open(name, Mode::Read).map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => {
                    Error::corrupt(format!("the segment file {name} is missing; restore the table from a backup"))
                }
                _ => Error::io(format_args!("opening the segment file {name}"), error),
            })
        };
        let summary_path = format!("{dir}/{}", summary_name(meta.id));
        let mut summary = SummaryFile::open(open(&summary_path)?, summary_path, &meta)?;
        let data_path = format!("{dir}/{}", data_name(meta.id));
        let file = open(&data_path)?;
        let len = file.len().map_err(|error| Error::io(format_args!("reading {data_path}"), error))?;
        if len != meta.data_bytes {
            return Err(Error::corrupt(format!(
                "{data_path} has {len} bytes instead of {}; restore the table from a backup",
                meta.data_bytes
            )));
        }
        let crcs = std::mem::take(&mut summary.data_crcs);
        let data = Arc::new(CheckedFile::new(file, data_path.clone(), len, crcs)?);
        let source = Source::new(data.clone(), Vec::new());
        let options = ArrowReaderOptions::new()
            .with_schema(schema.arrow().clone())
            .with_column_index_policy(PageIndexPolicy::Skip)
            .with_offset_index_policy(PageIndexPolicy::Required);
        let parquet = ArrowReaderMetadata::load(&source, options).map_err(|error| source.error(&data_path, error))?;
        let mut group_starts = vec![0];
        let mut row_count = 0;
        for group in parquet.metadata().row_groups() {
            row_count += usize::try_from(group.num_rows()).unwrap_or_default();
            group_starts.push(row_count);
        }
        if row_count as u64 != meta.row_count {
            return Err(Error::corrupt(format!("{data_path} does not have the rows that its manifest entry tells")));
        }
        let columns = (0..schema.len()).map(|_| OnceLock::new()).collect();
        Ok(Self { meta, schema, data, parquet, group_starts, summary, columns })
    }

    /// The manifest entry.
    #[must_use]
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// The row groups as ranges of rows.
    pub fn groups(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.group_starts.windows(2).filter_map(|pair| match pair {
            [from, to] => Some(*from..*to),
            _ => None,
        })
    }

    /// Whether rows stand in order of their append ordinals.
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
        let Some(slot) = self.columns.get(column) else { return Ok(None) };
        if let Some(known) = slot.get() {
            return Ok(known.as_ref());
        }
        let section = self.summary.sections.iter().find(|section| section.position == column);
        let read = section.map(|section| self.summary.column(section)).transpose()?;
        Ok(slot.get_or_init(|| read).as_ref())
    }

    /// The rows of these ascending, disjoint ranges, with the columns at these positions in this order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn read(&self, columns: &[usize], ranges: &[Range<usize>]) -> Result<RecordBatch> {
        let schema = self.schema.project(columns);
        let row_count: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        if columns.is_empty() || row_count == 0 {
            let options = RecordBatchOptions::new().with_row_count(Some(row_count));
            if columns.is_empty() {
                return RecordBatch::try_new_with_options(schema, Vec::new(), &options).map_err(bad_batch);
            }
            return Ok(RecordBatch::new_empty(schema));
        }
        let mut parts = Vec::new();
        let mut at = 0;
        for (group, rows) in self.groups().enumerate() {
            let mut selected = Vec::new();
            while let Some(range) = ranges.get(at).filter(|range| range.start < rows.end) {
                let from = range.start.max(rows.start);
                let to = range.end.min(rows.end);
                if from < to {
                    selected.push(from - rows.start..to - rows.start);
                }
                if range.end > rows.end {
                    break;
                }
                at += 1;
            }
            if !selected.is_empty() {
                self.read_group(group, rows.len(), columns, selected, &mut parts)?;
            }
        }
        let order: Vec<usize> = {
            let mut sorted = columns.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            columns.iter().map(|column| sorted.partition_point(|other| other < column)).collect()
        };
        let whole = match &parts[..] {
            [one] => one.clone(),
            [first, ..] => concat_batches(first.schema_ref(), &parts).map_err(bad_batch)?,
            [] => return Err(Error::corrupt("rows beyond the end of a segment were asked for; this is a defect")),
        };
        let arrays = order.iter().filter_map(|&at| whole.columns().get(at).cloned()).collect();
        RecordBatch::try_new(schema, arrays).map_err(bad_batch)
    }

    fn read_group(
        &self,
        group: usize,
        group_rows: usize,
        columns: &[usize],
        selected: Vec<Range<usize>>,
        out: &mut Vec<RecordBatch>,
    ) -> Result<()> {
        let row_count: usize = selected.iter().map(ExactSizeIterator::len).sum();
        let selection =
            (row_count < group_rows).then(|| RowSelection::from_consecutive_ranges(selected.into_iter(), group_rows));
        let source = Source::new(self.data.clone(), self.prefetch(group, columns, selection.as_ref())?);
        let mask = ProjectionMask::roots(self.parquet.parquet_schema(), columns.iter().copied());
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source.clone(), self.parquet.clone())
            .with_row_groups(vec![group])
            .with_projection(mask)
            .with_batch_size(row_count);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let name = "a segment";
        let reader = builder.build().map_err(|error| source.error(name, error))?;
        for batch in reader {
            out.push(batch.map_err(|error| source.error(name, error.into()))?);
        }
        Ok(())
    }

    /// Reads the bytes of the pages that a selection touches, neighbouring ones in one go.
    fn prefetch(&self, group: usize, columns: &[usize], selection: Option<&RowSelection>) -> Result<Vec<(u64, Bytes)>> {
        let metadata = self.parquet.metadata();
        let damaged = || Error::corrupt("the footer of a segment lacks its page positions");
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for &column in columns {
            let chunk = metadata.row_groups().get(group).and_then(|g| g.columns().get(column)).ok_or_else(damaged)?;
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
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end + READ_GAP => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        joined
            .into_iter()
            .map(|range| Ok((range.start, self.data.read(range.start, (range.end - range.start) as usize)?)))
            .collect()
    }
}

fn bad_batch(error: arrow::error::ArrowError) -> Error {
    Error::corrupt("a segment does not have the columns of its table").with_source(error)
}

/// What the Parquet parser reads from: verified bytes only.
#[derive(Clone)]
struct Source(Arc<SourceInner>);

struct SourceInner {
    file: Arc<CheckedFile>,
    /// Ascending by position.
    ready: Vec<(u64, Bytes)>,
    failure: Mutex<Option<Error>>,
}

impl Source {
    fn new(file: Arc<CheckedFile>, ready: Vec<(u64, Bytes)>) -> Self {
        Self(Arc::new(SourceInner { file, ready, failure: Mutex::new(None) }))
    }

    /// The error of the file below, if that is what made the parser fail.
    fn error(&self, name: &str, error: ParquetError) -> Error {
        let below = self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        below.unwrap_or_else(|| Error::corrupt(format!("{name} cannot be decoded")).with_source(error))
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.0.file.len()
    }
}

impl ChunkReader for Source {
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
