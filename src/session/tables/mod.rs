//! The rows of tables, in the record file and in segment files: buffer, manifest, seal, merge,
//! sweep.
//!
//! What must hold:
//! - A commit names a segment only after the segment's files and their directory were synced.
//! - The commit that names a sealed segment removes from the buffer exactly the batches that went
//!   into it.
//! - A commit that drops a segment from the manifest lists its files for removal.
//!
//! Keys: a buffer entry has the table key and the append ordinal of its first row; a manifest entry
//! has the table key and the segment number.

mod buffer;
mod cache;
mod check;
mod handout;
mod maintain;
mod merge;
mod restate;
mod salvage;
mod seal;
mod sink;

use std::sync::Arc;

use buffer::{entry_key, number_of};

use super::draft::Draft;
use super::engine::Engine;
use super::view::View;
use crate::columnar::{
    Run, SegmentMeta, SpillPlace, TableSchema, TableView, data_name, summary_name,
};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::value::wire::record;
use crate::value::{RecordKey, limits};

pub(crate) use cache::TableCache;
pub(crate) use check::{named_files, remove_empty, sweep, verify};
pub(crate) use handout::Handout;
pub(crate) use maintain::maintain;
#[cfg(test)]
pub(crate) use maintain::settle as settle_merges;
pub(crate) use merge::merge;
pub(crate) use restate::restate;
pub(crate) use salvage::{LostRows, TableSalvage, largest_segment};
pub(crate) use seal::seal;
pub(crate) use sink::{NewSegments, SORT_ROWS, SegmentSink};

/// Most rows of one segment.
const SEGMENT_ROWS: u64 = 1 << 31;

record! {
    /// The state of a table that changes with every append and every seal.
    pub struct TableState {
        /// Rows in the buffer.
        pub buffered_rows: u64,
        /// Encoded bytes in the buffer.
        pub buffered_bytes: u64,
        /// Whether segments were added since maintenance last found nothing to merge.
        pub merge_due: bool,
    }
}

/// The directory of a table's segments.
pub(crate) fn directory(id: &str) -> String {
    format!("tables/{id}")
}

fn key_of(id: &str) -> Result<RecordKey> {
    RecordKey::parse(TableMetadata::KIND.id, id)
        .ok_or_else(|| Error::invalid(format!("{id:?} is not a table id")))
}

/// The validated schema of a table.
pub(crate) fn schema_of(table: &TableMetadata) -> Result<Arc<TableSchema>> {
    let columns = table.columns.clone().unwrap_or_default();
    // The number of columns was checked when the table was created.
    TableSchema::new(columns, usize::MAX).map(Arc::new).map_err(|error| {
        Error::corrupt(format!(
            "records.redb: the columns of a stored table are damaged, restore it from a backup: {}",
            error.message()
        ))
    })
}

fn manifest(view: &View<'_>, table: &[u8]) -> Result<Vec<SegmentMeta>> {
    view.raw_prefix(Space::Segments, table)?
        .iter()
        .map(|(key, row)| envelope::from_row(key, row))
        .collect()
}

/// All rows of a table in the snapshot of `view`.
pub(crate) fn open_table(view: &View<'_>, table: &TableMetadata) -> Result<Arc<TableView>> {
    let engine = &view.context().engine;
    let schema = schema_of(table)?;
    let key = key_of(table.id())?;
    let dir = directory(table.id());
    let mut runs = Vec::new();
    for meta in manifest(view, key.as_bytes())? {
        runs.push(Run::Segment(engine.tables.segment(&engine.disk, &dir, meta, &schema)?));
    }
    let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
    if !batches.is_empty() {
        runs.extend(
            engine.tables.buffer(key.as_bytes(), &batches, &schema)?.into_iter().map(Run::Memory),
        );
    }
    let opened = TableView::new(schema, runs);
    let expected = table.row_count.unwrap_or_default().unsigned_abs();
    if opened.row_count() != expected {
        return Err(Error::corrupt(format!(
            "the table has {} rows instead of {expected}; restore it from a backup",
            opened.row_count()
        ))
        .with_resource(TableMetadata::KIND.name, table.id()));
    }
    Ok(Arc::new(opened))
}

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

fn state(draft: &Draft<'_>, key: RecordKey) -> Result<TableState> {
    let row = draft.raw(Space::TableState, key.as_bytes())?;
    row.map_or_else(|| Ok(TableState::default()), |row| envelope::from_row(key.as_bytes(), &row))
}

fn put_state(draft: &mut Draft<'_>, key: RecordKey, state: &TableState) -> Result<()> {
    draft.put_raw(
        Space::TableState,
        key.as_bytes().to_vec(),
        envelope::to_row(key.as_bytes(), state)?,
    );
    Ok(())
}

fn put_segment(draft: &mut Draft<'_>, table: RecordKey, meta: &SegmentMeta) -> Result<()> {
    let key = entry_key(table.as_bytes(), meta.id);
    let row = envelope::to_row(&key, meta)?;
    draft.put_raw(Space::Segments, key, row);
    Ok(())
}

/// Appends encoded batches to the rows of the table. Returns the state of the buffer afterwards.
pub(crate) fn buffer_batches(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    batches: Vec<(u64, Vec<u8>)>,
) -> Result<TableState> {
    let key = key_of(table.id())?;
    let mut state = state(draft, key)?;
    let mut ordinal = table.row_count.unwrap_or_default().unsigned_abs();
    for (rows, bytes) in batches {
        state.buffered_rows += rows;
        state.buffered_bytes += bytes.len() as u64;
        draft.put_raw(Space::TableBuffer, entry_key(key.as_bytes(), ordinal), bytes);
        ordinal += rows;
    }
    put_state(draft, key, &state)?;
    Ok(state)
}

/// Adds segments to the manifest; their rows follow the rows that the table has.
pub(crate) fn add_segments(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    metas: Vec<SegmentMeta>,
) -> Result<()> {
    let key = key_of(table.id())?;
    let mut ordinal = table.row_count.unwrap_or_default().unsigned_abs();
    for mut meta in metas {
        meta.first_ordinal = ordinal;
        ordinal += meta.row_count;
        put_segment(draft, key, &meta)?;
    }
    set_merge_due(draft, key, true)
}

fn set_merge_due(draft: &mut Draft<'_>, key: RecordKey, merge_due: bool) -> Result<()> {
    let state = TableState { merge_due, ..state(draft, key)? };
    put_state(draft, key, &state)
}

fn forget_segment(draft: &mut Draft<'_>, table: &[u8], dir: &str, id: u64) {
    draft.delete_raw(Space::Segments, entry_key(table, id));
    draft.forget_file(&format!("{dir}/{}", data_name(id)));
    draft.forget_file(&format!("{dir}/{}", summary_name(id)));
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
    draft.delete_raw(Space::TableState, key.as_bytes().to_vec());
    Ok(())
}
