//! Utilization records: which asset was used, for what purpose, from when to when.
//!
//! A record does not say whether an asset is in use: that depends on its last heartbeat and the
//! time of reading.
//!
//! The cost of a history query by range must grow with the answer, although spans may be long and
//! may still run. An index by start alone would have to be read from the beginning, since any
//! earlier span may reach into the range. So the two span indexes put a class before the start:
//! class 0 for running spans, class k for spans shorter than 2^(k-1) milliseconds but not shorter
//! than half of that. A span of class k that overlaps the range starts less than 2^(k-1)
//! milliseconds before it. A span that starts in the later half of that window is long enough to
//! reach into the range. So if starts are spread evenly, at most about half of the entries read are
//! not part of the answer.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::resource::Resource;
use crate::value::id::id_type;
use crate::value::{IdForm, key, time};

id_type!(
    /// The id of a utilization record; not part of any response.
    UtilizationId,
    IdForm::Guid
);

/// The use of one asset under one utilization identifier, as stored.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    kind = 4,
    name = "AssetUtilization",
    service(ASSETS),
    id(Guid),
    title(utilization_identifier)
)]
#[fields(
    id(hidden),
    utilization_identifier,
    asset_identifier,
    minion_id,
    category,
    task_name,
    user_name
)]
#[fields(start_timestamp, end_timestamp, heartbeat_timestamp(get(last_heartbeat)), workspace)]
#[fields(span_class(get(span_number), hidden))]
#[index(1, unique(utilization_identifier, asset_identifier), called(IDENTIFIER))]
#[index(2, on(asset_span_entries))]
#[index(3, on(span_entries))]
#[order(UtilizationOrderBy(start_timestamp))]
#[non_exhaustive]
pub struct Utilization {
    /// Id of the record.
    pub id: Option<UtilizationId>,
    /// The caller's key, shared by all assets that are used together.
    pub utilization_identifier: String,
    /// Id of the asset.
    pub asset_identifier: String,
    /// The system where the asset is used.
    pub minion_id: Option<String>,
    /// Purpose of the use.
    pub category: Option<String>,
    /// The task.
    pub task_name: Option<String>,
    /// The operator.
    pub user_name: Option<String>,
    /// Start of the use.
    pub start_timestamp: DateTime<Utc>,
    /// End of the use; `None` while it runs.
    pub end_timestamp: Option<DateTime<Utc>>,
    /// The latest heartbeat; `None` until the first one.
    pub heartbeat_timestamp: Option<DateTime<Utc>>,
    /// Workspace of the asset.
    pub workspace: String,
}

/// The class of running spans.
pub(crate) const RUNNING: u8 = 0;
/// One more than the largest class: a span of 10,000 years has 49 bits of milliseconds.
pub(crate) const CLASSES: u8 = 51;

/// The range of a span index with the spans of one class that can overlap a time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassRange {
    /// The class.
    pub class: u8,
    /// The earliest start, in milliseconds.
    pub start_from_ms: i64,
    /// The latest start, in milliseconds.
    pub start_to_ms: i64,
}

/// The ranges of starts, for each class, of the spans that can overlap `[from, to]`. A running span
/// lasts until `now`, or until its start if that is later.
#[must_use]
pub(crate) fn class_ranges(
    from: DateTime<Utc>,
    to: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Vec<ClassRange> {
    let (from_ms, start_to_ms) = (from.timestamp_millis(), to.timestamp_millis());
    let running_from_ms = if now >= from { time::MIN_MS } else { from_ms };
    let running = ClassRange { class: RUNNING, start_from_ms: running_from_ms, start_to_ms };
    std::iter::once(running)
        .chain((1..CLASSES).map(|class| {
            let longest_ms = (1i64 << (class - 1)) - 1;
            ClassRange {
                class,
                start_from_ms: (from_ms - longest_ms).max(time::MIN_MS),
                start_to_ms,
            }
        }))
        .collect()
}

impl Utilization {
    /// The class of the span: 0 while it runs, otherwise one more than the number of bits of its
    /// length in milliseconds.
    #[must_use]
    pub fn span_class(&self) -> u8 {
        let Some(end) = self.end_timestamp else { return RUNNING };
        let span_ms = (end - self.start_timestamp).num_milliseconds().max(0).cast_unsigned();
        // At most 50, because of the range of times.
        (64 - span_ms.leading_zeros()) as u8 + 1
    }

    fn span_number(&self) -> i64 {
        i64::from(self.span_class())
    }

    /// The index entry: asset, class, start, identifier.
    fn asset_span_entries(&self) -> Vec<Vec<u8>> {
        let mut entry = Vec::new();
        key::push_str(&mut entry, &self.asset_identifier);
        self.push_span(&mut entry);
        vec![entry]
    }

    /// The index entry: class, start, identifier, asset.
    fn span_entries(&self) -> Vec<Vec<u8>> {
        let mut entry = Vec::new();
        self.push_span(&mut entry);
        key::push_str(&mut entry, &self.asset_identifier);
        vec![entry]
    }

    fn push_span(&self, entry: &mut Vec<u8>) {
        key::push_i64(entry, i64::from(self.span_class()));
        key::push_i64(entry, self.start_timestamp.timestamp_millis());
        key::push_str(entry, &self.utilization_identifier);
    }

    /// The time of the latest heartbeat, or of the start until the first heartbeat.
    #[must_use]
    pub fn last_heartbeat(&self) -> DateTime<Utc> {
        self.heartbeat_timestamp.unwrap_or(self.start_timestamp)
    }

    /// Whether the span overlaps `[from, to]`, both ends included.
    #[must_use]
    pub fn meets(&self, from: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        let end = self.end_timestamp.unwrap_or_else(|| now.max(self.start_timestamp));
        self.start_timestamp <= to && end >= from
    }

    /// Whether the span is running and its latest heartbeat or start is less than `timeout_ms`
    /// before `now`.
    #[must_use]
    pub fn is_in_use(&self, now: DateTime<Utc>, timeout_ms: i64) -> bool {
        let latest = self
            .heartbeat_timestamp
            .max(Some(self.start_timestamp))
            .unwrap_or(self.start_timestamp);
        self.end_timestamp.is_none()
            && self.start_timestamp <= now
            && now.signed_duration_since(latest) < TimeDelta::milliseconds(timeout_ms)
    }
}
