//! Rows of data files, read by ranges: a file is never in memory as a whole.

use std::sync::Arc;

use arrow_cast::cast;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::errors::ParquetError;
use stationdb::arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use stationdb::arrow::datatypes::{DataType, Int64Type};
use stationdb::{Control, Error, ErrorKind, Result};

use super::files::DataFile;
use crate::footer;
use crate::ranges::{Ranges, unread};
use crate::remote::Remote;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 1_024;

/// A column of rows: texts or whole numbers.
pub(super) enum Column {
    Texts(StringArray),
    Numbers(Int64Array),
}

impl Column {
    pub(super) fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts(texts) if row < texts.len() && texts.is_valid(row) => {
                Some(texts.value(row))
            }
            _ => None,
        }
    }

    pub(super) fn number(&self, row: usize) -> Option<u64> {
        match self {
            Self::Numbers(numbers) if row < numbers.len() && numbers.is_valid(row) => {
                u64::try_from(numbers.value(row)).ok()
            }
            _ => None,
        }
    }
}

/// Passes on the rows of a file, some at a time, with the columns in the order of `names`.
///
/// # Errors
/// `NotFound` when the file is gone; `Corrupt` for one that cannot be decoded, or lacks a column;
/// errors of the object store, of the control and of `each`.
pub(super) fn rows(
    remote: &Arc<Remote>,
    file: &DataFile,
    names: &[&str],
    control: &Control,
    each: &mut dyn FnMut(usize, &[Column]) -> Result<()>,
) -> Result<()> {
    let failed = |error| unread(&file.path, error);
    let (remote, control) = (remote.clone(), control.clone());
    let ranges =
        Ranges { remote, path: file.path.clone(), size: file.size, control: control.clone() };
    let builder = footer::open(ranges, ArrowReaderOptions::new()).map_err(failed)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
    let reader =
        builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(failed)?;
    for batch in reader {
        control.check()?;
        let batch = batch.map_err(|error| failed(ParquetError::ArrowError(error.to_string())))?;
        let column = |name: &&str| {
            let values = batch.column_by_name(name).ok_or_else(|| {
                let what = format!("the data file {} of the lake has no {name}", file.path);
                Error::new(ErrorKind::Corrupt, what)
            })?;
            column_of(file, values)
        };
        let columns = names.iter().map(column).collect::<Result<Vec<_>>>()?;
        each(batch.num_rows(), &columns)?;
    }
    Ok(())
}

fn column_of(file: &DataFile, values: &ArrayRef) -> Result<Column> {
    let is_number = values.data_type().is_integer();
    let wanted = if is_number { DataType::Int64 } else { DataType::Utf8 };
    let values = cast(values, &wanted).map_err(|error| {
        Error::corrupt(format!("the data file {} has a column of another type", file.path))
            .with_source(error)
    })?;
    let values: Arc<dyn Array> = values;
    Ok(if is_number {
        Column::Numbers(values.as_primitive::<Int64Type>().clone())
    } else {
        Column::Texts(values.as_string::<i32>().clone())
    })
}
