//! What the modules of this suite use.

pub(crate) use serde_json::json;
pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use stationdb::faults::{
    Disk, Fault, Mode, OpKind, Pick, Random, SimDisk, Survival, TraceEntry,
};
pub(crate) use stationdb::files::{FileService, GetFilesRequest, UploadFileRequest};
pub(crate) use stationdb::prelude::BatchAnswer;
pub(crate) use stationdb::products::CreateProductRequest;
pub(crate) use stationdb::tables::{
    AppendTableDataRequest, Column, ColumnType, DataFrame, DataType, ListTablesRequest,
    TableService,
};
pub(crate) use stationdb::work_items::WorkItemService;
pub(crate) use stationdb::{
    Control, Error, ErrorKind, ManualClock, Store, StoreOptions, VerifyLevel,
};

pub(crate) use crate::files::{content, observe_files, upload};
pub(crate) use crate::harness::{
    Extent, History, Problem, Scenario, count, counted, does, explore, first_seed, is_record_file,
    must_hold, must_hold_with, one_in_operations,
};
pub(crate) use crate::scenarios::{
    Checkpoints, Grouped, Records, SMALL_MEMORY, ada, options, with_memory,
};
pub(crate) use crate::sequence::{MAINTAIN, Observation, REOPEN, Sequence, Step, Steps};
pub(crate) use crate::tables::Tables;
pub(crate) use crate::{errors, flips};
