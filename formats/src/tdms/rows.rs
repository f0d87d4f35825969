//! The rows of a table, read batch by batch.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use stationdb::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    StringBuilder,
};
use stationdb::arrow::buffer::{MutableBuffer, ScalarBuffer};
use stationdb::arrow::datatypes::{
    ArrowPrimitiveType, Field, Float32Type, Float64Type, Int32Type, Int64Type, Schema,
};
use stationdb::tables::readers::{arrow_type, is_numbered, ticks};
use stationdb::tables::{Column, ColumnNote, DataType, RowSource, TableSchema};
use stationdb::{Control, Error, Place, Result};

use super::axis::Axis;
use super::contents::Contents;
use super::cursor::{Cursor, Piece, text_rows, texts};
use super::decode::{self, Number, Times};
use super::extended::{self, Lost};
use super::input::{Input, Spread};
use super::tables::{Planned, Table, Values};
use super::time::TimeStep;
use super::types::Kind;
use crate::numbered;

/// Rows of a batch.
const BATCH_ROWS: u64 = 64 * 1024;
/// Cells of a batch.
const BATCH_CELLS: u64 = 1024 * 1024;
/// Bytes of the file that the rows of a batch are spread over, half of those that are kept.
const BATCH_SPREAD: u64 = 16 * 1024 * 1024;
/// Bytes of a batch and of what it is read from that stay in the cache of a processor, and rows of a
/// batch from which on that matters more than how many batches there are.
const CACHE_BYTES: u64 = 1024 * 1024;
const CACHE_ROWS: u64 = 4 * 1024;
/// Bytes of a value of most columns.
const VALUE_BYTES: u64 = 8;

/// What was read of a column.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// Times between two counts of their column.
    between: u64,
    /// Texts that are not UTF-8.
    replaced: u64,
    /// Extended-precision floats that are others as doubles.
    lost: Lost,
}

/// The rows of the tables of a file.
pub(super) struct TableRows {
    input: Input,
    contents: Contents,
    tables: Vec<Arc<Table>>,
    at: usize,
    /// The next row.
    row: u64,
    /// The places of the parts of channels, and of the imaginary parts of complex ones.
    cursors: HashMap<(usize, usize, bool), Cursor>,
    rows_max: u64,
    first_number: u64,
    /// Columns that have a value beyond the type that they would have otherwise.
    beyond: BTreeSet<String>,
    has_new: bool,
    told: BTreeMap<String, Told>,
    /// What doubles lose of the values of the column that is read.
    lost: Lost,
}

impl TableRows {
    pub(super) fn new(input: Input, contents: Contents, tables: Vec<Table>) -> Self {
        Self {
            input,
            contents,
            tables: tables.into_iter().map(Arc::new).collect(),
            at: 0,
            row: 0,
            cursors: HashMap::new(),
            rows_max: 1,
            first_number: 0,
            beyond: BTreeSet::new(),
            has_new: false,
            told: BTreeMap::new(),
            lost: Lost::default(),
        }
    }

    /// Begins with a table; `false` if there is none with this number.
    pub(super) fn select(&mut self, at: usize) -> bool {
        self.at = at;
        self.beyond.clear();
        self.first_number = 0;
        self.rewind();
        let Some(table) = self.tables.get(at) else { return false };
        let columns = table.columns.len().max(1) as u64;
        let objects: Vec<usize> =
            table.columns.iter().filter_map(|planned| planned.values.object()).collect();
        // Values of small chunks are read from blocks that a batch must not outgrow.
        let layouts = self.contents.layouts.all.iter();
        let spread = layouts
            .filter(|layout| objects.iter().any(|object| layout.slot(*object, 0).is_some()))
            .map(super::layout::Layout::bytes_per_row)
            .max();
        let spread = spread.unwrap_or(1).max(1);
        let by_spread = BATCH_SPREAD / spread;
        let by_cache = (CACHE_BYTES / (spread + VALUE_BYTES * columns)).max(CACHE_ROWS);
        let rows = [BATCH_ROWS, BATCH_CELLS / columns, by_spread, by_cache].into_iter().min();
        self.rows_max = rows.unwrap_or(1).max(1);
        self.input.keep(2 * self.rows_max * spread, columns);
        true
    }

    pub(super) fn table(&self) -> Option<&Table> {
        self.tables.get(self.at).map(Arc::as_ref)
    }

    pub(super) fn table_count(&self) -> usize {
        self.tables.len()
    }

