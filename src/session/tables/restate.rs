//! Writes segments of earlier formats again, if statistics in them hide NaN from other readers.

use std::sync::atomic::Ordering;

use super::buffer::entry_key;
use super::columns::layouts_of;
use super::sink::{NewSegments, new_segment_id};
use super::state::{directory, forget_segment, key_of, manifest, put_segment};
use crate::columnar::{SegmentMeta, Stored, data_name, summary_name};
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Space, envelope};
use crate::session::access::{Access, Session};
use crate::session::lock::lock;
use crate::value::{Control, RecordKey, guarded};

/// Bytes that one pass of maintenance writes again, about: the passes leave room for other work.
const PASS_BYTES: u64 = 1 << 30;

/// Looks once at each segment of an earlier format. Returns the number of segments written again.
///
/// The manifest is read in the first passes after an opening, until nothing is left: new segments
/// need no look.
pub(super) fn restate_all(session: &Session, control: &Control) -> Result<u64> {
    let is_done = &session.context().engine.tables.shows_nan;
    if is_done.load(Ordering::Relaxed) {
        return Ok(0);
    }
    let due: Vec<RecordKey> = session.read(|view| {
        let mut due = Vec::new();
        let mut cursor = view.cursor(Space::Segments, &[])?;
        while let Some((key, row)) = cursor.next()? {
            let meta: SegmentMeta = envelope::from_row(&key, &row)?;
            let table = key.len().checked_sub(8).and_then(|len| key.get(..len));
            let table =
                table.and_then(|bytes| RecordKey::from_bytes(TableMetadata::KIND.id, bytes));
            due.extend(table.filter(|table| !meta.shows_nan && due.last() != Some(table)));
        }
        Ok(due)
    })?;
    let (mut written, mut bytes, mut failure) = (0, 0, None);
    for key in due {
        control.check()?;
        if bytes >= PASS_BYTES {
            return failure.map_or(Ok(written), Err);
        }
        let id = key.to_id(TableMetadata::KIND.id);
        // A damaged table does not stop the others.
        match guarded("writing segments again", || restate(session, &id, control)) {
            Ok((count, len)) => (written, bytes) = (written + count, bytes + len),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    is_done.store(true, Ordering::Relaxed);
    Ok(written)
}

/// Looks at the segments of a table that an earlier format wrote, and replaces those in which
/// statistics hide NaN. Returns the number of segments written, and their bytes.
pub(crate) fn restate(session: &Session, id: &str, control: &Control) -> Result<(u64, u64)> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let key = key_of(id)?;
    let dir = directory(id);
    let found = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let mut metas = manifest(view, key.as_bytes())?;
        metas.retain(|meta| !meta.shows_nan);
        Ok(Some((layouts_of(view, &table)?, metas)))
    })?;
    let Some((layouts, metas)) = found else { return Ok((0, 0)) };
    let (mut sound, mut count, mut bytes) = (Vec::new(), 0, 0);
    for old in metas {
        control.check()?;
        let run = engine.tables.segment(&engine.disk, &dir, old.clone(), &layouts)?;
        let Stored::Segment(segment) = run.stored() else { continue };
        let mut files = NewSegments::of(session, id);
        let number = || {
            // The new files take about as much as those that they replace.
            engine.check_space(old.data_bytes + old.summary_bytes)?;
            let number = new_segment_id(session)?;
            files.starts(number);
            Ok(number)
        };
        let Some(meta) = segment.restate(&engine.disk, &dir, number, control)? else {
            sound.push(SegmentMeta { shows_nan: true, ..old });
            continue;
        };
        (count, bytes) = (count + 1, bytes + meta.data_bytes);
        let dir = dir.clone();
        let replaced = session.write(move |draft| {
            if draft.raw(Space::Segments, &entry_key(key.as_bytes(), old.id))?.is_none() {
                // The table was deleted meanwhile.
                draft.forget_file(&format!("{dir}/{}", data_name(meta.id)));
                draft.forget_file(&format!("{dir}/{}", summary_name(meta.id)));
                return Ok(());
            }
            forget_segment(draft, key.as_bytes(), &dir, old.id);
            put_segment(draft, key, &meta)
        });
        files.settle(replaced)?;
    }
    if !sound.is_empty() {
        session.write(move |draft| {
            for meta in &sound {
                let entry = entry_key(key.as_bytes(), meta.id);
                if draft.raw(Space::Segments, &entry)?.is_some() {
                    put_segment(draft, key, meta)?;
                }
            }
            Ok(())
        })?;
    }
    Ok((count, bytes))
}
