//! The append ordinals of the rows that satisfy predicates.

use std::ops::Range;

use super::count::in_parallel;
use super::unit;
use super::view::TableView;
use crate::columnar::predicate::predicates::Predicates;
use crate::error::Result;
use crate::value::Control;
use crate::value::ranges::{self, RangeSet};

/// The append ordinals of the rows that satisfy the predicates. A run whose rows all do, by the
/// range of its index, is not read; its ordinals without a row are in the set then.
///
/// # Errors
/// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
pub(crate) fn matching(
    view: &TableView,
    predicates: &Predicates,
    control: &Control,
) -> Result<RangeSet> {
    let index_range = predicates.int_range(view.schema.index());
    let mut matching: Vec<Range<u64>> = Vec::new();
    for run in view.runs() {
        control.check()?;
        if predicates.excludes(run) {
            continue;
        }
        let (least, greatest) = run.index_range();
        if index_range.is_some_and(|(low, high)| low <= least && greatest <= high) {
            matching.push(run.ordinal_range());
            continue;
        }
        let found = in_parallel(&run.units(), run.row_count(), control, |rows| {
            let picked = unit::pick(run, &view.schema, predicates, rows.clone(), &[], control)?;
            let mut ordinals = run.ordinals(&picked.ranges)?;
            ordinals.sort_unstable();
            Ok(ranges::of_numbers(ordinals))
        })?;
        // The ranges of one run at a time, because rows in the order of the index may be scattered
        // over its ordinals.
        let of_run = RangeSet::new(found.into_iter().flatten().collect());
        matching.extend_from_slice(of_run.ranges());
    }
    Ok(RangeSet::new(matching))
}
