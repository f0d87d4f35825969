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

/// All units of all runs, each with the number of its run.
pub(in crate::columnar) fn all_units(view: &TableView) -> Vec<(usize, Range<usize>)> {
    view.runs()
        .iter()
        .enumerate()
        .flat_map(|(at, run)| run.units().into_iter().map(move |unit| (at, unit)))
        .collect()
}

/// Applies `work` to every item, on several threads when there are at least `PARALLEL_ROWS` rows.
/// Returns the results in the order of the items. After an error no further item is started.
pub(in crate::columnar) fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    rows: usize,
    control: &Control,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let threads = if rows < PARALLEL_ROWS { 1 } else { limits::QUERY_THREADS.min(items.len()) };
    let run = |item: &I| {
        control.check()?;
        work(item)
    };
    if threads <= 1 {
        return items.iter().map(run).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(items.len()));
    let failed: Mutex<Option<Error>> = Mutex::new(None);
    let worker = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            match run(item) {
                Ok(value) => done.lock().unwrap_or_else(PoisonError::into_inner).push((at, value)),
                Err(error) => {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    next.store(items.len(), Ordering::Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, value)| value).collect())
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
    let units = all_units(view);
    let counts = in_parallel(&units, view.row_count() as usize, control, |(run, rows)| {
        unit::count(view.run(*run)?, &view.schema, predicates, rows.clone(), control)
    })?;
    Ok(counts.into_iter().map(|count| count as u64).sum())
}
