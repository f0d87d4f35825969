//! One consistent state of a table: its runs.

use std::ops::Range;
use std::sync::Arc;

use crate::arrow::array::{ArrayRef, RecordBatch};
use crate::columnar::keys::index_values;
use crate::columnar::layouts::adapted;
use crate::columnar::schema::TableSchema;
use crate::columnar::segment::{BLOCK_ROWS, ColumnSummary, Levels, Segment, Totals};
use crate::columnar::write::memory_run::MemoryRun;
use crate::error::{Error, Result};
use crate::value::exact::BlockSums;
use crate::value::ranges::{self, RangeSet};

/// Rows of one unit of work on a run in memory.
const MEMORY_UNIT_ROWS: usize = 64 * 1024;

/// Where the rows of a run are.
#[derive(Clone, Debug)]
pub enum RunStorage {
    /// Sealed.
    Segment(Arc<Segment>),
    /// Buffered.
    Memory(Arc<MemoryRun>),
}

/// Sorted rows with a range of append ordinals that no other run has. Rows may have been deleted:
/// some are still stored, and reads leave them out; of others only the ordinals are left.
#[derive(Clone, Debug)]
pub struct Run {
    stored: RunStorage,
    /// Stored rows that are deleted: ascending, disjoint ranges.
    dead: Arc<[Range<usize>]>,
    dead_count: usize,
    /// For each column of the table its position in the stored rows, if these have it; none when
    /// they have the columns of the table.
    sources: Option<Arc<[Option<usize>]>>,
}

impl From<RunStorage> for Run {
    fn from(stored: RunStorage) -> Self {
        Self { stored, dead: Arc::default(), dead_count: 0, sources: None }
    }
}

impl From<Arc<Segment>> for Run {
    fn from(segment: Arc<Segment>) -> Self {
        RunStorage::Segment(segment).into()
    }
}

impl From<Arc<MemoryRun>> for Run {
    fn from(run: Arc<MemoryRun>) -> Self {
        RunStorage::Memory(run).into()
    }
}

impl Run {
    /// Where the rows are.
    #[must_use]
    pub fn stored(&self) -> &RunStorage {
        &self.stored
    }

    /// The run of rows with other columns than the table has, see
    /// [`crate::columnar::layouts::Layout`].
    pub(crate) fn with_sources(mut self, sources: Option<Arc<[Option<usize>]>>) -> Self {
        self.sources = sources;
        self
    }

    /// Whether the stored rows have the columns of the table.
    pub(crate) fn has_columns_of_table(&self) -> bool {
        self.sources.is_none()
    }

    /// The position of a column in the stored rows; `None` if they do not have it.
    pub(in crate::columnar) fn stored_column(&self, column: usize) -> Option<usize> {
        match &self.sources {
            None => Some(column),
            Some(sources) => sources.get(column).copied().flatten(),
        }
    }

    /// The run without these rows, see [`Run::rows_with`].
    pub(crate) fn without(mut self, dead: Arc<[Range<usize>]>) -> Self {
        self.dead_count = dead.iter().map(ExactSizeIterator::len).sum();
        self.dead = dead;
        self
    }

