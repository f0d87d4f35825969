//! CSV in the dialects of common programs. The records become typed columns: those of a table, or
//! columns inferred from the first records.

mod columns;
mod form;
mod head;
mod records;
mod sniff;
mod texts;
mod value;

#[cfg(test)]
mod dialect_tests;

use std::collections::HashMap;
use std::io::Read;

use stationdb::arrow::array::{RecordBatch, new_null_array};
use stationdb::tables::readers::{arrow_type, is_numbered};
use stationdb::tables::{
    Column, ColumnNote, ColumnType, DataType, ImportTableRequest, RowSource, SourceForm,
    TableSchema,
};
use stationdb::{Control, Error, Place, Result};

use self::columns::build;
use self::form::{
    Decision, Form, LastText, Mark, decide, doubtful_float, last_text, mark, rare_text,
};
use self::records::{CsvReader, Records};
use self::sniff::has_values_only;
pub(crate) use self::texts::Texts;
use crate::numbered;
use crate::opening::Opening;
use crate::options::ImportOptions;

/// The rows of a CSV text, read as the members of the request say.
///
/// The text is read when its rows are asked for. Its errors name line and column.
#[must_use]
pub fn source<'r>(request: &ImportTableRequest, input: impl Read + 'r) -> Box<dyn RowSource + 'r> {
    let request = request.clone();
    Box::new(Opening::new(move || CsvImport::new(input, ImportOptions::new(&request)?)))
}

/// Rows of one batch; types are inferred from the first batch.
const BATCH_ROWS: usize = 16 * 1024;
/// Text of one batch.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// Where a column of the table comes from.
enum ColumnSource {
    Field(usize, Form),
    RowNumbers,
    Nulls,
}

/// CSV text that is being imported.
pub(crate) struct CsvImport<'r> {
    reader: CsvReader<'r>,
    options: ImportOptions,
    /// The names as the header has them, and without blanks around them.
    raw_names: Vec<String>,
    names: Vec<String>,
    /// The records that types were inferred from.
    first: Option<Records>,
    inferred: Vec<Decision>,
    /// The source of each column of the table, once the first rows are read.
    plan: Vec<ColumnSource>,
    told: HashMap<String, ColumnNote>,
    /// What the caller should look at.
    warnings: Vec<String>,
    row: u64,
}

fn at_header(error: Error, line: u64, name: &str) -> Error {
    error.at(Place::Line { line, column: Some(name.to_owned()) })
}

/// The fault of a header that is one column because its separator is another one.
fn other_separator(names: &[String]) -> Option<Error> {
    let [name] = names else { return None };
    let known = [(';', "\";\""), ('\t', "a tab"), ('|', "\"|\""), (',', "\",\"")];
    let (_, shown) = known.into_iter().find(|(separator, _)| name.contains(*separator))?;
    Some(Error::invalid(format!(
        "the header is the one column {name:?}; if its separator is {shown}, set `separator`"
    )))
}

