//! Exports rows: CSV in the form of the service, Parquet, Arrow IPC.

use std::io::Write;

use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::frame::write_cells;
use crate::arrow::array::RecordBatch;
use crate::arrow::datatypes::SchemaRef;
use crate::arrow::ipc::writer::StreamWriter;
use crate::columnar::parquet_format::nan_statistics::BatchWriter;
use crate::columnar::schema::misfit;
use crate::error::{Error, ErrorKind, Result};

/// Approximate encoded bytes of a row group of a Parquet export.
const GROUP_BYTES: usize = 64 * 1024 * 1024;

fn io(error: std::io::Error) -> Error {
    Error::io("writing an export", error)
}

fn push_field(text: &str, out: &mut String) {
    let plain =
        !text.is_empty() && !text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'));
    if plain {
        out.push_str(text);
        return;
    }
    out.push('"');
    for part in text.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

/// The header line of a CSV export.
#[must_use]
pub(crate) fn csv_header(schema: &SchemaRef) -> String {
    let mut line = String::new();
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        push_field(field.name(), &mut line);
    }
    line.push('\n');
    line
}

/// Appends the lines of a batch.
///
/// Null is an empty field, the empty string is `""`. In a table of one column a null is an empty
/// line, which readers that skip blank lines lose.
pub(crate) fn csv_rows(batch: &RecordBatch, out: &mut String) {
    let mut cell = String::new();
    for row in 0..batch.num_rows() {
        for (at, array) in batch.columns().iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            cell.clear();
            if write_cells(array, row, &mut cell) {
                push_field(&cell, out);
            }
        }
        out.push('\n');
    }
}

/// Writes `comments`, the header and the rows as CSV, and returns the number of rows.
///
/// # Errors
/// `Io` and `NoSpace` of the writer, and the errors of the rows.
pub(crate) fn export_csv(
    comments: String,
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    out: &mut dyn Write,
) -> Result<u64> {
    /// Minimum size of the pieces that are passed to the writer.
    const PIECE_BYTES: usize = 64 * 1024;
    /// Rows that are converted to text at a time.
    const PIECE_ROWS: usize = 1024;
    let mut text = comments;
    text.push_str(&csv_header(schema));
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        for at in (0..batch.num_rows()).step_by(PIECE_ROWS) {
            csv_rows(&batch.slice(at, PIECE_ROWS.min(batch.num_rows() - at)), &mut text);
            if text.len() >= PIECE_BYTES {
                out.write_all(text.as_bytes()).map_err(io)?;
                text.clear();
            }
        }
        count += batch.num_rows() as u64;
    }
    out.write_all(text.as_bytes()).map_err(io)?;
    out.flush().map_err(io)?;
    Ok(count)
}

/// Writes rows as a Parquet file, and returns their number.
///
/// # Errors
/// As [`export_csv`].
pub(crate) fn export_parquet(
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    out: &mut (dyn Write + Send),
) -> Result<u64> {
    export_parquet_in(schema, rows, out, GROUP_BYTES)
}

/// [`export_parquet`] in row groups of at most about `group_bytes` encoded bytes.
pub(in crate::columnar) fn export_parquet_in(
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    out: &mut (dyn Write + Send),
    group_bytes: usize,
) -> Result<u64> {
    let failed = |error: parquet::errors::ParquetError| {
        Error::new(ErrorKind::Io, format!("writing a Parquet export: {error}")).with_source(error)
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = BatchWriter::try_new(out, schema.clone(), Some(properties)).map_err(failed)?;
    let mut count = 0;
    for batch in rows {
        let batch = batch?.with_schema(schema.clone()).map_err(misfit)?;
        writer.write(&batch).map_err(failed)?;
        // A row group is in memory until it is complete. With wide rows, the default of a million
        // rows would not fit.
        if writer.in_progress_size() >= group_bytes {
            writer.flush().map_err(failed)?;
        }
        count += batch.num_rows() as u64;
    }
    writer.close().map_err(failed)?;
    Ok(count)
}

/// Writes rows as an Arrow IPC stream, and returns their number.
///
/// # Errors
/// As [`export_csv`].
pub(crate) fn export_ipc(
    schema: &SchemaRef,
    rows: impl Iterator<Item = Result<RecordBatch>>,
    out: &mut dyn Write,
) -> Result<u64> {
    let failed = |error: crate::arrow::error::ArrowError| {
        Error::new(ErrorKind::Io, format!("writing an Arrow export: {error}")).with_source(error)
    };
    let mut writer = StreamWriter::try_new(out, schema).map_err(failed)?;
    let mut count = 0;
    for batch in rows {
        let batch = batch?.with_schema(schema.clone()).map_err(misfit)?;
        writer.write(&batch).map_err(failed)?;
        count += batch.num_rows() as u64;
    }
    writer.finish().map_err(failed)?;
    Ok(count)
}
