//! The position of a store in a lake: versions of application ids in the log of `batches`, which
//! stay when engines compact the data or write checkpoints.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clock::now_ms;
use crate::log::{LakeLog, TABLES};

/// How far a lake is with a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LakePosition {
    pub epoch: u64,
    /// The sequence of the last complete batch.
    pub sequence: Option<u64>,
    /// The time of that commit, in milliseconds since 1970; unknown if it had no change.
    pub time: Option<i64>,
    /// The first batch of which rows count.
    pub rows_from: u64,
}

impl LakePosition {
    /// The number of the last complete batch; zero if there is none.
    pub(crate) fn complete(&self) -> u64 {
        self.sequence.map_or(0, |sequence| self.epoch << crate::EPOCH_BITS | sequence)
    }
}

/// A version of an application id of the store.
pub(crate) fn txn(app: &str, epoch: u64, what: &str, version: u64) -> Value {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    json!({ "txn": {
        "appId": format!("{app}/{epoch}{what}"), "version": version, "lastUpdated": now_ms(),
    }})
}

/// Says that a lake table has, or will have, rows of the store.
pub(crate) fn named(app: &str, table: &str) -> Value {
    let id = format!("{app}{TABLES}{table}");
    json!({ "txn": { "appId": id, "version": 1, "lastUpdated": now_ms() } })
}

/// The lake tables that the log of `batches` names.
pub(crate) fn tables(batches: &LakeLog, app: &str) -> BTreeSet<String> {
    let name = |id: &String| Some(id.strip_prefix(app)?.strip_prefix(TABLES)?.to_owned());
    batches.txns.keys().filter_map(name).collect()
}

/// The position that the log of `batches` has.
pub(crate) fn read(batches: &LakeLog, app: &str) -> LakePosition {
    let epochs = batches.txns.keys().filter_map(|id| {
        id.strip_prefix(app)?.strip_prefix('/')?.split('/').next()?.parse::<u64>().ok()
    });
    let epoch = epochs.max().unwrap_or_default();
    let of = |what: &str| {
        let version = batches.txns.get(&format!("{app}/{epoch}{what}"));
        version.and_then(|version| u64::try_from(*version).ok())
    };
    LakePosition {
        epoch,
        sequence: of(""),
        time: of("/time").filter(|time| *time > 0).and_then(|time| i64::try_from(time).ok()),
        rows_from: of("/rows_from").unwrap_or_default(),
    }
}

/// The lake tables that the log of `batches` names for any store.
pub(crate) fn tables_of_all(apps: &BTreeSet<String>) -> BTreeSet<String> {
    let name = |app: &String| {
        let of_store = app.strip_prefix("stationdb/")?.split_once('/')?.1;
        Some(of_store.strip_prefix("tables/")?.to_owned())
    };
    apps.iter().filter_map(name).collect()
}
