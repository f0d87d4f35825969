//! Decimated reads: LOSSY, MAX_MIN and ENTRY_EXIT over any numeric axis.
//!
//! What must hold: the answer is that of a full scan, row for row, whichever way it was found. Over the index column of
//! runs that do not overlap it comes from summaries ([`ranked`]). Over that of runs that overlap each run is read once
//! ([`overlapping`]). Otherwise the rows pass by in order of x ([`stream`]).

mod answer;
mod intervals;
mod overlapping;
mod ranked;
mod stream;

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType as Arrow, Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};

use super::fetch::fetch_rows;
use super::kernels::{Extremes, Sample, extremes, extremes_where};
use super::predicate::Predicates;
use super::view::TableView;
use crate::error::{Error, Result};
use crate::model::tables::data::{DecimationDistribution, DecimationMethod};
use crate::value::Control;

/// A checked decimation.
#[derive(Clone, Debug)]
pub struct Decimation {
    /// Position of the axis column.
    pub x: usize,
    /// Positions of the columns whose extremes are kept.
    pub y: Vec<usize>,
    /// Number of intervals, at least one.
    pub intervals: u64,
    /// The method.
    pub method: DecimationMethod,
    /// How intervals are cut.
    pub distribution: DecimationDistribution,
    /// Memory that a sort by x may use.
    pub memory_bytes: usize,
}

impl Decimation {
    fn is_equal_width(&self) -> bool {
        self.distribution == DecimationDistribution::EqualWidth && self.method != DecimationMethod::Lossy
    }
}

/// The kept rows with these columns, in order of x.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub fn decimate(
    view: &Arc<TableView>,
    decimation: &Decimation,
    predicates: &Arc<Predicates>,
    columns: &[usize],
    control: &Control,
) -> Result<RecordBatch> {
    if decimation.x == view.schema.index() && view.overlapping_runs() > 0 {
        return fetch_rows(view, &overlapping::keep(view, decimation, predicates, control)?, columns, control);
    }
    match ranked::keep(view, decimation, predicates, control)? {
        Some(kept) => answer::rows(view, &kept, columns, control),
        None => fetch_rows(view, &stream::keep(view, decimation, predicates, control)?, columns, control),
    }
}

/// A number that orders like the values of a numeric column.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Level {
    Int(i64),
    Float(f64),
}

/// The extremes of some rows: smaller value first, then smaller rank, so that the order of offers does not matter.
#[derive(Clone, Copy, Debug)]
struct Best<P, R = u64> {
    min: Option<(Level, R, P)>,
    max: Option<(Level, R, P)>,
}

impl<P: Copy, R: Copy + Ord> Best<P, R> {
    fn offer_min(&mut self, level: Level, rank: R, place: P) {
        if self.min.is_none_or(|(best, at, _)| level < best || (level == best && rank < at)) {
            self.min = Some((level, rank, place));
        }
    }

    fn offer_max(&mut self, level: Level, rank: R, place: P) {
        if self.max.is_none_or(|(best, at, _)| level > best || (level == best && rank < at)) {
            self.max = Some((level, rank, place));
        }
    }
}

fn of_slice<N: Sample>(array: &dyn Array, values: &[N], from: usize, len: usize) -> Option<Extremes<N>> {
    let values = values.get(from..from + len)?;
    if array.null_count() == 0 { extremes(values) } else { extremes_where(values, |at| array.is_valid(from + at)) }
}

/// The extremes of a part of a numeric array, with positions counted from `from`.
fn array_extremes(array: &dyn Array, from: usize, len: usize) -> Result<Option<Extremes<Level>>> {
    fn wrap<N: Copy>(found: Option<Extremes<N>>, level: impl Fn(N) -> Level) -> Option<Extremes<Level>> {
        found.map(|found| Extremes {
            min: level(found.min),
            min_at: found.min_at,
            max: level(found.max),
            max_at: found.max_at,
        })
    }
    let int = |value: i64| Level::Int(value);
    Ok(match array.data_type() {
        Arrow::Int32 => {
            let values = array.as_primitive::<Int32Type>().values();
            wrap(of_slice(array, values, from, len), |value| int(i64::from(value)))
        }
        Arrow::Int64 => wrap(of_slice(array, array.as_primitive::<Int64Type>().values(), from, len), int),
        Arrow::Timestamp(..) => {
            wrap(of_slice(array, array.as_primitive::<TimestampMillisecondType>().values(), from, len), int)
        }
        Arrow::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            wrap(of_slice(array, values, from, len), |value| Level::Float(f64::from(value)))
        }
        Arrow::Float64 => wrap(of_slice(array, array.as_primitive::<Float64Type>().values(), from, len), Level::Float),
        other => return Err(Error::invalid(format!("a column of type {other} cannot be decimated"))),
    })
}

/// The equal span that a value falls into.
fn span_of(value: Level, least: Level, greatest: Level, count: u64) -> u64 {
    let span = match (value, least, greatest) {
        (Level::Int(value), Level::Int(least), Level::Int(greatest)) => {
            let width = (i128::from(greatest) - i128::from(least)).cast_unsigned();
            let offset = (i128::from(value) - i128::from(least)).max(0).cast_unsigned();
            (offset * u128::from(count)).checked_div(width).unwrap_or(0) as u64
        }
        (Level::Float(value), Level::Float(least), Level::Float(greatest)) => {
            // Halved, so that the width of any two finite values is finite.
            let width = greatest / 2.0 - least / 2.0;
            let share = (value / 2.0 - least / 2.0) / width;
            if share.is_finite() { (share * count as f64) as u64 } else { 0 }
        }
        _ => 0,
    };
    span.min(count - 1)
}

/// Appends the rows of one interval: in order of rank, each once, of those of one rank the first that was put in.
fn flush<T>(rows: &mut Vec<(u64, T)>, out: &mut Vec<T>) {
    rows.sort_by_key(|(rank, _)| *rank);
    rows.dedup_by_key(|(rank, _)| *rank);
    out.extend(rows.drain(..).map(|(_, row)| row));
}
