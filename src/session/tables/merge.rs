//! Merges segments of a table into one sorted run.

use std::ops::Range;
use std::sync::Arc;

use super::SEGMENT_ROWS;
use super::buffer::entry_key;
use super::columns::layouts_of;
use super::deleted::{dead_rows, deleted_in, deleted_in_draft, live_run};
use super::sink::new_writer;
use super::state::{
    directory, forget_files, forget_segment, key_of, manifest, put_segment, put_table_state, state,
};
use super::store_rows::{due_group, retire_ordinals, table_in};
use crate::columnar::{Layout, Layouts, MergedScan, Predicates, SegmentMeta, TableView};
use crate::error::Result;
use crate::model::tables::store_table::StoreTable;
use crate::model::tables::table::TableMetadata;
use crate::records::Space;
use crate::session::access::sessions::{Access, Session};
use crate::session::lock::lock;
use crate::value::ranges::RangeSet;
use crate::value::{Control, trace};

/// Segments of fewer rows are small: many of them in a row are merged.
const SMALL_SEGMENT_ROWS: u64 = 1024 * 1024;
/// Number of small neighbours that are merged although they do not overlap.
const SMALL_SEGMENTS: usize = 16;
/// As many neighbours that are not small and have fewer rows are merged too: a table of 10^9 rows
/// that arrived one by one has 90 segments at most, and each row is written three times.
const MEDIUM_SEGMENT_ROWS: u64 = SMALL_SEGMENTS as u64 * SMALL_SEGMENT_ROWS;
/// A segment is rewritten when at least one in so many of its rows is deleted.
const DELETED_SHARE: u64 = 4;

/// A segment is rewritten when at least one in so many of its columns is dropped.
const DROPPED_SHARE: usize = 4;

/// What a merge is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// Merges segments, and rewrites those of whose rows or columns enough are gone.
    Due,
    /// Only rewrites segments, by themselves: those with deleted rows, and those that were written
    /// with other columns than the table has.
    ForReaders,
}

/// The ordinals of rows as offsets from the first ordinal of their segment.
pub(super) fn offsets(ordinals: Vec<u64>, first: u64) -> Vec<u32> {
    ordinals.into_iter().map(|ordinal| ordinal.saturating_sub(first) as u32).collect()
}

/// For each segment whether it is rewritten because of the columns that it was written with, or
/// because it has no index of a column that has one now.
pub(super) fn outdated(
    layouts: &Layouts,
    metas: &[SegmentMeta],
    rewrite: Rewrite,
) -> Result<Vec<bool>> {
    let lacks_index = |meta: &SegmentMeta, layout: &Layout| {
        let mut stored = layouts.table().indexed().filter_map(|column| layout.stored_at(column));
        stored.any(|at| !meta.indexed.contains(&(at as u32)))
    };
    let is_outdated = |meta: &SegmentMeta| {
        let layout = layouts.at(meta.columns_revision)?;
        Ok(match rewrite {
            Rewrite::ForReaders => layout.sources.is_some(),
            Rewrite::Due => {
                layout.dropped_count().saturating_mul(DROPPED_SHARE) >= layout.stored.len()
                    || lacks_index(meta, &layout)
            }
        })
    };
    metas.iter().map(is_outdated).collect()
}

