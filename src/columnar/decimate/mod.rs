//! Decimated reads: LOSSY, MAX_MIN and ENTRY_EXIT over any numeric axis.
//!
//! What must hold: the answer is that of a full scan, row for row, whichever way it was found. Over the index column of
//! runs that do not overlap it comes from summaries ([`ranked`]). Over that of runs that overlap each run is read once
//! ([`overlapping`]). Otherwise the rows pass by in order of x ([`stream`]).

mod answer;
mod decimation;
mod extremes;
mod intervals;
mod overlapping;
mod ranked;
mod stream;

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::fetch::fetch_rows;
use super::predicate::Predicates;
use super::view::TableView;
use crate::error::Result;
use crate::value::Control;

pub use decimation::Decimation;

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
