//! Encodes one append for the table buffer: small, cheap to make for a hundred rows, and checked
//! when it is read back.
//!
//! Layout, all little-endian: `SDTB`, version u8, the revision of the columns in three bytes, rows
//! u32, columns u32, CRC-32 u32 of the 16 bytes before it and of everything after it. Then each
//! column: u8 1 if a validity bitmap follows, otherwise 0; the bitmap (bit set = value, padded to
//! whole bytes); the values: bits for BOOL, numbers of 4 or 8 bytes, for STRING rows + 1 offsets of
//! u32 and the bytes. Values under a null are written as they are.

use std::sync::Arc;

use crate::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use crate::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use crate::columnar::column_slice::{ColumnSlice, array_of, nulls_of, with_numbers};
use crate::columnar::schema::TableSchema;
use crate::columnar::schema::arrow_type;
use crate::error::{Error, Result};
use crate::model::tables::data::DataType;
use crate::value::byte_reader::ByteReader;
use crate::value::limits;

const MAGIC: &[u8; 4] = b"SDTB";
pub(crate) const VERSION: u8 = 1;
const HEADER: usize = 20;

/// Bytes in memory of the rows of a batch. A slice shares the buffers of the whole batch, so only
/// the part of its rows counts.
#[must_use]
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    let bytes = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or_default();
    batch.columns().iter().map(bytes).sum()
}

/// Encodes a batch that has the schema of its table.
///
/// # Errors
/// `LimitExceeded` when the encoding is larger than one append may be.
pub(crate) fn encode_batch(schema: &TableSchema, batch: &RecordBatch) -> Result<Vec<u8>> {
    let rows = u32::try_from(batch.num_rows())
        .map_err(|_| Error::limit("an append has too many rows for one batch; split it"))?;
    let mut out = Vec::with_capacity(HEADER + batch_bytes(batch));
    out.extend_from_slice(MAGIC);
    let [low, middle, high, 0, ..] = schema.revision().to_le_bytes() else {
        return Err(Error::limit("the columns of the table were changed too often"));
    };
    out.extend_from_slice(&[VERSION, low, middle, high]);
    out.extend_from_slice(&rows.to_le_bytes());
    out.extend_from_slice(&(batch.num_columns() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    for array in batch.columns() {
        match nulls_of(array) {
            Some(nulls) => {
                out.push(1);
                put_bits(nulls.inner(), &mut out);
            }
            None => out.push(0),
        }
        match ColumnSlice::of(array) {
            Some(ColumnSlice::Bool(bits)) => put_bits(bits.values(), &mut out),
            Some(ColumnSlice::Text(strings)) => {
                let base = strings.value_offsets().first().copied().unwrap_or_default();
                let end = strings.value_offsets().last().copied().unwrap_or_default();
                strings
                    .value_offsets()
                    .iter()
                    .for_each(|v| out.extend_from_slice(&(v - base).to_le_bytes()));
                out.extend_from_slice(
                    strings.value_data().get(base as usize..end as usize).unwrap_or_default(),
                );
            }
            Some(numbers) => with_numbers!(numbers, values => {
                values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
            }, else {}),
            None => return Err(damaged()),
        }
        if out.len() > limits::BATCH_BYTES {
            return Err(Error::limit(format!(
                "an append takes more than the {} bytes that one batch may take; split it",
                limits::BATCH_BYTES
            )));
        }
    }
    let sum = checksum(&out);
    if let Some(slot) = out.get_mut(16..HEADER) {
        slot.copy_from_slice(&sum.to_le_bytes());
    }
    Ok(out)
}

fn put_bits(bits: &BooleanBuffer, out: &mut Vec<u8>) {
    let bytes = bits.sliced();
    out.extend_from_slice(bytes.as_slice().get(..bits.len().div_ceil(8)).unwrap_or_default());
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytes.get(..16).unwrap_or_default());
    hasher.update(bytes.get(HEADER..).unwrap_or_default());
    hasher.finalize()
}

fn bits(input: &mut ByteReader<'_>, rows: usize) -> Result<BooleanBuffer> {
    let bytes = input.take(rows.div_ceil(8)).ok_or_else(damaged)?;
    Ok(BooleanBuffer::new(Buffer::from(bytes), 0, rows))
}

fn damaged() -> Error {
    Error::corrupt(
        "a buffered append of a table is damaged; run verify, and restore the table from a backup",
    )
}

/// Checks the bytes that [`encode_batch`] wrote against their checksum.
///
/// # Errors
/// `Corrupt` when they are not what was written.
pub(crate) fn check_batch(bytes: &[u8]) -> Result<()> {
    let stored =
        bytes.get(16..HEADER).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    if bytes.starts_with(MAGIC) && stored == Some(checksum(bytes)) {
        Ok(())
    } else {
        Err(damaged())
    }
}

/// The row count in the header of an encoded batch, which is not checked here; 0 for bytes that are
/// not a batch.
#[must_use]
pub(crate) fn batch_row_count(bytes: &[u8]) -> u64 {
    bytes
        .get(8..12)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, |rows| u64::from(u32::from_le_bytes(rows)))
}

