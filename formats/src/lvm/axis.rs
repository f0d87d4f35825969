//! The X values of a segment, and the times that they are.

use chrono::NaiveDate;
use stationdb::tables::{DataType, DateOrder};
use stationdb::{Error, Result};

use super::header::{Channel, FileHeader, Segment};
use crate::instrument_text::number;
use crate::lines::at_line;
use crate::moment;
use crate::options::ImportOptions;

const NANOS: i128 = 1_000_000_000;
/// Digits of a second that a column of times has.
const DIGITS: usize = 9;
/// More seconds than a column of nanoseconds holds.
const SECONDS: f64 = 1e11;
/// Seconds of an X value from which on it counts from 1904: the year 1935. Files that say so have
/// values of both kinds.
const ABSOLUTE_SECONDS: f64 = 1e9;

/// Where the rows of a segment lie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Axis {
    pub(super) x0: f64,
    pub(super) delta: f64,
    /// Nanoseconds since 1970 UTC of date and time, if the segment has them.
    base: Option<i64>,
    /// The line of a date or time that is not read.
    pub(super) unread: Option<u64>,
    is_absolute: bool,
    /// Rows that the header says.
    pub(super) samples: Option<u64>,
}

/// The nanoseconds since 1970 UTC of a day.
fn nanos_of(year: i32, month: u32, day: u32) -> i64 {
    NaiveDate::from_ymd_opt(year, month, day)
        .and_then(|date| date.and_hms_opt(0, 0, 0))
        .and_then(|at| at.and_utc().timestamp_nanos_opt())
        .unwrap_or_default()
}

/// The date and time of a channel, or those of the file, with the line that has them.
fn date_time<'h>(
    segment: &'h Segment,
    channel: &Channel,
    header: &'h FileHeader,
) -> Option<(&'h str, &'h str, u64)> {
    if let Some(date) = segment.field("Date", channel) {
        return Some((date, segment.field("Time", channel)?, segment.line_of("Time")));
    }
    let of_file = |key: &str| header.fields.get(key).map(String::as_str);
    Some((of_file("Date")?, of_file("Time")?, 1))
}

/// A date and a time, and nanoseconds to add, as digits behind the ninth of a second are rounded.
type Found = (moment::Moment, i64);

/// Reads a date and a time, whose second may have more digits than a column of times keeps.
fn moment_of(date: &str, time: &str, order: Option<DateOrder>) -> Option<Found> {
    let (whole, part) = time.split_once([',', '.']).unwrap_or((time, ""));
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = part.split_at(digits);
    let is_up = digits.as_bytes().get(DIGITS).is_some_and(|digit| *digit >= b'5');
    let digits = digits.get(..DIGITS).unwrap_or(digits);
    let mark = if digits.is_empty() { "" } else { "." };
    let moment = moment::parse_told(&format!("{date} {whole}{mark}{digits}{rest}"), order)?;
    Some((moment, i64::from(is_up)))
}

/// Reads a date and a time in the order that the request names; otherwise in the only one in which
/// they are a date.
fn read_moment(date: &str, time: &str, options: &ImportOptions) -> Option<Found> {
    let read = |order: Option<DateOrder>| moment_of(date, time, order);
    if options.date_order.is_some() {
        return read(options.date_order);
    }
    // Years have four digits here: two may be those of a day.
    let is_long = date.split(['/', '-', '.']).any(|part| part.len() == 4);
    let both = [DateOrder::DayFirst, DateOrder::MonthFirst];
    let mut found = both.into_iter().filter_map(|order| read(Some(order)).filter(|_| is_long));
    read(None).or_else(|| match (found.next(), found.next()) {
        (Some(one), None) => Some(one),
        // A day and a month of one number are a date in both orders.
        (Some(one), Some(other)) => Some(one).filter(|one| *one == other),
        (None, _) => None,
    })
}

impl Axis {
    /// The axis of a channel.
    ///
    /// # Errors
    /// `InvalidArgument` with the line for an `X0` or `Delta_X` that is no number, and for a time
    /// that does not exist in the zone.
    pub(super) fn of(
        segment: &Segment,
        channel: &Channel,
        header: &FileHeader,
        options: &ImportOptions,
    ) -> Result<Self> {
        let real = |key: &str, default: f64| match segment.field(key, channel) {
            None => Ok(default),
            Some(text) => number(text, header.comma).ok_or_else(|| {
                let what = format!("{key} of channel {:?} is {text:?}, no number", channel.name);
                at_line(Error::invalid(what), segment.line_of(key))
            }),
        };
        let dimension = segment.field("X_Dimension", channel).unwrap_or("Time");
        let told =
            date_time(segment, channel, header).filter(|_| dimension.eq_ignore_ascii_case("Time"));
        let (mut base, mut unread) = (None, None);
        if let Some((date, time, line)) = told {
            match read_moment(date, time, options) {
                Some((moment, rounded)) => {
                    let count = moment.count(DataType::TimestampNanos, options.zone, true);
                    let count = count.map_err(|why| {
                        at_line(Error::invalid(format!("the date and time {why}")), line)
                    })?;
                    let count = count.saturating_add(rounded);
                    // A data set without a time has the first moment that LabVIEW knows, as local
                    // time.
                    base = Some(count).filter(|count| *count >= nanos_of(1904, 1, 2));
                }
                None => unread = Some(line),
            }
        }
        Ok(Self {
            x0: real("X0", 0.0)?,
            delta: real("Delta_X", 1.0)?,
            base,
            unread,
            is_absolute: header.is_absolute(),
            samples: segment.field("Samples", channel).and_then(|text| text.parse().ok()),
        })
    }

    /// Whether its rows have times.
    pub(super) fn has_times(&self) -> bool {
        self.base.is_some()
    }

    /// Whether another channel has its rows at the same places.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.x0, self.delta, self.base) == (other.x0, other.delta, other.base)
    }

    /// The X value of a row that has none in the file.
    pub(super) fn x(&self, row: u64) -> f64 {
        self.x0 + row as f64 * self.delta
    }

    /// The nanoseconds since 1970 UTC of an X value; `None` if it is no time that a column holds.
    pub(super) fn time(&self, x: f64) -> Option<i64> {
        let mut base = self.base?;
        if x.is_nan() || x.abs() > SECONDS {
            return None;
        }
        if self.is_absolute && x >= ABSOLUTE_SECONDS {
            base = nanos_of(1904, 1, 1);
        }
        // Apart, so that a large number of seconds leaves the digits of their parts as they are.
        let whole = x.trunc();
        let part = ((x - whole) * 1e9).round();
        let nanos = i128::from(base) + whole as i128 * NANOS + part as i128;
        i64::try_from(nanos).ok()
    }
}
