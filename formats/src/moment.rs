//! Dates and times in the forms that programs write into CSV files.
//!
//! A date is year-month-day (also with slashes or points), day.month.year, day-Jan-year, or day and
//! month in an order that must be known, with slashes or hyphens. A year has two digits only where
//! the order is told. A time follows after `T`, a blank
//! or a comma with a blank: hours and minutes, seconds, up to nine digits of a second, or three behind
//! a colon, AM or PM, and an offset, `Z`, `UTC` or `GMT`.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use stationdb::arrow::datatypes::TimeUnit;
use stationdb::tables::readers::ticks;
use stationdb::tables::{DataType, DateOrder};

use crate::zone::Zone;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A date, and the time of day if the text has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    local: NaiveDateTime,
    nanos: u32,
    /// Digits of a second.
    pub(crate) digits: usize,
    /// Seconds east of UTC; `None` if the text has no zone.
    pub(crate) offset: Option<i32>,
}

struct Cursor<'t>(&'t [u8]);

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    fn skip(&mut self, count: usize) {
        self.0 = self.0.get(count..).unwrap_or_default();
    }

    /// A number of `from` to `to` digits, with their count.
    fn number(&mut self, from: usize, to: usize) -> Option<(u32, usize)> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count < from || count > to {
            return None;
        }
        let value =
            self.0.iter().take(count).fold(0, |all, byte| all * 10 + u32::from(byte - b'0'));
        self.skip(count);
        Some((value, count))
    }

    fn one_of(&mut self, set: &[u8]) -> Option<u8> {
        let found = self.peek().filter(|byte| set.contains(byte))?;
        self.skip(1);
        Some(found)
    }

    fn word(&mut self, word: &str) -> bool {
        let is_next = self
            .0
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
        if is_next {
            self.skip(word.len());
        }
        is_next
    }

    /// A date. With `is_short`, the year may have two digits, which the order then tells.
    fn date(&mut self, order: Option<DateOrder>, is_short: bool) -> Option<NaiveDate> {
        if is_short {
            // With it, spreadsheets leave the text as it is.
            self.one_of(b"'");
        }
        let (first, digits) = self.number(1, 4)?;
        let between = self.one_of(b"-/. ")?;
        if digits == 4 {
            let (month, _) = self.number(1, 2)?;
            self.one_of(&[between]).filter(|_| between != b' ')?;
            let (day, _) = self.number(1, 2)?;
            return NaiveDate::from_ymd_opt(i32::try_from(first).ok()?, month, day);
        }
        if digits > 2 {
            return None;
        }
        let named = (1u32..).zip(MONTHS).find(|(_, name)| self.word(name)).map(|(month, _)| month);
        let second = match named {
            Some(month) => month,
            None if between == b' ' => return None,
            None => self.number(1, 2)?.0,
        };
        self.one_of(&[between])?;
        let (last, last_digits) = self.number(if is_short { 2 } else { 4 }, 4)?;
        let is_full = match last_digits {
            4 => true,
            2 => false,
            _ => return None,
        };
        let (year, month, day) = match order {
            _ if named.is_some() => (last, second, first),
            _ if is_full && between == b'.' => (last, second, first),
            Some(DateOrder::DayFirst) => (last, second, first),
            Some(DateOrder::MonthFirst) => (last, first, second),
            Some(DateOrder::YearFirst) if !is_full && digits == 2 => (first, second, last),
            Some(DateOrder::YearFirst) | None => return None,
        };
        let century = match year {
            _ if is_full => 0,
            0..=69 => 2000,
            _ => 1900,
        };
        NaiveDate::from_ymd_opt(i32::try_from(century + year).ok()?, month, day)
    }

    /// The time of day, its nanoseconds and the number of their digits.
    fn time(&mut self) -> Option<(NaiveTime, u32, usize)> {
        let (mut hour, _) = self.number(1, 2)?;
        self.one_of(b":")?;
        let (minute, _) = self.number(2, 2)?;
        let (mut second, mut nanos, mut digits) = (0, 0, 0);
        if self.one_of(b":").is_some() {
            second = self.number(2, 2)?.0;
            // Some loggers write milliseconds behind a colon.
            let is_millis = self.peek() == Some(b':')
                && self.0.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count() == 3;
            if self.one_of(if is_millis { b":" } else { b".," }).is_some() {
                let (part, count) = self.number(1, 9)?;
                (nanos, digits) = (part * 10u32.pow(9 - count as u32), count);
            }
        }
        let rest = self.0;
        self.one_of(b" ");
        let is_late = self.word("pm");
        if is_late || self.word("am") {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if is_late { 12 } else { 0 };
        } else {
            self.0 = rest;
        }
        Some((NaiveTime::from_hms_opt(hour, minute, second)?, nanos, digits))
    }

    fn offset(&mut self) -> Option<i32> {
        if self.one_of(b"Zz").is_some() || self.word("utc") || self.word("gmt") {
            return Some(0);
        }
        let sign = self.one_of(b"+-")?;
        let (hours, minutes) = match self.number(2, 4)? {
            (hours, 2) if self.one_of(b":").is_some() => (hours, self.number(2, 2)?.0),
            (hours, 2) => (hours, 0),
            (both, 4) => (both / 100, both % 100),
            _ => return None,
        };
        if hours > 23 || minutes > 59 {
            return None;
        }
        let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
        Some(if sign == b'-' { -seconds } else { seconds })
    }
}

