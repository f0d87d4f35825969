//! Plain data, one file a resource; each declares its fields once.

pub mod asset;
mod asset_change;
pub mod asset_identity;
pub mod asset_parts;
pub mod asset_requests;
pub mod calibration;
pub mod check;
pub mod condition;
pub(crate) mod content;
mod declare;
mod entries;
pub(crate) mod feed;
pub(crate) mod file;
pub(crate) mod file_requests;
mod members;
pub(crate) mod package;
pub mod product;
pub mod product_requests;
pub mod registry;
pub mod resource;
pub mod specification;
pub mod specification_requests;
pub mod table;
pub mod table_data;
pub mod table_import;
pub(crate) mod upload_session;
pub mod utilization;
pub mod utilization_requests;
pub mod vendor;

pub use asset::{Asset, AssetId};
pub use asset_identity::{AssetIdentification, Identity as AssetIdentity};
pub use asset_parts::{
    AssetBusType, AssetDiscoveryType, AssetLocation, AssetLocationForCreate, AssetLocationForUpdate, AssetPresence,
    AssetPresenceForUpdate, AssetPresenceStatus, AssetPresenceUpdate, AssetPresenceWithSystemConnection, AssetType,
    CalibrationMode, CalibrationStatus, ExternalCalibration, SelfCalibration, SystemConnection, TemperatureSensor,
};
pub use asset_requests::{
    AssetField, AssetOrderBy, AssetSummary, CreateAssetRequest, CreateAssetsPartialSuccess, DeleteAssetsResponse,
    LinkFilesPartialSuccessResponse, QueryAssetsRequest, QueryAssetsResponse, UpdateAssetRequest,
    UpdateAssetsPartialSuccess,
};
pub use check::{CheckSummary, ConditionPoint, LimitSide, Verdict, WorstRow};
pub use condition::{
    Condition, ConditionRange, ConditionType, ConditionValue, NumericConditionValue, StringConditionValue,
    condition_summary,
};
pub use content::{ContentPart, StoredContent};
pub use entries::{
    EntryBuffer, entries, entries_between, entry_value_into, has_same_entries, has_same_value, include_positions,
    index_positions, split_entry_value,
};
pub use feed::{
    CreateFeedRequest, Feed, FeedId, Platform, QueryFeedsRequest, QueryFeedsResponse, QueryPackagesResponse,
    UpdateFeedRequest,
};
pub use file::{FileId, FileLinqMetadata, FileMetadata, FileRecord, Link};
pub use file_requests::{
    CreatedQuery, FileLinqQueryOrderBy, FileLinqQueryRequest, FileLinqQueryResponse, FileOperation, FileOperations,
    FileQueryOperation, FileQueryOrderBy, FileQueryResponse, FileTotalCount, GetFilesRequest, IdsQuery, PropertyQuery,
    QueryFilesRequest, SearchFilesRequest, SizeQuery, StringQuery, TotalCountRelation, UpdateMetadataRequest,
    UploadFileRequest, UploadSession, UploadSessionState, UploadedChunk,
};
pub use members::{members_beside_state, members_of};
pub use package::{Package, PackageId, PackageMetadata, PackageRecord};
pub use product::{Product, ProductId};
pub use product_requests::{
    CreateProductRequest, CreateProductsPartialSuccess, DeleteProductsPartialSuccess, Operation, PagedProducts,
    ProductField, ProductOperations, ProductOrderBy, ProductProjection, QueryProductValuesRequest,
    QueryProductsRequest, UpdateProductRequest, UpdateProductsPartialSuccess,
};
pub use registry::Registered;
pub use resource::{Field, Index, Resource, TextField};
pub use specification::{Specification, SpecificationId, SpecificationLimit, SpecificationType};
pub use specification_requests::{
    CreateSpecificationRequest, CreateSpecificationsPartialSuccess, CreateSpecificationsRequest, CreatedSpecification,
    DeleteSpecificationsPartialSuccess, PagedSpecifications, QuerySpecificationsRequest, SpecificationOrderBy,
    SpecificationProjection, UpdateSpecificationRequest, UpdateSpecificationsPartialSuccess,
    UpdateSpecificationsRequest, UpdatedSpecification, V1Operations,
};
pub use upload_session::{UploadChunk, UploadSessionId, UploadSessionRecord};
pub use utilization::Utilization;
pub use utilization_requests::{
    AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse, QueryAssetUtilizationHistoryRequest,
    StartUtilizationPartialSuccess, StartUtilizationRequest, UpdateUtilizationPartialSuccess, UpdateUtilizationRequest,
    UtilizationOrderBy,
};
pub use vendor::VendorPrefix;

pub mod dashboard;
pub mod execution;
pub mod execution_event;
#[cfg(test)]
mod field_page_tests;
pub(crate) mod fields;
#[cfg(test)]
mod lab_wire_tests;
pub mod resources;
pub mod state;
pub mod test_plan;
pub mod test_plan_requests;
pub mod test_plan_template;
pub mod test_plan_template_requests;
pub mod timeline;
mod union;
pub mod work_item;
pub mod work_item_projection;
pub mod work_item_requests;
pub mod work_item_template;
pub mod work_item_template_requests;

// One line a resource.
registry::registry! {
    Product,
    Specification,
    Asset,
    Utilization,
    FileRecord,
    Feed,
    PackageRecord,
    UploadSessionRecord,
    table::TableMetadata,
    work_item::WorkItem,
    work_item_template::WorkItemTemplate,
    test_plan::TestPlan,
    test_plan_template::TestPlanTemplate,
}