    fn rewind(&mut self) {
        self.row = 0;
        self.cursors.clear();
        self.told.clear();
        self.has_new = false;
    }

    /// The rows of the next batch: fewer where texts are long.
    fn batch_rows(&mut self, table: &Table) -> Result<u64> {
        let mut rows = self.rows_max.min(table.len - self.row);
        for planned in &table.columns {
            if let Values::Part { object, part, kind: Kind::Text } = planned.values {
                let cursor = self.cursors.get(&(object, part, false)).copied().unwrap_or_default();
                rows = text_rows(
                    &mut self.input,
                    &self.contents.layouts,
                    cursor,
                    (object, part),
                    rows,
                )
                .map_err(|error| at_cell(error, self.row, &planned.column.name))?;
            }
        }
        Ok(rows)
    }

    fn next(&mut self, schema: &TableSchema) -> Result<Option<RecordBatch>> {
        let Some(table) = self.tables.get(self.at).cloned() else { return Ok(None) };
        if self.row >= table.len {
            return Ok(None);
        }
        let rows = self.batch_rows(&table)?;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        let index = schema.column(schema.index())?;
        let is_own = |planned: &Planned| planned.column.name == index.name;
        if is_numbered(index) && !table.columns.iter().any(is_own) {
            fields.push(Field::new(&index.name, arrow_type(DataType::Int64), false));
            arrays.push(numbered::numbers(self.first_number + self.row, rows as usize));
        }
        for planned in &table.columns {
            let name = &planned.column.name;
            let wanted = schema.position(name).and_then(|at| schema.column(at));
            let data_type = match wanted {
                Ok(column) => column.data_type,
                // A table that exists may have another index.
                Err(_) if planned.values.object().is_none() => continue,
                Err(error) => return Err(error),
            };
            let array = self
                .array(planned, data_type, rows)
                .map_err(|error| at_cell(error, self.row, name))?;
            let lost = std::mem::take(&mut self.lost);
            if lost != Lost::default() {
                self.told(planned).lost += lost;
            }
            fields.push(Field::new(name, array.data_type().clone(), false));
            arrays.push(array);
        }
        self.row += rows;
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(Some).map_err(|error| {
            Error::invalid("the channels of the TDMS file do not fit together").with_source(error)
        })
    }

    /// The next rows of a column.
    fn array(&mut self, planned: &Planned, wanted: DataType, rows: u64) -> Result<ArrayRef> {
        let count = rows as usize;
        Ok(match &planned.values {
            Values::Numbers => numbered::numbers(self.first_number + self.row, count),
            Values::Axis(axis @ Axis::Numbers { .. }) => {
                Arc::new(Float64Array::from(axis.numbers(self.row, count)))
            }
            Values::Axis(axis @ Axis::Time { .. }) => {
                ticks::array_of(DataType::TimestampNanos, axis.nanos(self.row, count).into(), None)
            }
            Values::Axis(axis @ Axis::Nanos { .. }) => {
                Arc::new(Int64Array::from(axis.nanos(self.row, count)))
            }
            Values::Scaled { object, parts, scaling } => {
                let mut inputs = Vec::new();
                for part in scaling.parts() {
                    let kind = parts.get(part).map_or(Kind::Void, |part| part.kind);
                    inputs.push(self.numbers::<f64>((*object, part), (kind, None), rows)?);
                }
                let values = ScalarBuffer::<f64>::from(scaling.apply(inputs));
                Arc::new(Float64Array::new(values, None))
            }
            Values::Half { object, kind, is_imaginary } => {
                let half = (*kind, Some(*is_imaginary));
                match kind {
                    Kind::C32 => self.primitive::<Float32Type>((*object, 0), half, rows)?,
                    _ => self.primitive::<Float64Type>((*object, 0), half, rows)?,
                }
            }
            Values::Part { object, part, kind } => {
                let (key, whole) = ((*object, *part), (*kind, None));
                match kind {
                    Kind::I8 | Kind::I16 | Kind::I32 | Kind::U8 | Kind::U16 => {
                        self.primitive::<Int32Type>(key, whole, rows)?
                    }
                    Kind::U32 | Kind::I64 => self.primitive::<Int64Type>(key, whole, rows)?,
                    Kind::U64 => self.unsigned(planned, key, wanted, rows)?,
                    Kind::F32 | Kind::C32 => self.primitive::<Float32Type>(key, whole, rows)?,
                    Kind::F64 | Kind::C64 | Kind::Extended(_) => {
                        self.primitive::<Float64Type>(key, whole, rows)?
                    }
                    Kind::Bool => {
                        let mut values = Vec::with_capacity(count);
                        self.pieces(key, false, rows, &mut |input, piece| {
                            input.values(piece.spread(0, 1), &mut |bytes| {
                                decode::bools(bytes, piece.stride(), &mut values);
                                Ok(())
                            })
                        })?;
                        Arc::new(BooleanArray::from(values))
                    }
                    Kind::Time => self.times(planned, key, rows)?,
                    Kind::Text | Kind::Void => self.texts(planned, key, rows)?,
                }
            }
        })
    }

