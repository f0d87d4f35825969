//! Times of plans, which are answered as they were given: with `Z`, or without an offset.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::field::FieldType;
use super::part::{Part, Typed};
use super::stored::{DecodeResult, EncodeResult, Input, Output, Stored};
use super::{Val, time};

/// A planned time. It is an instant in UTC, and says whether it was given with an offset.
///
/// On the wire a time that was given with an offset (or with `Z`) has a `Z`, and one that was given
/// without an offset has none. Filters, orders and checks compare the instants.
///
/// ```
/// use stationdb::lab::PlannedTime;
///
/// let local: PlannedTime = serde_json::from_str(r#""2024-06-01T08:00:00""#)?;
/// assert_eq!(local.to_string(), "2024-06-01T08:00:00.000");
/// let utc: PlannedTime = serde_json::from_str(r#""2024-06-01T10:00:00+02:00""#)?;
/// assert_eq!(utc.to_string(), "2024-06-01T08:00:00.000Z");
/// assert_eq!(local.utc(), utc.utc());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlannedTime {
    utc: DateTime<Utc>,
    has_no_offset: bool,
}

impl PlannedTime {
    /// A time that is answered without an offset. It means UTC.
    #[must_use]
    pub const fn without_offset(utc: DateTime<Utc>) -> Self {
        Self { utc, has_no_offset: true }
    }

    /// The instant.
    #[must_use]
    pub const fn utc(self) -> DateTime<Utc> {
        self.utc
    }

    /// Whether it was given with an offset.
    #[must_use]
    pub const fn has_offset(self) -> bool {
        !self.has_no_offset
    }
}

impl From<DateTime<Utc>> for PlannedTime {
    fn from(utc: DateTime<Utc>) -> Self {
        Self { utc, has_no_offset: false }
    }
}

impl From<PlannedTime> for DateTime<Utc> {
    fn from(time: PlannedTime) -> Self {
        time.utc
    }
}

/// The wire form.
impl fmt::Display for PlannedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = time::format(self.utc);
        f.write_str(if self.has_no_offset { text.trim_end_matches('Z') } else { &text })
    }
}

impl Serialize for PlannedTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PlannedTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let utc = time::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{text:?} is not an ISO-8601 date-time"))
        })?;
        Ok(Self { utc, has_no_offset: !time::has_offset(&text) })
    }
}

/// The stored form.
mod stored_form {
    use chrono::{DateTime, Utc};

    use crate::value::wire::record;

    record! {
        /// A planned time as it is stored.
        pub struct PlannedTime {
            /// The instant.
            pub utc: DateTime<Utc>,
            /// Whether it was given without an offset.
            pub has_no_offset: bool,
        }
    }
}

impl Stored for PlannedTime {
    fn put(&self, out: &mut Output<'_>) -> EncodeResult {
        stored_form::PlannedTime { utc: self.utc, has_no_offset: self.has_no_offset }.put(out)
    }

    fn take(input: &mut Input<'_>) -> DecodeResult<Self> {
        let stored_form::PlannedTime { utc, has_no_offset } = Stored::take(input)?;
        Ok(Self { utc, has_no_offset })
    }

    fn settle(&mut self) {
        self.utc.settle();
    }
}

impl Part for PlannedTime {
    type Of = Self;

    fn part(&self) -> Option<&Self> {
        Some(self)
    }
}

impl Typed for PlannedTime {
    const TYPE: FieldType = FieldType::Time;
}

impl From<&PlannedTime> for Val<'_> {
    fn from(time: &PlannedTime) -> Self {
        time.utc.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::stored;

    #[test]
    fn an_offset_that_was_not_given_is_not_answered() {
        for (given, answered, has_offset) in [
            ("2024-06-01T08:00:00", "2024-06-01T08:00:00.000", false),
            ("2024-06-01 08:00:00.1239", "2024-06-01T08:00:00.123", false),
            ("2024-06-01T08:00:00Z", "2024-06-01T08:00:00.000Z", true),
            ("2024-06-01t08:00:00z", "2024-06-01T08:00:00.000Z", true),
            ("2024-06-01T08:00:00.5-01", "2024-06-01T09:00:00.500Z", true),
            ("2024-06-01T08:00:00+0200", "2024-06-01T06:00:00.000Z", true),
        ] {
            let time: PlannedTime = serde_json::from_value(given.into()).unwrap();
            assert_eq!(
                (time.to_string().as_str(), time.has_offset()),
                (answered, has_offset),
                "{given}"
            );
            assert_eq!(Some(time.utc()), time::parse(given));
            assert_eq!(serde_json::to_value(time).unwrap(), answered);
            let bytes = stored::to_bytes(&Some(time)).unwrap();
            assert_eq!(stored::from_bytes::<Option<PlannedTime>>(&bytes).unwrap(), Some(time));
        }
        assert!(serde_json::from_value::<PlannedTime>("2024-06-01".into()).is_err());
    }
}
