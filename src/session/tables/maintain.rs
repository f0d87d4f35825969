//! Table maintenance: seals full buffers and merges segments.

use super::buffer::number_of;
use super::columns::{draft_layouts, layouts_of};
use super::deleted::{deleted_in, deleted_in_draft};
use super::merge::{Rewrite, merge, mergeable, outdated, small_count};
use super::seal::seal;
use super::state::{TableState, put_table_state, seal_thresholds, state};
use super::store_rows::{due_group, is_store_table, seal_chunks, table_in, table_in_draft};
use crate::columnar::{Layouts, SegmentMeta, batch_row_count};
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::retention::RetentionPolicy;
use crate::model::tables::store_table::StoreTable;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::sessions::{Access, Session};
use crate::value::ranges::RangeSet;
use crate::value::{Control, RecordKey, guarded};

/// Which tables need maintenance.
#[derive(Debug, Default)]
pub(crate) struct Due {
    /// Tables to seal or to merge, and whether their buffer reached a threshold.
    tidy: Vec<(RecordKey, bool)>,
    /// Tables with a retention.
    pub(crate) retained: Vec<(RecordKey, RetentionPolicy)>,
    /// Deleted rows of all tables that are still stored.
    pub(crate) deleted_stored: u64,
}

/// Finds the tables that need maintenance, in one pass over their states.
pub(crate) fn due(session: &Session) -> Result<Due> {
    session.read(|view| {
        let mut due = Due::default();
        for (key, bytes) in view.raw_prefix(Space::TableState, &[])? {
            let state: TableState = envelope::from_row(&key, &bytes)?;
            due.deleted_stored += state.deleted_stored;
            let Some(key) = RecordKey::from_bytes(TableMetadata::KIND.id, &key) else { continue };
            let seal_due = state.is_seal_due(seal_thresholds(view.context().settings(), key), 1);
            if seal_due || state.merge_due {
                due.tidy.push((key, seal_due));
            }
            due.retained.extend(state.retention.map(|policy| (key, policy)));
        }
        Ok(due)
    })
}

/// Deleted rows of all tables that are still stored.
pub(crate) fn deleted_stored(session: &Session) -> Result<u64> {
    session.read(|view| {
        let states = view.raw_prefix(Space::TableState, &[])?.into_iter();
        let stored = |(key, bytes): (Vec<u8>, Vec<u8>)| -> Result<u64> {
            Ok(envelope::from_row::<TableState>(&key, &bytes)?.deleted_stored)
        };
        states.map(stored).sum()
    })
}

/// Seals the buffers that reached a threshold, and merges segments that overlap. Returns the number
/// of segments written.
pub(crate) fn maintain(session: &Session, due: Due, control: &Control) -> Result<u64> {
    let (mut written, mut failure) = (0, None);
    for (key, seal_due) in due.tidy {
        control.check()?;
        // A damaged table does not stop the maintenance of the others.
        match guarded("maintaining a table", || tidy(session, key, seal_due, control)) {
            Ok(segments) => written += segments,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(written), Err)
}

/// Seals and merges one table. Returns the number of segments written.
fn tidy(session: &Session, key: RecordKey, seal_due: bool, control: &Control) -> Result<u64> {
    let id = key.to_id(TableMetadata::KIND.id);
    let mut written = 0;
    let store_table = StoreTable::by_key(key);
    if seal_due {
        written += match store_table {
            Some(table) => seal_chunks(session, table, control)?,
            None => seal(session, &id, control)?,
        };
    }
    loop {
        while merge(session, &id, Rewrite::Due, control)? {
            written += 1;
        }
        let blocked = session.read(|view| {
            let Some(table) = table_in(view, key)? else { return Ok(false) };
            let segments = view.raw_prefix(Space::Segments, key.as_bytes())?;
            let deleted = deleted_in(view, key.as_bytes())?;
            let buffer = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
            is_due(&table, &layouts_of(view, &table)?, segments, &deleted, &buffer)
        })?;
        // Segments with buffered rows between them are merged once these rows are sealed.
        if !blocked || seal(session, &id, control)? == 0 {
            break;
        }
        written += 1;
    }
    settle(session, key)?;
    Ok(written)
}

/// Whether segments would have to be merged if all buffered rows were sealed.
fn is_due(
    table: &TableMetadata,
    layouts: &Layouts,
    segments: Vec<(Vec<u8>, Vec<u8>)>,
    deleted: &RangeSet,
    buffer: &[(Vec<u8>, Vec<u8>)],
) -> Result<bool> {
    let mut metas: Vec<SegmentMeta> =
        segments.iter().map(|(key, row)| envelope::from_row(key, row)).collect::<Result<_>>()?;
    metas.sort_by_key(|meta| meta.first_ordinal);
    if is_store_table(table) {
        return Ok(!due_group(&metas, deleted).is_empty());
    }
    let buffered = buffer.iter().map(|(key, bytes)| {
        let first = number_of(key);
        first..first.saturating_add(batch_row_count(bytes))
    });
    let no_gaps = deleted.union(&RangeSet::new(buffered.collect()));
    // Buffered ordinals count as deleted here: no segment has them.
    let outdated = outdated(layouts, &metas, Rewrite::Due)?;
    Ok(mergeable(&metas, &no_gaps, small_count(table), Rewrite::Due, &outdated).is_some())
}

/// Clears the `merge_due` flag of a table if nothing is left to merge. It checks that again inside
/// the commit: an append may have added segments since the last merge.
pub(crate) fn settle(session: &Session, key: RecordKey) -> Result<()> {
    session.write(move |draft| {
        // The state row of a table that was deleted meanwhile must not be written again.
        let Some(table) = table_in_draft(draft, key)? else { return Ok(()) };
        let segments = draft.raw_prefix(Space::Segments, key.as_bytes())?;
        let deleted = deleted_in_draft(draft, key.as_bytes())?;
        let buffer = draft.raw_prefix(Space::TableBuffer, key.as_bytes())?;
        let layouts = draft_layouts(draft, &table, key)?;
        if is_due(&table, &layouts, segments, &deleted, &buffer)? {
            Ok(())
        } else {
            let state = TableState { merge_due: false, ..state(draft, key)? };
            put_table_state(draft, key, &state)
        }
    })
}
