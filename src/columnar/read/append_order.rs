//! Reads the rows of a run in order of their append ordinals.

use std::ops::Range;

use super::fetch::fetch_rows;
use super::view::{Locator, Run, TableView};
use crate::arrow::array::RecordBatch;
use crate::error::Result;
use crate::value::{Control, guarded};

/// Rows of one batch.
const BATCH_ROWS: u64 = 8 * 1024;
/// Rows whose places are in memory at a time: 4 bytes each.
const WINDOW_ROWS: u64 = 16 * 1024 * 1024;

/// The row of each of these ordinals; `None` for an ordinal that the run does not have.
fn rows_of(run: &Run, ordinals: &Range<u64>, control: &Control) -> Result<Vec<Option<u32>>> {
    let len = usize::try_from(ordinals.end - ordinals.start).unwrap_or_default();
    let mut rows = vec![None; len];
    for unit in run.units() {
        control.check()?;
        let live = run.live(unit);
        let found = run.ordinals(&live)?;
        for (row, ordinal) in live.into_iter().flatten().zip(found) {
            let place = ordinal.checked_sub(ordinals.start).and_then(|at| usize::try_from(at).ok());
            if let Some(slot) = place.and_then(|place| rows.get_mut(place)) {
                *slot = Some(row as u32);
            }
        }
    }
    Ok(rows)
}

/// Calls `each` with the ordinal of its first row and the rows of each batch: those of the run at
/// position `at` of the view that have these ordinals, all columns, in order of the ordinals. The
/// ordinals of the rows of a batch are consecutive.
///
/// # Errors
/// `Corrupt`, `Io`; the errors of `each` and of `control`.
pub(crate) fn in_append_order(
    view: &TableView,
    at: usize,
    ordinals: Range<u64>,
    control: &Control,
    each: &mut dyn FnMut(u64, RecordBatch) -> Result<()>,
) -> Result<()> {
    let run = view.run(at)?;
    let columns: Vec<usize> = (0..view.schema.len()).collect();
    let mut from = ordinals.start;
    while from < ordinals.end {
        let window = from..ordinals.end.min(from.saturating_add(WINDOW_ROWS));
        from = window.end;
        let rows = guarded("reading ordinals", || rows_of(run, &window, control))?;
        let present: Vec<(u64, u32)> =
            window.zip(rows).filter_map(|(ordinal, row)| row.map(|row| (ordinal, row))).collect();
        let consecutive = |a: &(u64, u32), b: &(u64, u32)| a.0 + 1 == b.0;
        for stretch in present.chunk_by(consecutive) {
            for part in stretch.chunks(BATCH_ROWS as usize) {
                control.check()?;
                let locators: Vec<Locator> =
                    part.iter().map(|(_, row)| Locator { run: at as u32, row: *row }).collect();
                let Some((first, _)) = part.first() else { continue };
                let read = || fetch_rows(view, &locators, &columns, control);
                each(*first, guarded("reading rows", read)?)?;
            }
        }
    }
    Ok(())
}