impl<'r> CsvImport<'r> {
    /// Finds the form of the text, and reads its header.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty text, one that is not UTF-8, a header without names and a
    /// repeated name; `Io`.
    pub(crate) fn new(input: impl Read + 'r, options: ImportOptions) -> Result<Self> {
        let mut reader = CsvReader::new(Box::new(input), &options)?;
        let line = reader.dialect.line;
        let raw_names = reader.header()?;
        if raw_names.iter().all(|name| name.trim().is_empty()) {
            let error = Error::invalid(
                "no column has a name; the first line must name the columns, and lines before it \
                 are skipped with skipLines",
            );
            return Err(error.at(Place::Line { line, column: None }));
        }
        // Programs leave the name of row numbers empty, and end lines with separators.
        let named = |(at, name): (usize, &String)| match name.trim() {
            "" => format!("column_{}", at + 1),
            name => name.to_owned(),
        };
        let names: Vec<String> = raw_names.iter().enumerate().map(named).collect();
        let mut seen = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            if seen.insert(name, at).is_some() {
                let error = Error::invalid(format!("two columns have the name {name:?}"));
                return Err(at_header(error, line, name));
            }
        }
        Ok(Self {
            reader,
            options,
            raw_names,
            names,
            first: None,
            inferred: Vec::new(),
            plan: Vec::new(),
            told: HashMap::new(),
            warnings: Vec::new(),
            row: 0,
        })
    }

    /// The separator of the text.
    fn separator(&self) -> char {
        char::from(self.reader.dialect.separator)
    }

    /// The line of the header, from 1.
    fn header_line(&self) -> u64 {
        self.reader.dialect.line
    }

    fn read(&mut self) -> Result<Records> {
        match self.first.take() {
            Some(records) => Ok(records),
            None => self.reader.records(self.names.len(), BATCH_ROWS, BATCH_BYTES),
        }
    }

    /// Whether decimals have a comma, if request or text say so.
    fn said_comma(&self) -> Option<bool> {
        self.options.decimal_comma.or(self.reader.dialect.decimal_comma)
    }

    fn mark(&self, records: &Records, types: &[Option<DataType>]) -> Mark {
        mark(records, types, self.reader.dialect.separator, self.said_comma(), &self.options)
    }

    /// What messages add if the line above the header may have the names.
    fn comment(&self) -> Option<String> {
        let (line, parts) = self.reader.dialect.comment?;
        let prefix = self.options.comment.as_deref().unwrap_or("#");
        (parts == self.names.len() && (parts > 1 || has_values_only(&self.raw_names))).then(|| {
            format!(
                "; line {line} begins with {prefix:?} and was taken for a comment: if it has the \
                 names, set commentPrefix to \"\""
            )
        })
    }

    /// Refuses a text in which lines that are not rows make every column one of texts, and warns of
    /// single columns.
    fn doubt(&mut self, records: &Records, mark: &Mark) -> Result<()> {
        let mut found: Vec<(usize, LastText)> = Vec::new();
        let mut others = 0;
        for (at, name) in self.names.iter().enumerate() {
            let Some(decision) = self.inferred.get(at) else { continue };
            if self.options.types.contains_key(name) {
                continue;
            }
            let is_text = decision.data_type == DataType::String;
            if is_text && decision.is_doubtful {
                self.warnings.push(format!("column {name:?} is text: {}", decision.why));
            }
            if matches!(decision.data_type, DataType::Float32 | DataType::Float64)
                && let Some(doubt) =
                    doubtful_float(records, at, mark, self.reader.dialect.separator, &self.options)
            {
                self.warnings.push(format!("column {name:?}: {doubt}"));
            }
            match last_text(records, at, mark, &self.options) {
                Some(last) if is_text && !decision.is_doubtful => found.push((at, last)),
                None if is_text
                    && !decision.is_doubtful
                    && let Some(why) = rare_text(records, at, mark, &self.options) =>
                {
                    self.warnings.push(format!("column {name:?} is text: {why}"));
                    others += 1;
                }
                // A column without values says nothing.
                _ => others += usize::from(!records.is_null(at)),
            }
        }
        let is_all = found.len() > 1 && others == 0;
        if is_all && found.iter().all(|(_, last)| last.behind >= last.before) {
            let line = found.iter().map(|(_, last)| last.line).max().unwrap_or_default();
            let error = Error::invalid(format!(
                "line {line} ({}) has no numbers, and the lines behind it have, so every column \
                 would be text; if line {line} has the names, set skipLines to {}; if it has \
                 units, remove it; if its texts mean null, name them in nullTexts; to import all \
                 as texts, set columnTypes",
                records.shown(line, self.separator()),
                line.saturating_sub(1),
            ));
            return Err(error.at(Place::Line { line, column: None }));
        }
        for (at, last) in found {
            let name = self.names.get(at).map(String::as_str).unwrap_or_default();
            self.warnings.push(format!(
                "column {name:?} is text, because {} is no number, and the {} values behind it \
                 are; if that line has the names, set skipLines to {}; if the text means null, \
                 name it in nullTexts",
                last.shown,
                last.behind,
                last.line.saturating_sub(1),
            ));
        }
        Ok(())
    }

    fn position(&self, schema: &TableSchema, at: usize) -> Result<usize> {
        let raw = self.raw_names.get(at).map(String::as_str).unwrap_or_default();
        let name = self.names.get(at).map(String::as_str).unwrap_or_default();
        // A declared name may have blanks around it.
        schema.position(raw).or_else(|_| schema.position(name)).map_err(|error| {
            let error = other_separator(&self.names).unwrap_or(error);
            at_header(error, self.header_line(), name)
        })
    }

    /// Finds the source of each column of the table.
    fn plan(&mut self, schema: &TableSchema, records: &Records) -> Result<()> {
        let mut fields = vec![None; schema.columns().len()];
        let mut types = Vec::with_capacity(self.names.len());
        for at in 0..self.names.len() {
            let position = self.position(schema, at)?;
            types.push(Some(schema.column(position)?.data_type));
            if let Some(slot) = fields.get_mut(position) {
                *slot = Some(at);
            }
        }
        let mark = self.mark(records, &types);
        for (column, field) in schema.columns().iter().zip(fields) {
            let (source, told) = match field {
                Some(at) => {
                    let decision = match self.inferred.get(at) {
                        Some(decision) => decision.clone(),
                        None => decide(records, at, Some(column.data_type), &mark, &self.options),
                    };
                    let Decision { form, why, zone, .. } = decision;
                    (ColumnSource::Field(at, form), ColumnNote::new(why).time_zone(zone))
                }
                None if is_numbered(column) => (ColumnSource::RowNumbers, numbered::told()),
                None if column.column_type == ColumnType::Nullable => {
                    let why = "the file has no such column".to_owned();
                    (ColumnSource::Nulls, ColumnNote::new(why))
                }
                None => {
                    return Err(Error::invalid(format!(
                        "there is no column {:?}; only NULLABLE columns may be left out",
                        column.name
                    ))
                    .with_args([column.name.clone()])
                    .at(Place::Line { line: self.header_line(), column: None }));
                }
            };
            self.told.insert(column.name.clone(), told);
            self.plan.push(source);
        }
        Ok(())
    }
}

