//! Seals the buffer of a table into a segment.

use super::sink::new_writer;
use super::{directory, entry_key, key_of, schema_of, state};
use crate::columnar::{data_name, summary_name};
use crate::error::Result;
use crate::model::table::TableMetadata;
use crate::records::Space;
use crate::session::access::{Access, Session};
use crate::session::engine::lock;
use crate::value::{Control, stored};

/// Seals the buffer of a table into a segment; false when there was nothing to seal.
pub(crate) fn seal(session: &Session, id: &str, control: &Control) -> Result<bool> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    control.check()?;
    let key = key_of(id)?;
    let Some((schema, batches, run)) = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let batches = view.raw_prefix(Space::TableBuffer, key.as_bytes())?;
        if batches.is_empty() {
            return Ok(None);
        }
        let schema = schema_of(&table)?;
        let run = engine.tables.buffer(key.as_bytes(), &batches, &schema)?;
        let batches: Vec<(Vec<u8>, u64)> = batches.into_iter().map(|(key, bytes)| (key, bytes.len() as u64)).collect();
        Ok(Some((schema, batches, run)))
    })?
    else {
        return Ok(false);
    };
    let (files, mut writer) = new_writer(session, id, &schema, run.first_ordinal())?;
    writer.write(run.batch(), run.ordinals())?;
    let meta = writer.finish()?;
    let dir = directory(id);
    let sealed_rows = meta.row_count;
    let sealed = session.write(move |draft| {
        for (key, _) in &batches {
            if draft.raw(Space::TableBuffer, key)?.is_none() {
                // The table was deleted meanwhile: what was written is garbage.
                draft.forget_file(&format!("{dir}/{}", data_name(meta.id)));
                draft.forget_file(&format!("{dir}/{}", summary_name(meta.id)));
                return Ok(false);
            }
        }
        let mut state = state(draft.raw(Space::TableState, key.as_bytes())?)?;
        state.buffered_rows = state.buffered_rows.saturating_sub(sealed_rows);
        state.merge_due = true;
        for (entry, len) in batches {
            state.buffered_bytes = state.buffered_bytes.saturating_sub(len);
            draft.delete_raw(Space::TableBuffer, entry);
        }
        draft.put_raw(Space::TableState, key.as_bytes().to_vec(), stored::to_bytes(&state)?);
        draft.put_raw(Space::Segments, entry_key(key.as_bytes(), meta.id), stored::to_bytes(&meta)?);
        Ok(true)
    });
    files.settle(sealed)
}
