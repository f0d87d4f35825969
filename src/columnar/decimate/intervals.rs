//! Intervals over rows that are in memory together but not merged: where they end, and which rows
//! they keep.

use std::ops::Range;

use super::decimation::Decimation;
use super::extremes::{Best, array_extremes, span_of};
use super::stream::bounds;
use crate::arrow::array::RecordBatch;
use crate::columnar::column_slice::Level;
use crate::columnar::kernels;
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::read::view::{Locator, Run, TableView};
use crate::error::Result;
use crate::model::tables::data::DecimationMethod;
use crate::value::Control;

/// The position of a row in the order of the whole table.
pub(super) type Rank = (i64, Locator);

/// Rows of one run that satisfy the predicates.
pub(super) struct Piece {
    pub run: u32,
    pub keys: Vec<i64>,
    /// The y columns.
    pub batch: RecordBatch,
    pub rows: Vec<u32>,
    /// The first row that was in no window yet.
    pub at: usize,
}

impl Piece {
    pub(super) fn rank(&self, at: usize) -> Option<Rank> {
        Some((*self.keys.get(at)?, Locator { run: self.run, row: *self.rows.get(at)? }))
    }
}

/// The rows of a window that are in one piece.
pub(super) struct WindowRows<'a> {
    pub piece: &'a Piece,
    pub rows: Range<usize>,
}

/// Where intervals end.
#[derive(Clone)]
pub(super) enum Cuts {
    /// At these ranks, counted from 0, in descending order.
    Rows(Vec<u64>),
    /// Where the next span of equal width begins.
    Spans { least: i64, greatest: i64, count: u64 },
}

impl Cuts {
    pub(super) fn new(
        view: &TableView,
        decimation: &Decimation,
        predicates: &Predicates,
        row_count: u64,
        control: &Control,
    ) -> Result<Self> {
        if decimation.method == DecimationMethod::Lossy {
            let mut ranks = kernels::lossy(row_count, decimation.intervals);
            ranks.reverse();
            return Ok(Self::Rows(ranks));
        }
        if decimation.is_equal_width() {
            let ranges = view.runs().iter().map(Run::index_range);
            // The least or the greatest index value may be that of a deleted row.
            let range = if predicates.is_empty() && !view.has_dead() {
                ranges.reduce(|(low, high), (least, greatest)| (low.min(least), high.max(greatest)))
            } else {
                match bounds(view, decimation.x, predicates, control)? {
                    Some((Level::Int(least), Level::Int(greatest))) => Some((least, greatest)),
                    _ => None,
                }
            };
            let count = decimation.intervals;
            return Ok(range.map_or(Self::Rows(Vec::new()), |(least, greatest)| Self::Spans {
                least,
                greatest,
                count,
            }));
        }
        let count = decimation.intervals.min(row_count);
        Ok(Self::Rows(
            (1..count)
                .rev()
                .map(|number| kernels::interval(row_count, count, number).start)
                .collect(),
        ))
    }

    /// The least index value after the span that contains `key`; the inverse of [`span_of`].
    fn span_end(least: i64, greatest: i64, count: u64, key: i64) -> i128 {
        let width = (i128::from(greatest) - i128::from(least)).cast_unsigned();
        let number = span_of(Level::Int(key), Level::Int(least), Level::Int(greatest), count) + 1;
        if number >= count || width == 0 {
            return i128::MAX;
        }
        i128::from(least) + (u128::from(number) * width).div_ceil(u128::from(count)).cast_signed()
    }
}

/// One pass over the rows, for some of the y columns.
pub(super) struct Pass {
    cuts: Cuts,
    is_lossy: bool,
    /// Whether the ends of intervals are kept.
    keeps_ends: bool,
    /// The rank of the next row.
    rank: u64,
    /// Where the span of the current interval ends; `None` before the first row.
    span_end: Option<i128>,
    bests: Vec<Best<(), Rank>>,
    ends: Option<(Rank, Rank)>,
    /// The rows that closed intervals keep.
    pub kept: Vec<Rank>,
}

