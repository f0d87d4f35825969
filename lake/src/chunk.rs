//! Column chunks that are written page by page, because a general encoder looks at every value:
//! columns of one value, rows that count up, and times in another unit.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;

use crate::deltas;
use crate::encoding::{ParquetResult, general, varint, zigzag};

/// Longest text of which statistics are written.
const STATISTICS_BYTES: usize = 64;
/// Deltas of a block and its parts, as most writers have them.
const BLOCK_DELTAS: u64 = 128;
const BLOCK_PARTS: u64 = 4;
/// Rows of a page of times, as in the store's own files.
const PAGE_ROWS: usize = 4096;
/// The level of compression of multiplied deltas. Level 3 looks for longer matches than level 1 does,
/// and finds those of regular jitter in less time.
const DELTAS_LEVEL: i32 = 3;

/// A column chunk in memory, with its metadata as of one that was just written.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub bytes: Bytes,
    pub close: ColumnCloseResult,
}

/// A value of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantValue<'a> {
    Text(&'a str),
    Number(i64),
}

impl ConstantValue<'_> {
    fn plain(self) -> Vec<u8> {
        match self {
            Self::Text(text) => {
                let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                [&length.to_le_bytes()[..], text.as_bytes()].concat()
            }
            Self::Number(number) => number.to_le_bytes().to_vec(),
        }
    }

    fn statistics(self) -> Option<Bounds> {
        match self {
            Self::Text(text) if text.len() > STATISTICS_BYTES => None,
            Self::Text(text) => {
                let value = Some(ByteArray::from(text.as_bytes().to_vec()));
                let statistics = Statistics::byte_array(value.clone(), value, None, Some(0), false);
                Some(Bounds { statistics, least: text.into(), greatest: text.into() })
            }
            Self::Number(number) => Some(Bounds::of(number, number)),
        }
    }
}

/// The least and the greatest value of a chunk of one page.
struct Bounds {
    statistics: Statistics,
    least: Vec<u8>,
    greatest: Vec<u8>,
}

impl Bounds {
    fn of(least: i64, greatest: i64) -> Self {
        Self {
            statistics: Statistics::int64(Some(least), Some(greatest), None, Some(0), false),
            least: least.to_le_bytes().to_vec(),
            greatest: greatest.to_le_bytes().to_vec(),
        }
    }
}

