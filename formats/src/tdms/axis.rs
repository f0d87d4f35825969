//! The axis of channels that are waveforms.

use super::contents::Properties;
use super::time::{Moment, TimeStep};
use super::types::Value;

pub(super) const START_TIME: &str = "wf_start_time";
pub(super) const START_OFFSET: &str = "wf_start_offset";
pub(super) const INCREMENT: &str = "wf_increment";
pub(super) const X_NAME: &str = "wf_xname";
pub(super) const X_UNIT: &str = "wf_xunit_string";
/// The property with the unit of values.
pub(super) const UNIT: &str = "unit_string";

/// Nanoseconds of a second.
const NANOS: f64 = 1e9;
/// 2^64.
const FIXED: f64 = 18_446_744_073_709_551_616.0;

/// The properties that tell the axis of a channel; channels with equal ones share it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waveform {
    pub(super) start: Option<Moment>,
    pub(super) offset: f64,
    pub(super) increment: f64,
    pub(super) unit: Option<String>,
    pub(super) name: Option<String>,
}

/// The places of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Axis {
    /// Times, in 2^-64 seconds since 1904.
    Time { start: i128, step: i128 },
    /// Nanoseconds, in 2^-64 seconds.
    Nanos { start: i128, step: i128 },
    /// Numbers in the unit of the axis.
    Numbers { start: f64, step: f64 },
}

impl Waveform {
    /// The waveform properties of a channel; `None` without an increment.
    pub(super) fn of(properties: &Properties) -> Option<Self> {
        let number = |name| properties.get(name).and_then(Value::number);
        let text = |name| {
            let text = properties.get(name).and_then(Value::as_text)?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let start = match properties.get(START_TIME) {
            Some(Value::Time(start)) => Some(*start),
            _ => None,
        };
        let increment = number(INCREMENT).filter(|step| step.is_finite() && *step != 0.0)?;
        let offset = number(START_OFFSET).filter(|offset| offset.is_finite()).unwrap_or_default();
        Some(Self { start, offset, increment, unit: text(X_UNIT), name: text(X_NAME) })
    }

    /// The name of the axis.
    pub(super) fn name(&self) -> &str {
        let usual = if self.is_seconds() { "time" } else { "x" };
        self.name.as_deref().unwrap_or(usual)
    }

    /// The unit of numbers on the axis.
    pub(super) fn unit(&self) -> &str {
        self.unit.as_deref().unwrap_or("s")
    }

    fn is_seconds(&self) -> bool {
        matches!(self.unit.as_deref(), None | Some("s" | "sec" | "seconds" | "Seconds"))
    }

    /// The axis of `len` rows: times or nanoseconds where these differ from row to row and are in
    /// the years of a column of times.
    pub(super) fn axis(&self, len: u64) -> Axis {
        let numbers = Axis::Numbers { start: self.offset, step: self.increment };
        if !self.is_seconds() || self.increment < 1e-9 {
            return numbers;
        }
        let step = fixed(self.increment);
        let ends = || {
            let first = self.start.map_or(0, Moment::fixed).checked_add(fixed(self.offset)?)?;
            let last = step?.checked_mul(i128::from(len.saturating_sub(1)))?.checked_add(first)?;
            let has_count = |at: i128| place(at, self.start.is_some()).is_some();
            (has_count(first) && has_count(last)).then_some(first)
        };
        match (ends(), step, self.start) {
            (Some(start), Some(step), Some(_)) => Axis::Time { start, step },
            (Some(start), Some(step), None) => Axis::Nanos { start, step },
            _ => numbers,
        }
    }
}

/// Seconds in 2^-64 seconds. The nearest double of a whole number of nanoseconds is that number, so
/// that its error does not grow with the rows.
fn fixed(seconds: f64) -> Option<i128> {
    if seconds.abs() >= 1e12 {
        return None;
    }
    let nanos = (seconds * NANOS).round();
    if nanos.abs() < 9e15 && nanos / NANOS == seconds {
        let per_second = NANOS as i128;
        return Some((((nanos as i128) << 64) + per_second / 2).div_euclid(per_second));
    }
    Some((seconds * FIXED).round() as i128)
}

/// Nanoseconds since 1970 of a time, or those of a number of seconds; and whether they are rounded.
fn place(at: i128, is_time: bool) -> Option<(i64, bool)> {
    let epoch = if is_time { 0 } else { 2_082_844_800i128 << 64 };
    let at = at.checked_add(epoch)?;
    i64::try_from(at >> 64).ok()?;
    Moment::of_fixed(at).count(TimeStep::Nanos)
}

impl Axis {
    /// The places of `count` rows from `row`, as nanoseconds.
    pub(super) fn nanos(&self, row: u64, count: usize) -> Vec<i64> {
        let (Self::Time { start, step } | Self::Nanos { start, step }) = *self else {
            return Vec::new();
        };
        let is_time = matches!(self, Self::Time { .. });
        let first = start + step * i128::from(row);
        let places = (0..count).map(|at| first + step * at as i128);
        places.map(|at| place(at, is_time).map_or(0, |(nanos, _)| nanos)).collect()
    }

    /// The places of `count` rows from `row`, as numbers.
    pub(super) fn numbers(&self, row: u64, count: usize) -> Vec<f64> {
        let Self::Numbers { start, step } = *self else { return Vec::new() };
        (row..).take(count).map(|row| start + row as f64 * step).collect()
    }

    /// Whether places are rounded to nanoseconds.
    pub(super) fn is_rounded(&self) -> bool {
        let (Self::Time { start, step } | Self::Nanos { start, step }) = *self else {
            return false;
        };
        [start, step].into_iter().any(|at| place(at, false).is_none_or(|(_, rounded)| rounded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waveform(start: Option<i64>, offset: f64, increment: f64) -> Waveform {
        let start = start.map(|seconds| Moment { seconds, fraction: 0 });
        Waveform { start, offset, increment, unit: None, name: None }
    }

    #[test]
    fn places_are_the_nearest_nanoseconds_however_many_rows_there_are() {
        let axis = waveform(Some(2_082_844_800), 0.5, 0.1).axis(1_000_000_000);
        assert!(matches!(axis, Axis::Time { .. }) && !axis.is_rounded());
        assert_eq!(axis.nanos(0, 3), [500_000_000, 600_000_000, 700_000_000]);
        assert_eq!(axis.nanos(999_999_999, 1), [100_000_000_400_000_000]);
        let thirds = waveform(None, 0.0, 1.0 / 3.0).axis(10_000_000);
        assert!(matches!(thirds, Axis::Nanos { .. }) && thirds.is_rounded());
        assert_eq!(thirds.nanos(9_999_998, 2), [3_333_332_666_666_666, 3_333_333_000_000_000]);
    }

    #[test]
    fn other_places_are_numbers() {
        for axis in [
            waveform(Some(0), 2.0, 1e-10).axis(10),
            waveform(Some(0), 2.0, -0.5).axis(10),
            // The last time is after the year 2262.
            waveform(Some(0), 2.0, 1e9).axis(1_000),
            waveform(Some(i64::MAX), 2.0, 1.0).axis(1),
            Waveform { unit: Some("Hz".to_owned()), ..waveform(Some(0), 2.0, 0.5) }.axis(10),
        ] {
            assert!(matches!(axis, Axis::Numbers { start: 2.0, .. }), "{axis:?}");
        }
        assert_eq!(waveform(None, 2.0, 1e-10).axis(10).numbers(1, 2), [2.0 + 1e-10, 2.0 + 2e-10]);
    }
}