/// The seconds of an offset such as `+02:00`.
pub(crate) fn offset(text: &str) -> Option<i32> {
    let mut cursor = Cursor(text.as_bytes());
    cursor.offset().filter(|_| cursor.0.is_empty())
}

/// Reads a text; `order` is needed only for dates such as 01/02/2024.
pub(crate) fn parse(text: &str, order: Option<DateOrder>) -> Option<Moment> {
    read(text, order, false)
}

/// Reads a text whose order of year, month and day is told, so that years may have two digits: those
/// up to 69 are after 2000.
pub(crate) fn parse_told(text: &str, told: Option<DateOrder>) -> Option<Moment> {
    read(text, told, told.is_some())
}

fn read(text: &str, order: Option<DateOrder>, is_short: bool) -> Option<Moment> {
    let mut cursor = Cursor(text.trim().as_bytes());
    let date = cursor.date(order, is_short)?;
    if cursor.0.is_empty() {
        let local = date.and_time(NaiveTime::MIN);
        return Some(Moment { local, nanos: 0, digits: 0, offset: None });
    }
    if !cursor.word(", ") {
        cursor.one_of(b"Tt ")?;
    }
    let (time, nanos, digits) = cursor.time()?;
    let mut offset = None;
    if !cursor.0.is_empty() {
        cursor.one_of(b" ");
        offset = Some(cursor.offset()?);
    }
    cursor.0.is_empty().then_some(Moment { local: date.and_time(time), nanos, digits, offset })
}

/// Whether a text is a time, in whatever order day and month are.
pub(crate) fn is_time(text: &str) -> bool {
    [DateOrder::DayFirst, DateOrder::MonthFirst]
        .into_iter()
        .any(|order| parse(text, Some(order)).is_some())
}

/// Reads a number as a count of a unit since 1970 UTC, with up to nine digits after the decimal
/// mark. Digits beyond a nanosecond must be 0.
pub(crate) fn counted(text: &str, unit: TimeUnit, comma: bool) -> Option<Moment> {
    let text = text.trim();
    let (is_past, digits) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let (whole, part) = digits.split_once(if comma { ',' } else { '.' }).unwrap_or((digits, ""));
    let is_number = |text: &str| text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 9 {
        return None;
    }
    let step = 1_000_000_000 / i128::from(ticks::per_second(unit));
    let scale = 10i128.pow(part.len() as u32);
    let part_nanos = part.parse::<i128>().unwrap_or_default() * step;
    if part_nanos % scale != 0 {
        return None;
    }
    let nanos = whole.parse::<i128>().ok()? * step + part_nanos / scale;
    let nanos = if is_past { -nanos } else { nanos };
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
    let nanos = u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?;
    let local = DateTime::from_timestamp(seconds, 0)?.naive_utc();
    Some(Moment { local, nanos, digits: 9, offset: Some(0) })
}

