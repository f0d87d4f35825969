//! Parquet files of others.
//!
//! Reads the rows in batches, one row group after the other.
//!
//! The checks are made in this order: the length of the footer, its Thrift encoding, the shape that
//! it describes, the headers of all pages of a row group. Only then are pages decoded, in batches
//! whose size is bounded by the longest text.

mod convert;
mod int96;
mod pages;
mod source;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{
    FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema,
};
use parquet::basic::{Compression, Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageIterator, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::serialized_reader::SerializedPageReader;
use stationdb::arrow::array::RecordBatch;
use stationdb::arrow::datatypes::{DataType as Arrow, Field, Schema};
use stationdb::tables::readers::{fit_batch, foreign, guarded, is_numbered};
use stationdb::tables::{
    Column, ColumnNote, ColumnType, ImportTableRequest, RowSource, TableSchema,
    check_parquet_metadata,
};
use stationdb::{Control, Error, Place, Result};

use self::pages::{CheckedPages, OneChunk, check_chunk, longest};
pub use self::source::ReadSeek;
use self::source::{Chunks, ParquetSource, damaged};
use crate::opening::Opening;
use crate::options::ImportOptions;
use crate::{limits, numbered};

/// The rows of a Parquet file, read as the members of the request say.
///
/// The file is read when its rows are asked for. Its errors name row group, row and column.
#[must_use]
pub fn source(request: &ImportTableRequest, input: Box<dyn ReadSeek>) -> Box<dyn RowSource> {
    let request = request.clone();
    Box::new(Opening::new(move || ParquetImport::new(input, ImportOptions::new(&request)?)))
}

const MAGIC: &[u8; 4] = b"PAR1";
const TRAILER: u64 = 8;
/// Rows of one batch, unless texts are long.
const BATCH_ROWS: u64 = 8 * 1024;
/// Cells of one batch.
const BATCH_CELLS: u64 = 1024 * 1024;
/// Bytes of text that the values of dictionaries may expand to in one batch.
const BATCH_BYTES: usize = 64 * 1024 * 1024;

fn panicked() -> Error {
    damaged("its contents contradict its metadata")
}

/// One row group, as the parser reads it.
struct Group<'a> {
    source: &'a Arc<ParquetSource>,
    metadata: &'a ParquetMetaData,
    at: usize,
}

impl Group<'_> {
    fn meta(&self) -> ParquetResult<&RowGroupMetaData> {
        let gone = || ParquetError::General("a row group is missing".to_owned());
        self.metadata.row_groups().get(self.at).ok_or_else(gone)
    }

    fn pages(&self, column: usize) -> ParquetResult<CheckedPages> {
        let group = self.meta()?;
        let gone = || ParquetError::General("a column is missing".to_owned());
        let chunk = group.columns().get(column).ok_or_else(gone)?;
        let rows = usize::try_from(group.num_rows()).unwrap_or_default();
        let pages =
            SerializedPageReader::new(Arc::new(Chunks(self.source.clone())), chunk, rows, None)?;
        Ok(CheckedPages::new(self.source.clone(), Box::new(pages), chunk.column_descr()))
    }
}

