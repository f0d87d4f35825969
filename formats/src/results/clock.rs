//! Times of reports, which often have no zone.

use stationdb::chrono::{DateTime, Utc};
use stationdb::tables::{DataType, DateOrder};
use stationdb::{Error, Result};

use crate::moment::{self, offset};
use crate::zone::Zone;

/// How times are read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    zone: Zone,
    pub(crate) order: Option<DateOrder>,
    is_named: bool,
}

/// A time that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LocalTime {
    pub(crate) at: DateTime<Utc>,
    /// Whether it was taken as UTC because nothing says its zone.
    pub(crate) is_assumed: bool,
}

impl Clock {
    /// The clock of a zone; UTC when absent.
    ///
    /// # Errors
    /// `InvalidArgument` for what is no zone; `Unsupported` for a name in a build without names.
    pub(crate) fn new(time_zone: Option<&str>) -> Result<Self> {
        let zone = match time_zone {
            None => Zone::Utc,
            Some(text) => {
                Zone::new(text, offset(text)).map_err(|error| error.at_member("timeZone"))?
            }
        };
        Ok(Self { zone, order: None, is_named: time_zone.is_some() })
    }

    /// Reads a time; `None` for a text that is none.
    ///
    /// # Errors
    /// `InvalidArgument` for a time that cannot be placed: it does not occur in its zone, or occurs
    /// twice, or is outside of the years that are stored.
    pub(crate) fn read(&self, text: &str) -> Result<Option<LocalTime>> {
        let Some(moment) = moment::parse_told(text, self.order) else { return Ok(None) };
        let micros = moment
            .count(DataType::TimestampMicros, self.zone, true)
            .map_err(|why| Error::invalid(format!("the time {text:?} {why}")))?;
        let at = DateTime::from_timestamp_micros(micros)
            .ok_or_else(|| Error::invalid(format!("the time {text:?} cannot be stored")))?;
        Ok(Some(LocalTime { at, is_assumed: moment.offset.is_none() && !self.is_named }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_of_times() {
        let read = |zone, text| {
            let time = Clock::new(zone).unwrap().read(text).unwrap();
            time.map(|time| (time.at.to_rfc3339(), time.is_assumed))
        };
        let is = |text: &str, is_assumed| Some((text.to_owned(), is_assumed));
        let local = "2024-02-01T13:14:15.1234567";
        assert_eq!(read(None, local), is("2024-02-01T13:14:15.123456+00:00", true));
        assert_eq!(read(Some("+02:00"), local), is("2024-02-01T11:14:15.123456+00:00", false));
        let told = "2024-02-01T13:14:15+01:00";
        assert_eq!(read(None, told), is("2024-02-01T12:14:15+00:00", false));
        assert_eq!(read(None, "yesterday"), None);
        assert!(Clock::new(Some("REFUSE")).unwrap().read(local).is_err());
        assert!(Clock::new(Some("nowhere?")).unwrap_err().place().is_some());
    }
}
