//! What leaves the change log at its old end.
//!
//! A subscriber holds the log from its position on until one of its own bounds is reached. Then it
//! has what the store keeps for everybody, and after that its position is lost: it holds nothing
//! any more, and needs a full pass.

use chrono::{DateTime, Utc};

use super::changes::{TRIMMED, read_log_row};
use super::hold::HoldState;
use super::subscriber_row::{SUBSCRIBER, SubscriberRow};
use crate::error::Result;
use crate::records::Space;
use crate::session::Draft;
use crate::session::access::sessions::{Access, Session};

/// The subscribers whose positions the log still has.
struct Readers {
    rows: Vec<SubscriberRow>,
}

impl Readers {
    fn of(draft: &Draft<'_>) -> Result<Self> {
        let positions = draft.raw_prefix(Space::Positions, SUBSCRIBER)?;
        let view = draft.view();
        let rows = positions.iter().filter_map(|(key, row)| SubscriberRow::open(key, row).ok());
        let rows = rows.filter(|row| view.check_log_reaches(row.position).is_ok()).collect();
        Ok(Self { rows })
    }

    /// The sequence that all have handled.
    fn slowest(&self) -> u64 {
        self.rows.iter().map(|row| row.position).min().unwrap_or(u64::MAX)
    }

    /// The sequence that all have handled whose bounds are not reached.
    fn held(&self, draft: &Draft<'_>) -> Result<u64> {
        let mut held = u64::MAX;
        for row in &self.rows {
            if row.position < held && draft.view().hold_of(row)?.state < HoldState::Ended {
                held = row.position;
            }
        }
        Ok(held)
    }
}

/// What a trim of the log did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrimResult {
    /// Entries that were dropped.
    pub(crate) entries: u64,
    /// Subscribers that lost their positions.
    pub(crate) lost_subscribers: u64,
}

/// Drops log entries that every subscriber has passed, and those beyond the bound that no
/// subscriber holds, at most `batch` of them. `derived_position` is the sequence up to which
/// derived state is complete.
pub(crate) fn trim(
    draft: &mut Draft<'_>,
    derived_position: u64,
    batch: usize,
) -> Result<TrimResult> {
    let readers = Readers::of(draft)?;
    let slowest = readers.slowest().min(derived_position);
    let max = draft.context().settings().log_entries_max;
    let entries = draft.view().source().len(Space::Log)?;
    let held = if entries > max { readers.held(draft)? } else { 0 };
    drop_entries(draft, &readers, batch, &|dropped, key, _| {
        let sequence = <[u8; 8]>::try_from(key).map_or(0, u64::from_be_bytes);
        // Beyond the bound, entries are dropped even if a subscriber has not read them, unless it
        // still holds them. Within the bound, entries that every subscriber has passed are dropped
        // down to half of it. Without a subscriber, the log is kept up to its bound, so that a
        // subscriber may still register for the past.
        let left = entries.saturating_sub(dropped);
        let beyond = left > max && sequence <= held;
        let passed = !readers.rows.is_empty() && sequence <= slowest && left > max / 2;
        Ok((beyond || passed).then_some(sequence))
    })
}

/// Drops the oldest entries of the log, at most `batch` of them. `sequence_of` is called with the
/// number of entries before, and with key and value; it returns the sequence of an entry to drop.
fn drop_entries(
    draft: &mut Draft<'_>,
    readers: &Readers,
    batch: usize,
    sequence_of: &dyn Fn(u64, &[u8], &[u8]) -> Result<Option<u64>>,
) -> Result<TrimResult> {
    let mut dropped = Vec::new();
    {
        let mut cursor = draft.view().source().cursor(Space::Log, &[], None)?;
        while dropped.len() < batch
            && let Some((key, value)) = cursor.next()?
            && let Some(sequence) = sequence_of(dropped.len() as u64, &key, &value)?
        {
            dropped.push((sequence, key));
        }
    }
    let entries = dropped.len() as u64;
    let Some((last, _)) = dropped.last().cloned() else { return Ok(TrimResult::default()) };
    draft.put_raw(Space::Positions, TRIMMED.to_vec(), last.to_be_bytes().to_vec());
    for (_, key) in dropped {
        draft.delete_raw(Space::Log, key);
    }
    let lost = readers.rows.iter().filter(|row| row.position < last).count();
    Ok(TrimResult { entries, lost_subscribers: lost as u64 })
}

/// Drops the entries of commits before a time, as far as every subscriber that holds the log has
/// passed them, at most `batch` of them.
pub(crate) fn trim_before(
    draft: &mut Draft<'_>,
    derived_position: u64,
    before: DateTime<Utc>,
    batch: usize,
) -> Result<TrimResult> {
    let readers = Readers::of(draft)?;
    let slowest = readers.held(draft)?.min(derived_position);
    drop_entries(draft, &readers, batch, &|_, key, value| {
        let (sequence, entry) = read_log_row(key, value)?;
        let is_kept = sequence > slowest || entry.time_ms >= before.timestamp_millis();
        Ok((!is_kept).then_some(sequence))
    })
}

/// The subscribers of which a bound of the hold is used to 80 % or more, while the log has at least
/// as much of the entries that the store keeps for everybody.
pub(crate) fn subscribers_at_risk(session: &Session) -> Result<u64> {
    session.read(|view| {
        let entries = view.source().len(Space::Log)?;
        if entries < view.context().settings().log_entries_max / 5 * 4 {
            return Ok(0);
        }
        let mut at_risk = 0;
        for (key, row) in view.raw_prefix(Space::Positions, SUBSCRIBER)? {
            let Ok(row) = SubscriberRow::open(&key, &row) else { continue };
            let state = view.hold_of(&row)?.state;
            at_risk += u64::from(matches!(state, HoldState::EndsSoon | HoldState::Ended));
        }
        Ok(at_risk)
    })
}
