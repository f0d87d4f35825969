//! A part: from its PIR over its tests to its PRR, as a result.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};
use stationdb::Result;
use stationdb::chrono::{DateTime, TimeDelta, Utc};
use stationdb::results::{CreateResultRequest, CreateStepRequest, StatusType};

use super::counts::PartCounts;
use super::records::Record;
use super::steps::NewStep;
use super::value::Value;

/// Bits of `PART_FLG`.
const RETEST_BY_ID: u64 = 1;
const RETEST_BY_PLACE: u64 = 1 << 1;
const ABNORMAL_END: u64 = 1 << 2;
const FAILED: u64 = 1 << 3;
const NO_VERDICT: u64 = 1 << 4;
/// Values that stand for none.
const NO_SOFT_BIN: u64 = 65_535;
const NO_COORDINATE: i64 = -32_768;
/// Bytes of a part in memory, without its steps.
const PART_BYTES: usize = 2_000;

/// Knows a part again: the begin of the SHA-256 of its id or place on its wafer.
pub(super) type Key = [u8; 16];

/// A part that is tested at a head and site.
#[derive(Debug)]
pub(super) struct Open {
    /// Where its PIR is.
    pub(super) at: u64,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) wafer: Option<usize>,
    pub(super) steps: Vec<NewStep>,
}

/// A part that was tested.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) request: CreateResultRequest,
    pub(super) properties: BTreeMap<String, String>,
    pub(super) steps: Vec<CreateStepRequest>,
    pub(super) measurements: usize,
    pub(super) weight: usize,
    pub(super) wafer: Option<usize>,
    pub(super) counts: PartCounts,
    /// By which a retest finds it.
    pub(super) keys: Vec<Key>,
    /// By which the part was known that it tests again.
    pub(super) earlier: Option<Key>,
    pub(super) is_retest: bool,
    pub(super) started_at: Option<DateTime<Utc>>,
    pub(super) milliseconds: u64,
}

/// What the lot says of its parts.
pub(super) struct OfLot<'l> {
    pub(super) part_number: Option<&'l str>,
    pub(super) lot: Option<&'l str>,
    pub(super) program: &'l str,
    pub(super) host: Option<&'l str>,
    pub(super) operator: Option<&'l str>,
    /// The id of the wafer.
    pub(super) wafer: Option<&'l str>,
    pub(super) workspace: Option<&'l str>,
}

