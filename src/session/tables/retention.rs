//! Retention: the policy of a table, and which of its rows have to go.
//!
//! Rows go by their append ordinals, as in any deletion. The number of rows lets the least ordinals
//! go. For the age since the append, maintenance notes from time to time which ordinals there are
//! (a mark); rows have no time of append of their own, and an append stores nothing more. What must
//! hold: all rows before the end of a mark were appended at its time or earlier.

use super::cache::IndexLook;
use super::deleted::deleted_in_draft;
use super::state::{
    TableState, key_of, next_ordinal, next_ordinal_in, put_table_state, state, state_in,
};
use crate::error::Result;
use crate::model::Resource;
use crate::model::tables::retention::{AppendMark, RetentionPolicy};
use crate::model::tables::table::TableMetadata;
use crate::records::envelope;
use crate::session::lock::lock;
use crate::session::view::View;
use crate::session::write::draft::Draft;
use crate::value::RecordKey;
use crate::value::ranges::RangeSet;

/// Into how many parts an age is divided: rows go at most one part of their age too late. More
/// parts are more marks in the state of the table, and more passes that read the index.
const PARTS: u64 = 16;

/// The policy of a table.
pub(crate) fn retention_of(view: &View<'_>, id: &str) -> Result<Option<RetentionPolicy>> {
    Ok(state_in(view, key_of(id)?.as_bytes())?.retention)
}

/// The policy in a row of the states of tables, for a salvage; `None` if it cannot be read.
pub(crate) fn retention_in_row(key: &[u8], row: &[u8]) -> Option<RetentionPolicy> {
    envelope::from_row::<TableState>(key, row).ok()?.retention
}

/// Drafts the policy of a table; none to keep all rows. Returns the one that it had.
pub(crate) fn put_retention(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    policy: Option<RetentionPolicy>,
) -> Result<Option<RetentionPolicy>> {
    let key = key_of(table.id())?;
    let mut state = state(draft, key)?;
    let end = next_ordinal(table, &state);
    let before = state.retention.take();
    state.retention = policy.map(|mut policy| {
        let known = before.as_ref().filter(|before| before.append_age_seconds.is_some());
        match known {
            _ if policy.append_age_seconds.is_none() => {}
            Some(known) => policy.marks.clone_from(&known.marks),
            // The last of the rows were appended when the rows were last modified, or before.
            None if end > 0 => {
                let time = table.rows_modified_at.unwrap_or_else(|| draft.now()).min(draft.now());
                policy.marks.push(AppendMark { time_ms: time.timestamp_millis(), end });
            }
            None => {}
        }
        policy
    });
    put_table_state(draft, key, &state)?;
    Ok(before)
}

/// Whether a policy waits for a time that the clock had and has no more.
fn is_ahead(policy: &RetentionPolicy, now_ms: i64) -> bool {
    policy.marks.last().is_some_and(|last| last.time_ms > now_ms)
}

/// Drafts the marks of a table as if what was noted ahead of the present time was appended now.
/// Returns whether there was any.
pub(crate) fn take_present_time(draft: &mut Draft<'_>, key: RecordKey) -> Result<bool> {
    let now_ms = draft.now().timestamp_millis();
    let mut state = state(draft, key)?;
    let Some(policy) = state.retention.as_mut().filter(|policy| is_ahead(policy, now_ms)) else {
        return Ok(false);
    };
    let end = policy.marks.last().map_or(0, |last| last.end);
    policy.marks.retain(|mark| mark.time_ms <= now_ms);
    policy.marks.push(AppendMark { time_ms: now_ms, end });
    put_table_state(draft, key, &state)?;
    Ok(true)
}

fn part_ms(age_seconds: u64) -> i64 {
    (age_seconds.saturating_mul(1000) / PARTS).max(1000).cast_signed()
}

/// The time before which the age of the index lets rows go: a multiple of a part of the age, so
/// that rows are looked for once in a part.
pub(super) fn index_limit_ms(policy: &RetentionPolicy, now_ms: i64) -> Option<i64> {
    let age = policy.index_age_seconds?;
    let limit = now_ms.checked_sub(age.saturating_mul(1000).cast_signed())?;
    Some(limit.div_euclid(part_ms(age)) * part_ms(age))
}

