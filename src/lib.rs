//! An embedded storage engine for test stations: products, assets, work items, test plans, feeds, measurement tables and
//! files in one directory.
//!
//! ```
//! # fn main() -> stationdb::Result<()> {
//! # let dir = tempfile::tempdir().map_err(|e| stationdb::Error::io("temp", e))?;
//! use stationdb::prelude::*;
//! use stationdb::{CreateWorkItemRequest, Identity, QueryWorkItemsRequest, Store};
//!
//! let store = Store::open(dir.path())?;
//! let session = store.session(Identity::user("ada"));
//! let request = CreateWorkItemRequest { name: Some("Burn-in".into()), ..Default::default() };
//! session.create_work_items(vec![request])?;
//!
//! let query = QueryWorkItemsRequest { filter: Some("name.StartsWith(\"Burn\")".into()), ..Default::default() };
//! let page = session.query_work_items(query)?;
//! assert_eq!(page.work_items[0].created_by.as_deref(), Some("ada"));
//! # Ok(())
//! # }
//! ```
//!
//! Start at [`Store`], which opens a directory, and [`Session`], which acts for somebody. Sessions and [`Transaction`]s
//! implement the service traits of the [`prelude`]; the records, requests and answers are plain structs whose serde form is
//! the wire form of the service. [`Error`] tells by its [`ErrorKind`] what went wrong, and by its place where.
//!
//! Calls block. Handles are cheap to clone and safe to share; a server runs them on its threads for blocking work.
//!
//! Features: `search` (default) for full-text search, `packages` (default) for reading package metadata, `faults` for a
//! disk that fails as told and loses what power cuts lose.
// docs.rs builds with a nightly compiler, and shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
// Nothing that a caller, a file or a disk can do panics; tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

/// The README's examples, compiled and run.
#[cfg(all(doctest, feature = "search", feature = "packages"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// What tests share with those outside of the crate names it so.
#[cfg(test)]
extern crate self as stationdb;

mod blobs;
mod columnar;
mod disk;
mod error;
mod filter;
mod model;
mod packages;
mod records;
mod search;
mod services;
mod session;
mod store;
mod value;

/// Disks for tests: a simulator that loses what power cuts lose and fails where told, and the contract of every disk.
#[cfg(feature = "faults")]
pub mod faults {
    pub use crate::disk::contract;
    pub use crate::disk::sim::{Fault, OpKind, Pick, Random, Replay, SimDisk, Survival, TraceEntry};
    pub use crate::disk::{DirEntry, Disk, DiskFile, FileId, MemoryDisk, Mode, RealDisk, SharedDisk, parent};
    pub use crate::disk::{read_file, write_new_file};
}

/// Bodies of the fuzz targets, for the binaries in `fuzz/` alone.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;

/// The Arrow that rows come and go in; callers who take it from here have the same version.
pub use arrow;
pub use blobs::ContentReader;
/// Where the times of requests and records come from.
pub use chrono;
/// Where the values of substitutions and arguments come from.
pub use serde_json;
/// The service traits: what a session and a transaction can do.
pub mod prelude {
    pub use crate::services::{
        AssetService, FeedService, FileService, ProductService, SearchService, SpecificationService, TableService,
        TestPlanService, WorkItemService,
    };
}