impl RowGroups for Group<'_> {
    fn num_rows(&self) -> usize {
        self.meta()
            .ok()
            .and_then(|group| usize::try_from(group.num_rows()).ok())
            .unwrap_or_default()
    }

    fn column_chunks(&self, column: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let pages = self.pages(column).map(|pages| Box::new(pages) as Box<dyn PageReader>);
        Ok(Box::new(OneChunk(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.meta().ok().into_iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// A Parquet file that is being imported.
pub(crate) struct ParquetImport {
    source: Arc<ParquetSource>,
    options: ImportOptions,
    pub(super) metadata: ParquetMetaData,
    schema: Schema,
    levels: FieldLevels,
    group: usize,
    reader: Option<ParquetRecordBatchReader>,
    /// What the report says of each column.
    told: HashMap<String, ColumnNote>,
    /// Columns of whose nulls only the statistics say that there are none, and those that have
    /// some nevertheless.
    counted: HashSet<String>,
    uncounted: BTreeSet<String>,
    /// The number of the first row of the file, where rows are numbered.
    first_row: u64,
    /// Rows read from the current row group, and rows of the groups before it.
    group_rows: u64,
    rows_before: u64,
    /// Limit for the bytes of one page.
    pub(super) page_bytes_max: usize,
    /// Set when an error or a panic left the reader in an unknown state.
    is_over: bool,
}

impl ParquetImport {
    /// Reads the footer.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are not a Parquet file, `Unsupported` for nested columns,
    /// `LimitExceeded` for a footer or a number of columns beyond the import limits; `Io`.
    pub(crate) fn new(input: Box<dyn ReadSeek>, options: ImportOptions) -> Result<Self> {
        let source = Arc::new(ParquetSource::new(input)?);
        if source.len < TRAILER + 4 || source.read(0, 4)? != MAGIC {
            let start = source.read(0, source.len.min(foreign::START_BYTES as u64) as usize)?;
            return Err(damaged(&match foreign::known(&start) {
                Some(what) => what,
                None if foreign::is_text(&start) => "it is text; import it as CSV".to_owned(),
                None => "it does not begin and end with PAR1".to_owned(),
            }));
        }
        let trailer = source.read(source.len - TRAILER, TRAILER as usize)?;
        let footer_len = match trailer.split_first_chunk::<4>() {
            Some((len, magic)) if magic == MAGIC => u64::from(u32::from_le_bytes(*len)),
            _ => return Err(damaged("it does not begin and end with PAR1")),
        };
        if footer_len > limits::IMPORT_METADATA_BYTES as u64 {
            return Err(Error::limit(format!(
                "the footer of the Parquet file takes {footer_len} bytes, more than the {} that an \
                 import may have",
                limits::IMPORT_METADATA_BYTES
            )));
        }
        let start = (source.len - TRAILER)
            .checked_sub(footer_len)
            .ok_or_else(|| damaged("its footer would begin before the file"))?;
        let footer = source.read(start, footer_len as usize)?;
        check_parquet_metadata(&footer)?;
        let (metadata, schema, levels) = guarded(|| {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
            let descr = metadata.file_metadata().schema_descr();
            let schema = parquet_to_arrow_schema(descr, None)?;
            let levels = parquet_to_arrow_field_levels(descr, ProjectionMask::all(), None)?;
            Ok::<_, ParquetError>((metadata, schema, levels))
        })
        .ok_or_else(panicked)?
        .map_err(|error| damaged("its footer cannot be read").with_source(error))?;
        let import = Self {
            source,
            options,
            metadata,
            schema,
            levels,
            group: 0,
            reader: None,
            told: HashMap::new(),
            counted: HashSet::new(),
            uncounted: BTreeSet::new(),
            first_row: 0,
            group_rows: 0,
            rows_before: 0,
            page_bytes_max: limits::IMPORT_PAGE_BYTES,
            is_over: false,
        };
        import.check_shape()?;
        Ok(import)
    }

    fn check_shape(&self) -> Result<()> {
        let descr = self.metadata.file_metadata().schema_descr();
        let columns = descr.num_columns();
        if columns > limits::IMPORT_COLUMNS {
            return Err(Error::limit(format!(
                "the Parquet file has {columns} columns, more than the {} of an import",
                limits::IMPORT_COLUMNS
            )));
        }
        for field in descr.root_schema().get_fields() {
            types::check_nested(field, self.options.flatten)?;
        }
        for (at, group) in self.metadata.row_groups().iter().enumerate() {
            let fault = |why: &str| Err(damaged(why).at(place(at, None, None)));
            if group.num_rows() < 0 {
                return fault("a row group has a negative number of rows");
            }
            if group.num_columns() != columns {
                return fault("a row group has other columns than the file");
            }
            if group.columns().iter().any(|chunk| chunk.num_values() != group.num_rows()) {
                return fault("a column has another number of values than its row group has rows");
            }
        }
        Ok(())
    }

    /// The nulls of a column that the statistics of all row groups declare; `None` if one does not.
    fn nulls(&self, leaf: usize) -> Option<u64> {
        let descr = self.metadata.file_metadata().schema_descr();
        if descr.column(leaf).max_def_level() == 0 {
            return Some(0);
        }
        let groups = self.metadata.row_groups();
        if groups.is_empty() {
            return None;
        }
        groups.iter().try_fold(0u64, |all, group| {
            let statistics = group.columns().get(leaf)?.statistics()?;
            all.checked_add(statistics.null_count_opt()?)
        })
    }

    /// The column that is named, or by which all row groups are declared to be sorted upwards.
    fn index(&self, columns: &[Column]) -> Result<Option<usize>> {
        if let Some(name) = self.options.index.as_deref() {
            return numbered::index_position(columns, name).map(Some);
        }
        let sorted_by = |group: &RowGroupMetaData| {
            let first = group.sorting_columns()?.first()?;
            (!first.descending).then_some(())?;
            usize::try_from(first.column_idx).ok()
        };
        let groups = self.metadata.row_groups();
        let Some(position) = groups.first().and_then(sorted_by) else { return Ok(None) };
        let can_be = columns.get(position).is_some_and(|column| {
            column.data_type.can_be_index() && column.column_type == ColumnType::Normal
        });
        let by_all = groups.iter().all(|group| sorted_by(group) == Some(position));
        Ok((can_be && by_all).then_some(position))
    }

    /// Adds the numbers of rows where the table has them and the file does not; `row` is the row of
    /// the first one in the file.
    fn number(&self, schema: &TableSchema, batch: RecordBatch, row: u64) -> Result<RecordBatch> {
        let column = schema.column(schema.index())?;
        if !is_numbered(column) || batch.column_by_name(&column.name).is_some() {
            return Ok(batch);
        }
        let mut fields = vec![Field::new(&column.name, Arrow::Int64, false)];
        fields.extend(batch.schema_ref().fields().iter().map(|field| Field::clone(field)));
        let mut arrays = vec![numbered::numbers(self.first_row + row, batch.num_rows())];
        arrays.extend(batch.columns().iter().cloned());
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| damaged("its columns do not fit together").with_source(error))
    }

    /// Notes the columns with nulls that are not counted. Returns whether there are any.
    fn note_nulls(&mut self, flat: &RecordBatch) -> bool {
        let mut any = false;
        for (field, array) in flat.schema_ref().fields().iter().zip(flat.columns()) {
            if self.counted.contains(field.name()) && array.logical_null_count() > 0 {
                self.uncounted.insert(field.name().clone());
                any = true;
            }
        }
        any
    }

    /// A batch of the file as rows of the table; `row` is the row of its first one in the file.
    fn fit(&self, schema: &TableSchema, flat: &RecordBatch, row: u64) -> Result<RecordBatch> {
        let converted = convert::convert(schema, flat, &self.options, row)?;
        fit_batch(schema, &self.number(schema, converted, row)?, row)
    }

    fn next(&mut self, schema: &TableSchema, control: &Control) -> Result<Option<RecordBatch>> {
        let Some((flat, row)) = self.read(control)? else { return Ok(None) };
        let group = self.group;
        if self.note_nulls(&flat) {
            // The other columns, too, so that the file is read again only once.
            while let Some((flat, _)) = self.read(control)? {
                self.note_nulls(&flat);
            }
            let error = Error::invalid("the statistics of the file do not count its nulls");
            return Err(error.at(place(group, Some(row), self.uncounted.first().cloned())));
        }
        let fitted =
            self.fit(schema, &flat, row).map_err(|error| match error.place().cloned() {
                Some(Place::Cell { row, column }) => {
                    error.at(place(group, Some(row), Some(column)))
                }
                _ => error,
            })?;
        Ok(Some(fitted))
    }

    /// The next rows as they are in the file, with the number of the first one.
    fn read(&mut self, control: &Control) -> Result<Option<(RecordBatch, u64)>> {
        loop {
            control.check()?;
            let Some(meta) = self.metadata.row_groups().get(self.group) else { return Ok(None) };
            let row_count = meta.num_rows().unsigned_abs();
            let (group, row) = (self.group, self.rows_before + self.group_rows);
            if self.reader.is_none() {
                self.reader = Some(self.open_group(meta, control)?);
            }
            let Some(reader) = &mut self.reader else { return Ok(None) };
            let batch = guarded(|| reader.next())
                .ok_or_else(panicked)
                .and_then(|batch| batch.transpose().map_err(|error| self.source.error(error)))
                .map_err(|error| error.at(place(group, Some(row), None)))?;
            let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) else {
                if self.group_rows != row_count {
                    return Err(damaged("a row group has fewer rows than its metadata declares")
                        .at(place(group, Some(row), None)));
                }
                self.group += 1;
                self.rows_before += row_count;
                self.group_rows = 0;
                self.reader = None;
                continue;
            };
            self.group_rows += batch.num_rows() as u64;
            return Ok(Some((convert::flatten(&batch)?, row)));
        }
    }

    fn open_group(
        &self,
        meta: &RowGroupMetaData,
        control: &Control,
    ) -> Result<ParquetRecordBatchReader> {
        let group = Group { source: &self.source, metadata: &self.metadata, at: self.group };
        let mut open_bytes = 0u64;
        let mut row_bytes = 0;
        let mut texts = Vec::new();
        for (at, chunk) in meta.columns().iter().enumerate() {
            let at_column = |error: Error| {
                error.at(place(self.group, None, Some(chunk.column_descr().path().string())))
            };
            let range = chunk_range(chunk).map_err(at_column)?;
            if matches!(
                chunk.compression(),
                Compression::GZIP(_) | Compression::BROTLI(_) | Compression::LZO
            ) {
                return Err(at_column(Error::unsupported(format!(
                    "the compression {} is not supported; write the file with ZSTD, SNAPPY or \
                     LZ4_RAW, or without compression",
                    codec(chunk.compression())
                ))));
            }
            let is_compressed = chunk.compression() != Compression::UNCOMPRESSED;
            if chunk.encodings().any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY) {
                return Err(at_column(Error::unsupported(
                    "the encoding DELTA_BYTE_ARRAY is not supported; write the column with the \
                     dictionary, plain or DELTA_LENGTH_BYTE_ARRAY encoding, which are the defaults \
                     of writers",
                )));
            }
            let shape = check_chunk(
                &self.source,
                range,
                is_compressed,
                chunk.num_values(),
                self.page_bytes_max,
                control,
            )
            .map_err(at_column)?;
            open_bytes =
                open_bytes.saturating_add(shape.dictionary_bytes).saturating_add(shape.page_bytes);
            if open_bytes > limits::IMPORT_OPEN_BYTES {
                return Err(at_column(Error::limit(format!(
                    "the pages that must be open together take more than {} bytes; write the file \
                     with smaller pages",
                    limits::IMPORT_OPEN_BYTES
                ))));
            }
            if chunk.column_type() == PhysicalType::INT96 {
                let column = Some(chunk.column_descr().path().string());
                let fault = |row: Option<u64>, error: Error| {
                    let row = row.map(|row| self.rows_before + row);
                    error.at(place(self.group, row, column.clone()))
                };
                let pages =
                    group.pages(at).map_err(|error| fault(None, self.source.error(error)))?;
                guarded(|| int96::check(&self.source, chunk.column_descr_ptr(), Box::new(pages)))
                    .ok_or_else(|| fault(None, panicked()))?
                    .map_err(|(row, error)| fault(row, error))?;
            }
            if chunk.column_type() != PhysicalType::BYTE_ARRAY {
                continue;
            }
            // One value of a dictionary may occur in every row.
            if shape.dictionary_bytes > 0 {
                let first = guarded(|| group.pages(at).and_then(|mut pages| pages.get_next_page()))
                    .ok_or_else(panicked)
                    .and_then(|page| page.map_err(|error| self.source.error(error)))
                    .map_err(at_column)?;
                if let Some(Page::DictionaryPage { buf, .. }) = first {
                    row_bytes += longest(&buf);
                }
            }
            texts.push(shape);
        }
        let by_cells = BATCH_CELLS / (meta.num_columns() as u64).max(1);
        let by_bytes = (BATCH_BYTES / row_bytes.max(1)) as u64;
        let mut rows = by_cells.min(by_bytes).clamp(1, BATCH_ROWS);
        // Texts outside of dictionaries: reduce the rows until their pages fit.
        while rows > 1
            && texts.iter().map(|shape| shape.window_bytes(rows)).sum::<u64>()
                > 2 * BATCH_BYTES as u64
        {
            rows = (rows / 4).max(1);
        }
        guarded(|| {
            ParquetRecordBatchReader::try_new_with_row_groups(
                &self.levels,
                &group,
                rows as usize,
                None,
            )
        })
        .ok_or_else(panicked)
        .and_then(|reader| reader.map_err(|error| self.source.error(error)))
        .map_err(|error| error.at(place(self.group, None, None)))
    }
}

impl RowSource for ParquetImport {
    /// The columns of the file. The index is the column that the options name, or by which the file
    /// declares itself sorted, or else a new column of row numbers. A column is nullable unless the
    /// file says that it has no nulls.
    ///
    /// # Errors
    /// `Unsupported` for a column of a type that no table column has; `InvalidArgument` when the
    /// named column cannot be the index.
    fn columns(&mut self) -> Result<Vec<Column>> {
        let leaves = types::leaves(&self.schema);
        let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        self.options.check_names(&names)?;
        let zones = guarded(|| types::zones(self.metadata.file_metadata()));
        let zones = zones.unwrap_or_default();
        let mut columns = Vec::with_capacity(leaves.len() + 1);
        for (at, leaf) in leaves.iter().enumerate() {
            let zone = zones.get(&leaf.name).map(String::as_str);
            let found = types::column(leaf, zone, &self.options)?;
            let mut told = found.told;
            let is_optional =
                self.metadata.file_metadata().schema_descr().column(at).max_def_level() > 0;
            let nulls = if self.uncounted.contains(&leaf.name) {
                told.why.push_str("; NULLABLE, as it has nulls that the file does not count");
                Some(1)
            } else {
                self.nulls(at)
            };
            if nulls == Some(0) && is_optional {
                self.counted.insert(leaf.name.clone());
            }
            let column_type =
                if nulls == Some(0) { ColumnType::Normal } else { ColumnType::Nullable };
            if nulls.is_none() {
                told.why.push_str("; NULLABLE, because the file does not tell its nulls");
            }
            let mut column = Column::new(leaf.name.clone(), found.data_type);
            column.column_type = column_type;
            let properties = [("unit", &told.unit), ("timeZone", &told.time_zone)];
            column.properties = properties
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)))
                // Values are UTC, so that zone needs no property.
                .filter(|(_, value)| value != "UTC")
                .collect();
            self.told.insert(leaf.name.clone(), told);
            columns.push(column);
        }
        match self.index(&columns)? {
            Some(position) => {
                if let Some(column) = columns.get_mut(position) {
                    column.column_type = ColumnType::Index;
                }
            }
            None => {
                let column = numbered::column(&names);
                self.told.insert(column.name.clone(), numbered::told());
                columns.insert(0, column);
            }
        }
        Ok(columns)
    }

    /// The next rows, with the columns of the table; `None` at the end.
    ///
    /// # Errors
    /// `InvalidArgument`, with row group, row and column, for damaged data and values that do not
    /// fit; `LimitExceeded` for pages beyond the import limits; `Io`; the errors of `control`.
    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>> {
        if self.is_over {
            return Ok(None);
        }
        let next = self.next(schema, control);
        self.is_over = next.is_err();
        next
    }

    /// The number of the first row, where rows are numbered.
    fn number_from(&mut self, row: u64) {
        self.first_row = row;
    }

    /// The number of rows that the footer declares.
    fn row_count(&self) -> Option<u64> {
        let rows = self.metadata.row_groups().iter().map(|group| group.num_rows().unsigned_abs());
        Some(rows.fold(0, u64::saturating_add))
    }

    /// What the report says of a column.
    fn note(&self, name: &str) -> ColumnNote {
        self.told.get(name).cloned().unwrap_or_default()
    }

    /// What the caller should look at.
    fn warnings(&self) -> Vec<String> {
        let warn = |name: &String| {
            format!(
                "column {name:?} is NULLABLE: it has nulls, and the statistics of the file say \
                 that it has none"
            )
        };
        self.uncounted.iter().map(warn).collect()
    }

    /// Whether the columns have to be inferred again, because some have nulls that the statistics
    /// of the file do not count. Old writers count none. The file is then read from its start.
    fn begin_again(&mut self) -> bool {
        if self.counted.is_disjoint(&self.uncounted.iter().cloned().collect()) {
            return false;
        }
        self.counted.clear();
        (self.group, self.group_rows, self.rows_before, self.reader) = (0, 0, 0, None);
        self.is_over = false;
        true
    }
}

/// The name of a compression, without its level.
fn codec(compression: Compression) -> String {
    let text = compression.to_string();
    text.split('(').next().unwrap_or_default().to_owned()
}

fn place(group: usize, row: Option<u64>, column: Option<String>) -> Place {
    Place::RowGroup { row_group: group as u64, row, column }
}

/// Start and end of the pages of a column chunk.
fn chunk_range(chunk: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    if chunk.file_path().is_some() {
        return Err(Error::unsupported("the column is kept in another file"));
    }
    let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
    let end = start.checked_add(chunk.compressed_size());
    match (u64::try_from(start), end.map(u64::try_from)) {
        (Ok(start), Some(Ok(end))) if start <= end => Ok((start, end)),
        _ => Err(damaged("a column has an invalid position in the file")),
    }
}
