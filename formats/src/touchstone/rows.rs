//! The rows of a Touchstone file: one for each frequency.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch};
use stationdb::tables::readers::is_numbered;
use stationdb::tables::{
    Column, ColumnNote, ColumnType, DataType, RowSource, SourceForm, TableSchema,
};
use stationdb::{Control, Error, Place, Result};

use super::header::{Form, Header};
use super::points::{NOISE, Point, Points, Step};
use super::survey::Block;
use crate::lines::Lines;
use crate::numbered;
use crate::options::ImportOptions;

/// Rows and cells of one batch.
const ROWS: usize = 16 * 1024;
const CELLS: usize = 1024 * 1024;
const FREQUENCY: &str = "frequency";

/// A column of numbers, and which number of a point it has.
struct Value {
    name: String,
    unit: Option<&'static str>,
    /// The ports of a cell in the order of mixed modes.
    mode: Option<String>,
    number: usize,
}

/// What a point becomes beside its frequency.
struct Shape {
    values: Vec<Value>,
    /// The pairs of numbers that become real and imaginary parts, and how.
    pairs: Vec<usize>,
    form: Form,
    width: usize,
}

/// The names of the two parts of a number in a form.
fn parts(form: Form) -> [(&'static str, Option<&'static str>); 2] {
    match form {
        Form::Ri => [("re", None), ("im", None)],
        Form::Ma => [("mag", None), ("deg", Some("deg"))],
        Form::Db => [("db", Some("dB")), ("deg", Some("deg"))],
    }
}

impl Shape {
    /// The cells of the matrix, row by row.
    fn network(header: &Header, raw: bool) -> Self {
        let form = if raw { header.form } else { Form::Ri };
        let unit = match header.parameter {
            _ if header.is_normalized() => None,
            'z' => Some("ohm"),
            'y' => Some("S"),
            _ => None,
        };
        let between = if header.ports > 9 { "_" } else { "" };
        let mut found = Vec::new();
        for (number, ((row, column), is_twice)) in header.cells().into_iter().enumerate() {
            found.push((row, column, 2 * number));
            if is_twice {
                found.push((column, row, 2 * number));
            }
        }
        found.sort_unstable();
        let mut values = Vec::with_capacity(2 * found.len());
        for (row, column, number) in found {
            let modes = (header.mixed.get(row), header.mixed.get(column));
            let mode = match modes {
                (Some(to), Some(from)) => Some(format!("{to} {from}")),
                _ => None,
            };
            for (at, (part, of_part)) in parts(form).into_iter().enumerate() {
                let letter = header.parameter;
                values.push(Value {
                    name: format!("{letter}{}{between}{}_{part}", row + 1, column + 1),
                    unit: of_part.or(unit.filter(|_| form != Form::Db)),
                    mode: mode.clone(),
                    number: number + at,
                });
            }
        }
        let pairs = (0..header.width()).step_by(2).collect();
        let form = if raw { Form::Ri } else { header.form };
        Self { values, pairs, form, width: header.width() }
    }

    /// The minimum noise figure, the source reflection for it, and the noise resistance.
    fn noise(header: &Header, raw: bool) -> Self {
        let form = if raw { Form::Ma } else { Form::Ri };
        let value = |name: String, unit, number| Value { name, unit, mode: None, number };
        let mut values = vec![value("nf_min".to_owned(), Some("dB"), 0)];
        for (at, (part, unit)) in parts(form).into_iter().enumerate() {
            values.push(value(format!("gamma_opt_{part}"), unit, 1 + at));
        }
        values.push(value("rn".to_owned(), header.is_second.then_some("ohm"), 3));
        let form = if raw { Form::Ri } else { Form::Ma };
        Self { values, pairs: vec![1], form, width: NOISE }
    }

    /// Makes the numbers of a point those of its columns.
    fn convert(&self, numbers: &mut [f64]) {
        if self.form == Form::Ri {
            return;
        }
        for at in &self.pairs {
            if let Some([first, second]) = numbers.get_mut(*at..*at + 2) {
                (*first, *second) = self.form.complex(*first, *second);
            }
        }
    }
}

