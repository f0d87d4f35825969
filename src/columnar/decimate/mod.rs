//! Decimated reads: LOSSY, MAX_MIN and ENTRY_EXIT over any numeric axis.
//!
//! What must hold: the answer equals that of a full scan, row for row, whichever method finds it.
//! On the index column, runs that overlap within the range of the index are read once each
//! ([`overlapping`]), and others are answered from summaries ([`ranked`]). In all other cases the
//! rows are read in order of x ([`stream`]).

mod answer;
mod decimation;
mod extremes;
mod intervals;
mod overlapping;
mod ranked;
mod stream;

use std::sync::Arc;

use super::predicate::predicates::Predicates;
use super::read::fetch::fetch_rows;
use super::read::view::TableView;
use crate::arrow::array::RecordBatch;
use crate::error::Result;
use crate::value::Control;

pub(crate) use decimation::Decimation;

/// Returns the kept rows with these columns, in order of x.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn decimate(
    view: &Arc<TableView>,
    decimation: &Decimation,
    predicates: &Arc<Predicates>,
    columns: &[usize],
    control: &Control,
) -> Result<RecordBatch> {
    let index = view.schema.index();
    if decimation.x == index && view.overlapping_within(predicates.int_bounds(index)) > 0 {
        return fetch_rows(
            view,
            &overlapping::keep(view, decimation, predicates, control)?,
            columns,
            control,
        );
    }
    match ranked::keep(view, decimation, predicates, control)? {
        Some(kept) => answer::rows(view, &kept, columns, control),
        None => fetch_rows(
            view,
            &stream::keep(view, decimation, predicates, control)?,
            columns,
            control,
        ),
    }
}
