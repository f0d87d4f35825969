//! An embedded storage engine for test stations: products, assets, work items, test plans, feeds,
//! measurement tables and files in one directory.
//!
//! ```
//! # fn main() -> stationdb::Result<()> {
//! # let dir = tempfile::tempdir()?;
//! use stationdb::prelude::*;
//! use stationdb::{Identity, Store};
//! use stationdb::work_items::{CreateWorkItemRequest, QueryWorkItemsRequest};
//!
//! let store = Store::open(dir.path())?;
//! let session = store.session(Identity::user("ada"));
//! let request = CreateWorkItemRequest::new().name("Burn-in");
//! session.create_work_items(vec![request])?.require_all()?;
//!
//! let query = QueryWorkItemsRequest::new().filter("name.StartsWith(\"Burn\")");
//! let page = session.query_work_items(query)?;
//! assert_eq!(page.work_items[0].created_by.as_deref(), Some("ada"));
//! # Ok(())
//! # }
//! ```
//!
//! Start at [`Store`], which opens a directory, and [`Session`], which acts for a user. Sessions,
//! [`Transaction`] and [`OwnedTransaction`] implement the service traits of the [`prelude`]. Each
//! service has a module with its records, requests and answers ([`products`], [`tables`], …): plain
//! structs whose serde form is the wire form of the service. [`by_name`] has all operations by
//! their names. [`Error`] has an [`ErrorKind`], which says what went wrong, and often a [`Place`],
//! which says where.
//!
//! Calls block. Handles are cheap to clone and safe to share; a server runs the calls on its
//! threads for blocking work.
//!
//! Features: `search` (default) for full-text search, `packages` (default) for reading package
//! metadata, `faults` for a simulated disk that injects failures and loses what a power cut can
//! lose.
// docs.rs builds with a nightly compiler, and shows which feature an item needs.
// What `pub` says is true: an item that nothing re-exports is `pub(crate)`. Some items are public
// with a feature alone, so only a build with all features can tell.
#![cfg_attr(
    all(feature = "faults", feature = "packages", feature = "search"),
    warn(unreachable_pub)
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![recursion_limit = "512"]
#![deny(missing_docs)]
// No input, file content or disk fault may cause a panic in library code; tests may panic.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

/// The README's examples, compiled and run.
#[cfg(all(doctest, feature = "search", feature = "packages"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Code that unit tests share with tests outside of the crate imports the crate by this name.
#[cfg(test)]
extern crate self as stationdb;

pub mod arrow;
mod blobs;
mod columnar;
mod disk;
mod error;
mod filter;
mod model;
mod packages;
mod records;
mod services;
mod session;
#[cfg(test)]
#[path = "../tests/common/sizes.rs"]
mod sizes;
mod store;
mod text;
mod value;

/// Disks for tests: a simulator that loses what a power cut can lose and fails on request, and the
/// contract tests that every disk must pass.
#[cfg(any(test, feature = "faults"))]
pub mod faults {
    pub use crate::disk::contract;
    pub use crate::disk::sim::{
        Fault, Hold, OpKind, Pick, Random, Replay, SimDisk, Survival, TraceEntry,
    };
    pub use crate::disk::{
        DirEntry, Disk, DiskFile, FileId, MemoryDisk, Mode, RealDisk, Removal, SharedDisk,
        WindowsDisk, parent,
    };
    pub use crate::disk::{read_file, walk, write_new_file};
    /// Bounds of the library, for tests that try them.
    pub use crate::value::limits;
}

/// Bodies of the fuzz targets; only the binaries in `fuzz/` use them.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;

pub use blobs::ContentReader;
/// The crate that the times of requests and records come from.
pub use chrono;
/// The crate that the values of substitutions and arguments come from.
pub use serde_json;
/// Operations by their names, with JSON for arguments and answers: for other languages, servers and
/// tools. [`Session::call`] calls one.
pub mod by_name {
    pub use crate::services::{OperationInfo, Reply, Services, operations};
}

/// The service traits: what a session and a transaction can do.
pub mod prelude {
    pub use crate::model::answer::BatchAnswer;
    pub use crate::services::{
        AssetService, FeedService, FileService, ProductService, RecordService, ResultService, Run,
        SearchService, SpecificationService, TableService, TestPlanService, WorkItemService,
        WorkspaceService,
    };
}

