//! Seals the buffer of a table into segments.

use super::buffer::stretches;
use super::columns::layouts_of;
use super::deleted::{live_run, stored_deleted};
use super::merge::offsets;
use super::sink::new_writer;
use super::state::{directory, forget_files, key_of, put_segment, put_table_state, state};
use crate::columnar::SegmentMeta;
use crate::error::Result;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::session::access::sessions::{Access, Session};
use crate::session::engine::Engine;
use crate::session::lock::lock;
use crate::value::{Control, trace};

/// Seals the buffer of a table, one segment for each stretch of consecutive rows. Returns the
/// number of segments.
pub(crate) fn seal(session: &Session, id: &str, control: &Control) -> Result<u64> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let (mut sealed, mut left) = (0, 1);
    // Seals as many stretches as the first step finds: later appends are left to the next pass.
    while left > 0 {
        control.check()?;
        let Some(stretches) = seal_first(session, &engine, id)? else { break };
        left = if sealed == 0 { stretches } else { left } - 1;
        sealed += 1;
    }
    Ok(sealed)
}

/// Seals the first stretch of a buffer. Returns how many stretches there were; `None` if there was
/// nothing to seal.
///
/// The segment is written without holding the write turn. The commit removes exactly the batches
/// that were read, so a concurrent append stays in the buffer.
fn seal_first(session: &Session, engine: &Engine, id: &str) -> Result<Option<usize>> {
    let key = key_of(id)?;
    let Some((schema, batches, run, count)) = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
        let stretches = stretches(&batches);
        let Some(first) = stretches.first() else { return Ok(None) };
        let layouts = layouts_of(view, &table)?;
        let Some(run) = engine.tables.buffer(key.as_bytes(), first, &layouts)?.into_iter().next()
        else {
            return Ok(None);
        };
        let run = live_run(engine, run.into(), &stored_deleted(view, key.as_bytes())?)?;
        let first: Vec<(Vec<u8>, u64)> =
            first.iter().map(|(key, bytes)| (key.clone(), bytes.len() as u64)).collect();
        Ok(Some((layouts.table().clone(), first, run, stretches.len())))
    })?
    else {
        return Ok(None);
    };
    let _span = trace::span!("seal", table = id, batches = batches.len());
    // A segment takes about as much as the batches that it replaces, at most.
    engine.check_space(batches.iter().map(|(_, len)| len).sum())?;
    let live = run.all_live();
    let ordinals = run.ordinals(&live)?;
    let range = run.ordinal_range();
    let first_ordinal = ordinals.iter().copied().min().unwrap_or(range.start);
    let (files, mut writer) = new_writer(session, id, &schema, first_ordinal)?;
    let columns: Vec<usize> = (0..schema.len()).collect();
    let meta = if live.is_empty() {
        None
    } else {
        let offsets = offsets(ordinals, first_ordinal);
        writer.write(&run.read(&schema, &columns, &live)?, Some(&offsets))?;
        let ordinal_count = range.end - first_ordinal;
        Some(SegmentMeta { ordinal_count, ..writer.finish()? })
    };
    // Without rows, dropping `files` removes what the writer began.
    let has_rows = meta.is_some();
    let dir = directory(id);
    let (sealed_rows, dead_rows) = (run.row_count(), run.row_count() - run.live_count());
    let sealed = session.write(move |draft| {
        for (key, _) in &batches {
            if draft.raw(Space::TableBuffer, key)?.is_none() {
                // The table or the rows were deleted meanwhile: the new files are scheduled for
                // removal.
                if let Some(meta) = &meta {
                    forget_files(draft, &dir, meta.id);
                }
                return Ok(None);
            }
        }
        let mut state = state(draft, key)?;
        state.buffered_rows = state.buffered_rows.saturating_sub(sealed_rows as u64);
        state.deleted_stored = state.deleted_stored.saturating_sub(dead_rows as u64);
        state.merge_due = true;
        for (entry, len) in batches {
            state.buffered_bytes = state.buffered_bytes.saturating_sub(len);
            draft.delete_raw(Space::TableBuffer, entry);
        }
        put_table_state(draft, key, &state)?;
        if let Some(meta) = &meta {
            put_segment(draft, key, meta)?;
        }
        Ok(Some(count))
    });
    if has_rows { files.settle(sealed) } else { sealed }
}