pub use columnar::{ReadSeek, RowStream, Touched, kernels};
pub use error::{ApiError, Error, ErrorKind, Place, Result};
pub use model::lab::dashboard::*;
pub use model::lab::execution::*;
pub use model::lab::execution_event::*;
pub use model::lab::resources::*;
pub use model::lab::state::*;
pub use model::lab::timeline::*;
pub use model::tables::data::*;
pub use model::tables::import::*;
pub use model::tables::table::*;
pub use model::test_plans::requests::*;
pub use model::test_plans::template::*;
pub use model::test_plans::template_requests::*;
pub use model::test_plans::test_plan::*;
pub use model::work_items::requests::*;
pub use model::work_items::template::*;
pub use model::work_items::template_requests::*;
pub use model::work_items::work_item::*;
pub use model::{
    Asset, AssetBusType, AssetDiscoveryType, AssetField, AssetId, AssetIdentification, AssetLocation,
    AssetLocationForCreate, AssetLocationForUpdate, AssetOrderBy, AssetPresence, AssetPresenceForUpdate,
    AssetPresenceStatus, AssetPresenceUpdate, AssetPresenceWithSystemConnection, AssetSummary, AssetType,
    AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse, CalibrationMode, CalibrationStatus, CheckSummary,
    Condition, ConditionPoint, ConditionRange, ConditionType, ConditionValue, CreateAssetRequest,
    CreateAssetsPartialSuccess, CreateProductRequest, CreateProductsPartialSuccess, CreateSpecificationRequest,
    CreateSpecificationsPartialSuccess, CreateSpecificationsRequest, CreatedSpecification, DeleteAssetsResponse,
    DeleteProductsPartialSuccess, DeleteSpecificationsPartialSuccess, ExternalCalibration, LimitSide,
    LinkFilesPartialSuccessResponse, NumericConditionValue, Operation, PagedProducts, PagedSpecifications, Product,
    ProductField, ProductId, ProductOperations, ProductOrderBy, ProductProjection, QueryAssetUtilizationHistoryRequest,
    QueryAssetsRequest, QueryAssetsResponse, QueryProductValuesRequest, QueryProductsRequest,
    QuerySpecificationsRequest, SelfCalibration, Specification, SpecificationId, SpecificationLimit,
    SpecificationOrderBy, SpecificationProjection, SpecificationType, StartUtilizationPartialSuccess,
    StartUtilizationRequest, StringConditionValue, SystemConnection, TemperatureSensor, UpdateAssetRequest,
    UpdateAssetsPartialSuccess, UpdateProductRequest, UpdateProductsPartialSuccess, UpdateSpecificationRequest,
    UpdateSpecificationsPartialSuccess, UpdateSpecificationsRequest, UpdateUtilizationPartialSuccess,
    UpdateUtilizationRequest, UpdatedSpecification, UtilizationOrderBy, V1Operations, VendorPrefix, Verdict, WorstRow,
    condition_summary,
};
pub use model::{
    ContentPart, CreatedQuery, FileId, FileLinqMetadata, FileLinqQueryOrderBy, FileLinqQueryRequest,
    FileLinqQueryResponse, FileMetadata, FileOperation, FileOperations, FileQueryOperation, FileQueryOrderBy,
    FileQueryResponse, FileRecord, FileTotalCount, GetFilesRequest, IdsQuery, Link, PropertyQuery, QueryFilesRequest,
    SearchFilesRequest, SizeQuery, StoredContent, StringQuery, TotalCountRelation, UpdateMetadataRequest,
    UploadFileRequest, UploadSession, UploadSessionState, UploadedChunk,
};
pub use model::{
    CreateFeedRequest, Feed, FeedId, Package, PackageId, PackageMetadata, Platform, QueryFeedsRequest,
    QueryFeedsResponse, QueryPackagesResponse, UpdateFeedRequest,
};
pub use services::{AssetService, ProductService, SpecificationService};
pub use services::{FeedService, FileService};
pub use services::{PagedTableRows, Rows, SegmentFile, TablePlan, TableRows, TableService};
pub use services::{
    SearchFacet, SearchFacets, SearchHighlight, SearchHit, SearchRequest, SearchResponse, SearchService, SearchSnippet,
};
pub use services::{TestPlanService, WorkItemService};
pub use session::{
    AccessPolicy, AllowAll, ChangeEvent, ChangeStream, FreshIdRunner, Identity, JobRequest, JobRunner, NotebookRequest,
    Plan, Position, QueueFailure, Session, Settings, Subscriber, SubscriberRef, Transaction, Visibility, What,
};
pub use store::{
    BackupReport, CompactReport, Finding, Lost, MaintenanceReport, SalvageReport, Store, StoreOptions, VerifyLevel,
    VerifyReport,
};
pub use value::wire::from_json;
pub use value::{Action, Clock, Control, ManualClock, Number, Patch, Progress, Service, SystemClock};
