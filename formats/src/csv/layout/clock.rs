//! The times of rows that have no column of times: a start and an interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float64Array};
use stationdb::arrow::buffer::ScalarBuffer;
use stationdb::tables::readers::ticks;
use stationdb::tables::{Column, ColumnType, DataType};
use stationdb::{Error, Result};

use super::names::Named;
use crate::moment;
use crate::options::ImportOptions;

/// Keys without their blanks, their unit, and what separates them from values.
const INTERVALS: [&str; 11] = [
    "sampleinterval",
    "samplinginterval",
    "sampling",
    "sampleperiod",
    "samplingperiod",
    "xinc",
    "xincrement",
    "increment",
    "hresolution",
    "tinc",
    "dt",
];
const RATES: [&str; 2] = ["samplerate", "samplingrate"];
const STARTS: [&str; 4] = ["xorg", "xorigin", "start", "t0"];

/// The times of rows at equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::csv) enum Clock {
    /// Seconds from a trigger, or from the first row.
    Seconds { start: f64, interval: f64 },
    /// Nanoseconds since 1970 UTC.
    Instants { start: i64, interval: i64 },
}

/// A number of a header.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    /// One without a unit.
    Number(f64),
    Seconds(f64),
    /// `hh:mm:ss`, which may also be a time of the day.
    Duration(f64),
    Hertz(f64),
}

/// The seconds of `hh:mm:ss`, whose seconds may have decimals.
fn seconds_of(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let mut whole = || {
        let part = parts.next().filter(|part| (1..=4).contains(&part.len()))?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<f64>().ok()).flatten()
    };
    let (hours, minutes) = (whole()?, whole()?);
    let seconds = parts.next().filter(|part| part.starts_with(|at: char| at.is_ascii_digit()))?;
    let seconds = seconds.parse::<f64>().ok().filter(|seconds| *seconds < 60.0)?;
    (parts.next().is_none() && minutes < 60.0).then_some((hours * 60.0 + minutes) * 60.0 + seconds)
}

/// A number with a unit of time or rate, such as `100ms`, a duration such as `00:01:30`, or either
/// behind a word, as in `Second:2e-9`.
fn quantity(text: &str) -> Option<Quantity> {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let text = match text.split_once(':') {
        Some((word, rest)) if is_word(word.trim()) => rest.trim(),
        _ => text.trim(),
    };
    if text.contains(':') {
        return seconds_of(text).map(Quantity::Duration);
    }
    let is_part = |part: &str| part.parse::<f64>().is_ok();
    let len = (1..=text.len()).rev().find(|len| text.get(..*len).is_some_and(is_part))?;
    let value = text.get(..len)?.parse().ok().filter(|value: &f64| value.is_finite())?;
    let found = match text.get(len..)?.trim() {
        "" => Quantity::Number(value),
        "s" | "sec" | "S" => Quantity::Seconds(value),
        "ms" => Quantity::Seconds(value * 1e-3),
        "us" | "µs" | "μs" => Quantity::Seconds(value * 1e-6),
        "ns" => Quantity::Seconds(value * 1e-9),
        "min" => Quantity::Seconds(value * 60.0),
        "h" => Quantity::Seconds(value * 3600.0),
        "Hz" | "S/s" | "Sa/s" => Quantity::Hertz(value),
        "kHz" | "kS/s" | "kSa/s" => Quantity::Hertz(value * 1e3),
        "MHz" | "MS/s" | "MSa/s" => Quantity::Hertz(value * 1e6),
        "GHz" | "GS/s" | "GSa/s" => Quantity::Hertz(value * 1e9),
        _ => return None,
    };
    Some(found)
}

/// Whether a text is a number of a header, with a unit or without.
pub(super) fn is_quantity(text: &str) -> bool {
    quantity(text).is_some()
}

/// A pair of a header.
#[derive(Clone, Debug)]
struct Pair<'p> {
    key: &'p str,
    text: &'p str,
    /// The key without its blanks and its unit, in lower case.
    plain: String,
    /// The unit in brackets at the end of the key.
    unit: Option<String>,
}

