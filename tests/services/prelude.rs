//! What the modules of this suite use: the operations with their types, the faults, and JSON.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use serde_json::{Value, json};
pub(crate) use stationdb::assets::*;
pub(crate) use stationdb::faults::{
    Disk, Fault, MemoryDisk, Mode, OpKind, Pick, Random, RealDisk, SharedDisk, SimDisk, Survival,
};
pub(crate) use stationdb::feeds::*;
pub(crate) use stationdb::files::*;
pub(crate) use stationdb::lab::*;
pub(crate) use stationdb::prelude::*;
pub(crate) use stationdb::products::*;
pub(crate) use stationdb::scans::*;
pub(crate) use stationdb::search::*;
pub(crate) use stationdb::specifications::*;
pub(crate) use stationdb::tables::*;
pub(crate) use stationdb::test_plans::*;
pub(crate) use stationdb::work_items::*;
pub(crate) use stationdb::workspaces::*;
pub(crate) use stationdb::{
    AccessPolicy, Action, ChangeEvent, ChangeStream, Clock, Control, Error, ErrorKind, Identity,
    ManualClock, Place, Position, Result, Service, Session, Store, StoreOptions, VerifyLevel,
    Visibility, What, from_json,
};

pub(crate) use crate::policy::{GuestsRead, Rule};

/// A request from its wire form.
pub(crate) fn request<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn disk() -> SharedDisk {
    Arc::new(MemoryDisk::default())
}

pub(crate) fn control() -> Control {
    Control::default()
}

/// A request from its wire form, read as a server reads it.
pub(crate) fn read<T: serde::de::DeserializeOwned>(json: &Value) -> T {
    from_json(json.to_string().as_bytes()).unwrap()
}

/// The wire form of an answer.
pub(crate) fn write<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap()
}

pub(crate) fn open(disk: &Arc<MemoryDisk>) -> Store {
    StoreOptions::default().maintenance_thread(false).seed(Some(1)).open_disk(disk.clone()).unwrap()
}

pub(crate) fn fresh() -> (Arc<MemoryDisk>, Store, Session) {
    let disk = Arc::new(MemoryDisk::new());
    let store = open(&disk);
    let session = store.session(Identity::user("ada"));
    (disk, store, session)
}

/// A store on this disk, and a session of ada.
pub(crate) fn opened(options: StoreOptions, disk: SharedDisk) -> (Store, Session) {
    let store = options.open_disk(disk).unwrap();
    let session = store.session(Identity::user("ada"));
    (store, session)
}
