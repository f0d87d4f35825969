//! The zone of calendars.

use chrono::{DateTime, FixedOffset, LocalResult, Offset, TimeZone, Utc};

use crate::error::{Error, Result};

/// The difference of local times of two places is not more.
const DAY_MS: i64 = 86_400_000;

/// A zone: the local times of instants, and back. Both are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Zone {
    /// It always has this offset.
    Fixed(FixedOffset),
    /// It is that of a place.
    #[cfg(feature = "zones")]
    Named(chrono_tz::Tz),
}

impl Default for Zone {
    fn default() -> Self {
        Self::Fixed(Utc.fix())
    }
}

impl Zone {
    /// The zone that a request names.
    ///
    /// # Errors
    /// `InvalidArgument`; `Unsupported` for a name in a build without names of zones.
    pub(crate) fn new(text: &str) -> Result<Self> {
        if matches!(text, "UTC" | "Z") {
            return Ok(Self::default());
        }
        text.parse().map(Self::Fixed).or_else(|_| Self::named(text))
    }

    #[cfg(feature = "zones")]
    fn named(text: &str) -> Result<Self> {
        text.parse().map(Self::Named).map_err(|_| {
            Error::invalid(format!(
                "{text:?} is no time zone; use UTC, an offset such as +02:00, or a name such as \
                 Europe/Berlin"
            ))
        })
    }

    #[cfg(not(feature = "zones"))]
    fn named(text: &str) -> Result<Self> {
        Err(Error::unsupported(format!(
            "{text:?} is neither UTC nor an offset such as +02:00; names of zones need the feature \
             zones of this crate"
        )))
    }

    /// The offset of local time at an instant.
    pub(super) fn offset_ms(self, instant: i64) -> Option<i64> {
        let at = DateTime::<Utc>::from_timestamp_millis(instant)?.naive_utc();
        Some(milliseconds(match self {
            Self::Fixed(zone) => zone.offset_from_utc_datetime(&at),
            #[cfg(feature = "zones")]
            Self::Named(zone) => zone.offset_from_utc_datetime(&at).fix(),
        }))
    }

    /// The first instant at which clocks show a local time; the instant at which they were set
    /// forward, if they skipped it.
    pub(super) fn instant_of(self, local: i64) -> Option<i64> {
        let at = DateTime::<Utc>::from_timestamp_millis(local)?.naive_utc();
        let offset = match self {
            Self::Fixed(zone) => zone.offset_from_local_datetime(&at),
            #[cfg(feature = "zones")]
            Self::Named(zone) => zone.offset_from_local_datetime(&at).map(|offset| offset.fix()),
        };
        match offset {
            LocalResult::Single(offset) => local.checked_sub(milliseconds(offset)),
            // The greater offset belongs to the earlier instant.
            LocalResult::Ambiguous(one, other) => {
                local.checked_sub(milliseconds(one).max(milliseconds(other)))
            }
            LocalResult::None => self.skipping(local),
        }
    }

    /// The instant at which clocks were set forward over a local time.
    fn skipping(self, local: i64) -> Option<i64> {
        let old = self.offset_ms(local.checked_sub(2 * DAY_MS)?)?;
        let new = self.offset_ms(local.checked_add(2 * DAY_MS)?)?;
        let (mut low, mut high) = (local.checked_sub(new)?, local.checked_sub(old)?);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset_ms(middle)? == old {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(high)
    }
}

fn milliseconds(offset: FixedOffset) -> i64 {
    i64::from(offset.local_minus_utc()) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_offsets_or_names() {
        for (text, hours) in [("UTC", 0), ("Z", 0), ("+02:00", 2), ("-05:00", -5), ("+0530", 0)] {
            let minutes = if text == "+0530" { 330 } else { hours * 60 };
            let zone = Zone::new(text).unwrap();
            assert_eq!(zone.offset_ms(0), Some(minutes * 60_000), "{text}");
            assert_eq!(zone.instant_of(0), Some(-minutes * 60_000), "{text}");
        }
        for text in ["", "here", "+25:00", "+1"] {
            assert!(Zone::new(text).is_err(), "{text}");
        }
        assert_eq!(Zone::default().instant_of(7), Some(7));
    }

    #[cfg(feature = "zones")]
    #[test]
    fn clocks_that_are_set() {
        let ms = |text: &str| text.parse::<DateTime<Utc>>().unwrap().timestamp_millis();
        let berlin = Zone::new("Europe/Berlin").unwrap();
        assert_eq!(berlin.offset_ms(ms("2024-03-31T00:59:59Z")), Some(3_600_000));
        assert_eq!(berlin.offset_ms(ms("2024-03-31T01:00:00Z")), Some(7_200_000));
        // 02:00 to 03:00 was skipped.
        for local in ["2024-03-31T02:00:00Z", "2024-03-31T02:30:00Z", "2024-03-31T03:00:00Z"] {
            assert_eq!(berlin.instant_of(ms(local)), Some(ms("2024-03-31T01:00:00Z")), "{local}");
        }
        // 02:00 to 03:00 came twice.
        let first = berlin.instant_of(ms("2024-10-27T02:30:00Z"));
        assert_eq!(first, Some(ms("2024-10-27T00:30:00Z")));
        assert_eq!(berlin.instant_of(ms("2024-10-27T03:00:00Z")), Some(ms("2024-10-27T02:00:00Z")));
        // A whole day was skipped.
        let apia = Zone::new("Pacific/Apia").unwrap();
        let day = apia.instant_of(ms("2011-12-30T12:00:00Z"));
        assert_eq!(day, Some(ms("2011-12-30T10:00:00Z")));
        assert_eq!(apia.instant_of(ms("2011-12-31T00:00:00Z")), day);
        assert!(Zone::new("Europe/Nowhere").is_err());
    }
}