/// A column of `row_count` rows that all have this value, without nulls: a dictionary of one entry,
/// and one run of its number.
pub(crate) fn constant(
    column: &ColumnDescPtr,
    value: ConstantValue<'_>,
    row_count: u64,
) -> ParquetResult<Chunk> {
    let dictionary = Page::DictionaryPage {
        buf: value.plain().into(),
        num_values: 1,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    // The width is one bit and not none, which not all readers take.
    let mut codes = vec![1];
    varint(row_count << 1, &mut codes);
    codes.push(0);
    let codes = data_page(codes, row_count, Encoding::RLE_DICTIONARY)?;
    one_page(column, Some(dictionary), codes, value.statistics())
}

/// A column of `row_count` rows without nulls whose values are `first` and the numbers after it.
pub(crate) fn counting(column: &ColumnDescPtr, first: i64, row_count: u64) -> ParquetResult<Chunk> {
    let last = i64::try_from(row_count).ok().and_then(|count| first.checked_add(count - 1));
    let last = last.ok_or_else(|| general("ordinals are beyond 63 bits"))?;
    let mut deltas = Vec::new();
    varint(BLOCK_DELTAS, &mut deltas);
    varint(BLOCK_PARTS, &mut deltas);
    varint(row_count, &mut deltas);
    varint(zigzag(first), &mut deltas);
    // The least delta of each block is 1, and no bits are over it.
    let mut block = Vec::new();
    varint(zigzag(1), &mut block);
    block.extend([0; BLOCK_PARTS as usize]);
    for _ in 0..(row_count - 1).div_ceil(BLOCK_DELTAS) {
        deltas.extend_from_slice(&block);
    }
    let page = data_page(deltas, row_count, Encoding::DELTA_BINARY_PACKED)?;
    one_page(column, None, page, Some(Bounds::of(first, last)))
}

/// A column of numbers without nulls.
pub(crate) fn integers(column: &ColumnDescPtr, numbers: &[i64]) -> ParquetResult<Chunk> {
    packed(column, numbers, &[], IntegerEncoding::Deltas)?
        .ok_or_else(|| general("ordinals are no integers"))
}

/// The metadata of a chunk as of one of another column, which has the same levels and the same form
/// of values.
pub(crate) fn of_column(
    chunk: &ColumnChunkMetaData,
    column: &ColumnDescPtr,
) -> ParquetResult<ColumnChunkMetaData> {
    let mut out = ColumnChunkMetaData::builder(column.clone())
        .set_compression_codec(chunk.compression_codec())
        .set_encodings_mask(*chunk.encodings_mask())
        .set_total_compressed_size(chunk.compressed_size())
        .set_total_uncompressed_size(chunk.uncompressed_size())
        .set_num_values(chunk.num_values())
        .set_data_page_offset(chunk.data_page_offset())
        .set_dictionary_page_offset(chunk.dictionary_page_offset())
        .set_unencoded_byte_array_data_bytes(chunk.unencoded_byte_array_data_bytes())
        .set_repetition_level_histogram(chunk.repetition_level_histogram().cloned())
        .set_definition_level_histogram(chunk.definition_level_histogram().cloned());
    if let Some(statistics) = chunk.statistics() {
        out = out.set_statistics(statistics.clone());
    }
    if let Some(pages) = chunk.page_encoding_stats() {
        out = out.set_page_encoding_stats(pages.clone());
    }
    out.build()
}

fn data_page(bytes: Vec<u8>, row_count: u64, encoding: Encoding) -> ParquetResult<Page> {
    Ok(Page::DataPage {
        buf: bytes.into(),
        num_values: u32::try_from(row_count).map_err(|_| general("a row group is too long"))?,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    })
}

/// A chunk of one data page, uncompressed.
fn one_page(
    column: &ColumnDescPtr,
    dictionary: Option<Page>,
    data: Page,
    bounds: Option<Bounds>,
) -> ParquetResult<Chunk> {
    let mut index = None;
    if let Some(bounds) = &bounds {
        let mut only = ColumnIndexBuilder::new(column.physical_type());
        only.append(false, bounds.least.clone(), bounds.greatest.clone(), 0);
        index = Some(only.build()?);
    }
    let statistics = bounds.map(|bounds| bounds.statistics);
    let pages = dictionary.into_iter().chain([data]).collect();
    of_pages(column, pages, Compression::UNCOMPRESSED, (statistics, index))
}

/// A chunk of these pages, with a row for each value.
fn of_pages(
    column: &ColumnDescPtr,
    pages: Vec<Page>,
    compression: Compression,
    (statistics, column_index): (Option<Statistics>, Option<ColumnIndexMetaData>),
) -> ParquetResult<Chunk> {
    let long = |_| general("a chunk is too long");
    let mut compressor = match compression {
        Compression::ZSTD(level) => Some(Compressor::new(level.compression_level())?),
        _ => None,
    };
    let mut out = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut out);
    let mut offsets = OffsetIndexBuilder::new();
    let mut encodings = vec![Encoding::RLE];
    let (mut first, mut dictionary, mut row_count, mut uncompressed) = (None, None, 0, 0);
    for mut page in pages {
        let (length, is_data) = (page.buffer().len(), page.page_type() == PageType::DATA_PAGE);
        if let (Some(compressor), Page::DataPage { buf, .. }) = (&mut compressor, &mut page) {
            *buf = compressor.compress(buf)?.into();
        }
        if !encodings.contains(&page.encoding()) {
            encodings.push(page.encoding());
        }
        let values = i64::from(page.num_values());
        let spec = writer.write_page(CompressedPage::new(page, length))?;
        let at = i64::try_from(spec.offset).map_err(long)?;
        uncompressed += i64::try_from(spec.uncompressed_size).map_err(long)?;
        if is_data {
            first.get_or_insert(at);
            row_count += values;
            offsets.append_row_count(values);
            let size = i32::try_from(spec.compressed_size).map_err(|_| general("a long page"))?;
            offsets.append_offset_and_size(at, size);
        } else {
            dictionary = Some(at);
        }
    }
    let bytes = Bytes::from(out.into_inner()?);
    let mut metadata = ColumnChunkMetaData::builder(column.clone())
        .set_compression(compression)
        .set_encodings(encodings)
        .set_num_values(row_count)
        .set_total_compressed_size(i64::try_from(bytes.len()).map_err(long)?)
        .set_total_uncompressed_size(uncompressed)
        .set_data_page_offset(first.ok_or_else(|| general("a chunk has no page"))?)
        .set_dictionary_page_offset(dictionary);
    if let Some(statistics) = statistics {
        metadata = metadata.set_statistics(statistics);
    }
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: row_count.cast_unsigned(),
        metadata: metadata.build()?,
        bloom_filter: None,
        column_index,
        offset_index: Some(offsets.build()),
    };
    Ok(Chunk { bytes, close })
}

