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

mod append;
mod appender;
mod buffer;
mod cache;
mod check;
mod columns;
mod delete;
mod deleted;
mod files;
mod handout;
mod ingest;
mod links;
mod maintain;
mod merge;
mod open;
mod ordinals;
mod retain;
mod retention;
mod salvage;
mod seal;
mod sink;
mod state;
mod store_rows;

use buffer::number_of;
use state::{forget_segment, key_of, put_table_state, state};

use super::engine::Engine;
use super::write::draft::Draft;
use crate::columnar::SpillPlace;
use crate::error::Result;
use crate::records::Space;
use crate::value::limits;

pub(crate) use appender::{Appender, FindTable, NewRows, StagedRows, commit_all, seal_appended};
pub(crate) use cache::TableCache;
pub(crate) use check::{
    check_file, file_hashes, named_files, remove_empty, segment_files, sweep, verify,
};
pub(crate) use columns::{ColumnChange, change_columns, is_column_history, layouts_of};
pub(crate) use delete::delete_rows;
pub(crate) use deleted::{Cause, check_deleted_rows, deleted_rows, is_deleted_rows};
pub(crate) use handout::Handout;
pub use handout::SegmentFile;
pub(crate) use ingest::{Reading, RowCounts, stage_new};
pub(crate) use links::{change_links, drop_links, each_link, each_linked, replace_links};
pub(crate) use maintain::{deleted_stored, due, maintain};
pub(crate) use open::open_table;
pub(crate) use ordinals::OrdinalScan;
pub use ordinals::{PartRows, RowsPart, StoredBytes, StoredRows};
pub(crate) use retain::retain_rows;
pub(crate) use retention::{put_retention, retention_in_row, retention_of, take_present_time};
pub(crate) use salvage::{LostRows, TableSalvage, largest_segment};
pub(crate) use state::{TableState, directory, schema_of};
pub(crate) use store_rows::{
    ChunkChange, RowChunk, all_chunks, change_chunks, chunk_around, chunk_at, chunks,
    delete_sealed, drop_chunks, sealed, sealed_pick, sealed_rows,
};

#[cfg(test)]
pub(crate) use {
    append::{PreparedRows, add_segments, append_rows},
    deleted::DeletedPart,
    maintain::settle as settle_merges,
    merge::{Rewrite, merge},
    seal::seal,
    sink::SORT_ROWS,
};

/// Most rows of one segment.
const SEGMENT_ROWS: u64 = 1 << 31;

/// Directory of temporary files. Files that are in it when a store is opened are leftovers.
pub(crate) const TEMPORARY_DIR: &str = "tmp";

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

/// Lets maintenance make the value indexes that the segments of a table do not have.
pub(crate) fn index_rows(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let key = key_of(id)?;
    let state = TableState { merge_due: true, ..state(draft, key)? };
    put_table_state(draft, key, &state)
}

/// Drops all rows of a table that is being deleted.
pub(crate) fn forget_rows(draft: &mut Draft<'_>, id: &str) -> Result<()> {
    let key = key_of(id)?;
    let dir = directory(id);
    for (entry, _) in draft.raw_prefix(Space::Segments, key.as_bytes())? {
        forget_segment(draft, key.as_bytes(), &dir, number_of(&entry));
    }
    for space in [Space::TableBuffer, Space::DeletedRows, Space::ColumnHistory, Space::TableState] {
        for (entry, _) in draft.raw_prefix(space, key.as_bytes())? {
            draft.delete_raw(space, entry);
        }
    }
    Ok(())
}
