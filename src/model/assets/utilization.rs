//! Utilization: which asset was used, for what, from when to when.
//!
//! A record never says whether an asset is in use: that follows from its last sign of life at the moment of reading.
//! History by range must cost its answer, although spans may be long and may still run. So the two span indexes put a
//! class in front of the start: class 0 for spans that run, class k for spans shorter than 2^(k-1) milliseconds. Spans
//! of one class that meet a range start at most that long before it, so at most about half of what is touched is not
//! part of the answer.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::resource::declare::{field, unique_index};
use crate::model::resource::{Field, Index, Resource};
use crate::value::id::{Kind, id_type};
use crate::value::wire::record;
use crate::value::{FieldDecl, FieldType, IdForm, Ops, Service, key, time};

id_type!(
    /// The id of a utilization record; not part of any answer.
    UtilizationId,
    IdForm::Guid
);

record! {
    /// The use of one asset under one utilization identifier, as stored.
    pub struct Utilization {
        /// Id of the record.
        pub id: Option<UtilizationId>,
        /// The caller's key, shared by all assets that are used together.
        pub utilization_identifier: String,
        /// Id of the asset.
        pub asset_identifier: String,
        /// The system where the asset is used.
        pub minion_id: Option<String>,
        /// What it is used for.
        pub category: Option<String>,
        /// The task.
        pub task_name: Option<String>,
        /// The operator.
        pub user_name: Option<String>,
        /// Start of the use.
        #[serde(with = "crate::value::time::required")]
        pub start_timestamp: DateTime<Utc>,
        /// End of the use; none while it runs.
        #[serde(with = "crate::value::time::opt")]
        pub end_timestamp: Option<DateTime<Utc>>,
        /// The latest heartbeat; `None` until the first one.
        #[serde(with = "crate::value::time::opt")]
        pub heartbeat_timestamp: Option<DateTime<Utc>>,
        /// Workspace of the asset.
        pub workspace: String,
    }
}

/// Index numbers of utilization records.
pub mod utilization_index {
    /// Utilization identifier and asset, unique.
    pub const IDENTIFIER: u8 = 1;
    /// Asset, class, start, identifier.
    pub const ASSET_SPAN: u8 = 2;
    /// Class, start, identifier, asset.
    pub const SPAN: u8 = 3;
}

static FIELDS: [Field<Utilization>; 12] = [
    field(FieldDecl::new("id", FieldType::String).ops(Ops::None), |u, _| u.id.as_ref().into()),
    field(FieldDecl::new("utilizationIdentifier", FieldType::String), |u, _| (&u.utilization_identifier).into()),
    field(FieldDecl::new("assetIdentifier", FieldType::String), |u, _| (&u.asset_identifier).into()),
    field(FieldDecl::new("minionId", FieldType::String), |u, _| u.minion_id.as_ref().into()),
    field(FieldDecl::new("category", FieldType::String), |u, _| u.category.as_ref().into()),
    field(FieldDecl::new("taskName", FieldType::String), |u, _| u.task_name.as_ref().into()),
    field(FieldDecl::new("userName", FieldType::String), |u, _| u.user_name.as_ref().into()),
    field(FieldDecl::new("startTimestamp", FieldType::Time), |u, _| u.start_timestamp.into()),
    field(FieldDecl::new("endTimestamp", FieldType::Time), |u, _| u.end_timestamp.into()),
    field(FieldDecl::new("heartbeatTimestamp", FieldType::Time), |u, _| u.last_heartbeat().into()),
    field(FieldDecl::new("workspace", FieldType::String), |u, _| (&u.workspace).into()),
    field(FieldDecl::new("spanClass", FieldType::Int).ops(Ops::None), |u, _| i64::from(u.span_class()).into()),
];

static INDEXES: [Index<Utilization>; 3] = [
    unique_index(utilization_index::IDENTIFIER, &["utilizationIdentifier", "assetIdentifier"]),
    Index {
        number: utilization_index::ASSET_SPAN,
        since: 1,
        fields: &[],
        unique: false,
        include: &[],
        on: Some(|u| {
            let mut entry = Vec::new();
            key::push_str(&mut entry, &u.asset_identifier);
            u.push_span(&mut entry);
            vec![entry]
        }),
    },
    Index {
        number: utilization_index::SPAN,
        since: 1,
        fields: &[],
        unique: false,
        include: &[],
        on: Some(|u| {
            let mut entry = Vec::new();
            u.push_span(&mut entry);
            key::push_str(&mut entry, &u.asset_identifier);
            vec![entry]
        }),
    },
];

impl Resource for Utilization {
    const KIND: Kind = Kind { code: 4, name: "AssetUtilization", service: Service::ASSETS, id: IdForm::Guid };

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn workspace(&self) -> &str {
        &self.workspace
    }

    fn name(&self) -> &str {
        &self.utilization_identifier
    }

    fn fields() -> &'static [Field<Self>] {
        &FIELDS
    }

    fn indexes() -> &'static [Index<Self>] {
        &INDEXES
    }
}

/// The class of spans that still run.
pub const RUNNING: u8 = 0;
/// One more than the largest class: a span of 10,000 years has 49 bits of milliseconds.
pub const CLASSES: u8 = 51;

/// Where a span index holds the spans of one class that can meet a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRange {
    /// The class.
    pub class: u8,
    /// The earliest start, in milliseconds.
    pub start_from_ms: i64,
    /// The latest start, in milliseconds.
    pub start_to_ms: i64,
}

/// For each class the starts of the spans that can meet `[from, to]`; a running span reaches up to `now`, or to its
/// start when that is later.
#[must_use]
pub fn class_ranges(from: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> Vec<ClassRange> {
    let (from_ms, start_to_ms) = (from.timestamp_millis(), to.timestamp_millis());
    let running_from_ms = if now >= from { time::MIN_MS } else { from_ms };
    let running = ClassRange { class: RUNNING, start_from_ms: running_from_ms, start_to_ms };
    std::iter::once(running)
        .chain((1..CLASSES).map(|class| {
            let longest_ms = (1i64 << (class - 1)) - 1;
            ClassRange { class, start_from_ms: (from_ms - longest_ms).max(time::MIN_MS), start_to_ms }
        }))
        .collect()
}

impl Utilization {
    /// The class of the span: 0 while it runs, else one more than the number of bits of its milliseconds.
    #[must_use]
    pub fn span_class(&self) -> u8 {
        let Some(end) = self.end_timestamp else { return RUNNING };
        let span_ms = (end - self.start_timestamp).num_milliseconds().max(0).cast_unsigned();
        // At most 50 by the range of times.
        (64 - span_ms.leading_zeros()) as u8 + 1
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

    /// Whether the span meets `[from, to]`, both ends included.
    #[must_use]
    pub fn meets(&self, from: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        let end = self.end_timestamp.unwrap_or_else(|| now.max(self.start_timestamp));
        self.start_timestamp <= to && end >= from
    }

    /// Whether it runs and gave a sign of life within `timeout_ms` before `now`.
    #[must_use]
    pub fn is_in_use(&self, now: DateTime<Utc>, timeout_ms: i64) -> bool {
        let latest = self.heartbeat_timestamp.max(Some(self.start_timestamp)).unwrap_or(self.start_timestamp);
        self.end_timestamp.is_none()
            && self.start_timestamp <= now
            && now.signed_duration_since(latest) < TimeDelta::milliseconds(timeout_ms)
    }
}

#[cfg(test)]
#[path = "utilization_tests.rs"]
mod tests;
