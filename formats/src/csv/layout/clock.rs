//! The times of rows that have no column of times: a start and an interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use stationdb::arrow::array::{ArrayRef, Float64Array};
use stationdb::arrow::buffer::ScalarBuffer;
use stationdb::tables::readers::ticks;
use stationdb::tables::{Column, ColumnType, DataType};
use stationdb::{Error, Result};

use crate::moment;
use crate::options::ImportOptions;

const INTERVALS: [&str; 9] = [
    "sample interval",
    "sampling interval",
    "sampling",
    "sampling period",
    "xinc",
    "xincrement",
    "increment",
    "tinc",
    "dt",
];
const RATES: [&str; 2] = ["sample rate", "sampling rate"];
const STARTS: [&str; 4] = ["xorg", "xorigin", "start", "t0"];

/// The times of rows at equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::csv) enum Clock {
    /// Seconds from a trigger, or from the first row.
    Seconds { start: f64, interval: f64 },
    /// Nanoseconds since 1970 UTC.
    Instants { start: i64, interval: i64 },
}

/// A number with a unit of time or rate, such as `100ms`, in seconds or hertz.
fn quantity(text: &str) -> Option<f64> {
    let text = text.rsplit(':').next().unwrap_or(text).trim();
    let is_part = |part: &str| part.parse::<f64>().is_ok();
    let len = (1..=text.len()).rev().find(|len| text.get(..*len).is_some_and(is_part))?;
    let scale = match text.get(len..)?.trim() {
        "" | "s" | "sec" | "S" | "Hz" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" | "μs" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "h" => 3600.0,
        "kHz" => 1e3,
        "MHz" => 1e6,
        _ => return None,
    };
    let value: f64 = text.get(..len)?.parse().ok()?;
    Some(value * scale).filter(|value| value.is_finite())
}

/// The value of one of these keys in a header, with its key.
fn found(properties: &BTreeMap<String, String>, keys: &[&str]) -> Option<(String, f64)> {
    keys.iter().find_map(|wanted| {
        properties.iter().find_map(|(key, text)| {
            let is_key = key.trim_end_matches([':', '=', ' ']).eq_ignore_ascii_case(wanted);
            Some((key.clone(), quantity(text).filter(|_| is_key)?))
        })
    })
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

    /// The clock that the header of a file names, with what says so.
    pub(super) fn of_header(properties: &BTreeMap<String, String>) -> Option<(Self, String)> {
        let rate = || {
            let (key, rate) = found(properties, &RATES).filter(|(_, rate)| *rate > 0.0)?;
            Some((key, rate.recip()))
        };
        let (key, interval) =
            found(properties, &INTERVALS).filter(|(_, interval)| *interval > 0.0).or_else(rate)?;
        let (start_key, start) = found(properties, &STARTS).unwrap_or_default();
        let start_told =
            if start_key.is_empty() { "0".to_owned() } else { format!("{start_key:?}") };
        let told = format!("the column of times begins with {start_told} and goes on by {key:?}");
        Some((Self::Seconds { start, interval }, told))
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
        for (text, expected) in [
            ("1s", Some(1.0)),
            ("100ms", Some(0.1)),
            ("4e-09", Some(4e-9)),
            ("2.5 us", Some(2.5e-6)),
            ("Second:2.000e-09", Some(2e-9)),
            ("1e+06Hz", Some(1e6)),
            ("2 kHz", Some(2e3)),
            ("10 parsecs", None),
            ("", None),
            ("fast", None),
            ("1e999", None),
            ("µs", None),
        ] {
            let near = |value: f64, other: f64| (value / other - 1.0).abs() < 1e-12;
            let found = quantity(text);
            let same = found.zip(expected).is_some_and(|(a, b)| near(a, b));
            assert!(same || found.is_none() && expected.is_none(), "{text}: {found:?}");
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
