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

pub(crate) use numbered::{ColumnNote, is_numbered};
pub(crate) use options::ImportOptions;
pub(crate) use parquet::ParquetImport;
pub(crate) use text::CsvImport;

/// The input of a Parquet import: a file, a cursor, or any other reader that can seek.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send + ?Sized> ReadSeek for T {}
