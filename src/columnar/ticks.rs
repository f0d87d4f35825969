//! Time columns as 64-bit counts of their unit since 1970 UTC: TIMESTAMP counts milliseconds,
//! TIMESTAMP_US microseconds, TIMESTAMP_NS nanoseconds. Filters, orders, summaries and decimation
//! compare the counts, so all of them have the resolution of the column.

use std::sync::Arc;

use super::schema::UTC;
use crate::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use crate::arrow::buffer::{NullBuffer, ScalarBuffer};
use crate::arrow::datatypes::{
    ArrowTimestampType, DataType as Arrow, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use crate::model::tables::data::DataType;
use crate::value::time;

/// The unit of a time column; `None` for a column of another type.
#[must_use]
pub const fn unit_of(data_type: DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp => Some(TimeUnit::Millisecond),
        DataType::TimestampMicros => Some(TimeUnit::Microsecond),
        DataType::TimestampNanos => Some(TimeUnit::Nanosecond),
        _ => None,
    }
}

/// The type of a time column with this unit; whole seconds are stored as milliseconds.
#[must_use]
pub const fn type_of(unit: TimeUnit) -> DataType {
    match unit {
        TimeUnit::Second | TimeUnit::Millisecond => DataType::Timestamp,
        TimeUnit::Microsecond => DataType::TimestampMicros,
        TimeUnit::Nanosecond => DataType::TimestampNanos,
    }
}

/// Counts of a unit in one second.
#[must_use]
pub const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// The counts of an array of times; empty for an array of another type.
#[must_use]
pub fn ticks(array: &dyn Array) -> &[i64] {
    match array.data_type() {
        Arrow::Timestamp(TimeUnit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().values()
        }
        Arrow::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().values()
        }
        Arrow::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().values()
        }
        Arrow::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().values()
        }
        _ => &[],
    }
}

/// Counts as an array of a time column of this type; milliseconds for a type that has no times.
#[must_use]
pub fn array_of(
    data_type: DataType,
    values: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let unit = unit_of(data_type).unwrap_or(TimeUnit::Millisecond);
    timestamps(unit, Some(UTC), values, nulls)
}

/// Counts as an array of times.
#[must_use]
pub fn timestamps(
    unit: TimeUnit,
    zone: Option<&str>,
    values: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    fn array<T: ArrowTimestampType>(
        zone: Option<&str>,
        values: ScalarBuffer<i64>,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(values, nulls).with_timezone_opt(zone))
    }
    match unit {
        TimeUnit::Second => array::<TimestampSecondType>(zone, values, nulls),
        TimeUnit::Millisecond => array::<TimestampMillisecondType>(zone, values, nulls),
        TimeUnit::Microsecond => array::<TimestampMicrosecondType>(zone, values, nulls),
        TimeUnit::Nanosecond => array::<TimestampNanosecondType>(zone, values, nulls),
    }
}

/// A count of one unit as a count of another; `None` when it is not a whole number of it, or too
/// large. With `cut`, the fraction is cut off towards the past.
#[must_use]
pub fn convert(value: i64, from: TimeUnit, to: TimeUnit, cut: bool) -> Option<i64> {
    let (from, to) = (per_second(from), per_second(to));
    if to >= from {
        return value.checked_mul(to / from);
    }
    let step = from / to;
    (cut || value.rem_euclid(step) == 0).then(|| value.div_euclid(step))
}

/// Whether a time is within the years 0001 to 9999. All counts of nanoseconds are.
#[must_use]
pub fn is_in_years(value: i64, unit: TimeUnit) -> bool {
    let count = |seconds: i64| seconds.checked_mul(per_second(unit));
    let (least, end) = (count(time::MIN_MS / 1000), count(time::MAX_MS / 1000 + 1));
    least.is_none_or(|least| value >= least) && end.is_none_or(|end| value < end)
}

/// A count of seconds and nanoseconds as a count of a unit; `None` as for [`convert`].
#[must_use]
pub fn of_parts(seconds: i64, nanos: u32, unit: TimeUnit, cut: bool) -> Option<i64> {
    let per = per_second(unit);
    let part = convert(i64::from(nanos), TimeUnit::Nanosecond, unit, cut)?;
    // In 128 bits: before 1970 the product alone may lie below the least count.
    i64::try_from(i128::from(seconds) * i128::from(per) + i128::from(part)).ok()
}

/// Reads an ISO-8601 date-time as a count of the column's unit.
///
/// A TIMESTAMP cuts digits below a millisecond off, as the wire does; the finer types refuse what
/// they cannot keep.
#[must_use]
pub fn parse(data_type: DataType, text: &str) -> Option<i64> {
    let unit = unit_of(data_type)?;
    let (seconds, nanos) = time::parse_exactly(text)?;
    of_parts(seconds, nanos, unit, data_type == DataType::Timestamp)
}

/// Appends `YYYY-MM-DDThh:mm:ss.` with the digits of the unit, and `Z`.
pub fn write(value: i64, unit: TimeUnit, out: &mut String) {
    use std::fmt::Write as _;
    let per = per_second(unit);
    let seconds = value.div_euclid(per);
    let digits = per.ilog10() as usize;
    let part = value.rem_euclid(per);
    let _ = write!(out, "{}", time::from_millis(seconds.saturating_mul(1000)).format("%FT%T"));
    let _ = match digits {
        0 => out.write_str("Z"),
        _ => write!(out, ".{part:0digits$}Z"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: [TimeUnit; 3] =
        [TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

    #[test]
    fn texts_keep_their_digits_or_are_refused() {
        let read = |unit, text| parse(type_of(unit), text);
        let text = "1969-12-31T23:59:59.123456789Z";
        assert_eq!(UNITS.map(|unit| read(unit, text)), [Some(-877), None, Some(-876_543_211)]);
        let text = "2024-02-29T12:34:56.123456+02:00";
        assert_eq!(read(TimeUnit::Microsecond, text), Some(1_709_202_896_123_456));
        assert_eq!(read(TimeUnit::Nanosecond, text), Some(1_709_202_896_123_456_000));
        // The largest and the smallest count of nanoseconds, and what lies outside.
        for (text, expected) in [
            ("2262-04-11T23:47:16.854775807Z", Some(i64::MAX)),
            ("2262-04-11T23:47:16.854775808Z", None),
            ("1677-09-21T00:12:43.145224192Z", Some(i64::MIN)),
            ("1677-09-21T00:12:43.145224191Z", None),
        ] {
            assert_eq!(read(TimeUnit::Nanosecond, text), expected, "{text}");
        }
    }

    #[test]
    fn a_count_is_converted_whole_or_cut_when_asked() {
        let (ms, ns) = (TimeUnit::Millisecond, TimeUnit::Nanosecond);
        assert_eq!(convert(-1, ns, ms, false), None);
        assert_eq!(convert(-1, ns, ms, true), Some(-1));
        assert_eq!(convert(-3_000_000, ns, ms, false), Some(-3));
        assert_eq!(convert(i64::MAX, ms, ns, true), None);
    }

    proptest! {
        #[test]
        fn every_count_is_read_back(value: i64) {
            let mut text = String::new();
            write(value, TimeUnit::Nanosecond, &mut text);
            prop_assert_eq!(parse(DataType::TimestampNanos, &text), Some(value), "{}", text);
            let value = value / 64;
            if is_in_years(value, TimeUnit::Microsecond) {
                text.clear();
                write(value, TimeUnit::Microsecond, &mut text);
                prop_assert_eq!(parse(DataType::TimestampMicros, &text), Some(value), "{}", text);
            }
        }
    }
}
