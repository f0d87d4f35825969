//! Decimation by scan: reads the rows that satisfy the predicates in order of x, and keeps the
//! candidates of each interval.

use std::sync::Arc;

use super::decimation::Decimation;
use super::extremes::{Best, array_extremes, flush, span_of};
use crate::arrow::array::RecordBatch;
use crate::columnar::column_slice::{ColumnSlice, Level};
use crate::columnar::kernels;
use crate::columnar::order::select::{SelectedRow, select_rows};
use crate::columnar::order::sort_key::OrderColumn;
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::read::count::{all_units, count_rows, in_parallel};
use crate::columnar::read::fetch::fetch_rows;
use crate::columnar::read::scan::MergedScan;
use crate::columnar::read::unit;
use crate::columnar::read::view::{Locator, TableView};
use crate::error::Result;
use crate::model::tables::data::DecimationMethod;
use crate::value::Control;

/// Memory for one row of a sorted selection.
const SORTED_ROW_BYTES: usize = 128;
/// Memory for one value of a fetched row: in its decoded page, and in the batch.
const VALUE_BYTES: usize = 32;
/// Minimum number of rows that are fetched together.
const LEAST_TOGETHER: usize = 1024;

/// Returns the kept rows in order of x.
pub(super) fn keep(
    view: &Arc<TableView>,
    decimation: &Decimation,
    predicates: &Arc<Predicates>,
    control: &Control,
) -> Result<Vec<Locator>> {
    let is_index = decimation.x == view.schema.index();
    let predicates = if is_index {
        predicates.clone()
    } else {
        Arc::new(predicates.with_usable(&view.schema, decimation.x)?)
    };
    let row_count = count_rows(view, &predicates, control)?;
    if row_count == 0 {
        return Ok(Vec::new());
    }
    let mut keeper = Keeper::new(view, decimation, &predicates, row_count, control)?;
    // The y columns, after the x column if spans need its values.
    let with_x = keeper.spans.is_some();
    let mut columns = Vec::new();
    if with_x {
        columns.push(decimation.x);
    }
    if decimation.method == DecimationMethod::Lossy {
        columns.push(decimation.x);
    } else {
        columns.extend(&decimation.y);
    }
    if is_index {
        let mut scan = MergedScan::new(view.clone(), predicates, columns, None, control.clone())?
            .with_locators();
        while let Some(chunk) = scan.next_chunk()? {
            keeper.take(&chunk.batch, &chunk.locators)?;
        }
    } else {
        let order = [OrderColumn { column: decimation.x, descending: false }];
        let at_once = (decimation.memory_bytes / SORTED_ROW_BYTES).max(64 * 1024);
        let together =
            (decimation.memory_bytes / (VALUE_BYTES * columns.len().max(1))).max(LEAST_TOGETHER);
        let mut reserved = decimation.budget.reservation();
        let sorted = usize::try_from(row_count).unwrap_or(usize::MAX).min(at_once);
        let held = sorted.saturating_mul(SORTED_ROW_BYTES);
        reserved.hold(held.saturating_add(sorted.min(together) * VALUE_BYTES * columns.len()))?;
        let mut after = None;
        loop {
            let selected = select_rows(
                view,
                &predicates,
                &order,
                after.as_ref(),
                (at_once, usize::MAX),
                control,
            )?;
            let locators: Vec<Locator> = selected.rows.iter().map(|row| row.locator).collect();
            after = selected.rows.last().map(SelectedRow::after);
            // With many columns, as many rows as can be sorted would not fit in memory.
            for part in locators.chunks(together) {
                let batch = fetch_rows(view, part, &columns, control)?;
                keeper.take(&batch, part)?;
            }
            if selected.is_all {
                break;
            }
        }
    }
    Ok(keeper.finish())
}

/// The smallest and the largest x of the rows that satisfy the predicates.
pub(super) fn bounds(
    view: &TableView,
    x: usize,
    predicates: &Predicates,
    control: &Control,
) -> Result<Option<(Level, Level)>> {
    let units = all_units(view, predicates);
    let found = in_parallel(&units, view.row_count() as usize, control, |(run, rows)| {
        let run = view.run(*run)?;
        let picked = unit::pick(run, &view.schema, predicates, rows.clone(), &[x], control)?;
        if unit::row_count(&picked.ranges) == 0 {
            return Ok(None);
        }
        let batch = unit::materialise(run, &view.schema, &picked, &[x])?;
        array_extremes(batch.column(0), 0, batch.num_rows())
    })?;
    let mut best: Option<(Level, Level)> = None;
    for found in found.into_iter().flatten() {
        best = Some(best.map_or((found.min, found.max), |(least, greatest)| {
            (least.least(found.min), greatest.greatest(found.max))
        }));
    }
    Ok(best)
}

