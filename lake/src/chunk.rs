//! Column chunks that are written page by page, because a general encoder looks at every value:
//! columns of one value, rows that count up, and times in another unit.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

pub(crate) type Written<T> = std::result::Result<T, ParquetError>;

/// Longest text of which statistics are written.
const STATISTICS_BYTES: usize = 64;
/// Deltas of a block and its parts, as most writers have them.
const BLOCK_DELTAS: u64 = 128;
const BLOCK_PARTS: u64 = 4;
/// Rows of a page of times, as in the store's own files.
const PAGE_ROWS: usize = 4096;

/// A column chunk in memory, with its metadata as of one that was just written.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub bytes: Bytes,
    pub close: ColumnCloseResult,
}

/// A value of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum One<'a> {
    Text(&'a str),
    Number(i64),
}

impl One<'_> {
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
pub(crate) fn constant(column: &ColumnDescPtr, value: One<'_>, row_count: u64) -> Written<Chunk> {
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
    one_page(column, Some(dictionary), codes, row_count, value.statistics())
}

/// A column of `row_count` rows without nulls whose values are `first` and the numbers after it.
pub(crate) fn counting(column: &ColumnDescPtr, first: i64, row_count: u64) -> Written<Chunk> {
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
    one_page(column, None, page, row_count, Some(Bounds::of(first, last)))
}

/// A column of numbers without nulls.
pub(crate) fn integers(column: &ColumnDescPtr, numbers: &[i64]) -> Written<Chunk> {
    packed(column, numbers, &[], Form::Deltas)?.ok_or_else(|| general("ordinals are no integers"))
}

/// The metadata of a chunk as of one of another column, which has the same levels and the same form
/// of values.
pub(crate) fn of_column(
    chunk: &ColumnChunkMetaData,
    column: &ColumnDescPtr,
) -> Written<ColumnChunkMetaData> {
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

fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn data_page(bytes: Vec<u8>, row_count: u64, encoding: Encoding) -> Written<Page> {
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
    row_count: u64,
    bounds: Option<Bounds>,
) -> Written<Chunk> {
    let count = i64::try_from(row_count).map_err(|_| general("a row group is too long"))?;
    let mut out = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut out);
    let mut encodings = vec![Encoding::RLE, data.encoding()];
    if let Some(dictionary) = &dictionary {
        encodings.push(dictionary.encoding());
    }
    let has_dictionary = dictionary.is_some();
    let mut write = |page: Page| {
        let length = page.buffer().len();
        writer.write_page(CompressedPage::new(page, length))
    };
    if let Some(dictionary) = dictionary {
        write(dictionary)?;
    }
    let at = write(data)?;
    let offset = i64::try_from(at.offset).map_err(|_| general("a page is too long"))?;
    let page_bytes =
        i32::try_from(at.compressed_size).map_err(|_| general("a page is too long"))?;
    let bytes = Bytes::from(out.into_inner()?);
    let length = i64::try_from(bytes.len()).map_err(|_| general("a chunk is too long"))?;
    let mut metadata = ColumnChunkMetaData::builder(column.clone())
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(encodings)
        .set_num_values(count)
        .set_total_compressed_size(length)
        .set_total_uncompressed_size(length)
        .set_data_page_offset(offset)
        .set_dictionary_page_offset(has_dictionary.then_some(0));
    let mut column_index = None;
    if let Some(bounds) = bounds {
        let mut index = ColumnIndexBuilder::new(column.physical_type());
        index.append(false, bounds.least, bounds.greatest, 0);
        column_index = Some(index.build()?);
        metadata = metadata.set_statistics(bounds.statistics);
    }
    let mut offsets = OffsetIndexBuilder::new();
    offsets.append_row_count(count);
    offsets.append_offset_and_size(offset, page_bytes);
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: row_count,
        metadata: metadata.build()?,
        bloom_filter: None,
        column_index,
        offset_index: Some(offsets.build()),
    };
    Ok(Chunk { bytes, close })
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
) -> Written<Option<Values>> {
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
pub(crate) fn changed<R: ChunkReader + Clone + 'static>(
    file: &R,
    chunk: &ColumnChunkMetaData,
    row_count: usize,
    column: &ColumnDescPtr,
    change: impl Fn(i64) -> Option<i64>,
) -> Written<Option<Chunk>> {
    let stored = chunk.column_descr();
    let is_flat = stored.max_rep_level() == 0 && stored.max_def_level() <= 1;
    if !is_flat
        || stored.max_def_level() != column.max_def_level()
        || stored.physical_type() != column.physical_type()
    {
        return Ok(None);
    }
    let Some(mut values) = read(file, chunk, row_count)? else { return Ok(None) };
    for number in &mut values.numbers {
        let Some(changed) = change(*number) else { return Ok(None) };
        *number = changed;
    }
    // A bit of jitter is ten when the values are a thousand times as large, and nine of them are
    // always the same.
    let bits = chunk.compressed_size().saturating_mul(8);
    let form = match usize::try_from(bits).is_ok_and(|bits| bits < row_count) {
        _ if chunk.dictionary_page_offset().is_some() => Form::Dictionary,
        true => Form::Deltas,
        false => Form::CompressedDeltas,
    };
    packed(column, &values.numbers, &values.levels, form)
}

/// How integers are encoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Dictionary,
    Deltas,
    CompressedDeltas,
}

/// Encodes integers. `None` for a column of another type.
fn packed(
    column: &ColumnDescPtr,
    numbers: &[i64],
    levels: &[i16],
    form: Form,
) -> Written<Option<Chunk>> {
    let compression = match form {
        Form::CompressedDeltas => Compression::ZSTD(ZstdLevel::try_new(1)?),
        Form::Dictionary | Form::Deltas => Compression::UNCOMPRESSED,
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(form == Form::Dictionary)
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
