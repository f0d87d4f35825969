//! Constants of filters: the values of literals and substitutions, and how text converts to other
//! types.

use std::cmp::Ordering;
use std::sync::Arc;

use chrono::{DateTime, Datelike, FixedOffset, TimeZone, Timelike, Utc};

use crate::value::{Val, time};

/// A scalar that a filter compares with, in the representation of its field: the key bytes of
/// [`Constant::val`] are those of an equal field value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Constant {
    /// No value.
    Null,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// Text, an id, or the canonical text of an enumeration. Shared, because a filter may copy a
    /// constant for each element of a list: 10,000 copies of a text of 200 KB would exhaust the
    /// memory.
    Text(Arc<str>),
    /// Milliseconds since 1970 UTC.
    Time(i64),
    /// A time span in milliseconds.
    Span(i64),
}

impl Constant {
    /// The same value in the representation of records.
    #[must_use]
    pub(crate) fn val(&self) -> Val<'_> {
        match self {
            Self::Null => Val::Null,
            Self::Bool(value) => Val::Bool(*value),
            Self::Int(value) => Val::Int(*value),
            Self::Double(value) => Val::Double(*value),
            Self::Text(value) => Val::from(&**value),
            Self::Time(value) => Val::Time(*value),
            Self::Span(value) => Val::Span(*value),
        }
    }

    pub(super) fn text(value: impl Into<Arc<str>>) -> Self {
        Self::Text(value.into())
    }
}

/// How the letter case of a text is folded before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// It stays.
    None,
    /// All lower case.
    Lower,
    /// All upper case.
    Upper,
}

/// The order of two scalars; `None` when one is null or NaN, or when their kinds cannot be
/// compared.
pub(super) fn order(left: &Val<'_>, right: &Val<'_>) -> Option<Ordering> {
    match (left, right) {
        (Val::Str(left), Val::Str(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Val::Int(left), Val::Int(right))
        | (Val::Time(left), Val::Time(right))
        | (Val::Span(left), Val::Span(right)) => Some(left.cmp(right)),
        (Val::Double(left), Val::Double(right)) => left.partial_cmp(right),
        (Val::Int(left), Val::Double(right)) => order_mixed(*left, *right),
        (Val::Double(left), Val::Int(right)) => order_mixed(*right, *left).map(Ordering::reverse),
        (Val::Bool(left), Val::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Compares exactly, also beyond 2^53, where a double cannot represent every integer.
pub(crate) fn order_mixed(int: i64, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= BEYOND {
        return Some(Ordering::Less);
    }
    if double < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = double.trunc();
    let order = int.cmp(&(whole as i64));
    Some(order.then(whole.partial_cmp(&double).unwrap_or(Ordering::Equal)))
}

/// A number written as text; an integer if it has only digits and a sign.
pub(super) fn parse_number(text: &str) -> Option<Constant> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Constant::Int);
    }
    // `inf`, `nan` and the like do not start with a digit.
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(Constant::Double)
}

/// The number that a text is, as `SafeConvert.ToDecimal` reads it.
#[must_use]
pub(crate) fn number_of(text: &str) -> Option<f64> {
    match parse_number(text)? {
        Constant::Int(value) => Some(value as f64),
        Constant::Double(value) => Some(value),
        _ => None,
    }
}

/// `true` or `false` in any letter case.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// ISO-8601 with or without time of day, seconds, fraction and zone; milliseconds since 1970 UTC.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(time) = time::parse(text) {
        return Some(time.timestamp_millis());
    }
    let whole = match text.len() {
        10 => format!("{text}T00:00:00"),
        _ => {
            // Without seconds: `2024-05-01T10:30`, a zone may follow.
            let (minutes, zone) = (text.get(..16)?, text.get(16..)?);
            if zone.starts_with(':') {
                return None;
            }
            format!("{minutes}:00{zone}")
        }
    };
    time::parse(&whole).map(|time| time.timestamp_millis())
}

/// A text that [`parse_time`] reads, with all its digits, as a count of a unit since 1970 UTC;
/// `None` if it is no time, or has digits below the unit.
pub(super) fn exact_count(text: &str, per_second: i64) -> Option<i128> {
    let Some((seconds, nanos)) = time::parse_exactly(text.trim()) else {
        return parse_time(text).map(|ms| i128::from(ms) * i128::from(per_second / 1000));
    };
    let step = 1_000_000_000 / per_second;
    let part = i64::from(nanos);
    (part % step == 0)
        .then(|| i128::from(seconds) * i128::from(per_second) + i128::from(part / step))
}

