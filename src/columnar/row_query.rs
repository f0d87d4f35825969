//! What to read of a table, and what memory and disk a sort of it may take.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::order::OrderColumn;
use super::predicate::Predicates;
use super::view::TableView;
use crate::disk::SharedDisk;

/// Memory that a selected row takes besides its key and values.
const SELECTED_BYTES: usize = 96;
/// Parts of the memory of a query, of which keys may take one, and rows that are fetched together another: they are there up
/// to three times on their way into order.
pub(super) const SHARES: usize = 4;
/// What the keys may take in any case.
const LEAST_KEY_BYTES: usize = 2 * 1024 * 1024;

/// Where sorted runs go that memory does not hold.
#[derive(Clone, Debug)]
pub struct SpillPlace {
    /// The store's disk.
    pub disk: SharedDisk,
    /// Directory of temporary files.
    pub dir: &'static str,
    /// Numbers of files, shared by all sorts of one open store.
    pub numbers: Arc<AtomicU64>,
    /// Bytes that one sort may take there.
    pub bytes_max: u64,
}

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
    /// Bytes that the keys of an order may take together.
    pub(super) fn key_bytes(&self) -> usize {
        (self.memory_bytes / SHARES).max(LEAST_KEY_BYTES)
    }

    /// Rows that a selection of them may hold in memory.
    pub(super) fn rows_in_memory(&self) -> u64 {
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
