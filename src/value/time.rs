//! Times on the wire and in memory: UTC, milliseconds, years 0001 to 9999.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Utc};

/// The smallest time: 0001-01-01T00:00:00.000Z, in milliseconds.
pub(crate) const MIN_MS: i64 = -62_135_596_800_000;
/// The largest time: 9999-12-31T23:59:59.999Z, in milliseconds.
pub(crate) const MAX_MS: i64 = 253_402_300_799_999;

/// The time `ms` milliseconds after 1970 UTC, clamped to the years 0001 to 9999.
#[must_use]
pub(crate) fn from_millis(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms.clamp(MIN_MS, MAX_MS)).unwrap_or_default()
}

/// The time truncated to milliseconds, and clamped to the years 0001 to 9999.
#[must_use]
pub(crate) fn truncate(time: DateTime<Utc>) -> DateTime<Utc> {
    from_millis(time.timestamp_millis())
}

/// The wire form: `YYYY-MM-DDThh:mm:ss.fffZ`.
#[must_use]
pub(crate) fn format(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The parts of an ISO-8601 date-time, as its text has them.
struct Parts {
    /// Seconds since 1970 UTC, and nanoseconds after them.
    seconds: i64,
    nanos: u32,
    offset_seconds: i32,
}

/// Reads an ISO-8601 date-time with `Z`, an offset or neither (which means UTC), and 0 to 9
/// fractional digits.
fn parts(text: &str) -> Option<Parts> {
    let bytes = text.as_bytes();
    let number = |from: usize, len: usize| -> Option<u32> {
        let digits = bytes.get(from..from + len)?;
        digits.iter().try_fold(0u32, |value, byte| {
            byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
        })
    };
    let is = |at: usize, expected: &[u8]| bytes.get(at).is_some_and(|byte| expected.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let date =
        NaiveDate::from_ymd_opt(i32::try_from(number(0, 4)?).ok()?, number(5, 2)?, number(8, 2)?)?;
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let mut at = 19;
    let mut nanos = 0;
    if is(at, b".") {
        let digits = bytes.get(at + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > 9 {
            return None;
        }
        nanos = number(at + 1, digits)? * 10u32.pow(9 - digits as u32);
        at += 1 + digits;
    }
    let time = NaiveTime::from_hms_opt(hour, minute, second)?;
    let offset_seconds = match bytes.get(at) {
        None => 0,
        Some(b'Z' | b'z') if bytes.len() == at + 1 => 0,
        Some(sign @ (b'+' | b'-')) => {
            let hours = number(at + 1, 2)?;
            let minutes = match bytes.len() - at {
                3 => 0,
                5 => number(at + 3, 2)?,
                6 if is(at + 3, b":") => number(at + 4, 2)?,
                _ => return None,
            };
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
            if *sign == b'-' { -seconds } else { seconds }
        }
        Some(_) => return None,
    };
    let seconds = NaiveDateTime::new(date, time).and_utc().timestamp() - i64::from(offset_seconds);
    (MIN_MS / 1000..=MAX_MS / 1000).contains(&seconds).then_some(Parts {
        seconds,
        nanos,
        offset_seconds,
    })
}

/// Reads an ISO-8601 date-time with `Z`, an offset or neither (which means UTC). 0 to 9 fractional
/// digits are truncated to milliseconds. Returns the time and its offset, or `None` when the text
/// is not such a time.
#[must_use]
pub(crate) fn parse_with_offset(text: &str) -> Option<(DateTime<Utc>, FixedOffset)> {
    let Parts { seconds, nanos, offset_seconds } = parts(text)?;
    let millis = seconds * 1000 + i64::from(nanos / 1_000_000);
    Some((from_millis(millis), FixedOffset::east_opt(offset_seconds)?))
}

/// Reads what [`parse`] reads, with all its digits: seconds since 1970 UTC, and the nanoseconds
/// after them.
#[must_use]
pub(crate) fn parse_exactly(text: &str) -> Option<(i64, u32)> {
    parts(text).map(|parts| (parts.seconds, parts.nanos))
}

/// Whether a text that [`parse`] reads ends with an offset, such as `Z`.
#[must_use]
pub(crate) fn has_offset(text: &str) -> bool {
    // After the date, whose parts a minus separates too.
    text.get(10..).is_some_and(|time| time.contains(['Z', 'z', '+', '-']))
}

/// [`parse_with_offset`] without the offset.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<DateTime<Utc>> {
    parse_with_offset(text).map(|(time, _)| time)
}

/// Adds calendar months in UTC. The day is clamped to the last of the month, the result to the
/// years 0001 to 9999.
#[must_use]
pub(crate) fn add_months(time: DateTime<Utc>, months: i64) -> DateTime<Utc> {
    let moved = match u32::try_from(months.unsigned_abs()) {
        Ok(count) if months >= 0 => time.checked_add_months(chrono::Months::new(count)),
        Ok(count) => time.checked_sub_months(chrono::Months::new(count)),
        Err(_) => None,
    };
    moved.map_or_else(|| from_millis(if months >= 0 { MAX_MS } else { MIN_MS }), truncate)
}

/// For `#[serde(with = "…")]` on a time member.
pub(crate) mod required {
    use super::{DateTime, Utc};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the wire form.
    pub(crate) fn serialize<S: Serializer>(
        time: &DateTime<Utc>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format(*time))
    }

    /// Reads the wire form.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<DateTime<Utc>, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format_args!("{text:?} is not an ISO-8601 date-time"))
        })
    }
}

