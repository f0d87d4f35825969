//! The rows of an answer: those of the extremes of blocks from where they are kept whole, all others from the pages.

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};

use super::super::count::in_parallel;
use super::super::fetch::fetch_rows;
use super::super::segment::{BLOCK_ROWS, ExtremeRows};
use super::super::view::{Locator, Run, TableView};
use crate::error::{Error, Result};
use crate::value::Control;

/// Rows of extremes that one thread reads at a time.
const PIECE_ROWS: usize = 1024;
/// What reading one of them costs, in rows of a scan.
const ROW_WORK: usize = 256;

/// The extreme of its block that a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Extreme {
    /// Position of the column.
    pub column: usize,
    /// The largest value, not the smallest.
    pub is_max: bool,
}

/// A row to answer with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub locator: Locator,
    /// The extreme of the row's block, where a summary named the row.
    pub extreme: Option<Extreme>,
}

impl Kept {
    /// A row of which nothing more is known.
    pub(super) fn row(locator: Locator) -> Self {
        Self { locator, extreme: None }
    }
}

/// A row of an extreme: run, column, block, extreme, so that sorted ones are read front to back.
type Place = (u32, usize, usize, bool);

/// The rows in this order, with these columns.
pub(super) fn rows(view: &TableView, kept: &[Kept], columns: &[usize], control: &Control) -> Result<RecordBatch> {
    let misfit = |error| Error::corrupt("rows of one table have different columns").with_source(error);
    let mut places: Vec<(Place, usize)> = Vec::new();
    // Positions in the answer of the rows that have to be looked up.
    let mut others: Vec<usize> = Vec::new();
    let layout = ExtremeRows::of(&view.schema).filter(|layout| columns.iter().any(|&column| layout.has(column)));
    for (at, row) in kept.iter().enumerate() {
        let extreme = row.extreme.filter(|extreme| layout.is_some() && extreme.column != view.schema.index());
        match (extreme, view.run(row.locator.run as usize)?) {
            (Some(Extreme { column, is_max }), Run::Segment(segment)) if segment.has_extreme_rows() => {
                places.push(((row.locator.run, column, row.locator.row as usize / BLOCK_ROWS, is_max), at));
            }
            _ => others.push(at),
        }
    }
    let locators = |positions: &mut dyn Iterator<Item = usize>| -> Vec<Locator> {
        positions.filter_map(|at| kept.get(at)).map(|row| row.locator).collect()
    };
    let Some(layout) = layout.filter(|_| !places.is_empty()) else {
        return fetch_rows(view, &locators(&mut (0..kept.len())), columns, control);
    };
    places.sort_unstable();
    let bytes = read(view, &places, control)?;
    let missing: Vec<usize> = columns.iter().copied().filter(|&column| !layout.has(column)).collect();
    let looked_up = match &missing[..] {
        [] => None,
        missing => Some(fetch_rows(view, &locators(&mut places.iter().map(|(_, at)| *at)), missing, control)?),
    };
    let mut arrays = Vec::with_capacity(columns.len());
    for &column in columns {
        let data_type = view.schema.column(column)?.data_type;
        let from_pages = || {
            let at = missing.iter().position(|other| *other == column)?;
            looked_up.as_ref()?.columns().get(at).cloned()
        };
        let array = layout.array(&bytes, column, data_type).or_else(from_pages);
        arrays.push(array.ok_or_else(|| Error::corrupt("a column of an answer was not read; this is a defect"))?);
    }
    let schema = view.schema.project(columns);
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    let extremes = RecordBatch::try_new_with_options(schema.clone(), arrays, &options).map_err(misfit)?;
    let rest = fetch_rows(view, &locators(&mut others.iter().copied()), columns, control)?;
    let whole =
        if others.is_empty() { extremes } else { concat_batches(&schema, [&extremes, &rest]).map_err(misfit)? };
    let mut order = vec![0; kept.len()];
    for (from, to) in places.iter().map(|(_, at)| *at).chain(others).enumerate() {
        if let Some(slot) = order.get_mut(to) {
            *slot = from as u32;
        }
    }
    take_record_batch(&whole, &UInt32Array::from(order)).map_err(misfit)
}

/// The bytes of sorted rows of extremes, one behind the other.
fn read(view: &TableView, places: &[(Place, usize)], control: &Control) -> Result<Vec<u8>> {
    let pieces: Vec<_> = places
        .chunk_by(|((run, column, ..), _), ((other, beside, ..), _)| (run, column) == (other, beside))
        .flat_map(|of_column| of_column.chunks(PIECE_ROWS))
        .collect();
    let parts = in_parallel(&pieces, places.len().saturating_mul(ROW_WORK), control, |piece| {
        let mut out = Vec::new();
        if let Some(((run, column, ..), _)) = piece.first()
            && let Run::Segment(segment) = view.run(*run as usize)?
        {
            let wanted: Vec<(usize, bool)> = piece.iter().map(|((_, _, block, is_max), _)| (*block, *is_max)).collect();
            segment.read_extreme_rows(*column, &wanted, &mut out)?;
        }
        Ok(out)
    })?;
    Ok(parts.concat())
}
