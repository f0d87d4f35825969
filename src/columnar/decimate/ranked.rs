//! Decimation from summaries. An interval is a range of ranks, which only rows have that are not
//! deleted. Its whole blocks, without deleted rows, are answered from the summary. A block at its
//! edge is read only if its extreme is outside of the interval and the rows inside could still win.
//! Copies of the rows of block extremes are stored beside the pages, so that few rows of an answer
//! are looked up in pages.

use std::ops::Range;

use super::answer::{AnswerRow, Extreme};
use super::decimation::Decimation;
use super::extremes::{Best, array_extremes, flush, span_of};
use crate::columnar::column_slice::Level;
use crate::columnar::kernels;
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::read::count::in_parallel;
use crate::columnar::read::view::{Locator, RunStorage, TableView};
use crate::columnar::segment::{BLOCK_ROWS, Block};
use crate::error::{Error, Result};
use crate::model::tables::data::DecimationMethod;
use crate::value::Control;

/// More equal-width spans than this are found by a scan of the rows.
const SPANS_MAX: u64 = 100_000;
/// Intervals that are processed together; few in tests, whose tables are small.
const INTERVALS_TOGETHER: usize = if cfg!(test) { 5 } else { 64 * 1024 };
/// Minimum number of intervals that are processed together.
const INTERVALS_LEAST: usize = 4;
/// Memory for one y column in one interval: its extremes, and the edges to read.
const BEST_BYTES: usize = 512;

/// Beside one for so many blocks, the places at which deleted rows may lie between the others. With
/// more, few blocks are whole, and reading each row once is faster.
const GAP_BLOCKS: usize = 4;
const GAPS_LEAST: usize = 16;

/// Consecutive rows of a run of which none is deleted, with the rank of the first.
struct Part {
    run: usize,
    first_rank: u64,
    rows: Range<usize>,
}

/// Where an extreme was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtremeSource {
    /// In the summary of a block; a copy of its row may be stored beside the pages.
    Block,
    /// In rows that were read.
    Rows,
}

/// Rows at the edge of an interval that must be read.
struct Edge {
    /// Position of the column among the y columns.
    y: usize,
    interval: usize,
    run: usize,
    rows: Range<usize>,
    first_rank: u64,
}

/// Returns the kept rows, or `None` when summaries do not suffice.
pub(super) fn keep(
    view: &TableView,
    decimation: &Decimation,
    predicates: &Predicates,
    control: &Control,
) -> Result<Option<Vec<AnswerRow>>> {
    let index = view.schema.index();
    if decimation.x != index {
        return Ok(None);
    }
    let Some(index_range) = predicates.int_range(index) else { return Ok(None) };
    let Some((parts, are_mostly_whole)) = parts(view, index_range)? else { return Ok(None) };
    let Some(row_count) = parts.last().map(Part::end_rank) else { return Ok(Some(Vec::new())) };
    if decimation.method == DecimationMethod::Lossy {
        let ranks = kernels::lossy(row_count, decimation.intervals);
        return ranks
            .into_iter()
            .map(|rank| Ok(AnswerRow::row(locate(&parts, rank)?)))
            .collect::<Result<_>>()
            .map(Some);
    }
    if !are_mostly_whole {
        return Ok(None);
    }
    let Some(intervals) = cut(view, decimation, &parts, row_count, control)? else {
        return Ok(None);
    };
    let mut kept = Vec::new();
    // In parts, because there may be as many intervals as rows.
    let fits = decimation.memory_bytes / (BEST_BYTES * decimation.y.len().max(1));
    let together = fits.clamp(INTERVALS_LEAST, INTERVALS_TOGETHER);
    let mut reserved = decimation.budget.reservation();
    reserved.hold(together.min(intervals.len()) * BEST_BYTES * decimation.y.len())?;
    for intervals in intervals.chunks(together) {
        keep_part(view, decimation, &parts, intervals, &mut kept, control)?;
    }
    Ok(Some(kept))
}

