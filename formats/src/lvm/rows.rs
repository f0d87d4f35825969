//! The rows of one table of a measurement file.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use stationdb::arrow::array::RecordBatch;
use stationdb::tables::readers::{is_numbered, shortened};
use stationdb::tables::{
    Column, ColumnNote, ColumnType, DataType, RowSource, SourceForm, TableSchema,
};
use stationdb::{Control, Error, Place, Result};

use super::axis::Axis;
use super::batch::{Batch, Reading, Source};
use super::escape::unescape;
use super::header::{Budget, Channel, FileHeader, Segment};
use super::names::{Names, channels};
use super::survey::Group;
use super::told::Doubts;
use crate::instrument_text::{decode, number};
use crate::lines::{Lines, at_line};
use crate::numbered;
use crate::options::ImportOptions;

/// The field with the units of channels.
const Y_UNIT: &str = "Y_Unit_Label";

/// The segment that is read.
struct Open {
    axis: Axis,
    end: u64,
    number: i32,
    /// Its rows so far.
    row: u64,
    comma: bool,
    separator: u8,
    /// Whether its rows have X values.
    has_x: bool,
    header_line: u64,
}

/// What a row has beside the values of the channels.
struct Cells<'t> {
    x: Option<&'t str>,
    has_value: bool,
    count: usize,
}

/// The rows of the segments with the same columns, or of one of their channels.
pub(super) struct Rows {
    lines: Lines,
    headers: Arc<Vec<FileHeader>>,
    group: Arc<Group>,
    channels: Vec<Channel>,
    names: Names,
    options: ImportOptions,
    /// Whether the index is the time.
    has_time_index: bool,
    plan: Vec<Source>,
    next_part: usize,
    open: Option<Open>,
    row: u64,
    last_time: i64,
    doubts: Doubts,
    warnings: Vec<String>,
}

impl Rows {
    /// The rows of a group, or of one of its channels.
    pub(super) fn new(
        lines: Lines,
        headers: Arc<Vec<FileHeader>>,
        group: Arc<Group>,
        only: Option<usize>,
        options: ImportOptions,
    ) -> Self {
        let channels = channels(&group, only);
        let names = Names::of(&group, &channels);
        let mut warnings = Vec::new();
        for (channel, name) in channels.iter().zip(&names.channels) {
            if channel.name != *name {
                warnings.push(format!(
                    "the name {:?} in line {} is taken; the column is {name:?}",
                    channel.name, group.first.names_line
                ));
            }
        }
        warnings.extend(group.doubt.clone());
        let mut doubts = Doubts::default();
        if group.first.is_foreign {
            doubts.foreign.add(group.first.names_line);
        }
        Self {
            lines,
            headers,
            group,
            channels,
            names,
            options,
            has_time_index: false,
            plan: Vec::new(),
            next_part: 0,
            open: None,
            row: 0,
            last_time: i64::MIN,
            doubts,
            warnings,
        }
    }

    /// The reader, for the next table.
    pub(super) fn into_lines(self) -> Lines {
        self.lines
    }