/// Whether the rows before a limit of the index have to be looked for: since they last were, the
/// limit has moved or rows were appended.
pub(super) fn is_index_due(
    view: &View<'_>,
    table: &TableMetadata,
    limit_ms: i64,
) -> Result<Option<IndexLook>> {
    let look = IndexLook { limit_ms, end: next_ordinal_in(view, table)? };
    let known = lock(&view.context().engine.tables.looked).get(&key_of(table.id())?).copied();
    Ok((known != Some(look)).then_some(look))
}

/// Notes a mark and drops those that have served. Returns the marks, and the end of the rows that
/// are older than the age. `end` is the ordinal after the rows that the table has, 0 without rows.
///
/// Marks of a time that is still to come, which a clock once had, are marks of now: otherwise no
/// other mark would follow them until then.
fn aged(mut marks: Vec<AppendMark>, age: u64, now_ms: i64, end: u64) -> (Vec<AppendMark>, u64) {
    marks.iter_mut().for_each(|mark| mark.time_ms = mark.time_ms.min(now_ms));
    marks.dedup_by(|later, earlier| {
        let is_same = later.time_ms == earlier.time_ms;
        if is_same {
            earlier.end = earlier.end.max(later.end);
        }
        is_same
    });
    let last = marks.last();
    let has_new = end > last.map_or(0, |last| last.end);
    if has_new && last.is_none_or(|last| now_ms.saturating_sub(last.time_ms) >= part_ms(age)) {
        marks.push(AppendMark { time_ms: now_ms, end });
    }
    let age_ms = age.saturating_mul(1000).cast_signed();
    let is_over = |mark: &AppendMark| now_ms.saturating_sub(mark.time_ms) >= age_ms;
    let over = marks.iter().filter(|mark| is_over(mark)).map(|mark| mark.end).max().unwrap_or(0);
    marks.retain(|mark| mark.end > over);
    (marks, over)
}

/// The least `count` ordinals before `end` that are not deleted.
fn first_live(deleted: &RangeSet, end: u64, count: u64) -> RangeSet {
    let live = RangeSet::of_range(0..end).minus(deleted);
    let (mut left, mut until) = (count, 0);
    for range in live.ranges() {
        if left == 0 {
            break;
        }
        let taken = left.min(range.end - range.start);
        until = range.start + taken;
        left -= taken;
    }
    RangeSet::of_range(0..until)
}

/// Whether the number of rows, or the time of their append, gives maintenance something to do.
pub(super) fn is_retention_due(view: &View<'_>, table: &TableMetadata) -> Result<bool> {
    let state = state_in(view, key_of(table.id())?.as_bytes())?;
    let Some(policy) = state.retention.as_ref() else { return Ok(false) };
    let rows = table.row_count.unwrap_or_default().unsigned_abs();
    if policy.rows_max.is_some_and(|most| rows > most) {
        return Ok(true);
    }
    let Some(age) = policy.append_age_seconds else { return Ok(false) };
    let end = if rows > 0 { next_ordinal(table, &state) } else { 0 };
    let (marks, _) = aged(policy.marks.clone(), age, view.now().timestamp_millis(), end);
    Ok(marks != policy.marks)
}

