//! The zone that times without one are taken to have.

#[cfg(feature = "zones")]
use chrono::TimeZone;
use chrono::{FixedOffset, NaiveDateTime};

use stationdb::{Error, Result};

/// The zone of times that have none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Zone {
    /// They are UTC.
    #[default]
    Utc,
    /// They have this offset.
    Fixed(FixedOffset),
    /// They are local times of a place.
    #[cfg(feature = "zones")]
    Named(chrono_tz::Tz),
    /// They are refused.
    Refuse,
}

impl Zone {
    /// The zone that a request names; `offset` has its seconds east of UTC if it is an offset.
    ///
    /// # Errors
    /// `InvalidArgument`; `Unsupported` for a name in a build without names of zones.
    pub(crate) fn new(text: &str, offset: Option<i32>) -> Result<Self> {
        match (text, offset) {
            ("UTC" | "Z", _) => Ok(Self::Utc),
            ("REFUSE", _) => Ok(Self::Refuse),
            (_, Some(seconds)) => FixedOffset::east_opt(seconds)
                .map(Self::Fixed)
                .ok_or_else(|| Error::invalid(format!("{text:?} is no offset"))),
            (_, None) => Self::named(text),
        }
    }

    #[cfg(feature = "zones")]
    fn named(text: &str) -> Result<Self> {
        text.parse().map(Self::Named).map_err(|_| {
            Error::invalid(format!(
                "{text:?} is no time zone; use UTC, an offset such as +02:00, a name such as \
                 Europe/Berlin, or REFUSE"
            ))
        })
    }

    #[cfg(not(feature = "zones"))]
    fn named(text: &str) -> Result<Self> {
        Err(Error::unsupported(format!(
            "{text:?} is neither UTC, an offset such as +02:00 nor REFUSE; names of zones need the \
             feature zones of this crate"
        )))
    }

    /// The seconds since 1970 UTC of a local time, or why there are none.
    pub(crate) fn seconds(self, local: NaiveDateTime) -> std::result::Result<i64, &'static str> {
        match self {
            Self::Utc => Ok(local.and_utc().timestamp()),
            Self::Fixed(offset) => {
                Ok(local.and_utc().timestamp() - i64::from(offset.local_minus_utc()))
            }
            #[cfg(feature = "zones")]
            Self::Named(zone) => in_zone(zone, local),
            Self::Refuse => Err("has no zone, and timeZone is REFUSE; name its zone"),
        }
    }

    /// The name in reports.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Utc | Self::Refuse => "UTC".to_owned(),
            Self::Fixed(offset) => offset.to_string(),
            #[cfg(feature = "zones")]
            Self::Named(zone) => zone.name().to_owned(),
        }
    }
}

#[cfg(feature = "zones")]
fn in_zone<Z: TimeZone>(zone: Z, local: NaiveDateTime) -> std::result::Result<i64, &'static str> {
    match zone.from_local_datetime(&local) {
        chrono::LocalResult::Single(time) => Ok(time.timestamp()),
        chrono::LocalResult::Ambiguous(..) => {
            Err("occurs twice in its zone, where clocks were set back; use times with an offset")
        }
        chrono::LocalResult::None => {
            Err("does not occur in its zone, where clocks were set forward; correct the zone")
        }
    }
}