/// Finds segments, as a range of `metas` (in order of append), to merge into one: segments that
/// overlap, many of few rows, or one with deleted rows or `outdated` columns.
///
/// The range must be contiguous in order of append, except for deleted rows: a segment covers the
/// ordinals from its first one on, so a gap would give it the ordinals of buffered rows.
pub(super) fn mergeable(
    metas: &[SegmentMeta],
    deleted: &RangeSet,
    small_count: usize,
    rewrite: Rewrite,
    outdated: &[bool],
) -> Option<Range<usize>> {
    // `b` was appended after `a`, so equal index values at the border are in order already, and
    // `b.min_index == a.max_index` is no overlap.
    let overlap =
        |a: &SegmentMeta, b: &SegmentMeta| a.min_index <= b.max_index && b.min_index < a.max_index;
    // The number of ordinals of the merged segment, if nothing else has rows in between.
    let ordinals = |from: usize, to: usize| -> Option<u64> {
        let group = metas.get(from..to)?;
        let mut end = group.first()?.ordinals().end;
        for meta in group {
            let next = meta.ordinals();
            if end < next.start && !deleted.covers(end..next.start) {
                return None;
            }
            end = end.max(next.end);
        }
        Some(end - group.first()?.first_ordinal)
    };
    let one_with = |least_share: u64| {
        let is_due = |meta: &SegmentMeta| {
            let dead = dead_rows(meta, deleted);
            dead > 0 && dead.saturating_mul(least_share) >= meta.row_count
        };
        let found = metas.iter().zip(outdated).position(|(meta, old)| *old || is_due(meta));
        found.map(|at| at..at + 1)
    };
    if rewrite == Rewrite::ForReaders {
        return one_with(u64::MAX);
    }
    for at in 0..metas.len() {
        let mut end = at + 1;
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
            if ordinals(at, next + 1).is_none_or(|count| count >= SEGMENT_ROWS) {
                break;
            }
            reach = next;
            end = next + 1;
        }
        if end > at + 1 {
            return Some(at..end);
        }
    }
    // From `least` to `most` neighbours that have so many rows each.
    let neighbours = |rows: Range<u64>, least: usize, most: usize| {
        (0..metas.len()).find_map(|at| {
            let in_rows = |meta: &&SegmentMeta| rows.contains(&meta.row_count);
            let mut count = metas.iter().skip(at).take_while(in_rows).count().min(most);
            while count >= least
                && ordinals(at, at + count).is_none_or(|count| count >= SEGMENT_ROWS)
            {
                count -= 1;
            }
            (count >= least).then_some(at..at + count)
        })
    };
    let medium = SMALL_SEGMENT_ROWS..MEDIUM_SEGMENT_ROWS;
    neighbours(0..SMALL_SEGMENT_ROWS, small_count, usize::MAX)
        .or_else(|| one_with(DELETED_SHARE))
        .or_else(|| neighbours(medium, SMALL_SEGMENTS, SMALL_SEGMENTS))
}

/// Number of small neighbours of this table that are merged although they do not overlap.
pub(super) fn small_count(table: &TableMetadata) -> usize {
    // A closed table gets no more rows, so this merge is paid once.
    if table.supports_append == Some(false) { 2 } else { SMALL_SEGMENTS }
}

/// How many ordinals of segments are deleted.
fn deleted_of(group: &[SegmentMeta], deleted: &RangeSet) -> u64 {
    group.iter().map(|meta| deleted.count_within(meta.ordinals())).sum()
}

