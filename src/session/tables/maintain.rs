//! Table maintenance: seals full buffers, merges segments, and writes those of earlier formats
//! again.

use super::merge::{merge, mergeable, small_count};
use super::restate::restate_all;
use super::seal::seal;
use super::{TableState, set_merge_due};
use crate::columnar::SegmentMeta;
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::{Access, Session};
use crate::value::{Control, RecordKey, guarded};

/// Seals the buffers that reached a threshold, and merges segments that overlap. Returns the number
/// of segments written.
pub(crate) fn maintain(session: &Session, control: &Control) -> Result<u64> {
    let settings = session.context().settings();
    let (seal_rows, seal_bytes) = (settings.seal_rows, settings.seal_bytes);
    let due: Vec<(RecordKey, bool)> = session.read(|view| {
        let mut due = Vec::new();
        for (key, bytes) in view.raw_prefix(Space::TableState, &[])? {
            let state: TableState = envelope::from_row(&key, &bytes)?;
            let seal_due = state.buffered_rows >= seal_rows || state.buffered_bytes >= seal_bytes;
            if let Some(key) = RecordKey::from_bytes(TableMetadata::KIND.id, &key)
                && (seal_due || state.merge_due)
            {
                due.push((key, seal_due));
            }
        }
        Ok(due)
    })?;
    let (mut written, mut failure) = (0, None);
    for (key, seal_due) in due {
        control.check()?;
        // A damaged table does not stop the maintenance of the others.
        match guarded("maintaining a table", || tidy(session, key, seal_due, control)) {
            Ok(segments) => written += segments,
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    // Last: what was merged need not be written again.
    match restate_all(session, control) {
        Ok(segments) => written += segments,
        Err(error) => failure = failure.or(Some(error)),
    }
    failure.map_or(Ok(written), Err)
}

/// Seals and merges one table. Returns the number of segments written.
fn tidy(session: &Session, key: RecordKey, seal_due: bool, control: &Control) -> Result<u64> {
    let id = key.to_id(TableMetadata::KIND.id);
    let mut written = 0;
    if seal_due {
        written += seal(session, &id, control)?;
    }
    while merge(session, &id, control)? {
        written += 1;
    }
    settle(session, key)?;
    Ok(written)
}

/// Clears the `merge_due` flag of a table if nothing is left to merge. It checks that again inside
/// the commit: an append may have added segments since the last merge.
pub(crate) fn settle(session: &Session, key: RecordKey) -> Result<()> {
    session.write(move |draft| {
        // The state row of a table that was deleted meanwhile must not be written again.
        let Some(table) = draft.any_by_key::<TableMetadata>(key)? else { return Ok(()) };
        let entries = draft.raw_prefix(Space::Segments, key.as_bytes())?;
        let mut metas: Vec<SegmentMeta> =
            entries.iter().map(|(key, row)| envelope::from_row(key, row)).collect::<Result<_>>()?;
        metas.sort_by_key(|meta| meta.first_ordinal);
        match mergeable(&metas, small_count(&table)) {
            Some(_) => Ok(()),
            None => set_merge_due(draft, key, false),
        }
    })
}
