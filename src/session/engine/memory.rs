//! The parts of a store's memory.

use crate::error::Result;
use crate::session::access::options::Settings;
use crate::session::tables::TableCache;
use crate::value::budget::{Budget, Part};
use crate::value::limits;

/// The part that commits take which no checkpoint has moved.
pub(crate) const MEMORY_TABLE: &str = "memory table";
/// The caches that give back.
pub(crate) const TABLE_CACHES: &str = "caches of tables";

/// The budget of a store with these settings.
///
/// # Errors
/// `InvalidArgument` if the parts and one query take more than the budget.
pub(crate) fn budget(settings: &Settings) -> Result<Budget> {
    let part = |name, bytes: usize, option| Part { name, bytes: bytes as u64, option };
    let table = settings.memory_table_bytes;
    let record_cache = settings.record_cache_bytes;
    let mut parts = vec![
        part("page cache", record_cache, Some("record_cache_bytes")),
        // While a checkpoint moves one table, writers may fill another one four times.
        part(MEMORY_TABLE, table.saturating_mul(5), Some("memory_table_bytes")),
        part("record of the journal", table / 4, Some("memory_table_bytes")),
        part("unsynced writes of the record file", limits::RECORD_UNSYNCED_BYTES, None),
        part("dictionaries of segments", limits::DICTIONARY_CACHE_BYTES, None),
    ];
    if settings.record_rewrite_bytes_max > 0 {
        let bytes = record_cache.min(limits::REWRITE_CACHE_BYTES);
        parts.push(part("rewrite of the record file", bytes, Some("record_rewrite_bytes_max")));
    }
    if cfg!(feature = "search") {
        parts.push(part("writer of the text index", limits::SEARCH_WRITER_BYTES, None));
        let files = limits::SEARCH_RESIDENT_BYTES + limits::SEARCH_BLOCKS_BYTES;
        parts.push(part("files of the text index", files, None));
    }
    let caches = part(TABLE_CACHES, TableCache::CACHE_BYTES, None);
    let query = part("one query", settings.query_memory_bytes, Some("query_memory_bytes"));
    Budget::new(settings.memory_budget_bytes, parts, caches, query)
}
