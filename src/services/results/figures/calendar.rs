//! The stretches of a calendar in a zone: hours, days, weeks, months, quarters, years and shifts.

use super::zone::Zone;
use crate::error::{Error, Result};
use crate::model::TimeBucket;
use crate::services::records::start_of;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// A stretch of local time.
#[derive(Clone, Debug)]
pub(crate) enum Span {
    /// One of the calendar.
    Bucket(TimeBucket),
    /// A shift.
    Shift(Shifts),
}

/// The hours of the day where shifts begin.
#[derive(Clone, Debug)]
pub(crate) struct Shifts(Vec<i64>);

impl Shifts {
    /// The shifts of a request.
    ///
    /// # Errors
    /// `InvalidArgument` for none, and for a number that is no hour.
    pub(crate) fn new(hours: &[i64]) -> Result<Self> {
        if let Some(hour) = hours.iter().find(|hour| !(0..24).contains(*hour)) {
            return Err(Error::invalid(format!("{hour} is no hour from 0 to 23"))
                .with_args([hour.to_string()])
                .at_member("shiftHours"));
        }
        if hours.is_empty() {
            return Err(Error::invalid("SHIFT needs the hours of the day where shifts begin")
                .at_member("shiftHours"));
        }
        let mut hours = hours.to_vec();
        hours.sort_unstable();
        hours.dedup();
        Ok(Self(hours))
    }

    /// The start of the last shift that began not after a local time.
    fn start(&self, local: i64) -> Option<i64> {
        let day = start_of(local, TimeBucket::Day)?;
        let began = |hour: &&i64| day + *hour * HOUR_MS <= local;
        match (self.0.iter().rfind(began), self.0.last()) {
            (Some(hour), _) => Some(day + hour * HOUR_MS),
            (None, Some(hour)) => day.checked_sub(DAY_MS)?.checked_add(hour * HOUR_MS),
            (None, None) => None,
        }
    }

    /// The start of the shift after the one that begins at a local time.
    fn next(&self, start: i64) -> Option<i64> {
        let day = start_of(start, TimeBucket::Day)?;
        let later = |hour: &&i64| day + *hour * HOUR_MS > start;
        match (self.0.iter().find(later), self.0.first()) {
            (Some(hour), _) => Some(day + hour * HOUR_MS),
            (None, Some(hour)) => day.checked_add(DAY_MS + hour * HOUR_MS),
            (None, None) => None,
        }
    }
}

impl Span {
    fn start(&self, local: i64) -> Option<i64> {
        match self {
            Self::Bucket(bucket) => start_of(local, *bucket),
            Self::Shift(shifts) => shifts.start(local),
        }
    }

    fn next(&self, start: i64) -> Option<i64> {
        let bucket = match self {
            Self::Bucket(bucket) => *bucket,
            Self::Shift(shifts) => return shifts.next(start),
        };
        // As long as the longest ones: it ends in the next one.
        let days = match bucket {
            TimeBucket::Hour => return start.checked_add(HOUR_MS),
            TimeBucket::Day => 1,
            TimeBucket::Week => 7,
            TimeBucket::Month => 31,
            TimeBucket::Quarter => 92,
            TimeBucket::Year => 366,
        };
        start_of(start.checked_add(days * DAY_MS)?, bucket)
    }
}

/// The stretches of one kind in one zone. Each instant is in the last one that began before it.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    span: Span,
    zone: Zone,
    /// The stretches that were asked for, in order.
    known: Vec<Stretch>,
}

/// A stretch of a calendar that was asked for.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: i64,
    end: i64,
    /// How many were asked for before.
    number: usize,
}

impl Calendar {
    pub(crate) fn new(span: Span, zone: Zone) -> Self {
        Self { span, zone, known: Vec::new() }
    }

    /// The first instant of the stretch with an instant, both in milliseconds since 1970 UTC; none
    /// outside of the calendar.
    pub(crate) fn start_of(&mut self, instant: i64) -> Option<i64> {
        self.stretch_of(instant).map(|(start, _)| start)
    }