    /// The stored rows whose append ordinals are in `ordinals`, as ascending, disjoint ranges.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn rows_with(&self, ordinals: &RangeSet) -> Result<Arc<[Range<usize>]>> {
        let first = self.first_ordinal();
        let cover = self.ordinal_range();
        if ordinals.covers(cover.clone()) {
            return Ok(std::iter::once(0..self.row_count()).collect());
        }
        if self.is_append_ordered() {
            let stored = first..first + self.row_count() as u64;
            let row = |ordinal: u64| (ordinal - first) as usize;
            return Ok(ordinals.within(stored).map(|r| row(r.start)..row(r.end)).collect());
        }
        let mut rows = Vec::new();
        for unit in self.units() {
            let found = self.ordinals(std::slice::from_ref(&unit))?;
            for (row, _) in (unit.start..).zip(found).filter(|(_, at)| ordinals.contains(*at)) {
                ranges::join(&mut rows, row..row + 1);
            }
        }
        Ok(rows.into())
    }

    /// The parts of `rows` that are not deleted.
    pub(in crate::columnar) fn live(&self, rows: Range<usize>) -> Vec<Range<usize>> {
        let mut live = Vec::new();
        let first = self.dead.partition_point(|dead| dead.end <= rows.start);
        let dead = self.dead.iter().skip(first).take_while(|dead| dead.start < rows.end);
        ranges::push_rest(&mut live, rows.clone(), dead.cloned());
        live
    }

    /// All rows that are not deleted.
    pub(crate) fn all_live(&self) -> Vec<Range<usize>> {
        self.live(0..self.row_count())
    }

    /// Whether stored rows are deleted.
    #[must_use]
    pub fn has_dead(&self) -> bool {
        self.dead_count > 0
    }

    /// Rows that are not deleted.
    #[must_use]
    pub fn live_count(&self) -> usize {
        self.row_count() - self.dead_count
    }

    /// Stored rows, with those that are deleted.
    #[must_use]
    pub fn row_count(&self) -> usize {
        match &self.stored {
            RunStorage::Segment(segment) => segment.meta().row_count as usize,
            RunStorage::Memory(run) => run.batch().num_rows(),
        }
    }

    /// Append ordinal of the first appended row.
    #[must_use]
    pub fn first_ordinal(&self) -> u64 {
        match &self.stored {
            RunStorage::Segment(segment) => segment.meta().first_ordinal,
            RunStorage::Memory(run) => run.first_ordinal(),
        }
    }

    /// The ordinals that only this run can have.
    #[must_use]
    pub fn ordinal_range(&self) -> Range<u64> {
        match &self.stored {
            RunStorage::Segment(segment) => segment.meta().ordinals(),
            RunStorage::Memory(run) => {
                run.first_ordinal()..run.first_ordinal() + run.batch().num_rows() as u64
            }
        }
    }

    /// Whether row `n` has the `n`th ordinal of the run.
    pub(crate) fn is_append_ordered(&self) -> bool {
        match &self.stored {
            RunStorage::Segment(segment) => segment.is_append_ordered(),
            RunStorage::Memory(run) => run.ordinals().is_none(),
        }
    }

    /// Smallest and largest index value of the stored rows.
    #[must_use]
    pub fn index_range(&self) -> (i64, i64) {
        match &self.stored {
            RunStorage::Segment(segment) => (segment.meta().min_index, segment.meta().max_index),
            RunStorage::Memory(run) => {
                let index = run.index();
                (
                    index.first().copied().unwrap_or_default(),
                    index.last().copied().unwrap_or_default(),
                )
            }
        }
    }

    /// Ranges of rows that are processed one at a time.
    pub(in crate::columnar) fn units(&self) -> Vec<Range<usize>> {
        match &self.stored {
            RunStorage::Segment(segment) => segment.groups().collect(),
            RunStorage::Memory(run) => {
                let rows = run.batch().num_rows();
                (0..rows)
                    .step_by(MEMORY_UNIT_ROWS)
                    .map(|at| at..rows.min(at + MEMORY_UNIT_ROWS))
                    .collect()
            }
        }
    }

    /// The summary of a column, if it has one.
    pub(in crate::columnar) fn summary(&self, column: usize) -> Result<Option<&ColumnSummary>> {
        match &self.stored {
            RunStorage::Segment(segment) => match self.stored_column(column) {
                Some(stored) => segment.summary(stored),
                None => Ok(None),
            },
            RunStorage::Memory(_) => Ok(None),
        }
    }

    /// What the summary of a column tells of all stored rows, if it has one.
    pub(in crate::columnar) fn totals(&self, column: usize) -> Result<Option<Totals>> {
        match (&self.stored, self.stored_column(column)) {
            (RunStorage::Segment(segment), Some(stored)) => segment.totals(stored),
            _ => Ok(None),
        }
    }

    /// The sums of the blocks of a column, if they are stored.
    pub(in crate::columnar) fn sums(&self, column: usize) -> Result<Option<&[BlockSums]>> {
        match (&self.stored, self.stored_column(column)) {
            (RunStorage::Segment(segment), Some(stored)) => segment.sums(stored),
            _ => Ok(None),
        }
    }

    /// The rows of these ascending, disjoint ranges with these columns.
    pub(crate) fn read(
        &self,
        schema: &TableSchema,
        columns: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<RecordBatch> {
        match (&self.stored, &self.sources) {
            (RunStorage::Segment(segment), None) => segment.read(columns, ranges),
            (RunStorage::Segment(segment), Some(sources)) => {
                let stored: Vec<usize> =
                    columns.iter().filter_map(|column| self.stored_column(*column)).collect();
                let found = segment.read(&stored, ranges)?;
                let mut arrays = found.columns().iter();
                // In the order of `stored`.
                let next = |_| Ok(arrays.next().cloned());
                adapted(schema, columns, sources, next, found.num_rows())
            }
            (RunStorage::Memory(run), _) => run.read(schema, columns, ranges),
        }
    }

    /// The columns of [`Run::read`], without a batch around them. There is at least one row.
    ///
    /// # Errors
    /// As [`Run::read`].
    pub(in crate::columnar) fn read_arrays(
        &self,
        schema: &TableSchema,
        columns: &[usize],
        ranges: &[Range<usize>],
    ) -> Result<Vec<ArrayRef>> {
        match (&self.stored, &self.sources) {
            (RunStorage::Segment(segment), None) => segment.read_arrays(columns, ranges),
            _ => Ok(self.read(schema, columns, ranges)?.columns().to_vec()),
        }
    }

    /// Append ordinals of the rows of these ranges.
    pub(crate) fn ordinals(&self, ranges: &[Range<usize>]) -> Result<Vec<u64>> {
        let first = self.first_ordinal();
        let mut out = Vec::with_capacity(ranges.iter().map(ExactSizeIterator::len).sum());
        match &self.stored {
            RunStorage::Segment(segment) if !segment.is_append_ordered() => {
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
            RunStorage::Memory(run) if run.ordinals().is_some() => {
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
    pub(in crate::columnar) fn row_of(&self, ordinal: u64) -> Result<Option<usize>> {
        let Some(offset) = Some(ordinal)
            .filter(|ordinal| self.ordinal_range().contains(ordinal))
            .map(|ordinal| ordinal - self.first_ordinal())
        else {
            return Ok(None);
        };
        match &self.stored {
            RunStorage::Segment(segment) if !segment.is_append_ordered() => {
                for unit in self.units() {
                    let offsets = segment.ordinals(unit.clone())?;
                    if let Some(at) = offsets.iter().position(|&other| u64::from(other) == offset) {
                        return Ok(Some(unit.start + at));
                    }
                }
                Ok(None)
            }
            RunStorage::Memory(run) if run.ordinals().is_some() => Ok(run
                .ordinals()
                .unwrap_or_default()
                .iter()
                .position(|&other| u64::from(other) == offset)),
            _ => Ok(Some(offset as usize).filter(|row| *row < self.row_count())),
        }
    }

    /// The summary of the index column.
    ///
    /// # Errors
    /// `Corrupt` for a segment without one.
    pub(in crate::columnar) fn index_summary(&self, schema: &TableSchema) -> Result<&Levels<i64>> {
        match self.summary(schema.index())? {
            Some(ColumnSummary::Int(levels)) => Ok(levels),
            _ => Err(Error::corrupt(
                "a segment has no summary of its index column; restore the table from a backup",
            )),
        }
    }

    /// The index value of a row.
    pub(in crate::columnar) fn index_value(&self, schema: &TableSchema, row: usize) -> Result<i64> {
        let batch = self.read(schema, &[schema.index()], std::slice::from_ref(&(row..row + 1)))?;
        Ok(index_values(batch.column(0))?.first().copied().unwrap_or_default())
    }

    /// The rows with index values from `low` to `high`.
    pub(in crate::columnar) fn rows_within(
        &self,
        schema: &TableSchema,
        (low, high): (i64, i64),
    ) -> Result<Range<usize>> {
        let from = self.rows_before(schema, low, false)?;
        let to = self.rows_before(schema, high, true)?;
        Ok(from..to.max(from))
    }

    /// The rows with this index value.
    pub(in crate::columnar) fn rows_equal(
        &self,
        schema: &TableSchema,
        value: i64,
    ) -> Result<Range<usize>> {
        if let RunStorage::Segment(_) = &self.stored {
            // Mostly all of them are in one block, which is read once.
            let levels = self.index_summary(schema)?.blocks();
            let first = levels.partition_point(|block| block.max < value);
            let end = levels.partition_point(|block| block.min <= value);
            if end <= first + 1 {
                let from = (first * BLOCK_ROWS).min(self.row_count());
                let to = (end.max(first) * BLOCK_ROWS).min(self.row_count());
                if from == to {
                    return Ok(from..to);
                }
                let batch =
                    self.read(schema, &[schema.index()], std::slice::from_ref(&(from..to)))?;
                let values = index_values(batch.column(0))?;
                let before = values.partition_point(|other| *other < value);
                return Ok(from + before..from + values.partition_point(|other| *other <= value));
            }
        }
        let from = self.rows_before(schema, value, false)?;
        Ok(from..self.rows_before(schema, value, true)?)
    }

    /// The number of rows whose index value is less than `value`, or, with `or_equal`, not greater.
    pub(in crate::columnar) fn rows_before(
        &self,
        schema: &TableSchema,
        value: i64,
        or_equal: bool,
    ) -> Result<usize> {
        let before = |other: i64| other < value || (or_equal && other == value);
        // Mostly the range of the index decides, which is known without the files.
        let (least, greatest) = self.index_range();
        if !before(least) {
            return Ok(0);
        }
        if before(greatest) {
            return Ok(self.row_count());
        }
        match &self.stored {
            RunStorage::Memory(run) => Ok(run.index().partition_point(|&other| before(other))),
            RunStorage::Segment(_) => {
                let levels = self.index_summary(schema)?;
                let block = levels.blocks().partition_point(|block| before(block.max));
                let from = (block * BLOCK_ROWS).min(self.row_count());
                let to = (from + BLOCK_ROWS).min(self.row_count());
                // A block that starts after the value need not be read.
                if from == to || levels.blocks().get(block).is_none_or(|block| !before(block.min)) {
                    return Ok(from);
                }
                let batch =
                    self.read(schema, &[schema.index()], std::slice::from_ref(&(from..to)))?;
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
    /// Ascending by first ordinal; each run has rows that are not deleted.
    runs: Vec<Run>,
}

impl TableView {
    /// A view of these runs, which may be in any order.
    #[must_use]
    pub fn new(schema: Arc<TableSchema>, mut runs: Vec<Run>) -> Self {
        runs.retain(|run| run.live_count() > 0);
        runs.sort_by_key(Run::first_ordinal);
        Self { schema, runs }
    }

    /// The runs, ascending by first ordinal.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Rows of all runs that are not deleted.
    #[must_use]
    pub fn row_count(&self) -> u64 {
        self.runs.iter().map(|run| run.live_count() as u64).sum()
    }

    /// Whether stored rows are deleted.
    #[must_use]
    pub fn has_dead(&self) -> bool {
        self.runs.iter().any(Run::has_dead)
    }

    /// Whether stored rows have other columns than the table.
    pub(in crate::columnar) fn has_other_columns(&self) -> bool {
        !self.runs.iter().all(Run::has_columns_of_table)
    }

    pub(in crate::columnar) fn run(&self, at: usize) -> Result<&Run> {
        self.runs.get(at).ok_or_else(|| {
            Error::corrupt("internal error: a run outside of the view was requested; report it")
        })
    }

    /// The runs whose index may have a value of this range, ascending by first ordinal.
    pub(in crate::columnar) fn runs_within(&self, (low, high): (i64, i64)) -> Vec<usize> {
        let is_within = |run: &Run| {
            let (least, greatest) = run.index_range();
            low <= high && low <= greatest && least <= high
        };
        (0..self.runs.len()).filter(|at| self.runs.get(*at).is_some_and(is_within)).collect()
    }

    /// The runs whose index may have a value of this range, in index order if they do not overlap,
    /// so that reading one after the other gives the order of the whole table. Runs may share an
    /// index value if the earlier one was appended first.
    #[must_use]
    pub(in crate::columnar) fn sequence_within(&self, range: (i64, i64)) -> Option<Vec<usize>> {
        let mut order = self.runs_within(range);
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
        self.overlapping_within((i64::MIN, i64::MAX))
    }

    /// As [`Self::overlapping_runs`], of the runs whose index may have a value of this range.
    #[must_use]
    pub(crate) fn overlapping_within(&self, range: (i64, i64)) -> usize {
        match self.sequence_within(range) {
            Some(_) => 0,
            None => self.runs_within(range).len(),
        }
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
            match run.stored() {
                RunStorage::Segment(segment) if !segment.is_append_ordered() => {
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
                RunStorage::Memory(memory) => {
                    let offset =
                        memory.ordinals().and_then(|all| all.get(locator.row as usize).copied());
                    out.push(first + u64::from(offset.unwrap_or(locator.row)));
                }
                RunStorage::Segment(_) => out.push(first + u64::from(locator.row)),
            }
        }
        Ok(out)
    }

    /// The position of the row with this append ordinal.
    pub(in crate::columnar) fn locate(&self, ordinal: u64) -> Result<Option<Locator>> {
        for (at, run) in self.runs.iter().enumerate() {
            if let Some(row) = run.row_of(ordinal)? {
                return Ok(Some(Locator { run: at as u32, row: row as u32 }));
            }
        }
        Ok(None)
    }
}
