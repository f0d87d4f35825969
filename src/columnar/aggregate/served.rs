//! Aggregates of blocks of rows from their summaries.

use std::ops::Range;

use super::grouped::GroupedRows;
use super::groups::{KeyCell, Width, bucket};
use super::needs::{Need, Needs};
use super::request::{Aggregation, Bounds};
use super::state::{ColumnFacts, ColumnState, Group};
use crate::columnar::read::view::{Run, RunStorage};
use crate::columnar::segment::{BLOCK_ROWS, ColumnSummary};
use crate::error::Result;
use crate::value::exact::BlockSums;

/// Whether the summaries of a run describe exactly the rows that it has. The only place that
/// decides it: a run with deleted rows must answer no.
fn has_exact_summaries(run: &Run) -> bool {
    matches!(run.stored(), RunStorage::Segment(_)) && !run.has_dead()
}

/// What the summaries say about a column.
struct Summary<'a> {
    blocks: &'a ColumnSummary,
    /// The sums of the blocks, if they are needed.
    sums: Option<&'a [BlockSums]>,
}

/// The summaries of a run that serve an aggregation.
pub(super) struct RunSummaries<'a> {
    keys: Vec<(&'a ColumnSummary, Option<Width>)>,
    columns: Vec<Summary<'a>>,
    needs: &'a Needs,
}

impl<'a> RunSummaries<'a> {
    /// `None` if the values of the run have to be read.
    pub(super) fn of(
        run: &'a Run,
        aggregation: &Aggregation<'_>,
        needs: &'a Needs,
    ) -> Result<Option<Self>> {
        if !has_exact_summaries(run) || !needs.are_in_summaries() {
            return Ok(None);
        }
        let (mut keys, mut columns) = (Vec::new(), Vec::new());
        for key in &aggregation.keys {
            let Some(summary) = run.summary(key.column)? else { return Ok(None) };
            keys.push((summary, key.width));
        }
        for need in &needs.0 {
            let Some(blocks) = run.summary(need.column)? else { return Ok(None) };
            let sums = if need.sums { run.sums(need.column)? } else { None };
            if need.sums && sums.is_none() {
                return Ok(None);
            }
            columns.push(Summary { blocks, sums });
        }
        Ok(Some(Self { keys, columns, needs }))
    }

    /// The keys of a block, if all of its rows have the same.
    fn keys_of(&self, block: usize) -> Option<Vec<KeyCell>> {
        self.keys
            .iter()
            .map(|(summary, width)| {
                let ColumnSummary::Int(levels) = summary else { return None };
                let block = levels.blocks().get(block)?;
                let (low, high) = match width {
                    None => (block.min, block.max),
                    Some(Width::Int(width)) => {
                        (bucket(block.min, *width), bucket(block.max, *width))
                    }
                    Some(Width::Float(_)) => return None,
                };
                let is_full = block.nulls == 0 && block.rows > 0;
                (is_full && low == high).then_some(KeyCell::Int(low))
            })
            .collect()
    }

    /// Folds the blocks of rows that all count into their groups; the others are to be read.
    pub(super) fn fold(
        &self,
        rows: Range<usize>,
        part: &mut GroupedRows,
        open: &mut Vec<Range<usize>>,
        bounds: Bounds<'_>,
    ) -> Result<()> {
        // Blocks that follow each other mostly have the same keys.
        let mut last: Option<(Vec<KeyCell>, Group)> = None;
        for block in rows.start / BLOCK_ROWS..rows.end.div_ceil(BLOCK_ROWS) {
            let range =
                (block * BLOCK_ROWS).max(rows.start)..((block + 1) * BLOCK_ROWS).min(rows.end);
            let keys = if self.knows(block, range.len()) { self.keys_of(block) } else { None };
            let Some(keys) = keys else {
                open.push(range);
                continue;
            };
            part.summarized += range.len() as u64;
            let (keys, mut group) = match last.take() {
                Some((before, group)) if before == keys => (before, group),
                other => {
                    if let Some((before, group)) = other {
                        part.add(before, group, bounds)?;
                    }
                    (keys, Group::new(self.needs))
                }
            };
            self.add(block, range.len(), &mut group);
            last = Some((keys, group));
        }
        last.map_or(Ok(()), |(keys, group)| part.add(keys, group, bounds))
    }

    /// Whether the summaries say all that is needed of the `rows` rows of a block.
    fn knows(&self, block: usize, rows: usize) -> bool {
        self.columns.iter().all(|Summary { blocks, sums }| {
            let summed = blocks.block(block).map(|block| block.rows);
            let is_known = |sums: &&[BlockSums]| sums.get(block).is_some_and(BlockSums::is_known);
            summed.is_some_and(|summed| usize::from(summed) == rows)
                && sums.as_ref().is_none_or(is_known)
        })
    }

    /// Adds a block that is known to a group.
    fn add(&self, block: usize, rows: usize, group: &mut Group) {
        group.rows += rows as u64;
        let needs = self.needs.0.iter().zip(&self.columns);
        for (state, (need, summary)) in group.states.iter_mut().zip(needs) {
            add_block(state, summary, block, need);
        }
    }
}

fn add_block(state: &mut ColumnState, summary: &Summary<'_>, block: usize, need: &Need) {
    let sums = summary.sums.and_then(|sums| sums.get(block));
    let cells = match (&mut state.known, summary.blocks) {
        (ColumnFacts::Ints(numbers), ColumnSummary::Int(levels)) => {
            levels.blocks().get(block).map(|block| numbers.add_block(block, sums, need))
        }
        (ColumnFacts::Floats(numbers), ColumnSummary::Float(levels)) => {
            levels.blocks().get(block).map(|block| numbers.add_block(block, sums, need))
        }
        // Both are of one column, so they have one type.
        _ => None,
    };
    state.cells += cells.unwrap_or_default();
}
