//! Which part of a table a row query must read, and which part statistics exclude.

use serde::Serialize;

use super::unit;
use super::view::{RunStorage, TableView};
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::segment::PAGE_ROWS;
use crate::error::Result;
use crate::value::Control;

/// What a row query reads of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Touched {
    /// Sealed segments of the table.
    pub segments: u64,
    /// Segments that statistics and indexes exclude entirely.
    pub segments_pruned: u64,
    /// Row groups of the table.
    pub row_groups: u64,
    /// Row groups that statistics and indexes exclude entirely.
    pub row_groups_pruned: u64,
    /// Row groups whose rows were found by indexes of the values of columns.
    pub row_groups_indexed: u64,
    /// Pages of one column.
    pub pages: u64,
    /// Pages of one column that statistics and indexes exclude entirely.
    pub pages_pruned: u64,
    /// Rows in memory that are not sealed yet.
    pub buffered_rows: u64,
    /// Rows whose values are read to test them.
    pub rows_touched: u64,
    /// Rows that satisfy the predicates.
    pub rows_passed: u64,
}

/// Evaluates the statistics for `predicates`, and counts the rows that satisfy them.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn touched(
    view: &TableView,
    predicates: &Predicates,
    control: &Control,
) -> Result<Touched> {
    let mut out = Touched::default();
    for run in view.runs() {
        let is_sealed = matches!(run.stored(), RunStorage::Segment(_));
        let mut kept_groups = 0;
        let units = run.units();
        for rows in &units {
            control.check()?;
            let left = unit::prune(run, predicates, rows.clone())?;
            let kept = unit::row_count(&left.ranges) as u64;
            out.row_groups_indexed += left.indexed_groups;
            if left.needed.contains(&true) {
                out.rows_touched += kept;
            }
            out.rows_passed += unit::count(run, &view.schema, predicates, &left, control)? as u64;
            if !is_sealed {
                out.buffered_rows += unit::row_count(&run.live(rows.clone())) as u64;
                continue;
            }
            kept_groups += u64::from(kept > 0);
            // Pages are counted from the start of each row group.
            let page_of = |row: usize| (row - rows.start) / PAGE_ROWS;
            let mut last = None;
            let mut kept_pages = 0;
            for range in &left.ranges {
                for page in
                    page_of(range.start)..=page_of(range.end.saturating_sub(1).max(range.start))
                {
                    kept_pages += u64::from(last != Some(page));
                    last = Some(page);
                }
            }
            let pages = rows.len().div_ceil(PAGE_ROWS) as u64;
            out.pages += pages;
            out.pages_pruned += pages - kept_pages;
        }
        if is_sealed {
            out.segments += 1;
            out.segments_pruned += u64::from(kept_groups == 0);
            out.row_groups += units.len() as u64;
            out.row_groups_pruned += units.len() as u64 - kept_groups;
        }
    }
    Ok(out)
}
