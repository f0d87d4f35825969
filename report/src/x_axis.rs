//! The column of the x axis: what its values mean, and how they are written.

use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::tables::{Column, DataType};

use crate::number::exact;

/// The x axis of a waveform. A value of x is eight bytes: a whole number, or the bits of a double.
#[derive(Debug)]
pub(crate) struct XAxis {
    pub name: String,
    pub unit: Option<String>,
    pub data_type: DataType,
    pub first: i64,
    pub last: i64,
    /// The distance of each row from the one before; none if they differ, or if rows have one x.
    pub step: Option<i64>,
    rows: u64,
    previous: i64,
    is_regular: bool,
}

impl XAxis {
    pub(crate) fn new(column: &Column) -> Self {
        Self {
            name: column.name.clone(),
            unit: unit(column),
            data_type: column.data_type,
            first: 0,
            last: 0,
            step: None,
            rows: 0,
            previous: 0,
            is_regular: !column.data_type.is_float(),
        }
    }

    /// Takes the next values, which are not below those before.
    pub(crate) fn extend(&mut self, xs: &[i64]) {
        let (Some(&first), Some(&last)) = (xs.first(), xs.last()) else { return };
        if self.rows == 0 {
            self.first = first;
        }
        let mut from = 0;
        if self.rows == 0 {
            self.previous = first;
            from = 1;
        }
        if self.is_regular {
            for &x in &xs[from.min(xs.len())..] {
                let step = x.checked_sub(self.previous);
                if self.step.is_none() {
                    self.step = step;
                }
                if matches!(step, None | Some(0)) || step != self.step {
                    self.is_regular = false;
                    self.step = None;
                    break;
                }
                self.previous = x;
            }
        }
        self.previous = last;
        self.last = last;
        self.rows += xs.len() as u64;
    }

    pub(crate) fn is_float(&self) -> bool {
        self.data_type.is_float()
    }

    /// The distance from the first value, which is negative before it; for doubles the value.
    pub(crate) fn offset(&self, x: i64) -> f64 {
        if self.is_float() {
            return f64::from_bits(x as u64);
        }
        if x < self.first { -(self.first.abs_diff(x) as f64) } else { self.distance(x) as f64 }
    }

    /// Whether both are one place: the doubles 0 and -0 are.
    pub(crate) fn is_same(&self, a: i64, b: i64) -> bool {
        a == b || self.is_float() && self.offset(a) == self.offset(b)
    }

    /// The distance of a whole number from the first one, which is not above it.
    pub(crate) fn distance(&self, x: i64) -> u64 {
        x.wrapping_sub(self.first) as u64
    }

    /// The value as a filter writes it, and a reader reads it.
    pub(crate) fn text(&self, x: i64) -> String {
        cell(self.data_type, x)
    }

    /// The value that a text means; none if it means none.
    pub(crate) fn parse(&self, text: &str) -> Option<i64> {
        let time = || DateTime::parse_from_rfc3339(text).ok();
        match self.data_type {
            DataType::Timestamp => time().map(|time| time.timestamp_millis()),
            DataType::TimestampMicros => time().map(|time| time.timestamp_micros()),
            DataType::TimestampNanos => time().and_then(|time| time.timestamp_nanos_opt()),
            DataType::Float32 | DataType::Float64 => {
                let value: f64 = text.parse().ok()?;
                value.is_finite().then_some(value.to_bits() as i64)
            }
            _ => text.parse().ok(),
        }
    }

    /// Ticks of a second, where the values are times.
    pub(crate) fn ticks_per_second(&self) -> Option<u64> {
        ticks_per_second(self.data_type)
    }
}

/// Ticks of a second of a type of times.
pub(crate) fn ticks_per_second(data_type: DataType) -> Option<u64> {
    match data_type {
        DataType::Timestamp => Some(1_000),
        DataType::TimestampMicros => Some(1_000_000),
        DataType::TimestampNanos => Some(1_000_000_000),
        _ => None,
    }
}

/// The unit that a column says.
pub(crate) fn unit(column: &Column) -> Option<String> {
    column.properties.get("unit").filter(|unit| !unit.is_empty()).cloned()
}

/// A stored value as a cell of its column.
pub(crate) fn cell(data_type: DataType, x: i64) -> String {
    let time = |time: Option<DateTime<Utc>>, form| {
        time.map_or_else(|| x.to_string(), |time| time.to_rfc3339_opts(form, true))
    };
    match data_type {
        DataType::Timestamp => time(DateTime::from_timestamp_millis(x), SecondsFormat::Millis),
        DataType::TimestampMicros => {
            time(DateTime::from_timestamp_micros(x), SecondsFormat::Micros)
        }
        DataType::TimestampNanos => {
            time(Some(DateTime::from_timestamp_nanos(x)), SecondsFormat::Nanos)
        }
        DataType::Float32 | DataType::Float64 => exact(f64::from_bits(x as u64)),
        _ => x.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(data_type: DataType, xs: &[&[i64]]) -> XAxis {
        let mut axis = XAxis::new(&Column::new("t", data_type));
        for piece in xs {
            axis.extend(piece);
        }
        axis
    }

    #[test]
    fn regular_steps_are_noticed_across_pieces() {
        for (xs, step) in [
            (&[&[5_i64, 7, 9][..], &[11, 13]][..], Some(2)),
            (&[&[5], &[7], &[9]], Some(2)),
            (&[&[5, 7, 9], &[12]], None),
            (&[&[5, 7], &[8, 10]], None),
            (&[&[5, 8, 10], &[12, 14]], None),
            (&[&[5]], None),
            (&[&[], &[5, 6]], Some(1)),
            (&[&[i64::MIN, i64::MAX]], None),
            (&[&[5, 5, 5]], None),
            (&[&[5], &[5]], None),
        ] {
            let axis = axis(DataType::Int64, xs);
            assert_eq!(axis.step, step, "{xs:?}");
        }
        let wide = axis(DataType::Int64, &[&[i64::MIN, i64::MAX]]);
        assert_eq!(wide.distance(i64::MAX), u64::MAX);
        assert_eq!(axis(DataType::Float64, &[&[0, 1, 2]]).step, None);
    }

    #[test]
    fn texts_are_cells() {
        for (data_type, text) in [
            (DataType::Timestamp, "2026-11-29T12:00:00.001Z"),
            (DataType::TimestampMicros, "2026-11-29T12:00:00.000001Z"),
            (DataType::TimestampNanos, "2026-11-29T12:00:00.000000001Z"),
            (DataType::Int64, "-9223372036854775808"),
            (DataType::Float64, "0.30000000000000004"),
        ] {
            let axis = axis(data_type, &[]);
            assert_eq!(axis.text(axis.parse(text).unwrap()), text);
            assert_eq!(axis.parse("x"), None);
            assert_eq!(axis.parse("NaN"), None);
            assert_eq!(axis.parse("-inf"), None);
        }
    }

    #[test]
    fn a_place_before_the_first_has_a_negative_offset() {
        let axis = axis(DataType::Int64, &[&[5, 7]]);
        assert_eq!([4, 5, 7].map(|x| axis.offset(x)), [-1.0, 0.0, 2.0]);
        assert_eq!(axis.offset(i64::MIN), -9_223_372_036_854_775_813.0);
    }
}