impl Pass {
    pub(super) fn new(cuts: Cuts, decimation: &Decimation, columns: usize, is_first: bool) -> Self {
        Self {
            cuts,
            is_lossy: decimation.method == DecimationMethod::Lossy,
            keeps_ends: is_first && decimation.method == DecimationMethod::EntryExit,
            rank: 0,
            span_end: None,
            bests: vec![Best { min: None, max: None }; columns],
            ends: None,
            kept: Vec::new(),
        }
    }

    /// Whether an interval ends before the next row, which has this index value.
    fn is_cut(&mut self, key: i64) -> bool {
        match &mut self.cuts {
            Cuts::Rows(ranks) => ranks.pop_if(|rank| *rank == self.rank).is_some(),
            Cuts::Spans { least, greatest, count } => {
                if self.span_end.is_some_and(|end| i128::from(key) < end) {
                    return false;
                }
                let is_first = self.span_end.is_none();
                self.span_end = Some(Cuts::span_end(*least, *greatest, *count, key));
                !is_first
            }
        }
    }

    /// Whether an interval may end among the rows of a window.
    fn may_cut(&self, sources: &[WindowRows<'_>], row_count: u64) -> bool {
        match &self.cuts {
            Cuts::Rows(ranks) => ranks.last().is_some_and(|rank| *rank < self.rank + row_count),
            Cuts::Spans { .. } => {
                let last = |source: &WindowRows<'_>| {
                    source.piece.keys.get(source.rows.end.checked_sub(1)?).copied()
                };
                let greatest =
                    sources.iter().filter(|source| !source.rows.is_empty()).filter_map(last).max();
                self.span_end
                    .is_none_or(|end| greatest.is_some_and(|greatest| i128::from(greatest) >= end))
            }
        }
    }

