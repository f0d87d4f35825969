//! One consistent state of a table: its runs.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;

use super::keys::index_values;
use super::memory_run::MemoryRun;
use super::schema::TableSchema;
use super::segment::{BLOCK_ROWS, ColumnSummary, Segment};
use crate::error::{Error, Result};

/// Rows of one unit of work on a run in memory.
const MEMORY_UNIT_ROWS: usize = 64 * 1024;

/// Sorted rows with a contiguous range of append ordinals.
#[derive(Clone, Debug)]
pub enum Run {
    /// Sealed.
    Segment(Arc<Segment>),
    /// Buffered.
    Memory(Arc<MemoryRun>),
}

impl Run {
    /// Rows.
    #[must_use]
    pub fn row_count(&self) -> usize {
        match self {
            Self::Segment(segment) => segment.meta().row_count as usize,
            Self::Memory(run) => run.batch().num_rows(),
        }
    }

    /// Append ordinal of the first appended row.
    #[must_use]
    pub fn first_ordinal(&self) -> u64 {
        match self {
            Self::Segment(segment) => segment.meta().first_ordinal,
            Self::Memory(run) => run.first_ordinal(),
        }
    }

    /// Smallest and largest index value.
    #[must_use]
    pub fn index_range(&self) -> (i64, i64) {
        match self {
            Self::Segment(segment) => (segment.meta().min_index, segment.meta().max_index),
            Self::Memory(run) => {
                let index = run.index();
                (
                    index.first().copied().unwrap_or_default(),
                    index.last().copied().unwrap_or_default(),
                )
            }
        }
    }

    /// Ranges of rows that are processed one at a time.
    pub(super) fn units(&self) -> Vec<Range<usize>> {
        match self {
            Self::Segment(segment) => segment.groups().collect(),
            Self::Memory(run) => {
                let rows = run.batch().num_rows();
                (0..rows)
                    .step_by(MEMORY_UNIT_ROWS)
                    .map(|at| at..rows.min(at + MEMORY_UNIT_ROWS))
                    .collect()
            }
        }
    }

    /// The summary of a column, if it has one.
    pub(super) fn summary(&self, column: usize) -> Result<Option<&ColumnSummary>> {
        match self {
            Self::Segment(segment) => segment.summary(column),
            Self::Memory(_) => Ok(None),
        }
    }

    /// The rows of these ascending, disjoint ranges with these columns.
    pub(super) fn read(
        &self,
        schema: &TableSchema,
        columns: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<RecordBatch> {
        match self {
            Self::Segment(segment) => segment.read(columns, ranges),
            Self::Memory(run) => run.read(schema, columns, ranges),
        }
    }

    /// Append ordinals of the rows of these ranges.
    pub(super) fn ordinals(&self, ranges: &[Range<usize>]) -> Result<Vec<u64>> {
        let first = self.first_ordinal();
        let mut out = Vec::with_capacity(ranges.iter().map(ExactSizeIterator::len).sum());
        match self {
            Self::Segment(segment) if !segment.is_append_ordered() => {
                // All ordinals between the first and the last range are read at once: a scattered
                // selection would otherwise be read block by block.
                let (Some(from), Some(to)) = (ranges.first(), ranges.last()) else {
                    return Ok(out);
                };
                let offsets = segment.ordinals(from.start..to.end)?;
                for range in ranges {
                    let part = offsets
                        .get(range.start - from.start..range.end - from.start)
                        .unwrap_or_default();
                    out.extend(part.iter().map(|&offset| first + u64::from(offset)));
                }
            }
            Self::Memory(run) if run.ordinals().is_some() => {
                let offsets = run.ordinals().unwrap_or_default();
                for range in ranges {
                    let part = offsets.get(range.clone()).unwrap_or_default();
                    out.extend(part.iter().map(|&offset| first + u64::from(offset)));
                }
            }
            _ => out.extend(
                ranges
                    .iter()
                    .flat_map(|range| first + range.start as u64..first + range.end as u64),
            ),
        }
        Ok(out)
    }

    /// The row with this append ordinal, if it is in this run.
    pub(super) fn row_of(&self, ordinal: u64) -> Result<Option<usize>> {
        let Some(offset) =
            ordinal.checked_sub(self.first_ordinal()).filter(|&at| at < self.row_count() as u64)
        else {
            return Ok(None);
        };
        match self {
            Self::Segment(segment) if !segment.is_append_ordered() => {
                for unit in self.units() {
                    let offsets = segment.ordinals(unit.clone())?;
                    if let Some(at) = offsets.iter().position(|&other| u64::from(other) == offset) {
                        return Ok(Some(unit.start + at));
                    }
                }
                Ok(None)
            }
            Self::Memory(run) if run.ordinals().is_some() => Ok(run
                .ordinals()
                .unwrap_or_default()
                .iter()
                .position(|&other| u64::from(other) == offset)),
            _ => Ok(Some(offset as usize)),
        }
    }

    /// The number of rows whose index value is less than `value`, or, with `or_equal`, not greater.
    pub(super) fn rows_before(
        &self,
        schema: &TableSchema,
        value: i64,
        or_equal: bool,
    ) -> Result<usize> {
        let before = |other: i64| other < value || (or_equal && other == value);
        match self {
            Self::Memory(run) => Ok(run.index().partition_point(|&other| before(other))),
            Self::Segment(segment) => {
                let Some(ColumnSummary::Int(levels)) = segment.summary(schema.index())? else {
                    return Err(Error::corrupt(
                        "a segment has no summary of its index column; restore the table from a \
                         backup",
                    ));
                };
                let block = levels.blocks().partition_point(|block| before(block.max));
                let from = (block * BLOCK_ROWS).min(self.row_count());
                let to = (from + BLOCK_ROWS).min(self.row_count());
                // A block that starts after the value need not be read.
                if from == to || levels.blocks().get(block).is_none_or(|block| !before(block.min)) {
                    return Ok(from);
                }
                let batch = segment.read(&[schema.index()], std::slice::from_ref(&(from..to)))?;
                let values = index_values(batch.column(0))?;
                Ok(from + values.partition_point(|&other| before(other)))
            }
        }
    }
}

/// A position in a view: a run, and a row in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Locator {
    /// Position of the run in the view.
    pub run: u32,
    /// Row in the run.
    pub row: u32,
}

