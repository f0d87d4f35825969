//! What is due: buffers to seal, segments to merge.

use super::merge::merge;
use super::seal::seal;
use super::{TableState, set_merge_due};
use crate::error::Result;
use crate::model::Resource;
use crate::model::table::TableMetadata;
use crate::records::Space;
use crate::session::access::{Access, Session};
use crate::value::{Control, RecordKey, stored};

/// Seals the buffers that are due and merges what overlaps; answers the segments written.
pub(crate) fn maintain(session: &Session, control: &Control) -> Result<u64> {
    let settings = session.context().settings();
    let (seal_rows, seal_bytes) = (settings.seal_rows, settings.seal_bytes);
    let due: Vec<(RecordKey, bool)> = session.read(|view| {
        let mut due = Vec::new();
        for (key, bytes) in view.raw_prefix(Space::TableState, &[])? {
            let state: TableState = stored::from_bytes(&bytes)?;
            let seal_due = state.buffered_rows >= seal_rows || state.buffered_bytes >= seal_bytes;
            if let Some(key) = RecordKey::from_bytes(TableMetadata::KIND.id, &key)
                && (seal_due || state.merge_due)
            {
                due.push((key, seal_due));
            }
        }
        Ok(due)
    })?;
    let mut written = 0;
    for (key, seal_due) in due {
        let id = key.to_id(TableMetadata::KIND.id);
        if seal_due && seal(session, &id, control)? {
            written += 1;
        }
        while merge(session, &id, control)? {
            written += 1;
        }
        session.write(move |draft| {
            // A table that was deleted meanwhile must not get its state back.
            match draft.any_by_key::<TableMetadata>(key)? {
                Some(_) => set_merge_due(draft, key, false),
                None => Ok(()),
            }
        })?;
    }
    Ok(written)
}