    /// Takes the rows of the next window.
    ///
    /// If no interval can end in the window, each source is offered whole. Otherwise the rows are
    /// walked in order of the index. Each source is sorted, so its rows of one interval are a
    /// contiguous range; the range grows row by row and is offered when the interval closes. What
    /// must hold: sources are in order of the runs, because rows with equal index values keep the
    /// order of their sources.
    pub(super) fn take(&mut self, sources: &[WindowRows<'_>]) -> Result<()> {
        let row_count: usize = sources.iter().map(|source| source.rows.len()).sum();
        if row_count == 0 {
            return Ok(());
        }
        if !self.may_cut(sources, row_count as u64) {
            for source in sources {
                self.offer(source, source.rows.clone())?;
            }
            self.rank += row_count as u64;
            return Ok(());
        }
        let mut order: Vec<(i64, u32)> = Vec::with_capacity(row_count);
        for (number, source) in (0u32..).zip(sources) {
            let keys = source.piece.keys.get(source.rows.clone()).unwrap_or_default();
            order.extend(keys.iter().map(|key| (*key, number)));
        }
        // Stable, so equal keys keep the order of the sources. Fast, because the rows of each
        // source are already sorted.
        order.sort_by_key(|(key, _)| *key);
        // For each source its rows of the current interval, and which sources have any.
        let mut open: Vec<Range<usize>> =
            sources.iter().map(|source| source.rows.start..source.rows.start).collect();
        let mut touched: Vec<u32> = Vec::new();
        for (key, number) in order {
            if self.is_cut(key) {
                self.offer_open(sources, &mut open, &mut touched)?;
                self.close();
                if self.is_lossy {
                    let next = open.get(number as usize).zip(sources.get(number as usize));
                    self.kept.extend(next.and_then(|(rows, source)| source.piece.rank(rows.end)));
                }
            }
            if let Some(rows) = open.get_mut(number as usize) {
                if rows.start == rows.end {
                    touched.push(number);
                }
                rows.end += 1;
            }
            self.rank += 1;
        }
        self.offer_open(sources, &mut open, &mut touched)
    }

    fn offer_open(
        &mut self,
        sources: &[WindowRows<'_>],
        open: &mut [Range<usize>],
        touched: &mut Vec<u32>,
    ) -> Result<()> {
        for number in touched.drain(..) {
            if let (Some(rows), Some(source)) =
                (open.get_mut(number as usize), sources.get(number as usize))
            {
                self.offer(source, rows.clone())?;
                rows.start = rows.end;
            }
        }
        Ok(())
    }

    /// Offers rows of one piece to the current interval.
    fn offer(&mut self, source: &WindowRows<'_>, rows: Range<usize>) -> Result<()> {
        let piece = source.piece;
        if self.keeps_ends
            && let (Some(first), Some(last)) =
                (piece.rank(rows.start), rows.end.checked_sub(1).and_then(|at| piece.rank(at)))
            && !rows.is_empty()
        {
            let (least, greatest) = self.ends.unwrap_or((first, last));
            self.ends = Some((least.min(first), greatest.max(last)));
        }
        for (best, array) in self.bests.iter_mut().zip(piece.batch.columns()) {
            let Some(found) = array_extremes(array, rows.start, rows.len())? else { continue };
            if let Some(rank) = piece.rank(rows.start + found.min_at) {
                best.offer_min(found.min, rank, ());
            }
            if let Some(rank) = piece.rank(rows.start + found.max_at) {
                best.offer_max(found.max, rank, ());
            }
        }
        Ok(())
    }

    /// Closes the current interval, and keeps its rows.
    pub(super) fn close(&mut self) {
        let from = self.kept.len();
        if let Some((first, last)) = self.ends.take() {
            self.kept.extend([first, last]);
        }
        for best in &mut self.bests {
            self.kept.extend(best.min.iter().chain(&best.max).map(|(_, rank, ())| *rank));
            *best = Best { min: None, max: None };
        }
        // A row is kept once, however many columns keep it: there may be as many intervals as rows,
        // and the memory must not grow with the columns, too.
        let mut rows = self.kept.split_off(from);
        rows.sort_unstable();
        rows.dedup();
        self.kept.append(&mut rows);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::arrow::array::{ArrayRef, Int32Array};

    use super::*;
    use crate::model::tables::data::DecimationDistribution;

    /// There may be as many intervals as rows, and very many columns: the rows that are kept until
    /// the end must have one entry each.
    #[test]
    fn a_row_that_many_columns_keep_is_kept_once() {
        const ROWS: usize = 200;
        const COLUMNS: usize = 50;
        for (method, per_interval, most) in [
            // Each interval has one row, which is minimum, maximum, first and last of all columns.
            (DecimationMethod::MaxMin, 1, ROWS),
            (DecimationMethod::EntryExit, 1, ROWS),
            // The columns rise: the first row is the minimum of all, the last one the maximum.
            (DecimationMethod::EntryExit, 10, 2 * ROWS / 10),
        ] {
            let column = || -> ArrayRef { Arc::new(Int32Array::from_iter_values(0..ROWS as i32)) };
            let batch = RecordBatch::try_from_iter(
                (0..COLUMNS).map(|number| (number.to_string(), column())),
            )
            .unwrap();
            let (keys, rows) = ((0..ROWS as i64).collect(), (0..ROWS as u32).collect());
            let piece = Piece { run: 0, keys, batch, rows, at: 0 };
            let intervals = (ROWS / per_interval) as u64;
            let distribution = DecimationDistribution::EqualFrequency;
            let decimation = Decimation {
                x: 0,
                y: vec![1],
                intervals,
                method,
                distribution,
                memory_bytes: 0,
                budget: std::sync::Arc::default(),
            };
            let cuts = Cuts::Rows(
                (1..intervals).rev().map(|number| number * per_interval as u64).collect(),
            );
            let mut pass = Pass::new(cuts, &decimation, COLUMNS, true);
            pass.take(&[WindowRows { piece: &piece, rows: 0..ROWS }]).unwrap();
            pass.close();
            assert_eq!(pass.kept.len(), most, "{method:?}, {per_interval} rows in each interval");
            assert!(pass.kept.is_sorted());
        }
    }
}
