//! Values of numeric columns as levels, and the minimum and maximum of a set of rows.

use crate::arrow::array::Array;
use crate::columnar::column_slice::{self, Level};
use crate::columnar::kernels::Extremes;
use crate::error::{Error, Result};

/// The extremes of a set of rows. Of equal values the one of smaller rank wins, so the order of
/// offers does not matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best<P, R = u64> {
    pub(super) min: Option<(Level, R, P)>,
    pub(super) max: Option<(Level, R, P)>,
}

impl<P: Copy, R: Copy + Ord> Best<P, R> {
    /// Offers both extremes of some rows; `of` has the ranks and places of their positions.
    pub(super) fn offer(&mut self, found: &Extremes<Level>, of: impl Fn(usize) -> (R, P)) {
        let ((min_rank, min_place), (max_rank, max_place)) = (of(found.min_at), of(found.max_at));
        self.offer_min(found.min, min_rank, min_place);
        self.offer_max(found.max, max_rank, max_place);
    }

    pub(super) fn offer_min(&mut self, level: Level, rank: R, place: P) {
        if self.min.is_none_or(|(best, at, _)| level < best || (level == best && rank < at)) {
            self.min = Some((level, rank, place));
        }
    }

    pub(super) fn offer_max(&mut self, level: Level, rank: R, place: P) {
        if self.max.is_none_or(|(best, at, _)| level > best || (level == best && rank < at)) {
            self.max = Some((level, rank, place));
        }
    }
}

/// The extremes of a part of a numeric array, with positions counted from `from`.
pub(super) fn array_extremes(
    array: &dyn Array,
    from: usize,
    len: usize,
) -> Result<Option<Extremes<Level>>> {
    column_slice::array_extremes(array, from, len).ok_or_else(|| {
        let other = array.data_type();
        Error::invalid(format!("a column of type {other} cannot be decimated"))
    })
}

/// The number of the equal-width span that contains a value. Every method cuts spans by this rule.
pub(super) fn span_of(value: Level, least: Level, greatest: Level, count: u64) -> u64 {
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

/// Appends the rows of one interval in order of rank, each once. Of several entries with one rank,
/// the first that was added is kept.
pub(super) fn flush<T>(rows: &mut Vec<(u64, T)>, out: &mut Vec<T>) {
    rows.sort_by_key(|(rank, _)| *rank);
    rows.dedup_by_key(|(rank, _)| *rank);
    out.extend(rows.drain(..).map(|(_, row)| row));
}
