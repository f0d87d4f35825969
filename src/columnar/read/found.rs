//! The rows of row groups that value indexes find for the tests of a query.

use std::ops::Range;
use std::sync::Arc;

use super::view::{Run, RunStorage};
use crate::columnar::predicate::found_rows::Found;
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::segment::Segment;
use crate::error::Result;
use crate::value::ranges::join;

/// An index is used if it finds at most one in so many rows of a row group: with more, testing all
/// rows takes about as long.
const SHARE: usize = 8;
/// A second index is asked if it finds at most so many times the rows of the first one: with more,
/// testing those of the first one is faster.
const NARROWER: usize = 16;

fn find(
    run: &Run,
    segment: &Segment,
    predicates: &Predicates,
    (group, unit): (usize, &Range<usize>),
) -> Result<Option<Arc<Found>>> {
    let key = (segment.meta().id, group);
    if let Some(known) = predicates.found().get(key) {
        return Ok(known);
    }
    let mut found: Option<Found> = None;
    for wanted in predicates.wanted() {
        let Some(column) = run.stored_column(wanted.column) else { continue };
        let most = unit.len() / SHARE;
        let most = found.as_ref().map_or(most, |found| most.min(found.rows.len() * NARROWER));
        let Some(next) = segment.find((group, column), &wanted.ranges, most)? else { continue };
        let settled = if next.is_exact { &wanted.tests[..] } else { &[] };
        match &mut found {
            None => found = Some(Found { rows: next.rows, settled: settled.to_vec() }),
            Some(found) => {
                let mut others = next.rows.iter().peekable();
                found.rows.retain(|row| {
                    while others.next_if(|other| *other < row).is_some() {}
                    others.peek() == Some(&row)
                });
                found.settled.extend_from_slice(settled);
            }
        }
    }
    let found = found.map(Arc::new);
    predicates.found().put(key, found.clone());
    Ok(found)
}

/// Rows that value indexes leave of a run.
pub(super) struct Narrowed {
    /// Ascending, disjoint ranges.
    pub ranges: Vec<Range<usize>>,
    /// For each test whether the rows of all ranges pass it.
    pub settled: Vec<bool>,
    /// Row groups in which an index found the rows.
    pub groups: u64,
}

/// What value indexes leave of `open`, which are ascending, disjoint ranges inside of `rows`;
/// `None` if no index is of use.
pub(super) fn narrowed(
    run: &Run,
    predicates: &Predicates,
    rows: &Range<usize>,
    open: &[Range<usize>],
) -> Result<Option<Narrowed>> {
    let RunStorage::Segment(segment) = run.stored() else { return Ok(None) };
    if predicates.wanted().is_empty() || segment.meta().indexed.is_empty() {
        return Ok(None);
    }
    let mut out =
        Narrowed { ranges: Vec::new(), settled: vec![true; predicates.tests().len()], groups: 0 };
    let mut open = open.iter().cloned().peekable();
    let mut at = rows.start;
    while let Some((group, unit)) = segment.group_at(at).filter(|_| at < rows.end) {
        at = unit.end;
        // The open ranges of this row group.
        let mut parts = Vec::new();
        while let Some(range) = open.peek_mut().filter(|range| range.start < unit.end) {
            parts.push(range.start..range.end.min(unit.end));
            if range.end > unit.end {
                range.start = unit.end;
                break;
            }
            open.next();
        }
        if parts.is_empty() {
            continue;
        }
        match find(run, segment, predicates, (group, &unit))? {
            None => {
                out.settled.fill(false);
                parts.into_iter().for_each(|part| join(&mut out.ranges, part));
            }
            Some(found) => {
                out.groups += 1;
                let is_settled = |test: usize| found.settled.contains(&test);
                let tests = out.settled.iter_mut().enumerate();
                tests.for_each(|(test, settled)| *settled &= is_settled(test));
                for part in parts {
                    let within = |row: &u32| unit.start + (*row as usize);
                    let from = found.rows.partition_point(|row| within(row) < part.start);
                    let rest = found.rows.iter().skip(from).map(within);
                    for row in rest.take_while(|row| *row < part.end) {
                        join(&mut out.ranges, row..row + 1);
                    }
                }
            }
        }
    }
    Ok((out.groups > 0).then_some(out))
}