/// Products: part numbers that are unique in the whole store.
pub mod products {
    pub use crate::model::products::{
        CreateProductRequest, CreateProductsPartialSuccess, DeleteProductsPartialSuccess,
        PagedProducts, Product, ProductField, ProductId, ProductOrderBy, ProductProjection,
        QueryProductValuesRequest, QueryProductsRequest, UpdateProductRequest,
        UpdateProductsPartialSuccess,
    };
    pub use crate::services::ProductService;
}

/// Test results, their steps, and the paths of steps.
pub mod results {
    pub use crate::model::results::{
        Capability, CapabilityRequest, ChartPoint, ChartRule, ChartType, ControlChart,
        ControlChartRequest, ControlLimits, FailurePareto, FailureParetoRequest, FigureClass,
        GageRequest, GageStudy, Histogram, HistogramRange, HistogramRequest, MeasurementKey,
        ParetoBasis, ParetoBy, ParetoEntry, ParetoKey, ParetoOthers, ProgramYield, ResultGroup,
        RetestScope, RolledYield, SeriesPass, WithinMethod, YieldGroup, Yields, YieldsRequest,
        ZeroDeviation,
    };
    pub use crate::model::results::{
        CreateResultRequest, CreateResultsPartialSuccess, CreateStepRequest,
        CreateStepsPartialSuccess, DeleteResultsPartialSuccess, DeleteStepsPartialSuccess,
        KeepResults, NamedValue, OrderByComparisonType, PagedPaths, PagedResults, PagedSteps,
        PathMeasurement, PathOrderBy, PathProjection, PathValue, PathValueType, QueryPathsRequest,
        QueryResultValuesRequest, QueryResultsRequest, QueryStepValuesRequest, QueryStepsRequest,
        ResponseFormat, ResultField, ResultOrderBy, ResultProjection, ResultRetention,
        ResultRetentionReport, ResultTable, ResultWithSteps, ScanMeasurementsRequest,
        ScanStepsRequest, Status, StatusType, StatusTypeSummary, Step, StepData, StepField,
        StepIdResultIdPair, StepOrderBy, StepPath, StepProjection, TestMonitorApiInfo,
        TestMonitorOperations, TestResult, TestResultId, UpdateResultRequest,
        UpdateResultsPartialSuccess, UpdateStepRequest, UpdateStepsPartialSuccess,
    };
    pub use crate::services::{Measured, ResultService, Run, RunSequence, RunStart, RunStep};
    pub use crate::value::Number;
}

/// Specifications of products: limits, conditions, and the check of measured values against them.
pub mod specifications {
    pub use crate::model::specifications::{
        CheckSummary, Condition, ConditionPoint, ConditionRange, ConditionType, ConditionValue,
        CreateSpecificationRequest, CreateSpecificationsPartialSuccess,
        CreateSpecificationsRequest, CreatedSpecification, DeleteSpecificationsPartialSuccess,
        LimitSide, NumericConditionValue, PagedSpecifications, QuerySpecificationsRequest,
        Specification, SpecificationId, SpecificationLimit, SpecificationOrderBy,
        SpecificationProjection, SpecificationType, StringConditionValue,
        UpdateSpecificationRequest, UpdateSpecificationsPartialSuccess,
        UpdateSpecificationsRequest, UpdatedSpecification, V1Operations, Verdict, WorstRow,
        condition_summary,
    };
    pub use crate::services::SpecificationService;
    pub use crate::value::Number;
}

/// Assets: identity, location, calibration and utilization.
pub mod assets {
    pub use crate::model::assets::utilization::UtilizationId;
    pub use crate::model::assets::{
        Asset, AssetBusType, AssetDiscoveryType, AssetField, AssetId, AssetIdentification,
        AssetLocation, AssetLocationForCreate, AssetLocationForUpdate, AssetOrderBy, AssetPresence,
        AssetPresenceForUpdate, AssetPresenceStatus, AssetPresenceUpdate,
        AssetPresenceWithSystemConnection, AssetSummary, AssetType, AssetUtilizationHistoryItem,
        AssetUtilizationHistoryResponse, CalibrationMode, CalibrationStatus, CreateAssetRequest,
        CreateAssetsPartialSuccess, DeleteAssetsResponse, ExternalCalibration,
        LinkFilesPartialSuccessResponse, QueryAssetUtilizationHistoryRequest, QueryAssetsRequest,
        QueryAssetsResponse, SelfCalibration, StartUtilizationPartialSuccess,
        StartUtilizationRequest, SystemConnection, TemperatureSensor, UpdateAssetRequest,
        UpdateAssetsPartialSuccess, UpdateUtilizationPartialSuccess, UtilizationOrderBy,
        VendorPrefix,
    };
    pub use crate::services::AssetService;
}