    /// Adds a warning of the file.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings);
    }

    fn header(&self, part: usize) -> Option<&FileHeader> {
        self.headers.get(self.group.parts.get(part)?.file)
    }

    /// The columns of channels, of which the options may name the types.
    fn column(&self, name: &str, usual: DataType) -> Column {
        let data_type = self.options.types.get(name).copied().unwrap_or(usual);
        Column::new(name, data_type).column_type(ColumnType::Nullable)
    }

    /// Finds the source of each column of the table.
    fn plan(&mut self, schema: &TableSchema) -> Result<()> {
        let line = self.group.first.names_line;
        let at = |error: Error, name: &str| {
            error.at(Place::Line { line, column: Some(name.to_owned()) })
        };
        let cells = self.names.channels.iter().chain(&self.names.comment);
        let cell_of: HashMap<&str, usize> =
            cells.enumerate().map(|(cell, name)| (name.as_str(), cell)).collect();
        for name in &self.names.channels {
            schema.position(name).map_err(|error| at(error, name))?;
        }
        if let Some(name) = &self.names.comment
            && schema.position(name).is_err()
        {
            self.warnings.push(format!("the table has no column {name:?} for comments"));
        }
        for (position, column) in schema.columns().iter().enumerate() {
            let name = column.name.as_str();
            let is = |other: &Option<String>| other.as_deref() == Some(name);
            let source = if let Some(cell) = cell_of.get(name) {
                Source::Cell(*cell)
            } else if name == self.names.x {
                Source::X
            } else if is(&self.names.time) {
                self.has_time_index = position == schema.index();
                Source::Time
            } else if is(&self.names.segment) {
                Source::Segment
            } else if is_numbered(column) {
                Source::RowNumbers
            } else if column.column_type == ColumnType::Nullable {
                Source::Absent
            } else {
                let what = format!(
                    "there is no column {name:?}; only NULLABLE columns may be left out, and the \
                     columns are {}",
                    crate::options::some_of(&self.names.all)
                );
                return Err(at(Error::invalid(what).with_args([name.to_owned()]), name));
            };
            self.plan.push(source);
        }
        Ok(())
    }

    /// The unit of the X values.
    fn x_unit(&self) -> Option<String> {
        let (segment, first) = (&self.group.first, self.channels.first()?);
        let is_time = segment.field("X_Dimension", first).is_none_or(|it| it == "Time");
        let unit = segment.field("X_Unit_Label", first).or(is_time.then_some("s"));
        unit.map(str::to_owned)
    }

    /// Goes to the rows of the next segment; `false` behind the last one.
    fn open_next(&mut self) -> Result<bool> {
        let Some(part) = self.group.parts.get(self.next_part).copied() else { return Ok(false) };
        let headers = self.headers.clone();
        let Some(header) = headers.get(part.file) else { return Ok(false) };
        self.next_part += 1;
        self.lines.seek(part.header)?;
        let changed = || Error::invalid("the file was changed while it was read");
        if !self.lines.advance()? {
            return Err(at_line(changed(), part.header.line));
        }
        let segment = Segment::read(&mut self.lines, header, &mut Budget::default())?
            .map_err(|_| at_line(changed(), part.header.line))?;
        if segment.channels != self.group.first.channels {
            return Err(at_line(changed(), part.header.line));
        }
        if self.next_part > 1 && segment.properties() != self.group.first.properties() {
            self.doubts.other_fields.add(part.header.line);
        }
        // The channel whose axis counts: its own, or the first one that has samples.
        let mut axis = None;
        for channel in &self.channels {
            let found = Axis::of(&segment, channel, header, &self.options)?;
            if found.samples != Some(0) || axis.is_none() {
                axis = Some(found);
            }
            if found.samples != Some(0) {
                break;
            }
        }
        self.open = Some(Open {
            axis: axis.unwrap_or_default(),
            end: part.end,
            number: part.number,
            row: 0,
            comma: header.comma,
            separator: header.separator,
            has_x: header.has_x() && self.channels.iter().any(|channel| channel.x.is_some()),
            header_line: part.header.line,
        });
        Ok(true)
    }

    /// Compares the rows of a segment with its header. Rows that were appended later are not in it.
    fn close(&mut self, open: &Open) {
        if open.axis.samples.is_some_and(|samples| open.row < samples) {
            self.doubts.fewer.add(open.header_line);
        }
    }

    /// Adds the cells of a row to the batch.
    ///
    /// # Errors
    /// `InvalidArgument` for more values than the columns.
    fn push_cells<'t>(&self, text: &'t str, separator: u8, batch: &mut Batch) -> Result<Cells<'t>> {
        let segment = &self.group.first;
        let named = segment.channels.last().map_or(0, |channel| channel.cell);
        let limit = segment.comment.unwrap_or(named);
        let x_cell = self.channels.first().and_then(|channel| channel.x);
        let mut found = Cells { x: None, has_value: false, count: 0 };
        let (mut wanted, mut comment) = (self.channels.iter().peekable(), "");
        for (at, cell) in text.split(char::from(separator)).enumerate() {
            found.count = at + 1;
            let is_empty = cell.trim().is_empty();
            if at > limit && !is_empty {
                return Err(self.lines.fault(format!(
                    "there are more values than the columns that line {} names; if rows with \
                     other columns were appended, put them into a file of their own",
                    segment.names_line
                )));
            }
            if Some(at) == x_cell && !is_empty {
                found.x = Some(cell);
            }
            if wanted.next_if(|channel| channel.cell == at).is_some() {
                found.has_value |= !is_empty;
                batch.push(cell);
            }
            if Some(at) == segment.comment {
                found.has_value |= !is_empty;
                comment = cell;
            }
        }
        wanted.for_each(|_| batch.push(""));
        if segment.comment.is_some() {
            batch.push(&unescape(comment));
        }
        Ok(found)
    }

    /// Reads a row into the batch.
    fn read_row(&mut self, batch: &mut Batch, open: &mut Open) -> Result<()> {
        let line = self.lines.here.line;
        let (text, is_foreign) = decode(self.lines.text());
        if text.trim().is_empty() && !text.as_bytes().contains(&open.separator) {
            return Ok(());
        }
        let row = open.row;
        open.row += 1;
        let cells = self.push_cells(&text, open.separator, batch)?;
        if self.group.is_split && cells.x.is_none() && !cells.has_value {
            // The other channels have more rows.
            batch.undo();
            return Ok(());
        }
        let x = match cells.x {
            Some(text) => number(text, open.comma).ok_or_else(|| {
                let what = format!("the X value {:?} is no number", shortened(text));
                Error::invalid(what).at(Place::Line { line, column: Some(self.names.x.clone()) })
            })?,
            None => {
                if open.has_x {
                    self.doubts.computed.add(line);
                }
                open.axis.x(row)
            }
        };
        let time = open.axis.time(x);
        if self.has_time_index {
            let Some(time) = time else {
                return Err(self.lines.fault(format!(
                    "the X value {x} is no time of a row; set indexColumn to \"row\" to keep such \
                     rows"
                )));
            };
            if time <= self.last_time {
                self.doubts.back.add(line);
            }
            self.last_time = time;
        }
        if self.channels.last().is_some_and(|channel| cells.count <= channel.cell) {
            self.doubts.short.add(line);
        }
        if is_foreign {
            self.doubts.foreign.add(line);
        }
        if !self.lines.is_ended {
            self.doubts.unended.add(line);
        }
        batch.lines.push(line);
        batch.xs.push(x);
        batch.times.push(time);
        batch.segments.push(open.number);
        Ok(())
    }
}

