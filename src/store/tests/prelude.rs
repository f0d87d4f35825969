//! What the tests of this room use.

pub(crate) use serde_json::{Value, json};
pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use crate::columnar::SegmentMeta;
pub(crate) use crate::disk::sim::{Fault, OpKind, Pick, Random, SimDisk, Survival};
pub(crate) use crate::disk::{
    Disk, MemoryDisk, Mode, SharedDisk, copy_file, parent, read_file, walk, write_new_file,
};
pub(crate) use crate::error::{ErrorKind, Result};
pub(crate) use crate::feeds::{CreateFeedRequest, Platform};
pub(crate) use crate::files::UploadFileRequest;
pub(crate) use crate::filter::{Times, compile};
pub(crate) use crate::lab::TimelineDefinition;
pub(crate) use crate::model::resource::{Index, Resource};
pub(crate) use crate::model::tables::data::{ColumnType, DataType, column};
pub(crate) use crate::model::tables::table::{CreateTableRequest, TableMetadata};
pub(crate) use crate::model::{FileRecord, KindEntry, PackageRecord, Utilization};
pub(crate) use crate::prelude::*;
pub(crate) use crate::products::{CreateProductRequest, ProductId, ProductService};
pub(crate) use crate::records::{ReadSource, Space, envelope};
pub(crate) use crate::search::SearchRequest;
pub(crate) use crate::services::SearchService;
pub(crate) use crate::session::tables::DeletedPart;
pub(crate) use crate::session::tests::policy::Rule;
pub(crate) use crate::session::{Access, Draft, OrderTerm, Plan, Query, Session, What};
pub(crate) use crate::store::{Store, StoreOptions, VerifyLevel};
pub(crate) use crate::tables::{TableId, TableService};
pub(crate) use crate::value::id::Kind;
pub(crate) use crate::value::stored::Format;
pub(crate) use crate::value::{
    Action, Control, FieldDecl, FieldType, IdForm, ManualClock, Ops, Service, limits, stored, time,
};
pub(crate) use crate::work_items::{CreateWorkItemRequest, QueryWorkItemsRequest, WorkItem};
pub(crate) use crate::{Error, Identity, Position, Visibility};

pub(crate) fn ada(store: &Store) -> Session {
    store.session(Identity::user("ada"))
}

pub(crate) fn open(disk: &Arc<MemoryDisk>) -> Store {
    StoreOptions::default().seed(Some(1)).open_on(disk.clone()).unwrap()
}

/// A store on this disk, and a session of ada.
pub(crate) fn opened(options: StoreOptions, disk: SharedDisk) -> (Store, Session) {
    let store = options.open_on(disk).unwrap();
    let session = ada(&store);
    (store, session)
}
