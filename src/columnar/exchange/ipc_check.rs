//! Checks the metadata of an Arrow IPC stream before the Arrow library reads it.
//!
//! What must hold: the library decodes without a panic whatever passes here, so that a host with
//! `panic = "abort"` survives any stream. The library verifies the structure of the flatbuffers and
//! trusts their meaning. The following makes arrow-ipc 59.3 panic or allocate without a bound, and
//! is refused here:
//!
//! - A schema without a list of fields, a type without its table, a width, unit or precision that
//!   the library does not know, nested types, unions, run ends, decimals, intervals.
//!   [`StreamColumns::of`] knows the types that a table takes, and refuses every other.
//! - A dictionary batch without data, or for a dictionary that no column has.
//! - A buffer outside its body.
//! - A validity buffer that is shorter than the rows, in a column that declares nulls.
//! - Offsets, views or keys whose length is no multiple of their width.
//! - Counts of the buffers of views that are negative, too great or too many.
//! - Misaligned buffers that share bytes: the library copies each. All buffers of a message
//!   together stay within the message limit.
//! - An LZ4 frame that inflates to more than it declares, see [`lz4_bound`].
//! - Names and metadata that share bytes: the library copies each. All texts of a schema together
//!   stay within the metadata limit.

use std::collections::HashMap;

use crate::arrow::ipc::{
    BodyCompressionMethod, CompressionType, DateUnit, Endianness, Field, Int, Precision,
    RecordBatch as IpcBatch, Schema, TimeUnit, Type,
};
use crate::error::{Error, Result};
use crate::value::limits;

/// How the values of a column, or of a dictionary, are stored in the buffers of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::columnar) enum Layout {
    /// No buffer.
    Nulls,
    /// Validity, and one bit a row.
    Bits,
    /// Validity, and this many bytes a row.
    Fixed(usize),
    /// Validity, offsets of this many bytes, and the texts.
    Texts(usize),
    /// Validity, views, and any number of buffers of texts.
    Views,
}

/// Bytes of the view of a text.
const VIEW_BYTES: usize = 16;

/// The columns of a stream.
#[derive(Debug, Default)]
pub(in crate::columnar) struct StreamColumns {
    /// The layout of each column in a batch; for a column with a dictionary, the layout of its
    /// keys.
    pub columns: Vec<Layout>,
    /// The layout of the values of each dictionary.
    pub dictionaries: HashMap<i64, Layout>,
}

fn int_layout(int: Option<Int<'_>>) -> Option<Layout> {
    match int?.bitWidth() {
        width @ (8 | 16 | 32 | 64) => Some(Layout::Fixed(width as usize / 8)),
        _ => None,
    }
}

/// The layout of a field's values; `None` for a type that no table column takes.
fn value_layout(field: &Field<'_>) -> Option<Layout> {
    match field.type_type() {
        Type::Null => Some(Layout::Nulls),
        Type::Bool => Some(Layout::Bits),
        Type::Int => int_layout(field.type_as_int()),
        Type::FloatingPoint => match field.type_as_floating_point()?.precision() {
            Precision::HALF => Some(Layout::Fixed(2)),
            Precision::SINGLE => Some(Layout::Fixed(4)),
            Precision::DOUBLE => Some(Layout::Fixed(8)),
            _ => None,
        },
        Type::Date => match field.type_as_date()?.unit() {
            DateUnit::DAY => Some(Layout::Fixed(4)),
            DateUnit::MILLISECOND => Some(Layout::Fixed(8)),
            _ => None,
        },
        Type::Timestamp => match field.type_as_timestamp()?.unit() {
            TimeUnit::SECOND
            | TimeUnit::MILLISECOND
            | TimeUnit::MICROSECOND
            | TimeUnit::NANOSECOND => Some(Layout::Fixed(8)),
            _ => None,
        },
        Type::Utf8 => Some(Layout::Texts(4)),
        Type::LargeUtf8 => Some(Layout::Texts(8)),
        Type::Utf8View => Some(Layout::Views),
        _ => None,
    }
}

/// Bytes of the texts of a field that the library copies.
fn text_bytes(field: &Field<'_>) -> usize {
    let name = field.name().map_or(0, str::len);
    let zone =
        field.type_as_timestamp().and_then(|timestamp| timestamp.timezone()).map_or(0, str::len);
    let metadata = field.custom_metadata().into_iter().flatten();
    metadata.fold(name + zone, |bytes, pair| {
        bytes
            .saturating_add(pair.key().map_or(0, str::len))
            .saturating_add(pair.value().map_or(0, str::len))
    })
}