/// Work items and the templates they are made from.
pub mod work_items {
    pub use crate::model::work_items::{
        CreateWorkItemRequest, CreateWorkItemTemplateRequest,
        CreateWorkItemTemplatesPartialSuccessResponse, CreateWorkItemsPartialSuccessResponse,
        DeleteWorkItemTemplatesPartialSuccessResponse, DeleteWorkItemsPartialSuccessResponse,
        PagedWorkItemTemplates, PagedWorkItems, QueryWorkItemTemplatesRequest,
        QueryWorkItemsRequest, ScheduleWorkItemRequest, ScheduleWorkItemsPartialSuccessResponse,
        ScheduleWorkItemsRequest, UpdateWorkItemRequest, UpdateWorkItemTemplateRequest,
        UpdateWorkItemTemplatesPartialSuccessResponse, UpdateWorkItemTemplatesRequest,
        UpdateWorkItemsPartialSuccessResponse, UpdateWorkItemsRequest, WorkItem, WorkItemField,
        WorkItemId, WorkItemOrderBy, WorkItemTemplate, WorkItemTemplateField, WorkItemTemplateId,
        WorkItemTemplateOrderBy,
    };
    pub use crate::services::WorkItemService;
}

/// Legacy test plans and their templates.
pub mod test_plans {
    pub use crate::model::test_plans::{
        CreateTestPlanRequest, CreateTestPlanTemplatePartialSuccessResponse,
        CreateTestPlanTemplateRequest, CreateTestPlansPartialSuccessResponse,
        DeleteTestPlanTemplatesPartialSuccessResponse, DeleteTestPlansPartialSuccessResponse,
        PagedTestPlanTemplates, PagedTestPlans, QueryTestPlanTemplatesRequest,
        QueryTestPlansRequest, ScheduleTestPlanRequest, ScheduleTestPlansRequest,
        ScheduleTestPlansResponse, TestPlan, TestPlanField, TestPlanId, TestPlanOrderBy,
        TestPlanTemplate, TestPlanTemplateField, TestPlanTemplateId, TestPlanTemplateOrderBy,
        UpdateTestPlanRequest, UpdateTestPlansRequest, UpdateTestPlansResponse,
    };
    pub use crate::services::TestPlanService;
}

/// Types that work items and test plans share: states, actions and their execution, resources,
/// times and dashboards.
pub mod lab {
    pub use crate::model::lab::dashboard::{Dashboard, DashboardPatch};
    pub use crate::model::lab::execution::{
        ExecuteWorkItemResponse, ExecutionDefinition, ExecutionResult, Job, JobExecution,
        JobExecutionResult, ManualExecution, ManualExecutionResult, NoneExecution,
        NoneExecutionResult, NotebookExecution, NotebookExecutionResult, ScheduleExecutionResult,
        UnscheduleExecutionResult,
    };
    pub use crate::model::lab::execution_event::{
        ExecutionEvent, ExecutionEventBase, ExecutionEventDetail,
    };
    pub use crate::model::lab::resources::{
        ResourceDefinition, ResourcePatch, ResourceSelectionDefinition, ResourcesDefinition,
        ResourcesPatch, ScheduleResourceDefinition, ScheduleResourcesDefinition,
        ScheduleSystemResourceDefinition, SystemResourceDefinition, SystemResourcePatch,
        SystemResourceSelectionDefinition, TemplateResourceDefinition, TemplateResourcePatch,
        TemplateResourcesDefinition, TemplateResourcesPatch,
    };
    pub use crate::model::lab::state::State;
    pub use crate::model::lab::timeline::{
        ScheduleDefinition, SchedulePatch, TemplateTimelineDefinition, TemplateTimelinePatch,
        TimelineDefinition, TimelinePatch,
    };
    pub use crate::session::{FreshIdRunner, JobRequest, JobRunner, NotebookRequest, QueueFailure};
    pub use crate::value::PlannedTime;
}

