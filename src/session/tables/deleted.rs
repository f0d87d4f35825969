//! The append ordinals of deleted rows, and the rows that are still stored with such an ordinal.
//!
//! What must hold: an ordinal stays in the list for as long as the table exists, because no other
//! row may ever get it. The list, the row count and the counts in the state of the table change in
//! one commit. Ordinals that went by the retention are a part of the list.
//!
//! A part of the list has the ranges that begin in `PART` consecutive ordinals. Its key is the
//! table key and the number of the part. Its ranges are pairs of numbers: the ordinals between the
//! end of the range before (for the first range, the beginning of the part) and the start of this
//! one, then the length. The ranges that went by the retention are divided in the same way.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::buffer::{entry_key, number_of};
use super::state::{directory, forget_segment, key_of, put_table_state, state, state_in};
use crate::columnar::{Run, RunStorage, SegmentMeta, batch_row_count};
use crate::error::{Error, Result};
use crate::model::Resource;
use crate::model::tables::table::TableMetadata;
use crate::records::{Change, Space, envelope};
use crate::session::engine::Engine;
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::ranges::RangeSet;
use crate::value::wire::record;
use crate::value::{RecordKey, limits};

/// Ordinals of one part.
const PART: u64 = 1 << 20;

/// Number of rows of a segment that are deleted and still stored.
pub(super) fn dead_rows(meta: &SegmentMeta, deleted: &RangeSet) -> u64 {
    let ordinals = meta.ordinals();
    let missing = (ordinals.end - ordinals.start).saturating_sub(meta.row_count);
    deleted.count_within(ordinals).saturating_sub(missing)
}

record! {
    /// One part of the ordinals of deleted rows of a table.
    pub struct DeletedPart {
        /// Pairs of numbers: a gap, and the length of the range after it.
        pub gaps_and_lengths: Vec<u64>,
        /// The same of the ordinals of them that went by the retention of the table.
        pub retention: Vec<u64>,
    }
}

/// The ordinals of deleted rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deleted {
    /// All of them.
    pub all: RangeSet,
    /// Those of them that went by the retention, or that a salvage could not take over; the others
    /// were deleted by a caller.
    pub by_retention: RangeSet,
}

impl Deleted {
    /// Ordinals of deleted rows, and those of them that went by the retention.
    pub(crate) fn new(all: RangeSet, by_retention: RangeSet) -> Self {
        Self { all, by_retention }
    }

    /// Whether what went by the retention is a part of the list.
    pub(crate) fn is_list(&self) -> bool {
        self.by_retention.minus(&self.all).is_empty()
    }

    /// The ordinals of rows that a caller deleted.
    pub(crate) fn by_caller(&self) -> RangeSet {
        self.all.minus(&self.by_retention)
    }

    /// The first ranges from an ordinal on, in order, each with whether it went by the retention;
    /// if asked, only those that did, or only the others.
    pub(crate) fn ranges_from(
        &self,
        from: u64,
        count: usize,
        retention: Option<bool>,
    ) -> Vec<(Range<u64>, bool)> {
        let mut found = Vec::new();
        for (is_retention, set) in [(false, &self.by_caller()), (true, &self.by_retention)] {
            if retention.is_none_or(|asked| asked == is_retention) {
                let ranges = set.within(from..u64::MAX).take(count);
                found.extend(ranges.map(|range| (range, is_retention)));
            }
        }
        found.sort_unstable_by_key(|(range, _)| range.start);
        found.truncate(count);
        found
    }
}

/// Why rows are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A caller asked for it.
    Caller,
    /// The retention of the table lets them go.
    Retention,
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
    check_deleted_rows(key, row).is_ok()
}

/// Checks a row of the space by itself.
///
/// # Errors
/// `Corrupt`.
pub(crate) fn check_deleted_rows(key: &[u8], row: &[u8]) -> Result<()> {
    let (table, _) = key.split_at(key.len().saturating_sub(8));
    let row = (key.to_vec(), row.to_vec());
    from_some_rows(table, std::slice::from_ref(&row)).map(drop)
}

