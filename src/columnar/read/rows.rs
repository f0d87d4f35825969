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
use crate::value::budget::Reservation;
use crate::value::{Control, guarded, limits};

/// Rows of one batch of an ordered stream.
const ORDERED_ROWS: usize = 64 * 1024;
/// The minimum number of rows with texts that are fetched together; as many come first.
const LEAST_TOGETHER: usize = 64;

/// A page of rows.
#[derive(Debug)]
pub(crate) struct RowPage {
    /// The rows.
    pub batch: RecordBatch,
    /// The place after the last row, if more rows follow.
    pub next_after: Option<After>,
}

/// What a page still has room for.
struct Room {
    rows: usize,
    bytes: usize,
    is_empty: bool,
}

impl Room {
    /// Takes the first rows of a batch that fit, and returns their number. The first row of a page
    /// always fits.
    fn take(&mut self, batch: &RecordBatch) -> usize {
        let bytes = |rows: usize| batch_bytes(&batch.slice(0, rows));
        let most = batch.num_rows().min(self.rows);
        let mut count = most;
        if bytes(most) > self.bytes {
            let (mut fits, mut beyond) = (0, most);
            while fits + 1 < beyond {
                let middle = usize::midpoint(fits, beyond);
                if bytes(middle) > self.bytes { beyond = middle } else { fits = middle }
            }
            count = fits.max(usize::from(self.is_empty)).min(most);
        }
        self.rows -= count;
        self.bytes = self.bytes.saturating_sub(bytes(count));
        self.is_empty &= count == 0;
        count
    }
}

/// Rows that are fetched together: all, or a number that is adapted as rows with texts are read,
/// because the length of texts is not known beforehand.
struct Together {
    rows: usize,
    has_text: bool,
}

impl Together {
    fn new(view: &TableView, columns: &[usize]) -> Result<Self> {
        let mut has_text = false;
        for &column in columns {
            has_text |= view.schema.column(column)?.data_type == DataType::String;
        }
        Ok(Self { rows: if has_text { LEAST_TOGETHER } else { usize::MAX }, has_text })
    }

    /// Adapts the number to rows that were read, so that as many take these bytes.
    fn adapt(&mut self, read: &RecordBatch, bytes_max: usize) {
        if self.has_text {
            let fits = bytes_max / (batch_bytes(read) / read.num_rows().max(1)).max(1);
            // Grows in steps, because the next rows may be longer.
            self.rows = fits.min(self.rows.saturating_mul(8)).max(LEAST_TOGETHER);
        }
    }
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
    read_page_within(view, query, after, limits::ROWS_PAGE_BYTES, control)
}