impl RowSource for Rows {
    fn columns(&mut self) -> Result<Vec<Column>> {
        let mut columns = Vec::with_capacity(self.names.all.len() + 1);
        if let Some(name) = &self.names.time {
            let mut column = self.column(name, DataType::TimestampNanos);
            if self.options.zone.name() != "UTC" {
                column.properties.insert("timeZone".to_owned(), self.options.zone.name());
            }
            columns.push(column);
        }
        if let Some(name) = &self.names.segment {
            columns.push(self.column(name, DataType::Int32));
        }
        let group = self.group.clone();
        let mut x = self.column(&self.names.x, DataType::Float64);
        let is_one = group.parts.len() == 1;
        if let Some(first) = self.channels.first() {
            for (key, value) in group.first.channel_properties(first, is_one) {
                if key.starts_with('X') || key == "Delta_X" {
                    x.properties.insert(key.to_owned(), value.to_owned());
                }
            }
            if let Some(unit) = self.x_unit() {
                x.properties.insert(Column::UNIT.to_owned(), unit);
            }
        }
        columns.push(x);
        for (channel, name) in self.channels.iter().zip(&self.names.channels) {
            let mut column = self.column(name, DataType::Float64);
            for (key, value) in group.first.channel_properties(channel, is_one) {
                let key = if key == Y_UNIT { Column::UNIT } else { key };
                column.properties.insert(key.to_owned(), value.to_owned());
            }
            columns.push(column);
        }
        if let Some(name) = &self.names.comment {
            columns.push(self.column(name, DataType::String));
        }
        let numbers = numbered::column(&self.names.all);
        let index = match (&self.options.index, &self.names.time) {
            (Some(name), _) if *name == numbers.name => None,
            (Some(name), _) => Some(numbered::index_position(&columns, name)?),
            (None, Some(_)) => Some(0),
            (None, None) => None,
        };
        match index.and_then(|at| columns.get_mut(at)) {
            Some(column) => column.column_type = ColumnType::Index,
            None => columns.insert(0, numbers),
        }
        Ok(columns)
    }

    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>> {
        if self.plan.is_empty() {
            self.plan(schema)?;
        }
        let width = self.channels.len() + usize::from(self.group.first.comment.is_some());
        let mut batch = Batch::new(width);
        let mut comma = false;
        while !batch.is_full() {
            let Some(mut open) = self.open.take() else {
                control.check()?;
                let Some(part) = self.header(self.next_part) else { break };
                // A batch has one decimal mark.
                if !batch.lines.is_empty() && part.comma != comma {
                    break;
                }
                if !self.open_next()? {
                    break;
                }
                continue;
            };
            comma = open.comma;
            if self.lines.next.byte >= open.end || !self.lines.advance()? {
                self.close(&open);
                continue;
            }
            let read = self.read_row(&mut batch, &mut open);
            self.open = Some(open);
            read?;
        }
        if batch.lines.is_empty() {
            return Ok(None);
        }
        let first_row = self.row;
        self.row += batch.lines.len() as u64;
        let null_texts = self.options.null_texts.as_ref();
        batch.build(schema, &self.plan, &Reading { comma, null_texts, first_row }).map(Some)
    }

