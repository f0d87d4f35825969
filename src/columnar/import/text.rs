//! Converts CSV records to typed columns: the columns of a table, or columns inferred from the
//! first records.

use std::collections::HashMap;
use std::io::Read;

use arrow::array::{RecordBatch, new_null_array};

use super::csv::{CsvReader, Records};
use super::index_of;
use crate::columnar::frame::column_of_texts;
use crate::columnar::schema::{TableSchema, arrow_type};
use crate::columnar::{cells, ticks};
use crate::error::{Error, Place, Result};
use crate::model::tables::data::{Column, ColumnType, DataType};

/// Rows of one batch; types are inferred from the first batch.
const BATCH_ROWS: usize = 16 * 1024;
/// Text of one batch.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// CSV text that is being imported.
pub(crate) struct CsvImport<'r> {
    reader: CsvReader<'r>,
    names: Vec<String>,
    /// The records that types were inferred from.
    first: Option<Records>,
    is_inferred: bool,
}

impl<'r> CsvImport<'r> {
    /// Reads the header line.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid separator, an empty text, an empty or a repeated name;
    /// `Io`.
    pub(crate) fn new(input: &'r mut dyn Read, separator: char) -> Result<Self> {
        let mut reader = CsvReader::new(input, separator)?;
        let names = reader.header()?;
        let mut seen = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            let what = match (name.is_empty(), seen.insert(name, at)) {
                (true, _) => format!("column {at} has no name"),
                (_, Some(_)) => format!("two columns have the name {name:?}"),
                _ => continue,
            };
            return Err(
                Error::invalid(what).at(Place::Line { line: 1, column: Some(name.clone()) })
            );
        }
        Ok(Self { reader, names, first: None, is_inferred: false })
    }

    /// Infers the columns from the first records. `index` names the index column; without it, it is
    /// the first column of whole numbers or times without gaps. All other columns are nullable.
    ///
    /// # Errors
    /// `InvalidArgument` when no column can be the index; the errors of reading the text.
    pub(crate) fn infer(&mut self, index: Option<&str>) -> Result<Vec<Column>> {
        let records = self.reader.records(self.names.len(), BATCH_ROWS, BATCH_BYTES)?;
        let mut columns: Vec<Column> = self
            .names
            .iter()
            .enumerate()
            .map(|(at, name)| Column {
                name: name.clone(),
                data_type: type_of((0..records.len()).filter_map(|row| records.get(row, at))),
                column_type: ColumnType::Nullable,
                ..Column::default()
            })
            .collect();
        let is_full = |at: usize| {
            records.len() > 0 && (0..records.len()).all(|row| records.get(row, at).is_some())
        };
        let position = index_of(&columns, index, is_full)?;
        if let Some(column) = columns.get_mut(position) {
            column.column_type = ColumnType::Index;
        }
        self.first = Some(records);
        self.is_inferred = true;
        Ok(columns)
    }

    /// The next rows, with the columns of the table; `None` at the end.
    ///
    /// # Errors
    /// `InvalidArgument` with line and column for a name that the table does not have, an absent
    /// column that is not NULLABLE, and a value that does not fit; `LimitExceeded`; `Io`.
    pub(crate) fn next_batch(&mut self, schema: &TableSchema) -> Result<Option<RecordBatch>> {
        let records = match self.first.take() {
            Some(records) => records,
            None => self.reader.records(self.names.len(), BATCH_ROWS, BATCH_BYTES)?,
        };
        // Also for a text without rows, whose names must fit, too.
        let mut sources = vec![None; schema.len()];
        for (at, name) in self.names.iter().enumerate() {
            let position = schema
                .position(name)
                .map_err(|error| error.at(Place::Line { line: 1, column: Some(name.clone()) }))?;
            if let Some(slot) = sources.get_mut(position) {
                *slot = Some(at);
            }
        }
        let arrays = schema
            .columns()
            .iter()
            .zip(sources)
            .map(|(column, source)| match source {
                Some(at) => column_of_texts(
                    column,
                    records.len(),
                    |row| records.get(row, at),
                    |row| Place::Line {
                        line: records.line(row),
                        column: Some(column.name.clone()),
                    },
                )
                .map_err(|error| self.explain(error)),
                None if column.column_type == ColumnType::Nullable => {
                    Ok(new_null_array(&arrow_type(column.data_type), records.len()))
                }
                None => Err(Error::invalid(format!(
                    "there is no column {:?}; only NULLABLE columns may be left out",
                    column.name
                ))
                .with_args([column.name.clone()])
                .at(Place::Line { line: 1, column: None })),
            })
            .collect::<Result<Vec<_>>>()?;
        if records.len() == 0 {
            return Ok(None);
        }
        RecordBatch::try_new(schema.arrow().clone(), arrays)
            .map(Some)
            .map_err(|error| Error::invalid("the rows do not fit the table").with_source(error))
    }

    fn explain(&self, error: Error) -> Error {
        if !self.is_inferred {
            return error;
        }
        let message = format!(
            "{} (the types come from the first rows; declare the columns instead)",
            error.message()
        );
        match error.place() {
            Some(place) => Error::invalid(message).at(place.clone()),
            None => Error::invalid(message),
        }
    }
}

/// The first type that all texts are values of: BOOL, whole numbers, other numbers, times;
/// otherwise STRING.
fn type_of<'t>(texts: impl Iterator<Item = &'t str>) -> DataType {
    let tests: [(DataType, fn(&str) -> bool); 4] = [
        (DataType::Bool, |text| cells::parse_bool(text).is_some()),
        (DataType::Int64, |text| cells::parse_i64(text).is_some()),
        (DataType::Float64, |text| cells::parse_f64(text).is_some()),
        (DataType::Timestamp, |text| ticks::parse(DataType::Timestamp, text).is_some()),
    ];
    let mut possible = [true; 4];
    let mut any = false;
    for text in texts {
        any = true;
        for (possible, (_, test)) in possible.iter_mut().zip(&tests) {
            *possible = *possible && test(text);
        }
        if !possible.contains(&true) {
            return DataType::String;
        }
    }
    let first = possible.iter().zip(&tests).find(|(possible, _)| any && **possible);
    first.map_or(DataType::String, |(_, (data_type, _))| *data_type)
}