impl Part {
    /// The part that a PRR ends.
    ///
    /// # Errors
    /// `InvalidArgument` for a damaged record.
    pub(super) fn new(
        record: &Record<'_>,
        site: (u8, u8),
        open: Open,
        of: &OfLot<'_>,
    ) -> Result<Self> {
        let [_, _, flags, _, hard, soft, x, y, time, id, text] = record.first()?;
        let flags = flags.unsigned().unwrap_or(NO_VERDICT);
        let soft = soft.unsigned().filter(|bin| *bin != NO_SOFT_BIN);
        let coordinate = |value: Value<'_>| value.integer().filter(|value| *value != NO_COORDINATE);
        let place = coordinate(x).zip(coordinate(y));
        let id = id.given();
        let serial_number = id.as_deref().map(str::to_owned).or_else(|| {
            let place = place.map(|(x, y)| format!("{x},{y}"))?;
            let parts = [of.lot, of.wafer, Some(place.as_str())];
            Some(parts.into_iter().flatten().collect::<Vec<_>>().join("/"))
        });
        let status = status(flags);
        let bin = |bin: Option<u64>| bin.and_then(|bin| u16::try_from(bin).ok());
        let counts = PartCounts {
            site,
            hard_bin: bin(hard.unsigned()).unwrap_or(0),
            soft_bin: bin(soft),
            has_ended_abnormally: flags & ABNORMAL_END != 0,
            is_good: flags & (FAILED | NO_VERDICT) == 0,
        };
        let mut properties = BTreeMap::from([
            ("HEAD_NUM".to_owned(), site.0.to_string()),
            ("SITE_NUM".to_owned(), site.1.to_string()),
        ]);
        let mut put = |key: &str, text: Option<String>| {
            properties.extend(text.map(|text| (key.to_owned(), text)));
        };
        put("HARD_BIN", hard.unsigned().map(|bin| bin.to_string()));
        put("SOFT_BIN", soft.map(|bin| bin.to_string()));
        put("X_COORD", place.map(|(x, _)| x.to_string()));
        put("Y_COORD", place.map(|(_, y)| y.to_string()));
        put("PART_TXT", text.given().map(std::borrow::Cow::into_owned));
        put("LOT_ID", of.lot.map(str::to_owned));
        put("WAFER_ID", of.wafer.map(str::to_owned));
        let by_id = id.as_deref().map(|id| key(open.wafer, b"id", id));
        let by_place = place.map(|(x, y)| key(open.wafer, b"at", &format!("{x},{y}")));
        let (earlier, retest) = if flags & RETEST_BY_ID != 0 {
            (by_id, Some("PART_ID"))
        } else if flags & RETEST_BY_PLACE != 0 {
            (by_place, Some("coordinates"))
        } else {
            (None, None)
        };
        put("retest", retest.map(str::to_owned));
        let milliseconds = time.unsigned().unwrap_or(0);
        let seconds = u32::try_from(milliseconds).map_or(0.0, f64::from) / 1000.0;
        let request = CreateResultRequest::new()
            .program_name(of.program)
            .status(status)
            .total_time_in_seconds(seconds)
            .maybe_part_number(of.part_number.map(str::to_owned))
            .maybe_serial_number(serial_number)
            .maybe_host_name(of.host.map(str::to_owned))
            .maybe_operator(of.operator.map(str::to_owned))
            .maybe_started_at(open.started_at)
            .maybe_workspace(of.workspace.map(str::to_owned));
        let measurements = open.steps.iter().map(NewStep::measurements).sum();
        let weight = PART_BYTES + open.steps.iter().map(NewStep::weight).sum::<usize>();
        Ok(Self {
            request,
            properties,
            steps: numbered(open.steps, open.started_at),
            measurements,
            weight,
            wafer: open.wafer,
            counts,
            keys: [by_id, by_place].into_iter().flatten().collect(),
            earlier,
            is_retest: retest.is_some(),
            started_at: open.started_at,
            milliseconds,
        })
    }

    /// When its test ended, as far as that is known.
    pub(super) fn ended_at(&self) -> Option<DateTime<Utc>> {
        let time = TimeDelta::try_milliseconds(i64::try_from(self.milliseconds).ok()?)?;
        self.started_at?.checked_add_signed(time)
    }
}

fn status(flags: u64) -> StatusType {
    let states = [
        (ABNORMAL_END, StatusType::Terminated),
        (NO_VERDICT, StatusType::Done),
        (FAILED, StatusType::Failed),
    ];
    let state = states.into_iter().find(|(bit, _)| flags & bit != 0);
    state.map_or(StatusType::Passed, |(_, state)| state)
}

fn key(wafer: Option<usize>, kind: &[u8], text: &str) -> Key {
    let wafer = wafer.map_or(u64::MAX, |wafer| wafer as u64);
    let sum = Sha256::new().chain_update(kind).chain_update(wafer.to_le_bytes());
    let sum: [u8; 32] = sum.chain_update(text).finalize().into();
    sum.first_chunk().copied().unwrap_or_default()
}

/// The steps, of which those with the name of an earlier one have a number behind it.
fn numbered(steps: Vec<NewStep>, started_at: Option<DateTime<Utc>>) -> Vec<CreateStepRequest> {
    let mut names: HashMap<String, usize> = HashMap::with_capacity(steps.len());
    let steps = steps.into_iter().map(|step| {
        let count = match names.get_mut(&step.name) {
            Some(count) => {
                *count += 1;
                *count
            }
            None => {
                names.insert(step.name.clone(), 1);
                1
            }
        };
        step.request(count, started_at)
    });
    steps.collect()
}