/// As [`read_page`], with at most so many bytes unless the first row alone has more.
///
/// # Errors
/// As [`read_page`].
pub(in crate::columnar) fn read_page_within(
    view: &Arc<TableView>,
    query: &RowQuery,
    after: Option<&After>,
    bytes_max: usize,
    control: &Control,
) -> Result<RowPage> {
    let schema = view.schema.project(&query.columns);
    let take = usize::try_from(query.take.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    if take == 0 {
        return Ok(RowPage { batch: RecordBatch::new_empty(schema), next_after: None });
    }
    let room = Room { rows: take, bytes: bytes_max, is_empty: true };
    let (parts, next_after) = if query.is_index_order(view) {
        indexed_page(view, query, after, room, control)?
    } else {
        ordered_page(view, query, after, room, control)?
    };
    Ok(RowPage { batch: concat_batches(&schema, &parts).map_err(misfit)?, next_after })
}

/// The rows of a page, and its last row if more follow.
type PageParts = (Vec<RecordBatch>, Option<After>);

/// A page in the order of the index.
fn indexed_page(
    view: &Arc<TableView>,
    query: &RowQuery,
    after: Option<&After>,
    mut room: Room,
    control: &Control,
) -> Result<PageParts> {
    let mut scan = MergedScan::new(
        view.clone(),
        query.predicates.clone(),
        query.columns.clone(),
        after,
        control.clone(),
    )?
    .with_locators()
    .expecting(room.rows.saturating_add(1));
    let mut parts = Vec::new();
    let mut last = None;
    while let Some(chunk) = scan.next_chunk()? {
        let count = room.take(&chunk.batch);
        if count > 0 {
            parts.push(chunk.batch.slice(0, count));
            last = chunk.locators.get(count - 1).copied();
        }
        if count == chunk.batch.num_rows() {
            continue;
        }
        let Some(last) = last else { break };
        let row = last.row as usize..last.row as usize + 1;
        let run = view.run(last.run as usize)?;
        let value = run.index_value(&view.schema, row.start)?;
        let ordinal = run.ordinals(std::slice::from_ref(&row))?.first().copied();
        return Ok((parts, ordinal.map(|ordinal| After::indexed(ordinal, value))));
    }
    Ok((parts, None))
}

/// A page in another order. If the keys do not fit in memory together, a part is selected at a
/// time.
fn ordered_page(
    view: &TableView,
    query: &RowQuery,
    after: Option<&After>,
    mut room: Room,
    control: &Control,
) -> Result<PageParts> {
    let mut together = Together::new(view, &query.columns)?;
    let mut reserved = query.budget.reservation();
    let mut parts = Vec::new();
    let mut last = after.cloned();
    loop {
        // One more tells whether rows follow the page.
        let wanted = (room.rows.saturating_add(1), query.key_bytes());
        reserved.hold(query.selection_bytes(view, wanted.0))?;
        let order = &query.order;
        let found = select_rows(view, &query.predicates, order, last.as_ref(), wanted, control)?;
        let mut rest = &found.rows[..];
        while !rest.is_empty() {
            let piece = rest.get(..together.rows.min(rest.len()).min(room.rows));
            let locators: Vec<Locator> =
                piece.unwrap_or_default().iter().map(|row| row.locator).collect();
            let batch = fetch_rows(view, &locators, &query.columns, control)?;
            let count = room.take(&batch);
            if count > 0 {
                parts.push(batch.slice(0, count));
                last = rest.get(count - 1).map(SelectedRow::after);
                rest = rest.get(count..).unwrap_or_default();
            }
            if count < batch.num_rows() || (room.rows == 0 && !rest.is_empty()) {
                return Ok((parts, last));
            }
            together.adapt(&batch, room.bytes);
        }
        if found.is_all {
            return Ok((parts, None));
        }
    }
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
    together: Together,
    ready: VecDeque<RecordBatch>,
    /// The memory of the selection and of the rows that are ready.
    reserved: Reservation,
}

impl SelectedRows {
    fn new(view: &TableView, query: &RowQuery) -> Result<Self> {
        Ok(Self {
            after: None,
            is_all: false,
            selected: Vec::new(),
            fetched: 0,
            together: Together::new(view, &query.columns)?,
            ready: VecDeque::new(),
            reserved: query.budget.reservation(),
        })
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
            self.reserved.hold(query.selection_bytes(view, count))?;
            let found =
                select_rows(view, &query.predicates, order, self.after.as_ref(), wanted, control)?;
            self.is_all = found.is_all;
            self.after = found.rows.last().map(SelectedRow::after);
            self.selected = found.rows.into_iter().map(|row| row.locator).collect();
            self.fetched = 0;
        }
        if self.ready.is_empty() && self.fetched < self.selected.len() {
            let end = self.selected.len().min(self.fetched.saturating_add(self.together.rows));
            let piece = self.selected.get(self.fetched..end).unwrap_or_default();
            let whole = fetch_rows(view, piece, &query.columns, control)?;
            self.fetched = end;
            let rows = whole.num_rows();
            let selected = self.selected.len() * size_of::<Locator>();
            self.reserved.hold(selected.saturating_add(batch_bytes(&whole)))?;
            self.together.adapt(&whole, query.memory_bytes / SHARES);
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
