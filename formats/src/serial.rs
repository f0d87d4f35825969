//! The dates of spreadsheets: days since 1900 or 1904, with the time of day as a fraction.

use chrono::{NaiveDate, TimeDelta};
use stationdb::tables::DataType;

use crate::moment::Moment;

/// The days that a spreadsheet counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serial {
    /// 1 is 1900-01-01, and 60 a 29 February that 1900 did not have.
    From1900,
    /// 0 is 1904-01-01.
    From1904,
}

/// The number of 1900-02-29.
const NO_DAY: f64 = 60.0;
const DAY_MILLIS: u64 = 86_400_000;
const DAY_MICROS: u64 = 86_400_000_000;

/// A number of days times `steps`, rounded once, halves upwards. The number is not negative, and below
/// 2 to the power of 32.
fn rounded(days: f64, steps: u64) -> u64 {
    const FRACTION_BITS: u64 = 52;
    let bits = days.to_bits();
    let (power, fraction) = (bits >> FRACTION_BITS, bits & ((1 << FRACTION_BITS) - 1));
    // Numbers without a power are below any step.
    let Some(shift) = 1075_u64.checked_sub(power).filter(|shift| (1..120).contains(shift)) else {
        return 0;
    };
    let product = u128::from(fraction | 1 << FRACTION_BITS) * u128::from(steps);
    ((product + (1 << (shift - 1))) >> shift) as u64
}

impl Serial {
    /// The year that messages name.
    pub(crate) const fn year(self) -> u16 {
        match self {
            Self::From1900 => 1900,
            Self::From1904 => 1904,
        }
    }

    /// The local time of a number of days, to the millisecond in a column of these, else to the
    /// microsecond: a number of 64 bits holds nothing finer. The error says why there is none.
    pub(crate) fn moment(self, days: f64, data_type: DataType) -> Result<Moment, &'static str> {
        let (first, years) = match self {
            Self::From1900 => (1.0, 2_958_466.0),
            Self::From1904 => (0.0, 2_957_004.0),
        };
        if (0.0..first).contains(&days) {
            return Err("is a time of day without a date");
        }
        if !(first..years).contains(&days) {
            return Err("is no number of days of a spreadsheet, whose years end with 9999");
        }
        if self == Self::From1900 && (NO_DAY..NO_DAY + 1.0).contains(&days) {
            return Err("is 29 February 1900, which spreadsheets have and no calendar has");
        }
        let (year, month, day) = match self {
            Self::From1900 if days < NO_DAY => (1899, 12, 31),
            Self::From1900 => (1899, 12, 30),
            Self::From1904 => (1904, 1, 1),
        };
        let steps = if data_type == DataType::Timestamp { DAY_MILLIS } else { DAY_MICROS };
        let (count, per_second) = (rounded(days, steps), steps / 86_400);
        let seconds = i64::try_from(count / per_second).unwrap_or(i64::MAX);
        let nanos = (count % per_second) * (1_000_000_000 / per_second);
        NaiveDate::from_ymd_opt(year, month, day)
            .and_then(|day| day.and_hms_opt(0, 0, 0))
            .zip(TimeDelta::try_seconds(seconds))
            .and_then(|(first, since)| first.checked_add_signed(since))
            .zip(u32::try_from(nanos).ok())
            .map(|(local, nanos)| Moment::local(local, nanos))
            .ok_or("is no number of days of a spreadsheet")
    }
}

#[cfg(test)]
mod tests {
    use stationdb::arrow::datatypes::TimeUnit;
    use stationdb::tables::readers::ticks;

    use super::*;
    use crate::zone::Zone;

