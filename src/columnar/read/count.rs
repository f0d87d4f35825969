//! Counts rows, and runs work over many units on two threads if there is enough of it.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::unit;
use super::view::TableView;
use crate::columnar::predicate::predicates::Predicates;
use crate::error::{Error, Result};
use crate::value::{Control, limits};

/// Rows below which a second thread costs more than it saves.
const PARALLEL_ROWS: usize = 256 * 1024;
/// A look at summaries takes about as long as reading one in so many of their rows.
const SUMMARY_ROWS: usize = 64;

/// All units of the runs that may have rows that pass, each with the number of its run.
pub(in crate::columnar) fn all_units(
    view: &TableView,
    predicates: &Predicates,
) -> Vec<(usize, Range<usize>)> {
    view.runs()
        .iter()
        .enumerate()
        .filter(|(_, run)| !predicates.excludes(run))
        .flat_map(|(at, run)| run.units().into_iter().map(move |unit| (at, unit)))
        .collect()
}

/// Calls `work` with every position up to `count`, on several threads when there are at least
/// `PARALLEL_ROWS` rows. After an error no further position is begun.
fn each_in_parallel(
    count: usize,
    rows: usize,
    control: &Control,
    work: &(dyn Fn(usize) -> Result<()> + Sync),
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return;
            }
            if let Err(error) = control.check().and_then(|()| work(at)) {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                next.store(count, Ordering::Relaxed);
            }
        }
    };
    let threads = if rows < PARALLEL_ROWS { 1 } else { limits::QUERY_THREADS.min(count) };
    if threads <= 1 {
        worker();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Where no thread can be started, this one does it all.
                let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
            }
            worker();
        });
    }
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Applies `work` to every item, as [`each_in_parallel`] does. Returns the results in the order of
/// the items.
pub(in crate::columnar) fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    rows: usize,
    control: &Control,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let done: Vec<Mutex<Option<T>>> = items.iter().map(|_| Mutex::new(None)).collect();
    each_in_parallel(items.len(), rows, control, &|at| {
        if let (Some(item), Some(slot)) = (items.get(at), done.get(at)) {
            let value = work(item)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        }
        Ok(())
    })?;
    Ok(done.into_iter().filter_map(|slot| slot.into_inner().ok().flatten()).collect())
}

/// Counts the rows that satisfy the predicates.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn count_rows(
    view: &TableView,
    predicates: &Predicates,
    control: &Control,
) -> Result<u64> {
    if predicates.is_empty() {
        return Ok(view.row_count());
    }
    let units = all_units(view, predicates);
    // Summaries are looked at first, because they mostly leave too few rows for a second thread.
    let rows = view.row_count() as usize;
    let left = in_parallel(&units, rows / SUMMARY_ROWS, control, |(run, rows)| {
        unit::prune(view.run(*run)?, predicates, rows.clone()).map(|left| (*run, left))
    })?;
    let left: Vec<_> = left.into_iter().filter(|(_, left)| !left.ranges.is_empty()).collect();
    let rows = left.iter().map(|(_, left)| unit::read_cost(&left.ranges)).sum();
    let counts = in_parallel(&left, rows, control, |(run, left)| {
        unit::count(view.run(*run)?, &view.schema, predicates, left, control)
    })?;
    Ok(counts.into_iter().map(|count| count as u64).sum())
}