/// Appends the rows that these intervals keep, in order of rank.
fn keep_part(
    view: &TableView,
    decimation: &Decimation,
    parts: &[Part],
    intervals: &[Range<u64>],
    kept: &mut Vec<AnswerRow>,
    control: &Control,
) -> Result<()> {
    let mut bests = Vec::with_capacity(decimation.y.len());
    let mut edges = Vec::new();
    for (y, &column) in decimation.y.iter().enumerate() {
        control.check()?;
        bests.push(extremes_of(view, (y, column), parts, intervals, &mut edges)?);
    }
    read_edges(view, &decimation.y, &edges, &mut bests, control)?;
    let mut rows = Vec::new();
    for (number, interval) in intervals.iter().enumerate() {
        // Extremes from blocks first: `flush` keeps the first entry of a row, and this one needs no
        // page for its cells.
        for of_block in [true, false] {
            for (bests, &column) in bests.iter().zip(&decimation.y) {
                let Some(best) = bests.get(number) else { continue };
                for (found, is_max) in [(best.min, false), (best.max, true)] {
                    if let Some((level, rank, from)) =
                        found.filter(|(_, _, from)| (*from == ExtremeSource::Block) == of_block)
                    {
                        let extreme =
                            (from == ExtremeSource::Block).then_some(Extreme { column, is_max });
                        // Zeros of different signs are equal, so the level does not determine the
                        // value.
                        let known = (level != Level::Float(0.0)).then_some((column, level));
                        rows.push((
                            rank,
                            AnswerRow { locator: locate(parts, rank)?, extreme, known },
                        ));
                    }
                }
            }
        }
        if decimation.method == DecimationMethod::EntryExit {
            for rank in [interval.start, interval.end - 1] {
                rows.push((rank, AnswerRow::row(locate(parts, rank)?)));
            }
        }
        flush(&mut rows, kept);
    }
    Ok(())
}

impl Part {
    /// The rank after the last row.
    fn end_rank(&self) -> u64 {
        self.first_rank + self.rows.len() as u64
    }
}

/// The rows of a range of the index, in its order, and whether deleted rows lie between them in few
/// places; `None` if runs overlap there.
fn parts(view: &TableView, index_range: (i64, i64)) -> Result<Option<(Vec<Part>, bool)>> {
    let Some(sequence) = view.sequence_within(index_range) else { return Ok(None) };
    let mut parts: Vec<Part> = Vec::new();
    let (mut gaps, mut blocks) = (0, 0);
    for at in sequence {
        let run = view.run(at)?;
        let rows = run.rows_within(&view.schema, index_range)?;
        if rows.is_empty() {
            continue;
        }
        blocks += rows.len().div_ceil(BLOCK_ROWS);
        let live = run.live(rows);
        gaps += live.len().saturating_sub(1);
        for rows in live {
            let first_rank = parts.last().map_or(0, Part::end_rank);
            parts.push(Part { run: at, first_rank, rows });
        }
    }
    Ok(Some((parts, gaps <= GAPS_LEAST + blocks / GAP_BLOCKS)))
}

/// How many rows of these parts of one run are before a row of it.
fn count_before(of_run: &[Part], row: usize) -> u64 {
    let whole = of_run.partition_point(|part| part.rows.end <= row);
    let rank = match (of_run.get(whole), of_run.last()) {
        (Some(part), _) => part.first_rank + row.saturating_sub(part.rows.start) as u64,
        (None, Some(last)) => last.end_rank(),
        (None, None) => 0,
    };
    rank - of_run.first().map_or(0, |first| first.first_rank)
}

fn part_of(parts: &[Part], rank: u64) -> usize {
    parts.partition_point(|part| part.first_rank <= rank).saturating_sub(1)
}

fn locate(parts: &[Part], rank: u64) -> Result<Locator> {
    let part = parts.get(part_of(parts, rank)).ok_or_else(|| {
        Error::corrupt("internal error: a rank outside of the table was requested; report it")
    })?;
    let row = part.rows.start + (rank - part.first_rank) as usize;
    Ok(Locator { run: part.run as u32, row: row as u32 })
}

