//! Work of maintenance on the record file: checkpoints at rest, and the merging of index runs.

use crate::error::Result;
use crate::session::access::sessions::{Access, Session};
use crate::session::write::write_path::exclusive;

/// Moves all commits from the journal into the record file. Writers do not wait for the move.
pub(crate) fn checkpoint(session: &Session) -> Result<()> {
    let context = session.context();
    if context.engine.snapshot().pending_bytes() == 0 {
        return Ok(());
    }
    let turn = exclusive(context, "a checkpoint")?;
    context.engine.begin_checkpoint()?;
    drop(turn);
    context.engine.move_layers()
}

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
    let _turn = exclusive(context, "a merge of index runs")?;
    engine.check_place()?;
    // The contents of the store do not change, so the sequence number stays.
    engine.write_file(|records| records.settle_indexes(entries))
}
