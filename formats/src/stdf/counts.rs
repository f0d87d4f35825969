//! The counts that a file tells (TSR, HBR, SBR, PCR), compared with what was read.

use std::collections::{BTreeMap, HashMap};

use stationdb::Result;

use super::known::{Executed, byte};
use super::records::Record;
use super::value::Value;
use super::warnings::Warnings;

/// The head that stands for all heads and sites.
pub(super) const ALL: u8 = 255;
/// Counts that are kept, and tests at sites that are counted.
const COUNTS_MAX: usize = 1_000_000;
/// A count that is not known.
const UNKNOWN: u64 = 0xffff_ffff;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    HardBin(u16),
    SoftBin(u16),
    Parts,
    Retests,
    AbnormalEnds,
    Good,
    Executions(u32),
    Failures(u32),
}

/// How many were read: with and without the parts that a retest replaces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Read {
    all: u64,
    last: u64,
}

/// A count in the file.
#[derive(Clone, Copy, Debug)]
struct Told {
    what: What,
    site: (u8, u8),
    count: u64,
}

/// What a part counts to.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartCounts {
    pub(super) site: (u8, u8),
    pub(super) hard_bin: u16,
    pub(super) soft_bin: Option<u16>,
    pub(super) has_ended_abnormally: bool,
    pub(super) is_good: bool,
}

/// The counts of a file.
#[derive(Debug, Default)]
pub(super) struct Counts {
    read: HashMap<(What, (u8, u8)), Read>,
    told: Vec<Told>,
    /// Whether there were too many to compare.
    is_full: bool,
}

impl Counts {
    fn add(&mut self, what: What, site: (u8, u8), add: fn(&mut Read)) {
        if self.read.len() >= COUNTS_MAX && !self.read.contains_key(&(what, site)) {
            self.is_full = true;
            return;
        }
        add(self.read.entry((what, site)).or_default());
    }

    pub(super) fn part(&mut self, part: &PartCounts, is_retest: bool) {
        let add = |read: &mut Read| {
            read.all += 1;
            read.last += 1;
        };
        for what in part.kinds() {
            self.add(what, part.site, add);
        }
        if is_retest {
            self.add(What::Retests, part.site, add);
        }
    }

    /// Another part replaces this one.
    pub(super) fn replaced(&mut self, part: &PartCounts) {
        for what in part.kinds() {
            self.add(what, part.site, |read| read.last = read.last.saturating_sub(1));
        }
    }

    pub(super) fn test(&mut self, executed: &Executed) {
        let add = |read: &mut Read| {
            read.all += 1;
            read.last += 1;
        };
        if executed.has_run() {
            self.add(What::Executions(executed.number), executed.site, add);
        }
        if executed.has_failed() {
            self.add(What::Failures(executed.number), executed.site, add);
        }
    }

    fn tell(&mut self, what: What, site: (u8, u8), count: Value<'_>) {
        let Some(count) = count.unsigned().filter(|count| *count != UNKNOWN) else { return };
        if self.told.len() >= COUNTS_MAX {
            self.is_full = true;
            return;
        }
        self.told.push(Told { what, site, count });
    }

    /// Takes a TSR.
    pub(super) fn synopsis(&mut self, record: &Record<'_>) -> Result<()> {
        let [head, site, _, number, executed, failed] = record.first()?;
        let number = number.unsigned().and_then(|number| u32::try_from(number).ok());
        if let Some(number) = number {
            let site = (byte(head), byte(site));
            self.tell(What::Executions(number), site, executed);
            self.tell(What::Failures(number), site, failed);
        }
        Ok(())
    }

    /// Takes an HBR or SBR. Returns the bin and its name.
    pub(super) fn bin<'r>(&mut self, record: &Record<'r>) -> Result<Option<(u16, Value<'r>)>> {
        let [head, site, bin, count, _, name] = record.first()?;
        let Some(bin) = bin.unsigned().and_then(|bin| u16::try_from(bin).ok()) else {
            return Ok(None);
        };
        let is_hard = record.number() == super::fields::HBR.number;
        let what = if is_hard { What::HardBin(bin) } else { What::SoftBin(bin) };
        self.tell(what, (byte(head), byte(site)), count);
        Ok(Some((bin, name)))
    }

    /// Takes a PCR.
    pub(super) fn parts(&mut self, record: &Record<'_>) -> Result<()> {
        let [head, site, parts, retests, ended, good] = record.first()?;
        let site = (byte(head), byte(site));
        for (what, count) in [
            (What::Parts, parts),
            (What::Retests, retests),
            (What::AbnormalEnds, ended),
            (What::Good, good),
        ] {
            self.tell(what, site, count);
        }
        Ok(())
    }

    /// Warns of counts that are not those of what was read.
    pub(super) fn compare(mut self, warnings: &mut Warnings) {
        let mut totals: HashMap<What, Read> = HashMap::new();
        for ((what, _), read) in &self.read {
            let total = totals.entry(*what).or_default();
            total.all += read.all;
            total.last += read.last;
        }
        // The first difference of each field, and how many there are.
        let mut differences: BTreeMap<&'static str, (String, usize)> = BTreeMap::new();
        for Told { what, site, count } in std::mem::take(&mut self.told) {
            let read = if site.0 == ALL {
                totals.get(&what).copied()
            } else {
                self.read.get(&(what, site)).copied()
            };
            let read = read.unwrap_or_default();
            if count == read.all || count == read.last {
                continue;
            }
            let (field, of) = what.field();
            let place = if site.0 == ALL {
                "of all sites".to_owned()
            } else {
                format!("of head {}, site {}", site.0, site.1)
            };
            let first =
                || (format!("{field}{of} {place} is {count}, and {} were read", read.all), 0);
            differences.entry(field).or_insert_with(first).1 += 1;
        }
        for (field, (first, count)) in differences {
            warnings.tell(if count == 1 {
                first
            } else {
                format!("{first}; {} more {field} differ", count - 1)
            });
        }
        if self.is_full {
            warnings.tell(format!("more than {COUNTS_MAX} counts: not all were compared"));
        }
    }
}

impl PartCounts {
    fn kinds(&self) -> impl Iterator<Item = What> {
        let soft_bin = self.soft_bin.map(What::SoftBin);
        let ended = self.has_ended_abnormally.then_some(What::AbnormalEnds);
        let good = self.is_good.then_some(What::Good);
        let always = [What::Parts, What::HardBin(self.hard_bin)];
        always.into_iter().chain(soft_bin).chain(ended).chain(good)
    }
}

impl What {
    /// The field that has the count, and what it is the count of.
    fn field(self) -> (&'static str, String) {
        match self {
            Self::HardBin(bin) => ("HBIN_CNT", format!(" of bin {bin}")),
            Self::SoftBin(bin) => ("SBIN_CNT", format!(" of bin {bin}")),
            Self::Parts => ("PART_CNT", String::new()),
            Self::Retests => ("RTST_CNT", String::new()),
            Self::AbnormalEnds => ("ABRT_CNT", String::new()),
            Self::Good => ("GOOD_CNT", String::new()),
            Self::Executions(test) => ("EXEC_CNT", format!(" of test {test}")),
            Self::Failures(test) => ("FAIL_CNT", format!(" of test {test}")),
        }
    }
}