impl StreamColumns {
    /// The columns that a schema declares.
    ///
    /// # Errors
    /// `InvalidArgument` for a column that no table can take, and for big-endian values;
    /// `LimitExceeded` for too many columns and too long texts.
    pub(in crate::columnar) fn of(schema: &Schema<'_>) -> Result<Self> {
        let fields =
            schema.fields().ok_or_else(|| malformed("its schema has no list of columns"))?;
        if fields.len() > limits::IMPORT_COLUMNS {
            return Err(Error::limit(format!(
                "the Arrow stream has {} columns, more than the {} of an import",
                fields.len(),
                limits::IMPORT_COLUMNS
            )));
        }
        if schema.endianness() != Endianness::Little {
            return Err(Error::invalid(
                "the values of the Arrow stream are big-endian; write them little-endian",
            ));
        }
        let metadata = schema.custom_metadata().into_iter().flatten();
        let mut texts = metadata.fold(0usize, |bytes, pair| {
            bytes
                .saturating_add(pair.key().map_or(0, str::len))
                .saturating_add(pair.value().map_or(0, str::len))
        });
        let mut out = Self::default();
        for field in fields {
            texts = texts.saturating_add(text_bytes(&field));
            out.add(&field)?;
        }
        if texts > limits::IMPORT_METADATA_BYTES {
            return Err(Error::limit(format!(
                "the names and metadata of the Arrow stream take {texts} bytes, more than the {} \
                 that an import may have",
                limits::IMPORT_METADATA_BYTES
            )));
        }
        Ok(out)
    }

    fn add(&mut self, field: &Field<'_>) -> Result<()> {
        let name = field.name().unwrap_or_default();
        let refused = |why: String| {
            Err(Error::invalid(format!("column {name:?} of the Arrow stream {why}"))
                .with_args([name]))
        };
        if field.children().is_some_and(|children| !children.is_empty()) {
            return refused("is nested; a table has single values only".to_owned());
        }
        let Some(values) = value_layout(field) else {
            let known = field.type_type().variant_name();
            return refused(format!(
                "has the type {}, which no table column takes",
                known.unwrap_or("unknown")
            ));
        };
        let Some(dictionary) = field.dictionary() else {
            self.columns.push(values);
            return Ok(());
        };
        if !matches!(values, Layout::Texts(_) | Layout::Views) {
            return refused(
                "has a dictionary whose values are not texts; write the values themselves"
                    .to_owned(),
            );
        }
        let Some(keys) = int_layout(dictionary.indexType()) else {
            return refused("has a dictionary with keys of an unknown type".to_owned());
        };
        if *self.dictionaries.entry(dictionary.id()).or_insert(values) != values {
            return refused("shares a dictionary with a column of another type".to_owned());
        }
        self.columns.push(keys);
        Ok(())
    }
}

/// Checks the header of a batch against its columns and its body. Returns the bytes of its buffers
/// after decompression.
///
/// # Errors
/// `InvalidArgument` for a header that contradicts its columns or its body; `LimitExceeded` for too
/// many rows or bytes.
pub(in crate::columnar) fn check_batch(
    batch: &IpcBatch<'_>,
    layouts: &[Layout],
    body: &[u8],
) -> Result<u64> {
    let rows = count_of(batch.length(), "a batch has a negative length")?;
    if rows > limits::IMPORT_BATCH_ROWS as u64 {
        return Err(Error::limit(format!(
            "an Arrow batch has {rows} rows, more than the {} that one may have; use smaller \
             batches",
            limits::IMPORT_BATCH_ROWS
        )));
    }
    let codec = match batch.compression() {
        None => None,
        Some(compression) => match (compression.method(), compression.codec()) {
            (
                BodyCompressionMethod::BUFFER,
                codec @ (CompressionType::LZ4_FRAME | CompressionType::ZSTD),
            ) => Some(codec),
            _ => return Err(malformed("a batch is compressed in an unknown way")),
        },
    };
    let mut total = 0u64;
    let mut buffers = batch.buffers().into_iter().flatten();
    // The bytes of the next buffer after decompression.
    let mut next = || -> Result<u64> {
        let buffer = buffers.next().ok_or_else(|| malformed("a batch has too few buffers"))?;
        let from = usize::try_from(buffer.offset()).ok();
        let to = from
            .zip(usize::try_from(buffer.length()).ok())
            .and_then(|(from, len)| from.checked_add(len));
        let bytes = from.zip(to).and_then(|(from, to)| body.get(from..to));
        let bytes = bytes.ok_or_else(|| malformed("a buffer extends beyond its message"))?;
        let len = match codec {
            Some(codec) if !bytes.is_empty() => inflated(bytes, codec)?,
            _ => bytes.len() as u64,
        };
        total = total.saturating_add(len);
        if total > limits::IMPORT_MESSAGE_BYTES as u64 { Err(too_large(total)) } else { Ok(len) }
    };
    let mut nodes = batch.nodes().into_iter().flatten();
    let mut view_counts = batch.variadicBufferCounts().into_iter().flatten();
    for layout in layouts {
        let node = nodes.next().ok_or_else(|| malformed("a batch has too few columns"))?;
        if node.length() != batch.length() {
            return Err(malformed("a column and its batch have different lengths"));
        }
        let nulls = count_of(node.null_count(), "a column has a negative number of nulls")?;
        if nulls > rows {
            return Err(malformed("a column has more nulls than rows"));
        }
        if *layout == Layout::Nulls {
            continue;
        }
        if next()? < rows.div_ceil(8) && nulls > 0 {
            return Err(malformed("the validity of a column is too short"));
        }
        let (needed, width) = match *layout {
            Layout::Nulls => (0, 1),
            Layout::Bits => (rows.div_ceil(8), 1),
            Layout::Fixed(width) => (rows * width as u64, width as u64),
            Layout::Texts(width) => ((rows + 1) * width as u64, width as u64),
            Layout::Views => (rows * VIEW_BYTES as u64, VIEW_BYTES as u64),
        };
        let len = next()?;
        // A column of texts without rows may omit its offsets.
        let is_none = matches!(layout, Layout::Texts(_)) && rows == 0 && len == 0;
        if (len < needed && !is_none) || len % width != 0 {
            return Err(malformed("the values of a column are too short"));
        }
        match layout {
            Layout::Texts(_) => _ = next()?,
            Layout::Views => {
                let count = view_counts
                    .next()
                    .ok_or_else(|| malformed("a column of views has no count of buffers"))?;
                for _ in 0..count_of(count, "a column of views has a negative number of buffers")? {
                    next()?;
                }
            }
            _ => {}
        }
    }
    if nodes.next().is_some() || buffers.next().is_some() || view_counts.next().is_some() {
        return Err(malformed("a batch has more columns or buffers than its schema"));
    }
    Ok(total)
}