impl<'p> Pair<'p> {
    fn new(key: &'p str, text: &'p str) -> Self {
        let Named { name, unit, .. } = Named::with_unit(key.trim_end_matches([':', '=', ' ']));
        let plain = name.chars().filter(|one| !one.is_whitespace()).collect::<String>();
        Self { key, text, plain: plain.to_lowercase(), unit }
    }

    /// The number, with the unit of the key if it has none of its own.
    fn quantity(&self) -> Option<Quantity> {
        match (quantity(self.text)?, &self.unit) {
            (Quantity::Number(_), Some(unit)) => quantity(&format!("{} {unit}", self.text)),
            (found, _) => Some(found),
        }
    }
}

/// The pairs with one of these keys, in the order of the keys.
fn found<'a, 'p>(
    pairs: &'a [Pair<'p>],
    keys: &'static [&'static str],
) -> impl Iterator<Item = &'a Pair<'p>> + Clone {
    keys.iter().flat_map(move |wanted| pairs.iter().filter(move |pair| pair.plain == *wanted))
}

impl Clock {
    /// The clock that a request names; `None` without an interval.
    ///
    /// # Errors
    /// `InvalidArgument` with the member.
    pub(in crate::csv) fn named(options: &ImportOptions) -> Result<Option<Self>> {
        let Some(text) = &options.sample_interval else {
            return match &options.start_time {
                None => Ok(None),
                Some(_) => Err(Error::invalid(
                    "a start needs the interval of the rows; set sampleInterval",
                )
                .at_member("startTime")),
            };
        };
        let interval = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        let interval = interval.ok_or_else(|| {
            Error::invalid(format!("{text:?} is no number of seconds above 0, such as \"0.001\""))
                .at_member("sampleInterval")
        })?;
        let Some(text) = &options.start_time else {
            return Ok(Some(Self::Seconds { start: 0.0, interval }));
        };
        if let Some(start) = text.parse::<f64>().ok().filter(|start| start.is_finite()) {
            return Ok(Some(Self::Seconds { start, interval }));
        }
        let bad = |why: &str| Error::invalid(format!("{text:?} {why}")).at_member("startTime");
        let start = moment::parse_told(text, options.date_order)
            .ok_or_else(|| bad("is neither a number of seconds nor a date and time"))?
            .count(DataType::TimestampNanos, options.zone, false)
            .map_err(bad)?;
        let nanos = (interval * 1e9).round();
        if nanos / 1e9 != interval || !(1.0..=9e18).contains(&nanos) {
            return Err(Error::invalid(
                "from a date on, rows need an interval of whole nanoseconds; give startTime as a \
                 number of seconds",
            )
            .at_member("sampleInterval"));
        }
        Ok(Some(Self::Instants { start, interval: nanos as i64 }))
    }

