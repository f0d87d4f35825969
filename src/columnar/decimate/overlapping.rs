//! Decimation over the index column of overlapping runs. The rows are not merged: an interval is a
//! range of rows in each run, and its extremes are the best of those ranges.
//!
//! What must hold: each row of a needed column is decoded once, whatever the number of runs and
//! intervals. Beyond that, rows are sorted only within a window, and only if an interval ends in
//! it. Rows with equal index values are in order of the runs, which is the order of append.

use std::collections::VecDeque;
use std::ops::Range;

use super::decimation::Decimation;
use super::intervals::{Cuts, Pass, Piece, Rank, WindowRows};
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::read::count::{count_rows, in_parallel};
use crate::columnar::read::unit;
use crate::columnar::read::view::{Locator, RunStorage, TableView};
use crate::columnar::segment::{BLOCK_ROWS, PAGE_ROWS};
use crate::error::Result;
use crate::model::tables::data::DecimationMethod;
use crate::value::Control;

/// Minimum number of blocks that begin in one window; fewer would leave the second thread without
/// work.
const WINDOW_BLOCKS: usize = if cfg!(test) { 4 } else { 512 };
/// Approximate number of y values in memory at a time.
const WINDOW_CELLS: usize = 8 * 1024 * 1024;

/// How far a run has been read.
struct Cursor {
    run: usize,
    next_row: usize,
    end_row: usize,
    pieces: VecDeque<Piece>,
}

/// Returns the kept rows in order of the index.
///
/// The y columns are processed in groups that fit the memory of a window, with one pass over the
/// rows for each group. A window has the rows between two block starts of the whole table, so it
/// has about as many rows however the runs overlap.
pub(super) fn keep(
    view: &TableView,
    decimation: &Decimation,
    predicates: &Predicates,
    control: &Control,
) -> Result<Vec<Locator>> {
    let row_count = count_rows(view, predicates, control)?;
    if row_count == 0 {
        return Ok(Vec::new());
    }
    let cuts = Cuts::new(view, decimation, predicates, row_count, control)?;
    let is_lossy = decimation.method == DecimationMethod::Lossy;
    let y = if is_lossy { &[][..] } else { &decimation.y[..] };
    let within = predicates.int_bounds(view.schema.index());
    let starts = block_starts(view, within)?;
    let window_blocks = WINDOW_BLOCKS.max(2 * view.runs().len());
    // Besides the blocks of the window, a decoded page of each run may wait.
    let window_rows = window_blocks * BLOCK_ROWS + view.runs().len() * PAGE_ROWS;
    let together = (WINDOW_CELLS / window_rows).max(1);
    let mut kept: Vec<Rank> = Vec::new();
    let mut from = 0;
    loop {
        let to = y.len().min(from + together);
        let columns = y.get(from..to).unwrap_or_default();
        let mut pass = Pass::new(cuts.clone(), decimation, columns.len(), from == 0);
        let mut cursors = cursors(view, within)?;
        let bounds = starts.iter().step_by(window_blocks).skip(1).copied().map(Some).chain([None]);
        for bound in bounds {
            control.check()?;
            read_ahead(view, predicates, columns, &mut cursors, bound, control)?;
            let sources = window(&cursors, bound);
            pass.take(&sources)?;
            let ends: Vec<usize> = sources.iter().map(|source| source.rows.end).collect();
            advance(&mut cursors, &ends, bound);
        }
        pass.close();
        kept.append(&mut pass.kept);
        // Both parts are sorted, so the stable sort only merges them. After `dedup` there are at
        // most as many entries as the table has rows.
        kept.sort();
        kept.dedup();
        from = to;
        if from >= y.len() {
            break;
        }
    }
    Ok(kept.into_iter().map(|(_, locator)| locator).collect())
}

/// The ranks at which blocks begin in any run that may have index values of this range, in
/// ascending order.
fn block_starts(view: &TableView, within: (i64, i64)) -> Result<Vec<Rank>> {
    let mut starts = Vec::new();
    for at in view.runs_within(within) {
        let run = view.run(at)?;
        let rank = |(number, key): (usize, i64)| {
            (key, Locator { run: at as u32, row: (number * BLOCK_ROWS) as u32 })
        };
        match run.stored() {
            RunStorage::Memory(run) => {
                starts
                    .extend(run.index().iter().copied().step_by(BLOCK_ROWS).enumerate().map(rank));
            }
            RunStorage::Segment(_) => {
                let blocks = run.index_summary(&view.schema)?.blocks();
                starts.extend(blocks.iter().map(|block| block.min).enumerate().map(rank));
            }
        }
    }
    starts.sort_unstable();
    Ok(starts)
}

/// A cursor for every run that may have index values of this range, at the first row that has one.
fn cursors(view: &TableView, within: (i64, i64)) -> Result<Vec<Cursor>> {
    let cursor = |at: usize| {
        let Range { start: next_row, end: end_row } =
            view.run(at)?.rows_within(&view.schema, within)?;
        Ok(Cursor { run: at, next_row, end_row, pieces: VecDeque::new() })
    };
    view.runs_within(within).into_iter().map(cursor).collect()
}