    /// Passes the pieces with the next rows of a part of a channel to `each`.
    fn pieces(
        &mut self,
        (object, part): (usize, usize),
        is_imaginary: bool,
        rows: u64,
        each: &mut dyn FnMut(&mut Input, Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        let key = (object, part, is_imaginary);
        let mut cursor = self.cursors.get(&key).copied().unwrap_or_default();
        let mut left = rows;
        while left > 0 {
            let piece = cursor.next(&self.contents.layouts, (object, part), left)?;
            each(&mut self.input, piece)?;
            left -= piece.count;
        }
        self.cursors.insert(key, cursor);
        Ok(())
    }

    /// The next numbers of a part of a channel; of complex ones the real or the imaginary part.
    fn numbers<T: Number>(
        &mut self,
        key: (usize, usize),
        (kind, half): (Kind, Option<bool>),
        rows: u64,
    ) -> Result<MutableBuffer> {
        let mut values = MutableBuffer::from_len_zeroed(rows as usize * size_of::<T>());
        let (mut from, mut lost) = (0, Lost::default());
        let size = kind.size().unwrap_or_default();
        let (before, size) = match half {
            None => (0, size),
            Some(is_imaginary) => (if is_imaginary { size / 2 } else { 0 }, size / 2),
        };
        self.pieces(key, half == Some(true), rows, &mut |input, piece| {
            let (stride, is_big, bit) = (piece.stride(), piece.layout.is_big, piece.slot.bit);
            let spread: Spread = piece.spread(before as u64, size);
            if stride == size && bit.is_none() && decode::is_same::<T>(kind, is_big) {
                let end = from + piece.count as usize;
                let bytes = values.as_slice_mut().get_mut(from * size..end * size);
                from = end;
                return input.copy(spread.at, bytes.unwrap_or_default());
            }
            input.values(spread, &mut |bytes| {
                let end = from + decode::count(bytes, stride);
                let out = values.typed_data_mut::<T>().get_mut(from..end).unwrap_or_default();
                match bit {
                    None if matches!(kind, Kind::Extended(_)) => {
                        extended::numbers(size, is_big, bytes, stride, out, &mut lost);
                    }
                    None => decode::numbers(kind, is_big, bytes, stride, out),
                    Some(bit) => decode::bits((kind, bit), is_big, bytes, stride, out),
                }
                from = end;
                Ok(())
            })
        })?;
        self.lost += lost;
        Ok(values)
    }

    fn primitive<P: ArrowPrimitiveType<Native: Number>>(
        &mut self,
        key: (usize, usize),
        what: (Kind, Option<bool>),
        rows: u64,
    ) -> Result<ArrayRef> {
        let values = self.numbers::<P::Native>(key, what, rows)?;
        Ok(Arc::new(PrimitiveArray::<P>::new(ScalarBuffer::from(values), None)))
    }

    /// Unsigned 64-bit numbers: as signed ones, or as texts where one does not fit.
    fn unsigned(
        &mut self,
        planned: &Planned,
        key: (usize, usize),
        wanted: DataType,
        rows: u64,
    ) -> Result<ArrayRef> {
        // The bits of numbers that do not fit make negative ones.
        let values: ScalarBuffer<i64> = self.numbers::<i64>(key, (Kind::I64, None), rows)?.into();
        if wanted == DataType::String {
            let texts = values.iter().map(|value| (*value as u64).to_string());
            return Ok(Arc::new(StringArray::from_iter_values(texts)));
        }
        if let Some(at) = values.iter().position(|value| *value < 0) {
            self.note_beyond(planned);
            let value = values.get(at).map_or(0, |value| *value as u64);
            return Err(Error::invalid(format!(
                "the value {value} does not fit INT64; give the column the type STRING"
            ))
            .at(Place::Cell { row: self.row + at as u64, column: planned.column.name.clone() }));
        }
        Ok(Arc::new(Int64Array::new(values, None)))
    }

    fn times(&mut self, planned: &Planned, key: (usize, usize), rows: u64) -> Result<ArrayRef> {
        let is_coarse = self.beyond.contains(&planned.column.name);
        let step = if is_coarse { TimeStep::Micros } else { TimeStep::Nanos };
        let mut times = Times::default();
        self.pieces(key, false, rows, &mut |input, piece| {
            input.values(piece.spread(0, 16), &mut |bytes| {
                decode::times(piece.layout.is_big, bytes, piece.stride(), step, &mut times);
                Ok(())
            })
        })?;
        if let Some((at, moment)) = times.beyond {
            self.note_beyond(planned);
            return Err(Error::invalid(format!(
                "the time {} is outside of the years of a column of times",
                moment.text()
            ))
            .at(Place::Cell { row: self.row + at as u64, column: planned.column.name.clone() }));
        }
        self.told(planned).between += times.between;
        let data_type =
            if is_coarse { DataType::TimestampMicros } else { DataType::TimestampNanos };
        Ok(ticks::array_of(data_type, times.counts.into(), None))
    }

    fn texts(&mut self, planned: &Planned, key: (usize, usize), rows: u64) -> Result<ArrayRef> {
        let mut builder = StringBuilder::new();
        let mut replaced = 0;
        self.pieces(key, false, rows, &mut |input, piece| {
            texts(input, piece, &mut |bytes| {
                let text = String::from_utf8_lossy(bytes);
                replaced += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
                builder.append_value(text);
            })
        })?;
        self.told(planned).replaced += replaced;
        Ok(Arc::new(builder.finish()))
    }

    fn told(&mut self, planned: &Planned) -> &mut Told {
        self.told.entry(planned.column.name.clone()).or_default()
    }

    fn note_beyond(&mut self, planned: &Planned) {
        self.has_new = self.beyond.insert(planned.column.name.clone());
    }
}

fn at_cell(error: Error, row: u64, column: &str) -> Error {
    if error.place().is_some() {
        return error;
    }
    error.at(Place::Cell { row, column: column.to_owned() })
}

impl RowSource for TableRows {
    fn columns(&mut self) -> Result<Vec<Column>> {
        let columns = self.table().map(|table| &table.columns[..]).unwrap_or_default();
        let column = |planned: &Planned| {
            let mut column = planned.column.clone();
            if self.beyond.contains(&column.name) {
                column.data_type = match column.data_type {
                    DataType::TimestampNanos => DataType::TimestampMicros,
                    _ => DataType::String,
                };
            }
            column
        };
        Ok(columns.iter().map(column).collect())
    }

    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>> {
        control.check()?;
        self.next(schema)
    }