/// Tables of measured rows: metadata, rows, import and export.
pub mod tables {
    pub use crate::columnar::{
        ColumnNote, ColumnStatistics, RecordBatches, RowSource, RowStream, SourceForm, SourceTable,
        TableSchema, TableSource, TableStatistics, Touched, check_parquet_metadata, kernels,
        readers,
    };
    pub use crate::model::tables::aggregate::{
        Aggregate, AggregateFunction, AggregateGroup, AggregateKey, AggregateTableDataRequest,
        AggregateValue, TableAggregates,
    };
    pub use crate::model::tables::columns::{
        AddColumnsRequest, ColumnRename, DropColumnsRequest, RenameColumnsRequest,
    };
    pub use crate::model::tables::data::{
        AppendTableDataRequest, Column, ColumnFilter, ColumnOrderBy, ColumnProjection, ColumnType,
        DataFrame, DataType, DecimationDistribution, DecimationMethod, DecimationOptions,
        ExportDestination, ExportFormat, ExportTableDataRequest, FilterOperation,
        GetTableDataRequest, QueryDecimatedDataRequest, QueryTableDataRequest, ScanRequest,
    };
    pub use crate::model::tables::deletion::{
        DeleteRowsRequest, DeleteRowsResponse, DeletedRange, DeletedRows, ListDeletedRowsRequest,
        OrdinalRange,
    };
    pub use crate::model::tables::import::{
        BinaryForm, DateOrder, EpochUnit, ImportTableRequest, ImportTableResponse, ImportedColumn,
    };
    pub use crate::model::tables::retention::{Retention, SetRetentionRequest};
    pub use crate::model::tables::segments::{SegmentFileInfo, SegmentManifest};
    pub use crate::model::tables::table::{
        ColumnMetadataPatch, CreateTableRequest, DeleteTablesPartialSuccess, ListTablesRequest,
        ModifyTableRequest, ModifyTablesPartialSuccess, ModifyTablesRequest, PagedTables,
        QueryTablesRequest, TableApiInfo, TableId, TableMetadata, TableMetadataModification,
        TableOperations, TableOrderBy, TableProjection,
    };
    pub use crate::model::tables::waveform::{
        ReadWaveformsRequest, SampleValues, Samples, Waveform, WaveformAxis, WaveformData,
        WaveformX, WaveformY,
    };
    pub use crate::services::{PagedTableRows, Rows, TablePlan, TableRows, TableService};
    pub use crate::session::{PartRows, RowsPart, SegmentFile, StoredBytes, StoredRows};
}

/// Files: any bytes with a name, properties and a workspace.
pub mod files {
    pub use crate::model::files::{
        CreatedQuery, FileId, FileLinqMetadata, FileLinqQueryOrderBy, FileLinqQueryRequest,
        FileLinqQueryResponse, FileMetadata, FileOperation, FileOperations, FileQueryOperation,
        FileQueryOrderBy, FileQueryResponse, FileTotalCount, GetFilesRequest, IdsQuery, Link,
        PropertyQuery, QueryFilesRequest, SearchFilesRequest, SizeQuery, StringQuery,
        TotalCountRelation, UpdateMetadataRequest, UploadFileRequest, UploadSession,
        UploadSessionId, UploadSessionState, UploadedChunk,
    };
    pub use crate::services::{ContentWriter, FileService};
}

/// Package feeds and the packages in them.
pub mod feeds {
    pub use crate::model::feeds::{
        CreateFeedRequest, Feed, FeedId, Package, PackageId, PackageMetadata, Platform,
        QueryFeedsRequest, QueryFeedsResponse, QueryPackagesResponse, UpdateFeedRequest,
    };
    pub use crate::services::FeedService;
}

/// The registry of workspaces, and their quotas.
pub mod workspaces {
    pub use crate::model::quotas::{ListQuotasRequest, PagedQuotas, Quota, SetQuotaRequest};
    pub use crate::model::workspaces::{
        CreateWorkspaceRequest, PagedWorkspaces, QueryWorkspacesRequest, Workspace, WorkspaceKey,
        WorkspaceOrderBy,
    };
    pub use crate::services::WorkspaceService;
}

