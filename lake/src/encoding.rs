//! Values as Parquet has them: numbers of pages, columns of Arrow, and errors of both.

use arrow_cast::cast;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::errors::ParquetError;
use stationdb::arrow::array::{Array, ArrayRef, AsArray};
use stationdb::arrow::datatypes::{DataType, Field, Float32Type, Float64Type};
use stationdb::{Error, ErrorKind, Result};

use crate::schema::LakeColumn;

/// What a call of the Parquet library returns.
pub(crate) type ParquetResult<T> = std::result::Result<T, ParquetError>;

pub(crate) fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, format!("writing a file of the lake: {error}")).with_source(error)
}

pub(crate) fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

pub(crate) fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// The values of a lake column.
///
/// # Errors
/// `Io` for values that have none in the lake.
pub(crate) fn lake_values(column: &LakeColumn, values: &ArrayRef) -> Result<ArrayRef> {
    cast(values, column.field.data_type()).map_err(broken)
}

/// Whether one of the values is NaN, also inside of structs and lists.
pub(crate) fn has_nan(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().any(has_nan),
        DataType::List(_) => has_nan(array.as_list::<i32>().values()),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().flatten().any(f32::is_nan),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().flatten().any(f64::is_nan),
        _ => false,
    }
}

/// A column chunk with NaN has no statistics: Parquet leaves NaN out of the maximum, and SQL counts
/// it as the greatest value, so a reader would skip rows.
fn without_statistics(chunk: &mut ArrowColumnChunk) -> ParquetResult<()> {
    let close = chunk.close_mut();
    close.column_index = None;
    close.metadata = close.metadata.clone().into_builder().clear_statistics().build()?;
    Ok(())
}

pub(crate) fn encode(
    writer: &mut (ArrowColumnWriter, bool),
    field: &Field,
    values: &ArrayRef,
) -> ParquetResult<()> {
    writer.1 = writer.1 || has_nan(values);
    for leaf in compute_leaves(field, values)? {
        writer.0.write(&leaf)?;
    }
    Ok(())
}

pub(crate) fn encoded((writer, nan): (ArrowColumnWriter, bool)) -> ParquetResult<ArrowColumnChunk> {
    let mut chunk = writer.close()?;
    if nan {
        without_statistics(&mut chunk)?;
    }
    Ok(chunk)
}