/// The list in the rows of the space, which may lack some.
pub(super) fn from_some_rows(table: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<Deleted> {
    let (mut all, mut by_retention) = (Vec::new(), Vec::new());
    for (key, row) in rows {
        let part: DeletedPart = envelope::from_row(key, row)?;
        for (ranges, numbers) in
            [(&mut all, &part.gaps_and_lengths), (&mut by_retention, &part.retention)]
        {
            ranges.extend(ranges_of(number_of(key), numbers).ok_or_else(|| damaged(table))?);
        }
    }
    Ok(Deleted::new(RangeSet::new(all), RangeSet::new(by_retention)))
}

/// The list in all rows of the space.
pub(super) fn from_rows(table: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<Deleted> {
    let deleted = from_some_rows(table, rows)?;
    if deleted.is_list() { Ok(deleted) } else { Err(damaged(table)) }
}

/// The ranges of a set as [`DeletedPart`] has them, by the number of the part.
fn parts_of(set: &RangeSet) -> impl Iterator<Item = (u64, Vec<u64>)> + '_ {
    set.ranges().chunk_by(|a, b| a.start / PART == b.start / PART).map(|ranges| {
        let part = ranges.first().map_or(0, |range| range.start / PART);
        let mut at = part * PART;
        let mut numbers = Vec::with_capacity(2 * ranges.len());
        for range in ranges {
            numbers.extend([range.start - at, range.end - range.start]);
            at = range.end;
        }
        (part, numbers)
    })
}

/// The rows of the space for a list.
pub(super) fn to_rows(table: &[u8], deleted: &Deleted) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut parts: BTreeMap<u64, DeletedPart> = BTreeMap::new();
    for (part, numbers) in parts_of(&deleted.all) {
        parts.entry(part).or_default().gaps_and_lengths = numbers;
    }
    for (part, numbers) in parts_of(&deleted.by_retention) {
        parts.entry(part).or_default().retention = numbers;
    }
    let row = |(part, value)| {
        let key = entry_key(table, part);
        let row = envelope::to_row(&key, &value)?;
        Ok((key, row))
    };
    parts.into_iter().map(row).collect()
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
pub(super) fn deleted_in(view: &View<'_>, table: &[u8]) -> Result<RangeSet> {
    Ok(from_rows(table, &view.raw_prefix(Space::DeletedRows, table)?)?.all)
}

/// [`deleted_in`], with the changes of a draft.
pub(super) fn deleted_in_draft(draft: &Draft<'_>, table: &[u8]) -> Result<RangeSet> {
    Ok(from_rows(table, &draft.raw_prefix(Space::DeletedRows, table)?)?.all)
}

/// The ordinals of deleted rows whose rows are stored, or an empty set.
pub(super) fn stored_deleted(view: &View<'_>, table: &[u8]) -> Result<RangeSet> {
    // The list is read only if reads have rows to leave out.
    if state_in(view, table)?.deleted_stored > 0 {
        deleted_in(view, table)
    } else {
        Ok(RangeSet::default())
    }
}

/// A run without its deleted rows.
pub(super) fn live_run(engine: &Engine, run: Run, deleted: &RangeSet) -> Result<Run> {
    let range = run.ordinal_range();
    let missing = (range.end - range.start).saturating_sub(run.row_count() as u64);
    if deleted.count_within(range.clone()) <= missing {
        return Ok(run);
    }
    let RunStorage::Segment(segment) = run.stored() else {
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

/// Joins ranges that callers deleted, if there are more than `most`: the shortest runs between them
/// that went by the retention then count as deleted by callers, until half of `most` are left or
/// rows of the table part them all. A range that went by the retention ends at a row of the table
/// or at a range that a caller deleted, so the bounds of all ranges and of these bound all three.
fn join(deleted: &mut Deleted, most: usize) {
    let by_caller = deleted.by_caller();
    let ranges = by_caller.ranges();
    if ranges.len() <= most {
        return;
    }
    let gaps = ranges.windows(2).filter_map(|pair| match pair {
        [before, after] => Some(before.end..after.start),
        _ => None,
    });
    let mut gaps: Vec<Range<u64>> =
        gaps.filter(|gap| deleted.by_retention.covers(gap.clone())).collect();
    gaps.sort_by_key(|gap| gap.end - gap.start);
    gaps.truncate(ranges.len() - most / 2);
    deleted.by_retention = deleted.by_retention.minus(&RangeSet::new(gaps));
}

/// Drafts the deletion of the rows with these ordinals, without the change of the table's row
/// count. Returns the ordinals of them that were not deleted before; those that were keep their
/// cause.
///
/// Segments and buffered batches without further rows are dropped in the same commit; the rows of
/// others are left out by the next merge or seal.
pub(super) fn delete_ordinals(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    ordinals: &RangeSet,
    cause: Cause,
) -> Result<RangeSet> {
    let key = key_of(table.id())?;
    let table_key = key.as_bytes();
    let rows_before = draft.raw_prefix(Space::DeletedRows, table_key)?;
    let mut deleted = from_rows(table_key, &rows_before)?;
    let ordinals = ordinals.minus(&deleted.all);
    if ordinals.is_empty() {
        return Ok(ordinals);
    }
    deleted.all = deleted.all.union(&ordinals);
    if cause == Cause::Retention {
        deleted.by_retention = deleted.by_retention.union(&ordinals);
    }
    join(&mut deleted, limits::DELETED_RANGES);
    check_ranges(deleted.all.ranges().len())
        .map_err(|error| error.with_resource(TableMetadata::KIND.name, table.id()))?;
    let after = &deleted.all;
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
    put_table_state(draft, key, &state)?;
    put_rows(draft, &rows_before, to_rows(table_key, &deleted)?);
    Ok(ordinals)
}

/// Drafts that ordinals belong to no row any more, without the counts in the state of the table.
pub(super) fn add_deleted(
    draft: &mut Draft<'_>,
    key: RecordKey,
    ordinals: &RangeSet,
) -> Result<()> {
    let table_key = key.as_bytes();
    let before = draft.raw_prefix(Space::DeletedRows, table_key)?;
    let mut deleted = from_rows(table_key, &before)?;
    deleted.all = deleted.all.union(ordinals);
    put_rows(draft, &before, to_rows(table_key, &deleted)?);
    Ok(())
}

/// Drafts that `rows` are the rows of a list.
fn put_rows(draft: &mut Draft<'_>, before: &[(Vec<u8>, Vec<u8>)], rows: Vec<(Vec<u8>, Vec<u8>)>) {
    for change in changes_to(before, rows) {
        match change {
            Change::Put { space, key, value } => draft.put_raw(space, key, value),
            Change::Delete { space, key } => draft.delete_raw(space, key),
            Change::Entries(_) => {}
        }
    }
}

/// The ordinals of the deleted rows of a table, by cause.
pub(crate) fn deleted_rows(view: &View<'_>, id: &str) -> Result<Deleted> {
    let key = key_of(id)?;
    from_rows(key.as_bytes(), &view.raw_prefix(Space::DeletedRows, key.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;

    const TABLE: &[u8] = b"table";

    fn deleted(all: Vec<Range<u64>>, by_retention: Vec<Range<u64>>) -> Deleted {
        Deleted::new(RangeSet::new(all), RangeSet::new(by_retention))
    }

    /// Ranges near the bounds of parts, some over a whole part.
    fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        let len = prop_oneof![4 => 1..9_u64, 1 => PART - 3..PART + 3];
        let range = (0..4_u64, 0..24_u64, len)
            .prop_map(|(part, at, len)| ((part * PART + at).max(12) - 12, len))
            .prop_map(|(from, len)| from..from + len);
        proptest::collection::vec(range, 0..9)
    }

    proptest! {
        #[test]
        fn a_list_is_what_its_rows_say(all in ranges(), some in ranges()) {
            let all = RangeSet::new(all);
            let list = Deleted::new(all.clone(), all.minus(&all.minus(&RangeSet::new(some))));
            let rows = to_rows(TABLE, &list).unwrap();
            prop_assert!(rows.iter().all(|(key, row)| is_deleted_rows(key, row)));
            prop_assert!(rows.is_sorted());
            prop_assert_eq!(from_rows(TABLE, &rows).unwrap(), list.clone());
            let callers = list.by_caller();
            prop_assert_eq!(callers.minus(&list.by_retention), callers.clone());
            prop_assert_eq!(callers.union(&list.by_retention), all);
        }
    }

    #[test]
    fn what_went_by_the_retention_and_is_not_in_the_list_is_damage() {
        for by_retention in [0..1, 4..7, 9..11, 30..31, PART..PART + 1] {
            let rows = to_rows(TABLE, &deleted(vec![5..10, 20..21], vec![by_retention])).unwrap();
            assert!(rows.iter().all(|(key, row)| is_deleted_rows(key, row)));
            assert_eq!(from_rows(TABLE, &rows).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let all = || RangeSet::of_range(5..10);
        assert!(from_rows(TABLE, &to_rows(TABLE, &Deleted::new(all(), all())).unwrap()).is_ok());
        // A range that begins in another part.
        let key = entry_key(TABLE, 1);
        let part = DeletedPart { retention: vec![PART, 1], ..DeletedPart::default() };
        assert!(!is_deleted_rows(&key, &envelope::to_row(&key, &part).unwrap()));
    }

    #[test]
    fn ranges_of_callers_are_joined_over_what_a_retention_deleted_between_them() {
        let joined = |all: &[Range<u64>], by_caller: &[Range<u64>], most: usize| {
            let (all, by_caller) = (RangeSet::new(all.to_vec()), RangeSet::new(by_caller.to_vec()));
            let mut deleted = Deleted::new(all.clone(), all.minus(&by_caller));
            join(&mut deleted, most);
            assert_eq!(deleted.all, all, "no row comes back, and none goes");
            assert!(from_rows(TABLE, &to_rows(TABLE, &deleted).unwrap()).is_ok());
            deleted.by_caller().ranges().to_vec()
        };
        // The gaps are 2, 1, 3, 1, 7, 1 and 6 rows; the shortest are joined first.
        let of_callers = [0..1, 3..4, 5..6, 9..11, 12..13, 20..21, 22..23, 29..30];
        let all = 0..30;
        assert_eq!(joined(std::slice::from_ref(&all), &of_callers, 8), of_callers);
        let left = [0..13, 20..23, 29..30];
        assert_eq!(joined(std::slice::from_ref(&all), &of_callers, 7), left);
        // Rows that are left part ranges for ever.
        let of_callers = [0..1, 3..4, 40..41, 42..43];
        let left = [0..4, 40..41, 42..43];
        assert_eq!(joined(&[0..30, 40..41, 42..43], &of_callers, 2), left);
    }

    #[test]
    fn callers_delete_ranges_between_those_of_a_retention_beyond_the_bound() {
        let between = |count: usize| {
            let ranges = (0..count as u64).map(|at| 2 * at..2 * at + 1);
            let all = RangeSet::of_range(0..2 * count as u64);
            Deleted::new(all, RangeSet::new(ranges.collect()))
        };
        for (count, left) in [
            (limits::DELETED_RANGES, limits::DELETED_RANGES),
            (limits::DELETED_RANGES + 1, limits::DELETED_RANGES / 2),
        ] {
            let mut deleted = between(count);
            join(&mut deleted, limits::DELETED_RANGES);
            assert_eq!(deleted.by_caller().ranges().len(), left);
        }
    }

    #[test]
    fn the_ranges_of_a_table_are_bounded() {
        limits::holds_at(limits::DELETED_RANGES, ErrorKind::LimitExceeded, check_ranges);
    }
}