/// The non-empty intervals as ranges of ranks; `None` when there are too many spans.
fn cut(
    view: &TableView,
    decimation: &Decimation,
    parts: &[Part],
    row_count: u64,
    control: &Control,
) -> Result<Option<Vec<Range<u64>>>> {
    if !decimation.is_equal_width() {
        let count = decimation.intervals.min(row_count);
        return Ok(Some(
            (0..count).map(|number| kernels::interval(row_count, count, number)).collect(),
        ));
    }
    if decimation.intervals > SPANS_MAX {
        return Ok(None);
    }
    let value_at = |rank: u64| -> Result<i64> {
        let here = locate(parts, rank)?;
        view.run(here.run as usize)?.index_value(&view.schema, here.row as usize)
    };
    let (least, greatest) = (value_at(0)?, value_at(row_count - 1)?);
    let width = (i128::from(greatest) - i128::from(least)).cast_unsigned();
    let count = decimation.intervals;
    let runs: Vec<&[Part]> = parts.chunk_by(|a, b| a.run == b.run).collect();
    let mut bounds = vec![0];
    for number in 1..count {
        control.check()?;
        // The least value whose span is `number` or a later one. It must agree with `span_of`, by
        // which a scan cuts intervals, or the two ways would keep different rows.
        let offset = (u128::from(number) * width).div_ceil(u128::from(count));
        let value = (i128::from(least) + offset.cast_signed()) as i64;
        debug_assert!(
            span_of(Level::Int(value), Level::Int(least), Level::Int(greatest), count) >= number
                || width == 0
        );
        let mut rank = 0;
        for of_run in &runs {
            let Some(part) = of_run.first() else { continue };
            let before = view.run(part.run)?.rows_before(&view.schema, value, false)?;
            rank += count_before(of_run, before);
        }
        // With a width of 0 all rows are in the first span.
        bounds.push(if width == 0 { row_count } else { rank });
    }
    bounds.push(row_count);
    Ok(Some(
        bounds
            .windows(2)
            .filter_map(|pair| match pair {
                [from, to] if from < to => Some(*from..*to),
                _ => None,
            })
            .collect(),
    ))
}

/// Offers the extremes of a block that are among its rows `inside` the interval. Returns whether
/// one of them is outside, so that the extreme of the rows inside is not known from the summary.
fn offer_block(
    best: &mut Best<ExtremeSource>,
    block: &Block<Level>,
    block_row: usize,
    inside: &Range<usize>,
    rank_of: &dyn Fn(usize) -> u64,
) -> bool {
    let mut open = false;
    let (min_row, max_row) =
        (block_row + usize::from(block.min_at), block_row + usize::from(block.max_at));
    if inside.contains(&min_row) {
        best.offer_min(block.min, rank_of(min_row), ExtremeSource::Block);
    } else {
        open = true;
    }
    if inside.contains(&max_row) {
        best.offer_max(block.max, rank_of(max_row), ExtremeSource::Block);
    } else {
        open = true;
    }
    open
}

/// Whether rows of a block could still win; otherwise its edge is not read. An equal value wins if
/// its rank can be smaller.
fn could_win(best: &Best<ExtremeSource>, block: &Block<Level>, first_rank: u64) -> bool {
    let (min, max) = (block.min, block.max);
    best.min.is_none_or(|(found, rank, _)| min < found || (min == found && first_rank < rank))
        || best
            .max
            .is_none_or(|(found, rank, _)| max > found || (max == found && first_rank < rank))
}

