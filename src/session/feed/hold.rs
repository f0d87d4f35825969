//! What a subscriber holds of the change log, and for how long.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::subscriber_row::SubscriberRow;
use crate::error::{Error, ErrorKind, Result};
use crate::session::access::options::Settings;
use crate::session::view::View;
use crate::value::limits::{SUBSCRIBER_HOLD_BYTES, SUBSCRIBER_HOLD_MS};
use crate::value::time;

/// The part of a bound in percent from which on its end is told.
const TOLD_AT_PERCENT: u128 = 80;

/// How long and how much of the change log is kept for a subscriber beyond the entries that the
/// store keeps anyway ([`Settings::log_entries_max`]).
///
/// The bound that is reached first counts. With a bound of 0 nothing more is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HoldBounds {
    /// Milliseconds from the oldest commit that the subscriber has not handled; at most
    /// `SUBSCRIBER_HOLD_MS`.
    pub hold_ms: u64,
    /// Bytes of the entries that it has not handled; at most `SUBSCRIBER_HOLD_BYTES`.
    pub hold_bytes: u64,
}

impl HoldBounds {
    /// Bounds in time and bytes.
    #[must_use]
    pub const fn new(hold_ms: u64, hold_bytes: u64) -> Self {
        Self { hold_ms, hold_bytes }
    }

    /// The bounds in a row, or those of the settings.
    pub(crate) fn of(row: &SubscriberRow, settings: &Settings) -> Self {
        Self {
            hold_ms: row.hold_ms.unwrap_or(settings.subscriber_hold_ms),
            hold_bytes: row.hold_bytes.unwrap_or(settings.subscriber_hold_bytes),
        }
    }

    /// # Errors
    /// `LimitExceeded`.
    pub(crate) fn check(self) -> Result<()> {
        if self.hold_ms > SUBSCRIBER_HOLD_MS {
            return Err(Error::limit(format!(
                "the subscriber would hold the change log for {} ms; SUBSCRIBER_HOLD_MS allows \
                 {SUBSCRIBER_HOLD_MS}",
                self.hold_ms
            )));
        }
        if self.hold_bytes > SUBSCRIBER_HOLD_BYTES {
            return Err(Error::limit(format!(
                "the subscriber would hold {} bytes of the change log; SUBSCRIBER_HOLD_BYTES \
                 allows {SUBSCRIBER_HOLD_BYTES}",
                self.hold_bytes
            )));
        }
        Ok(())
    }
}

/// How far a subscriber is from losing its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum HoldState {
    /// Less than 80 % of each bound is used.
    #[default]
    Held,
    /// At least 80 % of a bound is used.
    EndsSoon,
    /// A bound is reached. The position is lost as soon as the log has more entries than the store
    /// keeps for everybody.
    Ended,
    /// The log does not reach back to the position any more: a full pass is needed.
    Lost,
}

/// What a subscriber holds of the change log now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HoldStatus {
    /// How far it is from losing its position.
    pub state: HoldState,
    /// Entries of the log, one for each commit, that it has not handled.
    pub entries: u64,
    /// Bytes of these entries.
    pub bytes: u64,
    /// Bytes that it may still hold.
    pub bytes_left: u64,
    /// Time of the oldest commit that it has not handled; `None` when there is none.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime<Utc>>,
    /// When its time ends unless it moves forward; `None` when it has handled everything.
    #[serde(with = "crate::value::time::opt", skip_serializing_if = "Option::is_none")]
    pub ends: Option<DateTime<Utc>>,
}

impl View<'_> {
    /// What a subscriber with this row holds.
    ///
    /// # Errors
    /// `Corrupt` when the log is damaged; errors of the disk.
    pub(crate) fn hold_of(&self, row: &SubscriberRow) -> Result<HoldStatus> {
        let bounds = HoldBounds::of(row, self.context().settings());
        if let Err(error) = self.check_log_reaches(row.position) {
            let lost = HoldStatus { state: HoldState::Lost, ..HoldStatus::default() };
            return if error.kind() == ErrorKind::Conflict { Ok(lost) } else { Err(error) };
        }
        let mut oldest = None;
        self.log_after(row.position, |_, entry| {
            oldest = Some(entry.time_ms);
            Ok(false)
        })?;
        let Some(since_ms) = oldest else {
            return Ok(HoldStatus { bytes_left: bounds.hold_bytes, ..HoldStatus::default() });
        };
        let engine = &self.context().engine;
        let size = engine.log_sizes.after(&engine.snapshot(), row.position)?;
        let age_ms = u64::try_from(self.now().timestamp_millis().saturating_sub(since_ms));
        let age_ms = age_ms.unwrap_or_default();
        let is_soon =
            |used: u64, most: u64| u128::from(used) * 100 >= u128::from(most) * TOLD_AT_PERCENT;
        let state = if age_ms >= bounds.hold_ms || size.bytes > bounds.hold_bytes {
            HoldState::Ended
        } else if is_soon(age_ms, bounds.hold_ms) || is_soon(size.bytes, bounds.hold_bytes) {
            HoldState::EndsSoon
        } else {
            HoldState::Held
        };
        let hold_ms = i64::try_from(bounds.hold_ms).unwrap_or(i64::MAX);
        let ends_ms = since_ms.saturating_add(hold_ms).min(time::MAX_MS);
        Ok(HoldStatus {
            state,
            entries: size.entries,
            bytes: size.bytes,
            bytes_left: bounds.hold_bytes.saturating_sub(size.bytes),
            since: Some(time::from_millis(since_ms)),
            ends: Some(time::from_millis(ends_ms)),
        })
    }
}
