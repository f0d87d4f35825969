//! The values of a text as they are, for imports that give them a meaning of their own.

use std::collections::HashSet;
use std::io::Read;

use stationdb::{Error, Place, Result};

use super::records::{CsvReader, Records};
use crate::options::ImportOptions;

/// Records that are read at a time.
const CHUNK: usize = 16 * 1024;

/// The names and the records of a text.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    names: Vec<String>,
    /// All but the last have [`CHUNK`] records.
    chunks: Vec<Records>,
    len: usize,
    /// Whether decimals have a comma, if the text says so, and its separator.
    pub(crate) decimal_comma: Option<bool>,
    pub(crate) separator: u8,
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
        let names = reader.header()?;
        let named = |(at, name): (usize, &String)| match name.trim() {
            "" => format!("column_{}", at + 1),
            name => name.to_owned(),
        };
        let names: Vec<String> = names.iter().enumerate().map(named).collect();
        let mut seen = HashSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let error = Error::invalid(format!("two columns have the name {name:?}"));
            return Err(error.at(Place::Line { line, column: Some(name.clone()) }));
        }
        let (decimal_comma, separator) = (reader.dialect.decimal_comma, reader.dialect.separator);
        let mut texts = Self { names, decimal_comma, separator, ..Self::default() };
        let width = texts.names.len();
        loop {
            let records = reader.records(width, CHUNK, usize::MAX)?;
            texts.len += records.len();
            if texts.len.saturating_mul(width) > values_max {
                return Err(Error::limit(format!(
                    "the text has more than {values_max} values; write fewer rows into a file"
                )));
            }
            let is_last = records.len() < CHUNK;
            texts.chunks.push(records);
            if is_last {
                return Ok(texts);
            }
        }
    }

    /// The names of the columns, without blanks around them.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A value that is not blank, without blanks around it.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<&str> {
        let text = self.chunks.get(row / CHUNK)?.get(row % CHUNK, column)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The line on which a record begins, from 1.
    pub(crate) fn line(&self, row: usize) -> u64 {
        self.chunks.get(row / CHUNK).map_or(0, |chunk| chunk.line(row % CHUNK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_over_several_chunks() {
        let mut text = "a , \n".to_owned();
        for at in 0..CHUNK + 2 {
            text.push_str(&format!("{at},\" x \"\n"));
        }
        let values = 2 * (CHUNK + 2);
        let texts = Texts::read(text.as_bytes(), &ImportOptions::default(), values).unwrap();
        assert_eq!(texts.names(), ["a", "column_2"]);
        assert_eq!(texts.len(), CHUNK + 2);
        assert_eq!(texts.get(CHUNK, 0), Some(CHUNK.to_string().as_str()));
        assert_eq!(texts.get(CHUNK + 1, 1), Some("x"));
        assert_eq!(texts.line(CHUNK + 1), CHUNK as u64 + 3);
        assert_eq!(texts.get(CHUNK + 2, 0), None);
        let error = Texts::read(text.as_bytes(), &ImportOptions::default(), values - 1);
        assert_eq!(error.unwrap_err().kind(), stationdb::ErrorKind::LimitExceeded);
        let twice = Texts::read(&b"a,b,a\n1,2,3\n"[..], &ImportOptions::default(), values);
        assert!(twice.unwrap_err().message().contains("two columns"));
    }
}
