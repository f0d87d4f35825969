//! CSV in the dialects of common programs. The records become typed columns: those of a table, or
//! columns inferred from the first records.

mod blocks;
mod columns;
mod doubt;
mod encoding;
mod form;
mod head;
mod header;
mod layout;
mod made;
mod odd;
mod quantity;
mod quick;
mod reader;
mod records;
mod sniff;
mod texts;
mod utf16;
mod value;
mod workers;

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod layout_tests;

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use stationdb::arrow::array::RecordBatch;
use stationdb::tables::readers::is_numbered;
use stationdb::tables::{
    Column, ColumnNote, ColumnType, DataType, ImportTableRequest, RowSource, SourceForm,
    TableSchema,
};
use stationdb::{Control, Error, Place, Result};

use self::doubt::{LastText, doubtful_float, last_text, rare_text, scpi_number, serial_dates};
pub(crate) use self::encoding::Encoding;
pub(crate) use self::form::may_be_thousands;
use self::form::{Decision, Mark, decide, mark};
use self::header::Header;
use self::layout::{Clock, Layout, units_in};
use self::made::Made;
use self::quantity::power;
use self::reader::CsvReader;
use self::records::Records;
use self::sniff::has_values_only;
pub(crate) use self::texts::Texts;
use self::value::NULL_TEXTS;
use self::workers::{Built, ColumnSource, Plan, Rows, Workers};
use crate::moment;
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

/// Rows of the first batch, from which types are inferred.
const FIRST_ROWS: usize = 16 * 1024;
/// Text of the first batch.
const FIRST_BYTES: usize = 8 * 1024 * 1024;
/// Text of one other batch.
const BLOCK_BYTES: usize = 1024 * 1024;

