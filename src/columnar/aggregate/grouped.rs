//! The groups of some rows, within the bounds on their number and their memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use super::column::add_column;
use super::groups::{KeyCell, codes};
use super::needs::Needs;
use super::request::{Aggregation, Bounds};
use super::state::{Group, Rank};
use crate::columnar::keys::index_values;
use crate::columnar::read::unit::row_count;
use crate::columnar::read::view::Run;
use crate::columnar::schema::TableSchema;
use crate::error::{Error, Result};
use crate::value::Control;
use crate::value::budget::Reservation;

/// Groups of rows.
#[derive(Debug, Default)]
pub(super) struct GroupedRows {
    pub groups: HashMap<Vec<KeyCell>, Group>,
    bytes: usize,
    /// The memory of the groups.
    reserved: Option<Reservation>,
    /// Rows that were added by their summaries.
    pub summarized: u64,
}

impl GroupedRows {
    /// Adds the rows of a group.
    ///
    /// # Errors
    /// `LimitExceeded` for too many groups, and for more memory than a query may use or the store
    /// has.
    pub(super) fn add(
        &mut self,
        keys: Vec<KeyCell>,
        group: Group,
        bounds: Bounds<'_>,
    ) -> Result<()> {
        let key_bytes: usize = keys.iter().map(KeyCell::bytes).sum();
        match self.groups.entry(keys) {
            Entry::Occupied(mut entry) => {
                let before = entry.get().bytes();
                entry.get_mut().merge(group);
                self.bytes = self.bytes - before + entry.get().bytes();
            }
            Entry::Vacant(entry) => {
                self.bytes += key_bytes + group.bytes();
                entry.insert(group);
            }
        }
        bounds.check(self.groups.len(), self.bytes)?;
        self.reserve(bounds)
    }

    fn reserve(&mut self, bounds: Bounds<'_>) -> Result<()> {
        self.reserved.get_or_insert_with(|| bounds.budget.reservation()).hold(self.bytes)
    }

    /// Adds the groups of other rows.
    ///
    /// # Errors
    /// `LimitExceeded` as by the bounds.
    pub(super) fn merge(&mut self, other: Self, bounds: Bounds<'_>) -> Result<()> {
        self.summarized += other.summarized;
        // Its groups are counted here from now on.
        drop(other.reserved);
        other.groups.into_iter().try_for_each(|(keys, group)| self.add(keys, group, bounds))
    }

    /// Adds the rows of these ranges of a run, from their values. Columns are read one after the
    /// other, so that the memory does not depend on their number.
    ///
    /// # Errors
    /// `LimitExceeded` as by the bounds; `Corrupt`, `Io`; the errors of `control`.
    pub(super) fn take(
        &mut self,
        place: (&Run, usize),
        schema: &TableSchema,
        ranges: &[Range<usize>],
        request: (&Aggregation<'_>, &Needs),
        control: &Control,
    ) -> Result<()> {
        let ((run, at), (aggregation, needs)) = (place, request);
        let read = |column: usize| {
            control.check()?;
            let batch = run.read(schema, &[column], ranges)?;
            batch.columns().first().cloned().ok_or_else(|| {
                Error::corrupt("internal error: an aggregate lacks its column; report it")
            })
        };
        let rows = row_count(ranges);
        let mut keys = Vec::new();
        for key in &aggregation.keys {
            keys.push((read(key.column)?, key.width));
        }
        let (codes, cells) = match codes(&keys) {
            Some((codes, cells)) => (Some(codes), cells),
            None => (None, vec![Vec::new()]),
        };
        // Before the states of all columns are there.
        aggregation.bounds.check(cells.len(), cells.len().saturating_mul(needs.group_bytes()))?;
        let mut counts = vec![0u64; cells.len()];
        match &codes {
            None => counts.iter_mut().for_each(|count| *count = rows as u64),
            Some(codes) => {
                for code in codes {
                    if let Some(count) = counts.get_mut(*code as usize) {
                        *count += 1;
                    }
                }
            }
        }
        let index = needs.have_ends().then(|| read(schema.index())).transpose()?;
        let index = index.as_ref().map(|array| index_values(array)).transpose()?;
        let starts = starts(ranges);
        let rank = |position: usize| -> Rank {
            let value = index.as_ref().and_then(|index| index.get(position)).copied();
            (value.unwrap_or_default(), at, row_at(ranges, &starts, position))
        };
        let mut columns = Vec::with_capacity(needs.0.len());
        for need in &needs.0 {
            let values = read(need.column)?;
            columns.push(add_column(&values, codes.as_deref(), &counts, need, &rank).into_iter());
        }
        for (keys, rows) in cells.into_iter().zip(counts) {
            let states = columns.iter_mut().filter_map(Iterator::next).collect();
            self.add(keys, Group { rows, states }, aggregation.bounds)?;
        }
        Ok(())
    }
}

/// The position of the first row of each range among the rows of all of them.
fn starts(ranges: &[Range<usize>]) -> Vec<usize> {
    let mut next = 0;
    ranges
        .iter()
        .map(|range| {
            next += range.len();
            next - range.len()
        })
        .collect()
}

/// The row of the run at a position in the rows of ranges.
fn row_at(ranges: &[Range<usize>], starts: &[usize], position: usize) -> usize {
    let at = starts.partition_point(|start| *start <= position).saturating_sub(1);
    match (ranges.get(at), starts.get(at)) {
        (Some(range), Some(start)) => range.start + (position - start),
        _ => position,
    }
}
