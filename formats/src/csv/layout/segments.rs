//! The segments of a file of an oscilloscope: recordings one after the other, each with the time of
//! its trigger.

use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float64Array, Int64Array};
use stationdb::arrow::buffer::ScalarBuffer;
use stationdb::tables::readers::ticks;
use stationdb::tables::{Column, ColumnType, DataType};
use stationdb::{Error, Result};

use super::lines::Fields;
use crate::lines::invalid;
use crate::moment;
use crate::options::ImportOptions;

/// The trigger of a segment.
#[derive(Clone, Debug, Default, PartialEq)]
struct Trigger {
    /// Milliseconds since 1970 UTC.
    time: Option<i64>,
    /// Seconds since the trigger of the first segment.
    since_first: Option<f64>,
}

/// The segments of a file, of equal lengths.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::csv) struct Segments {
    rows: u64,
    triggers: Vec<Trigger>,
}

/// What a column says of the segment of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::csv) enum SegmentColumn {
    Number,
    Time,
    SinceFirst,
}

/// Whether a line has the trigger of a segment, such as `#2,31-Jan-2024 14:05:10,0.5`.
fn is_trigger(line: &Fields) -> bool {
    let first = line.all.first().map(String::as_str).unwrap_or_default();
    first
        .strip_prefix('#')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether a line is one of the list of segments.
pub(super) fn is_of_list(line: &Fields) -> bool {
    is_trigger(line) || line.all.first().is_some_and(|first| first == "Segment")
}

impl Segments {
    /// The segments that the lines above the names list; `None` for less than two.
    ///
    /// # Errors
    /// `InvalidArgument` with the line for a list that has not as many segments as it says.
    pub(super) fn of_header(above: &[Fields], options: &ImportOptions) -> Result<Option<Self>> {
        let Some(line) =
            above.iter().find(|line| line.all.first().is_some_and(|f| f == "Segments"))
        else {
            return Ok(None);
        };
        let number = |at: usize| line.all.get(at).and_then(|text| text.parse::<u64>().ok());
        let (Some(count), Some(rows)) = (number(1), number(3).filter(|rows| *rows > 0)) else {
            return Ok(None);
        };
        if count < 2 {
            return Ok(None);
        }
        let trigger = |line: &Fields| {
            let text = line.all.get(1).map(String::as_str).unwrap_or_default();
            let time = moment::parse_told(text, options.date_order);
            let time =
                time.and_then(|time| time.count(DataType::Timestamp, options.zone, true).ok());
            let since_first = line.all.get(2).and_then(|text| text.parse().ok());
            Trigger { time, since_first }
        };
        let triggers: Vec<Trigger> =
            above.iter().filter(|line| is_trigger(line)).map(trigger).collect();
        if triggers.len() as u64 != count {
            let what = format!(
                "the file has {count} segments, and lists the triggers of {}; set preset to NONE \
                 to read it as plain CSV",
                triggers.len()
            );
            return Err(invalid(line.number, what));
        }
        Ok(Some(Self { rows, triggers }))
    }

    pub(super) fn told(&self) -> String {
        format!(
            "the {} segments of {} rows follow each other: \"segment\" has their numbers, and \
             \"trigger_time\" and \"trigger_offset\" their triggers",
            self.triggers.len(),
            self.rows
        )
    }

    /// The columns, with names that are not among `names`.
    pub(in crate::csv) fn columns(&self, names: &[String]) -> Vec<(SegmentColumn, Column)> {
        let free = |base: &str| {
            let others = (2u64..).map(|at| format!("{base}_{at}"));
            let mut free = std::iter::once(base.to_owned()).chain(others);
            free.find(|name| !names.contains(name)).unwrap_or_default()
        };
        let column = |base: &str, data_type| {
            Column::new(free(base), data_type).column_type(ColumnType::Nullable)
        };
        let mut offset = column("trigger_offset", DataType::Float64);
        offset.properties.insert(Column::UNIT.to_owned(), "s".to_owned());
        vec![
            (SegmentColumn::Number, column("segment", DataType::Int64)),
            (SegmentColumn::Time, column("trigger_time", DataType::Timestamp)),
            (SegmentColumn::SinceFirst, offset),
        ]
    }

    /// The values of `count` rows, the first of which is `row` of the file.
    ///
    /// # Errors
    /// `InvalidArgument` for a row behind the last segment.
    pub(in crate::csv) fn values(
        &self,
        what: SegmentColumn,
        row: u64,
        count: usize,
    ) -> Result<ArrayRef> {
        let segments = (row..row.saturating_add(count as u64)).map(|row| row / self.rows);
        let triggers = segments.clone().map(|at| {
            let found = usize::try_from(at).ok().and_then(|at| self.triggers.get(at));
            found.ok_or_else(|| {
                Error::invalid(format!(
                    "the file has more rows than the {} of each of its {} segments; set preset to \
                     NONE to read it as plain CSV",
                    self.rows,
                    self.triggers.len()
                ))
            })
        });
        let triggers = triggers.collect::<Result<Vec<&Trigger>>>()?;
        Ok(match what {
            SegmentColumn::Number => {
                let numbers = segments.map(|at| i64::try_from(at).map_or(i64::MAX, |at| at + 1));
                Arc::new(Int64Array::from_iter_values(numbers))
            }
            SegmentColumn::Time => {
                let times: Vec<i64> =
                    triggers.iter().map(|trigger| trigger.time.unwrap_or_default()).collect();
                let valid: Vec<bool> =
                    triggers.iter().map(|trigger| trigger.time.is_some()).collect();
                ticks::array_of(DataType::Timestamp, ScalarBuffer::from(times), Some(valid.into()))
            }
            SegmentColumn::SinceFirst => Arc::new(Float64Array::from_iter(
                triggers.iter().map(|trigger| trigger.since_first),
            )),
        })
    }
}