    /// The clock that the header of a file names, and what the report says of it, also where its
    /// interval is none that is read.
    pub(super) fn of_header(
        properties: &BTreeMap<String, String>,
    ) -> (Option<Self>, Option<String>) {
        // The unit says what a number is, and the key if there is none.
        let pairs = properties.iter().map(|(key, text)| Pair::new(key, text));
        let pairs: Vec<Pair<'_>> = pairs.collect();
        let read = |pair: &Pair<'_>, is_rate: bool| match pair.quantity()? {
            Quantity::Number(value) if !is_rate => Some(value),
            Quantity::Number(value) | Quantity::Hertz(value) => Some(value.recip()),
            Quantity::Seconds(value) | Quantity::Duration(value) => Some(value),
        };
        let intervals = found(&pairs, &INTERVALS).map(|pair| (pair, false));
        let mut all = intervals.chain(found(&pairs, &RATES).map(|pair| (pair, true)));
        let first = all.clone().next();
        let interval = all.find_map(|(pair, is_rate)| {
            let interval = read(pair, is_rate)?;
            (interval.is_finite() && interval > 0.0).then_some((pair.key, interval))
        });
        let Some((key, interval)) = interval else {
            let told = first.map(|(Pair { key, text, .. }, _)| {
                format!(
                    "{key:?} is {text:?}, which is no interval of rows that is read, so there is no \
                     column of times; sampleInterval says it"
                )
            });
            return (None, told);
        };
        let starts = || found(&pairs, &STARTS);
        let start = starts().find_map(|pair| match pair.quantity()? {
            Quantity::Number(start) | Quantity::Seconds(start) => Some((pair.key, start)),
            Quantity::Duration(_) | Quantity::Hertz(_) => None,
        });
        let begins = match (start, starts().next()) {
            (Some((key, _)), _) => format!("{key:?}"),
            (None, Some(Pair { key, text, .. })) => {
                format!("0, as {key:?} is {text:?}, which is no number of seconds,")
            }
            (None, None) => "0".to_owned(),
        };
        let start = start.map_or(0.0, |(_, start)| start);
        let told = format!(
            "the column of times begins with {begins} and goes on by {key:?}, in seconds; \
             sampleInterval and startTime say otherwise"
        );
        (Some(Self::Seconds { start, interval }), Some(told))
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Seconds { .. } => DataType::Float64,
            Self::Instants { .. } => DataType::TimestampNanos,
        }
    }

    /// The column of the times, with a name that is not among `names`.
    pub(in crate::csv) fn column(self, names: &[String]) -> Column {
        let others = (2u64..).map(|at| format!("time_{at}"));
        let mut free = std::iter::once("time".to_owned()).chain(others);
        let name = free.find(|name| !names.contains(name)).unwrap_or_default();
        let mut column = Column::new(name, self.data_type()).column_type(ColumnType::Nullable);
        if let Self::Seconds { .. } = self {
            column.properties.insert("unit".to_owned(), "s".to_owned());
        }
        column
    }

    /// The times of `count` rows, the first of which is `row` of the file.
    ///
    /// # Errors
    /// `InvalidArgument` for a time that 64 bits do not hold.
    pub(in crate::csv) fn times(self, row: u64, count: usize) -> Result<ArrayRef> {
        let rows = row..row + count as u64;
        match self {
            Self::Seconds { start, interval } => Ok(Arc::new(Float64Array::from_iter_values(
                rows.map(|row| (row as f64).mul_add(interval, start)),
            ))),
            Self::Instants { start, interval } => {
                let time = |row| i64::try_from(row).ok()?.checked_mul(interval)?.checked_add(start);
                let times: Option<Vec<i64>> = rows.map(time).collect();
                let times = times.ok_or_else(|| {
                    Error::invalid("the times of the rows go beyond the year 2262")
                        .at_member("sampleInterval")
                })?;
                Ok(ticks::array_of(DataType::TimestampNanos, ScalarBuffer::from(times), None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        use Quantity::{Duration, Hertz, Number, Seconds};
        for (text, expected) in [
            ("1s", Some(Seconds(1.0))),
            ("100ms", Some(Seconds(0.1))),
            ("4e-09", Some(Number(4e-9))),
            ("2.5 us", Some(Seconds(2.5e-6))),
            ("Second:2.000e-09", Some(Number(2e-9))),
            ("Analog: 4 ms", Some(Seconds(4e-3))),
            ("1e+06Hz", Some(Hertz(1e6))),
            ("2 kSa/s", Some(Hertz(2e3))),
            ("00:01:30", Some(Duration(90.0))),
            ("12:00:00.25", Some(Duration(43_200.25))),
            ("00:01:60", None),
            ("01:30", None),
            ("1:2:3:4", None),
            ("2024/01/31 12:00:30", None),
            ("2024-01-31T12:00:30", None),
            ("10 parsecs", None),
            ("", None),
            ("fast", None),
            ("1e999", None),
            ("µs", None),
        ] {
            let parts = |of: Quantity| match of {
                Number(value) => ("number", value),
                Seconds(value) => ("seconds", value),
                Duration(value) => ("duration", value),
                Hertz(value) => ("hertz", value),
            };
            let near = |value: f64, other: f64| (value / other - 1.0).abs() < 1e-12;
            let found = quantity(text);
            let same = found.map(parts).zip(expected.map(parts));
            let same = same.is_some_and(|((a, x), (b, y))| a == b && near(x, y));
            assert!(same || found.is_none() && expected.is_none(), "{text}: {found:?}");
        }
    }

    #[test]
    fn headers_name_the_times_of_rows_or_say_why_not() {
        for (pairs, expected, told) in [
            ("Sampling=00:01:30", Some((0.0, 90.0)), "begins with 0 and goes on by \"Sampling\""),
            ("Sampling rate=4 Hz;Start=-2 s", Some((-2.0, 0.25)), "begins with \"Start\""),
            ("Sampling rate=100ms", Some((0.0, 0.1)), "goes on by \"Sampling rate\""),
            ("dt=0.5;Start=14:05:10", Some((0.0, 0.5)), "as \"Start\" is \"14:05:10\""),
            ("dt=0.5;Start=9000 Hz", Some((0.0, 0.5)), "as \"Start\" is \"9000 Hz\""),
            ("dt=0.5;t0=2024-01-31 12:00:30", Some((0.0, 0.5)), "no number of seconds"),
            ("SampleRate=1000", Some((0.0, 0.001)), "goes on by \"SampleRate\""),
            ("HResolution=2.5e-4", Some((0.0, 0.00025)), "goes on by \"HResolution\""),
            ("Sample Interval (ms)=2", Some((0.0, 0.002)), "goes on by \"Sample Interval (ms)\""),
            ("Sample Interval (s)=5 ms", Some((0.0, 0.005)), "goes on by"),
            ("Sampling Rate [kHz]=4;Start (ms)=-2", Some((-0.002, 0.00025)), "\"Start (ms)\""),
            ("Sampling Rate [furlongs]=4", None, "\"4\", which is no interval"),
            ("Sampling=fast", None, "\"Sampling\" is \"fast\", which is no interval"),
            ("Sampling=00:00:00", None, "no interval of rows that is read"),
            ("Start=1", None, ""),
        ] {
            let pairs = pairs.split(';').filter_map(|pair| pair.split_once('='));
            let header = pairs.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
            let (clock, found) = Clock::of_header(&header);
            let expected = expected.map(|(start, interval)| Clock::Seconds { start, interval });
            assert_eq!(clock, expected, "{header:?}");
            assert!(found.unwrap_or_default().contains(told), "{header:?}");
        }
    }

    #[test]
    fn times_begin_with_the_start_and_go_on_by_the_interval() {
        let clock = |interval: &str, start: Option<&str>| {
            Clock::named(&ImportOptions {
                sample_interval: Some(interval.to_owned()),
                start_time: start.map(str::to_owned),
                ..ImportOptions::default()
            })
        };
        assert_eq!(
            clock("0.5", Some("-1")).unwrap(),
            Some(Clock::Seconds { start: -1.0, interval: 0.5 })
        );
        let found = clock("0.001", Some("2024-01-31 12:00")).unwrap().unwrap();
        let array = found.times(2, 2).unwrap();
        let start = 1_706_702_400_000_000_000;
        assert_eq!(ticks::ticks(&array), [start + 2_000_000, start + 3_000_000]);
        for (interval, start, member) in [
            ("x", None, "sampleInterval"),
            ("0", None, "sampleInterval"),
            ("-1", None, "sampleInterval"),
            ("1", Some("noon"), "startTime"),
            ("1e-10", Some("2024-01-31"), "sampleInterval"),
        ] {
            let error = clock(interval, start).unwrap_err();
            assert!(format!("{:?}", error.place()).contains(member), "{interval}: {error}");
        }
        let late = Clock::Instants { start: i64::MAX - 5, interval: 3 };
        assert!(late.times(0, 2).is_ok() && late.times(0, 3).is_err());
    }
}
