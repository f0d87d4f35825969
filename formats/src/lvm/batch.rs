//! The cells of some rows, and the columns of a table that they become.

use std::collections::HashSet;
use std::sync::Arc;

use stationdb::arrow::array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, TimestampNanosecondArray,
};
use stationdb::tables::readers::{TextColumn, UTC, Word, parse_f32, parse_word, shortened};
use stationdb::tables::{Column, DataType, TableSchema};
use stationdb::{Error, Place, Result};

use crate::instrument_text::{number, with_point};
use crate::numbered;

/// Rows, cells and bytes of one batch.
const ROWS: usize = 16 * 1024;
const CELLS: usize = 1024 * 1024;
const BYTES: usize = 8 * 1024 * 1024;

/// Where a column of the table comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A cell of a row.
    Cell(usize),
    Time,
    X,
    Segment,
    RowNumbers,
    /// The file has none; the column is left out.
    Absent,
}

/// Some rows.
#[derive(Debug, Default)]
pub(super) struct Batch {
    text: String,
    /// The end of each cell in the text, row by row.
    ends: Vec<u32>,
    width: usize,
    pub(super) lines: Vec<u64>,
    pub(super) xs: Vec<f64>,
    pub(super) times: Vec<Option<i64>>,
    pub(super) segments: Vec<i32>,
}

/// How cells are read.
pub(super) struct Reading<'r> {
    pub(super) comma: bool,
    pub(super) null_texts: Option<&'r HashSet<String>>,
    pub(super) first_row: u64,
}

impl Batch {
    /// No rows, of so many cells.
    pub(super) fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.lines.len() >= ROWS || self.ends.len() >= CELLS || self.text.len() >= BYTES
    }

    pub(super) fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        // A batch is full before that: a line has fewer bytes.
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    /// Takes the cells of the last row away.
    pub(super) fn undo(&mut self) {
        self.ends.truncate(self.ends.len().saturating_sub(self.width));
        self.text.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }

    fn get(&self, row: usize, cell: usize) -> Option<&str> {
        let at = row * self.width + cell;
        let end = *self.ends.get(at)? as usize;
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)? as usize,
            None => 0,
        };
        self.text.get(start..end).filter(|text| !text.trim().is_empty())
    }

    fn cells(&self, column: &Column, cell: usize, reading: &Reading<'_>) -> Result<ArrayRef> {
        let text = |row: usize| {
            let text = self.get(row, cell)?;
            let is_null = reading.null_texts.is_some_and(|texts| texts.contains(text.trim()));
            (!is_null).then_some(text)
        };
        let fault = |row: usize, text: Option<&str>| {
            let what = match text {
                None => format!("column {:?} is not NULLABLE, and its cell is empty", column.name),
                Some(text) => {
                    let advice = if text.contains(',') && !reading.comma {
                        "; if it has a decimal comma, set decimalSeparator to \",\""
                    } else {
                        "; if the text means null, name it in nullTexts; if rows with other \
                         columns were appended, put them into a file of their own"
                    };
                    format!("{:?} is not a {} value{advice}", shortened(text), column.data_type)
                }
            };
            let line = self.lines.get(row).copied().unwrap_or_default();
            Error::invalid(what).at(Place::Line { line, column: Some(column.name.clone()) })
        };
        let comma = reading.comma;
        let texts = TextColumn { column, rows: self.lines.len(), text: &text, fault: &fault };
        match column.data_type {
            DataType::String => texts.texts(texts.bytes()),
            DataType::Float64 => texts.words(&|text| number(text, comma).map(Word::word)),
            DataType::Float32 => texts.words(&|text| {
                let wide = number(text, comma)?;
                if !wide.is_finite() {
                    return Some((wide as f32).word());
                }
                // Rounded once.
                parse_f32(&with_point(text, comma)).map(Word::word)
            }),
            other => texts.words(&|text| parse_word(other, text.trim())),
        }
    }

    /// The columns of the table that the file has.
    ///
    /// # Errors
    /// `InvalidArgument` with line and column for a cell that does not fit.
    pub(super) fn build(
        self,
        schema: &TableSchema,
        plan: &[Source],
        reading: &Reading<'_>,
    ) -> Result<RecordBatch> {
        let mut out: Vec<(&str, ArrayRef, bool)> = Vec::with_capacity(plan.len());
        for (column, source) in schema.columns().iter().zip(plan) {
            let array: ArrayRef = match source {
                Source::Absent => continue,
                Source::Cell(cell) => self.cells(column, *cell, reading)?,
                Source::Time => {
                    Arc::new(TimestampNanosecondArray::from(self.times.clone()).with_timezone(UTC))
                }
                Source::X => Arc::new(Float64Array::from(self.xs.clone())),
                Source::Segment => Arc::new(Int32Array::from(self.segments.clone())),
                Source::RowNumbers => numbered::numbers(reading.first_row, self.lines.len()),
            };
            out.push((&column.name, array, true));
        }
        RecordBatch::try_from_iter_with_nullable(out)
            .map_err(|error| Error::invalid("the rows do not fit the table").with_source(error))
    }
}
