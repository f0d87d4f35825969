//! What to read of a table, and how much memory and disk a sort may use.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::view::TableView;
use crate::columnar::order::sort_key::OrderColumn;
use crate::columnar::predicate::predicates::Predicates;
use crate::disk::SharedDisk;
use crate::value::budget::Budget;

/// Memory that a selected row takes in addition to its key and values.
const SELECTED_BYTES: usize = 96;
/// The memory of a query is divided into this many shares. Keys may take one, and rows that are
/// fetched together another; while they are put in order, up to three copies of these exist.
pub(in crate::columnar) const SHARES: usize = 4;
/// Minimum memory for keys.
const LEAST_KEY_BYTES: usize = 2 * 1024 * 1024;

/// Where a sort writes the runs that do not fit in memory.
#[derive(Clone, Debug)]
pub struct SpillPlace {
    /// The store's disk.
    pub disk: SharedDisk,
    /// Directory of temporary files.
    pub dir: &'static str,
    /// The counter for file names, shared by all sorts of one open store.
    pub numbers: Arc<AtomicU64>,
    /// Bytes of temporary files that one sort may use.
    pub bytes_max: u64,
    /// Free bytes of the disk that a sort leaves to others.
    pub reserve_bytes: u64,
}

/// What to read of a table.
#[derive(Clone, Debug, Default)]
pub struct RowQuery {
    /// Positions of the columns to return.
    pub columns: Vec<usize>,
    /// The predicates that rows must satisfy.
    pub predicates: Arc<Predicates>,
    /// The order; empty for the order of the index.
    pub order: Vec<OrderColumn>,
    /// Maximum number of rows.
    pub take: Option<u64>,
    /// Memory that a sort may use.
    pub memory_bytes: usize,
    /// Where the memory is reserved.
    pub(crate) budget: Arc<Budget>,
    /// Where a sort of more rows than fit in memory writes; without it, such a sort takes several
    /// passes.
    pub spill: Option<SpillPlace>,
}

impl RowQuery {
    /// Bytes that the keys of an order may take in total.
    pub(in crate::columnar) fn key_bytes(&self) -> usize {
        (self.memory_bytes / SHARES).max(LEAST_KEY_BYTES)
    }

    /// The number of rows that a selection may keep in memory.
    pub(in crate::columnar) fn rows_in_memory(&self) -> u64 {
        (self.memory_bytes / self.selected_bytes()) as u64
    }

    /// Bytes that a selection of `count` of the rows may take.
    pub(in crate::columnar) fn selection_bytes(&self, view: &TableView, count: usize) -> usize {
        let rows = usize::try_from(view.row_count()).unwrap_or(usize::MAX).min(count);
        rows.saturating_mul(self.selected_bytes()).min(self.memory_bytes)
    }

    fn selected_bytes(&self) -> usize {
        SELECTED_BYTES + 16 * (self.order.len() + self.columns.len())
    }

    /// Whether the order is that of the index.
    #[must_use]
    pub fn is_index_order(&self, view: &TableView) -> bool {
        match self.order.first() {
            None => true,
            Some(first) => {
                self.order.len() == 1 && first.column == view.schema.index() && !first.descending
            }
        }
    }
}
