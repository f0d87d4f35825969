//! Collects the rows of a decimated answer, each cell from the cheapest source: rows of block
//! extremes from their copies in the segment, values that decimation has already read from memory,
//! and all other cells from the pages.

use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use crate::arrow::compute::{concat, take};
use crate::columnar::column_slice::{Level, array_of_words};
use crate::columnar::read::count::in_parallel;
use crate::columnar::read::fetch::fetch_rows;
use crate::columnar::read::view::{Locator, RunStorage, TableView};
use crate::columnar::schema::misfit;
use crate::columnar::segment::{BLOCK_ROWS, ExtremeRows, PAGE_ROWS};
use crate::error::{Error, Result};
use crate::value::{Control, ranges};

/// Extreme rows that one thread reads at a time.
const EXTREMES_PIECE: usize = 1024;
/// The cost of reading one extreme row, in rows of a scan.
const EXTREME_WORK: usize = 256;
/// Cells that one thread looks up at a time, and the cost of one: a fraction of decoding its page.
const CELLS_PIECE: usize = 256;
const CELL_WORK: usize = PAGE_ROWS / 16;

/// Which extreme of its block a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extreme {
    /// Position of the column.
    pub column: usize,
    /// The maximum, not the minimum.
    pub is_max: bool,
}

/// A row of the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerRow {
    pub locator: Locator,
    /// The extreme of its block that the row is, if a summary named the row.
    pub extreme: Option<Extreme>,
    /// A column whose value in this row is already known, and the value.
    pub known: Option<(usize, Level)>,
}

impl AnswerRow {
    /// A row without known values.
    pub(super) fn row(locator: Locator) -> Self {
        Self { locator, extreme: None, known: None }
    }
}

/// Where the copy of an extreme row is: run, column, block, minimum or maximum; sorted places are
/// read front to back. Then the position of the row in the answer.
type ExtremePosition = ((u32, usize, usize, bool), usize);