/// For `#[serde(with = "…")]` on an optional time member.
pub(crate) mod opt {
    use super::{DateTime, Utc};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the wire form, or none.
    pub(crate) fn serialize<S: Serializer>(
        time: &Option<DateTime<Utc>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serializer.serialize_some(&super::format(*time)),
            None => serializer.serialize_none(),
        }
    }

    /// Reads the wire form, or none.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DateTime<Utc>>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| {
                super::parse(&text).ok_or_else(|| {
                    serde::de::Error::custom(format_args!("{text:?} is not an ISO-8601 date-time"))
                })
            })
            .transpose()
    }
}

/// For `#[serde(with = "…")]` on a three-state time member.
pub(crate) mod patch {
    use super::{DateTime, Utc};
    use crate::value::Patch;
    use serde::{Deserializer, Serializer};

    /// Writes the wire form, null, or none.
    pub(crate) fn serialize<S: Serializer>(
        time: &Patch<DateTime<Utc>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Patch::Absent => serializer.serialize_none(),
            Patch::Null => serializer.serialize_unit(),
            Patch::Value(time) => serializer.serialize_str(&super::format(*time)),
        }
    }

    /// Reads the wire form or null.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Patch<DateTime<Utc>>, D::Error> {
        Ok(super::opt::deserialize(deserializer)?.map_or(Patch::Null, Patch::Value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_accepted_form() {
        for (text, expected) in [
            ("2024-02-29T12:34:56Z", "2024-02-29T12:34:56.000Z"),
            ("2024-02-29t12:34:56.1", "2024-02-29T12:34:56.100Z"),
            ("2024-02-29T12:34:56.123456789+02:00", "2024-02-29T10:34:56.123Z"),
            ("2024-02-29T12:34:56-0530", "2024-02-29T18:04:56.000Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(parse(text).map(format).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
            "2024-02-29",
            "2024-02-30T00:00:00Z",
            "2024-02-29T12:34Z",
            "2024-02-29T12:34:56.Z",
            "2024-02-29T12:34:56.1234567890Z",
            "2024-02-29T12:34:56Zx",
            "2024-02-29T24:00:00Z",
            "0001-01-01T00:00:00+01:00",
            "2024-02-29T12:34:56+1",
            "ä024-02-29T12:34:56Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn months_are_clamped_to_the_last_day() {
        let time = |text| parse(text).unwrap();
        assert_eq!(add_months(time("2023-01-31T10:00:00Z"), 1), time("2023-02-28T10:00:00Z"));
        assert_eq!(add_months(time("2024-01-31T10:00:00Z"), 1), time("2024-02-29T10:00:00Z"));
        assert_eq!(add_months(time("2024-03-31T10:00:00Z"), -1), time("2024-02-29T10:00:00Z"));
    }
}