struct Keeper<'a> {
    decimation: &'a Decimation,
    row_count: u64,
    rank: u64,
    kept: Vec<Locator>,
    /// Ranks that LOSSY keeps, in descending order.
    lossy: Vec<u64>,
    spans: Option<(Level, Level)>,
    interval: u64,
    /// The rank after the current interval of equal counts.
    interval_end: u64,
    bests: Vec<Best<Locator>>,
    first: Option<(u64, Locator)>,
    last: Option<(u64, Locator)>,
}

impl<'a> Keeper<'a> {
    fn new(
        view: &TableView,
        decimation: &'a Decimation,
        predicates: &Predicates,
        row_count: u64,
        control: &Control,
    ) -> Result<Self> {
        let lossy = if decimation.method == DecimationMethod::Lossy {
            let mut ranks = kernels::lossy(row_count, decimation.intervals);
            ranks.reverse();
            ranks
        } else {
            Vec::new()
        };
        let spans = if decimation.is_equal_width() {
            bounds(view, decimation.x, predicates, control)?
        } else {
            None
        };
        let count = decimation.intervals.min(row_count);
        Ok(Self {
            decimation,
            row_count,
            rank: 0,
            kept: Vec::new(),
            lossy,
            spans,
            interval: 0,
            interval_end: kernels::interval(row_count, count, 0).end,
            bests: vec![Best { min: None, max: None }; decimation.y.len()],
            first: None,
            last: None,
        })
    }

    /// Takes the next rows in order of x. The columns are the y columns, after x if spans are cut.
    fn take(&mut self, batch: &RecordBatch, locators: &[Locator]) -> Result<()> {
        let rows = batch.num_rows();
        if self.decimation.method == DecimationMethod::Lossy {
            while let Some(rank) =
                self.lossy.last().copied().filter(|rank| *rank < self.rank + rows as u64)
            {
                self.lossy.pop();
                self.kept.extend(locators.get((rank - self.rank) as usize));
            }
            self.rank += rows as u64;
            return Ok(());
        }
        let xs = ColumnSlice::of(batch.column(0));
        let mut from = 0;
        while from < rows {
            let to = match self.spans {
                None => {
                    if self.rank == self.interval_end {
                        self.close();
                        self.interval += 1;
                        let count = self.decimation.intervals.min(self.row_count);
                        self.interval_end =
                            kernels::interval(self.row_count, count, self.interval).end;
                    }
                    rows.min(from + (self.interval_end - self.rank) as usize)
                }
                Some((least, greatest)) => {
                    let count = self.decimation.intervals;
                    let span = |at: usize| {
                        let x = xs.as_ref()?.number(at)?;
                        Some(span_of(x, least, greatest, count))
                    };
                    let here = span(from).unwrap_or_default();
                    if here != self.interval {
                        self.close();
                        self.interval = here;
                    }
                    (from + 1..rows).find(|&at| span(at) != Some(here)).unwrap_or(rows)
                }
            };
            self.take_part(batch, locators, from, to)?;
            self.rank += (to - from) as u64;
            from = to;
        }
        Ok(())
    }

    fn take_part(
        &mut self,
        batch: &RecordBatch,
        locators: &[Locator],
        from: usize,
        to: usize,
    ) -> Result<()> {
        let place = |row: usize| {
            locators.get(row).copied().unwrap_or(Locator { run: u32::MAX, row: u32::MAX })
        };
        if self.first.is_none() {
            self.first = Some((self.rank, place(from)));
        }
        self.last = Some((self.rank + (to - from - 1) as u64, place(to - 1)));
        let rank = self.rank;
        for (best, array) in self
            .bests
            .iter_mut()
            .zip(batch.columns().iter().skip(usize::from(self.spans.is_some())))
        {
            if let Some(found) = array_extremes(array, from, to - from)? {
                best.offer(&found, |at| (rank + at as u64, place(from + at)));
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        let mut rows: Vec<(u64, Locator)> = Vec::new();
        if self.decimation.method == DecimationMethod::EntryExit {
            rows.extend(self.first.iter().chain(&self.last));
        }
        for best in &mut self.bests {
            rows.extend(best.min.iter().chain(&best.max).map(|(_, rank, place)| (*rank, *place)));
            *best = Best { min: None, max: None };
        }
        (self.first, self.last) = (None, None);
        flush(&mut rows, &mut self.kept);
    }

    fn finish(mut self) -> Vec<Locator> {
        if self.decimation.method != DecimationMethod::Lossy {
            self.close();
        }
        self.kept
    }
}