/// The first row of a run that begins a block and is not before `bound`.
fn first_block_from(view: &TableView, run_at: usize, bound: Rank) -> Result<usize> {
    let is_before = |number: usize, key: i64| {
        (key, Locator { run: run_at as u32, row: (number * BLOCK_ROWS) as u32 }) < bound
    };
    let run = view.run(run_at)?;
    let (mut low, mut high) = (0, run.row_count().div_ceil(BLOCK_ROWS));
    while low < high {
        let middle = usize::midpoint(low, high);
        let key = match run.stored() {
            RunStorage::Memory(run) => run.index().get(middle * BLOCK_ROWS).copied(),
            RunStorage::Segment(_) => {
                run.index_summary(&view.schema)?.blocks().get(middle).map(|block| block.min)
            }
        };
        match key {
            Some(key) if is_before(middle, key) => low = middle + 1,
            _ => high = middle,
        }
    }
    Ok(low * BLOCK_ROWS)
}

/// Decodes the rows before `bound` that were not decoded yet, in whole pages, so that no page is
/// decoded twice. Rows before `bound` are in blocks that begin before it, so the first block from
/// `bound` on is where reading may stop.
fn read_ahead(
    view: &TableView,
    predicates: &Predicates,
    columns: &[usize],
    cursors: &mut [Cursor],
    bound: Option<Rank>,
    control: &Control,
) -> Result<()> {
    let mut looks: Vec<(usize, Range<usize>)> = Vec::new();
    for (at, cursor) in cursors.iter().enumerate() {
        let end = match bound {
            None => cursor.end_row,
            Some(bound) => first_block_from(view, cursor.run, bound)?
                .next_multiple_of(PAGE_ROWS)
                .min(cursor.end_row),
        };
        let mut from = cursor.next_row;
        while from < end {
            // In parts, so that two threads can share a long run.
            let to = (from / PAGE_ROWS * PAGE_ROWS + 16 * PAGE_ROWS).min(end);
            looks.push((at, from..to));
            from = to;
        }
    }
    let rows = looks.iter().map(|(_, rows)| rows.len()).sum();
    let run_of = |at: usize| cursors.get(at).map_or(usize::MAX, |cursor| cursor.run);
    let pieces = in_parallel(&looks, rows, control, |(at, rows)| {
        let run_at = run_of(*at);
        let run = view.run(run_at)?;
        let left = unit::prune(run, predicates, rows.clone())?;
        let found = unit::read_keyed(run, &view.schema, predicates, &left, columns, control)?;
        Ok(found.map(|(batch, keys, ranges)| {
            let rows = ranges.iter().flat_map(|range| range.start as u32..range.end as u32);
            Piece { run: run_at as u32, keys, batch, rows: rows.collect(), at: 0 }
        }))
    })?;
    for ((at, rows), piece) in looks.into_iter().zip(pieces) {
        if let Some(cursor) = cursors.get_mut(at) {
            cursor.next_row = rows.end;
            cursor.pieces.extend(piece);
        }
    }
    Ok(())
}

/// The rows before `bound` that were in no window yet, in order of the runs and of the rows in
/// each.
fn window(cursors: &[Cursor], bound: Option<Rank>) -> Vec<WindowRows<'_>> {
    let mut sources = Vec::new();
    for piece in cursors.iter().flat_map(|cursor| &cursor.pieces) {
        let rest = piece.keys.get(piece.at..).unwrap_or_default();
        let count = match bound {
            None => rest.len(),
            Some((key, locator)) if piece.run == locator.run => {
                let rows = piece.rows.get(piece.at..).unwrap_or_default();
                let at = rest.partition_point(|&mine| mine < key);
                // Of the rows with an equal index value, those before the row of the bound.
                let equal = rest
                    .get(at..)
                    .unwrap_or_default()
                    .iter()
                    .zip(rows.get(at..).unwrap_or_default());
                at + equal.take_while(|&(&mine, &row)| mine == key && row < locator.row).count()
            }
            Some((key, locator)) => {
                rest.partition_point(|&mine| mine < key || (mine == key && piece.run < locator.run))
            }
        };
        sources.push(WindowRows { piece, rows: piece.at..piece.at + count });
    }
    sources
}

/// Marks the rows of a window as taken; `ends` are the ends of its sources. Drops pieces without
/// further rows.
fn advance(cursors: &mut [Cursor], ends: &[usize], bound: Option<Rank>) {
    let pieces = cursors.iter_mut().flat_map(|cursor| &mut cursor.pieces);
    for (piece, end) in pieces.zip(ends) {
        piece.at = *end;
    }
    for cursor in cursors {
        cursor.pieces.retain(|piece| bound.is_some() && piece.at < piece.keys.len());
    }
}