/// What one thread reads at a time.
enum Task<'a> {
    Extremes(&'a [ExtremePosition]),
    /// One column of rows of one run, given by their positions in the answer.
    Cells(usize, &'a [usize]),
}

enum AnswerColumn {
    Extremes(Vec<u8>),
    Cells(ArrayRef),
}

fn defect() -> Error {
    Error::corrupt("internal error: a row of a decimated answer was not found; report it")
}

/// Returns these rows, which are distinct and in order of the index, with these columns.
///
/// Each column is the concatenation of three parts (extreme rows, known values, looked-up cells),
/// which `take` then puts into the order of the answer. What must hold: `order` lists the positions
/// in the answer in the sequence in which the parts are appended. The tasks are in the order of
/// `columns`, and `in_parallel` keeps that order, so `cells` yields the arrays of one column after
/// the other.
pub(super) fn rows(
    view: &TableView,
    kept: &[AnswerRow],
    columns: &[usize],
    control: &Control,
) -> Result<RecordBatch> {
    let layout = ExtremeRows::of(&view.schema);
    let mut places: Vec<ExtremePosition> = Vec::new();
    let mut is_beside = vec![false; kept.len()];
    for ((at, row), is_beside) in kept.iter().enumerate().zip(&mut is_beside) {
        if let Some(Extreme { column, is_max }) =
            row.extreme.filter(|extreme| extreme.column != view.schema.index())
            && let RunStorage::Segment(segment) = view.run(row.locator.run as usize)?.stored()
            && segment.has_extreme_rows()
            // Their extreme rows have the columns that the segment was written with.
            && !view.has_other_columns()
        {
            places.push((
                (row.locator.run, column, row.locator.row as usize / BLOCK_ROWS, is_max),
                at,
            ));
            *is_beside = true;
        }
    }
    if places.is_empty() && kept.iter().all(|row| row.known.is_none()) {
        let locators: Vec<Locator> = kept.iter().map(|row| row.locator).collect();
        return fetch_rows(view, &locators, columns, control);
    }
    places.sort_unstable();
    // For each column, the rows whose value must be looked up in the pages.
    let has_beside = |column: usize| layout.as_ref().is_some_and(|layout| layout.has(column));
    let open: Vec<Vec<usize>> = columns
        .iter()
        .map(|&column| {
            let is_known = |row: &AnswerRow| row.known.is_some_and(|(other, _)| other == column);
            let rows = kept.iter().zip(&is_beside).enumerate();
            rows.filter(|(_, (row, is_beside))| {
                !(**is_beside && has_beside(column) || is_known(row))
            })
            .map(|(at, _)| at)
            .collect()
        })
        .collect();
    let mut tasks: Vec<Task<'_>> = places
        .chunk_by(|((run, column, ..), _), ((other, beside, ..), _)| {
            (run, column) == (other, beside)
        })
        .flat_map(|of_column| of_column.chunks(EXTREMES_PIECE).map(Task::Extremes))
        .collect();
    let run_of = |at: &usize| kept.get(*at).map(|row| row.locator.run);
    for (&column, open) in columns.iter().zip(&open) {
        let of_runs = open.chunk_by(|a, b| run_of(a) == run_of(b));
        tasks.extend(of_runs.flat_map(|of_run| {
            of_run.chunks(CELLS_PIECE).map(move |piece| Task::Cells(column, piece))
        }));
    }
    let work = places.len() * EXTREME_WORK + open.iter().map(Vec::len).sum::<usize>() * CELL_WORK;
    let mut found =
        in_parallel(&tasks, work, control, |task| look_up(view, kept, task))?.into_iter();
    let mut extremes = Vec::new();
    let mut cells: Vec<ArrayRef> = Vec::new();
    for found in &mut found {
        match found {
            AnswerColumn::Extremes(bytes) => extremes.extend_from_slice(&bytes),
            AnswerColumn::Cells(array) => cells.push(array),
        }
    }
    let mut cells = cells.into_iter();
    let mut arrays = Vec::with_capacity(columns.len());
    for (&column, open) in columns.iter().zip(&open) {
        let data_type = view.schema.column(column)?.data_type;
        let mut parts: Vec<ArrayRef> = Vec::new();
        // Positions in the answer, in the order of the parts.
        let mut order: Vec<usize> = Vec::with_capacity(kept.len());
        if let Some(layout) = layout.as_ref().filter(|layout| layout.has(column)) {
            parts.extend(layout.array(&extremes, column, data_type));
            order.extend(places.iter().map(|(_, at)| *at));
        }
        let seen = kept.iter().zip(&is_beside).enumerate().filter_map(|(at, (row, is_beside))| {
            let (_, level) = row.known.filter(|(other, _)| *other == column)?;
            (!(*is_beside && has_beside(column))).then_some((at, level))
        });
        let (positions, words): (Vec<usize>, Vec<u64>) =
            seen.map(|(at, level)| (at, level.word(data_type))).unzip();
        order.extend(positions);
        parts.extend(array_of_words(data_type, words, None));
        let mut left = open.len();
        while left > 0 {
            let array = cells.next().ok_or_else(defect)?;
            left = left.checked_sub(array.len()).ok_or_else(defect)?;
            parts.push(array);
        }
        order.extend(open);
        let mut from = vec![0; kept.len()];
        for (part_row, to) in (0..).zip(order) {
            *from.get_mut(to).ok_or_else(defect)? = part_row;
        }
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        let whole = concat(&parts).map_err(misfit)?;
        arrays.push(take(&whole, &UInt32Array::from(from), None).map_err(misfit)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(kept.len()));
    RecordBatch::try_new_with_options(view.schema.project(columns), arrays, &options)
        .map_err(misfit)
}

fn look_up(view: &TableView, kept: &[AnswerRow], task: &Task<'_>) -> Result<AnswerColumn> {
    match task {
        Task::Extremes(places) => {
            let mut out = Vec::new();
            if let Some(((run, column, ..), _)) = places.first()
                && let RunStorage::Segment(segment) = view.run(*run as usize)?.stored()
            {
                let wanted: Vec<(usize, bool)> =
                    places.iter().map(|((_, _, block, is_max), _)| (*block, *is_max)).collect();
                segment.read_extreme_rows(*column, &wanted, &mut out)?;
            }
            Ok(AnswerColumn::Extremes(out))
        }
        Task::Cells(column, positions) => {
            let rows = || positions.iter().filter_map(|at| kept.get(*at)).map(|row| row.locator);
            let run = view.run(rows().next().ok_or_else(defect)?.run as usize)?;
            let ranges = ranges::of_numbers(rows().map(|locator| locator.row as usize));
            let batch = run.read(&view.schema, std::slice::from_ref(column), &ranges)?;
            Ok(AnswerColumn::Cells(batch.columns().first().ok_or_else(defect)?.clone()))
        }
    }
}