impl Moment {
    /// A time of day of a date, without a zone.
    pub(crate) fn local(local: NaiveDateTime, nanos: u32) -> Self {
        Self { local, nanos, digits: 9, offset: None }
    }

    /// The time so many milliseconds later, if it has no digits of a second.
    pub(crate) fn with_millis(self, millis: u32) -> Self {
        match self.digits {
            0 => Self { nanos: self.nanos + 1_000_000 * millis.min(999), digits: 3, ..self },
            _ => self,
        }
    }

    /// The count of the unit of a time column, or why there is none.
    pub(crate) fn count(
        &self,
        data_type: DataType,
        zone: Zone,
        cut: bool,
    ) -> Result<i64, &'static str> {
        let seconds = match self.offset {
            Some(offset) => self.local.and_utc().timestamp() - i64::from(offset),
            None => zone.seconds(self.local)?,
        };
        let unit = ticks::unit_of(data_type).ok_or("is no time")?;
        let finest = ticks::of_parts(seconds, self.nanos, unit, true)
            .filter(|count| ticks::is_in_years(*count, unit))
            .ok_or("is outside of the years that its column can hold")?;
        match ticks::of_parts(seconds, self.nanos, unit, cut) {
            Some(_) => Ok(finest),
            None => Err("is finer than its column; give the column the type TIMESTAMP_US or \
                         TIMESTAMP_NS, or cut digits off with cutTimes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, order: Option<DateOrder>) -> Option<String> {
        let count = parse(text, order)?.count(DataType::TimestampNanos, Zone::Utc, false).ok()?;
        let mut out = String::new();
        ticks::write(count, stationdb::arrow::datatypes::TimeUnit::Nanosecond, &mut out);
        Some(out.replace(".000000000Z", "Z"))
    }

    #[test]
    fn the_forms_of_common_programs_are_read() {
        let (day, month) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
        for (text, order, expected) in [
            ("2024-02-01", None, "2024-02-01T00:00:00Z"),
            ("2024/2/1 7:05", None, "2024-02-01T07:05:00Z"),
            ("2024-02-01 13:14:15.25", None, "2024-02-01T13:14:15.250000000Z"),
            ("2024-02-01T13:14:15,123456789Z", None, "2024-02-01T13:14:15.123456789Z"),
            ("2024-02-01 13:14:15+02:00", None, "2024-02-01T11:14:15Z"),
            ("2024-02-01 13:14:15 -0330", None, "2024-02-01T16:44:15Z"),
            ("2024-02-01 13:14:15 UTC", None, "2024-02-01T13:14:15Z"),
            ("01.02.2024 13:14", None, "2024-02-01T13:14:00Z"),
            ("1.2.2024", month, "2024-02-01T00:00:00Z"),
            ("01-Feb-2024 13:14:15", None, "2024-02-01T13:14:15Z"),
            ("1 Feb 2024", None, "2024-02-01T00:00:00Z"),
            ("01/02/2024", day, "2024-02-01T00:00:00Z"),
            ("01/02/2024", month, "2024-01-02T00:00:00Z"),
            ("1/2/2024, 12:00:00 AM", month, "2024-01-02T00:00:00Z"),
            ("1/2/2024 12:30 pm", day, "2024-02-01T12:30:00Z"),
            ("1/2/2024 1:30:00 PM", day, "2024-02-01T13:30:00Z"),
            ("1/2/2024 12:00:00:123", day, "2024-02-01T12:00:00.123000000Z"),
            ("1/2/2024 1:30:00:050 PM", month, "2024-01-02T13:30:00.050000000Z"),
            (" 2024-02-01 ", None, "2024-02-01T00:00:00Z"),
        ] {
            assert_eq!(shown(text, order).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn years_have_two_digits_where_the_order_is_told() {
        use DateOrder::{DayFirst, MonthFirst, YearFirst};
        for (text, order, expected) in [
            ("24-01-31 14:05:10.5", YearFirst, Some("2024-01-31T14:05:10.500000000Z")),
            ("'24/01/31", YearFirst, Some("2024-01-31T00:00:00Z")),
            ("69.12.01", YearFirst, Some("2069-12-01T00:00:00Z")),
            ("70-12-01", YearFirst, Some("1970-12-01T00:00:00Z")),
            ("2024-01-31", YearFirst, Some("2024-01-31T00:00:00Z")),
            ("31.01.2024", YearFirst, Some("2024-01-31T00:00:00Z")),
            ("31.01.24 14:05", DayFirst, Some("2024-01-31T14:05:00Z")),
            ("1/31/24", MonthFirst, Some("2024-01-31T00:00:00Z")),
            ("31-Jan-24", DayFirst, Some("2024-01-31T00:00:00Z")),
            ("31/01/2024", DayFirst, Some("2024-01-31T00:00:00Z")),
            ("31/01/2024", YearFirst, None),
            ("4-01-31", YearFirst, None),
            ("31.01.024", DayFirst, None),
            ("24-13-01", YearFirst, None),
        ] {
            let moment = parse_told(text, Some(order));
            let count = moment.map(|at| at.count(DataType::TimestampNanos, Zone::Utc, false));
            let mut found = String::new();
            if let Some(count) = count {
                let nanos = stationdb::arrow::datatypes::TimeUnit::Nanosecond;
                ticks::write(count.unwrap(), nanos, &mut found);
            }
            let found = found.replace(".000000000Z", "Z");
            assert_eq!(found, expected.unwrap_or_default(), "{text} {order:?}");
            // Without being told, no two digits are a year.
            let is_read = parse(text, Some(order)).is_some();
            assert_eq!(is_read, expected.is_some() && text.contains("20"), "{text} {order:?}");
        }
        assert_eq!(parse_told("24-01-31", None), None);
    }

    #[test]
    fn numbers_count_a_unit_with_all_their_digits() {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        for (text, unit, comma, expected) in [
            ("0", Second, false, Some(0)),
            (" 1706709910 ", Second, false, Some(1_706_709_910_000_000_000)),
            ("1706709910.123456789", Second, false, Some(1_706_709_910_123_456_789)),
            ("1706709910,5", Second, true, Some(1_706_709_910_500_000_000)),
            ("-0.000000001", Second, false, Some(-1)),
            ("1706709910123.25", Millisecond, false, Some(1_706_709_910_123_250_000)),
            ("+1706709910123456", Microsecond, false, Some(1_706_709_910_123_456_000)),
            ("9223372036854775807", Nanosecond, false, Some(i64::MAX)),
            ("9223372036854775808", Nanosecond, false, None),
            ("-9223372036854775808", Nanosecond, false, Some(i64::MIN)),
            ("7.000", Nanosecond, false, Some(7)),
            ("7.1", Nanosecond, false, None),
            ("1.5", Second, true, None),
            ("1e3", Second, false, None),
            (".5", Second, false, None),
            ("--1", Second, false, None),
            ("99999999999999999999", Second, false, None),
            ("", Second, false, None),
        ] {
            let count = counted(text, unit, comma)
                .and_then(|moment| moment.count(DataType::TimestampNanos, Zone::Utc, false).ok());
            assert_eq!(count, expected, "{text:?} {unit:?}");
        }
    }

    #[test]
    fn what_is_no_time_or_ambiguous_is_not_read() {
        for text in [
            "",
            "2024",
            "2024-02",
            "2024-02-30",
            "01/02/2024",
            "1/2/24",
            "12:30",
            "2024-02-01T",
            "2024-02-01 24:00",
            "2024-02-01 12:60",
            "2024-02-01 13:00 PM",
            "2024-02-01 12:00:00.",
            "2024-02-01 12:00:00:12",
            "2024-02-01 12:00:00:1234",
            "2024-02-01 12:00:00.1234567890",
            "2024-02-01 12:00:00+24:00",
            "2024-02-01 12:00:00 CET",
            "2024-02/01",
            "2024-02-01-",
            "01.02.2024.",
            "ä024-02-01",
            "1.2.3.4",
        ] {
            assert_eq!(shown(text, None), None, "{text}");
        }
    }
}
