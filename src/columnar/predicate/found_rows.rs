//! What value indexes found for the tests of a query.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that are kept for later parts of their row groups, in all row groups together.
const KEPT_ROWS: usize = 1024 * 1024;
/// Rows that an entry without any counts as.
const ENTRY_ROWS: usize = 16;

/// What value indexes found in one row group.
#[derive(Debug)]
pub(in crate::columnar) struct Found {
    /// Rows that may pass, ascending, counted from the first one of the row group.
    pub rows: Vec<u32>,
    /// Positions of the tests that all of them pass.
    pub settled: Vec<usize>,
}

/// What was found in row groups, for queries that read them in parts. An entry without a value
/// says that no index finds few enough rows.
#[derive(Debug, Default)]
pub(in crate::columnar) struct FoundCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By segment and row group.
    groups: BTreeMap<(u64, usize), Option<Arc<Found>>>,
    rows: usize,
}

impl FoundCache {
    /// What was found in a row group of a segment; `None` if it was not asked for, or not kept.
    pub(in crate::columnar) fn get(&self, key: (u64, usize)) -> Option<Option<Arc<Found>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).groups.get(&key).cloned()
    }

    /// Keeps what was found in a row group, if there is room.
    pub(in crate::columnar) fn put(&self, key: (u64, usize), found: Option<Arc<Found>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = found.as_ref().map_or(0, |found| found.rows.len()) + ENTRY_ROWS;
        if kept.rows + rows <= KEPT_ROWS && kept.groups.insert(key, found).is_none() {
            kept.rows += rows;
        }
    }
}