/// A column of integers whose values are multiplied by `factor`, in the encoding that it has. `None`
/// for a column of another form, and when a product is too large.
pub(crate) fn multiplied<R: ChunkReader + Clone + 'static>(
    file: &R,
    chunk: &ColumnChunkMetaData,
    index: Option<&ColumnIndexMetaData>,
    row_count: usize,
    column: &ColumnDescPtr,
    factor: i64,
) -> ParquetResult<Option<Chunk>> {
    let stored = chunk.column_descr();
    let is_flat = stored.max_rep_level() == 0 && stored.max_def_level() <= 1;
    if !is_flat
        || stored.max_def_level() != column.max_def_level()
        || stored.physical_type() != column.physical_type()
    {
        return Ok(None);
    }
    // The pages of a chunk are near each other, and one read has all of them.
    let (start, length) = chunk.byte_range();
    let whole = usize::try_from(length).map_err(|_| general("a chunk is too long"))?;
    let file = ChunkBytes { start, bytes: file.get_bytes(start, whole)? };
    let mut pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, row_count, None)?;
    if let Some(deltas) = deltas::multiplied(&mut pages, chunk, factor)? {
        return of_deltas(column, deltas, index, factor).map(Some);
    }
    changed(&file, chunk, row_count, column, |number| number.checked_mul(factor))
}

/// A column of deltas, compressed if they have jitter.
fn of_deltas(
    column: &ColumnDescPtr,
    deltas: deltas::ScaledDeltas,
    index: Option<&ColumnIndexMetaData>,
    factor: i64,
) -> ParquetResult<Chunk> {
    let deltas::ScaledDeltas { pages, least, greatest, null_count } = deltas;
    let statistics = Statistics::int64(Some(least), Some(greatest), None, null_count, false);
    let column_index = match index {
        Some(ColumnIndexMetaData::INT64(pages)) => {
            let mut out = ColumnIndexBuilder::new(column.physical_type());
            for page in 0..usize::try_from(pages.num_pages()).unwrap_or_default() {
                let bytes = |bound: Option<&i64>| {
                    let product = bound.map(|bound| bound.saturating_mul(factor));
                    product.map(|product| product.to_le_bytes().to_vec()).unwrap_or_default()
                };
                let (least, greatest) = (pages.min_value(page), pages.max_value(page));
                let nulls = pages.null_count(page).unwrap_or_default();
                out.append(pages.is_null_page(page), bytes(least), bytes(greatest), nulls);
            }
            if let Some(order) = ColumnIndexMetaData::INT64(pages.clone()).get_boundary_order() {
                out.set_boundary_order(order);
            }
            Some(out.build()?)
        }
        _ => None,
    };
    // Jitter of a bit is ten bits when the values are a thousand times as large, and nine of them
    // are always the same.
    let (mut bits, mut rows) = (0, 0);
    for page in &pages {
        bits += page.buffer().len() * 8;
        rows += page.num_values() as usize;
    }
    let compression = if bits < rows {
        Compression::UNCOMPRESSED
    } else {
        Compression::ZSTD(ZstdLevel::try_new(DELTAS_LEVEL)?)
    };
    of_pages(column, pages, compression, (Some(statistics), column_index))
}

