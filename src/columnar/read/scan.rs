//! Rows in index order: a merge of sorted runs, each of which is opened when the order reaches it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::count::in_parallel;
use super::fetch::Locator;
use super::unit;
use super::view::TableView;
use crate::arrow::array::RecordBatch;
use crate::arrow::compute::interleave_record_batch;
use crate::columnar::order::after::{After, rows_upto};
use crate::columnar::predicate::predicates::Predicates;
use crate::columnar::write::buffer::batch_bytes;
use crate::error::{Error, Result};
use crate::value::Control;

/// Maximum rows and bytes of a batch that is merged from several runs.
const MERGED_ROWS: usize = 8 * 1024;
const MERGED_BYTES: usize = 32 * 1024 * 1024;
/// Rows of the first read of a run; each further read takes twice as many, up to a unit.
const FIRST_ROWS: usize = 4 * 1024;
/// Units that are decoded ahead, together: the minimum, and the maximum while few of their rows
/// pass.
const AHEAD: usize = 2;
const AHEAD_MAX: usize = 16;
/// Units of rows that may wait in all runs together during a merge.
const WAITING: usize = 2;
/// A read takes at least a unit divided by this, because each read decodes its pages anew.
const LEAST_PART: usize = 64;

/// A batch of the stream.
#[derive(Debug)]
pub(crate) struct ScanChunk {
    /// The rows.
    pub batch: RecordBatch,
    /// Their positions.
    pub locators: Vec<Locator>,
}

struct Piece {
    /// The wanted columns.
    batch: RecordBatch,
    /// Average bytes of a row.
    row_bytes: usize,
    /// Index values; empty when runs do not overlap.
    keys: Vec<i64>,
    rows: Vec<u32>,
    at: usize,
}

struct Cursor {
    run: usize,
    next_row: usize,
    end_row: usize,
    step: usize,
    ahead: usize,
    /// A lower bound of the index values of the rows still to come.
    least: i64,
    /// An upper bound of them.
    greatest: i64,
    pieces: VecDeque<Piece>,
}

/// The rows of a view that satisfy the predicates, in index order; rows with equal index values are
/// in append order.
pub(crate) struct MergedScan {
    view: Arc<TableView>,
    predicates: Arc<Predicates>,
    columns: Vec<usize>,
    with_locators: bool,
    in_sequence: bool,
    cursors: Vec<Cursor>,
    control: Control,
    rows_done: u64,
}

