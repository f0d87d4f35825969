//! Appends in a draft: rows become part of their table, in its buffer or in segments.

use serde_json::json;

use super::buffer::entry_key;
use super::state::{key_of, next_ordinal, put_segment, put_table_state, seal_thresholds, state};
use crate::arrow::array::RecordBatch;
use crate::columnar::{SegmentMeta, TableSchema, encode_batch};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::session::feed::event::What;
use crate::session::write::draft::Draft;

/// Rows of one encoded batch of the buffer.
const BATCH_ROWS: usize = 16 * 1024;
/// With a maintenance thread, an append seals the buffer itself only if the buffer is this many
/// times larger than its limit. Otherwise the append seals it at the limit.
const LATE_FACTOR: u64 = 4;

/// Rows that are ready for a commit: encoded for the buffer, or in segments whose files are synced.
#[derive(Debug, Default)]
pub(crate) struct PreparedRows {
    pub(super) count: u64,
    pub(super) encoded: Vec<(u64, Vec<u8>)>,
    pub(super) segments: Vec<SegmentMeta>,
}

impl PreparedRows {
    /// Encodes rows for the buffer.
    ///
    /// # Errors
    /// `LimitExceeded` for a row that is too large for a batch.
    pub(crate) fn encoded(schema: &TableSchema, batches: &[RecordBatch]) -> Result<Self> {
        let mut prepared = Self::default();
        for batch in batches {
            for at in (0..batch.num_rows()).step_by(BATCH_ROWS) {
                prepared.encode(schema, batch.slice(at, BATCH_ROWS.min(batch.num_rows() - at)))?;
            }
        }
        Ok(prepared)
    }

    /// Encodes one batch, split so that no part is too large.
    fn encode(&mut self, schema: &TableSchema, rows: RecordBatch) -> Result<()> {
        let count = rows.num_rows();
        match encode_batch(schema, &rows) {
            Ok(bytes) => {
                self.count += count as u64;
                self.encoded.push((count as u64, bytes));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::LimitExceeded && count > 1 => {
                self.encode(schema, rows.slice(0, count / 2))?;
                self.encode(schema, rows.slice(count / 2, count - count / 2))
            }
            Err(error) => Err(error),
        }
    }
}

/// The refusal of an append beyond the rows that a table may have.
pub(super) fn too_many_rows(id: &str, row_limit: u64) -> Error {
    Error::limit(format!("the table would have more than {row_limit} rows, the limit of one table"))
        .with_name("DataFrame.TooManyRows", None)
        .with_resource(TableMetadata::KIND.name, id)
}

/// Refuses an append to a closed table.
pub(super) fn check_open(table: &TableMetadata) -> Result<()> {
    if table.supports_append == Some(false) {
        return Err(Error::conflict(
            "the table is closed: its end of data was declared, so rows cannot be appended",
        )
        .with_name("DataFrame.TableClosed", None)
        .with_resource(TableMetadata::KIND.name, table.id()));
    }
    Ok(())
}

/// Drafts an append to a table, without asking the policy: its rows, its row count and its events.
/// `closes` refuses all appends from then on. Returns whether the buffer has to be sealed.
///
/// # Errors
/// `Conflict` for a closed table; `LimitExceeded` above the rows that a table may have.
pub(crate) fn append_rows(
    draft: &mut Draft<'_>,
    mut table: TableMetadata,
    rows: PreparedRows,
    closes: bool,
) -> Result<bool> {
    check_open(&table)?;
    let row_limit = draft.context().settings().table_rows_max;
    let total = table.row_count.unwrap_or_default().unsigned_abs().saturating_add(rows.count);
    if total > row_limit {
        return Err(too_many_rows(table.id(), row_limit));
    }
    let mut is_due = false;
    if !rows.segments.is_empty() {
        add_segments(draft, &table, rows.segments)?;
    } else if !rows.encoded.is_empty() {
        is_due = buffer_batches(draft, &table, rows.encoded)?;
    }
    if rows.count > 0 {
        table.row_count = Some(i64::try_from(total).unwrap_or(i64::MAX));
        table.rows_modified_at = table.rows_modified_at.max(Some(draft.now()));
    }
    if closes {
        table.supports_append = Some(false);
    }
    if rows.count > 0 {
        let detail = json!({ "rowCount": rows.count });
        draft.put_state(&table, What::RowsAppended, Some(detail))?;
    }
    if closes {
        draft.put_state(&table, What::Closed, None)?;
    }
    Ok(is_due)
}

/// Adds encoded batches to the buffer. Returns whether it has to be sealed.
fn buffer_batches(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    batches: Vec<(u64, Vec<u8>)>,
) -> Result<bool> {
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
    let settings = draft.context().settings();
    let factor = if settings.maintenance_thread { LATE_FACTOR } else { 1 };
    Ok(state.is_seal_due(seal_thresholds(settings, key), factor))
}

/// Adds segments to the manifest; their rows follow the rows that the table has.
pub(crate) fn add_segments(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    metas: Vec<SegmentMeta>,
) -> Result<()> {
    let key = key_of(table.id())?;
    let mut state = state(draft, key)?;
    let mut ordinal = next_ordinal(table, &state);
    for mut meta in metas {
        meta.first_ordinal = ordinal;
        ordinal += meta.row_count;
        put_segment(draft, key, &meta)?;
    }
    state.merge_due = true;
    put_table_state(draft, key, &state)
}
