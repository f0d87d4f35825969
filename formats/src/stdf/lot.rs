//! The lot that a file is about: what its records say, in the order in which they come.

use std::collections::BTreeMap;

use stationdb::chrono::{DateTime, SecondsFormat, Utc};
use stationdb::work_items::CreateWorkItemRequest;
use stationdb::{Error, Result};

use super::ImportOptions;
use super::counts::{ALL, Counts};
use super::fields;
use super::known::{Tests, byte};
use super::part::{OfLot, Open, Part};
use super::pins::Pins;
use super::records::Record;
use super::steps::NewStep;
use super::value::Value;
use super::warnings::Warnings;
use crate::moment;
use crate::zone::Zone;

/// The type of the work item of a lot.
const LOT_TYPE: &str = "STDF lot";
/// The name of a program without one.
const PROGRAM: &str = "STDF";
/// Wafers of a file.
const WAFERS_MAX: usize = 100_000;
/// Properties of the work item.
const PROPERTIES_MAX: usize = 2_000;
/// Bytes that the steps of the parts under test have in memory.
const OPEN_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Fields with a time.
const TIMES: [&str; 4] = ["SETUP_T", "START_T", "FINISH_T", "MOD_TIM"];

#[derive(Clone, Debug, Default)]
struct Head {
    /// When the next part begins, as far as that is known.
    clock: Option<DateTime<Utc>>,
    wafer: Option<usize>,
}

#[derive(Debug)]
struct Wafer {
    id: Option<String>,
    /// What its WRR says of each of its parts.
    properties: Vec<(&'static str, String)>,
}

/// A lot.
pub(super) struct Lot<'o> {
    options: &'o ImportOptions,
    zone: Zone,
    /// Those of the work item.
    properties: BTreeMap<String, String>,
    started_at: Option<DateTime<Utc>>,
    has_ended: bool,
    /// The number of records SDR.
    sites: usize,
    /// What holds for a head that no record named yet.
    any_head: Head,
    heads: BTreeMap<u8, Head>,
    wafers: Vec<Wafer>,
    open: BTreeMap<(u8, u8), Open>,
    open_bytes: usize,
    hard_bins: BTreeMap<u16, String>,
    soft_bins: BTreeMap<u16, String>,
    pins: Pins,
    tests: Tests,
    pub(super) counts: Counts,
    pub(super) warnings: Warnings,
}

impl<'o> Lot<'o> {
    /// # Errors
    /// `InvalidArgument` and `Unsupported` for a zone that is none.
    pub(super) fn new(options: &'o ImportOptions) -> Result<Self> {
        let zone = options.time_zone.as_deref().unwrap_or("UTC");
        let zone = Zone::new(zone, moment::offset(zone))?;
        Ok(Self {
            options,
            zone,
            properties: BTreeMap::new(),
            started_at: None,
            has_ended: false,
            sites: 0,
            any_head: Head::default(),
            heads: BTreeMap::new(),
            wafers: Vec::new(),
            open: BTreeMap::new(),
            open_bytes: 0,
            hard_bins: BTreeMap::new(),
            soft_bins: BTreeMap::new(),
            pins: Pins::default(),
            tests: Tests::default(),
            counts: Counts::default(),
            warnings: Warnings::default(),
        })
    }

    /// Takes the next record. Returns the part that it ends.
    ///
    /// # Errors
    /// `InvalidArgument` for a damaged record; `LimitExceeded`.
    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<Option<Part>> {
        let Some(known) = record.record_type() else {
            self.warnings.count("records of unknown types were left out", record.position());
            return Ok(None);
        };
        match known.name {
            "PTR" | "MPR" | "FTR" => self.test(record)?,
            "PIR" => self.begin(record)?,
            "PRR" => return self.end(record),
            "MIR" => {
                self.note("", record)?;
                let [_, start] = record.first()?;
                self.started_at = self.time(start);
                self.any_head.clock = self.started_at;
                self.heads.clear();
            }
            "MRR" => {
                self.note("", record)?;
                self.has_ended = true;
            }
            "VUR" => {
                let [name] = record.first()?;
                let all = self.properties.get("UPD_NAM").cloned();
                let all: Vec<String> = all.into_iter().chain(name.text().map(Into::into)).collect();
                self.properties.insert("UPD_NAM".to_owned(), all.join(", "));
            }
            "SDR" => {
                self.sites += 1;
                let prefix =
                    if self.sites == 1 { String::new() } else { format!("{}.", self.sites) };
                self.note(&format!("SDR.{prefix}"), record)?;
            }
            "WIR" => self.wafer(record)?,
            "WRR" => self.wafer_end(record)?,
            "WCR" => self.note("WCR.", record)?,
            "PCR" => {
                let [head, site] = record.first()?;
                let prefix = match (byte(head), byte(site)) {
                    (ALL, _) => "PCR.".to_owned(),
                    (head, site) => format!("PCR.{head}.{site}."),
                };
                self.note(&prefix, record)?;
                self.counts.parts(record)?;
            }
            "TSR" => self.counts.synopsis(record)?,
            "HBR" | "SBR" => {
                let is_hard = known.number == fields::HBR.number;
                let bin = self.counts.bin(record)?;
                if let Some((bin, Some(name))) = bin.map(|(bin, name)| (bin, name.given())) {
                    let bins = if is_hard { &mut self.hard_bins } else { &mut self.soft_bins };
                    bins.insert(bin, name.into_owned());
                }
            }
            "PMR" => self.pins.pin(record)?,
            "PGR" => self.pins.group(record)?,
            "PLR" => self.pins.list(record)?,
            _ => {}
        }
        Ok(None)
    }

