//! Reads rows by position, in any order.

use super::count::in_parallel;
use super::view::TableView;
use crate::arrow::array::{RecordBatch, UInt32Array};
use crate::arrow::compute::{concat_batches, take_record_batch};
use crate::columnar::schema::misfit;
use crate::columnar::segment::PAGE_ROWS;
use crate::error::Result;
use crate::value::{Control, ranges};

pub(crate) use super::view::Locator;

/// Rows that one thread reads at a time.
const PIECE_ROWS: usize = 1024;

/// Returns the rows at these positions, in this order. No position may occur twice.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn fetch_rows(
    view: &TableView,
    locators: &[Locator],
    columns: &[usize],
    control: &Control,
) -> Result<RecordBatch> {
    let schema = view.schema.project(columns);
    let mut sorted: Vec<(Locator, u32)> = locators.iter().copied().zip(0..).collect();
    let is_sorted = sorted.is_sorted();
    sorted.sort_unstable();
    let pieces: Vec<_> = sorted
        .chunk_by(|a, b| a.0.run == b.0.run)
        .flat_map(|of_run| of_run.chunks(PIECE_ROWS))
        .collect();
    // A single row costs a fraction of decoding its page.
    let work = sorted.len().saturating_mul(PAGE_ROWS / 8);
    let parts = in_parallel(&pieces, work, control, |piece| {
        let Some((first, _)) = piece.first() else {
            return Ok(RecordBatch::new_empty(schema.clone()));
        };
        let run = view.run(first.run as usize)?;
        let ranges = ranges::of_numbers(piece.iter().map(|(locator, _)| locator.row as usize));
        run.read(&view.schema, columns, &ranges)
    })?;
    let whole = match &parts[..] {
        [] => RecordBatch::new_empty(schema),
        [one] => one.clone(),
        _ => concat_batches(&schema, &parts).map_err(misfit)?,
    };
    if is_sorted {
        return Ok(whole);
    }
    let mut inverse = vec![0; locators.len()];
    for (at, (_, place)) in sorted.iter().enumerate() {
        if let Some(slot) = inverse.get_mut(*place as usize) {
            *slot = at as u32;
        }
    }
    take_record_batch(&whole, &UInt32Array::from(inverse)).map_err(misfit)
}
