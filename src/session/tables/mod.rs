//! The rows of tables, in the record file and in segment files: buffer, manifest, seal, merge,
//! sweep.
//!
//! What must hold:
//! - A commit names a segment only after the segment's files and their directory were synced.
//! - The commit that names a sealed segment removes from the buffer exactly the batches that went
//!   into it.
//! - A commit that drops a segment from the manifest lists its files for removal.
//! - The ordinal of the next append is the row count plus the number of deleted rows, so that no
//!   ordinal is used twice.
//!
//! Keys: a buffer entry has the table key and the append ordinal of its first row; a manifest entry
//! has the table key and the segment number.

mod buffer;
mod cache;
mod check;
mod columns;
mod deleted;
mod handout;
mod maintain;
mod merge;
mod open;
mod retention;
mod salvage;
mod seal;
mod sink;
mod state;

use buffer::{entry_key, number_of};
use state::{forget_segment, key_of, put_segment, put_table_state, state, state_in};

use super::engine::Engine;
use super::view::View;
use super::write::draft::Draft;
use crate::columnar::{SegmentMeta, SpillPlace};
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::value::{RecordKey, limits};

pub(crate) use cache::{IndexLook, Numbering, TableCache};
pub(crate) use check::{named_files, remove_empty, sweep, verify};
pub(crate) use columns::{ColumnChange, change_columns, is_column_history, layouts_of};
#[cfg(test)]
pub(crate) use deleted::DeletedPart;
pub(crate) use deleted::{
    Cause, Deleted, check_deleted_rows, delete_ordinals, deleted_rows, is_deleted_rows,
};
pub(crate) use handout::Handout;
#[cfg(test)]
pub(crate) use maintain::settle as settle_merges;
pub(crate) use maintain::{deleted_stored, due, maintain};
pub(crate) use merge::{Rewrite, merge};
pub(crate) use open::open_table;
pub(crate) use retention::{
    index_limit_ms, is_index_due, is_retention_due, put_retention, retention_in_row, retention_of,
    take_present_time, take_retention,
};
pub(crate) use salvage::{LostRows, TableSalvage, largest_segment};
pub(crate) use seal::seal;
pub(crate) use sink::{NewSegments, SORT_ROWS, SegmentSink};
pub(crate) use state::{TableState, directory, schema_of};

/// Most rows of one segment.
const SEGMENT_ROWS: u64 = 1 << 31;

/// Directory of temporary files. Files that are in it when a store is opened are leftovers.
const TEMPORARY_DIR: &str = "tmp";

/// Where sorts that exceed their memory spill to.
pub(crate) fn spill_place(engine: &Engine) -> SpillPlace {
    SpillPlace {
        disk: engine.disk.clone(),
        dir: TEMPORARY_DIR,
        numbers: engine.tables.temporary.clone(),
        bytes_max: limits::SPILL_BYTES,
        reserve_bytes: engine.settings.reserve_bytes,
    }
}

/// The append ordinal of the next row.
fn next_ordinal(table: &TableMetadata, state: &TableState) -> u64 {
    table.row_count.unwrap_or_default().unsigned_abs().saturating_add(state.deleted_rows)
}

/// The append ordinal of the next row, in the snapshot of `view`.
pub(crate) fn next_ordinal_in(view: &View<'_>, table: &TableMetadata) -> Result<u64> {
    Ok(next_ordinal(table, &state_in(view, key_of(table.id())?.as_bytes())?))
}

/// Appends encoded batches to the rows of the table. Returns the state of the buffer afterwards.
pub(crate) fn buffer_batches(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    batches: Vec<(u64, Vec<u8>)>,
) -> Result<TableState> {
    let key = key_of(table.id())?;
    let mut state = state(draft, key)?;
    let mut ordinal = next_ordinal(table, &state);
    for (rows, bytes) in batches {
        state.buffered_rows += rows;
        state.buffered_bytes += bytes.len() as u64;
        draft.put_raw(Space::TableBuffer, entry_key(key.as_bytes(), ordinal), bytes);
        ordinal += rows;
    }
    put_table_state(draft, key, &state)?;
    Ok(state)
}

/// Adds segments to the manifest; their rows follow the rows that the table has.
pub(crate) fn add_segments(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    metas: Vec<SegmentMeta>,
) -> Result<()> {
    let key = key_of(table.id())?;
    let mut ordinal = next_ordinal(table, &state(draft, key)?);
    for mut meta in metas {
        meta.first_ordinal = ordinal;
        ordinal += meta.row_count;
        put_segment(draft, key, &meta)?;
    }
    set_merge_due(draft, key, true)
}

fn set_merge_due(draft: &mut Draft<'_>, key: RecordKey, merge_due: bool) -> Result<()> {
    let state = TableState { merge_due, ..state(draft, key)? };
    put_table_state(draft, key, &state)
}

/// Drops all rows of a table that is being deleted.
pub(crate) fn forget_rows(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let key = key_of(id)?;
    let dir = directory(id);
    for (entry, _) in draft.raw_prefix(Space::Segments, key.as_bytes())? {
        forget_segment(draft, key.as_bytes(), &dir, number_of(&entry));
    }
    for (entry, _) in draft.raw_prefix(Space::TableBuffer, key.as_bytes())? {
        draft.delete_raw(Space::TableBuffer, entry);
    }
    for (entry, _) in draft.raw_prefix(Space::DeletedRows, key.as_bytes())? {
        draft.delete_raw(Space::DeletedRows, entry);
    }
    draft.delete_raw(Space::ColumnHistory, key.as_bytes().to_vec());
    draft.delete_raw(Space::TableState, key.as_bytes().to_vec());
    Ok(())
}