/// Where a column of the table comes from.
enum Source {
    Number(usize),
    Frequency,
    RowNumbers,
    Absent,
}

/// The points of a file that are of one kind.
pub(super) struct Rows {
    lines: Lines,
    header: Arc<Header>,
    block: Block,
    is_noise: bool,
    raw: bool,
    shape: Shape,
    options: ImportOptions,
    plan: Vec<Source>,
    read: u64,
    row: u64,
    pub(super) warnings: Vec<String>,
}

impl Rows {
    pub(super) fn new(
        lines: Lines,
        header: Arc<Header>,
        block: Block,
        is_noise: bool,
        raw: bool,
        options: ImportOptions,
    ) -> Self {
        let shape =
            if is_noise { Shape::noise(&header, raw) } else { Shape::network(&header, raw) };
        Self {
            lines,
            header,
            block,
            is_noise,
            raw,
            shape,
            options,
            plan: Vec::new(),
            read: 0,
            row: 0,
            warnings: Vec::new(),
        }
    }

    /// The reader, for the next table.
    pub(super) fn into_lines(self) -> Lines {
        self.lines
    }

    /// The names of the columns of the file.
    pub(super) fn names(&self) -> Vec<String> {
        let values = self.shape.values.iter().map(|value| value.name.clone());
        std::iter::once(FREQUENCY.to_owned()).chain(values).collect()
    }

    fn plan(&mut self, schema: &TableSchema) -> Result<()> {
        let line = self.block.at.line;
        let at = |error: Error, name: &str| {
            error.at(Place::Line { line, column: Some(name.to_owned()) })
        };
        let mut numbers = HashMap::new();
        for value in &self.shape.values {
            schema.position(&value.name).map_err(|error| at(error, &value.name))?;
            numbers.insert(value.name.as_str(), value.number);
        }
        schema.position(FREQUENCY).map_err(|error| at(error, FREQUENCY))?;
        for column in schema.columns() {
            let source = if let Some(number) = numbers.get(column.name.as_str()) {
                Source::Number(*number)
            } else if column.name == FREQUENCY {
                Source::Frequency
            } else if is_numbered(column) {
                Source::RowNumbers
            } else if column.column_type == ColumnType::Nullable {
                Source::Absent
            } else {
                let what = format!(
                    "there is no column {:?}; only NULLABLE columns may be left out",
                    column.name
                );
                return Err(at(Error::invalid(what), &column.name));
            };
            self.plan.push(source);
        }
        Ok(())
    }

    /// An array of numbers, of the type of the column where that is one of floats.
    fn array(&self, column: &Column, values: impl Iterator<Item = f64>) -> ArrayRef {
        match column.data_type {
            DataType::Float32 => Arc::new(Float32Array::from_iter_values(values.map(|v| v as f32))),
            DataType::Int64 if column.name == FREQUENCY && self.block.is_whole => {
                Arc::new(Int64Array::from_iter_values(values.map(|value| value as i64)))
            }
            _ => Arc::new(Float64Array::from_iter_values(values)),
        }
    }

    fn build(&self, schema: &TableSchema, hertz: &[f64], numbers: &[f64]) -> Result<RecordBatch> {
        let width = self.shape.width.max(1);
        let mut out: Vec<(&str, ArrayRef)> = Vec::with_capacity(self.plan.len());
        for (column, source) in schema.columns().iter().zip(&self.plan) {
            let array = match source {
                Source::Absent => continue,
                Source::RowNumbers => numbered::numbers(self.row, hertz.len()),
                Source::Frequency => self.array(column, hertz.iter().copied()),
                Source::Number(at) => {
                    let of_column = numbers.iter().skip(*at).step_by(width);
                    self.array(column, of_column.copied())
                }
            };
            out.push((&column.name, array));
        }
        RecordBatch::try_from_iter(out)
            .map_err(|error| Error::invalid("the points do not fit the table").with_source(error))
    }
}