    /// The first instant of the stretch with an instant, as [`Self::start_of`], and the number of
    /// the stretch in the order in which they are asked for first. Hours have no numbers.
    pub(super) fn stretch_of(&mut self, instant: i64) -> Option<(i64, Option<usize>)> {
        let place = self.known.partition_point(|stretch| stretch.start <= instant);
        if let Some(stretch) = place.checked_sub(1).and_then(|at| self.known.get(at))
            && instant < stretch.end
        {
            return Some((stretch.start, Some(stretch.number)));
        }
        let offset = self.zone.offset_ms(instant)?;
        let mut local = self.span.start(instant.checked_add(offset)?)?;
        if matches!(self.span, Span::Bucket(TimeBucket::Hour)) {
            // An hour that clocks show twice is two hours.
            return Some((local.checked_sub(offset)?, None));
        }
        let mut start = self.zone.instant_of(local)?;
        loop {
            let next = self.span.next(local)?;
            let end = self.zone.instant_of(next)?;
            if end > instant {
                let number = self.known.len();
                self.known.insert(place, Stretch { start, end, number });
                return Some((start, Some(number)));
            }
            // Clocks that were set back show times of the stretch before.
            (local, start) = (next, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::services::results::figures::random::Random;

    fn ms(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp_millis()
    }

    fn start(span: &Span, zone: &str, time: &str) -> String {
        let start = Calendar::new(span.clone(), Zone::new(zone).unwrap()).start_of(ms(time));
        crate::value::time::format(DateTime::from_timestamp_millis(start.unwrap()).unwrap())
            .replace(".000Z", "Z")
    }

    fn shifts(hours: &[i64]) -> Span {
        Span::Shift(Shifts::new(hours).unwrap())
    }

    #[test]
    fn stretches_begin_where_the_zone_says() {
        use TimeBucket::{Day, Hour, Month, Quarter, Week, Year};
        let cases = [
            (Hour, "UTC", "2024-03-04T10:59:59.999Z", "2024-03-04T10:00:00Z"),
            (Hour, "+05:30", "2024-03-04T10:15:00Z", "2024-03-04T09:30:00Z"),
            (Day, "UTC", "2024-03-04T00:00:00Z", "2024-03-04T00:00:00Z"),
            (Day, "+02:00", "2024-03-04T22:00:00Z", "2024-03-04T22:00:00Z"),
            (Day, "+02:00", "2024-03-04T21:59:59Z", "2024-03-03T22:00:00Z"),
            // A Sunday in UTC is a Monday farther east.
            (Week, "UTC", "2024-03-03T23:00:00Z", "2024-02-26T00:00:00Z"),
            (Week, "+02:00", "2024-03-03T23:00:00Z", "2024-03-03T22:00:00Z"),
            (Month, "-05:00", "2024-03-01T04:59:00Z", "2024-02-01T05:00:00Z"),
            (Quarter, "UTC", "2024-06-30T23:59:59Z", "2024-04-01T00:00:00Z"),
            (Quarter, "+01:00", "2024-12-31T23:30:00Z", "2024-12-31T23:00:00Z"),
            (Year, "UTC", "2024-12-31T23:30:00Z", "2024-01-01T00:00:00Z"),
            (Year, "UTC", "1969-12-31T23:30:00Z", "1969-01-01T00:00:00Z"),
        ];
        for (bucket, zone, time, expected) in cases {
            let found = start(&Span::Bucket(bucket), zone, time);
            assert_eq!(found, expected, "{bucket} of {time} in {zone}");
        }
    }

    #[test]
    fn shifts_begin_at_their_hours_and_last_over_midnight() {
        let three = shifts(&[22, 6, 14, 6]);
        for (time, expected) in [
            ("2024-03-04T06:00:00Z", "2024-03-04T06:00:00Z"),
            ("2024-03-04T13:59:59Z", "2024-03-04T06:00:00Z"),
            ("2024-03-04T21:59:59Z", "2024-03-04T14:00:00Z"),
            ("2024-03-04T23:00:00Z", "2024-03-04T22:00:00Z"),
            ("2024-03-05T05:59:59Z", "2024-03-04T22:00:00Z"),
        ] {
            assert_eq!(start(&three, "UTC", time), expected, "{time}");
        }
        assert_eq!(start(&three, "+02:00", "2024-03-04T04:00:00Z"), "2024-03-04T04:00:00Z");
        assert_eq!(start(&shifts(&[7]), "UTC", "2024-03-04T06:59:00Z"), "2024-03-03T07:00:00Z");
        assert!(Shifts::new(&[]).is_err());
        assert!(Shifts::new(&[24]).is_err());
        assert!(Shifts::new(&[-1]).is_err());
    }

    #[test]
    fn stretches_follow_each_other_in_any_order_of_instants() {
        use TimeBucket::{Day, Month, Quarter, Week, Year};
        let mut zones = vec!["UTC", "+05:45"];
        if cfg!(feature = "zones") {
            zones.extend(["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"]);
        }
        let mut spans: Vec<Span> = [Day, Week, Month, Quarter, Year].map(Span::Bucket).into();
        spans.push(shifts(&[2, 10, 23]));
        let mut random = Random::new(3);
        for zone in zones {
            let zone = Zone::new(zone).unwrap();
            for span in &spans {
                let mut calendar = Calendar::new(span.clone(), zone);
                let mut times: Vec<i64> = (0..400)
                    .map(|_| {
                        ms("2010-12-01T00:00:00Z") + (random.below(86_400 * 700) * 1000) as i64
                    })
                    .collect();
                let first: Vec<_> = times.iter().map(|time| calendar.start_of(*time)).collect();
                for (time, start) in times.iter().zip(first) {
                    let start = start.unwrap();
                    assert!(start <= *time);
                    let alone = Calendar::new(span.clone(), zone).start_of(*time);
                    assert_eq!(alone, Some(start), "{zone:?} {span:?} {time}");
                    // The first instant is in its own stretch.
                    assert_eq!(Calendar::new(span.clone(), zone).start_of(start), Some(start));
                }
                times.sort_unstable();
                let starts: Vec<_> = times.iter().map(|time| calendar.start_of(*time)).collect();
                assert!(starts.is_sorted(), "{zone:?} {span:?}");
            }
        }
        assert_eq!(Calendar::new(Span::Bucket(Day), Zone::default()).start_of(i64::MIN), None);
    }

    #[cfg(feature = "zones")]
    #[test]
    fn an_offset_is_wrong_half_the_year() {
        let day = Span::Bucket(TimeBucket::Day);
        let zone = "Europe/Berlin";
        assert_eq!(start(&day, zone, "2024-01-10T12:00:00Z"), "2024-01-09T23:00:00Z");
        assert_eq!(start(&day, zone, "2024-07-10T12:00:00Z"), "2024-07-09T22:00:00Z");
        let month = Span::Bucket(TimeBucket::Month);
        assert_eq!(start(&month, zone, "2024-03-31T22:30:00Z"), "2024-03-31T22:00:00Z");
        // The hour that came twice is two, and a shift that began is not left again.
        let hour = Span::Bucket(TimeBucket::Hour);
        assert_eq!(start(&hour, zone, "2024-10-27T00:30:00Z"), "2024-10-27T00:00:00Z");
        assert_eq!(start(&hour, zone, "2024-10-27T01:30:00Z"), "2024-10-27T01:00:00Z");
        // Clocks were set back by an hour one minute after midnight: the day that began goes on.
        let newfoundland = "America/St_Johns";
        for (time, expected) in [
            ("2010-11-07T02:29:59Z", "2010-11-06T02:30:00Z"),
            ("2010-11-07T02:30:30Z", "2010-11-07T02:30:00Z"),
            ("2010-11-07T02:45:00Z", "2010-11-07T02:30:00Z"),
            ("2010-11-08T03:29:00Z", "2010-11-07T02:30:00Z"),
        ] {
            assert_eq!(start(&day, newfoundland, time), expected, "{time}");
        }
        let shift = shifts(&[3, 14]);
        assert_eq!(start(&shift, zone, "2024-10-27T01:30:00Z"), "2024-10-26T12:00:00Z");
        assert_eq!(start(&shift, zone, "2024-03-31T01:30:00Z"), "2024-03-31T01:00:00Z");
    }
}