/// One consistent state of a table.
#[derive(Clone, Debug)]
pub struct TableView {
    /// The columns.
    pub schema: Arc<TableSchema>,
    /// Ascending by first ordinal; no run is empty.
    runs: Vec<Run>,
}

impl TableView {
    /// A view of these runs, which may be in any order.
    #[must_use]
    pub fn new(schema: Arc<TableSchema>, mut runs: Vec<Run>) -> Self {
        runs.retain(|run| run.row_count() > 0);
        runs.sort_by_key(Run::first_ordinal);
        Self { schema, runs }
    }

    /// The runs, ascending by first ordinal.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Rows of all runs.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.runs.iter().map(|run| run.row_count() as u64).sum()
    }

    pub(super) fn run(&self, at: usize) -> Result<&Run> {
        self.runs.get(at).ok_or_else(|| {
            Error::corrupt("internal error: a run outside of the view was requested; report it")
        })
    }

    /// The runs in index order if they do not overlap, so that reading one after the other gives
    /// the order of the whole table. Runs may share an index value if the earlier one was appended
    /// first.
    #[must_use]
    pub(super) fn sequence(&self) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|&at| self.runs.get(at).map(|run| (run.index_range(), at)));
        let disjoint = order.windows(2).all(|pair| match pair {
            [before, after] => match (self.runs.get(*before), self.runs.get(*after)) {
                (Some(low), Some(high)) => {
                    let (end, start) = (low.index_range().1, high.index_range().0);
                    end < start || (end == start && before < after)
                }
                _ => false,
            },
            _ => true,
        });
        disjoint.then_some(order)
    }

    /// The number of runs if they must be merged; 0 if they do not overlap.
    #[must_use]
    pub fn overlapping_runs(&self) -> usize {
        if self.sequence().is_some() { 0 } else { self.runs.len() }
    }

    /// Append ordinals of the rows at these positions, in the same order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn ordinals(&self, locators: &[Locator]) -> Result<Vec<u64>> {
        let mut out = Vec::with_capacity(locators.len());
        let mut blocks: std::collections::HashMap<(u32, u32), Vec<u64>> =
            std::collections::HashMap::new();
        for locator in locators {
            let run = self.run(locator.run as usize)?;
            let first = run.first_ordinal();
            match run {
                Run::Segment(segment) if !segment.is_append_ordered() => {
                    let block = locator.row / BLOCK_ROWS as u32;
                    let from = block as usize * BLOCK_ROWS;
                    let known = match blocks.entry((locator.run, block)) {
                        std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                        std::collections::hash_map::Entry::Vacant(entry) => {
                            let to = (from + BLOCK_ROWS).min(run.row_count());
                            entry.insert(run.ordinals(std::slice::from_ref(&(from..to)))?)
                        }
                    };
                    out.extend(known.get(locator.row as usize - from));
                }
                Run::Memory(memory) => {
                    let offset =
                        memory.ordinals().and_then(|all| all.get(locator.row as usize).copied());
                    out.push(first + u64::from(offset.unwrap_or(locator.row)));
                }
                Run::Segment(_) => out.push(first + u64::from(locator.row)),
            }
        }
        Ok(out)
    }

    /// The position of the row with this append ordinal.
    pub(super) fn locate(&self, ordinal: u64) -> Result<Option<Locator>> {
        for (at, run) in self.runs.iter().enumerate() {
            if let Some(row) = run.row_of(ordinal)? {
                return Ok(Some(Locator { run: at as u32, row: row as u32 }));
            }
        }
        Ok(None)
    }
}