impl RowSource for Rows {
    fn columns(&mut self) -> Result<Vec<Column>> {
        let names = self.names();
        let typed = |name: &str, usual: DataType| {
            let data_type = self.options.types.get(name).copied().unwrap_or(usual);
            Column::new(name, data_type).column_type(ColumnType::Nullable)
        };
        let usual = if self.block.is_whole { DataType::Int64 } else { DataType::Float64 };
        let mut frequency = typed(FREQUENCY, usual);
        frequency.properties.insert(Column::UNIT.to_owned(), "Hz".to_owned());
        let mut columns = vec![frequency];
        for value in &self.shape.values {
            let mut column = typed(&value.name, DataType::Float64);
            if let Some(unit) = value.unit {
                column.properties.insert(Column::UNIT.to_owned(), unit.to_owned());
            }
            if let Some(mode) = &value.mode {
                column.properties.insert("modes".to_owned(), mode.clone());
            }
            columns.push(column);
        }
        let numbers = numbered::column(&names);
        let index = match self.options.index.as_deref() {
            Some(name) if name == numbers.name => None,
            Some(name) => Some(numbered::index_position(&columns, name)?),
            None => {
                let first = columns.first().is_some_and(|column| column.data_type.can_be_index());
                first.then_some(0)
            }
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
        if self.read == 0 {
            self.lines.seek(self.block.at)?;
        }
        let width = self.shape.width;
        let rows_max = (CELLS / width.max(1)).clamp(1, ROWS);
        let points = Points { width, exponent: self.header.exponent, noise_below: None };
        let (mut hertz, mut numbers, mut point) = (Vec::new(), Vec::new(), Point::default());
        while self.read < self.block.count && hertz.len() < rows_max {
            control.check()?;
            if points.next(&mut self.lines, false, &mut point)? != Step::Point {
                return Err(self.lines.fault("the file was changed while it was read"));
            }
            self.shape.convert(&mut point.numbers);
            hertz.push(point.hertz);
            numbers.extend_from_slice(&point.numbers);
            self.read += 1;
        }
        if hertz.is_empty() {
            return Ok(None);
        }
        let batch = self.build(schema, &hertz, &numbers)?;
        self.row += hertz.len() as u64;
        Ok(Some(batch))
    }

    fn number_from(&mut self, row: u64) {
        self.row = row;
    }

    fn row_count(&self) -> Option<u64> {
        Some(self.block.count)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        let header = &self.header;
        let mut out = BTreeMap::new();
        let mut put = |key: &str, value: String| {
            if !value.is_empty() {
                out.insert(key.to_owned(), value);
            }
        };
        put("touchstone", header.version.clone());
        put("ports", header.ports.to_string());
        put("parameter", header.parameter.to_ascii_uppercase().to_string());
        put("format", header.form.as_str().to_owned());
        put("reference", header.reference());
        put("mixedModeOrder", header.mixed.join(" "));
        put("comments", header.comments.clone());
        put("information", header.information.clone());
        // The noise resistance, too.
        if header.is_normalized() || self.is_noise && !header.is_second {
            put("normalized", "true".to_owned());
        }
        out
    }

    fn note(&self, name: &str) -> ColumnNote {
        if name == FREQUENCY {
            return ColumnNote::new(if self.block.is_whole {
                "the frequency in Hz, whole in all points"
            } else {
                "the frequency in Hz, not whole in all points, so rows are numbered"
            })
            .unit(Some("Hz".to_owned()));
        }
        let Some(value) = self.shape.values.iter().find(|value| value.name == name) else {
            return numbered::told();
        };
        let why = match (self.is_noise, self.raw || self.header.form == Form::Ri) {
            (true, _) => "a value of the noise data",
            (false, true) => "a number of the file",
            (false, false) => "converted from magnitude and angle",
        };
        ColumnNote::new(why).unit(value.unit.map(str::to_owned))
    }

    fn form(&self) -> SourceForm {
        SourceForm::new(' ', self.block.at.line)
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