/// Drafts the marks of a table. Returns the ordinals of the rows that have to go by its policy,
/// with those in `by_index` if the age of the index is still `asked`'s; nothing without a policy.
pub(super) fn take_retention(
    draft: &mut Draft<'_>,
    table: &TableMetadata,
    asked: &RetentionPolicy,
    by_index: RangeSet,
) -> Result<RangeSet> {
    let key = key_of(table.id())?;
    let mut state = state(draft, key)?;
    let end = next_ordinal(table, &state);
    let Some(policy) = state.retention.as_mut() else { return Ok(RangeSet::default()) };
    let mut gone = RangeSet::default();
    if policy.index_age_seconds == asked.index_age_seconds {
        gone = by_index;
    }
    if let Some(age) = policy.append_age_seconds {
        let now_ms = draft.now().timestamp_millis();
        let noted = if table.row_count.unwrap_or_default() > 0 { end } else { 0 };
        let (marks, over) = aged(std::mem::take(&mut policy.marks), age, now_ms, noted);
        policy.marks = marks;
        gone = gone.union(&RangeSet::of_range(0..over));
    }
    if let Some(most) = policy.rows_max {
        let gone_before = deleted_in_draft(draft, key.as_bytes())?.union(&gone);
        let live = end.saturating_sub(gone_before.count_within(0..end));
        gone = gone.union(&first_live(&gone_before, end, live.saturating_sub(most)));
    }
    put_table_state(draft, key, &state)?;
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(time_ms: i64, end: u64) -> AppendMark {
        AppendMark { time_ms, end }
    }

    #[test]
    fn marks_are_a_part_of_the_age_apart_and_go_when_they_have_served() {
        // An age of 160 s has parts of 10 s.
        let (marks, over) = aged(Vec::new(), 160, 0, 5);
        assert_eq!((marks.clone(), over), (vec![mark(0, 5)], 0));
        let (marks, _) = aged(marks, 160, 9_999, 8);
        assert_eq!(marks, [mark(0, 5)], "too soon");
        let (marks, _) = aged(marks, 160, 10_000, 8);
        let (marks, _) = aged(marks, 160, 30_000, 8);
        assert_eq!(marks, [mark(0, 5), mark(10_000, 8)], "nothing new");
        let (marks, over) = aged(marks, 160, 159_999, 9);
        assert_eq!((marks.len(), over), (3, 0));
        let (marks, over) = aged(marks, 160, 160_000, 9);
        assert_eq!((marks, over), (vec![mark(10_000, 8), mark(159_999, 9)], 5));
    }

    #[test]
    fn marks_are_few_however_long_rows_come() {
        let (mut marks, mut gone) = (Vec::new(), 0);
        for second in 0..10_000 {
            let (next, over) = aged(marks, 3_600, second * 1000, second as u64);
            marks = next;
            gone = gone.max(over);
            assert!(marks.len() as u64 <= PARTS + 2, "{marks:?}");
            // No row goes before its time, and none later than a part after it.
            let newest_gone = gone.cast_signed();
            assert!(gone == 0 || second - newest_gone >= 3_600, "{second} {gone}");
            assert!(second < 3_600 + 2 * 225 || second - newest_gone <= 3_600 + 2 * 225);
        }
    }

    #[test]
    fn a_clock_that_goes_back_deletes_nothing() {
        let (marks, over) = aged(vec![mark(1_000_000, 5)], 10, 0, 9);
        assert_eq!((marks, over), (vec![mark(0, 5)], 0), "they count as appended now");
    }

    #[test]
    fn the_first_rows_that_are_left_go() {
        let deleted = RangeSet::new(vec![0..3, 5..6]);
        let first = |count| first_live(&deleted, 10, count).minus(&deleted).ranges().to_vec();
        assert_eq!(first(0), []);
        assert_eq!(first(2), std::slice::from_ref(&(3..5)));
        assert_eq!(first(3), [3..5, 6..7]);
        assert_eq!(first(6), [3..5, 6..10]);
        assert_eq!(first(60), [3..5, 6..10]);
    }

    #[test]
    fn the_limit_of_the_index_moves_in_parts_and_never_too_far() {
        let policy = RetentionPolicy { index_age_seconds: Some(3_200), ..Default::default() };
        let limit = |now| index_limit_ms(&policy, now).unwrap();
        for now in [0, 1, 3_200_000, 3_399_999, -5_000_000] {
            let limit = limit(now);
            let exact = now - 3_200_000;
            assert!(limit <= exact && exact - limit < 200_000 && limit % 200_000 == 0);
        }
        assert_eq!(index_limit_ms(&RetentionPolicy::default(), 0), None);
    }
}