/// CSV text that is being imported.
pub(crate) struct CsvImport<'r> {
    reader: CsvReader<'r>,
    options: ImportOptions,
    header: Header,
    /// The columns that no field of a line has.
    made: Vec<(Made, Column)>,
    /// The records that types were inferred from.
    first: Option<Records>,
    inferred: Vec<Decision>,
    /// What parses the rows, once the columns of the table are known.
    workers: Option<Workers>,
    /// Whether all of the text is read, or what failed; told behind the rows before it.
    is_read: bool,
    failed: Option<Error>,
    told: HashMap<String, ColumnNote>,
    /// What the caller should look at.
    warnings: Vec<String>,
    /// The number of the next row in the table, and that in the file.
    row: u64,
    file_row: u64,
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
    /// `InvalidArgument` for an empty text, a header without names, a repeated name, and options
    /// that do not go together; `Io`.
    pub(crate) fn new(input: impl Read + 'r, mut options: ImportOptions) -> Result<Self> {
        let named_clock = Clock::named(&options)?;
        if let (Some(name), None) = (&options.preset, options.epoch) {
            options.serial = layout::named(name).and_then(|preset| preset.serial);
        }
        let mut reader = CsvReader::new(Box::new(input), &options)?;
        let columns = reader.header(&options)?;
        let layout = reader.dialect.layout.as_ref();
        let (from, has_blocks) = (layout.map_or(0, |found| found.from), layout.is_some());
        let line = reader.shape.header_line;
        let header = Header::new(columns, from, line, has_blocks, &options)?;
        let mut warnings = header.assumed.clone();
        if let Some(layout) = layout {
            warnings.extend(layout.assumed.iter().cloned());
            for (name, data_type) in &layout.zeros {
                options.types.entry(name.clone()).or_insert(*data_type);
            }
            options.has_scpi_nulls = layout.has_scpi_nulls;
            if !layout.nulls.is_empty() && options.null_texts.is_none() {
                let known = NULL_TEXTS.iter().map(|text| (*text).to_owned());
                options.null_texts = Some(known.chain(layout.nulls.iter().cloned()).collect());
                options.quotes_nulls = true;
            }
            options.has_units = layout.has_units;
            if options.date_order.is_none() && layout.date_order.is_some() {
                options.date_order = layout.date_order;
                options.assumes_order = true;
            }
        }
        let clock = named_clock.or_else(|| layout.and_then(|found| found.clock));
        let segments = layout.and_then(|found| found.segments.as_ref());
        let made = Made::all(clock, segments, &header.names);
        Ok(Self {
            reader,
            options,
            header,
            made,
            first: None,
            inferred: Vec::new(),
            workers: None,
            is_read: false,
            failed: None,
            told: HashMap::new(),
            warnings,
            row: 0,
            file_row: 0,
        })
    }

    /// The separator of the text.
    fn separator(&self) -> char {
        char::from(self.reader.dialect.separator)
    }

    /// The line of the header, from 1.
    fn header_line(&self) -> u64 {
        self.reader.shape.header_line
    }

    fn first(&mut self) -> Result<Records> {
        match self.first.take() {
            Some(records) => Ok(records),
            None => self.reader.first(FIRST_ROWS, FIRST_BYTES),
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
        let Header { names, raw_names, .. } = &self.header;
        (parts == names.len() && (parts > 1 || has_values_only(raw_names))).then(|| {
            format!(
                "; line {line} begins with {prefix:?} and was taken for a comment: if it has the \
                 names, set commentPrefix to \"\""
            )
        })
    }

    /// What the report says of names that are values of the types of their columns, as a row has them
    /// in a text without names.
    fn names_of_values(&self, columns: &[Column]) -> Option<String> {
        let is_one = |(name, column): &(&String, &Column)| match column.data_type {
            data_type if data_type.is_time() => moment::is_time(name),
            data_type => data_type.is_numeric() && has_values_only([*name]),
        };
        let mut found = self.header.raw_names.iter().zip(columns).filter(is_one);
        let (name, _) = found.next()?;
        let others = match found.count() {
            0 => String::new(),
            more => format!(", and {more} others are such values"),
        };
        Some(format!(
            "line {} has {name:?} as the name of a column of such values{others}; if the line is a \
             row, set header to false",
            self.header_line()
        ))
    }

    /// Refuses a text in which lines that are not rows make every column one of texts, and warns of
    /// single columns.
    fn doubt(&mut self, records: &Records, mark: &Mark) -> Result<()> {
        let mut found: Vec<(usize, LastText)> = Vec::new();
        let mut others = 0;
        for (column, name) in self.header.names.iter().enumerate() {
            let (Some(decision), at) = (self.inferred.get(column), self.header.field(column))
            else {
                continue;
            };
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
            if matches!(decision.data_type, DataType::Float32 | DataType::Float64)
                && let Some(doubt) = scpi_number(records, at, mark, &self.options)
            {
                self.warnings.push(format!("column {name:?}: {doubt}"));
            }
            if decision.data_type == DataType::Float64
                && let Some(doubt) = serial_dates(name, records, at, mark, &self.options)
            {
                self.warnings.push(format!("column {name:?}: {doubt}"));
            }
            if is_text && !decision.is_doubtful {
                if let Some(last) = last_text(records, at, mark, &self.options) {
                    found.push((column, last));
                    continue;
                }
                if let Some(why) = rare_text(records, at, mark, &self.options) {
                    self.warnings.push(format!("column {name:?} is text: {why}"));
                    others += 1;
                    continue;
                }
            }
            // A column without values says nothing.
            others += usize::from(!records.is_null(at));
        }
        let is_all = found.len() > 1 && others == 0;
        if is_all && found.iter().all(|(_, last)| last.behind >= last.before) {
            let line = found.iter().map(|(_, last)| last.line).max().unwrap_or_default();
            let error = Error::invalid(format!(
                "line {line} ({}) has no numbers, and the lines behind it have, so every column \
                 would be text; if line {line} has the names, set skipLines to {}; if it has \
                 units, set unitsLine; if its texts mean null, name them in nullTexts; to import all \
                 as texts, set columnTypes",
                records.shown(line, self.separator()),
                line.saturating_sub(1),
            ));
            return Err(error.at(Place::Line { line, column: None }));
        }
        for (at, last) in found {
            let name = self.header.names.get(at).map(String::as_str).unwrap_or_default();
            self.warnings.push(format!(
                "column {name:?} is text, because {} is no number, and the {} values behind it \
                 are; if that line has the names, set skipLines to {}; if it has the units, set \
                 unitsLine; if the text means null, name it in nullTexts",
                last.shown,
                last.behind,
                last.line.saturating_sub(1),
            ));
        }
        Ok(())
    }

    /// Decides how a field is read.
    fn decide(
        &self,
        records: &Records,
        field: usize,
        wanted: Option<DataType>,
        mark: &Mark,
    ) -> Decision {
        let mut decision = decide(records, field, wanted, mark, &self.options);
        let millis = self.reader.dialect.layout.as_ref().and_then(|layout| layout.millis);
        if let Some((_, millis)) = millis.filter(|(times, _)| *times == field)
            && decision.data_type.is_time()
        {
            decision.form.millis = Some(millis);
            decision.why.push_str("; their milliseconds are in the column behind them");
        }
        decision
    }

    fn position(&self, schema: &TableSchema, at: usize) -> Result<usize> {
        let raw = self.header.raw_names.get(at).map(String::as_str).unwrap_or_default();
        let name = self.header.names.get(at).map(String::as_str).unwrap_or_default();
        // A declared name may have blanks around it.
        schema.position(raw).or_else(|_| schema.position(name)).map_err(|error| {
            let error = other_separator(&self.header.names).unwrap_or(error);
            at_header(error, self.header_line(), name)
        })
    }

    /// Finds the source of each column of the table.
    fn plan(&mut self, schema: &TableSchema, records: &Records) -> Result<Plan> {
        let mut fields = vec![None; schema.columns().len()];
        // A field that is no column decides nothing.
        let mut types = vec![Some(DataType::String); self.reader.shape.width];
        for at in 0..self.header.names.len() {
            let position = self.position(schema, at)?;
            if let Some(slot) = types.get_mut(self.header.field(at)) {
                *slot = Some(schema.column(position)?.data_type);
            }
            if let Some(slot) = fields.get_mut(position) {
                *slot = Some(at);
            }
        }
        // What was inferred knows it.
        let mark =
            if self.inferred.is_empty() { self.mark(records, &types) } else { Mark::default() };
        let mut columns = Vec::with_capacity(schema.columns().len());
        for (column, field) in schema.columns().iter().zip(fields) {
            let made = self.made_at(column).and_then(|at| {
                let (made, column) = self.made.get(at)?;
                let unit = column.properties.get(Column::UNIT).cloned();
                Some((at, ColumnNote::new(made.why()).unit(unit)))
            });
            let (source, told) = match (field, made) {
                (Some(at), _) => {
                    let field = self.header.field(at);
                    let decision = match self.inferred.get(at) {
                        Some(decision) => decision.clone(),
                        None => self.decide(records, field, Some(column.data_type), &mark),
                    };
                    let Decision { mut form, why, zone, .. } = decision;
                    if let (Some(unit), Some(of_table)) =
                        (&mut form.unit, column.properties.get(Column::UNIT))
                    {
                        if power(unit, of_table).is_none() {
                            let what = format!(
                                "its numbers have the unit {unit:?} behind them, and the column of \
                                 the table has the unit {of_table:?}"
                            );
                            let line = self.header_line();
                            return Err(at_header(Error::invalid(what), line, &column.name));
                        }
                        unit.clone_from(of_table);
                    }
                    let of_header = self.header.about.get(at).and_then(|about| about.unit.clone());
                    let note = ColumnNote::new(why).unit(of_header.or(form.unit.clone()));
                    (ColumnSource::Field(field, form), note.time_zone(zone))
                }
                (None, _) if is_numbered(column) => (ColumnSource::RowNumbers, numbered::told()),
                (None, Some((at, note))) => (ColumnSource::Made(at), note),
                (None, None) if column.column_type == ColumnType::Nullable => {
                    let why = "the file has no such column".to_owned();
                    (ColumnSource::Nulls, ColumnNote::new(why))
                }
                (None, None) => {
                    return Err(Error::invalid(format!(
                        "there is no column {:?}; only NULLABLE columns may be left out",
                        column.name
                    ))
                    .with_args([column.name.clone()])
                    .at(Place::Line { line: self.header_line(), column: None }));
                }
            };
            self.told.insert(column.name.clone(), told);
            columns.push((column.clone(), source));
        }
        let unnamed = self.header.unnamed.clone();
        Ok(Plan { shape: self.reader.shape, options: self.options.clone(), columns, unnamed })
    }

    /// Which of the columns that no field has a column of the table is.
    fn made_at(&self, column: &Column) -> Option<usize> {
        self.made
            .iter()
            .position(|(_, made)| made.name == column.name && made.data_type == column.data_type)
    }

    /// Reads ahead of the rows that are parsed.
    fn read_ahead(&mut self) {
        let Some(workers) = &mut self.workers else { return };
        while !self.is_read && workers.has_room() {
            match self.reader.next(BLOCK_BYTES) {
                Ok(Some(block)) => workers.give(block),
                Ok(None) => self.is_read = true,
                Err(error) => (self.is_read, self.failed) = (true, Some(error)),
            }
        }
    }

    fn batch(&mut self, schema: &TableSchema, rows: Rows) -> Result<RecordBatch> {
        self.reader.note_quote(rows.odd_quote);
        let (first, file_first) = (self.row, self.file_row);
        self.row += rows.count as u64;
        self.file_row += rows.count as u64;
        let arrays = rows
            .arrays
            .into_iter()
            .map(|array| match array {
                Built::Array(array) => Ok(array),
                Built::RowNumbers => Ok(numbered::numbers(first, rows.count)),
                Built::Made(at) => match self.made.get(at) {
                    Some((made, _)) => made.values(file_first, rows.count),
                    None => Err(Error::corrupt("internal error: a column is not made; report it")),
                },
            })
            .collect::<Result<_>>()?;
        RecordBatch::try_new(schema.arrow().clone(), arrays)
            .map_err(|error| Error::invalid("the rows do not fit the table").with_source(error))
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
        self.options.check_names(&self.header.names)?;
        if let Some((line, doubt)) = self.reader.dialect.doubt.clone() {
            return Err(Error::invalid(doubt).at(Place::Line { line, column: None }));
        }
        let comment = self.comment();
        let is_found = self.reader.dialect.layout.is_some() || self.options.header.is_some();
        if !is_found && has_values_only(&self.header.raw_names) {
            let error = Error::invalid(format!(
                "the first line looks like values, and would be taken for the names of the \
                 columns; set header to false if no line names them, put a line of names before \
                 it, or declare columns with these names{}",
                comment.unwrap_or_default()
            ));
            return Err(error.at(Place::Line { line: self.header_line(), column: None }));
        }
        let records = self.first()?;
        let is_told = |name: &String| self.options.types.contains_key(name);
        if records.len() == 0 && !self.header.names.iter().all(is_told) {
            let error = Error::invalid(format!(
                "the text has no rows, so the types of its columns are unknown; declare the \
                 columns, or name their types with columnTypes{}",
                comment.unwrap_or_default()
            ));
            return Err(error.at(Place::Line { line: self.header_line(), column: None }));
        }
        let wanted = |name: &String| self.options.types.get(name).copied();
        let mut types = vec![Some(DataType::String); self.reader.shape.width];
        for (at, name) in self.header.names.iter().enumerate() {
            if let Some(slot) = types.get_mut(self.header.field(at)) {
                *slot = wanted(name);
            }
        }
        let mark = self.mark(&records, &types);
        let mut columns = Vec::with_capacity(self.header.names.len() + 2);
        let is_plain = self.reader.dialect.layout.is_none();
        let plain_units = if is_plain { units_in(&self.header.names) } else { Vec::new() };
        for (at, about) in self.header.about.iter().enumerate() {
            let field = self.header.field(at);
            let mut decision = self.decide(&records, field, wanted(&about.name), &mark);
            let layout = self.reader.dialect.layout.as_ref();
            let has_zeros =
                |found: &Layout| found.zeros.iter().any(|(name, _)| *name == about.name);
            if layout.is_some_and(has_zeros) {
                "numbers, which may begin with zeros in such a file".clone_into(&mut decision.why);
            }
            let column = Column::new(about.name.clone(), decision.data_type);
            let mut column = column.column_type(ColumnType::Nullable);
            column.properties.extend(about.properties.iter().cloned());
            // The unit in a plain name stays there, too.
            let is_number = decision.data_type.is_numeric() && !decision.data_type.is_time();
            let in_name = plain_units.get(at).and_then(Option::as_ref).filter(|_| is_number);
            let unit = about.unit.as_ref().or(decision.form.unit.as_ref()).or(in_name);
            if let Some(unit) = unit {
                column.properties.insert("unit".to_owned(), unit.clone());
            }
            if let Some(zone) = decision.zone.as_ref().filter(|zone| *zone != "UTC") {
                column.properties.insert("timeZone".to_owned(), zone.clone());
            }
            columns.push(column);
            self.inferred.push(decision);
        }
        if !is_found {
            self.warnings.extend(self.names_of_values(&columns));
        }
        columns.splice(0..0, self.made.iter().map(|(_, column)| column.clone()));
        self.doubt(&records, &mark)?;
        self.warnings.extend(comment.map(|comment| comment.trim_start_matches("; ").to_owned()));
        match self.options.index.as_deref() {
            Some(name) => {
                let position = numbered::index_position(&columns, name)?;
                if let Some(column) = columns.get_mut(position) {
                    column.column_type = ColumnType::Index;
                }
            }
            None => {
                let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
                columns.insert(0, numbered::column(&names));
            }
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
        if self.workers.is_none() {
            let records = self.first()?;
            // Also for a text without rows, whose names must fit, too.
            let plan = self.plan(schema, &records)?;
            self.workers = Some(Workers::new(plan));
            self.read_ahead();
            if let Some(workers) = self.workers.as_ref().filter(|_| records.len() > 0) {
                let rows = workers.plan().rows(&records)?;
                return self.batch(schema, rows).map(Some);
            }
        }
        loop {
            self.read_ahead();
            let rows = match &mut self.workers {
                Some(workers) => workers.take()?,
                None => None,
            };
            match rows {
                // Blank lines are no rows.
                Some(rows) if rows.count == 0 => {}
                Some(rows) => return self.batch(schema, rows).map(Some),
                None => return self.failed.take().map_or(Ok(None), Err),
            }
        }
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
        let assumed = self.reader.encoding.line().map(|line| {
            format!(
                "line {line} has bytes that are not UTF-8, so the text was read as Windows-1252; \
                 encoding says otherwise"
            )
        });
        let told = assumed.into_iter().chain(self.reader.quote_told());
        self.warnings.iter().cloned().chain(told).chain(self.reader.end_told()).collect()
    }

    /// What the header of an instrument says.
    fn properties(&self) -> BTreeMap<String, String> {
        let layout = self.reader.dialect.layout.as_ref();
        layout.map(|layout| layout.properties.clone()).unwrap_or_default()
    }

    fn form(&self) -> SourceForm {
        SourceForm::new(self.separator(), self.header_line())
    }
}
