//! Merging the runs of the indexes while nobody writes.

use super::access::{Access, Session};
use super::write_path::exclusive;
use crate::error::Result;
use crate::records::Turn;
use crate::value::guarded;

/// Goes on merging the runs of the indexes in a turn of its own, `entries` of them at each level; whether there is more.
pub(crate) fn settle_indexes(session: &Session, entries: u64) -> Result<bool> {
    /// More than an entry takes in a run.
    const ENTRY_BYTES: u64 = 64;
    let context = session.context();
    let engine = &context.engine;
    if engine.check_record_space(entries.saturating_mul(ENTRY_BYTES)).is_err() {
        // It can wait, and deletes cannot.
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
        // No change of the store's state, so its number stays.
        engine.commit(transaction, finished, engine.sequence())?;
        Ok(true)
    })
}
