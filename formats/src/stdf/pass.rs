//! One reading of a file that is read several times, with the parts that its records are of.

use std::collections::HashMap;
use std::io::{Read, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use stationdb::{Control, Error, Result};

use super::fields::{FTR, MPR, PIR, PRR, PTR, RecordType, STR};
use super::input;
use super::records::{Record, Records};
use crate::parquet::ReadSeek;

/// An input that is read from its begin again and again.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Box<dyn ReadSeek>>>);

impl Shared {
    pub(super) fn new(input: Box<dyn ReadSeek>) -> Self {
        Self(Arc::new(Mutex::new(input)))
    }
}

impl Read for Shared {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(out)
    }
}

/// Where head and site are in the body of a record of a part.
fn site_at(known: &RecordType) -> Option<usize> {
    [(&PIR, 0), (&PRR, 0), (&PTR, 4), (&MPR, 4), (&FTR, 4), (&STR, 5)]
        .into_iter()
        .find(|(of, _)| of.number == known.number)
        .map(|(_, at)| at)
}

/// Whether records of the type are of parts.
pub(super) fn is_of_part(known: &RecordType) -> bool {
    site_at(known).is_some()
}

/// A reading.
pub(super) struct Pass {
    records: Records<Box<dyn Read>>,
    /// The number of the next record.
    number: i64,
    /// The number of the next part.
    part: i64,
    /// The part under test at each head and site.
    open: HashMap<(u8, u8), i64>,
}

impl Pass {
    /// Begins at the begin of the input.
    ///
    /// # Errors
    /// As [`Records::new`].
    pub(super) fn new(input: &Shared, control: &Control) -> Result<Self> {
        let begin = input.0.lock().unwrap_or_else(PoisonError::into_inner).seek(SeekFrom::Start(0));
        begin.map_err(|error| Error::io("reading an STDF file from its begin", error))?;
        let records = Records::over(input::open(input.clone(), control)?)?;
        Ok(Self { records, number: 0, part: 0, open: HashMap::new() })
    }

    pub(super) fn cut(&self) -> Option<&str> {
        self.records.cut()
    }

    /// The next record, its number, and the number of its part.
    pub(super) fn next(&mut self) -> Result<Option<(Record<'_>, i64, Option<i64>)>> {
        let Some(record) = self.records.next_record()? else { return Ok(None) };
        let number = self.number;
        self.number += 1;
        let known = record.record_type();
        let site = known.and_then(site_at).and_then(|at| {
            match record.body().get(at..).unwrap_or_default() {
                [head, site, ..] => Some((*head, *site)),
                _ => None,
            }
        });
        let part = match (known, site) {
            (Some(known), Some(site)) if known.number == PIR.number => {
                let part = self.part;
                self.part += 1;
                self.open.insert(site, part);
                Some(part)
            }
            (Some(known), Some(site)) if known.number == PRR.number => self.open.remove(&site),
            (_, Some(site)) => self.open.get(&site).copied(),
            _ => None,
        };
        Ok(Some((record, number, part)))
    }
}