impl RowSource for CsvImport<'_> {
    /// Infers the columns from the first records. All are nullable but the index, which is the
    /// column that the options name, or else a new column of row numbers.
    ///
    /// # Errors
    /// `InvalidArgument` when the named column cannot be the index, and for a header that looks
    /// like values; the errors of reading the text.
    fn columns(&mut self) -> Result<Vec<Column>> {
        self.options.check_names(&self.names)?;
        if let Some((line, doubt)) = self.reader.dialect.doubt.clone() {
            return Err(Error::invalid(doubt).at(Place::Line { line, column: None }));
        }
        let comment = self.comment();
        if has_values_only(&self.raw_names) {
            let error = Error::invalid(format!(
                "the first line looks like values, and would be taken for the names of the \
                 columns; put a line of names before it, or declare columns with these names{}",
                comment.unwrap_or_default()
            ));
            return Err(error.at(Place::Line { line: self.header_line(), column: None }));
        }
        let records = self.read()?;
        let is_told = |name: &String| self.options.types.contains_key(name);
        if records.len() == 0 && !self.names.iter().all(is_told) {
            let error = Error::invalid(format!(
                "the text has no rows, so the types of its columns are unknown; declare the \
                 columns, or name their types with columnTypes{}",
                comment.unwrap_or_default()
            ));
            return Err(error.at(Place::Line { line: self.header_line(), column: None }));
        }
        let types: Vec<Option<DataType>> =
            self.names.iter().map(|name| self.options.types.get(name).copied()).collect();
        let mark = self.mark(&records, &types);
        let mut columns = Vec::with_capacity(self.names.len() + 1);
        for (at, name) in self.names.iter().enumerate() {
            let wanted = self.options.types.get(name).copied();
            let decision = decide(&records, at, wanted, &mark, &self.options);
            let column = Column::new(name.clone(), decision.data_type);
            let mut column = column.column_type(ColumnType::Nullable);
            if let Some(zone) = decision.zone.as_ref().filter(|zone| *zone != "UTC") {
                column.properties.insert("timeZone".to_owned(), zone.clone());
            }
            columns.push(column);
            self.inferred.push(decision);
        }
        self.doubt(&records, &mark)?;
        self.warnings.extend(comment.map(|comment| comment.trim_start_matches("; ").to_owned()));
        match self.options.index.as_deref() {
            Some(name) => {
                let position = numbered::index_position(&columns, name)?;
                if let Some(column) = columns.get_mut(position) {
                    column.column_type = ColumnType::Index;
                }
            }
            None => columns.insert(0, numbered::column(&self.names)),
        }
        self.first = Some(records);
        Ok(columns)
    }

    /// The next rows, with the columns of the table; `None` at the end.
    ///
    /// # Errors
    /// `InvalidArgument` with line and column for a name that the table does not have, an absent
    /// column that is not NULLABLE, and a value that does not fit; `LimitExceeded`; `Io`.
    fn next_batch(&mut self, schema: &TableSchema, _: &Control) -> Result<Option<RecordBatch>> {
        let records = self.read()?;
        // Also for a text without rows, whose names must fit, too.
        if self.plan.is_empty() {
            self.plan(schema, &records)?;
        }
        if records.len() == 0 {
            return Ok(None);
        }
        let first = self.row;
        self.row += records.len() as u64;
        let arrays = schema
            .columns()
            .iter()
            .zip(&self.plan)
            .map(|(column, source)| match source {
                ColumnSource::Field(at, form) => build(column, &records, *at, form, &self.options),
                ColumnSource::RowNumbers => Ok(numbered::numbers(first, records.len())),
                ColumnSource::Nulls => {
                    Ok(new_null_array(&arrow_type(column.data_type), records.len()))
                }
            })
            .collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(schema.arrow().clone(), arrays)
            .map(Some)
            .map_err(|error| Error::invalid("the rows do not fit the table").with_source(error))
    }

    /// The number of the first row, where rows are numbered.
    fn number_from(&mut self, row: u64) {
        self.row = row;
    }

    /// What the report says of a column.
    fn note(&self, name: &str) -> ColumnNote {
        self.told.get(name).cloned().unwrap_or_default()
    }

    /// What the caller should look at, because it may not be what the file means.
    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn form(&self) -> SourceForm {
        SourceForm::new(self.separator(), self.header_line())
    }
}