    fn time(&self, seconds: Value<'_>) -> Option<DateTime<Utc>> {
        let seconds = i64::try_from(seconds.unsigned().filter(|seconds| *seconds != 0)?).ok()?;
        let local = DateTime::from_timestamp(seconds, 0)?.naive_utc();
        DateTime::from_timestamp(self.zone.seconds(local).ok()?, 0)
    }

    /// Keeps the fields of a record as properties.
    fn note(&mut self, prefix: &str, record: &Record<'_>) -> Result<()> {
        for (field, value) in record.fields().iter().zip(record.values()?) {
            let is_place = matches!(field.name, "HEAD_NUM" | "SITE_NUM" | "SITE_GRP" | "SITE_CNT");
            if is_place && prefix != "SDR." {
                continue;
            }
            let text = match value {
                Value::Unsigned(_) if TIMES.contains(&field.name) => {
                    self.time(value).map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true))
                }
                Value::Unsigned(0xffff_ffff) => None,
                Value::Unsigned(65_535) if field.name == "BURN_TIM" => None,
                Value::Unsigned(number) => Some(number.to_string()),
                Value::Signed(-32_768) => None,
                Value::Signed(number) => Some(number.to_string()),
                Value::Single(number) => Some(super::setting::exact(number)),
                value => value.given().map(std::borrow::Cow::into_owned),
            };
            if let Some(text) = text {
                if self.properties.len() >= PROPERTIES_MAX {
                    self.warnings.count("records have no room in the work item", record.position());
                    return Ok(());
                }
                self.properties.insert(format!("{prefix}{}", field.name), text);
            }
        }
        Ok(())
    }

    fn head(&mut self, head: u8) -> &mut Head {
        if head == ALL {
            self.heads.clear();
            return &mut self.any_head;
        }
        self.heads.entry(head).or_insert_with(|| self.any_head.clone())
    }

    /// Takes a WIR.
    fn wafer(&mut self, record: &Record<'_>) -> Result<()> {
        let [head, _, start, id] = record.first()?;
        if self.wafers.len() >= WAFERS_MAX {
            return Err(Error::limit(format!(
                "the STDF file has more than {WAFERS_MAX} wafers at byte {}; split it",
                record.position()
            )));
        }
        let id = id.given().map(std::borrow::Cow::into_owned);
        self.note(&format!("WIR.{}.", id.as_deref().unwrap_or_default()), record)?;
        let (wafer, start) = (self.wafers.len(), self.time(start));
        self.wafers.push(Wafer { id, properties: Vec::new() });
        let head = self.head(byte(head));
        head.wafer = Some(wafer);
        head.clock = start.or(head.clock);
        Ok(())
    }

    /// Takes a WRR.
    fn wafer_end(&mut self, record: &Record<'_>) -> Result<()> {
        let [head, _, _, _, _, _, _, _, id, fab, frame, mask] = record.first()?;
        let ended = self.head(byte(head)).wafer.take();
        let Some(wafer) = ended.and_then(|wafer| self.wafers.get_mut(wafer)) else {
            self.warnings.count("WRR have no WIR", record.position());
            return Ok(());
        };
        for (key, value) in [("FABWF_ID", fab), ("FRAME_ID", frame), ("MASK_ID", mask)] {
            wafer.properties.extend(value.given().map(|text| (key, text.into_owned())));
        }
        let id = id.given().map(std::borrow::Cow::into_owned).or_else(|| wafer.id.clone());
        self.note(&format!("WRR.{}.", id.unwrap_or_default()), record)
    }

    /// Takes a PIR.
    fn begin(&mut self, record: &Record<'_>) -> Result<()> {
        let [head, site] = record.first()?;
        let site = (byte(head), byte(site));
        let Head { clock, wafer } = self.head(site.0).clone();
        let open = Open { at: record.position(), started_at: clock, wafer, steps: Vec::new() };
        if let Some(earlier) = self.open.insert(site, open) {
            self.forget(&earlier);
            self.warnings.count("parts have no PRR and were left out", earlier.at);
        }
        Ok(())
    }

    fn forget(&mut self, part: &Open) {
        let bytes = part.steps.iter().map(NewStep::weight).sum();
        self.open_bytes = self.open_bytes.saturating_sub(bytes);
    }

    /// Takes a PTR, MPR or FTR.
    fn test(&mut self, record: &Record<'_>) -> Result<()> {
        let step = NewStep::new(record, &mut self.tests, &self.pins)?;
        self.counts.test(&step.executed);
        let Some(part) = self.open.get_mut(&step.executed.site) else {
            self.warnings.count("tests are of no part and were left out", record.position());
            return Ok(());
        };
        self.open_bytes += step.weight();
        part.steps.push(step);
        if self.open_bytes > OPEN_BYTES_MAX {
            return Err(Error::limit(format!(
                "the parts under test at byte {} of the STDF file have more than {OPEN_BYTES_MAX} \
                 bytes of steps",
                record.position()
            )));
        }
        Ok(())
    }

    /// Takes a PRR.
    fn end(&mut self, record: &Record<'_>) -> Result<Option<Part>> {
        let [head, site] = record.first()?;
        let site = (byte(head), byte(site));
        let open = match self.open.remove(&site) {
            Some(open) => open,
            None => {
                self.warnings.count("PRR have no PIR", record.position());
                let Head { clock, wafer } = self.head(site.0).clone();
                Open { at: record.position(), started_at: clock, wafer, steps: Vec::new() }
            }
        };
        self.forget(&open);
        let property = |key: &str| self.properties.get(key).map(String::as_str);
        let of = OfLot {
            part_number: self.options.part_number.as_deref().or(property("PART_TYP")),
            lot: property("LOT_ID"),
            program: property("JOB_NAM").unwrap_or(PROGRAM),
            host: property("NODE_NAM"),
            operator: property("OPER_NAM"),
            wafer: open.wafer.and_then(|at| self.wafers.get(at)?.id.as_deref()),
            workspace: self.options.workspace.as_deref(),
        };
        let part = Part::new(record, site, open, &of)?;
        // Sites of a head test side by side: the longest of them decides.
        let ended = part.ended_at();
        let head = self.head(site.0);
        head.clock = head.clock.max(ended);
        self.counts.part(&part.counts, part.is_retest);
        Ok(Some(part))
    }

    /// What is known by now of a part with these bins and this wafer: the names of the bins, and
    /// what the WRR says.
    pub(super) fn names(
        &self,
        hard_bin: u16,
        soft_bin: Option<u16>,
        wafer: Option<usize>,
    ) -> Vec<(&'static str, &str)> {
        let hard = self.hard_bins.get(&hard_bin).map(|name| ("HBIN_NAM", name.as_str()));
        let soft = soft_bin.and_then(|bin| self.soft_bins.get(&bin));
        let soft = soft.map(|name| ("SBIN_NAM", name.as_str()));
        let wafer = wafer.and_then(|wafer| self.wafers.get(wafer));
        let wafer = wafer.into_iter().flat_map(|wafer| &wafer.properties);
        let wafer = wafer.map(|(key, text)| (*key, text.as_str()));
        hard.into_iter().chain(soft).chain(wafer).collect()
    }

    /// Ends the file. `cut` says where it was cut, `padding` where zeros stand instead of a record.
    pub(super) fn finish(&mut self, cut: Option<&str>, padding: Option<u64>) {
        if let Some(at) = padding {
            self.warnings.tell(format!(
                "from byte {at} on the file has zeros instead of records; what follows is left out"
            ));
        }
        if let Some(cut) = cut {
            self.warnings.tell(format!("the file was cut: {cut}; what is whole was imported"));
        } else if !self.has_ended {
            self.warnings.tell("the file has no MRR: it was cut, or is still written".to_owned());
        }
        for (_, part) in std::mem::take(&mut self.open) {
            self.warnings.count("parts have no PRR and were left out", part.at);
        }
        if !self.has_ended || cut.is_some() {
            self.properties.insert("stdf.cut".to_owned(), "true".to_owned());
        }
        std::mem::take(&mut self.counts).compare(&mut self.warnings);
    }

    /// The properties of the work item, as far as they are known by now.
    pub(super) fn properties(&self) -> BTreeMap<String, String> {
        self.properties.clone()
    }

    /// The work item, without its state and properties.
    pub(super) fn work_item(&self) -> CreateWorkItemRequest {
        let property = |key: &str| self.properties.get(key).cloned();
        CreateWorkItemRequest::new()
            .name(property("LOT_ID").unwrap_or_else(|| "STDF".to_owned()))
            .r#type(LOT_TYPE)
            .maybe_test_program(property("JOB_NAM"))
            .maybe_part_number(self.options.part_number.clone().or_else(|| property("PART_TYP")))
            .maybe_workspace(self.options.workspace.clone())
    }
}
