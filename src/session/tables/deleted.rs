//! The append ordinals of deleted rows, and the rows that are still stored with such an ordinal.
//!
//! What must hold: an ordinal stays in the list for as long as the table exists, because no other
//! row may ever get it. The list, the row count and the counts in the state of the table change in
//! one commit.
//!
//! A part of the list has the ranges that begin in `PART` consecutive ordinals. Its key is the
//! table key and the number of the part. Its ranges are pairs of numbers: the ordinals between the
//! end of the range before (for the first range, the beginning of the part) and the start of this
//! one, then the length.

use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::buffer::{entry_key, number_of};
use super::state::{directory, forget_segment, key_of, put_state, state, state_in};
use crate::columnar::{OrdinalSet, Run, SegmentMeta, Stored, batch_row_count};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Change, Space, envelope};
use crate::session::draft::Draft;
use crate::session::engine::Engine;
use crate::session::view::View;
use crate::value::limits;
use crate::value::wire::record;

/// Ordinals of one part.
const PART: u64 = 1 << 20;

record! {
    /// One part of the ordinals of deleted rows of a table.
    pub struct DeletedPart {
        /// Pairs of numbers: a gap, and the length of the range after it.
        since(6) pub gaps_and_lengths: Vec<u64>,
    }
}

fn damaged(table: &[u8]) -> Error {
    Error::corrupt(format!(
        "records.redb: the ordinals of the deleted rows of the table {} are damaged; restore it \
         from a backup",
        crate::value::id::hex(table)
    ))
}

fn ranges_of(part: u64, numbers: &[u64]) -> Option<Vec<Range<u64>>> {
    let mut at = part.checked_mul(PART)?;
    let (pairs, []) = numbers.as_chunks::<2>() else { return None };
    let mut ranges = Vec::with_capacity(pairs.len());
    for [gap, len] in pairs {
        let from = at.checked_add(*gap)?;
        at = from.checked_add(*len)?;
        ranges.push(from..at);
    }
    let begins_here = |range: &Range<u64>| range.start / PART == part && range.start < range.end;
    ranges.iter().all(begins_here).then_some(ranges)
}

/// Whether a row can be a part of the ordinals of deleted rows.
pub(crate) fn is_deleted_rows(key: &[u8], row: &[u8]) -> bool {
    envelope::in_row(row).is_some()
        && envelope::from_row::<DeletedPart>(key, row)
            .is_ok_and(|part| ranges_of(number_of(key), &part.gaps_and_lengths).is_some())
}

/// The list in the rows of the space.
pub(super) fn from_rows(table: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<OrdinalSet> {
    let mut ranges = Vec::new();
    for (key, row) in rows {
        let part: DeletedPart = envelope::from_row(key, row)?;
        let part = ranges_of(number_of(key), &part.gaps_and_lengths);
        ranges.extend(part.ok_or_else(|| damaged(table))?);
    }
    Ok(OrdinalSet::new(ranges))
}

/// The rows of the space for a list.
pub(super) fn to_rows(table: &[u8], set: &OrdinalSet) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    set.ranges()
        .chunk_by(|a, b| a.start / PART == b.start / PART)
        .map(|ranges| {
            let part = ranges.first().map_or(0, |range| range.start / PART);
            let mut at = part * PART;
            let mut numbers = Vec::with_capacity(2 * ranges.len());
            for range in ranges {
                numbers.extend([range.start - at, range.end - range.start]);
                at = range.end;
            }
            let key = entry_key(table, part);
            let row = envelope::to_row(&key, &DeletedPart { gaps_and_lengths: numbers })?;
            Ok((key, row))
        })
        .collect()
}

/// The changes that make `rows` the rows of a table.
pub(super) fn changes_to(
    before: &[(Vec<u8>, Vec<u8>)],
    rows: Vec<(Vec<u8>, Vec<u8>)>,
) -> Vec<Change> {
    let space = Space::DeletedRows;
    let is_gone = |key: &Vec<u8>| rows.iter().all(|(other, _)| other != key);
    let mut changes: Vec<Change> = before
        .iter()
        .filter(|(key, _)| is_gone(key))
        .map(|(key, _)| Change::Delete { space, key: key.clone() })
        .collect();
    let is_new = |row: &(Vec<u8>, Vec<u8>)| !before.contains(row);
    let put = |(key, value)| Change::Put { space, key, value };
    changes.extend(rows.into_iter().filter(is_new).map(put));
    changes
}

/// The ordinals of all deleted rows of a table.
pub(super) fn deleted_in(view: &View<'_>, table: &[u8]) -> Result<OrdinalSet> {
    from_rows(table, &view.raw_prefix(Space::DeletedRows, table)?)
}

/// [`deleted_in`], with the changes of a draft.
pub(super) fn deleted_in_draft(draft: &Draft<'_>, table: &[u8]) -> Result<OrdinalSet> {
    from_rows(table, &draft.raw_prefix(Space::DeletedRows, table)?)
}

