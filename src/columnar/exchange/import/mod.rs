//! Imports rows from CSV text and Parquet files. Every declared length is checked before memory is
//! allocated for it.

mod columns;
mod convert;
mod csv;
mod form;
mod head;
mod int96;
mod moment;
mod numbered;
mod options;
mod pages;
mod parquet;
mod parquet_types;
mod sniff;
mod source;
mod text;
mod value;
mod zone;

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

use crate::arrow::array::RecordBatch;
use crate::columnar::schema::TableSchema;
use crate::error::Result;
use crate::model::tables::data::Column;
use crate::value::Control;

pub(crate) use numbered::{ColumnNote, is_numbered};
pub(crate) use options::ImportOptions;
pub(crate) use parquet::ParquetImport;
pub(crate) use text::CsvImport;

/// A source of rows of an import.
pub(crate) trait RowSource {
    /// The columns of the source.
    fn infer(&mut self) -> Result<Vec<Column>>;

    /// The next rows, with the columns of the table; `None` at the end.
    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>>;

    /// Sets the number of the first row, where rows are numbered.
    fn set_first_row(&mut self, row: u64);

    /// The number of rows that the source declares.
    fn row_count(&self) -> Option<u64> {
        None
    }

    /// What the report says of a column.
    fn told(&self, name: &str) -> ColumnNote;

    /// Separator and line of the header, from 1, of a text.
    fn form(&self) -> Option<(char, u64)> {
        None
    }

    /// What the caller should look at, because it may not be what the source means.
    fn warnings(&self) -> Vec<String>;

    /// Whether, after a failure, the columns have to be inferred again. The source then begins
    /// again.
    fn begin_again(&mut self) -> bool {
        false
    }
}

/// The input of a Parquet import: a file, a cursor, or any other reader that can seek.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send + ?Sized> ReadSeek for T {}
