//! Background merging of index runs.

use super::access::{Access, Session};
use super::write_path::exclusive;
use crate::error::Result;
use crate::records::Turn;
use crate::value::guarded;

/// Continues the merges of the index runs in a turn of its own, with `entries` entries at each
/// level. Returns whether there is more to merge.
pub(crate) fn settle_indexes(session: &Session, entries: u64) -> Result<bool> {
    /// Upper bound of what an entry takes in a run.
    const ENTRY_BYTES: u64 = 64;
    let context = session.context();
    let engine = &context.engine;
    if engine.check_record_space(entries.saturating_mul(ENTRY_BYTES)).is_err() {
        // Merging can wait; deletes need the remaining space.
        return Ok(false);
    }
    exclusive(context, || {
        let transaction = engine.begin()?;
        let finished = guarded("merging index entries", || {
            let mut turn = Turn::open(&transaction, engine.snapshot());
            if turn.settle_indexes(entries)? { turn.finish().map(Some) } else { Ok(None) }
        })?;
        let Some(finished) = finished else { return Ok(false) };
        engine.check_place()?;
        // The contents of the store do not change, so the sequence number stays.
        engine.commit(transaction, finished, engine.sequence())?;
        Ok(true)
    })
}