    fn shown(serial: Serial, days: f64, data_type: DataType) -> Result<String, &'static str> {
        let count = serial.moment(days, data_type)?.count(data_type, Zone::Utc, false)?;
        let unit = match data_type {
            DataType::Timestamp => TimeUnit::Millisecond,
            DataType::TimestampMicros => TimeUnit::Microsecond,
            _ => TimeUnit::Nanosecond,
        };
        let mut out = String::new();
        ticks::write(count, unit, &mut out);
        Ok(out)
    }

    #[test]
    fn days_are_those_of_spreadsheets() {
        use DataType::{Timestamp, TimestampMicros, TimestampNanos};
        use Serial::{From1900, From1904};
        for (serial, days, data_type, expected) in [
            (From1900, 1.0, Timestamp, "1900-01-01T00:00:00.000Z"),
            (From1900, 59.5, Timestamp, "1900-02-28T12:00:00.000Z"),
            (From1900, 61.0, Timestamp, "1900-03-01T00:00:00.000Z"),
            (From1900, 25569.0, Timestamp, "1970-01-01T00:00:00.000Z"),
            (From1900, 45992.0, Timestamp, "2025-12-01T00:00:00.000Z"),
            (From1900, 45_992.604_166, Timestamp, "2025-12-01T14:29:59.942Z"),
            (From1900, 45_992.604_166, TimestampMicros, "2025-12-01T14:29:59.942400Z"),
            (From1900, 45_992.604_166_666_664, TimestampMicros, "2025-12-01T14:30:00.000000Z"),
            (From1900, 45_992.604_166_666_664, TimestampNanos, "2025-12-01T14:30:00.000000000Z"),
            // Fifteen digits, as most programs write: 4 microseconds less or more.
            (From1900, 45_992.604_166_666_7, TimestampMicros, "2025-12-01T14:30:00.000003Z"),
            (From1900, 45_992.604_166_666_7, Timestamp, "2025-12-01T14:30:00.000Z"),
            (From1900, 45_992.999_999_999_9, Timestamp, "2025-12-02T00:00:00.000Z"),
            (From1900, 2_958_465.0, Timestamp, "9999-12-31T00:00:00.000Z"),
            (From1904, 0.0, Timestamp, "1904-01-01T00:00:00.000Z"),
            (From1904, 0.25, Timestamp, "1904-01-01T06:00:00.000Z"),
            (From1904, 5e-324, TimestampMicros, "1904-01-01T00:00:00.000000Z"),
            (From1904, 44_530.5, Timestamp, "2025-12-01T12:00:00.000Z"),
            (From1904, 2_957_003.0, Timestamp, "9999-12-31T00:00:00.000Z"),
        ] {
            let found = shown(serial, days, data_type);
            assert_eq!(found.as_deref(), Ok(expected), "{serial:?} {days}");
        }
        for (serial, days, part) in [
            (From1900, 0.5, "without a date"),
            (From1900, 0.0, "without a date"),
            (From1900, 60.0, "29 February 1900"),
            (From1900, 60.99, "29 February 1900"),
            (From1900, -1.0, "no number of days"),
            (From1900, 2_958_466.0, "no number of days"),
            (From1904, -0.5, "no number of days"),
            (From1904, 2_957_004.0, "no number of days"),
            (From1904, f64::NAN, "no number of days"),
            (From1900, f64::INFINITY, "no number of days"),
        ] {
            let why = shown(serial, days, Timestamp).unwrap_err();
            assert!(why.contains(part), "{serial:?} {days}: {why}");
        }
    }

    /// A spreadsheet stores a time of whole microseconds as the nearest double; up to 2079 it comes
    /// back.
    #[test]
    fn times_of_whole_microseconds_come_back() {
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let micros = (state >> 8) % (65_536 - 61) * DAY_MICROS + (state >> 3) % DAY_MICROS;
            let micros = micros + 61 * DAY_MICROS;
            // The quotient, rounded once.
            let (day, rest) = (micros / DAY_MICROS, micros % DAY_MICROS);
            let scaled = (u128::from(rest) << 80) / u128::from(DAY_MICROS);
            let bits = 52 - day.ilog2();
            let step = 1u128 << (80 - bits);
            let near = (scaled + step / 2) / step;
            let days = day as f64 + near as f64 / 2f64.powi(bits as i32);
            assert_eq!(rounded(days, DAY_MICROS), micros, "{days}");
        }
    }
}
