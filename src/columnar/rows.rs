//! Pages and streams of rows, in the order of the index or in any other.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;

use super::fetch::fetch_rows;
use super::order::{OrderColumn, select_rows};
use super::predicate::Predicates;
use super::scan::MergedScan;
use super::spill::{SpillPlace, SpillSort};
use super::view::TableView;
use crate::error::{Error, Result};
use crate::value::Control;

/// Rows of one batch of an ordered stream.
const ORDERED_ROWS: usize = 64 * 1024;
/// Memory that a selected row takes besides its key and values.
const SELECTED_BYTES: usize = 96;

/// What to read of a table.
#[derive(Clone, Debug, Default)]
pub struct RowQuery {
    /// Positions of the columns to return.
    pub columns: Vec<usize>,
    /// What rows must pass.
    pub predicates: Arc<Predicates>,
    /// The order; that of the index when empty.
    pub order: Vec<OrderColumn>,
    /// Largest number of rows.
    pub take: Option<u64>,
    /// Memory that a sort may use.
    pub memory_bytes: usize,
    /// Where a sort of more rows than that goes; without it, it takes several passes.
    pub spill: Option<SpillPlace>,
}

impl RowQuery {
    /// Rows that a selection of them may hold in memory.
    fn rows_in_memory(&self) -> u64 {
        (self.memory_bytes / (SELECTED_BYTES + 16 * (self.order.len() + self.columns.len()))) as u64
    }

    /// Whether the rows come in the order in which they are kept.
    #[must_use]
    pub fn is_index_order(&self, view: &TableView) -> bool {
        match self.order.first() {
            None => true,
            Some(first) => self.order.len() == 1 && first.column == view.schema.index() && !first.descending,
        }
    }
}

/// A page of rows.
#[derive(Debug)]
pub struct RowPage {
    /// The rows.
    pub batch: RecordBatch,
    /// Append ordinal of the last row, when more rows follow.
    pub next_after: Option<u64>,
}

/// Reads the page behind the row with the append ordinal `after`.
///
/// # Errors
/// `InvalidArgument` when no row has that ordinal; `Corrupt`, `Io`; `DeadlineExceeded` and `Cancelled`.
pub fn read_page(view: &Arc<TableView>, query: &RowQuery, after: Option<u64>, control: &Control) -> Result<RowPage> {
    let schema = view.schema.project(&query.columns);
    let take = usize::try_from(query.take.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    if take == 0 {
        return Ok(RowPage { batch: RecordBatch::new_empty(schema), next_after: None });
    }
    if !query.is_index_order(view) {
        let mut selected = select_rows(view, &query.predicates, &query.order, after, take.saturating_add(1), control)?;
        let more = selected.len() > take;
        selected.truncate(take);
        let locators: Vec<_> = selected.iter().map(|row| row.locator).collect();
        let batch = fetch_rows(view, &locators, &query.columns, control)?;
        let next_after = if more { selected.last().map(|row| row.ordinal) } else { None };
        return Ok(RowPage { batch, next_after });
    }
    let mut scan =
        MergedScan::new(view.clone(), query.predicates.clone(), query.columns.clone(), after, control.clone())?
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
    let batch = concat_batches(&schema, &parts)
        .map_err(|error| Error::corrupt("rows of one table have different columns").with_source(error))?;
    let next_after = match (more, last) {
        (true, Some(last)) => {
            let row = last.row as usize;
            view.run(last.run as usize)?.ordinals(std::slice::from_ref(&(row..row + 1)))?.first().copied()
        }
        _ => None,
    };
    Ok(RowPage { batch, next_after })
}

/// Rows as a stream of batches over one consistent state.
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
    Ordered {
        after: Option<u64>,
        ready: VecDeque<RecordBatch>,
        ended: bool,
    },
    /// A sort of everything, made when the first batch is asked for.
    Sorted(Option<Box<SpillSort>>),
}

impl RowStream {
    /// Starts a stream.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn new(view: Arc<TableView>, query: RowQuery, control: Control) -> Result<Self> {
        let source = if query.is_index_order(&view) {
            let mut scan =
                MergedScan::new(view.clone(), query.predicates.clone(), query.columns.clone(), None, control.clone())?;
            if let Some(take) = query.take.and_then(|take| usize::try_from(take).ok()) {
                scan = scan.expecting(take);
            }
            StreamSource::Index(Box::new(scan))
        } else if query.spill.is_some() && query.take.unwrap_or(u64::MAX).min(view.row_count()) > query.rows_in_memory()
        {
            StreamSource::Sorted(None)
        } else {
            StreamSource::Ordered { after: None, ready: VecDeque::new(), ended: false }
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
            StreamSource::Ordered { after, ready, ended } => {
                if ready.is_empty() && !*ended {
                    let fits = usize::try_from(self.query.rows_in_memory()).unwrap_or(usize::MAX);
                    let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(fits.max(ORDERED_ROWS));
                    let selected = select_rows(
                        &self.view,
                        &self.query.predicates,
                        &self.query.order,
                        *after,
                        count,
                        &self.control,
                    )?;
                    *ended = selected.len() < count;
                    *after = selected.last().map(|row| row.ordinal);
                    let locators: Vec<_> = selected.into_iter().map(|row| row.locator).collect();
                    let whole = fetch_rows(&self.view, &locators, &self.query.columns, &self.control)?;
                    let rows = whole.num_rows();
                    ready
                        .extend((0..rows).step_by(ORDERED_ROWS).map(|at| whole.slice(at, ORDERED_ROWS.min(rows - at))));
                }
                ready.pop_front()
            }
            StreamSource::Sorted(sort) => {
                let sort = match (&mut *sort, &self.query.spill) {
                    (Some(sort), _) => sort,
                    (None, Some(place)) => {
                        sort.insert(Box::new(SpillSort::new(&self.view, &self.query, place, &self.control)?))
                    }
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
        let next = self.next_batch();
        self.failed = next.is_err();
        next.transpose()
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("query", &self.query).field("left", &self.left).finish_non_exhaustive()
    }
}
