//! Pages and streams of rows, in the order of the index or in any other order.

use std::collections::VecDeque;
use std::sync::Arc;

use super::fetch::{Locator, fetch_rows};
use super::row_query::{RowQuery, SHARES};
use super::scan::MergedScan;
use super::view::TableView;
use crate::arrow::array::RecordBatch;
use crate::arrow::compute::concat_batches;
use crate::arrow::datatypes::SchemaRef;
use crate::columnar::order::after::After;
use crate::columnar::order::select::{SelectedRow, select_rows};
use crate::columnar::order::spill::SpillSort;
use crate::columnar::schema::misfit;
use crate::columnar::write::buffer::batch_bytes;
use crate::error::Result;
use crate::model::tables::data::DataType;
use crate::value::{Control, guarded, limits};

/// Rows of one batch of an ordered stream.
const ORDERED_ROWS: usize = 64 * 1024;
/// Assumed bytes of a row with texts before one was read, and the minimum number of rows that are
/// fetched together.
const TEXT_ROW_BYTES: usize = 4 * 1024;
const LEAST_TOGETHER: usize = 64;

/// A page of rows.
#[derive(Debug)]
pub(crate) struct RowPage {
    /// The rows.
    pub batch: RecordBatch,
    /// The place after the last row, if more rows follow.
    pub next_after: Option<After>,
}