/// Merges segments of a table that overlap, or are many and small. Returns false if there are none.
///
/// The merge reads one snapshot and writes without holding the write turn. So the commit must check
/// that every merged segment is still named, and, where rows get new ordinals, that none of them
/// was deleted meanwhile. Otherwise the new files are scheduled for removal, and false is returned:
/// a later pass merges what is there then.
pub(crate) fn merge(
    session: &Session,
    id: &str,
    rewrite: Rewrite,
    control: &Control,
) -> Result<bool> {
    let engine = session.context().engine.clone();
    let _turn = lock(&engine.tables.turn);
    let key = key_of(id)?;
    let dir = directory(id);
    // Nobody knows the ordinals of rows that the store keeps itself.
    let is_renumbered = StoreTable::by_key(key).is_some();
    let found = session.read(|view| {
        let Some(table) = table_in(view, key)? else { return Ok(None) };
        let mut metas = manifest(view, key.as_bytes())?;
        metas.sort_by_key(|meta| meta.first_ordinal);
        let deleted = deleted_in(view, key.as_bytes())?;
        let layouts = layouts_of(view, &table)?;
        let group: Vec<SegmentMeta> = if is_renumbered {
            due_group(&metas, &deleted)
        } else {
            let outdated = outdated(&layouts, &metas, rewrite)?;
            let small = small_count(&table);
            let group = mergeable(&metas, &deleted, small, rewrite, &outdated);
            group.map(|group| metas.drain(group).collect()).unwrap_or_default()
        };
        if group.is_empty() {
            return Ok(None);
        }
        let mut runs = Vec::with_capacity(group.len());
        for meta in &group {
            let run = engine.tables.segment(&engine.disk, &dir, meta.clone(), &layouts)?;
            runs.push(live_run(&engine, run, &deleted)?);
        }
        // Without the deleted ordinals before the first row, the ordinals of the rows that are
        // left of an old part of a table follow each other, and need not be stored.
        let first = group.first().map_or(0, |meta| meta.first_ordinal);
        let first = deleted.first_missing(first);
        Ok(Some((layouts.table().clone(), deleted_of(&group, &deleted), group, runs, first)))
    })?;
    let Some((schema, deleted_before, group, runs, first_ordinal)) = found else {
        return Ok(false);
    };
    let _span = trace::span!("merge", table = id, segments = group.len());
    let ordinal_end = group.iter().map(|meta| meta.ordinals().end).max().unwrap_or_default();
    let view = Arc::new(TableView::new(schema.clone(), runs));
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
        if is_renumbered {
            writer.write(&chunk.batch, None)?;
        } else {
            let offsets = offsets(view.ordinals(&chunk.locators)?, first_ordinal);
            writer.write(&chunk.batch, Some(&offsets))?;
        }
    }
    let mut meta = if writer.row_count() == 0 {
        None
    } else if is_renumbered {
        Some(writer.finish()?)
    } else {
        Some(SegmentMeta {
            ordinal_count: ordinal_end.saturating_sub(first_ordinal),
            ..writer.finish()?
        })
    };
    // Without rows, dropping `files` removes what the writer began.
    let has_rows = meta.is_some();
    let stored_before: u64 = group.iter().map(|meta| meta.row_count).sum();
    let stored_after = meta.as_ref().map_or(0, |meta| meta.row_count);
    let merged = session.write(move |draft| {
        let mut is_outdated = false;
        for old in &group {
            let entry = entry_key(key.as_bytes(), old.id);
            is_outdated |= draft.raw(Space::Segments, &entry)?.is_none();
        }
        if is_renumbered && !is_outdated {
            // A deletion names an old ordinal, so one that came meanwhile would not be found in the
            // new segment. Deletions only grow: equal numbers are equal sets.
            let deleted = deleted_in_draft(draft, key.as_bytes())?;
            is_outdated = deleted_of(&group, &deleted) != deleted_before;
        }
        if is_outdated {
            if let Some(meta) = &meta {
                forget_files(draft, &dir, meta.id);
            }
            return Ok(false);
        }
        for old in &group {
            forget_segment(draft, key.as_bytes(), &dir, old.id);
        }
        if is_renumbered {
            let first = retire_ordinals(draft, key, &group, stored_after)?;
            if let Some(meta) = &mut meta {
                meta.first_ordinal = first;
            }
        }
        if let Some(meta) = &meta {
            put_segment(draft, key, meta)?;
        }
        let mut state = state(draft, key)?;
        let dropped = stored_before.saturating_sub(stored_after);
        if dropped > 0 {
            state.deleted_stored = state.deleted_stored.saturating_sub(dropped);
            put_table_state(draft, key, &state)?;
        }
        Ok(true)
    });
    if has_rows { files.settle(merged) } else { merged }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that arrive one by one are sealed into segments of 64 Ki rows. No segment overlaps the
    /// next one.
    #[test]
    fn rows_that_arrive_one_by_one_are_in_few_segments_and_written_three_times_at_most() {
        const ROWS: u64 = 64 * 1024;
        const SEALS: u64 = 4096;
        let meta = |first_ordinal: u64, row_count: u64| SegmentMeta {
            row_count,
            first_ordinal,
            ordinal_count: row_count,
            min_index: first_ordinal as i64,
            max_index: (first_ordinal + row_count - 1) as i64,
            ..SegmentMeta::default()
        };
        let (mut metas, mut written, mut most) = (Vec::new(), 0, 0);
        for seal in 0..SEALS {
            metas.push(meta(seal * ROWS, ROWS));
            written += ROWS;
            loop {
                let outdated = vec![false; metas.len()];
                let none = RangeSet::default();
                let due = mergeable(&metas, &none, SMALL_SEGMENTS, Rewrite::Due, &outdated);
                let Some(group) = due else { break };
                let rows = metas[group.clone()].iter().map(|meta| meta.row_count).sum();
                let merged = meta(metas[group.start].first_ordinal, rows);
                written += rows;
                metas.splice(group, [merged]);
            }
            most = most.max(metas.len());
        }
        let rows = ROWS * SEALS;
        assert_eq!(metas.iter().map(|meta| meta.row_count).sum::<u64>(), rows);
        assert!(written <= 3 * rows, "{written} of {rows}");
        let largest = (rows / MEDIUM_SEGMENT_ROWS) as usize;
        assert!(most <= largest + 2 * SMALL_SEGMENTS, "{most}");
    }
}
