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