    fn number_from(&mut self, row: u64) {
        self.row = row;
    }

    fn properties(&self) -> BTreeMap<String, String> {
        let mut out = self.group.first.properties();
        if let Some(header) = self.header(0) {
            out.extend(header.fields.clone());
        }
        out
    }

    fn note(&self, name: &str) -> ColumnNote {
        let is = |other: &Option<String>| other.as_deref() == Some(name);
        if is(&self.names.time) {
            let zone = self.options.zone.name();
            let why = "date and time of the segment, and the X value in seconds";
            return ColumnNote::new(why).time_zone(Some(zone));
        }
        if name == self.names.x {
            return ColumnNote::new(
                "the X value, or X0 and the row times Delta_X where it is empty",
            )
            .unit(self.x_unit());
        }
        if let Some(at) = self.names.channels.iter().position(|channel| channel == name) {
            let channel = self.channels.get(at);
            let unit = channel.and_then(|channel| self.group.first.field(Y_UNIT, channel));
            return ColumnNote::new("a channel of the measurement file")
                .unit(unit.map(str::to_owned));
        }
        if is(&self.names.comment) {
            return ColumnNote::new("the comments of the measurement file");
        }
        if is(&self.names.segment) {
            return ColumnNote::new("the number of the segment in the file, from 1");
        }
        numbered::told()
    }

    fn form(&self) -> SourceForm {
        let separator = self.header(0).map_or(b'\t', |header| header.separator);
        SourceForm::new(char::from(separator), self.group.first.names_line)
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.iter().cloned().chain(self.doubts.texts()).collect()
    }
}
