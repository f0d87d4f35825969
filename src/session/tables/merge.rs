//! Merges segments of a table into one sorted run.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::entry_key;
use super::sink::new_writer;
use super::{SEGMENT_ROWS, directory, forget_segment, key_of, manifest, put_segment, schema_of};
use crate::columnar::{
    MergedScan, Predicates, Run, SegmentMeta, TableView, data_name, summary_name,
};
use crate::error::Result;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::session::access::{Access, Session};
use crate::session::lock::lock;
use crate::value::{Control, trace};

/// Segments of fewer rows are small: many of them in a row are merged.
const SMALL_SEGMENT_ROWS: u64 = 1024 * 1024;
/// Number of small neighbours that are merged although they do not overlap.
const SMALL_SEGMENTS: usize = 16;

/// Finds segments, as a range of `metas` (in order of append), to merge into one: segments that
/// overlap, or many small ones.
///
/// The range must be contiguous in order of append: a segment covers the ordinals from its first
/// ordinal for `row_count` rows, so a gap would give rows the ordinals of another segment.
pub(super) fn mergeable(metas: &[SegmentMeta], small_count: usize) -> Option<Range<usize>> {
    // `b` was appended after `a`, so equal index values at the border are in order already, and
    // `b.min_index == a.max_index` is no overlap.
    let overlap =
        |a: &SegmentMeta, b: &SegmentMeta| a.min_index <= b.max_index && b.min_index < a.max_index;
    for (at, first) in metas.iter().enumerate() {
        let mut end = at + 1;
        let mut rows = first.row_count;
        let mut reach = at;
        // Extends the group up to the next segment that overlaps one of it, with all segments in
        // between, until none is left or the group reaches the size limit of a segment.
        while let Some(next) = metas
            .iter()
            .enumerate()
            .skip(reach + 1)
            .filter(|(_, other)| {
                metas.iter().take(reach + 1).skip(at).any(|mine| overlap(mine, other))
            })
            .map(|(place, _)| place)
            .next()
        {
            let more: u64 =
                metas.iter().take(next + 1).skip(reach + 1).map(|meta| meta.row_count).sum();
            if rows + more >= SEGMENT_ROWS {
                break;
            }
            rows += more;
            reach = next;
            end = next + 1;
        }
        if end > at + 1 {
            return Some(at..end);
        }
    }
    let is_small = |meta: &&SegmentMeta| meta.row_count < SMALL_SEGMENT_ROWS;
    (0..metas.len()).find_map(|at| {
        let count = metas.iter().skip(at).take_while(is_small).count();
        (count >= small_count).then_some(at..at + count)
    })
}

/// Number of small neighbours of this table that are merged although they do not overlap.
pub(super) fn small_count(table: &TableMetadata) -> usize {
    // A closed table gets no more rows, so this merge is paid once.
    if table.supports_append == Some(false) { 2 } else { SMALL_SEGMENTS }
}

/// Merges segments of a table that overlap, or are many and small. Returns false if there are none.
///
/// The merge reads one snapshot and writes without holding the write turn. So the commit must check
/// that every merged segment is still named: if the table was deleted meanwhile, the new files are
/// scheduled for removal instead.
pub(crate) fn merge(session: &Session, id: &str, control: &Control) -> Result<bool> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let key = key_of(id)?;
    let dir = directory(id);
    let found = session.read(|view| {
        let Some(table) = view.any_by_key::<TableMetadata>(key)? else { return Ok(None) };
        let mut metas = manifest(view, key.as_bytes())?;
        metas.sort_by_key(|meta| meta.first_ordinal);
        let Some(group) = mergeable(&metas, small_count(&table)) else { return Ok(None) };
        let schema = schema_of(&table)?;
        let group: Vec<SegmentMeta> = metas.drain(group).collect();
        let segments = group
            .iter()
            .map(|meta| engine.tables.segment(&engine.disk, &dir, meta.clone(), &schema))
            .collect::<Result<Vec<_>>>()?;
        Ok(Some((schema, group, segments)))
    })?;
    let Some((schema, group, segments)) = found else { return Ok(false) };
    let _span = trace::span!("merge", table = id, segments = group.len());
    let first_ordinal = group.first().map_or(0, |meta| meta.first_ordinal);
    let view =
        Arc::new(TableView::new(schema.clone(), segments.into_iter().map(Run::Segment).collect()));
    let columns = (0..schema.len()).collect();
    let mut scan = MergedScan::new(
        view.clone(),
        Arc::new(Predicates::default()),
        columns,
        None,
        control.clone(),
    )?
    .with_locators();
    // The new segment takes about as much as those that it replaces, which stay until it is named.
    engine.check_space(group.iter().map(|meta| meta.data_bytes + meta.summary_bytes).sum())?;
    let (files, mut writer) = new_writer(session, id, &schema, first_ordinal)?;
    while let Some(chunk) = scan.next_chunk()? {
        let ordinals = view.ordinals(&chunk.locators)?;
        let offsets: Vec<u32> =
            ordinals.into_iter().map(|ordinal| (ordinal - first_ordinal) as u32).collect();
        writer.write(&chunk.batch, Some(&offsets))?;
    }
    let meta = writer.finish()?;
    let merged = session.write(move |draft| {
        for old in &group {
            if draft.raw(Space::Segments, &entry_key(key.as_bytes(), old.id))?.is_none() {
                draft.forget_file(&format!("{dir}/{}", data_name(meta.id)));
                draft.forget_file(&format!("{dir}/{}", summary_name(meta.id)));
                return Ok(false);
            }
        }
        for old in &group {
            forget_segment(draft, key.as_bytes(), &dir, old.id);
        }
        put_segment(draft, key, &meta)?;
        Ok(true)
    });
    files.settle(merged)
}
