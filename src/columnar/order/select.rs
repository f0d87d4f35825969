//! Rows in another order than that of the index. A bounded heap selects the first `count` rows;
//! repeating that selects any number.
//!
//! Streams of more rows than fit in memory are sorted in temporary files, by `spill`.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::after::{After, gone};
use super::sort_key::{Keys, OrderColumn, keys_of};
use crate::arrow::array::{ArrayRef, RecordBatch};
use crate::columnar::column_slice::{Level, array_of_words};
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::read::count::{all_units, in_parallel};
use crate::columnar::read::fetch::Locator;
use crate::columnar::read::unit;
use crate::columnar::read::view::TableView;
use crate::columnar::schema::{TableSchema, arrow_type};
use crate::columnar::segment::BLOCK_ROWS;
use crate::error::{Error, Result};
use crate::value::{Control, limits};

/// Rows that are processed together; few, so that a summary excludes many of them.
const UNIT_ROWS: usize = 8 * BLOCK_ROWS;
/// Minimum number of rows that are selected together, however long their keys are; but their keys
/// take at most [`BEYOND`] times the memory for keys.
const LEAST_ROWS: usize = 1024;
const BEYOND: usize = 4;

/// A selected row: its order key, its append ordinal, and its position.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SelectedRow {
    key: Box<[u8]>,
    /// Append ordinal; breaks ties of the key.
    pub ordinal: u64,
    /// Position of the row in the view.
    pub locator: Locator,
}

impl SelectedRow {
    /// The place after this row.
    pub(in crate::columnar) fn after(&self) -> After {
        After { ordinal: self.ordinal, key: Some(self.key.to_vec()) }
    }
}

/// The keys of rows whose columns of the order are `arrays`.
///
/// # Errors
/// `Corrupt` for arrays that are not columns of the order; nothing stored can cause it.
pub(in crate::columnar) fn keys(order: &[OrderColumn], arrays: &[ArrayRef]) -> Result<Keys> {
    keys_of(order, arrays).ok_or_else(|| {
        Error::corrupt("internal error: the order does not fit its columns; report it")
    })
}

/// These columns, and those of the order.
pub(in crate::columnar) fn with_order(columns: &[usize], order: &[OrderColumn]) -> Vec<usize> {
    let mut all = columns.to_vec();
    for term in order {
        if !all.contains(&term.column) {
            all.push(term.column);
        }
    }
    all
}

/// The columns of the order in a batch that has these columns.
pub(in crate::columnar) fn order_arrays(
    order: &[OrderColumn],
    columns: &[usize],
    batch: &RecordBatch,
) -> Vec<ArrayRef> {
    order
        .iter()
        .filter_map(|term| columns.iter().position(|column| *column == term.column))
        .filter_map(|at| batch.columns().get(at).cloned())
        .collect()
}

/// The number of rows whose keys are computed together when keys may take `bytes_max`: `rows_max`,
/// or fewer for an order of many columns.
pub(in crate::columnar) fn key_rows(
    schema: &TableSchema,
    order: &[OrderColumn],
    bytes_max: usize,
    rows_max: usize,
) -> Result<usize> {
    let mut row_bytes = 0;
    for term in order {
        // Both the value and its part of the key are in memory. A text counts as a number, which is
        // the least that it takes.
        row_bytes += 2
            * (1 + arrow_type(schema.column(term.column)?.data_type)
                .primitive_width()
                .unwrap_or(8));
    }
    Ok((bytes_max / limits::QUERY_THREADS / row_bytes.max(1)).clamp(BLOCK_ROWS, rows_max))
}

/// All units of the runs that may have rows that pass, cut into pieces of at most `rows_max` rows.
pub(in crate::columnar) fn pieces(
    view: &TableView,
    predicates: &Predicates,
    rows_max: usize,
) -> Vec<(usize, Range<usize>)> {
    all_units(view, predicates)
        .into_iter()
        .flat_map(|(run, rows)| {
            let end = rows.end;
            rows.step_by(rows_max).map(move |at| (run, at..end.min(at + rows_max)))
        })
        .collect()
}

/// The best value that each unit can have in the first order column, as the prefix of a key; `None`
/// if unknown.
fn best_of(
    view: &TableView,
    first: OrderColumn,
    units: &[(usize, Range<usize>)],
) -> Result<Vec<Option<Vec<u8>>>> {
    let data_type = view.schema.column(first.column)?.data_type;
    let mut bests: Vec<Option<Level>> = Vec::with_capacity(units.len());
    for (run, rows) in units {
        let blocks = rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS);
        let summary = view.run(*run)?.summary(first.column)?;
        bests.push(summary.and_then(|summary| {
            // NaN sorts after all numbers.
            let has_nan =
                || blocks.clone().any(|at| summary.block(at).is_none_or(|block| block.nans > 0));
            if first.descending && has_nan() {
                return None;
            }
            let found = summary.extremes(blocks.clone())?;
            Some(if first.descending { found.max } else { found.min })
        }));
    }
    let words = bests.iter().map(|best| best.map_or(0, |best| best.word(data_type)));
    let Some(array) = array_of_words(data_type, words.collect(), None) else {
        return Ok(vec![None; units.len()]);
    };
    let keys = keys(&[first], &[array])?;
    Ok(keys.iter().zip(bests).map(|(key, best)| best.map(|_| key.to_vec())).collect())
}

