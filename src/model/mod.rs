//! Plain data, one file a resource; each declares its fields once.

pub mod asset;
mod asset_change;
pub mod asset_identity;
pub mod asset_parts;
pub mod asset_requests;
pub mod calibration;
pub mod check;
pub mod condition;
mod declare;
mod entries;
pub mod product;
pub mod product_requests;
pub mod registry;
pub mod resource;
pub mod specification;
pub mod specification_requests;
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
pub use product::{Product, ProductId};
pub use product_requests::{
    CreateProductRequest, CreateProductsPartialSuccess, DeleteProductsPartialSuccess, Operation, PagedProducts,
    ProductField, ProductOperations, ProductOrderBy, ProductProjection, QueryProductValuesRequest,
    QueryProductsRequest, UpdateProductRequest, UpdateProductsPartialSuccess,
};
pub use specification::{Specification, SpecificationId, SpecificationLimit, SpecificationType};
pub use specification_requests::{
    CreateSpecificationRequest, CreateSpecificationsPartialSuccess, CreateSpecificationsRequest, CreatedSpecification,
    DeleteSpecificationsPartialSuccess, PagedSpecifications, QuerySpecificationsRequest, SpecificationOrderBy,
    SpecificationProjection, UpdateSpecificationRequest, UpdateSpecificationsPartialSuccess,
    UpdateSpecificationsRequest, UpdatedSpecification, V1Operations,
};
pub use utilization::{Utilization, UtilizationId};
pub use utilization_requests::{
    AssetUtilizationHistoryItem, AssetUtilizationHistoryResponse, QueryAssetUtilizationHistoryRequest,
    StartUtilizationPartialSuccess, StartUtilizationRequest, UpdateUtilizationPartialSuccess, UpdateUtilizationRequest,
    UtilizationOrderBy,
};
pub use vendor::VendorPrefix;

pub use entries::entries;
pub use registry::{Document, Registered};
pub use resource::{Field, Index, Resource, TextField};

// One line a resource.
registry::registry! {
    Product,
    Specification,
    Asset,
    Utilization,
}