impl MergedScan {
    /// A scan of all rows, or of those after the row `after`.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(crate) fn new(
        view: Arc<TableView>,
        predicates: Arc<Predicates>,
        columns: Vec<usize>,
        after: Option<&After>,
        control: Control,
    ) -> Result<Self> {
        let within = predicates.int_bounds(view.schema.index());
        let sequence = view.sequence_within(within);
        let in_sequence = sequence.is_some();
        let order = sequence.unwrap_or_else(|| view.runs_within(within));
        let position = match after {
            None => None,
            Some(after) => Some((after.index_value(&view)?, after.ordinal)),
        };
        let mut cursors = Vec::with_capacity(order.len());
        for at in order {
            let run = view.run(at)?;
            let (least, greatest) = run.index_range();
            let Range { start: mut next_row, end: end_row } =
                run.rows_within(&view.schema, within)?;
            if let Some((value, ordinal)) = position {
                next_row = next_row.max(rows_upto(&view, run, value, ordinal)?);
            }
            if next_row < end_row {
                cursors.push(Cursor {
                    run: at,
                    next_row,
                    end_row,
                    step: FIRST_ROWS,
                    ahead: AHEAD,
                    least,
                    greatest,
                    pieces: VecDeque::new(),
                });
            }
        }
        Ok(Self {
            view,
            predicates,
            columns,
            with_locators: false,
            in_sequence,
            cursors,
            control,
            rows_done: 0,
        })
    }

    /// Adds the positions of the rows to each chunk.
    #[must_use]
    pub(crate) fn with_locators(mut self) -> Self {
        self.with_locators = true;
        self
    }

    /// Sizes the first read of each run for a caller that wants about this many rows.
    #[must_use]
    pub(crate) fn expecting(mut self, row_count: usize) -> Self {
        for cursor in &mut self.cursors {
            cursor.step = row_count.max(1024);
        }
        self
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled` from the control.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<ScanChunk>> {
        self.control.check()?;
        let chunk = if self.in_sequence { self.next_in_sequence()? } else { self.next_merged()? };
        if let Some(chunk) = &chunk {
            self.rows_done += chunk.batch.num_rows() as u64;
            self.control.report(self.rows_done, None, "rows");
        }
        Ok(chunk)
    }

    fn next_in_sequence(&mut self) -> Result<Option<ScanChunk>> {
        while !self.cursors.is_empty() {
            if self.fill(0)? {
                let Some(cursor) = self.cursors.first_mut() else { return Ok(None) };
                let run = cursor.run as u32;
                if let Some(piece) = cursor.pieces.pop_front() {
                    let locators = piece.rows.iter().map(|&row| Locator { run, row }).collect();
                    return Ok(Some(ScanChunk { batch: piece.batch, locators }));
                }
            }
            self.cursors.remove(0);
        }
        Ok(None)
    }

    /// Rows that were read and not returned yet.
    #[cfg(test)]
    pub(in crate::columnar) fn waiting_rows(&self) -> usize {
        self.cursors
            .iter()
            .flat_map(|cursor| &cursor.pieces)
            .map(|piece| piece.batch.num_rows())
            .sum()
    }

    /// The number of runs that rows of this one may have to be merged with, itself included. It is
    /// computed only if the run must be read; otherwise 1.
    fn overlapping(&self, at: usize) -> usize {
        match self.cursors.get(at) {
            Some(cursor)
                if cursor.pieces.iter().all(|piece| piece.at >= piece.batch.num_rows()) =>
            {
                let is_near = |other: &&Cursor| {
                    other.least <= cursor.greatest && cursor.least <= other.greatest
                };
                self.cursors.iter().filter(is_near).count().max(1)
            }
            _ => 1,
        }
    }

    /// Ensures that the cursor has a piece with rows left; returns false at the end of its run.
    fn fill(&mut self, at: usize) -> Result<bool> {
        // Rows wait until the merge reaches them: the more runs overlap, the fewer rows of each are
        // read.
        let together = if self.in_sequence { 1 } else { self.overlapping(at) };
        // While few rows of a unit pass, more units are decoded ahead, so more rows of one may be
        // read.
        let most = |unit: usize, ahead: usize| {
            (unit * WAITING * ahead / AHEAD / together).max(unit / LEAST_PART).max(1)
        };
        let Some(cursor) = self.cursors.get_mut(at) else { return Ok(false) };
        while cursor.pieces.front().is_some_and(|piece| piece.at >= piece.batch.num_rows()) {
            cursor.pieces.pop_front();
        }
        let run = self.view.run(cursor.run)?;
        while cursor.pieces.is_empty() {
            if cursor.next_row >= cursor.end_row {
                return Ok(false);
            }
            self.control.check()?;
            let mut looks: Vec<Range<usize>> = Vec::new();
            let units = run.units();
            let first = units.partition_point(|unit| unit.end <= cursor.next_row);
            for unit in units.iter().skip(first) {
                let from = unit.start.max(cursor.next_row);
                let to = unit
                    .end
                    .min(cursor.end_row)
                    .min(from.saturating_add(cursor.step.min(most(unit.len(), cursor.ahead))));
                if from >= to {
                    break;
                }
                looks.push(from..to);
                cursor.next_row = to;
                // Only whole units are decoded ahead: before that, the caller may want few rows.
                if to < unit.end || cursor.step < unit.len() || looks.len() >= cursor.ahead {
                    break;
                }
            }
            cursor.step = cursor.step.saturating_mul(2);
            let rows: usize = looks.iter().map(ExactSizeIterator::len).sum();
            let (schema, predicates, columns) =
                (&self.view.schema, &self.predicates, &self.columns);
            let control = &self.control;
            let (with_keys, with_rows) = (!self.in_sequence, self.with_locators);
            // Summaries are looked at first: mostly they leave too few rows for a second thread.
            let mut left = Vec::with_capacity(looks.len());
            for look in looks {
                let pruned = unit::prune(run, predicates, look)?;
                if !pruned.ranges.is_empty() {
                    left.push(pruned);
                }
            }
            let rows_left = left.iter().map(|left| unit::read_cost(&left.ranges)).sum();
            let pieces = in_parallel(&left, rows_left, control, |left| {
                let (batch, keys, ranges) = if with_keys {
                    match unit::read_keyed(run, schema, predicates, left, columns, control)? {
                        Some(found) => found,
                        None => return Ok(None),
                    }
                } else {
                    let picked =
                        unit::pick_pruned(run, schema, predicates, left, columns, control)?;
                    if unit::row_count(&picked.ranges) == 0 {
                        return Ok(None);
                    }
                    let batch = unit::materialise(run, schema, &picked, columns)?;
                    (batch, Vec::new(), picked.ranges)
                };
                let rows = if with_rows {
                    ranges.iter().flat_map(|range| range.start as u32..range.end as u32).collect()
                } else {
                    Vec::new()
                };
                let row_bytes =
                    if with_keys { batch_bytes(&batch) / batch.num_rows().max(1) } else { 0 };
                Ok(Some(Piece { batch, row_bytes: row_bytes.max(1), keys, rows, at: 0 }))
            })?;
            cursor.pieces.extend(pieces.into_iter().flatten());
            let kept: usize = cursor.pieces.iter().map(|piece| piece.batch.num_rows()).sum();
            cursor.ahead =
                if kept <= rows / 16 { (cursor.ahead * 2).min(AHEAD_MAX) } else { AHEAD };
        }
        if let Some(key) = cursor.pieces.front().and_then(|piece| piece.keys.get(piece.at)) {
            cursor.least = *key;
        }
        Ok(true)
    }

    /// The cursor whose next row comes first, and the index value and run of the one that comes
    /// second.
    fn leaders(&self) -> (Option<usize>, Option<(i64, usize)>) {
        let mut best: Option<(i64, usize, usize)> = None;
        let mut second: Option<(i64, usize)> = None;
        for (at, cursor) in self.cursors.iter().enumerate() {
            let rank = (cursor.least, cursor.run);
            match best {
                Some((key, run, _)) if (key, run) <= rank => {
                    if second.is_none_or(|second| rank < second) {
                        second = Some(rank);
                    }
                }
                _ => {
                    second = best.map(|(key, run, _)| (key, run));
                    best = Some((rank.0, rank.1, at));
                }
            }
        }
        (best.map(|(_, _, at)| at), second)
    }

    /// Merges rows of overlapping runs to the next batch.
    ///
    /// The `least` of a cursor is a lower bound until its run was read, and only the leading cursor
    /// is read, so runs whose rows come later stay closed. What must hold: rows are taken from the
    /// leader only while they come before the bound of the second cursor, and if reading the leader
    /// raises its bound, the leaders are determined again. Otherwise a row of another run could be
    /// skipped. Rows with equal index values are taken in order of the runs, which is the order of
    /// append.
    fn next_merged(&mut self) -> Result<Option<ScanChunk>> {
        let mut sources: Vec<RecordBatch> = Vec::new();
        let mut source_ids: Vec<(usize, usize)> = Vec::new();
        let mut picks: Vec<(usize, usize)> = Vec::new();
        let mut locators = Vec::new();
        let mut bytes = 0;
        while picks.len() < MERGED_ROWS && bytes < MERGED_BYTES {
            let (Some(at), second) = self.leaders() else { break };
            let before = self.cursors.get(at).map(|cursor| cursor.least);
            if !self.fill(at)? {
                self.cursors.remove(at);
                continue;
            }
            let Some(cursor) = self.cursors.get_mut(at) else { break };
            if before != Some(cursor.least) {
                // `least` was only a lower bound: now another run may come first.
                continue;
            }
            let run = cursor.run;
            let Some(piece) = cursor.pieces.front_mut() else { continue };
            let rest = piece.keys.get(piece.at..).unwrap_or_default();
            let free = match second {
                None => rest.len(),
                Some((key, other)) => {
                    rest.partition_point(|&mine| mine < key || (mine == key && run < other))
                }
            };
            let count = free.max(1).min(rest.len());
            // A long stretch of one run is returned as a slice, without copying.
            if picks.is_empty() && count >= MERGED_ROWS / 2 {
                let batch = piece.batch.slice(piece.at, count);
                let rows = piece.rows.get(piece.at..piece.at + count).unwrap_or_default();
                let locators = rows.iter().map(|&row| Locator { run: run as u32, row }).collect();
                piece.at += count;
                self.after(at, before);
                return Ok(Some(ScanChunk { batch, locators }));
            }
            let count = count
                .min(MERGED_ROWS - picks.len())
                .min(1 + (MERGED_BYTES - bytes) / piece.row_bytes);
            bytes += count * piece.row_bytes;
            let id = (
                run,
                piece
                    .batch
                    .columns()
                    .first()
                    .map_or(0, |array| Arc::as_ptr(array).cast::<u8>() as usize),
            );
            let source = source_ids.iter().position(|other| *other == id).unwrap_or_else(|| {
                source_ids.push(id);
                sources.push(piece.batch.clone());
                sources.len() - 1
            });
            picks.extend((piece.at..piece.at + count).map(|row| (source, row)));
            if self.with_locators {
                let rows = piece.rows.get(piece.at..piece.at + count).unwrap_or_default();
                locators.extend(rows.iter().map(|&row| Locator { run: run as u32, row }));
            }
            piece.at += count;
            self.after(at, before);
        }
        if picks.is_empty() {
            return Ok(None);
        }
        let refs: Vec<&RecordBatch> = sources.iter().collect();
        let batch = if self.columns.is_empty() {
            let options =
                crate::arrow::array::RecordBatchOptions::new().with_row_count(Some(picks.len()));
            RecordBatch::try_new_with_options(self.view.schema.project(&[]), Vec::new(), &options)
        } else {
            interleave_record_batch(&refs, &picks)
        };
        let batch = batch.map_err(|error| {
            Error::corrupt("runs of one table do not fit together").with_source(error)
        })?;
        Ok(Some(ScanChunk { batch, locators }))
    }

    /// Sets the bound of a cursor to its next row, if that is known.
    fn after(&mut self, at: usize, before: Option<i64>) {
        if let (Some(cursor), Some(before)) = (self.cursors.get_mut(at), before) {
            let next = cursor.pieces.front().and_then(|piece| piece.keys.get(piece.at));
            cursor.least = next.copied().unwrap_or(cursor.least.max(before));
        }
    }
}