/// Reads the page after the row `after`.
///
/// # Errors
/// `InvalidArgument` when that row is gone and its place is not known; `Corrupt`, `Io`;
/// `DeadlineExceeded` and `Cancelled`.
pub(crate) fn read_page(
    view: &Arc<TableView>,
    query: &RowQuery,
    after: Option<&After>,
    control: &Control,
) -> Result<RowPage> {
    let schema = view.schema.project(&query.columns);
    let take = usize::try_from(query.take.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    if take == 0 {
        return Ok(RowPage { batch: RecordBatch::new_empty(schema), next_after: None });
    }
    if !query.is_index_order(view) {
        let count = take.saturating_add(1);
        // If the keys do not fit in memory together, a part is selected at a time.
        let mut locators: Vec<Locator> = Vec::new();
        // The last row of the page, and the last one of what was selected together.
        let (mut last, mut behind) = (None, after.cloned());
        loop {
            let wanted = (count - locators.len(), query.key_bytes());
            let order = &query.order;
            let found =
                select_rows(view, &query.predicates, order, behind.as_ref(), wanted, control)?;
            if let Some(at) = (take - 1).checked_sub(locators.len()) {
                last = found.rows.get(at).map(SelectedRow::after).or(last);
            }
            behind = found.rows.last().map(SelectedRow::after).or(behind);
            locators.extend(found.rows.iter().map(|row| row.locator));
            if found.is_all || locators.len() >= count {
                break;
            }
        }
        let next_after = if locators.len() > take { last } else { None };
        locators.truncate(take);
        let batch = fetch_rows(view, &locators, &query.columns, control)?;
        return Ok(RowPage { batch, next_after });
    }
    let mut scan = MergedScan::new(
        view.clone(),
        query.predicates.clone(),
        query.columns.clone(),
        after,
        control.clone(),
    )?
    .with_locators()
    .expecting(take.saturating_add(1));
    let mut parts = Vec::new();
    let mut have = 0;
    let mut last = None;
    let mut more = false;
    while let Some(chunk) = scan.next_chunk()? {
        let rows = chunk.batch.num_rows();
        let used = rows.min(take - have);
        if used > 0 {
            parts.push(chunk.batch.slice(0, used));
            last = chunk.locators.get(used - 1).copied();
        }
        have += used;
        more = used < rows;
        if more {
            break;
        }
    }
    let batch = concat_batches(&schema, &parts).map_err(misfit)?;
    let next_after = match (more, last) {
        (true, Some(last)) => {
            let row = last.row as usize..last.row as usize + 1;
            let rows = std::slice::from_ref(&row);
            let run = view.run(last.run as usize)?;
            let value = run.index_value(&view.schema, last.row as usize)?;
            run.ordinals(rows)?.first().map(|ordinal| After::indexed(*ordinal, value))
        }
        _ => None,
    };
    Ok(RowPage { batch, next_after })
}

/// A stream of batches of rows over one consistent state.
pub struct RowStream {
    view: Arc<TableView>,
    query: RowQuery,
    control: Control,
    left: u64,
    source: StreamSource,
    failed: bool,
}

enum StreamSource {
    Index(Box<MergedScan>),
    SelectedRows(Box<SelectedRows>),
    /// A sort of all rows, created when the first batch is read.
    Sorted(Option<Box<SpillSort>>),
}

/// Rows that are selected by key, as many as fit in memory, and fetched a part at a time.
struct SelectedRows {
    /// The last selected row, and whether no row follows it.
    after: Option<After>,
    is_all: bool,
    /// Selected rows, and how many of them were fetched.
    selected: Vec<Locator>,
    fetched: usize,
    /// The number of rows that are fetched together. It is adapted as rows are read, because the
    /// length of texts is not known beforehand.
    together: usize,
    has_text: bool,
    ready: VecDeque<RecordBatch>,
}

impl SelectedRows {
    fn new(view: &TableView, query: &RowQuery) -> Result<Self> {
        let mut has_text = false;
        for &column in &query.columns {
            has_text |= view.schema.column(column)?.data_type == DataType::String;
        }
        let together = if has_text {
            (query.memory_bytes / TEXT_ROW_BYTES).clamp(LEAST_TOGETHER, limits::ROWS_TAKE as usize)
        } else {
            usize::MAX
        };
        let (selected, ready) = (Vec::new(), VecDeque::new());
        Ok(Self { after: None, is_all: false, selected, fetched: 0, together, has_text, ready })
    }

    fn next(
        &mut self,
        view: &TableView,
        query: &RowQuery,
        left: u64,
        control: &Control,
    ) -> Result<Option<RecordBatch>> {
        if self.ready.is_empty() && self.fetched == self.selected.len() && !self.is_all {
            let fits = usize::try_from(query.rows_in_memory()).unwrap_or(usize::MAX);
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(fits.max(ORDERED_ROWS));
            let (wanted, order) = ((count, query.key_bytes()), &query.order);
            let found =
                select_rows(view, &query.predicates, order, self.after.as_ref(), wanted, control)?;
            self.is_all = found.is_all;
            self.after = found.rows.last().map(SelectedRow::after);
            self.selected = found.rows.into_iter().map(|row| row.locator).collect();
            self.fetched = 0;
        }
        if self.ready.is_empty() && self.fetched < self.selected.len() {
            let end = self.selected.len().min(self.fetched.saturating_add(self.together));
            let piece = self.selected.get(self.fetched..end).unwrap_or_default();
            let whole = fetch_rows(view, piece, &query.columns, control)?;
            self.fetched = end;
            let rows = whole.num_rows();
            if self.has_text {
                let fits = query.memory_bytes / SHARES / (batch_bytes(&whole) / rows.max(1)).max(1);
                // Grows in steps, because the next rows may be longer.
                self.together = fits.min(self.together.saturating_mul(8)).max(LEAST_TOGETHER);
            }
            self.ready.extend(
                (0..rows)
                    .step_by(ORDERED_ROWS)
                    .map(|at| whole.slice(at, ORDERED_ROWS.min(rows - at))),
            );
        }
        Ok(self.ready.pop_front())
    }
}

impl RowStream {
    /// Starts a stream.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn new(view: Arc<TableView>, query: RowQuery, control: Control) -> Result<Self> {
        let source = if query.is_index_order(&view) {
            let mut scan = MergedScan::new(
                view.clone(),
                query.predicates.clone(),
                query.columns.clone(),
                None,
                control.clone(),
            )?;
            if let Some(take) = query.take.and_then(|take| usize::try_from(take).ok()) {
                scan = scan.expecting(take);
            }
            StreamSource::Index(Box::new(scan))
        } else if query.spill.is_some()
            && query.take.unwrap_or(u64::MAX).min(view.row_count()) > query.rows_in_memory()
        {
            StreamSource::Sorted(None)
        } else {
            StreamSource::SelectedRows(Box::new(SelectedRows::new(&view, &query)?))
        };
        let left = query.take.unwrap_or(u64::MAX);
        Ok(Self { view, query, control, left, source, failed: false })
    }

    /// The columns of every batch.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.view.schema.project(&self.query.columns)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.left == 0 {
            return Ok(None);
        }
        let next = match &mut self.source {
            StreamSource::Index(scan) => scan.next_chunk()?.map(|chunk| chunk.batch),
            StreamSource::SelectedRows(ordered) => {
                ordered.next(&self.view, &self.query, self.left, &self.control)?
            }
            StreamSource::Sorted(sort) => {
                let sort = match (&mut *sort, &self.query.spill) {
                    (Some(sort), _) => sort,
                    (None, Some(place)) => sort.insert(Box::new(SpillSort::new(
                        &self.view,
                        &self.query,
                        place,
                        &self.control,
                    )?)),
                    (None, None) => return Ok(None),
                };
                self.control.check()?;
                sort.next()?
            }
        };
        Ok(next.map(|batch| {
            let rows = (batch.num_rows() as u64).min(self.left);
            self.left -= rows;
            batch.slice(0, rows as usize)
        }))
    }
}

impl Iterator for RowStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        // After an error the view is not used again, as `guarded` requires.
        let next = guarded("reading rows", || self.next_batch());
        self.failed = next.is_err();
        next.transpose()
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("query", &self.query)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}