/// `[-][days.]hours:minutes[:seconds[.fraction]]` or whole days; milliseconds.
pub(super) fn parse_span(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let part = |text: &str, longest: usize, limit: i64| -> Option<i64> {
        let fits =
            (1..=longest).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok()).flatten().filter(|value| *value < limit)
    };
    // The days that a time span of the public services can represent.
    const DAYS: i64 = 10_675_200;
    let days = |text| part(text, 8, DAYS);
    let mut parts = text.split(':');
    let first = parts.next()?;
    let Some(minutes) = parts.next() else {
        return Some(sign * days(first)? * DAY_MS);
    };
    let seconds = parts.next();
    if parts.next().is_some() {
        return None;
    }
    let (days, hours) = match first.split_once('.') {
        Some((whole, hours)) => (days(whole)?, hours),
        None => (0, first),
    };
    let (seconds, millis) =
        match seconds.map(|seconds| seconds.split_once('.').unwrap_or((seconds, "0"))) {
            Some((seconds, fraction)) => {
                part(fraction, 7, 10_000_000)?;
                let digits: String = fraction.chars().chain("00".chars()).take(3).collect();
                (part(seconds, 2, 60)?, digits.parse::<i64>().ok()?)
            }
            None => (0, 0),
        };
    let hours = days * 24 + part(hours, 2, 24)?;
    Some(sign * (((hours * 60 + part(minutes, 2, 60)?) * 60 + seconds) * 1000 + millis))
}

pub(super) const DAY_MS: i64 = 86_400_000;

/// A table of canonical texts, each with its alternative spellings.
pub(super) type Members = &'static [(&'static str, &'static [&'static str])];

/// The canonical text of an enumeration value; letter case, `_`, `-` and spaces are ignored.
pub(super) fn enum_member(members: Members, text: &str) -> Option<&'static str> {
    let folded = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, '_' | '-' | ' '))
            .flat_map(char::to_lowercase)
            .collect()
    };
    let wanted = folded(text);
    members
        .iter()
        .find(|(canonical, others)| {
            folded(canonical) == wanted || others.iter().any(|other| folded(other) == wanted)
        })
        .map(|(canonical, _)| *canonical)
}

/// Invariant lower or upper case, character by character. A character that maps to several
/// characters stays as it is.
pub(super) fn fold_case(text: &str, upper: bool) -> String {
    let one = |c: char| {
        let mapped = if upper { only(c.to_uppercase()) } else { only(c.to_lowercase()) };
        mapped.unwrap_or(c)
    };
    text.chars().map(one).collect()
}

fn only(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next();
    if mapped.next().is_some() { None } else { first }
}

/// The reference of relative times, in the time zone in which days, weeks, months and years begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    reference: DateTime<FixedOffset>,
}

impl Times {
    /// The request's reference time, or now in UTC.
    #[must_use]
    pub(crate) fn new(now: DateTime<Utc>, reference: Option<DateTime<FixedOffset>>) -> Self {
        Self { reference: reference.unwrap_or_else(|| now.fixed_offset()) }
    }

    /// The reference in milliseconds since 1970 UTC.
    #[must_use]
    pub(crate) fn reference_ms(&self) -> i64 {
        self.reference.timestamp_millis()
    }

    /// Time since the start of the day, week (Monday), month or year; `None` for another unit.
    pub(super) fn since_start_of(&self, unit: &str) -> Option<i64> {
        let local = self.reference.naive_local();
        let date = local.date();
        let days = if unit.eq_ignore_ascii_case("CurrentDay") {
            0
        } else if unit.eq_ignore_ascii_case("CurrentWeek") {
            i64::from(date.weekday().num_days_from_monday())
        } else if unit.eq_ignore_ascii_case("CurrentMonth") {
            i64::from(date.day0())
        } else if unit.eq_ignore_ascii_case("CurrentYear") {
            i64::from(date.ordinal0())
        } else {
            return None;
        };
        let millis = i64::from(local.num_seconds_from_midnight()) * 1000
            + i64::from(local.nanosecond() / 1_000_000);
        Some(days * DAY_MS + millis)
    }
}

/// The time of a UTC calendar date and time of day, in milliseconds since 1970.
pub(super) fn calendar(parts: [i64; 6]) -> Option<i64> {
    let [year, month, day, hour, minute, second] = parts;
    let part = |value: i64| u32::try_from(value).ok();
    let year = i32::try_from(year).ok().filter(|year| (1..=9999).contains(year))?;
    let time = Utc
        .with_ymd_and_hms(year, part(month)?, part(day)?, part(hour)?, part(minute)?, part(second)?)
        .single()?;
    Some(time.timestamp_millis())
}
