//! The time of the system, for people.

/// Milliseconds since 1970, for people: no commit depends on them.
pub(crate) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now_ms = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    now_ms.saturating_sub(crate::checks::clock_behind_ms())
}
