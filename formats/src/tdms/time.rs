//! Times in seconds and 2^-64 seconds since 1904.

use chrono::{DateTime, NaiveDateTime};

/// Seconds from 1904 to 1970.
const TO_1970: i64 = 2_082_844_800;
const NANOS: u128 = 1_000_000_000;
const MICROS: u128 = 1_000_000;
/// What is nearer to a whole count than a femtosecond is one: no decimal fraction is a whole number
/// of 2^-64 seconds.
const FEMTOSECOND: u64 = 18_447;

/// A time since 1904-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) seconds: i64,
    /// In 2^-64 seconds.
    pub(super) fraction: u64,
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeStep {
    Nanos,
    Micros,
}

impl TimeStep {
    const fn per_second(self) -> u128 {
        match self {
            Self::Nanos => NANOS,
            Self::Micros => MICROS,
        }
    }
}

impl Moment {
    /// A number of 2^-64 seconds since 1904.
    pub(super) const fn of_fixed(fixed: i128) -> Self {
        Self { seconds: (fixed >> 64) as i64, fraction: fixed as u64 }
    }

    /// The number of 2^-64 seconds since 1904.
    pub(super) const fn fixed(self) -> i128 {
        ((self.seconds as i128) << 64) | self.fraction as i128
    }

    /// The nearest count of a unit since 1970, and whether the time is between two counts. `None`
    /// for a count beyond 64 bits.
    pub(super) fn count(self, step: TimeStep) -> Option<(i64, bool)> {
        let per_second = step.per_second();
        let parts = u128::from(self.fraction) * per_second;
        let counts = (parts + (1 << 63)) >> 64;
        let beyond = parts as u64;
        let away = u128::from(beyond.min(beyond.wrapping_neg()));
        let is_between = away > u128::from(FEMTOSECOND) * per_second;
        let seconds = i128::from(self.seconds) - i128::from(TO_1970);
        let count = seconds * per_second as i128 + counts as i128;
        Some((i64::try_from(count).ok()?, is_between))
    }

    /// The time with nanoseconds, and with more digits where it is between two of them.
    pub(super) fn text(self) -> String {
        let unix = self.seconds.saturating_sub(TO_1970);
        let parts = u128::from(self.fraction) * NANOS;
        let away = (parts as u64).min((parts as u64).wrapping_neg());
        let nanos = (parts + (1 << 63)) >> 64;
        if u128::from(away) <= u128::from(FEMTOSECOND) * NANOS {
            let (seconds, nanos) =
                if nanos == NANOS { (unix + 1, 0) } else { (unix, nanos as u32) };
            if let Some(time) = DateTime::from_timestamp(seconds, nanos) {
                return time.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
            }
        }
        let Some(time) = DateTime::from_timestamp(unix, 0) else {
            return format!("{} s and {} * 2^-64 s since 1904", self.seconds, self.fraction);
        };
        // 20 digits tell all fractions from each other.
        let mut digits = String::with_capacity(20);
        let mut rest = self.fraction;
        for _ in 0..20 {
            let next = u128::from(rest) * 10;
            digits.push(char::from(b'0' + (next >> 64) as u8));
            rest = next as u64;
        }
        format!("{}.{digits}Z", time.format("%Y-%m-%dT%H:%M:%S"))
    }
}

impl Moment {
    /// The time of a text, as [`text`](Self::text) writes it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, digits) = match text.strip_suffix('Z')?.split_once('.') {
            Some((whole, digits)) => (whole, digits),
            None => (text.strip_suffix('Z')?, ""),
        };
        let time = NaiveDateTime::parse_from_str(whole, "%Y-%m-%dT%H:%M:%S").ok()?;
        let seconds = time.and_utc().timestamp().checked_add(TO_1970)?;
        // The digits after those of the text are at least 0.
        let mut fraction = 0u64;
        for digit in digits.bytes().rev() {
            let digit = u128::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
            fraction = u64::try_from(((digit << 64) | u128::from(fraction)).div_ceil(10)).ok()?;
        }
        Some(Self { seconds, fraction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(seconds: i64, fraction: u64) -> Option<(i64, bool)> {
        Moment { seconds, fraction }.count(TimeStep::Nanos)
    }

    #[test]
    fn counts_are_the_nearest_and_tell_what_is_between() {
        assert_eq!(nanos(TO_1970, 0), Some((0, false)));
        assert_eq!(nanos(TO_1970, 1 << 63), Some((500_000_000, false)));
        assert_eq!(nanos(TO_1970 - 1, u64::MAX), Some((0, false)));
        // 123456 us, as a writer rounds it down.
        let fraction = ((123_456u128 << 64) / 1_000_000) as u64;
        assert_eq!(nanos(TO_1970 + 7, fraction), Some((7_123_456_000, false)));
        // Half a nanosecond.
        assert_eq!(nanos(TO_1970, ((1u128 << 63) / NANOS) as u64), Some((0, true)));
        assert_eq!(nanos(TO_1970, (3u128 << 63).div_ceil(NANOS) as u64), Some((2, true)));
        assert_eq!(nanos(i64::MAX, 0), None);
        let late = Moment { seconds: 1 << 40, fraction: 0 };
        assert_eq!(late.count(TimeStep::Nanos), None);
        let expected = ((1i64 << 40) - TO_1970) * 1_000_000;
        assert_eq!(late.count(TimeStep::Micros), Some((expected, false)));
    }

    #[test]
    fn texts_have_all_digits() {
        let text = |seconds, fraction| Moment { seconds, fraction }.text();
        assert_eq!(text(0, 0), "1904-01-01T00:00:00Z");
        assert_eq!(text(-1, 1 << 63), "1903-12-31T23:59:59.500Z");
        assert_eq!(text(TO_1970 - 1, u64::MAX), "1970-01-01T00:00:00Z");
        assert_eq!(text(TO_1970, 1 << 30), "1970-01-01T00:00:00.00000000005820766091Z");
        assert_eq!(text(i64::MAX, 1), "9223372036854775807 s and 1 * 2^-64 s since 1904");
    }

    #[test]
    fn texts_are_read_back() {
        for fraction in [0, 1 << 30, 1 << 63, u64::MAX - (1 << 20), 0x1234_5678_9abc_def0] {
            let moment = Moment { seconds: TO_1970 + 86_399, fraction };
            assert_eq!(Moment::parse(&moment.text()), Some(moment), "{}", moment.text());
        }
        for text in
            ["", "Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00.xZ", "2024-13-01T00:00:00Z"]
        {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn fixed_numbers_are_the_times() {
        for moment in
            [Moment { seconds: -3, fraction: 7 }, Moment { seconds: 1 << 40, fraction: 0 }]
        {
            assert_eq!(Moment::of_fixed(moment.fixed()), moment);
        }
    }
}