/// The ordinals of deleted rows whose rows are stored, or an empty set.
pub(super) fn stored_deleted(view: &View<'_>, table: &[u8]) -> Result<OrdinalSet> {
    // The list is read only if reads have rows to leave out.
    match state_in(view, table)?.deleted_stored > 0 {
        true => deleted_in(view, table),
        false => Ok(OrdinalSet::default()),
    }
}

/// A run without its deleted rows.
pub(super) fn live_run(engine: &Engine, run: Run, deleted: &OrdinalSet) -> Result<Run> {
    let range = run.ordinal_range();
    let missing = (range.end - range.start).saturating_sub(run.row_count() as u64);
    if deleted.count_within(range.clone()) <= missing {
        return Ok(run);
    }
    let Stored::Segment(segment) = run.stored() else {
        let dead = run.rows_with(deleted)?;
        return Ok(run.without(dead));
    };
    let (id, mut bytes) = (segment.meta().id, Vec::new());
    for part in deleted.within(range) {
        bytes.extend_from_slice(&part.start.to_be_bytes());
        bytes.extend_from_slice(&part.end.to_be_bytes());
    }
    // Found by the ordinals, and not by the segment alone: a refused transaction may have deleted
    // rows, and readers of different snapshots leave out different rows.
    let wanted = xxh3_64(&bytes);
    if let Some((_, dead)) = engine.tables.dead.get(&id).filter(|(known, _)| *known == wanted) {
        return Ok(run.without(dead));
    }
    let dead: Arc<[Range<usize>]> = run.rows_with(deleted)?;
    engine.tables.dead.insert(id, (wanted, dead.clone()));
    Ok(run.without(dead))
}

fn check_ranges(count: usize) -> Result<()> {
    if count <= limits::DELETED_RANGES {
        return Ok(());
    }
    Err(Error::limit(format!(
        "the append ordinals of the deleted rows would be {count} ranges, more than the {} that a \
         table may have; delete neighbouring rows together",
        limits::DELETED_RANGES
    )))
}

/// Drafts the deletion of the rows with these ordinals, without the change of the table's row
/// count. Returns the ordinals of them that were not deleted before.
///
/// Segments and buffered batches without further rows are dropped in the same commit; the rows of
/// others are left out by the next merge or seal.
pub(crate) fn delete_ordinals(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    ordinals: &OrdinalSet,
) -> Result<OrdinalSet> {
    let key = key_of(table.id())?;
    let table_key = key.as_bytes();
    let before = deleted_in_draft(draft, table_key)?;
    let ordinals = ordinals.minus(&before);
    if ordinals.is_empty() {
        return Ok(ordinals);
    }
    let after = before.union(&ordinals);
    check_ranges(after.ranges().len())
        .map_err(|error| error.with_resource(TableMetadata::KIND.name, table.id()))?;
    let mut state = state(draft, key)?;
    let count = ordinals.count();
    state.deleted_rows += count;
    state.deleted_stored += count;
    let dir = directory(table.id());
    for (entry, row) in draft.raw_prefix(Space::Segments, table_key)? {
        let meta: SegmentMeta = envelope::from_row(&entry, &row)?;
        if after.covers(meta.ordinals()) {
            forget_segment(draft, table_key, &dir, meta.id);
            state.deleted_stored = state.deleted_stored.saturating_sub(meta.row_count);
        }
    }
    for (entry, bytes) in draft.raw_prefix(Space::TableBuffer, table_key)? {
        let (first, rows) = (number_of(&entry), batch_row_count(&bytes));
        if after.covers(first..first.saturating_add(rows)) {
            draft.delete_raw(Space::TableBuffer, entry);
            state.deleted_stored = state.deleted_stored.saturating_sub(rows);
            state.buffered_rows = state.buffered_rows.saturating_sub(rows);
            state.buffered_bytes = state.buffered_bytes.saturating_sub(bytes.len() as u64);
        }
    }
    state.merge_due |= state.deleted_stored > 0;
    put_state(draft, key, &state)?;
    let rows_before = draft.raw_prefix(Space::DeletedRows, table_key)?;
    for change in changes_to(&rows_before, to_rows(table_key, &after)?) {
        match change {
            Change::Put { space, key, value } => draft.put_raw(space, key, value),
            Change::Delete { space, key } => draft.delete_raw(space, key),
            Change::Entries(_) => {}
        }
    }
    Ok(ordinals)
}

/// The ordinals of all deleted rows of a table.
pub(crate) fn deleted_rows(view: &View<'_>, id: &str) -> Result<OrdinalSet> {
    deleted_in(view, key_of(id)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn the_ranges_of_a_table_are_bounded() {
        limits::holds_at(limits::DELETED_RANGES, ErrorKind::LimitExceeded, check_ranges);
    }
}