    fn number_from(&mut self, row: u64) {
        self.first_number = row;
    }

    fn row_count(&self) -> Option<u64> {
        self.table().map(|table| table.len)
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.table().map(|table| table.properties.clone()).unwrap_or_default()
    }

    fn note(&self, name: &str) -> ColumnNote {
        let columns = self.table().map(|table| &table.columns[..]).unwrap_or_default();
        let planned = columns.iter().find(|planned| planned.column.name == name);
        let mut note = planned.map(|planned| planned.note.clone()).unwrap_or_default();
        if self.beyond.contains(name) {
            note.why.push_str(", and some are beyond the type that is usual");
        }
        note
    }

    fn warnings(&self) -> Vec<String> {
        let Some(table) = self.table() else { return Vec::new() };
        let mut warnings = table.warnings.clone();
        for (name, told) in &self.told {
            warnings.append(&mut told.lost.told(&format!("column {name:?}")));
            if told.between > 0 {
                let unit = if self.beyond.contains(name) { "micro" } else { "nano" };
                warnings.push(format!(
                    "{} times of column {name:?} are between two {unit}seconds and are rounded",
                    told.between
                ));
            }
            if told.replaced > 0 {
                warnings.push(format!(
                    "{} texts of column {name:?} have bytes that are not UTF-8, which are replaced \
                     by U+FFFD",
                    told.replaced
                ));
            }
        }
        warnings
    }

    /// Whether a value was found beyond the type of its column, which then gets a wider one.
    fn begin_again(&mut self) -> bool {
        let has_new = self.has_new;
        self.rewind();
        has_new
    }
}