/// The revision of the columns that an encoded batch has, which is not checked here.
#[must_use]
pub(crate) fn batch_revision(bytes: &[u8]) -> u64 {
    match bytes.get(5..8) {
        Some([low, middle, high]) => u64::from(u32::from_le_bytes([*low, *middle, *high, 0])),
        _ => 0,
    }
}

/// Decodes what [`encode_batch`] wrote for a table with this schema, which is that of the batch's
/// revision.
///
/// # Errors
/// `Corrupt` when the bytes are not what was written; `NewerFormat` for another version.
pub(crate) fn decode_batch(schema: &TableSchema, bytes: &[u8]) -> Result<RecordBatch> {
    let mut input = ByteReader::new(bytes);
    let header = input.take(HEADER).ok_or_else(damaged)?;
    let word = |at: usize| {
        header
            .get(at..at + 4)
            .and_then(|bytes| bytes.try_into().ok())
            .map(u32::from_le_bytes)
            .ok_or_else(damaged)
    };
    check_batch(bytes)?;
    if header.get(4) != Some(&VERSION) {
        return Err(Error::new(
            crate::error::ErrorKind::NewerFormat,
            "a buffered append was written by a newer version of this library; open the store with \
             that version",
        ));
    }
    let rows = word(8)? as usize;
    if word(12)? as usize != schema.len() {
        return Err(damaged());
    }
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(schema.len());
    for column in schema.columns() {
        let nulls = match input.byte() {
            Some(0) => None,
            Some(1) => Some(NullBuffer::new(bits(&mut input, rows)?)),
            _ => return Err(damaged()),
        };
        arrays.push(match column.data_type {
            DataType::Bool => Arc::new(BooleanArray::new(bits(&mut input, rows)?, nulls)),
            data_type if data_type.is_numeric() => {
                let buffer = match arrow_type(data_type).primitive_width() {
                    Some(4) => Buffer::from_vec(
                        input.numbers(rows, u32::from_le_bytes).ok_or_else(damaged)?,
                    ),
                    _ => Buffer::from_vec(
                        input.numbers(rows, u64::from_le_bytes).ok_or_else(damaged)?,
                    ),
                };
                array_of(data_type, buffer, nulls).ok_or_else(damaged)?
            }
            _ => {
                let offsets = input.numbers(rows + 1, i32::from_le_bytes).ok_or_else(damaged)?;
                if offsets.first() != Some(&0)
                    || offsets.windows(2).any(|pair| matches!(pair, [a, b] if a > b))
                {
                    return Err(damaged());
                }
                let len = offsets.last().copied().unwrap_or_default() as usize;
                let values = Buffer::from(input.take(len).ok_or_else(damaged)?);
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                Arc::new(
                    StringArray::try_new(offsets, values, nulls)
                        .map_err(|error| damaged().with_source(error))?,
                )
            }
        });
    }
    if input.left() > 0 {
        return Err(damaged());
    }
    RecordBatch::try_new(schema.arrow().clone(), arrays)
        .map_err(|error| damaged().with_source(error))
}
