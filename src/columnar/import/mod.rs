//! Imports rows from CSV text and Parquet files. Every declared length is checked before memory is
//! allocated for it.

mod csv;
mod pages;
mod parquet;
mod source;
mod text;

#[cfg(test)]
mod tests;

use std::io::{Read, Seek};

pub(crate) use parquet::ParquetImport;
pub(crate) use text::CsvImport;

use crate::error::{Error, Result};
use crate::model::tables::data::Column;
use crate::value::nearest::did_you_mean;

/// The input of a Parquet import: a file, a cursor, or any other reader that can seek.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send + ?Sized> ReadSeek for T {}

/// Position of the index column: the column named `wanted`, or the first one that can be the index
/// and has no gaps.
fn index_of(
    columns: &[Column],
    wanted: Option<&str>,
    is_full: impl Fn(usize) -> bool,
) -> Result<usize> {
    if let Some(name) = wanted {
        let position = columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let names = columns.iter().map(|column| column.name.as_str());
            let near = did_you_mean(name, names);
            Error::invalid(format!("there is no column {name:?} for the index{near}"))
                .at_member("indexColumn")
        })?;
        return match columns.get(position) {
            Some(column) if column.data_type.can_be_index() => Ok(position),
            _ => Err(Error::invalid(format!(
                "column {name:?} cannot be the index: its values are neither whole numbers nor \
                 times"
            ))
            .at_member("indexColumn")),
        };
    }
    let can_be = |(at, column): (usize, &Column)| column.data_type.can_be_index() && is_full(at);
    let none = || {
        Error::invalid(
            "no column of whole numbers or times without gaps can be the index; declare the \
             columns of the table",
        )
        .at_member("indexColumn")
    };
    columns.iter().enumerate().position(can_be).ok_or_else(none)
}