/// Finds the extremes of a y column in each interval from summaries and rows in memory. `y` is its
/// position among the y columns, `column` its position in the table. Adds the rows that could
/// change the result to `edges`. These are selected after all whole blocks of an interval were
/// offered, because a better extreme excludes more of them.
fn extremes_of(
    view: &TableView,
    (y, column): (usize, usize),
    parts: &[Part],
    intervals: &[Range<u64>],
    edges: &mut Vec<Edge>,
) -> Result<Vec<Best<ExtremeSource>>> {
    let mut bests: Vec<Best<ExtremeSource>> = vec![Best { min: None, max: None }; intervals.len()];
    for (number, interval) in intervals.iter().enumerate() {
        let Some(best) = bests.get_mut(number) else { continue };
        let mut open: Vec<Edge> = Vec::new();
        for part in parts.iter().skip(part_of(parts, interval.start)) {
            if part.first_rank >= interval.end {
                break;
            }
            let from = part.rows.start + interval.start.saturating_sub(part.first_rank) as usize;
            let to = part.rows.end.min(part.rows.start + (interval.end - part.first_rank) as usize);
            let rank_of = |row: usize| part.first_rank + (row - part.rows.start) as u64;
            let run = view.run(part.run)?;
            if run.stored_column(column).is_none() {
                // All of its values are null.
                continue;
            }
            match run.stored() {
                RunStorage::Memory(run) => {
                    let array = run.batch().column(column);
                    if let Some(found) = array_extremes(array, from, to - from)? {
                        best.offer(&found, |at| (rank_of(from + at), ExtremeSource::Rows));
                    }
                }
                RunStorage::Segment(_) => {
                    let edge = |rows: Range<usize>| Edge {
                        y,
                        interval: number,
                        run: part.run,
                        first_rank: rank_of(rows.start),
                        rows,
                    };
                    let summary = run.summary(column)?.ok_or_else(|| {
                        Error::corrupt(
                            "a segment lacks the summary of a numeric column; restore the table \
                             from a backup",
                        )
                    })?;
                    let (first_whole, last_whole) = (from.div_ceil(BLOCK_ROWS), to / BLOCK_ROWS);
                    let mut edge_ranges = Vec::with_capacity(2);
                    if first_whole > last_whole {
                        // The interval is inside one block.
                        edge_ranges.push(from..to);
                    } else {
                        if from < first_whole * BLOCK_ROWS {
                            edge_ranges.push(from..first_whole * BLOCK_ROWS);
                        }
                        if last_whole * BLOCK_ROWS < to {
                            edge_ranges.push(last_whole * BLOCK_ROWS..to);
                        }
                    }
                    if first_whole < last_whole
                        && let Some(found) = summary.extremes(first_whole..last_whole)
                    {
                        best.offer(&found, |at| (rank_of(at), ExtremeSource::Block));
                    }
                    for rows in edge_ranges {
                        let at = rows.start / BLOCK_ROWS;
                        let block = summary.block(at).filter(Block::is_usable);
                        if let Some(block) = block
                            && offer_block(best, &block, at * BLOCK_ROWS, &rows, &rank_of)
                        {
                            open.push(edge(rows));
                        }
                    }
                }
            }
        }
        for edge in open {
            let at = edge.rows.start / BLOCK_ROWS;
            let rows = edge.rows.clone();
            let level = |found: Option<(Level, u64, ExtremeSource)>| found.map(|(level, ..)| level);
            let parts = match view.run(edge.run)?.summary(column)? {
                Some(summary) => match summary.block(at) {
                    Some(block) if could_win(best, &block, edge.first_rank) => {
                        summary.candidates(&rows, level(best.min), level(best.max))
                    }
                    _ => Vec::new(),
                },
                None => vec![rows.clone()],
            };
            edges.extend(parts.into_iter().map(|part| Edge {
                first_rank: edge.first_rank + (part.start - rows.start) as u64,
                rows: part,
                ..edge
            }));
        }
    }
    Ok(bests)
}

/// Reads the edges and offers their extremes. Edges of one column in one run are read together.
fn read_edges(
    view: &TableView,
    columns: &[usize],
    edges: &[Edge],
    bests: &mut [Vec<Best<ExtremeSource>>],
    control: &Control,
) -> Result<()> {
    /// Edges that are read together.
    const TOGETHER: usize = 64;
    let groups: Vec<&[Edge]> = edges
        .chunk_by(|a, b| (a.y, a.run) == (b.y, b.run))
        .flat_map(|of_run| of_run.chunks(TOGETHER))
        .collect();
    let rows = edges.len() * crate::columnar::segment::PAGE_ROWS;
    let found = in_parallel(&groups, rows, control, |group| {
        let Some((first, column)) =
            group.first().and_then(|first| Some((first, *columns.get(first.y)?)))
        else {
            return Ok(Vec::new());
        };
        let ranges: Vec<Range<usize>> = group.iter().map(|edge| edge.rows.clone()).collect();
        let batch = view.run(first.run)?.read(&view.schema, &[column], &ranges)?;
        let array = batch.column(0);
        let mut at = 0;
        group
            .iter()
            .map(|edge| {
                let from = at;
                at += edge.rows.len();
                Ok((edge, array_extremes(array, from, edge.rows.len())?))
            })
            .collect::<Result<Vec<_>>>()
    })?;
    for (edge, found) in found.into_iter().flatten() {
        if let (Some(best), Some(found)) =
            (bests.get_mut(edge.y).and_then(|of| of.get_mut(edge.interval)), found)
        {
            best.offer(&found, |at| (edge.first_rank + at as u64, ExtremeSource::Rows));
        }
    }
    Ok(())
}