/// Records of any kind as Arrow batches, for engines that read columns.
pub mod scans {
    pub use crate::model::imports::{
        ImportChoice, ImportConflict, ImportConflictReason, ImportDecision, ImportRecord,
        ImportRecordsRequest, ImportRecordsResponse,
    };
    pub use crate::model::records::{
        AggregateRecordsKey, AggregateRecordsRequest, DeleteRecordsRequest, DeleteRecordsResponse,
        RecordKind, ScanRecordsRequest, TimeBucket,
    };
    pub use crate::services::{RecordService, RecordStream};
}

/// Full-text search over every kind of resource.
pub mod search {
    pub use crate::model::search::{
        SearchFacet, SearchFacets, SearchHighlight, SearchHit, SearchRequest, SearchResponse,
        SearchSnippet,
    };
    pub use crate::services::SearchService;
}

/// How a store is: the records of [`Store::status`].
pub mod status {
    pub use crate::store::{
        ActivityStatus, Attention, AttentionCode, DiskStatus, IndexStatus, JournalStatus,
        MaintenanceStatus, MemoryStatus, Outcome, OutcomeResult, ReaderStatus, ScrubProgress,
        ScrubStatus, StoreStatus, VersionStatus, WriteStatus,
    };
    pub use crate::value::LatencyStatus;
}

/// For servers: request bodies and query strings whose members are the arguments of one call, and
/// the bodies of creations and errors. Servers read them with [`from_json`] and [`from_query`].
pub mod bodies {
    pub use crate::model::assets::UpdateUtilizationRequest;
    pub use crate::model::bodies::{
        AppendArrowQuery, AppendToUploadSessionQuery, ApplyResultRetentionRequest,
        CreateAssetsRequest, CreateProductsRequest, CreateResultsRequest, CreateStepsRequest,
        CreateTableResponse, DeleteAssetsRequest, DeleteFilesRequest, DeletePackagesRequest,
        DeleteProductsRequest, DeleteResultQuery, DeleteResultsRequest,
        DeleteSpecificationsRequest, DeleteStepsQuery, DeleteStepsRequest, DeleteTablesRequest,
        ErrorResponse, FinishUploadSessionRequest, GetProductsRequest, GetResultsRequest,
        GetStepsRequest, LinkFilesRequest, SetSystemConnectionRequest, SetSystemConnectionResponse,
        StartUploadSessionRequest, UpdateAssetsRequest, UpdateProductsRequest,
        UpdateResultsRequest, UpdateStepsRequest, UploadFileResponse, UploadPackageQuery,
    };
    pub use crate::model::download::Download;
    pub use crate::model::lab::execution::ExecuteWorkItemRequest;
    pub use crate::model::test_plans::{
        CreateTestPlanTemplatesRequest, DeleteTestPlanTemplatesRequest,
    };
    pub use crate::model::test_plans::{CreateTestPlansRequest, DeleteTestPlansRequest};
    pub use crate::model::work_items::{
        CreateWorkItemTemplatesRequest, DeleteWorkItemTemplatesRequest,
    };
    pub use crate::model::work_items::{CreateWorkItemsRequest, DeleteWorkItemsRequest};
}

pub use error::{ApiError, Error, ErrorKind, Place, Result};
pub use model::Operation;
pub use model::answer::{Answer, BatchAnswer, Created};
pub use services::Items;
pub use session::{
    AccessPolicy, AllowAll, ChangeEvent, ChangeStream, HoldBounds, HoldState, HoldStatus, Identity,
    OwnedTransaction, Plan, Position, PresentRecord, Session, Settings, Subscriber, SubscriberRef,
    SyncItem, SyncPoint, SyncStream, Transaction, Visibility, What,
};
pub use store::{
    ArchiveReport, ArchiveStatus, BackupReport, CommitRange, CompactReport, Finding, Lost,
    MaintenanceReport, PruneReport, RepairReport, RestorePoint, SalvageReport, SetBackup,
    SetBackupOptions, SetBackupReport, SetBackups, SetRange, SetReport, SetRetention, Store,
    StoreOptions, VerifyLevel, VerifyReport,
};
pub use value::query::{FromQuery, from_query, from_query_and_json, query_members};
pub use value::strict::{from_json_report, from_json_strict, from_value_strict};
pub use value::wire::from_json;
pub use value::{
    Absent, Action, Clock, Control, ManualClock, Patch, Progress, Service, SystemClock,
};