fn count_of(value: i64, negative: &str) -> Result<u64> {
    u64::try_from(value).map_err(|_| malformed(negative))
}

pub(in crate::columnar) fn too_large(bytes: u64) -> Error {
    Error::limit(format!(
        "an Arrow message takes {bytes} bytes, more than the {} that one may take; use smaller \
         batches",
        limits::IMPORT_MESSAGE_BYTES
    ))
}

/// The length that a compressed buffer declares in its first eight bytes.
fn inflated(bytes: &[u8], codec: CompressionType) -> Result<u64> {
    let (declared, rest) =
        bytes.split_first_chunk().ok_or_else(|| malformed("a compressed buffer is too short"))?;
    match i64::from_le_bytes(*declared) {
        // The buffer is not compressed.
        -1 => Ok(rest.len() as u64),
        declared => {
            let declared = count_of(declared, "a compressed buffer has a negative length")?;
            if codec == CompressionType::LZ4_FRAME && declared > 0 {
                let bound =
                    lz4_bound(rest).ok_or_else(|| malformed("a buffer is not an LZ4 frame"))?;
                if bound > limits::IMPORT_OPEN_BYTES {
                    return Err(too_large(bound));
                }
            }
            Ok(declared)
        }
    }
}

/// An upper bound of the decompressed bytes of an LZ4 frame; `None` when `frame` is not one.
///
/// The library decompresses the whole frame before it compares the length with the declared one.
fn lz4_bound(frame: &[u8]) -> Option<u64> {
    const MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();
    const UNCOMPRESSED: u32 = 1 << 31;
    /// A byte of a block decompresses to at most this many.
    const RATIO: u64 = 255;
    let rest = frame.strip_prefix(&MAGIC)?;
    let [flags, block, ..] = *rest else { return None };
    let block_max = match block >> 4 & 7 {
        size @ 4..=7 => 1u64 << (8 + 2 * u32::from(size)),
        _ => return None,
    };
    let has = |bit: u8| usize::from(flags >> bit & 1 == 1);
    // Skips flags, block size, content length, dictionary id and header checksum.
    let mut rest = rest.get(2 + 8 * has(3) + 4 * has(0) + 1..)?;
    let mut bound = 0u64;
    while let Some((word, blocks)) = rest.split_first_chunk() {
        let word = u32::from_le_bytes(*word);
        if word == 0 {
            break;
        }
        let len = (word & !UNCOMPRESSED) as usize;
        let ratio = if word & UNCOMPRESSED == 0 { RATIO } else { 1 };
        bound = bound.saturating_add((len as u64 * ratio).min(block_max));
        rest = blocks.get(len + 4 * has(4)..)?;
    }
    Some(bound)
}

pub(in crate::columnar) fn malformed(what: &str) -> Error {
    Error::invalid(format!("the bytes are not a complete Arrow IPC stream: {what}"))
}