/// The key and the ordinal of a row.
fn key_of(view: &TableView, order: &[OrderColumn], after: &After) -> Result<(Box<[u8]>, u64)> {
    let ordinal = after.ordinal;
    if let Some(key) = &after.key {
        return Ok((key.as_slice().into(), ordinal));
    }
    let locator = view.locate(ordinal)?.ok_or_else(gone)?;
    let row = locator.row as usize;
    let columns: Vec<usize> = order.iter().map(|term| term.column).collect();
    let arrays = columns
        .iter()
        .map(|&column| {
            let run = view.run(locator.run as usize)?;
            let batch = run.read(&view.schema, &[column], std::slice::from_ref(&(row..row + 1)))?;
            Ok(batch.column(0).clone())
        })
        .collect::<Result<Vec<_>>>()?;
    let keys = keys(order, &arrays)?;
    Ok((keys.iter().next().unwrap_or_default().into(), ordinal))
}

/// The best rows so far.
struct Heap {
    rows: BinaryHeap<SelectedRow>,
    /// Bytes of their keys.
    bytes: usize,
    /// The maximum number of rows.
    most: usize,
}

impl Heap {
    /// The worst row, if the heap is full.
    fn worst(&self) -> Option<&SelectedRow> {
        if self.rows.len() < self.most { None } else { self.rows.peek() }
    }

    /// Adds a row if it is among the best. When the keys exceed `bytes_max`, drops the worst rows
    /// and lowers the maximum number of rows.
    fn offer(&mut self, row: SelectedRow, bytes_max: usize) {
        if self.rows.len() < self.most {
            self.bytes += row.key.len();
            self.rows.push(row);
        } else if let Some(mut worst) = self.rows.peek_mut()
            && row < *worst
        {
            self.bytes = self.bytes + row.key.len() - worst.key.len();
            *worst = row;
        }
        let most = bytes_max.saturating_mul(BEYOND);
        while (self.bytes > bytes_max && self.rows.len() > LEAST_ROWS)
            || (self.bytes > most && self.rows.len() > 1)
        {
            self.bytes -= self.rows.pop().map_or(0, |row| row.key.len());
            self.most = self.rows.len();
        }
    }
}

/// Selected rows, in order.
pub(crate) struct Selection {
    /// The rows.
    pub rows: Vec<SelectedRow>,
    /// Whether no row follows.
    pub is_all: bool,
}

/// Selects the first `count` rows that satisfy the predicates, by `order` and then by append
/// ordinal, after the row `after`. Selects fewer if their keys take more than
/// `bytes_max`.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn select_rows(
    view: &TableView,
    predicates: &Predicates,
    order: &[OrderColumn],
    after: Option<&After>,
    (count, bytes_max): (usize, usize),
    control: &Control,
) -> Result<Selection> {
    let after = after.map(|after| key_of(view, order, after)).transpose()?;
    let Some(&first) = order.first() else {
        return Err(Error::invalid(
            "internal error: an order without columns was requested; report it",
        ));
    };
    let rows_max = key_rows(&view.schema, order, bytes_max, UNIT_ROWS)?;
    let pieces = pieces(view, predicates, rows_max);
    let mut units: Vec<_> = best_of(view, first, &pieces)?.into_iter().zip(pieces).collect();
    // Most promising units first: the sooner the heap has good rows, the more units are skipped
    // unread. Units whose best value is unknown come before them.
    units.sort_by(|a, b| a.0.cmp(&b.0));
    let columns = with_order(&[], order);
    let shared = Mutex::new(Heap { rows: BinaryHeap::new(), bytes: 0, most: count });
    let heap = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let next = AtomicUsize::new(0);
    let workers = [(); limits::QUERY_THREADS];
    in_parallel(&workers, view.row_count() as usize, control, |()| {
        while let Some((best, (run_at, rows))) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            control.check()?;
            // A unit is skipped if even its best possible key sorts after the worst row of a full
            // heap.
            // A copy, so that the heap is not locked while the unit is read. Other threads may
            // improve the heap meanwhile: then more rows than needed are offered, and `offer` drops
            // them.
            let worst = heap().worst().cloned();
            if let (Some(best), Some(worst)) = (best, &worst)
                && best[..] > *worst.key.get(..best.len()).unwrap_or(&worst.key)
            {
                continue;
            }
            let run = view.run(*run_at)?;
            let picked =
                unit::pick(run, &view.schema, predicates, rows.clone(), &columns, control)?;
            if unit::row_count(&picked.ranges) == 0 {
                continue;
            }
            let batch = unit::materialise(run, &view.schema, &picked, &columns)?;
            let keys = keys(order, &order_arrays(order, &columns, &batch))?;
            let ordinals = run.ordinals(&picked.ranges)?;
            let rows = picked.ranges.iter().flat_map(Clone::clone);
            let mut better = Vec::new();
            for ((bytes, ordinal), row) in keys.iter().zip(ordinals).zip(rows) {
                let is_behind = |key: &[u8], other: u64| (bytes, ordinal) > (key, other);
                if after.as_ref().is_some_and(|(key, other)| !is_behind(key, *other))
                    || worst.as_ref().is_some_and(|worst| is_behind(&worst.key, worst.ordinal))
                {
                    continue;
                }
                let locator = Locator { run: *run_at as u32, row: row as u32 };
                better.push(SelectedRow { key: bytes.into(), ordinal, locator });
            }
            let mut heap = heap();
            for row in better {
                heap.offer(row, bytes_max);
            }
        }
        Ok(())
    })?;
    let heap = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_all = heap.rows.len() < heap.most;
    Ok(Selection { rows: heap.rows.into_sorted_vec(), is_all })
}
