//! The values of a text as they are, for imports that give them a meaning of their own.

use std::collections::HashSet;
use std::io::Read;

use stationdb::{Error, Place, Result};

use super::reader::CsvReader;
use super::records::{Records, parse};
use crate::options::ImportOptions;

/// Bytes of records that are read at a time.
const BLOCK_BYTES: usize = 1024 * 1024;

/// The names and the records of a text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    names: Vec<String>,
    /// Each with the number of its first record.
    chunks: Vec<(usize, Records)>,
    len: usize,
    /// Whether decimals have a comma, if the text says so, and its separator.
    pub(crate) decimal_comma: Option<bool>,
    pub(crate) separator: u8,
    /// The line from which on the text was read as Windows-1252 because it is not UTF-8.
    pub(crate) assumed_from: Option<u64>,
    /// What a report says of quotes and of the end of the text.
    pub(crate) told: Vec<String>,
}

impl Texts {
    /// Reads a text of at most `values_max` values.
    ///
    /// # Errors
    /// `InvalidArgument` with the line of what is no CSV, and for a repeated name; `LimitExceeded`;
    /// `Io`.
    pub(crate) fn read(
        input: impl Read,
        options: &ImportOptions,
        values_max: usize,
    ) -> Result<Self> {
        let mut reader = CsvReader::new(Box::new(input), options)?;
        let line = reader.dialect.line;
        let columns = reader.header(options)?;
        let named = |(at, name): (usize, &str)| match name.trim() {
            "" => format!("column_{}", at + 1),
            name => name.to_owned(),
        };
        let names = columns.iter().map(|column| column.name.as_str());
        let names: Vec<String> = names.enumerate().map(named).collect();
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let error = Error::invalid(format!("two columns have the name {name:?}"));
            return Err(error.at(Place::Line { line, column: Some(name.clone()) }));
        }
        let (decimal_comma, separator) = (reader.dialect.decimal_comma, reader.dialect.separator);
        let mut texts = Self { names, decimal_comma, separator, ..Self::default() };
        let width = texts.names.len();
        while let Some(block) = reader.next(BLOCK_BYTES)? {
            let (records, _) = parse(block, &reader.shape, usize::MAX)?;
            reader.note_quote(records.odd_quote());
            let first = texts.len;
            texts.len += records.len();
            if texts.len.saturating_mul(width) > values_max {
                return Err(Error::limit(format!(
                    "the text has more than {values_max} values; write fewer rows into a file"
                )));
            }
            texts.chunks.push((first, records));
        }
        texts.assumed_from = reader.encoding.line();
        texts.told = reader.quote_told().into_iter().chain(reader.end_told()).collect();
        Ok(texts)
    }

    /// The names of the columns, without blanks around them.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The records with this one, and its place among them.
    fn at(&self, row: usize) -> Option<(&Records, usize)> {
        let after = self.chunks.partition_point(|(first, _)| *first <= row);
        let (first, records) = self.chunks.get(after.checked_sub(1)?)?;
        Some((records, row - first)).filter(|(records, at)| *at < records.len())
    }

    /// A value that is not blank, without blanks around it.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<&str> {
        let (records, at) = self.at(row)?;
        let text = records.get(at, column)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The line on which a record begins, from 1.
    pub(crate) fn line(&self, row: usize) -> u64 {
        self.at(row).map_or(0, |(records, at)| records.line(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_over_several_chunks() {
        /// Of at least six bytes each.
        const ROWS: usize = 2 * BLOCK_BYTES / 6;
        let mut text = "a , \n".to_owned();
        for at in 0..ROWS {
            text.push_str(&format!("{at},\" x \"\n"));
        }
        let values = 2 * ROWS;
        let texts = Texts::read(text.as_bytes(), &ImportOptions::default(), values).unwrap();
        assert_eq!(texts.names(), ["a", "column_2"]);
        assert_eq!(texts.len(), ROWS);
        assert!(texts.chunks.len() > 2);
        for row in 0..ROWS {
            assert_eq!(texts.get(row, 0), Some(row.to_string().as_str()));
            assert_eq!(texts.line(row), row as u64 + 2);
        }
        assert_eq!(texts.get(ROWS - 1, 1), Some("x"));
        assert_eq!(texts.get(ROWS, 0), None);
        let error = Texts::read(text.as_bytes(), &ImportOptions::default(), values - 1);
        assert_eq!(error.unwrap_err().kind(), stationdb::ErrorKind::LimitExceeded);
        let twice = Texts::read(&b"a,b,a\n1,2,3\n"[..], &ImportOptions::default(), values);
        assert!(twice.unwrap_err().message().contains("two columns"));
    }
}