/// Bytes of a file from a place on.
#[derive(Clone)]
struct ChunkBytes {
    start: u64,
    bytes: Bytes,
}

impl ChunkBytes {
    fn at(&self, place: u64) -> ParquetResult<u64> {
        place.checked_sub(self.start).ok_or_else(|| general("a page is before its chunk"))
    }
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ChunkBytes {
    type T = <Bytes as ChunkReader>::T;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.bytes.get_read(self.at(start)?)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.bytes.get_bytes(self.at(start)?, length)
    }
}

/// The values of an integer column of a row group, and their definition levels.
struct Values {
    numbers: Vec<i64>,
    levels: Vec<i16>,
}

fn read<R: ChunkReader + Clone + 'static>(
    file: &R,
    chunk: &ColumnChunkMetaData,
    row_count: usize,
) -> ParquetResult<Option<Values>> {
    let pages = SerializedPageReader::new(Arc::new(file.clone()), chunk, row_count, None)?;
    let column = chunk.column_descr_ptr();
    let mut values = Values { numbers: Vec::with_capacity(row_count), levels: Vec::new() };
    let has_levels = column.max_def_level() > 0;
    let ColumnReader::Int64ColumnReader(mut reader) = get_column_reader(column, Box::new(pages))
    else {
        return Ok(None);
    };
    let mut rows = 0;
    while rows < row_count {
        let levels = has_levels.then_some(&mut values.levels);
        match reader.read_records(row_count - rows, levels, None, &mut values.numbers)? {
            (0, ..) => return Err(general("a row group has fewer rows than it says")),
            (read, ..) => rows += read,
        }
    }
    Ok(Some(values))
}

/// A column of integers whose values are changed by `change`, in the encoding that it has. `None`
/// for a column of another form, and when a value cannot be changed.
fn changed<R: ChunkReader + Clone + 'static>(
    file: &R,
    chunk: &ColumnChunkMetaData,
    row_count: usize,
    column: &ColumnDescPtr,
    change: impl Fn(i64) -> Option<i64>,
) -> ParquetResult<Option<Chunk>> {
    let Some(mut values) = read(file, chunk, row_count)? else { return Ok(None) };
    for number in &mut values.numbers {
        let Some(changed) = change(*number) else { return Ok(None) };
        *number = changed;
    }
    // A bit of jitter is ten when the values are a thousand times as large, and nine of them are
    // always the same.
    let bits = chunk.compressed_size().saturating_mul(8);
    let form = if chunk.dictionary_page_offset().is_some() {
        IntegerEncoding::Dictionary
    } else if usize::try_from(bits).is_ok_and(|bits| bits < row_count) {
        IntegerEncoding::Deltas
    } else {
        IntegerEncoding::CompressedDeltas
    };
    packed(column, &values.numbers, &values.levels, form)
}

/// How integers are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IntegerEncoding {
    Dictionary,
    Deltas,
    CompressedDeltas,
}

/// Encodes integers. `None` for a column of another type.
fn packed(
    column: &ColumnDescPtr,
    numbers: &[i64],
    levels: &[i16],
    form: IntegerEncoding,
) -> ParquetResult<Option<Chunk>> {
    let compression = match form {
        IntegerEncoding::CompressedDeltas => Compression::ZSTD(ZstdLevel::try_new(1)?),
        IntegerEncoding::Dictionary | IntegerEncoding::Deltas => Compression::UNCOMPRESSED,
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(form == IntegerEncoding::Dictionary)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .build();
    let mut out = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut out));
    let close = match get_column_writer(column.clone(), Arc::new(properties), pages) {
        ColumnWriter::Int64ColumnWriter(mut writer) => {
            let levels = (column.max_def_level() > 0).then_some(levels);
            writer.write_batch(numbers, levels, None)?;
            writer.close()?
        }
        _ => return Ok(None),
    };
    Ok(Some(Chunk { bytes: out.into_inner()?.into(), close }))
}
