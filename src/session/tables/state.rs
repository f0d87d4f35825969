//! The rows of a table in the record file: its state, its manifest, its columns.

use std::sync::Arc;

use super::buffer::entry_key;
use crate::columnar::{SegmentMeta, TableSchema, data_name, summary_name};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::retention::RetentionPolicy;
use crate::model::tables::store_table::StoreTable;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::options::Settings;
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::RecordKey;
use crate::value::wire::record;

record! {
    /// The state of a table that changes with every append and every seal.
    pub struct TableState {
        /// Rows in the buffer.
        pub buffered_rows: u64,
        /// Encoded bytes in the buffer.
        pub buffered_bytes: u64,
        /// Whether segments were added, or rows deleted, since maintenance last found nothing to
        /// merge.
        pub merge_due: bool,
        /// Rows that were ever deleted.
        pub deleted_rows: u64,
        /// Those of them that are still stored.
        pub deleted_stored: u64,
        /// The revision of the table's columns: how often they changed.
        pub columns_revision: u64,
        /// How long rows are kept; for ever without.
        pub retention: Option<RetentionPolicy>,
        /// Rows in segments that are not deleted. Only of a table that the store keeps itself,
        /// which has no record with its row count.
        pub sealed_rows: u64,
    }
}

impl TableState {
    /// Whether the buffer has `factor` times what it has to be sealed at.
    pub(super) fn is_seal_due(&self, thresholds: SealThresholds, factor: u64) -> bool {
        self.buffered_rows >= thresholds.rows.saturating_mul(factor)
            || self.buffered_bytes >= thresholds.bytes.saturating_mul(factor)
    }
}

/// Rows and bytes of a buffer at which it is sealed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealThresholds {
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// What the buffer of a table is sealed at.
pub(super) fn seal_thresholds(settings: &Settings, table: RecordKey) -> SealThresholds {
    let most = StoreTable::by_key(table).map_or(u64::MAX, |table| table.buffered_rows_max);
    SealThresholds { rows: settings.seal_rows.min(most), bytes: settings.seal_bytes }
}

/// The directory of a table's segments.
pub(crate) fn directory(id: &str) -> String {
    format!("tables/{id}")
}

pub(super) fn key_of(id: &str) -> Result<RecordKey> {
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

pub(super) fn manifest(view: &View<'_>, table: &[u8]) -> Result<Vec<SegmentMeta>> {
    view.raw_prefix(Space::Segments, table)?
        .iter()
        .map(|(key, row)| envelope::from_row(key, row))
        .collect()
}

/// The state of a table in the snapshot of `view`.
pub(super) fn state_in(view: &View<'_>, table: &[u8]) -> Result<TableState> {
    let row = view.raw(Space::TableState, table)?;
    row.map_or_else(|| Ok(TableState::default()), |row| envelope::from_row(table, &row))
}

pub(super) fn state(draft: &Draft<'_>, key: RecordKey) -> Result<TableState> {
    let row = draft.raw(Space::TableState, key.as_bytes())?;
    row.map_or_else(|| Ok(TableState::default()), |row| envelope::from_row(key.as_bytes(), &row))
}

/// The append ordinal of the next row.
pub(super) fn next_ordinal(table: &TableMetadata, state: &TableState) -> u64 {
    table.row_count.unwrap_or_default().unsigned_abs().saturating_add(state.deleted_rows)
}

/// The append ordinal of the next row, in the snapshot of `view`.
pub(super) fn next_ordinal_in(view: &View<'_>, table: &TableMetadata) -> Result<u64> {
    Ok(next_ordinal(table, &state_in(view, key_of(table.id())?.as_bytes())?))
}

pub(super) fn put_table_state(
    draft: &mut Draft<'_>,
    key: RecordKey,
    state: &TableState,
) -> Result<()> {
    draft.put_raw(
        Space::TableState,
        key.as_bytes().to_vec(),
        envelope::to_row(key.as_bytes(), state)?,
    );
    Ok(())
}

pub(super) fn put_segment(
    draft: &mut Draft<'_>,
    table: RecordKey,
    meta: &SegmentMeta,
) -> Result<()> {
    let key = entry_key(table.as_bytes(), meta.id);
    let row = envelope::to_row(&key, meta)?;
    draft.put_raw(Space::Segments, key, row);
    Ok(())
}

pub(super) fn forget_segment(draft: &mut Draft<'_>, table: &[u8], dir: &str, id: u64) {
    draft.delete_raw(Space::Segments, entry_key(table, id));
    forget_files(draft, dir, id);
}

/// Schedules the files of a segment for removal.
pub(super) fn forget_files(draft: &mut Draft<'_>, dir: &str, id: u64) {
    draft.forget_file(&format!("{dir}/{}", data_name(id)));
    draft.forget_file(&format!("{dir}/{}", summary_name(id)));
}
